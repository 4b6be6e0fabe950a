"""The squared pairwise loss F of the AUC on the rows of a training set.

    F(w) = 1/(n₊n₋) Σ_{i positive} Σ_{j negative} (1 − w·(x_i − x_j))²

With x̄± the class means and δ = x̄₋ − x̄₊, F is (1 + w·δ)² plus the variance of the scores of each
class. The rows of one among m equally likely blocks B have the gradient

    ∇f_B(w) = 2m/n₊ Σ_{x ∈ B positive} w·(x − x̄₊) (x − x̄₊)
            + 2m/n₋ Σ_{x ∈ B negative} w·(x − x̄₋) (x − x̄₋) + 2 (1 + w·δ) δ.
"""

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from sparseauc import class_moments

from .arrays import Floats, Indices, Mask, read_only
from .projections import top_k
from .rows import CSR, as_table


class SparseVector(NamedTuple):
    """The non-zeros of a vector, by ascending column."""

    support: Indices
    values: Floats

    @classmethod
    def from_dense(cls, w: Floats) -> Self:
        """Copy the non-zeros of a dense vector."""
        support = np.flatnonzero(w)
        return cls(support, w[support])

    def dense(self, n_features: int) -> Floats:
        """Return the coefficients of all columns."""
        w = np.zeros(n_features, self.values.dtype)
        w[self.support] = self.values
        return w


class AUCObjective:
    """F on a dense array or CSR matrix, which is not copied.

    Parameters
    ----------
    X : ndarray, CSR or tensor of shape (n, d), float32 or float64
    y : array-like of shape (n,)
        Positive where true or greater than zero.
    sample_weight : array-like of shape (n,), optional

    Attributes
    ----------
    table : ndarray, CSR or tensor
        The rows, as kernels take them.
    positive : bool ndarray of shape (n,)
    weight : float64 ndarray of shape (n,)
        Of shape (0,) without sample weights.
    rows : ndarray of int64
        Rows of positive weight; all without weights.
    moments : Moments
        Class weights and means of :func:`sparseauc.class_moments`.
    mean_positive, mean_negative : ndarrays of shape (d,)
    varies : bool ndarray of shape (d,)
        False for columns that hold one value in every row of positive weight.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 1.0]])
    >>> AUCObjective(X, [-1, -1, 1]).value(np.array([0.5, 0.0]))  # ((1 − 1.5)² + (1 − 1)²) / 2
    0.125
    """

    def __init__(
        self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> None:
        self.positive: Mask = read_only(np.asarray(y) > 0)
        self.n_rows, self.n_features = X.shape
        weight = None
        if sample_weight is not None:
            # Nothing depends on their scale.
            weight = np.asarray(sample_weight, np.float64)
            weight = weight / weight.max(initial=1e-300)
        self.weight = read_only(np.empty(0) if weight is None else weight)
        self.rows = np.arange(self.n_rows) if weight is None else np.flatnonzero(weight)
        self.moments = class_moments(X, self.positive, weight)
        self.moments.check_both_classes()
        self.varies: Mask = self.moments.varies
        self._set_table(X)
        mean_positive, mean_negative = self.moments.means
        self.mean_positive: Floats = mean_positive.astype(self.dtype, copy=False)
        self.mean_negative: Floats = mean_negative.astype(self.dtype, copy=False)

    def _set_table(self, X: Any) -> None:
        self._matrix: Any = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
        self.table: Any = as_table(self._matrix)
        self.dtype: np.dtype[Any] = self._matrix.dtype

    def block_scales(self, n_blocks: int) -> tuple[float, float]:
        """Factors 2·m/W₊ and 2·m/W₋ of the rows of one among m equally likely blocks."""
        positive, negative = self.moments.weights
        return 2.0 * n_blocks / positive, 2.0 * n_blocks / negative

    def scores_on(self, support: Indices, values: Floats) -> Floats:
        """Compute Xw for a w given by its non-zeros."""
        scores: Floats
        if isinstance(self.table, CSR):
            scores = self._matrix @ SparseVector(support, values).dense(self.n_features)
        else:
            scores = self._matrix[:, support] @ values
        return scores

    def value(self, w: npt.ArrayLike) -> float:
        """Compute F(w), reading only the columns where w is not zero."""
        return self.value_on(*SparseVector.from_dense(np.asarray(w, self.dtype)))

    def value_on(self, support: Indices, values: Floats) -> float:
        """Compute F(w) for a w given by its non-zeros."""
        return self.value_of(self.scores_on(support, values))

    def value_of(self, scores: Floats) -> float:
        """Compute F from the scores of all rows."""
        # Two passes: variances of scores with a large common offset keep their digits.
        double = scores.astype(np.float64)
        spread = 0.0
        means = []
        with np.errstate(over="ignore", invalid="ignore"):
            for mask in (self.positive, ~self.positive):
                weight = self.weight[mask] if self.weight.size else None
                mean = np.average(double[mask], weights=weight)
                spread += float(np.average((double[mask] - mean) ** 2, weights=weight))
                means.append(float(mean))
            return (1.0 - means[0] + means[1]) ** 2 + spread

    def gradient(self, w: npt.ArrayLike) -> Floats:
        """Compute ∇F(w)."""
        return self.block_gradient(w, np.arange(self.n_rows), 1)

    def block_gradient(self, w: npt.ArrayLike, rows: npt.ArrayLike, n_blocks: int) -> Floats:
        """Compute ∇f_B(w) for the block of these rows, one of ``n_blocks`` equally likely."""
        vector = np.asarray(w, self.dtype)
        index = np.asarray(rows, np.int64)
        positive = self.positive[index]
        on_positive = vector @ self.mean_positive
        on_negative = vector @ self.mean_negative
        deviations = self._matrix[index] @ vector - np.where(positive, on_positive, on_negative)
        multipliers = np.where(positive, *self.block_scales(n_blocks)) * deviations
        if self.weight.size:
            multipliers *= self.weight[index]
        delta = self.mean_negative - self.mean_positive
        gradient: Floats = (
            self._matrix[index].T @ multipliers
            - multipliers[positive].sum() * self.mean_positive
            - multipliers[~positive].sum() * self.mean_negative
            + 2.0 * (1.0 + on_negative - on_positive) * delta
        )
        return gradient

    def exact_first_step(self, k: int) -> float:
        """Step that minimises F along its gradient at zero, restricted to its k largest entries.

        At w = 0 the gradient is 2δ. Along g = δ on the k largest |δ_j|, F(−γ·2g) is least at
        γ = g·g / (2 gᵀHg).
        """
        delta = self.mean_negative - self.mean_positive
        delta[~self.varies] = 0
        chosen = top_k(delta, k)
        if chosen.size == 0:
            return 1.0  # the class means agree in every column: no step moves w
        direction = delta[chosen]
        length = float(direction @ direction)
        scores = self.scores_on(chosen, direction).astype(np.float64)
        # gᵀHg = (g·δ)² + Var₊(g·x) + Var₋(g·x)
        curvature = length**2
        for mask in (self.positive, ~self.positive):
            weight = self.weight[mask] if self.weight.size else None
            centred = scores[mask] - np.average(scores[mask], weights=weight)
            curvature += float(np.average(centred**2, weights=weight))
        return length / (2.0 * curvature)
