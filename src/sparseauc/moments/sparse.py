"""Class moments of a CSR table, in time proportional to its stored entries."""

from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from .._validation import read_only
from ..strata import Strata
from ..utils.jit import kernel
from ..utils.types import Array, Indices, Mask
from .table import TableMoments, check_totals, unit_of

# A column without gaps whose values are this many times its reach from zero is taken about one.
_NEAR = 32.0
# Powers of two between which columns are multiplied as they are.
_ORDINARY = 2.0**-200, 2.0**200


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


@kernel
def _look(table, cell, weight, n_features, counts):  # type: ignore[no-untyped-def]
    """Count stored entries by cell; the largest of a column.

    And by stratum the first of a column, and how far all others are from it.
    """
    first = np.zeros((counts.shape[0] // 2, n_features))
    spread = np.zeros_like(first)
    reach = np.zeros(n_features)
    for i in range(cell.size):
        c = cell[i]
        s = c // 2
        if weight.size and weight[i] == 0.0:
            continue
        for p in range(table.indptr[i], table.indptr[i + 1]):
            j = table.indices[p]
            x = np.float64(table.data[p])
            if counts[2 * s, j] + counts[2 * s + 1, j] == 0:
                first[s, j] = x
            spread[s, j] = max(spread[s, j], abs(x - first[s, j]))
            reach[j] = max(reach[j], abs(x))
            counts[c, j] += 1
    return first, reach, spread


@kernel
def _add_entries(table, cell, share, totals):  # type: ignore[no-untyped-def]
    """Add Σ w x of each cell."""
    for i in range(cell.size):
        w = share[i] if share.size else 1.0
        if w == 0.0:
            continue
        for p in range(table.indptr[i], table.indptr[i + 1]):
            totals[cell[i], table.indices[p]] += w * np.float64(table.data[p])


@kernel
def _scatters(table, cell, weight, means, scatters, stored):  # type: ignore[no-untyped-def]
    """Σ w (x − mean)² and Σ w over the stored entries of each cell."""
    for i in range(cell.size):
        c = cell[i]
        w = weight[i] if weight.size else 1.0
        for p in range(table.indptr[i], table.indptr[i + 1]):
            j = table.indices[p]
            difference = np.float64(table.data[p]) - means[c, j]
            scatters[c, j] += w * difference * difference
            stored[c, j] += w


@kernel
def _products(table, cell, weight, place, shift, factors):  # type: ignore[no-untyped-def]
    """Σ w (x_c − shift_c) x of shape (q, d), and Σ w (x_c − shift_c) of each cell.

    Each row counts times its weight and its cell's factor; the sums are over stored x_c.
    """
    q = shift.shape[1]
    products, sums = np.zeros((q, place.size)), np.zeros(shift.shape)
    for i in range(cell.size):
        c = cell[i]
        w = (weight[i] if weight.size else 1.0) * factors[c]
        if w == 0.0:
            continue
        for p in range(table.indptr[i], table.indptr[i + 1]):
            column = place[table.indices[p]]
            if column >= 0:
                factor = w * (np.float64(table.data[p]) - shift[c, column])
                sums[c, column] += factor
                product = products[column]
                for s in range(table.indptr[i], table.indptr[i + 1]):
                    product[table.indices[s]] += factor * np.float64(table.data[s])
    return products, sums


@kernel
def _fill(table, first, place, dense):  # type: ignore[no-untyped-def]
    """Copy rows from ``first`` on to a dense array, each column to its place."""
    for i in range(dense.shape[0]):
        for p in range(table.indptr[first + i], table.indptr[first + i + 1]):
            column = place[table.indices[p]]
            if column >= 0:
                dense[i, column] = table.data[p]


class SparseMoments(TableMoments):
    """Moments computed from a CSR matrix on demand; nothing of size n × d is made.

    Parameters
    ----------
    X : CSR matrix or array of shape (n, d)
    positive : bool ndarray of shape (n,)
    sample_weight : float64 ndarray of shape (n,), optional
    strata : Strata, optional
    """

    def __init__(
        self,
        X: Any,
        positive: Mask,
        sample_weight: Array | None = None,
        strata: Strata | None = None,
    ) -> None:
        table = CSR.view(X)
        super().__init__(X.shape, positive, sample_weight, strata)
        (n, d), cells = X.shape, self._cells
        counts = np.zeros((cells.sums.size, d), np.int32 if n < 2**31 else np.int64)
        first, reach, spread = _look(table, cells.cell, cells.share, d, counts)
        counted = cells.cell if cells.share.size == 0 else cells.cell[cells.share > 0]
        self._full = counts == np.bincount(counted, minlength=cells.sums.size)[:, None]
        self._most = int(counts.sum(axis=0).max())  # entries of a column, at most
        full = self._full[::2] & self._full[1::2]  # by stratum
        # A column with a gap also holds zeros: one stored value other than zero makes it vary.
        one_value = (spread == 0) & (full | (first == 0))
        self.varies = ~one_value.all(axis=0)
        # A column without gaps may lie far from zero: its entries are then taken less the first.
        # One with gaps deviates about as far as its values go, and its zeros stay free.
        widest = (spread + np.abs(first - first[0])).max(axis=0)
        far = full.all(axis=0) & (np.abs(first[0]) > _NEAR * widest)
        self._origin = np.where(far, first[0], 0.0)
        unit = unit_of(np.where(far, widest, reach))
        odd = (unit < _ORDINARY[0]) | (unit > _ORDINARY[1])
        self._unit = np.where(odd, unit, 1.0)
        if far.any() or odd.any():
            data = table.data.astype(np.float64)
            data -= self._origin[table.indices]
            data /= self._unit[table.indices]
            table = CSR(read_only(data), table.indices, table.indptr)
        self._table = table
        self._near = np.zeros((cells.sums.size, d))  # the means of the entries as they are taken
        _add_entries(table, cells.cell, cells.share, self._near)
        check_totals(X, self._near)
        for number in np.flatnonzero(cells.sums > 0):
            mean, same = self._near[number], one_value[number // 2]
            mean /= cells.sums[number]
            mean[same] = ((first[number // 2] - self._origin) / self._unit)[same]

    @cached_property
    def cell_means(self) -> Array:  # type: ignore[override]
        """Means of the cells."""
        means: Array = self._near * self._unit + self._origin * (self._cells.sums > 0)[:, None]
        return means

    @cached_property
    def differences(self) -> Array:
        """δ_s of each stratum, without the rounding of the means, which is that of their offset."""
        self.check_both_classes()
        between: Array = (self._near[1::2] - self._near[::2]) * self._unit
        return between

    @property
    def cell_variances(self) -> Array:  # type: ignore[override]
        """Variances within the cells."""
        return self._spreads * self._unit * self._unit

    @cached_property
    def _spreads(self) -> Array:
        """Variances of the entries as they are taken."""
        spreads, stored = np.zeros_like(self._near), np.zeros_like(self._near)
        cells = self._cells
        _scatters(self._table, cells.cell, cells.share, self._near, spreads, stored)
        # Entries that are not stored are zeros, each (0 − mean)² away. Columns without gaps are
        # known by count, as the two sums of weights differ by rounding where there is none.
        sums = cells.sums[:, None]
        spreads += np.where(self._full, 0.0, sums - stored) * self._near**2
        spreads /= np.maximum(sums, 1.0)
        return spreads

    def rounding(self) -> tuple[float, Array]:
        """How far δ and H may be from those of X in exact arithmetic; see ``Moments.rounding``."""
        magnitudes = (np.sqrt(self._spreads) + np.abs(self._near)) * self._unit
        return self._rounding(self._most, magnitudes[::2] + magnitudes[1::2])

    def _centred_rows(self, rows: slice, columns: Indices) -> Array:
        place = np.full(self.n_features, -1, np.int64)
        place[columns] = np.arange(columns.size)
        cell = self._cells.cell[rows]
        dense = np.zeros((cell.size, columns.size))
        _fill(self._table, rows.start, place, dense)
        dense -= self._near[:, columns][cell]
        return dense

    def _remainders(self, columns: Indices) -> Array:
        return np.zeros((self._cells.sums.size, columns.size))

    def _products(self, index: Indices, on_positive: float, on_negative: float) -> Array:
        unique, inverse = np.unique(index, return_inverse=True)
        place = np.full(self.n_features, -1, np.int64)
        place[unique] = np.arange(unique.size)
        shift = np.where(self._full[:, unique], self._near[:, unique], 0.0)
        cells = self._cells
        factors = cells.factors(on_positive, on_negative)
        products: Array
        products, sums = _products(self._table, cells.cell, cells.share, place, shift, factors)
        for product, drift, unit in zip(products, sums.T, self._unit[unique], strict=True):
            product -= drift @ self._near
            product *= self._unit * unit
        if np.array_equal(unique, index):
            return products
        return products[inverse]
