"""Class moments of a CSR table, in time proportional to its stored entries."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._jit import kernel
from ..rows import CSR, as_table, read_only
from .base import Array, Mask, Moments


@kernel
def _totals(table, positive, weight, totals, counts, first, varies):  # type: ignore[no-untyped-def]
    """Σ w x and number of the stored entries of both classes; variation of columns."""
    for i in range(positive.size):
        c = 0 if positive[i] else 1
        w = weight[i] if weight.size else 1.0
        if w == 0.0:
            continue
        for p in range(table.indptr[i], table.indptr[i + 1]):
            j = table.indices[p]
            x = np.float64(table.data[p])
            totals[c, j] += w * x
            if counts[0, j] + counts[1, j] == 0:
                first[j] = x
            elif x != first[j]:
                varies[j] = True
            counts[c, j] += 1


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


class SparseMoments(Moments):
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
    varies : bool ndarray of shape (d,)
        False for columns that hold one value in every row that counts.
    """

    def __init__(self, X: Any, positive: Mask, sample_weight: Array | None = None) -> None:
        table = as_table(X)
        assert isinstance(table, CSR)
        self._table = table
        self.positive = read_only(positive)
        self.row_weight = read_only(np.empty(0) if sample_weight is None else sample_weight)
        n, d = X.shape
        row_weight = np.ones(n) if sample_weight is None else sample_weight
        self._weights = float(row_weight[positive].sum()), float(row_weight[~positive].sum())
        self._means = np.zeros((2, d))
        counts, first = np.zeros((2, d), np.int32 if n < 2**31 else np.int64), np.zeros(d)
        self.varies = np.zeros(d, np.bool_)
        _totals(table, self.positive, self.row_weight, self._means, counts, first, self.varies)
        counted = row_weight > 0
        n_rows = np.array([[np.sum(counted & positive)], [np.sum(counted & ~positive)]])
        self._full = counts == n_rows
        # A column with a gap also holds zeros: one stored value other than zero makes it vary.
        self.varies |= ~self._full.all(axis=0) & (first != 0)
        for mean, class_weight in zip(self._means, self._weights, strict=True):
            if class_weight > 0:
                mean /= class_weight
                mean[~self.varies] = first[~self.varies]

    @property
    def weights(self) -> tuple[float, float]:
        """Total sample weight of each class."""
        return self._weights

    @property
    def means(self) -> tuple[Array, Array]:
        """Mean of each class."""
        return self._means[0], self._means[1]

    @cached_property
    def scatters(self) -> tuple[Array, Array]:  # type: ignore[override]
        """Σ w (x − mean)² of each class."""
        scatters, stored = np.zeros_like(self._means), np.zeros_like(self._means)
        _scatters(self._table, self.positive, self.row_weight, self._means, scatters, stored)
        # Entries that are not stored are zeros, each (0 − mean)² away. Columns without gaps are
        # known by count, as the two sums of weights differ by rounding where there is none.
        gaps = np.where(self._full, 0.0, np.array(self._weights)[:, None] - stored)
        scatters += gaps * self._means**2
        return scatters[0], scatters[1]

    def cross(self, columns: npt.ArrayLike) -> tuple[Array, Array]:
        """Σ w (x_c − mean_c)(x − mean) of each class, of shape (q, d)."""
        return self._centred_products(columns, 1.0, 0.0), self._centred_products(columns, 0.0, 1.0)

    def columns(self, columns: npt.ArrayLike) -> Array:
        """Columns of H, of shape (d, q), from one pass for both classes."""
        index = self._check_columns(columns)
        delta = self.delta
        rows_of_h = self._centred_products(index, 1.0 / self._weights[0], 1.0 / self._weights[1])
        for row, difference in zip(rows_of_h, delta[index], strict=True):
            row += difference * delta
        return rows_of_h.T

    def _centred_products(
        self, columns: npt.ArrayLike, on_positive: float, on_negative: float
    ) -> Array:
        index = self._check_columns(columns)
        unique, inverse = np.unique(index, return_inverse=True)
        place = np.full(self.n_features, -1, np.int64)
        place[unique] = np.arange(unique.size)
        # A column without gaps may lie far from zero: its products are taken about its mean. One
        # with gaps deviates about as far as its values go, and its zeros stay free.
        shift = np.where(self._full[:, unique], self._means[:, unique], 0.0)
        products: Array
        products, sums = _products(
            self._table, self.positive, self.row_weight, place, shift, (on_positive, on_negative)
        )
        for product, drift in zip(products, sums.T, strict=True):
            product -= drift @ self._means
        if np.array_equal(unique, index):
            return products
        return products[inverse]
