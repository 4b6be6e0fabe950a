"""Class moments of a dense table, in memory or memory-mapped; X is never copied."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._jit import kernel
from ..rows import read_only
from .base import Array, Mask, Moments


@kernel
def _totals_by_row(X, positive, weight, origin, totals, varies):  # type: ignore[no-untyped-def]
    """Σ w (x − origin) of both classes, and which columns hold more than one value."""
    for i in range(X.shape[0]):
        row = X[i]
        total = totals[0] if positive[i] else totals[1]
        w = weight[i] if weight.size else 1.0
        if w == 0.0:
            continue
        for j in range(row.size):
            difference = np.float64(row[j]) - np.float64(origin[j])
            total[j] += w * difference
            varies[j] |= difference != 0


@kernel
def _totals_by_column(X, positive, weight, origin, totals, varies):  # type: ignore[no-untyped-def]
    """Do the same as ``_totals_by_row`` for a column-major table."""
    for j in range(X.shape[1]):
        column = X[:, j]
        for i in range(column.size):
            difference = np.float64(column[i]) - np.float64(origin[j])
            w = weight[i] if weight.size else 1.0
            totals[0 if positive[i] else 1, j] += w * difference
            varies[j] |= (difference != 0) & (w != 0)


@kernel
def _scatters(X, positive, weight, means, scatters, drifts):  # type: ignore[no-untyped-def]
    """Σ w (x − mean)² and Σ w (x − mean), which is zero but for rounding, of both classes."""
    for i in range(X.shape[0]):
        row = X[i]
        c = 0 if positive[i] else 1
        mean, scatter, drift = means[c], scatters[c], drifts[c]
        w = weight[i] if weight.size else 1.0
        for j in range(row.size):
            difference = np.float64(row[j]) - mean[j]
            scatter[j] += w * difference * difference
            drift[j] += w * difference


class DenseMoments(Moments):
    """Moments computed from a dense array on demand.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    positive : bool ndarray of shape (n,)
    sample_weight : float64 ndarray of shape (n,) or None

    Attributes
    ----------
    positive : bool ndarray of shape (n,)
    row_weight : float64 ndarray of shape (n,), or (0,) where every row counts once
    varies : bool ndarray of shape (d,)
        False for columns that hold one value in every row that counts.
    """

    def __init__(
        self, X: npt.NDArray[Any], positive: Mask, sample_weight: Array | None = None
    ) -> None:
        self._X = read_only(X)
        self.positive = read_only(positive)
        self.row_weight = read_only(np.empty(0) if sample_weight is None else sample_weight)
        n, d = X.shape
        row_weight = np.ones(n) if sample_weight is None else sample_weight
        self._weights = float(row_weight[positive].sum()), float(row_weight[~positive].sum())
        totals = np.zeros((2, d))
        self.varies = np.zeros(d, np.bool_)
        sweep = _totals_by_row if X.flags.c_contiguous else _totals_by_column
        # Sums are taken about the first row that counts: a column of one value then has exactly
        # that value as its mean in both classes.
        origin = self._X[np.argmax(row_weight > 0)]
        sweep(self._X, self.positive, self.row_weight, origin, totals, self.varies)
        for total, class_weight in zip(totals, self._weights, strict=True):
            if class_weight > 0:
                total /= class_weight
                total += origin
        self._means = totals

    @property
    def weights(self) -> tuple[float, float]:
        """Total sample weight of each class."""
        return self._weights

    @property
    def means(self) -> tuple[Array, Array]:
        """Mean of each class."""
        return self._means[0], self._means[1]

    @property
    def precision(self) -> float:
        """That of X: columns of H come from a product with X as it is."""
        return float(np.finfo(self._X.dtype).eps)

    @cached_property
    def scatters(self) -> tuple[Array, Array]:  # type: ignore[override]
        """Σ w (x − mean)² of each class, from a second pass."""
        scatters, drifts = np.zeros_like(self._means), np.zeros_like(self._means)
        _scatters(self._X, self.positive, self.row_weight, self._means, scatters, drifts)
        for scatter, drift, class_weight in zip(scatters, drifts, self._weights, strict=True):
            if class_weight > 0:
                scatter -= drift**2 / class_weight
        np.maximum(scatters, 0.0, out=scatters)
        return scatters[0], scatters[1]

    def cross(self, columns: npt.ArrayLike) -> tuple[Array, Array]:
        """Σ w (x_c − mean_c)(x − mean) of each class, of shape (q, d)."""
        index = self._check_columns(columns)
        positive, negative = (
            self._products(self._centred(index, 1.0, 0.0)),
            self._products(self._centred(index, 0.0, 1.0)),
        )
        return positive, negative

    def columns(self, columns: npt.ArrayLike) -> Array:
        """Columns of H, of shape (d, q), from one pass for both classes."""
        index = self._check_columns(columns)
        delta = self.delta
        rows_of_h = self._products(
            self._centred(index, 1.0 / self._weights[0], 1.0 / self._weights[1])
        )
        for row, difference in zip(rows_of_h, delta[index], strict=True):
            row += difference * delta
        return rows_of_h.T

    def _centred(self, index: npt.NDArray[np.int64], on_positive: float, on_negative: float) -> Any:
        """Columns c less their class means, times the row's weight and its class's factor."""
        part = self._X[:, index].astype(np.float64)
        part -= np.where(self.positive[:, None], self._means[0][index], self._means[1][index])
        row_weight = np.where(self.positive, on_positive, on_negative)
        part *= (row_weight * self.row_weight if self.row_weight.size else row_weight)[:, None]
        return part

    def _products(self, part: Array) -> Array:
        """Σ_i part_i (x_i − mean of its class), of shape (q, d), without centring X."""
        products: Array = (part.T.astype(self._X.dtype) @ self._X).astype(np.float64)
        # The class sums of `part` are zero in exact arithmetic; what rounding leaves of them would
        # be multiplied by the class means.
        for mean, mask in zip(self._means, (self.positive, ~self.positive), strict=True):
            for product, drift in zip(products, part[mask].sum(axis=0), strict=True):
                product -= drift * mean
        return products
