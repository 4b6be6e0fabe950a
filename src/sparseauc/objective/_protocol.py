"""What SHT-AUC asks of its data, and the few types that pass between them."""

from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..moments import ColumnError, Moments
from ..utils.jit import kernel
from ..utils.types import Array, Floats, Indices, Mask


class SparseVector(NamedTuple):
    """The non-zeros of a vector, by ascending column."""

    support: Indices
    values: Floats

    @classmethod
    def from_dense(cls, w: Floats) -> Self:
        """Copy the non-zeros of a dense vector."""
        support = np.flatnonzero(w)
        return cls(support, w[support])


class Point(NamedTuple):
    """An iterate: w, and the intercept of the methods that train one."""

    w: SparseVector
    intercept: float = 0.0


@kernel
def loss_of_scores(scores, positive, weight):  # type: ignore[no-untyped-def]
    """F from the scores of all rows: (1 − u + v)² plus the variance of each class."""
    # Two passes: variances of scores with a large common offset keep their digits.
    total_positive = 0.0
    total_negative = 0.0
    u = 0.0
    v = 0.0
    for i in range(scores.size):
        row_weight = weight[i] if weight.size else 1.0
        if positive[i]:
            total_positive += row_weight
            u += row_weight * scores[i]
        else:
            total_negative += row_weight
            v += row_weight * scores[i]
    u /= total_positive
    v /= total_negative
    scatter_positive = 0.0
    scatter_negative = 0.0
    for i in range(scores.size):
        row_weight = weight[i] if weight.size else 1.0
        if positive[i]:
            scatter_positive += row_weight * (scores[i] - u) ** 2
        else:
            scatter_negative += row_weight * (scores[i] - v) ** 2
    return (
        (1.0 - u + v) ** 2 + scatter_positive / total_positive + scatter_negative / total_negative
    )


class Descent(Protocol):
    """Algorithm 1 under way: the iterate w_t and the blocks B_1 … B_m, where the rows live."""

    @property
    def n_blocks(self) -> int:
        """Number of blocks, m."""

    def run(self, drawn: Indices, step: float) -> bool:
        """Set w ← H_k(w − step · ∇f_{B_i}(w)) for each i drawn; False when w overflowed."""

    def point(self) -> Point:
        """Copy the iterate."""

    def move_to(self, point: Point) -> None:
        """Go on from another iterate of at most k non-zeros."""


class Objective(Protocol):
    """F on the rows of a training set.

    Attributes
    ----------
    n_rows, n_features : int
    dtype : dtype
        float32 or float64, of the rows and of w.
    positive : bool ndarray of shape (n,)
    weight : float64 ndarray of shape (n,)
        Of shape (0,) without sample weights.
    class_weights : (float, float)
        W₊ and W₋, the weight of the positives and of the negatives.
    mean_positive, mean_negative : ndarrays of shape (d,)
    varies : bool ndarray of shape (d,)
        False for columns that hold one value in every row of positive weight.
    """

    n_rows: int
    n_features: int
    dtype: np.dtype[Any]
    positive: Mask
    weight: Array
    class_weights: tuple[float, float]
    mean_positive: Floats
    mean_negative: Floats
    varies: Mask

    def _set_rows(self, rows: Any, positive: Mask, weight: Array | None, moments: Moments) -> None:
        """Set what follows from rows, labels, weights and their class moments."""
        self.n_rows, self.n_features = rows.shape
        self.dtype = np.dtype(rows.dtype)
        self.positive, self.weight = positive, np.empty(0) if weight is None else weight
        moments.check_both_classes()
        self.class_weights = moments.weights
        self.varies = moments.varies
        with np.errstate(over="ignore"):
            self.mean_positive, self.mean_negative = (
                mean.astype(self.dtype, copy=False) for mean in moments.means
            )
        finite = np.isfinite(self.mean_negative - self.mean_positive)
        for column in np.flatnonzero(~finite)[:1].tolist():
            raise ColumnError(column, f"too large to average in {self.dtype}")

    def block_scales(self, n_blocks: int) -> tuple[float, float]:
        """Factors 2·m/W₊ and 2·m/W₋ of the rows of one among m equally likely blocks."""
        positive, negative = self.class_weights
        return 2.0 * n_blocks / positive, 2.0 * n_blocks / negative

    def scores_on(self, support: Indices, values: Floats) -> Floats:
        """Compute Xw for a w given by its non-zeros."""

    def value(self, w: npt.ArrayLike) -> float:
        """Compute F(w), reading only the columns where w is not zero: O(n·k) for k of them."""
        return self.value_on(*self._non_zeros(w))

    def _non_zeros(self, w: npt.ArrayLike) -> SparseVector:
        vector = np.asarray(w, self.dtype)
        if vector.shape != (self.n_features,):
            raise InputError(f"w must have shape ({self.n_features},), got {vector.shape}")
        return SparseVector.from_dense(vector)

    def value_on(self, support: Indices, values: Floats) -> float:
        """Compute F(w) for a w given by its non-zeros."""
        return self.value_of(self.scores_on(support, values))

    def value_of(self, scores: Floats) -> float:
        """Compute F from the scores of all rows."""
        return float(loss_of_scores(scores, self.positive, self.weight))

    def descent(
        self, k: int, *, batch_size: int, shuffle: bool, rng: np.random.Generator
    ) -> Descent:
        """Deal the rows to blocks and begin Algorithm 1 at w = 0."""
