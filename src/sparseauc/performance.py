"""ROC bands and calibration.

``positive`` is the mask of the positive rows; both classes must occur.
"""

import numpy as np
import numpy.typing as npt
from scipy.special import logit
from scipy.stats import beta, binom

from .defaults import CALIBRATION_RIDGE, SMALL_SLOPE
from .solvers.logistic import logistic_regression
from .utils.arrays import known_scores
from .utils.types import Array, Mask

__all__ = [
    "binomial_limits",
    "fit_calibration",
    "fit_logistic",
    "roc_band",
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
    # No beta distribution has limits of 0 or 1.
    low = np.nan_to_num(beta.ppf(tail, x, n - x + 1), nan=0.0)
    high = np.nan_to_num(beta.ppf(1 - tail, x + 1, n - x), nan=1.0)
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
    rows, values, times = known_scores(np.asarray(scores, np.float64), weight)
    n_positive, n_negative = (
        int(np.count_nonzero(times[side])) for side in (positive, ~positive)
    )
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
