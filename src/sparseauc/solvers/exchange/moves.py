"""The best single moves from a list, and exchanges until none helps.

What a move gains is answered by ``columns`` or ``groups``; all else is the same.
"""

import numpy as np

from ...utils.jit import inlined_kernel, kernel
from .columns import best_exchange_of_columns, join_gains_of_columns, losses_of_columns
from .groups import best_exchange_of_groups, join_gains_of_groups, losses_of_groups
from .limits import STUCK, find_allowed, must_leave, signs_stay
from .state import EQUAL, depends, explained, find_position, least_gain, places
from .sweeps import NONE, exchange, join, leave, remove


@kernel
def join_gains(s):  # type: ignore[no-untyped-def]
    """Gain of each unit by joining, whatever it costs; 0 for those that cannot."""
    if s.starts.size > 0:
        return join_gains_of_groups(s)
    return join_gains_of_columns(s)


@kernel
def leaving_losses(s):  # type: ignore[no-untyped-def]
    """Loss of doing without each unit on the list."""
    if s.starts.size > 0:
        return losses_of_groups(s)
    return losses_of_columns(s)


@inlined_kernel
def best_exchange(s, least):  # type: ignore[no-untyped-def]
    """Position and unit of the best exchange; −1 if none lowers the objective by ``least``."""
    if s.starts.size > 0:
        return best_exchange_of_groups(s, least)
    return best_exchange_of_columns(s, least)


@inlined_kernel
def best_join(s):  # type: ignore[no-untyped-def]
    """Unit that lowers the objective most by joining, and by how much; −1 if none can."""
    gains = join_gains(s)
    allowed = np.ones(gains.size, np.bool_)
    if s.limited:
        find_allowed(s.limits, s.units, NONE, 0, allowed)
    best = 0.0
    winner = NONE
    for unit in range(gains.size):
        better = allowed[unit] and gains[unit] > best * (1.0 + EQUAL)
        # Signs are of columns: there are none where units are groups.
        if better and signs_stay(s, NONE, unit, s.g[unit], s.q[unit]):
            best = gains[unit]
            winner = unit
    return winner, best


@inlined_kernel
def best_leave(s):  # type: ignore[no-untyped-def]
    """Position of the unit that costs least to do without; −1 if none may leave."""
    losses = leaving_losses(s)
    best = np.inf
    winner = NONE
    for p in range(losses.size):
        unit = s.units[p]
        better = losses[p] < best or (losses[p] == best and unit < s.units[winner])
        if better and not s.fixed[unit]:
            best = losses[p]
            winner = p
    return winner


@inlined_kernel
def bar(s, unit):  # type: ignore[no-untyped-def]
    """Keep a unit from joining until ``unbar`` is called."""
    first = unit
    end = unit + 1
    if s.starts.size > 0:
        first = s.starts[unit]
        end = s.starts[unit + 1]
    for column in range(first, end):
        s.min_q[column] = np.inf


@inlined_kernel
def unbar(s, min_q):  # type: ignore[no-untyped-def]
    """Let all units join again, given ``min_q`` before."""
    for column in range(min_q.size):
        s.min_q[column] = min_q[column]


@inlined_kernel
def repair(s, top):  # type: ignore[no-untyped-def]
    """Remove units until the list of at most ``top`` units is feasible.

    False where that cannot be.
    """
    position = must_leave(s.limits, s, leaving_losses(s), top)
    while position >= 0:
        leave(s, position)
        position = must_leave(s.limits, s, leaving_losses(s), top)
    return position != STUCK


@inlined_kernel
def _released_column(s):  # type: ignore[no-untyped-def]
    """A required column at 0 whose sign no longer holds it there; −1 if there is none."""
    winner = NONE
    if s.limits.absent[0] > 0:
        least = least_gain(explained(s), s.tolerance, s.min_gain)
        for j in range(s.q.size):
            helps = s.min_q[j] < s.q[j] and s.g[j] ** 2 > least * s.q[j]
            if s.limits.required[j] and helps and signs_stay(s, NONE, j, s.g[j], s.q[j]):
                winner = j
    return winner


@kernel
def settle(s):  # type: ignore[no-untyped-def]
    """Exchange units until no single exchange lowers the objective; return what is explained."""
    before = explained(s)
    min_q = s.min_q.copy()
    barred = False
    while True:
        position, unit = best_exchange(s, least_gain(before, s.tolerance, s.min_gain))
        if position < 0:
            released = _released_column(s)
            if released < 0:
                break
            join(s, released)
            before = explained(s)
            continue
        gone = s.units[position]
        exchange(s, position, unit)
        after = explained(s)
        if depends(s) or not after > before:
            # What the formula promised was rounding. It may promise forever.
            exchange(s, find_position(s.units, s.n_units[0], unit), gone)
            bar(s, unit)
            barred = True
        else:
            before = after
    if barred:
        unbar(s, min_q)
    return before


@inlined_kernel
def _grow(s):  # type: ignore[no-untyped-def]
    """Add the unit that helps most; False when none is left that adds anything."""
    least = least_gain(explained(s), s.tolerance, s.min_gain)
    min_q = s.min_q.copy()
    grown = False
    barred = False
    while not grown:
        unit, gain = best_join(s)
        if unit < 0 or gain <= least:
            break
        join(s, unit)
        grown = not depends(s)
        if not grown:
            # Not again until another unit has joined.
            remove(s, unit)
            bar(s, unit)
            barred = True
    if barred:
        unbar(s, min_q)
    return grown


@inlined_kernel
def resize(s, size):  # type: ignore[no-untyped-def]
    """Add or remove one unit after the other, as far as can be, until the list has a size."""
    while places(s) < size:
        if not _grow(s):
            break
    while places(s) > size:
        position = best_leave(s)
        if position < 0:
            break
        leave(s, position)
        if s.limited:
            repair(s, s.units.size)


@inlined_kernel
def take_in_fixed(s):  # type: ignore[no-untyped-def]
    """Add the fixed units to an empty list, but for columns that depend on earlier ones.

    Returns
    -------
    int
        The places that they take.
    """
    grouped = s.starts.size > 0
    if s.n_units[0] == 0:
        for unit in range(s.fixed.size):
            if s.fixed[unit] and (grouped or s.q[unit] > s.min_q[unit]):
                join(s, unit)
                if depends(s):
                    remove(s, unit)
        if s.limited and s.limits.signed:
            for p in range(s.n_units[0]):
                column = s.units[p]
                s.limits.required[column] = s.limits.sign[column] != 0
            repair(s, s.units.size)
    taken = np.int64(0)
    for unit in range(s.fixed.size):
        required = s.limited and s.limits.required[unit]
        taken += required or (s.fixed[unit] and s.listed[unit])
    return taken
