"""The best single moves from a list: which unit joins, leaves, or makes room for another."""

import numpy as np

from ...utils.jit import inlined_kernel, inner_kernel
from .gain import exchange_terms
from .groups import best_joining_several, best_leaving_several, join_gains, split_list
from .limits import allows, must_leave
from .state import EQUAL, depends, explained, find_position, least_gain, places
from .sweeps import NONE, TILE, exchange


@inlined_kernel
def best_join(s, limits):  # type: ignore[no-untyped-def]
    """Unit that lowers the objective most by joining, and by how much; −1 if none can."""
    gains = join_gains(s)
    best = 0.0
    winner = NONE
    for unit in range(gains.size):
        if gains[unit] > best * (1.0 + EQUAL):
            column = s.starts[unit]
            if allows(s, limits, NONE, unit, s.g[column], s.q[column]):
                best = gains[unit]
                winner = np.int64(unit)
    return winner, best


@inlined_kernel
def best_leave(s, limits):  # type: ignore[no-untyped-def]
    """Position of the unit that costs least to do without; −1 if none may leave."""
    losses = look(s, limits, np.inf)[0]
    best = np.inf
    winner = NONE
    for p in range(losses.size):
        unit = s.units[p]
        better = losses[p] < best or (losses[p] == best and unit < s.units[winner])
        if better and not s.fixed[unit]:
            best = losses[p]
            winner = np.int64(p)
    return winner


@inner_kernel
def survey(s, limits, least):  # type: ignore[no-untyped-def]
    """Look what doing without each unit costs, and for the best exchange.

    Returns
    -------
    losses : ndarray of shape (n_units,)
    position, unit : int
        −1 if no exchange lowers the objective by more than ``least``.
    """
    found = least, NONE, NONE
    if least < np.inf:
        found = _best_of_single(s, limits, least)
    if s.several.size == 0:
        losses = np.empty(s.n_units[0])
        for p in range(losses.size):
            at = s.place[s.units[p]]
            losses[p] = s.w[at] * s.w[at] / s.M[at, at]
        return losses, found[1], found[2]
    split = split_list(
        s.support, s.n_columns[0], s.units, s.n_units[0], s.starts, s.w, s.M, s.T
    )
    if least < np.inf:
        found = best_joining_several(s, limits, split, found)
        found = best_leaving_several(s, limits, split, found)
    return split[3], found[1], found[2]


@inlined_kernel
def _best_of_single(s, limits, least):  # type: ignore[no-untyped-def]
    """The best exchange of two units of one column: its gain, position and unit."""
    d = s.q.size
    best = -least
    best_p = NONE
    best_unit = NONE
    for low in range(0, d, TILE):
        high = min(low + TILE, d)
        m = high - low
        gs = s.g[low:high]
        qs = s.q[low:high]
        for p in range(s.n_units[0]):
            gone = s.units[p]
            column = s.starts[gone]
            at = s.place[column]
            if s.fixed[gone] or s.starts[gone + 1] - column > 1 or at < 0:
                continue
            t = s.T[at, low:high]
            inverse = 1.0 / s.M[at, at]
            shift = s.w[at] * inverse
            loss = s.w[at] * shift
            # The gain exceeds the best one, compared without dividing.
            bar = loss - best
            found = False
            for j in range(m):
                numerator, left = exchange_terms(gs[j], qs[j], t[j], shift, inverse)
                found |= numerator * numerator > bar * left
            if not found:
                continue
            for j in range(m):
                numerator, left = exchange_terms(gs[j], qs[j], t[j], shift, inverse)
                if left > s.min_q[low + j]:
                    change = loss - numerator * numerator / left
                    unit = s.unit_of[low + j]
                    if change < best and allows(s, limits, gone, unit, numerator, left):
                        best = change
                        best_p = np.int64(p)
                        best_unit = unit
    return -best, best_p, best_unit


@inlined_kernel
def look(s, limits, least):  # type: ignore[no-untyped-def]
    """Look as ``survey`` does, or without its formulas where columns of the list take no part."""
    if s.several.size > 0 and _is_incomplete(s):
        return _try_each(s, limits, least)
    return survey(s, limits, least)


@inner_kernel
def _is_incomplete(s):  # type: ignore[no-untyped-def]
    """Tell whether columns of units on the list take no part, as they depend on others."""
    missing = -s.n_columns[0]
    for p in range(s.n_units[0]):
        for column in range(s.starts[s.units[p]], s.starts[s.units[p] + 1]):
            missing += s.min_q[column] < np.inf
    return missing > 0


@inlined_kernel
def _try_each(s, limits, least):  # type: ignore[no-untyped-def]
    """Do without each unit in turn: what that costs, and the best exchange.

    Where columns take no part, they may do so without another unit, and no formula says
    what is then explained.
    """
    before = explained(s)
    order = s.units[: s.n_units[0]].copy()
    costs = np.zeros(s.listed.size)
    best = least
    best_out = NONE
    best_unit = NONE
    for out in order:
        exchange(s, limits, find_position(s, out), NONE)
        costs[out] = before - explained(s)
        if not s.fixed[out]:
            gains = join_gains(s)
            for unit in range(gains.size):
                gain = gains[unit] - costs[out]
                better = unit != out and gain > best + EQUAL * abs(best)
                if better and allows(s, limits, NONE, unit, gain, gain):
                    best = gain
                    best_out = out
                    best_unit = np.int64(unit)
        exchange(s, limits, NONE, out)
    losses = np.empty(order.size)
    for p in range(order.size):
        losses[p] = costs[s.units[p]]
    return losses, find_position(s, best_out), best_unit


@inner_kernel
def bar(s, unit):  # type: ignore[no-untyped-def]
    """Keep a unit, or −1 for none, from joining until ``unbar`` is called."""
    if unit >= 0:
        for column in range(s.starts[unit], s.starts[unit + 1]):
            s.min_q[column] = np.inf


@inner_kernel
def unbar(s, out):  # type: ignore[no-untyped-def]
    """Let all units join again but one, −1 for none."""
    for column in range(s.min_q.size):
        s.min_q[column] = s.least_left[column]
    bar(s, out)


@inner_kernel
def repair(s, limits, top):  # type: ignore[no-untyped-def]
    """Remove units until the list of at most ``top`` units is feasible.

    False where that cannot be.
    """
    position = NONE
    if limits is not None:
        position = must_leave(limits, s, look(s, limits, np.inf)[0], top)
        while position >= 0:
            exchange(s, limits, position, NONE)
            position = must_leave(limits, s, look(s, limits, np.inf)[0], top)
    return position == NONE


@inlined_kernel
def _released_column(s, limits):  # type: ignore[no-untyped-def]
    """A required column at 0 whose sign no longer holds it there; −1 if there is none."""
    winner = NONE
    if limits is not None and limits.absent[0] > 0:
        least = least_gain(s, explained(s))
        for j in range(s.q.size):
            helps = s.min_q[j] < s.q[j] and s.g[j] ** 2 > least * s.q[j]
            if (
                limits.required[j]
                and helps
                and allows(s, limits, NONE, j, s.g[j], s.q[j])
            ):
                winner = np.int64(j)
    return winner


@inlined_kernel
def settle(s, limits, out):  # type: ignore[no-untyped-def]
    """Exchange units until no single exchange lowers the objective; return what is explained.

    The list does without unit ``out``, −1 for none.
    """
    before = explained(s)
    while True:
        _, position, unit = look(s, limits, least_gain(s, before))
        gone = NONE
        if position >= 0:
            gone = s.units[position]
        else:
            unit = _released_column(s, limits)
            if unit < 0:
                break
        exchange(s, limits, position, unit)
        after = explained(s)
        if gone >= 0 and (depends(s) or not after > before):
            # What the formula promised was rounding. It may promise forever.
            exchange(s, limits, find_position(s, unit), gone)
            bar(s, unit)
        else:
            before = after
    unbar(s, out)
    return before


@inlined_kernel
def _grow(s, limits, out):  # type: ignore[no-untyped-def]
    """Add the unit that helps most; False when none is left that adds anything."""
    least = least_gain(s, explained(s))
    grown = False
    while not grown:
        unit, gain = best_join(s, limits)
        if unit < 0 or gain <= least:
            break
        exchange(s, limits, NONE, unit)
        grown = not depends(s)
        if not grown:
            # Not again until another unit has joined.
            exchange(s, limits, find_position(s, unit), NONE)
            bar(s, unit)
    unbar(s, out)
    return grown


@inlined_kernel
def resize(s, limits, size, out):  # type: ignore[no-untyped-def]
    """Add or remove one unit after the other, as far as can be, until the list has a size."""
    while places(s, limits) < size and _grow(s, limits, out):
        pass
    while places(s, limits) > size:
        position = best_leave(s, limits)
        if position < 0:
            break
        exchange(s, limits, position, NONE)
        repair(s, limits, s.units.size)


@inlined_kernel
def take_in_fixed(s, limits):  # type: ignore[no-untyped-def]
    """Add the fixed units to an empty list, but for columns that depend on earlier ones.

    Returns
    -------
    int
        The places that they take.
    """
    if s.n_units[0] == 0:
        for unit in range(s.fixed.size):
            if s.fixed[unit] and (s.several.size > 0 or s.q[unit] > s.min_q[unit]):
                exchange(s, limits, NONE, unit)
                if depends(s):
                    exchange(s, limits, find_position(s, unit), NONE)
        if limits is not None and limits.signed:
            for p in range(s.n_units[0]):
                column = s.units[p]
                limits.required[column] = limits.sign[column] != 0
            repair(s, limits, s.units.size)
    taken = np.int64(0)
    for unit in range(s.fixed.size):
        required = limits is not None and limits.required[unit]
        taken += required or (s.fixed[unit] and s.listed[unit])
    return taken
