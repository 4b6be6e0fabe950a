"""Exchanging groups of columns that enter together, such as the columns of one category.

    minimise F(w) + alpha‖w‖²   subject to   supp(w) a union of groups of at most k columns in all,
                                             whose prices come to at most a budget

On a support A a group G that joins lowers the objective by g_Gᵀ S⁻¹ g_G, where S is what A leaves
of the block of H on G. The columns of a group join and leave one by one, by the updates of
``exchange``. As in ``working_set``, groups are exchanged within a working set first, and those
outside it that would help are added until none would.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._types import Array, Indices
from ..moments.base import NotGathered
from ..moments.gram import Gram, StandardisedGram
from .exchange import (
    LEAST_PRICE,
    MIN_RELATIVE_GAIN,
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

# Of the eigenvalues of what is left of a group, those below this share of the largest are rounding.
_DEPENDENT = 1e-9
# Columns of the working set at first, and groups that join it after a check at most.
_FIRST, _MOST_ADDED = 500, 20


def exchange_groups(
    gram: StandardisedGram, k: int, alpha: float, restrictions: Restrictions, money: float = np.inf
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
    money : float
        What the groups may cost together; with prices.

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
    prices = np.zeros(len(members))
    if restrictions.prices is not None and money < np.inf:
        prices = restrictions.prices.amounts
    left = money - prices[fixed_groups].sum()
    # A group that cannot join as a whole cannot join.
    allowed = [
        number
        for number, columns in enumerate(members)
        if number in fixed_groups
        or (columns.size <= k and prices[number] <= left and not excluded[columns].any())
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
        limits = _Limits(k, money, prices[chosen])
        solution = _exchange_within(gram, [members[n] for n in chosen], limits, alpha, fixed)
        limits = _Limits(k, money, prices)
        helpful = _find_helpful(
            gram, solution, members, blocks, outside, labels, limits, alpha, fixed
        )
        if not helpful:
            return solution
        chosen += helpful
        outside = [number for number in outside if number not in helpful]


def _first_groups(order: list[int], members: list[Indices]) -> tuple[list[int], list[int]]:
    """Divide groups, the best first, into a working set and the others."""
    sizes = np.cumsum([members[number].size for number in order])
    count = int(np.searchsorted(sizes, _FIRST, side="right")) + 1
    return order[:count], order[count:]


class _Limits(NamedTuple):
    """Columns and money at most, and the prices of groups."""

    k: int
    money: float
    prices: Array


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
    blocks: dict[int, Array], outside: list[int], labels: Indices, limits: _Limits, alpha: float,
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
        stay = [g for g in kept_groups if g != out]
        room = limits.k - sum(members[g].size for g in stay)
        money = limits.money - limits.prices[stay].sum()
        for number in outside:
            if members[number].size <= room and limits.prices[number] <= money:
                gain = support.gain(members[number], blocks[number]) - loss
                worth[number] = max(worth.get(number, -np.inf), gain)
    least = least_gain(total, _DEPENDENT, MIN_RELATIVE_GAIN)
    helpful = sorted((n for n in worth if worth[n] > least), key=lambda n: -worth[n])
    return helpful[:_MOST_ADDED]


def _exchange_within(
    gram: StandardisedGram, members: list[Indices], limits: _Limits, alpha: float,
    fixed: npt.NDArray[np.bool_],
) -> Solution:  # fmt: skip
    """Exchange groups of a working set until nothing helps."""
    W = np.concatenate(members) if members else np.empty(0, np.int64)
    ends = np.cumsum([columns.size for columns in members])
    places = [np.arange(end - m.size, end) for end, m in zip(ends, members, strict=True)]
    part = gram.gram(W)
    solutions = []
    # Several ways to grow, as a large group may be worth more in all, and less a column or for
    # its price.
    weights = [np.array([m.size for m in members], np.float64), np.ones(len(members))]
    if limits.money < np.inf:
        weights.append(np.maximum(limits.prices, LEAST_PRICE))
    for weight in weights:
        search = _GroupSearch(part, places, limits, alpha, fixed[W])
        search.run(weight)
        order = np.argsort(W[search.support])
        place = search.support[order]
        block, support = part.H[np.ix_(place, place)], W[place]
        solutions.append(solve_on(block, part.delta[place], support, alpha))
    return min(solutions, key=lambda solution: solution.objective)


class _GroupSearch:
    """Groups of a working set join and leave until no exchange of two helps."""

    def __init__(
        self, gram: Gram, members: list[Indices], limits: _Limits, alpha: float,
        fixed: npt.NDArray[np.bool_],
    ) -> None:  # fmt: skip
        self._gram, self._members, self._limits, self._alpha = gram, members, limits, alpha
        self._blocks = [gram.H[np.ix_(m, m)] for m in members]
        self._sizes = np.array([m.size for m in members], np.int64)
        # One group more than fits is in while another is being chosen to leave.
        most = limits.k + int(self._sizes.max(initial=0))
        self._state: State = make_state(gram, alpha, most, fixed, np.zeros_like(fixed))
        self._fixed = {n for n, m in enumerate(members) if fixed[m].any()}
        self._chosen: list[int] = []
        for number in sorted(self._fixed):
            self._join(number)

    @property
    def support(self) -> Indices:
        """Columns of the working set that were chosen."""
        return self._state.support[: self._state.counts[0]].copy()

    def run(self, weight: Array) -> None:
        """Grow by gains per weight, and exchange groups until nothing helps."""
        self._settle(weight)
        while self._limits.money < np.inf and self._escape(weight):
            pass

    def _settle(self, weight: Array, barred: int = -1) -> None:
        self._grow(weight, barred)
        while self._exchange(barred):
            self._grow(weight, barred)

    def _escape(self, weight: Array) -> bool:
        """Do without each group in turn, then force in each other, until one leads to more."""
        s, before = self._state, sorted(self._chosen)
        least = explained(s) + least_gain(explained(s), s.tolerance, s.least)
        for number in range(len(self._members)):
            if number in self._fixed:
                continue
            if number in before:
                self._move([one for one in before if one != number])
                self._settle(weight, barred=number)
            else:
                self._move([*before, number])
                while not self._fits() and (out := self._worst(number)) >= 0:
                    self._move([one for one in self._chosen if one != out])
            if self._fits():
                self._settle(weight)
                if explained(s) > least:
                    return True
            self._move(before)
        return False

    def _move(self, groups: list[int]) -> None:
        """Make some groups the chosen ones."""
        for number in [one for one in self._chosen if one not in groups]:
            self._leave(number)
        for number in [one for one in groups if one not in self._chosen]:
            self._join(number)

    def _worst(self, kept: int) -> int:
        """The chosen group that is worth least for its price, or a column if those are too many."""
        s = self._state
        weight = self._sizes if self._room() < 0 else np.maximum(self._limits.prices, LEAST_PRICE)
        best, worst = np.inf, -1
        for number in self._chosen:
            at = np.flatnonzero(np.isin(s.support[: s.counts[0]], self._members[number]))
            if number != kept and number not in self._fixed:
                w = s.w[at]
                loss = float(w @ np.linalg.solve(s.M[np.ix_(at, at)], w)) / float(weight[number])
                if loss < best:
                    best, worst = loss, number
        return worst

    def _room(self) -> int:
        return self._limits.k - int(self._sizes[self._chosen].sum())

    def _money(self) -> float:
        return self._limits.money - float(self._limits.prices[self._chosen].sum())

    def _fits(self) -> bool:
        return self._room() >= 0 and self._money() >= 0

    def _gains(self, barred: int) -> Array:
        """Decrease of the objective if a group joined; zero for those in, too large or too dear."""
        s = self._state
        count = s.counts[0]
        rows = self._gram.H[s.support[:count]]
        support = _Support(s.g, rows, self._alpha, s.T[:count])
        gains = np.zeros(len(self._members))
        possible = (self._sizes <= self._room()) & (self._limits.prices <= self._money())
        for number in np.flatnonzero(possible).tolist():
            if number not in self._chosen and number != barred:
                gains[number] = support.gain(self._members[number], self._blocks[number])
        return gains

    def _join(self, number: int) -> None:
        s = self._state
        self._chosen.append(number)
        for column in self._members[number].tolist():
            # A column that the others of its group explain adds nothing and takes no part.
            if s.q[column] > s.floor[column]:
                join(s, column)

    def _leave(self, number: int) -> None:
        self._chosen.remove(number)
        for column in np.intersect1d(self._members[number], self.support).tolist():
            remove(self._state, column)

    def _grow(self, weight: Array, barred: int) -> None:
        """Add groups while one fits that helps."""
        while self._room() > 0:
            gains = self._gains(barred)
            if not gains.size:
                return
            best = int(np.argmax(gains / weight))
            if not gains[best] > MIN_RELATIVE_GAIN:
                return
            self._join(best)

    def _exchange(self, barred: int) -> bool:
        """Make the best exchange of one group for another, if any helps."""
        s = self._state
        total = explained(s)
        best_total, best_pair = total + least_gain(total, s.tolerance, s.least), None
        for out in [number for number in self._chosen if number not in self._fixed]:
            self._leave(out)
            gains = self._gains(barred)
            gains[out] = 0.0
            into = int(np.argmax(gains))
            if explained(s) + gains[into] > best_total:
                best_total, best_pair = explained(s) + gains[into], (out, into)
            self._join(out)
        if best_pair is None:
            return False
        out, into = best_pair
        self._leave(out)
        self._join(into)
        if not explained(s) > total:
            # What the formula promised was rounding; it may promise forever.
            self._leave(into)
            self._join(out)
            return False
        return True
