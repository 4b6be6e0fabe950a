"""Grids of the convex methods on a GPU, a point in a program: ``reproduce --device cuda``.

A step needs the one before it, so a fit by itself leaves a GPU idle; the points of a
grid on all training sets of a task keep it busy. A program holds its coefficients in
registers from the first row to the last. The answers are those of the solvers in
``baselines`` but for rounding, which steps far too large amplify.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import triton
import triton.language as tl

from .arrays import Array
from .baselines.fsauc import FSAUCBounds, count_stages
from .training import Point, Training


@dataclass(frozen=True)
class Sets:
    """Training sets of as many rows each, to be fitted at once, with the same points or families.

    On the device they lie beneath each other: the rows of each, then the mean of its
    positives and that of its negatives.
    """

    trainings: Sequence[Training]

    @property
    def first(self) -> Training:
        """One of them, for what they share."""
        return self.trainings[0]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows of each, and columns."""
        n, d = self.first.X.shape
        return n, d

    def send(self, array: npt.ArrayLike, dtype: npt.DTypeLike = np.float64) -> Any:
        """Send an array to the device."""
        return torch.as_tensor(
            np.ascontiguousarray(array, dtype), device=self.first.device
        )

    @cached_property
    def rows(self) -> tuple[Any, Any]:
        """The rows and the labels of all sets."""
        lines: list[Array] = []
        labels: list[npt.ArrayLike] = []
        for training in self.trainings:
            X, positive = training.X, training.positive
            lines += [
                X,
                X[positive].mean(axis=0)[None],
                X[~positive].mean(axis=0)[None],
            ]
            labels += [positive, [False, False]]
        return self.send(np.vstack(lines)), self.send(np.concatenate(labels))

    def orders(self, points: Sequence[Point]) -> Any:
        """Rows of all epochs, a line for each set and point."""
        fits = [(training, point) for training in self.trainings for point in points]
        lines = np.empty((len(fits), self.shape[0] * self.first.epochs), np.int32)
        for line, (training, point) in zip(lines, fits, strict=True):
            line[:] = training.orders(point)
        return self.send(lines, np.int32)

    def wait(self) -> None:
        """Sleep until the device is done: asking for an answer would keep a core busy instead."""
        if str(self.first.device).startswith("cuda"):
            done = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
            done.record()
            done.synchronize()

    def coefficients(self, n_programs: int) -> Any:
        """Zeros for the answers."""
        shape = n_programs, self.shape[1]
        return torch.zeros(shape, dtype=torch.float64, device=self.first.device)


def fit_grids(
    method: str, trainings: Sequence[Training], points: Sequence[Point]
) -> list[Array]:
    """Fit all points to every training set: a column of coefficients for each, NaN if diverged."""
    found: dict[int, Array] = {}
    for n in dict.fromkeys(training.X.shape[0] for training in trainings):
        places = [i for i, training in enumerate(trainings) if training.X.shape[0] == n]
        sets = Sets([trainings[i] for i in places])
        on_device = FITS[method](sets, points)
        sets.wait()
        fitted: Array = on_device.cpu().numpy()
        fitted[~np.isfinite(fitted).all(axis=1)] = np.nan
        for i, W in zip(
            places, fitted.reshape(len(places), len(points), -1), strict=True
        ):
            found[i] = W.T
    return [found[i] for i in range(len(trainings))]


def _shape(d: int) -> dict[str, int]:
    """Columns that a program has room for, and its warps: eight numbers of a vector in a thread."""
    block = triton.next_power_of_2(d)
    return {"BLOCK": block, "num_warps": min(max(block // 256, 1), 16)}


def _fit_row_by_row(
    kernel: Any,
    sets: Sets,
    points: Sequence[Point],
    settings_of: Callable[[Training, Point], tuple[float, ...]],
    **constants: bool,
) -> Any:
    """Run a kernel with the settings of each set and point over its rows."""
    n, d = sets.shape
    W = sets.coefficients(len(sets.trainings) * len(points))
    lines = [
        (*settings_of(t, point), t.tol) for t in sets.trainings for point in points
    ]
    kernel[(W.shape[0],)](
        *sets.rows,
        sets.orders(points),
        sets.send(lines),
        W,
        n,
        d,
        sets.first.epochs,
        len(points),
        **constants,
        **_shape(d),
    )
    return W


@triton.jit
def _soften(v, threshold):  # type: ignore[no-untyped-def]
    """Soft-threshold v."""
    return v - tl.minimum(tl.maximum(v, -threshold), threshold)


@triton.jit
def _rows_of(X, positive, number, n, d):  # type: ignore[no-untyped-def]
    """Where the rows and the labels of a set begin."""
    return X + number * (n + 2) * d, positive + number * (n + 2)


@triton.jit
def _read_row(X, positive, row, d, columns, inside):  # type: ignore[no-untyped-def]
    """A row, and whether it is positive."""
    x = tl.load(X + row * d + columns, mask=inside, other=0.0)
    return x, tl.load(positive + row) > 0.0


@triton.jit
def _stops(moved, length, tol):  # type: ignore[no-untyped-def]
    """Whether coefficients of some length moved by so little that a run ends."""
    return (tol > 0.0) & (length > 0.0) & (moved <= tol * length)


@triton.jit
def _clip(value, centre, radius):  # type: ignore[no-untyped-def]
    """Nearest number to ``value`` within ``radius`` of ``centre``."""
    return tl.minimum(tl.maximum(value, centre - radius), centre + radius)


def _fit_spam(sets: Sets, points: Sequence[Point]) -> Any:
    def settings(training: Training, point: Point) -> tuple[float, ...]:
        ratio = float(training.positive.mean())
        return point["xi"], point.get("l1", 0.0), point.get("l2", 0.0), ratio

    average = not sets.first.protocol.last_iterate
    return _fit_row_by_row(_spam, sets, points, settings, AVERAGE=average)


@triton.jit  # type: ignore[untyped-decorator]
def _spam(  # type: ignore[no-untyped-def]
    X,
    positive,
    orders,
    settings,
    W,
    n,
    d,
    epochs,
    points,
    AVERAGE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    point = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    inside = columns < d
    X, positive = _rows_of(X, positive, point // points, n, d)
    settings += point * 5
    xi, l1, l2 = tl.load(settings), tl.load(settings + 1), tl.load(settings + 2)
    ratio, tol = tl.load(settings + 3), tl.load(settings + 4)
    orders += point * n * epochs
    w = tl.zeros((BLOCK,), tl.float64)
    before, total = w, w
    t = ratio * 0.0
    epoch, going = 0, True
    while going:
        for i in range(n):
            row = tl.load(orders + epoch * n + i)
            x, is_positive = _read_row(X, positive, row, d, columns, inside)
            other_class = tl.where(is_positive, n + 1, n)
            other = tl.load(X + other_class * d + columns, mask=inside, other=0.0)
            t += 1.0
            step = xi / tl.sqrt(t)
            margin = tl.sum(w * (x - other))
            move = tl.where(
                is_positive, (1.0 - ratio) * (margin - 1.0), ratio * (margin + 1.0)
            )
            before = w
            w = _soften(w - 2.0 * step * move * x, step * l1) / (1.0 + step * l2)
            total += w
        moved = tl.sqrt(tl.sum((w - before) * (w - before)))
        length = tl.sqrt(tl.sum(before * before))
        # A comparison with NaN is false: a run that has diverged ends here as well.
        finite = moved < float("inf")
        epoch += 1
        going = finite & (_stops(moved, length, tol) == 0) & (epoch < epochs)
    if AVERAGE:
        w = total / t
    tl.store(W + point * d + columns, w, mask=inside)


def _fit_solam(sets: Sets, points: Sequence[Point]) -> Any:
    def settings(_: Training, point: Point) -> tuple[float, ...]:
        return point["xi"], point["radius"]

    clip_below = not sets.first.protocol.clip_above_only
    return _fit_row_by_row(_solam, sets, points, settings, CLIP_BELOW=clip_below)


@triton.jit  # type: ignore[untyped-decorator]
def _solam(  # type: ignore[no-untyped-def]
    X,
    positive,
    orders,
    settings,
    W,
    n,
    d,
    epochs,
    points,
    CLIP_BELOW: tl.constexpr,
    BLOCK: tl.constexpr,
):
    point = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    inside = columns < d
    X, positive = _rows_of(X, positive, point // points, n, d)
    settings += point * 3
    xi, radius, tol = tl.load(settings), tl.load(settings + 1), tl.load(settings + 2)
    orders += point * n * epochs
    zero = radius * 0.0
    w = tl.where(inside, radius / tl.sqrt(zero + d), zero)
    before, total = w, tl.zeros((BLOCK,), tl.float64)
    a, b, alpha = radius, radius, 2.0 * radius
    t, n_positive, step, sum_of_steps = zero, zero, zero, zero
    epoch, going = 0, True
    while going:
        for i in range(n):
            row = tl.load(orders + epoch * n + i)
            x, is_positive = _read_row(X, positive, row, d, columns, inside)
            t += 1.0
            n_positive += tl.where(is_positive, 1.0, 0.0)
            step = xi / tl.sqrt(t)
            before = w
            total += step * w
            sum_of_steps += step
            move, a, b, alpha = _saddle_point_step(
                is_positive, n_positive / t, tl.sum(w * x), 2.0 * step, a, b, alpha
            )
            w -= move * x
            norm = tl.sqrt(tl.sum(w * w))
            w *= tl.where(norm > radius, radius / norm, 1.0)
            a, b = tl.minimum(a, radius), tl.minimum(b, radius)
            if CLIP_BELOW:
                a, b = tl.maximum(a, -radius), tl.maximum(b, -radius)
            alpha = _clip(alpha, 0.0, 2.0 * radius)
        # The answer before the last row, and how far the last row moved it.
        answer = (total - step * before) / (sum_of_steps - step)
        away = before - answer
        moved = step / sum_of_steps * tl.sqrt(tl.sum(away * away))
        length = tl.sqrt(tl.sum(answer * answer))
        epoch += 1
        going = (_stops(moved, length, tol) == 0) & (epoch < epochs)
    tl.store(W + point * d + columns, total / sum_of_steps, mask=inside)


@triton.jit
def _saddle_point_step(is_positive, p, score, step, a, b, alpha):  # type: ignore[no-untyped-def]
    """As in ``sparseauc_paper.baselines.solam``."""
    share, sign = tl.where(is_positive, 1.0 - p, p), tl.where(is_positive, 1.0, -1.0)
    lag = score - tl.where(is_positive, a, b)
    move = step * share * (lag - sign * (1.0 + alpha))
    a += tl.where(is_positive, step * share * lag, 0.0)
    b += tl.where(is_positive, 0.0, step * share * lag)
    alpha += step * (-sign * share * score - p * (1.0 - p) * alpha)
    return move, a, b, alpha


def _fit_fsauc(sets: Sets, points: Sequence[Point]) -> Any:
    n, d = sets.shape
    n_sets, g = len(sets.trainings), len(points)
    stages = count_stages(n * sets.first.epochs)
    length = n * sets.first.epochs // stages
    # Rows have unit length, and the published programs rely on it.
    bounds = [FSAUCBounds.first(p["radius"], 1.0, p["eta"]) for p in points] * n_sets
    (table, positive), orders = sets.rows, sets.orders(points)
    lines = table.view(n_sets, n + 2, d)[:, :n]
    classes = positive.view(n_sets, 1, 1, n + 2)[..., :n]
    classes = torch.cat([classes, 1.0 - classes], dim=2)
    centre = sets.coefficients(n_sets * g)
    counts = torch.zeros((n_sets * g, n), dtype=torch.float64, device=centre.device)
    # a, b and α, and how many positives came before.
    point = torch.zeros((n_sets * g, 4), dtype=torch.float64, device=centre.device)
    for stage in range(stages):
        part = orders[:, stage * length : (stage + 1) * length].contiguous()
        limits = [(b.l1_bound, b.l1_bound * b.max_norm, *b[2:5]) for b in bounds]
        total, ends = torch.empty_like(centre), torch.empty_like(point)
        _fsauc_stage[(n_sets * g,)](
            table,
            positive,
            part,
            sets.send(limits),
            centre,
            point,
            total,
            ends,
            length,
            stage,
            n,
            d,
            g,
            **_shape(d),
        )
        centre, point = total / length, ends
        # The means of the rows taken so far, each as often as it was taken.
        counts.scatter_add_(1, part.long(), torch.ones_like(part, dtype=torch.float64))
        of_class = counts.view(n_sets, g, 1, n) * classes
        numbers = of_class.sum(3).view(-1, 2)
        sums = (of_class.view(n_sets, 2 * g, n) @ lines).view(-1, 2, d)
        means = sums / numbers.clamp(min=1.0)[:, :, None]
        point[:, 2] = (centre * (means[:, 1] - means[:, 0])).sum(1)
        sets.wait()
        shares = (numbers[:, 0] / numbers.sum(1)).tolist()
        bounds = [
            b.next(length, share) for b, share in zip(bounds, shares, strict=True)
        ]
    return centre


@triton.jit  # type: ignore[untyped-decorator]
def _fsauc_stage(  # type: ignore[no-untyped-def]
    X,
    positive,
    orders,
    limits,
    centres,
    points,
    totals,
    ends,
    length,
    stage,
    n,
    d,
    per_set,
    BLOCK: tl.constexpr,
):
    """One stage: writes the sum of its w, the means of its a and b, and its positives."""
    point = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    inside = columns < d
    X, positive = _rows_of(X, positive, point // per_set, n, d)
    limits += point * 5
    radius, limit, ball = tl.load(limits), tl.load(limits + 1), tl.load(limits + 2)
    dual_ball, step = tl.load(limits + 3), tl.load(limits + 4)
    points += point * 4
    a1, b1, alpha1 = tl.load(points), tl.load(points + 1), tl.load(points + 2)
    n_positive = tl.load(points + 3)
    orders += point * length
    centre = tl.load(centres + point * d + columns, mask=inside, other=0.0)
    w, total = centre, tl.zeros((BLOCK,), tl.float64)
    a, b, alpha = a1, b1, alpha1
    guess = radius * 0.0
    sum_a, sum_b = guess, guess
    t = guess + stage * length
    for i in range(length):
        x, is_positive = _read_row(X, positive, tl.load(orders + i), d, columns, inside)
        t += 1.0
        n_positive += tl.where(is_positive, 1.0, 0.0)
        move, a, b, alpha = _saddle_point_step(
            is_positive, n_positive / t, tl.sum(x * w), step, a, b, alpha
        )
        w -= move * x
        size = tl.abs(w)
        threshold = radius * 0.0
        if tl.sum(size) > radius:
            guess = _l1_ball_threshold(size, radius, guess, d)
            threshold = guess
        a, b, alpha = (
            _clip(a, 0.0, limit),
            _clip(b, 0.0, limit),
            _clip(alpha, 0.0, 2.0 * limit),
        )
        w = _soften(w, threshold)
        away = w - centre
        distance = tl.sqrt(
            tl.sum(away * away) + (a - a1) * (a - a1) + (b - b1) * (b - b1)
        )
        if distance > ball:
            shrink = ball / distance
            w = centre + shrink * away
            a, b = a1 + shrink * (a - a1), b1 + shrink * (b - b1)
        alpha = _clip(alpha, alpha1, dual_ball)
        total += w
        sum_a += a
        sum_b += b
    tl.store(totals + point * d + columns, total, mask=inside)
    ends += point * 4
    tl.store(ends, sum_a / length)
    tl.store(ends + 1, sum_b / length)
    tl.store(ends + 3, n_positive)


@triton.jit
def _l1_ball_threshold(size, radius, guess, d):  # type: ignore[no-untyped-def]
    """Newton's method, as in ``projections``, but for guesses below zero."""
    guess = tl.where(tl.max(size) > guess, guess, 0.0)
    total, count = (
        tl.sum(tl.where(size > guess, size, 0.0)),
        tl.sum(tl.where(size > guess, 1.0, 0.0)),
    )
    most = d + 1.0
    going = count > 0.0
    while going:
        guess = tl.maximum((total - radius) / count, 0.0)
        total = tl.sum(tl.where(size > guess, size, 0.0))
        left = tl.sum(tl.where(size > guess, 1.0, 0.0))
        going = (left != count) & (left < most) & (left > 0.0)
        count, most = left, left
    return guess


FITS: Mapping[str, Callable[[Sets, Sequence[Point]], Any]] = {
    "spam-l1": _fit_spam,
    "spam-l2": _fit_spam,
    "spam-l1l2": _fit_spam,
    "fsauc": _fit_fsauc,
    "solam": _fit_solam,
}
