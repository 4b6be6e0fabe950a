"""Hard thresholding of blocks of rows, with F (SHT-AUC) or the logistic loss (StoIHT, HSG-HT).

    w_{t+1} = H_k(w_t − γ ∇f_B(w_t)),   B a block of rows

The methods differ in the loss and in the blocks. The logistic loss,

    1/n Σ log(1 + exp(−y_i (w·x_i + c))) + ridge/2 ‖w‖²,

has an intercept c, which takes the same steps and is never thresholded. With F, a ridge
divides w by 1 + γ·ridge after every step.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np

from .arrays import Array, Indices, reordering_kernel
from .blocks import BlockOrder, RowBlocks, visiting_order
from .objective import AUCObjective
from .projections import hard_threshold, sum_above, top_k


class Solver(ABC):
    """A run of a method, one epoch at a time."""

    step: float  # the last one

    @property
    @abstractmethod
    def coef(self) -> Array:
        """The coefficients now."""

    @property
    def answer(self) -> Array:
        """The coefficients if the run ends here."""
        return self.coef

    @abstractmethod
    def run_epoch(self, visited: Any) -> bool:
        """Visit rows or blocks; whether the epoch was undone, as it raised the loss."""


class Visits(NamedTuple):
    """Blocks that an epoch visits, in this order."""

    blocks: RowBlocks
    scales: Array  # of shape (blocks, 2): factors of the gradients of negative and positive rows
    drawn: Indices


def visit_equal_blocks(
    objective: AUCObjective,
    blocks: RowBlocks,
    block_order: BlockOrder,
    rng: np.random.Generator,
    *,
    logistic: bool,
) -> Iterator[Visits]:
    """Yield the epochs of SHT-AUC and StoIHT: each block stands for an m-th of the rows."""
    m = len(blocks)
    pair = objective.block_scales(m)[::-1]
    if logistic:
        pair = m / objective.n_rows, m / objective.n_rows
    while True:
        yield Visits(blocks, np.tile(pair, (m, 1)), visiting_order(m, block_order, rng))


@reordering_kernel
def _add_rows(table, rows, multipliers, total):  # type: ignore[no-untyped-def]
    """``total += Σ_i multipliers[i] · x_rows[i]``, four rows at a time."""
    for i in range(0, rows.size - 3, 4):
        a, b, c, d = (
            multipliers[i],
            multipliers[i + 1],
            multipliers[i + 2],
            multipliers[i + 3],
        )
        w, x, y, z = (
            table[rows[i]],
            table[rows[i + 1]],
            table[rows[i + 2]],
            table[rows[i + 3]],
        )
        for j in range(total.size):
            total[j] += a * w[j] + b * x[j] + c * y[j] + d * z[j]
    for i in range(rows.size - rows.size % 4, rows.size):
        a, x = multipliers[i], table[rows[i]]
        for j in range(total.size):
            total[j] += a * x[j]


@reordering_kernel
def _take_steps(  # type: ignore[no-untyped-def]
    table,
    positive,
    means,
    rows,
    starts,
    scales,
    drawn,
    step,
    decay,
    shrink,
    k,
    logistic,
    w,
    intercept,
):
    """Take a step on each block drawn; block i is ``rows[starts[i]:starts[i + 1]]``."""
    support = np.flatnonzero(w)
    values = w[support]
    moved = np.empty_like(w)
    for i in drawn:
        block = rows[starts[i] : starts[i + 1]]
        on_means = np.zeros(2)
        for c in range(2):
            for q in range(support.size):
                on_means[c] += values[q] * means[c, support[q]]
        multipliers = np.empty(block.size)
        totals = np.zeros(2)
        for place in range(block.size):
            row = block[place]
            own = 1 if positive[row] else 0
            score = 0.0
            for q in range(support.size):
                score += values[q] * table[row, support[q]]
            multiplier = step * scales[i, own]
            if logistic:
                # An exponential that overflows gives 0, as it should.
                sign = 2.0 * own - 1.0
                multiplier *= sign / (1.0 + math.exp(sign * (score + intercept[0])))
            else:
                multiplier *= on_means[own] - score
            multipliers[place] = multiplier
            totals[own] += multiplier
        if logistic:
            intercept[0] += totals.sum()
            moved[:] = 0.0
        else:
            on_delta = 2.0 * step * (1.0 + on_means[0] - on_means[1])
            moved[:] = (on_delta - totals[1]) * means[1] - (
                on_delta + totals[0]
            ) * means[0]
        _add_rows(table, block, multipliers, moved)
        for q in range(support.size):
            moved[support[q]] += decay * values[q]
        if not sum_above(moved, -1.0)[0] < np.inf:
            w[:] = np.nan
            return
        # The k columns held now bound the k-th largest magnitude from below.
        floor = np.abs(moved[support]).min() if support.size == k else 0.0
        support = top_k(moved, k, floor)
        values = shrink * moved[support]
    w[:] = 0.0
    w[support] = values


class BlockDescent(Solver):
    """A run of hard thresholding; an automatic step undoes epochs that raise the loss.

    ``start`` is w_0, of which the k largest entries are used.
    """

    def __init__(
        self,
        objective: AUCObjective,
        k: int,
        *,
        step_size: float | Literal["auto"],
        max_epochs: int,
        logistic: bool,
        ridge: float = 0.0,
        intercept: float = 0.0,
        start: Array | None = None,
    ) -> None:
        self.objective = objective
        self.k = k
        self.logistic, self.ridge = logistic, ridge
        w = (
            np.zeros(objective.n_features)
            if start is None
            else hard_threshold(start, k)
        )
        self.point = w, np.array([intercept])
        self._means = np.stack([objective.mean_negative, objective.mean_positive])
        self.step = 0.0
        self._driver = None
        if isinstance(step_size, str):
            first = self._exact_first_step()
            self._driver = BoldDriver(first, self.point, self._value(), max_epochs)
        else:
            self.step = float(step_size)

    @property
    def coef(self) -> Array:
        """The coefficients now."""
        return self.point[0]

    @property
    def best(self) -> tuple[Array, Array]:
        """Coefficients and intercept: the last ones, or those of the least loss."""
        return self.point if self._driver is None else self._driver.best

    @property
    def answer(self) -> Array:
        """The coefficients if the run ends here."""
        return self.best[0]

    def run_epoch(self, visited: Visits) -> bool:
        """Take a step on each block of the epoch; whether they were undone."""
        if self._driver is not None:
            self.step = self._driver.next_step()
        shrinking = self.step * self.ridge
        decay, shrink = (
            (1.0 - shrinking, 1.0) if self.logistic else (1.0, 1.0 / (1.0 + shrinking))
        )
        objective = self.objective
        blocks, scales, drawn = visited
        w, intercept = (array.copy() for array in self.point)
        _take_steps(
            objective.table,
            objective.positive,
            self._means,
            blocks.rows,
            blocks.starts,
            scales,
            drawn,
            self.step,
            decay,
            shrink,
            self.k,
            self.logistic,
            w,
            intercept,
        )
        if not np.isfinite(intercept[0]):
            w[:] = np.nan
        self.point = w, intercept
        if self._driver is None or self._driver.accepts(self.point, self._value()):
            return False
        self.point = self._driver.best
        return True

    def _value(self) -> float:
        """Loss at the present point; NaN after an overflow."""
        w, intercept = self.point
        objective = self.objective
        if not np.isfinite(w).all():
            return np.nan
        if not self.logistic:
            return objective.value(w)
        scores = objective.scores(w) + intercept
        losses = np.logaddexp(0.0, np.where(objective.positive, -scores, scores))
        return float(losses.mean() + self.ridge / 2 * (w @ w))

    def _exact_first_step(self) -> float:
        """Step that minimises the quadratic model at zero along its gradient, on k columns."""
        objective = self.objective
        if not self.logistic:
            return objective.exact_first_step(self.k)
        pull = np.where(objective.positive, -0.5, 0.5) / objective.n_rows
        gradient = hard_threshold(pull @ objective.table, self.k)
        largest = np.abs(gradient).max()
        if largest == 0.0:
            return 1.0
        # The logistic loss curves by 1/4 at zero; the intercept is a column of ones.
        direction, of_intercept = gradient / largest, pull.sum() / largest
        scores = objective.scores(direction) + of_intercept
        curvature = float((scores**2).mean()) / 4 + self.ridge
        return float(direction @ direction + of_intercept**2) / curvature


class BoldDriver:
    """The automatic step: it grows while the loss stays near its best; epochs that raise it go.

    It starts at 0.3 times a given step. After an epoch that leaves the loss within 20 %
    of the best value seen, the step grows by a tenth; otherwise the method returns to
    the best point and the step shrinks by three tenths. Over the last three tenths of
    the epochs it no longer grows and is reduced gradually, to a tenth, so that the
    coefficients settle. These are the constants of the library's SHT-AUC.
    """

    def __init__(
        self, step: float, point: tuple[Array, Array], value: float, max_epochs: int
    ) -> None:
        self.best = point
        self._least, self._bold = value, 0.3 * step
        self._epoch, self._max_epochs = 0, max_epochs

    def next_step(self) -> float:
        """Step for the next epoch."""
        self._epoch += 1
        return float(self._bold * 0.1**self._settled)

    @property
    def _settled(self) -> float:
        """0 while exploring, then up to 1."""
        left = (self._max_epochs - self._epoch) / self._max_epochs
        return max(0.0, 1.0 - left / 0.3)

    def accepts(self, point: tuple[Array, Array], value: float) -> bool:
        """Whether an epoch that ended at this loss, NaN after an overflow, counts."""
        if not value <= 1.2 * self._least:
            self._bold *= 0.7
            return False
        if self._settled == 0.0:
            self._bold *= 1.1
        if value < self._least:
            self.best, self._least = point, value
        return True
