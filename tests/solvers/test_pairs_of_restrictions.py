"""Every pair of restrictions: against all lists, with the objective of all pairs of rows."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from sparseauc.moments import class_moments
from sparseauc.moments.base import StandardisedGram
from sparseauc.path import path_of_moments
from sparseauc.solvers.certificate import certify
from sparseauc.solvers.exchange import Solution
from sparseauc.solvers.restrictions import Restrictions

KINDS = "signs", "exclude", "include", "families", "budget", "groups", "strata"
# Columns of a group are chosen together: they neither compete nor have signs, and pay
# once.
EXCLUSIVE = {("signs", "groups"), ("families", "groups")}
PAIRS = [pair for pair in combinations(KINDS, 2) if pair not in EXCLUSIVE]
N, D, K, N_TABLES = 60, 10, 3, 12


def table(seed):
    """Pairs of columns with noise in common: of the second of a pair, only the first has use."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(N) % 3 == 0, 1, -1)
    X = rng.normal(size=(N, D // 2))[:, np.arange(D) // 2]
    X[:, ::2] += 0.3 * rng.normal(size=(N, D // 2)) + np.outer(
        y, rng.uniform(0, 0.4, D // 2)
    )
    return X, y, rng.integers(0, 3, N)


def restrictions_of(kinds, seed):
    rng = np.random.default_rng(1000 + seed)
    shuffled = rng.permutation(D)
    limits = Restrictions(
        fixed=np.sort(shuffled[:1]) if "include" in kinds else np.empty(0, np.int64),
        excluded=np.sort(shuffled[1:4])
        if "exclude" in kinds
        else np.empty(0, np.int64),
    )
    if "signs" in kinds:
        limits = replace(limits, signs=rng.choice([-1, 1, 1, 0], D))
    if "families" in kinds:
        limits = replace(limits, families=rng.integers(0, 4, D))
    labels = np.arange(D)
    if "groups" in kinds:
        labels = np.unique(rng.integers(0, 6, D), return_inverse=True)[1]
        limits = replace(limits, groups=labels)
    if "budget" in kinds:
        limits = replace(limits, costs=rng.integers(1, 6, labels.max() + 1) * 1.0)
        budget = limits.cost_of(limits.fixed) + rng.integers(2, 9)
        limits = replace(limits, budgets=np.array([float(budget)]))
    return limits


def naive_quadratic(X, y, strata, scale):
    """H and δ of columns divided by their scale, from the differences of all pairs of a stratum."""
    Z = X / scale
    pairs = [
        Z[i] - Z[j]
        for i in np.flatnonzero(y > 0)
        for j in np.flatnonzero(y < 0)
        if strata is None or strata[i] == strata[j]
    ]
    differences = np.array(pairs)
    return differences.T @ differences / len(pairs), -differences.mean(axis=0)


def units_of(limits):
    """What counts as one column: a group, or a column."""
    return np.arange(D) if limits.groups is None else limits.groups


def paid_for(listed, limits):
    """Cost of each unit once."""
    return sum(limits.costs[unit] for unit in set(units_of(limits)[listed].tolist()))


def is_feasible(support, limits):
    if np.isin(support, limits.excluded).any():
        return False
    listed = np.union1d(support, limits.fixed).astype(np.int64)
    if limits.groups is not None:
        listed = np.flatnonzero(np.isin(limits.groups, limits.groups[listed]))
        if not np.array_equal(np.setdiff1d(listed, support), np.empty(0)):
            return False
    families = np.zeros(D, np.int64) if limits.families is None else limits.families
    return (
        len(set(units_of(limits)[listed].tolist())) <= K
        and (np.bincount(families[listed])[1:] <= 1).all()
        and (limits.budgets is None or paid_for(listed, limits) <= limits.budgets[0])
    )


def least_objective(H, delta, limits):
    """Of all lists that are feasible and whose coefficients have the right signs."""
    best = 1.0 if is_feasible(np.empty(0, np.int64), limits) else np.inf
    signs = np.zeros(D) if limits.signs is None else limits.signs
    for size in range(1, K + 1):
        for chosen in combinations(range(units_of(limits).max() + 1), size):
            support = np.flatnonzero(np.isin(units_of(limits), chosen))
            if is_feasible(support, limits):
                w = -np.linalg.solve(H[np.ix_(support, support)], delta[support])
                if (signs[support] * w >= 0).all():
                    best = min(best, 1 + delta[support] @ w)
    return best


def solve(moments, alpha, limits):
    return path_of_moments(
        moments, np.array([K]), np.array([alpha]), limits, thorough=True
    ).solutions[0][0]


def without_excluded(X, limits):
    """The table and its restrictions with the excluded columns deleted."""
    kept = np.setdiff1d(np.arange(X.shape[1]), limits.excluded)
    labels = {
        name: None if getattr(limits, name) is None else getattr(limits, name)[kept]
        for name in ("signs", "families", "groups")
    }
    costs = limits.costs
    if costs is not None and limits.groups is None:
        costs = costs[kept]
    if labels["groups"] is not None:
        # A group of which a column is excluded is excluded.
        whole = ~np.isin(limits.groups, limits.groups[limits.excluded])
        kept = np.flatnonzero(whole)
        numbers, labels["groups"] = np.unique(limits.groups[kept], return_inverse=True)
        if costs is not None:
            costs = costs[numbers]
    fixed = np.searchsorted(kept, limits.fixed)
    return (
        X[:, kept],
        kept,
        replace(limits, fixed=fixed, excluded=fixed[:0], costs=costs, **labels),
    )


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_pair(pair):
    optimal = 0
    for seed in range(N_TABLES):
        X, y, strata = table(seed)
        strata = strata if "strata" in pair else None
        alpha = [0.0, 0.1, 1.0][seed % 3]
        limits = restrictions_of(pair, seed)
        if (
            limits.groups is not None
            and np.isin(
                limits.groups[limits.fixed], limits.groups[limits.excluded]
            ).any()
        ):
            limits = replace(limits, excluded=limits.excluded[:0])
        moments = class_moments(X, y, strata=strata)
        gram = StandardisedGram(moments)
        H, delta = naive_quadratic(X, y, strata, gram.scale)
        H += alpha * np.eye(D)
        found = solve(moments, alpha, limits)
        support, coef, objective = found
        assert is_feasible(support, limits)
        assert limits.right_signs(support, coef)
        block = H[np.ix_(support, support)]
        assert objective == pytest.approx(
            1 + 2 * delta[support] @ coef + coef @ block @ coef
        )
        best = least_objective(H, delta, limits)
        assert objective >= best - 1e-9
        optimal += objective <= best + 1e-9
        if limits.groups is None:
            nothing = Solution(np.empty(0, np.int64), np.empty(0), 1.0)
            proved = certify(gram, nothing, K, alpha, restrictions=limits)
            assert proved.status == "optimal"
            assert proved.solution.objective == pytest.approx(best, rel=2e-6)
        if limits.excluded.size:
            rest, kept, fewer = without_excluded(X, limits)
            deleted = solve(class_moments(rest, y, strata=strata), alpha, fewer)
            np.testing.assert_array_equal(kept[deleted.support], support)
            assert deleted.objective == pytest.approx(objective)
    assert optimal >= N_TABLES - 1
