"""SHT-AUC: stochastic hard thresholding for AUC maximisation (Algorithm 1 of the paper).

    minimise F(w) = 1/(n₊n₋) Σ Σ (1 − w·(x_i − x_j))²   subject to   ‖w‖₀ ≤ k

    Input:    k, step size γ, w_0 with ‖w_0‖₀ ≤ k
    Compute:  x̄₊ and x̄₋
    for t = 0 … T − 1:
        draw i_t from [m] at random
        w_{t+1} = H_k(w_t − γ ∇f_{B_{i_t}}(w_t))
    Output:   w_T

Use it when rows are many or come in blocks, and columns are not strongly correlated. One step costs
O(b·k) to score a block of b rows, one read of the block for the gradient, and O(d) to keep the k
largest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .._jit import kernel
from ..blocks import BlockOrder, RowBlocks
from ..metrics import fast_auc
from ..objective import AUCObjective, Floats, Indices, descend_block, loss_of_scores
from ..projections import largest_magnitudes, top_k
from ..rows import compute_scores

# The automatic step, a "bold driver": it starts at this share of the step that is exact along the
# first gradient, grows while F stays near its best, and shrinks when F strays. On the designs of
# benchmarks/sht_auc_step.py the constants around these do as well; a larger start or a faster growth
# wastes epochs on steps that are undone.
_START, _GROW, _SHRINK, _STRAY = 0.3, 1.1, 0.7, 1.2


class EpochRecord(NamedTuple):
    """What a callback sees after an epoch.

    Attributes
    ----------
    epoch : int
        Counted from 1.
    objective : float
        F at the end of the epoch.
    auc : float
        AUC on the training rows.
    support_size : int
        Number of non-zeros.
    step_size : float
        γ used in the epoch.
    support : ndarray of int64
        Columns that are not zero, ascending.
    values : ndarray
        Their coefficients.
    scores : ndarray of shape (n,)
        Scores of all rows, those of weight zero too; overwritten by the next epoch.
    """

    epoch: int
    objective: float
    auc: float
    support_size: int
    step_size: float
    support: Indices
    values: Floats
    scores: Floats


Callback = Callable[[EpochRecord], bool | None]


class SHTResult(NamedTuple):
    """Outcome of a run.

    Attributes
    ----------
    support : ndarray of int64
        Columns chosen, ascending.
    values : ndarray
        Their coefficients.
    objective : float
        F there.
    n_epochs : int
    converged : bool
        Whether w moved by less than ``tol`` over the last epoch.
    step_size : float
        γ of the last epoch.
    """

    support: Indices
    values: Floats
    objective: float
    n_epochs: int
    converged: bool
    step_size: float

    def dense(self, n_features: int) -> Floats:
        """Return the coefficients of all columns."""
        w = np.zeros(n_features, self.values.dtype)
        w[self.support] = self.values
        return w


class SparseVector(NamedTuple):
    """The non-zeros of a vector, by ascending column."""

    support: Indices
    values: Floats


class _Iterate:
    """w_t as the kernel keeps it: dense for CSR rows, and as a list of its non-zeros."""

    def __init__(self, d: int, k: int, dtype: npt.DTypeLike) -> None:
        self.w = np.zeros(d, dtype)
        self.support = np.empty(k, np.int64)
        self.values = np.empty(k, dtype)
        self.size = 0

    def set(self, vector: SparseVector) -> None:
        self.w[:] = 0
        self.w[vector.support] = vector.values
        self.size = vector.support.size
        self.support[: self.size] = vector.support
        self.values[: self.size] = vector.values

    def copy(self) -> SparseVector:
        return SparseVector(self.support[: self.size].copy(), self.values[: self.size].copy())


@kernel
def _sht_auc_epoch(  # type: ignore[no-untyped-def]
    table, rows, starts, drawn, positive, weight, mean_positive, mean_negative,
    scale_positive, scale_negative, constant, step_size, k,
    w, support, values, size, candidate, magnitudes, scores,
):
    """One epoch of Algorithm 1; returns the number of non-zeros, or −1 when w overflowed."""
    for i in drawn:
        block = rows[starts[i] : starts[i + 1]]
        # candidate = w_t − γ ∇f_{B_i}(w_t)
        descend_block(
            table, block, positive, weight, mean_positive, mean_negative,
            scale_positive, scale_negative, step_size, w, support[:size], values[:size],
            scores, candidate,
        )  # fmt: skip
        for q in range(size):
            candidate[support[q]] += values[q]
        # The gradient of a column of one value is zero; rounding must not make it a winner.
        for j in constant:
            candidate[j] = 0
        # w_{t+1} = H_k(candidate). The k columns held now bound the k-th largest from below.
        floor = 0.0
        if size == k:
            floor = np.inf
            for q in range(k):
                floor = min(floor, abs(candidate[support[q]]))
        for q in range(size):
            w[support[q]] = 0
        size = largest_magnitudes(candidate, k, floor, magnitudes, support)
        if size < 0:
            return size
        for q in range(size):
            values[q] = candidate[support[q]]
            w[support[q]] = values[q]
    return size


@kernel
def _squared_distance(support_a, values_a, support_b, values_b):  # type: ignore[no-untyped-def]
    """‖a − b‖² of two sparse vectors with ascending indices."""
    total = 0.0
    i = 0
    j = 0
    while i < support_a.size or j < support_b.size:
        if j == support_b.size or (i < support_a.size and support_a[i] < support_b[j]):
            difference = np.float64(values_a[i])
            i += 1
        elif i == support_a.size or support_b[j] < support_a[i]:
            difference = np.float64(values_b[j])
            j += 1
        else:
            difference = np.float64(values_a[i]) - np.float64(values_b[j])
            i += 1
            j += 1
        total += difference * difference
    return total


def exact_first_step(objective: AUCObjective, k: int) -> float:
    """Step that minimises F along its gradient at zero, restricted to its k largest entries.

    At w = 0 the gradient is 2δ. Along g = δ on the k largest |δ_j|, F(−γ·2g) is least at
    γ = g·g / (2 gᵀHg), which costs O(n·k).
    """
    direction = np.zeros(objective.n_features, objective.dtype)
    delta = objective.mean_negative - objective.mean_positive
    delta[~objective.moments.varies] = 0
    chosen = top_k(delta, k)
    largest = float(np.abs(delta[chosen]).max(initial=0.0))
    if largest == 0.0:
        return 1.0  # the class means agree in every column: no step moves w
    # In units of the largest entry, so that neither squares nor scores leave the range of floats.
    direction[chosen] = delta[chosen] / objective.dtype.type(largest)
    along = largest * float(direction @ direction)  # g·δ
    # F(w) = (1 + w·δ)² + Var₊(w·x) + Var₋(w·x), so gᵀHg = F(g) − 1 − 2 g·δ.
    curvature = objective.value(direction) - 1.0 - 2.0 * along
    return float(direction @ direction) / (2.0 * curvature)


def sht_auc(
    objective: AUCObjective,
    k: int,
    *,
    batch_size: int = 64,
    step_size: float | Literal["auto"] = "auto",
    max_epochs: int = 50,
    tol: float = 1e-4,
    block_order: BlockOrder = "replacement",
    shuffle: bool = True,
    start: npt.ArrayLike | None = None,
    callback: Callback | None = None,
    rng: np.random.Generator | None = None,
) -> SHTResult:
    """Minimise F over w with at most k non-zeros by stochastic hard thresholding.

    Parameters
    ----------
    objective : AUCObjective
        The data.
    k : int
        Largest number of non-zeros.
    batch_size : int, default=64
        Rows of a block, b in the paper. More than n means all rows.
    step_size : float or "auto", default="auto"
        γ on the paper's scale, the same in every step; the last iterate is returned, as in the
        paper. ``"auto"`` adapts γ after each epoch to the course of F, undoes epochs that strayed
        and returns the best iterate seen; see Notes.
    max_epochs : int, default=50
        Passes over the rows, m steps each.
    tol : float, default=1e-4
        Stop when w moves over an epoch by less than ``tol`` times its norm. 0 never stops.
    block_order : {"replacement", "permutation", "cyclic"}, default="replacement"
        Each block drawn uniformly with replacement (the paper), all blocks in a fresh random order
        every epoch, or in order.
    shuffle : bool, default=True
        Deal the rows to the blocks at random; otherwise neighbours form a block.
    start : array-like of shape (d,), optional
        w_0. Only its k largest entries are used.
    callback : callable, optional
        Called with an :class:`EpochRecord` after each epoch; returning True ends the run.
    rng : numpy.random.Generator, optional
        Source of the random choices.

    Returns
    -------
    SHTResult

    Notes
    -----
    The automatic step begins at 0.3 times the step that is exact along the first gradient. After an
    epoch that leaves F within 20 % of the best value seen it grows by a tenth; otherwise the epoch
    is undone, w returns to the best iterate, and the step shrinks by three tenths. So it cannot
    diverge: F never ends above its value at the start.
    """
    rng = np.random.default_rng() if rng is None else rng
    n, d, dtype = objective.n_rows, objective.n_features, objective.dtype
    k = min(k, d)
    # Rows of weight zero are in no block, so leaving them out or weighting them zero is the same.
    weighted = objective.weight.size > 0
    counted = np.flatnonzero(objective.weight) if weighted else np.arange(n)
    blocks = RowBlocks.partition(
        counted.size, min(batch_size, counted.size), shuffle=shuffle, rng=rng
    )
    blocks = RowBlocks(counted[blocks.rows], blocks.starts)
    constant = np.flatnonzero(~objective.moments.varies)
    candidate, magnitudes, scores = np.empty(d, dtype), np.empty(d, dtype), np.empty(n, dtype)

    iterate = _Iterate(d, k, dtype)
    if start is not None:
        first = np.asarray(start, dtype)
        kept = top_k(first, k)
        iterate.set(SparseVector(kept, first[kept]))

    def score_all() -> Floats:
        at = iterate.copy()
        compute_scores(objective.table, np.arange(n), iterate.w, at.support, at.values, scores)
        return scores

    def value() -> float:
        return float(loss_of_scores(score_all(), objective.positive, objective.weight))

    adaptive = isinstance(step_size, str)
    step = _START * exact_first_step(objective, k) if adaptive else float(step_size)
    best, best_value = iterate.copy(), value()
    epoch, used, converged, stopped = 0, step, False, False
    while epoch < max_epochs and not (converged or stopped):
        epoch, used = epoch + 1, step
        before: SparseVector | None = iterate.copy()
        iterate.size = _sht_auc_epoch(
            objective.table, blocks.rows, blocks.starts, blocks.visiting_order(block_order, rng),
            objective.positive, objective.weight, objective.mean_positive, objective.mean_negative,
            *objective.block_scales(len(blocks)), constant, step, k,
            iterate.w, iterate.support, iterate.values, iterate.size, candidate, magnitudes, scores,
        )  # fmt: skip
        overflowed = iterate.size < 0
        if adaptive:
            reached = np.inf if overflowed else value()
            if reached <= _STRAY * best_value:
                step *= _GROW
                if reached < best_value:
                    best, best_value = iterate.copy(), reached
            else:
                step *= _SHRINK
                iterate.set(best)
                before = None
        elif overflowed:
            raise ValueError(
                f"SHT-AUC diverged in epoch {epoch} with step_size={step:g}: "
                'give a smaller one, or "auto"'
            )
        # An epoch that was undone leaves w where it was; that is no sign of convergence.
        converged = before is not None and _moved_less_than(tol, before, iterate.copy())
        if callback is not None:
            now = iterate.copy()
            scored = score_all()
            record = EpochRecord(
                epoch,
                float(loss_of_scores(scored, objective.positive, objective.weight)),
                fast_auc(scored, objective.positive, objective.weight if weighted else None),
                now.support.size,
                used,
                *now,
                scored,
            )
            stopped = bool(callback(record))
    if not adaptive:
        best, best_value = iterate.copy(), value()
    return SHTResult(*best, best_value, epoch, converged, used)


def _moved_less_than(tol: float, before: SparseVector, after: SparseVector) -> bool:
    """Whether ‖after − before‖ < tol·‖before‖."""
    moved: float = _squared_distance(*after, *before)
    return moved < tol**2 * float(np.sum(before.values.astype(np.float64) ** 2))
