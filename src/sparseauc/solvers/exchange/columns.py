"""Gains of single columns: the formulas of ``gain`` on a state."""

import numpy as np

from ...utils.jit import inlined_kernel
from .gain import exchange_terms
from .limits import find_allowed, signs_stay
from .sweeps import NONE, TILE


@inlined_kernel
def join_gains_of_columns(s):  # type: ignore[no-untyped-def]
    """Gain of each column by joining; 0 for those that cannot."""
    gains = np.zeros(s.q.size)
    for j in range(gains.size):
        if s.q[j] > s.min_q[j]:
            gains[j] = s.g[j] * s.g[j] / s.q[j]
    return gains


@inlined_kernel
def losses_of_columns(s):  # type: ignore[no-untyped-def]
    """Loss of doing without each column on the list."""
    losses = np.empty(s.n_units[0])
    for p in range(losses.size):
        losses[p] = s.w[p] * s.w[p] / s.M[p, p]
    return losses


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
        gs = s.g[low:high]
        qs = s.q[low:high]
        allowed = every[:m]
        for p in range(s.n_units[0]):
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
            if not found:
                continue
            if s.limited:
                find_allowed(s.limits, s.units, p, low, allowed)
            for j in range(m):
                numerator, left = exchange_terms(gs[j], qs[j], t[j], shift, inverse)
                if left > s.min_q[low + j]:
                    change = loss - numerator * numerator / left
                    better = change < best and allowed[j]
                    if better and signs_stay(s, p, low + j, numerator, left):
                        best = change
                        best_p = p
                        best_j = low + j
    return best_p, best_j
