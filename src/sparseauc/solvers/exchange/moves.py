"""The best single moves from a support, and exchanges until none helps."""

import numpy as np

from ...utils.jit import inlined_kernel, kernel
from .gain import exchange_terms
from .limits import STUCK, find_allowed, must_leave, signs_stay
from .state import depends, explained, find_position, least_gain, places
from .sweeps import NONE, TILE, exchange, join, leave, remove


@inlined_kernel
def best_join(s):  # type: ignore[no-untyped-def]
    """Column that lowers the objective most by joining; −1 if none can."""
    best = 0.0
    winner = NONE
    allowed = np.ones(s.g.size, np.bool_)
    if s.limited:
        find_allowed(s.limits, s.support, NONE, 0, allowed)
    for j in range(s.g.size):
        # Compared without dividing; the first of equal gains wins.
        better = s.q[j] > s.floor[j] and s.g[j] * s.g[j] > best * s.q[j]
        if better and allowed[j] and signs_stay(s, NONE, j, s.g[j], s.q[j]):
            best = s.g[j] * s.g[j] / s.q[j]
            winner = j
    return winner


@inlined_kernel
def best_leave(s):  # type: ignore[no-untyped-def]
    """Position of the column that costs least to do without; −1 if none may leave."""
    best = np.inf
    winner = NONE
    for p in range(s.counts[0]):
        cost = s.w[p] * s.w[p] / s.M[p, p]
        column = s.support[p]
        if not s.fixed[column] and (cost < best or (cost == best and column < s.support[winner])):
            best = cost
            winner = p
    return winner


@inlined_kernel
def best_exchange(s, least):  # type: ignore[no-untyped-def]
    """Position and column of the best exchange; −1 if none lowers the objective by ``least``."""
    d = s.g.size
    best = -least
    best_p = NONE
    best_j = NONE
    every = np.ones(min(TILE, d), np.bool_)
    for low in range(0, d, TILE):
        high = min(low + TILE, d)
        m = high - low
        gs, qs, allowed = s.g[low:high], s.q[low:high], every[:m]
        for p in range(s.counts[0]):
            if s.fixed[s.support[p]]:
                continue
            t = s.T[p, low:high]
            inverse = 1.0 / s.M[p, p]
            shift = s.w[p] * inverse
            loss = s.w[p] * shift
            # The gain exceeds the best one, compared without dividing.
            bar = loss - best
            found = False
            for j in range(m):
                numerator, left = exchange_terms(gs[j], qs[j], t[j], shift, inverse)
                found |= numerator * numerator > bar * left
            if found:
                if s.limited:
                    find_allowed(s.limits, s.support, p, low, allowed)
                for j in range(m):
                    numerator, left = exchange_terms(gs[j], qs[j], t[j], shift, inverse)
                    if left > s.floor[low + j]:
                        change = loss - numerator * numerator / left
                        if (
                            change < best
                            and allowed[j]
                            and signs_stay(s, p, low + j, numerator, left)
                        ):
                            best = change
                            best_p = p
                            best_j = low + j
    return best_p, best_j


@kernel
def repair(s, kept, top):  # type: ignore[no-untyped-def]
    """Remove columns until the list is feasible; False where that cannot be."""
    position = must_leave(s.limits, s, kept, top)
    while position >= 0:
        leave(s, position)
        position = must_leave(s.limits, s, kept, top)
    return position != STUCK


@inlined_kernel
def _required_that_helps(s):  # type: ignore[no-untyped-def]
    """A required column at 0 that its sign would now let help; −1 if there is none."""
    winner = NONE
    if s.limits.absent[0] > 0:
        least = least_gain(explained(s), s.tolerance, s.min_gain)
        for j in range(s.g.size):
            helps = s.floor[j] < s.q[j] and s.g[j] ** 2 > least * s.q[j]
            if s.limits.required[j] and helps and signs_stay(s, NONE, j, s.g[j], s.q[j]):
                winner = j
    return winner


@kernel
def settle(s):  # type: ignore[no-untyped-def]
    """Exchange columns until no single exchange lowers the objective; what is then explained."""
    before = explained(s)
    floor = s.floor.copy()
    barred = False
    while True:
        position, column = best_exchange(s, least_gain(before, s.tolerance, s.min_gain))
        if position < 0:
            free = _required_that_helps(s)
            if free < 0:
                break
            join(s, free)
            before = explained(s)
            continue
        left = s.support[position]
        exchange(s, position, column)
        after = explained(s)
        if depends(s) or not after > before:
            # What the formula promised was rounding. It may promise forever.
            exchange(s, find_position(s, column), left)
            s.floor[column] = np.inf
            barred = True
        else:
            before = after
    if barred:
        for j in range(floor.size):
            s.floor[j] = floor[j]
    return before


@inlined_kernel
def _grow(s):  # type: ignore[no-untyped-def]
    """Add the column that helps most; False when none is left that adds anything."""
    least = least_gain(explained(s), s.tolerance, s.min_gain)
    floor = s.floor.copy()
    grown = False
    barred = False
    while not grown:
        column = best_join(s)
        if column < 0 or s.g[column] ** 2 <= least * s.q[column]:
            break
        join(s, column)
        grown = not depends(s)
        if not grown:
            # Not again until another column has joined.
            remove(s, column)
            s.floor[column] = np.inf
            barred = True
    if barred:
        for j in range(floor.size):
            s.floor[j] = floor[j]
    return grown


@inlined_kernel
def resize(s, size):  # type: ignore[no-untyped-def]
    """Add or remove one column after the other, as far as can be, until the list has a size."""
    while places(s) < size:
        if not _grow(s):
            break
    while places(s) > size:
        position = best_leave(s)
        if position < 0:
            break
        leave(s, position)
        if s.limited:
            repair(s, NONE, s.support.size)


@kernel
def take_in_fixed(s):  # type: ignore[no-untyped-def]
    """Add the fixed columns to an empty support, but for those that depend on earlier ones.

    Returns
    -------
    int
        The places that they take.
    """
    if s.counts[0] == 0:
        for column in range(s.g.size):
            if s.fixed[column] and s.q[column] > s.floor[column]:
                join(s, column)
                if depends(s):
                    remove(s, column)
        if s.limited and s.limits.signed:
            for p in range(s.counts[0]):
                column = s.support[p]
                s.limits.required[column] = s.limits.sign[column] != 0
            repair(s, NONE, s.support.size)
    taken = np.int64(0)
    for column in range(s.g.size):
        required = s.limited and s.limits.required[column]
        taken += required or (s.fixed[column] and s.q[column] == np.inf)
    return taken
