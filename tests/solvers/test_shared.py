"""One list for all classes: against all lists there are, and against columns outside."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sparseauc.chunks import chunks_in_memory
from sparseauc.moments import class_moments, one_vs_rest
from sparseauc.moments.gram import StandardisedGram
from sparseauc.moments.one_vs_rest import OneVsRest
from sparseauc.path.path import path_of_moments
from sparseauc.solvers.restrictions import Restrictions
from sparseauc.solvers.shared import list_by_turns, shared_lists


def problem(seed, d=10, n=60, n_classes=4, correlation=0.6, constant=False):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, n_classes, n)
    label[:n_classes] = np.arange(n_classes)
    X = rng.normal(size=(n, d)) + rng.normal(size=(n_classes, d))[label]
    X += correlation * rng.normal(size=(n, 1)) * rng.normal(size=d)
    if constant:
        X[:, 1] = 0.1
    grams = [
        StandardisedGram(m) for m in OneVsRest(chunks_in_memory(X), label, n_classes).against_rest()
    ]
    return X, label, grams


def explained(grams, support, alpha):
    """Sum over classes of δᵀ(H + alpha)⁻¹δ on a list."""
    A = np.array(sorted(support), np.int64)
    total = 0.0
    for gram in grams:
        H = gram.block(A, A) + alpha * np.eye(A.size)
        total += gram.delta[A] @ np.linalg.solve(H, gram.delta[A])
    return total


def test_moments_are_those_of_each_class_against_the_rest(monkeypatch):
    monkeypatch.setattr(one_vs_rest, "_OWN", 0.5)
    X, label, grams = problem(0, n_classes=3)
    for number, gram in enumerate(grams):
        positive = label == number
        weight = np.where(positive, 1 / positive.sum(), 1 / (~positive).sum())
        alone = StandardisedGram(class_moments(X, positive, weight))
        every = np.arange(X.shape[1])
        assert_allclose(gram.delta, alone.delta, rtol=1e-10)
        assert_allclose(gram.scale, alone.scale, rtol=1e-10)
        assert_allclose(gram.rows(every), alone.rows(every), rtol=1e-9, atol=1e-12)
        assert_allclose(gram.block(every[:3], every[4:]), alone.rows(every)[:3, 4:], atol=1e-12)


def test_the_spread_of_the_others_counts_for_more():
    X, label, grams = problem(1, n_classes=3)
    for number, gram in enumerate(grams):
        own, rest = X[label == number], X[label != number]
        delta = rest.mean(axis=0) - own.mean(axis=0)
        spread = 0.4 * np.cov(own.T, bias=True) + 1.6 * np.cov(rest.T, bias=True)
        scale = np.sqrt(spread.diagonal() / 2 + delta**2 / 4)
        H = (spread + np.outer(delta, delta)) / np.outer(scale, scale)
        assert_allclose(gram.delta, delta / scale, rtol=1e-9)
        assert_allclose(gram.rows(np.arange(X.shape[1])), H, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.01, 1.0, 10.0])
def test_best_of_all_lists_nearly_always(alpha):
    best = 0
    for seed in range(40):
        d = 8 + seed % 5
        _, _, grams = problem(seed, d=d, correlation=seed % 3)
        k = 2 + seed % 4
        ((first, *_),) = shared_lists(grams, np.array([k]), alpha)
        assert first.support.size == k
        mine = explained(grams, first.support, alpha)
        optimum = max(explained(grams, A, alpha) for A in combinations(range(d), k))
        assert mine <= optimum * (1 + 1e-9)
        best += mine >= optimum * (1 - 1e-9)
    assert best >= 39


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(1, 6), st.booleans())
def test_lists_keep_to_restrictions_and_no_exchange_improves_them(seed, n_classes, k, constant):
    _, _, grams = problem(seed, d=9, n_classes=n_classes, constant=constant)
    restrictions = Restrictions(np.array([1]), np.array([2, 7]))
    lists = shared_lists(grams, np.arange(1, k + 1), 1.0, restrictions, first=3)
    for wanted, solutions in enumerate(lists, start=1):
        support = solutions[0].support
        assert len(solutions) == n_classes
        assert all(np.array_equal(one.support, support) for one in solutions)
        assert (1 in support) != constant
        assert support.size == wanted - constant
        assert not {2, 7} & set(support.tolist())
        total = n_classes - sum(one.objective for one in solutions)
        assert_allclose(total, explained(grams, support, 1.0), rtol=1e-9, atol=1e-12)
        free = set(support.tolist()) - {1}
        others = set(range(9)) - set(support.tolist()) - {1, 2, 7}
        for leaves in free:
            for joins in others:
                exchanged = set(support.tolist()) - {leaves} | {joins}
                assert explained(grams, exchanged, 1.0) <= total * (1 + 1e-9)


def by_turns_naively(grams, k, alpha, fixed=()):
    """Each class in turn, the one that gains most first, adds what gains it most."""
    chosen, waiting = list(fixed), set()

    def gain(gram, columns):
        before, after = explained([gram], chosen, alpha), explained([gram], columns, alpha)
        return after - before

    while len(chosen) < k:
        waiting = waiting or set(range(len(grams)))
        gains = {
            (number, column): gain(grams[number], [*chosen, column])
            for number in waiting
            for column in range(grams[0].n_features)
            if column not in chosen
        }
        number, column = max(gains, key=gains.__getitem__)
        chosen.append(column)
        waiting.remove(number)
    return sorted(chosen)


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(1, 8), st.booleans())
def test_classes_take_turns(seed, n_classes, k, fixed):
    _, _, grams = problem(seed, d=9, n_classes=n_classes)
    columns = np.array([4]) if fixed else np.empty(0, np.int64)
    support = list_by_turns(grams, k, 2.0, Restrictions(columns))
    assert support.tolist() == by_turns_naively(grams, k, 2.0, columns.tolist())


def test_two_classes_have_the_list_of_one_against_the_other(monkeypatch):
    monkeypatch.setattr(one_vs_rest, "_OWN", 0.5)
    X, label, grams = problem(3, d=12, n_classes=2)
    weight = np.where(label == 1, 1 / (label == 1).sum(), 1 / (label == 0).sum())
    path = path_of_moments(
        class_moments(X, label == 1, weight), np.array([4]), np.array([1.0]), Restrictions()
    )
    ((_, second),) = shared_lists(grams, np.array([4]), 1.0)
    assert second.support.tolist() == path.support(4, 1.0).tolist()
    assert_allclose(second.coef, path.solutions[0][0].coef, rtol=1e-8)
