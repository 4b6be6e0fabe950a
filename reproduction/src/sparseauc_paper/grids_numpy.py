"""Many models on NumPy: a block's rows are read once for five models at a time, in place."""

from typing import Any, NamedTuple

import numpy as np

from .arrays import Array, Floats, Indices, read_only
from .blocks import RowBlocks
from .kernels import kernel, reordering_kernel
from .models import (
    GridPoint,
    Loss,
    Models,
    auc_multipliers,
    labels_and_scales,
    logistic_multipliers,
)
from .objective import AUCObjective
from .thresholding import Iterate, threshold_step

# Models and rows that share a pass of ``_combine``, and the columns it handles at a time: eight
# slices of rows and ten of sums stay in the second-level cache (benchmarks/batched.py).
_MODELS, _ROWS, _TILE = 5, 8, 8192

_auc_multipliers = kernel(auc_multipliers)
_logistic_multipliers = kernel(logistic_multipliers)


@reordering_kernel
def _score(table, rows, means, models, scratch, scores):  # type: ignore[no-untyped-def]
    """``scores[m, i] = w_m · x_rows[i]``, and the scores of the two means after them."""
    support, values, sizes = models.support, models.values, models.sizes
    place, columns, picked = scratch.place, scratch.columns, scratch.picked
    g = sizes.size
    used = 0
    for m in range(g):
        for q in range(sizes[m]):
            if place[support[m, q]] < 0:
                place[support[m, q]] = used
                columns[used] = support[m, q]
                used += 1
    w = scratch.weights[: g * used].reshape(g, used)
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


class _Grid(NamedTuple):
    """What holds throughout a fit of g models; labels and scales follow the order of the rows."""

    table: Any
    rows: Indices
    starts: Indices
    positive: Array
    scales: Array
    means: Floats
    constant: Indices
    logistic: bool
    ks: Indices


class _Iterates(NamedTuple):
    """Where the models stand: w of shape (g, d), and the list of its non-zeros."""

    w: Floats
    intercept: Array
    support: Indices
    values: Floats
    sizes: Indices


class _Scratch(NamedTuple):
    """Scratch space of a step, the first four for the columns that some model uses."""

    place: Indices  # holds −1 between calls
    columns: Indices
    weights: Floats
    picked: Floats
    scores: Array
    multipliers: Floats
    on_means: Floats
    candidate: Floats
    magnitudes: Floats


@kernel
def _grid_epoch(grid, drawn, steps, decays, shrinks, models, scratch):  # type: ignore[no-untyped-def]
    """One epoch of g models."""
    scores, multipliers, on_means = scratch.scores, scratch.multipliers, scratch.on_means
    w, intercept, sizes = models.w, models.intercept, models.sizes
    g = grid.ks.size
    for i in drawn:
        low, high = grid.starts[i], grid.starts[i + 1]
        block, labels, scale = grid.rows[low:high], grid.positive[low:high], grid.scales[low:high]
        b = block.size
        _score(grid.table, block, grid.means, models, scratch, scores)
        rates = steps.reshape(g, 1) * scale
        if grid.logistic:
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
            if grid.logistic:
                intercept[m] += on_positive + on_negative
            else:
                on_means[m, 0] = -on_positive - on_delta[m, 0]
                on_means[m, 1] = -on_negative + on_delta[m, 0]
        _combine(grid.table, block, multipliers, grid.means, on_means, scratch.candidate)
        for m in range(g):
            if steps[m] == 0.0 or not abs(w[m, 0]) < np.inf:
                continue
            support, values = models.support[m], models.values[m]
            for q in range(sizes[m]):
                values[q] *= decays[m]
            iterate = Iterate(
                w[m], support, values, sizes[m : m + 1], scratch.candidate[m], scratch.magnitudes
            )
            threshold_step(iterate, grid.constant, grid.ks[m])
            if sizes[m] < 0 or not abs(intercept[m]) < np.inf:
                w[m] = np.nan
                sizes[m] = 0
            for q in range(sizes[m]):
                values[q] *= shrinks[m]
                w[m, support[q]] = values[q]


@kernel
def _list_columns(models):  # type: ignore[no-untyped-def]
    """List the non-zeros of every model; one that overflowed lists none."""
    w = models.w
    for m in range(w.shape[0]):
        size = 0
        if abs(w[m, 0]) < np.inf:
            for j in range(w.shape[1]):
                if w[m, j] != 0:
                    models.support[m, size] = j
                    models.values[m, size] = w[m, j]
                    size += 1
        models.sizes[m] = size


class NumpyModels(Models):
    """Models on a dense array, read where it lies."""

    _xp = np

    def __init__(self, objective: AUCObjective, blocks: RowBlocks, ks: Indices, loss: Loss) -> None:
        g, k = ks.size, int(ks.max())
        d, dtype = objective.n_features, objective.dtype
        self._objective = objective
        positive, scales = labels_and_scales(objective, blocks, loss)
        means = np.stack([objective.mean_positive, objective.mean_negative])
        # The logistic loss has no use for the means; zeros leave its sums alone.
        means = np.zeros_like(means) if loss == "logistic" else means
        self._grid = _Grid(
            objective.table, blocks.rows, blocks.starts, read_only(positive), read_only(scales),
            read_only(means), np.flatnonzero(~objective.varies), loss == "logistic", ks,
        )  # fmt: skip
        self._models = _Iterates(
            np.zeros((g, d), dtype), np.zeros(g), np.empty((g, k), np.int64),
            np.empty((g, k), dtype), np.zeros(g, np.int64),
        )  # fmt: skip
        self.w, self.intercept = self._models.w, self._models.intercept
        padded = -(-g // _MODELS) * _MODELS
        used = min(d, int(ks.sum()))
        self._scratch = _Scratch(
            np.full(d, -1, np.int64),
            np.empty(used, np.int64),
            np.empty(g * used, dtype),
            np.empty(used, dtype),
            np.empty((g, blocks.largest + 2)),
            np.zeros((padded, blocks.largest + _ROWS), dtype),
            np.zeros((padded, 2), dtype),
            np.empty((padded, d), dtype),
            np.empty(d, dtype),
        )

    def run(self, drawn: Indices, steps: Array, decays: Array, shrinks: Array) -> None:
        """Visit the blocks ``drawn``."""
        _grid_epoch(self._grid, drawn, steps, decays, shrinks, self._models, self._scratch)

    def losses(self) -> Array:
        """F of every model, on the host."""
        objective = self._objective
        scores = np.empty((self.w.shape[0], objective.n_rows), objective.dtype)
        rows, nothing = np.arange(objective.n_rows), self._grid.means[:0]
        _score(objective.table, rows, nothing, self._models, self._scratch, scores)
        losses = np.array([objective.value_of(row) for row in scores])
        losses[self.overflowed()] = np.nan
        return losses

    def point(self) -> GridPoint:
        """Where the models stand."""
        return GridPoint(self.w.copy(), self.intercept.copy())

    def move_to(self, point: GridPoint) -> None:
        """Go to other points."""
        self.w[:], self.intercept[:] = point
        _list_columns(self._models)

    def _send(self, array: Any) -> Any:
        return array
