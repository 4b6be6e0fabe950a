"""Logistic regression on a few columns, by Newton's method."""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg.lapack import dposv
from scipy.special import expit, logit

from .._types import Array
from .signed import minimise_signed

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
    strata: npt.NDArray[np.int64] | None = None,
    start: tuple[Array, float] | None = None,
) -> tuple[Array, float]:
    """Fit a logistic regression with a light ridge.

    Minimises the mean of the logistic losses and ridge/2 times the squared norm of the coefficients
    of standardised columns; intercepts are not penalised. Weights count by their ratio.

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
    strata : ndarray of int64 of shape (n,), optional
        Numbers from 0 on. Each stratum has an intercept of its own, so that rows of different
        strata are not compared. Each has some weight above 0 on either side.
    start : tuple of ndarray and float, optional
        Coefficients of the right signs and an intercept that may be near the answer.

    Returns
    -------
    coef : ndarray of shape (k,)
        On the scale of X.
    intercept : float
        The mean over rows, where strata have their own.
    """
    n, k = X.shape
    target = np.asarray(target, np.float64)
    share = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    code = np.zeros(n, np.int64) if strata is None else strata
    # Sums over the rows of each stratum, as a product.
    members: Any = np.ones((1, n))
    if strata is not None:
        members = sp.csr_array((np.ones(n), (code, np.arange(n))))
    weights = members @ share
    # Largest entries of 1, so that no square is too large or too small for a number.
    size = np.abs(X).max(axis=0)
    size[size == 0.0] = 1.0
    columns = X / size
    mean = share @ columns
    columns -= mean
    deviation = np.sqrt(share @ columns**2)
    # What varies by rounding alone is constant, and the ridge leaves its coefficient at 0.
    constant = deviation <= 1e-12 * np.abs(mean)
    deviation[constant] = 1.0
    columns /= deviation
    columns[:, constant] = 0.0
    bounds = np.zeros(k, np.int64) if signs is None else signs

    def loss_of(coef: Array, scores: Array) -> float:
        losses = share @ (np.logaddexp(0.0, scores) - target * scores)
        return float(losses + 0.5 * ridge * coef @ coef)

    # Begin with how frequent positives are.
    coef, intercepts = np.zeros(k), logit((members @ (share * target)) / weights)
    scores = intercepts[code]
    loss = loss_of(coef, scores)
    if start is not None:
        given = start[0] * size
        trial, trial_intercepts = given * deviation, np.full(weights.size, start[1] + given @ mean)
        trial_scores = columns @ trial + trial_intercepts[code]
        trial_loss = loss_of(trial, trial_scores)
        if trial_loss < loss:
            coef, intercepts, scores, loss = trial, trial_intercepts, trial_scores, trial_loss
    for _ in range(_MOST_STEPS):
        probability = expit(scores)
        excess, spread = share * (probability - target), share * probability * (1.0 - probability)
        gradient, gradients = excess @ columns + ridge * coef, members @ excess
        spread_columns = spread[:, None] * columns
        # Constant columns have no curvature, nor has any with all rows far from the threshold.
        curvature = spread_columns.T @ columns + (ridge + 1e-12) * np.eye(k)
        across, own = members @ spread_columns, members @ spread + 1e-12
        # Intercepts are eliminated: whatever the coefficients do, they follow.
        reduced = curvature - across.T @ (across / own[:, None])
        pull = gradient - (gradients / own) @ across
        if bounds.any():
            # The minimiser of the quadratic model among coefficients of the right signs.
            towards = minimise_signed(reduced, pull - reduced @ coef, bounds, np.zeros(k))[0]
            step = coef - towards
        else:
            # LAPACK takes no empty system: there may be no column to fit.
            _, step, failed = dposv(reduced, pull) if k else (reduced, pull, 0)
            if failed:
                step = np.linalg.solve(reduced, pull)
        follow = (gradients - across @ step) / own
        decrement = float(step @ gradient + follow @ gradients)
        if decrement <= _TOLERANCE * loss:
            coef, intercepts = coef - step, intercepts - follow  # a step squares so small an error
            break
        length = 1.0
        while length > 1e-10:
            trial, trial_intercepts = coef - length * step, intercepts - length * follow
            trial_scores = columns @ trial + trial_intercepts[code]
            trial_loss = loss_of(trial, trial_scores)
            if trial_loss <= loss - 1e-4 * length * decrement:
                break
            length /= 2.0
        else:
            break  # rounding leaves no way down
        coef, intercepts, scores, loss = trial, trial_intercepts, trial_scores, trial_loss
    coef[bounds * coef < 0] = 0.0  # rounding of a step
    coef = coef / deviation
    return coef / size, float(weights @ intercepts - coef @ mean)
