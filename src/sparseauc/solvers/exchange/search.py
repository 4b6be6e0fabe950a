"""Lists of all lengths: grow and shrink, sweep down, drop each unit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...utils.jit import inlined_kernel, kernel
from ...utils.types import Array, Indices, Mask
from .moves import bar, repair, resize, settle, take_in_fixed, unbar
from .state import Reference, find_position, least_gain, places
from .sweeps import NONE, move_to, remove


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
    grow, shrink : bool ndarrays of shape (k_max + 1,)
        Whether a unit has yet to join, or to leave, the list of this length.
    """

    explained: Array
    lists: Indices
    sizes: Indices
    grow: Mask
    shrink: Mask

    @classmethod
    def none(cls, k_max: int) -> Found:
        """Start without any list."""
        n_lengths = k_max + 1
        return cls(
            explained=np.full(n_lengths, -np.inf),
            lists=np.zeros((n_lengths, k_max), np.int64),
            sizes=np.zeros(n_lengths, np.int64),
            grow=np.zeros(n_lengths, np.bool_),
            shrink=np.zeros(n_lengths, np.bool_),
        )

    def take_over(self, earlier: Found) -> None:
        """Begin with what was found up to a lower length."""
        n_lengths = earlier.explained.size
        self.explained[:n_lengths] = earlier.explained
        self.lists[:n_lengths, : n_lengths - 1] = earlier.lists
        self.sizes[:n_lengths] = earlier.sizes
        self.grow[:n_lengths] = earlier.grow
        self.shrink[:n_lengths] = earlier.shrink


@inlined_kernel
def known_list(found, k):  # type: ignore[no-untyped-def]
    """The best list known of k units."""
    return found.lists[k, : found.sizes[k]]


@inlined_kernel
def _is_known(s, found):  # type: ignore[no-untyped-def]
    """Tell whether the list is the best known of its length."""
    k = places(s)
    known = found.explained[k] > -np.inf and found.sizes[k] == s.n_units[0]
    if known:
        for p in range(s.n_units[0]):
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
        found.explained[k] = total
        found.sizes[k] = s.n_units[0]
        found.grow[k] = True
        found.shrink[k] = True
        p = 0
        for unit in range(s.listed.size):
            if s.listed[unit]:
                found.lists[k, p] = unit
                p += 1
    return better


@kernel
def _visit(s, found, start, size, out):  # type: ignore[no-untyped-def]
    """Go from a list to one of a length, and settle it; say whether it is kept.

    Parameters
    ----------
    s : Reference
    found : Found
    start : int64 ndarray
        The list to go from.
    size : int
        Length to go to.
    out : int
        Unit that the list must do without until it is settled, and may have again then; −1 for
        none.
    """
    move_to(s, start)
    may_be_known = out < 0 and places(s) != size
    min_q = s.min_q.copy()
    if out >= 0:
        remove(s, out)
        bar(s, out)
    feasible = True
    if s.limited and out >= 0:
        feasible = repair(s, s.units.size)
    if feasible:
        resize(s, size)
        feasible = out < 0 or places(s) == size or s.limited
    if not feasible or (may_be_known and _is_known(s, found)):
        unbar(s, min_q)
        return False
    total = settle(s)
    if out >= 0:
        unbar(s, min_q)
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
                improved |= _visit(s, found, known_list(found, k), k + 1, NONE)
        for k in range(top, lowest, -1):
            if found.shrink[k]:
                found.shrink[k] = False
                improved |= _visit(s, found, known_list(found, k), k - 1, NONE)


@inlined_kernel
def _sweep_down(s, found, lowest, top):  # type: ignore[no-untyped-def]
    """Grow to ``top`` units at once, then drop one after the other, with exchanges at each stop.

    A line of search that does not start from what was found.
    """
    improved = False
    size = top
    start = known_list(found, lowest)
    while size >= lowest:
        improved |= _visit(s, found, start, size, NONE)
        size = min(size, places(s)) - 1
        start = s.units[: s.n_units[0]]
    return improved


@inlined_kernel
def _drop_each(s, found, k, size):  # type: ignore[no-untyped-def]
    """Do without each unit of the best list of k in turn, on the way to a list of a length.

    This leads out of lists that only a double exchange would improve.
    """
    improved = False
    for unit in known_list(found, k).copy():
        start = known_list(found, k)
        member = find_position(start, start.size, unit) >= 0
        free = not s.fixed[unit] or (s.limited and s.limits.required[unit])
        if member and free:
            improved |= _visit(s, found, start, size, unit)
    return improved


@kernel
def search(state, found, changed, top, escape, dropped):  # type: ignore[no-untyped-def]
    """Improve the best lists of up to ``top`` units until none improves.

    Parameters
    ----------
    state : State
    found : Found
        What is known, and is improved.
    changed : int
        Lists of so many units or more are settled first, as after units were added.
    top : int
        Most units of a list.
    escape : bool
        Whether growing and shrinking have ended: search on by a sweep down.
    dropped : int64 ndarray
        Lists whose units are then dropped, by their lengths, in this order.

    Returns
    -------
    int
        Length of the shortest list: the number of fixed units that count.
    """
    s = Reference(*state)
    lowest = take_in_fixed(s)
    if found.explained[lowest] == -np.inf:
        _visit(s, found, s.units[: s.n_units[0]], lowest, NONE)
    for k in range(changed, found.explained.size):
        if found.explained[k] > -np.inf:
            # What was settled last has one unit less, and needs fewer exchanges.
            _visit(s, found, s.units[: s.n_units[0]].copy(), k, NONE)
            _visit(s, found, known_list(found, k), k, NONE)
    improved = not escape or _sweep_down(s, found, lowest, top)
    n_dropped = 0
    while improved or n_dropped < dropped.size:
        if improved:
            _grow_and_shrink(s, found, lowest, top)
            improved = False
        else:
            k = dropped[n_dropped]
            improved = _drop_each(s, found, k, k)
            if s.limited and s.limits.paid:
                # One costly unit may take the place of two, and two that of one.
                improved |= _drop_each(s, found, k, top)
                improved |= _drop_each(s, found, k, k - 1)
            n_dropped += not improved
    return lowest
