"""Rank-one updates of a state as columns, one by one or in groups, join and leave."""

import numpy as np

from ...utils.jit import inlined_kernel, kernel
from .limits import count
from .state import depends, find_position

# When less is left of a column that joins or leaves, its update costs so many digits that all is
# computed afresh.
_COSTLY = 1e-4
# Columns handled at a time by the kernels: k rows of T in such slices stay in the cache.
TILE = 512
# Updates after which everything is computed afresh.
_REFACTORISE_AFTER = 100
# No unit or position. Numba compiles a kernel anew for each Python integer written in a call.
NONE = np.int64(-1)


@inlined_kernel
def _add_to_groups(s, row, factor):  # type: ignore[no-untyped-def]
    """Add the products of a row of T to the Schur complement of each group."""
    for group in range(s.starts.size - 1):
        low = s.starts[group]
        size = s.starts[group + 1] - low
        at = s.block_starts[group]
        for a in range(1, size):
            for b in range(a):
                s.S[at + a * size + b] += factor * row[low + a] * row[low + b]


@kernel
def compute_group(s, group):  # type: ignore[no-untyped-def]
    """Compute the Schur complement of a group."""
    low = s.starts[group]
    at = s.block_starts[group]
    size = s.starts[group + 1] - low
    for a in range(1, size):
        for b in range(a):
            value = s.H[low + a, low + b]
            for p in range(s.n_columns[0]):
                value -= s.T[p, low + a] * s.H[s.support[p], low + b]
            s.S[at + a * size + b] = value


@kernel
def _sweep_in(s, a):  # type: ignore[no-untyped-def]
    """Column ``a`` joins the support, by rank-one updates."""
    k = s.n_columns[0]
    d = s.q.size
    M = s.M
    w = s.w
    T = s.T
    row = s.H[a]
    left = s.q[a]
    u = np.empty(k)
    h = np.empty(k)
    for p in range(k):
        u[p] = T[p, a]
        h[p] = row[s.support[p]]
    w[k] = -s.g[a] / left
    inverse = 1.0 / left
    residual = np.empty(min(TILE, d))
    for low in range(0, d, TILE):
        high = min(low + TILE, d)
        m = high - low
        r = residual[:m]
        own = row[low:high]
        for j in range(m):
            r[j] = own[j]
        for p in range(k):
            t = T[p, low:high]
            factor = h[p]
            for j in range(m):
                r[j] -= factor * t[j]
        qs = s.q[low:high]
        new = T[k, low:high]
        for j in range(m):
            qs[j] -= r[j] * r[j] * inverse
            new[j] = r[j] * inverse
        gs = s.g[low:high]
        w_a = w[k]
        for j in range(m):
            gs[j] += r[j] * w_a
        for p in range(k):
            t = T[p, low:high]
            factor = u[p]
            for j in range(m):
                t[j] -= factor * new[j]
    for p in range(k):
        for o in range(k):
            M[p, o] += u[p] * u[o] * inverse
        M[p, k] = -u[p] * inverse
        M[k, p] = M[p, k]
    M[k, k] = inverse
    for p in range(k):
        w[p] -= u[p] * w[k]
    s.g[a] = 0.0
    _add_to_groups(s, T[k], -left)
    s.support[k] = a
    # A column of the support is no candidate: infinitely much would be left to explain.
    s.q[a] = np.inf
    s.n_columns[0] += 1


@inlined_kernel
def _move_position(s, last, p):  # type: ignore[no-untyped-def]
    """Move the last column of the support to another position of it, M with it."""
    s.support[p] = s.support[last]
    for o in range(last + 1):
        s.M[p, o] = s.M[last, o]
    for o in range(last + 1):
        s.M[o, p] = s.M[o, last]


@inlined_kernel
def _sweep_out(s, p):  # type: ignore[no-untyped-def]
    """The column at position ``p`` of the support leaves, by rank-one updates."""
    k = s.n_columns[0]
    d = s.q.size
    M = s.M
    w = s.w
    T = s.T
    i = s.support[p]
    inverse = 1.0 / M[p, p]
    column = np.empty(k)
    for o in range(k):
        column[o] = M[o, p]
    _add_to_groups(s, T[p], inverse)
    # The last position takes the place that becomes free.
    last = k - 1
    for low in range(0, d, TILE):
        high = min(low + TILE, d)
        m = high - low
        gone = T[p, low:high]
        qs = s.q[low:high]
        for j in range(m):
            qs[j] += gone[j] * gone[j] * inverse
        gs = s.g[low:high]
        w_i = w[p]
        for j in range(m):
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
            for e in range(k):
                if e != p:
                    M[o, e] -= column[o] * column[e] * inverse
            T[p if o == last else o, i] = -column[o] * inverse
    s.q[i] = inverse
    w_i = w[p]
    for o in range(k):
        if o != p:
            w[o] -= column[o] * w_i * inverse
    s.g[i] = -w_i * inverse
    w[p] = w[last]
    if p != last:
        _move_position(s, last, p)
    s.n_columns[0] -= 1


@kernel
def refactorise(s):  # type: ignore[no-untyped-def]
    """Compute everything afresh from H: rank-one updates gather rounding.

    The members join an empty support, the one of which most is left first.
    """
    size = s.n_columns[0]
    members = s.support[:size].copy()
    s.n_columns[0] = 0
    s.n_updates[0] = 0
    for group in range(s.starts.size - 1):
        compute_group(s, group)
    for j in range(s.q.size):
        s.q[j] = s.ridged_diagonal[j]
        s.g[j] = s.delta[j]
    for k in range(size):
        best = k
        for p in range(k + 1, size):
            a = members[p]
            b = members[best]
            if s.q[a] * s.ridged_diagonal[b] > s.q[b] * s.ridged_diagonal[a]:
                best = p
        members[k], members[best] = members[best], members[k]
        _sweep_in(s, members[k])


@kernel
def _take_in(s, column):  # type: ignore[no-untyped-def]
    """Add a column to the support."""
    costly = s.q[column] < _COSTLY * s.ridged_diagonal[column]
    _sweep_in(s, column)
    s.n_updates[0] += 1
    if costly or s.n_updates[0] >= _REFACTORISE_AFTER:
        refactorise(s)


@kernel
def _take_out(s, position):  # type: ignore[no-untyped-def]
    """Remove the column at a position of the support."""
    costly = s.M[position, position] * s.ridged_diagonal[s.support[position]] * _COSTLY > 1
    _sweep_out(s, position)
    s.n_updates[0] += 1
    if costly:
        refactorise(s)


@inlined_kernel
def _take_in_group(s, group):  # type: ignore[no-untyped-def]
    """Add the columns of a group to the support, but for those that depend on others."""
    for column in range(s.starts[group], s.starts[group + 1]):
        if s.min_q[column] < s.q[column] < np.inf:
            _take_in(s, column)
            if depends(s):
                _take_out(s, find_position(s.support, s.n_columns[0], column))


@inlined_kernel
def _take_out_group(s, group):  # type: ignore[no-untyped-def]
    """Remove the columns of a group that is off the list.

    What depended on them joins, if it is of a group on the list.
    """
    for column in range(s.starts[group], s.starts[group + 1]):
        position = find_position(s.support, s.n_columns[0], column)
        if position >= 0:
            _take_out(s, position)
    compute_group(s, group)
    if s.may_depend:
        for p in range(s.n_units[0]):
            _take_in_group(s, s.units[p])


@kernel
def exchange(s, position, unit):  # type: ignore[no-untyped-def]
    """Remove the unit at a position of the list, then add one; −1 for none of either."""
    if position >= 0:
        gone = s.units[position]
        s.listed[gone] = False
        s.n_units[0] -= 1
        if s.limited:
            count(s.limits, gone, -1)
        if s.starts.size > 0:
            s.units[position] = s.units[s.n_units[0]]
            _take_out_group(s, gone)
        else:
            _take_out(s, position)
    if unit >= 0:
        s.listed[unit] = True
        if s.limited:
            count(s.limits, unit, 1)
        if s.starts.size > 0:
            s.units[s.n_units[0]] = unit
            _take_in_group(s, unit)
        else:
            _take_in(s, unit)
        s.n_units[0] += 1


@inlined_kernel
def join(s, unit):  # type: ignore[no-untyped-def]
    """Add a unit."""
    exchange(s, NONE, unit)


@inlined_kernel
def leave(s, position):  # type: ignore[no-untyped-def]
    """Remove the unit at a position of the list."""
    exchange(s, position, NONE)


@inlined_kernel
def remove(s, unit):  # type: ignore[no-untyped-def]
    """Remove a unit."""
    exchange(s, find_position(s.units, s.n_units[0], unit), NONE)


@inlined_kernel
def move_to(s, target):  # type: ignore[no-untyped-def]
    """Make ``target`` the list, exchanging only what differs."""
    n_units = s.listed.size
    wanted = np.zeros(n_units, np.bool_)
    for unit in target:
        wanted[unit] = True
    for unit in range(n_units):
        if s.listed[unit] and not wanted[unit]:
            remove(s, unit)
    for unit in target:
        if not s.listed[unit]:
            join(s, unit)
