"""Every class against all others, from the moments of each class.

Moments are additive, so rows are gathered class by class, and the rest of a class is merged from
the others: means by their shares, and covariances with what the means of the others differ.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..chunks import Chunks
from .base import Array, Indices, Moments, NotGathered
from .chunked import GatheredMoments, Partition

# Share of a class's own covariance in that of both sides; an AUC alone would have one half. Scores
# of many classes compete, so the spread of the others counts for more, and is better known.
_OWN = 0.2


class OneVsRest:
    """Moments of every class, from which those of each class against the rest are made.

    Parameters
    ----------
    chunks : Chunks
    label : int64 ndarray of shape (n,)
        Number of each row's class; rows with −1 are left out.
    n_classes : int
        Each must have rows.
    weight : float64 ndarray of shape (n,), optional
    """

    def __init__(
        self, chunks: Chunks, label: Indices, n_classes: int, weight: Array | None = None
    ) -> None:
        everyone = np.ones(label.size, np.bool_)
        self._gathered = gathered = GatheredMoments(
            chunks, everyone, [Partition(label, n_classes, weight)]
        )
        self._parts = [gathered.merged([number]) for number in range(n_classes)]
        self.weights = np.array([part.weights[0] for part in self._parts])
        self.means = np.array([part.means[0] for part in self._parts])
        scatters = np.array([part.scatters[0] for part in self._parts])
        self.variances = scatters / self.weights[:, None]
        self._asked: tuple[bytes, bytes] | None = None
        self._products = np.empty(0)

    def covariances(self, columns: Indices, others: Indices | None) -> Array:
        """Those of some columns with others, or with all, within each class: (classes, q, t)."""
        # Classes ask for the same in turn.
        asked = columns.tobytes(), b"" if others is None else others.tobytes()
        if self._asked != asked:
            parts = self._parts
            products = [
                part.cross(columns)[0] if others is None else part.within(columns, others)
                for part in parts
            ]
            self._products = np.array(products)
            if others is None:
                self._products /= self.weights[:, None, None]
            self._asked = asked
        return self._products

    def gather(self, columns: Indices) -> None:
        """Gather the products of some columns with all in one pass."""
        self._gathered.gather(NotGathered(rows=columns.tolist()))

    def against_rest(self) -> list[Moments]:
        """Moments of each class (positive) against all others (negative), both of weight 1."""
        return [_AgainstRest(self, number) for number in range(self.weights.size)]


class _AgainstRest(Moments):
    """One class against all others."""

    def __init__(self, every: OneVsRest, number: int) -> None:
        self._every, self._number = every, number
        share = every.weights.copy()
        share[number] = 0.0
        self._share = share / share.sum()
        mean = every.means[number]
        # About the mean of the class, so that a column of one value has no difference at all.
        differences = every.means - mean
        self._means = mean, mean + self._share @ differences
        self._gaps = differences - self._share @ differences
        rest = self._share @ (every.variances + self._gaps**2)
        self._variances = 2 * _OWN * every.variances[number], 2 * (1 - _OWN) * rest

    @property
    def weights(self) -> tuple[float, float]:
        """Both sides weigh the same, so that shares of the classes count for nothing."""
        return 1.0, 1.0

    @property
    def means(self) -> tuple[Array, Array]:
        """Mean of the class and of the others."""
        return self._means

    @property
    def scatters(self) -> tuple[Array, Array]:
        """Variances of the class and of the others, by what they count."""
        return self._variances

    def cross(self, columns: npt.ArrayLike) -> tuple[Array, Array]:
        """Covariances of some columns with all, by what they count."""
        return self._both(self._check_columns(columns), None)

    def within(self, columns: Indices, others: Indices) -> Array:
        """Sum of the two covariances of some columns with others."""
        own, rest = self._both(columns, others)
        return own + rest

    def _both(self, columns: Indices, others: Indices | None) -> tuple[Array, Array]:
        covariances = self._every.covariances(columns, others)
        gaps = self._gaps if others is None else self._gaps[:, others]
        rest = np.tensordot(self._share, covariances, 1)
        rest += (self._gaps[:, columns].T * self._share) @ gaps
        return 2 * _OWN * covariances[self._number], 2 * (1 - _OWN) * rest
