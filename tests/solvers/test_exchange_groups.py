"""Groups of columns: whole or not at all, near the best union by enumeration."""

import itertools

import numpy as np
import pytest

from sparseauc import Limits, SparseAUCClassifier
from sparseauc.datasets import make_outbreak
from sparseauc.moments import class_moments
from sparseauc.moments.base import StandardisedGram
from sparseauc.solvers import exchange_groups as groups_module
from sparseauc.solvers.exchange_groups import exchange_groups
from sparseauc.solvers.restrictions import Restrictions
from sparseauc.solvers.working_set import exchange_path

LABELS = np.array([0, 0, 1, 1, 1, 2, 3, 3, 4, 5, 5, 6])


def gram_of(seed, **design):
    X, y = make_outbreak(100, 12, 4, mu=0.6, r=0.3, correlation=0.7, random_state=seed, **design)
    return StandardisedGram(class_moments(X, y))


def grouped(gram, labels, k, alpha, fixed=(), excluded=()):
    columns = (np.array(c, np.int64) for c in (fixed, excluded))
    return exchange_groups(gram, k, alpha, Restrictions(*columns, labels))


def value_on(gram, columns, alpha):
    h = gram.rows(columns)[:, columns] + alpha * np.eye(columns.size)
    return 1 - gram.delta[columns] @ np.linalg.solve(h, gram.delta[columns])


def unions(k, forced=(), barred=()):
    """Every union of groups of at most k columns."""
    groups = set(LABELS.tolist()) - set(barred)
    for count in range(len(groups) + 1):
        for chosen in itertools.combinations(sorted(groups), count):
            columns = np.flatnonzero(np.isin(LABELS, chosen))
            if columns.size <= k and set(forced) <= set(chosen):
                yield columns


def test_near_the_best_union_by_enumeration():
    reached = []
    for seed in range(40):
        gram, k, alpha = gram_of(seed), 2 + seed % 6, 0.1
        found = grouped(gram, LABELS, k, alpha)
        assert found.support.size <= k
        whole = np.isin(LABELS, LABELS[found.support])
        np.testing.assert_array_equal(np.flatnonzero(whole), found.support)
        best = min(value_on(gram, columns, alpha) for columns in unions(k) if columns.size)
        assert found.objective >= best - 1e-9
        assert found.objective == pytest.approx(value_on(gram, found.support, alpha))
        reached.append(found.objective <= best + 1e-9)
    assert np.mean(reached) >= 0.85


@pytest.mark.parametrize("first", [0, 500])
def test_no_exchange_of_two_groups_helps(first, monkeypatch):
    # A working set of one group must come to the same as one of all.
    monkeypatch.setattr(groups_module, "_FIRST", first)
    for seed in range(20):
        gram, k, alpha = gram_of(seed), 5, 0.5
        found = grouped(gram, LABELS, k, alpha)
        inside = set(LABELS[found.support].tolist())
        for out in inside:
            for into in set(LABELS.tolist()) - inside:
                columns = np.flatnonzero(np.isin(LABELS, list(inside - {out} | {into})))
                if columns.size <= k:
                    assert value_on(gram, columns, alpha) >= found.objective - 1e-9


def test_groups_of_one_column_are_columns():
    for seed in range(10):
        gram = gram_of(seed)
        single = grouped(gram, np.arange(12), 4, 1.0)
        assert single.objective <= exchange_path(gram, 4, 1.0)[-1].objective * 1.02


def test_forced_and_barred_groups():
    gram = gram_of(0)
    found = grouped(gram, LABELS, 6, 0.1, fixed=[6], excluded=[3])
    assert {6, 7} <= set(found.support.tolist())
    assert not {2, 3, 4} & set(found.support.tolist())
    with pytest.raises(ValueError, match="always included have 3 columns, more than k=2"):
        grouped(gram, LABELS, 2, 0.1, fixed=[2])


def test_dependent_columns_within_a_group():
    X, y = make_outbreak(100, 12, 4, mu=0.6, r=0.3, random_state=0)
    X[:, 1] = X[:, 0]
    X[:, 4] = 3.0
    found = grouped(StandardisedGram(class_moments(X, y)), LABELS, 12, 0.0)
    assert np.isfinite(found.coef).all()


def test_classifier_takes_groups_by_name():
    X, y = make_outbreak(300, 12, 4, mu=0.6, r=0.3, random_state=0)
    names = np.array(list("abcdefg"))[LABELS]
    model = SparseAUCClassifier(k=5, limits=Limits(column_groups=names)).fit(X, y)
    chosen = model.get_support(indices=True)
    np.testing.assert_array_equal(np.flatnonzero(np.isin(names, names[chosen])), chosen)
    with pytest.raises(ValueError, match="each of the 12 columns"):
        SparseAUCClassifier(k=5, limits=Limits(column_groups=names[1:])).fit(X, y)
