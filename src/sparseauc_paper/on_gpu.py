"""Grids of fits on a GPU, a grid point in each program: ``reproduce --device cuda``.

A step needs the one before it, so a fit by itself leaves a GPU idle; the points of a grid keep it
busy. A program holds its coefficients in registers from the first row to the last. The answers are
those of the solvers in ``sparseauc.baselines`` but for rounding, which steps far too large amplify.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import triton
import triton.language as tl

from sparseauc.baselines.fsauc import FSAUCBounds, count_stages

from .methods import Schedule

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def _on(device: str, array: npt.ArrayLike) -> Any:
    return torch.as_tensor(np.ascontiguousarray(array), device=device)


def _shape(d: int) -> dict[str, int]:
    """Columns that a program has room for, and its warps: eight numbers of a vector in a thread."""
    block = triton.next_power_of_2(d)
    return {"BLOCK": block, "num_warps": min(max(block // 256, 1), 16)}


@triton.jit
def _soften(v, threshold):  # type: ignore[no-untyped-def]
    """Soft-threshold v."""
    return v - tl.minimum(tl.maximum(v, -threshold), threshold)


@triton.jit
def _clip(value, centre, radius):  # type: ignore[no-untyped-def]
    """Nearest number to ``value`` within ``radius`` of ``centre``."""
    return tl.minimum(tl.maximum(value, centre - radius), centre + radius)


# --------------------------------------------------------------------------------------- SPAM


def spam_grid(
    X: Floats,
    positive: Mask,
    orders: Indices,
    settings: Floats,
    *,
    average: bool,
    tol: float,
    device: str,
) -> Floats:
    """Run SPAM with each row (ξ, β₁, β₂) of the settings over its rows; a column for each.

    It ends with an epoch whose last step moves w by no more than ``tol`` of its length. NaN where
    it diverged.
    """
    (n, d), n_points = X.shape, len(settings)
    means = np.stack([X[positive].mean(axis=0), X[~positive].mean(axis=0)])
    fixed = np.tile([positive.mean(), tol], (n_points, 1))
    W = torch.empty((n_points, d), dtype=torch.float64, device=device)
    _spam[(n_points,)](
        _on(device, X), _on(device, means), _on(device, positive.astype(np.float64)),
        _on(device, orders.astype(np.int32)), _on(device, np.hstack([settings, fixed])), W,
        n, d, orders.shape[1] // n, AVERAGE=average, **_shape(d),
    )  # fmt: skip
    found: Floats = W.cpu().numpy().T
    found[:, ~np.isfinite(found).all(axis=0)] = np.nan
    return found


@triton.jit  # type: ignore[untyped-decorator]
def _spam(  # type: ignore[no-untyped-def]
    X, means, positive, orders, settings, W, n, d, epochs,
    AVERAGE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    point = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    inside = columns < d
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
            is_positive = tl.load(positive + row) > 0.0
            x = tl.load(X + row * d + columns, mask=inside, other=0.0)
            other = tl.load(means + tl.where(is_positive, d, 0) + columns, mask=inside, other=0.0)
            t += 1.0
            step = xi / tl.sqrt(t)
            margin = tl.sum(w * (x - other))
            move = tl.where(is_positive, (1.0 - ratio) * (margin - 1.0), ratio * (margin + 1.0))
            before = w
            w = _soften(w - 2.0 * step * move * x, step * l1) / (1.0 + step * l2)
            total += w
        moved = tl.sqrt(tl.sum((w - before) * (w - before)))
        length = tl.sqrt(tl.sum(before * before))
        # A comparison with NaN is false: a run that has diverged ends here as well.
        finite = moved < float("inf")
        stopped = (tol > 0.0) & (length > 0.0) & (moved <= tol * length)
        epoch += 1
        going = finite & (stopped == 0) & (epoch < epochs)
    if AVERAGE:
        w = total / t
    tl.store(W + point * d + columns, w, mask=inside)


# -------------------------------------------------------------------------------------- SOLAM


def solam_grid(
    X: Floats,
    positive: Mask,
    orders: Indices,
    settings: Floats,
    *,
    clip_below: bool,
    tol: float,
    device: str,
) -> Floats:
    """Run SOLAM with each row (ξ, R) of the settings over its rows; as ``RowSpace.solam``."""
    (n, d), n_points = X.shape, len(settings)
    W = torch.empty((n_points, d), dtype=torch.float64, device=device)
    _solam[(n_points,)](
        _on(device, X), _on(device, positive.astype(np.float64)),
        _on(device, orders.astype(np.int32)),
        _on(device, np.hstack([settings, np.full((n_points, 1), tol)])), W,
        n, d, orders.shape[1] // n, CLIP_BELOW=clip_below, **_shape(d),
    )  # fmt: skip
    found: Floats = W.cpu().numpy().T
    return found


@triton.jit  # type: ignore[untyped-decorator]
def _solam(  # type: ignore[no-untyped-def]
    X, positive, orders, settings, W, n, d, epochs,
    CLIP_BELOW: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    point = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    inside = columns < d
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
            is_positive = tl.load(positive + row) > 0.0
            x = tl.load(X + row * d + columns, mask=inside, other=0.0)
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
        stopped = (tol > 0.0) & (length > 0.0) & (moved <= tol * length)
        epoch += 1
        going = (stopped == 0) & (epoch < epochs)
    tl.store(W + point * d + columns, total / sum_of_steps, mask=inside)


@triton.jit
def _saddle_point_step(is_positive, p, score, step, a, b, alpha):  # type: ignore[no-untyped-def]
    """As in ``sparseauc.baselines._saddle_point``."""
    share, sign = tl.where(is_positive, 1.0 - p, p), tl.where(is_positive, 1.0, -1.0)
    lag = score - tl.where(is_positive, a, b)
    move = step * share * (lag - sign * (1.0 + alpha))
    a += tl.where(is_positive, step * share * lag, 0.0)
    b += tl.where(is_positive, 0.0, step * share * lag)
    alpha += step * (-sign * share * score - p * (1.0 - p) * alpha)
    return move, a, b, alpha


# -------------------------------------------------------------------------------------- FSAUC


def fsauc_grid(
    X: Floats, positive: Mask, orders: Indices, settings: Floats, *, device: str
) -> Floats:
    """Run FSAUC with each row (R, η) of the settings over its rows; a column for each.

    Rows are taken to have unit length.
    """
    (n, d), (n_points, n_steps) = X.shape, orders.shape
    stages = count_stages(n_steps)
    length = n_steps // stages
    bounds = [FSAUCBounds.first(radius, 1.0, eta) for radius, eta in settings]
    table, classes = _on(device, X), _on(device, np.stack([positive, ~positive]).astype(np.float64))
    rows = _on(device, orders.astype(np.int32))
    counts = torch.zeros((n_points, n), dtype=torch.float64, device=device)
    ones = torch.ones((n_points, length), dtype=torch.float64, device=device)
    centre = torch.zeros((n_points, d), dtype=torch.float64, device=device)
    # a, b and α, and how many positives came before.
    point = torch.zeros((n_points, 4), dtype=torch.float64, device=device)
    for stage in range(stages):
        part = rows[:, stage * length : (stage + 1) * length].contiguous()
        limits = _on(
            device, [(b.l1_bound, b.limit, b.radius, b.dual_radius, b.step) for b in bounds]
        )
        total, ends = torch.empty_like(centre), torch.empty_like(point)
        _fsauc_stage[(n_points,)](
            table, classes, part, limits, centre, point, total, ends, length, stage, d, **_shape(d)
        )
        centre, point = total / length, ends
        # The means of the rows taken so far, each as often as it was taken.
        counts.scatter_add_(1, part.long(), ones)
        sums, numbers = (counts[:, None] * classes) @ table, (counts[:, None] * classes).sum(2)
        means = sums / numbers.clamp(min=1.0)[:, :, None]
        point[:, 2] = (centre * (means[:, 1] - means[:, 0])).sum(1)
        shares = (numbers[:, 0] / numbers.sum(1)).tolist()
        bounds = [b.next(length, share) for b, share in zip(bounds, shares, strict=True)]
    found: Floats = centre.cpu().numpy().T
    return found


@triton.jit  # type: ignore[untyped-decorator]
def _fsauc_stage(  # type: ignore[no-untyped-def]
    X, positive, orders, limits, centres, points, totals, ends, length, stage, d,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """One stage: writes the sum of its w, the means of its a and b, and its positives."""
    point = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    inside = columns < d
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
        row = tl.load(orders + i)
        is_positive = tl.load(positive + row) > 0.0
        x = tl.load(X + row * d + columns, mask=inside, other=0.0)
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
        a, b, alpha = _clip(a, 0.0, limit), _clip(b, 0.0, limit), _clip(alpha, 0.0, 2.0 * limit)
        w = _soften(w, threshold)
        away = w - centre
        distance = tl.sqrt(tl.sum(away * away) + (a - a1) * (a - a1) + (b - b1) * (b - b1))
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
    """Newton's method, as in ``sparseauc.projections``, but for guesses below zero."""
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


# -------------------------------------------------------------------------- hard thresholding


def hard_grid(
    X: Floats, positive: Mask, schedules: Sequence[Schedule], *, logistic: bool, device: str
) -> Floats:
    """Run SHT-AUC, or StoIHT, along each schedule with each of its k; a column for each."""
    d = X.shape[1]
    ends = [np.cumsum(schedule.sizes) for schedule in schedules]
    firsts = np.cumsum([0, *(schedule.rows.size for schedule in schedules)])
    starts = [first + np.append(0, end) for first, end in zip(firsts, ends, strict=False)]
    places = np.cumsum([0, *(start.size for start in starts)])
    programs = [
        (place, schedule.sizes.size, min(k, d))
        for place, schedule in zip(places, schedules, strict=False)
        for k in schedule.ks
    ]
    factors = [(schedule.step, schedule.shrink) for schedule in schedules for _ in schedule.ks]
    means = np.stack([X[positive].mean(axis=0), X[~positive].mean(axis=0)])
    W = torch.empty((len(programs), d), dtype=torch.float64, device=device)
    _hard[(len(programs),)](
        _on(device, X), _on(device, means), _on(device, positive.astype(np.float64)),
        _on(device, np.concatenate([s.rows for s in schedules]).astype(np.int32)),
        _on(device, np.concatenate([s.rates for s in schedules])),
        _on(device, np.concatenate(starts).astype(np.int32)),
        _on(device, np.array(programs, np.int32)), _on(device, factors), W, d,
        LOGISTIC=logistic, **_shape(d),
    )  # fmt: skip
    found: Floats = W.cpu().numpy().T
    return found


@triton.jit  # type: ignore[untyped-decorator]
def _hard(  # type: ignore[no-untyped-def]
    X, means, positive, rows, rates, starts, programs, factors, W, d,
    LOGISTIC: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    inside = columns < d
    programs += program * 3
    starts += tl.load(programs)
    steps, k = tl.load(programs + 1), tl.load(programs + 2)
    step, shrink = tl.load(factors + program * 2), tl.load(factors + program * 2 + 1)
    w = tl.zeros((BLOCK,), tl.float64)
    intercept = step * 0.0
    for i in range(steps):
        new = w
        mean_positive = tl.load(means + columns, mask=inside, other=0.0)
        mean_negative = tl.load(means + d + columns, mask=inside, other=0.0)
        on_positive, on_negative = tl.sum(w * mean_positive), tl.sum(w * mean_negative)
        of_positives, of_negatives = step * 0.0, step * 0.0
        for place in range(tl.load(starts + i), tl.load(starts + i + 1)):
            row, rate = tl.load(rows + place), tl.load(rates + place)
            is_positive = tl.load(positive + row) > 0.0
            x = tl.load(X + row * d + columns, mask=inside, other=0.0)
            score = tl.sum(w * x)
            if LOGISTIC:
                sign = tl.where(is_positive, 1.0, -1.0)
                multiplier = rate * sign / (1.0 + tl.exp(sign * (score + intercept)))
            else:
                multiplier = rate * (tl.where(is_positive, on_positive, on_negative) - score)
            new += multiplier * x
            of_positives += tl.where(is_positive, multiplier, 0.0)
            of_negatives += tl.where(is_positive, 0.0, multiplier)
        if LOGISTIC:
            intercept += of_positives + of_negatives
        else:
            on_delta = 2.0 * step * (on_positive - on_negative - 1.0)
            new -= (of_positives + on_delta) * mean_positive
            new -= (of_negatives - on_delta) * mean_negative
        w = _keep_largest(new, k) * shrink
    tl.store(W + program * d + columns, w, mask=inside)


@triton.jit
def _keep_largest(v, k):  # type: ignore[no-untyped-def]
    """H_k by bisection: k entries or fewer are above ``high``, more than k above ``low``."""
    size = tl.abs(v)
    high = tl.max(size)
    low = high * 0.0
    count = tl.sum((size > 0.0).to(tl.int32))
    if count > k:
        middle = high / 2.0
        while (count != k) & (low < middle) & (middle < high):
            count = tl.sum((size > middle).to(tl.int32))
            low = tl.where(count > k, middle, low)
            high = tl.where(count > k, high, middle)
            middle = (low + high) / 2.0
        kept = (size > high).to(tl.int32)
        room = k - tl.sum(kept)
        if room > 0:  # of equal entries the first ones
            equal = (size == high).to(tl.int32)
            kept += equal * (tl.cumsum(equal, 0) <= room).to(tl.int32)
        v = tl.where(kept > 0, v, 0.0)
    return v
