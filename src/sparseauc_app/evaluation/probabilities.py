"""Probabilities against the outcome: calibration, net benefit, Brier score."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit
from sklearn.metrics import average_precision_score

from sparseauc.outcome import Outcome, Times
from sparseauc.performance import binomial_limits, fit_logistic
from sparseauc.survival import ProportionalHazards
from sparseauc.utils.types import Array, Indices, Mask

from ..scorecard import RiskMap

# Share of the rows in each local fit, as R's loess has it.
_SPAN = 0.75
# Places at which the curve is fitted; between them it is a straight line.
_PLACES = 150


@dataclass(frozen=True, eq=False)
class CalibrationBins:
    """Rows in order of their prediction, in a few bins of nearly the same size.

    Attributes
    ----------
    predicted : ndarray of shape (n_bins,)
        Mean prediction.
    rows : ndarray of int of shape (n_bins,)
    share, low, high : ndarray of shape (n_bins,)
        Share of positives, and its exact binomial limits.
    """

    predicted: Array
    rows: Indices
    share: Array
    low: Array
    high: Array


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationCurve:
    """Observed against predicted probability, smoothed by local quadratic regression (loess).

    Attributes
    ----------
    predicted, observed, low, high : ndarray
        The curve with its pointwise 95 % band.
    ici, e50, e90 : float
        Mean (integrated calibration index), median and 90 % quantile of the distance
        between predicted and smoothed observed probability over the rows (Austin and
        Steyerberg 2019).
    """

    predicted: Array
    observed: Array
    low: Array
    high: Array
    ici: float
    e50: float
    e90: float


def calibration_curve(p: Array, positive: Mask) -> CalibrationCurve | None:
    """Smooth the outcome against its predicted probability; None with too few different ones."""
    distinct = np.unique(p)
    if distinct.size < 10 or p.size < 30:
        return None
    places = distinct
    if distinct.size > _PLACES:
        places = np.unique(np.quantile(p, np.linspace(0, 1, _PLACES)))
    order = np.argsort(p, kind="stable")
    x = p[order]
    y = positive[order].astype(np.float64)
    weights = [_local_weights(x, place) for place in places.tolist()]
    fitted = np.array([row @ y[rows] for rows, row in weights])
    # The variance of a row is binomial, by its own smoothed probability.
    smooth = np.clip(np.interp(x, places, fitted), 0.0, 1.0)
    variance = smooth * (1 - smooth)
    error = np.sqrt([row**2 @ variance[rows] for rows, row in weights])
    away = np.abs(smooth - x)
    return CalibrationCurve(
        predicted=places,
        observed=np.clip(fitted, 0.0, 1.0),
        low=np.clip(fitted - 1.96 * error, 0.0, 1.0),
        high=np.clip(fitted + 1.96 * error, 0.0, 1.0),
        ici=float(away.mean()),
        e50=float(np.median(away)),
        e90=float(np.quantile(away, 0.9)),
    )


def _local_weights(x: Array, place: float) -> tuple[slice, Array]:
    """Rows near a place of sorted x, and the weights by which their outcomes give its value."""
    n = x.size
    near = min(n, max(3, int(np.floor(_SPAN * n + 1e-5))))
    start = np.searchsorted(x, place)
    low = max(0, int(start) - near)
    high = min(n, int(start) + near)
    window = np.sort(np.abs(x[low:high] - place))
    reach = max(float(window[near - 1]), 1e-12)
    first = int(np.searchsorted(x, place - reach, "left"))
    last = int(np.searchsorted(x, place + reach, "right"))
    part = x[first:last] - place
    tricube = np.clip(1 - np.abs(part / reach) ** 3, 0.0, None) ** 3
    design = np.column_stack([np.ones_like(part), part / reach, (part / reach) ** 2])
    root = np.sqrt(tricube)
    solved = np.linalg.pinv(design * root[:, None], rcond=1e-10)
    return slice(first, last), solved[0] * root


@dataclass(frozen=True, eq=False, repr=False)
class DecisionCurve:
    """Net benefit at each threshold probability, of the model and of acting on all rows.

    ``error`` is the standard error of the model's net benefit, which is a mean over
    rows.
    """

    thresholds: Array
    model: Array
    error: Array
    everyone: Array


def decision_curve(
    p: Array, positive: Mask, weight: Array | None = None
) -> DecisionCurve:
    """Net benefit at thresholds of whole per cents, up to where hardly any row lies above."""
    highest = min(0.99, max(0.1, float(np.quantile(p, 0.99))))
    thresholds = np.arange(1, np.ceil(100 * highest) + 1) / 100
    thresholds = thresholds[thresholds < 1]
    loss = (thresholds / (1 - thresholds))[:, None] * ~positive
    one = np.ones(p.size) if weight is None else weight
    each = (p >= thresholds[:, None]) * (positive - loss) * one
    return DecisionCurve(
        thresholds,
        each.mean(axis=1),
        each.std(axis=1) / np.sqrt(p.size),
        ((positive - loss) * one).mean(axis=1),
    )


@dataclass(frozen=True)
class CalibrationCheck:
    """Calibration of the probabilities on new rows: the share of positives, and that expected.

    ``intercept`` is calibration-in-the-large: what to add to the log odds for the two
    to agree. ``slope`` is that of the logistic regression of the outcome on the
    predicted log odds: below 1 probabilities are too extreme, and it is NaN if the
    score separates the classes. Of times to event, it is that of the Cox model of the
    logarithm of the predicted hazard.
    """

    observed: float
    expected: float
    intercept: float
    intercept_error: float
    slope: float
    slope_error: float

    def as_dict(self) -> dict[str, float | None]:
        """Return what JSON can hold: None instead of NaN."""
        return {
            key: None if np.isnan(value) else value
            for key, value in asdict(self).items()
        }


@dataclass(frozen=True, eq=False, repr=False)
class Risks:
    """Predicted probabilities of rows, and how well they agree with the outcome.

    ``share`` is that of the positive rows, by their weights if they have any.
    """

    p: Array
    share: float
    bins: CalibrationBins
    check: CalibrationCheck
    curve: CalibrationCurve | None
    decision: DecisionCurve
    brier: float
    average_precision: float


def describe_risks(risks: Risks | None) -> dict[str, Any]:
    """Return what JSON has of risks."""
    if risks is None:
        return {"calibration": None, "brier": None}
    return {"calibration": risks.check.as_dict(), "brier": risks.brier}


def log_odds_of(p: Array) -> Array:
    """Log odds of probabilities, some of which are rounded to 0 or 1."""
    odds: Array = logit(np.clip(p, 1e-15, 1 - 1e-15))
    return odds


def judge_scores(outcome: Outcome, how: RiskMap, scores: Array) -> Risks:
    """Compare the risks of scores with the outcome."""
    log_odds = how.linear(scores) if how.link == "logit" else None
    classes = outcome.at_horizon()
    risks = judge_risks(how.risks(scores), classes.positive, log_odds, classes.weight)
    if not isinstance(outcome, Times):
        return risks
    hazards = ProportionalHazards.fit(how.linear(scores), outcome.times, outcome.weight)
    slope = {"slope": hazards.slope, "slope_error": hazards.slope_error}
    return replace(risks, check=replace(risks.check, **slope))


def judge_risks(
    p: Array, positive: Mask, log_odds: Array | None = None, weight: Array | None = None
) -> Risks:
    """Compare predicted probabilities with the outcome of the rows.

    Parameters
    ----------
    p : ndarray of shape (n,)
    positive : ndarray of bool of shape (n,)
    log_odds : ndarray of shape (n,), optional
        Exact ones of the probabilities.
    weight : ndarray of shape (n,), optional
        What rows count, such as inverse censoring weights; rows of weight 0 count in
        means.
    """
    log_odds = log_odds_of(p) if log_odds is None else log_odds
    one = np.ones(p.size) if weight is None else weight
    return Risks(
        p=p,
        share=float(np.average(positive, weights=one)),
        bins=calibration_bins(p, positive, weight),
        check=check_calibration(log_odds, positive, one),
        curve=calibration_curve(p, positive) if weight is None else None,
        decision=decision_curve(p, positive, one),
        brier=float(np.mean(one * (positive - p) ** 2)),
        average_precision=float(
            average_precision_score(positive, p, sample_weight=weight)
        ),
    )


def calibration_bins(
    predicted: Array, positive: Mask, weight: Array | None = None
) -> CalibrationBins:
    """Count positives among rows of similar prediction, with exact binomial limits.

    There are three to ten bins, with at least fifteen rows each and on average three of
    the rarer class. Equal predictions share a bin. With weights, whose rows of 0 do not
    count, limits are those of as many rows of equal weight as tell as much.
    """
    if weight is None:
        weight = np.ones(predicted.size)
    counted = weight > 0
    predicted = predicted[counted]
    positive = positive[counted]
    weight = weight[counted]
    few = int(min(positive.sum(), (~positive).sum()))
    wanted = int(np.clip(min(predicted.size // 15, few // 3), 3, 10))
    edges = np.unique(
        np.quantile(predicted, np.linspace(0, 1, wanted + 1)[1:-1], method="lower")
    )
    place = np.searchsorted(edges, predicted, side="left")
    _, place, rows = np.unique(place, return_inverse=True, return_counts=True)
    sums = np.bincount(place, weight)
    share = np.bincount(place, weight * positive) / sums
    size = sums**2 / np.bincount(place, weight**2)
    low, high = binomial_limits(share * size, size)
    means = np.bincount(place, weight * predicted) / sums
    return CalibrationBins(means, rows, share, low, high)


def check_calibration(
    log_odds: Array, positive: Mask, weight: Array | None = None
) -> CalibrationCheck:
    """Compare predicted log odds with the classes of the rows."""
    weight = np.ones(positive.size) if weight is None else weight

    def mean(values: Any) -> float:
        return float(np.average(values, weights=weight))

    observed = mean(positive)
    expected = mean(expit(log_odds))
    # The mean rises with what is added: one root, and these ends enclose it.
    ends = -log_odds.max() - 50, 50 - log_odds.min()
    added = float(brentq(lambda a: mean(expit(log_odds + a)) - observed, *ends))
    error = _standard_error(
        expit(log_odds + added), np.ones_like(log_odds), positive, weight
    )
    slope = np.nan
    intercept = np.nan
    if log_odds.std() > 0:
        slope, intercept = fit_logistic(log_odds, positive, weight)
    slope_error = np.nan
    if np.isfinite(slope):
        p = expit(slope * log_odds + intercept)
        middle = np.average(log_odds, weights=np.maximum(weight * p * (1 - p), 1e-300))
        slope_error = _standard_error(p, log_odds - middle, positive, weight)
    return CalibrationCheck(observed, expected, added, error, float(slope), slope_error)


def _standard_error(p: Array, x: Array, positive: Mask, weight: Array) -> float:
    """Standard error of the coefficient of x in a logistic regression with probabilities p."""
    information = float(np.sum(weight * p * (1 - p) * x**2))
    if information <= 0:
        return np.nan
    if np.all(weight == 1):
        return float(1 / np.sqrt(information))
    # Weights are no numbers of rows: from the residuals.
    return float(np.linalg.norm(weight * (positive - p) * x) / information)
