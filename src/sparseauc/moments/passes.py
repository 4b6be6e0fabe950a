"""Sums of a pass over the rows: moments of every part, and products of columns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import check_finite
from ..chunks import Pass
from ..utils.arrays import is_tensor
from ..utils.types import Array, Indices
from . import _tensors
from .cells import CellSums
from .rows import Division, add_products, moments_by_cell


def divide(
    counts: Sequence[int], known: Sequence[npt.NDArray[Any]]
) -> Iterator[tuple[int, Division]]:
    """Rows by the cells of each partition, and the number of its first cell.

    Of rows, the cell and the weight in each partition are known.
    """
    first = 0
    for count, cell, weight in zip(counts, known[::2], known[1::2], strict=True):
        yield first, Division.by_cell(cell, weight, count)
        first += count


def split(
    counts: Sequence[int], known: Sequence[npt.NDArray[Any]]
) -> Iterator[tuple[int, Indices, Array]]:
    """Cell, rows and their weights, of each cell with any rows in a chunk."""
    for first, division in divide(counts, known):
        for number, rows in enumerate(division.members):
            if rows.size:
                yield (
                    first + number,
                    rows,
                    division.share[rows] * division.weight[number],
                )


@dataclass(eq=False)
class Summaries(Pass[CellSums]):
    """Moments of every cell, with the cross products of some columns."""

    counts: Sequence[int]  # of the cells of each partition
    columns: Indices

    def add(
        self, state: CellSums | None, X: Any, start: int, *known: npt.NDArray[Any]
    ) -> CellSums:
        """Merge in the moments of a chunk; its entries must be finite."""
        check_finite(X, start)
        if state is None:
            state = CellSums.empty(sum(self.counts), X.shape[1], self.columns.size)
        if is_tensor(X):
            for number, rows, weight in split(self.counts, known):
                cell = _tensors.moments_of(X, rows, weight, self.columns)
                state.add(cell, self.columns, number)
            return state
        for first, division in divide(self.counts, known):
            for number, cell in moments_by_cell(X, division).of_cells(self.columns):
                state.add(cell, self.columns, first + number)
        return state

    def merge(self, first: CellSums, second: CellSums) -> CellSums:
        """Merge cell by cell."""
        return first.merged(second, self.columns)


@dataclass(eq=False)
class Products(Pass[list[Any]]):
    """Products of some columns with others in each cell, about known means.

    ``wanted`` are columns and the others to multiply them with, None for all; where
    they are all, products may be of ``single`` precision. Of others, the columns are
    the last.
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
        state = state or self._nothing(X)
        for number, rows, weight in split(self.counts, known):
            mean = self.means[number]
            totals = [total[number] for total in state]
            if is_tensor(X):
                _tensors.add_products(X, rows, weight, mean, self.wanted, totals)
                continue
            for (columns, others), total in zip(self.wanted, totals, strict=True):
                if columns.size and others is None and hasattr(X, "tocsr"):
                    _add_sparse(X[rows], weight, mean, columns, total)
                elif columns.size:
                    left = columns if others is None else slice(-columns.size, None)
                    add_products(
                        total, X, rows, mean, None, weight, others, left, slice(None)
                    )
        return state

    def _nothing(self, X: Any) -> list[Any]:
        """Zeros to add to; those of a tensor lie on its device."""
        zeros = []
        for columns, others in self.wanted:
            width = X.shape[1] if others is None else others.size
            shape = len(self.means), columns.size, width
            kind = np.float32 if others is None and self.single else np.float64
            zeros.append(
                _tensors.no_products(X, shape)
                if is_tensor(X)
                else np.zeros(shape, kind)
            )
        return zeros

    def merge(self, first: list[Any], second: list[Any]) -> list[Any]:
        """Add up."""
        for total, other in zip(first, second, strict=True):
            total += other
        return first


def _add_sparse(
    X: Any,
    weight: npt.NDArray[Any],
    mean: npt.NDArray[Any],
    columns: Indices,
    total: Any,
) -> None:
    """Add Σ w (x_c − mean_c)(x − mean) of the rows of a CSR matrix, by way of their own means."""
    division = Division.by_cell(np.zeros(weight.size, np.int32), weight, 2)
    cell = moments_by_cell(X, division).sums(columns)
    gap = cell.mean[0] - mean
    total += cell.cross[0]
    total += np.outer(cell.weight[0] * gap[columns], gap)
