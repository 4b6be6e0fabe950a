"""The squared pairwise loss F of the AUC on the rows of a training set.

    F(w) = 1/(n₊n₋) Σ_{i positive} Σ_{j negative} (1 − w·(x_i − x_j))²

With x̄± the class means and δ = x̄₋ − x̄₊, F is (1 + w·δ)² plus the variance of the
scores of each class. The rows of one among m equally likely blocks B have the gradient

    ∇f_B(w) = 2m/n₊ Σ_{x ∈ B positive} w·(x − x̄₊) (x − x̄₊)
            + 2m/n₋ Σ_{x ∈ B negative} w·(x − x̄₋) (x − x̄₋) + 2 (1 + w·δ) δ.
"""

import numpy as np
import numpy.typing as npt

from sparseauc import class_moments

from .arrays import Array, Indices, Mask
from .projections import top_k


class AUCObjective:
    """F on a table.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
        Positive where true or greater than zero.

    Attributes
    ----------
    table : ndarray of shape (n, d)
    positive : bool ndarray of shape (n,)
    moments : ClassMoments
        Class weights and means of :func:`sparseauc.class_moments`.
    mean_positive, mean_negative : ndarrays of shape (d,)

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 1.0]])
    >>> AUCObjective(X, [-1, -1, 1]).value(np.array([0.5, 0.0]))  # ((1 − 1.5)² + (1 − 1)²) / 2
    0.125
    """

    def __init__(self, X: npt.ArrayLike, y: npt.ArrayLike) -> None:
        self.table: Array = np.ascontiguousarray(X, np.float64)
        self.positive: Mask = np.asarray(y) > 0
        self.n_rows, self.n_features = self.table.shape
        self.moments = class_moments(self.table, self.positive)
        self.mean_positive, self.mean_negative = self.moments.means

    def block_scales(self, n_blocks: int) -> tuple[float, float]:
        """Factors 2·m/n₊ and 2·m/n₋ of the rows of one among m equally likely blocks."""
        positive, negative = self.moments.weights
        return 2.0 * n_blocks / positive, 2.0 * n_blocks / negative

    def scores(self, w: Array) -> Array:
        """Compute Xw, reading only the columns where w is not zero."""
        support = np.flatnonzero(w)
        scores: Array = self.table[:, support] @ w[support]
        return scores

    def value(self, w: Array) -> float:
        """Compute F(w)."""
        scores = self.scores(w)
        with np.errstate(over="ignore", invalid="ignore"):
            # Two passes: variances of scores with a large common offset keep their
            # digits.
            of_classes = scores[self.positive], scores[~self.positive]
            on_positive, on_negative = (part.mean() for part in of_classes)
            spread = sum(part.var() for part in of_classes)
            return float((1.0 - on_positive + on_negative) ** 2 + spread)

    def gradient(self, w: Array) -> Array:
        """Compute ∇F(w)."""
        return self.block_gradient(w, np.arange(self.n_rows), 1)

    def block_gradient(self, w: npt.ArrayLike, rows: Indices, n_blocks: int) -> Array:
        """Compute ∇f_B(w) for the block of these rows, one of ``n_blocks`` equally likely."""
        vector, block = np.asarray(w, np.float64), self.table[rows]
        positive = self.positive[rows]
        on_positive, on_negative = (
            vector @ self.mean_positive,
            vector @ self.mean_negative,
        )
        deviations = block @ vector - np.where(positive, on_positive, on_negative)
        multipliers = np.where(positive, *self.block_scales(n_blocks)) * deviations
        gradient: Array = (
            block.T @ multipliers
            - multipliers[positive].sum() * self.mean_positive
            - multipliers[~positive].sum() * self.mean_negative
            + 2.0 * (1.0 + on_negative - on_positive) * self.moments.delta
        )
        return gradient

    def exact_first_step(self, k: int) -> float:
        """Step that minimises F along its gradient at zero, restricted to its k largest entries.

        At w = 0 the gradient is 2δ. Along g = δ on the k largest |δ_j|, F(−γ·2g) is
        least at γ = g·g / (2 gᵀHg).
        """
        delta = self.moments.delta
        chosen = top_k(delta, k)
        if chosen.size == 0:
            return 1.0  # the class means agree in every column: no step moves w
        direction = np.zeros_like(delta)
        direction[chosen] = delta[chosen]
        length = float(direction @ direction)
        scores = self.scores(direction)
        # gᵀHg = (g·δ)² + Var₊(g·x) + Var₋(g·x)
        spread = scores[self.positive].var() + scores[~self.positive].var()
        return length / (2.0 * (length**2 + float(spread)))
