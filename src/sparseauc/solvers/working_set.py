"""The best lists of all lengths among any number of columns, by way of a working set.

Columns are exchanged (``exchange``) within a *working set* W of the columns that differ most
between the classes, with all of H on W in memory. Then the exact gain of every exchange with every
column outside W is computed from the rows of H of the chosen columns (``outside``). Columns that
would help join W, and the search goes on until none would. So the rows of a table are asked two
questions only: H restricted to some columns, and some rows of H.

Lists of all lengths are searched in stages. A stage has a *ceiling*, well above the lengths it
settles: what is best at more columns leads down to lists that growing does not find. The stages
are the same whatever lengths are asked for, so the list of k columns does not depend on them. In a
thorough search the first stage settles all lists that people read, and tries to do without each of
their columns in turn.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..moments.base import Gram, HCache, NotGathered, StandardisedGram
from ..utils.types import Array, Indices, Mask
from .exchange import (
    DEPENDENT,
    MIN_RELATIVE_GAIN,
    Found,
    Solution,
    State,
    escape,
    make_state,
    nothing_found,
    search,
    solve_on,
)
from .exchange.limits import MIN_COST
from .outside import relative_gains
from .restrictions import Restrictions
from .signed import minimise_signed

# Columns that differ by no more than this, on the standardised scale, are equal.
EQUAL = 1e-12
# Columns of the working set at first, and as multiples of a stage's ceiling.
FIRST, _PER_CEILING = 300, 3
# Columns that join the working set after a check: at most, and at least where so many were near.
_MOST_ADDED, _LEAST_ADDED = 100, 40
# Columns are forced into lists of so many columns at most.
_LONGEST_FORCED = 16
# A thorough search does without each column of lists of so many at most: some more than the first
# stage settles, as what is found there leads down to these.
_LONGEST_DROPPED = 28
# The first ceiling of a thorough search, and of a quick one; each is half as much again as the one
# before.
_THOROUGH_CEILING, _QUICK_CEILING = 48, 21


def stages(k_max: int, *, thorough: bool = True) -> Iterator[tuple[range, int]]:
    """Lengths of lists, and the ceiling of the sweeps that settle them, until k_max is reached."""
    ceiling = _THOROUGH_CEILING if thorough else _QUICK_CEILING
    first, last = 0, ceiling // 2 if thorough else 3 * ceiling // 4
    yield range(first, last + 1), ceiling
    while last < k_max:
        ceiling = -(-3 * ceiling // 2)
        first, last = last + 1, 3 * ceiling // 4
        yield range(first, last + 1), ceiling


def exchange_path(
    gram: StandardisedGram,
    k_max: int,
    alpha: float = 0.0,
    restrictions: Restrictions | None = None,
    cache: HCache | None = None,
    *,
    budget: float = np.inf,
    first: int = FIRST,
    thorough: bool = True,
) -> list[Solution]:
    """Best supports of every size up to ``k_max``, each such that no single exchange improves it.

    Parameters
    ----------
    gram : StandardisedGram
        The data.
    k_max : int
        Largest number of columns.
    alpha : float, default=0.0
        Ridge, on the standardised scale.
    restrictions : Restrictions, optional
        Without groups. A fixed column that is constant, or without a ridge depends linearly on
        those before it, adds nothing and takes no place: its coefficient is 0. One whose sign holds
        it at 0 takes its place.
    cache : HCache, optional
        What is known of H; ridges share it.
    budget : float
        What the columns of a list may cost together.
    first : int
        Columns of the working set at first.
    thorough : bool, default=True
        Whether to search on where single exchanges end. This finds lower objectives in about twice
        the time; the AUC of new rows stays the same.

    Returns
    -------
    list of Solution
        One for each k, from the number of fixed columns to ``k_max``; shorter when fewer columns
        carry everything there is to explain, all others depend on them, or signs or the budget let
        no other join.
    """
    return ExchangeSearch(
        gram, alpha, restrictions, cache, budget=budget, first=first, thorough=thorough
    ).path(k_max)


class ExchangeSearch:
    """The search for one ridge and budget: its working set, and the best supports found within it.

    Where ``NotGathered`` is raised, ``path`` goes on from there when it is called again.

    Parameters
    ----------
    gram, alpha, restrictions, cache, budget, first, thorough
        As for ``exchange_path``.
    """

    def __init__(
        self,
        gram: StandardisedGram,
        alpha: float,
        restrictions: Restrictions | None = None,
        cache: HCache | None = None,
        *,
        budget: float = np.inf,
        first: int = FIRST,
        thorough: bool = True,
    ) -> None:
        restrictions = restrictions or Restrictions()
        self._gram, self._alpha, self._first = gram, alpha, first
        self._budget, self._thorough = budget, thorough
        self._cache = HCache(gram) if cache is None else cache
        limited = restrictions.families is not None or restrictions.signs is not None
        paid = restrictions.prices is not None and budget < np.inf
        # None where every list of the fixed columns and none excluded is feasible.
        self._limits = restrictions if limited or paid else None
        self._fixed, self._excluded = np.zeros((2, gram.n_features), np.bool_)
        self._fixed[restrictions.fixed] = self._excluded[restrictions.excluded] = True
        self._usable: Mask = ~self._excluded & (gram.diagonal > 0)
        if self._limits is not None:
            self._usable &= restrictions.within_budget(gram.n_features, budget)
        self._ranked = self._rank_columns()
        self._W = np.empty(0, np.int64)
        self._H = np.empty((0, 0))
        self._place = np.full(gram.n_features, -1, np.int64)
        # Supports with which no column outside the working set is exchanged with a gain.
        self._checked: set[bytes] = set()
        # The best supports of the sizes that are settled, from the smallest on.
        self._supports: list[Indices] = []
        # The largest size that is settled, infinity where columns run out; its stage's ceiling.
        self._last, self._ceiling, self._escaped = -1.0, 0, False
        self._state: State | None = None
        self._found: Found | None = None
        self._n_swept = 0  # columns of the working set at the last sweep
        self._lowest = 0  # size of the smallest support: fixed columns that count
        self._exhausted = False  # no column is left that adds anything to the largest support

    def path(self, k_max: int) -> list[Solution]:
        """Solutions of all sizes up to ``k_max``."""
        for sizes, ceiling in stages(k_max, thorough=self._thorough):
            # A stage has room for all that is fixed.
            if sizes[-1] > self._last and ceiling > np.count_nonzero(self._fixed):
                self._settle(sizes if self._last >= 0 else range(sizes[-1] + 1), ceiling)
        supports = replace_by_first_of_equals(
            self._gram, self._cache, self._supports[: k_max + 1 - self._lowest], self._usable,
            self._fixed, self._W, self._limits, self._budget,
        )  # fmt: skip
        path = [self._solve(support) for support in supports]
        explained = [solution.objective < DEPENDENT for solution in path]
        if any(explained):  # nothing is left for more columns
            path = path[: explained.index(True) + 1]
        for k in range(1, len(path)):
            # Where linear dependence bars the way up, what is best at k may have no successor.
            if path[k].objective > path[k - 1].objective:
                path[k] = path[k - 1]
        return path

    def _rank_columns(self) -> Indices:
        """Columns by what each explains alone, fixed ones first; none that is excluded or constant.

        With a budget, by the better of two ranks: that by gain, and that by gain per cost.
        """
        gram, limits, usable = self._gram, self._limits, self._usable
        gain = np.full(gram.n_features, -1.0)
        np.divide(gram.delta**2, gram.diagonal + self._alpha, out=gain, where=usable)
        if limits is not None and limits.signs is not None:
            gain[usable & (limits.signs * gram.delta > 0)] = 0.0
        if limits is not None and limits.prices is not None and self._budget < np.inf:
            cost = limits.prices.amounts[limits.prices.purchases]
            both = [gain, gain / np.maximum(cost, MIN_COST)]
            ranks = [np.argsort(np.argsort(-one, kind="stable")) for one in both]
            gain = -np.minimum(*ranks).astype(np.float64)
            gain[~usable] = -np.inf
        gain[self._fixed] = np.inf
        n_columns = np.count_nonzero(usable | self._fixed)
        return np.argsort(-gain, kind="stable")[:n_columns]

    def _settle(self, sizes: range, ceiling: int) -> None:
        """Find the best supports of some sizes; fewer where columns run out."""
        if self._ceiling < ceiling:
            wanted = min(max(self._first, _PER_CEILING * ceiling), self._ranked.size)
            wanted = max(wanted, int(np.count_nonzero(self._fixed)))
            if (more := wanted - self._W.size) > 0:  # by their ranks alone
                outside = self._ranked[self._place[self._ranked] < 0]
                self._add(outside[:more])
            self._sweep(ceiling, sizes)
            self._ceiling, self._escaped = ceiling, not self._thorough
        while True:
            assert self._found is not None
            largest = int(np.flatnonzero(self._found.explained > -np.inf)[-1])
            self._exhausted = largest < sizes[-1]
            supports = [self._support(k) for k in sizes if self._lowest <= k <= largest]
            if self._take_in_helpful(supports, largest):
                self._sweep(ceiling, sizes)
            elif self._escaped or not self._escape(ceiling, sizes):
                break
            else:
                self._escaped = True
        self._supports += [np.sort(support) for support in supports]
        self._last = np.inf if self._exhausted else sizes[-1]

    def _support(self, k: int) -> Indices:
        """The best support of k columns, or of fewer where signs let none of k be found."""
        found = self._found
        assert found is not None
        size = k if found.explained[k] > -np.inf else int(np.argmax(found.explained[:k]))
        return self._W[found.supports[size, : found.sizes[size]]]

    def _take_in_helpful(self, supports: list[Indices], largest: int) -> bool:
        """Take in columns outside that would better a support; say whether there are any.

        ``largest`` is the size of the largest support found.
        """
        if self._W.size == self._ranked.size:
            return False
        # What no column outside helped once, none helps later: the working set only grows.
        unchecked = [A for A in supports if A.tobytes() not in self._checked]
        if self._exhausted:
            unchecked.append(self._support(largest))
        if not unchecked:
            return False
        helpful = self._find_helpful(unchecked)
        if helpful.size:
            self._add(helpful)
        else:
            self._checked |= {A.tobytes() for A in unchecked}
        return helpful.size > 0

    def _find_helpful(self, supports: list[Indices]) -> Indices:
        """Columns outside the working set that would better a support, most helpful first."""
        union = np.unique(np.concatenate(supports))
        try:
            self._cache.fetch(union)
        except NotGathered as missing:
            raise missing | NotGathered(ahead=self._ranked_members()) from None
        outside = self._usable & (self._place < 0)
        gains = relative_gains(
            self._gram, self._cache, supports, self._alpha, self._fixed, outside, self._limits,
            self._budget, joins=self._exhausted,
        )  # fmt: skip
        helpful = int(np.count_nonzero(gains > MIN_RELATIVE_GAIN))
        if helpful == 0:
            return np.empty(0, np.int64)
        near = np.flatnonzero(gains > -np.inf)
        order = near[np.argsort(-gains[near], kind="stable")]
        return order[: min(max(helpful, min(near.size, _LEAST_ADDED)), _MOST_ADDED)]

    def _ranked_members(self) -> list[int]:
        """Columns of all supports found, of the smallest first: checks will ask for their rows."""
        found = self._found
        assert found is not None
        known = np.flatnonzero(found.explained > -np.inf).tolist()
        return list(dict.fromkeys(j for k in known for j in self._support(k).tolist()))

    def _sweep(self, ceiling: int, sizes: range) -> None:
        """Search within the working set; supports of fewer columns than these are settled."""
        least = sizes[0]
        d = self._W.size
        top = min(ceiling, d)
        gram = Gram(self._gram.delta[self._W], self._H)
        limits = None
        longest_forced = -1
        if self._limits is not None:
            limits = self._limits.limits_of(self._W, self._budget)
            if np.unique(limits.cost).size > 1 and least <= _LONGEST_FORCED:
                longest_forced = min(sizes[-1], _LONGEST_FORCED)
        state = make_state(
            gram, self._alpha, ceiling + 1, self._fixed[self._W], self._excluded[self._W], limits
        )
        found, earlier = nothing_found(ceiling), self._found
        changed = top + 1
        if earlier is not None:
            # Go on from what was found up to a lower ceiling, or among fewer columns.
            known = earlier.explained.size
            found.explained[:known] = earlier.explained
            found.supports[:known, : known - 1] = earlier.supports
            found.sizes[:known] = earlier.sizes
            found.grow[:known], found.shrink[:known] = earlier.grow, earlier.shrink
            found.force[least:known] = earlier.explained[least:] > -np.inf
            if d > self._n_swept:
                changed = least
        self._n_swept = d
        self._lowest = search(state, found, changed, top, longest_forced)
        self._state, self._found = state, found

    def _escape(self, ceiling: int, sizes: range) -> bool:
        """Search further from where single exchanges end; say whether anything was bettered."""
        found = self._found
        assert found is not None
        before = found.explained.copy()
        dropped = np.arange(1, _LONGEST_DROPPED + 1 if sizes[0] == 0 else 1)
        escape(self._state, found, self._lowest, min(ceiling, self._W.size), dropped)
        return bool((found.explained > before).any())

    def _add(self, columns: Indices) -> None:
        """Add columns, best first, at the end of the working set: places of earlier ones stay."""
        new, old = np.sort(columns), self._W.size
        W = np.concatenate([self._W, new])
        try:
            rows = self._cache.block(new, W)
        except NotGathered as missing:
            raise missing | NotGathered(ahead=columns.tolist()) from None
        H = np.empty((W.size, W.size))
        H[:old, :old], H[old:], H[:old, old:] = self._H, rows, rows[:, :old].T
        self._W, self._H = W, H
        self._place[new] = np.arange(old, W.size)

    def _solve(self, support: Indices) -> Solution:
        """Minimise on a support."""
        place = self._place[support]
        inside = place.min(initial=0) >= 0
        block: Array = self._H[place[:, None], place] if inside else self._cache.block(support)
        delta = self._gram.delta[support]
        solution = solve_on(block, delta, support, self._alpha)
        if self._limits is None or self._limits.right_signs(support, solution.coef):
            return solution
        # Rounding turned a coefficient, or an equal column took a place.
        ridged = block + self._alpha * np.eye(support.size)
        sign = self._limits.signs_of(support)
        coef, explained = minimise_signed(ridged, delta, sign, np.zeros(support.size))
        return Solution(support[coef != 0], coef[coef != 0], 1.0 - explained)


def replace_by_first_of_equals(
    gram: StandardisedGram, cache: HCache, supports: list[Indices], usable: Mask, fixed: Mask,
    working: Indices, limits: Restrictions | None, budget: float,
) -> list[Indices]:  # fmt: skip
    """Put the first of equal columns in place of the one found; with a budget, the cheapest.

    Parameters
    ----------
    gram : StandardisedGram
    cache : HCache
        With the block of H on the working set.
    supports : list of ndarrays of int64
    usable, fixed : bool ndarrays of shape (d,)
        Columns that can be chosen, and columns that stay.
    working : ndarray of int64
        The working set.
    limits : Restrictions or None
        None where all lists are feasible.
    budget : float
        Of the lists.
    """
    equals = _candidates(gram, np.unique(np.concatenate(supports)), usable & ~fixed, usable)
    if not equals:
        return supports
    inside = np.zeros(gram.n_features, np.bool_)
    inside[working] = True
    outside = [column for column, twins in equals.items() if not inside[twins].all()]
    cache.fetch(np.array(outside, np.int64))
    for column, twins in equals.items():
        place = np.array([column])
        row = (cache.part if column in outside else cache.block)(place, twins)[0]
        # What is turned round serves as well, where its sign is turned round too.
        same = np.abs(row) >= gram.diagonal[column] - EQUAL
        if limits is not None:
            signs, families = limits.signs_of(twins), limits.families_of(twins)
            own = twins == column
            same &= signs * np.sign(row) == signs[own]
            # Not one of another family, of which there may be enough.
            same &= families == families[own]
        equals[column] = twins[same]
    return [_first_of(equals, support, limits, budget) for support in supports]


def _candidates(
    gram: StandardisedGram, columns: Indices, replaceable: Mask, usable: Mask
) -> dict[int, Indices]:
    """Columns with the same δ and diagonal as each of some, where there are any."""
    sizes: Array = np.abs(gram.delta)
    by_size = np.argsort(sizes)
    ordered = sizes[by_size]
    found = {}
    asked = columns[replaceable[columns]]
    first = np.searchsorted(ordered, sizes[asked] - EQUAL)
    end = np.searchsorted(ordered, sizes[asked] + EQUAL)
    for at in np.flatnonzero(end - first > 1).tolist():
        column, twins = int(asked[at]), np.sort(by_size[first[at] : end[at]])
        twins = twins[np.abs(gram.diagonal[twins] - gram.diagonal[column]) <= EQUAL]
        twins = twins[usable[twins]]
        if twins.size > 1:
            found[column] = twins
    return found


def _first_of(
    equals: dict[int, Indices], support: Indices, limits: Restrictions | None, budget: float
) -> Indices:
    chosen = support.tolist()
    for column in [j for j in chosen if j in equals]:
        others = np.array([j for j in chosen if j != column], np.int64)
        twins = np.setdiff1d(equals[column], others)
        if limits is not None and limits.prices is not None and budget < np.inf:
            costs = limits.prices.extra(np.union1d(others, limits.fixed), twins)
            twins = twins[costs == costs.min()]
        chosen[chosen.index(column)] = int(twins[0])
    return np.array(sorted(chosen), np.int64)
