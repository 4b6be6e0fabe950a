"""Put the score of a fitted model in log odds."""

import warnings
from typing import Any

import numpy as np
from scipy.special import logit

from ..path.cross_validation import mean_over_rounds
from ..path.rules import ChanceWarning
from ..solvers.logistic import logistic_regression
from ..utils.types import Array, Mask

# Slope, in log odds for each standard deviation of the score, where a fitted one is not positive.
_SMALL_SLOPE = 0.01


def score_in_log_odds(
    model: Any, scores: Array, positive: Mask, weight: Array | None, stacklevel: int = 3
) -> None:
    """Fold Platt scaling into ``coef_`` and ``intercept_``, and set ``platt_``.

    Parameters
    ----------
    model : SparseLinearClassifier
        Fitted; its score is zero midway between the class means.
    scores : ndarray of shape (n, n_rounds)
        Out-of-fold scores of each round of cross-validation, NaN where there is none. Their means
        in log odds become ``out_of_fold_scores_``.
    positive : ndarray of bool of shape (n,)
    weight : ndarray of shape (n,), optional
    stacklevel : int, default=3
        For the warning.
    """
    model.platt_ = found = fit_calibration(scores, positive, weight)
    slope, intercept = found["slope"], found["intercept"]
    if found["reversed"]:
        warnings.warn(
            "out-of-fold scores do not rank positives above negatives: the coefficients are scaled "
            "down until the probability of every row is close to the share of positives",
            ChanceWarning,
            stacklevel=stacklevel,
        )
    del found["reversed"]
    dtype = model.coef_.dtype
    model.intercept_ = (slope * model.intercept_ + intercept).astype(dtype, copy=False)
    model.coef_ = (slope * model.coef_).astype(dtype, copy=False)
    model.out_of_fold_scores_ = slope * mean_over_rounds(scores) + intercept


def fit_calibration(
    scores: Array, positive: Mask, weight: Array | None = None
) -> dict[str, float | int]:
    """Platt scaling: the map from out-of-fold scores to log odds, by logistic regression.

    Parameters
    ----------
    scores : ndarray of shape (n,) or (n, n_rounds)
        Out-of-fold scores, of each round of cross-validation; NaN where there is none. Rounds are
        not averaged: a mean of several models separates the classes better than any one of them.
    positive : ndarray of bool of shape (n,)
    weight : ndarray of shape (n,), optional

    Returns
    -------
    dict
        ``slope`` and ``intercept``; ``n_positive`` and ``n_negative``, the number of rows used;
        ``prevalence``, the share of positives among them; and ``reversed``: whether the slope was
        not positive. Rows would then lose their order, so the slope is replaced by a small one:
        all rows have about the share of positives as probability.
    """
    scores = np.asarray(scores, np.float64).reshape(positive.size, -1)
    known = ~np.isnan(scores)
    used = known.any(axis=1) & (True if weight is None else weight > 0)
    n_positive, n_negative = (int(np.count_nonzero(used & side)) for side in (positive, ~positive))
    rows, rounds = np.nonzero(known)
    values, target = scores[rows, rounds], positive[rows]
    share = None if weight is None else weight[rows]
    # Next to no ridge: it keeps the slope finite where the score separates the classes, and unlike
    # Platt's targets it does not depend on how many rows a weight stands for.
    (slope,), intercept = logistic_regression(values[:, None], target, share, ridge=1e-4)
    prevalence = float(np.average(target, weights=share))
    reversed_ = not slope > 0
    if reversed_:
        mean = float(np.average(values, weights=share))
        spread = float(np.sqrt(np.average((values - mean) ** 2, weights=share)))
        slope = _SMALL_SLOPE / spread if spread > 0 else 1.0
        intercept = float(logit(prevalence)) - slope * mean
    return {
        "slope": float(slope),
        "intercept": float(intercept),
        "n_positive": n_positive,
        "n_negative": n_negative,
        "prevalence": prevalence,
        "reversed": reversed_,
    }
