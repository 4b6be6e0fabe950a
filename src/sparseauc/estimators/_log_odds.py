"""Put the score of a fitted model in log odds, or its threshold between the classes."""

import warnings
from typing import Any

import numpy as np

from ..chunks import Chunks, score_chunks
from ..curves import fit_calibration
from ..path.cross_validation import mean_over_rounds
from ..path.rules import ChanceWarning
from ..solvers.logistic import logistic_regression
from ..transforms import Transform
from ..utils.types import Array, Mask

# Next to no ridge, on the standardised score: it keeps the slope finite where the score separates
# the classes.
_RIDGE = 1e-4


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


def balance_threshold(model: Any, X: Any, positive: Mask, weight: Array | None) -> None:
    """Put 0 where a logistic regression on the score, with balanced classes, gives one half."""
    coef = model.coef_[0]
    if not coef.any():
        return
    if isinstance(X, Chunks):
        scores = score_chunks(X, coef, 0.0, Transform.of_model(model))
    else:
        support = np.flatnonzero(coef)
        scores = X[:, support] @ coef[support]
    share = np.ones(positive.size) if weight is None else np.array(weight, np.float64)
    for side in (positive, ~positive):
        share[side] /= share[side].sum()
    (slope,), intercept = logistic_regression(
        np.asarray(scores, np.float64)[:, None], positive, share, ridge=_RIDGE
    )
    if slope > 0:
        model.intercept_ = np.array([intercept / slope], dtype=coef.dtype)
