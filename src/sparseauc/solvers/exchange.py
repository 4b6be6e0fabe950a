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

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg

from .._jit import kernel
from ..moments.gram import StandardisedGram

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# A change must add more than this share of what is explained; less is rounding. So is what a
# standardised difference of means of 1e-12 would explain.
GAIN, _NOTHING = 1e-11, 1e-24
# Less than this share may be nothing but rounding: a column of which less is left over after the
# support explains it is taken for linearly dependent and left out, and when less of the objective
# is left, everything is explained. The second is in units of H's precision, for float32.
_TOLERANCE, _TOLERANCE_UNITS = 5e-7, 1e5
# When less is left of a column that joins or leaves, its update costs so many digits that all is
# computed afresh.
_COSTLY = 1e-4
# Columns handled at a time by the kernels: k rows of T in such slices stay in the cache.
_TILE = 512
# Columns handled at a time when everything is computed afresh, so that no copy of k rows is made.
_WIDE_TILE = 8192
# Updates after which everything is computed afresh.
_REFACTORISE_AFTER = 100
_OVERSHOOT = 5
# Columns that differ by no more than this, on the standardised scale, are equal.
_EQUAL = 1e-12
# Kicks by default: never more than this, and fewer as a kick gets dearer (d·k numbers are read) and
# as its find has more other sizes to be passed on to.
_KICKS, _KICK_WORK = 500, 1e6


@kernel
def _join(a, row, k, support, M, w, T, g, q):  # type: ignore[no-untyped-def]
    """Column ``a`` joins the support of size k; ``row`` is its row of H."""
    d = g.size
    s = q[a]
    w_a = -g[a] / s
    u = np.empty(k)
    h = np.empty(k)
    for p in range(k):
        u[p] = T[p, a]
        h[p] = row[support[p]]
    inverse = 1.0 / s
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
        qs, gs, new = q[low:high], g[low:high], T[k, low:high]
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
    support[k] = a
    # A column of the support is no candidate: infinitely much would be left to explain.
    q[a] = np.inf
    g[a] = 0.0


@kernel
def _leave(p, k, support, M, w, T, g, q):  # type: ignore[no-untyped-def]
    """The column at position ``p`` of the support of size k leaves."""
    d = g.size
    i = support[p]
    inverse = 1.0 / M[p, p]
    w_i = w[p]
    column = np.empty(k)
    for o in range(k):
        column[o] = M[o, p]
    for low in range(0, d, _TILE):
        high = min(low + _TILE, d)
        m = high - low
        gone, qs, gs = T[p, low:high], q[low:high], g[low:high]
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
    q[i] = inverse
    g[i] = -w_i * inverse
    # The last position takes the place that became free.
    last = k - 1
    if p != last:
        support[p] = support[last]
        w[p] = w[last]
        T[p] = T[last]
        for o in range(k):
            M[p, o] = M[last, o]
        for o in range(k):
            M[o, p] = M[o, last]


@kernel
def _best_join(g, q, floor):  # type: ignore[no-untyped-def]
    """Column that lowers the objective most by joining; −1 if none can."""
    best = 0.0
    winner = -1
    for j in range(g.size):
        # Compared without dividing; the first of equal gains wins.
        if q[j] > floor[j] and g[j] * g[j] > best * q[j]:
            best = g[j] * g[j] / q[j]
            winner = j
    return winner


@kernel
def _best_leave(k, support, fixed, M, w):  # type: ignore[no-untyped-def]
    """Position of the column that costs least to do without; −1 if all are fixed."""
    best = np.inf
    winner = -1
    for p in range(k):
        cost = w[p] * w[p] / M[p, p]
        if not fixed[support[p]] and (
            cost < best or (cost == best and support[p] < support[winner])
        ):
            best = cost
            winner = p
    return winner


@kernel
def _best_exchange(k, support, fixed, M, w, T, g, q, floor, least):  # type: ignore[no-untyped-def]
    """Position and column of the best exchange; −1 if none lowers the objective by ``least``."""
    d = g.size
    best = -least
    best_p = -1
    best_j = -1
    for low in range(0, d, _TILE):
        high = min(low + _TILE, d)
        m = high - low
        gs, qs = g[low:high], q[low:high]
        for p in range(k):
            if fixed[support[p]]:
                continue
            t = T[p, low:high]
            inverse = 1.0 / M[p, p]
            shift = w[p] * inverse
            loss = w[p] * shift
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
                    if denominator > floor[low + j]:
                        change = loss - numerator * numerator / denominator
                        if change < best:
                            best = change
                            best_p = p
                            best_j = low + j
    return best_p, best_j


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


class Sweeper:
    """The support and all that follows from it, kept up to date as columns join and leave.

    Parameters
    ----------
    gram : StandardisedGram
    alpha : float
        Ridge.
    k_max : int
        Largest support.
    fixed : bool ndarray of shape (d,)
        Columns that never leave.
    excluded : bool ndarray of shape (d,)
        Columns that never join.
    """

    def __init__(
        self, gram: StandardisedGram, alpha: float, k_max: int, fixed: Mask, excluded: Mask
    ) -> None:
        d = gram.n_features
        self.gram = gram
        self.alpha = alpha
        self.fixed = fixed
        self.k = 0
        self.support = np.empty(k_max, np.int64)
        self.M = np.empty((k_max, k_max))
        self.w = np.empty(k_max)
        self.T = np.empty((k_max, d))
        self.g = gram.delta.copy()
        self.q = gram.diagonal + alpha
        # What is left of a column must exceed this for it to join; nothing of an excluded one does.
        self._tolerance = max(_TOLERANCE, _TOLERANCE_UNITS * gram.precision)
        self._whole = self.q.copy()
        self.floor = self._tolerance * self.q
        self.floor[excluded | (gram.diagonal <= 0)] = np.inf
        # A ridge is left of every column.
        self._may_depend = bool((self.floor[np.isfinite(self.floor)] > alpha).any())
        self._updates = 0

    @property
    def members(self) -> Indices:
        """The columns of the support, in no particular order."""
        return self.support[: self.k]

    @property
    def value(self) -> float:
        """F(w) + alpha‖w‖² at the minimiser on the support: 1 + δ·w."""
        return 1.0 - self.explained

    @property
    def explained(self) -> float:
        """What the support takes off the objective, which is 1 without columns: −δ·w."""
        return -float(self.gram.delta[self.members] @ self.w[: self.k])

    def least_gain(self, explained: float) -> float:
        """What a change must gain, given what is explained; less is rounding."""
        if 1.0 - explained < self._tolerance:
            return np.inf
        return max(GAIN * explained, _NOTHING / (1.0 + self.alpha))

    @property
    def dependent(self) -> bool:
        """Whether next to nothing is left of a member after the others explain it: 1/M_ii."""
        if not self._may_depend:
            return False
        left = 1.0 / self.M.diagonal()[: self.k]
        return bool((left < self._tolerance * self._whole[self.members]).any())

    def join(self, column: int) -> None:
        """Add a column."""
        if self.k == self.support.size:  # the kernel would write past the end
            raise ValueError(f"the support is full with {self.k} columns")
        row = self.gram.row(column, self._likeliest, frozenset(self.members.tolist()))
        costly = self.q[column] < _COSTLY * self._whole[column]
        _join(column, row, self.k, self.support, self.M, self.w, self.T, self.g, self.q)
        self.k += 1
        self._updates += 1
        if costly or self._updates >= _REFACTORISE_AFTER:
            self.refactorise()

    def leave(self, position: int) -> None:
        """Remove the column at a position of the support."""
        costly = self.M[position, position] * self._whole[self.support[position]] * _COSTLY > 1
        _leave(position, self.k, self.support, self.M, self.w, self.T, self.g, self.q)
        self.k -= 1
        self._updates += 1
        if costly:
            self.refactorise()

    def remove(self, column: int) -> None:
        """Remove a column."""
        self.leave(int(np.flatnonzero(self.members == column)[0]))

    def go_to(self, target: Indices) -> None:
        """Make ``target`` the support, exchanging only what differs."""
        # Sets, not NumPy's set routines: a path goes to thousands of supports of a few dozen.
        present, wanted = set(self.members.tolist()), set(target.tolist())
        for column in sorted(present - wanted):
            self.remove(column)
        for column in sorted(wanted - present):
            self.join(column)

    def grow(self) -> bool:
        """Add the column that helps most; False when none is left that adds anything."""
        least = self.least_gain(self.explained)
        barred: dict[int, float] = {}
        grown = False
        while not grown:
            column = _best_join(self.g, self.q, self.floor)
            if column < 0 or self.g[column] ** 2 <= least * self.q[column]:
                break
            self.join(column)
            grown = not self.dependent
            if not grown:
                self.remove(column)
                self._bar(column, barred)
        self._unbar(barred)
        return grown

    def shrink(self) -> bool:
        """Remove the column that helps least; False when all that are left are fixed."""
        position = _best_leave(self.k, self.support, self.fixed, self.M, self.w)
        if position < 0:
            return False
        self.leave(position)
        return True

    def settle(self) -> None:
        """Exchange columns until no single exchange lowers the objective."""
        explained = self.explained
        barred: dict[int, float] = {}
        while True:
            position, column = _best_exchange(
                self.k, self.support, self.fixed, self.M, self.w, self.T, self.g, self.q,
                self.floor, self.least_gain(explained),
            )  # fmt: skip
            if position < 0:
                break
            left = int(self.support[position])
            self.leave(position)
            self.join(column)
            before, explained = explained, self.explained
            if self.dependent or not explained > before:
                # What the formula promised was rounding. It may promise forever.
                self.remove(column)
                self.join(left)
                self._bar(column, barred)
                explained = before
        self._unbar(barred)

    def _bar(self, column: int, barred: dict[int, float]) -> None:
        """Keep a column from joining until ``_unbar``."""
        barred[column] = self.floor[column]
        self.floor[column] = np.inf

    def _unbar(self, barred: dict[int, float]) -> None:
        for column, floor in barred.items():
            self.floor[column] = floor

    def refactorise(self) -> None:
        """Compute everything afresh from H: rank-one updates gather rounding."""
        self._updates = 0
        k, members = self.k, self.members
        M = np.linalg.inv(self.gram.rows(members, members) + self.alpha * np.eye(k))
        self.M[:k, :k] = (M + M.T) / 2
        self.w[:k] = -self.M[:k, :k] @ self.gram.delta[members]
        self.q[:] = self.gram.diagonal + self.alpha
        self.g[:] = self.gram.delta
        for low in range(0, self.g.size, _WIDE_TILE):
            tile = slice(low, low + _WIDE_TILE)
            rows = self.gram.rows(members, tile)
            self.T[:k, tile] = self.M[:k, :k] @ rows
            self.q[tile] -= np.einsum("kd,kd->d", self.T[:k, tile], rows)
            self.g[tile] += self.w[:k] @ rows
        self.q[members] = np.inf
        self.g[members] = 0.0

    def _likeliest(self) -> Indices:
        """Columns that would help most, best first, for fetching rows of H ahead of need."""
        gains = np.zeros_like(self.g)
        np.divide(self.g**2, self.q, out=gains, where=self.q > self.floor)
        count = min(self.gram.candidates, gains.size)
        top = np.argpartition(gains, gains.size - count)[gains.size - count :]
        return top[np.argsort(-gains[top], kind="stable")]


class _Best:
    """The best support found of each size."""

    def __init__(self) -> None:
        self.supports: dict[int, tuple[float, Indices]] = {}

    def offer(self, sweeper: Sweeper) -> bool:
        """Settle, and keep the support if it beats the one known; otherwise go to that one."""
        sweeper.settle()
        k, explained = sweeper.k, sweeper.explained
        least = sweeper.least_gain(explained)
        if k not in self.supports or explained > self.supports[k][0] + least:
            self.supports[k] = explained, np.sort(sweeper.members)
            return True
        sweeper.go_to(self.supports[k][1])
        return False


def exchange_path(
    gram: StandardisedGram,
    k_max: int,
    alpha: float = 0.0,
    *,
    fixed: npt.ArrayLike = (),
    excluded: npt.ArrayLike = (),
    wanted: npt.ArrayLike | None = None,
    kicks: int | None = None,
) -> list[Solution]:
    """Best supports of every size up to ``k_max``, each such that no single exchange improves it.

    k goes up, adding the column that helps most, and down, dropping the one that helps least, with
    exchanges until nothing improves at every stop, until a round betters no k. Then members of the
    supports wanted are kicked out in turn and kept out until the others have settled, which leads
    out of supports that only a double exchange would improve.

    Parameters
    ----------
    gram : StandardisedGram
        The data; it keeps rows of H for ``k_max`` + 5 columns at least.
    k_max : int
        Largest number of columns.
    alpha : float, default=0.0
        Ridge, on the standardised scale.
    fixed, excluded : array-like of int
        Columns in every support, and in none. A fixed column that is constant, or without a ridge
        depends linearly on those before it, adds nothing and takes no place: its coefficient is 0.
    wanted : array-like of int, optional
        Numbers of columns that matter, all by default: kicks are spent on these, largest first.
    kicks : int, optional
        Kicks to try at most. By default as many as take about as long as the rounds before.

    Returns
    -------
    list of Solution
        One for each k, from the number of fixed columns to ``k_max``; shorter when fewer columns
        carry everything there is to explain, or all others depend on them.
    """
    d = gram.n_features
    # A little beyond: what is best at k + 5 leads down to supports that growing does not find.
    top = min(k_max + _OVERSHOOT, d)
    masks = np.zeros((2, d), np.bool_)
    for mask, columns in zip(masks, (fixed, excluded), strict=True):
        mask[np.asarray(columns, np.int64)] = True
    sweeper = Sweeper(gram, alpha, top, *masks)
    for column in np.flatnonzero(masks[0]).tolist():
        if sweeper.q[column] > sweeper.floor[column]:
            sweeper.join(column)
            if sweeper.dependent:
                sweeper.remove(column)
    best = _Best()
    best.offer(sweeper)
    _sweep_up_and_down(sweeper, best, top)
    sizes = list(range(k_max + 1)) if wanted is None else np.asarray(wanted, np.int64).tolist()
    if kicks is None:
        kicks = min(_KICKS, int(_KICK_WORK / (d * k_max * len(sizes))))
    while kicks > 0 and (tried := _kick(sweeper, best, sizes, kicks)):
        kicks -= abs(tried)
        if tried < 0:  # nothing better was found
            break
        _sweep_up_and_down(sweeper, best, top)
    supports = [support for k, (_, support) in sorted(best.supports.items()) if k <= k_max]
    supports = _first_of_equals(gram, supports, *masks)
    path = [solve_on(gram, support, alpha) for support in supports]
    for k in range(1, len(path)):
        # Where linear dependence bars the way up, what is best at k may have no successor.
        if path[k].objective > path[k - 1].objective:
            path[k] = path[k - 1]
    return path


def _sweep_up_and_down(sweeper: Sweeper, best: _Best, top: int) -> None:
    """Go up to ``top`` columns and back down until a round improves nothing."""
    lowest = min(best.supports)
    improved = True
    while improved:
        improved = False
        while sweeper.k < top and sweeper.grow():
            improved |= best.offer(sweeper)
        while sweeper.k > lowest and sweeper.shrink():
            improved |= best.offer(sweeper)


def _kick(sweeper: Sweeper, best: _Best, sizes: Iterable[int], most: int) -> int:
    """Try to do without each member of the supports; count the tries, negative if none helped."""
    tried, improved = 0, False
    for k in sorted(set(sizes) & set(best.supports), reverse=True):
        for column in best.supports[k][1].tolist():
            if sweeper.fixed[column] or column not in best.supports[k][1] or tried >= most:
                continue
            tried += 1
            sweeper.go_to(best.supports[k][1])
            sweeper.remove(column)
            floor, sweeper.floor[column] = sweeper.floor[column], np.inf
            if sweeper.grow():
                sweeper.settle()
            sweeper.floor[column] = floor
            if sweeper.k == k:
                improved |= best.offer(sweeper)
    return tried if improved else -tried


def _first_of_equals(
    gram: StandardisedGram, supports: list[Indices], fixed: Mask, excluded: Mask
) -> list[Indices]:
    """Put the first of equal columns in place of the one found: which it was is rounding."""
    equals: dict[int, list[int]] = {}
    for column in np.unique(np.concatenate(supports)).tolist():
        alike = np.abs(np.abs(gram.delta) - abs(gram.delta[column])) <= _EQUAL
        alike &= np.abs(gram.diagonal - gram.diagonal[column]) <= _EQUAL
        alike &= ~excluded
        if np.count_nonzero(alike) > 1:
            row = gram.rows(np.array([column]))[0]
            # Either sign: what is turned round serves as well.
            alike &= np.abs(row) >= gram.diagonal[column] - _EQUAL
        equals[column] = np.flatnonzero(alike).tolist()
    tidied = []
    for support in supports:
        chosen = set(support.tolist())
        for column in support[~fixed[support]].tolist():
            earlier = (j for j in equals[column] if j < column and j not in chosen)
            if (first := next(earlier, None)) is not None:
                chosen.remove(column)
                chosen.add(first)
        tidied.append(np.array(sorted(chosen), np.int64))
    return tidied


def solve_on(gram: StandardisedGram, support: Indices, alpha: float) -> Solution:
    """Minimise on a support from H itself, free of the rounding that updates gather."""
    if support.size == 0:
        return Solution(support, np.empty(0), 1.0)
    block = gram.rows(support, support) + alpha * np.eye(support.size)
    delta = gram.delta[support]
    coef = -scipy.linalg.solve(block, delta, assume_a="pos", check_finite=False)
    return Solution(support, coef, float(1.0 + delta @ coef))
