"""Slope and baseline hazard against scikit-survival's Cox model."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sparseauc.survival import ProportionalHazards, SurvivalTimes


@st.composite
def scored_times(draw):
    n = draw(st.integers(15, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = rng.standard_normal(n) * draw(st.sampled_from([0.01, 1.0, 300.0]))
    time = rng.exponential(np.exp(-0.7 * scores / scores.std()))
    if draw(st.booleans()):
        time = np.ceil(5 * time)
    times = SurvivalTimes(time, rng.random(n) < 0.7)
    assume(times.event.sum() > 3)
    return scores + draw(st.sampled_from([0.0, 5.0])), times


@given(scored_times())
def test_it_is_a_cox_model_with_one_column(problem):
    linear_model = pytest.importorskip("sksurv.linear_model")
    scores, times = problem
    found = ProportionalHazards.fit(scores, times)
    y = np.array(
        list(zip(times.event, times.time, strict=True)), [("e", "?"), ("t", "f8")]
    )
    # It is given the score in units in which its steps do not overflow.
    mean, spread = scores.mean(), scores.std()
    standard = (scores[:, None] - mean) / spread
    cox = linear_model.CoxPHSurvivalAnalysis(ties="breslow", tol=1e-12).fit(standard, y)
    assume(0.001 < cox.coef_[0] < 10)
    assert_allclose(found.slope * spread, cox.coef_[0], rtol=1e-6)
    at = np.unique(times.time)
    some = np.quantile(scores, [0.1, 0.5, 0.9])
    expected = [
        curve(at)
        for curve in cox.predict_survival_function((some[:, None] - mean) / spread)
    ]
    assert_allclose(found.survival(some, at), expected, atol=1e-6)
    assert found.n_events == times.event.sum()


@given(scored_times())
def test_weights_count_rows(problem):
    scores, times = problem
    counts = np.random.default_rng(0).integers(0, 3, scores.size)
    assume(times.event[counts > 0].sum() > 3)
    repeated = np.repeat(np.arange(scores.size), counts)
    weighted = ProportionalHazards.fit(scores, times, counts.astype(float))
    plain = ProportionalHazards.fit(scores[repeated], times.take(repeated))
    assert_allclose(weighted.slope, plain.slope, rtol=1e-6, atol=1e-9)
    at = np.unique(times.time)
    assert_allclose(
        weighted.survival(scores[:3], at), plain.survival(scores[:3], at), atol=1e-6
    )


def test_odd_scores():
    times = SurvivalTimes(np.arange(1.0, 21), np.ones(20, np.bool_))
    # A score that reverses the order gives everyone the same risk.
    reversed_ = ProportionalHazards.fit(np.arange(20.0), times)
    assert reversed_.slope == 0
    assert np.ptp(reversed_.survival(np.array([-9.0, 9.0]), np.array([5.0]))) == 0
    # One without exceptions has a finite slope, and one value no slope at all.
    assert 0 < ProportionalHazards.fit(-np.arange(20.0), times).slope < np.inf
    same = ProportionalHazards.fit(np.full(20, 7.0), times)
    assert same.slope == 0
    assert_allclose(same.survival(np.array([7.0]), np.array([0.5])), 1.0)
    missing = np.where(np.arange(20) == 4, np.nan, -np.arange(20.0))
    assert ProportionalHazards.fit(missing, times).n_rows == 19
    with pytest.raises(ValueError, match="no risk to estimate"):
        ProportionalHazards.fit(
            np.ones(2), SurvivalTimes(np.ones(2), np.zeros(2, np.bool_))
        )
