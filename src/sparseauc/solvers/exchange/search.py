"""Lists of all lengths: grow and shrink, sweep down, drop each unit."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from ...utils.jit import inlined_kernel, kernel
from ...utils.types import Array, Indices, Mask
from .moves import bar, find_move, make_move, repair, take_in_fixed, unbar
from .state import Reference, explained, find_position, least_gain, places
from .sweeps import NONE, exchange, move_to

# Where a step starts: from the list that is there, and from there if that is longer.
# And where it has all units.
_CURRENT = -1
_DOWN = -2
_ALL = -1


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
        for mine, theirs in zip(self, earlier, strict=True):
            mine[tuple(map(slice, theirs.shape))] = theirs


class Plan(NamedTuple):
    """The way of a search: passes of steps from one list to another.

    Attributes
    ----------
    steps : int64 ndarray of shape (n, 3)
        Length of the list to start from, negative for the list that is there; length to
        go to; and which unit of the list the next one must do without until it is
        settled, −1 for none.
    ends : int64 ndarray of shape (n_passes,)
        Where the steps of each pass end.
    lead_on : int
        Number of the pass that leads new lists on to the next longer and shorter. It is
        repeated until none improves, and whenever a later pass improves a list, which
        then is repeated too.
    """

    steps: Indices
    ends: Indices
    lead_on: int


@functools.lru_cache(maxsize=1000)
def make_plan(
    top: int,
    *,
    begun: tuple[int, ...] = (),
    changed: tuple[int, ...] = (),
    lowest: int = 0,
    sweeps: tuple[int, ...] = (),
    dropped: tuple[int, ...] = (),
    paid: bool = False,
) -> Plan:
    """Plan a search of lists of up to ``top`` units.

    Parameters
    ----------
    top : int
    begun : tuple of int
        Lists of these lengths grow as far as they may, and are then settled as they
        are.
    changed : tuple of int
        Lists of these lengths are settled first, as after units were added.
    lowest : int, default=0
        Length of the shortest list.
    sweeps : tuple of int
        The search begins with sweeps down from lists so long: it grows from the
        shortest list at once, and drops one unit after the other, with exchanges at
        each stop. These lines of search do not start from what was found.
    dropped : tuple of int
        Lists whose units are dropped in turn at last, by their lengths, in this order.
        This leads out of lists that only a double exchange would improve.
    paid : bool
        Whether units cost unlike amounts: one costly unit may take the place of two,
        and two that of one.
    """
    first = [(_CURRENT, 0, _ALL)]
    for k in sorted(begun, reverse=True):  # what is longer has been gone on from
        first += [(k, top, _ALL), (k, k, _ALL)]
    for k in changed:
        # What was settled last has one unit less, and needs fewer exchanges.
        first += [(_CURRENT, k, _ALL), (k, k, _ALL)]
    for most in sweeps:
        first.append((lowest, most, _ALL))
        first += [(_DOWN, size, _ALL) for size in range(most - 1, lowest - 1, -1)]
    longer = [(k, k + 1, _ALL) for k in range(top)]
    shorter = [(k, k - 1, _ALL) for k in range(top, 0, -1)]
    passes = [first, longer + shorter]
    for k in dropped:
        sizes = [k, top, k - 1] if paid else [k]
        passes.append([(k, size, p) for size in sizes for p in range(k)])
    steps = [step for steps in passes for step in steps]
    ends = np.cumsum([len(steps) for steps in passes])
    return Plan(np.array(steps, np.int64), ends, lead_on=1)


@inlined_kernel
def _is_known(s, limits, found):  # type: ignore[no-untyped-def]
    """Tell whether the list is the best known of its length."""
    k = places(s, limits)
    known = found.explained[k] > -np.inf and found.sizes[k] == s.n_units[0]
    if known:
        for p in range(s.n_units[0]):
            known &= s.listed[found.lists[k, p]]
    return known


@inlined_kernel
def _keep(s, limits, found, total):  # type: ignore[no-untyped-def]
    """Keep the list, and say so, if it explains more than the one known of its length."""
    k = places(s, limits)
    known = found.explained[k]
    better = known == -np.inf or total > known + least_gain(s, known)
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


@inlined_kernel
def _visit(s, limits, found, start, size, out):  # type: ignore[no-untyped-def]
    """Go from a list to one of a length, and settle it; say whether it is kept.

    Units join, or leave, one after the other. Then units are exchanged until no single
    exchange lowers the objective. The list does without unit ``out``, −1 for none,
    until it is settled, and may have it then.
    """
    move_to(s, limits, start)
    feasible = True
    if out >= 0:
        exchange(s, limits, find_position(s, out), NONE)
        bar(s, out, True)
        feasible = repair(s, limits)
    may_be_known = out < 0 and places(s, limits) != size
    grows = places(s, limits) < size
    reached = size
    settling = False
    total = explained(s)
    while feasible:
        missing = reached - places(s, limits)
        if grows != (missing > 0):
            missing = 0
        if missing == 0 and not settling:
            settling = True
            feasible = out < 0 or limits is not None or reached == size
            if not feasible or (may_be_known and _is_known(s, limits, found)):
                break
        position, unit = find_move(s, limits, total, missing)
        if position >= 0 or unit >= 0:
            total = make_move(s, limits, position, unit, total, out)
        elif not settling:
            reached = places(s, limits)
            unbar(s, out)
        elif out >= 0:
            out = NONE
            unbar(s, out)
        else:
            break
    unbar(s, NONE)
    return feasible and _keep(s, limits, found, total)


@inlined_kernel
def _may_drop(s, limits, known, p, unit):  # type: ignore[no-untyped-def]
    """Tell whether the unit that was at a position of a list is still on it, and may leave."""
    free = not s.fixed[unit]
    if limits is not None:
        free = free or limits.required[unit]
    member = False
    if p < known.size:
        for one in known:
            member |= one == unit
    return free and member


@kernel
def search(state, limits, found, plan):  # type: ignore[no-untyped-def]
    """Improve the best lists of all lengths until none improves.

    Parameters
    ----------
    state : State
    limits : ExchangeLimits or None
    found : Found
        What is known, and is improved.
    plan : Plan

    Returns
    -------
    int
        Length of the shortest list: the number of fixed units that count.
    """
    s = Reference(*state)
    lowest = take_in_fixed(s, limits)
    members = np.empty(found.lists.shape[1], np.int64)
    number = 0
    resumed = plan.lead_on + 1
    while number < plan.ends.size:
        improved = False
        first = plan.ends[number - 1] if number > 0 else 0
        for step in range(first, plan.ends[number]):
            k = plan.steps[step, 0]
            size = max(plan.steps[step, 1], lowest)
            p = plan.steps[step, 2]
            start = (
                s.units[: s.n_units[0]] if k < 0 else found.lists[k, : found.sizes[k]]
            )
            out = NONE
            if k == _DOWN and places(s, limits) <= size:
                continue
            if number == plan.lead_on:
                pending = found.grow if size > k else found.shrink
                if not pending[k]:
                    continue
                pending[k] = False
            elif p >= 0:
                for o in range(members.size if p == 0 else 0):
                    members[o] = found.lists[k, o]
                out = members[p]
                if not _may_drop(s, limits, start, p, out):
                    continue
            improved |= _visit(s, limits, found, start, size, out)
        if number == plan.lead_on:
            number = number if improved else resumed
        elif number < plan.lead_on:
            number += 1
        else:
            resumed = number if improved else number + 1
            number = plan.lead_on if improved else resumed
    return lowest
