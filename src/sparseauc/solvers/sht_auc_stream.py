"""SHT-AUC where rows come one block at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..utils.types import Floats, Indices, Mask
from .rows import Rows
from .sht_auc import (
    FIRST_SHARE,
    BlockLoss,
    StepSize,
    block_gradient,
    descend,
    hard_threshold,
    paper_step,
)


class SHTAUCStream:
    """Algorithm 1 on a stream: one step on each block that comes, which is not kept.

    x̄₊, x̄₋, the share of positives and the lengths of the rows are those of all rows
    so far. ``step_size="auto"`` is 0.3 times the step that minimises f_B along the k
    largest entries of its gradient.
    """

    def __init__(self, n_features: int, k: int, step_size: StepSize = "auto") -> None:
        self.counts = np.zeros(2, np.int64)  # of positives and negatives
        self.means = np.zeros((2, n_features))  # of both
        self._squares = 0.0  # Σ‖x‖²
        self.w: Floats = np.zeros(n_features)  # the iterate
        self._k = min(k, n_features)
        self._step_size = step_size

    def take(self, X: Any, positive: Mask) -> None:
        """Take the rows of a block, a dense array or CSR, and a step on them.

        No step is taken before rows of both classes have come.
        """
        for place, mask in enumerate((positive, ~positive)):
            n = int(mask.sum())
            if n > 0:
                self.counts[place] += n
                sums = np.asarray(X[mask].sum(axis=0, dtype=np.float64)).ravel()
                self.means[place] += (sums - n * self.means[place]) / self.counts[place]
        values = X.data if hasattr(X, "tocsr") else X
        self._squares += float(np.square(values, dtype=np.float64).sum())
        if not self.counts.all():
            return
        rows = Rows.view(X, positive, np.ones(positive.size))
        block = np.arange(positive.size)
        # One of as many equally likely blocks as there were rows for.
        loss = BlockLoss(
            *self.means, *(2.0 * self.counts.sum() / block.size / self.counts)
        )
        step = self._step_size
        if step == "paper":
            n = int(self.counts.sum())
            step = paper_step(self.counts[0] / n, self._squares / n)
        elif step == "auto":
            step = self._cautious_step(X, rows, loss, block)
        one_block = np.array([0, block.size])
        finite = descend(
            rows,
            loss,
            block[:0],
            block,
            one_block,
            block[:1],
            float(step),
            self._k,
            self.w,
        )
        if not finite:
            raise FloatingPointError(
                f"SHT-AUC diverged with step_size={self._step_size!r}: give a smaller one, or "
                "scale the columns"
            )

    def _cautious_step(
        self, X: Any, rows: Rows, loss: BlockLoss, block: Indices
    ) -> float:
        """Share of the exact step along the k largest entries g of ∇f_B."""
        gradient = np.empty_like(self.w)
        support = np.flatnonzero(self.w)
        block_gradient(rows, loss, block, self.w, support, 1.0, gradient)
        g = hard_threshold(gradient, self._k)
        on_positive, on_negative = self.means @ g
        deviations = np.asarray(X @ g, np.float64).ravel()
        deviations -= np.where(rows.positive, on_positive, on_negative)
        scales = np.where(rows.positive, loss.scale_positive, loss.scale_negative)
        curvature = scales @ deviations**2 + 2.0 * (on_negative - on_positive) ** 2
        return FIRST_SHARE * float(g @ g / curvature) if curvature > 0 else 0.0
