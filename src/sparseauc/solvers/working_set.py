"""The best lists of all lengths among any number of columns or groups, by way of a working set.

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

from abc import ABC, abstractmethod
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
# Columns that join the working set after a check: at least where so many were near, and at most.
_ADDED = 40, 100
# Units are forced into lists of so many at most, where they cost unlike amounts.
_LONGEST_FORCED = 16
# A thorough search does without each unit of lists of so many at most, and of lists longer by so
# many than the first stage settles: what is found there leads down to these.
_LONGEST_DROPPED, _BEYOND = 28, 4
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


class ListSearch(ABC):
    """The lists of units that minimise a quadratic and a ridge.

    They are searched within a working set, which grows until no unit outside it helps.

    A unit is a column or a group of columns. Where ``NotGathered`` is raised, the search goes on
    from there when it is called again.

    Parameters
    ----------
    ranked : ndarray of int64
        Units that can be on a list, best first, those that are fixed before all others.
    fixed : bool ndarray of shape (n_units,)
        Units on every list.
    sizes : int64 ndarray of shape (n_units,)
        Columns of each unit.
    gram : StandardisedGram
    alpha : float
        Ridge, on the standardised scale.
    cache : HCache, optional
        What is known of H.
    first : int
        Columns of the working set at first.
    thorough : bool
        Whether to search on where single exchanges end.
    """

    def __init__(
        self,
        ranked: Indices,
        fixed: Mask,
        sizes: Indices,
        gram: StandardisedGram,
        alpha: float,
        cache: HCache | None,
        *,
        first: int,
        thorough: bool,
    ) -> None:
        self._ranked = ranked
        self._fixed = fixed
        self._sizes = sizes
        self._gram = gram
        self._alpha = alpha
        self._cache = HCache(gram) if cache is None else cache
        self._first = first
        self._thorough = thorough
        # Units of the working set, their columns, and H of these.
        self._W = self._columns = np.empty(0, np.int64)
        self._H = np.empty((0, 0))
        self._place = np.full(fixed.size, -1, np.int64)
        # Lists with which no unit outside the working set is exchanged with a gain.
        self._checked: set[bytes] = set()
        # The best lists of the lengths that are settled, from the shortest on.
        self._lists: list[Indices] = []
        # The largest length that is settled, infinity where units run out; its stage's ceiling.
        self._last, self._ceiling, self._escaped = -1.0, 0, False
        self._state: State | None = None
        self._found: Found | None = None
        self._n_swept = 0  # units of the working set at the last sweep
        self._exhausted = False  # no unit is left that adds anything to the longest list
        # Length of the shortest list: fixed units that count.
        self.lowest = 0

    @abstractmethod
    def _make_state(self, ceiling: int) -> State:
        """Start with an empty list of units of the working set."""

    @abstractmethod
    def _gains_outside(self, lists: list[Indices]) -> Array:
        """Largest gain of an exchange with each unit, as a share of what is explained.

        −infinity for units of the working set, and for those with which no exchange helps. Where
        units run out, they may join the last list too.
        """

    @abstractmethod
    def _solve(self, lists: list[Indices]) -> list[Solution]:
        """Minimise on lists."""

    def path(self, k_max: int) -> list[Solution]:
        """Solutions of all lengths up to ``k_max``, from the shortest on."""
        for sizes, ceiling in stages(k_max, thorough=self._thorough):
            # A stage has room for all that is fixed.
            if sizes[-1] > self._last and ceiling > np.count_nonzero(self._fixed):
                self._settle(sizes if self._last >= 0 else range(sizes[-1] + 1), ceiling)
        path = self._solve(self._lists[: k_max + 1 - self.lowest])
        explained = [solution.objective < DEPENDENT for solution in path]
        if any(explained):  # nothing is left for more columns
            path = path[: explained.index(True) + 1]
        for k in range(1, len(path)):
            # Where linear dependence bars the way up, what is best at k may have no successor.
            if path[k].objective > path[k - 1].objective:
                path[k] = path[k - 1]
        return path

    def _settle(self, sizes: range, ceiling: int) -> None:
        """Find the best lists of some lengths; fewer where units run out."""
        if self._ceiling < ceiling:
            n_columns = max(self._first, _PER_CEILING * ceiling)
            sizes_of_ranked = np.cumsum(self._sizes[self._ranked])
            wanted = int(np.searchsorted(sizes_of_ranked, n_columns, "right"))
            wanted = max(wanted, int(np.count_nonzero(self._fixed)))
            if (more := wanted - self._W.size) > 0:  # by their ranks alone
                self._add(self._ranked[self._place[self._ranked] < 0][:more])
            self._sweep(ceiling, sizes)
            self._ceiling, self._escaped = ceiling, not self._thorough
        while True:
            assert self._found is not None
            longest = int(np.flatnonzero(self._found.explained > -np.inf)[-1])
            self._exhausted = longest < sizes[-1]
            lists = [self._list(k) for k in sizes if self.lowest <= k <= longest]
            if self._take_in_helpful(lists, longest):
                self._sweep(ceiling, sizes)
            elif self._escaped or not self._escape(ceiling, sizes):
                break
            else:
                self._escaped = True
        self._lists += [np.sort(units) for units in lists]
        self._last = np.inf if self._exhausted else sizes[-1]

    def _list(self, k: int) -> Indices:
        """The best list of k units, or of fewer where signs let none of k be found."""
        found = self._found
        assert found is not None
        size = k if found.explained[k] > -np.inf else int(np.argmax(found.explained[:k]))
        return self._W[found.lists[size, : found.sizes[size]]]

    def _take_in_helpful(self, lists: list[Indices], longest: int) -> bool:
        """Take in units outside that would better a list, most helpful first; say if there are any.

        ``longest`` is the length of the longest list found.
        """
        if self._W.size == self._ranked.size:
            return False
        # What no unit outside helped once, none helps later: the working set only grows.
        unchecked = [units for units in lists if units.tobytes() not in self._checked]
        if self._exhausted:
            unchecked.append(self._list(longest))
        if not unchecked:
            return False
        gains = self._gains_outside(unchecked)
        helpful = int(np.count_nonzero(gains > MIN_RELATIVE_GAIN))
        if helpful == 0:
            self._checked |= {units.tobytes() for units in unchecked}
            return False
        least, most = (-(-n * self._sizes.size // self._sizes.sum()) for n in _ADDED)
        near = np.flatnonzero(gains > -np.inf)
        count = min(max(helpful, min(near.size, least)), most)
        # Those that gain as much as the last of so many: all need not be sorted.
        near = near[gains[near] >= np.partition(gains[near], -count)[-count]]
        self._add(near[np.argsort(-gains[near], kind="stable")][:count])
        return True

    def _ranked_units(self) -> Indices:
        """Units of all lists found, those of the shortest first: checks will ask for their rows."""
        found = self._found
        assert found is not None
        known = np.flatnonzero(found.explained > -np.inf).tolist()
        every = dict.fromkeys(unit for k in known for unit in self._list(k).tolist())
        return np.array(list(every), np.int64)

    def _sweep(self, ceiling: int, sizes: range) -> None:
        """Search within the working set; lists of fewer units than these are settled."""
        least = sizes[0]
        n_units = self._W.size
        top = min(ceiling, n_units)
        state = self._make_state(ceiling)
        longest_forced = -1
        if np.unique(state.limits.cost).size > 1 and least <= _LONGEST_FORCED:
            longest_forced = min(sizes[-1], _LONGEST_FORCED)
        found = Found(
            explained=np.full(ceiling + 1, -np.inf),
            lists=np.zeros((ceiling + 1, ceiling), np.int64),
            sizes=np.zeros(ceiling + 1, np.int64),
            grow=np.zeros(ceiling + 1, np.bool_),
            shrink=np.zeros(ceiling + 1, np.bool_),
            force=np.zeros(ceiling + 1, np.bool_),
        )
        earlier, changed = self._found, top + 1
        if earlier is not None:
            # Go on from what was found up to a lower ceiling, or among fewer units.
            known = earlier.explained.size
            found.explained[:known] = earlier.explained
            found.lists[:known, : known - 1] = earlier.lists
            found.sizes[:known] = earlier.sizes
            found.grow[:known], found.shrink[:known] = earlier.grow, earlier.shrink
            found.force[least:known] = earlier.explained[least:] > -np.inf
            if n_units > self._n_swept:
                changed = least
        self._n_swept = n_units
        self.lowest = search(state, found, changed, top, longest_forced)
        self._state, self._found = state, found

    def _escape(self, ceiling: int, sizes: range) -> bool:
        """Search further from where single exchanges end; say whether anything was bettered."""
        found = self._found
        assert found is not None
        before = found.explained.copy()
        longest = min(_LONGEST_DROPPED, sizes[-1] + _BEYOND) if self._last < 0 else 0
        dropped = np.arange(max(sizes[0], 1), longest + 1)
        escape(self._state, found, self.lowest, min(ceiling, self._W.size), dropped)
        return bool((found.explained > before).any())

    def _columns_of(self, units: Indices) -> Indices:
        """Columns of some units, one unit after the other."""
        return units

    def _add(self, units: Indices) -> None:
        """Add units, best first, at the end of the working set: places of earlier ones stay."""
        new, old = np.sort(units), self._columns.size
        columns = self._columns_of(new)
        every = np.concatenate([self._columns, columns])
        try:
            rows = self._cache.block(columns, every)
        except NotGathered as missing:
            raise missing | NotGathered(ahead=self._columns_of(units).tolist()) from None
        H = np.empty((every.size, every.size))
        H[:old, :old], H[old:], H[:old, old:] = self._H, rows, rows[:, :old].T
        self._columns, self._H = every, H
        self._place[new] = np.arange(self._W.size, self._W.size + new.size)
        self._W = np.concatenate([self._W, new])

    def _fetch(self, lists: list[Indices]) -> None:
        """Have the rows of H of all columns of some lists."""
        union = np.unique(self._columns_of(np.concatenate(lists)))
        try:
            self._cache.fetch(union)
        except NotGathered as missing:
            ahead = self._columns_of(self._ranked_units())
            raise missing | NotGathered(ahead=ahead.tolist()) from None


class ExchangeSearch(ListSearch):
    """The search for one ridge and budget among single columns.

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
        self._budget = budget
        limited = restrictions.families is not None or restrictions.signs is not None
        paid = restrictions.costs is not None and budget < np.inf
        # None where every list of the fixed columns and none excluded is feasible.
        self._limits = restrictions if limited or paid else None
        fixed, self._usable = np.zeros(gram.n_features, np.bool_), gram.diagonal > 0
        fixed[restrictions.fixed] = True
        self._usable[restrictions.excluded] = False
        if self._limits is not None:
            self._usable &= restrictions.within_budget(gram.n_features, budget)
        ranked = _rank_columns(gram, alpha, fixed, self._usable, self._limits, budget)
        sizes = np.ones(fixed.size, np.int64)
        super().__init__(ranked, fixed, sizes, gram, alpha, cache, first=first, thorough=thorough)

    def _make_state(self, ceiling: int) -> State:
        W = self._W
        limits = None if self._limits is None else self._limits.limits_of(W, self._budget)
        return make_state(
            Gram(self._gram.delta[W], self._H), self._alpha, ceiling + 1, self._fixed[W],
            np.zeros(W.size, np.bool_), limits,
        )  # fmt: skip

    def _gains_outside(self, lists: list[Indices]) -> Array:
        self._fetch(lists)
        limits = None
        if self._limits is not None:
            limits = self._limits.limits_of(np.arange(self._usable.size), self._budget)
        return relative_gains(
            self._gram, self._cache, lists, self._alpha, self._fixed,
            self._usable & (self._place < 0), limits, joins=self._exhausted,
        )  # fmt: skip

    def _solve(self, lists: list[Indices]) -> list[Solution]:
        supports = replace_by_first_of_equals(
            self._gram, self._cache, lists, self._usable, self._fixed, self._W, self._limits,
            self._budget,
        )  # fmt: skip
        path = []
        for support in supports:
            place, delta = self._place[support], self._gram.delta[support]
            inside = place.min(initial=0) >= 0
            block: Array = self._H[place[:, None], place] if inside else self._cache.block(support)
            solution = solve_on(block, delta, support, self._alpha)
            if self._limits is not None and not self._limits.right_signs(support, solution.coef):
                # Rounding turned a coefficient, or an equal column took a place.
                ridged, sign = (
                    block + self._alpha * np.eye(support.size),
                    self._limits.signs_of(support),
                )
                coef, explained = minimise_signed(ridged, delta, sign, np.zeros(support.size))
                solution = Solution(support[coef != 0], coef[coef != 0], 1.0 - explained)
            path.append(solution)
        return path


def _rank_columns(
    gram: StandardisedGram, alpha: float, fixed: Mask, usable: Mask, limits: Restrictions | None,
    budget: float,
) -> Indices:  # fmt: skip
    """Columns by what each explains alone, fixed ones first; none that is not usable.

    With a budget, by the better of two ranks: that by gain, and that by gain per cost.
    """
    gain = np.full(gram.n_features, -1.0)
    np.divide(gram.delta**2, gram.diagonal + alpha, out=gain, where=usable)
    if limits is not None and limits.signs is not None:
        gain[usable & (limits.signs * gram.delta > 0)] = 0.0
    if limits is not None and limits.costs is not None and budget < np.inf:
        gain = by_better_rank(gain, limits.costs)
        gain[~usable] = -np.inf
    gain[fixed] = np.inf
    return np.argsort(-gain, kind="stable")[: np.count_nonzero(usable | fixed)]


def by_better_rank(gain: Array, cost: Array) -> Array:
    """Rank by the better of two ranks, with the best at 0 and all others below it."""
    both = [gain, gain / np.maximum(cost, MIN_COST)]
    ranks = [np.argsort(np.argsort(-one, kind="stable")) for one in both]
    return -np.minimum(*ranks).astype(np.float64)


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
    # Columns with the same δ and diagonal, where there are any.
    equals: dict[int, Indices] = {}
    asked = np.unique(np.concatenate(supports))
    asked = asked[usable[asked] & ~fixed[asked]]
    size: Array = np.abs(gram.delta)
    by_size = np.argsort(size)
    first, end = (np.searchsorted(size[by_size], size[asked] + off) for off in (-EQUAL, EQUAL))
    for at in np.flatnonzero(end - first > 1).tolist():
        column, twins = int(asked[at]), np.sort(by_size[first[at] : end[at]])
        twins = twins[np.abs(gram.diagonal[twins] - gram.diagonal[column]) <= EQUAL]
        twins = twins[usable[twins]]
        if twins.size > 1:
            equals[column] = twins
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


def _first_of(
    equals: dict[int, Indices], support: Indices, limits: Restrictions | None, budget: float
) -> Indices:
    chosen = support.tolist()
    for column in [j for j in chosen if j in equals]:
        others = np.array([j for j in chosen if j != column], np.int64)
        twins = np.setdiff1d(equals[column], others)
        if limits is not None and limits.costs is not None and budget < np.inf:
            costs = limits.extra_costs(np.union1d(others, limits.fixed), twins)
            twins = twins[costs == costs.min()]
        chosen[chosen.index(column)] = int(twins[0])
    return np.array(sorted(chosen), np.int64)
