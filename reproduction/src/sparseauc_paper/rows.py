"""The two operations on rows that every stochastic solver is built on.

``score_rows`` computes the scores of some rows, reading only the columns where w is not zero, and
``add_rows`` adds a combination of rows to a vector, reading each row once. A solver written on
these two runs on dense arrays (row- or column-major, read-only, memory-mapped) and on CSR. Support
for another kind of table needs these two only.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from .arrays import read_only
from .kernels import FAST, REORDER, inlined_kernel, kernel

# Columns handled at a time by ``add_rows``: the slice of the sum stays in the second-level cache
# while eight rows stream past it (benchmarks/sht_auc_epoch.py).
_TILE = 16384
# Rows between asking for a CSR row and reading it.
_AHEAD = 8
# CSR kernels index with unsigned numbers, so that they need not look for Python's negative ones.
_ONE = np.uint64(1)


class CSR(NamedTuple):
    """The three arrays of a CSR matrix, as kernels take them."""

    data: npt.NDArray[np.floating]
    indices: npt.NDArray[np.integer]
    indptr: npt.NDArray[np.integer]


Table = npt.NDArray[np.floating] | CSR


def as_table(X: Any) -> Table:
    """View ``X`` as kernels take it, without copying.

    Arrays are passed as read-only views, so that one compiled kernel serves writable arrays,
    read-only arrays and memory maps. A CSR matrix that stores an entry twice is the one exception:
    squares need the sum, so its duplicates are summed in a copy.
    """
    if not sp.issparse(X):
        return read_only(X)
    matrix: Any = X
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return CSR(read_only(matrix.data), read_only(matrix.indices), read_only(matrix.indptr))


@intrinsic
def _prefetch(typing_context, array, index):  # type: ignore[no-untyped-def]
    """Ask the processor for ``array[index]`` without waiting for it."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        layout = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.bitcast(
            builder.gep(layout.data, [arguments[1]]), ir.IntType(8).as_pointer()
        )
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        instruction = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
        # For reading (0), kept in all caches (3), data rather than instructions (1).
        builder.call(instruction, [address, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, index), generate


@inlined_kernel
def _ask_for_row(table, rows, i):  # type: ignore[no-untyped-def]
    """Ask for a CSR row before it is read: short ones in random order mostly wait for memory."""
    if i < rows.size:
        start = np.uint64(table.indptr[np.uint64(rows[i])])
        _prefetch(table.data, start)  # type: ignore[call-arg]
        _prefetch(table.data, start + np.uint64(8))
        _prefetch(table.indices, start)


def score_rows(table: Any, rows: Any, w: Any, support: Any, values: Any, scores: Any) -> None:
    """``scores[i] = x_rows[i] · w``; ``values`` are the entries of w on ``support``."""


def add_rows(table: Any, rows: Any, multipliers: Any, total: Any) -> None:
    """``total += Σ_i multipliers[i] · x_rows[i]``, one read of each row."""


@overload(score_rows, jit_options={"fastmath": FAST})
def _score_rows(table, rows, w, support, values, scores):  # type: ignore[no-untyped-def]
    if isinstance(table, types.NamedTuple):

        def csr(table, rows, w, support, values, scores):  # type: ignore[no-untyped-def]
            data, indices, indptr = table.data, table.indices, table.indptr
            for i in range(rows.size):
                _ask_for_row(table, rows, i + _AHEAD)
                row = np.uint64(rows[i])
                start, stop = np.uint64(indptr[row]), np.uint64(indptr[row + _ONE])
                # Two sums, so that one addition need not wait for the one before it.
                even = scores.dtype.type(0)
                odd = scores.dtype.type(0)
                p = start
                while p + _ONE < stop:
                    even += data[p] * w[np.uint64(indices[p])]
                    odd += data[p + _ONE] * w[np.uint64(indices[p + _ONE])]
                    p += np.uint64(2)
                if p < stop:
                    even += data[p] * w[np.uint64(indices[p])]
                scores[i] = even + odd

        return csr
    if table.layout == "F":

        def by_column(table, rows, w, support, values, scores):  # type: ignore[no-untyped-def]
            scores[: rows.size] = 0
            for q in range(support.size):
                column = table[:, support[q]]
                value = values[q]
                for i in range(rows.size):
                    scores[i] += value * column[rows[i]]

        return by_column

    def by_row(table, rows, w, support, values, scores):  # type: ignore[no-untyped-def]
        for i in range(rows.size):
            row = table[rows[i]]
            score = scores.dtype.type(0)
            for q in range(support.size):
                score += values[q] * row[support[q]]
            scores[i] = score

    return by_row


@overload(add_rows, jit_options={"fastmath": REORDER})
def _add_rows(table, rows, multipliers, total):  # type: ignore[no-untyped-def]
    if isinstance(table, types.NamedTuple):

        def csr(table, rows, multipliers, total):  # type: ignore[no-untyped-def]
            data, indices, indptr = table.data, table.indices, table.indptr
            for i in range(rows.size):
                _ask_for_row(table, rows, i + _AHEAD)
                row = np.uint64(rows[i])
                start, stop = np.uint64(indptr[row]), np.uint64(indptr[row + _ONE])
                multiplier = multipliers[i]
                for p in range(start, stop):
                    total[np.uint64(indices[p])] += multiplier * data[p]

        return csr
    if table.layout == "F":

        def by_column(table, rows, multipliers, total):  # type: ignore[no-untyped-def]
            for j in range(total.size):
                column = table[:, j]
                partial = total.dtype.type(0)
                for i in range(rows.size):
                    partial += multipliers[i] * column[rows[i]]
                total[j] += partial

        return by_column

    def by_row(table, rows, multipliers, total):  # type: ignore[no-untyped-def]
        for low in range(0, total.size, _TILE):
            high = min(low + _TILE, total.size)
            part = total[low:high]
            i = 0
            while i + 8 <= rows.size:
                x0, x1 = table[rows[i], low:high], table[rows[i + 1], low:high]
                x2, x3 = table[rows[i + 2], low:high], table[rows[i + 3], low:high]
                x4, x5 = table[rows[i + 4], low:high], table[rows[i + 5], low:high]
                x6, x7 = table[rows[i + 6], low:high], table[rows[i + 7], low:high]
                a = multipliers[i : i + 8]
                a0, a1, a2, a3, a4, a5, a6, a7 = a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]
                for j in range(part.size):
                    first = (a0 * x0[j] + a1 * x1[j]) + (a2 * x2[j] + a3 * x3[j])
                    second = (a4 * x4[j] + a5 * x5[j]) + (a6 * x6[j] + a7 * x7[j])
                    part[j] += first + second
                i += 8
            while i < rows.size:
                x0, a0 = table[rows[i], low:high], multipliers[i]
                for j in range(part.size):
                    part[j] += a0 * x0[j]
                i += 1

    return by_row


@kernel
def compute_scores(table, rows, w, support, values, scores):  # type: ignore[no-untyped-def]
    """Call ``score_rows`` from Python."""
    score_rows(table, rows, w, support, values, scores)


@kernel
def accumulate_rows(table, rows, multipliers, total):  # type: ignore[no-untyped-def]
    """Call ``add_rows`` from Python."""
    add_rows(table, rows, multipliers, total)
