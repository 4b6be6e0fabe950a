"""SHT-AUC: stochastic hard thresholding for AUC maximisation (Algorithm 1 of the paper).

    minimise F(w) = 1/(n₊n₋) Σ_{i positive} Σ_{j negative} (1 − w·(x_i − x_j))²   s.t.   ‖w‖₀ ≤ k

    Input:    k, step size γ, w_0 with ‖w_0‖₀ ≤ k
    Compute:  the class means x̄₊ and x̄₋
    for t = 0 … T − 1:
        draw a block B of rows, one of m, at random
        w_{t+1} = H_k(w_t − γ ∇f_B(w_t))
    Output:   w_T

Proposition 1 makes F a sum over single rows: with δ = x̄₋ − x̄₊ it is (1 + w·δ)² plus the variance
of the scores of each class. The gradients

    ∇f_B(w) = 2m/n₊ Σ_{x ∈ B positive} w·(x − x̄₊) (x − x̄₊)
            + 2m/n₋ Σ_{x ∈ B negative} w·(x − x̄₋) (x − x̄₋) + 2 (1 + w·δ) δ

of m equally likely blocks have the mean ∇F. With sample weights every row counts by its weight, and
n₊ and n₋ are the weights of the classes.

Use it when rows are many or come in blocks, and columns are not strongly correlated. A step costs
O(b·k) to score a block of b rows, one read of the block, and O(d) to keep the k largest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np

from .._validation import read_only
from ..chunks import Chunks, Pass, score_chunks
from ..errors import InputError
from ..metrics import fast_auc
from ..moments import ColumnError, moments_of
from ..moments.chunked import chunked_moments
from ..moments.sparse import CSR
from ..utils.arrays import to_host
from ..utils.jit import kernel, reordering_kernel
from ..utils.types import Array, Floats, Indices, Mask

BlockOrder = Literal["replacement", "permutation", "cyclic"]
BLOCK_ORDERS = get_args(BlockOrder)

# Columns that rows are added up in at a time: that part of the sum stays in the second-level cache
# while eight rows stream past it.
_TILE = 16384

# -------------------------------------------------------------------------------------- Algorithm 1


def sht_auc(
    training: TrainingSet,
    k: int,
    *,
    step_size: float | Literal["auto"] = "auto",
    max_epochs: int = 50,
    tol: float = 1e-4,
    start: Floats | None = None,
    callback: Callback | None = None,
) -> tuple[SparseVector, int]:
    """Minimise F over w with at most k non-zeros by stochastic hard thresholding.

    The parameters are those of :class:`sparseauc.SHTAUCClassifier`; ``start`` is w_0, of which the
    k largest entries are used. Returns the last iterate, as in the paper, or the best one where the
    step is automatic, and the number of epochs.
    """
    # Input: k, step size γ, w_0 with ‖w_0‖₀ ≤ k. The training set knows x̄₊ and x̄₋.
    d = training.n_features
    k = min(k, d)
    w_0 = np.zeros(d) if start is None else start
    w = Iterate.at(hard_threshold(w_0.astype(training.dtype), k), d, k)
    needs_scores = step_size == "auto" or callback is not None

    def look() -> Point:
        vector = w.vector()
        scores = training.scores(vector) if needs_scores else np.empty(0)
        finite = needs_scores and w.size[0] >= 0
        return Point(vector, scores, training.value(scores) if finite else np.nan)

    point = look()
    driver = None
    if isinstance(step_size, str):
        driver = BoldDriver(exact_first_step(training, k), point, max_epochs)
    for epoch in range(1, max_epochs + 1):
        before = point
        gamma = float(step_size) if driver is None else driver.step_size(epoch)
        # As many times as there are blocks: draw B, and w_{t+1} = H_k(w_t − γ ∇f_B(w_t)).
        training.run_epoch(w, gamma)
        point = look()
        undone = driver is not None and not driver.accepts(point)
        if driver is not None and undone:
            point = driver.best
            w.move_to(point.w)
        if w.size[0] < 0:
            raise InputError(
                f"SHT-AUC diverged in epoch {epoch} with step_size={gamma:g}: give a smaller one, "
                "or rescale the columns"
            )
        converged = not undone and _moved_less_than(tol, before.w.dense(d), point.w.dense(d))
        stopped = callback is not None and callback(_record(training, epoch, gamma, point))
        if converged or stopped:
            break
    # Output: w_T.
    return point.w if driver is None else driver.best.w, epoch


class EpochRecord(NamedTuple):
    """What a callback sees after an epoch; F and the AUC are those of the training rows."""

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
    """Where an epoch ended; scores and F are computed only if something depends on them."""

    w: SparseVector
    scores: Floats
    value: float  # NaN after an overflow


def _record(training: TrainingSet, epoch: int, step: float, point: Point) -> EpochRecord:
    weight = training.weight if training.weighted else None
    auc = fast_auc(point.scores, training.positive, weight)
    size = point.w.support.size
    return EpochRecord(epoch, point.value, auc, size, step, *point.w, point.scores)


def _moved_less_than(tol: float, before: Floats, after: Floats) -> bool:
    """Whether ‖after − before‖ < tol·‖before‖."""
    with np.errstate(over="ignore", invalid="ignore"):
        length = float(before.astype(np.float64) @ before)
        moved = after.astype(np.float64) - before
        return tol > 0.0 and bool(moved @ moved < tol**2 * length)


# ------------------------------------------------------------------ the step w ← H_k(w − γ ∇f_B(w))


class Rows(NamedTuple):
    """Rows of a training set: a dense table, or the arrays of a CSR table; the others are empty."""

    dense: Floats
    data: Floats
    indices: Indices
    indptr: Indices
    positive: Mask
    weight: Array

    @classmethod
    def view(cls, X: Any, positive: Mask, weight: Array) -> Self:
        """View an array or CSR matrix, read-only, so that one kernel serves all."""
        dense = X
        csr = CSR(np.empty(0, X.dtype), np.empty(0, np.int64), np.empty(0, np.int64))
        if hasattr(X, "tocsr"):
            dense = np.empty((0, 0), X.dtype)
            csr = CSR.view(X.tocsr())
        return cls(*map(read_only, (dense, *csr, positive, weight)))


class BlockLoss(NamedTuple):
    """f_B but for its rows: x̄₊, x̄₋, 2m/n₊ and 2m/n₋."""

    mean_positive: Floats
    mean_negative: Floats
    scale_positive: float
    scale_negative: float


class SparseVector(NamedTuple):
    """The non-zeros of a vector, by ascending column."""

    support: Indices
    values: Floats

    def dense(self, n_features: int) -> Floats:
        """Return the entries of all columns."""
        w = np.zeros(n_features, self.values.dtype)
        w[self.support] = self.values
        return w


class Iterate(NamedTuple):
    """w_t, as a vector and by the columns that it uses."""

    w: Floats
    support: Indices  # of length k; the first ``size`` entries are the non-zeros, ascending
    size: Indices  # in an array of one; −1 once w has overflowed
    step: Floats  # −γ∇f_B(w)
    magnitudes: Floats  # scratch space of H_k

    @classmethod
    def at(cls, vector: SparseVector, n_features: int, k: int) -> Self:
        """Begin at a vector of at most k non-zeros."""
        iterate = cls(
            vector.dense(n_features),
            np.empty(k, np.int64),
            np.empty(1, np.int64),
            np.empty(n_features, vector.values.dtype),
            np.empty(n_features, vector.values.dtype),
        )
        iterate.move_to(vector)
        return iterate

    def move_to(self, vector: SparseVector) -> None:
        """Go on from another vector."""
        self.w[:] = 0
        self.w[vector.support] = vector.values
        self.support[: vector.support.size] = vector.support
        self.size[0] = vector.support.size

    def vector(self) -> SparseVector:
        """Copy the non-zeros."""
        support = self.support[: max(0, self.size[0])].copy()
        return SparseVector(support, self.w[support])


@kernel
def descend(rows, loss, constant, order, starts, drawn, step_size, iterate):  # type: ignore[no-untyped-def]
    """Take the step w ← H_k(w − γ ∇f_B(w)) on each block drawn, as long as w is finite.

    Blocks are those of ``Blocks``; ``constant`` columns are never chosen.
    """
    for i in drawn:
        block = order[starts[i] : starts[i + 1]]
        gradient_step(rows, loss, block, step_size, iterate)
        keep_largest(constant, iterate)
        if iterate.size[0] < 0:
            break


@kernel
def gradient_step(rows, loss, block, step_size, iterate):  # type: ignore[no-untyped-def]
    """Set ``iterate.step`` to −γ ∇f_B(w)."""
    w, step = iterate.w, iterate.step
    support = iterate.support[: iterate.size[0]]
    number = step.dtype.type
    on_mean_positive = 0.0  # w·x̄₊
    on_mean_negative = 0.0  # w·x̄₋
    for j in support:
        on_mean_positive += w[j] * loss.mean_positive[j]
        on_mean_negative += w[j] * loss.mean_negative[j]
    scores = np.empty(block.size, step.dtype)
    score_rows(rows, block, w, support, scores)
    # Values are chosen, not branches: the labels of a block cannot be predicted.
    sum_positive = 0.0
    sum_negative = 0.0
    for q in range(block.size):
        row = np.uint64(block[q])
        is_positive = rows.positive[row]
        scale = loss.scale_positive if is_positive else loss.scale_negative
        multiplier = scale * (scores[q] - (on_mean_positive if is_positive else on_mean_negative))
        multiplier *= rows.weight[row]
        sum_positive += multiplier if is_positive else 0.0
        sum_negative += 0.0 if is_positive else multiplier
        scores[q] = number(-step_size * multiplier)
    # Σ multiplier·(x − x̄) + 2 (1 + w·δ) δ, with the means taken out of the sum over rows.
    margin = 2.0 * (1.0 + on_mean_negative - on_mean_positive)
    on_positive = number(step_size * (sum_positive + margin))
    on_negative = number(step_size * (sum_negative - margin))
    for j in range(step.size):
        step[j] = on_positive * loss.mean_positive[j] + on_negative * loss.mean_negative[j]
    _add_rows(rows, block, scores, step)


@kernel
def keep_largest(constant, iterate):  # type: ignore[no-untyped-def]
    """Set w to H_k(w + step): its k entries of the largest magnitude; of equal ones the first."""
    w, support, moved = iterate.w, iterate.support, iterate.step
    k = support.size
    size = iterate.size[0]
    for j in support[:size]:
        moved[j] += w[j]
        w[j] = 0
    for j in constant:
        moved[j] = 0
    # The k columns held until now bound the k-th largest magnitude from below.
    floor = moved.dtype.type(0)
    if size == k:
        floor = np.min(np.abs(moved[support]))
    iterate.size[0] = _largest(moved, k, floor, iterate.magnitudes, support)
    for j in support[: iterate.size[0]]:
        w[j] = moved[j]


@kernel
def _largest(vector, k, floor, magnitudes, support):  # type: ignore[no-untyped-def]
    """Write the columns of the k largest entries to ``support``; return how many, −1 for NaN.

    None of them is smaller than ``floor``. Zeros are never chosen.
    """
    count = 0
    finite = True
    for j in range(vector.size):
        # Written always and kept by counting: a branch is mispredicted when many pass.
        magnitude = abs(vector[j])
        magnitudes[count] = magnitude
        count += magnitude >= floor
        finite &= magnitude < np.inf  # which infinity and NaN are not
    if not finite:
        return -1
    threshold = floor
    if count > k:
        threshold = np.partition(magnitudes[:count], count - k)[count - k]
    ties = k
    for i in range(count):
        ties -= magnitudes[i] > threshold
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
    return size


def hard_threshold(vector: Floats, k: int) -> SparseVector:
    """Keep the k entries of the largest magnitude: the operator H_k of a finite vector."""
    support = np.empty(k, np.int64)
    size = _largest(vector, k, vector.dtype.type(0), np.empty_like(vector), support)
    return SparseVector(support[:size], vector[support[:size]])


@reordering_kernel
def score_rows(rows, block, w, support, scores):  # type: ignore[no-untyped-def]
    """Set the scores w·x of some rows; of dense rows the columns of the support alone are read."""
    dense, data, indices, indptr = rows.dense, rows.data, rows.indices, rows.indptr
    values = w[support]
    number = scores.dtype.type
    if indptr.size:
        for i in range(block.size):
            # Unsigned numbers, which are not looked at for Python's negative ones.
            row = np.uint64(block[i])
            score = number(0)
            for p in range(np.uint64(indptr[row]), np.uint64(indptr[row + np.uint64(1)])):
                score += data[p] * w[np.uint64(indices[p])]
            scores[i] = score
    elif dense.strides[0] < dense.strides[1]:  # stored column by column
        scores[:] = 0
        for q in range(support.size):
            column = dense[:, support[q]]
            for i in range(block.size):
                scores[i] += values[q] * column[block[i]]
    else:
        for i in range(block.size):
            x = dense[block[i]]
            score = number(0)
            for q in range(support.size):
                score += values[q] * x[support[q]]
            scores[i] = score


@reordering_kernel
def _add_rows(rows, block, multipliers, total):  # type: ignore[no-untyped-def]
    """``total += Σ_i multipliers[i] · x_i`` over the rows of a block; each is read once."""
    dense, data, indices, indptr = rows.dense, rows.data, rows.indices, rows.indptr
    if indptr.size:
        for i in range(block.size):
            row = np.uint64(block[i])
            for p in range(np.uint64(indptr[row]), np.uint64(indptr[row + np.uint64(1)])):
                total[np.uint64(indices[p])] += multipliers[i] * data[p]
    elif dense.strides[0] < dense.strides[1]:
        for j in range(total.size):
            column = dense[:, j]
            sum_of_column = total.dtype.type(0)
            for i in range(block.size):
                sum_of_column += multipliers[i] * column[block[i]]
            total[j] += sum_of_column
    else:
        for low in range(0, total.size, _TILE):
            high = min(low + _TILE, total.size)
            _add_tile(dense, block, multipliers, low, high, total[low:high])


@reordering_kernel
def _add_tile(dense, block, multipliers, low, high, total):  # type: ignore[no-untyped-def]
    """Do it for some columns of a row-major table, eight rows at a time."""
    many = block.size - block.size % 8
    for i in range(0, many, 8):
        x0, x1 = dense[block[i], low:high], dense[block[i + 1], low:high]
        x2, x3 = dense[block[i + 2], low:high], dense[block[i + 3], low:high]
        x4, x5 = dense[block[i + 4], low:high], dense[block[i + 5], low:high]
        x6, x7 = dense[block[i + 6], low:high], dense[block[i + 7], low:high]
        a = multipliers[i : i + 8]
        a0, a1, a2, a3, a4, a5, a6, a7 = a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]
        for j in range(total.size):
            first = (a0 * x0[j] + a1 * x1[j]) + (a2 * x2[j] + a3 * x3[j])
            second = (a4 * x4[j] + a5 * x5[j]) + (a6 * x6[j] + a7 * x7[j])
            total[j] += first + second
    for i in range(many, block.size):
        x = dense[block[i], low:high]
        multiplier = multipliers[i]
        for j in range(total.size):
            total[j] += multiplier * x[j]


# ---------------------------------------------------------------------- F, and epochs on its blocks


class TrainingSet:
    """F on the rows of a training set, and epochs of Algorithm 1 on blocks of them.

    Parameters
    ----------
    X : ndarray, CSR or Chunks of shape (n, d), float32 or float64
        A table in memory, which is not copied, or a source of rows that are read in chunks.
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
        batch_size: int = 64,
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
        in_chunks = isinstance(X, Chunks)
        if in_chunks:
            moments = chunked_moments(X, positive, weight, products=False)
        else:
            moments = moments_of(X, positive, weight)
        moments.check_both_classes()
        with np.errstate(over="ignore"):
            self.means: Floats = np.stack(moments.means).astype(self.dtype)  # x̄₊ and x̄₋
        self.delta: Floats = self.means[1] - self.means[0]
        too_large = np.flatnonzero(~np.isfinite(self.delta))
        if too_large.size:
            raise ColumnError(int(too_large[0]), f"too large to average in {self.dtype}")
        # Columns of one value, which rounding must not choose.
        self.constant = np.flatnonzero(~moments.varies)
        self.delta[self.constant] = 0
        class_weights = np.array(moments.weights)
        # Of each row in the mean of its class.
        self._share: Array = self.weight / np.where(positive, *class_weights)
        self._cut = partial(Blocks.deal, batch_size=batch_size, shuffle=shuffle, rng=rng)
        ends = np.cumsum(X.sizes if in_chunks else [positive.size])[:-1]
        self._parts = [np.flatnonzero(weight) for weight in np.split(self.weight, ends)]
        n_blocks = sum(count_blocks(part.size, batch_size) for part in self._parts)
        self._loss = BlockLoss(*self.means, *(2.0 * n_blocks / class_weights))
        if not in_chunks:
            self._rows = Rows.view(X, positive, self.weight)
            self._blocks = self._cut(self._parts[0])

    def scores(self, w: SparseVector) -> Floats:
        """Compute w·x for all rows."""
        dense = w.dense(self.n_features)
        if isinstance(self.X, Chunks):
            return score_chunks(self.X, dense, self.dtype.type(0))
        scores = np.empty(self.positive.size, self.dtype)
        score_rows(self._rows, np.arange(scores.size), dense, w.support, scores)
        return scores

    def value(self, scores: Floats) -> float:
        """Compute F from the scores of all rows."""
        on_delta, spread = self.split(scores.astype(np.float64))
        with np.errstate(over="ignore"):
            return float(np.square(1.0 + on_delta) + spread)

    def split(self, scores: Array) -> tuple[float, float]:
        """Return w·δ and the sum of the variances of the classes, from the scores of all rows."""
        with np.errstate(over="ignore", invalid="ignore"):
            on_positive = self._share @ (scores * self.positive)
            on_negative = self._share @ (scores * ~self.positive)
            deviations = scores - np.where(self.positive, on_positive, on_negative)
            return float(on_negative - on_positive), float(self._share @ deviations**2)

    def run_epoch(self, w: Iterate, step_size: float) -> None:
        """Take as many steps as there are blocks."""
        if isinstance(self.X, Chunks):
            self._run_through_chunks(self.X, w, step_size)
            return
        drawn = self._blocks.draw(self._block_order, self._rng)
        descend(self._rows, self._loss, self.constant, *self._blocks, drawn, step_size, w)

    def _run_through_chunks(self, chunks: Chunks, w: Iterate, step_size: float) -> None:
        """Visit the chunks in random order, and cut each into blocks where it is."""
        chunks.n_passes += 1
        numbers = np.array([i for i, part in enumerate(self._parts) if part.size])
        in_order = self._block_order == "cyclic"
        for number in numbers if in_order else self._rng.permutation(numbers):
            blocks = self._cut(self._parts[number])
            drawn = blocks.draw(self._block_order, self._rng)
            work = _DescendInChunk(
                w.vector(), w.support.size, self._loss, self.constant, blocks, drawn, step_size
            )
            moved = chunks.run_on(int(number), work, self.positive, self.weight)
            if moved is None:
                w.size[0] = -1
                break
            w.move_to(moved)


@dataclass(frozen=True)
class _DescendInChunk(Pass["SparseVector | None"]):
    """Steps on the blocks of a chunk, where the chunk is."""

    w: SparseVector
    k: int
    loss: BlockLoss
    constant: Indices
    blocks: Blocks
    drawn: Indices
    step_size: float

    def add(self, state: Any, X: Any, start: int, *known: Any) -> SparseVector | None:  # noqa: ARG002
        """Return w after the steps; None where it overflowed."""
        X = X if hasattr(X, "tocsr") else to_host(X)
        positive, weight = known
        rows = Rows.view(X.astype(self.w.values.dtype, copy=False), positive, weight)
        w = Iterate.at(self.w, X.shape[1], self.k)
        descend(rows, self.loss, self.constant, *self.blocks, self.drawn, self.step_size, w)
        return w.vector() if w.size[0] >= 0 else None

    def merge(self, first: Any, second: Any) -> SparseVector | None:
        """Refuse: every step needs the one before it."""
        raise NotImplementedError


class Blocks(NamedTuple):
    """Rows dealt to blocks: block i holds the rows ``order[starts[i]:starts[i + 1]]``."""

    order: Indices
    starts: Indices

    @classmethod
    def deal(cls, rows: Indices, batch_size: int, shuffle: bool, rng: np.random.Generator) -> Self:
        """Deal rows to as few blocks as can be, at random or neighbours together."""
        m = count_blocks(rows.size, batch_size)
        starts = np.arange(m + 1) * rows.size // m
        places = np.arange(rows.size)
        if shuffle:
            rng.shuffle(places)
            # The order within a block changes no sum but for rounding; memory likes it ascending.
            for start, stop in pairwise(starts):
                places[start:stop].sort()
        return cls(rows[places], starts)

    def draw(self, block_order: BlockOrder, rng: np.random.Generator) -> Indices:
        """Draw as many blocks as there are."""
        m = self.starts.size - 1
        if block_order == "replacement":
            return rng.integers(0, m, size=m)
        return rng.permutation(m) if block_order == "permutation" else np.arange(m)


def count_blocks(n_rows: int, batch_size: int) -> int:
    """Number of blocks of at most ``batch_size`` rows."""
    return -(-n_rows // batch_size)


# ------------------------------------------------------------------------------- the automatic step

# Compared on the designs of benchmarks/sht_auc_step.py: a larger start or a faster growth wastes
# epochs on steps that are undone, and settling is worth 1 to 2 % of F.
_START = 0.3
_GROWTH = 1.1
_SHRINKAGE = 0.7
_STRAY = 1.2
_SETTLING = 0.3
_SETTLED = 0.1


class BoldDriver:
    """The automatic step: grows while F stays near its best; epochs that raise F are undone.

    It starts at 0.3 times a given step. After an epoch that leaves F within 20 % of the best value
    seen, the step grows by a tenth; otherwise w returns to the best point and the step shrinks by
    three tenths. Over the last three tenths of the epochs it no longer grows and is reduced
    gradually, to a tenth, so that w settles. It cannot diverge.
    """

    def __init__(self, first_step: float, point: Point, max_epochs: int) -> None:
        self.best = point
        self._bold = _START * first_step
        self._max_epochs = max_epochs
        self._settled = 0.0  # 0 while exploring, then up to 1

    def step_size(self, epoch: int) -> float:
        """Return the step of an epoch, counted from 1."""
        left = (self._max_epochs - epoch) / self._max_epochs
        self._settled = max(0.0, 1.0 - left / _SETTLING)
        return float(self._bold * _SETTLED**self._settled)

    def accepts(self, point: Point) -> bool:
        """Take note of the end of an epoch; False where the epoch is to be undone."""
        accepted = point.value <= _STRAY * self.best.value
        if point.value < self.best.value:
            self.best = point
        if not accepted:
            self._bold *= _SHRINKAGE
        elif self._settled == 0.0:
            self._bold *= _GROWTH
        return accepted


def exact_first_step(training: TrainingSet, k: int) -> float:
    """Step that minimises F along its gradient at zero, restricted to its k largest entries.

    At w = 0 the gradient is 2δ. Along g = δ on the k largest |δ_j|, F(−γ·2g) is least at
    γ = g·g / (2 gᵀHg), where gᵀHg is (g·δ)² plus the variances of the scores g·x.
    """
    g = hard_threshold(training.delta, k)
    if g.support.size == 0:
        return 1.0  # the class means agree in every column: no step moves w
    # In units of the largest entry and of the largest score, which stay in the range of floats.
    g = SparseVector(g.support, g.values / np.abs(g.values).max())
    scores = training.scores(g).astype(np.float64)
    unit = np.abs(scores).max()
    on_delta, spread = training.split(scores / unit)
    return float(g.values @ g.values / (2.0 * (on_delta**2 + spread)) / unit / unit)


# ----------------------------------------------------- a stream of blocks, each of which comes once


class SHTAUCStream:
    """Algorithm 1 on a stream: one step on each block that comes, which is not kept.

    x̄₊, x̄₋ and the share of positives are those of all rows so far. ``step_size="auto"`` is 0.3
    times the step that minimises f_B along the k largest entries of its gradient.
    """

    def __init__(
        self, n_features: int, k: int, step_size: float | Literal["auto"] = "auto"
    ) -> None:
        self.counts = np.zeros(2, np.int64)  # of positives and negatives
        self.means = np.zeros((2, n_features))  # of both
        zero = hard_threshold(np.zeros(n_features), min(k, n_features))
        self._iterate = Iterate.at(zero, n_features, min(k, n_features))
        self._step_size = step_size

    @property
    def w(self) -> Floats:
        """The iterate."""
        return self._iterate.w

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
        if not self.counts.all():
            return
        rows = Rows.view(X, positive, np.ones(positive.size))
        block = np.arange(positive.size)
        # One of as many equally likely blocks as there were rows for.
        loss = BlockLoss(*self.means, *(2.0 * self.counts.sum() / block.size / self.counts))
        step = self._step_size
        if isinstance(step, str):
            step = self._cautious_step(X, rows, loss, block)
        one_block = np.array([0, block.size])
        before = self._iterate.vector()
        descend(rows, loss, block[:0], block, one_block, block[:1], float(step), self._iterate)
        if self._iterate.size[0] < 0:
            self._iterate.move_to(before)
            raise FloatingPointError(
                f"SHT-AUC diverged with step_size={self._step_size!r}: give a smaller one, or "
                "scale the columns"
            )

    def _cautious_step(self, X: Any, rows: Rows, loss: BlockLoss, block: Indices) -> float:
        """Share of the exact step along the k largest entries g of ∇f_B."""
        gradient_step(rows, loss, block, -1.0, self._iterate)
        k = self._iterate.support.size
        g = hard_threshold(self._iterate.step, k).dense(self.means.shape[1])
        on_positive, on_negative = self.means @ g
        deviations = np.asarray(X @ g, np.float64).ravel()
        deviations -= np.where(rows.positive, on_positive, on_negative)
        scales = np.where(rows.positive, loss.scale_positive, loss.scale_negative)
        curvature = scales @ deviations**2 + 2.0 * (on_negative - on_positive) ** 2
        return _START * float(g @ g / curvature) if curvature > 0 else 0.0
