"""Logistic regressions on a few columns, by Newton's method; those of many lists at once."""

from collections.abc import Sequence
from math import factorial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import entr, logit

from ..utils.jit import (
    inlined_kernel,
    inner_kernel,
    reordering_inner_kernel,
    reordering_kernel,
)
from ..utils.types import Array, Indices, Mask
from .signed import minimise_signed

_MOST_STEPS = 200
# What may be left of Newton's decrement, relative to the loss without columns.
_TOLERANCE = 1e-20
# The curvature is computed again where a step lowers the decrement to no less than this
# share.
_STALE = 0.001
# A step may end where the slope uphill is this share of the slope downhill at its start.
_UPHILL = 0.1
_ROWS_AT_A_TIME = 256
# Numba compiles a kernel anew for each Python integer written in a call.
_FIRST = np.int64(0)
# A column of which no more than this share is left beside others depends on them.
_DEPENDENT = 1e-14
# exp(x) = 2**whole · exp(rest): adding and subtracting 1.5 · 2**52 rounds to a whole
# number.
_TO_WHOLE = 6755399441055744.0
_PER_LOG_2 = 1.4426950408889634
_LOG_2_HIGH = 0.6931471803691238
_LOG_2_LOW = 1.9082149292705877e-10
_TAYLOR = tuple(1.0 / factorial(power) for power in range(12, -1, -1))


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

    Minimises the mean of the logistic losses and ridge/2 times the squared norm of the
    coefficients of standardised columns; intercepts are not penalised. Weights count by
    their ratio.

    Parameters
    ----------
    X : ndarray of shape (n, k)
    target : array-like of shape (n,)
        1 and 0, or true and false, or anything between: how far a row belongs to the
        positive class. Some rows of weight above 0 are above 0, and some below 1.
    weight : ndarray of shape (n,), optional
        Weights of the rows.
    ridge : float, default=0.005
        With a ridge of 0 there is no finite answer where a line separates targets of 0
        and 1.
    signs : ndarray of int64 of shape (k,), optional
        1 for coefficients of 0 or more, −1 for those of 0 or less, 0 for any.
    intercept_of : ndarray of int64 of shape (n,), optional
        Number of each row's intercept, from 0 on: rows of different intercepts are not
        compared. Those of each have some weight above 0 on either side.

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

    Each search starts where the list before it ended, and goes as far from there as it
    did with the ridge before: lists that differ little from each other are quick.

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
    n = X.shape[0]
    share = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    aim = np.ascontiguousarray(target, np.float64)
    code = np.zeros(n, np.int64) if intercept_of is None else intercept_of
    weights = np.bincount(code, share)
    shares = np.bincount(code, share * aim) / weights
    alone = logit(shares)  # intercepts without columns
    tolerance = _TOLERANCE * float(weights @ (entr(shares) + entr(1.0 - shares)))
    columns = np.array(X.T, np.float64, order="C")
    # Largest entries of 1, so that no square is too large or too small for a number.
    size = np.abs(columns).max(axis=1, initial=0.0)
    size[size == 0.0] = 1.0
    columns /= size[:, None]
    mean = columns @ share
    columns -= mean[:, None]
    deviation = np.sqrt(columns**2 @ share)
    # What varies by rounding alone is constant, and the ridge leaves its coefficient at
    # 0.
    constant = deviation <= 1e-12 * np.abs(mean)
    deviation[constant] = 1.0
    columns /= deviation[:, None]
    columns[constant] = 0.0
    bounds = None if signs is None or not signs.any() else signs
    starts = np.cumsum([0, *(len(chosen) for chosen in lists)])
    places = np.concatenate([np.empty(0, np.int64), *lists]).astype(np.int64)
    # The first ones are those of an infinite ridge.
    coefs = np.zeros((1 + len(ridges), places.size))
    heights = np.empty((1 + len(ridges), len(lists), weights.size))
    heights[0] = alone
    _fit_lists(
        _Rows(columns, aim, share, code),
        bounds,
        starts,
        places,
        np.array([np.inf, *ridges]),
        tolerance,
        alone,
        coefs,
        heights,
    )
    coefs = coefs[1:] / deviation[places]
    heights = heights[1:]
    products = np.zeros((len(ridges), places.size + 1))
    products[:, :-1] = coefs * mean[places]
    moved = np.add.reduceat(products, starts[:-1], axis=1)
    moved[:, np.diff(starts) == 0] = 0.0
    return coefs / size[places], heights @ weights - moved


# ------------------------------------------------------------------------------ kernels


class _Rows(NamedTuple):
    """Rows of a table.

    Attributes
    ----------
    columns : ndarray of shape (d, n)
        Standardised.
    target, share : ndarrays of shape (n,)
        How far a row belongs to the positive class, and its weight; all weights come to
        1.
    code : int64 ndarray of shape (n,)
        Number of the row's intercept.
    """

    columns: Array
    target: Array
    share: Array
    code: Indices


class _Curvature(NamedTuple):
    """Second derivatives of the loss, as far as they are known.

    Attributes
    ----------
    weights : ndarray of shape (n,)
        Weights of the rows, at which all was computed.
    known : bool ndarray of shape (d,)
        The columns it was computed of.
    columns, across, own : ndarrays of shape (d, d), (d, n_intercepts) and (n_intercepts,)
        By two columns, by a column and an intercept, and by an intercept.
    """

    weights: Array
    known: Mask
    columns: Array
    across: Array
    own: Array


@reordering_kernel
def _fit_lists(  # type: ignore[no-untyped-def]
    rows, signs, starts, places, ridges, tolerance, alone, coefs, intercepts
):
    """Fit the columns of each list with each ridge but the first, of which all is known.

    ``signs`` are those of all columns, or None where none bind; ``alone`` are the
    intercepts without columns. A search starts where it ends if the ridge changes as
    much as it did for the list before. The curvature of that list is kept: only that of
    new columns is added to it, with the weights of the rows at which it was computed.
    """
    d, n = rows.columns.shape
    room = np.empty((5, n))
    curvature = _Curvature(
        np.empty(n),
        np.empty(d, np.bool_),
        np.empty((d, d)),
        np.empty((d, alone.size)),
        np.empty(alone.size),
    )
    # What the ridge has changed of the coefficients of the list before.
    change = np.zeros(d)
    for r in range(1, ridges.size):
        _predict(rows, places[:0], change, alone, room[0])
        _evaluate(room[0], rows, room[1], curvature.weights)
        _forget_curvature(rows, curvature)
        first = 0
        end = 0
        for number in range(starts.size - 1):
            before = first
            last = end
            first = starts[number]
            end = starts[number + 1]
            chosen = places[first:end]
            found = coefs[r, first:end]
            same = number > 0 and end - first == last - before
            for j in range(chosen.size):
                found[j] = coefs[r - 1, first + j] + change[chosen[j]]
                same = same and chosen[j] == places[before + j]
            for j in range(before, last):
                change[places[j]] = 0.0
            height = intercepts[r, number]
            for s in range(height.size):
                height[s] = intercepts[r - 1, number, s]
                if number:
                    height[s] += (
                        intercepts[r, number - 1, s] - intercepts[r - 1, number - 1, s]
                    )
            if same:
                for j in range(chosen.size):
                    found[j] = coefs[r, before + j]
                for s in range(height.size):
                    height[s] = intercepts[r, number - 1, s]
            else:
                _newton(
                    rows,
                    signs,
                    chosen,
                    ridges[r],
                    tolerance,
                    found,
                    height,
                    curvature,
                    room,
                )
            for j in range(chosen.size):
                change[chosen[j]] = found[j] - coefs[r - 1, first + j]
        for j in range(d):
            change[j] = 0.0


@reordering_inner_kernel
def _newton(rows, signs, chosen, ridge, tolerance, coef, height, curvature, room):  # type: ignore[no-untyped-def]
    """Minimise over the coefficients of the chosen columns and the intercepts, in place."""
    scores = room[0]
    trial = room[1]
    move = room[2]
    excess = room[3]
    spread = room[4]
    order = np.empty(chosen.size, np.int64)
    # By the coefficients, at the places of their columns, and by the intercepts.
    gradient = np.empty(rows.columns.shape[0])
    gradients = np.empty(height.size)
    step = np.empty(chosen.size)
    follow = np.empty(height.size)
    reduced = np.empty((chosen.size, chosen.size))
    factor = np.empty((chosen.size, chosen.size))
    if signs is not None:
        _keep_signs(chosen, signs, coef)
    _predict(rows, chosen, coef, height, scores)
    _evaluate(scores, rows, excess, spread)
    before = np.inf
    changed = True
    for _ in range(_MOST_STEPS):
        for j in range(chosen.size):
            gradient[chosen[j]] = ridge * coef[j]
        _add_products(rows.columns, chosen, _FIRST, excess.size, excess, gradient)
        for s in range(height.size):
            gradients[s] = 0.0
        _add_by_intercept(rows.code, excess, gradients)
        fresh = False
        while True:
            if changed:
                _second_derivatives(rows, chosen, order, curvature)
                _reduce(chosen, curvature, ridge, reduced, factor)
                changed = False
            _step(
                chosen,
                reduced,
                factor,
                curvature,
                gradient,
                gradients,
                signs,
                coef,
                step,
                follow,
            )
            decrement = _dot(follow, gradients)
            for j in range(chosen.size):
                decrement += step[j] * gradient[chosen[j]]
            if fresh or decrement <= _STALE * before:
                break
            for i in range(spread.size):
                curvature.weights[i] = spread[i]
            _forget_curvature(rows, curvature)
            fresh = True
            changed = True
        # The next decrement would be smaller by as much again, or more.
        shrunk = decrement / before if np.isfinite(before) else 1.0
        length = 1.0
        if decrement * shrunk > tolerance:
            _predict(rows, chosen, step, follow, move)
            length = _line_search(
                rows, scores, move, decrement, ridge, coef, step, trial, excess, spread
            )
        for j in range(chosen.size):
            coef[j] -= length * step[j]
        for s in range(height.size):
            height[s] -= length * follow[s]
        # Or rounding leaves no way down.
        if decrement * shrunk <= tolerance or length == 0.0:
            break
        before = decrement
        scores, trial = trial, scores
    if signs is not None:
        _keep_signs(chosen, signs, coef)  # but for the rounding of a step


@inlined_kernel
def _keep_signs(chosen, signs, coef):  # type: ignore[no-untyped-def]
    """Set coefficients of the wrong sign to 0."""
    for j in range(chosen.size):
        if signs[chosen[j]] * coef[j] < 0.0:
            coef[j] = 0.0


@inlined_kernel
def _reduce(chosen, curvature, ridge, reduced, factor):  # type: ignore[no-untyped-def]
    """Curvature by coefficients alone, and its factor: whatever they do, intercepts follow.

    Columns that depend on others have an infinite factor, and stay.
    """
    across = curvature.across
    own = curvature.own
    for a in range(chosen.size):
        for b in range(a + 1):
            total = curvature.columns[chosen[a], chosen[b]]
            for s in range(own.size):
                total -= across[chosen[a], s] / own[s] * across[chosen[b], s]
            # Constant columns have no curvature, nor has any with all rows far from the
            # threshold.
            if a == b:
                total += ridge + 1e-12
            reduced[a, b] = total
            reduced[b, a] = total
            for h in range(b):
                total -= factor[a, h] * factor[b, h]
            if a != b:
                factor[a, b] = total / factor[b, b]
            elif total > _DEPENDENT * reduced[a, a]:
                factor[a, a] = np.sqrt(total)
            else:
                for h in range(a):
                    factor[a, h] = 0.0
                factor[a, a] = np.inf


@inlined_kernel
def _step(  # type: ignore[no-untyped-def]
    chosen, reduced, factor, curvature, gradient, gradients, signs, coef, step, follow
):
    """Newton's step of coefficients and intercepts, to be subtracted."""
    k = chosen.size
    across = curvature.across
    own = curvature.own
    for a in range(k):
        step[a] = gradient[chosen[a]]
        for s in range(own.size):
            step[a] -= across[chosen[a], s] / own[s] * gradients[s]
    if signs is not None:
        # The minimiser of the quadratic model among coefficients of the right signs.
        for a in range(k):
            step[a] -= _dot(reduced[a], coef)
        there = minimise_signed(reduced, step, signs[chosen], np.zeros(k))[0]
        for a in range(k):
            step[a] = coef[a] - there[a]
    else:
        for a in range(k):
            for h in range(a):
                step[a] -= factor[a, h] * step[h]
            step[a] /= factor[a, a]
        for a in range(k - 1, -1, -1):
            for h in range(a + 1, k):
                step[a] -= factor[h, a] * step[h]
            step[a] /= factor[a, a]
    for s in range(own.size):
        follow[s] = gradients[s]
        for a in range(k):
            follow[s] -= across[chosen[a], s] * step[a]
        follow[s] /= own[s]


@inlined_kernel
def _line_search(  # type: ignore[no-untyped-def]
    rows, scores, move, decrement, ridge, coef, step, trial, excess, spread
):
    """Length of a step that is not too far, 0 if none is; and what is there.

    The loss is convex: its slope along the step tells how far beyond the least loss a
    length is.
    """
    length = 1.0
    while length > 1e-10:
        for i in range(scores.size):
            trial[i] = scores[i] - length * move[i]
        _evaluate(trial, rows, excess, spread)
        uphill = -_dot(excess, move)
        for j in range(coef.size):
            uphill -= ridge * (coef[j] - length * step[j]) * step[j]
        if uphill <= _UPHILL * decrement:
            return length
        length /= 2.0
    return 0.0


@inner_kernel
def _evaluate(scores, rows, excess, spread):  # type: ignore[no-untyped-def]
    """First and second derivatives of each row's loss by its score."""
    target = rows.target
    share = rows.share
    _exponential(scores, excess)
    for i in range(scores.size):
        small = excess[i]
        large = 1.0 / (1.0 + small)
        small *= large
        spread[i] = share[i] * small * large
        # Of the two probabilities each is as exact as the other.
        yes, no = (large, small) if scores[i] >= 0.0 else (small, large)
        excess[i] = share[i] * (yes * (1.0 - target[i]) - no * target[i])


@inner_kernel
def _exponential(scores, out):  # type: ignore[no-untyped-def]
    """Set out to exp(−|score|), to one unit in the last place.

    The compiler vectorises this loop, and none that calls the mathematical library: it
    takes a tenth of the time.
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


@reordering_inner_kernel
def _predict(rows, chosen, coef, height, scores):  # type: ignore[no-untyped-def]
    """Scores of all rows."""
    code = rows.code
    for i in range(scores.size):
        scores[i] = height[code[i]]
    for j in range(chosen.size):
        column = rows.columns[chosen[j]]
        value = coef[j]
        for i in range(scores.size):
            scores[i] += value * column[i]


@reordering_inner_kernel
def _add_by_intercept(code, values, sums):  # type: ignore[no-untyped-def]
    """Add the values of the rows of each intercept."""
    if sums.size == 1:
        total = 0.0
        for i in range(values.size):
            total += values[i]
        sums[0] += total
    else:
        for i in range(values.size):
            sums[code[i]] += values[i]


@reordering_inner_kernel
def _forget_curvature(rows, curvature):  # type: ignore[no-untyped-def]
    """Start anew with the curvature at other weights of the rows: that by intercepts."""
    for j in range(curvature.known.size):
        curvature.known[j] = False
    for s in range(curvature.own.size):
        curvature.own[s] = 1e-12
    _add_by_intercept(rows.code, curvature.weights, curvature.own)


@inlined_kernel
def _second_derivatives(rows, chosen, order, curvature):  # type: ignore[no-untyped-def]
    """Curvature of chosen columns not known yet, with all chosen ones and with the intercepts.

    No others are known afterwards. ``order`` is overwritten.
    """
    columns = rows.columns
    code = rows.code
    weights = curvature.weights
    known = curvature.known
    across = curvature.across
    products = curvature.columns
    n = weights.size
    k = chosen.size
    first = 0
    last = k
    for j in range(k):
        if known[chosen[j]]:
            order[first] = chosen[j]
            first += 1
        else:
            last -= 1
            order[last] = chosen[j]
    for j in range(known.size):
        known[j] = False
    for a in range(k):
        known[order[a]] = True
    if first == k:
        return
    for a in range(first, k):
        for s in range(across.shape[1]):
            across[order[a], s] = 0.0
        for b in range(a + 1):
            products[order[a], order[b]] = 0.0
    weighted = np.empty(min(n, _ROWS_AT_A_TIME))
    # Few enough rows at a time that their columns stay in the cache.
    for low in range(0, n, _ROWS_AT_A_TIME):
        high = min(low + _ROWS_AT_A_TIME, n)
        scaled = weighted[: high - low]
        part = weights[low:high]
        for a in range(first, k):
            at = order[a]
            column = columns[at, low:high]
            for i in range(scaled.size):
                scaled[i] = part[i] * column[i]
            _add_by_intercept(code[low:high], scaled, across[at])
            _add_products(columns, order[: a + 1], low, high, scaled, products[at])
    for a in range(first, k):
        for b in range(a):
            products[order[b], order[a]] = products[order[a], order[b]]


@reordering_inner_kernel
def _add_products(columns, chosen, low, high, scaled, sums):  # type: ignore[no-untyped-def]
    """Add the products of some rows of the chosen columns with one that is given."""
    b = 0
    while b + 4 <= chosen.size:  # four at once: numbers are read less often
        c0 = columns[chosen[b], low:high]
        c1 = columns[chosen[b + 1], low:high]
        c2 = columns[chosen[b + 2], low:high]
        c3 = columns[chosen[b + 3], low:high]
        t0 = 0.0
        t1 = 0.0
        t2 = 0.0
        t3 = 0.0
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


@reordering_inner_kernel
def _dot(first, second):  # type: ignore[no-untyped-def]
    """Sum of products."""
    total = 0.0
    for i in range(first.size):
        total += first[i] * second[i]
    return total
