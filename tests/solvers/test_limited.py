"""Signs and budgets: against all feasible lists."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from scipy.optimize import nnls

from sparseauc.datasets import make_outbreak
from sparseauc.moments import class_moments
from sparseauc.moments.base import StandardisedGram
from sparseauc.path import path_of_moments
from sparseauc.solvers import working_set
from sparseauc.solvers.certificate import certify
from sparseauc.solvers.exchange import Solution
from sparseauc.solvers.exchange_columns import exchange_path
from sparseauc.solvers.exchange_groups import Groups, GroupSearch
from sparseauc.solvers.restrictions import Restrictions
from sparseauc.solvers.signed import minimise_signed


def naive_signed(P, delta, sign):
    """Least value of 1 + 2 w·δ + wᵀPw with sign·w ≥ 0: over all sets of columns at 0."""
    best = 1.0
    for size in range(1, delta.size + 1):
        for chosen in combinations(range(delta.size), size):
            chosen = np.array(chosen)
            w = -np.linalg.solve(P[np.ix_(chosen, chosen)], delta[chosen])
            if (sign[chosen] * w >= 0).all():
                best = min(best, 1 + delta[chosen] @ w)
    return best


def gram_of(seed, d=10, n=80):
    X, y = make_outbreak(
        n=n, d=d, k=d // 2, mu=0.7, r=0.4, correlation=0.7, random_state=seed
    )
    return StandardisedGram(class_moments(X, y))


def limited_path(gram, ks, alpha, restrictions, first=300):
    """The list of each point of a path."""
    budgets = (
        [np.inf] * ks.size if restrictions.budgets is None else restrictions.budgets
    )
    return [
        exchange_path(gram, k, alpha, restrictions.at_budget(budget), first=first)[-1]
        for k, budget in zip(ks.tolist(), budgets, strict=True)
    ]


@pytest.mark.parametrize("seed", range(30))
def test_minimise_signed(seed):
    rng = np.random.default_rng(seed)
    k = 1 + seed % 7
    A, b = rng.normal(size=(k + 3, k)), rng.normal(size=k + 3)
    P, delta, sign = A.T @ A, -A.T @ b, rng.integers(-1, 2, k)
    w, explained = minimise_signed(P, delta, sign, np.zeros(k))
    assert (sign * w >= 0).all()
    assert 1 - explained == pytest.approx(naive_signed(P, delta, sign), abs=1e-12)
    all_positive, residual = nnls(A, b)
    w, explained = minimise_signed(P, delta, np.ones(k, np.int64), np.zeros(k))
    np.testing.assert_allclose(w, all_positive, atol=1e-10)
    assert b @ b - explained == pytest.approx(residual**2, abs=1e-10)


def all_supports(gram, alpha):
    """Every support with its minimiser and objective."""
    d = gram.n_features
    H = gram.block(np.arange(d), np.arange(d)) + alpha * np.eye(d)
    for size in range(d + 1):
        for columns in combinations(range(d), size):
            support = np.array(columns, np.int64)
            w = -np.linalg.solve(H[np.ix_(support, support)], gram.delta[support])
            yield support, w, 1 + gram.delta[support] @ w


def limits(seed, d=10):
    """Restrictions of all kinds, by turns, with the points of a path."""
    rng = np.random.default_rng(seed)
    fixed = rng.choice(d, seed // 3 % 2, replace=False)
    excluded = np.setdiff1d(rng.choice(d, seed // 6 % 2, replace=False), fixed)
    signs = rng.integers(-1, 2, d) if seed % 3 != 1 else None
    families = rng.integers(0, 5, d) if seed % 4 == 3 else None
    ks = np.arange(1, 6)
    if seed % 3 == 0:
        return ks, Restrictions(fixed, excluded, None, families, 2, signs)
    costs = [rng.integers(1, 9, d) * 1.0, rng.uniform(0, 5, d)][seed // 2 % 2]
    budgets = costs[fixed].sum() + np.linspace(1, costs.sum() / 2, 5)
    ks = np.full(5, [3, 10][seed % 2])
    return ks, Restrictions(fixed, excluded, None, families, 2, signs, costs, budgets)


def feasible(support, k, budget, restrictions):
    listed = np.union1d(support, restrictions.fixed).astype(np.int64)
    families = np.bincount(restrictions.families_of(listed))[1:]
    return (
        listed.size <= k
        and not np.isin(listed, restrictions.excluded).any()
        and (families <= restrictions.max_per_family).all()
        and (
            restrictions.costs is None
            or restrictions.costs[listed].sum() <= budget * (1 + 1e-9)
        )
    )


def best_objectives(gram, alpha, ks, restrictions):
    best = np.ones(ks.size)
    budget = (
        np.full(ks.size, np.inf)
        if restrictions.budgets is None
        else restrictions.budgets
    )
    for support, w, objective in all_supports(gram, alpha):
        if (restrictions.signs_of(support) * w >= 0).all():
            for at, k in enumerate(ks):
                if objective < best[at] and feasible(
                    support, k, budget[at], restrictions
                ):
                    best[at] = objective
    return best


@pytest.mark.parametrize("first", [500, 3])
def test_always_feasible_and_nearly_always_optimal(first, monkeypatch):
    """Whether all columns are in the working set at first, or few are."""
    monkeypatch.setattr(working_set, "_PER_CEILING", 0)
    optimal = total = 0
    for seed in range(60):
        gram, alpha = gram_of(seed), [0.0, 0.1, 1.0, 10.0][seed % 4]
        ks, restrictions = limits(seed)
        path = limited_path(gram, ks, alpha, restrictions, first=first)
        best = best_objectives(gram, alpha, ks, restrictions)
        budgets = (
            np.full(ks.size, np.inf)
            if restrictions.budgets is None
            else restrictions.budgets
        )
        for k, budget, solution, least in zip(ks, budgets, path, best, strict=True):
            support, coef, objective = solution
            assert feasible(support, k, budget, restrictions)
            assert (restrictions.signs_of(support) * coef >= 0).all()
            assert (coef != 0).all()
            H = gram.block(support, support) + alpha * np.eye(support.size)
            assert objective == pytest.approx(
                1 + 2 * gram.delta[support] @ coef + coef @ H @ coef
            )
            assert objective >= least - 1e-9
            optimal += objective <= least + 1e-9
            total += 1
    assert optimal >= 0.97 * total, (optimal, total)


def test_a_list_does_not_depend_on_what_else_is_asked_for():
    for seed in range(6):
        X, y = make_outbreak(
            n=90, d=25, k=9, mu=0.6, correlation=0.6, random_state=seed
        )
        moments = class_moments(X, y)
        rng = np.random.default_rng(seed)
        signs, costs = rng.integers(-1, 2, 25), rng.integers(1, 9, 25) * 1.0
        by_sign = Restrictions(signs=signs)
        whole = path_of_moments(
            moments, np.arange(1, 13), np.array([0.1]), by_sign
        ).solutions[0]
        for k in (1, 4, 7, 12):
            alone = path_of_moments(
                moments, np.array([k]), np.array([0.1]), by_sign
            ).solutions[0]
            assert_array_equal(alone[0].support, whole[k - 1].support)
        budgets = np.array([5.0, 9.0, 14.0, 20.0])
        ks = np.full(4, 8)
        bought = Restrictions(signs=signs, costs=costs, budgets=budgets)
        whole = path_of_moments(moments, ks, np.array([0.1]), bought).solutions[0]
        for at in range(4):
            one = replace(bought, budgets=budgets[[at]])
            alone = path_of_moments(moments, ks[:1], np.array([0.1]), one).solutions[0]
            assert_array_equal(alone[0].support, whole[at].support)


def test_certificates_are_of_the_lists_that_obey():
    for seed in range(16):
        gram, alpha = gram_of(seed), [0.0, 0.1, 1.0, 10.0][seed % 4]
        ks, restrictions = limits(seed)
        best = best_objectives(gram, alpha, ks, restrictions)
        nothing = Solution(np.empty(0, np.int64), np.empty(0), 1.0)
        for at in (0, 3):
            one = restrictions
            if restrictions.budgets is not None:
                one = replace(restrictions, budgets=restrictions.budgets[[at]])
            # The search finds the best list by itself, and none that is infeasible.
            proved = certify(gram, nothing, int(ks[at]), alpha, restrictions=one)
            assert proved.lower_bound <= best[at] + 1e-9
            assert proved.status == "optimal"
            assert proved.solution.objective == pytest.approx(best[at], rel=2e-6)
            support, coef, _ = proved.solution
            assert feasible(
                support, ks[at], np.inf if one.budgets is None else one.budgets[0], one
            )
            assert one.right_signs(support, coef)


def test_groups_pay_once():
    optimal = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        gram, alpha, k = gram_of(seed), 0.1, [4, 10][seed % 2]
        labels = rng.integers(0, 6, 10)
        labels = np.unique(labels, return_inverse=True)[1]
        costs = rng.integers(1, 9, labels.max() + 1) * 1.0
        budget = costs.sum() * rng.uniform(0.2, 0.8)
        restrictions = Restrictions(
            groups=labels, costs=costs, budgets=np.array([budget])
        )
        groups = Groups(gram, restrictions)
        found = GroupSearch(gram, alpha, groups.restrictions, groups).path(k)[-1]
        best = 1.0
        for support, _, objective in all_supports(gram, alpha):
            whole = np.isin(labels, labels[support]).sum() == support.size
            few = np.unique(labels[support]).size <= k
            if whole and few and costs[np.unique(labels[support])].sum() <= budget:
                best = min(best, objective)
        assert np.unique(labels[found.support]).size <= k
        assert np.isin(labels, labels[found.support]).sum() == found.support.size
        assert costs[np.unique(labels[found.support])].sum() <= budget
        assert found.objective >= best - 1e-9
        optimal += found.objective <= best + 1e-9
    assert optimal >= 0.97 * 60, optimal


@st.composite
def awkward_problems(draw):
    """Whole numbers, so that columns are constant, equal or dependent; costs of 0; any limits."""
    d, n = draw(st.integers(2, 7)), draw(st.integers(6, 12))
    X = draw(arrays(np.float64, (n, d), elements=st.integers(-1, 2)))
    y = np.arange(n) % 2
    k, alpha = draw(st.integers(1, d)), draw(st.sampled_from([0.0, 0.5]))
    fixed = np.array(
        sorted(draw(st.sets(st.integers(0, d - 1), max_size=min(k, 2)))), np.int64
    )
    signs = draw(arrays(np.int64, d, elements=st.integers(-1, 1)))
    costs = draw(arrays(np.float64, d, elements=st.integers(0, 4)))
    budget = costs[fixed].sum() + draw(st.integers(0, 8))
    restrictions = Restrictions(
        fixed, signs=signs, costs=costs, budgets=np.array([budget, budget + 2.0])
    )
    return X, y, np.array([k, k]), alpha, restrictions


@given(awkward_problems())
@settings(max_examples=60, deadline=None)
def test_awkward_tables(problem):
    X, y, ks, alpha, restrictions = problem
    gram = StandardisedGram(class_moments(X, y))
    path = limited_path(gram, ks, alpha, restrictions)
    for (support, coef, objective), budget in zip(
        path, restrictions.budgets, strict=True
    ):
        assert np.isfinite(coef).all()
        # Fixed columns that are constant or dependent are paid for, and take no place.
        assert support.size <= ks[0]
        assert feasible(support, 99, budget, restrictions)
        assert restrictions.right_signs(support, coef)
        H = gram.block(support, support) + alpha * np.eye(support.size)
        value = 1 + 2 * gram.delta[support] @ coef + coef @ H @ coef
        assert objective == pytest.approx(value, abs=1e-8)
    assert path[1].objective <= path[0].objective + 1e-9
    if alpha > 0 and (gram.diagonal[restrictions.fixed] > 0).all():
        best = best_objectives(gram, alpha, ks, restrictions)
        assert (np.array([one.objective for one in path]) >= best - 1e-9).all()


def test_the_cheapest_of_equal_columns():
    y = np.arange(80) % 2
    X = np.random.default_rng(0).normal(size=(80, 4)) + np.outer(y, [2, 1, 0, 0])
    # Columns 4 and 6 are column 0 again, 5 is column 0 turned round.
    X = np.column_stack([X, X[:, 0], -X[:, 0], 2 * X[:, 0] + 1])
    gram = StandardisedGram(class_moments(X, y))
    costs = np.array([3.0, 1, 1, 1, 2, 1, 2])
    chosen = []
    for signs in (None, np.array([1, 0, 0, 0, 1, 1, 1])):
        for budget in (4.0, 100.0):
            restrictions = Restrictions(
                signs=signs, costs=costs, budgets=np.array([budget])
            )
            (found,) = limited_path(gram, np.array([2]), 1.0, restrictions)
            chosen.append(set(found.support.tolist()) & {0, 4, 5, 6})
    assert chosen == [{5}, {5}, {4}, {4}]


@pytest.mark.parametrize("thorough", [False, True])
def test_more_fixed_columns_than_the_first_stage_has_room_for(thorough):
    X, y = make_outbreak(300, 80, 5, mu=0.6, r=0.3, random_state=0)
    gram, fixed = StandardisedGram(class_moments(X, y)), np.arange(60)
    path = exchange_path(gram, 62, 0.1, Restrictions(fixed), thorough=thorough)
    assert [one.support.size for one in path] == [60, 61, 62]
    every = np.delete(np.arange(80), fixed)
    best = min(
        1
        - gram.delta[A]
        @ np.linalg.solve(gram.block(A, A) + 0.1 * np.eye(61), gram.delta[A])
        for A in (np.append(fixed, j) for j in every)
    )
    assert path[1].objective == pytest.approx(best)
