"""SHT-AUC on blocks as they come, each read once.

    w ← H_k(w − γ ∇f_B(w)),   B the block that has just come

The class means x̄₊, x̄₋ and the share r of positives in f_B are those of all rows so far. Use it on
streams; where rows can be read again, ``sht_auc`` converges.
"""

from typing import Any, Literal

import numpy as np

from ..projections import hard_threshold, top_k
from ..utils.types import Array, Mask

# Share of the step that is exact along a block's gradient, as in ``sht_auc``.
_CAUTION = 0.3


class SHTAUCStream:
    """Where a stream stands.

    Parameters
    ----------
    n_features, k : int
        Columns, and the most of them that w may use.
    step_size : float or "auto"
        γ. ``"auto"`` is 0.3 times the step that minimises the block's loss along the k largest
        entries of its gradient.
    """

    def __init__(
        self, n_features: int, k: int, step_size: float | Literal["auto"] = "auto"
    ) -> None:
        self.w: Array = np.zeros(n_features)
        self.counts = np.zeros(2, np.int64)  # of positives and negatives
        self.means = np.zeros((2, n_features))  # of both
        self._k, self._step_size = min(k, n_features), step_size

    def take(self, X: Any, positive: Mask) -> None:
        """Take the rows of a block, a dense array or CSR, and a step on them.

        No step is taken before rows of both classes have come.
        """
        for place, mask in enumerate((positive, ~positive)):
            if n := int(mask.sum()):
                self.counts[place] += n
                sums = np.asarray(X[mask].sum(axis=0, dtype=np.float64)).ravel()
                self.means[place] += (sums - n * self.means[place]) / self.counts[place]
        if not self.counts.all():
            return
        gradient = self._gradient(X, positive)
        step = self._step(X, positive, gradient) if self._step_size == "auto" else self._step_size
        with np.errstate(over="ignore", invalid="ignore"):
            moved = self.w - float(step) * gradient
        if not np.isfinite(moved).all():
            raise FloatingPointError(
                f"SHT-AUC diverged with step_size={self._step_size!r}: give a smaller one, or "
                "scale the columns"
            )
        self.w = np.asarray(hard_threshold(moved, self._k), np.float64)

    def _deviations(self, X: Any, positive: Mask, direction: Array) -> tuple[Array, Array]:
        """v·(x − x̄ of its class) for every row, and what the square of each counts in f_B."""
        on_means = self.means @ direction
        scores = np.asarray(X @ direction, np.float64).ravel()
        share = self.counts / self.counts.sum()
        weights = np.where(positive, 1 / share[0], 1 / share[1]) / positive.size
        return scores - np.where(positive, *on_means), weights

    def _gradient(self, X: Any, positive: Mask) -> Array:
        """∇f_B(w)."""
        deviations, weights = self._deviations(X, positive, self.w)
        pull = 2 * weights * deviations
        delta = self.means[0] - self.means[1]
        gradient: Array = (
            np.asarray(X.T @ pull, np.float64).ravel()
            - pull[positive].sum() * self.means[0]
            - pull[~positive].sum() * self.means[1]
            - 2 * (1 - self.w @ delta) * delta
        )
        return gradient

    def _step(self, X: Any, positive: Mask, gradient: Array) -> float:
        """Share of the exact step along the k largest entries of the gradient."""
        direction = np.zeros_like(gradient)
        chosen = top_k(gradient, self._k)
        direction[chosen] = gradient[chosen]
        deviations, weights = self._deviations(X, positive, direction)
        delta = self.means[0] - self.means[1]
        curvature = float(weights @ deviations**2 + (direction @ delta) ** 2)
        return _CAUTION * float(direction @ direction) / (2 * curvature) if curvature > 0 else 0.0
