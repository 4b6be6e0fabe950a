"""The same scores in R: pROC's AUC, DeLong's variance and test, exact limits, a logistic fit.

``results_of_r/make.R`` wrote the numbers; they say which versions of R and pROC made
them.
"""

import json
from pathlib import Path

import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtri

from sparseauc.metrics import auc, auc_confidence_interval, delong_test
from sparseauc.operating_points import judge_threshold, operating_points
from sparseauc.performance import fit_logistic

FOLDER = Path(__file__).parent / "results_of_r"
ROWS = pd.read_csv(FOLDER / "scores.csv")
R = json.loads((FOLDER / "results.json").read_text())


@pytest.mark.parametrize("score", ["first", "second"])
def test_auc_and_its_interval(score):
    y, scores, expected = ROWS["case"], ROWS[score], R[score]
    assert_allclose(auc(y, scores), expected["auc"], rtol=1e-13)
    for limits in expected["limits"]:
        found = auc_confidence_interval(y, scores, limits["level"])
        assert_allclose(found.standard_error, expected["standard_error"], rtol=1e-12)
        assert_allclose([found.low, found.high], limits["logit"], rtol=1e-12)
        half = ndtri((1 + limits["level"]) / 2) * found.standard_error
        assert_allclose(
            [found.auc - half, found.auc + half], limits["symmetric"], rtol=1e-12
        )


def test_paired_delong_test():
    found = delong_test(ROWS["case"], ROWS["first"], ROWS["second"])
    assert_allclose(found.statistic, R["test"]["statistic"], rtol=1e-12)
    assert_allclose(found.pvalue, R["test"]["pvalue"], rtol=1e-12)


@pytest.mark.parametrize("score", ["first", "second"])
def test_thresholds(score):
    for expected in R[score]["points"]:
        found = judge_threshold(ROWS["case"], ROWS[score], expected["threshold"])
        for rate in ("sensitivity", "specificity", "ppv", "npv"):
            assert_allclose(getattr(found, rate), expected[rate], rtol=1e-12)
    youden = operating_points(ROWS["case"], ROWS[score])[1]
    reached = youden.sensitivity.value + youden.specificity.value - 1
    assert_allclose(reached, R[score]["youden"], rtol=1e-12)


@pytest.mark.parametrize("score", ["first", "second"])
def test_calibration(score):
    found = fit_logistic(ROWS[score].to_numpy(), ROWS["case"].to_numpy() == 1)
    assert_allclose(found, R[score]["logistic"], rtol=1e-9)
