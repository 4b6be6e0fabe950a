"""Groups of columns: whole or not at all, near the best union by enumeration."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inner_kernels import exchange, look
from inner_kernels import explained as explained_in
from sparseauc import Limits, SparseAUCClassifier
from sparseauc.datasets import make_outbreak
from sparseauc.moments import class_moments
from sparseauc.moments.base import Gram, StandardisedGram
from sparseauc.solvers import working_set
from sparseauc.solvers.exchange import make_state
from sparseauc.solvers.exchange_columns import exchange_path
from sparseauc.solvers.exchange_groups import Groups, GroupSearch
from sparseauc.solvers.restrictions import Restrictions

LABELS = np.array([0, 0, 1, 1, 1, 2, 3, 3, 4, 5, 5, 6])


def gram_of(seed, **design):
    X, y = make_outbreak(
        100, 12, 4, mu=0.6, r=0.3, correlation=0.7, random_state=seed, **design
    )
    return StandardisedGram(class_moments(X, y))


def grouped(gram, labels, k, alpha, fixed=(), excluded=(), **settings):
    columns = (np.array(c, np.int64) for c in (fixed, excluded))
    groups = Groups(gram, Restrictions(*columns, labels))
    return GroupSearch(gram, alpha, groups.restrictions, groups, **settings).path(k)[-1]


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
            value_on(gram, np.flatnonzero(np.isin(LABELS, union)), alpha)
            for union in unions
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
    groups = Groups(gram, Restrictions(groups=LABELS))
    order, nobody = groups.order, np.zeros(7, np.bool_)
    state = make_state(
        Gram(gram.delta[order], gram.block(order, order)),
        alpha,
        7,
        nobody,
        groups.sizes,
    )
    for _ in range(rng.integers(1, 12)):  # groups join and leave
        unit, count = rng.integers(7), state.n_units[0]
        (position,) = [*np.flatnonzero(state.units[:count] == unit), -1][:1]
        if position >= 0 or count < 5:
            exchange(state, position, -1 if position >= 0 else unit)
    units = state.units[: state.n_units[0]].tolist()
    value = explained(gram, units, alpha)
    assert explained_in(state) == pytest.approx(value, rel=1e-6, abs=1e-9)
    others = [unit for unit in range(7) if unit not in units]
    gains = {unit: explained(gram, [*units, unit], alpha) - value for unit in others}
    _, gain, _, joined = look(state, 1e-8, True)
    assert gain == pytest.approx(max(gains.values(), default=0.0), rel=1e-5, abs=2e-8)
    if joined >= 0:
        assert gain == pytest.approx(gains[joined], rel=1e-5, abs=1e-8)
    without = {unit: [one for one in units if one != unit] for unit in units}
    found = look(state, np.inf, False)[0]  # which may change the order of the list
    for loss, unit in zip(found, state.units, strict=False):
        expected = value - explained(gram, without[unit], alpha)
        assert loss == pytest.approx(expected, rel=1e-5, abs=1e-8)
    if units:
        changes = {
            (out, unit): explained(gram, [*rest, unit], alpha) - value
            for out, rest in without.items()
            for unit in others
        }
        best = max(changes.values())
        position, unit = look(state, 1e-8, False)[2:]
        if position >= 0:
            assert changes[state.units[position], unit] == pytest.approx(best, abs=1e-8)
        else:
            assert best < 2e-8
        # The same for groups outside a working set.
        search = GroupSearch(gram, alpha, groups.restrictions, groups)
        if 1 - value > 1e-6 and value > 1e-6:
            search._fetch([np.array(units)])
            found = search._gains_outside([np.array(units)]) * value
            for unit in others:
                expected = max(changes[out, unit] for out in units)
                if found[unit] == -np.inf:  # screened
                    assert np.count_nonzero(unit == LABELS) == 1
                    assert expected < 1e-8
                else:
                    assert found[unit] == pytest.approx(expected, rel=1e-5, abs=1e-8)


def explained(gram, units, alpha):
    """What groups explain, by the pseudoinverse of their part of H."""
    columns = np.flatnonzero(np.isin(LABELS, units))
    P = gram.block(columns, columns) + alpha * np.eye(columns.size)
    return gram.delta[columns] @ np.linalg.pinv(P, rcond=1e-9) @ gram.delta[columns]


@pytest.mark.parametrize("first", [0, 500])
def test_no_exchange_of_two_groups_helps(first, monkeypatch):
    # A working set of next to nothing must come to the same as one of all.
    monkeypatch.setattr(working_set, "_PER_CEILING", 0)
    monkeypatch.setattr(working_set, "_ADDED", (1, 1))
    for seed in range(20):
        gram, k, alpha = gram_of(seed), 3, 0.5
        found = grouped(gram, LABELS, k, alpha, first=first)
        inside = set(LABELS[found.support].tolist())
        for out in inside:
            for into in set(LABELS.tolist()) - inside:
                columns = np.flatnonzero(np.isin(LABELS, list(inside - {out} | {into})))
                assert value_on(gram, columns, alpha) >= found.objective - 1e-9


def test_groups_of_one_column_are_columns():
    for seed in range(10):
        gram = gram_of(seed)
        single = grouped(gram, np.arange(12), 4, 1.0)
        assert single.objective == pytest.approx(
            exchange_path(gram, 4, 1.0)[-1].objective
        )


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
