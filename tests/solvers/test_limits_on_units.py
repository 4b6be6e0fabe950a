"""Signs and families beside groups of columns: against all feasible unions of groups."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparseauc import Limits, SparseAUCClassifier, SparseAUCClassifierCV
from sparseauc.datasets import make_outbreak
from sparseauc.errors import InputError
from sparseauc.moments import class_moments
from sparseauc.moments.base import StandardisedGram
from sparseauc.path import path_of_moments
from sparseauc.selection.fitted_list import FittedList
from sparseauc.solvers import exchange_groups, working_set
from sparseauc.solvers.certificate import certify
from sparseauc.solvers.restrictions import Restrictions

LABELS = np.array([0, 0, 1, 2, 3, 3, 3, 4, 5, 6])
N_GROUPS = 7
SINGLE = np.array([2, 3, 7, 8, 9])


def problem(seed, *, signed, related, dependent):
    """Moments, and restrictions with signs of single columns and families of groups."""
    rng = np.random.default_rng(seed)
    X, y = make_outbreak(
        90, LABELS.size, 5, mu=0.6, r=0.4, correlation=0.7, random_state=seed
    )
    if dependent:
        X[:, 5] = 2 * X[:, 4]
        X[:, 9] = X[:, 0] - X[:, 1]
    signs = np.zeros(LABELS.size, np.int64)
    if signed:
        signs[SINGLE] = rng.integers(-1, 2, SINGLE.size)
    families = None
    if related:
        families = rng.integers(0, 3, N_GROUPS)[LABELS]
    restrictions = Restrictions(
        groups=LABELS, families=families, signs=signs if signed else None
    )
    return class_moments(X, y), restrictions


def is_feasible(groups, restrictions):
    if restrictions.families is None:
        return True
    first = np.unique(LABELS, return_index=True)[1]
    counts = np.bincount(restrictions.families[first[list(groups)]])
    return (counts[1:] <= restrictions.max_per_family).all()


def naive_best(moments, k, alpha, restrictions):
    """Least objective of all feasible unions of at most k groups.

    Where a sign holds a coefficient at 0, the union without it is tried too.
    """
    gram = StandardisedGram(moments)
    H = gram.block(np.arange(LABELS.size), np.arange(LABELS.size))
    best = 1.0
    for size in range(1, k + 1):
        for groups in itertools.combinations(range(N_GROUPS), size):
            if not is_feasible(groups, restrictions):
                continue
            columns = np.flatnonzero(np.isin(LABELS, groups))
            P = H[np.ix_(columns, columns)] + alpha * np.eye(columns.size)
            w = -np.linalg.pinv(P, hermitian=True) @ gram.delta[columns]
            if (restrictions.signs_of(columns) * w >= -1e-9).all():
                best = min(best, 1.0 + float(gram.delta[columns] @ w))
    return best


@given(
    st.integers(0, 10**6),
    st.sampled_from([0.01, 0.5]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_lists_are_feasible_and_no_better_than_the_best(
    seed, alpha, signed, related, dependent
):
    moments, restrictions = problem(
        seed, signed=signed, related=related, dependent=dependent
    )
    top = restrictions.most_columns(LABELS.size)
    ks = np.arange(1, top + 1)
    path = path_of_moments(moments, ks, np.array([alpha]), restrictions, thorough=True)
    for k in ks.tolist():
        solution = path.solutions[0][k - 1]
        signs = restrictions.signs_of(solution.support)
        assert (signs * solution.coef >= 0).all()
        groups = np.unique(LABELS[solution.support])
        assert groups.size <= k
        assert is_feasible(groups, restrictions)
        best = naive_best(moments, k, alpha, restrictions)
        assert solution.objective >= best - 1e-7


@pytest.mark.parametrize("first", [0, 500])
def test_lists_are_nearly_always_the_best(first, monkeypatch):
    """Whether all groups are in the working set at first, or few are."""
    monkeypatch.setattr(exchange_groups, "FIRST", first)
    monkeypatch.setattr(working_set, "_PER_CEILING", 0 if first == 0 else 3)
    reached = []
    for seed in range(25):
        moments, restrictions = problem(
            seed, signed=True, related=seed % 2 == 0, dependent=False
        )
        top = restrictions.most_columns(LABELS.size)
        ks = np.arange(1, top + 1)
        path = path_of_moments(
            moments, ks, np.array([0.1]), restrictions, thorough=True
        )
        for k in ks.tolist():
            best = naive_best(moments, k, 0.1, restrictions)
            reached.append(path.solutions[0][k - 1].objective <= best + 1e-9)
    assert np.mean(reached) >= 0.97


@given(st.integers(0, 10**6), st.sampled_from([0.05, 0.5]), st.booleans())
def test_certified_lists_are_the_best(seed, alpha, related):
    moments, restrictions = problem(seed, signed=True, related=related, dependent=False)
    k = min(3, restrictions.most_columns(LABELS.size))
    gram = StandardisedGram(moments)
    ks = np.array([k])
    path = path_of_moments(moments, ks, np.array([alpha]), restrictions, thorough=True)
    solution = path.solutions[0][0]
    found = certify(gram, solution, k=k, alpha=alpha, restrictions=restrictions)
    best = naive_best(moments, k, alpha, restrictions)
    assert found.lower_bound <= best + 1e-9
    assert found.status == "optimal"
    assert found.solution.objective == pytest.approx(best, abs=1e-8)


def patients(n=400):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "age": rng.normal(60, 10, n),
            "lactate": rng.gamma(2, 1, n),
            "pressure": rng.normal(120, 15, n),
            "ward": rng.choice(["east", "west", "north"], n),
        }
    )
    risk = 0.05 * (frame["age"] - 60) + 0.8 * (frame["ward"] == "west")
    risk += ((frame["pressure"] - 120) / 15) ** 2 - 0.5 * frame["lactate"]
    return frame, risk + rng.normal(size=n) > 0.5


@pytest.mark.parametrize("model", [SparseAUCClassifier, SparseAUCClassifierCV])
def test_signs_hold_beside_text_and_curves(model):
    frame, y = patients()
    limits = Limits(signs={"age": "+", "lactate": "+"})
    given = {"curves": True, "k": 4} if model is SparseAUCClassifier else {}
    fitted = model(limits=limits, **given).fit(frame, y)
    coef = dict(zip(frame.columns, fitted.coef_[0], strict=True))
    assert coef["age"] > 0
    assert coef["lactate"] == 0
    kinds = {frame.columns[j]: one.kind for j, one in fitted.encodings_.items()}
    assert kinds == {"age": "line", "pressure": "curve", "ward": "levels"}


def test_families_hold_beside_text_and_curves():
    frame, y = patients()
    limits = Limits(families={"ward": "place", "pressure": "place"})
    fitted = SparseAUCClassifierCV(limits=limits).fit(frame, y)
    chosen = set(fitted.get_feature_names_out())
    assert len(chosen & {"ward", "pressure"}) == 1
    assert fitted.curves_


def test_what_has_no_single_coefficient_has_no_sign():
    frame, y = patients()
    with pytest.raises(InputError, match="which has several coefficients"):
        SparseAUCClassifier(k=4, limits=Limits(signs={"ward": "+"})).fit(frame, y)
    groups = {"age": "a", "lactate": "a"}
    with pytest.raises(InputError, match="belongs to a group of several columns"):
        SparseAUCClassifier(
            limits=Limits(signs={"age": "+"}, column_groups=groups)
        ).fit(frame, y)
    with pytest.raises(InputError, match="of one group, but not of one family"):
        SparseAUCClassifier(
            limits=Limits(families={"age": 1}, column_groups=groups)
        ).fit(frame, y)


def test_exchanges_keep_signs():
    """Of a list with text and curves: each against the list it leads to."""
    frame, y = patients()
    limits = Limits(signs={"age": "+", "lactate": "-"})
    model = SparseAUCClassifier(k=2, limits=limits, curves=True).fit(frame, y)
    fitted = FittedList.from_model(model, frame, y)
    _, after = fitted.exchanges(fitted.support)
    for place, unit in np.ndindex(after.shape):
        if unit in fitted.support:
            continue
        units = np.sort(np.append(np.delete(fitted.support, place), unit))
        if np.isfinite(after[place, unit]):
            assert fitted.allows(units)
            objective = fitted.solution(units).objective
            assert after[place, unit] == pytest.approx(objective, abs=1e-9)
        else:
            assert not fitted.allows(units)
