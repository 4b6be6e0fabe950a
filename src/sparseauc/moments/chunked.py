"""Class moments of rows that are read chunk by chunk, in as few readings as can be.

Moments of parts merge exactly, so those of every part of the rows, the folds of a
cross-validation above all, are gathered on the same reading, and those of any training
set are merged from them. With few columns one reading gives everything. With many, the
first gives means and variances, and further ones the rows of H that solvers ask for,
each time for all training sets at once: a solver that lacks a part of H ends with
``NotGathered``, and goes on when the part is there.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..chunks import Chunks
from ..errors import InputError
from ..strata import Strata
from ..utils.arrays import is_tensor, to_host
from ..utils.types import Array, Indices, Mask
from . import _tensors
from .base import COMPLETE_NUMBERS
from .cells import CellSums, OnDemand
from .passes import Products, Summaries

# Bytes of cross products up to which those of all columns are gathered on the first
# reading.
_ALL_BYTES = 2**29
# Bytes of cross products that are gathered where nothing less will do.
_MOST_BYTES = 2**31
# Variances of columns whose products may be summed in single precision.
_ORDINARY = 1e-20, 1e20
# Bytes of rows of H up to which rows are gathered before they are asked for.
_AHEAD_BYTES = 2**29


class NotGathered(Exception):
    """A solver asks for parts of H that another pass over the rows must gather first.

    Attributes
    ----------
    source : GatheredMoments
        Gathers all that it was asked for.
    """

    def __init__(self, source: GatheredMoments) -> None:
        super().__init__("parts of H are missing")
        self.source = source


@dataclass(frozen=True)
class Partition:
    """Rows divided into parts whose moments are wanted."""

    part: npt.NDArray[
        np.integer[Any]
    ]  # number of each row's part, −1 for rows left out
    n_parts: int
    weight: Array | None = None


def fits_completely(n_features: int, n_parts: int) -> bool:
    """Return whether all of H in every part is gathered on the first reading."""
    return n_parts * 2 * n_features**2 * 8 <= _ALL_BYTES


class GatheredMoments:
    """Moments of every part of the rows, and as much of H as passes over the rows have gathered.

    With few columns the first pass gathers all of H (``is_complete``), if its
    ``products`` will be asked for. With many, solvers ask for H among some columns, and
    for some of its rows; what all of them lack is gathered in one further pass.

    The parts of several partitions are numbered through. Where there are strata, all
    are divided by stratum. ``sums`` are the moments of both classes of each.
    """

    def __init__(
        self,
        chunks: Chunks,
        positive: Mask,
        partitions: Sequence[Partition],
        strata: Strata | None = None,
        *,
        products: bool = True,
    ) -> None:
        self.strata = strata
        n_strata = 1 if strata is None else len(strata)
        self._chunks = chunks
        self._known: list[npt.NDArray[Any]] = []
        for partition in partitions:
            part = (
                partition.part if strata is None else strata.split_parts(partition.part)
            )
            cell = np.where(part >= 0, 2 * part.astype(np.int32) + ~positive, -1)
            weight = partition.weight
            weight = np.ones(cell.size, np.uint8) if weight is None else weight
            self._known += [cell.astype(np.int32), weight]
        self._counts = [2 * partition.n_parts * n_strata for partition in partitions]
        self.n_rows, self.n_features = positive.size, chunks.shape[1]
        self.is_complete = products and fits_completely(
            self.n_features, sum(self._counts) // 2
        )
        held = np.arange(self.n_features if self.is_complete else 0)
        self.sums: CellSums = chunks.run(Summaries(self._counts, held), *self._known)
        # Products of some columns with all, those of each pass by cell, column and
        # other; and the pass of each column, −1 for none, and its number there.
        self._passes: list[Any] = []
        self._pass = np.full(self.n_features, -1)
        self._row = np.zeros(self.n_features, np.int64)
        self._add_rows(held, self.sums.cross)
        # Products of some columns among themselves, and the place of each there.
        self._block = np.empty((sum(self._counts), 0, 0))
        self._columns = np.empty(0, np.int64)
        self._place = np.full(self.n_features, -1)
        # Columns of which rows of H were asked for, or H among themselves and with the
        # block; and those whose rows may be asked for next, with their ranks.
        self._rows_asked: set[int] = set()
        self._block_asked: set[int] = set()
        self._ahead: dict[int, int] = {}

    def _add_rows(self, columns: Indices, products: Any) -> None:
        self._pass[columns] = len(self._passes)
        self._row[columns] = np.arange(columns.size)
        self._passes.append(products)

    def ask(
        self,
        rows: Iterable[int] = (),
        block: Iterable[int] = (),
        ahead: Iterable[int] = (),
    ) -> NotGathered:
        """Take down what the next pass should gather; return what says so to a solver."""
        self._rows_asked.update(rows)
        self._block_asked.update(block)
        for rank, column in enumerate(ahead):
            self._ahead[column] = min(rank, self._ahead.get(column, rank))
        return NotGathered(self)

    def gather(self, *, single: bool = False) -> None:
        """Read the rows once for all that was asked for of H.

        Rows of H may be of single precision, as the table is, where they only tell
        which columns to look at.
        """
        rows = np.array(sorted(self._with_rows_ahead()), np.int64)
        block = np.setdiff1d(
            np.array(sorted(self._block_asked), np.int64), self._columns
        )
        self._rows_asked, self._block_asked, self._ahead = set(), set(), {}
        if rows.size + block.size == 0:
            return
        n_rows = int(np.count_nonzero(self._pass >= 0)) + rows.size
        together = np.concatenate([self._columns, block])
        # Rows of H lie where the table does: a device refuses them itself, if it is
        # full.
        numbers = together.size**2
        if not self._chunks.in_device_memory:
            numbers += n_rows * self.n_features
        n_cells = self.sums.weight.size
        if 8 * n_cells * numbers > _MOST_BYTES:
            raise InputError(
                f"products of {max(n_rows, together.size)} of {self.n_features} columns in "
                f"{n_cells // 2} parts of the rows would fill the memory: choose among fewer "
                "columns, give coarser strata, or leave groups out"
            )
        variances = self.sums.variances.max(axis=0)
        ordinary = (variances > _ORDINARY[0]) & (variances < _ORDINARY[1]) | (
            variances == 0
        )
        single = single and self._chunks.dtype == np.float32 and bool(ordinary.all())
        wanted = [(rows, None), (block, together)]
        work = Products(self._counts, wanted, self.sums.mean, single)
        found = self._chunks.run(work, *self._known)
        if rows.size:
            self._add_rows(rows, found[0])
        if block.size:
            products = to_host(found[1])
            old = self._columns.size
            larger = np.empty((n_cells, together.size, together.size))
            larger[:, :old, :old] = self._block
            larger[:, old:] = products
            larger[:, :old, old:] = np.swapaxes(products[..., :old], -1, -2)
            self._block = larger
            self._columns = together
            self._place[block] = np.arange(old, together.size)

    def _with_rows_ahead(self) -> set[int]:
        """Rows that are missing, and as many of those ahead as there is memory for."""
        known = set(np.flatnonzero(self._pass >= 0).tolist())
        rows = self._rows_asked - known
        room = _AHEAD_BYTES // (8 * self.sums.weight.size * self.n_features)
        room -= len(known) + len(rows)
        ahead = self._ahead.keys() - known - rows
        ranked = sorted(ahead, key=lambda row: (self._ahead[row], row))
        return rows | set(ranked[: max(room, 0)])

    def find(
        self, columns: Indices, others: Indices | None
    ) -> Iterator[tuple[Any, Any, Indices, Any]]:
        """Places of the products of columns with others, or with all; ``NotGathered`` if nowhere.

        Gives some of the columns at a time: which, products that they are among, and
        their rows and the columns of the others there.
        """
        rows_missing = columns[self._pass[columns] < 0]
        if others is not None:
            wanted = np.concatenate([columns, others])
            missing = wanted[self._place[wanted] < 0]
            if missing.size == 0:
                yield (
                    slice(None),
                    self._block,
                    self._place[columns],
                    self._place[others],
                )
                return
            if not self.is_complete:  # rows may be of single precision
                raise self.ask(block=missing.tolist())
        elif rows_missing.size:
            raise self.ask(rows=rows_missing.tolist())
        for number in np.unique(self._pass[columns]).tolist():
            chosen = np.flatnonzero(self._pass[columns] == number)
            yield chosen, self._passes[number], self._row[columns[chosen]], others


class TrainingMoments(OnDemand):
    """Moments of some parts of rows that are read in chunks.

    What was not gathered before takes another pass; for a solver it raises
    ``NotGathered``.
    """

    sums_rows = False
    _ahead: Callable[[], Indices] | None = None

    def __init__(
        self, gathered: GatheredMoments, parts: Sequence[int], *, solver: bool = False
    ) -> None:
        self._gathered, self._solver = gathered, solver
        self.reads_again = not gathered.is_complete
        strata, every = gathered.strata, gathered.sums
        n_cells = 2 * (1 if strata is None else len(strata))
        none = np.empty(0, np.int64)
        merged = CellSums.empty(n_cells, gathered.n_features)
        # Parts are merged, and none is subtracted: a column that varies elsewhere only
        # has no variance here.
        numbers = n_cells * np.array(parts)[:, None] + np.arange(n_cells)
        for of in numbers:
            arrays = every.weight[of], every.mean[of], every.scatter[of]
            merged.add(
                CellSums(*arrays, np.zeros((n_cells, 0, gathered.n_features))), none
            )
        kept = np.arange(n_cells)
        shares = np.ones(1)
        if strata is not None:  # strata without both classes count nothing
            both = merged.weight.reshape(-1, 2).min(axis=1) > 0
            if not both.any():
                raise InputError("none of these strata holds rows of both classes")
            kept = kept[np.repeat(both, 2)]
            shares = strata.shares(merged.weight[kept].reshape(-1, 2).T)
        super().__init__(
            merged.weight[kept],
            shares,
            merged.mean[kept],
            merged.variances[kept],
            n_terms=4 * gathered.n_rows,  # rows and chunks
        )
        # The cells that make up those merged, with weights, and means less those of all
        # together.
        numbers = numbers[:, kept]
        counted = every.weight[numbers] > 0
        self._members = numbers[counted]
        self._of = np.nonzero(counted)[1]
        self._gaps = every.mean[self._members] - self.cell_means[self._of]

    @property
    def is_complete(self) -> bool:  # type: ignore[override]
        """Return whether all of H is at hand."""
        return self._gathered.is_complete and self.n_features**2 <= COMPLETE_NUMBERS

    def expect(self, ahead: Callable[[], Indices]) -> None:
        """Gather these rows, the first above all, in the same pass where memory allows."""
        if self._solver:
            self._ahead = ahead

    def sums(self, columns: Indices) -> CellSums:
        """Additive moments of the cells, with the products of some columns."""
        weight = self.cell_weights
        each = zip(weight, np.eye(weight.size), strict=True)
        cross = np.array([w * self._covariances(columns, None, one) for w, one in each])
        scatter = self.cell_variances * weight[:, None]
        return CellSums(weight, self.cell_means, scatter, cross)

    def _covariances(
        self, columns: Indices, others: Indices | None, factors: Array
    ) -> Array:
        try:
            found = list(self._gathered.find(columns, others))
        except NotGathered:
            if self._solver:
                self._gathered.ask(
                    ahead=() if self._ahead is None else self._ahead().tolist()
                )
                raise
            self._gathered.gather()
            found = list(self._gathered.find(columns, others))
        # What each member counts.
        counts = (factors / np.where(self.cell_weights > 0, self.cell_weights, 1.0))[
            self._of
        ]
        weights = self._gathered.sums.weight[self._members]
        gaps = self._gaps if others is None else self._gaps[:, others]
        total: Array = ((counts * weights)[:, None] * self._gaps[:, columns]).T @ gaps
        members = [
            (int(self._members[at]), counts[at]) for at in np.flatnonzero(counts)
        ]
        for chosen, products, rows, across in found if members else []:
            if is_tensor(products):
                total[chosen] += _tensors.sum_products(products, members, rows, across)
                continue
            index: Any = rows if across is None else np.ix_(rows, across)
            parts = (products[number][index] * count for number, count in members)
            total[chosen] += functools.reduce(operator.iadd, parts)
        return total


def chunked_moments(
    chunks: Chunks,
    positive: Mask,
    weight: Array | None = None,
    strata: Strata | None = None,
    *,
    products: bool = True,
    solver: bool = False,
) -> OnDemand:
    """Moments of all rows of a table that is read in chunks; see ``GatheredMoments``."""
    everything = Partition(np.zeros(positive.size, np.int16), 1, weight)
    gathered = GatheredMoments(
        chunks, positive, [everything], strata, products=products
    )
    return TrainingMoments(gathered, [0], solver=solver)
