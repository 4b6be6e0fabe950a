"""Moments of rows in memory: a table, which is never copied, or a chunk of one.

Rows are in cells: one for each class, or one for each class of every stratum.

Sums of deviations are taken about a row of the cell, then about the means, and products of columns
that lie far from zero about the means too: an offset common to all rows costs no digits, only the
resolution of X itself. What can be done with some rows at a time is done with a tile of them in
double precision, which stays in the second-level cache. Work on a CSR table is in time proportional
to its stored entries.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg.blas import dgemm, dsyrk, sgemm

from .._validation import check_finite, read_only
from ..errors import InputError
from ..strata import Strata
from ..utils.jit import kernel
from ..utils.types import Array, Indices, Mask
from .base import ColumnError
from .cells import Cell, CellSums, OnDemand, RowsInCells

# Rows of a tile, at most: rounding grows with the number of terms in a row of additions, and tiles
# are added up among themselves first. Not so in very many cells, which have few rows each.
_TILE_ROWS = 1024
_MANY = 64
# Numbers in a tile of whole rows, which stays in the second-level cache, and in one that is
# multiplied.
_TILE_NUMBERS = 2**15
_PRODUCT_NUMBERS = 2**21
# Products with X as it is lose as many digits as |mean|/deviation has: at most one and a half.
_NEAR = 32.0
# Powers of two between which columns are multiplied in single precision.
_ORDINARY = 2.0**-50, 2.0**50
# Exponents of weights that are taken as they are: their sums, and squares of these, are numbers.
_ORDINARY_WEIGHTS = 200
# Means by cell of a table in memory, at most; several such arrays are kept.
_MOST_MEANS = 2**27


@dataclass(frozen=True, eq=False)
class Division:
    """Rows divided into cells: 2s holds the positives of part s, 2s + 1 its negatives.

    Attributes
    ----------
    cell : ndarray of int32 of shape (n,)
        −1 for rows that count nothing.
    share : ndarray of shape (n,)
        What each row counts in its cell, 1 in all.
    weight : ndarray of shape (n_cells,)
        Total weight of each cell.
    """

    cell: npt.NDArray[np.int32]
    share: Array
    weight: Array

    @classmethod
    def by_cell(cls, cell: npt.NDArray[Any], weight: Array | None, n_cells: int) -> Self:
        """Divide rows; those of weight 0 count nothing."""
        counted = cell >= 0
        if weight is not None:
            counted &= weight > 0
        cell = np.where(counted, cell, np.int32(-1)).astype(np.int32, copy=False)
        totals = np.bincount(cell + 1, weight, n_cells + 1)[1:].astype(np.float64)
        share = totals[cell]
        np.divide(1.0 if weight is None else weight, share, out=share, where=counted)
        share[~counted] = 0.0
        return cls(read_only(cell), read_only(share), totals)

    @cached_property
    def members(self) -> list[Indices]:
        """Rows of each cell."""
        rows = np.flatnonzero(self.cell >= 0)
        order = np.argsort(self.cell[rows], kind="stable")
        ends = np.cumsum(np.bincount(self.cell[rows], minlength=self.weight.size))
        return np.split(rows[order], ends[:-1])

    def apart(self, values: npt.NDArray[Any]) -> Mask:
        """Whether numbers of the cells, (n_cells, d), differ between both classes of any part."""
        both = self.weight[::2] * self.weight[1::2] > 0
        apart: Mask = ((values[::2] != values[1::2]) & both[:, None]).any(axis=0)
        return apart


class TableRows(RowsInCells):
    """Rows of a table in memory."""

    # What rounding leaves of the means of deviations from the means, by cell.
    _left: Array

    def __init__(self, X: Any, division: Division) -> None:
        self._X = X
        self._division = division
        self.weight = division.weight

    @abstractmethod
    def _centred(self, rows: slice, columns: Indices) -> Array:
        """Some rows of some columns less the means of their cells, as a new array."""

    @abstractmethod
    def _with_all(self, columns: Indices, factors: Array) -> Array:
        """Covariances of columns with all, of the cells times their factors, added."""

    @abstractmethod
    def _cross(self, number: int, columns: Indices) -> Array:
        """Covariances of columns with all, of one cell, in double precision."""

    def moments_of(self, number: int, columns: Indices) -> Cell:
        """Additive moments of one cell, with the products of some columns."""
        weight = float(self.weight[number])
        with np.errstate(over="ignore", invalid="ignore"):  # columns too large are refused by name
            scatter = weight * self.variances[number]
            cross = np.empty((0, scatter.size))
            if columns.size:
                cross = weight * self._cross(number, columns)
        return Cell(weight, self.means[number], scatter, cross)

    def sums(self, columns: Indices) -> CellSums:
        """Additive moments of the cells, with the products of some columns."""
        total = CellSums.empty(self.weight.size, self.means.shape[1], columns.size)
        for number in np.flatnonzero(self.weight).tolist():
            total.add(number, self.moments_of(number, columns), columns)
        return total

    def within(self, columns: Indices, others: Indices | None, factors: Array) -> Array:
        """Covariances of columns with others, or all, of the cells times their factors, added."""
        if others is None:
            return self._with_all(columns, factors)
        index = np.unique(np.concatenate([columns, others]))
        first, second = np.searchsorted(index, columns), np.searchsorted(index, others)
        symmetric = np.array_equal(columns, others)
        counts = factors[self._division.cell] * self._division.share
        total = np.zeros((columns.size, others.size))
        for rows in _slices(counts.size, index.size, _PRODUCT_NUMBERS):
            part = self._centred(rows, index)
            part *= np.sqrt(counts[rows])[:, None]
            left = part[:, first]
            # NumPy multiplies an array by its own transpose at half the cost.
            total += left.T @ (left if symmetric else part[:, second])
        total -= (self._left[:, columns].T * factors) @ self._left[:, others]
        return total


def _slices(n: int, width: int, most: int) -> Iterator[slice]:
    """Rows of at most so many numbers at a time, but not too few."""
    size = max(64, most // max(1, width))
    for low in range(0, n, size):
        yield slice(low, low + size)


def check_means(X: Any, means: Array) -> None:
    """Refuse a table whose columns' means are no numbers, naming an entry or a column."""
    finite = np.isfinite(means).all(axis=0)
    if not finite.all():
        check_finite(X)
        raise ColumnError(int(np.argmin(finite)), "too large to average")


# ------------------------------------------------------------------------------------ dense tables


class DenseRows(TableRows):
    """Rows of an array of shape (n, d)."""

    def __init__(self, X: npt.NDArray[Any], division: Division) -> None:
        super().__init__(X, division)
        self._tile_rows = min(_TILE_ROWS, max(64, _TILE_NUMBERS // X.shape[1]))
        # Sums are taken about the first row of the cell: a column of one value then has exactly
        # that value as its mean.
        rows = np.flatnonzero(division.cell >= 0)[::-1]
        first = np.zeros(self.weight.size, np.int64)
        first[division.cell[rows]] = rows  # so that the first comes last
        origin = X[first].astype(np.float64)
        origin[self.weight == 0] = 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            totals, _, reach = self._add_up(origin)
            self.means = totals + origin
            self._left, squares, _ = self._add_up(self.means)
            self.variances = np.maximum(squares - self._left**2, 0.0)
            self.differences = self.means[1::2] - self.means[::2]
            # Without the rounding of the means, which is that of their offset.
            self.differences += self._left[1::2] - self._left[::2]
        self.varies = (reach > 0) | division.apart(origin)
        # Columns of H come from products of numbers of this kind.
        self.precision = float(np.finfo(X.dtype).eps)
        ordinary = (reach > _ORDINARY[0]) & (reach < _ORDINARY[1]) | ~self.varies
        self._kind = X.dtype if ordinary.all() else np.dtype(np.float64)

    def _add_up(self, about: Array) -> tuple[Array, Array, Array]:
        """Means of x − about and of its square in each cell, and the largest |x − about|."""
        cell, share = self._division.cell, self._division.share
        sums = np.zeros((2, *about.shape))
        part = np.zeros_like(sums) if about.shape[0] <= _MANY else sums
        reach = np.zeros(about.shape[1])
        for low in range(0, cell.size, self._tile_rows):
            rows = slice(low, low + self._tile_rows)
            add_powers(
                read_only(np.ascontiguousarray(self._X[rows], np.float64)),
                cell[rows],
                share[rows],
                about,
                part[0],
                part[1],
                reach,
            )
            if part is not sums:
                sums += part
                part[:] = 0.0
        return sums[0], sums[1], reach

    @cached_property
    def _far(self) -> bool:
        """Whether products of X as it is would lose digits to an offset, or leave its range."""
        pooled = self.weight @ self.variances / self.weight.sum()
        far = np.abs(self.means).max(axis=0) > _NEAR * np.sqrt(pooled)
        return bool(self._kind != self._X.dtype or (far & self.varies).any())

    def summands(self) -> tuple[int, Array]:
        """Numbers added up for a moment, and how far from zero they lie besides deviations."""
        n, size = self._X.shape[0], self._tile_rows
        centred = self.carefully or self._far
        few = centred and self.weight.size <= _MANY
        about = np.abs(self._left) + (0.0 if centred else np.abs(self.means))
        return min(n, size + 2 * (n // size) + 64) if few else n, about

    def _centred(self, rows: slice, columns: Indices) -> Array:
        part: Array = self._X[rows][:, columns].astype(np.float64)
        part -= self.means[:, columns][self._division.cell[rows]]
        return part

    def _cross(self, number: int, columns: Indices) -> Array:
        rows = self._division.members[number]
        total = np.zeros((columns.size, self._X.shape[1]))
        share = self._division.share[rows]
        unit = share[0] if (share == share[0]).all() else 1.0
        counts = share[:0] if unit < 1.0 else share
        add_products(self._X, rows, counts, self.means[number], columns, None, total)
        total *= unit
        left = self._left[number]
        total -= np.outer(left[columns], left)
        return total

    def _with_all(self, columns: Indices, factors: Array) -> Array:
        X, division = self._X, self._division
        part = self._centred(slice(None), columns)
        part *= (factors[division.cell] * division.share)[:, None]
        thin = part.astype(self._kind, copy=False)
        if self.carefully or self._far:
            products = np.zeros((columns.size, X.shape[1]))
            for low in range(0, X.shape[0], self._tile_rows):
                rows = slice(low, low + self._tile_rows)
                centred = X[rows] - self.means[division.cell[rows]]
                products += thin[rows].T @ centred.astype(self._kind, copy=False)
            about = self._left
        else:
            products = np.asarray(thin.T @ X, np.float64)
            about = self.means + self._left
        # Deviations from the means as they were rounded do not sum to zero: what is left of them
        # was multiplied by all that X was not centred by.
        drifts = factors[:, None] * self._left[:, columns]
        for product, drift in zip(products, drifts.T, strict=True):
            product -= drift @ about
        return products


@kernel
def add_powers(tile, cell, share, about, totals, squares, reach):  # type: ignore[no-untyped-def]
    """Add Σ w (x − about) and Σ w (x − about)² of each cell, and the largest |x − about|."""
    for i in range(tile.shape[0]):
        c = cell[i]
        if c >= 0:
            w = share[i]
            row, origin = tile[i], about[c]
            total, square = totals[c], squares[c]
            for j in range(row.size):
                difference = row[j] - origin[j]
                total[j] += w * difference
                square[j] += w * difference * difference
                reach[j] = max(reach[j], abs(difference))


def add_products(
    X: Any,
    rows: Indices,
    weight: Array,
    mean: Array,
    columns: Indices,
    others: Indices | None,
    total: npt.NDArray[Any],
) -> None:
    """Add Σ w (x_c − mean_c)(x − mean) of some rows to a total, in its precision.

    Of all x, or of some others, of which the columns are then the last.
    """
    q, width = total.shape
    double = total.dtype == np.float64
    symmetric = double and q == width
    gemm = dgemm if double else sgemm
    about = mean if others is None else mean[others]
    for part in _slices(rows.size, width, _PRODUCT_NUMBERS):
        chosen = X[rows[part]]
        if others is not None:
            chosen = chosen[:, others]
        dense = chosen.toarray() if hasattr(chosen, "tocsr") else chosen
        centred = dense.astype(np.float64, copy=False)  # rows that were picked are ours to change
        centred -= about
        if weight.size:
            centred *= np.sqrt(weight[part])[:, None]
        centred = centred.astype(total.dtype, copy=False)
        # The transposes of row-major arrays are what BLAS takes, and are changed in place.
        if symmetric:
            dsyrk(1.0, centred.T, beta=1.0, c=total.T, overwrite_c=1)
        else:
            left = centred[:, columns] if others is None else centred[:, width - q :]
            gemm(1.0, centred.T, left.T, trans_b=1, beta=1.0, c=total.T, overwrite_c=1)
    if symmetric:  # the lower triangle alone is kept up to date
        total[:] = np.tril(total) + np.tril(total, -1).T


# ----------------------------------------------------------------------------------- sparse tables


class CSR(NamedTuple):
    """The three arrays of a CSR matrix, as kernels take them."""

    data: npt.NDArray[np.floating]
    indices: npt.NDArray[np.integer]
    indptr: npt.NDArray[np.integer]

    @classmethod
    def view(cls, X: Any) -> Self:
        """View a CSR matrix; entries that are stored twice are summed in a copy."""
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return cls(read_only(X.data), read_only(X.indices), read_only(X.indptr))


class CSRRows(TableRows):
    """Rows of a CSR matrix or array; nothing of size n × d is made."""

    def __init__(self, X: Any, division: Division) -> None:
        if not X.has_canonical_format:  # entries that are stored twice are summed in a copy
            X = X.copy()
            X.sum_duplicates()
        super().__init__(X, division)
        table = CSR.view(X)
        cell, share = division.cell, division.share
        shape = self.weight.size, X.shape[1]
        counts = np.zeros(shape, np.int64)
        first, spread, totals, stored = np.zeros((4, *shape))
        _look(table, cell, share, counts, first, spread, totals, stored)
        self._most = int(counts.sum(axis=0).max())  # entries of a column, at most
        some = self.weight > 0
        sizes = np.bincount(cell[cell >= 0], minlength=self.weight.size)
        self._full = counts == sizes[:, None]
        stored[self._full] = 1.0
        # A column with a gap also holds zeros: one stored value other than zero makes it vary.
        constant = (spread == 0) & (self._full | (first == 0))
        self.varies = ~constant.all(axis=0) | division.apart(first)
        # A column without gaps may lie far from zero: its entries are then taken less the first.
        # One with gaps deviates about as far as its values go, and its zeros stay free.
        origin = first[np.argmax(some)]
        widest = (spread + np.abs(first - origin))[some].max(axis=0, initial=0.0)
        far = self._full.all(axis=0) & (np.abs(origin) > _NEAR * widest)
        shift = np.where(far, origin, 0.0)
        if far.any():
            data = table.data - shift[table.indices]
            table = CSR(read_only(data), table.indices, table.indptr)
            self._X = sp.csr_array(tuple(table), shape=X.shape)
        self._table = table
        with np.errstate(over="ignore", invalid="ignore"):
            # The means of the entries as they are taken.
            self._near = np.where(some[:, None], totals + (first - shift) * stored, 0.0)
            self.means = self._near + np.where(some[:, None], shift, 0.0)
            self.differences = self._near[1::2] - self._near[::2]
            squares = np.zeros(shape)
            _add_squares(table, cell, share, self._near, squares)
            # Entries that are not stored are zeros, each (0 − mean)² away.
            self.variances = squares + (1.0 - stored) * self._near**2
        self._left = np.broadcast_to(0.0, shape)

    def summands(self) -> tuple[int, Array]:
        """Numbers added up for a moment, and how far from zero they lie besides deviations."""
        return self._most, np.abs(self._near)

    def _centred(self, rows: slice, columns: Indices) -> Array:
        every = len(range(*rows.indices(self._X.shape[0]))) == self._X.shape[0]
        chosen = self._X if every else self._X[rows]  # a slice of CSR is a copy
        part: Array = chosen[:, columns].toarray().astype(np.float64, copy=False)
        part -= self._near[:, columns][self._division.cell[rows]]
        return part

    def _cross(self, number: int, columns: Indices) -> Array:
        return self._with_all(columns, np.eye(1, self.weight.size, number)[0])

    def _with_all(self, columns: Indices, factors: Array) -> Array:
        unique, inverse = np.unique(columns, return_inverse=True)
        place = np.full(self._X.shape[1], -1, np.int64)
        place[unique] = np.arange(unique.size)
        shift = np.where(self._full[:, unique], self._near[:, unique], 0.0)
        division = self._division
        products: Array = np.zeros((unique.size, place.size))
        sums = np.zeros(shift.shape)
        counts = factors[division.cell] * division.share
        _multiply(self._table, division.cell, counts, place, shift, products, sums)
        for product, drift in zip(products, sums.T, strict=True):
            product -= drift @ self._near
        return products if np.array_equal(unique, columns) else products[inverse]


@kernel
def _look(table, cell, share, counts, first, spread, totals, stored):  # type: ignore[no-untyped-def]
    """Count stored entries by cell; the first of a column, and how far all others are from it.

    Add up w (x − first), and w.
    """
    for i in range(cell.size):
        c = cell[i]
        if c < 0:
            continue
        w = share[i]
        for p in range(table.indptr[i], table.indptr[i + 1]):
            j = table.indices[p]
            x = np.float64(table.data[p])
            if counts[c, j] == 0:
                first[c, j] = x
            difference = x - first[c, j]
            counts[c, j] += 1
            spread[c, j] = max(spread[c, j], abs(difference))
            totals[c, j] += w * difference
            stored[c, j] += w


@kernel
def _add_squares(table, cell, share, means, squares):  # type: ignore[no-untyped-def]
    """Add Σ w (x − mean)² over the stored entries of each cell."""
    for i in range(cell.size):
        c = cell[i]
        if c < 0:
            continue
        for p in range(table.indptr[i], table.indptr[i + 1]):
            j = table.indices[p]
            difference = np.float64(table.data[p]) - means[c, j]
            squares[c, j] += share[i] * difference * difference


@kernel
def _multiply(table, cell, weight, place, shift, products, sums):  # type: ignore[no-untyped-def]
    """Add Σ w (x_c − shift_c) x, of shape (q, d), and Σ w (x_c − shift_c) of each cell.

    The sums are over stored x_c.
    """
    for i in range(cell.size):
        c = cell[i]
        if c < 0 or weight[i] == 0.0:
            continue
        for p in range(table.indptr[i], table.indptr[i + 1]):
            column = place[table.indices[p]]
            if column >= 0:
                factor = weight[i] * (np.float64(table.data[p]) - shift[c, column])
                sums[c, column] += factor
                product = products[column]
                for s in range(table.indptr[i], table.indptr[i + 1]):
                    product[table.indices[s]] += factor * np.float64(table.data[s])


def rows_in_cells(X: Any, division: Division) -> TableRows:
    """Rows of a table in memory, an array or a CSR matrix."""
    return CSRRows(X, division) if hasattr(X, "tocsr") else DenseRows(X, division)


def table_moments(
    X: Any, positive: Mask, weight: Array | None = None, strata: Strata | None = None
) -> OnDemand:
    """Moments of the rows of a table in memory that was checked."""
    unit = 1.0
    if weight is not None:
        weight, unit = scale_weights(weight)
    n, d = X.shape
    code = np.zeros(n, np.int32)
    shares = np.ones(1)
    if strata is not None:
        strata = strata.with_both_classes(positive, weight)
        code = strata.code.astype(np.int32)
        shares = strata.shares(strata.class_weights(positive, weight))
        if 2 * shares.size * d > _MOST_MEANS:
            raise InputError(
                f"the means of {shares.size} strata in {d} columns would fill the memory: give "
                "coarser strata, or choose among fewer columns"
            )
    cell = np.where(code >= 0, 2 * code + ~positive, np.int32(-1))
    division = Division.by_cell(cell, weight, 2 * shares.size)
    rows = rows_in_cells(X.tocsr() if hasattr(X, "tocsr") else np.asarray(X), division)
    check_means(X, rows.means)
    return OnDemand(rows, shares, unit)


def scale_weights(weight: Array) -> tuple[Array, float]:
    """Weights, divided by a power of two where they are huge or tiny, and that power.

    Nothing depends on the scale of the weights but their sums.
    """
    exponent = int(np.frexp(weight.max(initial=0.0))[1]) - 1
    if abs(exponent) <= _ORDINARY_WEIGHTS:
        return weight, 1.0
    # Twice, as the power for the smallest numbers is itself too large for one.
    half = exponent // 2
    scaled: Array = np.ldexp(np.ldexp(weight, -half), half - exponent)
    return scaled, float(np.ldexp(1.0, exponent))
