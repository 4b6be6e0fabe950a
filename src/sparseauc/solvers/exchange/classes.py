"""Gains of columns of one list that tells several classes apart.

δ has a row for each pair of classes, and V = −δ·w is the squared distance of the two on the list.
The objective takes 1/(1 + V/2) for a pair, in a weighted mean over pairs, so that a pair counts
less the further it is apart already. A column that joins or takes the place of another changes each
V as in ``gain``.
"""

import numpy as np

from ...utils.jit import inlined_kernel, kernel
from .gain import exchange_terms
from .state import EQUAL
from .sweeps import NONE


@kernel
def pair_gains(g, q, t, w, inverse, now, pairs):  # type: ignore[no-untyped-def]
    """What each of some columns gains when one makes room; when none does, w, t and inverse are 0.

    Parameters
    ----------
    g, q, t : ndarrays of shapes (r, c), (c,) and (c,)
        Half the gradient, what the list leaves of each column, and the row of T of the column that
        makes room.
    w, inverse : ndarray of shape (r,) and float
        Its coefficients, and 1/M_ii.
    now, pairs : ndarrays of shape (r,)
        1 + V/2 without it, and what each pair counts.
    """
    gains = np.zeros(q.size)
    for r in range(now.size):
        shift, factor = w[r] * inverse, pairs[r] / now[r]
        for j in range(q.size):
            numerator, left = exchange_terms(g[r, j], q[j], t[j], shift, inverse)
            more = numerator * numerator / (2.0 * left)
            gains[j] += factor * more / (now[r] + more)
    return gains


@inlined_kernel
def _distances(s):  # type: ignore[no-untyped-def]
    """V of each pair of classes."""
    V = np.zeros(s.pairs.size)
    for r in range(V.size):
        for p in range(s.counts[1]):
            V[r] -= s.delta[r, s.support[p]] * s.w[r, p]
    return V


@inlined_kernel
def _without(s, V, p):  # type: ignore[no-untyped-def]
    """1 + V/2 of each pair without the column at a position, and by how much the loss rises."""
    now, loss = np.empty(V.size), 0.0
    for r in range(V.size):
        now[r] = 1.0 + (V[r] - s.w[r, p] * s.w[r, p] / s.M[p, p]) / 2.0
        loss += s.pairs[r] * (1.0 / now[r] - 1.0 / (1.0 + V[r] / 2.0))
    return now, loss


@inlined_kernel
def join_gains_of_classes(s):  # type: ignore[no-untyped-def]
    """What each column off the list gains by joining; 0 for others."""
    nothing = np.zeros(s.pairs.size)
    now = 1.0 + _distances(s) / 2.0
    gains = pair_gains(s.g, s.q, np.zeros(s.q.size), nothing, 0.0, now, s.pairs)
    for j in range(gains.size):
        if not s.q[j] > s.floor[j]:
            gains[j] = 0.0
    return gains


@inlined_kernel
def losses_of_classes(s):  # type: ignore[no-untyped-def]
    """What doing without each column of the list costs."""
    V, losses = _distances(s), np.empty(s.counts[0])
    for p in range(losses.size):
        losses[p] = _without(s, V, p)[1]
    return losses


@kernel
def best_exchange_of_classes(s, least):  # type: ignore[no-untyped-def]
    """Position and column of the best exchange; −1 if none lowers the loss by ``least``."""
    best, best_p, best_j = least, NONE, NONE
    V = _distances(s)
    for p in range(s.counts[0]):
        if s.fixed[s.units[p]]:
            continue
        inverse = 1.0 / s.M[p, p]
        now, loss = _without(s, V, p)
        gains = pair_gains(s.g, s.q, s.T[p], s.w[:, p].copy(), inverse, now, s.pairs)
        for j in range(gains.size):
            left = s.q[j] + s.T[p, j] * s.T[p, j] * inverse
            gain = gains[j] - loss
            if left > s.floor[j] and gain > best + EQUAL * abs(best):
                best, best_p, best_j = gain, p, j
    return best_p, best_j
