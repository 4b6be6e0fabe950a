"""Comparable pairs: one row is known to have its event before the other.

A row with an event is compared with every row that is followed longer, or that is
censored at the same time. So rows are sorted by time, events first, and those that a
row is compared with are all that come after its group of equals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..strata import Weighting, sum_variance
from ..utils.jit import kernel
from ..utils.types import Array, Indices
from ._times import SurvivalTimes, sorted_groups


@dataclass(frozen=True)
class ComparablePairs:
    """Rows in an order in which those that are followed longer come later.

    A pair counts ``first`` of its earlier row times ``second`` of its later one. All
    attributes are in the order of ``rows``; rows of weight 0 are left out.

    Attributes
    ----------
    rows : ndarray of shape (m,)
        Row numbers, by cell, then time, events before censored rows.
    group : ndarray of shape (m,)
        Number of each row's group, ascending: rows of one cell and time, all with an
        event or none. Rows are not compared within a group.
    cell : ndarray of shape (m,)
        Number of each row's cell, ascending: its stratum, within which rows are
        compared.
    first : ndarray of shape (m,)
        What a row counts as the one with the earlier event; 0 where it is censored.
    second : ndarray of shape (m,)
        What it counts as the one that is followed longer.
    unit : ndarray of shape (m,), optional
        Number of the group of related rows that each belongs to; without it none are
        related.
    """

    rows: Indices
    group: Indices
    cell: Indices
    first: Array
    second: Array
    unit: Indices | None = None

    @classmethod
    def from_times(
        cls,
        times: SurvivalTimes,
        weight: Array | None = None,
        cells: Indices | None = None,
        *,
        event_weight: Array | None = None,
        weighting: Weighting = "pairs",
        groups: Indices | None = None,
    ) -> ComparablePairs:
        """Sort rows.

        Parameters
        ----------
        times : SurvivalTimes
        weight : ndarray of shape (n,), optional
            What each row counts; 0 leaves it out.
        cells : int ndarray of shape (n,), optional
            Only rows of one cell are compared; those of a negative number are left out.
        event_weight : ndarray of shape (n,), optional
            What the event of a row counts besides, as of ``uno_weights``.
        weighting : {"pairs", "equal"}, default="pairs"
            Whether cells count by their pairs, or all the same.
        groups : int ndarray of shape (n,), optional
            Related rows, which errors take together.
        """
        code = np.zeros(len(times), np.int64) if cells is None else cells
        counted = code >= 0 if weight is None else (code >= 0) & (weight > 0)
        rows = np.flatnonzero(counted)
        rows = rows[np.lexsort((~times.event[rows], times.time[rows], code[rows]))]
        event = times.event[rows]
        cell = code[rows]
        group = sorted_groups(np.array([cell, times.time[rows], event], np.float64))
        second = (
            np.ones(rows.size) if weight is None else weight[rows].astype(np.float64)
        )
        first = second * event
        if event_weight is not None:
            first *= event_weight[rows]
        unit = None if groups is None else groups[rows]
        pairs = cls(rows, group, cell, first, second, unit)
        if weighting == "equal":
            total = np.bincount(cell, pairs.first * pairs.after).astype(np.float64)
            inverse = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
            pairs = replace(pairs, first=first * inverse[cell])
        return pairs

    @cached_property
    def after(self) -> Array:
        """Weight of the rows that a row is compared with as the earlier one."""
        sums = np.append(0.0, np.cumsum(self.second))
        of_cell = sums[self.cell.searchsorted(self.cell, "right")]
        after: Array = of_cell - sums[self.group.searchsorted(self.group, "right")]
        return after

    @cached_property
    def before(self) -> Array:
        """Weight of the rows that a row is compared with as the later one."""
        sums = np.append(0.0, np.cumsum(self.first))
        of_earlier_cells = sums[self.cell.searchsorted(self.cell)]
        before: Array = sums[self.group.searchsorted(self.group)] - of_earlier_cells
        return before

    @cached_property
    def total(self) -> float:
        """Weight of all pairs."""
        return float(self.first @ self.after)

    @property
    def n_disjoint(self) -> int:
        """Pairs that share no row, or group, at most."""
        unit = np.arange(self.rows.size) if self.unit is None else self.unit
        earlier = np.unique(unit[self.first * self.after > 0])
        later = np.unique(unit[self.second * self.before > 0])
        return min(earlier.size, later.size)

    def concordance(self, scores: Array) -> float:
        """Share of the pairs whose earlier row has the higher score, ties one half.

        Parameters
        ----------
        scores : ndarray of shape (n,)
            Of all rows, in their own order.
        """
        rank = 1 + np.unique(scores[self.rows], return_inverse=True)[1]
        above = _concordant(rank, self.group, self.cell, self.first, self.second)
        return float(above.sum() / self.total)

    def standard_error(self, scores: Array, others: Array | None = None) -> float:
        """Standard error of the concordance, from what the pairs of each row add to it.

        With other scores of the same rows, that of the difference of the two. It is
        DeLong's where rows have their event at the same time or are followed longer,
        and Obuchowski's where rows are related. Weights of events count as known.
        """
        apart = self._apart(scores)
        if others is not None:
            apart = apart - self._apart(others)
        return float(
            np.sqrt(sum_variance(apart, self.first > 0, self.unit)) / self.total
        )

    def _apart(self, scores: Array) -> Array:
        """Return what the pairs of each row add to the concordance beyond its mean."""
        rank = 1 + np.unique(scores[self.rows], return_inverse=True)[1]
        above = _concordant(rank, self.group, self.cell, self.first, self.second)
        area = above.sum() / self.total
        # With time reversed, the later row of a pair is the first, and the lower score
        # wins.
        turned = (
            rank.max(initial=0) + 1 - rank,
            self.group,
            self.cell,
            self.second,
            self.first,
        )
        above += _concordant(*(np.ascontiguousarray(part[::-1]) for part in turned))[
            ::-1
        ]
        apart: Array = above - area * (
            self.first * self.after + self.second * self.before
        )
        return apart


@kernel
def _concordant(rank, group, cell, first, second):  # type: ignore[no-untyped-def]
    """Sums over the pairs of each earlier row that has the higher rank, ties one half.

    Ranks are from 1 on. Rows are added from the last to the first to sums over ranks,
    kept in a binary indexed tree.
    """
    n = group.size
    tree = np.zeros(n + 2)
    above = np.zeros(n)
    inside = n  # rows from here on to ``end`` are in the tree
    end = n
    i = n - 1
    while i >= 0:
        low = i
        while low > 0 and group[low - 1] == group[i]:
            low -= 1
        if inside < end and cell[inside] != cell[i]:
            for j in range(inside, end):  # empty the tree
                p = rank[j]
                while p <= n:
                    tree[p] = 0.0
                    p += p & -p
            end = inside
        for j in range(low, i + 1):
            if first[j] > 0.0:
                less = 0.0
                upto = 0.0
                p = rank[j] - 1
                while p > 0:
                    less += tree[p]
                    p -= p & -p
                p = rank[j]
                while p > 0:
                    upto += tree[p]
                    p -= p & -p
                above[j] = first[j] * 0.5 * (less + upto)
        for j in range(low, i + 1):
            p = rank[j]
            while p <= n:
                tree[p] += second[j]
                p += p & -p
        inside = low
        i = low - 1
    return above
