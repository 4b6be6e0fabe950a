"""Lists of all lengths: grow and shrink, sweep down, drop each column, force columns in."""

from typing import NamedTuple

import numpy as np
import scipy.linalg

from ...moments.base import Gram
from ...utils.jit import inlined_kernel, kernel
from ...utils.types import Array, Indices, Mask
from .limits import ExchangeLimits
from .moves import repair, resize, settle, take_in_fixed
from .state import State, least_gain, places
from .sweeps import NONE, join, move_to, remove

# What a standardised difference of means of 1e-12 would explain is rounding.
_MIN_EXPLAINED = 1e-24
# Less than this share may be nothing but rounding: a column of which less is left over after the
# support explains it is taken for linearly dependent and left out, and when less of the objective
# is left, everything is explained. The second is in units of H's precision, for float32.
_TOLERANCE, _TOLERANCE_UNITS = 5e-7, 1e5
# Columns that are forced into a support, at most.
_MOST_FORCED = 30


class Solution(NamedTuple):
    """The best support found for a k.

    Attributes
    ----------
    support : ndarray of int64
        Columns, ascending; at most k.
    coef : ndarray
        Their coefficients on the standardised scale.
    objective : float
        F(w) + alpha‖w‖² there.
    """

    support: Indices
    coef: Array
    objective: float


def solve_on(block: Array, delta: Array, support: Indices, alpha: float) -> Solution:
    """Minimise on a support, given its part of H and δ, free of the rounding of updates."""
    if support.size == 0:
        return Solution(support, np.empty(0), 1.0)
    ridged = block.copy()
    ridged.ravel()[:: support.size + 1] += alpha
    _, solution, failed = scipy.linalg.lapack.dposv(ridged, delta)
    if failed:
        solution = scipy.linalg.solve(ridged, delta, assume_a="sym", check_finite=False)
    coef: Array = -solution
    return Solution(support, coef, float(1.0 + delta @ coef))


def dependence_tolerance(precision: float = float(np.finfo(np.float64).eps)) -> float:
    """Share of a column below which what is left of it may be rounding."""
    return max(_TOLERANCE, _TOLERANCE_UNITS * precision)


# The same in double precision.
DEPENDENT = dependence_tolerance()


def make_state(
    gram: Gram, alpha: float, k_max: int, fixed: Mask, excluded: Mask,
    limits: ExchangeLimits | None = None,
) -> State:  # fmt: skip
    """Start with an empty support.

    Parameters
    ----------
    gram : Gram
    alpha : float
        Ridge.
    k_max : int
        Largest support.
    fixed, excluded : bool ndarrays of shape (d,)
        Columns that never leave, and columns that never join.
    limits : ExchangeLimits, optional
        What else restricts the choice.
    """
    d = gram.delta.size
    diagonal = gram.H.diagonal()
    whole = diagonal + alpha
    limited = limits is not None
    if limits is None:  # no array is looked at but that of absent columns
        none = np.empty(0, np.int64)
        limits = ExchangeLimits(
            none, none, False, np.empty(0, np.bool_), none, np.empty(0), none, none, np.empty(0),
            np.zeros(1, np.int64),
        )  # fmt: skip
    floor = np.where(excluded | (diagonal <= 0), np.inf, DEPENDENT * whole)
    return State(
        gram.H, gram.delta, whole, floor, fixed, limited, limits.signed, limits,
        np.zeros(2, np.int64), np.empty(k_max, np.int64), np.empty(k_max), np.empty((k_max, k_max)),
        np.empty((k_max, d)), gram.delta.copy(), whole.copy(), DEPENDENT,
        _MIN_EXPLAINED / (1.0 + alpha), bool((floor[np.isfinite(floor)] > alpha).any()),
    )  # fmt: skip


class Found(NamedTuple):
    """The best support found of each size.

    Attributes
    ----------
    explained : ndarray of shape (k_max + 1,)
        What it takes off the objective; −infinity where none is known.
    supports : int64 ndarray of shape (k_max + 1, k_max)
        Columns, ascending, in the first places of row k.
    sizes : int64 ndarray of shape (k_max + 1,)
        How many these are: k, less those whose signs hold them at 0.
    grow, shrink, force : bool ndarrays of shape (k_max + 1,)
        Whether a column has yet to join, or to leave, the support of this size, or to be forced in.
    """

    explained: Array
    supports: Indices
    sizes: Indices
    grow: Mask
    shrink: Mask
    force: Mask


def nothing_found(k_max: int) -> Found:
    """No support of any size."""
    flags = np.zeros((3, k_max + 1), np.bool_)
    supports, sizes = np.zeros((k_max + 1, k_max), np.int64), np.zeros(k_max + 1, np.int64)
    return Found(np.full(k_max + 1, -np.inf), supports, sizes, flags[0], flags[1], flags[2])


@inlined_kernel
def known_support(found, k):  # type: ignore[no-untyped-def]
    """The best support known of a list of k columns."""
    return found.supports[k, : found.sizes[k]]


@inlined_kernel
def _is_known(s, found):  # type: ignore[no-untyped-def]
    """Whether the support is the best known of its size."""
    k = places(s)
    known = found.explained[k] > -np.inf and found.sizes[k] == s.counts[0]
    if known:
        for p in range(s.counts[0]):
            known &= s.q[found.supports[k, p]] == np.inf
    return known


@kernel
def _settle_and_keep(s, found):  # type: ignore[no-untyped-def]
    """Settle the support; keep it, and say so, if it beats the one known of its size."""
    total = settle(s)
    k = places(s)
    if found.explained[k] > -np.inf and not (
        total > found.explained[k] + least_gain(total, s.tolerance, s.min_gain)
    ):
        return False
    found.explained[k], found.sizes[k] = total, s.counts[0]
    found.grow[k] = found.shrink[k] = found.force[k] = True
    p = 0
    for j in range(s.q.size):
        if s.q[j] == np.inf:
            found.supports[k, p] = j
            p += 1
    return True


@kernel
def _visit(s, found, start, size):  # type: ignore[no-untyped-def]
    """Go from a support to one of another size, and settle it; say whether it is kept."""
    move_to(s, start)
    before = places(s)
    resize(s, size)
    if before != size and _is_known(s, found):
        return False
    return _settle_and_keep(s, found)


@kernel
def _visit_without(s, found, start, size, column):  # type: ignore[no-untyped-def]
    """Settle a support that must do without a column of it, then let the column join again."""
    move_to(s, start)
    remove(s, column)
    if s.limited:
        repair(s, NONE, s.support.size)
    floor = s.floor[column]
    s.floor[column] = np.inf
    resize(s, size)
    reached = places(s) == size
    if reached:
        settle(s)
    s.floor[column] = floor
    return reached and _settle_and_keep(s, found)


@kernel
def _visit_with(s, found, start, top, column):  # type: ignore[no-untyped-def]
    """Add a column whatever it costs, remove others until the list is feasible, and settle it."""
    move_to(s, start)
    join(s, column)
    if not repair(s, column, top):
        return False
    resize(s, top)
    return not _is_known(s, found) and _settle_and_keep(s, found)


@kernel
def _grow_and_shrink(s, found, lowest, top):  # type: ignore[no-untyped-def]
    """Lead the best support of each size on to the next larger and smaller, until none improves."""
    improved = True
    while improved:
        improved = False
        for k in range(lowest, top):
            if found.grow[k]:
                found.grow[k] = False
                improved |= _visit(s, found, known_support(found, k), k + 1)
        for k in range(top, lowest, -1):
            if found.shrink[k]:
                found.shrink[k] = False
                improved |= _visit(s, found, known_support(found, k), k - 1)


@kernel
def _sweep_down(s, found, lowest, top):  # type: ignore[no-untyped-def]
    """Grow to ``top`` columns at once, then drop one after the other, with exchanges at each stop.

    A line of search that does not start from what was found.
    """
    improved = False
    size = top
    start = known_support(found, lowest)
    while size >= lowest:
        improved |= _visit(s, found, start, size)
        size = min(size, places(s)) - 1
        start = s.support[: s.counts[0]]
    return improved


@kernel
def _drop_each(s, found, k):  # type: ignore[no-untyped-def]
    """Do without each member of the best support of k columns in turn.

    This leads out of supports that only a double exchange would improve.
    """
    improved = False
    for column in known_support(found, k).copy():
        start = known_support(found, k)
        member = False
        for other in start:
            member |= other == column
        free = not s.fixed[column] or (s.limited and s.limits.required[column])
        if member and free:
            improved |= _visit_without(s, found, start, k, column)
    return improved


@kernel
def _force_in(s, found, lowest, top, longest):  # type: ignore[no-untyped-def]
    """Force columns over the budget into the best supports of up to ``longest`` columns.

    Others leave, so that one costly column takes the place of two, or two that of one.
    """
    improved = False
    for size in range(lowest, min(top, longest) + 1):
        if found.force[size]:
            found.force[size] = False
            start = known_support(found, size).copy()
            move_to(s, start)
            gains = np.zeros(s.g.size)
            for j in range(gains.size):
                if s.q[j] > s.floor[j]:
                    gains[j] = s.g[j] * s.g[j] / s.q[j]
            for _ in range(_MOST_FORCED):
                column = np.argmax(gains)
                if gains[column] > 0.0:
                    gains[column] = 0.0
                    improved |= _visit_with(s, found, start, top, column)
    return improved


@kernel
def search(s, found, changed, top, longest_forced):  # type: ignore[no-untyped-def]
    """Grow and shrink the best supports of up to ``top`` columns until none improves.

    Parameters
    ----------
    s : State
    found : Found
        What is known, and is improved.
    changed : int
        Supports of so many columns or more are settled first, as after columns were added.
    top : int
        Most columns of a support.
    longest_forced : int
        Columns over the budget are forced into supports of so many columns; −1 for none.

    Returns
    -------
    int
        Size of the smallest support: the number of fixed columns that count.
    """
    lowest = take_in_fixed(s)
    if found.explained[lowest] == -np.inf:
        _visit(s, found, s.support[: s.counts[0]], lowest)
    for k in range(changed, found.explained.size):
        if found.explained[k] > -np.inf:
            # What was settled last has one column less, and needs fewer exchanges.
            _visit(s, found, s.support[: s.counts[0]].copy(), k)
            _visit(s, found, known_support(found, k), k)
    _grow_and_shrink(s, found, lowest, top)
    while longest_forced >= 0 and _force_in(s, found, lowest, top, longest_forced):
        _grow_and_shrink(s, found, lowest, top)
    return lowest


@kernel
def escape(s, found, lowest, top, sizes):  # type: ignore[no-untyped-def]
    """Search on where growing and shrinking end: sweep down, then drop each column.

    Parameters
    ----------
    s, found, top
        As for ``search``.
    lowest : int
        Size of the smallest support.
    sizes : int64 ndarray
        Supports whose columns are dropped, by their sizes, in this order.
    """
    if _sweep_down(s, found, lowest, top):
        _grow_and_shrink(s, found, lowest, top)
    for k in sizes:
        while _drop_each(s, found, k):
            _grow_and_shrink(s, found, lowest, top)
