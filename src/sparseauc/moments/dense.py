"""Class moments of a dense table, in memory or memory-mapped; X is never copied.

Sums of deviations are taken about a row, then about the means, and products of columns that lie far
from zero about the means too: an offset common to all rows costs no digits, only the resolution of
X itself. Columns are multiplied in units of a power of two near their reach, which is exact: their
squares then neither overflow nor vanish.
"""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from .._jit import kernel
from ..rows import read_only
from ._units import check_finite, class_shares, unit_of
from .base import Array, Indices, Mask, TableMoments

# Rows whose sums are added up among themselves first: rounding grows with the number of terms in a
# row of additions, and n rows are then n/1024 + 1024 of them.
_BLOCK = 1024
# Products with X as it is lose as many digits as |mean|/deviation has: at most one and a half.
_NEAR = 32.0
# Powers of two between which columns are multiplied as they are, even in single precision.
_ORDINARY = 2.0**-50, 2.0**50
# Numbers centred at a time; they stay in the second-level cache.
_TILE_NUMBERS = 2**17


@kernel
def _totals_by_row(X, positive, share, origin, totals, reach):  # type: ignore[no-untyped-def]
    """Σ w (x − origin) of both classes, and the largest |x − origin| of the rows that count."""
    block = np.zeros_like(totals)
    for i in range(X.shape[0]):
        w = share[i] if share.size else 1.0
        if w != 0.0:
            row = X[i]
            total = block[0] if positive[i] else block[1]
            for j in range(row.size):
                difference = np.float64(row[j]) - np.float64(origin[j])
                total[j] += w * difference
                reach[j] = max(reach[j], abs(difference))
        if i % _BLOCK == _BLOCK - 1 or i == X.shape[0] - 1:
            totals += block
            block[:] = 0.0


@kernel
def _totals_by_column(X, positive, share, origin, totals, reach):  # type: ignore[no-untyped-def]
    """Do the same as ``_totals_by_row`` for a column-major table."""
    for j in range(X.shape[1]):
        column = X[:, j]
        for low in range(0, column.size, _BLOCK):
            on_positive = 0.0
            on_negative = 0.0
            for i in range(low, min(low + _BLOCK, column.size)):
                difference = np.float64(column[i]) - np.float64(origin[j])
                w = share[i] if share.size else 1.0
                if w != 0.0:
                    reach[j] = max(reach[j], abs(difference))
                    if positive[i]:
                        on_positive += w * difference
                    else:
                        on_negative += w * difference
            totals[0, j] += on_positive
            totals[1, j] += on_negative


@kernel
def _scatters(X, positive, share, means, inverse, scatters, drifts):  # type: ignore[no-untyped-def]
    """Σ w (x − mean)² and Σ w (x − mean), which is zero but for rounding, of both classes.

    Both in units of the columns, whose inverses are given.
    """
    scatter_block, drift_block = np.zeros_like(scatters), np.zeros_like(drifts)
    for i in range(X.shape[0]):
        w = share[i] if share.size else 1.0
        if w != 0.0:
            row = X[i]
            c = 0 if positive[i] else 1
            mean, scatter, drift = means[c], scatter_block[c], drift_block[c]
            for j in range(row.size):
                difference = (np.float64(row[j]) - mean[j]) * inverse[j]
                scatter[j] += w * difference * difference
                drift[j] += w * difference
        if i % _BLOCK == _BLOCK - 1 or i == X.shape[0] - 1:
            scatters += scatter_block
            drifts += drift_block
            scatter_block[:] = 0.0
            drift_block[:] = 0.0


@kernel
def _centre(X, positive, low, means, inverse, out):  # type: ignore[no-untyped-def]
    """Rows from ``low`` on, less the means of their classes and in units of the columns."""
    for i in range(out.shape[0]):
        row, centred = X[low + i], out[i]
        mean = means[0] if positive[low + i] else means[1]
        for j in range(row.size):
            centred[j] = (np.float64(row[j]) - mean[j]) * inverse[j]


class DenseMoments(TableMoments):
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
    """

    def __init__(
        self, X: npt.NDArray[Any], positive: Mask, sample_weight: Array | None = None
    ) -> None:
        self._X = read_only(X)
        self.positive = read_only(positive)
        self.row_weight = read_only(np.empty(0) if sample_weight is None else sample_weight)
        self._weights, share, self._sums = class_shares(positive, sample_weight)
        self._share = read_only(share)
        totals, reach = np.zeros((2, X.shape[1])), np.zeros(X.shape[1])
        sweep = _totals_by_row if X.flags.c_contiguous else _totals_by_column
        # Sums are taken about the first row that counts: a column of one value then has exactly
        # that value as its mean in both classes.
        first = 0 if sample_weight is None else int(np.argmax(sample_weight > 0))
        origin = self._X[first]
        sweep(self._X, self.positive, self._share, origin, totals, reach)
        check_finite(X, totals)
        for total, sums in zip(totals, self._sums, strict=True):
            if sums > 0:
                total /= sums
                total += origin
        self._means = totals
        self._varies: Mask = reach > 0
        self._unit = unit_of(reach)
        self._always_centred = False

    @property
    def varies(self) -> Mask:
        """False for columns that hold one value in every row that counts."""
        return self._varies

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
        """That of X: columns of H come from products of its kind of numbers."""
        return float(np.finfo(self._X.dtype).eps)

    @property
    def delta(self) -> Array:
        """δ = x̄₋ − x̄₊, without the rounding of the means, which is that of their offset."""
        self.check_both_classes()
        left = self._second_pass[1]
        delta: Array = self._means[1] - self._means[0] + (left[1] - left[0]) * self._unit
        return delta

    @property
    def variances(self) -> tuple[Array, Array]:
        """Variances of the columns within each class, from a second pass."""
        self.check_both_classes()
        return self._variances[0], self._variances[1]

    @property
    def scatters(self) -> tuple[Array, Array]:
        """Σ w (x − mean)² of each class, from a second pass."""
        positive, negative = self._variances
        return positive * self._weights[0], negative * self._weights[1]

    def carefully(self) -> Self:
        """Give the same moments with all products taken about the means, in tiles of rows."""
        careful = copy.copy(self)
        careful._always_centred = True
        return careful

    def rounding(self) -> tuple[float, Array]:
        """How far δ and H may be from those of X in exact arithmetic; see ``Moments.rounding``."""
        n = self._X.shape[0]
        squares, left = self._second_pass
        centred = self._centred
        terms = min(n, _BLOCK + 2 * (n // _BLOCK) + 64) if centred else n
        # What is multiplied: deviations from the means as they were rounded, or X itself.
        about = np.abs(left) * self._unit + (0.0 if centred else np.abs(self._means))
        magnitude: Array = (np.sqrt(squares) * self._unit + about).sum(axis=0) + np.abs(self.delta)
        return (4.0 * terms + 32.0) * self.precision, 1.01 * magnitude

    def cross(self, columns: npt.ArrayLike) -> tuple[Array, Array]:
        """Σ w (x_c − mean_c)(x − mean) of each class, of shape (q, d)."""
        index = self._check_columns(columns)
        positive, negative = (
            self._products(index, *factors) for factors in ((1.0, 0.0), (0.0, 1.0))
        )
        return positive * self._weights[0], negative * self._weights[1]

    def columns(self, columns: npt.ArrayLike) -> Array:
        """Columns of H, of shape (d, q), from one pass for both classes."""
        index = self._check_columns(columns)
        delta = self.delta
        rows_of_h = self._products(index, 1.0, 1.0)
        for row, difference in zip(rows_of_h, delta[index], strict=True):
            row += difference * delta
        return rows_of_h.T

    def _centred_rows(self, rows: slice, columns: Indices) -> Array:
        part = self._X[rows][:, columns].astype(np.float64)
        part -= np.where(self.positive[rows, None], *self._means[:, columns])
        part /= self._unit[columns]
        return part

    def _remainders(self, columns: Indices) -> Array:
        return self._second_pass[1][:, columns]

    @cached_property
    def _second_pass(self) -> tuple[Array, Array]:
        """Means of (x − m)² and of x − m about the means m as rounded, in units of the columns."""
        squares, left = np.zeros_like(self._means), np.zeros_like(self._means)
        _scatters(self._X, self.positive, self._share, self._means, 1.0 / self._unit, squares, left)
        for square, remainder, sums in zip(squares, left, self._sums, strict=True):
            if sums > 0:
                square /= sums
                remainder /= sums
        return squares, left

    @cached_property
    def _variances(self) -> Array:
        """Variances within the classes; infinite where they are no numbers."""
        squares, left = self._second_pass
        with np.errstate(over="ignore"):
            variances: Array = np.maximum(squares - left**2, 0.0) * self._unit * self._unit
        return variances

    @cached_property
    def _far(self) -> bool:
        """Whether products of X as it is would lose digits to an offset, or leave its range."""
        squares, _ = self._second_pass
        deviation = np.sqrt(squares.max(axis=0)) * self._unit
        far = np.abs(self._means).max(axis=0) > _NEAR * deviation
        odd = (self._unit < _ORDINARY[0]) | (self._unit > _ORDINARY[1])
        return bool(((far | odd) & self.varies).any())

    @property
    def _centred(self) -> bool:
        return self._always_centred or self._far

    def _products(
        self, index: npt.NDArray[np.int64], on_positive: float, on_negative: float
    ) -> Array:
        """Σ w (x_c − mean_c)(x − mean) of each class times its factor, of shape (q, d)."""
        part = self._X[:, index].astype(np.float64)
        part -= np.where(self.positive[:, None], self._means[0][index], self._means[1][index])
        part /= self._unit[index]
        factors = [
            factor / sums if sums > 0 else 0.0
            for factor, sums in zip((on_positive, on_negative), self._sums, strict=True)
        ]
        share = np.where(self.positive, *factors)
        part *= (share * self._share if self._share.size else share)[:, None]
        left = self._second_pass[1]
        if self._centred:
            products = self._tiled_products(part) * self._unit
            about = left * self._unit
        else:
            products = (part.T.astype(self._X.dtype) @ self._X).astype(np.float64)
            about = self._means + left * self._unit
        # Deviations from the means as they were rounded do not sum to zero: what is left of them
        # was multiplied by all that X was not centred by.
        for mean, remainder, factor in zip(about, left, (on_positive, on_negative), strict=True):
            for product, drift in zip(products, factor * remainder[index], strict=True):
                product -= drift * mean
        with np.errstate(over="ignore"):
            products *= self._unit[index][:, None]
        return products

    def _tiled_products(self, part: Array) -> Array:
        """Σ part (x − mean) in units of the columns, centring some rows at a time."""
        (n, q), d = part.shape, self._X.shape[1]
        size = min(n, max(64, min(_BLOCK, _TILE_NUMBERS // d)))
        tile = np.empty((size, d), self._X.dtype)
        thin, inverse = part.astype(self._X.dtype, copy=False), 1.0 / self._unit
        products, block = np.zeros((q, d)), np.zeros((q, d))
        for low in range(0, n, size):
            centred = tile[: min(size, n - low)]
            _centre(self._X, self.positive, low, self._means, inverse, centred)
            block += thin[low : low + size].T @ centred
            if (low // size) % (_BLOCK // size) == _BLOCK // size - 1:
                products += block
                block[:] = 0.0
        return products + block
