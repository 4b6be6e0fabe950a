"""Rows by cell where they lie in memory: an array, a CSR matrix, a tensor, or a chunk of one.

Nothing is copied. Sums of deviations are taken about a row of the cell, then about the
means, and products of columns that lie far from zero about the means too: an offset
common to all rows costs no digits, only the resolution of X itself. What can be done
with some rows at a time is done with a tile of them in double precision, which stays in
the second-level cache. Work on a CSR table is in time proportional to its stored
entries. A tensor is computed with where it lies.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg.blas import dgemm, sgemm

from .._validation import check_finite, read_only
from ..errors import InputError
from ..strata import Strata
from ..utils.arrays import beside, is_tensor, to_host, zeros_beside
from ..utils.jit import kernel
from ..utils.types import Array, Indices, Mask
from .base import ColumnError
from .cells import Cells, Moments

# Rows of a tile, at most.
_TILE_ROWS = 1024
# Numbers in a tile of whole rows, which stays in the second-level cache, and in one
# that is multiplied, on the host and on a device.
_TILE_NUMBERS = 2**15
_PRODUCT_NUMBERS = 2**21
_DEVICE_NUMBERS = 2**28
# Products with X as it is lose as many digits as |mean|/deviation has: at most one and
# a half.
_NEAR = 32.0
# Variances of columns that may be multiplied in single precision.
_ORDINARY = 1e-20, 1e20
# More columns than this times others: products of a CSR table with all come cheaper.
_FEW = 8
# Exponents of weights that are taken as they are: their sums, and squares of these, are
# numbers.
_ORDINARY_WEIGHTS = 200
# Means by cell of a table in memory, at most; several such arrays are kept.
_MOST_MEANS = 2**27


def fit_single_precision(variances: Array) -> bool:
    """Return whether products of columns with these variances by cell are numbers in float32."""
    largest = variances.max(axis=0)
    ordinary = (largest > _ORDINARY[0]) & (largest < _ORDINARY[1]) | (largest == 0)
    return bool(ordinary.all())


class TableCells(Cells):
    """Rows of a table in memory by cell.

    Parameters
    ----------
    X : ndarray, CSR or tensor of shape (n, d)
    cell : ndarray of int of shape (n,)
        Number of each row's cell, −1 for rows that count nothing.
    weight : ndarray of shape (n,) or None
        What each row counts; 1 for None. Rows of weight 0 are as good as absent.
    n_cells : int
    """

    # What entries are measured from, by cell.
    _about: Array

    def __init__(
        self, X: Any, cell: npt.NDArray[Any], weight: Array | None, n_cells: int
    ) -> None:
        counted = cell >= 0
        if weight is not None:
            counted &= weight > 0
        cell = np.where(counted, cell, np.int32(-1)).astype(np.int32, copy=False)
        totals = np.bincount(cell + 1, weight, n_cells + 1)[1:].astype(np.float64)
        # What each row counts in its cell, 1 in all.
        share = totals[cell]
        np.divide(1.0 if weight is None else weight, share, out=share, where=counted)
        share[~counted] = 0.0
        self.X = X
        self.cell = read_only(cell)
        self.share = read_only(share)
        self.weight = totals
        self.n_terms = cell.size
        with np.errstate(over="ignore", invalid="ignore"):  # refused by name
            self._find_means()

    @abstractmethod
    def _find_means(self) -> None:
        """Set the means."""

    def covariances(
        self, columns: Indices, others: Indices | None, factors: Array
    ) -> Array:
        """Covariances of columns with others, or all, of the cells times their factors, added."""
        width = self.X.shape[1] if others is None else others.size
        total = zeros_beside(self.X, (columns.size, width))
        counts = factors[self.cell] * self.share
        self._multiply(total, columns, others, counts, self._about)
        return to_host(total)

    def add_products(
        self,
        total: Any,
        columns: Indices,
        others: Indices | None,
        number: int,
        mean: Array,
    ) -> None:
        """Add Σ w (x_c − m_c)(x − m) over the rows of a cell, with any m, to a total.

        It is computed in the precision of the total, which lies where the table does.
        """
        counts = np.where(self.cell == number, self.share * self.weight[number], 0.0)
        about = np.broadcast_to(mean, self.means.shape)
        self._multiply(total, columns, others, counts, about)

    def _multiply(
        self,
        total: Any,
        columns: Indices,
        others: Indices | None,
        counts: Array,
        about: Array,
    ) -> None:
        """Add products of rows that count so much, less what they are measured from."""
        d = self.X.shape[1]
        every = np.arange(d)
        index, first, second = every, columns, every
        if others is not None:
            index = np.union1d(columns, others)
            first = np.searchsorted(index, columns)
            second = np.searchsorted(index, others)
        symmetric = np.array_equal(first, second)
        about = about[:, index]
        rows = np.flatnonzero(counts)
        if rows.size == 0 or total.shape[0] == 0:
            return
        alone = self.cell[rows[0]]
        is_alone = bool((self.cell[rows] == alone).all())
        for part in self._tiles(rows, index.size):
            centred = dense(self.X, part, index)
            centred -= beside(about[alone if is_alone else self.cell[part]], self.X)
            centred *= beside(np.sqrt(counts[part])[:, None], self.X)
            left = take_columns(centred, first)
            right = left if symmetric else take_columns(centred, second)
            if is_tensor(total):
                total.addmm_(left.T, right)
                continue
            left = left.astype(total.dtype, copy=False)
            if symmetric:  # at half the cost, as it is the product with itself
                total += left.T @ left
                continue
            right = right.astype(total.dtype, copy=False)
            # In place: products of few rows are more numbers than the rows.
            gemm = dgemm if total.dtype == np.float64 else sgemm
            gemm(1.0, right.T, left.T, trans_b=1, beta=1.0, c=total.T, overwrite_c=1)

    def _tiles(self, rows: Indices, width: int) -> Iterator[Any]:
        """Some rows at a time: slices where most of the table is meant."""
        numbers = _DEVICE_NUMBERS if is_tensor(self.X) else _PRODUCT_NUMBERS
        size = max(64, numbers // max(1, width))
        if not is_tensor(self.X):
            size = min(_TILE_ROWS, size)
        n = self.cell.size
        if 2 * rows.size > n:
            yield from (slice(low, low + size) for low in range(0, n, size))
        else:
            yield from (rows[low : low + size] for low in range(0, rows.size, size))


def are_all(places: Indices, size: int) -> bool:
    """Return whether places are all of so many, in their order."""
    return places.size == size and bool((np.diff(places) == 1).all())


def dense(X: Any, rows: Any, columns: Indices) -> Any:
    """Some rows and columns of a table in double precision, where it lies, ours to change."""
    every = are_all(columns, X.shape[1])
    if is_tensor(X):
        part = X[rows if isinstance(rows, slice) else beside(rows, X)].double()
        if not every:
            part = part.index_select(1, beside(columns, X))
        return part.clone() if isinstance(rows, slice) else part
    part = X[rows]
    if not every:
        part = part[:, columns]
    if hasattr(part, "tocsr"):
        part = part.toarray()
    return part.astype(np.float64, order="C", copy=part.base is not None)


def take_columns(part: Any, columns: Indices) -> Any:
    """Some columns of an array or a tensor; itself, if these are all."""
    return part if are_all(columns, part.shape[1]) else part[:, beside(columns, part)]


class DenseCells(TableCells):
    """Rows of an array, or of a tensor, by cell."""

    def _find_means(self) -> None:
        X, weight = self.X, self.weight
        # Sums are taken about the first row of the cell: a column of one value then has
        # exactly that value as its mean.
        rows = np.flatnonzero(self.cell >= 0)[::-1]
        first = np.zeros(weight.size, np.int64)
        first[self.cell[rows]] = rows  # so that the first comes last
        origin = to_host(X[beside(first, X)]).astype(np.float64)
        origin[weight == 0] = 0.0
        drift = self._add_up(origin)[0]
        self._about = self.means = origin + drift
        # The mean that the rounding of the means leaves of the rows.
        self._left = drift - (self.means - origin)
        # Columns of H come from products of numbers of this kind.
        if not is_tensor(X):
            self.precision = float(np.finfo(X.dtype).eps)

    @cached_property
    def variances(self) -> Array:  # type: ignore[override]
        """Variance of each column in each cell."""
        with np.errstate(over="ignore", invalid="ignore"):
            squares = self._add_up(self.means)[1]
            return np.maximum(squares - self._left**2, 0.0)

    @property
    def differences(self) -> Array:
        """Differences of the means, without their rounding, which is that of their offset."""
        return super().differences + (self._left[1::2] - self._left[::2])

    @property
    def offsets(self) -> Array:
        """How far from zero numbers lie, besides deviations, that are added up."""
        return np.abs(self._left)

    def _add_up(self, about: Array) -> tuple[Array, Array]:
        """Means of x − about and of its square in each cell."""
        if is_tensor(self.X):
            return self._add_up_beside(about)
        cell, share = self.cell, self.share
        sums = np.zeros((2, *about.shape))
        size = min(_TILE_ROWS, max(64, _TILE_NUMBERS // about.shape[1]))
        for low in range(0, cell.size, size):
            rows = slice(low, low + size)
            add_powers(
                read_only(np.ascontiguousarray(self.X[rows], np.float64)),
                cell[rows],
                share[rows],
                about,
                sums[0],
                sums[1],
            )
        return sums[0], sums[1]

    def _add_up_beside(self, about: Array) -> tuple[Array, Array]:
        """Add up where a tensor lies."""
        sums = np.zeros((2, *about.shape))
        every = np.arange(about.shape[1])
        for number in np.flatnonzero(self.weight).tolist():
            origin = beside(about[number], self.X)
            total = zeros_beside(self.X, (2, every.size))
            rows = np.flatnonzero(self.cell == number)
            for chosen in self._tiles(rows, every.size):
                part = dense(self.X, chosen, every)
                part -= origin
                share = np.where(self.cell[chosen] == number, self.share[chosen], 0.0)
                counts = beside(share, self.X)
                total[0] += counts @ part
                total[1] += counts @ part.square_()
            sums[:, number] = to_host(total)
        return sums[0], sums[1]

    @cached_property
    def _near(self) -> bool:
        """True if X can be multiplied as it is, without losing digits or leaving its range."""
        if is_tensor(self.X):
            return False
        pooled = self.weight @ self.variances / self.weight.sum()
        far = np.abs(self.means).max(axis=0) > _NEAR * np.sqrt(pooled)
        single = self.X.dtype == np.float32
        ordinary = not single or fit_single_precision(self.variances)
        return ordinary and not (far & (pooled > 0)).any()

    def covariances(
        self, columns: Indices, others: Indices | None, factors: Array
    ) -> Array:
        """Covariances of columns with others, or all, of the cells times their factors, added."""
        if others is None and self._near:
            part = self.X[:, columns] - self.means[:, columns][self.cell]
            part *= (factors[self.cell] * self.share)[:, None]
            products = part.astype(self.X.dtype, copy=False).T @ self.X
            return np.asarray(products, np.float64)
        products = super().covariances(columns, others, factors)
        left = self._left if others is None else self._left[:, others]
        products -= (self._left[:, columns].T * factors) @ left
        return products


@kernel
def add_powers(tile, cell, share, about, totals, squares):  # type: ignore[no-untyped-def]
    """Add Σ w (x − about) and Σ w (x − about)² of each cell."""
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


# ------------------------------------------------------------------------ sparse tables


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


class CSRCells(TableCells):
    """Rows of a CSR matrix or array by cell; nothing of size n × d is made."""

    def _find_means(self) -> None:
        table = CSR.view(self.X)
        cell, share = self.cell, self.share
        shape = self.weight.size, self.X.shape[1]
        counts = np.zeros(shape, np.int64)
        first, spread, totals, stored = np.zeros((4, *shape))
        _look(table, cell, share, counts, first, spread, totals, stored)
        some = self.weight > 0
        sizes = np.bincount(cell[cell >= 0], minlength=some.size)
        self._full = counts == sizes[:, None]
        stored[self._full] = 1.0
        # A column without gaps may lie far from zero: its entries are then taken less
        # the first. One with gaps deviates about as far as its values go, and its zeros
        # stay free.
        origin = first[np.argmax(some)]
        widest = (spread + np.abs(first - origin))[some].max(axis=0, initial=0.0)
        far = self._full.all(axis=0) & (np.abs(origin) > _NEAR * widest)
        shift = np.where(far, origin, 0.0)
        if far.any():
            table = table._replace(data=read_only(table.data - shift[table.indices]))
            self.X = sp.csr_array(tuple(table), shape=self.X.shape)
        self._table = table
        self._shift = shift
        # The means of the entries as they are taken.
        self._about = np.where(some[:, None], totals + (first - shift) * stored, 0.0)
        self.means = self._about + np.where(some[:, None], shift, 0.0)
        # Entries that are not stored are zeros, each (0 − mean)² away.
        self.variances = (1.0 - stored) * self._about**2
        _add_squares(table, cell, share, self._about, self.variances)

    @property
    def differences(self) -> Array:
        """Differences of the means, as exact as can be."""
        with np.errstate(over="ignore", invalid="ignore"):
            differences: Array = self._about[1::2] - self._about[::2]
        return differences

    @property
    def offsets(self) -> Array:
        """How far from zero numbers lie, besides deviations, that are added up."""
        return np.abs(self._about)

    def add_products(
        self,
        total: Any,
        columns: Indices,
        others: Indices | None,
        number: int,
        mean: Array,
    ) -> None:
        """Add the products of the rows of a cell to a total."""
        super().add_products(total, columns, others, number, mean - self._shift)

    def _multiply(
        self,
        total: Any,
        columns: Indices,
        others: Indices | None,
        counts: Array,
        about: Array,
    ) -> None:
        d = about.shape[1]
        if others is not None and others.size < min(d, _FEW * columns.size):
            super()._multiply(total, columns, others, counts, about)
            return
        unique, inverse = np.unique(columns, return_inverse=True)
        place = np.full(d, -1, np.int64)
        place[unique] = np.arange(unique.size)
        shift = np.where(self._full[:, unique], self._about[:, unique], 0.0)
        products = np.zeros((unique.size, d))
        sums = np.zeros(shift.shape)
        multiply(self._table, self.cell, counts, place, shift, products, sums)
        products -= sums.T @ about
        # Means other than those of the rows leave a sum of deviations.
        rest = np.bincount(self.cell + 1, counts, about.shape[0] + 1)[1:, None]
        gaps = about - self._about
        products += ((about[:, unique] - shift) * rest).T @ gaps
        products = products[inverse]
        total += products if others is None else products[:, others]


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
def multiply(table, cell, weight, place, shift, products, sums):  # type: ignore[no-untyped-def]
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


def cells_of(
    X: Any, cell: npt.NDArray[Any], weight: Array | None, n_cells: int
) -> TableCells:
    """Rows of an array, a CSR matrix or a tensor by cell."""
    kind = CSRCells if hasattr(X, "tocsr") else DenseCells
    return kind(X, cell, weight, n_cells)


def table_moments(
    X: Any, positive: Mask, weight: Array | None = None, strata: Strata | None = None
) -> Moments:
    """Moments of the rows of a table in memory that was checked."""
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
    table = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
    cells = cells_of(table, cell, weight, 2 * shares.size)
    check_means(X, cells.means)
    return Moments(cells, shares)


def check_means(X: Any, means: Array) -> None:
    """Refuse a table whose columns' means are no numbers, naming an entry or a column."""
    finite = np.isfinite(means).all(axis=0)
    if not finite.all():
        check_finite(X)
        raise ColumnError(int(np.argmin(finite)), "too large to average")


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
