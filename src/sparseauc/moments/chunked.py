"""Class moments of rows that are read chunk by chunk, in as few readings as can be.

Moments of parts merge exactly, so those of every part of the rows, the folds of a
cross-validation above all, are gathered on the same reading, and those of any training
set are merged from them. With few columns one reading gives everything. With many, the
first gives means and variances, and further ones the rows of H that solvers ask for,
each time for all training sets at once: a solver that lacks a part of H ends with
``NotGathered``, and goes on when the part is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import check_finite
from ..chunks import Chunks, Pass
from ..errors import InputError
from ..strata import Strata
from ..utils.arrays import beside, import_torch, is_tensor, to_host, zeros_beside
from ..utils.types import Array, Indices, Mask
from .cells import Cells, CellSums, Moments
from .rows import TableCells, cells_of, fit_single_precision

# Bytes of cross products up to which those of all columns are gathered on the first
# reading.
_ALL_BYTES = 2**29
# Bytes of cross products that are gathered where nothing less will do.
_MOST_BYTES = 2**31
# Bytes of rows of H up to which rows are gathered before they are asked for.
_AHEAD_BYTES = 2**29


class NotGathered(InputError):
    """A solver asks for parts of H that another pass over the rows must gather first.

    Attributes
    ----------
    source : GatheredMoments
        Gathers all that it was asked for.
    """

    def __init__(self, source: GatheredMoments) -> None:
        super().__init__(
            "all columns of H are needed at once, which are too many to be kept for rows that "
            "are read in chunks: choose among fewer columns"
        )
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


def _divide(
    X: Any, counts: Sequence[int], known: Sequence[npt.NDArray[Any]]
) -> Iterator[tuple[int, TableCells]]:
    """Rows of a chunk by the cells of each partition, and the number of its first cell.

    Of rows, the cell and the weight in each partition are known.
    """
    first = 0
    for count, cell, weight in zip(counts, known[::2], known[1::2], strict=True):
        yield first, cells_of(X, cell, weight, count)
        first += count


@dataclass(eq=False)
class Summaries(Pass[CellSums]):
    """Moments of every cell, with the products of all columns or without."""

    counts: Sequence[int]  # of the cells of each partition
    products: bool

    def add(
        self, state: CellSums | None, X: Any, start: int, *known: npt.NDArray[Any]
    ) -> CellSums:
        """Merge in the moments of a chunk; its entries must be finite."""
        check_finite(X, start)
        if state is None:
            n_cells = sum(self.counts)
            state = CellSums.empty(n_cells, X.shape[1], products=self.products)
        for first, cells in _divide(X, self.counts, known):
            state.add(cells, first)
        return state

    def merge(self, first: CellSums, second: CellSums) -> CellSums:
        """Merge cell by cell."""
        return first.merged(second)


@dataclass(eq=False)
class Products(Pass[list[Any]]):
    """Products of some columns with others in each cell, about known means.

    ``wanted`` are columns and the others to multiply them with, None for all; where
    they are all, products may be of ``single`` precision.
    """

    counts: Sequence[int]
    wanted: Sequence[tuple[Indices, Indices | None]]
    means: Array
    single: bool

    def add(
        self, state: list[Any] | None, X: Any, start: int, *known: npt.NDArray[Any]
    ) -> list[Any]:
        """Add the products of a chunk, to arrays of shape (n_cells, columns, others)."""
        del start
        state = state or [self._nothing(X, *pair) for pair in self.wanted]
        for first, cells in _divide(X, self.counts, known):
            for number in np.flatnonzero(cells.weight).tolist():
                place = first + number
                for (columns, others), total in zip(self.wanted, state, strict=True):
                    cells.add_products(
                        total[place], columns, others, number, self.means[place]
                    )
        return state

    def _nothing(self, X: Any, columns: Indices, others: Indices | None) -> Any:
        """Zeros to add to; those of a tensor lie on its device."""
        width = X.shape[1] if others is None else others.size
        kind = np.float32 if others is None and self.single else np.float64
        return zeros_beside(X, (len(self.means), columns.size, width), kind)

    def merge(self, first: list[Any], second: list[Any]) -> list[Any]:
        """Add up."""
        for total, other in zip(first, second, strict=True):
            total += other
        return first


class GatheredMoments:
    """Moments of every part of the rows, and as much of H as passes over the rows have gathered.

    With few columns the first pass gathers all of H (``is_complete``). With many,
    solvers ask for H among some columns, and for some of its rows; what all of them
    lack is gathered in one further pass.

    The parts of several partitions are numbered through. Where there are strata, all
    are divided by stratum. ``sums`` are the moments of both classes of each.
    """

    def __init__(
        self,
        chunks: Chunks,
        positive: Mask,
        partitions: Sequence[Partition],
        strata: Strata | None = None,
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
        self.is_complete = fits_completely(self.n_features, sum(self._counts) // 2)
        self.sums = chunks.run(Summaries(self._counts, self.is_complete), *self._known)
        # Products by cell, column and other, of the columns of each pass with all; and
        # the pass of each column, −1 for none, and its number there.
        self._passes: list[Any] = []
        self._pass = np.full(self.n_features, -1)
        self._row = np.zeros(self.n_features, np.int64)
        # Products of some columns among themselves, and the place of each there.
        self._block = np.empty((sum(self._counts), 0, 0))
        self._columns = np.empty(0, np.int64)
        self._place = np.full(self.n_features, -1)
        # Columns of which rows of H were asked for, or H among themselves and with the
        # block; and those whose rows may be asked for next, with their ranks.
        self._rows_asked: set[int] = set()
        self._block_asked: set[int] = set()
        self._ahead: dict[int, int] = {}

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
        single = single and self._chunks.dtype == np.float32
        single = single and fit_single_precision(self.sums.variances)
        wanted = [(rows, None), (block, together)]
        work = Products(self._counts, wanted, self.sums.means, single)
        products, blocks = self._chunks.run(work, *self._known)
        if rows.size:
            self._pass[rows] = len(self._passes)
            self._row[rows] = np.arange(rows.size)
            self._passes.append(products)
        if block.size:
            new = to_host(blocks)
            old = self._columns.size
            larger = np.empty((n_cells, together.size, together.size))
            larger[:, :old, :old] = self._block
            larger[:, old:] = new
            larger[:, :old, old:] = np.swapaxes(new[..., :old], -1, -2)
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

    def add_up(self, columns: Indices, others: Indices | None, counts: Array) -> Array:
        """Products of columns with others, or all, of the cells times what they count, added.

        ``NotGathered`` where they are missing.
        """
        if others is not None:  # rows of H may be of single precision
            wanted = np.concatenate([columns, others])
            missing = wanted[self._place[wanted] < 0]
            if missing.size:
                raise self.ask(block=missing.tolist())
            places = np.ix_(self._place[columns], self._place[others])
            return add_cells(self._block, counts, places)
        missing = columns[self._pass[columns] < 0]
        if missing.size:
            raise self.ask(rows=missing.tolist())
        total = np.empty((columns.size, self.n_features))
        for number in np.unique(self._pass[columns]).tolist():
            chosen = np.flatnonzero(self._pass[columns] == number)
            rows = self._row[columns[chosen]]
            total[chosen] = add_cells(self._passes[number], counts, rows)
        return total


def add_cells(products: Any, counts: Array, index: Any) -> Array:
    """Add up some products of cells times what they count."""
    if is_tensor(products):
        # In one operation: solvers in other threads would delay each of many.
        chosen = products[:, beside(index, products)]
        total = import_torch().tensordot(beside(counts, products), chosen, 1)
        return to_host(total)
    total = np.zeros(products[0][index].shape)
    for number in np.flatnonzero(counts).tolist():
        total += products[number][index] * counts[number]
    return total


class TrainingCells(Cells):
    """Cells merged from those of some parts of gathered rows.

    What was not gathered before takes another pass; for a ``solver`` it raises
    ``NotGathered``.
    """

    sums_rows = False
    _ahead: Callable[[], Indices] | None = None

    def __init__(
        self,
        gathered: GatheredMoments,
        members: npt.NDArray[np.integer[Any]],
        *,
        solver: bool,
    ) -> None:
        self._gathered, self._solver = gathered, solver
        self.is_complete = gathered.is_complete
        self.reads_again = not gathered.is_complete
        self.n_terms = 4 * gathered.n_rows  # rows and chunks
        sums = gathered.sums
        # Parts are merged, and none is subtracted: a column that varies elsewhere only
        # has no variance here.
        merged = CellSums.empty(members.shape[1], gathered.n_features, products=False)
        for of in members:
            arrays = sums.weight[of], sums.means[of], sums.scatter[of]
            merged.add(CellSums(*arrays, merged.cross))
        self.weight = merged.weight
        self.means = merged.means
        self.variances = merged.variances
        # The cells that make up those merged, with weights, and means less those of all
        # together.
        counted = sums.weight[members] > 0
        self._members = members[counted]
        self._of = np.nonzero(counted)[1]
        self._gaps = sums.means[self._members] - self.means[self._of]

    def expect(self, ahead: Callable[[], Indices]) -> None:
        """Gather these rows, the first above all, in the same pass where memory allows."""
        if self._solver:
            self._ahead = ahead

    def covariances(
        self, columns: Indices, others: Indices | None, factors: Array
    ) -> Array:
        """Covariances of columns with others, or all, of the cells times their factors, added."""
        sums = self._gathered.sums
        counts = np.zeros(sums.weight.size)
        own = (factors / np.where(self.weight > 0, self.weight, 1.0))[self._of]
        counts[self._members] = own
        if self.is_complete:
            index: Any = columns if others is None else np.ix_(columns, others)
            total = add_cells(sums.cross, counts, index)
        else:
            total = self._add_gathered(columns, others, counts)
        gaps = self._gaps if others is None else self._gaps[:, others]
        weights = own * sums.weight[self._members]
        total += (weights[:, None] * self._gaps[:, columns]).T @ gaps
        return total

    def _add_gathered(
        self, columns: Indices, others: Indices | None, counts: Array
    ) -> Array:
        """Add up what was gathered; gather what was not, unless a solver is to wait for it."""
        try:
            return self._gathered.add_up(columns, others, counts)
        except NotGathered:
            if self._solver:
                ahead = () if self._ahead is None else self._ahead().tolist()
                self._gathered.ask(ahead=ahead)
                raise
            self._gathered.gather()
            return self._gathered.add_up(columns, others, counts)


def training_moments(
    gathered: GatheredMoments, parts: Sequence[int], *, solver: bool = False
) -> Moments:
    """Moments of some parts of gathered rows; see ``TrainingCells``."""
    strata = gathered.strata
    n_cells = 2 * (1 if strata is None else len(strata))
    members = n_cells * np.array(parts)[:, None] + np.arange(n_cells)
    if strata is None:
        return Moments(TrainingCells(gathered, members, solver=solver))
    weights = gathered.sums.weight[members].sum(axis=0).reshape(-1, 2)
    both = weights.min(axis=1) > 0  # strata without both classes count nothing
    if not both.any():
        raise InputError("none of these strata holds rows of both classes")
    cells = TrainingCells(gathered, members[:, np.repeat(both, 2)], solver=solver)
    return Moments(cells, strata.shares(weights[both].T))


def chunked_moments(
    chunks: Chunks,
    positive: Mask,
    weight: Array | None = None,
    strata: Strata | None = None,
    *,
    solver: bool = False,
) -> Moments:
    """Moments of all rows of a table that is read in chunks; see ``GatheredMoments``."""
    everything = Partition(np.zeros(positive.size, np.int16), 1, weight)
    gathered = GatheredMoments(chunks, positive, [everything], strata)
    return training_moments(gathered, [0], solver=solver)
