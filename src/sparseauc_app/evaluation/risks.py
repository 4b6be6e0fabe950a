"""Predicted probabilities against the outcome: calibration, net benefit, Brier score."""

from dataclasses import asdict, dataclass, field

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit
from sklearn.metrics import average_precision_score, brier_score_loss

from sparseauc.curves import fit_logistic
from sparseauc.utils.types import Array, Mask

from .calibration import CalibrationCurve, calibration_curve
from .decision import DecisionCurve, decision_curve


@dataclass(frozen=True)
class CalibrationCheck:
    """Calibration of the probabilities on new rows: the share of positives, and that expected.

    ``intercept`` is calibration-in-the-large: what to add to the log odds for the two to agree.
    ``slope`` is that of the logistic regression of the outcome on the predicted log odds: below 1
    probabilities are too extreme, and it is NaN if the score separates the classes.
    """

    observed: float
    expected: float
    intercept: float
    intercept_error: float
    slope: float
    slope_error: float

    def as_dict(self) -> dict[str, float | None]:
        """What JSON can hold: None instead of NaN."""
        return {key: None if np.isnan(value) else value for key, value in asdict(self).items()}


@dataclass(frozen=True, eq=False)
class Risks:
    """Predicted probabilities of rows, and how well they agree with the outcome."""

    p: Array = field(repr=False)
    positive: Mask = field(repr=False)
    check: CalibrationCheck
    curve: CalibrationCurve | None = field(repr=False)
    decision: DecisionCurve = field(repr=False)
    brier: float
    average_precision: float


def log_odds_of(p: Array) -> Array:
    """Log odds of probabilities, some of which are rounded to 0 or 1."""
    odds: Array = logit(np.clip(p, 1e-15, 1 - 1e-15))
    return odds


def judge_risks(p: Array, positive: Mask, log_odds: Array | None = None) -> Risks:
    """Compare predicted probabilities with the outcome of the rows; log odds are exact if given."""
    return Risks(
        p=p,
        positive=positive,
        check=check_calibration(log_odds_of(p) if log_odds is None else log_odds, positive),
        curve=calibration_curve(p, positive),
        decision=decision_curve(p, positive),
        brier=float(brier_score_loss(positive, p)),
        average_precision=float(average_precision_score(positive, p)),
    )


def check_calibration(log_odds: Array, positive: Mask) -> CalibrationCheck:
    """Compare predicted log odds with the classes of the rows."""
    observed, expected = float(positive.mean()), float(expit(log_odds).mean())
    # The mean rises with what is added: one root, and these ends enclose it.
    ends = -log_odds.max() - 50, 50 - log_odds.min()
    added = float(brentq(lambda a: expit(log_odds + a).mean() - observed, *ends))
    error = _standard_error(expit(log_odds + added), np.ones_like(log_odds))
    slope, intercept = fit_logistic(log_odds, positive) if log_odds.std() > 0 else (np.nan, np.nan)
    slope_error = np.nan
    if np.isfinite(slope):
        p = expit(slope * log_odds + intercept)
        mean = np.average(log_odds, weights=np.maximum(p * (1 - p), 1e-300))
        slope_error = _standard_error(p, log_odds - mean)
    return CalibrationCheck(observed, expected, added, error, float(slope), slope_error)


def _standard_error(p: Array, x: Array) -> float:
    """Standard error of the coefficient of x in a logistic regression with probabilities p."""
    information = float(np.sum(p * (1 - p) * x**2))
    return 1 / np.sqrt(information) if information > 0 else np.nan
