"""Logistic regression on a few columns, by Newton's method."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dposv
from scipy.special import expit, logit

from .limited import minimise_signed

Array = npt.NDArray[np.float64]

_MOST_STEPS = 100
# Newton's decrement, relative to the loss, at which the last step is taken.
_TOLERANCE = 1e-10


def logistic_regression(
    X: Array,
    target: npt.ArrayLike,
    weight: Array | None = None,
    *,
    ridge: float = 5e-3,
    signs: npt.NDArray[np.int64] | None = None,
    start: tuple[Array, float] | None = None,
) -> tuple[Array, float]:
    """Fit a logistic regression with a light ridge.

    Minimises the mean of the logistic losses and ridge/2 times the squared norm of the coefficients
    of standardised columns; the intercept is not penalised. Weights count by their ratio.

    Parameters
    ----------
    X : ndarray of shape (n, k)
    target : array-like of shape (n,)
        1 and 0, or true and false, or anything between: how far a row belongs to the positive
        class. Some rows of weight above 0 are above 0, and some below 1.
    weight : ndarray of shape (n,), optional
        Weights of the rows.
    ridge : float, default=0.005
        With a ridge of 0 there is no finite answer where a line separates targets of 0 and 1.
    signs : ndarray of int64 of shape (k,), optional
        1 for coefficients of 0 or more, −1 for those of 0 or less, 0 for any.
    start : tuple of ndarray and float, optional
        Coefficients of the right signs and an intercept that may be near the answer.

    Returns
    -------
    coef : ndarray of shape (k,)
        On the scale of X.
    intercept : float
    """
    n, k = X.shape
    target = np.asarray(target, np.float64)
    share = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    # Largest entries of 1, so that no square is too large or too small for a number.
    size = np.abs(X).max(axis=0)
    size[size == 0.0] = 1.0
    rows = np.empty((n, k + 1))
    rows[:, k] = 1.0
    columns = rows[:, :k]
    np.divide(X, size, out=columns)
    mean = share @ columns
    columns -= mean
    deviation = np.sqrt(share @ columns**2)
    # What varies by rounding alone is constant, and the ridge leaves its coefficient at 0.
    constant = deviation <= 1e-12 * np.abs(mean)
    deviation[constant] = 1.0
    columns /= deviation
    columns[:, constant] = 0.0
    penalty = np.append(np.full(k, ridge), 0.0)
    bounds = np.zeros(k + 1, np.int64)
    if signs is not None:
        bounds[:k] = signs

    def loss_of(parameters: Array, scores: Array) -> float:
        losses = share @ (np.logaddexp(0.0, scores) - target * scores)
        return float(losses + 0.5 * penalty @ parameters**2)

    parameters = np.zeros(k + 1)
    # Begin with how frequent positives are.
    parameters[k] = logit(share @ target)
    scores = np.full(n, parameters[k])
    loss = loss_of(parameters, scores)
    if start is not None:
        given = start[0] * size
        trial = np.append(given * deviation, start[1] + given @ mean)
        trial_scores = rows @ trial
        trial_loss = loss_of(trial, trial_scores)
        if trial_loss < loss:
            parameters, scores, loss = trial, trial_scores, trial_loss
    for _ in range(_MOST_STEPS):
        probability = expit(scores)
        gradient = rows.T @ (share * (probability - target)) + penalty * parameters
        curvature = (rows * (share * probability * (1.0 - probability))[:, None]).T @ rows
        # Constant columns have no curvature, nor has any with all rows far from the threshold.
        curvature[np.diag_indices(k + 1)] += penalty + 1e-12
        if bounds.any():
            # The minimiser of the quadratic model among coefficients of the right signs.
            towards = minimise_signed(
                curvature, gradient - curvature @ parameters, bounds, np.zeros(k + 1)
            )[0]
            step = parameters - towards
        else:
            _, step, failed = dposv(curvature, gradient)
            if failed:
                step = np.linalg.solve(curvature, gradient)
        decrement = float(step @ gradient)
        if decrement <= _TOLERANCE * loss:
            parameters = parameters - step  # so close, a step squares the error
            break
        length = 1.0
        while length > 1e-10:
            trial = parameters - length * step
            trial_scores = rows @ trial
            trial_loss = loss_of(trial, trial_scores)
            if trial_loss <= loss - 1e-4 * length * decrement:
                break
            length /= 2.0
        else:
            break  # rounding leaves no way down
        parameters, scores, loss = trial, trial_scores, trial_loss
    parameters[bounds * parameters < 0] = 0.0  # rounding of a step
    coef = parameters[:k] / deviation
    intercept = float(parameters[k] - coef @ mean)
    return coef / size, intercept
