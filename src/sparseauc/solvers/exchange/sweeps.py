"""Rank-one updates of a state as columns join and leave."""

import numpy as np

from ...utils.jit import inlined_kernel, kernel
from .limits import count
from .state import find_position

# When less is left of a column that joins or leaves, its update costs so many digits that all is
# computed afresh.
_COSTLY = 1e-4
# Columns handled at a time by the kernels: k rows of T in such slices stay in the cache.
TILE = 512
# Updates after which everything is computed afresh.
_REFACTORISE_AFTER = 100
# No column or position. Numba compiles a kernel anew for each Python integer written in a call.
NONE = np.int64(-1)


@inlined_kernel
def _count(s, column, change):  # type: ignore[no-untyped-def]
    """Note that a column joins, 1, or leaves, −1."""
    s.counts[0] += change
    if s.limited:
        count(s.limits, column, change)


@kernel
def _sweep_in(s, a):  # type: ignore[no-untyped-def]
    """Column ``a`` joins the support, by rank-one updates."""
    k, d = s.counts[0], s.g.size
    M, w, T, row = s.M, s.w, s.T, s.H[a]
    left = s.q[a]
    w_a = -s.g[a] / left
    u = np.empty(k)
    h = np.empty(k)
    for p in range(k):
        u[p] = T[p, a]
        h[p] = row[s.support[p]]
    inverse = 1.0 / left
    residual = np.empty(min(TILE, d))
    for low in range(0, d, TILE):
        high = min(low + TILE, d)
        m = high - low
        r, own = residual[:m], row[low:high]
        for j in range(m):
            r[j] = own[j]
        for p in range(k):
            t = T[p, low:high]
            factor = h[p]
            for j in range(m):
                r[j] -= factor * t[j]
        qs, gs, new = s.q[low:high], s.g[low:high], T[k, low:high]
        for j in range(m):
            qs[j] -= r[j] * r[j] * inverse
            gs[j] += r[j] * w_a
            new[j] = r[j] * inverse
        for p in range(k):
            t = T[p, low:high]
            factor = u[p]
            for j in range(m):
                t[j] -= factor * new[j]
    for p in range(k):
        w[p] -= u[p] * w_a
        for o in range(k):
            M[p, o] += u[p] * u[o] * inverse
        M[p, k] = -u[p] * inverse
        M[k, p] = M[p, k]
    M[k, k] = inverse
    w[k] = w_a
    s.support[k] = a
    # A column of the support is no candidate: infinitely much would be left to explain.
    s.q[a] = np.inf
    s.g[a] = 0.0
    _count(s, a, 1)


@inlined_kernel
def _sweep_out(s, p):  # type: ignore[no-untyped-def]
    """The column at position ``p`` of the support leaves, by rank-one updates."""
    k, d = s.counts[0], s.g.size
    M, w, T = s.M, s.w, s.T
    i = s.support[p]
    inverse = 1.0 / M[p, p]
    w_i = w[p]
    column = np.empty(k)
    for o in range(k):
        column[o] = M[o, p]
    # The last position takes the place that becomes free.
    last = k - 1
    for low in range(0, d, TILE):
        high = min(low + TILE, d)
        m = high - low
        gone, qs, gs = T[p, low:high], s.q[low:high], s.g[low:high]
        for j in range(m):
            qs[j] += gone[j] * gone[j] * inverse
            gs[j] -= gone[j] * w_i * inverse
        for o in range(k):
            if o != p:
                t = T[o, low:high]
                factor = column[o] * inverse
                for j in range(m):
                    t[j] -= factor * gone[j]
        final = T[last, low:high]
        for j in range(m):
            gone[j] = final[j]
    for o in range(k):
        if o != p:
            w[o] -= column[o] * w_i * inverse
            for e in range(k):
                if e != p:
                    M[o, e] -= column[o] * column[e] * inverse
            T[p if o == last else o, i] = -column[o] * inverse
    s.q[i] = inverse
    s.g[i] = -w_i * inverse
    if p != last:
        s.support[p] = s.support[last]
        w[p] = w[last]
        for o in range(k):
            M[p, o] = M[last, o]
        for o in range(k):
            M[o, p] = M[o, last]
    _count(s, i, -1)


@kernel
def refactorise(s):  # type: ignore[no-untyped-def]
    """Compute everything afresh from H: rank-one updates gather rounding.

    The members join an empty support, the one of which most is left first.
    """
    size = s.counts[0]
    members = np.empty(size, np.int64)
    for p in range(size):
        members[p] = s.support[p]
        _count(s, members[p], -1)
    s.counts[1] = 0
    for j in range(s.g.size):
        s.g[j] = s.delta[j]
        s.q[j] = s.whole[j]
    for k in range(size):
        best = k
        for p in range(k + 1, size):
            a, b = members[p], members[best]
            if s.q[a] * s.whole[b] > s.q[b] * s.whole[a]:
                best = p
        members[k], members[best] = members[best], members[k]
        _sweep_in(s, members[k])


@kernel
def exchange(s, position, column):  # type: ignore[no-untyped-def]
    """Remove the column at a position of the support, then add one; −1 for none of either."""
    if position >= 0:
        costly = s.M[position, position] * s.whole[s.support[position]] * _COSTLY > 1
        _sweep_out(s, position)
        s.counts[1] += 1
        if costly:
            refactorise(s)
    if column >= 0:
        costly = s.q[column] < _COSTLY * s.whole[column]
        _sweep_in(s, column)
        s.counts[1] += 1
        if costly or s.counts[1] >= _REFACTORISE_AFTER:
            refactorise(s)


@inlined_kernel
def join(s, column):  # type: ignore[no-untyped-def]
    """Add a column."""
    exchange(s, NONE, column)


@inlined_kernel
def leave(s, position):  # type: ignore[no-untyped-def]
    """Remove the column at a position of the support."""
    exchange(s, position, NONE)


@inlined_kernel
def remove(s, column):  # type: ignore[no-untyped-def]
    """Remove a column."""
    exchange(s, find_position(s, column), NONE)


@inlined_kernel
def move_to(s, target):  # type: ignore[no-untyped-def]
    """Make ``target`` the support, exchanging only what differs."""
    d = s.g.size
    wanted = np.zeros(d, np.bool_)
    for column in target:
        wanted[column] = True
    for j in range(d):
        if s.q[j] == np.inf and not wanted[j]:
            remove(s, j)
    for column in target:
        if s.q[column] != np.inf:
            join(s, column)
