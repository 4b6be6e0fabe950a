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
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .._jit import kernel
from ..blocks import BlockOrder
from ..objective import AUCObjective, descend_block
from ..projections import top_k
from ._bold_driver import BoldDriver
from ._epochs import Callback, Epoch, SolverResult, diverged, run_epochs
from ._hard_thresholding import Iterate, deal_blocks, threshold_step


@kernel
def _sht_auc_epoch(  # type: ignore[no-untyped-def]
    table,
    rows,
    starts,
    drawn,
    positive,
    weight,
    mean_positive,
    mean_negative,
    scale_positive,
    scale_negative,
    constant,
    step_size,
    k,
    w,
    support,
    values,
    size,
    candidate,
    magnitudes,
    scores,
):
    """One epoch of Algorithm 1; returns the number of non-zeros, or −1 when w overflowed."""
    for i in drawn:
        block = rows[starts[i] : starts[i + 1]]
        # candidate = −γ ∇f_{B_i}(w_t)
        descend_block(
            table, block, positive, weight, mean_positive, mean_negative,
            scale_positive, scale_negative, step_size, w, support[:size], values[:size],
            scores, candidate,
        )  # fmt: skip
        # w_{t+1} = H_k(w_t + candidate)
        size = threshold_step(candidate, constant, k, w, support, values, size, magnitudes)
        if size < 0:
            break
    return size


def exact_first_step(objective: AUCObjective, k: int) -> float:
    """Step that minimises F along its gradient at zero, restricted to its k largest entries.

    At w = 0 the gradient is 2δ. Along g = δ on the k largest |δ_j|, F(−γ·2g) is least at
    γ = g·g / (2 gᵀHg), which costs O(n·k).
    """
    delta = objective.mean_negative - objective.mean_positive
    delta[~objective.moments.varies] = 0
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
) -> SolverResult:
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
        Called with an ``EpochRecord`` after each epoch; returning True ends the run.
    rng : numpy.random.Generator, optional
        Source of the random choices.

    Returns
    -------
    SolverResult

    Notes
    -----
    The automatic step is a bold driver on F: it begins at 0.3 times the step that is exact along
    the first gradient, grows by a tenth after an epoch that leaves F within 20 % of its best, and
    otherwise takes the epoch back and shrinks by three tenths; the last three tenths of the epochs
    cut it down further, so that w settles. It cannot diverge.
    """
    rng = np.random.default_rng() if rng is None else rng
    d, dtype = objective.n_features, objective.dtype
    k = min(k, d)
    blocks = deal_blocks(objective, batch_size, shuffle=shuffle, rng=rng)
    constant = np.flatnonzero(~objective.moments.varies)
    candidate, magnitudes = np.empty(d, dtype), np.empty(d, dtype)
    scores = np.empty(blocks.largest, dtype)

    def run_blocks(iterate: Iterate, step: float) -> None:
        iterate.size = _sht_auc_epoch(
            objective.table, blocks.rows, blocks.starts, blocks.visiting_order(block_order, rng),
            objective.positive, objective.weight, objective.mean_positive, objective.mean_negative,
            *objective.block_scales(len(blocks)), constant, step, k,
            iterate.w, iterate.support, iterate.values, iterate.size, candidate, magnitudes, scores,
        )  # fmt: skip

    return threshold_in_epochs(
        objective, Iterate(objective, k, start), run_blocks, step_size=step_size,
        max_epochs=max_epochs, tol=tol, callback=callback,
    )  # fmt: skip


def threshold_in_epochs(
    objective: Any,
    iterate: Iterate,
    run_blocks: Callable[[Iterate, float], None],
    *,
    step_size: float | Literal["auto"],
    max_epochs: int,
    tol: float,
    callback: Callback | None,
) -> SolverResult:
    """Run epochs of SHT-AUC with a constant or an automatic step.

    ``run_blocks`` takes an iterate through the blocks of an epoch with a step, and leaves it with
    size −1 when it overflowed. The objective may be that of any home for data.
    """
    k, first = iterate.support.size, iterate.copy()
    driver = None
    if isinstance(step_size, str):
        driver = BoldDriver(
            exact_first_step(objective, k), first, objective.value_on(*first, iterate.w), max_epochs
        )

    def run_epoch(number: int) -> Epoch:
        step = float(step_size) if driver is None else driver.step(number)
        run_blocks(iterate, step)
        overflowed = iterate.size < 0
        if driver is None:
            if overflowed:
                raise diverged("SHT-AUC", number, step)
            return Epoch(iterate.copy(), step, dense=iterate.w)
        reached = np.inf if overflowed else objective.value_on(*iterate.copy(), iterate.w)
        undone = driver.strayed(iterate.copy(), reached)
        if undone:
            iterate.set(driver.best)
        return Epoch(iterate.copy(), step, undone, iterate.w)

    result = run_epochs(
        objective, run_epoch, start=first, max_epochs=max_epochs, tol=tol, callback=callback
    )
    return result if driver is None else result._replace(**driver.best._asdict())
