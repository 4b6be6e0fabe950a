"""Logistic regression on a few columns, by Newton's method."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import expit

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_MOST_STEPS = 100
# Newton's decrement, relative to the loss, at which the last step is taken.
_TOLERANCE = 1e-10


def fit_logistic(
    X: Array, positive: Mask, weight: Array | None = None, *, ridge: float = 1.0
) -> tuple[Array, float]:
    """Fit a logistic regression with a light ridge.

    Minimises the sum of the logistic losses and ridge/2 times the squared norm of the coefficients
    of standardised columns; the intercept is not penalised. With ``ridge=1`` that is
    ``LogisticRegression(C=1)`` after ``StandardScaler``.

    Parameters
    ----------
    X : ndarray of shape (n, k)
    positive : ndarray of bool of shape (n,)
        Both classes have rows of weight above 0.
    weight : ndarray of shape (n,), optional
        Weights of the rows.
    ridge : float, default=1.0
        Above 0, so that coefficients are finite even where a line separates the classes.

    Returns
    -------
    coef : ndarray of shape (k,)
        On the scale of X.
    intercept : float
    """
    n, k = X.shape
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
    sign = np.where(positive, 1.0, -1.0)
    penalty = np.append(np.full(k, ridge), 0.0)

    def loss_of(parameters: Array, scores: Array) -> float:
        losses = counts @ np.logaddexp(0.0, -sign * scores)
        return float(losses + 0.5 * penalty @ parameters**2)

    parameters, scores = np.zeros(k + 1), np.zeros(n)
    # Begin with the share of positives.
    share = float(counts @ positive / counts.sum())
    parameters[k] = np.log(share / (1.0 - share))
    scores += parameters[k]
    loss = loss_of(parameters, scores)
    for _ in range(_MOST_STEPS):
        probability = expit(scores)
        gradient = rows.T @ (counts * (probability - positive)) + penalty * parameters
        curvature = (rows * (counts * probability * (1.0 - probability))[:, None]).T @ rows
        curvature[np.diag_indices(k + 1)] += penalty
        # With all rows far from the threshold the curvature of the intercept underflows.
        curvature[k, k] += 1e-12 * counts.sum()
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
