"""Moments of a table in memory, whatever it is kept in."""

from abc import abstractmethod

import numpy as np
import numpy.typing as npt

from ..rows import read_only
from ..strata import Strata
from ..utils.types import Array, Indices, Mask
from .base import Moments
from .units import Cells

# Numbers converted to double precision at a time.
_TILE_NUMBERS = 2**21


class TableMoments(Moments):
    """Moments that refer to a table in memory and compute on demand.

    Attributes
    ----------
    positive : bool ndarray of shape (n,)
    row_weight : float64 ndarray of shape (n,), or (0,) where every row counts once
    """

    # Units of the columns, and which of them vary.
    _unit: Array
    _varies: Mask

    def __init__(self, positive: Mask, sample_weight: Array | None, strata: Strata | None) -> None:
        self.positive = read_only(positive)
        self.row_weight = read_only(np.empty(0) if sample_weight is None else sample_weight)
        self._cells = Cells.from_rows(positive, sample_weight, strata)

    @property
    @abstractmethod
    def _cell_means(self) -> Array:
        """Means of the cells: the classes of each stratum."""

    @property
    @abstractmethod
    def _cell_variances(self) -> Array:
        """Variances within the cells; infinite where they are no numbers."""

    @abstractmethod
    def _products(self, index: Indices, on_positive: float, on_negative: float) -> Array:
        """Covariances of columns with all, of both classes times their factors, (q, d)."""

    @abstractmethod
    def _centred_rows(self, rows: slice, columns: Indices) -> Array:
        """Some rows of some columns less the means of their cells, in units of the columns."""

    @abstractmethod
    def _remainders(self, columns: Indices) -> Array:
        """What rounding leaves of the means of such rows, of shape (n_cells, q)."""

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self._unit.size

    @property
    def varies(self) -> Mask:
        """False for columns that hold one value in every row that counts."""
        return self._varies

    @property
    def weights(self) -> tuple[float, float]:
        """Total sample weight of each class."""
        return self._cells.weights

    @property
    def shares(self) -> Array:
        """What each stratum counts, 1 in all."""
        return self._cells.strata

    @property
    def delta(self) -> Array:
        """δ, the mean of the strata's."""
        return self.shares @ self.differences

    @property
    def means(self) -> tuple[Array, Array]:
        """Mean of each class."""
        positive, negative = self._cells.by_class(self._cell_means)
        return positive, negative

    @property
    def magnitudes(self) -> Array:
        """The largest mean of any cell, without its sign."""
        magnitudes: Array = np.abs(self._cell_means).max(axis=0)
        return magnitudes

    @property
    def variances(self) -> tuple[Array, Array]:
        """Variances of the columns within each class."""
        self.check_both_classes()
        positive, negative = self._cells.by_class(self._cell_variances)
        return positive, negative

    @property
    def scatters(self) -> tuple[Array, Array]:
        """Σ w (x − mean)² of each class."""
        positive, negative = self._cells.by_class(self._cell_variances)
        return positive * self.weights[0], negative * self.weights[1]

    def cross(self, columns: npt.ArrayLike) -> tuple[Array, Array]:
        """Σ w (x_c − mean_c)(x − mean) of each class, of shape (q, d)."""
        index = self._check_columns(columns)
        positive, negative = self._products(index, 1.0, 0.0), self._products(index, 0.0, 1.0)
        return positive * self.weights[0], negative * self.weights[1]

    def _covariances(self, index: Indices) -> Array:
        """Rows of S₊ + S₋, of shape (q, d), from one pass for both classes."""
        return self._products(index, 1.0, 1.0)

    def _rounding(self, terms: int, magnitudes: Array) -> tuple[float, Array]:
        """``rounding``, given the numbers added up for a moment and magnitudes by stratum."""
        if self.shares.size == 1:
            return (4.0 * terms + 32.0) * self.precision, 1.01 * magnitudes[0]
        # Sums over strata of products are at most the root of both sums of squares, and what
        # strata count is rounded itself.
        unit = (8.0 * (terms + self.shares.size) + 64.0) * self.precision
        return unit, 1.01 * np.sqrt(self.shares @ magnitudes**2)

    def within(self, columns: Indices, others: Indices) -> Array:
        """S₊ + S₋ of some columns with others, in double precision."""
        index = np.unique(np.concatenate([columns, others]))
        first, second = np.searchsorted(index, columns), np.searchsorted(index, others)
        symmetric = np.array_equal(columns, others)
        cells, factors = self._cells, self._cells.factors(1.0, 1.0)
        total = np.zeros((columns.size, others.size))
        tile = max(64, _TILE_NUMBERS // max(1, index.size))
        for low in range(0, self.positive.size, tile):
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
