"""Class moments of a CSR table, in time proportional to its stored entries."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._jit import kernel
from ..rows import CSR, as_table, read_only
from ._units import check_finite, class_shares, unit_of
from .base import Array, Indices, Mask, TableMoments

# A column without gaps whose values are this many times its reach from zero is taken about one.
_NEAR = 32.0
# Powers of two between which columns are multiplied as they are.
_ORDINARY = 2.0**-200, 2.0**200


@kernel
def _look(table, weight, n_features, counts, positive):  # type: ignore[no-untyped-def]
    """Count stored entries by class; first and largest of a column, and how far all are from it."""
    first, reach, spread = np.zeros(n_features), np.zeros(n_features), np.zeros(n_features)
    for i in range(positive.size):
        c = 0 if positive[i] else 1
        if weight.size and weight[i] == 0.0:
            continue
        for p in range(table.indptr[i], table.indptr[i + 1]):
            j = table.indices[p]
            x = np.float64(table.data[p])
            if counts[0, j] + counts[1, j] == 0:
                first[j] = x
            spread[j] = max(spread[j], abs(x - first[j]))
            reach[j] = max(reach[j], abs(x))
            counts[c, j] += 1
    return first, reach, spread


@kernel
def _add_entries(table, positive, share, totals):  # type: ignore[no-untyped-def]
    """Add Σ w x of both classes."""
    for i in range(positive.size):
        c = 0 if positive[i] else 1
        w = share[i] if share.size else 1.0
        if w == 0.0:
            continue
        for p in range(table.indptr[i], table.indptr[i + 1]):
            totals[c, table.indices[p]] += w * np.float64(table.data[p])


@kernel
def _scatters(table, positive, weight, means, scatters, stored):  # type: ignore[no-untyped-def]
    """Σ w (x − mean)² and Σ w over the stored entries of both classes."""
    for i in range(positive.size):
        c = 0 if positive[i] else 1
        w = weight[i] if weight.size else 1.0
        for p in range(table.indptr[i], table.indptr[i + 1]):
            j = table.indices[p]
            difference = np.float64(table.data[p]) - means[c, j]
            scatters[c, j] += w * difference * difference
            stored[c, j] += w


@kernel
def _products(table, positive, weight, place, shift, factors):  # type: ignore[no-untyped-def]
    """Σ w (x_c − shift_c) x of shape (q, d), and Σ w (x_c − shift_c) of each class.

    Each row counts times its weight and its class's factor; the sums are over stored x_c.
    """
    q = shift.shape[1]
    products, sums = np.zeros((q, place.size)), np.zeros((2, q))
    for i in range(positive.size):
        c = 0 if positive[i] else 1
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
    sample_weight : float64 ndarray of shape (n,) or None

    Attributes
    ----------
    positive : bool ndarray of shape (n,)
    row_weight : float64 ndarray of shape (n,), or (0,) where every row counts once
    """

    def __init__(self, X: Any, positive: Mask, sample_weight: Array | None = None) -> None:
        table = as_table(X)
        assert isinstance(table, CSR)
        self.positive = read_only(positive)
        self.row_weight = read_only(np.empty(0) if sample_weight is None else sample_weight)
        self._weights, share, self._sums = class_shares(positive, sample_weight)
        self._share = read_only(share)
        n, d = X.shape
        counts = np.zeros((2, d), np.int32 if n < 2**31 else np.int64)
        first, reach, spread = _look(table, self.row_weight, d, counts, self.positive)
        counted = np.ones(n, np.bool_) if sample_weight is None else sample_weight > 0
        n_rows = np.array([[np.sum(counted & positive)], [np.sum(counted & ~positive)]])
        self._full = counts == n_rows
        self._most = int(counts.sum(axis=0).max())  # entries of a column, at most
        full = self._full.all(axis=0)
        # A column with a gap also holds zeros: one stored value other than zero makes it vary.
        self._varies: Mask = (spread > 0) | (~full & (first != 0))
        # A column without gaps may lie far from zero: its entries are then taken less the first.
        # One with gaps deviates about as far as its values go, and its zeros stay free.
        far = full & (np.abs(first) > _NEAR * spread)
        self._origin = np.where(far, first, 0.0)
        unit = unit_of(np.where(far, spread, reach))
        odd = (unit < _ORDINARY[0]) | (unit > _ORDINARY[1])
        self._unit: Array = np.where(odd, unit, 1.0)
        if far.any() or odd.any():
            data = table.data.astype(np.float64)
            data -= self._origin[table.indices]
            data /= self._unit[table.indices]
            table = CSR(read_only(data), table.indices, table.indptr)
        self._table = table
        self._near = np.zeros((2, d))  # the means of the entries as they are taken
        _add_entries(table, self.positive, self._share, self._near)
        check_finite(X, self._near)
        for mean, sums in zip(self._near, self._sums, strict=True):
            if sums > 0:
                mean /= sums
                mean[~self.varies] = ((first - self._origin) / self._unit)[~self.varies]

    @property
    def varies(self) -> Mask:
        """False for columns that hold one value in every row that counts."""
        return self._varies

    @property
    def weights(self) -> tuple[float, float]:
        """Total sample weight of each class."""
        return self._weights

    @cached_property
    def means(self) -> tuple[Array, Array]:  # type: ignore[override]
        """Mean of each class."""
        positive, negative = (
            mean * self._unit + self._origin * (sums > 0)
            for mean, sums in zip(self._near, self._sums, strict=True)
        )
        return positive, negative

    @property
    def delta(self) -> Array:
        """δ = x̄₋ − x̄₊, without the rounding of the means, which is that of their offset."""
        self.check_both_classes()
        delta: Array = (self._near[1] - self._near[0]) * self._unit
        return delta

    @property
    def variances(self) -> tuple[Array, Array]:
        """Variances of the columns within each class."""
        self.check_both_classes()
        variances = self._spreads * self._unit * self._unit
        return variances[0], variances[1]

    @property
    def scatters(self) -> tuple[Array, Array]:
        """Σ w (x − mean)² of each class."""
        scatters = self._spreads * self._unit * self._unit
        return scatters[0] * self._weights[0], scatters[1] * self._weights[1]

    @cached_property
    def _spreads(self) -> Array:
        """Variances of the entries as they are taken."""
        spreads, stored = np.zeros_like(self._near), np.zeros_like(self._near)
        _scatters(self._table, self.positive, self._share, self._near, spreads, stored)
        # Entries that are not stored are zeros, each (0 − mean)² away. Columns without gaps are
        # known by count, as the two sums of weights differ by rounding where there is none.
        sums = np.array(self._sums)[:, None]
        spreads += np.where(self._full, 0.0, sums - stored) * self._near**2
        spreads /= np.maximum(sums, 1.0)
        return spreads

    def rounding(self) -> tuple[float, Array]:
        """How far δ and H may be from those of X in exact arithmetic; see ``Moments.rounding``."""
        magnitude: Array = (np.sqrt(self._spreads) + np.abs(self._near)).sum(axis=0) * self._unit
        return (4.0 * self._most + 32.0) * self.precision, 1.01 * magnitude

    def cross(self, columns: npt.ArrayLike) -> tuple[Array, Array]:
        """Σ w (x_c − mean_c)(x − mean) of each class, of shape (q, d)."""
        index = self._check_columns(columns)
        positive, negative = (
            self._centred_products(index, *factors) for factors in ((1.0, 0.0), (0.0, 1.0))
        )
        return positive * self._weights[0], negative * self._weights[1]

    def columns(self, columns: npt.ArrayLike) -> Array:
        """Columns of H, of shape (d, q), from one pass for both classes."""
        index = self._check_columns(columns)
        delta = self.delta
        rows_of_h = self._centred_products(index, 1.0, 1.0)
        for row, difference in zip(rows_of_h, delta[index], strict=True):
            row += difference * delta
        return rows_of_h.T

    def _centred_rows(self, rows: slice, columns: Indices) -> Array:
        place = np.full(self.n_features, -1, np.int64)
        place[columns] = np.arange(columns.size)
        positive = self.positive[rows]
        dense = np.zeros((positive.size, columns.size))
        _fill(self._table, rows.start, place, dense)
        dense -= np.where(positive[:, None], *self._near[:, columns])
        return dense

    def _remainders(self, columns: Indices) -> Array:
        return np.zeros((2, columns.size))

    def _centred_products(self, index: Indices, on_positive: float, on_negative: float) -> Array:
        """Σ w (x_c − mean_c)(x − mean) of each class times its factor, of shape (q, d)."""
        unique, inverse = np.unique(index, return_inverse=True)
        place = np.full(self.n_features, -1, np.int64)
        place[unique] = np.arange(unique.size)
        shift = np.where(self._full[:, unique], self._near[:, unique], 0.0)
        factors = tuple(
            factor / sums if sums > 0 else 0.0
            for factor, sums in zip((on_positive, on_negative), self._sums, strict=True)
        )
        products: Array
        products, sums = _products(self._table, self.positive, self._share, place, shift, factors)
        for product, drift, unit in zip(products, sums.T, self._unit[unique], strict=True):
            product -= drift @ self._near
            product *= self._unit * unit
        if np.array_equal(unique, index):
            return products
        return products[inverse]
