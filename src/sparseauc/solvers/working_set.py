"""The best lists of all lengths among any number of units, by way of a working set.

Units are columns or groups of columns. They are exchanged (``exchange``) within a
*working set* of those that differ most between the classes, with all of H on their
columns in memory. Then the exact gain of every exchange with every unit outside the
working set is computed from the rows of H of the chosen columns. Units that would help
join the working set, and the search goes on until none would. So the rows of a table
are asked two questions only: H restricted to some columns, and some rows of H.

Lists of all lengths are searched in stages. A stage has a *ceiling*, well above the
lengths it settles: what is best at more columns leads down to lists that growing does
not find. The stages are the same whatever lengths are asked for, so the list of k units
does not depend on them. In a thorough search the first stage settles all lists that
people read, and tries to do without each of their units in turn; lists half as long
again are asked for units outside as well, and sweeps lead down from this ceiling and
from the next.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from ..moments.base import Gram, StandardisedGram
from ..utils.types import Array, Indices, Mask
from .exchange import (
    DEPENDENT,
    MIN_RELATIVE_GAIN,
    ExchangeLimits,
    Found,
    Solution,
    State,
    make_plan,
    make_state,
    search,
    solve_on,
)
from .exchange.limits import MIN_COST
from .restrictions import Restrictions
from .signed import minimise_signed

# Columns of the working set, as multiples of a stage's ceiling, where that is more than
# at first.
_PER_CEILING = 3
# Columns that join the working set after a check: at least where so many were near, and
# at most.
_ADDED = 40, 100
# The first ceiling of a thorough search, and of a quick one (exchange_optimality).
_THOROUGH_CEILING = 48
_QUICK_CEILING = 21


def _next_ceiling(ceiling: int) -> int:
    return -(-3 * ceiling // 2)


def _longest_checked(ceiling: int) -> int:
    """Length of the longest list with which units outside the working set are exchanged."""
    return 3 * ceiling // 4


def stages(k_max: int, *, thorough: bool = True) -> Iterator[tuple[range, int]]:
    """Lengths of lists, and the ceiling of the sweeps that settle them, until k_max is reached."""
    if thorough:
        ceiling = _THOROUGH_CEILING
        last = ceiling // 2
    else:
        ceiling = _QUICK_CEILING
        last = _longest_checked(ceiling)
    yield range(last + 1), ceiling
    while last < k_max:
        ceiling = _next_ceiling(ceiling)
        first = last + 1
        last = _longest_checked(ceiling)
        yield range(first, last + 1), ceiling


class ListSearch(ABC):
    """The lists of units that minimise a quadratic and a ridge, for one ridge and budget.

    They are searched within a working set, which grows until no unit outside it helps.
    Where parts of H must be gathered first, the search goes on from there when it is
    called again.

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
    restrictions : Restrictions
        Of the units, with one budget at most.
    first : int
        Columns of the working set at first.
    thorough : bool
        Whether to search on where single exchanges end.

    Attributes
    ----------
    lowest : int
        Length of the shortest list: the number of fixed units that count.
    """

    def __init__(
        self,
        ranked: Indices,
        fixed: Mask,
        sizes: Indices,
        gram: StandardisedGram,
        alpha: float,
        restrictions: Restrictions,
        *,
        first: int,
        thorough: bool,
    ) -> None:
        self._ranked = ranked
        self._fixed = fixed
        self._sizes = sizes
        self._gram = gram
        self._alpha = alpha
        self._restrictions = restrictions
        self._first = first
        self._thorough = thorough
        self.lowest = 0
        # Units of the working set, whether each unit is one, their columns, and H of
        # these.
        self._working_set = np.empty(0, np.int64)
        self._is_working = np.zeros(fixed.size, np.bool_)
        self._columns = np.empty(0, np.int64)
        self._H = np.empty((0, 0))
        # Lists with which no unit outside the working set is exchanged with a gain.
        self._checked: set[bytes] = set()
        # The best lists of the lengths that are settled, from the shortest on.
        self._lists: list[Indices] = []
        # The largest length that is settled; infinity where units run out.
        self._last = -1.0
        # The ceiling of the stage that is searched, and whether it was escaped from.
        self._ceiling = 0
        self._escaped = False
        # The last search, and the units of the working set then.
        self._state: State | None = None
        self._limits: ExchangeLimits | None = None
        self._found: Found | None = None
        self._n_searched = 0
        # Whether no unit is left that adds anything to the longest list.
        self._exhausted = False

    @abstractmethod
    def _columns_of(self, units: Indices) -> Indices:
        """Columns of some units, one unit after the other."""

    @abstractmethod
    def _gains_outside(self, lists: list[Indices]) -> Array:
        """Largest gain of an exchange with each unit, as a share of what is explained.

        −infinity for units of the working set, and for those with which no exchange
        helps. Where units run out, they may join the last list too.
        """

    @abstractmethod
    def _solve(self, lists: list[Indices]) -> list[Solution]:
        """Minimise on lists."""

    def _solve_on(self, support: Indices, signs: Indices) -> Solution:
        """Minimise on a support, with coefficients of the right signs."""
        block = self._gram.kept_block(support)
        delta = self._gram.delta[support]
        solution = solve_on(block, delta, support, self._alpha)
        if (signs * solution.coef >= 0).all():
            return solution
        # Rounding turned a coefficient, or an equal column took a place.
        ridged = block + self._alpha * np.eye(support.size)
        coef, explained = minimise_signed(ridged, delta, signs, np.zeros(support.size))
        return Solution(support[coef != 0], coef[coef != 0], 1.0 - explained)

    def path(self, k_max: int) -> list[Solution]:
        """Solutions of all lengths up to ``k_max``, from the shortest on."""
        for sizes, ceiling in stages(k_max, thorough=self._thorough):
            # A stage has room for all that is fixed.
            if sizes[-1] > self._last and ceiling > np.count_nonzero(self._fixed):
                self._solve_stage(
                    sizes if self._last >= 0 else range(sizes[-1] + 1), ceiling
                )
        path = self._solve(self._lists[: k_max + 1 - self.lowest])
        explained = [solution.objective < DEPENDENT for solution in path]
        if any(explained):  # nothing is left for more columns
            path = path[: explained.index(True) + 1]
        for k in range(1, len(path)):
            # Where linear dependence bars the way up, what is best at k may have no
            # successor.
            if path[k].objective > path[k - 1].objective:
                path[k] = path[k - 1]
        return path

    def _solve_stage(self, sizes: range, ceiling: int) -> None:
        """Find the best lists of some lengths; fewer where units run out."""
        if self._ceiling < ceiling:
            self._fill_working_set(max(self._first, _PER_CEILING * ceiling))
            self._search(ceiling, sizes)
            self._ceiling = ceiling
            paid = self._limits is not None and self._limits.paid
            self._escaped = not (self._thorough or paid)
        while True:
            longest = self._longest()
            self._exhausted = longest < sizes[-1]
            first = max(sizes[0], self.lowest)
            to_check = range(first, min(_longest_checked(ceiling), longest) + 1)
            lists = [self._list(k) for k in to_check]
            if self._grow_working_set(lists, longest):
                self._search(ceiling, sizes)
            elif self._escaped or not self._escape(ceiling, sizes):
                break
            else:
                self._escaped = True
        settled = range(first, min(sizes[-1], longest) + 1)
        self._lists += [np.sort(self._list(k)) for k in settled]
        self._last = np.inf if self._exhausted else sizes[-1]

    def _longest(self) -> int:
        """Length of the longest list found."""
        assert self._found is not None
        return int(np.flatnonzero(self._found.explained > -np.inf)[-1])

    def _list(self, k: int) -> Indices:
        """The best list of k units, or of fewer where signs let none of k be found."""
        found = self._found
        assert found is not None
        if found.explained[k] == -np.inf:
            k = int(np.argmax(found.explained[:k]))
        return self._working_set[found.lists[k, : found.sizes[k]]]

    def _fill_working_set(self, n_columns: int) -> None:
        """Take in units by their ranks until the working set has so many columns."""
        n_columns_up_to = np.cumsum(self._sizes[self._ranked])
        wanted = int(np.searchsorted(n_columns_up_to, n_columns, "right"))
        wanted = max(wanted, int(np.count_nonzero(self._fixed)))
        missing = wanted - self._working_set.size
        if missing > 0:
            outside = self._ranked[~self._is_working[self._ranked]]
            self._add(outside[:missing])

    def _grow_working_set(self, lists: list[Indices], longest: int) -> bool:
        """Take in units outside that would better a list, most helpful first; say if there are any.

        ``longest`` is the length of the longest list found.
        """
        if self._working_set.size == self._ranked.size:
            return False
        # What no unit outside helped once, none helps later: the working set only
        # grows.
        unchecked = [units for units in lists if units.tobytes() not in self._checked]
        if self._exhausted:
            unchecked.append(self._list(longest))
        if not unchecked:
            return False
        self._fetch(unchecked)
        gains = self._gains_outside(unchecked)
        n_helpful = int(np.count_nonzero(gains > MIN_RELATIVE_GAIN))
        if n_helpful == 0:
            self._checked |= {units.tobytes() for units in unchecked}
            return False
        least, most = (-(-n * self._sizes.size // self._sizes.sum()) for n in _ADDED)
        near = np.flatnonzero(gains > -np.inf)
        n_added = min(max(n_helpful, min(near.size, least)), most)
        # Those that gain as much as the last of so many: all need not be sorted.
        near = near[gains[near] >= np.partition(gains[near], -n_added)[-n_added]]
        self._add(near[np.argsort(-gains[near], kind="stable")][:n_added])
        return True

    def _search(self, ceiling: int, sizes: range) -> None:
        """Search within the working set; lists of fewer units than ``sizes`` are settled."""
        units = self._working_set
        top = min(ceiling, units.size)
        state = self._empty_state(ceiling)
        limits = self._restrictions.kernel_limits(units, self._sizes[units])
        found = Found.none(_next_ceiling(ceiling))
        changed: tuple[int, ...] = ()
        if self._found is not None:
            # Go on from what was found up to a lower ceiling, or among fewer units.
            found.take_over(self._found)
            if units.size > self._n_searched:
                known = np.flatnonzero(found.explained[: ceiling + 1] > -np.inf)
                changed = tuple(known[known >= sizes[0]].tolist())
        self._n_searched = units.size
        self.lowest = search(state, limits, found, make_plan(top, changed=changed))
        self._state = state
        self._limits = limits
        self._found = found

    def _empty_state(self, ceiling: int) -> State:
        """Start with an empty list of units of the working set."""
        return make_state(
            Gram(self._gram.delta[self._columns], self._H),
            self._alpha,
            _next_ceiling(ceiling) + 1,
            self._fixed[self._working_set],
            self._sizes[self._working_set],
        )

    def _escape(self, ceiling: int, sizes: range) -> bool:
        """Search further from where single exchanges end; say whether anything was bettered."""
        found = self._found
        assert found is not None
        before = found.explained.copy()
        dropped = tuple(sizes[1:]) if self._last < 0 else ()
        top, higher = (
            min(size, self._working_set.size)
            for size in (ceiling, _next_ceiling(ceiling))
        )
        paid = self._limits is not None and self._limits.paid
        if paid:
            self._search_from_unpaid(ceiling)
        plan = make_plan(
            top, lowest=self.lowest, sweeps=(top, higher), dropped=dropped, paid=paid
        )
        search(self._state, self._limits, found, plan)
        return bool((found.explained > before).any())

    def _search_from_unpaid(self, ceiling: int) -> None:
        """Search on from lists that cost too much, less units until they do not.

        A budget bars the way to units that help together only: no list of many can
        shrink to them.
        """
        assert self._found is not None
        units = self._working_set
        top = min(ceiling, units.size)
        room = _next_ceiling(ceiling)
        state = self._empty_state(ceiling)
        without_budget = self._restrictions.at_budget(np.inf)
        free = without_budget.kernel_limits(units, self._sizes[units])
        unpaid = Found.none(room)
        search(state, free, unpaid, make_plan(top, sweeps=(top,)))
        begun = Found.none(room)
        ends = np.cumsum(self._sizes[units])
        columns_of = np.split(np.arange(self._columns.size), ends[:-1])
        for k in np.flatnonzero(unpaid.explained[: top + 1] > -np.inf).tolist():
            kept = self._within_budget(unpaid.lists[k, : unpaid.sizes[k]], columns_of)
            if kept.size <= self.lowest:
                continue
            chosen = np.concatenate([columns_of[unit] for unit in kept])
            worth = float(state.delta[chosen] @ self._solve_for(chosen)[0])
            if worth > begun.explained[kept.size]:
                begun.explained[kept.size] = worth
                begun.lists[kept.size, : kept.size] = np.sort(kept)
                begun.sizes[kept.size] = kept.size
        # What is begun with may have the wrong signs: whatever is settled takes its
        # place.
        lengths = tuple(np.flatnonzero(begun.explained > -np.inf).tolist())
        begun.explained[list(lengths)] = 0.0
        search(self._state, self._limits, begun, make_plan(top, begun=lengths))
        better = begun.explained > np.maximum(self._found.explained, 0.0)
        begun.grow[:] = True
        begun.shrink[:] = True
        for mine, theirs in zip(self._found, begun, strict=True):
            mine[better] = theirs[better]

    def _within_budget(self, units: Indices, columns_of: list[Indices]) -> Indices:
        """Take out the unit that explains least for its cost until the others can be paid."""
        fixed = self._restrictions.fixed
        cost = self._restrictions.extra_costs(fixed, self._working_set)
        budget = self._restrictions.largest_budget - self._restrictions.cost_of(fixed)
        while cost[units].sum() > budget:
            parts = [columns_of[unit] for unit in units]
            w, inverse = self._solve_for(np.concatenate(parts))
            ends = np.cumsum([part.size for part in parts])
            losses = np.full(units.size, np.inf)
            for place, end in enumerate(ends.tolist()):
                own = slice(end - parts[place].size, end)
                paid = cost[units[place]]
                if paid > 0:
                    block = np.linalg.pinv(inverse[own, own], hermitian=True)
                    losses[place] = w[own] @ block @ w[own] / paid
            units = np.delete(units, int(np.argmin(losses)))
        return units

    def _solve_for(self, columns: Indices) -> tuple[Array, Array]:
        """Minus the coefficients of some columns of the working set, and (H + αI)⁻¹."""
        ridge = self._alpha * np.eye(columns.size)
        block = self._H[np.ix_(columns, columns)] + ridge
        inverse: Array = np.linalg.pinv(block, hermitian=True).astype(
            np.float64, copy=False
        )
        return inverse @ self._gram.delta[self._columns[columns]], inverse

    def _add(self, units: Indices) -> None:
        """Add units, best first, at the end of the working set: places of earlier ones stay."""
        new = np.sort(units)
        new_columns = self._columns_of(new)
        columns = np.concatenate([self._columns, new_columns])
        self._gram.quadratic.expect(lambda: self._columns_of(units))
        rows = self._gram.kept_block(new_columns, columns)
        n_old = self._columns.size
        H = np.empty((columns.size, columns.size))
        H[:n_old, :n_old] = self._H
        H[:n_old, n_old:] = rows[:, :n_old].T
        H[n_old:] = rows
        self._H = H
        self._columns = columns
        self._is_working[new] = True
        self._working_set = np.concatenate([self._working_set, new])

    def _fetch(self, lists: list[Indices]) -> None:
        """Have the rows of H of all columns of some lists."""
        union = np.unique(self._columns_of(np.concatenate(lists)))
        self._gram.quadratic.expect(lambda: self._columns_of(self._units_found()))
        self._gram.fetch(union)

    def _units_found(self) -> Indices:
        """Units of all lists found, those of the shortest first: checks will ask for their rows."""
        assert self._found is not None
        known = np.flatnonzero(self._found.explained > -np.inf).tolist()
        units = dict.fromkeys(unit for k in known for unit in self._list(k).tolist())
        return np.array(list(units), np.int64)


def by_better_rank(gain: Array, cost: Array) -> Array:
    """Rank by the better of gain and gain per cost: the best at 0, all others below it."""
    by_gain = np.argsort(np.argsort(-gain, kind="stable"))
    gain_per_cost = gain / np.maximum(cost, MIN_COST)
    by_gain_per_cost = np.argsort(np.argsort(-gain_per_cost, kind="stable"))
    return -np.minimum(by_gain, by_gain_per_cost).astype(np.float64)
