"""The best single moves from a list: which unit joins, leaves, or makes room for another."""

import numpy as np

from ...utils.jit import inlined_kernel, inner_kernel
from .gain import exchange_terms
from .groups import best_of_several, leavers_of, nobody
from .limits import allows, must_leave
from .state import EQUAL, depends, explained, find_position, least_gain
from .sweeps import NONE, TILE, exchange


@inner_kernel
def survey(s, limits, least, joins):  # type: ignore[no-untyped-def]
    """Look what doing without each unit costs, and for the best exchange.

    Where a unit ``joins``, it is looked for as an exchange in which nobody leaves.

    Returns
    -------
    losses : ndarray
        One for each unit of the list; where one joins, a single 0.
    gain : float
    position, unit : int
        −1 if no exchange lowers the objective by more than ``least``.
    """
    leavers = nobody(s) if joins else leavers_of(s)
    found = least, NONE, NONE
    if least < np.inf:
        found = _best_of_single(s, limits, joins, leavers, found)
        if s.several.size > 0:
            found = best_of_several(s, limits, joins, leavers, found)
    gain, position, unit = found
    return leavers.losses, gain, NONE if joins else position, unit


@inlined_kernel
def _best_of_single(s, limits, joins, leavers, found):  # type: ignore[no-untyped-def]
    """The best exchange for a unit of one column: its gain, position and unit."""
    d = s.q.size
    gain, position, winner = found
    best = -gain
    rest_g = np.empty(TILE)
    rest_q = np.empty(TILE)
    for low in range(0, d, TILE):
        high = min(low + TILE, d)
        m = high - low
        for p in range(leavers.losses.size):
            gone = NONE if joins else s.units[p]
            if gone >= 0 and s.fixed[gone]:
                continue
            gs = s.g[low:high]
            qs = s.q[low:high]
            t = gs
            shift = 0.0
            inverse = 0.0
            for i in range(leavers.first[p], leavers.end[p]):
                if i > leavers.first[p]:
                    for j in range(m):
                        rest_g[j], rest_q[j] = exchange_terms(
                            gs[j], qs[j], t[j], shift, inverse
                        )
                    gs = rest_g[:m]
                    qs = rest_q[:m]
                t = leavers.rows[i, low:high]
                shift = leavers.shifts[i]
                inverse = leavers.inverses[i]
            # The gain exceeds the best one, compared without dividing.
            loss = leavers.losses[p]
            least = loss - best
            better = False
            for j in range(m):
                numerator, left = exchange_terms(gs[j], qs[j], t[j], shift, inverse)
                better |= numerator * numerator > least * left
            if not better:
                continue
            for j in range(m):
                numerator, left = exchange_terms(gs[j], qs[j], t[j], shift, inverse)
                if left > s.min_q[low + j]:
                    change = loss - numerator * numerator / left
                    unit = s.unit_of[low + j]
                    if change < best * (1.0 + EQUAL) and allows(
                        s, limits, gone, unit, numerator, left
                    ):
                        best = change
                        position = np.int64(p)
                        winner = unit
    return -best, position, winner


@inlined_kernel
def look(s, limits, least, joins):  # type: ignore[no-untyped-def]
    """Look as ``survey`` does, or do without each unit where its formulas do not hold.

    They do not where columns of the list take no part, and say nothing of the signs
    of coefficients beside a group that makes room.
    """
    by_trial = False
    if s.several.size > 0 and not joins:
        by_trial = _is_incomplete(s)
        if limits is not None:
            by_trial |= limits.signed
    if by_trial:
        return _try_each(s, limits, least)
    return survey(s, limits, least, joins)


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

    Columns that take no part may do so without another unit, and no formula says what is
    then explained.
    """
    before = explained(s)
    order = s.units[: s.n_units[0]].copy()
    costs = np.zeros(s.listed.size)
    best = least
    best_out = NONE
    best_unit = NONE
    for out in order:
        exchange(s, limits, find_position(s, out), NONE)
        cost = before - explained(s)
        costs[out] = cost
        if not s.fixed[out]:
            bar(s, out, True)
            _, gain, _, unit = survey(s, limits, best + cost, True)
            bar(s, out, False)
            if unit >= 0:
                best = gain - cost
                best_out = out
                best_unit = unit
        exchange(s, limits, NONE, out)
    losses = np.zeros(order.size)
    for p in range(order.size):
        losses[p] = costs[s.units[p]]
    return losses, best, find_position(s, best_out), best_unit


@inlined_kernel
def cheapest(s, losses):  # type: ignore[no-untyped-def]
    """Position of the unit that costs least to do without; −1 if none may leave."""
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
def bar(s, unit, barred):  # type: ignore[no-untyped-def]
    """Keep a unit from joining, or let it join again."""
    for column in range(s.starts[unit], s.starts[unit + 1]):
        s.min_q[column] = np.inf if barred else s.least_left[column]


@inner_kernel
def unbar(s, out):  # type: ignore[no-untyped-def]
    """Let all units join again but one, −1 for none."""
    for column in range(s.min_q.size):
        s.min_q[column] = s.least_left[column]
    if out >= 0:
        bar(s, out, True)


@inner_kernel
def repair(s, limits):  # type: ignore[no-untyped-def]
    """Remove units until the list is feasible; False where that cannot be."""
    position = NONE
    if limits is not None:
        while True:
            losses = look(s, limits, np.inf, False)[0]
            position = must_leave(limits, s, losses)
            if position < 0:
                break
            exchange(s, limits, position, NONE)
    return position == NONE


@inlined_kernel
def _released_column(s, limits):  # type: ignore[no-untyped-def]
    """A required column at 0 whose sign no longer holds it there; −1 if there is none."""
    winner = NONE
    if limits is not None and limits.absent[0] > 0:
        least = least_gain(s, explained(s))
        for j in range(s.q.size):
            unit = s.unit_of[j]
            helps = s.min_q[j] < s.q[j] < np.inf and s.g[j] ** 2 > least * s.q[j]
            if (
                limits.required[unit]
                and helps
                and allows(s, limits, NONE, unit, s.g[j], s.q[j])
            ):
                winner = unit
    return winner


@inlined_kernel
def find_move(s, limits, total, missing):  # type: ignore[no-untyped-def]
    """The best exchange of a list; or who joins, where units are missing, or leaves.

    Returns
    -------
    position, unit : int
        Who leaves, and who joins; −1 for nobody.
    """
    least = np.inf if missing < 0 else least_gain(s, total)
    losses, _, position, unit = look(s, limits, least, missing > 0)
    if missing < 0:
        position = cheapest(s, losses)
    elif missing == 0 and unit < 0:
        unit = _released_column(s, limits)
    return position, unit


@inlined_kernel
def make_move(s, limits, position, unit, total, out):  # type: ignore[no-untyped-def]
    """Exchange units, and return what is explained.

    Where what the formula promised was rounding, all is as it was before, and the unit
    may not join: it may promise forever.
    """
    gone = NONE
    if position >= 0:
        gone = s.units[position]
    exchange(s, limits, position, unit)
    if unit < 0:
        repair(s, limits)
        total = explained(s)
    elif depends(s) or not explained(s) > total:
        exchange(s, limits, find_position(s, unit), gone)
        bar(s, unit, True)
    else:
        total = explained(s)
        if gone < 0:  # what was barred may join beside the new unit
            unbar(s, out)
    return total


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
                unit = s.units[p]
                limits.required[unit] = limits.sign[s.starts[unit]] != 0
            repair(s, limits)
    taken = np.int64(0)
    for unit in range(s.fixed.size):
        required = limits is not None and limits.required[unit]
        taken += required or (s.fixed[unit] and s.listed[unit])
    return taken
