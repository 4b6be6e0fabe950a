"""certify: a proven number, and the optimum by enumeration on small tables."""

import itertools

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from sparseauc import Limits, SparseAUCClassifier, SparseConcordance
from sparseauc.datasets import make_outbreak
from sparseauc.moments import class_moments
from sparseauc.selection.fitted_list import FittedList


def least(X, y, k, alpha):
    """Least F + alpha‖w‖² over all choices of k columns, columns standardised."""
    moments = class_moments(StandardScaler().fit_transform(X), y)
    h, delta = (
        moments.columns(np.arange(X.shape[1])) + alpha * np.eye(X.shape[1]),
        moments.delta,
    )
    return min(
        1 - delta[list(c)] @ np.linalg.solve(h[np.ix_(c, c)], delta[list(c)])
        for c in itertools.combinations(range(X.shape[1]), k)
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_small_tables_are_solved_to_optimality(dtype):
    for seed in range(5):
        X, y = make_outbreak(
            80, 12, 4, mu=0.5, r=0.3, correlation=0.8, random_state=seed, dtype=dtype
        )
        model = SparseAUCClassifier(k=3, alpha=0.1).fit(X, y).certify(X, y)
        assert model.certificate_status_ == "optimal"
        assert model.optimality_gap_ == 0.0
        w = model.coef_[0].astype(np.float64) * model.scale_
        value = model.objective_ + 0.1 * w @ w
        assert value == pytest.approx(least(X.astype(np.float64), y, 3, 0.1), rel=1e-5)
        assert model.lower_bound_ <= value * (1 + 1e-5)


def test_out_of_time_the_gap_is_still_proven():
    X, y = make_outbreak(100, 14, 4, mu=0.3, r=0.3, correlation=0.9, random_state=1)
    model = SparseAUCClassifier(k=4, alpha=0.01).fit(X, y)
    model.certify(X, y, time_limit=0.0)
    assert model.lower_bound_ <= least(X, y, 4, 0.01) + 1e-9
    assert 0.0 <= model.optimality_gap_ <= 1.0


COSTS = {"a": 2.0, "b": 3.0, "c": 0.5, "d": 1.0, "ward": 0.5, "smokes": 0.5}


def frame_and_outcomes(seed):
    """A table whose best columns bend, or are texts, and three outcomes of it."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(150, 4)), columns=[*"abcd"])
    frame["ward"] = rng.choice(["east", "north", "west", "south"], 150)
    frame["smokes"] = rng.random(150) < 0.4
    score = frame["a"] ** 2 + frame["b"] + 1.5 * (frame["ward"] == "west")
    score += 0.5 * frame["smokes"] + rng.normal(size=150)
    frame.loc[::7, "a"] = np.nan
    times = np.column_stack([rng.random(150) < 0.8, np.exp(-score) + 0.01])
    return frame, (score > score.median()).to_numpy(), times


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("limited", ["no limits", "limits", "groups"])
@pytest.mark.parametrize("kind", ["classes", "strata", "times"])
def test_curves_and_texts_are_columns_of_the_table(kind, limited, seed):
    frame, y, times = frame_and_outcomes(seed)
    y = times if kind == "times" else y
    strata = np.arange(150) % 3 if kind == "strata" else None
    prices = list(COSTS.values())
    limits = {
        "no limits": None,
        "limits": Limits(always_include=["c"], exclude=["d"], costs=COSTS, budget=4.0),
        "groups": Limits(column_groups=[0, 1, 1, 2, 3, 0]),
    }[limited]
    feasible = {
        "no limits": lambda units: True,
        "limits": lambda units: (
            2 in units and 3 not in units and sum(prices[j] for j in units) <= 4.0
        ),
        "groups": lambda units: True,
    }[limited]
    Model = SparseConcordance if kind == "times" else SparseAUCClassifier
    model = Model(k=3, alpha=0.1, curves=True, limits=limits)
    model.fit(frame, y, strata=strata).certify(frame, y, strata=strata)
    fitted = FittedList.from_model(model, frame, y, strata=strata)
    labels = np.array([0, 1, 1, 2, 3, 0]) if limited == "groups" else np.arange(6)
    unit = labels[fitted.columns]
    delta, H = fitted.gram.gram()
    P = H + 0.1 * np.eye(delta.size)
    values = {}
    for units in itertools.combinations(np.unique(labels).tolist(), 3):
        if feasible({*units}):
            at = np.isin(unit, units)
            w = -np.linalg.solve(P[np.ix_(at, at)], delta[at])
            values[units] = 1 + delta[at] @ w
    best = min(values, key=values.get)
    assert model.certificate_status_ == "optimal"
    assert values[best] * (1 - 2e-6) <= model.lower_bound_ <= values[best] * (1 + 1e-9)
    assert {*labels[model.get_support()].tolist()} == {*best}
    again = clone(model).fit(frame, y, strata=strata)
    for j, encoding in model.encodings_.items():
        assert_allclose(encoding.coef, again.encodings_[j].coef, rtol=1e-6)


def test_a_better_list_takes_the_place_of_the_one_found():
    X, y = make_outbreak(80, 12, 4, mu=0.5, r=0.3, correlation=0.8, random_state=0)
    best = SparseAUCClassifier(k=3, alpha=0.1).fit(X, y).certify(X, y)
    worse = SparseAUCClassifier(k=3, alpha=0.1).fit(X, y)
    short = SparseAUCClassifier(k=1, alpha=0.1).fit(X, y)
    worse.coef_ = short.coef_
    worse.encodings_ = short.encodings_
    np.testing.assert_allclose(worse.certify(X, y).coef_, best.coef_, rtol=1e-9)
    assert worse.objective_ == pytest.approx(best.objective_)


def test_rows_of_the_fit_or_moments_are_needed():
    X, y = make_outbreak(80, 6, 2, random_state=0, r=0.3)
    model = SparseAUCClassifier(k=2).fit(X, y)
    with pytest.raises(ValueError, match=r"rows of the fit: certify\(X, y\)"):
        model.certify()
    with pytest.raises(ValueError, match="other columns or labels"):
        model.certify(X[:, :4], y)
    with pytest.raises(ValueError, match="time_limit must be"):
        model.certify(X, y, time_limit=-1)
    moments = class_moments(X, y).summary()
    of_moments = (
        SparseAUCClassifier(k=2).fit_moments(moments, classes=(-1, 1)).certify()
    )
    assert of_moments.certificate_status_ == "optimal"
    strata = np.arange(80) % 3
    model.fit(X, y, strata=strata, stratum_weights="equal")
    with pytest.raises(ValueError, match="give those of the fit too"):
        model.certify(X, y)
    assert model.certify(X, y, strata=strata).certificate_status_ == "optimal"
