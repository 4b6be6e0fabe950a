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

Families, prices and signs rule out exchanges. With signs, all supports are such that the minimiser
has the right ones: where a sign holds a coefficient at 0, the list is the shorter one without it.

Use it whenever the moments can be had: it takes the time of a few runs of SHT-AUC, gives all k at
once, and its supports are the better the more the columns are correlated.
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg

from .._jit import inlined_kernel, kernel
from .._types import Array, Indices, Mask
from ..moments.gram import Gram
from .restrictions import Limits, no_limits

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
# What is free of charge is taken to cost this, where gains are compared by price.
LEAST_PRICE = 1e-12
# Columns that are forced into a support, at most.
_MOST_FORCED = 30
# Columns handled at a time by the kernels: k rows of T in such slices stay in the cache.
_TILE = 512
# Updates after which everything is computed afresh.
_REFACTORISE_AFTER = 100
# No column or position. Numba compiles a kernel anew for each Python integer written in a call.
_NONE = np.int64(-1)


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
    limits : Limits
        Families, signs and prices of the columns.
    room : int64 ndarray of shape (1 + n_families,)
        How many more columns of each family may join.
    bought : int64 ndarray of shape (n_purchases,)
        How many columns of the support come with each purchase.
    money : ndarray of shape (1,)
        What is left of the budget.
    counts : int64 ndarray of shape (3,)
        Size of the support, updates since everything was computed afresh, and columns that must be
        on the list but are not in the support, as their signs hold them at 0.
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
    signed : bool
        Whether any coefficient must have a sign.
    """

    H: Array
    delta: Array
    whole: Array
    floor: Array
    fixed: Mask
    limits: Limits
    room: Indices
    bought: Indices
    money: Array
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
    signed: bool


def dependence_tolerance(precision: float) -> float:
    """Share of a column below which what is left of it may be rounding."""
    return max(_TOLERANCE, _TOLERANCE_UNITS * precision)


def make_state(
    gram: Gram, alpha: float, k_max: int, fixed: Mask, excluded: Mask,
    limits: Limits | None = None,
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
    limits : Limits, optional
        What else restricts the choice.
    """
    d = gram.delta.size
    diagonal = gram.H.diagonal()
    whole = diagonal + alpha
    tolerance = dependence_tolerance(gram.precision)
    floor = np.where(excluded | (diagonal <= 0), np.inf, tolerance * whole)
    limits = no_limits(d) if limits is None else limits
    room = np.full(1 + limits.family.max(initial=0), limits.max_per_family, np.int64)
    room[0] = d
    return State(
        gram.H, gram.delta, whole, floor, fixed, limits, room,
        np.zeros(limits.price.size, np.int64), np.array([limits.money]), np.zeros(3, np.int64),
        np.empty(k_max, np.int64), np.empty(k_max), np.empty((k_max, k_max)), np.empty((k_max, d)),
        gram.delta.copy(), whole.copy(), tolerance, _MIN_EXPLAINED / (1.0 + alpha),
        bool((floor[np.isfinite(floor)] > alpha).any()), bool(limits.sign.any()),
    )  # fmt: skip


@inlined_kernel
def _count(s, column, change):  # type: ignore[no-untyped-def]
    """Take down that a column joins, 1, or leaves, −1."""
    s.counts[0] += change
    if s.limits.held[column]:
        s.counts[2] -= change  # its place, its family's and its price are taken all the same
    else:
        s.room[s.limits.family[column]] -= change
        number = s.limits.purchase[column]
        if s.bought[number] == (change < 0):
            s.money[0] -= change * s.limits.price[number]
        s.bought[number] += change


@inlined_kernel
def places(s):  # type: ignore[no-untyped-def]
    """Columns on the list: those of the support, and those whose signs hold them at 0."""
    return s.counts[0] + s.counts[2]


@kernel
def _may_join(s, column, position):  # type: ignore[no-untyped-def]
    """Whether all that a list must obey lets a column take a position, −1 for a new one.

    That is: the families, the money, and the signs of all coefficients.
    """
    family, number = s.limits.family[column], s.limits.purchase[column]
    own, freed, money = _NONE, _NONE, s.money[0]
    if position >= 0:
        own = s.limits.family[s.support[position]]
        freed = s.limits.purchase[s.support[position]]
        if s.bought[freed] == 1:
            money += s.limits.price[freed]
    paid = s.bought[number] > (number == freed)
    room = s.room[family] > 0 or family == own or s.limits.held[column]
    right = room and (paid or s.limits.price[number] <= money)
    if s.signed and right:
        M, T, sign = s.M, s.T, s.limits.sign
        left, pull, share, t = s.q[column], s.g[column], 0.0, 0.0
        if position >= 0:
            share = s.w[position] / M[position, position]
            t = T[position, column] / M[position, position]
            left += t * T[position, column]
            pull -= T[position, column] * share
        new = -pull / left
        right = sign[column] * new >= 0.0
        for o in range(s.counts[0]):
            if right and o != position:
                w = s.w[o] - T[o, column] * new
                if position >= 0:
                    w -= M[o, position] * (share - t * new)
                right = sign[s.support[o]] * w >= 0.0
    return right


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
    exchange(s, _NONE, column)


@inlined_kernel
def leave(s, position):  # type: ignore[no-untyped-def]
    """Remove the column at a position of the support."""
    exchange(s, position, _NONE)


@inlined_kernel
def _position(s, column):  # type: ignore[no-untyped-def]
    """Position of a column in the support; −1 if it is not there."""
    position = _NONE
    for p in range(s.counts[0]):
        if s.support[p] == column:
            position = p
    return position


@inlined_kernel
def remove(s, column):  # type: ignore[no-untyped-def]
    """Remove a column."""
    exchange(s, _position(s, column), _NONE)


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


@inlined_kernel
def explained(s):  # type: ignore[no-untyped-def]
    """What the support takes off the objective, which is 1 without columns: −δ·w."""
    total = 0.0
    for p in range(s.counts[0]):
        total -= s.delta[s.support[p]] * s.w[p]
    return total


@inlined_kernel
def least_gain(total, tolerance, least):  # type: ignore[no-untyped-def]
    """What a change must gain, given what is explained; less is rounding."""
    return np.inf if 1.0 - total < tolerance else max(MIN_RELATIVE_GAIN * total, least)


@inlined_kernel
def depends(s):  # type: ignore[no-untyped-def]
    """Whether next to nothing is left of a member after the others explain it: 1/M_ii."""
    dependent = False
    if s.may_depend:
        for p in range(s.counts[0]):
            dependent |= s.M[p, p] * s.tolerance * s.whole[s.support[p]] > 1.0
    return dependent


@inlined_kernel
def best_join(s):  # type: ignore[no-untyped-def]
    """Column that lowers the objective most by joining; −1 if none can."""
    best = 0.0
    winner = _NONE
    for j in range(s.g.size):
        # Compared without dividing; the first of equal gains wins.
        better = s.q[j] > s.floor[j] and s.g[j] * s.g[j] > best * s.q[j]
        if better and _may_join(s, j, _NONE):
            best = s.g[j] * s.g[j] / s.q[j]
            winner = j
    return winner


@inlined_kernel
def best_leave(s):  # type: ignore[no-untyped-def]
    """Position of the column that costs least to do without; −1 if all are fixed."""
    best = np.inf
    winner = _NONE
    for p in range(s.counts[0]):
        cost = s.w[p] * s.w[p] / s.M[p, p]
        column = s.support[p]
        if not (s.fixed[column] or s.limits.held[column]) and (
            cost < best or (cost == best and column < s.support[winner])
        ):
            best = cost
            winner = p
    return winner


@inlined_kernel
def best_exchange(s, least):  # type: ignore[no-untyped-def]
    """Position and column of the best exchange; −1 if none lowers the objective by ``least``."""
    d = s.g.size
    best = -least
    best_p = _NONE
    best_j = _NONE
    for low in range(0, d, _TILE):
        high = min(low + _TILE, d)
        m = high - low
        gs, qs = s.g[low:high], s.q[low:high]
        for p in range(s.counts[0]):
            if s.fixed[s.support[p]] or s.limits.held[s.support[p]]:
                continue
            t = s.T[p, low:high]
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
                        if change < best and _may_join(s, low + j, p):
                            best = change
                            best_p = p
                            best_j = low + j
    return best_p, best_j


@inlined_kernel
def _held_at_0_in_vain(s):  # type: ignore[no-untyped-def]
    """A column that must be on the list and whose sign lets it help; −1 if there is none."""
    winner = _NONE
    if s.counts[2] > 0:
        least = least_gain(explained(s), s.tolerance, s.least)
        for j in range(s.g.size):
            helps = s.floor[j] < s.q[j] and s.g[j] ** 2 > least * s.q[j]
            if s.limits.held[j] and helps and _may_join(s, j, _NONE):
                winner = j
    return winner


@kernel
def tidy(s):  # type: ignore[no-untyped-def]
    """Remove columns whose coefficients have the wrong sign, the one that explains most first."""
    wrong = s.signed
    while wrong:
        most, winner = 0.0, _NONE
        for p in range(s.counts[0]):
            if s.limits.sign[s.support[p]] * s.w[p] < 0.0:
                cost = s.w[p] * s.w[p] / s.M[p, p]
                if winner < 0 or cost > most:
                    most, winner = cost, p
        wrong = winner >= 0
        if wrong:
            leave(s, winner)


@kernel
def _afford(s, kept, top):  # type: ignore[no-untyped-def]
    """Remove columns until a list obeys, those first that explain least for their price.

    False where ``kept`` and the fixed ones are too many.
    """
    while True:
        crowded, dear = False, s.money[0] < 0.0
        for room in s.room:
            crowded |= room < 0
        if not crowded and not dear and places(s) <= top:
            return True
        best, worst = np.inf, _NONE
        for p in range(s.counts[0]):
            column = s.support[p]
            if s.fixed[column] or s.limits.held[column] or column == kept:
                continue
            if crowded and s.room[s.limits.family[column]] >= 0:
                continue
            loss, number = s.w[p] * s.w[p] / s.M[p, p], s.limits.purchase[column]
            if dear and not crowded:
                loss /= max(s.limits.price[number] / s.bought[number], LEAST_PRICE)
            if loss < best:
                best, worst = loss, p
        if worst < 0:
            return False
        leave(s, worst)
        tidy(s)


@kernel
def settle(s):  # type: ignore[no-untyped-def]
    """Exchange columns until no single exchange lowers the objective; what is then explained."""
    before = explained(s)
    floor = s.floor.copy()
    barred = False
    while True:
        position, column = best_exchange(s, least_gain(before, s.tolerance, s.least))
        if position < 0:
            free = _held_at_0_in_vain(s)
            if free < 0:
                break
            join(s, free)
            before = explained(s)
            continue
        left = s.support[position]
        exchange(s, position, column)
        after = explained(s)
        if depends(s) or not after > before:
            # What the formula promised was rounding. It may promise forever.
            exchange(s, _position(s, column), left)
            s.floor[column] = np.inf
            barred = True
        else:
            before = after
    if barred:
        for j in range(floor.size):
            s.floor[j] = floor[j]
    return before


class Found(NamedTuple):
    """The best support found of each size.

    Attributes
    ----------
    explained : ndarray of shape (k_max + 1,)
        What it takes off the objective; −infinity where none is known.
    supports : int64 ndarray of shape (k_max + 1, k_max)
        Columns, ascending, in the first places of row k.
    sizes : int64 ndarray of shape (k_max + 1,)
        How many these are: k, less those whose signs hold them at 0.
    grow, shrink, force : bool ndarrays of shape (k_max + 1,)
        Whether a column has yet to join, or to leave, the support of this size, or to be forced in.
    """

    explained: Array
    supports: Indices
    sizes: Indices
    grow: Mask
    shrink: Mask
    force: Mask


def nothing_found(k_max: int) -> Found:
    """No support of any size."""
    flags = np.zeros((3, k_max + 1), np.bool_)
    supports, sizes = np.zeros((k_max + 1, k_max), np.int64), np.zeros(k_max + 1, np.int64)
    return Found(np.full(k_max + 1, -np.inf), supports, sizes, flags[0], flags[1], flags[2])


@inlined_kernel
def known_support(found, k):  # type: ignore[no-untyped-def]
    """The best support known of a list of k columns."""
    return found.supports[k, : found.sizes[k]]


@inlined_kernel
def _grow(s):  # type: ignore[no-untyped-def]
    """Add the column that helps most; False when none is left that adds anything."""
    least = least_gain(explained(s), s.tolerance, s.least)
    floor = s.floor.copy()
    grown = False
    barred = False
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
            barred = True
    if barred:
        for j in range(floor.size):
            s.floor[j] = floor[j]
    return grown


@inlined_kernel
def _is_known(s, found):  # type: ignore[no-untyped-def]
    """Whether the support is the best known of its size."""
    k = places(s)
    known = found.explained[k] > -np.inf and found.sizes[k] == s.counts[0]
    if known:
        for p in range(s.counts[0]):
            known &= s.q[found.supports[k, p]] == np.inf
    return known


@kernel
def _visit(s, found, start, size, without, forced):  # type: ignore[no-untyped-def]
    """Grow or shrink a support, settle it, and keep it if it beats the one known of its size.

    Parameters
    ----------
    start : int64 ndarray
        The support to start from.
    size : int
        The size to reach, a column at a time.
    without : int
        Column of ``start`` to do without until the others have settled; −1 for none.
    forced : int
        Column to force in, whatever it costs, before others leave until the list obeys; −1 for
        none.
    """
    move_to(s, start)
    before, floor = places(s), 0.0
    if forced >= 0:
        join(s, forced)
        tidy(s)
        if not _afford(s, forced, size):
            return False
    if without >= 0:
        remove(s, without)
        tidy(s)
        floor = s.floor[without]
        s.floor[without] = np.inf
    while places(s) < size:
        if not _grow(s):
            break
    while places(s) > size:
        position = best_leave(s)
        if position < 0:
            break
        leave(s, position)
        tidy(s)
    k = places(s)
    if without >= 0:
        if k == size:
            settle(s)
        s.floor[without] = floor
        if k < size:
            return False
    elif (before != size or forced >= 0) and _is_known(s, found):
        return False
    total = settle(s)
    k = places(s)
    if found.explained[k] > -np.inf and not (
        total > found.explained[k] + least_gain(total, s.tolerance, s.least)
    ):
        return False
    found.explained[k], found.sizes[k] = total, s.counts[0]
    found.grow[k] = found.shrink[k] = found.force[k] = True
    p = 0
    for j in range(s.q.size):
        if s.q[j] == np.inf:
            found.supports[k, p] = j
            p += 1
    return True


@kernel
def search(s, found, changed, top, stops):  # type: ignore[no-untyped-def]
    """Grow and shrink the best supports of up to ``top`` columns until none improves.

    Parameters
    ----------
    changed : int
        Supports of so many columns or more are settled first, as after columns were added.
    stops : int64 ndarray
        How to search on where growing and shrinking end. 0: grow to ``top`` columns at once, then
        drop one after the other, with exchanges at each stop; a line of search that does not start
        from what was found. k: do without each member of the best support of k columns in turn,
        which leads out of supports that only a double exchange would improve. −k: force columns
        that cannot be paid for into the best supports of up to k columns, and drop others, so that
        one dear column takes the place of two, or two that of one.

    Returns
    -------
    int
        Size of the smallest support: the number of fixed columns that count.
    """
    if s.counts[0] == 0:
        for column in range(s.g.size):
            if s.fixed[column] and s.q[column] > s.floor[column]:
                join(s, column)
                if depends(s):
                    remove(s, column)
        for p in range(s.counts[0]):
            column = s.support[p]
            if s.limits.sign[column] != 0:
                s.limits.held[column], s.fixed[column] = True, False
        tidy(s)
    lowest = np.int64(0)
    for column in range(s.g.size):
        lowest += s.limits.held[column] or (s.fixed[column] and s.q[column] == np.inf)
    if found.explained[lowest] == -np.inf:
        _visit(s, found, s.support[: s.counts[0]], lowest, _NONE, _NONE)
    for k in range(changed, found.explained.size):
        if found.explained[k] > -np.inf:
            # What was settled last has one column less, and needs fewer exchanges.
            _visit(s, found, s.support[: s.counts[0]].copy(), k, _NONE, _NONE)
            _visit(s, found, known_support(found, k), k, _NONE, _NONE)
    turn = 0
    while True:
        improved = True
        while improved:
            improved = False
            for k in range(lowest, top):
                if found.grow[k]:
                    found.grow[k] = False
                    improved |= _visit(s, found, known_support(found, k), k + 1, _NONE, _NONE)
            for k in range(top, lowest, -1):
                if found.shrink[k]:
                    found.shrink[k] = False
                    improved |= _visit(s, found, known_support(found, k), k - 1, _NONE, _NONE)
        while not improved and turn < stops.size:
            k = stops[turn]
            if k == 0:
                size = top
                start = known_support(found, lowest)
                while size >= lowest:
                    improved |= _visit(s, found, start, size, _NONE, _NONE)
                    size = min(size, places(s)) - 1
                    start = s.support[: s.counts[0]]
                turn += 1
            elif k < 0:
                for size in range(lowest, min(top, -k) + 1):
                    if found.force[size]:
                        found.force[size] = False
                        start = known_support(found, size).copy()
                        move_to(s, start)
                        worth = np.zeros(s.g.size)
                        for j in range(worth.size):
                            if s.q[j] > s.floor[j]:
                                worth[j] = s.g[j] * s.g[j] / s.q[j]
                        for _ in range(_MOST_FORCED):
                            column = np.argmax(worth)
                            if worth[column] > 0.0:
                                worth[column] = 0.0
                                improved |= _visit(s, found, start, top, _NONE, column)
                turn += not improved
            else:
                for column in known_support(found, k).copy():
                    start = known_support(found, k)
                    member = False
                    for other in start:
                        member |= other == column
                    if member and not s.fixed[column]:
                        improved |= _visit(s, found, start, k, column, _NONE)
                turn += not improved
        if not improved:
            return lowest


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
