"""The step common to SHT-AUC, StoIHT and HSG-HT: w_{t+1} = H_k(w_t − γ ∇f_B(w_t)).

The methods differ in the loss f alone. A loss is a NamedTuple with an overload of
``descend_block``.
"""

from typing import Any, NamedTuple, Self

import numpy as np

from ..blocks import RowBlocks
from ..projections import largest_magnitudes, top_k
from ..rows import Table
from ..utils.jit import kernel
from ..utils.types import Array, Floats, Indices, Mask
from ._protocol import Point, SparseVector


class Rows(NamedTuple):
    """A training set, as kernels take it."""

    table: Table
    positive: Mask
    weight: Array  # of shape (0,) without weights
    constant: Indices  # columns of one value, which must not be chosen because of rounding errors

    @property
    def counted(self) -> Indices:
        """Rows that belong to blocks."""
        return counted_rows(self.weight, self.positive.size)


class Iterate(NamedTuple):
    """w_t in kernels: dense, for CSR rows, and as a list of its non-zeros."""

    w: Floats
    support: Indices  # of length k; the first entries are the non-zeros, by ascending column
    values: Floats
    size: Indices  # how many they are, in an array of one; −1 once w has overflowed
    candidate: Floats  # −γ∇f_B(w)
    magnitudes: Floats  # scratch space for the selection of the k largest

    @classmethod
    def zeros(cls, n_features: int, k: int, dtype: Any) -> Self:
        """Begin at w = 0."""
        return cls(
            np.zeros(n_features, dtype),
            np.empty(k, np.int64),
            np.empty(k, dtype),
            np.zeros(1, np.int64),
            np.empty(n_features, dtype),
            np.empty(n_features, dtype),
        )

    def move_to(self, vector: SparseVector) -> None:
        """Go to another point."""
        size = vector.support.size
        self.w[:] = 0
        self.w[vector.support] = vector.values
        self.size[0] = size
        self.support[:size] = vector.support
        self.values[:size] = vector.values

    def copy(self) -> SparseVector:
        """Return the present point."""
        size = max(0, int(self.size[0]))
        return SparseVector(self.support[:size].copy(), self.values[:size].copy())


def descend_block(loss: Any, rows: Any, block: Any, i: Any, step: Any, iterate: Any) -> None:
    """Set ``iterate.candidate`` to −step · ∇f_B(w) for the rows of ``block``, which is block i."""


@kernel
def threshold_step(iterate, constant, k):  # type: ignore[no-untyped-def]
    """Set w to H_k(w + candidate), and its size to −1 when it overflowed."""
    w, support, values = iterate.w, iterate.support, iterate.values
    candidate, size = iterate.candidate, iterate.size[0]
    for q in range(size):
        candidate[support[q]] += values[q]
    for j in constant:
        candidate[j] = 0
    # The k columns held now bound the k-th largest magnitude from below.
    floor = 0.0
    if size == k:
        floor = np.inf
        for q in range(k):
            floor = min(floor, abs(candidate[support[q]]))
    for q in range(size):
        w[support[q]] = 0
    size = largest_magnitudes(candidate, k, floor, iterate.magnitudes, support)
    for q in range(size):
        values[q] = candidate[support[q]]
        w[support[q]] = values[q]
    iterate.size[0] = size


@kernel
def threshold_epoch(loss, rows, order, starts, drawn, step, k, iterate):  # type: ignore[no-untyped-def]
    """Take a step on each block drawn; block i is ``order[starts[i]:starts[i + 1]]``."""
    for i in drawn:
        block = order[starts[i] : starts[i + 1]]
        # candidate = −γ ∇f_{B_i}(w_t)
        descend_block(loss, rows, block, i, step, iterate)
        # w_{t+1} = H_k(w_t + candidate)
        threshold_step(iterate, rows.constant, k)
        if iterate.size[0] < 0:
            break


class ArrayDescent:
    """Hard thresholding of a loss with an overload of ``descend_block`` on rows in memory."""

    def __init__(self, rows: Rows, loss: Any, blocks: RowBlocks, iterate: Iterate) -> None:
        self.rows, self.loss, self.blocks, self.iterate = rows, loss, blocks, iterate

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.blocks)

    def run(self, drawn: Indices, step: float) -> bool:
        """Take a step on each of these blocks; False when w overflowed."""
        blocks, iterate = self.blocks, self.iterate
        threshold_epoch(
            self.loss, self.rows, blocks.rows, blocks.starts, drawn, step, iterate.support.size,
            iterate,
        )  # fmt: skip
        return bool(iterate.size[0] >= 0)

    def point(self) -> Point:
        """Copy the iterate."""
        return Point(self.iterate.copy())

    def move_to(self, point: Point) -> None:
        """Go on from another iterate."""
        self.iterate.move_to(point.w)


def counted_rows(weight: Array, n_rows: int) -> Indices:
    """Rows of positive weight, so that weight zero means absent; all rows without weights."""
    return np.flatnonzero(weight) if weight.size else np.arange(n_rows)


def deal_blocks(
    rows: Indices, batch_size: int, *, shuffle: bool, rng: np.random.Generator
) -> RowBlocks:
    """Deal these rows to blocks of at most ``batch_size``."""
    blocks = RowBlocks.partition(rows.size, min(batch_size, rows.size), shuffle=shuffle, rng=rng)
    return RowBlocks(rows[blocks.rows], blocks.starts)


def largest_entries(w: Any, k: int, dtype: Any) -> SparseVector:
    """Keep the k largest entries of a dense vector."""
    vector = np.asarray(w, dtype)
    kept = top_k(vector, k)
    return SparseVector(kept, vector[kept])
