"""Rows of a training set: dealt to blocks, scored, and added up, whatever table holds them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np

from .._validation import read_only
from ..moments.rows import CSR
from ..utils.jit import reordering_inner_kernel, reordering_kernel
from ..utils.types import Array, Floats, Indices, Mask

BlockOrder = Literal["replacement", "permutation", "cyclic"]
BLOCK_ORDERS = get_args(BlockOrder)

# Columns that rows are added up in at a time: that part of the sum stays in the
# second-level cache while eight rows stream past it.
_TILE = 16384


class Blocks(NamedTuple):
    """Rows dealt to blocks: block i holds the rows ``order[starts[i]:starts[i + 1]]``."""

    order: Indices
    starts: Indices

    @classmethod
    def deal(
        cls, rows: Indices, batch_size: int, shuffle: bool, rng: np.random.Generator
    ) -> Self:
        """Deal rows to as few blocks as can be, at random or neighbours together."""
        m = count_blocks(rows.size, batch_size)
        starts = np.arange(m + 1) * rows.size // m
        places = np.arange(rows.size)
        if shuffle:
            rng.shuffle(places)
            # The order within a block changes no sum but for rounding; memory likes it
            # ascending.
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
            for p in range(
                np.uint64(indptr[row]), np.uint64(indptr[row + np.uint64(1)])
            ):
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
def add_rows(rows, block, multipliers, total):  # type: ignore[no-untyped-def]
    """``total += Σ_i multipliers[i] · x_i`` over the rows of a block; each is read once."""
    dense, data, indices, indptr = rows.dense, rows.data, rows.indices, rows.indptr
    if indptr.size:
        for i in range(block.size):
            row = np.uint64(block[i])
            for p in range(
                np.uint64(indptr[row]), np.uint64(indptr[row + np.uint64(1)])
            ):
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


@reordering_inner_kernel
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
