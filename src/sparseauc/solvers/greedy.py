"""One exchange engine for lists whose gains have no short formula: groups, and several classes.

A problem (``GreedyProblem``) says what a list of *units* is worth and by how much each unit would
raise that. A unit is a column or a group of columns. Lists grow, exchange units, grow too long and
shrink again, do without each unit in turn and, with costs, force each other one in. As in
``working_set`` this happens within a working set first, and units outside it that would help join
it until none would.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, Self

import numpy as np
import scipy.linalg

from ..utils.types import Array, Indices, Mask

# Units by which a list grows too long.
_AHEAD = 2
# Units that join the working set after a check at most.
_MOST_ADDED = 40
# Lists of so many units at most do without each of them in turn.
_LONGEST_DROPPED = 24
# Gains that differ by this share are equal.
_EQUAL = 1e-9


class GreedyProblem(Protocol):
    """What lists of units are chosen by; ``value`` is to be as large as possible.

    Attributes
    ----------
    always : list of int
        Units in every list.
    usable : bool ndarray of shape (n_units,)
        Units that can be in a list.
    rates : list of ndarrays of shape (n_units,)
        Lists grow by gains per one of these, each in turn.
    has_costs : bool
        Whether units cost something and there is a budget.
    """

    @property
    def always(self) -> list[int]: ...  # noqa: D102
    @property
    def usable(self) -> Mask: ...  # noqa: D102
    @property
    def rates(self) -> list[Array]: ...  # noqa: D102
    @property
    def has_costs(self) -> bool: ...  # noqa: D102

    def value(self, units: list[int]) -> float:
        """What a list explains."""

    def gains(self, units: list[int], out: int | None, candidates: Mask) -> tuple[float, Array]:
        """Value of a list without one unit, and by how much each candidate would raise it.

        0 for units that add no more than rounding, and for all but the candidates.
        """

    def exchanges(self, units: list[int], candidates: Mask) -> tuple[float, Array, Array]:
        """Value of a list; the same without each unit in turn, for what can take its place.

        Nothing takes the place of a unit that is always included.
        """

    def fitting(self, units: list[int]) -> Mask:
        """Which usable units can join a list."""

    def exceeded(self, units: list[int]) -> Array | None:
        """How much each unit uses of the limit that a list exceeds; None if it is feasible."""

    def least_gain(self, value: float) -> float:
        """What a change must gain, given the value; less is rounding."""

    def among(self, units: Indices) -> Self:
        """The problem among some units, by their places; all that is always included among them."""


class ListSearch:
    """The search for lists that no exchange of two units improves; its working set is kept.

    Parameters
    ----------
    problem : GreedyProblem
    first : ndarray of int64
        The working set at first, ascending; units that are always included among them.
    """

    def __init__(self, problem: GreedyProblem, first: Indices) -> None:
        self._problem, self._working, self._part = problem, first, problem.among(first)

    def run(self, known: list[int] | None = None, *, thorough: bool = True) -> list[int]:
        """Search one list.

        ``known`` is a feasible list to begin with, such as a shorter one. A ``thorough`` search
        begins with nothing too, and goes on where single exchanges end, as one with costs does.
        """
        problem, found = self._problem, self._problem.always if known is None else known
        while True:
            places = np.searchsorted(self._working, found).tolist()
            better = _Search(self._part, thorough).run(places)
            found = [int(self._working[place]) for place in better]
            if self._working.size == np.count_nonzero(problem.usable):
                return found
            outside = np.setdiff1d(np.flatnonzero(problem.usable), self._working)
            outside = np.intersect1d(outside, _helpful(problem, found))
            if outside.size == 0:
                return found
            self._working = np.union1d(self._working, outside)
            self._part = problem.among(self._working)


def _helpful(problem: GreedyProblem, found: list[int]) -> Indices:
    """Units that would improve a list, best first, and those that would gain most beside it."""
    value = problem.value(found)
    others = problem.usable.copy()
    others[found] = False
    change = np.full(others.size, -np.inf)
    for out in [None, *(unit for unit in found if unit not in problem.always)]:
        fitting = problem.fitting([unit for unit in found if unit != out])
        base, gains = problem.gains(found, out, others & fitting)
        change = np.maximum(change, np.where(gains > 0, base + gains - value, -np.inf))
    order = np.argsort(-change, kind="stable")[:_MOST_ADDED]
    beside = problem.gains(found, None, others)[1]
    ahead = np.argsort(-beside, kind="stable")[:_AHEAD]
    helpful = order[change[order] > problem.least_gain(value)]
    return np.concatenate([helpful, ahead[beside[ahead] > 0]])


def grow(
    problem: GreedyProblem, units: list[int], rate: Array, barred: int | None = None
) -> list[int]:
    """Add the unit of the largest gain for its rate while one fits that helps."""
    while True:
        candidates = _others(problem.fitting(units), units, barred)
        gains = problem.gains(units, None, candidates)[1] / rate
        if not gains.any():
            return units
        units = [*units, _first_best(gains)]


def independent(P: Array, tolerance: float) -> Indices:
    """Columns of a matrix that do not depend on those before them."""
    kept = np.flatnonzero(P.diagonal() > 0)
    least = tolerance * P.diagonal()
    while True:
        # The squares of the diagonal are what those before leave of each column.
        factor, failed = scipy.linalg.lapack.dpotrf(P[np.ix_(kept, kept)], lower=1)
        left = factor.diagonal()[: failed - 1 if failed else None] ** 2
        dependent = np.flatnonzero(left <= least[kept[: left.size]])
        if dependent.size == 0 and not failed:
            return np.asarray(kept, np.int64)
        kept = np.delete(kept, dependent[0] if dependent.size else failed - 1)


class _Search:
    """The named phases of a search among all units of a problem."""

    def __init__(self, problem: GreedyProblem, thorough: bool) -> None:
        self._problem, self._thorough = problem, thorough

    def run(self, known: list[int]) -> list[int]:
        """The best list found from the known one, and from nothing by each rate."""
        problem = self._problem
        starts = [(problem.always, rate) for rate in problem.rates]
        if len(known) > len(problem.always):
            starts = [*starts[: len(starts) * self._thorough], (known, problem.rates[0])]
        found = [self._improve(*start) for start in starts]
        return max(found, key=problem.value) if len(found) > 1 else found[0]

    def _improve(self, units: list[int], rate: Array) -> list[int]:
        """Grow and exchange; then take whatever leads on from there."""
        units = self._settle(units, rate)
        while self._thorough or self._problem.has_costs:
            value = self._problem.value(units)
            enough = value + self._problem.least_gain(value)
            better = (
                one for one in self._escapes(units, rate) if self._problem.value(one) > enough
            )
            if (found := next(better, None)) is None:
                break
            units = found
        return units

    def _settle(self, units: list[int], rate: Array, barred: int | None = None) -> list[int]:
        """Add and exchange units while that helps."""
        units = grow(self._problem, units, rate, barred)
        while (better := self._exchange(units, barred)) is not None:
            units = grow(self._problem, better, rate, barred)
        return units

    def _exchange(self, units: list[int], barred: int | None) -> list[int] | None:
        """Make the best exchange of one unit for another; None if none helps."""
        problem = self._problem
        if not units:
            return None
        value, bases, gains = problem.exchanges(units, _others(problem.usable, units, barred))
        into = np.argmax(gains >= (1.0 - _EQUAL) * gains.max(axis=1, keepdims=True), axis=1)
        promised = bases + gains[np.arange(into.size), into]
        place, best = int(promised.argmax()), None
        if promised[place] > value + problem.least_gain(value):
            best = [*units[:place], int(into[place]), *units[place + 1 :]]
        # What the formula promised may be rounding; it may promise forever.
        return best if best is not None and problem.value(best) > value else None

    def _escapes(self, units: list[int], rate: Array) -> Iterator[list[int]]:
        """Lists that other ways lead to."""
        yield from self._overshoot(units, rate)
        if self._thorough and len(units) <= _LONGEST_DROPPED:
            yield from self._drop_each(units, rate)
        if self._problem.has_costs:
            yield from self._force_in(units, rate)

    def _overshoot(self, units: list[int], rate: Array) -> Iterator[list[int]]:
        """Grow too long a list, and leave out what is missed least."""
        longer = units
        for _ in range(_AHEAD):
            candidates = _others(self._problem.usable, longer)
            gains = self._problem.gains(longer, None, candidates)[1] / rate
            if gains.any():
                longer = [*longer, _first_best(gains)]
        if (feasible := self._repair(longer)) is not None:
            yield self._settle(feasible, rate)

    def _drop_each(self, units: list[int], rate: Array) -> Iterator[list[int]]:
        """Do without each unit in turn, then let it join again."""
        for out in units:
            if out not in self._problem.always:
                rest = [unit for unit in units if unit != out]
                yield self._settle(self._settle(rest, rate, barred=out), rate)

    def _force_in(self, units: list[int], rate: Array) -> Iterator[list[int]]:
        """Add each other unit whatever it costs, and remove others until the list is feasible."""
        for new in np.flatnonzero(_others(self._problem.usable, units)).tolist():
            if (feasible := self._repair([*units, new], kept=new)) is not None:
                yield self._settle(feasible, rate)

    def _repair(self, units: list[int], kept: int | None = None) -> list[int] | None:
        """Drop units until the others are feasible; None where that cannot be.

        Those go first that lose least for what they use of the limit that is exceeded.
        """
        problem = self._problem
        while (used := problem.exceeded(units)) is not None:
            rests = {
                out: [unit for unit in units if unit != out]
                for out in units
                if out != kept and out not in problem.always
            }
            if not rests:
                return None
            value = problem.value(units)
            losses = {out: (value - problem.value(rest)) / used[out] for out, rest in rests.items()}
            units = rests[min(losses, key=lambda out: losses[out])]
        return units


def _others(mask: Mask, units: list[int], barred: int | None = None) -> Mask:
    """Units of a mask that are neither listed nor barred."""
    others = mask.copy()
    others[units] = False
    if barred is not None:
        others[barred] = False
    return others


def _first_best(gains: Array) -> int:
    """Take the first of units that gain the same, but for rounding."""
    return int(np.argmax(gains >= (1.0 - _EQUAL) * gains.max()))
