"""SHT-AUC where rows are read in chunks, or come one block at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..chunks import Pass, score_chunks
from ..moments.chunked import chunked_moments
from ..utils.arrays import to_host
from ..utils.types import Array, Floats, Indices, Mask
from .rows import BlockOrder, Blocks, Rows, count_blocks
from .sht_auc import (
    FIRST_SHARE,
    BlockLoss,
    StepSize,
    TrainingSet,
    block_gradient,
    descend,
    hard_threshold,
    paper_step,
)


class TrainingChunks(TrainingSet):
    """F on the rows of a source, and epochs that read it from first to last.

    Each chunk is cut into blocks where it is. ``X`` are
    :class:`sparseauc.chunks.Chunks`; the other parameters are those of a table in
    memory.
    """

    def _moments(self, weight: Array | None) -> Any:
        return chunked_moments(self.X, self.positive, weight)

    def _deal(self) -> int:
        """Count the blocks there would be in memory; those of a chunk are cut later."""
        return count_blocks(int(np.count_nonzero(self.weight)), self._batch_size)

    def run_epoch(self, w: Floats, k: int, step_size: float) -> bool:
        """Take a step on each block, in place; False where w overflowed."""
        epoch = _Epoch(
            w=w,
            k=k,
            step_size=step_size,
            loss=self._loss,
            rows_per_block=np.count_nonzero(self.weight) / self._n_blocks,
            constant=self.constant,
            batch_size=self._batch_size,
            block_order=self._block_order,
            shuffle=self._shuffle,
            seed=int(self._rng.integers(2**32)),
        )
        w[:] = self.X.run(epoch, self.positive, self.weight)
        return bool(np.isfinite(w).all())

    def scores(self, w: Floats) -> Floats:
        """Compute w·x for all rows."""
        return score_chunks(self.X, w)


@dataclass(frozen=True)
class _Epoch(Pass["Floats"]):
    """Steps on the blocks of each chunk in turn, where the chunk is."""

    w: Floats
    k: int
    step_size: float
    loss: BlockLoss
    rows_per_block: float
    constant: Indices
    batch_size: int
    block_order: BlockOrder
    shuffle: bool
    seed: int

    in_order: ClassVar[bool] = True

    def add(self, state: Floats | None, X: Any, start: int, *known: Any) -> Floats:
        """Return w after the steps; NaN where it overflowed."""
        w = self.w.copy() if state is None else state
        positive, weight = known
        counted = np.flatnonzero(weight)
        if counted.size == 0 or not np.isfinite(w).all():
            return w
        rng = np.random.default_rng([self.seed, start])
        blocks = Blocks.deal(counted, self.batch_size, self.shuffle, rng)
        drawn = blocks.draw(self.block_order, rng)
        # One of as many equally likely blocks as there are rows for.
        share = self.rows_per_block * drawn.size / counted.size
        loss = self.loss._replace(
            scale_positive=self.loss.scale_positive * share,
            scale_negative=self.loss.scale_negative * share,
        )
        X = X if hasattr(X, "tocsr") else to_host(X)
        rows = Rows.view(X.astype(w.dtype, copy=False), positive, weight)
        finite = descend(
            rows, loss, self.constant, *blocks, drawn, self.step_size, self.k, w
        )
        return w if finite else np.full_like(w, np.nan)

    def merge(self, first: Floats, second: Floats) -> Floats:  # noqa: ARG002
        """Refuse: every step needs the one before it."""
        raise TypeError("steps are taken one after the other")


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
