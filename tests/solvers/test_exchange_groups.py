"""Groups of columns: whole or not at all, near the best union by enumeration."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparseauc import Limits, SparseAUCClassifier
from sparseauc.datasets import make_outbreak
from sparseauc.moments import class_moments
from sparseauc.moments.base import StandardisedGram
from sparseauc.solvers import exchange_groups as groups_module
from sparseauc.solvers.exchange_groups import GroupSearch
from sparseauc.solvers.restrictions import Restrictions
from sparseauc.solvers.working_set import exchange_path

LABELS = np.array([0, 0, 1, 1, 1, 2, 3, 3, 4, 5, 5, 6])


def gram_of(seed, **design):
    X, y = make_outbreak(100, 12, 4, mu=0.6, r=0.3, correlation=0.7, random_state=seed, **design)
    return StandardisedGram(class_moments(X, y))


def grouped(gram, labels, k, alpha, fixed=(), excluded=()):
    columns = (np.array(c, np.int64) for c in (fixed, excluded))
    return GroupSearch(gram, Restrictions(*columns, labels)).path([k], alpha)[0]


def value_on(gram, columns, alpha):
    h = gram.rows(columns)[:, columns] + alpha * np.eye(columns.size)
    return 1 - gram.delta[columns] @ np.linalg.solve(h, gram.delta[columns])


def test_near_the_best_union_by_enumeration():
    reached = []
    for seed in range(40):
        gram, k, alpha = gram_of(seed), 1 + seed % 5, 0.1
        found = grouped(gram, LABELS, k, alpha)
        # A group counts as one, however many columns it has.
        assert np.unique(LABELS[found.support]).size == k
        whole = np.isin(LABELS, LABELS[found.support])
        np.testing.assert_array_equal(np.flatnonzero(whole), found.support)
        unions = itertools.combinations(range(LABELS.max() + 1), k)
        best = min(
            value_on(gram, np.flatnonzero(np.isin(LABELS, union)), alpha) for union in unions
        )
        assert found.objective >= best - 1e-9
        assert found.objective == pytest.approx(value_on(gram, found.support, alpha))
        reached.append(found.objective <= best + 1e-9)
    assert np.mean(reached) >= 0.85


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.1, 10.0]), st.booleans())
def test_gains_are_those_of_the_formula(seed, alpha, dependent):
    rng = np.random.default_rng(seed)
    X, y = make_outbreak(100, 12, 4, mu=0.6, r=0.3, random_state=seed % 50)
    if dependent:  # within a group, between groups, and a constant
        X[:, 1], X[:, 6], X[:, 11] = 2 * X[:, 0], X[:, 8] - X[:, 3], 3.0
    gram = StandardisedGram(class_moments(X, y))
    nothing = np.empty(0, np.int64)
    search = GroupSearch(gram, Restrictions(nothing, nothing, LABELS))
    problem = search._problem(alpha)
    units = rng.permutation(7)[: rng.integers(0, 5)].tolist()
    out = units[0] if units and rng.random() < 0.5 else None
    rest = [unit for unit in units if unit != out]
    candidates = np.isin(np.arange(7), units, invert=True)
    for one in (problem, problem.among(np.arange(7))):
        base, gains = one.gains(units, out, candidates)
        assert base == pytest.approx(explained(gram, rest, alpha), rel=1e-6, abs=1e-9)
        assert one.value(rest) == pytest.approx(base, rel=1e-9, abs=1e-12)
        for unit in np.flatnonzero(candidates).tolist():
            gain = explained(gram, [*rest, unit], alpha) - base
            assert gains[unit] == pytest.approx(gain, rel=1e-5, abs=1e-8)
        assert not gains[~candidates].any()
        if units:  # all at once
            value, bases, table = one.exchanges(units, candidates)
            assert value == pytest.approx(one.value(units), rel=1e-9, abs=1e-12)
            for place, unit in enumerate(units):
                base, gains = one.gains(units, unit, candidates)
                assert bases[place] == pytest.approx(base, rel=1e-6, abs=1e-9)
                np.testing.assert_allclose(table[place], gains, rtol=1e-5, atol=1e-8)


def explained(gram, units, alpha):
    """What groups explain, by the pseudoinverse of their part of H."""
    columns = np.flatnonzero(np.isin(LABELS, units))
    P = gram.block(columns, columns) + alpha * np.eye(columns.size)
    return gram.delta[columns] @ np.linalg.pinv(P, rcond=1e-9) @ gram.delta[columns]


@pytest.mark.parametrize("first", [0, 500])
def test_no_exchange_of_two_groups_helps(first, monkeypatch):
    # A working set of one group must come to the same as one of all.
    monkeypatch.setattr(groups_module, "_FIRST", first)
    for seed in range(20):
        gram, k, alpha = gram_of(seed), 3, 0.5
        found = grouped(gram, LABELS, k, alpha)
        inside = set(LABELS[found.support].tolist())
        for out in inside:
            for into in set(LABELS.tolist()) - inside:
                columns = np.flatnonzero(np.isin(LABELS, list(inside - {out} | {into})))
                assert value_on(gram, columns, alpha) >= found.objective - 1e-9


def test_groups_of_one_column_are_columns():
    for seed in range(10):
        gram = gram_of(seed)
        single = grouped(gram, np.arange(12), 4, 1.0)
        assert single.objective <= exchange_path(gram, 4, 1.0)[-1].objective * 1.02


def test_forced_and_barred_groups():
    gram = gram_of(0)
    found = grouped(gram, LABELS, 4, 0.1, fixed=[6], excluded=[3])
    assert {6, 7} <= set(found.support.tolist())
    assert not {2, 3, 4} & set(found.support.tolist())
    with pytest.raises(ValueError, match="2 groups are always included, more than k=1"):
        grouped(gram, LABELS, 1, 0.1, fixed=[2, 3, 5])


def test_dependent_columns_within_a_group():
    X, y = make_outbreak(100, 12, 4, mu=0.6, r=0.3, random_state=0)
    X[:, 1] = X[:, 0]
    X[:, 4] = 3.0
    found = grouped(StandardisedGram(class_moments(X, y)), LABELS, 7, 0.0)
    assert np.isfinite(found.coef).all()


def test_classifier_takes_groups_by_name():
    X, y = make_outbreak(300, 12, 4, mu=0.6, r=0.3, random_state=0)
    names = np.array(list("abcdefg"))[LABELS]
    model = SparseAUCClassifier(k=5, limits=Limits(column_groups=names)).fit(X, y)
    chosen = model.get_support(indices=True)
    np.testing.assert_array_equal(np.flatnonzero(np.isin(names, names[chosen])), chosen)
    with pytest.raises(ValueError, match="each of the 12 columns"):
        SparseAUCClassifier(k=5, limits=Limits(column_groups=names[1:])).fit(X, y)
