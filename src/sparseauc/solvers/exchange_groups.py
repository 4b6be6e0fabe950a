"""Exchanging groups of columns that enter together, such as the columns of one category.

    minimise F(w) + alpha‖w‖²   subject to   supp(w) a union of groups of at most k columns in all,
                                             whose costs come to at most a budget

On a support A a group G that joins lowers the objective by g_Gᵀ S⁻¹ g_G, where S is what A leaves
of the block of H on G. ``greedy`` exchanges the groups.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..moments.base import HCache, NotGathered, StandardisedGram
from ..utils.types import Array, Indices, Mask
from .exchange import (
    DEPENDENT,
    MIN_RELATIVE_GAIN,
    Solution,
    dependence_tolerance,
    least_gain,
    solve_on,
)
from .exchange.limits import MIN_COST
from .greedy import independent, search_lists
from .restrictions import Restrictions

# Of the eigenvalues of what is left of a group, those below this share of the largest are rounding.
_DEPENDENT = 1e-9
# Columns of the working set at first.
_FIRST = 500


def exchange_groups(
    gram: StandardisedGram,
    k: int,
    alpha: float,
    restrictions: Restrictions,
    budget: float = np.inf,
    *,
    cache: HCache | None = None,
    thorough: bool = True,
) -> Solution:
    """Best union of groups with at most ``k`` columns, such that no exchange of two groups helps.

    With costs, those of the groups are at most ``budget`` together. ``cache`` keeps rows of H for
    further searches; ``thorough`` is that of ``search_lists``.
    """
    labels = restrictions.groups
    assert labels is not None
    fixed, excluded = restrictions.masks(gram.n_features)
    members = [np.flatnonzero(labels == label) for label in range(int(labels.max()) + 1)]
    sizes = np.array([columns.size for columns in members])
    always = sorted(set(labels[fixed].tolist()))
    if (size := sizes[always].sum()) > k:
        raise ValueError(f"the groups always included have {size} columns, more than k={k}")
    costs = np.zeros(sizes.size)
    if restrictions.prices is not None and budget < np.inf:
        costs = restrictions.prices.amounts
    # A group that cannot join as a whole cannot join.
    usable = (sizes <= k) & (costs <= budget - costs[always].sum())
    usable[labels[excluded]] = False
    usable[always] = True
    cache = HCache(gram) if cache is None else cache

    def rows(columns: Indices) -> Array:
        cache.fetch(columns)
        return cache.rows[cache.positions(columns)]

    problem = _Groups(
        rows, gram.delta, gram.diagonal, _blocks(gram, members, usable), members, sizes, costs, k,
        budget, always, usable, alpha, dependence_tolerance(gram.precision), gram,
    )  # fmt: skip
    alone = problem.gains([], None, usable)[1] / sizes
    alone[always] = np.inf
    order = np.argsort(-np.where(usable, alone, -1.0), kind="stable")[: np.count_nonzero(usable)]
    count = int(np.searchsorted(np.cumsum(sizes[order]), _FIRST, side="right")) + 1
    found = search_lists(problem, np.sort(order[:count]), thorough=thorough)
    union = problem.among(np.sort(np.array(found, np.int64)))
    place = union.columns(list(range(len(found))))
    support = _join([members[unit] for unit in sorted(found)])[place]
    order = np.argsort(support)
    place, support = place[order], support[order]
    return solve_on(union.rows(place)[:, place], union.delta[place], support, alpha)


def _join(members: list[Indices]) -> Indices:
    """The columns of some groups, one group after the other."""
    return np.concatenate([np.empty(0, np.int64), *members])


def _blocks(gram: StandardisedGram, members: list[Indices], usable: Mask) -> list[Array]:
    """H of the columns of each group that is usable; all that is missing is asked for at once."""
    blocks, missing = [np.empty((0, 0))] * len(members), NotGathered()
    for number in np.flatnonzero(usable).tolist():
        try:
            blocks[number] = gram.block(members[number], members[number])
        except NotGathered as more:
            missing |= more
    if missing.block:
        raise missing
    return blocks


class _Groups(NamedTuple):
    """The choice of groups, a ``GreedyProblem``."""

    rows: Callable[[Indices], Array]  # rows of H of some columns
    delta: Array
    diagonal: Array
    blocks: list[Array]  # H of each group
    members: list[Indices]  # columns of each group
    sizes: Indices
    costs: Array
    k: int
    budget: float
    always: list[int]
    usable: Mask
    alpha: float
    tolerance: float
    gram: StandardisedGram

    @property
    def has_costs(self) -> bool:
        """Whether there is a budget."""
        return self.budget < np.inf

    @property
    def rates(self) -> list[Array]:
        """Columns, groups and costs: a large group may gain more in all, and less a column."""
        rates = [self.sizes.astype(np.float64), np.ones(self.sizes.size)]
        return [*rates, np.maximum(self.costs, MIN_COST)] if self.has_costs else rates

    def value(self, units: list[int]) -> float:
        """What groups take off the objective."""
        columns = self.columns(units)
        P = self.rows(columns)[:, columns] + self.alpha * np.eye(columns.size)
        return float(self.delta[columns] @ np.linalg.solve(P, self.delta[columns]))

    def gains(self, units: list[int], out: int | None, candidates: Mask) -> tuple[float, Array]:
        """What groups without one explain, and what each candidate would add."""
        columns = self.columns([unit for unit in units if unit != out])
        rows = self.rows(columns)
        M = np.linalg.inv(rows[:, columns] + self.alpha * np.eye(columns.size))
        w = -M @ self.delta[columns]
        T, gradient, gains = M @ rows, self.delta + w @ rows, np.zeros(self.sizes.size)
        for number in np.flatnonzero(candidates).tolist():
            group, block = self.members[number], self.blocks[number]
            left = block + self.alpha * np.eye(group.size) - rows[:, group].T @ T[:, group]
            values, vectors = np.linalg.eigh((left + left.T) / 2)
            solid = values > _DEPENDENT * max(float(np.trace(block)), 1e-300)
            projected = vectors[:, solid].T @ gradient[group]
            gains[number] = np.sum(projected**2 / values[solid])
        gains[gains <= MIN_RELATIVE_GAIN] = 0.0
        return -float(self.delta[columns] @ w), gains

    def fitting(self, units: list[int]) -> Mask:
        """Groups that are neither too large nor cost too much beside some."""
        room, left = self.k - self.sizes[units].sum(), self.budget - self.costs[units].sum()
        fitting: Mask = self.usable & (self.sizes <= room) & (self.costs <= left)
        return fitting

    def exceeded(self, units: list[int]) -> Array | None:
        """Columns where those are too many, else costs; None if groups are feasible."""
        if self.sizes[units].sum() > self.k:
            return self.sizes.astype(np.float64)
        over_budget = self.costs[units].sum() > self.budget
        return np.maximum(self.costs, MIN_COST) if over_budget else None

    def least_gain(self, value: float) -> float:
        """What a change must gain; less is rounding."""
        gain: float = least_gain(value, self.tolerance, MIN_RELATIVE_GAIN)
        return gain

    def among(self, units: Indices) -> _Groups:
        """The choice among some groups, whose columns have all of H in memory."""
        members = [self.members[unit] for unit in units.tolist()]
        W, sizes = _join(members), self.sizes[units]
        part = self.gram.gram(W)
        return self._replace(
            rows=part.H.__getitem__, delta=part.delta, diagonal=part.H.diagonal(),
            blocks=[self.blocks[unit] for unit in units.tolist()],
            members=np.split(np.arange(W.size), np.cumsum(sizes))[:-1], sizes=sizes,
            costs=self.costs[units], always=np.searchsorted(units, self.always).tolist(),
            usable=self.usable[units], tolerance=DEPENDENT,
        )  # fmt: skip

    def columns(self, units: list[int]) -> Indices:
        """Columns of groups; those that others before them explain take no part."""
        columns = _join([self.members[unit] for unit in units])
        columns = columns[self.diagonal[columns] > 0]
        P = self.rows(columns)[:, columns] + self.alpha * np.eye(columns.size)
        return columns[independent(P, self.tolerance)]
