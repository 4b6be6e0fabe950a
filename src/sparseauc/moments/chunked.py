"""Class moments of rows that are read chunk by chunk, in as few readings as can be.

Moments of parts merge exactly, so those of every part of the rows, the folds of a cross-validation
above all, are gathered on the same reading, and those of any training set are merged from them.
With few columns one reading gives everything. With many, the first gives means and variances, and
further ones the rows of H that solvers ask for, each time for all training sets at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg.blas import dgemm, dsyrk

from .._arrays import is_tensor, to_host
from .._jit import kernel
from ..chunks import Chunks, NotFiniteError, Pass, first_not_finite
from ..rows import read_only
from . import _tensors
from .base import Array, ClassMoments, ClassPart, Indices, Mask, Moments
from .sparse import SparseMoments

# Bytes of cross products up to which those of all columns are gathered on the first reading.
_ALL_BYTES = 2**27
# Bytes of cross products gathered on one further reading, unless solvers ask for more.
_BLOCK_BYTES = 2**28
# Bytes of cross products that are gathered where nothing less will do.
_MOST_BYTES = 2**31
# Numbers centred at a time.
_TILE_NUMBERS = 2**21


@dataclass(frozen=True)
class Partition:
    """Rows divided into parts whose moments are wanted.

    Attributes
    ----------
    part : int16 ndarray of shape (n,)
        Number of each row's part, −1 for rows that are left out.
    n_parts : int
    weight : float64 ndarray of shape (n,) or None
        Weights of 0 or more.
    """

    part: npt.NDArray[np.int16]
    n_parts: int
    weight: Array | None = None


class GatheredMoments:
    """Moments of every part of the rows, gathered when they are needed.

    Parameters
    ----------
    chunks : Chunks
    positive : bool ndarray of shape (n,)
    partitions : sequence of Partition
        Their parts are numbered through, those of the first partition first.
    products : bool, default=True
        Whether columns of H will be asked for: where columns are few, all are gathered at once.
    """

    def __init__(
        self,
        chunks: Chunks,
        positive: Mask,
        partitions: Sequence[Partition],
        *,
        products: bool = True,
    ) -> None:
        self._chunks = chunks
        self._known: list[npt.NDArray[Any]] = [positive]
        for partition in partitions:
            self._known.append(partition.part)
            if partition.weight is not None:
                self._known.append(partition.weight)
        self._cells = _Cells(
            [partition.n_parts for partition in partitions],
            [partition.weight is not None for partition in partitions],
        )
        d = chunks.shape[1]
        self._row_bytes = self._cells.n_parts * 2 * d * 8
        whole = products and d * self._row_bytes <= _ALL_BYTES
        held = np.arange(d) if whole else np.empty(0, np.int64)
        self.parts: list[ClassMoments] = chunks.run(_Summaries(self._cells, held, d), *self._known)
        self.at_hand = np.full(d, whole)
        # How columns that are asked for come to hand; solvers that work together ask together.
        self.supply: Callable[[Indices], None] = self.gather
        self._blocks = [(held, [[p.positive.cross, p.negative.cross] for p in self.parts])]
        self._place = np.full((2, d), -1)
        if whole:
            self._place[:] = np.zeros(d), np.arange(d)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.at_hand.size

    @property
    def n_rows(self) -> int:
        """Number of rows, in all parts."""
        return self._known[0].size

    def merged(self, parts: Sequence[int] | None = None) -> ChunkedMoments:
        """Moments of several parts together, all by default."""
        numbers = range(len(self.parts)) if parts is None else parts
        return ChunkedMoments(self, list(numbers))

    def gather(self, columns: npt.ArrayLike) -> None:
        """Read the rows once for columns of H that are not at hand."""
        wanted = np.unique(np.asarray(columns, np.int64))
        missing = wanted[~self.at_hand[wanted]]
        if missing.size == 0:
            return
        means = [(part.positive.mean, part.negative.mean) for part in self.parts]
        found = self._chunks.run(_Products(self._cells, missing, means), *self._known)
        products = [[to_host(total) for total in totals] for totals in found]
        self._place[0, missing] = len(self._blocks)
        self._place[1, missing] = np.arange(missing.size)
        self._blocks.append((missing, products))
        self.at_hand[missing] = True

    def gather_all(self) -> None:
        """Gather all columns of H, where that can be."""
        if self.n_features * self._row_bytes > _MOST_BYTES:
            raise ValueError(
                f"products of {self.n_features} columns in {len(self.parts)} parts of the rows "
                "would fill the memory: choose among fewer columns, or leave groups out"
            )
        self.gather(np.arange(self.n_features))

    def gather_likely(self, moments: Moments, at_least: int, always: Indices) -> None:
        """Gather the columns whose class means differ most, as many as there is room for."""
        if self.at_hand.all():
            return
        deviations = moments.deviations
        difference = np.zeros_like(deviations)
        np.divide(np.abs(moments.delta), deviations, out=difference, where=deviations > 0)
        room = max(at_least, _BLOCK_BYTES // self._row_bytes)
        likely = np.argsort(-difference, kind="stable")[:room]
        self.gather(np.concatenate([likely, always]))

    def products(self, parts: Sequence[int], columns: Indices, mean: Array, side: int) -> Array:
        """Σ w (x_c − mean_c)(x − mean) over one class of several parts, of shape (q, d)."""
        missing = columns[~self.at_hand[columns]]
        if missing.size:
            self.supply(missing)
        total = np.zeros((columns.size, self.n_features))
        for number in parts:
            part = self.parts[number].negative if side else self.parts[number].positive
            gap = part.mean - mean
            for block in np.unique(self._place[0, columns]).tolist():
                where = np.flatnonzero(self._place[0, columns] == block)
                total[where] += self._blocks[block][1][number][side][self._place[1, columns[where]]]
            if part.weight > 0 and gap.any():
                total += np.outer(part.weight * gap[columns], gap)
        return total


class ChunkedMoments(Moments):
    """Moments of some parts of rows that are read in chunks; see ``GatheredMoments``."""

    def __init__(self, gathered: GatheredMoments, parts: list[int]) -> None:
        self._gathered = gathered
        self._parts = parts
        bare = (_without_products(gathered.parts[number]) for number in parts)
        # Merged, none subtracted: a column that varies elsewhere only has no variance here.
        self._merged = ClassMoments.merge(bare)

    @property
    def weights(self) -> tuple[float, float]:
        """Total sample weight of each class."""
        return self._merged.weights

    @property
    def means(self) -> tuple[Array, Array]:
        """Mean of each class."""
        return self._merged.means

    @property
    def scatters(self) -> tuple[Array, Array]:
        """Σ w (x − mean)² of each class."""
        return self._merged.scatters

    @property
    def at_hand(self) -> Mask | None:
        """Columns of H that take no further reading."""
        return self._gathered.at_hand

    @property
    def _terms(self) -> int:
        """Numbers added up for a moment: rows, and chunks that are merged."""
        return 4 * self._gathered.n_rows

    def cross(self, columns: npt.ArrayLike) -> tuple[Array, Array]:
        """Σ w (x_c − mean_c)(x − mean) of each class; columns not at hand take a reading."""
        index = self._check_columns(columns)
        positive, negative = (
            self._gathered.products(self._parts, index, mean, side)
            for side, mean in enumerate(self.means)
        )
        return positive, negative


def _without_products(moments: ClassMoments) -> ClassMoments:
    positive, negative = moments.positive, moments.negative
    nothing = np.empty((0, moments.n_features))
    return ClassMoments(replace(positive, cross=nothing), replace(negative, cross=nothing))


def chunked_moments(
    chunks: Chunks, positive: Mask, weight: Array | None = None, *, products: bool = True
) -> ChunkedMoments:
    """Moments of all rows of a table that is read in chunks; see ``GatheredMoments``."""
    everything = Partition(np.zeros(positive.size, np.int16), 1, weight)
    return GatheredMoments(chunks, positive, [everything], products=products).merged()


# ----------------------------------------------------------------------------------- the readings


@dataclass(frozen=True)
class _Cells:
    """How what is known of rows divides them by part and class."""

    counts: list[int]
    weighted: list[bool]

    @property
    def n_parts(self) -> int:
        return sum(self.counts)

    def split(
        self, positive: Mask, known: Sequence[npt.NDArray[Any]]
    ) -> Iterator[tuple[int, int, Indices, Array]]:
        """Part, class (0 positive, 1 negative), rows and their weights, of each cell with any."""
        arrays = iter(known)
        first = 0
        for count, weighted in zip(self.counts, self.weighted, strict=True):
            part = next(arrays)
            weight = next(arrays) if weighted else np.empty(0)
            counted = part >= 0
            if weighted:
                counted &= weight > 0
            rows = np.flatnonzero(counted)
            cell = 2 * part[rows].astype(np.int64) + ~positive[rows]
            order = np.argsort(cell, kind="stable")
            ends = np.cumsum(np.bincount(cell, minlength=2 * count))
            for number, members in enumerate(np.split(rows[order], ends[:-1])):
                if members.size:
                    chosen = weight[members] if weighted else weight
                    yield first + number // 2, number % 2, members, chosen
            first += count


class _Summaries(Pass[list[ClassMoments]]):
    """Moments of every part, with the cross products of some columns."""

    def __init__(self, cells: _Cells, columns: Indices, n_features: int) -> None:
        self._cells = cells
        self._columns = columns
        nothing = np.zeros(n_features)
        self._empty = ClassPart(0.0, nothing, nothing, np.zeros((columns.size, n_features)))

    def add(
        self, state: list[ClassMoments] | None, X: Any, start: int, *known: npt.NDArray[Any]
    ) -> list[ClassMoments]:
        """Merge in the moments of a chunk; its entries must be finite."""
        if (bad := first_not_finite(X)) is not None:
            row, column, value = bad
            raise NotFiniteError(start + row, column, value)
        if state is None:
            state = [ClassMoments(self._empty, self._empty, self._columns)] * self._cells.n_parts
        positive, *others = known
        for number, side, rows, weight in self._cells.split(positive, others):
            cell = _moments_of(X, rows, weight, self._columns)
            sides = (cell, self._empty) if side == 0 else (self._empty, cell)
            state[number] = state[number] + ClassMoments(*sides, self._columns)
        return state

    def merge(self, first: list[ClassMoments], second: list[ClassMoments]) -> list[ClassMoments]:
        """Merge part by part."""
        return [one + other for one, other in zip(first, second, strict=True)]


class _Products(Pass[list[list[Any]]]):
    """Cross products of some columns in each class of every part, about known means."""

    def __init__(
        self, cells: _Cells, columns: Indices, means: Sequence[tuple[Array, Array]]
    ) -> None:
        self._cells = cells
        self._columns = columns
        self._means = means

    def add(
        self,
        state: list[list[Any]] | None,
        X: Any,
        start: int,  # noqa: ARG002
        *known: npt.NDArray[Any],
    ) -> list[list[Any]]:
        """Add the products of a chunk."""
        if state is None:
            state = [[self._nothing(X), self._nothing(X)] for _ in range(self._cells.n_parts)]
        positive, *others = known
        for number, side, rows, weight in self._cells.split(positive, others):
            mean, total = self._means[number][side], state[number][side]
            if sp.issparse(X):
                cell = _sparse_moments(X, rows, weight, self._columns)
                total += cell.cross
                gap = cell.mean - mean
                total += np.outer(cell.weight * gap[self._columns], gap)
            elif is_tensor(X):
                _tensors.add_products(X, rows, weight, mean, self._columns, total)
            else:
                _add_dense(X, rows, weight, mean, self._columns, total)
        return state

    def _nothing(self, X: Any) -> Any:
        """Zeros to add to; those of a tensor lie on its device."""
        if is_tensor(X):
            return _tensors.no_products(X, self._columns)
        return np.zeros((self._columns.size, X.shape[1]))

    def merge(self, first: list[list[Any]], second: list[list[Any]]) -> list[list[Any]]:
        """Add up."""
        for totals, others in zip(first, second, strict=True):
            for total, other in zip(totals, others, strict=True):
                total += other
        return first


# ----------------------------------------------------------------------------- one cell of a chunk


def _moments_of(X: Any, rows: Indices, weight: Array, columns: Indices) -> ClassPart:
    """Moments of some rows of a chunk, in double precision whatever that of X."""
    if is_tensor(X):
        return _tensors.moments_of(X, rows, weight, columns)
    if sp.issparse(X):
        return _sparse_moments(X, rows, weight, columns)
    table, d = read_only(X), X.shape[1]
    # Sums are taken about the first row: a column of one value has exactly that value as its mean.
    origin = X[rows[0]].astype(np.float64)
    mean = np.zeros(d)
    _add_differences(table, rows, weight, origin, mean)
    total = float(weight.sum()) if weight.size else float(rows.size)
    mean /= total
    mean += origin
    cross = np.zeros((columns.size, d))
    scatter, drift = _add_dense(X, rows, weight, mean, columns, cross)
    # What rounding left of the deviations' sum, which is zero in exact arithmetic.
    scatter -= drift**2 / total
    if columns.size:
        cross -= np.outer(drift[columns] / total, drift)
    return ClassPart(total, mean, np.maximum(scatter, 0.0), cross)


def _sparse_moments(X: Any, rows: Indices, weight: Array, columns: Indices) -> ClassPart:
    members = X[rows]
    moments = SparseMoments(members, np.ones(rows.size, np.bool_), weight if weight.size else None)
    return moments.summary(columns).positive


def _add_dense(
    X: npt.NDArray[Any], rows: Indices, weight: Array, mean: Array, columns: Indices, total: Array
) -> tuple[Array, Array]:
    """Add Σ w (x_c − mean_c)(x − mean) to ``total``; return Σ w (x − mean)² and Σ w (x − mean)."""
    d = X.shape[1]
    scatter, drift = np.zeros(d), np.zeros(d)
    size = min(rows.size, max(64, _TILE_NUMBERS // d))
    tile = np.empty((size, d))
    table, whole = read_only(X), columns.size == d
    for low in range(0, rows.size, size):
        part = slice(low, low + size)
        centred = tile[: rows[part].size]
        _centre(table, rows[part], weight[part], mean, centred, scatter, drift)
        if columns.size == 0:
            continue
        # The transposes of row-major arrays are what BLAS takes, and are changed in place.
        if whole:
            dsyrk(1.0, centred.T, beta=1.0, c=total.T, overwrite_c=1)
        else:
            dgemm(1.0, centred.T, centred[:, columns].T, trans_b=1, beta=1.0, c=total.T,
                  overwrite_c=1)  # fmt: skip
    if whole:
        _mirror(total)
    return scatter, drift


@kernel
def _add_differences(X, rows, weight, origin, totals):  # type: ignore[no-untyped-def]
    """Add Σ w (x − origin)."""
    for i in range(rows.size):
        row = X[rows[i]]
        w = weight[i] if weight.size else 1.0
        for j in range(row.size):
            totals[j] += w * (np.float64(row[j]) - origin[j])


@kernel
def _centre(X, rows, weight, mean, centred, scatter, drift):  # type: ignore[no-untyped-def]
    """√w (x − mean) row by row; Σ w (x − mean)² and Σ w (x − mean) are added to."""
    for i in range(rows.size):
        row, out = X[rows[i]], centred[i]
        w = weight[i] if weight.size else 1.0
        root = np.sqrt(w)
        for j in range(row.size):
            difference = np.float64(row[j]) - mean[j]
            scatter[j] += w * difference * difference
            drift[j] += w * difference
            out[j] = root * difference


@kernel
def _mirror(matrix):  # type: ignore[no-untyped-def]
    """Copy the lower triangle, which is the one that is kept up to date, to the upper."""
    for i in range(matrix.shape[0]):
        for j in range(i):
            matrix[j, i] = matrix[i, j]
