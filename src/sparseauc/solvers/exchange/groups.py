"""Gains of units of several columns, which join and leave together, such as those of one category.

On a support A, a unit G that joins lowers the objective by g_Gᵀ S⁻¹ g_G, where S is
what A leaves of the block of H on G with the ridge. When a unit O makes room for it,
let M_OO = CCᵀ, U = C⁻¹T_OG and v = C⁻¹w_O. The objective rises by v·v, and G joins with
S + UᵀU in place of S and g_G − Uᵀv in place of g_G. With one column each this is the
formula of ``gain``.

Turned round: let S = LLᵀ, z = L⁻¹g_G and Y = L⁻¹Uᵀ with U and v of the whole list.
Where G has joined, to do without O then costs eᵀ (I + YᵀY)⁻¹ e with e = v + Yᵀz, of
which the columns of O are taken. That is e·e / (1 + ‖Y‖²) at least, and equal to it for
one column.
"""

from typing import NamedTuple

import numpy as np

from ...utils.jit import inlined_kernel, inner_kernel, kernel
from ...utils.types import Array, Indices
from .limits import allows_several
from .state import EQUAL
from .sweeps import NONE


class Leavers(NamedTuple):
    """Units of a list that may leave it, in terms of rows of numbers for all columns.

    Attributes
    ----------
    rows : ndarray of shape (m, d)
        U; for single columns, T.
    shifts, inverses : ndarrays of shape (m,)
        v and 1; for single columns, w_i/M_ii and 1/M_ii.
    first, end : int64 ndarrays of shape (n_units,)
        Where the rows of each unit begin and end.
    losses : ndarray of shape (n_units,)
        What doing without each unit costs.
    """

    rows: Array
    shifts: Array
    inverses: Array
    first: Indices
    end: Indices
    losses: Array


@inlined_kernel
def nobody(s):  # type: ignore[no-untyped-def]
    """A unit without rows: doing without it costs nothing."""
    nothing = np.zeros(0)
    zero = np.zeros(1, np.int64)
    return Leavers(s.T[:0], nothing, nothing, zero, zero, np.zeros(1))


@inlined_kernel
def leavers_of(s):  # type: ignore[no-untyped-def]
    """The units of a list."""
    units = s.units[: s.n_units[0]]
    size = s.n_columns[0]
    if s.several.size > 0:
        return split_list(s.support[:size], units, s.starts, s.w, s.M, s.T)
    shifts = np.zeros(size)
    inverses = np.zeros(size)
    first = np.zeros(size, np.int64)
    end = np.zeros(size, np.int64)
    losses = np.zeros(size)
    for p in range(size):
        at = s.place[units[p]]
        first[p] = at
        end[p] = at + 1
        inverses[at] = 1.0 / s.M[at, at]
        shifts[at] = s.w[at] * inverses[at]
        losses[p] = s.w[at] * shifts[at]
    return Leavers(s.T, shifts, inverses, first, end, losses)


@kernel
def split_list(support, units, starts, w, M, T):  # type: ignore[no-untyped-def]
    """Split a list into its units, which are groups of columns, one after the other."""
    d = T.shape[1]
    size = support.size
    U = np.empty((size, d))
    v = np.zeros(size)
    root = np.empty((size, size))
    member = np.zeros(size, np.int64)
    firsts = np.zeros(units.size, np.int64)
    ends = np.zeros(units.size, np.int64)
    losses = np.zeros(units.size)
    n = 0
    for at in range(units.size):
        first = n
        for p in range(size):
            if starts[units[at]] <= support[p] < starts[units[at] + 1]:
                member[n] = p
                n += 1
        for i in range(first, n):
            step = w[member[i]]
            row = U[i]
            own = T[member[i]]
            for c in range(d):
                row[c] = own[c]
            for j in range(first, i):
                factor = M[member[i], member[j]]
                for c in range(first, j):
                    factor -= root[i, c] * root[j, c]
                factor /= root[j, j]
                root[i, j] = factor
                step -= factor * v[j]
                earlier = U[j]
                for c in range(d):
                    row[c] -= factor * earlier[c]
            square = M[member[i], member[i]]
            for c in range(first, i):
                square -= root[i, c] * root[i, c]
            root[i, i] = np.sqrt(square)
            inverse = 1.0 / root[i, i]
            for c in range(d):
                row[c] *= inverse
            v[i] = step * inverse
            losses[at] += v[i] * v[i]
        firsts[at] = first
        ends[at] = n
    return Leavers(U, v, np.ones(size), firsts, ends, losses)


@inner_kernel
def group_gain(S, g, min_q, U, v, work, slopes):  # type: ignore[no-untyped-def]
    """Gain of a group when another makes room for it; when none does, U has no rows.

    Columns of the group that those before them explain take no part.

    Parameters
    ----------
    S : ndarray of shape (m², )
        Schur complement of the group, up to its diagonal.
    g, min_q : ndarrays of shape (m,)
        Half the gradient, and what must be left of a column for it to take part.
    U, v : ndarrays of shape (n, m) and (n,)
        Of the group that makes room, as of ``split_list``.
    work, slopes : ndarrays of shapes (m, m) and (m,)
        Overwritten.
    """
    gain = 0.0
    for a in range(g.size):
        slopes[a] = g[a]
        for b in range(a + 1):
            work[a, b] = S[a * g.size + b]
        for i in range(v.size):
            slopes[a] -= U[i, a] * v[i]
            for b in range(a + 1):
                work[a, b] += U[i, a] * U[i, b]
        for b in range(a):
            for c in range(b):
                work[a, b] -= work[a, c] * work[b, c]
            work[a, b] = work[a, b] / work[b, b] if work[b, b] > 0.0 else 0.0
            work[a, a] -= work[a, b] * work[a, b]
            slopes[a] -= work[a, b] * slopes[b]
        if work[a, a] > min_q[a]:
            work[a, a] = np.sqrt(work[a, a])
            slopes[a] /= work[a, a]
            gain += slopes[a] * slopes[a]
        else:
            work[a, a] = 0.0
            slopes[a] = 0.0
    return gain


@inner_kernel
def _gain(s, unit, U, v, work, slopes):  # type: ignore[no-untyped-def]
    """Gain of a unit off the list, as of ``group_gain``, given U with all columns."""
    low = s.starts[unit]
    high = s.starts[unit + 1]
    S = s.S[s.block_starts[unit] : s.block_starts[unit + 1]]
    return group_gain(
        S, s.g[low:high], s.min_q[low:high], U[:, low:high], v, work, slopes
    )


@inlined_kernel
def _solve_for_list(U, v, low, L, z, Y, e, squares):  # type: ignore[no-untyped-def]
    """Compute Y = L⁻¹Uᵀ, e = v + Yᵀz and the squared norms of the columns of Y.

    ``low`` is the first column of the group that joins.
    """
    for i in range(v.size):
        e[i] = v[i]
        squares[i] = 0.0
    for a in range(Y.shape[0]):
        row = Y[a]
        inverse = 1.0 / L[a, a]
        slope = z[a]
        for i in range(v.size):
            row[i] = U[i, low + a]
        for b in range(a):
            factor = L[a, b]
            earlier = Y[b]
            for i in range(v.size):
                row[i] -= factor * earlier[i]
        for i in range(v.size):
            row[i] *= inverse
            e[i] += row[i] * slope
            squares[i] += row[i] * row[i]


@inlined_kernel
def best_of_several(s, limits, joins, leavers, found):  # type: ignore[no-untyped-def]
    """Exchange for a unit of several columns, if better than what was found.

    No exchange gains more than the unit that joins would beside all others.

    Parameters
    ----------
    s : Reference
    limits : ExchangeLimits or None
    joins : bool
        Whether nobody leaves.
    leavers : Leavers
    found : tuple of a float and two ints
        Gain, position and unit of the best exchange.
    """
    best, position, winner = found
    U = leavers.rows
    v = leavers.shifts
    largest = s.most_columns
    L = np.empty((largest, largest))
    z = np.zeros(largest)
    slopes = np.zeros(largest)
    room = np.empty((largest, v.size))
    e = np.zeros(v.size)
    squares = np.zeros(v.size)
    for unit in s.several:
        if s.listed[unit]:
            continue
        low = s.starts[unit]
        joining = _gain(s, unit, U[:0], v[:0], L, z)
        if joining <= best:
            continue
        every = True
        Y = room[: s.starts[unit + 1] - low]
        for a in range(Y.shape[0]):
            every &= L[a, a] > 0.0
        if every:
            _solve_for_list(U, v, low, L, z, Y, e, squares)
        for p in range(leavers.losses.size):
            gone = NONE if joins else s.units[p]
            if gone >= 0 and s.fixed[gone]:
                continue
            first = leavers.first[p]
            end = leavers.end[p]
            change = 0.0
            norm = 1.0
            for i in range(first, end):
                change += e[i] * e[i]
                norm += squares[i]
            # Columns that take no part may do so without the other unit.
            gain = joining - change / norm if every else np.inf
            if gain > best and (end > first + 1 or not every):
                gain = _gain(s, unit, U[first:end], v[first:end], L, slopes)
                gain -= leavers.losses[p]
            if gain > best + EQUAL * abs(best) and allows_several(
                s, limits, gone, unit, L, z
            ):
                best = gain
                position = np.int64(p)
                winner = unit
    return best, position, winner


@kernel
def gains_outside(  # type: ignore[no-untyped-def]
    T, rows, g, blocks, block_starts, starts, asked, min_q, leavers, allowed
):
    """Gain of the best exchange of units of a list with each of some groups.

    Parameters
    ----------
    T, rows : ndarrays of shape (m, d)
        M H and H of the support with all columns, group by group.
    g, min_q : ndarrays of shape (d,)
        Half the gradient, and what must be left of a column for it to take part.
    blocks, block_starts, starts : ndarrays
        H with the ridge of each group, one after the other; where they and the columns
        begin.
    asked : int64 ndarray of shape (n,)
        The groups.
    leavers : Leavers
        A unit without rows where groups may join without another leaving.
    allowed : bool ndarray of shape (n_leavers, n)
        Which exchanges are feasible.
    """
    largest = 0
    for group in asked:
        largest = max(largest, starts[group + 1] - starts[group])
    S = np.zeros(largest * largest)
    work = np.empty((largest, largest))
    slopes = np.zeros(largest)
    gains = np.full(asked.size, -np.inf)
    for number in range(asked.size):
        low = starts[asked[number]]
        high = starts[asked[number] + 1]
        at = block_starts[asked[number]]
        for a in range(high - low):
            for b in range(a + 1):
                i = a * (high - low) + b
                S[i] = blocks[at + i]
                for p in range(T.shape[0]):
                    S[i] -= T[p, low + a] * rows[p, low + b]
        for p in range(leavers.losses.size):
            if allowed[p, number]:
                first = leavers.first[p]
                end = leavers.end[p]
                U = leavers.rows[first:end, low:high]
                v = leavers.shifts[first:end]
                gain = group_gain(S, g[low:high], min_q[low:high], U, v, work, slopes)
                gains[number] = max(gains[number], gain - leavers.losses[p])
    return gains
