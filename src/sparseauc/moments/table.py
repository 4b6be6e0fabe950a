"""Moments of a table in memory or memory-mapped, which is never copied.

Rows are in cells: one for each class, or one for each class of every stratum.

Sums of deviations are taken about a row, then about the means, and products of columns that lie far
from zero about the means too: an offset common to all rows costs no digits, only the resolution of
X itself. Columns are multiplied in units of a power of two near their reach, which is exact: their
squares then neither overflow nor vanish.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from .._validation import check_finite, read_only
from ..errors import InputError
from ..strata import Strata
from ..utils.jit import kernel
from ..utils.types import Array, Indices, Mask
from .base import ColumnError
from .cells import Moments

# Exponents of weights that are taken as they are: their sums, and squares of these, are numbers.
_ORDINARY_WEIGHTS = 200
# Exponents of units whose inverses are numbers.
_LARGEST = 1000
# Means by cell of a table in memory, at most; several such arrays are kept.
_MOST_MEANS = 2**27
# Rows whose sums are added up among themselves first: rounding grows with the number of terms in a
# row of additions, and n rows are then n/1024 + 1024 of them. Not so in very many cells, which have
# few rows each.
_BLOCK = 1024
_MANY = 64
# Products with X as it is lose as many digits as |mean|/deviation has: at most one and a half.
_NEAR = 32.0
# Powers of two between which columns are multiplied as they are, even in single precision.
_ORDINARY = 2.0**-50, 2.0**50
# Numbers converted to double precision at a time where some columns are asked for.
_PART_NUMBERS = 2**21
# Numbers of whole rows centred at a time; they stay in the second-level cache.
_TILE_NUMBERS = 2**17


@dataclass(frozen=True)
class Cells:
    """Rows by stratum and class: cell 2s holds the positives of stratum s, 2s + 1 its negatives.

    Without strata there is one.
    """

    cell: npt.NDArray[np.int32]
    share: Array  # of each row in its cell; of size 0 where every row counts once
    # What the shares of a cell sum to: 1, 0 in an empty cell, without weights its number of rows.
    sums: Array
    weights: tuple[float, float]  # total of each class
    shares: Array  # what each stratum counts, 1 in all

    @classmethod
    def from_rows(cls, positive: Mask, weight: Array | None, strata: Strata | None) -> Cells:
        """Divide rows; those of strata without both classes count nothing."""
        if strata is None:
            cell = np.where(positive, 0, 1).astype(np.int32)
            shares = np.ones(1)
        else:
            cell, shares, weight = strata.cells(positive, weight)
        counts = np.bincount(cell, minlength=2 * shares.size)
        if weight is None:
            totals = counts.astype(np.float64)
            share, sums = np.empty(0), totals
        else:
            members = np.split(np.argsort(cell, kind="stable"), np.cumsum(counts)[:-1])
            totals = np.array([weight[rows].sum() for rows in members])
            total = totals[cell]
            share = np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)
            sums = (totals > 0).astype(np.float64)
        weights = float(totals[::2].sum()), float(totals[1::2].sum())
        return cls(read_only(cell), read_only(share), sums, weights, shares)

    def factors(self, on_positive: float, on_negative: float) -> Array:
        """What a row's share is multiplied by: its class's factor times what its stratum counts."""
        on_class = np.tile([on_positive, on_negative], self.shares.size)
        factors: Array = np.repeat(self.shares, 2) * on_class
        np.divide(factors, self.sums, out=factors, where=self.sums > 0)
        return factors


class TableMoments(Moments):
    """Moments that refer to a table in memory and compute on demand.

    Attributes
    ----------
    positive : bool ndarray of shape (n,)
    row_weight : float64 ndarray of shape (n,), or (0,) where every row counts once
    """

    # Units of the columns.
    _unit: Array

    def __init__(
        self,
        shape: tuple[int, int],
        positive: Mask,
        sample_weight: Array | None,
        strata: Strata | None,
    ) -> None:
        self.positive = read_only(positive)
        self.row_weight = read_only(np.empty(0) if sample_weight is None else sample_weight)
        self._cells = Cells.from_rows(positive, sample_weight, strata)
        self.weights, self.shares = self._cells.weights, self._cells.shares
        if self.shares.size > 1 and 2 * self.shares.size * shape[1] > _MOST_MEANS:
            raise InputError(
                f"the means of {self.shares.size} strata in {shape[1]} columns would fill the "
                "memory: give coarser strata, or choose among fewer columns"
            )

    @abstractmethod
    def _products(self, index: Indices, on_positive: float, on_negative: float) -> Array:
        """Covariances of columns with all, of both classes times their factors, (q, d)."""

    @abstractmethod
    def _centred_rows(self, rows: slice, columns: Indices) -> Array:
        """Some rows of some columns less the means of their cells, in units of the columns."""

    @abstractmethod
    def _remainders(self, columns: Indices) -> Array:
        """What rounding leaves of the means of such rows, of shape (n_cells, q)."""

    def cross(self, columns: npt.ArrayLike) -> tuple[Array, Array]:
        """Σ w (x_c − mean_c)(x − mean) of each class, of shape (q, d)."""
        index = self._check_columns(columns)
        positive, negative = self._products(index, 1.0, 0.0), self._products(index, 0.0, 1.0)
        return positive * self.weights[0], negative * self.weights[1]

    def within(self, columns: Indices, others: Indices | None = None) -> Array:
        """S₊ + S₋ of some columns with others, in double precision, or with all columns."""
        if others is None:
            return self._products(columns, 1.0, 1.0)
        index = np.unique(np.concatenate([columns, others]))
        first, second = np.searchsorted(index, columns), np.searchsorted(index, others)
        symmetric = np.array_equal(columns, others)
        cells, factors = self._cells, self._cells.factors(1.0, 1.0)
        total = np.zeros((columns.size, others.size))
        tile = max(64, _PART_NUMBERS // max(1, index.size))
        for low in range(0, cells.cell.size, tile):
            rows = slice(low, low + tile)
            share = factors[cells.cell[rows]]
            if cells.share.size:
                share = share * cells.share[rows]
            part = self._centred_rows(rows, index)
            part *= np.sqrt(share)[:, None]
            left = part[:, first]
            # NumPy multiplies an array by its own transpose at half the cost.
            total += left.T @ (left if symmetric else part[:, second])
        remainders = self._remainders(index)
        total -= (remainders[:, first].T * (factors * cells.sums)) @ remainders[:, second]
        total *= self._unit[columns][:, None] * self._unit[others]
        return total


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


def unit_of(reach: Array) -> Array:
    """Powers of two just above ``reach``, and 1 where that is zero."""
    exponent = np.clip(np.frexp(reach)[1], -_LARGEST, _LARGEST)
    unit: Array = np.where(reach > 0, np.ldexp(1.0, exponent), 1.0)
    return unit


def check_totals(X: Any, totals: Array) -> None:
    """Refuse a table whose columns' sums are no numbers, naming an entry or a column."""
    finite = np.isfinite(totals).all(axis=0)
    if not finite.all():
        check_finite(X)
        raise ColumnError(int(np.argmin(finite)), "too large to average")


@kernel
def _totals_by_row(X, cell, share, origin, totals, reach):  # type: ignore[no-untyped-def]
    """Σ w (x − origin) of each cell, and the largest |x − origin| of the rows that count.

    Every stratum has an origin of its own.
    """
    n = X.shape[0]
    size = _BLOCK if totals.shape[0] <= _MANY else n
    block = np.zeros_like(totals)
    for i in range(n):
        w = share[i] if share.size else 1.0
        if w != 0.0:
            row, about = X[i], origin[cell[i] // 2]
            total = block[cell[i]]
            for j in range(row.size):
                difference = np.float64(row[j]) - about[j]
                total[j] += w * difference
                reach[j] = max(reach[j], abs(difference))
        if i % size == size - 1 or i == n - 1:
            totals += block
            block[:] = 0.0


@kernel
def _totals_by_column(X, cell, share, origin, totals, reach):  # type: ignore[no-untyped-def]
    """Do the same as ``_totals_by_row`` for a column-major table."""
    n = X.shape[0]
    size = _BLOCK if totals.shape[0] <= _MANY else n
    block = np.zeros(totals.shape[0])
    for j in range(X.shape[1]):
        column = X[:, j]
        for low in range(0, n, size):
            high = min(low + size, n)
            if block.size == 2:  # sums in registers are twice as quick
                first, second, farthest, about = 0.0, 0.0, reach[j], origin[0, j]
                for i in range(low, high):
                    difference = np.float64(column[i]) - about
                    w = share[i] if share.size else 1.0
                    if w != 0.0:
                        farthest = max(farthest, abs(difference))
                        if cell[i] == 0:
                            first += w * difference
                        else:
                            second += w * difference
                block[0], block[1], reach[j] = first, second, farthest
            else:
                for i in range(low, high):
                    w = share[i] if share.size else 1.0
                    if w != 0.0:
                        difference = np.float64(column[i]) - origin[cell[i] // 2, j]
                        reach[j] = max(reach[j], abs(difference))
                        block[cell[i]] += w * difference
            totals[:, j] += block
            block[:] = 0.0


@kernel
def _scatters(X, cell, share, means, inverse, scatters, drifts):  # type: ignore[no-untyped-def]
    """Σ w (x − mean)² and Σ w (x − mean), which is zero but for rounding, of each cell.

    Both in units of the columns, whose inverses are given.
    """
    n = X.shape[0]
    size = _BLOCK if means.shape[0] <= _MANY else n
    scatter_block, drift_block = np.zeros_like(scatters), np.zeros_like(drifts)
    for i in range(n):
        w = share[i] if share.size else 1.0
        if w != 0.0:
            row, c = X[i], cell[i]
            mean, scatter, drift = means[c], scatter_block[c], drift_block[c]
            for j in range(row.size):
                difference = (np.float64(row[j]) - mean[j]) * inverse[j]
                scatter[j] += w * difference * difference
                drift[j] += w * difference
        if i % size == size - 1 or i == n - 1:
            scatters += scatter_block
            drifts += drift_block
            scatter_block[:] = 0.0
            drift_block[:] = 0.0


@kernel
def _centre(X, cell, low, means, inverse, out):  # type: ignore[no-untyped-def]
    """Rows from ``low`` on, less the means of their cells and in units of the columns."""
    for i in range(out.shape[0]):
        row, centred = X[low + i], out[i]
        mean = means[cell[low + i]]
        for j in range(row.size):
            centred[j] = (np.float64(row[j]) - mean[j]) * inverse[j]


class DenseMoments(TableMoments):
    """Moments computed from a dense array on demand.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    positive : bool ndarray of shape (n,)
    sample_weight : float64 ndarray of shape (n,), optional
    strata : Strata, optional
    """

    def __init__(
        self,
        X: npt.NDArray[Any],
        positive: Mask,
        sample_weight: Array | None = None,
        strata: Strata | None = None,
    ) -> None:
        super().__init__(X.shape, positive, sample_weight, strata)
        self._X, cells = read_only(X), self._cells
        totals, reach = np.zeros((cells.sums.size, X.shape[1])), np.zeros(X.shape[1])
        sweep = _totals_by_row if X.flags.c_contiguous else _totals_by_column
        # Sums are taken about the first row of the stratum that counts: a column of one value then
        # has exactly that value as its mean in both classes.
        first = np.zeros(self.shares.size, np.int64)
        counted = np.flatnonzero(cells.share) if cells.share.size else np.arange(len(X))
        if counted.size and first.size == 1:
            first[0] = counted[0]
        else:
            first[cells.cell[counted[::-1]] // 2] = counted[::-1]  # so that the first comes last
        origin = np.ascontiguousarray(self._X[first], np.float64)
        sweep(self._X, cells.cell, cells.share, origin, totals, reach)
        check_totals(X, totals)
        for number in np.flatnonzero(cells.sums > 0):
            totals[number] /= cells.sums[number]
            totals[number] += origin[number // 2]
        self.cell_means = totals
        self.varies = reach > 0
        # Columns of H come from products of numbers of this kind.
        self.precision = float(np.finfo(X.dtype).eps)
        self._unit = unit_of(reach)
        self._always_centred = False

    @cached_property
    def differences(self) -> Array:
        """δ_s of each stratum, without the rounding of the means, which is that of their offset."""
        self.check_both_classes()
        left, means = self._second_pass[1], self.cell_means
        between: Array = means[1::2] - means[::2] + (left[1::2] - left[::2]) * self._unit
        return between

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
        few = left.shape[0] <= _MANY
        terms = min(n, _BLOCK + 2 * (n // _BLOCK) + 64) if centred and few else n
        # What is multiplied: deviations from the means as they were rounded, or X itself.
        about = np.abs(left) * self._unit + (0.0 if centred else np.abs(self.cell_means))
        magnitudes = np.sqrt(squares) * self._unit + about
        return self._rounding(terms, magnitudes[::2] + magnitudes[1::2] + np.abs(self.differences))

    def _centred_rows(self, rows: slice, columns: Indices) -> Array:
        part = self._X[rows][:, columns].astype(np.float64)
        part -= self.cell_means[:, columns][self._cells.cell[rows]]
        part /= self._unit[columns]
        return part

    def _remainders(self, columns: Indices) -> Array:
        return self._second_pass[1][:, columns]

    @cached_property
    def _second_pass(self) -> tuple[Array, Array]:
        """Means of (x − m)² and of x − m about the means m as rounded, in units of the columns."""
        squares, left = np.zeros_like(self.cell_means), np.zeros_like(self.cell_means)
        cells = self._cells
        inverse = 1.0 / self._unit
        _scatters(self._X, cells.cell, cells.share, self.cell_means, inverse, squares, left)
        sums = np.maximum(cells.sums, 1.0)[:, None]
        squares /= sums
        left /= sums
        return squares, left

    @cached_property
    def cell_variances(self) -> Array:  # type: ignore[override]
        """Variances within the cells; infinite where they are no numbers."""
        squares, left = self._second_pass
        with np.errstate(over="ignore"):
            variances: Array = np.maximum(squares - left**2, 0.0) * self._unit * self._unit
        return variances

    @cached_property
    def _far(self) -> bool:
        """Whether products of X as it is would lose digits to an offset, or leave its range."""
        squares = np.maximum(*self._by_class(self._second_pass[0]))
        deviation = np.sqrt(squares) * self._unit
        far = np.abs(self.cell_means).max(axis=0) > _NEAR * deviation
        odd = (self._unit < _ORDINARY[0]) | (self._unit > _ORDINARY[1])
        return bool(((far | odd) & self.varies).any())

    @property
    def _centred(self) -> bool:
        return self._always_centred or self._far

    def _products(self, index: Indices, on_positive: float, on_negative: float) -> Array:
        cells, factors = self._cells, self._cells.factors(on_positive, on_negative)
        part = self._centred_rows(slice(None), index)
        share = factors[cells.cell]
        part *= (share * cells.share if cells.share.size else share)[:, None]
        left = self._second_pass[1]
        if self._centred:
            products = self._tiled_products(part) * self._unit
            about = left * self._unit
        else:
            products = np.asarray(part.T.astype(self._X.dtype, copy=False) @ self._X, np.float64)
            about = self.cell_means + left * self._unit
        # Deviations from the means as they were rounded do not sum to zero: what is left of them
        # was multiplied by all that X was not centred by.
        drifts = (factors * cells.sums)[:, None] * left[:, index]
        for product, drift in zip(products, drifts.T, strict=True):
            product -= drift @ about
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
            _centre(self._X, self._cells.cell, low, self.cell_means, inverse, centred)
            block += thin[low : low + size].T @ centred
            if (low // size) % (_BLOCK // size) == _BLOCK // size - 1:
                products += block
                block[:] = 0.0
        return products + block
