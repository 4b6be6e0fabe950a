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
def _totals(table, positive, weight, totals, stored, counts, first, varies):  # type: ignore[no-untyped-def]
    """Σ w x and Σ w over the stored entries of both classes; counts and variation of columns."""
    for i in range(positive.size):
        c = 0 if positive[i] else 1
        w = weight[i] if weight.size else 1.0
        for p in range(table.indptr[i], table.indptr[i + 1]):
            j = table.indices[p]
            x = np.float64(table.data[p])
            totals[c, j] += w * x
            stored[c, j] += w
            if counts[j] == 0:
                first[j] = x
            elif x != first[j]:
                varies[j] = True
            counts[j] += 1


@kernel
def _scatters(table, positive, weight, means, scatters):  # type: ignore[no-untyped-def]
    """Σ w (x − mean)² over the stored entries of both classes."""
    for i in range(positive.size):
        c = 0 if positive[i] else 1
        w = weight[i] if weight.size else 1.0
        for p in range(table.indptr[i], table.indptr[i + 1]):
            difference = np.float64(table.data[p]) - means[c, table.indices[p]]
            scatters[c, table.indices[p]] += w * difference * difference


@kernel
def _products(table, positive, weight, place, on_positive, on_negative):  # type: ignore[no-untyped-def]
    """Σ w x_c x, of shape (q, d), each row times its weight and its class's factor."""
    q = place.max() + 1
    products = np.zeros((q, place.size))
    for i in range(positive.size):
        w = (weight[i] if weight.size else 1.0) * (on_positive if positive[i] else on_negative)
        if w == 0.0:
            continue
        for p in range(table.indptr[i], table.indptr[i + 1]):
            c = place[table.indices[p]]
            if c >= 0:
                factor = w * np.float64(table.data[p])
                product = products[c]
                for s in range(table.indptr[i], table.indptr[i + 1]):
                    product[table.indices[s]] += factor * np.float64(table.data[s])
    return products


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
        False for columns that hold one value in every row.
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
        self._stored = np.zeros((2, d))
        counts, first = np.zeros(d, np.int64), np.zeros(d)
        self.varies = np.zeros(d, np.bool_)
        _totals(
            table, self.positive, self.row_weight, self._means, self._stored, counts, first, self.varies
        )
        # A column with a gap also holds zeros: one stored value other than zero makes it vary.
        self.varies |= (counts < n) & (first != 0)
        for mean, class_weight in zip(self._means, self._weights, strict=True):
            if class_weight > 0:
                mean /= class_weight
        self._means[:, ~self.varies] = first[~self.varies]

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
        scatters = np.zeros_like(self._means)
        _scatters(self._table, self.positive, self.row_weight, self._means, scatters)
        # Entries that are not stored are zeros, each (0 − mean)² away.
        for scatter, stored, mean, total in zip(
            scatters, self._stored, self._means, self._weights, strict=True
        ):
            scatter += np.maximum(total - stored, 0.0) * mean**2
        return scatters[0], scatters[1]

    def cross(self, columns: npt.ArrayLike) -> tuple[Array, Array]:
        """Σ w (x_c − mean_c)(x − mean) of each class, of shape (q, d)."""
        return self._centred_products(columns, 1.0, 0.0), self._centred_products(columns, 0.0, 1.0)

    def columns(self, columns: npt.ArrayLike) -> Array:
        """Columns of H, of shape (d, q), from one pass for both classes."""
        index = self._check_columns(columns)
        delta = self.delta
        rows_of_h = self._centred_products(index, 1.0 / self._weights[0], 1.0 / self._weights[1])
        rows_of_h += np.outer(delta[index], delta)
        return rows_of_h.T

    def _centred_products(
        self, columns: npt.ArrayLike, on_positive: float, on_negative: float
    ) -> Array:
        index = self._check_columns(columns)
        unique, inverse = np.unique(index, return_inverse=True)
        place = np.full(self.n_features, -1, np.int64)
        place[unique] = np.arange(unique.size)
        products: Array = _products(
            self._table, self.positive, self.row_weight, place, on_positive, on_negative
        )
        for mean, class_weight, factor in zip(
            self._means, self._weights, (on_positive, on_negative), strict=True
        ):
            products -= factor * class_weight * np.outer(mean[unique], mean)
        return products[inverse]
