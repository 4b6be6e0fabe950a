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

from typing import Literal

import numpy as np
import numpy.typing as npt

from ..blocks import BlockOrder, visiting_order
from ..objective import Objective, Point
from ..objective.thresholding import largest_entries
from ..projections import top_k
from .epochs import Callback, SolverResult
from .hard_thresholding import threshold_in_epochs


def sht_auc(
    objective: Objective,
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
) -> SolverResult:
    """Minimise F over w with at most k non-zeros by stochastic hard thresholding.

    Parameters
    ----------
    objective : Objective
        The data: ``AUCObjective`` for arrays and CSR in memory, ``ChunkObjective`` for rows that
        are read in chunks, ``DeviceObjective`` for tensors and GPUs.
    k : int
        Largest number of non-zeros.
    batch_size : int, default=64
        Rows of a block, b in the paper. More than n means all rows. Of rows that are read in
        chunks, a block is a chunk.
    step_size : float or "auto", default="auto"
        γ on the paper's scale, the same in every step; the last iterate is returned, as in the
        paper. ``"auto"`` adapts γ to F after each epoch and returns the best iterate; see Notes.
    max_epochs : int, default=50
        Passes over the rows, m steps each.
    tol : float, default=1e-4
        Stop when w moves over an epoch by less than ``tol`` times its norm. 0 never stops.
    block_order : {"replacement", "permutation", "cyclic"}, default="replacement"
        Each block drawn uniformly with replacement (the paper), all blocks in a fresh random order
        every epoch, or in order.
    shuffle : bool, default=True
        Deal the rows to the blocks at random; otherwise neighbours form a block. Rows that are read
        in chunks stay where they are.
    start : array-like of shape (d,), optional
        w_0. Only its k largest entries are used.
    callback : callable, optional
        Called with an ``EpochRecord`` after each epoch; returning True ends the run.
    rng : numpy.random.Generator, optional
        Source of the random choices.

    Returns
    -------
    SolverResult

    Notes
    -----
    The automatic step starts at 0.3 times the step that is exact along the first gradient. It grows
    by a tenth after an epoch that leaves F within 20 % of its best; otherwise the epoch is undone,
    and the step shrinks by three tenths. It is reduced further over the last three tenths of the
    epochs, so that w settles. It cannot diverge.
    """
    # Input: k, step size γ, w_0 with ‖w_0‖₀ ≤ k. The objective knows x̄₊ and x̄₋.
    rng = np.random.default_rng() if rng is None else rng
    k = min(k, objective.n_features)
    descent = objective.descent(k, batch_size=batch_size, shuffle=shuffle, rng=rng)
    if start is not None:
        descent.move_to(Point(largest_entries(start, k, objective.dtype)))

    def run_blocks(step: float) -> bool:
        # Draw i_t from [m] at random, for as many t as there are blocks …
        drawn = visiting_order(descent.n_blocks, block_order, rng)
        # … and for each of them w_{t+1} = H_k(w_t − γ ∇f_{B_{i_t}}(w_t)).
        return descent.run(drawn, step)

    return threshold_in_epochs(
        "SHT-AUC", objective, descent, run_blocks,
        loss=lambda point: objective.value_on(*point.w),
        first_step=lambda: exact_first_step(objective, k),
        step_size=step_size, max_epochs=max_epochs, tol=tol, callback=callback,
    )  # fmt: skip


def exact_first_step(objective: Objective, k: int) -> float:
    """Step that minimises F along its gradient at zero, restricted to its k largest entries.

    At w = 0 the gradient is 2δ. Along g = δ on the k largest |δ_j|, F(−γ·2g) is least at
    γ = g·g / (2 gᵀHg), which costs O(n·k).
    """
    delta = objective.mean_negative - objective.mean_positive
    delta[~objective.varies] = 0
    chosen = top_k(delta, k)
    if chosen.size == 0:
        return 1.0  # the class means agree in every column: no step moves w
    # In units of the largest entry, so that scores stay in the range of floats.
    largest = np.abs(delta[chosen]).max()
    direction = delta[chosen] / largest
    length = float(direction @ direction)
    scores = objective.scores_on(chosen, direction).astype(np.float64)
    # gᵀHg = (g·δ)² + Var₊(g·x) + Var₋(g·x), in units of the largest score for the same reason.
    unit = float(np.abs(scores).max())
    curvature = (float(largest) * length / unit) ** 2
    for mask in (objective.positive, ~objective.positive):
        weight = objective.weight[mask] if objective.weight.size else None
        centred = scores[mask] / unit
        centred -= np.average(centred, weights=weight)
        curvature += float(np.average(centred**2, weights=weight))
    return length / (2.0 * curvature) / unit / unit
