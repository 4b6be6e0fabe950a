"""One list of columns for several classes: each has its own score, and what they gain is added up.

    minimise  Σ_c F_c(w_c) + alpha‖w_c‖²   subject to   w_c zero outside A for all c,  |A| ≤ k

Given A the classes part, so every class keeps the state of ``exchange`` on the same support, and
the gain of a join, a leave or an exchange is the sum of its gains in the classes. As in
``working_set``, columns are exchanged within a working set; then the exact gain of every exchange
with every column outside is computed, columns that would help join the working set, and the search
goes on until none would.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .._jit import kernel
from ..moments.gram import Gram, StandardisedGram
from .exchange import (
    MIN_RELATIVE_GAIN,
    Solution,
    State,
    dependence_tolerance,
    explained,
    join,
    make_state,
    move_to,
    remove,
    solve_on,
)
from .restrictions import Restrictions
from .working_set import FIRST, LEAST_EXPLAINED, KnownH

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

# Lists are searched up to so many columns more than the longest that is asked for, or this share
# of it: what is best at more columns leads down to lists that growing does not find.
_MORE, _MORE_SHARE = 4, 0.25
# Columns of the working set at first for each of the longest list, and those that join it at most.
_PER_COLUMN, _MOST_ADDED = 3, 40


def shared_lists(
    grams: Sequence[StandardisedGram],
    ks: Indices,
    alpha: float,
    restrictions: Restrictions | None = None,
    *,
    first: int = FIRST,
) -> list[list[Solution]]:
    """Find lists for all classes such that no single exchange improves any of them.

    Parameters
    ----------
    grams : sequence of StandardisedGram
        One for each class, of the same columns.
    ks : ndarray of int64, ascending
        Lengths of the lists, fixed columns counted.
    alpha : float
        Ridge above 0, on the standardised scale.
    restrictions : Restrictions, optional
        Columns in every list, and in none.
    first : int
        Columns of the working set at first.

    Returns
    -------
    list of lists of Solution
        For each k the solutions of the classes, all on the same support, which is smaller than k
        where no other column adds anything. A fixed column that is constant is not on it.
    """
    search = _Search(grams, alpha, restrictions or Restrictions(), int(ks[-1]), first)
    while True:
        search.sweep()
        lists = [search.best(k) for k in ks.tolist()]
        if (helpful := search.find_helpful(lists, ks)).size == 0:
            return [search.solve(support) for support in lists]
        search.add(helpful)


def list_by_turns(
    grams: Sequence[StandardisedGram], k: int, alpha: float, restrictions: Restrictions
) -> Indices:
    """Let classes add columns in turn: each the one that gains it most beside those of the list.

    In every round the class that gains most comes first. A summed gain would be spent on columns
    that serve many classes a little; by turns, every class has columns of its own.

    Parameters
    ----------
    grams, alpha
        As of ``shared_lists``.
    k : int
        Length of the list, fixed columns counted.
    restrictions : Restrictions
        Columns in every list, and in none.

    Returns
    -------
    ndarray of int64
        Columns, ascending. Constant columns are on it where they are fixed.
    """
    d = grams[0].n_features
    fixed, excluded = restrictions.masks(d)
    usable = ~excluded & ~fixed & np.all([gram.diagonal > 0 for gram in grams], axis=0)
    gradients = np.array([gram.delta for gram in grams])
    left = np.array([gram.diagonal for gram in grams]) + alpha
    floors = np.array([dependence_tolerance(gram.precision) for gram in grams])[:, None] * left
    factors = np.zeros((len(grams), 0, d))

    def add(column: int) -> None:
        """Take what the column explains off the others, in every class (Cholesky's rows)."""
        nonlocal factors
        rows = np.array([gram.rows(np.array([column]))[0] for gram in grams])
        rows[:, column] += alpha
        rows -= np.einsum("cp,cpj->cj", factors[:, :, column], factors)
        rows /= np.sqrt(rows[:, column])[:, None]
        gradients[...] -= rows * (gradients[:, column] / rows[:, column])[:, None]
        left[...] -= rows**2
        factors = np.concatenate([factors, rows[:, None]], axis=1)
        usable[column] = False

    chosen = restrictions.fixed.tolist()
    for column in chosen:
        if all(gram.diagonal[column] > 0 for gram in grams):
            add(column)
    waiting = np.zeros(len(grams), np.bool_)
    while len(chosen) < k:
        if not waiting.any():
            waiting[:] = True
        gains = _join_gains(gradients, left, floors)
        gains[:, ~usable] = -np.inf
        gains[~waiting] = -np.inf
        number, column = divmod(int(np.argmax(gains)), d)
        if not gains[number, column] > 0:
            break
        add(column)
        chosen.append(column)
        waiting[number] = False
    return np.sort(np.array(chosen, np.int64))


class _Search:
    """The working set, the states of all classes on it, and the best lists found.

    ``_found[k]`` is what the best list of k columns explains, and its places in the working set;
    ``_grow`` and ``_shrink`` are the lengths that a column has yet to join, or to leave.
    """

    def __init__(
        self, grams: Sequence[StandardisedGram], alpha: float, restrictions: Restrictions,
        longest: int, first: int,
    ) -> None:  # fmt: skip
        self._grams, self._alpha = grams, alpha
        self._known = [KnownH(gram) for gram in grams]
        fixed, excluded = restrictions.masks(grams[0].n_features)
        varies = np.all([gram.diagonal > 0 for gram in grams], axis=0)
        self._usable = varies & ~excluded
        self._fixed = varies & fixed
        worth = np.sum([gram.delta**2 / (gram.diagonal + alpha) for gram in grams], axis=0)
        worth[~self._usable] = -1.0
        worth[self._fixed] = np.inf
        by_worth = np.argsort(-worth, kind="stable")[: np.count_nonzero(self._usable)]
        # Constant columns that are fixed take places, too.
        self._taken = int(np.count_nonzero(fixed & ~varies))
        self._lowest = int(np.count_nonzero(self._fixed))
        self._top = longest + max(_MORE, int(_MORE_SHARE * longest))
        self._W = np.empty(0, np.int64)
        self._states: list[State] = []
        self._found: dict[int, tuple[float, Indices]] = {}
        self._grow: set[int] = set()
        self._shrink: set[int] = set()
        self.add(by_worth[: max(first, _PER_COLUMN * self._top)])

    def add(self, columns: Indices) -> None:
        """Take columns into the working set, and go on from the lists found."""
        # At the end: places of earlier columns stay what they are.
        self._W = W = np.concatenate([self._W, np.sort(columns)])
        fixed, nobody = self._fixed[W], np.zeros(W.size, np.bool_)
        self._states = [
            make_state(
                Gram(gram.delta[W], known.block(W), gram.precision),
                self._alpha, min(self._top, W.size) + 1, fixed, nobody,
            )
            for gram, known in zip(self._grams, self._known, strict=True)
        ]  # fmt: skip
        earlier, self._found = self._found, {}
        for places in [np.flatnonzero(fixed), *(places for _, places in earlier.values())]:
            self._move_to(places)
            self._offer()

    def sweep(self) -> None:
        """Grow and shrink the best lists until none improves."""
        top = min(self._top, self._W.size)
        while self._grow or self._shrink:
            for k in range(self._lowest, top + 1):
                if k in self._grow:
                    self._grow.remove(k)
                    self._move_to(self._found[k][1])
                    if k < top and self._join_best():
                        self._offer()
            for k in range(top, self._lowest - 1, -1):
                if k in self._shrink:
                    self._shrink.remove(k)
                    self._move_to(self._found[k][1])
                    if k > self._lowest:
                        self._leave_least()
                        self._offer()

    def best(self, k: int) -> Indices:
        """Columns of the best list of at most k columns, ascending."""
        size = max(size for size in self._found if size <= max(k - self._taken, self._lowest))
        return np.sort(self._W[self._found[size][1]])

    def solve(self, support: Indices) -> list[Solution]:
        """Minimise for each class on a list."""
        return [
            solve_on(gram.block(support, support), gram.delta[support], support, self._alpha)
            for gram in self._grams
        ]

    def find_helpful(self, lists: list[Indices], ks: Indices) -> Indices:
        """Columns outside the working set that would improve a list, most helpful first."""
        outside = self._usable.copy()
        outside[self._W] = False
        worth = np.zeros(outside.size)
        for support, k in zip(lists, ks.tolist(), strict=True) if outside.any() else ():
            # The last row is for columns that join without another leaving.
            gains, total = np.zeros((support.size + 1, outside.size)), 0.0
            for gram in self._grams:
                rows, whole = gram.rows(support), gram.diagonal + self._alpha
                M = np.linalg.inv(rows[:, support] + self._alpha * np.eye(support.size))
                T = M @ rows
                w = -M @ gram.delta[support]
                g, q = gram.delta + w @ rows, whole - np.einsum("pj,pj->j", T, rows)
                floor = dependence_tolerance(gram.precision) * whole
                _add_gains(gains, np.arange(support.size), T, g, q, floor, w, M)
                gains[-1] += _join_gains(g, q, floor)
                total -= float(w @ gram.delta[support])
            gains[:-1][self._fixed[support]] = -np.inf
            if support.size + self._taken >= k:
                gains[-1] = -np.inf
            worth = np.maximum(worth, gains.max(axis=0) / max(total, LEAST_EXPLAINED))
        helpful = np.flatnonzero(outside & (worth > MIN_RELATIVE_GAIN))
        return helpful[np.argsort(-worth[helpful], kind="stable")][:_MOST_ADDED]

    def _move_to(self, places: Indices) -> None:
        for state in self._states:
            move_to(state, places)

    def _places(self) -> Indices:
        state = self._states[0]
        return np.sort(state.support[: state.counts[0]])

    def _explained(self) -> float:
        return float(sum(explained(state) for state in self._states))

    def _join_best(self) -> bool:
        """Add the column that gains most; False where none gains anything."""
        gains = np.zeros(self._W.size)
        for state in self._states:
            gains += _join_gains(state.g, state.q, state.floor)
        column = int(np.argmax(gains))
        if not gains[column] > MIN_RELATIVE_GAIN * self._explained():
            return False
        for state in self._states:
            join(state, column)
        return True

    def _leave_least(self) -> None:
        """Remove the column that costs least."""
        costs = np.zeros(self._W.size)
        for state in self._states:
            k = state.counts[0]
            costs[state.support[:k]] += state.w[:k] ** 2 / state.M.diagonal()[:k]
        places = self._places()
        costs[self._fixed[self._W]] = np.inf
        column = int(places[np.argmin(costs[places])])
        for state in self._states:
            remove(state, column)

    def _offer(self) -> None:
        """Exchange until nothing improves, and keep the list if it beats the one of its length."""
        total = self._settle()
        places = self._places()
        known, _ = self._found.get(places.size, (-np.inf, places))
        if total > known + MIN_RELATIVE_GAIN * total:
            self._found[places.size] = total, places
            self._grow.add(places.size)
            self._shrink.add(places.size)

    def _settle(self) -> float:
        """Exchange columns until no exchange improves the list; return what it explains."""
        total = self._explained()
        while (places := self._places()).size > self._lowest:
            gains = np.zeros((places.size, self._W.size))
            for state in self._states:
                k = state.counts[0]
                rank = np.searchsorted(places, state.support[:k])
                _add_gains(
                    gains, rank, state.T[:k], state.g, state.q, state.floor, state.w[:k], state.M
                )
            gains[self._fixed[self._W[places]]] = -np.inf
            leaves, joins = divmod(int(np.argmax(gains)), self._W.size)
            if not gains[leaves, joins] > MIN_RELATIVE_GAIN * total:
                break
            self._exchange(int(places[leaves]), joins)
            after = self._explained()
            if not after > total:
                # What the formula promised was rounding.
                self._exchange(joins, int(places[leaves]))
                break
            total = after
        return total

    def _exchange(self, leaves: int, joins: int) -> None:
        for state in self._states:
            remove(state, leaves)
            join(state, joins)


def _join_gains(g: Array, q: Array, floor: Array) -> Array:
    """What columns gain by joining, in one class; members have an infinite q and gain nothing."""
    return np.where(q > floor, g**2 / np.maximum(q, floor), -np.inf)


@kernel
def _add_gains(gains, rank, T, g, q, floor, w, M):  # type: ignore[no-untyped-def]
    """Add what exchanges gain in one class; the member at p of the support is in row rank[p]."""
    for p in range(w.size):
        inverse = 1.0 / M[p, p]
        shift = w[p] * inverse
        loss = w[p] * shift
        total, t = gains[rank[p]], T[p]
        for j in range(g.size):
            left = q[j] + t[j] * t[j] * inverse
            if left > floor[j]:
                numerator = g[j] - t[j] * shift
                total[j] += numerator * numerator / left - loss
            else:
                total[j] = -np.inf
