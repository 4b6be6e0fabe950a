"""Moments of rows in memory: a table, which is never copied, or a chunk of one.

Rows are in cells: one for each class, or one for each class of every stratum.

Sums of deviations are taken about a row of the cell, then about the means, and products
of columns that lie far from zero about the means too: an offset common to all rows
costs no digits, only the resolution of X itself. What can be done with some rows at a
time is done with a tile of them in double precision, which stays in the second-level
cache. Work on a CSR table is in time proportional to its stored entries.
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
from scipy.linalg.blas import dgemm, sgemm

from .._validation import check_finite, read_only
from ..errors import InputError
from ..strata import Strata
from ..utils.jit import kernel
from ..utils.types import Array, Indices, Mask
from .base import ColumnError
from .cells import CellSums, OnDemand

# Rows of a tile, at most: rounding grows with the number of terms in a row of
# additions, and tiles are added up among themselves first. Not so in very many cells,
# which have few rows each.
_TILE_ROWS = 1024
_MANY = 64
# Numbers in a tile of whole rows, which stays in the second-level cache, and in one
# that is multiplied.
_TILE_NUMBERS = 2**15
_PRODUCT_NUMBERS = 2**21
# Products with X as it is lose as many digits as |mean|/deviation has: at most one and
# a half.
_NEAR = 32.0
# Powers of two between which columns are multiplied in single precision.
_ORDINARY = 2.0**-50, 2.0**50
# More columns than this times others: products of a CSR table with all come cheaper.
_FEW = 8
# Exponents of weights that are taken as they are: their sums, and squares of these, are
# numbers.
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
    def by_cell(
        cls, cell: npt.NDArray[Any], weight: Array | None, n_cells: int
    ) -> Self:
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
        """Mask of numbers of cells, (n_cells, d), that differ between both classes of any part."""
        both = self.weight[::2] * self.weight[1::2] > 0
        apart: Mask = ((values[::2] != values[1::2]) & both[:, None]).any(axis=0)
        return apart


class TableMoments(OnDemand):
    """Moments of the rows of a table in memory.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d)
    division : Division
    shares : ndarray of shape (n_strata,)
    """

    _X: Any
    _division: Division
    # What entries are measured from, by cell, and the mean that rounding leaves of
    # them.
    _about: Array
    _left: Array

    @abstractmethod
    def _with_all(self, columns: Indices, factors: Array) -> Array:
        """Covariances of columns with all, of the cells times their factors, added."""

    @abstractmethod
    def _of_cell(self, number: int, columns: Indices) -> Array:
        """Covariances of columns with all, of one cell, in double precision."""

    def of_cells(self, columns: Indices) -> Iterator[tuple[int, CellSums]]:
        """Additive moments of each cell that has rows, with the products of some columns."""
        for number in np.flatnonzero(self.cell_weights).tolist():
            one = slice(number, number + 1)
            weight = self.cell_weights[one]
            with np.errstate(
                over="ignore", invalid="ignore"
            ):  # too large: refused by name
                cross = np.empty((1, 0, self.n_features))
                if columns.size:
                    cross = weight * self._of_cell(number, columns)[None]
                scatter = weight * self.cell_variances[one]
            yield number, CellSums(weight, self.cell_means[one], scatter, cross)

    def sums(self, columns: Indices) -> CellSums:
        """Additive moments of the cells, with the products of some columns."""
        total = CellSums.empty(self.cell_weights.size, self.n_features, columns.size)
        for number, cell in self.of_cells(columns):
            total.add(cell, columns, number)
        return total

    def _covariances(
        self, columns: Indices, others: Indices | None, factors: Array
    ) -> Array:
        if others is None:
            return self._with_all(columns, factors)
        index = np.unique(np.concatenate([columns, others]))
        first, second = np.searchsorted(index, columns), np.searchsorted(index, others)
        right = None if np.array_equal(columns, others) else second
        cell = self._division.cell
        counts = factors[cell] * self._division.share
        total = np.zeros((columns.size, others.size))
        add_products(
            total, self._X, None, self._about, cell, counts, index, first, right
        )
        total -= (self._left[:, columns].T * factors) @ self._left[:, others]
        return total


def add_products(
    total: npt.NDArray[Any],
    X: Any,
    rows: Indices | None,
    means: Array,
    cell: npt.NDArray[Any] | None,
    counts: Array,
    index: Indices | None,
    left: Indices | slice,
    right: Indices | slice | None,
) -> None:
    """Add Σ w (x_c − mean_c)(x − mean) of some rows, or all, to a total, in its precision.

    ``means`` are of the cell of each row, or of the one that all are in. Of the columns
    in ``index``, or of all, those at ``left`` are multiplied with those at ``right``,
    or among themselves.
    """
    n, width = X.shape
    if rows is not None:
        n = rows.size
    if index is not None:
        width = index.size
        means = means[..., index]
    gemm = dgemm if total.dtype == np.float64 else sgemm
    size = min(_TILE_ROWS, max(64, _PRODUCT_NUMBERS // max(1, width)))
    for low in range(0, n, size):
        part = slice(low, low + size)
        chosen = X[part if rows is None else rows[part]]
        if index is not None:
            chosen = chosen[:, index]
        dense = chosen.toarray() if hasattr(chosen, "tocsr") else chosen
        centred = dense.astype(np.float64, copy=rows is None and index is None)
        centred -= means if cell is None else means[cell[part]]
        centred *= np.sqrt(counts[part])[:, None]
        centred = centred.astype(total.dtype, copy=False)
        first = centred[:, left]
        if (
            right is None
        ):  # NumPy multiplies an array by its own transpose at half the cost
            total += first.T @ first
        elif (
            total.size
        ):  # in place: products of few rows are more numbers than the rows
            second = centred[:, right]
            gemm(1.0, second.T, first.T, trans_b=1, beta=1.0, c=total.T, overwrite_c=1)


def check_means(X: Any, means: Array) -> None:
    """Refuse a table whose columns' means are no numbers, naming an entry or a column."""
    finite = np.isfinite(means).all(axis=0)
    if not finite.all():
        check_finite(X)
        raise ColumnError(int(np.argmin(finite)), "too large to average")


# ------------------------------------------------------------------------- dense tables


class DenseMoments(TableMoments):
    """Moments of an array of shape (n, d)."""

    def __init__(self, X: npt.NDArray[Any], division: Division, shares: Array) -> None:
        self._X, self._division = X, division
        cell, weight = division.cell, division.weight
        n, d = X.shape
        self._tile_rows = min(_TILE_ROWS, max(64, _TILE_NUMBERS // d))
        # Sums are taken about the first row of the cell: a column of one value then has
        # exactly that value as its mean.
        rows = np.flatnonzero(cell >= 0)[::-1]
        first = np.zeros(weight.size, np.int64)
        first[cell[rows]] = rows  # so that the first comes last
        origin = X[first].astype(np.float64)
        origin[weight == 0] = 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            totals, _, reach = self._add_up(origin)
            means = totals + origin
            left, squares, _ = self._add_up(means)
            variances = np.maximum(squares - left**2, 0.0)
            differences = means[1::2] - means[::2]
            # Without the rounding of the means, which is that of their offset.
            differences += left[1::2] - left[::2]
        super().__init__(
            weight,
            shares,
            means,
            variances,
            varies=(reach > 0) | division.apart(origin),
            differences=differences,
            n_terms=min(n, _TILE_ROWS + 2 * (n // self._tile_rows) + 64)
            if weight.size <= _MANY
            else n,
            offsets=left,
        )
        self._about, self._left = means, left
        # Columns of H come from products of numbers of this kind.
        self.precision = float(np.finfo(X.dtype).eps)
        ordinary = (reach > _ORDINARY[0]) & (reach < _ORDINARY[1]) | ~self.varies
        self._is_ordinary = X.dtype == np.float64 or bool(ordinary.all())

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
    def _near(self) -> bool:
        """True if X can be multiplied as it is, without losing digits or leaving its range."""
        pooled = self.cell_weights @ self.cell_variances / self.cell_weights.sum()
        far = np.abs(self.cell_means).max(axis=0) > _NEAR * np.sqrt(pooled)
        return self._is_ordinary and not (far & self.varies).any()

    def _of_cell(self, number: int, columns: Indices) -> Array:
        rows = self._division.members[number]
        share = self._division.share[rows]
        mean, left = self._about[number], self._left[number]
        total = np.zeros((columns.size, self.n_features))
        every = slice(None)
        of, others = (
            (every, None) if columns.size == self.n_features else (columns, every)
        )
        add_products(total, self._X, rows, mean, None, share, None, of, others)
        total -= np.outer(left[columns], left)
        return total

    def _with_all(self, columns: Indices, factors: Array) -> Array:
        if not self._near:
            return self._covariances(columns, np.arange(self.n_features), factors)
        X, cell = self._X, self._division.cell
        part = X[:, columns] - self._about[:, columns][cell]
        part *= (factors[cell] * self._division.share)[:, None]
        products = np.asarray(part.astype(X.dtype, copy=False).T @ X, np.float64)
        # Deviations from the means as they were rounded do not sum to zero: what is
        # left of them was multiplied by all of X.
        drifts = factors[:, None] * self._left[:, columns]
        products -= drifts.T @ (self._about + self._left)
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


class CSRMoments(TableMoments):
    """Moments of a CSR matrix or array; nothing of size n × d is made."""

    def __init__(self, X: Any, division: Division, shares: Array) -> None:
        table = CSR.view(X)
        cell, share, weight = division.cell, division.share, division.weight
        shape = weight.size, X.shape[1]
        counts = np.zeros(shape, np.int64)
        first, spread, totals, stored, squares = np.zeros((5, *shape))
        _look(table, cell, share, counts, first, spread, totals, stored)
        some = weight > 0
        sizes = np.bincount(cell[cell >= 0], minlength=weight.size)
        self._full = counts == sizes[:, None]
        stored[self._full] = 1.0
        # A column with a gap also holds zeros: one stored value other than zero makes
        # it vary.
        constant = (spread == 0) & (self._full | (first == 0))
        # A column without gaps may lie far from zero: its entries are then taken less
        # the first. One with gaps deviates about as far as its values go, and its zeros
        # stay free.
        origin = first[np.argmax(some)]
        widest = (spread + np.abs(first - origin))[some].max(axis=0, initial=0.0)
        far = self._full.all(axis=0) & (np.abs(origin) > _NEAR * widest)
        shift = np.where(far, origin, 0.0)
        if far.any():
            table = table._replace(data=read_only(table.data - shift[table.indices]))
        with np.errstate(over="ignore", invalid="ignore"):
            # The means of the entries as they are taken.
            about = np.where(some[:, None], totals + (first - shift) * stored, 0.0)
            _add_squares(table, cell, share, about, squares)
            super().__init__(
                weight,
                shares,
                about + np.where(some[:, None], shift, 0.0),
                # Entries that are not stored are zeros, each (0 − mean)² away.
                squares + (1.0 - stored) * about**2,
                varies=~constant.all(axis=0) | division.apart(first),
                differences=about[1::2] - about[::2],
                n_terms=int(counts.sum(axis=0).max()),
                offsets=about,
            )
        self._X = sp.csr_array(tuple(table), shape=X.shape) if far.any() else X
        self._division = division
        self._table = table
        self._about = about
        self._left = np.broadcast_to(0.0, shape)

    def _covariances(
        self, columns: Indices, others: Indices | None, factors: Array
    ) -> Array:
        if others is not None and others.size > _FEW * columns.size:
            return self._with_all(columns, factors)[:, others]
        return super()._covariances(columns, others, factors)

    def _of_cell(self, number: int, columns: Indices) -> Array:
        return self._with_all(columns, np.eye(1, self.cell_weights.size, number)[0])

    def _with_all(self, columns: Indices, factors: Array) -> Array:
        unique, inverse = np.unique(columns, return_inverse=True)
        place = np.full(self.n_features, -1, np.int64)
        place[unique] = np.arange(unique.size)
        shift = np.where(self._full[:, unique], self._about[:, unique], 0.0)
        cell = self._division.cell
        counts = factors[cell] * self._division.share
        products: Array = np.zeros((unique.size, place.size))
        sums = np.zeros(shift.shape)
        _multiply(self._table, cell, counts, place, shift, products, sums)
        products -= sums.T @ self._about
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


def moments_by_cell(
    X: Any, division: Division, shares: Array | None = None
) -> TableMoments:
    """Moments of an array or a CSR matrix; by default all strata count the same."""
    kind = CSRMoments if hasattr(X, "tocsr") else DenseMoments
    return kind(
        X, division, np.ones(division.weight.size // 2) if shares is None else shares
    )


def table_moments(
    X: Any, positive: Mask, weight: Array | None = None, strata: Strata | None = None
) -> OnDemand:
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
    division = Division.by_cell(cell, weight, 2 * shares.size)
    table = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
    moments = moments_by_cell(table, division, shares)
    check_means(X, moments.cell_means)
    return moments


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
