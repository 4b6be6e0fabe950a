"""Lists that are nearly as good against all lists there are."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparseauc import Limits, SparseAUCClassifier, SparseAUCClassifierCV
from sparseauc.datasets import make_outbreak
from sparseauc.moments import class_moments
from sparseauc.moments.base import StandardisedGram
from sparseauc.selection import near_equal_lists, replacements
from sparseauc.selection.fitted_list import FittedList
from sparseauc.solvers import certificate
from sparseauc.solvers.exchange import solve_on
from sparseauc.solvers.restrictions import Restrictions


def naive_lists(X, y, k, alpha, within, fixed=(), excluded=()):
    """Every list within the share of the best, with its objective."""
    gram = StandardisedGram(class_moments(X, y))
    objectives = {}
    for columns in combinations(range(X.shape[1]), k):
        if set(fixed) <= set(columns) and not set(excluded) & set(columns):
            support = np.array(columns)
            block = gram.block(support, support)
            objectives[columns] = solve_on(
                block, gram.delta[support], support, alpha
            ).objective
    best = min(objectives.values())
    return {
        c: value
        for c, value in objectives.items()
        if value <= best * (1 + within) + 1e-10
    }


def problem(seed, d, n=60):
    data = make_outbreak(
        n=n, d=d, k=2, mu=0.7, r=0.4, correlation=0.6, random_state=seed
    )
    return data.X, data.y


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 11), st.data())
def test_all_lists_as_by_brute_force(seed, d, data):
    X, y = problem(seed, d)
    k = data.draw(st.integers(1, min(5, d)))
    alpha = data.draw(st.sampled_from([0.0, 0.1, 1.0, 10.0]))
    within = data.draw(st.sampled_from([0.0, 0.01, 0.05, 0.3]))
    fixed, excluded = [((), ()), ([0], [1]), ((), [2])][
        data.draw(st.integers(0, 2 if k < d - 1 else 0))
    ]
    model = SparseAUCClassifier(
        k, alpha, limits=Limits(always_include=fixed, exclude=excluded)
    ).fit(X, y)
    with pytest.MonkeyPatch.context() as patch:
        if data.draw(st.booleans()):  # parts are divided down to single lists
            patch.setattr(certificate, "_ENUMERABLE", 0)
        found = near_equal_lists(model, X, y, within=within)
    expected = naive_lists(X, y, k, alpha, within, fixed, excluded)
    assert found.complete
    assert dict(zip(found.lists, found.objectives, strict=True)) == pytest.approx(
        expected
    )
    shares = [np.mean([j in one for one in expected]) for j in range(d)]
    np.testing.assert_allclose(found.share, shares)
    assert found.in_all == [j for j in range(d) if shares[j] == 1]
    assert found.in_most == [j for j in range(d) if 0.5 < shares[j] < 1]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 8), st.data())
def test_all_lists_of_units_as_by_brute_force(seed, d, data):
    """A unit is a curve, a text, or a group of columns."""
    X, y = problem(seed, d)
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(d)])
    frame["ward"] = rng.choice(["east", "north", "west"], y.size)
    labels = np.arange(d + 1)
    if data.draw(st.booleans()):
        labels = np.unique(rng.integers(0, d, d + 1), return_inverse=True)[1]
    k = data.draw(st.integers(1, min(3, labels.max())))
    alpha = data.draw(st.sampled_from([0.1, 1.0, 10.0]))
    within = data.draw(st.sampled_from([0.01, 0.05, 0.3]))
    excluded = [data.draw(st.integers(0, d))] if k < labels.max() - 1 else []
    limits = Limits(column_groups=labels, exclude=excluded)
    curves = data.draw(st.booleans())
    model = SparseAUCClassifier(k, alpha, curves=curves, limits=limits).fit(frame, y)
    with pytest.MonkeyPatch.context() as patch:
        if data.draw(st.booleans()):  # parts are divided down to single lists
            patch.setattr(certificate, "_ENUMERABLE", 0)
        found = near_equal_lists(model, frame, y, within=within)
    fitted = FittedList.from_model(model, frame, y)
    delta, H = fitted.gram.gram()
    P = H + alpha * np.eye(delta.size)
    objectives = {}
    for units in combinations(np.unique(labels).tolist(), k):
        if not {*labels[excluded].tolist()} & {*units}:
            at = np.isin(labels[fitted.columns], units)
            w = -np.linalg.solve(P[np.ix_(at, at)], delta[at])
            names = tuple(frame.columns[np.isin(labels, units)])
            objectives[names] = 1 + delta[at] @ w
    best = min(objectives.values())
    assert found.complete
    assert dict(zip(found.lists, found.objectives, strict=True)) == pytest.approx(
        {c: v for c, v in objectives.items() if v <= best * (1 + within) + 1e-10}
    )


@pytest.mark.parametrize("seed", range(8))
def test_all_lists_within_families_budgets_and_signs(seed):
    X, y = problem(seed, 9)
    rng = np.random.default_rng(seed)
    families = dict(enumerate("aaabbbccc"))
    costs = dict(enumerate(rng.integers(1, 4, 9).astype(float)))
    limits = [
        Limits(families=families, max_per_family=1),
        Limits(costs=costs, budget=5.0),
        Limits(signs=dict.fromkeys(range(9), "+")),
    ][seed % 3]
    model = SparseAUCClassifier(k=3, limits=limits).fit(X, y)
    k = np.count_nonzero(model.coef_)
    found = near_equal_lists(model, X, y, within=0.2)
    every = naive_lists(X, y, k, 1.0, np.inf)
    gram = StandardisedGram(class_moments(X, y))

    def allowed(columns):
        support = np.array(columns)
        solved = solve_on(
            gram.block(support, support), gram.delta[support], support, 1.0
        )
        return (
            len({families[j] for j in columns}) == k,
            sum(costs[j] for j in columns) <= 5.0,
            bool((solved.coef >= 0).all()),
        )[seed % 3]

    feasible = {columns: value for columns, value in every.items() if allowed(columns)}
    best = min(feasible.values())
    expected = {columns for columns, value in feasible.items() if value <= 1.2 * best}
    assert found.complete
    assert set(found.lists) == expected


def test_exchanges_find_most_of_them():
    hit = total = 0
    for seed in range(20):
        X, y = problem(seed, 12)
        model = SparseAUCClassifier(k=3).fit(X, y)
        found = near_equal_lists(model, X, y, within=0.03, operations=0)
        expected = naive_lists(X, y, 3, 1.0, 0.03)
        assert not found.complete
        assert set(found.lists) <= set(expected)
        hit += len(found.lists)
        total += len(expected)
    assert hit >= 0.97 * total


def test_the_best_comes_first_then_what_differs_most():
    X, y = problem(3, 10)
    found = near_equal_lists(SparseAUCClassifier(k=3).fit(X, y), X, y, within=0.1)
    assert found.objectives[0] == found.objectives.min()
    lists = [set(one) for one in found.lists]
    assert len(lists) > 5
    for place in range(1, len(lists)):
        shared = [
            max(len(one & other) for other in lists[:place]) for one in lists[place:]
        ]
        assert shared[0] == min(shared)


def test_more_lists_than_wanted_are_not_complete():
    X, y = problem(3, 10)
    model = SparseAUCClassifier(k=3).fit(X, y)
    everything = near_equal_lists(model, X, y, within=10.0)
    assert len(everything.lists) == 120
    assert everything.complete
    some = near_equal_lists(model, X, y, within=10.0, most=119)
    assert len(some.lists) == 119
    assert not some.complete
    assert some.objectives[0] == everything.objectives[0]


def test_copies_are_told_apart_only_without_each_other():
    X, y = problem(0, 5)
    X = np.column_stack([X, X[:, 0] * 2.0, np.ones(len(X))])
    model = SparseAUCClassifier(k=2, alpha=0.0).fit(X, y)
    found = near_equal_lists(model, X, y, within=10.0)
    assert found.complete
    assert (0, 5) not in found.lists
    assert found.share[6] == 0
    assert len(found.lists) == 14  # of 15 pairs of columns that vary


def test_units_that_depend_on_each_other_without_a_ridge():
    X, y = problem(0, 3)
    ward = np.random.default_rng(0).choice(["east", "north", "west"], y.size)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(ward=ward)
    frame["region"] = np.where(ward == "west", "west", "other")
    frame["copy"] = -2.0 * frame["a"]
    for k in (2, 3, 4):
        model = SparseAUCClassifier(k, alpha=0.0, curves=True).fit(frame, y)
        model.certify(frame, y)
        assert model.lower_bound_ <= model.objective_ * (1 + 1e-9)
        found = near_equal_lists(model, frame, y, within=0.0)
        assert tuple(model.get_feature_names_out()) in found.lists
        assert replacements(model, frame, y, n_best=1)["objective_change"].min() > -1e-9


def test_names_and_a_worse_list_than_the_best():
    X, y = problem(1, 8)
    names = [f"gene {j}" for j in range(8)]
    frame = pd.DataFrame(X, columns=names)
    model = SparseAUCClassifierCV(ks=[3]).fit(frame, y)
    found = near_equal_lists(model, frame, y)
    assert tuple(model.get_feature_names_out()) in found.lists
    # A list that is not the best leads to the best.
    best = np.flatnonzero(SparseAUCClassifier(k=3).fit(X, y).coef_[0])
    worse = SparseAUCClassifier(k=3, limits=Limits(exclude=best[:1])).fit(X, y)
    worse._fitted = replace(worse._fitted, restrictions=Restrictions())
    there = near_equal_lists(worse, X, y, within=0.0)
    assert set(there.lists) == set(naive_lists(X, y, 3, 1.0, 0.0))


def test_refusals():
    X, y = problem(0, 6)
    model = SparseAUCClassifier(k=2).fit(X, y)
    with pytest.raises(ValueError, match=r"within == -0\.1"):
        near_equal_lists(model, X, y, within=-0.1)
    with pytest.raises(ValueError, match="within == nan, must be a finite number"):
        near_equal_lists(model, X, y, within=float("nan"))
    with pytest.raises(ValueError, match="most == 0"):
        near_equal_lists(model, X, y, most=0)
