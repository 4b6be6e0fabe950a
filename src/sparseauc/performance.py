"""ROC bands, histograms and calibration, for displays and reports.

``positive`` is the mask of the positive rows; both classes must occur.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import logit
from scipy.stats import beta, binom

from .defaults import CALIBRATION_RIDGE, SMALL_SLOPE
from .solvers.logistic import logistic_regression
from .utils.types import Array, Indices, Mask

__all__ = [
    "CalibrationBins",
    "binomial_limits",
    "calibration_bins",
    "fit_calibration",
    "fit_logistic",
    "roc_band",
    "score_bins",
]


def binomial_limits(
    successes: npt.ArrayLike, trials: npt.ArrayLike, confidence: float = 0.95
) -> tuple[Array, Array]:
    """Exact confidence limits of a probability, by Clopper and Pearson.

    Examples
    --------
    >>> low, high = binomial_limits(0, 10)
    >>> float(low), round(float(high), 3)
    (0.0, 0.308)
    """
    x = np.asarray(successes, np.float64)
    n = np.asarray(trials, np.float64)
    tail = (1.0 - confidence) / 2
    low = np.where(x > 0, beta.ppf(tail, np.where(x > 0, x, 1.0), n - x + 1), 0.0)
    high = np.where(x < n, beta.ppf(1 - tail, x + 1, np.where(x < n, n - x, 1.0)), 1.0)
    return low, high


def roc_band(
    scores: Array, positive: Mask, confidence: float = 0.95
) -> tuple[Array, Array, Array]:
    """Confidence limits of the true positive rate at evenly spaced false positive rates.

    ``ROCBandDisplay`` describes the band.

    Parameters
    ----------
    scores, positive : ndarrays of shape (n,)
    confidence : float, default=0.95
        Level of each point.

    Returns
    -------
    fpr, low, high : ndarrays of shape (501,)
    """
    ascending = np.sort(scores[positive])
    negatives = np.sort(scores[~positive])
    fpr = np.linspace(0.0, 1.0, 501)
    level = np.sqrt(confidence)  # of each class
    # How many negatives exceed the threshold whose false positive rate is t: so it lies
    # below the `fewest`-th and not below the one after the `most`-th largest negative.
    fewest, most = (
        np.asarray(binom.ppf((1.0 + side * level) / 2, negatives.size, fpr), np.int64)
        for side in (-1, 1)
    )
    bounded = np.concatenate([[-np.inf], negatives, [np.inf]])[::-1]
    upper = bounded[fewest]
    lower = bounded[most + 1]
    at_least = ascending.size - ascending.searchsorted(upper, "left")
    at_most = ascending.size - ascending.searchsorted(lower, "right")
    low, _ = binomial_limits(at_least, ascending.size, level)
    _, high = binomial_limits(at_most, ascending.size, level)
    return fpr, low, high


def score_bins(scores: Array, positive: Mask) -> Array:
    """Round edges of histogram bins for both classes; their number depends on the rarer class.

    The edges end at four interquartile ranges from the median, so that extreme rows do
    not squeeze all others into one bin: count ``np.clip(scores, edges[0], edges[-1])``.
    """
    low, middle, high = np.quantile(scores, [0.25, 0.5, 0.75])
    reach = 4 * (high - low) or np.inf
    ends = max(scores.min(), middle - reach), min(scores.max(), middle + reach)
    few = int(min(positive.sum(), (~positive).sum()))
    width = _round_width((ends[1] - ends[0]) / np.clip(2 * np.sqrt(few), 8, 24))
    edges: Array = (
        np.arange(np.floor(ends[0] / width), np.floor(ends[1] / width) + 2) * width
    )
    return edges


def _round_width(width: float) -> float:
    """Nearest of 1, 2 and 5 times a power of ten, or 1 for nothing: ends a person can read."""
    if not width > 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(width))
    return float(
        min((1, 2, 5, 10), key=lambda times: abs(np.log(times * power / width))) * power
    )


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


def fit_logistic(
    scores: Array, positive: Mask, weight: Array | None = None
) -> tuple[float, float]:
    """Slope and intercept of the logistic regression of a class on one score.

    Parameters
    ----------
    scores, positive : ndarrays of shape (n,)
    weight : ndarray of shape (n,), optional

    Returns
    -------
    slope, intercept : float
        The probability is 1/(1 + exp(−slope·score − intercept)). NaN where no finite
        fit exists.
    """
    (slope,), intercept = logistic_regression(
        scores[:, None], positive, weight, ridge=0.0
    )
    if abs(slope) * scores.std() > 20:  # separated: the slope grows without end
        return np.nan, np.nan
    return float(slope), intercept


def fit_calibration(
    scores: Array, positive: Mask, weight: Array | None = None
) -> tuple[dict[str, float | int], bool]:
    """Platt scaling: the map from out-of-fold scores to log odds, by logistic regression.

    Parameters
    ----------
    scores : ndarray of shape (n,) or (n, n_rounds)
        Out-of-fold scores, of each round of cross-validation; NaN where there is none.
        Rounds are not averaged: a mean of several models separates the classes better
        than any one of them.
    positive : ndarray of bool of shape (n,)
    weight : ndarray of shape (n,), optional

    Returns
    -------
    dict
        ``slope`` and ``intercept``; ``n_positive`` and ``n_negative``, the number of
        rows used; and ``prevalence``, the share of positives among them.
    is_reversed : bool
        True if the slope was not positive. Rows would then lose their order, so the
        slope is replaced by a small one: all rows have about the share of positives as
        probability.
    """
    scores = np.asarray(scores, np.float64).reshape(positive.size, -1)
    known = ~np.isnan(scores)
    used = known.any(axis=1) & (True if weight is None else weight > 0)
    n_positive, n_negative = (
        int(np.count_nonzero(used & side)) for side in (positive, ~positive)
    )
    rows, rounds = np.nonzero(known)
    values = scores[rows, rounds]
    target = positive[rows]
    share = None if weight is None else weight[rows]
    # Next to no ridge: it keeps the slope finite where the score separates the classes,
    # and unlike Platt's targets it does not depend on how many rows a weight stands
    # for.
    (slope,), intercept = logistic_regression(
        values[:, None], target, share, ridge=CALIBRATION_RIDGE
    )
    prevalence = float(np.average(target, weights=share))
    is_reversed = not slope > 0
    if is_reversed:
        mean = float(np.average(values, weights=share))
        spread = float(np.sqrt(np.average((values - mean) ** 2, weights=share)))
        slope = SMALL_SLOPE / spread if spread > 0 else 1.0
        intercept = float(logit(prevalence)) - slope * mean
    platt = {
        "slope": float(slope),
        "intercept": float(intercept),
        "n_positive": n_positive,
        "n_negative": n_negative,
        "prevalence": prevalence,
    }
    return platt, is_reversed
