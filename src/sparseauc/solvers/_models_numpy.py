"""Many models on NumPy: a block's rows are read once for five models at a time, in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._jit import kernel, reordering_kernel
from ..blocks import RowBlocks
from ..objective import AUCObjective, loss_of_scores
from ..rows import read_only
from ._hard_thresholding import threshold_step
from ._models import Array, Loss, Mask, Models, Point
from ._multipliers import auc_multipliers, logistic_multipliers
from .sht_auc import exact_first_step

# Models and rows that share a pass of ``_combine``, and the columns it handles at a time: eight
# slices of rows and ten of sums stay in the second-level cache (benchmarks/batched.py).
_MODELS, _ROWS, _TILE = 5, 8, 8192

_auc_multipliers = kernel(auc_multipliers)
_logistic_multipliers = kernel(logistic_multipliers)


@reordering_kernel
def _score(table, rows, means, support, values, sizes, place, columns, weights, picked, scores):  # type: ignore[no-untyped-def]
    """``scores[m, i] = w_m · x_rows[i]``, and the scores of the two means after those of the rows.

    Only columns some model uses are read. ``place`` holds −1 for every column, on entry and on
    return; ``columns``, ``weights`` and ``picked`` are scratch space.
    """
    g = sizes.size
    used = 0
    for m in range(g):
        for q in range(sizes[m]):
            if place[support[m, q]] < 0:
                place[support[m, q]] = used
                columns[used] = support[m, q]
                used += 1
    w = weights[: g * used].reshape(g, used)
    w[:] = 0
    for m in range(g):
        for q in range(sizes[m]):
            w[m, place[support[m, q]]] = values[m, q]
    row_values = picked[:used]
    for i in range(rows.size + means.shape[0]):
        row = table[rows[i]] if i < rows.size else means[i - rows.size]
        for q in range(used):
            row_values[q] = row[columns[q]]
        for m in range(g):
            score = picked.dtype.type(0)
            coefficients = w[m]
            for q in range(used):
                score += coefficients[q] * row_values[q]
            scores[m, i] = score
    for q in range(used):
        place[columns[q]] = -1


@kernel
def _combine(table, rows, multipliers, means, on_means, out):  # type: ignore[no-untyped-def]
    """``out[m] = Σ_i multipliers[m, i] · x_rows[i] + Σ_c on_means[m, c] · means[c]``.

    The number of models is a multiple of five, and the multipliers are zero from ``rows.size`` up
    to the next multiple of eight.
    """
    last = rows.size - 1
    for low in range(0, out.shape[1], _TILE):
        high = min(low + _TILE, out.shape[1])
        mean_0, mean_1 = means[0, low:high], means[1, low:high]
        for m in range(out.shape[0]):
            part = out[m, low:high]
            on_0, on_1 = on_means[m, 0], on_means[m, 1]
            for j in range(part.size):
                part[j] = on_0 * mean_0[j] + on_1 * mean_1[j]
        for i in range(0, rows.size, _ROWS):
            r0, r1 = table[rows[i], low:high], table[rows[min(i + 1, last)], low:high]
            r2 = table[rows[min(i + 2, last)], low:high]
            r3 = table[rows[min(i + 3, last)], low:high]
            r4 = table[rows[min(i + 4, last)], low:high]
            r5 = table[rows[min(i + 5, last)], low:high]
            r6 = table[rows[min(i + 6, last)], low:high]
            r7 = table[rows[min(i + 7, last)], low:high]
            for m in range(0, out.shape[0], _MODELS):
                o, p, q = out[m, low:high], out[m + 1, low:high], out[m + 2, low:high]
                r, s = out[m + 3, low:high], out[m + 4, low:high]
                a = multipliers[m, i : i + _ROWS]
                b = multipliers[m + 1, i : i + _ROWS]
                c = multipliers[m + 2, i : i + _ROWS]
                d = multipliers[m + 3, i : i + _ROWS]
                e = multipliers[m + 4, i : i + _ROWS]
                a0, a1, a2, a3, a4, a5, a6, a7 = a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]
                b0, b1, b2, b3, b4, b5, b6, b7 = b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]
                c0, c1, c2, c3, c4, c5, c6, c7 = c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]
                d0, d1, d2, d3, d4, d5, d6, d7 = d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]
                e0, e1, e2, e3, e4, e5, e6, e7 = e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7]
                for j in range(o.size):
                    # Into registers first: a sum that is stored might, for all the compiler
                    # knows, be one of the rows.
                    x0, x1, x2, x3 = r0[j], r1[j], r2[j], r3[j]
                    x4, x5, x6, x7 = r4[j], r5[j], r6[j], r7[j]
                    o[j] += ((a0 * x0 + a1 * x1) + (a2 * x2 + a3 * x3)) + (
                        (a4 * x4 + a5 * x5) + (a6 * x6 + a7 * x7)
                    )
                    p[j] += ((b0 * x0 + b1 * x1) + (b2 * x2 + b3 * x3)) + (
                        (b4 * x4 + b5 * x5) + (b6 * x6 + b7 * x7)
                    )
                    q[j] += ((c0 * x0 + c1 * x1) + (c2 * x2 + c3 * x3)) + (
                        (c4 * x4 + c5 * x5) + (c6 * x6 + c7 * x7)
                    )
                    r[j] += ((d0 * x0 + d1 * x1) + (d2 * x2 + d3 * x3)) + (
                        (d4 * x4 + d5 * x5) + (d6 * x6 + d7 * x7)
                    )
                    s[j] += ((e0 * x0 + e1 * x1) + (e2 * x2 + e3 * x3)) + (
                        (e4 * x4 + e5 * x5) + (e6 * x6 + e7 * x7)
                    )


@kernel
def _epoch(  # type: ignore[no-untyped-def]
    table,
    rows,
    starts,
    drawn,
    positive,
    scales,
    means,
    constant,
    logistic,
    ks,
    steps,
    decays,
    shrinks,
    w,
    intercept,
    support,
    values,
    sizes,
    scratch,
):
    """One epoch of g models on one training set; ``positive`` and ``scales`` follow ``rows``."""
    scores, multipliers, on_means, candidate, magnitudes, place, columns, weights, picked = scratch
    g = ks.size
    for i in drawn:
        low, high = starts[i], starts[i + 1]
        block, labels, scale = rows[low:high], positive[low:high], scales[low:high]
        b = block.size
        _score(
            table, block, means, support, values, sizes, place, columns, weights, picked, scores
        )  # fmt: skip
        rates = steps.reshape(g, 1) * scale
        if logistic:
            on_rows = _logistic_multipliers(
                scores[:, :b], intercept.reshape(g, 1), labels, rates, np.exp
            )
        else:
            on_rows, on_delta = _auc_multipliers(
                scores[:, :b], scores[:, b : b + 1], scores[:, b + 1 : b + 2], labels, rates,
                2 * steps.reshape(g, 1),
            )  # fmt: skip
        for m in range(g):
            on_positive = 0.0
            on_negative = 0.0
            for q in range(b):
                multipliers[m, q] = on_rows[m, q]
                on_positive += on_rows[m, q] * labels[q]
                on_negative += on_rows[m, q] * (1.0 - labels[q])
            multipliers[m, b : b + _ROWS] = 0
            if logistic:
                intercept[m] += on_positive + on_negative
            else:
                on_means[m, 0] = -on_positive - on_delta[m, 0]
                on_means[m, 1] = -on_negative + on_delta[m, 0]
        _combine(table, block, multipliers, means, on_means, candidate)
        for m in range(g):
            if steps[m] == 0.0 or not abs(w[m, 0]) < np.inf:
                continue
            for q in range(sizes[m]):
                values[m, q] *= decays[m]
            size = threshold_step(
                candidate[m], constant, ks[m], w[m], support[m], values[m], sizes[m], magnitudes
            )  # fmt: skip
            if size < 0 or not abs(intercept[m]) < np.inf:
                w[m] = np.nan
                size = 0
            for q in range(size):
                values[m, q] *= shrinks[m]
                w[m, support[m, q]] = values[m, q]
            sizes[m] = size


@kernel
def _list_columns(w, support, values, sizes):  # type: ignore[no-untyped-def]
    """List the non-zeros of every model; one that overflowed lists none."""
    for m in range(w.shape[0]):
        size = 0
        if abs(w[m, 0]) < np.inf:
            for j in range(w.shape[1]):
                if w[m, j] != 0:
                    support[m, size] = j
                    values[m, size] = w[m, j]
                    size += 1
        sizes[m] = size


@kernel
def _score_all(table, means, support, values, sizes, scratch, scores):  # type: ignore[no-untyped-def]
    """Scores of all rows for every model."""
    place, columns, weights, picked = scratch
    _score(
        table, np.arange(table.shape[0]), means[:0], support, values, sizes, place, columns,
        weights, picked, scores,
    )  # fmt: skip


class NumpyModels(Models):
    """Models on dense arrays, read where they lie.

    Parameters
    ----------
    objectives : list of AUCObjective
        The training sets, row-major.
    blocks : RowBlocks
        Their common blocks.
    ks : ndarray of shape (g,)
    loss : {"auc", "logistic"}
    """

    def __init__(
        self,
        objectives: list[AUCObjective],
        blocks: RowBlocks,
        ks: npt.NDArray[np.int64],
        loss: Loss,
    ) -> None:
        s, g, k = len(objectives), ks.size, int(ks.max())
        d, dtype = objectives[0].n_features, objectives[0].dtype
        self.shape = s, g
        self._objectives, self._blocks, self._ks = objectives, blocks, ks
        self._logistic = loss == "logistic"
        self._rows = [_rows_of(objective, blocks, self._logistic) for objective in objectives]
        self.w = np.zeros((s, g, d), dtype)
        self.intercept = np.zeros((s, g))
        self._support = np.empty((s, g, k), np.int64)
        self._values = np.empty((s, g, k), dtype)
        self._sizes = np.zeros((s, g), np.int64)
        padded = -(-g // _MODELS) * _MODELS
        used = min(d, int(ks.sum()))
        self._union = (
            np.full(d, -1, np.int64),
            np.empty(used, np.int64),
            np.empty(g * used, dtype),
            np.empty(used, dtype),
        )
        self._scratch: tuple[Any, ...] = (
            np.empty((g, blocks.largest + 2)),
            np.zeros((padded, blocks.largest + _ROWS), dtype),
            np.zeros((padded, 2), dtype),
            np.empty((padded, d), dtype),
            np.empty(d, dtype),
            *self._union,
        )

    def epoch(
        self, drawn: npt.NDArray[np.int64], steps: Array, decays: Array, shrinks: Array
    ) -> None:
        """Visit the blocks ``drawn``, one training set after the other."""
        for s, objective in enumerate(self._objectives):
            _epoch(
                objective.table, self._blocks.rows, self._blocks.starts, drawn, *self._rows[s],
                self._logistic, self._ks, steps[s], decays[s], shrinks[s],
                self.w[s], self.intercept[s],
                self._support[s], self._values[s], self._sizes[s], self._scratch,
            )  # fmt: skip

    def losses(self) -> Array:
        """F of every model; NaN for one that overflowed."""
        losses = np.empty(self.shape)
        for s, objective in enumerate(self._objectives):
            scores = np.empty((self.shape[1], objective.n_rows), objective.dtype)
            _score_all(
                objective.table, self._rows[s][2], self._support[s], self._values[s],
                self._sizes[s], self._union, scores,
            )  # fmt: skip
            losses[s] = [
                loss_of_scores(row, objective.positive, objective.weight) for row in scores
            ]
        losses[self.overflowed()] = np.nan
        return losses

    def exact_first_steps(self) -> Array:
        """Steps from the first gradients."""
        return np.array(
            [
                [exact_first_step(objective, int(k)) for k in self._ks]
                for objective in self._objectives
            ]
        )

    def as_point(self, w: npt.NDArray[np.floating]) -> Point:
        """Coefficients in the type of the table."""
        return Point(w.astype(self.w.dtype), np.zeros(self.shape))

    def point(self) -> Point:
        """Copy where the models stand."""
        return Point(self.w.copy(), self.intercept.copy())

    def mixed(self, mask: Mask, chosen: Point, other: Point) -> Point:
        """Take the models of ``mask`` from ``chosen``."""
        return Point(
            np.where(mask[..., None], chosen.w, other.w),
            np.where(mask, chosen.intercept, other.intercept),
        )

    def set(self, point: Point) -> None:
        """Go to other points."""
        self.w[:], self.intercept[:] = point
        for s in range(self.shape[0]):
            _list_columns(self.w[s], self._support[s], self._values[s], self._sizes[s])

    def movement(self, before: Point) -> tuple[Array, Array]:
        """‖w − w_before‖² and ‖w_before‖²."""
        old = before.w.astype(np.float64)
        # A model on its way to infinity has not converged.
        with np.errstate(over="ignore", invalid="ignore"):
            moved = np.square(self.w - old).sum(axis=-1)
            return moved, np.square(old, out=old).sum(axis=-1)

    def overflowed(self) -> Mask:
        """Which models left the range of floating-point numbers."""
        lost: Mask = np.isnan(self.w[..., 0])
        return lost


def _rows_of(objective: AUCObjective, blocks: RowBlocks, logistic: bool) -> tuple[Any, ...]:
    """Labels and scales in the order of the blocks, the class means, the constant columns."""
    rows = blocks.rows
    positive = objective.positive[rows].astype(np.float64)
    scales = row_scales(objective.moments.weights, positive, len(blocks), logistic)
    if objective.weight.size:
        scales = scales * objective.weight[rows]
    means = np.stack([objective.mean_positive, objective.mean_negative])
    # The logistic loss has no use for the means; zeros leave its sums alone.
    means = np.zeros_like(means) if logistic else means
    constant = np.flatnonzero(~objective.moments.varies)
    return read_only(positive), read_only(scales), read_only(means), constant


def row_scales(
    class_weights: npt.ArrayLike, positive: Array, n_blocks: int, logistic: bool
) -> Array:
    """What the gradient of each row is multiplied by when m blocks are equally likely.

    ``class_weights`` has a last axis of two in place of the axis of rows of ``positive``.
    """
    weights = np.asarray(class_weights)[..., None]
    if logistic:
        return np.broadcast_to(n_blocks / weights.sum(axis=-2), positive.shape)
    return np.where(
        positive > 0, 2.0 * n_blocks / weights[..., 0, :], 2.0 * n_blocks / weights[..., 1, :]
    )
