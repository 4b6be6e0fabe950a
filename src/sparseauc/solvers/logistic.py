"""Logistic regression on a few columns, by Newton's method."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

Array = npt.NDArray[np.float64]

_MOST_STEPS = 100
# Newton's decrement, relative to the loss, at which the last step is taken.
_TOLERANCE = 1e-10


def logistic_regression(
    X: Array, target: npt.ArrayLike, weight: Array | None = None, *, ridge: float = 1.0
) -> tuple[Array, float]:
    """Fit a logistic regression with a light ridge.

    Minimises the sum of the logistic losses and ridge/2 times the squared norm of the coefficients
    of standardised columns; the intercept is not penalised. With ``ridge=1`` that is
    ``LogisticRegression(C=1)`` after ``StandardScaler``.

    Parameters
    ----------
    X : ndarray of shape (n, k)
    target : array-like of shape (n,)
        1 and 0, or true and false, or anything between: how far a row belongs to the positive
        class. Some rows of weight above 0 are above 0, and some below 1.
    weight : ndarray of shape (n,), optional
        Weights of the rows.
    ridge : float, default=1.0
        With a ridge of 0 there is no finite answer where a line separates targets of 0 and 1.

    Returns
    -------
    coef : ndarray of shape (k,)
        On the scale of X.
    intercept : float
    """
    n, k = X.shape
    target = np.asarray(target, np.float64)
    counts = np.ones(n) if weight is None else weight
    mean = np.average(X, axis=0, weights=counts)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=counts))
    # What varies by rounding alone is constant, and the ridge leaves its coefficient at 0.
    constant = deviation <= 1e-12 * np.abs(mean)
    deviation[constant] = 1.0
    rows = np.empty((n, k + 1))
    np.divide(X - mean, deviation, out=rows[:, :k])
    rows[:, :k][:, constant] = 0.0
    rows[:, k] = 1.0
    penalty = np.append(np.full(k, ridge), 0.0)

    def loss_of(parameters: Array, scores: Array) -> float:
        losses = counts @ (np.logaddexp(0.0, scores) - target * scores)
        return float(losses + 0.5 * penalty @ parameters**2)

    parameters, scores = np.zeros(k + 1), np.zeros(n)
    # Begin with the share of positives.
    parameters[k] = logit(counts @ target / counts.sum())
    scores += parameters[k]
    loss = loss_of(parameters, scores)
    for _ in range(_MOST_STEPS):
        probability = expit(scores)
        gradient = rows.T @ (counts * (probability - target)) + penalty * parameters
        curvature = (rows * (counts * probability * (1.0 - probability))[:, None]).T @ rows
        curvature[np.diag_indices(k + 1)] += penalty
        # Constant columns have no curvature, nor has any with all rows far from the threshold.
        curvature[np.diag_indices(k + 1)] += 1e-12 * counts.sum()
        step = np.linalg.solve(curvature, gradient)
        decrement = float(step @ gradient)
        if decrement <= _TOLERANCE * (1.0 + loss):
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
    coef = parameters[:k] / deviation
    return coef, float(parameters[k] - coef @ mean)
