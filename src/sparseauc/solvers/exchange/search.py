"""Lists of all lengths: grow and shrink, sweep down, drop each unit, force units in."""

import itertools
from typing import NamedTuple

import numpy as np
import scipy.linalg

from ...moments.base import Gram
from ...utils.jit import inlined_kernel, kernel
from ...utils.types import Array, Indices, Mask
from .limits import UNLIMITED, ExchangeLimits
from .moves import bar, join_gains, repair, resize, settle, take_in_fixed, unbar
from .state import Reference, State, find_position, least_gain, places
from .sweeps import NONE, join, move_to, remove

# What a standardised difference of means of 1e-12 would explain is rounding.
_MIN_EXPLAINED = 1e-24
# Less than this share may be nothing but rounding: a column of which less is left over after the
# support explains it is taken for linearly dependent and left out, and when less of the objective
# is left, everything is explained. The second is in units of H's precision, for float32.
_TOLERANCE, _TOLERANCE_UNITS = 5e-7, 1e5
# Units that are forced into a list, at most.
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
    limits: ExchangeLimits | None = None, *, starts: Indices | None = None,
) -> State:  # fmt: skip
    """Start with an empty list.

    Parameters
    ----------
    gram : Gram
    alpha : float
        Ridge.
    k_max : int
        Units of the longest list.
    fixed : bool ndarray of shape (n_units,)
        Units that never leave.
    excluded : bool ndarray of shape (d,)
        Columns that never join.
    limits : ExchangeLimits, optional
        What else restricts the choice.
    starts : int64 ndarray of shape (n_units + 1,), optional
        First column of each group of columns, and the end of the last one; without it each column
        is a unit.
    """
    d = gram.H.shape[0]
    diagonal = gram.H.diagonal()
    whole = diagonal + alpha
    limited = limits is not None
    limits = UNLIMITED if limits is None else limits
    floor = np.where(excluded | (diagonal <= 0), np.inf, DEPENDENT * whole)
    delta = gram.delta
    nothing, size = np.empty(0, np.int64), k_max
    left = [np.empty(0)]
    if starts is not None:
        size = int(np.sort(np.diff(starts))[-k_max:].sum())
        left += [gram.H[a:b, a:b].ravel() for a, b in itertools.pairwise(starts.tolist())]
    support = np.empty(size, np.int64)
    return State(
        gram.H, delta, whole, floor, nothing if starts is None else starts,
        fixed, limited, limits.signed, limits,
        np.zeros(3, np.int64), support if starts is None else np.empty(k_max, np.int64),
        np.zeros(fixed.size, np.bool_), support, np.empty(size),
        np.empty((size, size)), np.empty((size, d)), delta.copy(), whole.copy(),
        np.concatenate(left), np.cumsum([part.size for part in left]), DEPENDENT,
        _MIN_EXPLAINED / (1.0 + alpha), bool((floor[np.isfinite(floor)] > alpha).any()),
    )  # fmt: skip


class Found(NamedTuple):
    """The best list found of each length up to k_max.

    Attributes
    ----------
    explained : ndarray of shape (k_max + 1,)
        What it takes off the objective; −infinity where none is known.
    lists : int64 ndarray of shape (k_max + 1, k_max)
        Units, ascending, in the first places of row k.
    sizes : int64 ndarray of shape (k_max + 1,)
        How many these are: k, less those whose signs hold them at 0.
    grow, shrink, force : bool ndarrays of shape (k_max + 1,)
        Whether a unit has yet to join, or to leave, the list of this length, or to be forced in.
    """

    explained: Array
    lists: Indices
    sizes: Indices
    grow: Mask
    shrink: Mask
    force: Mask


@inlined_kernel
def known_list(found, k):  # type: ignore[no-untyped-def]
    """The best list known of k units."""
    return found.lists[k, : found.sizes[k]]


@inlined_kernel
def _is_known(s, found):  # type: ignore[no-untyped-def]
    """Whether the list is the best known of its length."""
    k = places(s)
    known = found.explained[k] > -np.inf and found.sizes[k] == s.counts[0]
    if known:
        for p in range(s.counts[0]):
            known &= s.listed[found.lists[k, p]]
    return known


@inlined_kernel
def _keep(s, found, total):  # type: ignore[no-untyped-def]
    """Keep the list, and say so, if it explains more than the one known of its length."""
    k = places(s)
    better = found.explained[k] == -np.inf or (
        total > found.explained[k] + least_gain(total, s.tolerance, s.min_gain)
    )
    if better:
        found.explained[k], found.sizes[k] = total, s.counts[0]
        found.grow[k] = found.shrink[k] = found.force[k] = True
        p = 0
        for unit in range(s.listed.size):
            if s.listed[unit]:
                found.lists[k, p] = unit
                p += 1
    return better


@kernel
def _visit(s, found, start, size, out, into):  # type: ignore[no-untyped-def]
    """Go from a list to one of a length, and settle it; say whether it is kept.

    Parameters
    ----------
    s : State
    found : Found
    start : int64 ndarray
        The list to go from.
    size : int
        Length to go to.
    out : int
        Unit that the list must do without until it is settled, and may have again then; −1 for
        none.
    into : int
        Unit that is added whatever it costs, others leaving until the list is feasible; −1 for
        none.
    """
    move_to(s, start)
    may_be_known = out < 0 and (into >= 0 or places(s) != size)
    floor = s.floor.copy()
    if out >= 0:
        remove(s, out)
        bar(s, out)
    if into >= 0:
        join(s, into)
    feasible = True
    if s.limited and not (out < 0 and into < 0):
        feasible = repair(s, into, size if into >= 0 else s.units.size)
    if feasible:
        resize(s, size)
        feasible = out < 0 or places(s) == size
    if not feasible or (may_be_known and _is_known(s, found)):
        unbar(s, floor)
        return False
    total = settle(s)
    while out >= 0:
        out = NONE
        unbar(s, floor)
        total = settle(s)
    return _keep(s, found, total)


@inlined_kernel
def _grow_and_shrink(s, found, lowest, top):  # type: ignore[no-untyped-def]
    """Lead the best list of each length on to the next longer and shorter, until none improves."""
    improved = True
    while improved:
        improved = False
        for k in range(lowest, top):
            if found.grow[k]:
                found.grow[k] = False
                improved |= _visit(s, found, known_list(found, k), k + 1, NONE, NONE)
        for k in range(top, lowest, -1):
            if found.shrink[k]:
                found.shrink[k] = False
                improved |= _visit(s, found, known_list(found, k), k - 1, NONE, NONE)


@inlined_kernel
def _sweep_down(s, found, lowest, top):  # type: ignore[no-untyped-def]
    """Grow to ``top`` units at once, then drop one after the other, with exchanges at each stop.

    A line of search that does not start from what was found.
    """
    improved = False
    size = top
    start = known_list(found, lowest)
    while size >= lowest:
        improved |= _visit(s, found, start, size, NONE, NONE)
        size = min(size, places(s)) - 1
        start = s.units[: s.counts[0]]
    return improved


@inlined_kernel
def _drop_each(s, found, k):  # type: ignore[no-untyped-def]
    """Do without each unit of the best list of k in turn.

    This leads out of lists that only a double exchange would improve.
    """
    improved = False
    for unit in known_list(found, k).copy():
        start = known_list(found, k)
        member = find_position(start, start.size, unit) >= 0
        free = not s.fixed[unit] or (s.limited and s.limits.required[unit])
        if member and free:
            improved |= _visit(s, found, start, k, unit, NONE)
    return improved


@inlined_kernel
def _force_in(s, found, lowest, top, longest):  # type: ignore[no-untyped-def]
    """Force units over the budget into the best lists of up to ``longest`` units.

    Others leave, so that one costly unit takes the place of two, or two that of one.
    """
    improved = False
    for size in range(lowest, min(top, longest) + 1):
        if found.force[size]:
            found.force[size] = False
            start = known_list(found, size).copy()
            move_to(s, start)
            gains = join_gains(s)
            for _ in range(_MOST_FORCED):
                unit = np.argmax(gains)
                if gains[unit] > 0.0:
                    gains[unit] = 0.0
                    improved |= _visit(s, found, start, top, NONE, unit)
    return improved


@kernel
def search(state, found, changed, top, longest_forced):  # type: ignore[no-untyped-def]
    """Grow and shrink the best lists of up to ``top`` units until none improves.

    Parameters
    ----------
    state : State
    found : Found
        What is known, and is improved.
    changed : int
        Lists of so many units or more are settled first, as after units were added.
    top : int
        Most units of a list.
    longest_forced : int
        Units over the budget are forced into lists of up to so many; −1 for none.

    Returns
    -------
    int
        Length of the shortest list: the number of fixed units that count.
    """
    s = Reference(*state)
    lowest = take_in_fixed(s)
    if found.explained[lowest] == -np.inf:
        _visit(s, found, s.units[: s.counts[0]], lowest, NONE, NONE)
    for k in range(changed, found.explained.size):
        if found.explained[k] > -np.inf:
            # What was settled last has one unit less, and needs fewer exchanges.
            _visit(s, found, s.units[: s.counts[0]].copy(), k, NONE, NONE)
            _visit(s, found, known_list(found, k), k, NONE, NONE)
    forced = True
    while forced:
        _grow_and_shrink(s, found, lowest, top)
        forced = longest_forced >= 0 and _force_in(s, found, lowest, top, longest_forced)
    return lowest


@kernel
def escape(state, found, lowest, top, sizes):  # type: ignore[no-untyped-def]
    """Search on where growing and shrinking end: sweep down, then drop each unit.

    Parameters
    ----------
    state, found, top
        As for ``search``.
    lowest : int
        Length of the shortest list.
    sizes : int64 ndarray
        Lists whose units are dropped, by their lengths, in this order.
    """
    s = Reference(*state)
    improved = _sweep_down(s, found, lowest, top)
    at = 0
    while improved or at < sizes.size:
        if improved:
            _grow_and_shrink(s, found, lowest, top)
            improved = False
        if at < sizes.size:
            improved = _drop_each(s, found, sizes[at])
            at += not improved
