"""Means of several classes, and the covariance within them."""

import numpy as np

from ..chunks import Chunks
from ..labels import Labels
from ..utils.types import Array, Indices
from .base import NotGathered, check_deviations
from .chunked import ChunkedMoments, GatheredMoments, Partition


class ManyClasses:
    """Class means and the pooled covariance within classes, of columns on the standardised scale.

    Products are gathered over all rows, not class by class: what the means differ is taken off.

    Parameters
    ----------
    chunks : Chunks
    label : int64 ndarray of shape (n,)
        Number of each row's class; rows with −1 are left out.
    n_classes : int
        Two or more, each with rows.
    weight : float64 ndarray of shape (n,), optional

    Attributes
    ----------
    weights : ndarray of shape (n_classes,)
        Total weight of each class, its number of rows without weights.
    means : ndarray of shape (n_classes, d)
        Of columns divided by their deviations over all rows, less the mean of the first class;
        zeros for constant columns.
    class_variances : ndarray of shape (n_classes, d)
        Within each class.
    variances : ndarray of shape (d,)
        Within the classes, their weighted mean; zeros for constant columns.
    """

    def __init__(
        self, chunks: Chunks, label: Indices, n_classes: int, weight: Array | None = None
    ) -> None:
        first = Labels(label == 0)
        by_class = Partition(label, n_classes, weight)
        parts = GatheredMoments(chunks, first, [by_class], products=False).parts
        self.weights = np.array([sum(side.weight for side in sides) for sides in parts])
        # The first class against all others: deviations over all rows are the same.
        everyone = Partition(np.where(label >= 0, 0, -1), 1, weight)
        self._gathered = GatheredMoments(chunks, first, [everyone])
        self._moments = ChunkedMoments(self._gathered, [0])
        scale, constant = check_deviations(self._moments)
        self._inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=~constant)
        means = np.array([sides[number > 0].mean for number, sides in enumerate(parts)])
        # About the mean of the first class, so that a column of one value has no differences.
        self.means = (means - means[0]) * self._inverse
        others = self.means[1:]
        self._gaps = others - self.weights[1:] @ others / self.weights[1:].sum()
        scatters = np.array([sides[number > 0].scatter for number, sides in enumerate(parts)])
        self.class_variances: Array = scatters * self._inverse**2 / self.weights[:, None]
        self.variances: Array = self.weights @ self.class_variances / self.weights.sum()

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.variances.size

    def gather(self, columns: Indices) -> None:
        """Gather the covariances of some columns with all in one pass."""
        self._gathered.gather(NotGathered(rows=columns.tolist()))

    def covariances(self, column: int) -> Array:
        """Covariances within the classes of one column with all."""
        (positive,), (negative,) = self._moments.cross(np.array([column]))
        row: Array = (positive + negative) * self._inverse * self._inverse[column]
        row -= (self.weights[1:] * self._gaps[:, column]) @ self._gaps
        row /= self.weights.sum()
        return row
