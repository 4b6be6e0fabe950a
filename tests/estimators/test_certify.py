"""certify: a proven number, and the optimum by enumeration on small tables."""

import itertools

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from sparseauc import Limits, SparseAUCClassifier
from sparseauc.datasets import make_outbreak
from sparseauc.moments import class_moments


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


def test_groups_are_not_certified():
    X, y = make_outbreak(60, 6, 2, random_state=0, r=0.3)
    model = SparseAUCClassifier(
        k=2, limits=Limits(column_groups=[0, 0, 1, 1, 2, 2])
    ).fit(X, y)
    with pytest.raises(ValueError, match="leave column_groups out"):
        model.certify(X, y)


def test_a_better_list_takes_the_place_of_the_one_found():
    X, y = make_outbreak(80, 12, 4, mu=0.5, r=0.3, correlation=0.8, random_state=0)
    best = SparseAUCClassifier(k=3, alpha=0.1).fit(X, y).certify(X, y)
    worse = SparseAUCClassifier(k=3, alpha=0.1).fit(X, y)
    worse.coef_ = SparseAUCClassifier(k=1, alpha=0.1).fit(X, y).coef_
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
