"""SHT-AUC: stochastic hard thresholding for AUC maximisation (Algorithm 1 of the paper).

    minimise    F(w) = 1/(n₊n₋) Σ_{i positive} Σ_{j negative} (1 − w·(x_i − x_j))²
    subject to  ‖w‖₀ ≤ k

    Input:    k, step size γ, w_0 with ‖w_0‖₀ ≤ k
    Compute:  the class means x̄₊ and x̄₋
    for t = 0 … T − 1:
        draw a block B of rows, one of m, at random
        w_{t+1} = H_k(w_t − γ ∇f_B(w_t))
    Output:   w_T

Proposition 1 makes F a sum over single rows: with δ = x̄₋ − x̄₊ it is (1 + w·δ)² plus
the variance of the scores of each class. The gradients

    ∇f_B(w) = 2m/n₊ Σ_{x ∈ B positive} w·(x − x̄₊) (x − x̄₊)
            + 2m/n₋ Σ_{x ∈ B negative} w·(x − x̄₋) (x − x̄₋) + 2 (1 + w·δ) δ

of m equally likely blocks have the mean ∇F. With sample weights every row counts by its
weight, and n₊ and n₋ are the weights of the classes.

Use it when rows are many or come in blocks, and columns are not strongly correlated. A
step costs O(b·k) to score a block of b rows, one read of the block, and O(d) to keep
the k largest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from ..errors import InputError
from ..metrics import fast_auc
from ..moments import ColumnError
from ..moments.rows import table_moments
from ..utils.jit import kernel
from ..utils.types import Array, Floats, Indices, Mask
from .rows import BlockOrder, Blocks, Rows, add_rows, score_rows

StepSize = float | Literal["auto", "paper"]

# -------------------------------------------------------------------------- Algorithm 1


def sht_auc(
    training: TrainingSet,
    k: int,
    *,
    step_size: StepSize = "auto",
    max_epochs: int = 50,
    tol: float = 1e-4,
    start: Floats | None = None,
    callback: Callback | None = None,
) -> tuple[Floats, int]:
    """Minimise F over w with at most k non-zeros by stochastic hard thresholding.

    The parameters are those of :class:`sparseauc.SHTAUCClassifier`; ``start`` is w_0,
    of which the k largest entries are used. Returns the last iterate, as in the paper,
    or the best one where the step is automatic, and the number of epochs.
    """
    watched = step_size == "auto" or callback is not None

    def look(w: Floats) -> Point:
        scores = training.scores(w) if watched else np.empty(0)
        return Point(w, scores, training.value(scores) if watched else np.nan)

    # Input: k, step size γ, w_0 with ‖w_0‖₀ ≤ k. The training set knows x̄₊ and x̄₋.
    k = min(k, training.n_features)
    w_0 = np.zeros(training.n_features) if start is None else start
    point = look(hard_threshold(w_0.astype(training.dtype), k))
    driver = None
    if step_size == "paper":
        step_size = training.paper_step()
    elif step_size == "auto":
        driver = BoldDriver(exact_first_step(training, k), point, max_epochs)
    for epoch in range(1, max_epochs + 1):
        before = point
        gamma = float(step_size) if driver is None else driver.step_size(epoch)
        w = before.w.copy()
        # For every block: draw B, and w_{t+1} = H_k(w_t − γ ∇f_B(w_t)).
        finite = training.run_epoch(w, k, gamma)
        if not finite and driver is None:
            raise InputError(
                f"SHT-AUC diverged in epoch {epoch} with step_size={gamma:g}: give a smaller one, "
                "or rescale the columns"
            )
        end = look(w) if finite else before._replace(value=np.nan)
        point = end if driver is None else driver.keep(end)
        converged = point is end and _moved_less_than(tol, before.w, end.w)
        stopped = callback is not None and callback(
            _record(training, epoch, gamma, point)
        )
        if converged or stopped:
            break
    # Output: w_T.
    return point.w if driver is None else driver.best.w, epoch


class EpochRecord(NamedTuple):
    """Record of an epoch, for callbacks; F and the AUC are those of the training rows."""

    epoch: int  # counted from 1
    objective: float
    auc: float
    support_size: int
    step_size: float
    support: Indices  # columns that are not zero, ascending
    values: Floats  # their coefficients
    scores: Floats  # of all rows, those of weight zero too


Callback = Callable[[EpochRecord], bool | None]


class Point(NamedTuple):
    """End of an epoch; scores and F are computed only if something depends on them."""

    w: Floats
    scores: Floats
    value: float  # NaN after an overflow


def _record(
    training: TrainingSet, epoch: int, step: float, point: Point
) -> EpochRecord:
    w, scores, value = point
    weight = training.weight if training.weighted else None
    auc = fast_auc(scores, training.positive, weight)
    support = np.flatnonzero(w)
    return EpochRecord(
        epoch, value, auc, support.size, step, support, w[support], scores
    )


def _moved_less_than(tol: float, before: Floats, after: Floats) -> bool:
    """Return whether ‖after − before‖ < tol·‖before‖."""
    with np.errstate(over="ignore", invalid="ignore"):
        length = float(before.astype(np.float64) @ before)
        moved = after.astype(np.float64) - before
        return tol > 0.0 and bool(moved @ moved < tol**2 * length)


# ---------------------------------------------- the step w ← H_k(w − γ ∇f_B(w))


class BlockLoss(NamedTuple):
    """f_B but for its rows: x̄₊, x̄₋, 2m/n₊ and 2m/n₋."""

    mean_positive: Floats
    mean_negative: Floats
    scale_positive: float
    scale_negative: float


@kernel
def descend(rows, loss, constant, order, starts, drawn, step_size, k, w):  # type: ignore[no-untyped-def]
    """Take the step w ← H_k(w − γ ∇f_B(w)) on each block drawn; False before w overflows.

    Blocks are those of ``Blocks``; ``constant`` columns are never chosen.
    """
    moved = np.empty_like(w)
    magnitudes = np.empty_like(w)
    support = np.flatnonzero(w)
    for i in drawn:
        block = order[starts[i] : starts[i + 1]]
        block_gradient(rows, loss, block, w, support, -step_size, moved)
        for j in support:
            moved[j] += w[j]
        for j in constant:
            moved[j] = 0
        # The k columns held until now bound the k-th largest magnitude from below.
        floor = moved.dtype.type(0)
        if support.size == k:
            floor = np.min(np.abs(moved[support]))
        if not np.isfinite(moved).all():
            return False
        for j in support:
            w[j] = 0
        support = largest(moved, k, floor, magnitudes)
        for j in support:
            w[j] = moved[j]
    return True


@kernel
def block_gradient(rows, loss, block, w, support, factor, gradient):  # type: ignore[no-untyped-def]
    """Set ``gradient`` to ∇f_B(w) times a factor."""
    number = w.dtype.type
    on_mean_positive = 0.0  # w·x̄₊
    on_mean_negative = 0.0  # w·x̄₋
    for j in support:
        on_mean_positive += w[j] * loss.mean_positive[j]
        on_mean_negative += w[j] * loss.mean_negative[j]
    scores = np.empty(block.size, w.dtype)
    score_rows(rows, block, w, support, scores)
    # Values are chosen, not branches: the labels of a block cannot be predicted.
    sum_positive = 0.0
    sum_negative = 0.0
    for q in range(block.size):
        row = np.uint64(block[q])
        is_positive = rows.positive[row]
        scale = loss.scale_positive if is_positive else loss.scale_negative
        multiplier = scale * (
            scores[q] - (on_mean_positive if is_positive else on_mean_negative)
        )
        multiplier *= rows.weight[row]
        sum_positive += multiplier if is_positive else 0.0
        sum_negative += 0.0 if is_positive else multiplier
        scores[q] = number(factor * multiplier)
    # Σ multiplier·(x − x̄) + 2 (1 + w·δ) δ, with the means taken out of the sum over
    # rows.
    margin = 2.0 * (1.0 + on_mean_negative - on_mean_positive)
    on_positive = number(-factor * (sum_positive + margin))
    on_negative = number(-factor * (sum_negative - margin))
    for j in range(w.size):
        gradient[j] = (
            on_positive * loss.mean_positive[j] + on_negative * loss.mean_negative[j]
        )
    add_rows(rows, block, scores, gradient)


@kernel
def largest(vector, k, floor, magnitudes):  # type: ignore[no-untyped-def]
    """Columns of the k entries of the largest magnitude, ascending; of equal ones the first.

    None of them is smaller than ``floor``. Zeros are never chosen. ``magnitudes`` is
    overwritten.
    """
    count = 0
    for j in range(vector.size):
        # Written always and kept by counting: a branch is mispredicted when many pass.
        magnitude = abs(vector[j])
        magnitudes[count] = magnitude
        count += magnitude >= floor
    threshold = floor
    if count > k:
        threshold = np.partition(magnitudes[:count], count - k)[count - k]
    ties = k
    for i in range(count):
        ties -= magnitudes[i] > threshold
    support = np.empty(k, np.int64)
    size = 0
    for j in range(vector.size):
        magnitude = abs(vector[j])
        if magnitude >= threshold and magnitude > 0:
            if magnitude == threshold:
                if ties == 0:
                    continue
                ties -= 1
            support[size] = j
            size += 1
            if size == k:
                break
    return support[:size]


def hard_threshold(vector: Floats, k: int) -> Floats:
    """Keep the k entries of the largest magnitude: the operator H_k of a finite vector."""
    kept = largest(vector, k, vector.dtype.type(0), np.empty_like(vector))
    thresholded = np.zeros_like(vector)
    thresholded[kept] = vector[kept]
    return thresholded


# ---------------------------------------------------- F, and epochs on its blocks


class TrainingSet:
    """F on the rows of a table in memory, and epochs of Algorithm 1 on blocks of them.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d), float32 or float64
        It is not copied.
    positive : bool ndarray of shape (n,)
    weight : float64 ndarray of shape (n,), optional
        Weight zero means absent.
    batch_size, block_order, shuffle
        Those of :class:`sparseauc.SHTAUCClassifier`.
    rng : numpy.random.Generator
        Source of all random choices.
    """

    def __init__(
        self,
        X: Any,
        positive: Mask,
        weight: Array | None = None,
        *,
        batch_size: int = 256,
        block_order: BlockOrder = "replacement",
        shuffle: bool = True,
        rng: np.random.Generator,
    ) -> None:
        self.X = X
        self.positive = positive
        self.weight = np.ones(positive.size) if weight is None else weight
        self.weighted = weight is not None
        self.n_features: int = X.shape[1]
        self.dtype: np.dtype[Any] = np.dtype(X.dtype)
        self._block_order = block_order
        self._rng = rng
        self._batch_size = batch_size
        self._shuffle = shuffle
        moments = self._moments(weight)
        moments.check_both_classes()
        self.moments = moments
        with np.errstate(over="ignore"):
            self.means: Floats = np.stack(moments.means).astype(self.dtype)  # x̄₊ and x̄₋
        self.delta: Floats = self.means[1] - self.means[0]
        too_large = np.flatnonzero(~np.isfinite(self.delta))
        if too_large.size:
            raise ColumnError(
                int(too_large[0]), f"too large to average in {self.dtype}"
            )
        # Columns of one value, which rounding must not choose.
        self.constant = np.flatnonzero(~moments.varies)
        self.delta[self.constant] = 0
        class_weights = np.array(moments.weights)
        # Of each row in the mean of its class.
        self._share: Array = self.weight / np.where(positive, *class_weights)
        self._n_blocks = self._deal()
        self._loss = BlockLoss(*self.means, *(2.0 * self._n_blocks / class_weights))

    def _moments(self, weight: Array | None) -> Any:
        return table_moments(self.X, self.positive, weight)

    def _cut(self, rows: Indices) -> Blocks:
        return Blocks.deal(rows, self._batch_size, self._shuffle, self._rng)

    def _deal(self) -> int:
        """Deal the rows to blocks; return how many there are."""
        self._rows = Rows.view(self.X, self.positive, self.weight)
        self._blocks = self._cut(np.flatnonzero(self.weight))
        return self._blocks.starts.size - 1

    def run_epoch(self, w: Floats, k: int, step_size: float) -> bool:
        """Take as many steps as there are blocks, in place; False before w overflows."""
        drawn = self._blocks.draw(self._block_order, self._rng)
        finite: bool = descend(
            self._rows, self._loss, self.constant, *self._blocks, drawn, step_size, k, w
        )
        return finite

    def paper_step(self) -> float:
        """γ of the authors' programs."""
        r = self.moments.ratio
        squares = np.add(self.moments.variances, np.square(self.moments.means)).sum(
            axis=1
        )
        return paper_step(r, float(r * squares[0] + (1.0 - r) * squares[1]))

    def scores(self, w: Floats) -> Floats:
        """Compute w·x for all rows."""
        scores = np.empty(self.positive.size, self.dtype)
        score_rows(self._rows, np.arange(scores.size), w, np.flatnonzero(w), scores)
        return scores

    def value(self, scores: Floats) -> float:
        """Compute F from the scores of all rows."""
        on_delta, spread = self.split(scores.astype(np.float64))
        with np.errstate(over="ignore"):
            return float(np.square(1.0 + on_delta) + spread)

    def split(self, scores: Array) -> tuple[float, float]:
        """Return w·δ and the sum of the variances of the classes, from the scores of all rows."""
        with np.errstate(over="ignore", invalid="ignore"):
            on_positive = self._share @ np.where(self.positive, scores, 0.0)
            on_negative = self._share @ np.where(self.positive, 0.0, scores)
            squares = np.where(self.positive, on_positive, on_negative)
            np.subtract(scores, squares, out=squares)
            np.square(squares, out=squares)
            return float(on_negative - on_positive), float(self._share @ squares)


# ----------------------------------------------------------- the steps with names


def paper_step(r: float, mean_square: float) -> float:
    """γ = r(1 − r)/mean‖x‖²: what the authors' programs do to rows of unit length.

    They multiply the gradient by r(1 − r), with r the share of positives.
    """
    return r * (1.0 - r) / mean_square if mean_square > 0 else 1.0


# Compared on the designs of benchmarks/sht_auc_step.py: a larger start or a faster
# growth wastes epochs on steps that are undone, and settling is worth 1 to 2 % of F.
FIRST_SHARE = 0.3
_GROWTH = 1.1
_SHRINKAGE = 0.7
_STRAY = 1.2
_SETTLING = 0.3
_SETTLED = 0.1


class BoldDriver:
    """The automatic step: grows while F stays near its best; epochs that raise F are undone.

    It starts at 0.3 times a given step. After an epoch that leaves F within 20 % of the
    best value seen, the step grows by a tenth; otherwise w returns to the best point
    and the step shrinks by three tenths. Over the last three tenths of the epochs it no
    longer grows and is reduced gradually, to a tenth, so that w settles. It cannot
    diverge.
    """

    def __init__(self, first_step: float, point: Point, max_epochs: int) -> None:
        self.best = point
        self._bold = FIRST_SHARE * first_step
        self._max_epochs = max_epochs
        self._settled = 0.0  # 0 while exploring, then up to 1

    def step_size(self, epoch: int) -> float:
        """Return the step of an epoch, counted from 1."""
        left = (self._max_epochs - epoch) / self._max_epochs
        self._settled = max(0.0, 1.0 - left / _SETTLING)
        return float(self._bold * _SETTLED**self._settled)

    def keep(self, end: Point) -> Point:
        """Return the end of an epoch, or the best point where the epoch is to be undone."""
        if not end.value <= _STRAY * self.best.value:
            self._bold *= _SHRINKAGE
            return self.best
        if end.value < self.best.value:
            self.best = end
        if self._settled == 0.0:
            self._bold *= _GROWTH
        return end


def exact_first_step(training: TrainingSet, k: int) -> float:
    """Step that minimises F along its gradient at zero, restricted to its k largest entries.

    At w = 0 the gradient is 2δ. Along g = δ on the k largest |δ_j|, F(−γ·2g) is least
    at γ = g·g / (2 gᵀHg), where gᵀHg is (g·δ)² plus the variances of the scores g·x.
    """
    g = hard_threshold(training.delta, k)
    if not g.any():
        return 1.0  # the class means agree in every column: no step moves w
    # In units of the largest entry and of the largest score, which stay in the range of
    # floats.
    g /= np.abs(g).max()
    scores = training.scores(g).astype(np.float64)
    unit = np.abs(scores).max()
    on_delta, spread = training.split(scores / unit)
    return float(g @ g / (2.0 * (on_delta**2 + spread)) / unit / unit)
