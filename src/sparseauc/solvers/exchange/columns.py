"""The best single moves of a list of columns."""

import numpy as np

from ...utils.jit import inlined_kernel
from .gain import exchange_terms
from .limits import find_allowed, signs_stay
from .sweeps import NONE, TILE


@inlined_kernel
def best_join_of_columns(s):  # type: ignore[no-untyped-def]
    """Column that lowers the objective most by joining, and by how much; −1 if none can."""
    best = 0.0
    winner = NONE
    allowed = np.ones(s.q.size, np.bool_)
    if s.limited:
        find_allowed(s.limits, s.units, NONE, 0, allowed)
    g = s.g
    for j in range(g.size):
        # Compared without dividing; the first of equal gains wins.
        better = s.q[j] > s.floor[j] and g[j] * g[j] > best * s.q[j]
        if better and allowed[j] and signs_stay(s, NONE, j, g[j], s.q[j]):
            best = g[j] * g[j] / s.q[j]
            winner = j
    return winner, best


@inlined_kernel
def best_exchange_of_columns(s, least):  # type: ignore[no-untyped-def]
    """Position and column of the best exchange; −1 if none lowers the objective by ``least``."""
    d = s.q.size
    best = -least
    best_p = NONE
    best_j = NONE
    every = np.ones(min(TILE, d), np.bool_)
    for low in range(0, d, TILE):
        high = min(low + TILE, d)
        m = high - low
        gs, qs, allowed = s.g[low:high], s.q[low:high], every[:m]
        for p in range(s.counts[0]):
            if s.fixed[s.units[p]]:
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
                    find_allowed(s.limits, s.units, p, low, allowed)
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
