"""Logistic regressions on a few columns, by Newton's method; those of many lists at once."""

from collections.abc import Sequence
from math import factorial

import numpy as np
import numpy.typing as npt
from scipy.special import logit

from ..utils.jit import inlined_kernel, kernel, reordering_kernel
from ..utils.types import Array, Indices
from .signed import minimise_signed

_MOST_STEPS = 200
# What may be left of Newton's decrement, relative to the loss without columns.
_TOLERANCE = 1e-20
# The curvature is computed again where a step lowers the decrement to no less than this share.
_STALE = 0.001
# A full step is taken without a look at the loss if the slope at its end is no steeper uphill than
# this share of the slope downhill at its start: the loss is convex.
_UPHILL = 0.1
_ROWS_AT_A_TIME = 256
# A column of which no more than this share is left beside others depends on them.
_DEPENDENT = 1e-14
# exp(x) = 2**whole · exp(rest): adding and subtracting 1.5 · 2**52 rounds to a whole number.
_TO_WHOLE = 6755399441055744.0
_PER_LOG_2, _LOG_2_HIGH, _LOG_2_LOW = 1.4426950408889634, 0.6931471803691238, 1.9082149292705877e-10
_TAYLOR = tuple(1.0 / factorial(power) for power in range(12, -1, -1))
_INVERSE_TANGENT = tuple(2.0 / power for power in range(33, 0, -2))


def logistic_regression(
    X: Array,
    target: npt.ArrayLike,
    weight: Array | None = None,
    *,
    ridge: float = 5e-3,
    signs: npt.NDArray[np.int64] | None = None,
    intercept_of: npt.NDArray[np.int64] | None = None,
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
    intercept_of : ndarray of int64 of shape (n,), optional
        Number of each row's intercept, from 0 on: rows of different intercepts are not compared.
        Those of each have some weight above 0 on either side.

    Returns
    -------
    coef : ndarray of shape (k,)
        On the scale of X.
    intercept : float
        The mean over rows, where there are several.
    """
    every = np.arange(X.shape[1])
    coefs, intercepts = logistic_regressions(
        X, target, weight, [every], [ridge], signs=signs, intercept_of=intercept_of
    )
    return coefs[0], float(intercepts[0, 0])


def logistic_regressions(
    X: Array,
    target: npt.ArrayLike,
    weight: Array | None,
    lists: Sequence[Indices],
    ridges: Sequence[float],
    *,
    signs: npt.NDArray[np.int64] | None = None,
    intercept_of: npt.NDArray[np.int64] | None = None,
) -> tuple[Array, Array]:
    """Fit :func:`logistic_regression` on several lists of columns, with several ridges.

    Each search starts from the coefficients of the list before it: lists that differ little from
    each other are quick.

    Parameters
    ----------
    X, target, weight, signs, intercept_of
        As for :func:`logistic_regression`.
    lists : sequence of ndarray
        Columns of X, ascending.
    ridges : sequence of float

    Returns
    -------
    coefs : ndarray of shape (n_ridges, n)
        Those of all lists, one after the other.
    intercepts : ndarray of shape (n_ridges, n_lists)
    """
    n, d = X.shape
    share = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    aim = np.ascontiguousarray(target, np.float64)
    code = np.zeros(n, np.int64) if intercept_of is None else intercept_of
    weights = np.bincount(code, share)
    alone = logit(np.bincount(code, share * aim) / weights)  # intercepts without columns
    columns = np.array(X.T, np.float64, order="C")
    # Largest entries of 1, so that no square is too large or too small for a number.
    size = np.abs(columns).max(axis=1, initial=0.0)
    size[size == 0.0] = 1.0
    columns /= size[:, None]
    mean = columns @ share
    columns -= mean[:, None]
    deviation = np.sqrt(columns**2 @ share)
    # What varies by rounding alone is constant, and the ridge leaves its coefficient at 0.
    constant = deviation <= 1e-12 * np.abs(mean)
    deviation[constant] = 1.0
    columns /= deviation[:, None]
    columns[constant] = 0.0
    bounds = np.zeros(d, np.int64) if signs is None else signs
    starts = np.cumsum([0, *(len(chosen) for chosen in lists)])
    places = np.concatenate([np.empty(0, np.int64), *lists]).astype(np.int64)
    coefs = np.zeros((len(ridges), places.size))
    heights = np.empty((len(ridges), len(lists), weights.size))
    for ridge, found, reached in zip(ridges, coefs, heights, strict=True):
        _fit_lists(
            columns, aim, share, code, starts, places, bounds, bool(bounds.any()), float(ridge),
            alone, found, reached,
        )  # fmt: skip
    coefs /= deviation[places]
    moved = np.add.reduceat(np.pad(coefs * mean[places], ((0, 0), (0, 1))), starts[:-1], axis=1)
    moved[:, np.diff(starts) == 0] = 0.0
    return coefs / size[places], heights @ weights - moved


# --------------------------------------------------------------------------------------- kernels


@reordering_kernel
def _fit_lists(  # type: ignore[no-untyped-def]
    columns, target, share, code, starts, places, bounds, bounded, ridge, alone, coefs, intercepts
):
    """Fit the columns of each list, from where the list before it ended.

    ``columns`` is of shape (d, n), standardised; ``alone`` are the intercepts without columns.
    The curvature of the list before is kept too: only that of new columns is added to it, with the
    weights of the rows at which it was computed.
    """
    d, n = columns.shape
    tolerance = _TOLERANCE * _loss(alone[code], target, share)
    last, height = np.zeros(d), alone.copy()
    rows = np.empty((6, n))
    curvature, across, own = np.empty((d, d)), np.empty((d, alone.size)), np.empty(alone.size)
    # Weights of the rows at which the curvature was computed, and the columns it was computed of.
    weights, known = rows[5], np.zeros(d, np.bool_)
    _evaluate(alone[code], target, share, rows[0], weights)
    own[:] = 1e-12
    _add_by_intercept(code, weights, own)
    for number in range(starts.size - 1):
        chosen = places[starts[number] : starts[number + 1]]
        found = coefs[starts[number] : starts[number + 1]]
        before = places[starts[number - 1] : starts[number]] if number else chosen[:0]
        for j in range(chosen.size):
            found[j] = last[chosen[j]]
        if number == 0 or not np.array_equal(chosen, before):
            listed = np.zeros(d, np.bool_)
            listed[chosen] = True
            known &= listed
            _newton(
                columns, chosen, target, share, code, bounds[chosen], bounded, ridge, tolerance,
                found, height, rows, known, curvature, across, own,
            )  # fmt: skip
        last[:] = 0.0
        for j in range(chosen.size):
            last[chosen[j]] = found[j]
        intercepts[number] = height


@reordering_kernel
def _newton(  # type: ignore[no-untyped-def]
    columns, chosen, target, share, code, bounds, bounded, ridge, tolerance, coef, height, rows,
    known, curvature, across, own,
):  # fmt: skip
    """Minimise over the coefficients of the chosen columns and the intercepts, in place."""
    scores, trial, move, excess, spread = rows[0], rows[1], rows[2], rows[3], rows[4]
    weights = rows[5]
    gradient, gradients = np.empty(chosen.size), np.empty(height.size)
    _predict(columns, chosen, coef, height, code, scores)
    _evaluate(scores, target, share, excess, spread)
    before = np.inf
    for _ in range(_MOST_STEPS):
        _first_derivatives(columns, chosen, code, excess, gradient, gradients)
        gradient += ridge * coef
        _second_derivatives(columns, chosen, code, weights, known, curvature, across)
        for fresh in range(2):
            step, follow = _step(
                chosen, curvature, across, own, ridge, gradient, gradients, bounds, bounded, coef
            )
            decrement = step @ gradient + follow @ gradients
            if fresh or decrement <= _STALE * before:
                break
            weights[:] = spread
            known[:] = False
            own[:] = 1e-12
            _add_by_intercept(code, weights, own)
            _second_derivatives(columns, chosen, code, weights, known, curvature, across)
        # The next decrement would be smaller by as much again, or more.
        shrunk = decrement / before if np.isfinite(before) else 1.0
        if decrement * shrunk <= tolerance:
            coef -= step
            height -= follow
            break
        before = decrement
        _predict(columns, chosen, step, follow, code, move)
        length = _line_search(
            scores, move, target, share, decrement, ridge, coef, step, trial, excess, spread
        )
        if length == 0.0:
            break  # rounding leaves no way down
        scores, trial = trial, scores
        coef -= length * step
        height -= length * follow
    for j in range(chosen.size):
        if bounds[j] * coef[j] < 0.0:  # rounding of a step
            coef[j] = 0.0


@reordering_kernel
def _step(  # type: ignore[no-untyped-def]
    chosen, curvature, across, own, ridge, gradient, gradients, bounds, bounded, coef
):
    """Newton's step of coefficients and intercepts, to be subtracted."""
    k, n_intercepts = chosen.size, own.size
    reduced, pull = np.empty((k, k)), gradient.copy()
    for a in range(k):
        for b in range(a + 1):
            reduced[a, b] = curvature[chosen[a], chosen[b]]
        # Intercepts are eliminated: whatever the coefficients do, they follow.
        for s in range(n_intercepts):
            part = across[chosen[a], s] / own[s]
            pull[a] -= part * gradients[s]
            for b in range(a + 1):
                reduced[a, b] -= part * across[chosen[b], s]
        # Constant columns have no curvature, nor has any with all rows far from the threshold.
        reduced[a, a] += ridge + 1e-12
        for b in range(a):
            reduced[b, a] = reduced[a, b]
    if bounded:
        # The minimiser of the quadratic model among coefficients of the right signs.
        step = coef - minimise_signed(reduced, pull - reduced @ coef, bounds, np.zeros(k))[0]
    else:
        step = _solve(reduced, pull)
    follow = gradients.copy()
    for s in range(n_intercepts):
        for a in range(k):
            follow[s] -= across[chosen[a], s] * step[a]
        follow[s] /= own[s]
    return step, follow


@reordering_kernel
def _line_search(  # type: ignore[no-untyped-def]
    scores, move, target, share, decrement, ridge, coef, step, trial, excess, spread
):
    """Length of a step that lowers the loss enough, 0 if none does; and what is there."""
    length = 1.0
    while length > 1e-10:
        trial[:] = scores - length * move
        _evaluate(trial, target, share, excess, spread)
        there = coef - length * step
        uphill = -(excess @ move) - ridge * (there @ step)
        if uphill <= _UPHILL * decrement:
            return length
        change = _loss(trial, target, share) - _loss(scores, target, share)
        change += 0.5 * ridge * (there @ there - coef @ coef)
        if change <= -1e-4 * length * decrement:
            return length
        length /= 2.0
    return 0.0


@kernel
def _evaluate(scores, target, share, excess, spread):  # type: ignore[no-untyped-def]
    """First and second derivatives of each row's loss by its score."""
    _exponential(scores, excess)
    for i in range(scores.size):
        small = excess[i]
        large = 1.0 / (1.0 + small)
        small *= large
        spread[i] = share[i] * small * large
        # Of the two probabilities each is as exact as the other.
        yes, no = (large, small) if scores[i] >= 0.0 else (small, large)
        excess[i] = share[i] * (yes * (1.0 - target[i]) - no * target[i])


@kernel
def _exponential(scores, out):  # type: ignore[no-untyped-def]
    """Set out to exp(−|score|), to one unit in the last place.

    The compiler vectorises this loop, and none that calls the mathematical library: it takes a
    tenth of the time.
    """
    bits = out.view(np.int64)
    for i in range(out.size):
        x = max(-abs(scores[i]), -700.0)
        whole = x * _PER_LOG_2 + _TO_WHOLE - _TO_WHOLE
        rest = x - whole * _LOG_2_HIGH - whole * _LOG_2_LOW
        total = 0.0
        for c in _TAYLOR:
            total = total * rest + c
        out[i] = total
        bits[i] += np.int64(whole) << 52  # times a power of two


@reordering_kernel
def _loss(scores, target, share):  # type: ignore[no-untyped-def]
    """Mean logistic loss."""
    # log(1 + small) by the series of the inverse hyperbolic tangent, of a third at most.
    third = np.empty(scores.size)
    _exponential(scores, third)
    third /= 2.0 + third
    square, series = third * third, np.zeros(scores.size)
    for c in _INVERSE_TANGENT:
        for i in range(scores.size):
            series[i] = series[i] * square[i] + c
    total = 0.0
    for i in range(scores.size):
        s = scores[i]
        total += share[i] * (max(s, 0.0) - target[i] * s + third[i] * series[i])
    return total


@reordering_kernel
def _predict(columns, chosen, coef, height, code, scores):  # type: ignore[no-untyped-def]
    """Scores of all rows."""
    if height.size == 1:
        scores[:] = height[0]
    else:
        for i in range(scores.size):
            scores[i] = height[code[i]]
    for j in range(chosen.size):
        column, value = columns[chosen[j]], coef[j]
        if value != 0.0:
            for i in range(scores.size):
                scores[i] += value * column[i]


@reordering_kernel
def _first_derivatives(  # type: ignore[no-untyped-def]
    columns, chosen, code, excess, gradient, gradients
):
    """Gradient of the mean loss by coefficients and intercepts."""
    for j in range(chosen.size):
        gradient[j] = _dot(columns[chosen[j]], excess)
    gradients[:] = 0.0
    _add_by_intercept(code, excess, gradients)


@reordering_kernel
def _add_by_intercept(code, values, sums):  # type: ignore[no-untyped-def]
    """Add the values of the rows of each intercept."""
    if sums.size == 1:
        sums[0] += values.sum()
    else:
        for i in range(values.size):
            sums[code[i]] += values[i]


@reordering_kernel
def _second_derivatives(  # type: ignore[no-untyped-def]
    columns, chosen, code, weights, known, curvature, across
):
    """Curvature of chosen columns not known yet, with all chosen ones and with the intercepts."""
    n, k = weights.size, chosen.size
    order = np.concatenate((chosen[known[chosen]], chosen[~known[chosen]]))
    first = np.count_nonzero(known[chosen])
    for a in range(first, k):
        across[order[a]] = 0.0
        curvature[order[a], order[: a + 1]] = 0.0
    weighted = np.empty(min(n, _ROWS_AT_A_TIME))
    # Few enough rows at a time that their columns stay in the cache.
    for low in range(0, n, _ROWS_AT_A_TIME):
        high = min(low + _ROWS_AT_A_TIME, n)
        scaled, part = weighted[: high - low], weights[low:high]
        for a in range(first, k):
            at = order[a]
            column = columns[at, low:high]
            for i in range(scaled.size):
                scaled[i] = part[i] * column[i]
            _add_by_intercept(code[low:high], scaled, across[at])
            _add_products(columns, order[: a + 1], low, high, scaled, curvature[at])
    for a in range(first, k):
        known[order[a]] = True
        for b in range(a):
            curvature[order[b], order[a]] = curvature[order[a], order[b]]


@reordering_kernel
def _add_products(columns, chosen, low, high, scaled, sums):  # type: ignore[no-untyped-def]
    """Add the products of some rows of the chosen columns with one that is given."""
    b = 0
    while b + 4 <= chosen.size:  # four at once: numbers are read less often
        c0, c1 = columns[chosen[b], low:high], columns[chosen[b + 1], low:high]
        c2, c3 = columns[chosen[b + 2], low:high], columns[chosen[b + 3], low:high]
        t0 = t1 = t2 = t3 = 0.0
        for i in range(scaled.size):
            value = scaled[i]
            t0 += value * c0[i]
            t1 += value * c1[i]
            t2 += value * c2[i]
            t3 += value * c3[i]
        sums[chosen[b]] += t0
        sums[chosen[b + 1]] += t1
        sums[chosen[b + 2]] += t2
        sums[chosen[b + 3]] += t3
        b += 4
    while b < chosen.size:
        sums[chosen[b]] += _dot(columns[chosen[b], low:high], scaled)
        b += 1


@inlined_kernel
def _dot(first, second):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(first.size):
        total += first[i] * second[i]
    return total


@kernel
def _solve(P, pull):  # type: ignore[no-untyped-def]
    """Solve P step = pull by Cholesky's factorisation; columns that depend on others stay."""
    k = pull.size
    L, step = np.zeros((k, k)), np.zeros(k)
    for i in range(k):
        for j in range(i):
            total = P[i, j]
            for h in range(j):
                total -= L[i, h] * L[j, h]
            L[i, j] = total / L[j, j]
        total = P[i, i]
        for h in range(i):
            total -= L[i, h] * L[i, h]
        if total > _DEPENDENT * P[i, i]:
            L[i, i] = np.sqrt(total)
            total = pull[i]
            for h in range(i):
                total -= L[i, h] * step[h]
            step[i] = total / L[i, i]
        else:
            L[i, :i] = 0.0
            L[i, i] = np.inf
    for i in range(k - 1, -1, -1):
        total = step[i]
        for h in range(i + 1, k):
            total -= L[h, i] * step[h]
        step[i] = total / L[i, i]
    return step
