"""H and δ on the standardised scale: all that solvers which exchange columns ever see."""

from typing import NamedTuple

import numpy as np

from ..utils.types import Array, Indices
from .base import Quadratic
from .units import check_deviations

# Rows of H computed at a time where many are needed.
BATCH = 16


class Gram(NamedTuple):
    """H and δ of some columns, whole."""

    delta: Array
    H: Array
    precision: float  # relative, of H


class StandardisedGram:
    """H and δ of columns divided by their standard deviations, without dividing the columns.

    A column whose deviation is nothing but rounding beside its mean, as of a constant, is divided
    by one and has no difference and no variance: it is never worth choosing. ``scale`` are the
    deviations divided by.
    """

    def __init__(self, quadratic: Quadratic) -> None:
        self.quadratic = quadratic
        self.precision = quadratic.precision
        self.scale: Array
        self.scale, constant = check_deviations(quadratic)
        self.scale[constant] = 1.0
        self._inverse_scale = 1.0 / self.scale
        self.delta: Array = quadratic.delta * self._inverse_scale
        self.diagonal: Array = quadratic.diagonal * self._inverse_scale**2
        self.delta[constant] = 0.0
        self.diagonal[constant] = 0.0
        # A constant column has no products either, whatever rounding makes of them.
        self._inverse_scale[constant] = 0.0

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.delta.size

    def rows(self, columns: Indices) -> Array:
        """Rows of H, of shape (q, d)."""
        with np.errstate(over="ignore", invalid="ignore"):
            rows = self.quadratic.columns(columns).T
        for column in columns[~np.isfinite(rows).all(axis=1)][:1]:
            raise ValueError(f"products of column {column} overflow: rescale it")
        rows *= self._inverse_scale
        rows *= self._inverse_scale[columns][:, None]
        return rows

    def block(self, columns: Indices, others: Indices) -> Array:
        """H of some columns with others, of shape (columns, others)."""
        block = self.quadratic.block(columns, others)
        block *= self._inverse_scale[others]
        block *= self._inverse_scale[columns][:, None]
        return block

    def gram(self, columns: Indices | None = None) -> Gram:
        """H and δ of some columns, or of all."""
        index = np.arange(self.n_features) if columns is None else columns
        return Gram(self.delta[index], self.block(index, index), self.precision)
