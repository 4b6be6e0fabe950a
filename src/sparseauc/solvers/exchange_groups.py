"""Exchanging groups of columns that enter together, such as the columns of one category.

    minimise F(w) + alpha‖w‖²   subject to   supp(w) a union of at most k groups,
                                             whose costs come to at most a budget

On a support A a group G that joins lowers the objective by g_Gᵀ S⁻¹ g_G, where S is what A leaves
of the block of H on G. ``greedy`` exchanges the groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..moments.base import HCache, NotGathered, StandardisedGram
from ..utils.jit import kernel
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
from .greedy import ListSearch, independent
from .restrictions import Restrictions

# What is left of a column of a group is rounding below this share of the group's trace.
_OF_GROUP = 1e-9
# Columns of the working set at first.
_FIRST = 500
_NO_UNITS: Indices = np.empty(0, np.int64)


class GroupSearch:
    """The search for lists of groups; what it computes of H serves further lists and ridges.

    Parameters
    ----------
    gram : StandardisedGram
    restrictions : Restrictions
        With groups, each of which counts as one.
    cache : HCache, optional
        Keeps what is computed of H.
    """

    def __init__(
        self, gram: StandardisedGram, restrictions: Restrictions, cache: HCache | None = None
    ) -> None:
        labels = restrictions.groups
        assert labels is not None
        self._gram, self._prices = gram, restrictions.prices
        self._cache = HCache(gram) if cache is None else cache
        order = np.argsort(labels, kind="stable")
        self._members = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
        fixed, excluded = restrictions.masks(gram.n_features)
        self._always = sorted(set(labels[fixed].tolist()))
        self._usable = np.ones(len(self._members), np.bool_)
        self._usable[labels[excluded]] = False
        self._usable[self._always] = True
        self._blocks: list[Array] | None = None

    def path(self, ks: Sequence[int], alpha: float, *, thorough: bool = True) -> list[Solution]:
        """Best unions of at most so many groups each, such that no exchange of two groups helps.

        Lists grow from one to the next; ``thorough`` ones are searched on from there, as
        ``search_lists`` does.
        """
        problem, known = self._problem(alpha), self._always
        search, found = self._search(problem), dict[int, list[int]]()
        for k in range(self._check_length(ks[0]), ks[-1] + 1):
            problem.length.k = k
            known = search.run(known, thorough=False)
            if k in ks:
                found[k] = search.run(known) if thorough else known
        return [self._solution(found[k], alpha) for k in ks]

    def solve(self, k: int, alpha: float, budget: float, *, thorough: bool = True) -> Solution:
        """Best union of at most ``k`` groups whose costs are at most ``budget`` together."""
        self._check_length(k)
        assert self._prices is not None
        costs = self._prices.amounts
        usable = self._usable & (costs <= budget - costs[self._always].sum())
        usable[self._always] = True
        problem = self._problem(alpha)
        problem = problem._replace(length=_Length(k), usable=usable, costs=costs, budget=budget)
        return self._solution(self._search(problem).run(thorough=thorough), alpha)

    def _check_length(self, k: int) -> int:
        """Refuse lists too short for what is always included; return the shortest that is not."""
        if len(self._always) > k:
            raise InputError(f"{len(self._always)} groups are always included, more than k={k}")
        return max(len(self._always), 1)

    def _search(self, problem: _Groups) -> ListSearch:
        """Search among the groups that are best alone at first."""
        usable = problem.usable
        alone = problem.gains([], None, usable)[1]
        alone[self._always] = np.inf
        order = np.argsort(-np.where(usable, alone, -1.0), kind="stable")
        order = order[: np.count_nonzero(usable)]
        sizes = np.diff(problem.starts)[order]
        count = int(np.searchsorted(np.cumsum(sizes), _FIRST, side="right")) + 1
        return ListSearch(problem, np.sort(order[:count]))

    def _solution(self, units: list[int], alpha: float) -> Solution:
        """Minimise on some groups; columns that others before them explain take no part."""
        columns = np.concatenate([_NO_UNITS, *(self._members[unit] for unit in sorted(units))])
        columns = columns[self._gram.diagonal[columns] > 0]
        block = self._cache.block(columns)
        kept = independent(block + alpha * np.eye(columns.size), DEPENDENT)
        kept = kept[np.argsort(columns[kept])]
        support = columns[kept]
        return solve_on(block[kept[:, None], kept], self._gram.delta[support], support, alpha)

    def _problem(self, alpha: float) -> _Groups:
        """The choice among all groups, before a length is set."""
        gram, cache = self._gram, self._cache
        if self._blocks is None:
            self._blocks = _blocks(gram, self._members, self._usable)
        blocks = [block.ravel() for block in self._blocks]

        def rows(columns: Indices) -> tuple[Array, Indices]:
            cache.fetch(columns)
            return cache.rows, cache.positions(np.arange(gram.n_features))

        return _Groups(
            None, rows, gram.delta, np.concatenate(self._members), _starts(self._members),
            np.concatenate(blocks), _starts(blocks), np.zeros(len(blocks)), _Length(), np.inf,
            self._always, self._usable, alpha, dependence_tolerance(gram.precision), cache,
        )  # fmt: skip


def _starts(parts: list[Any]) -> Indices:
    """Where each of some arrays begins once they are joined, and where the last one ends."""
    return np.cumsum([0, *(part.size for part in parts)])


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


@dataclass
class _Length:
    """How many groups a list may have, for a problem and its parts alike."""

    k: int = 0


class _Groups(NamedTuple):
    """The choice of groups, a ``GreedyProblem``."""

    H: Array | None  # if all of it is in memory
    # Gives a matrix with the rows of H of some columns, and where the row of each column is in it.
    rows: Callable[[Indices], tuple[Array, Indices]]
    delta: Array
    order: Indices  # the columns, group by group
    starts: Indices  # where those of each group begin, and where the last one ends
    blocks: Array  # H of the groups, one after the other
    block_starts: Indices
    costs: Array
    length: _Length
    budget: float
    always: list[int]
    usable: Mask
    alpha: float
    tolerance: float
    cache: HCache

    @property
    def has_costs(self) -> bool:
        """Whether there is a budget."""
        return self.budget < np.inf

    @property
    def rates(self) -> list[Array]:
        """A group takes one place, and has costs."""
        place = np.ones(self.usable.size)
        return [place, np.maximum(self.costs, MIN_COST)] if self.has_costs else [place]

    def value(self, units: list[int]) -> float:
        """What groups take off the objective."""
        return self._explain(units, _NO_UNITS)[0]

    def gains(self, units: list[int], out: int | None, candidates: Mask) -> tuple[float, Array]:
        """What groups without one explain, and what each candidate would add."""
        asked = np.flatnonzero(candidates)
        base, found = self._explain([unit for unit in units if unit != out], asked)
        gains = np.zeros(candidates.size)
        gains[asked] = found
        return base, gains

    def exchanges(self, units: list[int], candidates: Mask) -> tuple[float, Array, Array]:
        """What groups explain, and without each of them; what each candidate would add to that."""
        asked = np.flatnonzero(candidates)
        gains = np.zeros((len(units), candidates.size))
        value, bases, found = _exchange(*self._arguments(units, asked))
        if bases.size:
            gains[:, asked] = found
        else:  # some columns depend on others: the formula cannot take out a group
            each = [self.gains(units, out, candidates) for out in units]
            bases, gains = np.array([one[0] for one in each]), np.array([one[1] for one in each])
        if self.has_costs:
            left = self.budget - self.costs[units].sum() + self.costs[units]
            gains[self.costs > left[:, None]] = 0.0
        for place, unit in enumerate(units):
            if unit in self.always:
                bases[place], gains[place] = 0.0, 0.0
        return value, bases, gains

    def fitting(self, units: list[int]) -> Mask:
        """Groups that can join some others within the length and the budget."""
        left = self.budget - self.costs[units].sum() if len(units) < self.length.k else -1.0
        fitting: Mask = self.usable & (self.costs <= left)
        return fitting

    def exceeded(self, units: list[int]) -> Array | None:
        """Places where groups are too many, else costs; None if groups are feasible."""
        if len(units) > self.length.k:
            return self.rates[0]
        return self.rates[-1] if self.costs[units].sum() > self.budget else None

    def least_gain(self, value: float) -> float:
        """What a change must gain; less is rounding."""
        gain: float = least_gain(value, self.tolerance, MIN_RELATIVE_GAIN)
        return gain

    def among(self, units: Indices) -> _Groups:
        """The choice among some groups, whose columns have all of H in memory."""
        members = [self.columns([unit]) for unit in units.tolist()]
        W = self.columns(units.tolist())
        blocks = [
            self.blocks[self.block_starts[unit] : self.block_starts[unit + 1]]
            for unit in units.tolist()
        ]
        return self._replace(
            H=self.cache.block(W), delta=self.delta[W], order=np.arange(W.size),
            starts=_starts(members), blocks=np.concatenate([self.blocks[:0], *blocks]),
            block_starts=_starts(blocks), costs=self.costs[units],
            always=np.searchsorted(units, self.always).tolist(), usable=self.usable[units],
            tolerance=DEPENDENT,
        )  # fmt: skip

    def columns(self, units: list[int]) -> Indices:
        """Columns of groups, one group after the other."""
        parts = [self.order[self.starts[unit] : self.starts[unit + 1]] for unit in units]
        return np.concatenate([_NO_UNITS, *parts])

    def _explain(self, units: list[int], asked: Indices) -> tuple[float, Array]:
        found: tuple[float, Array] = _explain(*self._arguments(units, asked))
        return found

    def _arguments(self, units: list[int], asked: Indices) -> tuple[Any, ...]:
        """What kernels take; H has a row for each column, or where it says."""
        H, place = (self.H, self.order) if self.H is not None else self.rows(self.columns(units))
        return (
            H, place, self.delta, np.array(units, np.int64), asked, self.order, self.starts,
            self.blocks, self.block_starts, self.alpha, self.tolerance,
        )  # fmt: skip


@kernel
def _explain(  # type: ignore[no-untyped-def]
    H, place, delta, units, asked, order, starts, blocks, block_starts, alpha, tolerance
):
    """What groups explain, and what each group asked would add.

    Columns that others before them explain take no part.
    """
    chosen, _ = _columns_of(units, order, starts)
    done, left, slopes = _factor(H, place, delta, chosen, alpha, tolerance)
    gains = np.zeros(asked.size)
    for number in range(asked.size):
        group = order[starts[asked[number]] : starts[asked[number] + 1]]
        block = blocks[block_starts[asked[number]] : block_starts[asked[number] + 1]]
        rest, own = _what_is_left(done, group, block, alpha)
        gains[number] = _add(rest, left[group], own)
    return np.sum(slopes**2), gains


@kernel
def _exchange(  # type: ignore[no-untyped-def]
    H, place, delta, units, asked, order, starts, blocks, block_starts, alpha, tolerance
):
    """The same, and without each of the groups; nothing of that where columns take no part.

    Where M is the inverse of H of the chosen columns with the ridge and w = Mδ, what is left
    without a group O is what was left, and the products of M_O·rows and w_O by M_OO⁻¹.
    """
    chosen, ends = _columns_of(units, order, starts)
    done, left, slopes = _factor(H, place, delta, chosen, alpha, tolerance)
    n, n_out = chosen.size, units.size
    explained = np.sum(slopes**2)
    if done.shape[0] < n:
        return explained, np.empty(0), np.empty((0, 0))
    inverse, taken = _invert(H, place, chosen, done, alpha)
    weights = inverse.T @ slopes
    bases, gains = np.full(n_out, explained), np.zeros((n_out, asked.size))
    for out in range(n_out):
        first = ends[out - 1] if out else 0
        _take_out(inverse[first:, first : ends[out]], taken[first : ends[out]],
                  weights[first : ends[out]])  # fmt: skip
        bases[out] -= np.sum(weights[first : ends[out]] ** 2)
    for number in range(asked.size):
        group = order[starts[asked[number]] : starts[asked[number] + 1]]
        block = blocks[block_starts[asked[number]] : block_starts[asked[number] + 1]]
        rest, own = _what_is_left(done, group, block, alpha)
        for out in range(n_out):
            first = ends[out - 1] if out else 0
            more, slope = rest.copy(), left[group]
            for i in range(first, ends[out]):
                for a in range(group.size):
                    slope[a] += taken[i, group[a]] * weights[i]
                    for b in range(a + 1):
                        more[a, b] += taken[i, group[a]] * taken[i, group[b]]
            gains[out, number] = _add(more, slope, own)
    return explained, bases, gains


@kernel
def _invert(H, place, chosen, done, alpha):  # type: ignore[no-untyped-def]
    """L⁻¹ and L⁻ᵀ of what was done, where LLᵀ is H of the chosen columns with the ridge."""
    n, d = done.shape
    inverse, taken = np.zeros((n, n)), np.zeros((n, d))
    for i in range(n):
        pivot = H[place[chosen[i]], chosen[i]] + alpha
        for j in range(i):
            pivot -= done[j, chosen[i]] ** 2
            for c in range(j + 1):
                inverse[i, c] -= done[j, chosen[i]] * inverse[j, c]
        inverse[i, i] = 1.0
        for c in range(i + 1):
            inverse[i, c] /= np.sqrt(pivot)
            share = inverse[i, c]
            for column in range(d):
                taken[c, column] += share * done[i, column]
    return inverse, taken


@kernel
def _take_out(inverse, taken, weights):  # type: ignore[no-untyped-def]
    """Multiply by C⁻¹, where CCᵀ are the products of the columns of a group of L⁻¹."""
    size, d = taken.shape
    root = np.zeros((size, size))
    for i in range(size):
        for j in range(i + 1):
            value = 0.0
            for c in range(i, inverse.shape[0]):
                value += inverse[c, i] * inverse[c, j]
            for c in range(j):
                value -= root[i, c] * root[j, c]
            root[i, j] = np.sqrt(value) if i == j else value / root[j, j]
        for j in range(i):
            weights[i] -= root[i, j] * weights[j]
            for c in range(d):
                taken[i, c] -= root[i, j] * taken[j, c]
        weights[i] /= root[i, i]
        for c in range(d):
            taken[i, c] /= root[i, i]


@kernel
def _columns_of(units, order, starts):  # type: ignore[no-untyped-def]
    """Columns of groups, one group after the other, and where each group ends."""
    ends = np.cumsum(starts[units + 1] - starts[units])
    columns, n = np.empty(ends[-1] if ends.size else 0, np.int64), 0
    for unit in units:
        for j in range(starts[unit], starts[unit + 1]):
            columns[n] = order[j]
            n += 1
    return columns, ends


@kernel
def _factor(H, place, delta, chosen, alpha, tolerance):  # type: ignore[no-untyped-def]
    """L⁻¹ rows, what is left of δ, and L⁻¹δ, where LLᵀ is H of the chosen columns and the ridge."""
    done, slopes = np.empty((chosen.size, delta.size)), np.empty(chosen.size)
    left, n = delta.copy(), 0
    for i in range(chosen.size):
        column = chosen[i]
        row = H[place[column]]
        pivot = row[column] + alpha
        least = tolerance * pivot
        for j in range(n):
            pivot -= done[j, column] ** 2
        if row[column] <= 0.0 or pivot <= least:
            continue
        root = np.sqrt(pivot)
        slopes[n] = left[column] / root
        for c in range(delta.size):
            done[n, c] = row[c]
        for j in range(n):
            share = done[j, column]
            for c in range(delta.size):
                done[n, c] -= share * done[j, c]
        for c in range(delta.size):
            done[n, c] /= root
            left[c] -= slopes[n] * done[n, c]
        n += 1
    return done[:n], left, slopes[:n]


@kernel
def _what_is_left(done, group, block, alpha):  # type: ignore[no-untyped-def]
    """What chosen columns leave of H of a group with the ridge, and the trace of its own part."""
    size, trace = group.size, 0.0
    rest = np.zeros((size, size))
    for a in range(size):
        trace += block[a * size + a]
        for b in range(a + 1):
            rest[a, b] = block[a * size + b] + (alpha if a == b else 0.0)
            for j in range(done.shape[0]):
                rest[a, b] -= done[j, group[a]] * done[j, group[b]]
    return rest, trace


@kernel
def _add(rest, slopes, trace):  # type: ignore[no-untyped-def]
    """What a group adds, given the lower half of what is left of H and its slopes; overwrites both.

    Its columns that others before them explain take no part.
    """
    gain, least = 0.0, _OF_GROUP * max(trace, 1e-300)
    for a in range(slopes.size):
        for b in range(a):
            if rest[b, b] > 0.0:
                for c in range(b):
                    rest[a, b] -= rest[a, c] * rest[b, c]
                rest[a, b] /= rest[b, b]
                rest[a, a] -= rest[a, b] ** 2
                slopes[a] -= rest[a, b] * slopes[b]
            else:
                rest[a, b] = 0.0
        if rest[a, a] <= least:
            rest[a, a] = slopes[a] = 0.0
            continue
        rest[a, a] = np.sqrt(rest[a, a])
        slopes[a] /= rest[a, a]
        gain += slopes[a] ** 2
    return gain if gain > MIN_RELATIVE_GAIN else 0.0
