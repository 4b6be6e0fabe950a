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

import numpy as np

from ...utils.jit import inlined_kernel, inner_kernel, kernel
from .limits import allows
from .state import EQUAL


@kernel
def split_list(support, size, units, n_units, starts, w, M, T):  # type: ignore[no-untyped-def]
    """U and v of each group on a list, with all columns, one group after the other.

    Returns
    -------
    U, v : ndarrays of shape (size, d) and (size,)
    ends : int64 ndarray of shape (n_units,)
        Where the rows of each group end.
    losses : ndarray of shape (n_units,)
        What doing without each group costs.
    """
    d = T.shape[1]
    U = np.empty((size, d))
    v = np.empty(size)
    root = np.empty((size, size))
    member = np.empty(size, np.int64)
    ends = np.empty(n_units, np.int64)
    losses = np.zeros(n_units)
    n = 0
    for at in range(n_units):
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
        ends[at] = n
    return U, v, ends, losses


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


@inner_kernel
def _most_columns(s):  # type: ignore[no-untyped-def]
    """Columns of the largest unit."""
    size = 1
    for unit in s.several:
        size = max(size, s.starts[unit + 1] - s.starts[unit])
    return size


@inner_kernel
def join_gains(s):  # type: ignore[no-untyped-def]
    """Gain of each unit by joining, whatever it costs; 0 for those that cannot."""
    gains = np.zeros(s.listed.size)
    for j in range(s.q.size):
        if s.q[j] > s.min_q[j]:
            gains[s.unit_of[j]] = s.g[j] * s.g[j] / s.q[j]
    size = _most_columns(s)
    work = np.empty((size, size))
    slopes = np.empty(size)
    U = np.empty((0, s.q.size))
    for unit in s.several:
        if not s.listed[unit]:
            gains[unit] = _gain(s, unit, U, slopes[:0], work, slopes)
    return gains


@inlined_kernel
def _loss_beside(Y, e, first, last, B):  # type: ignore[no-untyped-def]
    """Compute eᵀ (I + YᵀY)⁻¹ e of a group, whose columns are those from ``first`` to ``last``."""
    loss = 0.0
    for i in range(first, last):
        value = e[i]
        for j in range(first, i + 1):
            B[i, j] = 1.0 if i == j else 0.0
            for a in range(Y.shape[0]):
                B[i, j] += Y[a, i] * Y[a, j]
            for c in range(first, j):
                B[i, j] -= B[i, c] * B[j, c]
            if j < i:
                B[i, j] /= B[j, j]
                value -= B[i, j] * e[j]
        B[i, i] = np.sqrt(B[i, i])
        e[i] = value / B[i, i]
        loss += e[i] * e[i]
    return loss


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
def best_joining_several(s, limits, split, found):  # type: ignore[no-untyped-def]
    """Exchange of any unit for one of several columns, if better than what was found.

    No exchange gains more than the unit that joins would beside all others.

    Parameters
    ----------
    s : Reference
    limits : ExchangeLimits or None
    split : tuple
        As of ``split_list``.
    found : tuple of a float and two ints
        Gain, position and unit of the best exchange.
    """
    U, v, ends, losses = split
    best, best_p, best_unit = found
    largest = _most_columns(s)
    L = np.empty((largest, largest))
    z = np.empty(largest)
    slopes = np.empty(largest)
    room = np.empty((largest, v.size))
    B = np.empty((v.size, v.size))
    e = np.empty(v.size)
    squares = np.empty(v.size)
    for unit in s.several:
        if s.listed[unit]:
            continue
        low = s.starts[unit]
        high = s.starts[unit + 1]
        joining = _gain(s, unit, U[:0], v[:0], L, z)
        if joining <= best:
            continue
        every = True
        for a in range(high - low):
            every &= L[a, a] > 0.0
        Y = room[: high - low]
        _solve_for_list(U, v, low, L, z, Y, e, squares)
        for p in range(s.n_units[0]):
            gone = s.units[p]
            first = ends[p - 1] if p > 0 else 0
            last = ends[p]
            gain = -np.inf
            if s.fixed[gone]:
                continue
            if every:
                change = 0.0
                norm = 1.0
                for i in range(first, last):
                    change += e[i] * e[i]
                    norm += squares[i]
                gain = joining - change / norm
                if last > first + 1 and gain > best:
                    gain = joining - _loss_beside(Y, e, first, last, B)
            else:  # columns that take no part may do so without the other unit
                gain = (
                    _gain(s, unit, U[first:last], v[first:last], L, slopes) - losses[p]
                )
            if gain > best + EQUAL * abs(best) and allows(
                s, limits, gone, unit, gain, gain
            ):
                best = gain
                best_p = np.int64(p)
                best_unit = unit
    return best, best_p, best_unit


@inlined_kernel
def best_leaving_several(s, limits, split, found):  # type: ignore[no-untyped-def]
    """Exchange of a unit of several columns for a single one, if better than what was found.

    Or of a single one that takes no part. Parameters are those of
    ``best_joining_several``.
    """
    U, v, ends, losses = split
    best, best_p, best_unit = found
    numerator = np.empty(s.q.size)
    left = np.empty(s.q.size)
    for p in range(s.n_units[0]):
        first = ends[p - 1] if p > 0 else 0
        last = ends[p]
        gone = s.units[p]
        alone = s.starts[gone + 1] - s.starts[gone] == 1
        if s.fixed[gone] or (alone and last > first):
            continue
        for j in range(left.size):
            numerator[j] = s.g[j]
            left[j] = s.q[j]
        for i in range(first, last):
            row = U[i]
            for j in range(left.size):
                numerator[j] -= row[j] * v[i]
                left[j] += row[j] * row[j]
        for j in range(left.size):
            if s.min_q[j] < left[j] < np.inf:
                unit = s.unit_of[j]
                gain = numerator[j] * numerator[j] / left[j] - losses[p]
                if gain > best + EQUAL * abs(best) and allows(
                    s, limits, gone, unit, numerator[j], left[j]
                ):
                    best = gain
                    best_p = np.int64(p)
                    best_unit = unit
    return best, best_p, best_unit


@kernel
def gains_outside(  # type: ignore[no-untyped-def]
    T,
    rows,
    g,
    blocks,
    block_starts,
    starts,
    asked,
    min_q,
    U,
    v,
    ends,
    losses,
    allowed,
    joins,
):
    """Gain of the best exchange of a list with each of some groups, or of its joining.

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
    U, v, ends, losses : ndarrays
        As of ``split_list``; infinite losses where a group may not leave.
    allowed : bool ndarray of shape (n_units + 1, n)
        Which exchanges are feasible, and in the last row which groups may join.
    joins : bool
        Whether groups may join without another leaving.
    """
    n = ends.size
    largest = 0
    for group in asked:
        largest = max(largest, starts[group + 1] - starts[group])
    S = np.empty(largest * largest)
    work = np.empty((largest, largest))
    slopes = np.empty(largest)
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
        for p in range(n + joins):
            first = ends[p - 1] if p > 0 else 0
            last = ends[p] if p < n else first
            loss = losses[p] if p < n else 0.0
            if allowed[p, number] and loss < np.inf:
                gone = U[first:last, low:high]
                gain = group_gain(
                    S, g[low:high], min_q[low:high], gone, v[first:last], work, slopes
                )
                gains[number] = max(gains[number], gain - loss)
    return gains
