import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, ndtr, ndtri
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression

from sparseauc.performance import (
    binomial_limits,
    fit_logistic,
    roc_band,
)

# ----------------------------------------------------------------------------- ROC band


def test_roc_bands_cover_as_often_as_they_say():
    # Two normals, one of them shifted by one: the true curve is Φ(1 + Φ⁻¹(t)).
    rng = np.random.default_rng(0)
    positive = np.arange(85) < 25
    covered = []
    for _ in range(400):
        fpr, low, high = roc_band(rng.standard_normal(85) + positive, positive, 0.9)
        truth = ndtr(1 + ndtri(fpr))
        covered.append((low <= truth) & (truth <= high))
        assert np.all(np.diff(low) >= 0)
        assert np.all(np.diff(high) >= 0)
        assert np.all((low >= 0) & (high <= 1))
    covered = np.array(covered)
    # 400 draws tell a share of 0.9 to within 0.03, two standard errors.
    assert covered.mean(axis=0).min() >= 0.9 - 0.03
    # That is what pointwise means, and why the legend says it.
    assert covered.all(axis=1).mean() < covered.mean(axis=0).min()


@given(st.integers(1, 50).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_binomial_limits_leave_half_the_error_on_each_side(counts):
    x, n = counts
    low, high = binomial_limits(x, n)
    if x > 0:
        assert binom.sf(x - 1, n, low) == pytest.approx(0.025)
    if x < n:
        assert binom.cdf(x, n, high) == pytest.approx(0.025)
    assert (low == 0) == (x == 0)
    assert (high == 1) == (x == n)


@pytest.mark.parametrize("scale", [1.0, 1e-4, 1e5])
def test_logistic_fit_against_scikit_learn(scale):
    rng = np.random.default_rng(0)
    positive = rng.random(200) < 0.3
    scores = scale * (rng.normal(size=200) + positive + 3)
    oracle = LogisticRegression(C=1e12, tol=1e-12, max_iter=10_000)
    oracle.fit((scores / scale)[:, None], positive)
    slope, intercept = fit_logistic(scores, positive)
    assert slope * scale == pytest.approx(oracle.coef_[0, 0], rel=1e-4)
    assert intercept == pytest.approx(oracle.intercept_[0], rel=1e-4)


def test_separated_classes_have_no_slope():
    scores, positive = np.arange(20.0), np.arange(20) >= 10
    assert np.isnan(fit_logistic(scores, positive)).all()


def test_constant_scores_give_the_share():
    positive = np.arange(20) < 5
    slope, intercept = fit_logistic(np.ones(20), positive)
    assert expit(slope + intercept) == pytest.approx(0.25)
