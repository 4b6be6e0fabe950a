"""Rank-one updates of a state as columns, one by one or several together, join and leave."""

import numpy as np

from ...utils.jit import inlined_kernel, inner_kernel
from .limits import count

# When less is left of a column that joins or leaves, its update costs so many digits
# that all is computed afresh.
_COSTLY = 1e-4
# Columns handled at a time by the kernels: k rows of T in such slices stay in the
# cache.
TILE = 512
# Updates after which everything is computed afresh.
_REFACTORISE_AFTER = 100
# No unit or position. Numba compiles a kernel anew for each Python integer written in a
# call.
NONE = np.int64(-1)


@inner_kernel
def _left(s, column):  # type: ignore[no-untyped-def]
    """Remainder of a column beside the support, as an array of one number."""
    unit = s.unit_of[column]
    low = s.starts[unit]
    size = s.starts[unit + 1] - low
    if size == 1:
        return s.q[column : column + 1]
    at = s.block_starts[unit] + (column - low) * (size + 1)
    return s.S[at : at + 1]


@inner_kernel
def _add_to_blocks(s, row, factor):  # type: ignore[no-untyped-def]
    """Add the products of a row of T to the Schur complements of units of several columns."""
    for unit in s.several:
        low = s.starts[unit]
        size = s.starts[unit + 1] - low
        at = s.block_starts[unit]
        for a in range(size):
            for b in range(a + 1):
                s.S[at + a * size + b] += factor * row[low + a] * row[low + b]


@inner_kernel
def _compute_block(s, unit):  # type: ignore[no-untyped-def]
    """Compute the Schur complement of a unit of several columns."""
    low = s.starts[unit]
    at = s.block_starts[unit]
    size = s.starts[unit + 1] - low
    for a in range(size):
        for b in range(a + 1):
            value = s.ridged_diagonal[low + a] if a == b else s.H[low + a, low + b]
            for p in range(s.n_columns[0]):
                value -= s.T[p, low + a] * s.H[s.support[p], low + b]
            s.S[at + a * size + b] = value


@inner_kernel
def _sweep_in(s, a):  # type: ignore[no-untyped-def]
    """Column ``a`` joins the support, by rank-one updates."""
    k = s.n_columns[0]
    d = s.q.size
    M = s.M
    w = s.w
    T = s.T
    row = s.H[a]
    left = _left(s, a)
    inverse = 1.0 / left[0]
    w_a = -s.g[a] * inverse
    u = np.empty(k)
    for p in range(k):
        u[p] = T[p, a]
    for low in range(0, d, TILE):
        high = min(low + TILE, d)
        m = high - low
        own = row[low:high]
        r = T[k, low:high]
        for j in range(m):
            r[j] = own[j]
        for p in range(k):
            t = T[p, low:high]
            factor = row[s.support[p]]
            for j in range(m):
                r[j] -= factor * t[j]
        qs = s.q[low:high]
        gs = s.g[low:high]
        for j in range(m):
            qs[j] -= r[j] * r[j] * inverse
            gs[j] += r[j] * w_a
            r[j] *= inverse
        for p in range(k):
            t = T[p, low:high]
            factor = u[p]
            for j in range(m):
                t[j] -= factor * r[j]
    for p in range(k):
        for o in range(k):
            M[p, o] += u[p] * u[o] * inverse
        M[p, k] = -u[p] * inverse
        M[k, p] = M[p, k]
        w[p] -= u[p] * w_a
    M[k, k] = inverse
    w[k] = w_a
    s.g[a] = 0.0
    _add_to_blocks(s, T[k], -1.0 / inverse)
    # A column of the support is no candidate: infinitely much would be left to explain.
    left[0] = np.inf
    s.support[k] = a
    s.place[a] = k
    s.n_columns[0] += 1


@inlined_kernel
def _sweep_out(s, i):  # type: ignore[no-untyped-def]
    """Column ``i`` leaves the support, by rank-one updates."""
    k = s.n_columns[0]
    d = s.q.size
    M = s.M
    w = s.w
    T = s.T
    p = s.place[i]
    # The last position takes the place that becomes free.
    last = k - 1
    inverse = 1.0 / M[p, p]
    w_i = w[p] * inverse
    _add_to_blocks(s, T[p], inverse)
    column = np.empty(k)
    for o in range(k):
        column[o] = M[o, p]
    for low in range(0, d, TILE):
        high = min(low + TILE, d)
        m = high - low
        gone = T[p, low:high]
        qs = s.q[low:high]
        gs = s.g[low:high]
        for j in range(m):
            qs[j] += gone[j] * gone[j] * inverse
            gs[j] -= gone[j] * w_i
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
                M[o, e] -= column[o] * column[e] * inverse
            T[p if o == last else o, i] = -column[o] * inverse
            w[o] -= column[o] * w_i
    s.g[i] = -w_i
    _left(s, i)[0] = inverse
    moved = s.support[last]
    s.support[p] = moved
    s.place[moved] = p
    s.place[i] = NONE
    w[p] = w[last]
    for o in range(k):
        M[p, o] = M[last, o]
    for o in range(k):
        M[o, p] = M[o, last]
    s.n_columns[0] -= 1


@inlined_kernel
def refactorise(s):  # type: ignore[no-untyped-def]
    """Compute everything afresh from H: rank-one updates gather rounding.

    The members join an empty support, the one of which most is left first.
    """
    size = s.n_columns[0]
    members = s.support[:size].copy()
    s.n_columns[0] = 0
    s.n_updates[0] = 0
    for j in range(s.q.size):
        s.q[j] = s.ridged_diagonal[j]
        s.g[j] = s.delta[j]
    for unit in s.several:
        for column in range(s.starts[unit], s.starts[unit + 1]):
            s.q[column] = np.inf
        _compute_block(s, unit)
    for k in range(size):
        best = k
        for p in range(k + 1, size):
            a = members[p]
            b = members[best]
            if (
                _left(s, a)[0] * s.ridged_diagonal[b]
                > _left(s, b)[0] * s.ridged_diagonal[a]
            ):
                best = p
        column = members[best]
        members[best] = members[k]
        _sweep_in(s, column)


@inner_kernel
def _takes_part(s, column, left):  # type: ignore[no-untyped-def]
    """Tell whether a column and the support are independent of each other.

    Where all units are single columns, whoever adds one looks to that.
    """
    independent = s.several.size == 0 or left > s.min_q[column]
    if independent and s.may_depend and s.several.size > 0:
        for p in range(s.n_columns[0]):
            inverse = s.M[p, p] + s.T[p, column] ** 2 / left
            independent &= (
                inverse * s.tolerance * s.ridged_diagonal[s.support[p]] <= 1.0
            )
    return independent


@inner_kernel
def exchange(s, limits, position, unit):  # type: ignore[no-untyped-def]
    """Remove the unit at a position of the list, then add one; −1 for none of either.

    Where there are units of several columns, those that depend on others take no part.
    """
    first = s.n_units[0]
    costly = False
    if position >= 0:
        gone = s.units[position]
        s.listed[gone] = False
        first -= 1
        s.n_units[0] = first
        s.units[position] = s.units[first]
        if limits is not None:
            count(limits, gone, -1)
        for column in range(s.starts[gone], s.starts[gone + 1]):
            p = s.place[column]
            if p >= 0:
                costly |= s.M[p, p] * s.ridged_diagonal[column] * _COSTLY > 1
                _sweep_out(s, column)
                s.n_updates[0] += 1
        if s.starts[gone + 1] - s.starts[gone] > 1:
            _compute_block(s, gone)
        if s.several.size > 0 and s.may_depend:  # what depended on it joins
            first = np.int64(0)
    if unit >= 0:
        s.listed[unit] = True
        s.units[s.n_units[0]] = unit
        s.n_units[0] += 1
        if limits is not None:
            count(limits, unit, 1)
    for at in range(first, s.n_units[0]):
        new = s.units[at]
        for column in range(s.starts[new], s.starts[new + 1]):
            left = _left(s, column)[0]
            if s.place[column] < 0 and _takes_part(s, column, left):
                costly |= left < _COSTLY * s.ridged_diagonal[column]
                _sweep_in(s, column)
                s.n_updates[0] += 1
    if costly or s.n_updates[0] >= _REFACTORISE_AFTER:
        refactorise(s)


@inlined_kernel
def move_to(s, limits, target):  # type: ignore[no-untyped-def]
    """Make ``target`` the list, exchanging only what differs."""
    wanted = np.zeros(s.listed.size, np.bool_)
    for unit in target:
        wanted[unit] = True
    for p in range(s.n_units[0] - 1, -1, -1):
        if not wanted[s.units[p]]:
            exchange(s, limits, p, NONE)
    for unit in target:
        if not s.listed[unit]:
            exchange(s, limits, NONE, unit)
