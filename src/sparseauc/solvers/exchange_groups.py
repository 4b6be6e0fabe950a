"""Exchanging groups of columns that enter together, such as the columns of one category.

    minimise F(w) + alpha‖w‖²   subject to   supp(w) a union of groups of at most k columns in all

On a support A a group G that joins lowers the objective by g_Gᵀ S⁻¹ g_G, where S is what A leaves
of the block of H on G. The columns of a group join and leave one by one, by the updates of
``exchange``. As in ``working_set``, groups are exchanged within a working set first, and those
outside it that would help are added until none would.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..moments.base import NotGathered
from ..moments.gram import Gram, StandardisedGram
from .exchange import (
    MIN_RELATIVE_GAIN,
    Indices,
    Solution,
    State,
    explained,
    join,
    least_gain,
    make_state,
    remove,
    solve_on,
)
from .restrictions import Restrictions

Array = npt.NDArray[np.float64]

# Of the eigenvalues of what is left of a group, those below this share of the largest are rounding.
_DEPENDENT = 1e-9
# Columns of the working set at first, and groups that join it after a check at most.
_FIRST, _MOST_ADDED = 500, 20


def exchange_groups(
    gram: StandardisedGram, k: int, alpha: float, restrictions: Restrictions
) -> Solution:
    """Best union of groups with at most ``k`` columns, such that no exchange of two groups helps.

    Parameters
    ----------
    gram : StandardisedGram
    k : int
        Largest number of columns, not of groups.
    alpha : float
        Ridge, on the standardised scale.
    restrictions : Restrictions
        Groups of the columns, and columns whose groups are in every support, and in none.

    Returns
    -------
    Solution
    """
    labels = restrictions.groups
    assert labels is not None
    fixed, excluded = restrictions.masks(gram.n_features)
    members = [np.flatnonzero(labels == label) for label in range(int(labels.max()) + 1)]
    fixed_groups = sorted(set(labels[fixed].tolist()))
    size = sum(members[number].size for number in fixed_groups)
    if size > k:
        raise ValueError(f"the groups always included have {size} columns, more than k={k}")
    # A group that cannot join as a whole cannot join.
    allowed = [
        number
        for number, columns in enumerate(members)
        if number in fixed_groups or (columns.size <= k and not excluded[columns].any())
    ]
    blocks, missing = {}, NotGathered()
    for number in allowed:
        try:
            blocks[number] = gram.block(members[number], members[number])
        except NotGathered as more:
            missing |= more
    if missing.block:
        raise missing
    empty = _Support(gram.delta, np.empty((0, gram.n_features)), alpha)
    worth = {n: empty.gain(members[n], blocks[n]) / members[n].size for n in allowed}
    order = sorted(allowed, key=lambda n: (n not in fixed_groups, -worth[n]))
    chosen, outside = _first_groups(order, members)
    while True:
        solution = _exchange_within(gram, [members[n] for n in chosen], k, alpha, fixed)
        helpful = _find_helpful(gram, solution, members, blocks, outside, labels, k, alpha, fixed)
        if not helpful:
            return solution
        chosen += helpful
        outside = [number for number in outside if number not in helpful]


def _first_groups(order: list[int], members: list[Indices]) -> tuple[list[int], list[int]]:
    """Divide groups, the best first, into a working set and the others."""
    sizes = np.cumsum([members[number].size for number in order])
    count = int(np.searchsorted(sizes, _FIRST, side="right")) + 1
    return order[:count], order[count:]


class _Support:
    """What groups would add to a support, given its rows of H."""

    def __init__(self, gradient: Array, rows: Array, alpha: float, T: Array | None = None) -> None:
        self._gradient, self._rows, self._alpha = gradient, rows, alpha
        self._T = rows if T is None else T

    def gain(self, columns: Indices, block: Array) -> float:
        """Decrease of the objective if a group joined."""
        left = block + self._alpha * np.eye(columns.size)
        left -= self._rows[:, columns].T @ self._T[:, columns]
        values, vectors = np.linalg.eigh((left + left.T) / 2)
        solid = values > _DEPENDENT * max(float(np.trace(block)), 1e-300)
        projected = vectors[:, solid].T @ self._gradient[columns]
        return float(np.sum(projected**2 / values[solid]))


def _find_helpful(
    gram: StandardisedGram, solution: Solution, members: list[Indices],
    blocks: dict[int, Array], outside: list[int], labels: Indices, k: int, alpha: float,
    fixed: npt.NDArray[np.bool_],
) -> list[int]:  # fmt: skip
    """Groups outside the working set that would better a solution, the best first."""
    if not outside:
        return []
    rows = gram.rows(solution.support)
    total = 1.0 - solution.objective
    worth: dict[int, float] = {}
    kept_groups = np.unique(labels[solution.support]).tolist()
    leaving = [None, *(g for g in kept_groups if not fixed[members[g]].any())]
    for out in leaving:
        kept = np.flatnonzero(labels[solution.support] != out)
        A = solution.support[kept]
        M = np.linalg.inv(rows[kept][:, A] + alpha * np.eye(A.size))
        w = -M @ gram.delta[A]
        loss = total + float(gram.delta[A] @ w)
        support = _Support(gram.delta + w @ rows[kept], rows[kept], alpha, M @ rows[kept])
        # Groups take their places whole, though some of their columns may add nothing.
        room = k - sum(members[g].size for g in kept_groups if g != out)
        for number in outside:
            if members[number].size <= room:
                gain = support.gain(members[number], blocks[number]) - loss
                worth[number] = max(worth.get(number, -np.inf), gain)
    least = least_gain(total, _DEPENDENT, MIN_RELATIVE_GAIN)
    helpful = sorted((n for n in worth if worth[n] > least), key=lambda n: -worth[n])
    return helpful[:_MOST_ADDED]


def _exchange_within(
    gram: StandardisedGram, members: list[Indices], k: int, alpha: float,
    fixed: npt.NDArray[np.bool_],
) -> Solution:  # fmt: skip
    """Exchange groups of a working set until nothing helps."""
    W = np.concatenate(members) if members else np.empty(0, np.int64)
    ends = np.cumsum([columns.size for columns in members])
    places = [np.arange(end - m.size, end) for end, m in zip(ends, members, strict=True)]
    part = gram.gram(W)
    solutions = []
    # Two ways to grow, as a large group may be worth more in all and less a column.
    for per_column in (True, False):
        search = _GroupSearch(part, places, k, alpha, fixed[W])
        search.run(per_column=per_column)
        order = np.argsort(W[search.support])
        place = search.support[order]
        block, support = part.H[np.ix_(place, place)], W[place]
        solutions.append(solve_on(block, part.delta[place], support, alpha))
    return min(solutions, key=lambda solution: solution.objective)


class _GroupSearch:
    """Groups of a working set join and leave until no exchange of two helps."""

    def __init__(
        self, gram: Gram, members: list[Indices], k: int, alpha: float,
        fixed: npt.NDArray[np.bool_],
    ) -> None:  # fmt: skip
        self._gram, self._members, self._k, self._alpha = gram, members, k, alpha
        self._blocks = [gram.H[np.ix_(m, m)] for m in members]
        self._sizes = np.array([m.size for m in members], np.int64)
        self._state: State = make_state(gram, alpha, k, fixed, np.zeros_like(fixed))
        self._fixed = {n for n, m in enumerate(members) if fixed[m].any()}
        self._chosen = sorted(self._fixed)
        for number in self._chosen:
            self._join(number)

    @property
    def support(self) -> Indices:
        """Columns of the working set that were chosen."""
        return self._state.support[: self._state.counts[0]].copy()

    def run(self, *, per_column: bool) -> None:
        """Grow, and exchange groups until nothing helps."""
        self._grow(per_column=per_column)
        while self._exchange():
            self._grow(per_column=per_column)

    def _room(self) -> int:
        return self._k - int(self._sizes[self._chosen].sum())

    def _gains(self, room: int) -> Array:
        """Decrease of the objective if a group joined; zero for those in or too large."""
        s = self._state
        count = s.counts[0]
        rows = self._gram.H[s.support[:count]]
        support = _Support(s.g, rows, self._alpha, s.T[:count])
        gains = np.zeros(len(self._members))
        for number in np.flatnonzero(self._sizes <= room).tolist():
            if number not in self._chosen:
                gains[number] = support.gain(self._members[number], self._blocks[number])
        return gains

    def _join(self, number: int) -> None:
        s = self._state
        for column in self._members[number].tolist():
            # A column that the others of its group explain adds nothing and takes no part.
            if s.q[column] > s.floor[column]:
                join(s, column)

    def _leave(self, number: int) -> None:
        for column in np.intersect1d(self._members[number], self.support).tolist():
            remove(self._state, column)

    def _grow(self, *, per_column: bool) -> None:
        """Add groups while one fits that helps."""
        while (room := self._room()) > 0:
            gains = self._gains(room)
            if not gains.size:
                return
            best = int(np.argmax(gains / self._sizes if per_column else gains))
            if not gains[best] > MIN_RELATIVE_GAIN:
                return
            self._join(best)
            self._chosen.append(best)

    def _exchange(self) -> bool:
        """Make the best exchange of one group for another, if any helps."""
        s = self._state
        total = explained(s)
        best_total, best_pair = total + least_gain(total, s.tolerance, s.least), None
        for out in [number for number in self._chosen if number not in self._fixed]:
            self._leave(out)
            self._chosen.remove(out)
            gains = self._gains(self._room())
            gains[out] = 0.0
            into = int(np.argmax(gains))
            if explained(s) + gains[into] > best_total:
                best_total, best_pair = explained(s) + gains[into], (out, into)
            self._join(out)
            self._chosen.append(out)
        if best_pair is None:
            return False
        out, into = best_pair
        self._leave(out)
        self._chosen.remove(out)
        self._join(into)
        if not explained(s) > total:
            # What the formula promised was rounding; it may promise forever.
            self._leave(into)
            self._join(out)
            self._chosen.append(out)
            return False
        self._chosen.append(into)
        return True
