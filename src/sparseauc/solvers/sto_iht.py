"""StoIHT: SHT-AUC's iteration with the logistic loss in place of the pairwise one.

    minimise  1/n Σ log(1 + exp(−y_i (w·x_i + c))) + alpha/2 ‖w‖²   subject to   ‖w‖₀ ≤ k

    w_{t+1} = H_k(w_t − γ ∇f_{B_i}(w_t)),   i drawn from [m] at random

The intercept c takes the same steps and is never thresholded (Nguyen, Needell and Woolf, 2017).
Use it as a baseline, or when probabilities matter more than the ranking; at few positives the
ranking it finds is worse.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .._jit import kernel
from ..blocks import BlockOrder
from ..objective import AUCObjective, Floats
from ..projections import top_k
from ..rows import accumulate_rows, add_rows, score_rows
from ._bold_driver import BoldDriver
from ._epochs import Callback, Epoch, SolverResult, SparseVector, diverged, run_epochs
from ._hard_thresholding import Iterate, deal_blocks, threshold_step


@kernel
def _descend_logistic_block(  # type: ignore[no-untyped-def]
    table, rows, positive, weight, scale, alpha, step, intercept, w, support, values, scores, out
):
    """``out = −step · ∇f_B(w)``; returns the intercept after its own step.

    ``scale`` multiplies the block's sum of row gradients.
    """
    score_rows(table, rows, w, support, values, scores)
    total = 0.0
    for i in range(rows.size):
        row = np.uint64(rows[i])
        sign = 1.0 if positive[row] else -1.0
        # σ(yz) − 1 = −1 / (1 + exp(yz)); exp overflows to infinity and gives 0, as it should.
        multiplier = -scale * sign / (1.0 + math.exp(sign * (scores[i] + intercept)))
        if weight.size:
            multiplier *= weight[row]
        total += multiplier
        scores[i] = scores.dtype.type(-step * multiplier)
    out[:] = 0
    add_rows(table, rows, scores, out)
    for q in range(support.size):
        out[support[q]] -= step * alpha * values[q]
    return intercept - step * total


@kernel
def logistic_thresholding_epoch(  # type: ignore[no-untyped-def]
    table,
    rows,
    starts,
    drawn,
    scales,
    positive,
    weight,
    alpha,
    constant,
    step_size,
    k,
    intercept,
    w,
    support,
    values,
    size,
    candidate,
    magnitudes,
    scores,
):
    """One epoch; returns the number of non-zeros, −1 when w overflowed, and the intercept."""
    for i in drawn:
        block = rows[starts[i] : starts[i + 1]]
        # candidate = −γ ∇f_{B_i}(w_t)
        intercept = _descend_logistic_block(
            table, block, positive, weight, scales[i], alpha, step_size, intercept,
            w, support[:size], values[:size], scores, candidate,
        )  # fmt: skip
        # w_{t+1} = H_k(w_t + candidate)
        size = threshold_step(candidate, constant, k, w, support, values, size, magnitudes)
        if size < 0 or not abs(intercept) < np.inf:
            return -1, intercept
    return size, intercept


class Schedule(NamedTuple):
    """The blocks of one epoch, in the order they are visited.

    Attributes
    ----------
    rows : ndarray of int64
    starts : ndarray of int64
        Block i holds ``rows[starts[i]:starts[i + 1]]``.
    drawn : ndarray of int64
        Blocks to visit.
    scales : ndarray of float64
        What each block's sum of row gradients is multiplied by.
    """

    rows: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    drawn: npt.NDArray[np.int64]
    scales: npt.NDArray[np.float64]


class _Point(NamedTuple):
    w: SparseVector
    intercept: float


class LogisticThresholding:
    """Hard thresholding of the logistic loss under any schedule of blocks.

    StoIHT and HSG-HT differ in the schedule alone.

    Parameters
    ----------
    objective : AUCObjective
        The data.
    k : int
    alpha : float
    step_size : float or "auto"
    start : array-like of shape (d,), optional
    max_epochs : int
    name : str
        The method, for messages.
    """

    def __init__(
        self,
        objective: AUCObjective,
        k: int,
        alpha: float,
        step_size: float | Literal["auto"],
        start: npt.ArrayLike | None,
        max_epochs: int,
        name: str,
    ) -> None:
        self.objective = objective
        self.k = min(k, objective.n_features)
        self.alpha = alpha
        self.step_size = step_size
        self.name = name
        self.constant = np.flatnonzero(~objective.moments.varies)
        self.iterate = Iterate(objective, self.k, start)
        self.intercept = 0.0
        d, dtype = objective.n_features, objective.dtype
        self.candidate, self.magnitudes = np.empty(d, dtype), np.empty(d, dtype)
        self.driver: BoldDriver[_Point] | None = None
        if isinstance(step_size, str):
            first = self._point()
            self.driver = BoldDriver(self._exact_first_step(), first, self._loss(first), max_epochs)

    def epoch(self, number: int, schedule: Schedule) -> Epoch:
        """Run one epoch."""
        objective, iterate = self.objective, self.iterate
        step = float(self.step_size) if self.driver is None else self.driver.step(number)
        iterate.size, self.intercept = logistic_thresholding_epoch(
            objective.table, *schedule, objective.positive, objective.weight, self.alpha,
            self.constant, step, self.k, self.intercept,
            iterate.w, iterate.support, iterate.values, iterate.size,
            self.candidate, self.magnitudes,
            np.empty(int(np.diff(schedule.starts).max()), objective.dtype),
        )  # fmt: skip
        overflowed = iterate.size < 0
        if self.driver is None:
            if overflowed:
                raise diverged(self.name, number, step)
            return Epoch(iterate.copy(), step)
        undone = self.driver.strayed(
            self._point(), np.inf if overflowed else self._loss(self._point())
        )
        if undone:
            iterate.set(self.driver.best.w)
            self.intercept = self.driver.best.intercept
        return Epoch(iterate.copy(), step, undone)

    def result(self, result: SolverResult) -> SolverResult:
        """Complete the outcome of the epochs: the intercept, and the best point if one is kept."""
        if self.driver is None:
            return result._replace(intercept=self.intercept)
        best = self.driver.best
        return result._replace(**best.w._asdict(), intercept=best.intercept)

    def _point(self) -> _Point:
        return _Point(self.iterate.copy(), self.intercept)

    def _loss(self, point: _Point) -> float:
        scores = self.objective.scores_on(*point.w).astype(np.float64) + point.intercept
        margins = np.where(self.objective.positive, scores, -scores)
        losses = np.logaddexp(0.0, -margins)
        weight = self.objective.weight if self.objective.weight.size else None
        ridge = self.alpha / 2 * float(np.sum(point.w.values.astype(np.float64) ** 2))
        return float(np.average(losses, weights=weight)) + ridge

    def _exact_first_step(self) -> float:
        """Step that minimises the quadratic model at zero along its gradient, on k columns."""
        objective = self.objective
        weight = objective.weight if objective.weight.size else np.ones(objective.n_rows)
        share = weight / weight.sum()
        pull = (np.where(objective.positive, -0.5, 0.5) * share).astype(objective.dtype)
        gradient: Floats = np.zeros(objective.n_features, objective.dtype)
        accumulate_rows(objective.table, np.arange(objective.n_rows), pull, gradient)
        gradient[self.constant] = 0
        chosen = top_k(gradient, self.k)
        if chosen.size == 0:
            return 1.0
        # The logistic loss curves by 1/4 at zero; the intercept is a column of ones.
        unit = np.abs(gradient[chosen]).max()
        direction = np.append(gradient[chosen] / unit, float(pull.sum()) / float(unit))
        scores = objective.scores_on(chosen, gradient[chosen] / unit).astype(np.float64)
        curvature = float(share @ (scores + direction[-1]) ** 2) / 4 + self.alpha
        return float(direction.astype(np.float64) @ direction) / curvature


def sto_iht(
    objective: AUCObjective,
    k: int,
    *,
    batch_size: int = 64,
    step_size: float | Literal["auto"] = "auto",
    alpha: float = 0.0,
    max_epochs: int = 50,
    tol: float = 1e-4,
    block_order: BlockOrder = "replacement",
    shuffle: bool = True,
    start: npt.ArrayLike | None = None,
    callback: Callback | None = None,
    rng: np.random.Generator | None = None,
) -> SolverResult:
    """Minimise the logistic loss with at most k non-zeros by stochastic hard thresholding.

    Parameters
    ----------
    objective : AUCObjective
        The data; the loss minimised is the logistic one.
    k : int
        Largest number of non-zeros; the intercept does not count.
    batch_size, max_epochs, tol, block_order, shuffle, start, callback, rng
        As in :func:`sparseauc.solvers.sht_auc`.
    step_size : float or "auto", default="auto"
        γ on the mean logistic gradient of a block. ``"auto"`` follows the course of the loss.
    alpha : float, default=0.0
        Ridge.

    Returns
    -------
    SolverResult
        With the intercept.
    """
    rng = np.random.default_rng() if rng is None else rng
    blocks = deal_blocks(objective, batch_size, shuffle=shuffle, rng=rng)
    # Mean gradient: of m equally likely blocks, each stands for an m-th of the total weight.
    scales = np.full(len(blocks), len(blocks) / sum(objective.moments.weights))
    method = LogisticThresholding(objective, k, alpha, step_size, start, max_epochs, "StoIHT")

    def run_epoch(number: int) -> Epoch:
        drawn = blocks.visiting_order(block_order, rng)
        return method.epoch(number, Schedule(blocks.rows, blocks.starts, drawn, scales))

    return method.result(
        run_epochs(
            objective, run_epoch, start=method.iterate.copy(), max_epochs=max_epochs, tol=tol,
            callback=callback,
        )
    )  # fmt: skip
