"""SPAM's step on dense rows: one sweep to score a row, one to move, threshold and shrink w."""

import math
from typing import NamedTuple

import numpy as np

from .._jit import kernel, reordering_kernel
from ..objective import Floats
from ._online import ClassSums, dot, read_row


@kernel
def multiplier(is_positive, margin, ratio):  # type: ignore[no-untyped-def]
    """Factor of x in the gradient at a row, given w·(x − mean of the other class).

    SPAM's 2(1 − r)(w·x − u) − 2(1 − r)(1 + v − u) with u = w·x̄₊ and v = w·x̄₋ is free of u, and
    what it has for a negative row is free of v.
    """
    return 2.0 * (1.0 - ratio) * (margin - 1.0) if is_positive else 2.0 * ratio * (margin + 1.0)


@reordering_kernel
def _margin(x, total, share, w):  # type: ignore[no-untyped-def]
    """w·(x − share·total)."""
    margin = 0.0
    for j in range(w.size):
        margin += w[j] * (x[j] - share * total[j])
    return margin


@reordering_kernel
def _proximal_step(x, move, threshold, shrink, w, average):  # type: ignore[no-untyped-def]
    """Move w by −move·x, threshold and shrink it; add it to ``average`` unless that is empty."""
    number = w.dtype.type
    move, threshold, shrink = number(move), number(threshold), number(shrink)
    if average.size:
        for j in range(w.size):
            moved = w[j] - move * x[j]
            w[j] = (moved - min(max(moved, -threshold), threshold)) * shrink
            average[j] += w[j]
    else:
        for j in range(w.size):
            moved = w[j] - move * x[j]
            w[j] = (moved - min(max(moved, -threshold), threshold)) * shrink


class SPAMRun(NamedTuple):
    """What SPAM needs besides the rows: β₁, β₂, ξ, w, Σ w_t, and whether rows join the sums."""

    sums: ClassSums
    gathers: bool
    l1: float
    l2: float
    step_size: float
    w: Floats
    average: Floats


@kernel
def descend_rows(table, rows, positive, weight, run, t):  # type: ignore[no-untyped-def]
    """Take SPAM's step on each row, the first of which is step t + 1."""
    w = run.w
    buffer = np.empty(w.size, w.dtype)
    on_positive, on_negative, counts = run.sums.positive, run.sums.negative, run.sums.counts
    for row in rows:
        _, _, x = read_row(table, row, buffer)
        is_positive = positive[row]
        if run.gathers:
            own = on_positive if is_positive else on_negative
            for j in range(w.size):
                own[j] += x[j]
            counts[0 if is_positive else 1] += 1.0
        other = on_negative if is_positive else on_positive
        count = counts[1 if is_positive else 0]
        share = 1.0 / count if count > 0.0 else 0.0
        ratio = counts[0] / (counts[0] + counts[1])
        t += 1
        step = run.step_size / math.sqrt(t)
        move = step * multiplier(is_positive, _margin(x, other, share, w), ratio)
        if weight.size:
            move *= weight[row]
        _proximal_step(x, move, step * run.l1, 1.0 / (1.0 + step * run.l2), w, run.average)


@reordering_kernel
def _score_pair(x, y, w):  # type: ignore[no-untyped-def]
    """x·w, y·w and x·y."""
    number = w.dtype.type
    of_x, of_y, overlap = number(0), number(0), number(0)
    for j in range(w.size):
        of_x += x[j] * w[j]
        of_y += y[j] * w[j]
        overlap += x[j] * y[j]
    return of_x, of_y, overlap


@reordering_kernel
def _step_pair(x, move_x, shrink_x, y, move_y, shrink_y, w, average):  # type: ignore[no-untyped-def]
    """Step along x, then along y, and add both iterates to ``average`` unless that is empty."""
    number = w.dtype.type
    move_x, shrink_x = number(move_x), number(shrink_x)
    move_y, shrink_y = number(move_y), number(shrink_y)
    if average.size:
        for j in range(w.size):
            first = (w[j] - move_x * x[j]) * shrink_x
            second = (first - move_y * y[j]) * shrink_y
            w[j] = second
            average[j] += first + second
    else:
        for j in range(w.size):
            first = (w[j] - move_x * x[j]) * shrink_x
            w[j] = (first - move_y * y[j]) * shrink_y


@kernel
def descend_pairs(table, rows, positive, weight, products, run, t):  # type: ignore[no-untyped-def]
    """Take SPAM's step on an even number of rows when there is no L1 penalty."""
    # A step is then linear in w. So the score of the second row of a pair follows from the first
    # step and the product of the two rows, and w·x̄± from the products of all rows with the class
    # sums: w is read and written once for two rows. Equal to one row at a time but for rounding.
    w, sums = run.w, run.sums
    buffers = np.empty((2, w.size), w.dtype)
    on_positive, on_negative = dot(w, sums.positive), dot(w, sums.negative)
    n_positive, n_negative = sums.counts
    ratio = n_positive / (n_positive + n_negative)
    moves, shrinks = np.empty(2), np.empty(2)
    for i in range(0, rows.size - 1, 2):
        _, _, x = read_row(table, rows[i], buffers[0])
        _, _, y = read_row(table, rows[i + 1], buffers[1])
        score, following, overlap = _score_pair(x, y, w)
        for k in range(2):
            row = rows[i + k]
            t += 1
            step = run.step_size / math.sqrt(t)
            other = on_negative / n_negative if positive[row] else on_positive / n_positive
            move = step * multiplier(positive[row], score - other, ratio)
            if weight.size:
                move *= weight[row]
            shrink = 1.0 / (1.0 + step * run.l2)
            on_positive = (on_positive - move * products[row, 0]) * shrink
            on_negative = (on_negative - move * products[row, 1]) * shrink
            moves[k], shrinks[k] = move, shrink
            score = (following - move * overlap) * shrink
        _step_pair(x, moves[0], shrinks[0], y, moves[1], shrinks[1], w, run.average)
