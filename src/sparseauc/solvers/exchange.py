"""The flagship: exchange columns until no exchange helps, for every k in one go.

    minimise F(w) + alpha‖w‖²   subject to   ‖w‖₀ ≤ k,       F(w) = 1 + 2 w·δ + wᵀHw

On a fixed support A the minimiser is w_A = −M δ_A with M = (H_AA + alpha I)⁻¹. Let T = H M on the
columns of A, q_j = H_jj + alpha − T_j·H_jA what column j adds that A does not already explain, and
g_j = δ_j + H_jA·w_A half the gradient. Then the objective changes by

    −g_j²/q_j                                                     when j joins,
    w_i²/M_ii                                                     when i leaves,
    w_i²/M_ii − (g_j − T_ji w_i/M_ii)² / (q_j + T_ji²/M_ii)       when i makes room for j,

exactly. A column that joins or leaves changes M, T, w, q and g by rank-one updates, the sweeps of
Gauss–Jordan elimination, in O(d·k), and needs one row of H. So nothing is d × d, and all k·d
exchanges are looked at for the price of a few passes over k vectors of length d.

Use it whenever the moments can be had: it takes the time of a few runs of SHT-AUC, gives all k at
once, and its supports are the better the more the columns are correlated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg

from .._jit import kernel
from ..moments.gram import Gram

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# A change must add more than this share of what is explained; less is rounding. So is what a
# standardised difference of means of 1e-12 would explain.
MIN_RELATIVE_GAIN, _MIN_EXPLAINED = 1e-11, 1e-24
# Less than this share may be nothing but rounding: a column of which less is left over after the
# support explains it is taken for linearly dependent and left out, and when less of the objective
# is left, everything is explained. The second is in units of H's precision, for float32.
_TOLERANCE, _TOLERANCE_UNITS = 5e-7, 1e5
# When less is left of a column that joins or leaves, its update costs so many digits that all is
# computed afresh.
_COSTLY = 1e-4
# Columns handled at a time by the kernels: k rows of T in such slices stay in the cache.
_TILE = 512
# Updates after which everything is computed afresh.
_REFACTORISE_AFTER = 100


class State(NamedTuple):
    """The support and all that follows from it, kept up to date as columns join and leave.

    Attributes
    ----------
    H, delta : ndarrays of shape (d, d) and (d,)
        The problem, on the standardised scale.
    whole : ndarray of shape (d,)
        Diagonal of H, and the ridge.
    floor : ndarray of shape (d,)
        What must be left of a column for it to join; infinity for excluded columns.
    fixed : bool ndarray of shape (d,)
        Columns that never leave.
    family : int64 ndarray of shape (d,)
        Family of each column, 0 for none.
    room : int64 ndarray of shape (1 + n_families,)
        How many more columns of each family may join.
    counts : int64 ndarray of shape (2,)
        Size of the support, and updates since everything was computed afresh.
    support, w, M, T : ndarrays of shape (k_max,), (k_max,), (k_max, k_max) and (k_max, d)
        Columns, coefficients, (H_AA + alpha I)⁻¹ and M H_A, filled up to the size of the support.
    g, q : ndarrays of shape (d,)
        Half the gradient, and what the support leaves of each column.
    tolerance : float
        Share of a column below which it counts as linearly dependent.
    least : float
        Least gain that is more than rounding, whatever is explained.
    may_depend : bool
        Whether columns can depend on one another linearly; with a ridge they cannot.
    """

    H: Array
    delta: Array
    whole: Array
    floor: Array
    fixed: Mask
    family: Indices
    room: Indices
    counts: Indices
    support: Indices
    w: Array
    M: Array
    T: Array
    g: Array
    q: Array
    tolerance: float
    least: float
    may_depend: bool


def dependence_tolerance(precision: float) -> float:
    """Share of a column below which what is left of it may be rounding."""
    return max(_TOLERANCE, _TOLERANCE_UNITS * precision)


def make_state(
    gram: Gram, alpha: float, k_max: int, fixed: Mask, excluded: Mask,
    families: Indices | None = None, max_per_family: int = 1,
) -> State:  # fmt: skip
    """Start with an empty support.

    Parameters
    ----------
    gram : Gram
    alpha : float
        Ridge.
    k_max : int
        Largest support.
    fixed, excluded : bool ndarrays of shape (d,)
        Columns that never leave, and columns that never join.
    families, max_per_family
        As of ``Restrictions``.
    """
    d = gram.delta.size
    diagonal = gram.H.diagonal()
    whole = diagonal + alpha
    tolerance = dependence_tolerance(gram.precision)
    floor = np.where(excluded | (diagonal <= 0), np.inf, tolerance * whole)
    family = np.zeros(d, np.int64) if families is None else families
    room = np.full(1 + family.max(initial=0), max_per_family, np.int64)
    room[0] = d
    return State(
        gram.H, gram.delta, whole, floor, fixed, family, room, np.zeros(2, np.int64),
        np.empty(k_max, np.int64), np.empty(k_max), np.empty((k_max, k_max)), np.empty((k_max, d)),
        gram.delta.copy(), whole.copy(), tolerance, _MIN_EXPLAINED / (1.0 + alpha),
        bool((floor[np.isfinite(floor)] > alpha).any()),
    )  # fmt: skip


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
    residual = np.empty(min(_TILE, d))
    for low in range(0, d, _TILE):
        high = min(low + _TILE, d)
        m = high - low
        r = residual[:m]
        r[:] = row[low:high]
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
    s.room[s.family[a]] -= 1
    s.counts[0] = k + 1


@kernel
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
    for low in range(0, d, _TILE):
        high = min(low + _TILE, d)
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
    for o in range(k):
        if o != p:
            w[o] -= column[o] * w_i * inverse
            for e in range(k):
                if e != p:
                    M[o, e] -= column[o] * column[e] * inverse
            T[o, i] = -column[o] * inverse
    s.q[i] = inverse
    s.g[i] = -w_i * inverse
    s.room[s.family[i]] += 1
    # The last position takes the place that became free.
    last = k - 1
    if p != last:
        s.support[p] = s.support[last]
        w[p] = w[last]
        T[p] = T[last]
        for o in range(k):
            M[p, o] = M[last, o]
        for o in range(k):
            M[o, p] = M[o, last]
    s.counts[0] = last


@kernel
def refactorise(s):  # type: ignore[no-untyped-def]
    """Compute everything afresh from H: rank-one updates gather rounding.

    The members join an empty support, the one of which most is left first.
    """
    members = s.support[: s.counts[0]].copy()
    s.counts[:] = 0
    for column in members:
        s.room[s.family[column]] += 1
    s.g[:] = s.delta
    s.q[:] = s.whole
    for k in range(members.size):
        best = k
        for p in range(k + 1, members.size):
            a, b = members[p], members[best]
            if s.q[a] * s.whole[b] > s.q[b] * s.whole[a]:
                best = p
        members[k], members[best] = members[best], members[k]
        _sweep_in(s, members[k])


@kernel
def join(s, column):  # type: ignore[no-untyped-def]
    """Add a column."""
    costly = s.q[column] < _COSTLY * s.whole[column]
    _sweep_in(s, column)
    s.counts[1] += 1
    if costly or s.counts[1] >= _REFACTORISE_AFTER:
        refactorise(s)


@kernel
def leave(s, position):  # type: ignore[no-untyped-def]
    """Remove the column at a position of the support."""
    costly = s.M[position, position] * s.whole[s.support[position]] * _COSTLY > 1
    _sweep_out(s, position)
    s.counts[1] += 1
    if costly:
        refactorise(s)


@kernel
def remove(s, column):  # type: ignore[no-untyped-def]
    """Remove a column."""
    for position in range(s.counts[0]):
        if s.support[position] == column:
            leave(s, position)
            return


@kernel
def move_to(s, target):  # type: ignore[no-untyped-def]
    """Make ``target`` the support, exchanging only what differs."""
    wanted = np.zeros(s.g.size, np.bool_)
    wanted[target] = True
    for column in np.sort(s.support[: s.counts[0]]):
        if not wanted[column]:
            remove(s, column)
    for column in target:
        if s.q[column] != np.inf:
            join(s, column)


@kernel
def explained(s):  # type: ignore[no-untyped-def]
    """What the support takes off the objective, which is 1 without columns: −δ·w."""
    total = 0.0
    for p in range(s.counts[0]):
        total -= s.delta[s.support[p]] * s.w[p]
    return total


@kernel
def least_gain(total, tolerance, least):  # type: ignore[no-untyped-def]
    """What a change must gain, given what is explained; less is rounding."""
    if 1.0 - total < tolerance:
        return np.inf
    return max(MIN_RELATIVE_GAIN * total, least)


@kernel
def depends(s):  # type: ignore[no-untyped-def]
    """Whether next to nothing is left of a member after the others explain it: 1/M_ii."""
    if s.may_depend:
        for p in range(s.counts[0]):
            if s.M[p, p] * s.tolerance * s.whole[s.support[p]] > 1.0:
                return True
    return False


@kernel
def best_join(s):  # type: ignore[no-untyped-def]
    """Column that lowers the objective most by joining; −1 if none can."""
    best = 0.0
    winner = -1
    for j in range(s.g.size):
        # Compared without dividing; the first of equal gains wins.
        if s.q[j] > s.floor[j] and s.g[j] * s.g[j] > best * s.q[j] and s.room[s.family[j]] > 0:
            best = s.g[j] * s.g[j] / s.q[j]
            winner = j
    return winner


@kernel
def best_leave(s):  # type: ignore[no-untyped-def]
    """Position of the column that costs least to do without; −1 if all are fixed."""
    best = np.inf
    winner = -1
    for p in range(s.counts[0]):
        cost = s.w[p] * s.w[p] / s.M[p, p]
        if not s.fixed[s.support[p]] and (
            cost < best or (cost == best and s.support[p] < s.support[winner])
        ):
            best = cost
            winner = p
    return winner


@kernel
def best_exchange(s, least):  # type: ignore[no-untyped-def]
    """Position and column of the best exchange; −1 if none lowers the objective by ``least``."""
    d = s.g.size
    best = -least
    best_p = -1
    best_j = -1
    for low in range(0, d, _TILE):
        high = min(low + _TILE, d)
        m = high - low
        gs, qs = s.g[low:high], s.q[low:high]
        for p in range(s.counts[0]):
            if s.fixed[s.support[p]]:
                continue
            t = s.T[p, low:high]
            own = s.family[s.support[p]]
            inverse = 1.0 / s.M[p, p]
            shift = s.w[p] * inverse
            loss = s.w[p] * shift
            # change < best  ⇔  (g − t·shift)² > (loss − best)(q + t²/M_ii), with no division.
            bar = loss - best
            found = False
            for j in range(m):
                numerator = gs[j] - t[j] * shift
                found |= numerator * numerator > bar * (qs[j] + t[j] * t[j] * inverse)
            if found:
                for j in range(m):
                    numerator = gs[j] - t[j] * shift
                    denominator = qs[j] + t[j] * t[j] * inverse
                    if denominator > s.floor[low + j]:
                        change = loss - numerator * numerator / denominator
                        family = s.family[low + j]
                        if change < best and (family == own or s.room[family] > 0):
                            best = change
                            best_p = p
                            best_j = low + j
    return best_p, best_j


@kernel
def grow(s):  # type: ignore[no-untyped-def]
    """Add the column that helps most; False when none is left that adds anything."""
    least = least_gain(explained(s), s.tolerance, s.least)
    floor = s.floor.copy()
    grown = False
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
    s.floor[:] = floor
    return grown


@kernel
def shrink(s):  # type: ignore[no-untyped-def]
    """Remove the column that helps least; False when all that are left are fixed."""
    position = best_leave(s)
    if position < 0:
        return False
    leave(s, position)
    return True


@kernel
def settle(s):  # type: ignore[no-untyped-def]
    """Exchange columns until no single exchange lowers the objective."""
    before = explained(s)
    floor = s.floor.copy()
    while True:
        position, column = best_exchange(s, least_gain(before, s.tolerance, s.least))
        if position < 0:
            break
        left = s.support[position]
        leave(s, position)
        join(s, column)
        after = explained(s)
        if depends(s) or not after > before:
            # What the formula promised was rounding. It may promise forever.
            remove(s, column)
            join(s, left)
            s.floor[column] = np.inf
        else:
            before = after
    s.floor[:] = floor


class Found(NamedTuple):
    """The best support found of each size.

    Attributes
    ----------
    explained : ndarray of shape (k_max + 1,)
        What it takes off the objective; −infinity where none is known.
    supports : int64 ndarray of shape (k_max + 1, k_max)
        Columns, ascending, in the first k places of row k.
    grow, shrink : bool ndarrays of shape (k_max + 1,)
        Whether a column has yet to join, or to leave, the support of this size.
    """

    explained: Array
    supports: Indices
    grow: Mask
    shrink: Mask


def nothing_found(k_max: int) -> Found:
    """No support of any size."""
    flags = np.zeros((2, k_max + 1), np.bool_)
    supports = np.zeros((k_max + 1, k_max), np.int64)
    return Found(np.full(k_max + 1, -np.inf), supports, flags[0], flags[1])


@kernel
def offer(s, found):  # type: ignore[no-untyped-def]
    """Settle, and keep the support if it beats the one known of its size."""
    settle(s)
    k, total = s.counts[0], explained(s)
    known = found.explained[k]
    if known == -np.inf or total > known + least_gain(total, s.tolerance, s.least):
        found.explained[k] = total
        found.supports[k, :k] = np.sort(s.support[:k])
        found.grow[k] = True
        found.shrink[k] = True
        return True
    return False


@kernel
def _is_known(s, found):  # type: ignore[no-untyped-def]
    """Whether the support is the best known of its size."""
    k = s.counts[0]
    if found.explained[k] == -np.inf:
        return False
    return np.all(s.q[found.supports[k, :k]] == np.inf)


@kernel
def sweep(s, found, lowest, top):  # type: ignore[no-untyped-def]
    """Grow and shrink the best supports of ``lowest`` to ``top`` columns until none improves."""
    improved = True
    while improved:
        improved = False
        for k in range(lowest, top):
            if found.grow[k]:
                found.grow[k] = False
                move_to(s, found.supports[k, :k])
                if grow(s) and not _is_known(s, found):
                    improved |= offer(s, found)
        for k in range(top, lowest, -1):
            if found.shrink[k]:
                found.shrink[k] = False
                move_to(s, found.supports[k, :k])
                if shrink(s) and not _is_known(s, found):
                    improved |= offer(s, found)


@kernel
def settle_known(s, found, least):  # type: ignore[no-untyped-def]
    """Exchange columns of supports of ``least`` columns or more, as after columns were added."""
    for k in range(least, found.explained.size):
        if found.explained[k] > -np.inf:
            move_to(s, found.supports[k, :k])
            offer(s, found)


@kernel
def kick(s, found, k):  # type: ignore[no-untyped-def]
    """Do without each member of the best support of k columns in turn, until the others settle.

    This leads out of supports that only a double exchange would improve.
    """
    improved = False
    if found.explained[k] == -np.inf:
        return False
    for column in found.supports[k, :k].copy():
        move_to(s, found.supports[k, :k])
        if s.fixed[column] or s.q[column] != np.inf:
            continue
        remove(s, column)
        floor = s.floor[column]
        s.floor[column] = np.inf
        if grow(s):
            settle(s)
        s.floor[column] = floor
        if s.counts[0] == k:
            improved |= offer(s, found)
    return improved


@kernel
def eliminate(s, found, lowest, top):  # type: ignore[no-untyped-def]
    """Grow to ``top`` columns at once, then drop one after the other, with exchanges at each stop.

    A second line of search, which does not start from what was found so far.
    """
    improved = False
    move_to(s, found.supports[lowest, :lowest])
    while s.counts[0] < top and grow(s):
        pass
    while True:
        improved |= offer(s, found)
        if s.counts[0] <= lowest or not shrink(s):
            return improved


class Solution(NamedTuple):
    """The best support found for a k.

    Attributes
    ----------
    support : ndarray of int64
        Columns, ascending; at most k.
    coef : ndarray
        Their coefficients on the standardised scale.
    objective : float
        F(w) + alpha‖w‖² there.
    """

    support: Indices
    coef: Array
    objective: float


def solve_on(block: Array, delta: Array, support: Indices, alpha: float) -> Solution:
    """Minimise on a support, given its part of H and δ, free of the rounding of updates."""
    if support.size == 0:
        return Solution(support, np.empty(0), 1.0)
    ridged = block + alpha * np.eye(support.size)
    _, solution, failed = scipy.linalg.lapack.dposv(ridged, delta)
    if failed:
        solution = scipy.linalg.solve(ridged, delta, assume_a="sym", check_finite=False)
    coef: Array = -solution
    return Solution(support, coef, float(1.0 + delta @ coef))
