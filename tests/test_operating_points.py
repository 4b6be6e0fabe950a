import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix, roc_curve

from sparseauc.operating_points import judge_threshold, operating_points

# Few distinct values, so that ties are common; neighbouring floats; scores on one side
# of zero.
VALUES = st.sampled_from(
    [-3.0, -1.0, -0.5, 0.0, np.nextafter(0.0, 1), 0.25, 1.0, 1.0 + 2**-52, 7.0]
)


@st.composite
def labelled(draw):
    n = draw(st.integers(2, 30))
    y = draw(
        st.lists(st.booleans(), min_size=n, max_size=n).filter(lambda y: 0 < sum(y) < n)
    )
    return np.array(y), np.array(draw(st.lists(VALUES, min_size=n, max_size=n)))


def naive(y, scores, threshold):
    above = scores > threshold
    return (above & y).sum() / y.sum(), (~above & ~y).sum() / (~y).sum()


@given(labelled())
@settings(max_examples=200, deadline=None)
def test_points_against_trying_every_threshold(data):
    y, scores = data
    everywhere = [naive(y, scores, t) for t in [-np.inf, *np.unique(scores)]]
    points = {point.name: point for point in operating_points(y, scores)}
    assert points["default"].threshold == 0
    for point in points.values():
        rates = point.sensitivity.value, point.specificity.value
        assert rates == pytest.approx(naive(y, scores, point.threshold))
    best = max(a + b for a, b in everywhere)
    youden = points["Youden"]
    assert youden.sensitivity.value + youden.specificity.value == pytest.approx(best)
    for share in (0.9, 0.95):
        sensitive = points[f"sensitivity {100 * share:g} %"]
        assert sensitive.sensitivity.value >= share
        assert sensitive.specificity.value == max(
            b for a, b in everywhere if a >= share
        )
        specific = points[f"specificity {100 * share:g} %"]
        assert specific.specificity.value >= share
        assert specific.sensitivity.value == max(a for a, b in everywhere if b >= share)


def test_rates_against_scikit_learn_and_scipy():
    rng = np.random.default_rng(0)
    y = rng.random(200) < 0.2
    scores = rng.normal(size=200) + y
    point = judge_threshold(y, scores, 0.3, "mine")
    (tn, fp), (fn, tp) = confusion_matrix(y, scores > 0.3)
    expected = {
        "sensitivity": (tp, tp + fn), "specificity": (tn, tn + fp),
        "ppv": (tp, tp + fp), "npv": (tn, tn + fn),
    }  # fmt: skip
    for name, (part, whole) in expected.items():
        limits = binomtest(int(part), int(whole)).proportion_ci(0.95, "exact")
        np.testing.assert_allclose(
            getattr(point, name), (part / whole, limits.low, limits.high)
        )
    assert point.flagged_per_1000 == 1000 * (tp + fp) / 200
    fpr, tpr, _ = roc_curve(y, scores)
    youden = operating_points(y, scores)[1]
    assert youden.sensitivity.value + youden.specificity.value - 1 == pytest.approx(
        (tpr - fpr).max()
    )


def test_nobody_flagged_has_no_predictive_value():
    point = judge_threshold([0, 1, 1], [1.0, 2.0, 3.0], 5)
    assert point.ppv is None
    assert point.npv.value == pytest.approx(1 / 3)
    assert point.as_dict()["sensitivity"] == {
        "value": 0.0,
        "low": 0.0,
        "high": point.sensitivity[2],
    }
    assert judge_threshold([0, 1], [1.0, 2.0], 0).npv is None


def test_scores_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="y_score"):
        operating_points([0, 1, 1], [0.0, np.nan, 1.0])
