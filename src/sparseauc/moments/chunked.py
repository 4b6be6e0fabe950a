"""Class moments of rows that are read chunk by chunk, in as few readings as can be.

Moments of parts merge exactly, so those of every part of the rows, the folds of a cross-validation
above all, are gathered on the same reading, and those of any training set are merged from them.
With few columns one reading gives everything. With many, the first gives means and variances, and
further ones the rows of H that solvers ask for, each time for all training sets at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg.blas import dgemm, dsyrk, sgemm

from .._validation import check_finite
from ..chunks import Chunks, Pass
from ..rows import read_only
from ..strata import Strata
from ..utils.arrays import is_tensor, to_host
from ..utils.jit import kernel
from ..utils.types import Array, Indices, Mask
from . import _tensors
from .base import ClassMoments, ClassPart, MergedMoments, Moments, NotGathered
from .sparse import SparseMoments
from .stratified import StratifiedMoments

# Bytes of cross products up to which those of all columns are gathered on the first reading.
_ALL_BYTES = 2**29
# Bytes of cross products that are gathered where nothing less will do.
_MOST_BYTES = 2**31
# Bytes of rows of H up to which rows are gathered before they are asked for.
_AHEAD_BYTES = 2**29
# Variances of columns whose products may be summed in single precision.
_ORDINARY = 1e-20, 1e20
# Numbers centred at a time.
_TILE_NUMBERS = 2**21


@dataclass(frozen=True)
class Partition:
    """Rows divided into parts whose moments are wanted."""

    part: npt.NDArray[np.integer[Any]]  # number of each row's part, −1 for rows left out
    n_parts: int
    weight: Array | None = None

    def within(self, strata: Strata) -> Partition:
        """Divide every part by stratum."""
        inside = (self.part >= 0) & (strata.code >= 0)
        part = np.where(inside, self.part * np.int64(len(strata)) + strata.code, -1)
        return Partition(part.astype(np.int32), self.n_parts * len(strata), self.weight)


def fits_whole(n_features: int, n_parts: int) -> bool:
    """Whether all of H in every part is gathered at once."""
    return n_parts * 2 * n_features**2 * 8 <= _ALL_BYTES


class GatheredMoments:
    """Moments of every part of the rows, and as much of H as passes over the rows have gathered.

    With few columns the first pass gathers all of H (``whole``), if its ``products`` will be asked
    for. With many, solvers ask for H among some columns, and for some of its rows; what all of them
    lack is gathered in one further pass, which is ``quick`` in the memory of a GPU.

    The parts of several partitions are numbered through. Where there are strata, all are divided by
    stratum.
    """

    def __init__(
        self,
        chunks: Chunks,
        positive: Mask,
        partitions: Sequence[Partition],
        *,
        products: bool = True,
        strata: Strata | None = None,
    ) -> None:
        self._strata = strata
        if strata is not None:
            partitions = [partition.within(strata) for partition in partitions]
        self._chunks = chunks
        self.quick = chunks.in_device_memory
        self._known: list[npt.NDArray[Any]] = [positive]
        for partition in partitions:
            self._known.append(partition.part)
            if partition.weight is not None:
                self._known.append(partition.weight)
        self._division = _Division(
            [partition.n_parts for partition in partitions],
            [partition.weight is not None for partition in partitions],
        )
        d = chunks.shape[1]
        self.n_features = d
        self.whole = products and fits_whole(d, self._division.n_parts)
        held = np.arange(d) if self.whole else np.empty(0, np.int64)
        self.parts: list[ClassMoments] = chunks.run(
            _Summaries(self._division, held, d), *self._known
        )
        # Products of some columns with all, and of some columns among themselves.
        self._rows = _GatheredRows()
        self._rows.add(held, [[p.positive.cross, p.negative.cross] for p in self.parts])
        self._block = _GatheredBlock(len(self.parts))

    @property
    def n_rows(self) -> int:
        """Number of rows, in all parts."""
        return self._known[0].size

    def merged(self, parts: Sequence[int], *, solver: bool = False) -> Moments:
        """Moments of several parts together; those for a solver raise ``NotGathered``."""
        if self._strata is None:
            return ChunkedMoments(self, list(parts), solver)
        size = len(self._strata)
        numbers = ([size * part + stratum for part in parts] for stratum in range(size))
        strata = [ChunkedMoments(self, some, solver) for some in numbers]
        return StratifiedMoments(strata, self._strata.weighting)

    def gather(self, missing: NotGathered, *, single: bool = False) -> None:
        """Read the rows once for what is missing of H.

        Whole rows of H may be of single precision, as the table is, where they only tell which
        columns to look at.
        """
        rows = np.array(sorted(self._with_rows_ahead(missing)), np.int64)
        block = np.setdiff1d(np.array(sorted(missing.block), np.int64), self._block.columns)
        if rows.size + block.size == 0:
            return
        n_rows, n_block = len(self._rows.place) + rows.size, self._block.columns.size + block.size
        # Whole rows of H lie where the table does: a device refuses them itself, if it is full.
        numbers = n_block**2 + (0 if self.quick else n_rows * self.n_features)
        if 16 * self._division.n_parts * numbers > _MOST_BYTES:
            raise ValueError(
                f"products of {max(n_rows, n_block)} of {self.n_features} columns in "
                f"{len(self.parts)} parts of the rows would fill the memory: choose among fewer "
                "columns, give coarser strata, or leave groups out"
            )
        means = [(part.positive.mean, part.negative.mean) for part in self.parts]
        single = single and self._chunks.dtype == np.float32 and self._ordinary
        together = np.concatenate([self._block.columns, block])
        wanted = [(rows, None), (block, together)]
        work = _Products(self._division, wanted, means, single)
        found = self._chunks.run(work, *self._known)
        if rows.size:
            self._rows.add(rows, found[0])
            self._rows.double &= is_tensor(found[0]) or not single
        if block.size:
            self._block.add(block, to_host(found[1]))

    def _with_rows_ahead(self, missing: NotGathered) -> set[int]:
        """Rows that are missing, and as many of those ahead as there is memory for."""
        rows = missing.rows - self._rows.place.keys()
        if not missing:
            return rows
        ahead = missing.ahead.keys() - self._rows.place.keys() - rows
        room = _AHEAD_BYTES // (16 * self._division.n_parts * self.n_features)
        room -= len(self._rows.place) + len(rows)
        ranked = sorted(ahead, key=lambda row: (missing.ahead[row], row))
        return rows | set(ranked[: max(room, 0)])

    @cached_property
    def _ordinary(self) -> bool:
        """Whether squares of all columns keep their digits in single precision."""
        sides = [side for part in self.parts for side in (part.positive, part.negative)]
        variances = np.max([side.scatter / max(side.weight, 1.0) for side in sides], axis=0)
        varying = variances[variances > 0]
        return bool(np.all((varying > _ORDINARY[0]) & (varying < _ORDINARY[1])))

    def sums(
        self, cells: _Cells, factors: Array, columns: Indices, others: Indices | None
    ) -> Array:
        """Σ factor w (x_c − mean_c)(x − mean) over cells, for columns c and others, or all."""
        gathered: _GatheredRows | _GatheredBlock = self._rows
        where: Any = slice(None) if others is None else others
        wanted = set(columns.tolist())
        rows_missing = wanted - self._rows.place.keys()
        if others is not None:
            missing = (wanted | set(others.tolist())) - self._block.place.keys()
            if not missing:
                gathered = self._block
            elif rows_missing or not self._rows.double:
                raise NotGathered(block=missing, source=self)
        elif rows_missing:
            raise NotGathered(rows=rows_missing, source=self)
        gaps = cells.gaps[:, where]
        if not factors.any():
            return np.zeros((columns.size, gaps.shape[1]))
        total = gathered.sum_over(cells, factors, columns, where)
        total += ((factors * cells.weights)[:, None] * cells.gaps[:, columns]).T @ gaps
        return total


class _Cells(NamedTuple):
    """The classes of parts that have rows: what they weigh, and their means less that of all."""

    numbers: list[tuple[int, int]]  # part and class, 0 positive, 1 negative
    weights: Array
    gaps: Array


class _GatheredRows:
    """Products of some columns with all, in each class (positive, negative) of every part.

    Those of tensors stay on their device: only sums are copied from it.
    """

    def __init__(self) -> None:
        self.place: dict[int, tuple[int, int]] = {}  # of each column, its pass and number there
        self.double = True  # whether all are of double precision
        self._passes: list[Any] = []

    def add(self, columns: Indices, products: Any) -> None:
        """Add what a pass has gathered, ``products[part][class]`` of shape (columns, d)."""
        number = len(self._passes)
        self.place |= {column: (number, i) for i, column in enumerate(columns.tolist())}
        self._passes.append(products)

    def sum_over(self, cells: _Cells, factors: Array, columns: Indices, others: Any) -> Array:
        """Products of some columns with others, added up."""
        places = np.array([self.place[column] for column in columns.tolist()]).reshape(-1, 2)
        summed = np.empty((columns.size, self._passes[0][0][0][:0, others].shape[1]))
        for at in np.unique(places[:, 0]).tolist():
            chosen = places[:, 0] == at
            index, found = places[chosen, 1], self._passes[at]
            if is_tensor(found):
                summed[chosen] = _tensors.sum_products(found, cells.numbers, factors, index, others)
            else:
                where = (index, others) if isinstance(others, slice) else (index[:, None], others)
                summed[chosen] = _sum(found, cells, factors, where)
        return summed


class _GatheredBlock:
    """Products of some columns among themselves, in each class of every part."""

    def __init__(self, n_parts: int) -> None:
        self.columns = np.empty(0, np.int64)
        self.place: dict[int, int] = {}
        self._products = np.empty((n_parts, 2, 0, 0))

    def add(self, columns: Indices, products: Array) -> None:
        """Add columns, given their products with those there and themselves."""
        old, size = self.columns.size, self.columns.size + columns.size
        if size > self._products.shape[-1]:
            room = size + size // 2
            block = np.empty((*self._products.shape[:2], room, room))
            block[..., :old, :old] = self._products[..., :old, :old]
            self._products = block
        self._products[..., old:size, :size] = products
        self._products[..., :old, old:size] = np.swapaxes(products[..., :old], -1, -2)
        self.columns = np.concatenate([self.columns, columns])
        self.place |= {column: old + i for i, column in enumerate(columns.tolist())}

    def sum_over(self, cells: _Cells, factors: Array, columns: Indices, others: Indices) -> Array:
        """Products of some columns with others, added up."""
        first, second = ([self.place[j] for j in some.tolist()] for some in (columns, others))
        return np.asarray(_sum(self._products, cells, factors, np.ix_(first, second)))


def _sum(products: Any, cells: _Cells, factors: Array, where: tuple[Any, ...]) -> Any:
    """Add up products of arrays or tensors over cells, each times its factor."""
    total = None
    for (number, side), factor in zip(cells.numbers, factors, strict=True):
        if factor > 0:
            part = products[number][side][where] * factor
            if total is None:
                total = part
            else:
                total += part
    return total


class ChunkedMoments(MergedMoments):
    """Moments of some parts of rows that are read in chunks; see ``GatheredMoments``.

    What was not gathered before takes another pass; for a solver it raises ``NotGathered``.
    """

    def __init__(self, gathered: GatheredMoments, parts: list[int], solver: bool = False) -> None:
        self._gathered, self._whole = gathered, gathered.whole
        self._parts, self._solver = parts, solver
        bare = (_without_products(gathered.parts[number]) for number in parts)
        # Merged, none subtracted: a column that varies elsewhere only has no variance here.
        merged = ClassMoments.merge(bare)
        self.positive, self.negative = merged.positive, merged.negative

    @property
    def _terms(self) -> int:
        """Numbers added up for a moment: rows, and chunks that are merged."""
        return 4 * self._gathered.n_rows

    def cross(self, columns: npt.ArrayLike) -> tuple[Array, Array]:
        """Σ w (x_c − mean_c)(x − mean) of each class, of shape (q, d)."""
        index = self._check_columns(columns)
        return self._sums((1.0, 0.0), index), self._sums((0.0, 1.0), index)

    def _covariances(self, index: Indices) -> Array:
        """Rows of S₊ + S₋, of shape (q, d), of both classes at once."""
        return self._sums(self._inverse_weights, index)

    def within(self, columns: Indices, others: Indices) -> Array:
        """S₊ + S₋ of some columns with others, of shape (columns, others)."""
        return self._sums(self._inverse_weights, columns, others)

    @property
    def _inverse_weights(self) -> tuple[float, float]:
        positive, negative = (1.0 / weight if weight > 0 else 0.0 for weight in self.weights)
        return positive, negative

    @cached_property
    def _cells(self) -> _Cells:
        parts = [self._gathered.parts[number] for number in self._parts]
        sides = [part.positive for part in parts], [part.negative for part in parts]
        found = [
            ((number, side), part.weight, part.mean - self.means[side])
            for side in (0, 1)
            for number, part in zip(self._parts, sides[side], strict=True)
            if part.weight > 0
        ]
        gaps = np.array([gap for _, _, gap in found]).reshape(-1, self.n_features)
        return _Cells([cell for cell, _, _ in found], np.array([w for _, w, _ in found]), gaps)

    def _sums(
        self, by_class: tuple[float, float], columns: Indices, others: Indices | None = None
    ) -> Array:
        """Products of columns with others, or all, of both classes times their factors."""
        factors = np.array([by_class[side] for _, side in self._cells.numbers])
        try:
            return self._gathered.sums(self._cells, factors, columns, others)
        except NotGathered as missing:
            if self._solver:
                raise
            missing.gather()
            return self._gathered.sums(self._cells, factors, columns, others)


def _without_products(moments: ClassMoments) -> ClassMoments:
    positive, negative = moments.positive, moments.negative
    nothing = np.empty((0, moments.n_features))
    return ClassMoments(replace(positive, cross=nothing), replace(negative, cross=nothing))


def chunked_moments(
    chunks: Chunks,
    positive: Mask,
    weight: Array | None = None,
    strata: Strata | None = None,
    *,
    products: bool = True,
    solver: bool = False,
) -> Moments:
    """Moments of all rows of a table that is read in chunks; see ``GatheredMoments``."""
    everything = Partition(np.zeros(positive.size, np.int16), 1, weight)
    gathered = GatheredMoments(chunks, positive, [everything], products=products, strata=strata)
    return gathered.merged([0], solver=solver)


# ----------------------------------------------------------------------------------- the readings


@dataclass(frozen=True)
class _Division:
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

    def __init__(self, division: _Division, columns: Indices, n_features: int) -> None:
        self._division = division
        self._columns = columns
        nothing = np.zeros(n_features)
        self._empty = ClassPart(0.0, nothing, nothing, np.zeros((columns.size, n_features)))

    def add(
        self, state: list[ClassMoments] | None, X: Any, start: int, *known: npt.NDArray[Any]
    ) -> list[ClassMoments]:
        """Merge in the moments of a chunk; its entries must be finite."""
        check_finite(X, start)
        if state is None:
            state = [ClassMoments(self._empty, self._empty, self._columns)] * self._division.n_parts
        positive, *others = known
        for number, side, rows, weight in self._division.split(positive, others):
            cell = _moments_of(X, rows, weight, self._columns)
            sides = (cell, self._empty) if side == 0 else (self._empty, cell)
            state[number] = state[number] + ClassMoments(*sides, self._columns)
        return state

    def merge(self, first: list[ClassMoments], second: list[ClassMoments]) -> list[ClassMoments]:
        """Merge part by part."""
        return [one + other for one, other in zip(first, second, strict=True)]


class _Products(Pass[list[Any]]):
    """Products of some columns with others in each class of every part, about known means.

    ``wanted`` are columns and the others to multiply them with, None for all; where they are all,
    products may be of ``single`` precision.
    """

    def __init__(
        self, division: _Division, wanted: Sequence[tuple[Indices, Indices | None]],
        means: Sequence[tuple[Array, Array]], single: bool,
    ) -> None:  # fmt: skip
        self._division, self._means = division, means
        self.wanted, self._single = wanted, single

    def add(
        self, state: list[Any] | None, X: Any, start: int, *known: npt.NDArray[Any]
    ) -> list[Any]:
        """Add the products of a chunk, to arrays of shape (n_parts, 2, columns, others)."""
        del start
        state = state or self._nothing(X)
        positive, *others = known
        for number, side, rows, weight in self._division.split(positive, others):
            mean, totals = self._means[number][side], [total[number, side] for total in state]
            if is_tensor(X):
                _tensors.add_products(X, rows, weight, mean, self.wanted, totals)
                continue
            for (columns, across), total in zip(self.wanted, totals, strict=True):
                if columns.size and across is not None:
                    _add_block(X, rows, weight, mean, columns, across, total)
                elif columns.size and sp.issparse(X):
                    part = _sparse_moments(X, rows, weight, columns)
                    total += part.cross
                    gap = part.mean - mean
                    total += np.outer(part.weight * gap[columns], gap)
                elif columns.size:
                    _add_rows(X, rows, weight, mean, columns, total)
        return state

    def _nothing(self, X: Any) -> list[Any]:
        """Zeros to add to; those of a tensor lie on its device."""
        shapes = [
            (self._division.n_parts, 2, columns.size, X.shape[1] if others is None else others.size)
            for columns, others in self.wanted
        ]
        if is_tensor(X):
            return [_tensors.no_products(X, shape) for shape in shapes]
        kinds = [
            np.float32 if others is None and self._single else np.float64
            for _, others in self.wanted
        ]
        return [np.zeros(*each) for each in zip(shapes, kinds, strict=True)]

    def merge(self, first: list[Any], second: list[Any]) -> list[Any]:
        """Add up."""
        for total, other in zip(first, second, strict=True):
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
    scatter, drift = _add_rows(X, rows, weight, mean, columns, cross)
    # What rounding left of the deviations' sum, which is zero in exact arithmetic. Columns that are
    # too large to square are refused later, by name.
    with np.errstate(over="ignore", invalid="ignore"):
        scatter -= drift**2 / total
        if columns.size:
            cross -= np.outer(drift[columns] / total, drift)
    return ClassPart(total, mean, np.maximum(scatter, 0.0), cross)


def _sparse_moments(X: Any, rows: Indices, weight: Array, columns: Indices) -> ClassPart:
    members = X[rows]
    moments = SparseMoments(members, np.ones(rows.size, np.bool_), weight if weight.size else None)
    return moments.summary(columns).positive


def _add_rows(
    X: npt.NDArray[Any], rows: Indices, weight: Array, mean: Array, columns: Indices,
    total: npt.NDArray[Any],
) -> tuple[Array, Array]:  # fmt: skip
    """Add Σ w (x_c − mean_c)(x − mean) to a total; return Σ w (x − mean)² and Σ w (x − mean)."""
    d = X.shape[1]
    scatter, drift = np.zeros(d), np.zeros(d)
    size = min(rows.size, max(64, _TILE_NUMBERS // d))
    tile = np.empty((size, d), total.dtype)
    table, double = read_only(X), total.dtype == np.float64
    gemm, symmetric = dgemm if double else sgemm, double and columns.size == d
    for low in range(0, rows.size, size):
        part = slice(low, low + size)
        centred = tile[: rows[part].size]
        _centre(table, rows[part], weight[part], mean, centred, scatter, drift)
        # The transposes of row-major arrays are what BLAS takes, and are changed in place.
        if symmetric:
            dsyrk(1.0, centred.T, beta=1.0, c=total.T, overwrite_c=1)
        elif columns.size:
            gemm(1.0, centred.T, centred[:, columns].T, trans_b=1, beta=1.0, c=total.T,
                 overwrite_c=1)  # fmt: skip
    if symmetric:
        _mirror(total)
    return scatter, drift


def _add_block(
    X: Any, rows: Indices, weight: Array, mean: Array, columns: Indices, others: Indices,
    total: Array,
) -> None:  # fmt: skip
    """Add Σ w (x_c − mean_c)(x_o − mean_o) to a total; the columns are the last of the others."""
    sparse = sp.issparse(X)
    part = (X[rows][:, others].toarray() if sparse else X[rows[:, None], others]) - mean[others]
    if weight.size:
        part *= np.sqrt(weight)[:, None]
    # NumPy multiplies an array by its own transpose at half the cost.
    left = part if columns.size == others.size else part[:, -columns.size :]
    total += left.T @ part


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
