"""Whole points instead of coefficients, to be added up by hand.

Points p stand for coefficients c·p, c chosen as well as can be. What is left of the loss is then

    min_c F(c p) + alpha‖c p‖² = 1 − (p·δ)² / pᵀ(H + alpha I)p,

so points are found on class moments first: from coefficients rounded at several scales, one or two
columns change their points at a time, as long as any such change lowers the loss. Then one column
at a time changes by a point or two, as long as that raises the AUC of the rows, which extreme
values move less than they do the loss.
"""

from collections.abc import Callable
from numbers import Integral

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..utils.types import Array, Indices

Range = tuple[int, int]

# By how much the points of a column change at a time, at most.
_LARGEST_STEP = 5
# Changes that gain less of what is explained are rounding.
_LEAST_GAIN = 1e-12
# Changes of points that raise the AUC of the rows by less are not worth a look.
_LEAST_AUC_GAIN = 1e-4
# Points are added up by hand, and larger numbers come no closer to the coefficients.
MOST_POINTS = 100


def whole_points(P: Array, delta: Array, within: Range, signs: Indices | None = None) -> Indices:
    """Whole numbers p within a range, of given signs, for which (p·δ)² / pᵀPp is large.

    With p·δ < 0; P is positive definite, and 0 is in the range. A sign is 1 for points of 0 or
    more, −1 for those of 0 or less, 0 for any.
    """
    low, high = possible_points(within, np.zeros(delta.size) if signs is None else signs)
    largest = max(-low.min(), high.max())
    w = -np.linalg.lstsq(P, delta, rcond=None)[0]
    best = np.zeros(delta.size, np.int64)
    most = 0.0
    tried: set[bytes] = set()
    top = float(np.abs(w).max())
    for scale in np.arange(1.0, largest + 0.75, 0.25) if top > 0 else ():
        points = np.rint(np.clip(w * (scale / top), low, high)).astype(np.int64)
        if points.tobytes() not in tried:
            tried.add(points.tobytes())
            points, explained = _climb(P, delta, points, low, high)
            if explained > most * (1 + _LEAST_GAIN):
                best = points
                most = explained
    return _smallest(best)


def points_range(given: object) -> Range:
    """Least and largest points: −n and n for a number n, or the two numbers given.

    Examples
    --------
    >>> points_range(5), points_range((0, 3))
    ((-5, 5), (0, 3))
    """
    if isinstance(given, Integral) and not isinstance(given, bool):
        low = -int(given)
        high = int(given)
    else:
        low, high = _two_numbers(given)
    if not -MOST_POINTS <= low <= 0 <= high <= MOST_POINTS or low == high:
        raise InputError(
            "points are whole numbers from one of 0 or less to one of 0 or more, such as 5 for -5 "
            f"to 5, or (0, 3), and none beyond {MOST_POINTS}; got {given!r}"
        )
    return low, high


def _two_numbers(given: object) -> tuple[int, int]:
    values = np.asarray(given)
    whole = values.shape == (2,) and values.dtype.kind in "iu"
    return (int(values[0]), int(values[1])) if whole else (0, 0)


def possible_points(within: Range, signs: npt.ArrayLike) -> tuple[Indices, Indices]:
    """Least and largest points of each column, given the sign that each must have, 0 for any."""
    signs = np.asarray(signs)
    return np.where(signs > 0, 0, within[0]), np.where(signs < 0, 0, within[1])


def _smallest(points: Indices) -> Indices:
    """The smallest whole numbers of the same ratios, which are as good."""
    return points // max(1, int(np.gcd.reduce(points)))


def _climb(
    P: Array, delta: Array, points: Indices, low: Indices, high: Indices
) -> tuple[Indices, float]:
    """Change the points of one or two columns at a time, as long as that explains more."""
    k = delta.size
    steps = np.arange(-_LARGEST_STEP, _LARGEST_STEP + 1)
    column = np.repeat(np.arange(k), steps.size)
    step = np.tile(steps, k)
    one_sum = step * delta[column]
    one_square = step**2 * P.diagonal()[column]
    both = np.outer(step, step) * P[np.ix_(column, column)]
    other = column[:, None] != column
    explained = 0.0
    while True:
        changed = points[column] + step
        possible = (changed >= low[column]) & (changed <= high[column])
        sums = points @ delta
        along = P @ points
        linear = one_square + 2 * step * along[column]
        # A step of 0 beside another column's is a change of that column alone.
        total = sums + one_sum[:, None] + one_sum
        square = points @ along + linear[:, None] + linear + 2 * both
        after = np.zeros(square.shape)
        feasible = other & possible[:, None] & possible & (square > 0)
        if k == 1:
            total = sums + one_sum
            square = points @ along + linear
            after = np.zeros(square.shape)
            feasible = possible & (square > 0)
        feasible &= total < 0
        np.divide(total**2, square, out=after, where=feasible)
        place = np.unravel_index(int(np.argmax(after)), after.shape)
        if after[place] <= explained * (1 + _LEAST_GAIN):
            return points, explained
        explained = float(after[place])
        points = points.copy()
        for change in place:
            points[column[change]] += step[change]


def raise_auc(
    values: Array, auc: Callable[[Array], float], points: Indices, low: Indices, high: Indices
) -> Indices:
    """Change the points of one column at a time, as long as that raises the AUC of the rows."""
    best = auc(values @ points)
    while True:
        moves = [(j, step) for j in range(points.size) for step in (-2, -1, 1, 2)]
        tried = np.array([points] * len(moves))
        for row, (j, step) in enumerate(moves):
            tried[row, j] += step
        tried = tried[((tried >= low) & (tried <= high)).all(axis=1) & tried.any(axis=1)]
        aucs = [auc(values @ one) for one in tried]
        if not aucs or max(aucs) <= best + _LEAST_AUC_GAIN:
            return _smallest(points)
        place = int(np.argmax(aucs))
        points = tried[place]
        best = aucs[place]
