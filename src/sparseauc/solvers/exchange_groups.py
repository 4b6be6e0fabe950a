"""Exchanging groups of columns that enter together, such as the columns of one category.

    minimise F(w) + alpha‖w‖²   subject to   supp(w) a union of groups of at most k columns in all,
                                             whose prices come to at most a budget

On a support A a group G that joins lowers the objective by g_Gᵀ S⁻¹ g_G, where S is what A leaves
of the block of H on G. As in ``working_set``, groups are exchanged within a working set first, and
those outside it that would help are added until none would.
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg

from ..moments.base import NotGathered
from ..moments.gram import Gram, StandardisedGram
from ..utils.types import Array, Indices, Mask
from .exchange import (
    MIN_RELATIVE_GAIN,
    Solution,
    dependence_tolerance,
    least_gain,
    solve_on,
)
from .exchange.limits import MIN_COST
from .restrictions import Restrictions

# Of the eigenvalues of what is left of a group, those below this share of the largest are rounding.
_DEPENDENT = 1e-9
# Columns of the working set at first, and groups that join it after a check at most.
_FIRST, _MOST_ADDED = 500, 20


def exchange_groups(
    gram: StandardisedGram, k: int, alpha: float, restrictions: Restrictions, money: float = np.inf
) -> Solution:
    """Best union of groups with at most ``k`` columns, such that no exchange of two groups helps.

    With prices, the groups may cost ``money`` together.
    """
    labels = restrictions.groups
    assert labels is not None
    fixed, excluded = restrictions.masks(gram.n_features)
    members = [np.flatnonzero(labels == label) for label in range(int(labels.max()) + 1)]
    must = sorted(set(labels[fixed].tolist()))
    prices = _prices(restrictions, len(members), money)
    limits = _Limits(k, money, np.array([columns.size for columns in members]), prices)
    if (size := limits.sizes[must].sum()) > k:
        raise ValueError(f"the groups always included have {size} columns, more than k={k}")
    # A group that cannot join as a whole cannot join.
    allowed = (limits.sizes <= k) & (prices <= money - prices[must].sum())
    allowed[labels[excluded]] = False
    allowed[must] = True
    blocks = _blocks(gram, {n: members[n] for n in np.flatnonzero(allowed).tolist()})
    empty = _Union(np.empty((0, gram.n_features)), gram.delta, np.empty(0, np.int64), alpha)
    alone = {n: empty.gain(members[n], block) / members[n].size for n, block in blocks.items()}
    order = sorted(blocks, key=lambda n: (n not in must, -alone[n]))
    count = int(np.searchsorted(np.cumsum(limits.sizes[order]), _FIRST, side="right")) + 1
    chosen, outside = order[:count], order[count:]
    while True:
        within = [members[number] for number in chosen]
        part = limits._replace(sizes=limits.sizes[chosen], prices=prices[chosen])
        solution = _exchange_within(gram, within, part, alpha, fixed)
        if not outside:
            return solution
        total = 1.0 - solution.objective
        gains = np.full(len(members), -np.inf)
        listed = np.unique(labels[solution.support]).tolist()
        rows = gram.rows(solution.support)
        for out in [None, *(number for number in listed if number not in must)]:
            kept = np.flatnonzero(labels[solution.support] != out)
            union = _Union(rows[kept], gram.delta, solution.support[kept], alpha)
            # Groups take their places whole, though some of their columns may add nothing.
            fitting = limits.beside([number for number in listed if number != out])
            for number in np.array(outside)[fitting[outside]].tolist():
                gain = union.explained + union.gain(members[number], blocks[number]) - total
                gains[number] = max(gains[number], gain)
        best_first = np.argsort(-gains, kind="stable")[:_MOST_ADDED]
        least = least_gain(total, _DEPENDENT, MIN_RELATIVE_GAIN)
        helpful = best_first[gains[best_first] > least].tolist()
        if not helpful:
            return solution
        chosen += helpful
        outside = [number for number in outside if number not in helpful]


def _prices(restrictions: Restrictions, n_groups: int, money: float) -> Array:
    """What each group costs; nothing where there is no budget."""
    if restrictions.prices is None or money == np.inf:
        return np.zeros(n_groups)
    return restrictions.prices.amounts


def _blocks(gram: StandardisedGram, members: dict[int, Indices]) -> dict[int, Array]:
    """H of the columns of each group; all that is missing is asked for at once."""
    blocks, missing = {}, NotGathered()
    for number, columns in members.items():
        try:
            blocks[number] = gram.block(columns, columns)
        except NotGathered as more:
            missing |= more
    if missing.block:
        raise missing
    return blocks


class _Limits(NamedTuple):
    """Columns and money at most, and the sizes and prices of groups."""

    k: int
    money: float
    sizes: Indices
    prices: Array

    def fit(self, groups: list[int]) -> bool:
        """Whether groups are not too large and not too dear together."""
        return bool(self.sizes[groups].sum() <= self.k and self.prices[groups].sum() <= self.money)

    def beside(self, groups: list[int]) -> Mask:
        """Which groups are neither too large nor too dear beside some."""
        room, money = self.k - self.sizes[groups].sum(), self.money - self.prices[groups].sum()
        fitting: Mask = (self.sizes <= room) & (self.prices <= money)
        return fitting


class _Union:
    """Chosen columns, given their rows of H: what they explain, and what a group would add."""

    def __init__(self, rows: Array, delta: Array, columns: Indices, alpha: float) -> None:
        self._rows, self._alpha = rows, alpha
        M = np.linalg.inv(rows[:, columns] + alpha * np.eye(columns.size))
        w = -M @ delta[columns]
        self._T, self._gradient = M @ rows, delta + w @ rows
        self.explained = -float(delta[columns] @ w)

    def gain(self, columns: Indices, block: Array) -> float:
        """Decrease of the objective if a group joined."""
        left = block + self._alpha * np.eye(columns.size)
        left -= self._rows[:, columns].T @ self._T[:, columns]
        values, vectors = np.linalg.eigh((left + left.T) / 2)
        solid = values > _DEPENDENT * max(float(np.trace(block)), 1e-300)
        projected = vectors[:, solid].T @ self._gradient[columns]
        return float(np.sum(projected**2 / values[solid]))


def _exchange_within(
    gram: StandardisedGram, members: list[Indices], limits: _Limits, alpha: float, fixed: Mask
) -> Solution:
    """Exchange groups of a working set until nothing helps."""
    W = np.concatenate(members) if members else np.empty(0, np.int64)
    places = np.split(np.arange(W.size), np.cumsum(limits.sizes))[: len(members)]
    part = gram.gram(W)
    solutions = []
    # Several ways to grow, as a large group may be worth more in all, and less a column or for
    # its price.
    weights = [limits.sizes.astype(np.float64), np.ones(len(members))]
    if limits.money < np.inf:
        weights.append(np.maximum(limits.prices, MIN_COST))
    must = [number for number, columns in enumerate(members) if fixed[columns].any()]
    for weight in weights:
        place = _GroupSearch(part, places, limits, alpha, must, weight).run()
        place = place[np.argsort(W[place])]
        block, support = part.H[np.ix_(place, place)], W[place]
        solutions.append(solve_on(block, part.delta[place], support, alpha))
    return min(solutions, key=lambda solution: solution.objective)


class _GroupSearch:
    """Groups of a working set join, by gains per weight, and leave until no exchange helps."""

    def __init__(
        self, gram: Gram, members: list[Indices], limits: _Limits, alpha: float, must: list[int],
        weight: Array,
    ) -> None:  # fmt: skip
        self._gram, self._members, self._limits, self._alpha = gram, members, limits, alpha
        self._must, self._weight = must, weight
        self._blocks = [gram.H[np.ix_(m, m)] for m in members]
        self._tolerance = dependence_tolerance(gram.precision)

    def run(self) -> Indices:
        """The columns of the best union found."""
        groups = self._settle(self._must)
        while self._limits.money < np.inf and (better := self._escape(groups)) is not None:
            groups = better
        return self._columns(groups)

    def _settle(self, groups: list[int], barred: int = -1) -> list[int]:
        """Add and exchange groups while that helps."""
        groups = self._grow(groups, barred)
        while (better := self._exchange(groups, barred)) is not None:
            groups = self._grow(better, barred)
        return groups

    def _grow(self, groups: list[int], barred: int) -> list[int]:
        """Add groups while one fits that helps."""
        while (gains := self._gains(groups, barred)[1]).any():
            groups = [*groups, int(np.argmax(gains / self._weight))]
        return groups

    def _exchange(self, groups: list[int], barred: int) -> list[int] | None:
        """Make the best exchange of one group for another; None if none helps."""
        total = self._union(groups).explained
        most, best = total + self._least_gain(total), None
        for out in [number for number in groups if number not in self._must]:
            rest = [number for number in groups if number != out]
            explained, gains = self._gains(rest, barred)
            gains[out] = 0.0
            into = int(np.argmax(gains))
            if explained + gains[into] > most:
                most, best = explained + gains[into], [*rest, into]
        # What the formula promised may be rounding; it may promise forever.
        return best if best is not None and self._union(best).explained > total else None

    def _escape(self, groups: list[int]) -> list[int] | None:
        """Do without each group in turn, or force in another; None if neither leads to more."""
        total = self._union(groups).explained
        for number in [one for one in range(len(self._members)) if one not in self._must]:
            if number in groups:
                tried = self._settle([one for one in groups if one != number], barred=number)
            else:
                tried = self._afford([*groups, number], number)
            if self._limits.fit(tried):
                tried = self._settle(tried)
                if self._union(tried).explained > total + self._least_gain(total):
                    return tried
        return None

    def _afford(self, groups: list[int], kept: int) -> list[int]:
        """Drop groups until the others fit, those first that are worth least for their price.

        Or for their columns, where those are too many.
        """
        sizes, prices = self._limits.sizes, np.maximum(self._limits.prices, MIN_COST)
        while not self._limits.fit(groups):
            rests = {
                out: [number for number in groups if number != out]
                for out in groups
                if out != kept and out not in self._must
            }
            if not rests:
                break
            weight = sizes if sizes[groups].sum() > self._limits.k else prices
            total = self._union(groups).explained
            losses = {n: total - self._union(rest).explained for n, rest in rests.items()}
            groups = rests[min(losses, key=lambda n: losses[n] / weight[n])]
        return groups

    def _least_gain(self, total: float) -> float:
        gain: float = least_gain(total, self._tolerance, MIN_RELATIVE_GAIN)
        return gain

    def _gains(self, groups: list[int], barred: int) -> tuple[float, Array]:
        """What groups explain, and what each other one that fits would add."""
        union, gains = self._union(groups), np.zeros(len(self._members))
        for number in np.flatnonzero(self._limits.beside(groups)).tolist():
            if number not in groups and number != barred:
                gains[number] = union.gain(self._members[number], self._blocks[number])
        gains[gains <= MIN_RELATIVE_GAIN] = 0.0
        return union.explained, gains

    def _union(self, groups: list[int]) -> _Union:
        columns = self._columns(groups)
        return _Union(self._gram.H[columns], self._gram.delta, columns, self._alpha)

    def _columns(self, groups: list[int]) -> Indices:
        """Columns of groups; those that others before them explain take no part."""
        every = [self._members[number] for number in groups]
        columns: Indices = np.concatenate([np.empty(0, np.int64), *every])
        columns = columns[self._gram.H.diagonal()[columns] > 0]
        P = self._gram.H[np.ix_(columns, columns)] + self._alpha * np.eye(columns.size)
        least, kept = self._tolerance * P.diagonal(), np.arange(columns.size)
        while True:
            # The squares of the diagonal are what those before leave of each column.
            factor, failed = scipy.linalg.lapack.dpotrf(P[np.ix_(kept, kept)], lower=1)
            left = factor.diagonal()[: failed - 1 if failed else None] ** 2
            dependent = np.flatnonzero(left <= least[kept[: left.size]])
            if dependent.size == 0 and not failed:
                return np.asarray(columns[kept], np.int64)
            first = dependent[0] if dependent.size else failed - 1
            kept = np.delete(kept, first)
