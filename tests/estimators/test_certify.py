"""certify=True: a proven number, and the optimum by enumeration on small tables."""

import itertools

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from sparseauc import SparseAUCClassifier
from sparseauc.datasets import make_outbreak
from sparseauc.moments import class_moments


def least(X, y, k, alpha):
    """Least F + alpha‖w‖² over all choices of k columns, columns standardised."""
    moments = class_moments(StandardScaler().fit_transform(X), y)
    h, delta = moments.columns(np.arange(X.shape[1])) + alpha * np.eye(X.shape[1]), moments.delta
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
        model = SparseAUCClassifier(k=3, alpha=0.1, certify=True).fit(X, y)
        assert model.certificate_status_ == "optimal"
        assert model.optimality_gap_ == 0.0
        w = model.coef_[0].astype(np.float64) * model.scale_
        value = model.objective_ + 0.1 * w @ w
        assert value == pytest.approx(least(X.astype(np.float64), y, 3, 0.1), rel=1e-5)
        assert model.lower_bound_ <= value * (1 + 1e-5)


def test_out_of_time_the_gap_is_still_proven():
    X, y = make_outbreak(100, 14, 4, mu=0.3, r=0.3, correlation=0.9, random_state=1)
    model = SparseAUCClassifier(k=4, alpha=0.01, certify=True, time_limit=0.0).fit(X, y)
    assert model.lower_bound_ <= least(X, y, 4, 0.01) + 1e-9
    assert 0.0 <= model.optimality_gap_ <= 1.0


def test_groups_are_not_certified():
    X, y = make_outbreak(60, 6, 2, random_state=0, r=0.3)
    with pytest.raises(ValueError, match="leave groups out"):
        SparseAUCClassifier(k=2, certify=True, groups=[0, 0, 1, 1, 2, 2]).fit(X, y)
