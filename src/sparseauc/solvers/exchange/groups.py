"""Gains of groups of columns that join and leave together, such as the columns of one category.

On a support A, a group G that joins lowers the objective by g_Gᵀ S⁻¹ g_G, where S is what A leaves
of the block of H on G with the ridge. When a group O makes room for it, let M_OO = CCᵀ, U = C⁻¹T_OG
and v = C⁻¹w_O. The objective rises by v·v, and G joins with S + UᵀU in place of S and g_G − Uᵀv in
place of g_G. With one column each this is the formula of ``gain``.

Turned round: let S = LLᵀ, z = L⁻¹g_G and Y = L⁻¹Uᵀ with U and v of the whole list. Where G has
joined, to do without O then costs eᵀ (I + YᵀY)⁻¹ e with e = v + Yᵀz, of which the columns of O are
taken. That is e·e / (1 + ‖Y‖²) at least, and equal to it for one column.
"""

import numpy as np

from ...utils.jit import inlined_kernel, kernel
from .limits import find_allowed
from .state import EQUAL, explained, find_position
from .sweeps import NONE, exchange


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


@kernel
def group_gain(S, q, g, min_q, U, v, work, slopes):  # type: ignore[no-untyped-def]
    """Gain of a group when another makes room for it; when none does, U has no rows.

    Columns of the group that those before them explain take no part.

    Parameters
    ----------
    S : ndarray of shape (m, m)
        Schur complement of the group, below its diagonal.
    q, g, min_q : ndarrays of shape (m,)
        Its diagonal, half the gradient, and what must be left of a column for it to take part.
    U, v : ndarrays of shape (n, m) and (n,)
        Of the group that makes room, as of ``split_list``.
    work, slopes : ndarrays of shapes (m, m) and (m,)
        Overwritten.
    """
    gain = 0.0
    for a in range(g.size):
        slopes[a] = g[a]
        work[a, a] = q[a]
        for b in range(a):
            work[a, b] = S[a, b]
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


@inlined_kernel
def _gain(s, unit, U, v, work, slopes):  # type: ignore[no-untyped-def]
    """Gain of a group off the list, as of ``group_gain``, given U with all columns."""
    low = s.starts[unit]
    high = s.starts[unit + 1]
    S = s.S[s.block_starts[unit] : s.block_starts[unit + 1]].reshape((high - low, high - low))
    q = s.q[low:high]
    g = s.g[low:high]
    min_q = s.min_q[low:high]
    return group_gain(S, q, g, min_q, U[:, low:high], v, work, slopes)


@inlined_kernel
def _room_for(s):  # type: ignore[no-untyped-def]
    """A matrix and a vector for the largest group."""
    size = 0
    for unit in range(s.listed.size):
        size = max(size, s.starts[unit + 1] - s.starts[unit])
    return np.empty((size, size)), np.empty(size)


@inlined_kernel
def join_gains_of_groups(s):  # type: ignore[no-untyped-def]
    """Gain of each group off the list by joining; 0 for those on it."""
    L, z = _room_for(s)
    gains = np.zeros(s.listed.size)
    U = np.empty((0, s.q.size))
    v = np.empty(0)
    for unit in range(gains.size):
        if not s.listed[unit]:
            gains[unit] = _gain(s, unit, U, v, L, z)
    return gains


@inlined_kernel
def _is_incomplete(s):  # type: ignore[no-untyped-def]
    """Tell whether columns of groups on the list take no part, as they depend on others."""
    missing = -s.n_columns[0]
    for p in range(s.n_units[0]):
        for column in range(s.starts[s.units[p]], s.starts[s.units[p] + 1]):
            missing += s.min_q[column] < np.inf
    return missing > 0


@kernel
def _try_each(s, least):  # type: ignore[no-untyped-def]
    """Do without each group in turn: what that costs, and the best exchange.

    Where columns take no part, they may do so without another group, and no formula says what is
    then explained.
    """
    before = explained(s)
    order = s.units[: s.n_units[0]].copy()
    costs = np.zeros(s.listed.size)
    allowed = np.ones(s.listed.size, np.bool_)
    best = least
    best_out = NONE
    best_unit = NONE
    for out in order:
        exchange(s, find_position(s.units, s.n_units[0], out), NONE)
        costs[out] = before - explained(s)
        if not s.fixed[out]:
            gains = join_gains_of_groups(s)
            if s.limited:
                find_allowed(s.limits, s.units, NONE, 0, allowed)
            for unit in range(gains.size):
                gain = gains[unit] - costs[out]
                if unit != out and allowed[unit] and gain > best + EQUAL * abs(best):
                    best = gain
                    best_out = out
                    best_unit = unit
        exchange(s, NONE, out)
    losses = np.empty(order.size)
    for p in range(order.size):
        losses[p] = costs[s.units[p]]
    return losses, find_position(s.units, s.n_units[0], best_out), best_unit


@inlined_kernel
def _split(s):  # type: ignore[no-untyped-def]
    """Split the list into its groups, as of ``split_list``."""
    return split_list(s.support, s.n_columns[0], s.units, s.n_units[0], s.starts, s.w, s.M, s.T)


@inlined_kernel
def losses_of_groups(s):  # type: ignore[no-untyped-def]
    """Loss of doing without each group on the list."""
    if _is_incomplete(s):
        return _try_each(s, np.inf)[0]
    return _split(s)[3]


@kernel
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


@kernel
def best_exchange_of_groups(s, least):  # type: ignore[no-untyped-def]
    """Position and group of the best exchange; −1 if none lowers the objective by ``least``.

    No exchange gains more than the group that joins would beside all others.
    """
    if _is_incomplete(s):
        return _try_each(s, least)[1:]
    U, v, ends, losses = _split(s)
    L, z = _room_for(s)
    size = s.n_columns[0]
    room = np.empty((z.size, size))
    B = np.empty((size, size))
    e = np.empty(size)
    squares = np.empty(size)
    slopes = np.empty(z.size)
    allowed = np.ones(1, np.bool_)
    best = least
    best_p = NONE
    best_unit = NONE
    for unit in range(s.listed.size):
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
            if s.fixed[s.units[p]]:
                continue
            first = ends[p - 1] if p > 0 else 0
            last = ends[p]
            if every:
                change = 0.0
                norm = 1.0
                for i in range(first, last):
                    change += e[i] * e[i]
                    norm += squares[i]
                gain = joining - change / norm
                if last > first + 1 and gain > best:
                    gain = joining - _loss_beside(Y, e, first, last, B)
            else:  # columns that take no part may do so without the other group
                gain = _gain(s, unit, U[first:last], v[first:last], L, slopes) - losses[p]
            if gain > best + EQUAL * abs(best):
                if s.limited:
                    find_allowed(s.limits, s.units, p, unit, allowed)
                if allowed[0]:
                    best = gain
                    best_p = p
                    best_unit = unit
    return best_p, best_unit


@kernel
def gains_outside(  # type: ignore[no-untyped-def]
    T, rows, g, blocks, block_starts, starts, asked, min_q, U, v, ends, losses, allowed, joins
):
    """Gain of the best exchange of a list with each of some groups, or of its joining.

    Parameters
    ----------
    T, rows : ndarrays of shape (m, d)
        M H and H of the support with all columns, group by group.
    g, min_q : ndarrays of shape (d,)
        Half the gradient, and what must be left of a column for it to take part.
    blocks, block_starts, starts : ndarrays
        H with the ridge of each group, one after the other; where they and the columns begin.
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
    S = np.empty((largest, largest))
    work = np.empty((largest, largest))
    q = np.empty(largest)
    slopes = np.empty(largest)
    gains = np.full(asked.size, -np.inf)
    for number in range(asked.size):
        low = starts[asked[number]]
        high = starts[asked[number] + 1]
        at = block_starts[asked[number]]
        for a in range(high - low):
            for b in range(a + 1):
                S[a, b] = blocks[at + a * (high - low) + b]
                for p in range(T.shape[0]):
                    S[a, b] -= T[p, low + a] * rows[p, low + b]
            q[a] = S[a, a]
        for p in range(n + joins):
            first = ends[p - 1] if p > 0 else 0
            last = ends[p] if p < n else first
            loss = losses[p] if p < n else 0.0
            if allowed[p, number] and loss < np.inf:
                gone = U[first:last, low:high]
                gain = group_gain(
                    S, q, g[low:high], min_q[low:high], gone, v[first:last], work, slopes
                )
                gains[number] = max(gains[number], gain - loss)
    return gains
