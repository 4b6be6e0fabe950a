"""FSAUC's step on dense rows: a few vectorised sweeps, the projection on the L1 ball included."""

from __future__ import annotations

import math

import numpy as np

from .._jit import kernel, reordering_kernel
from ..projections import l1_ball_threshold
from ._online import dense_row, dot
from ._saddle_point import clip, saddle_point_step


@reordering_kernel
def _step_and_l1_norm(x, move, w):  # type: ignore[no-untyped-def]
    """Set w to w − move·x; returns its L1 norm."""
    number = w.dtype.type
    move, norm = number(move), number(0)
    for j in range(w.size):
        w[j] -= move * x[j]
        norm += abs(w[j])
    return np.float64(norm)


@reordering_kernel
def threshold_and_distance(threshold, centre, w):  # type: ignore[no-untyped-def]
    """Soft-threshold w; returns its squared distance from ``centre``."""
    number = w.dtype.type
    threshold, distance = number(threshold), number(0)
    for j in range(w.size):
        w[j] -= min(max(w[j], -threshold), threshold)
        distance += (w[j] - centre[j]) ** 2
    return np.float64(distance)


@reordering_kernel
def _draw_in_and_average(centre, shrink, w, total):  # type: ignore[no-untyped-def]
    """Draw w towards ``centre`` by the factor ``shrink`` and add it to ``total``."""
    number = w.dtype.type
    shrink = number(shrink)
    if shrink < 1:
        for j in range(w.size):
            w[j] = centre[j] + shrink * (w[j] - centre[j])
    for j in range(w.size):
        total[j] += w[j]


@kernel
def descend_rows(table, rows, positive, stage, run):  # type: ignore[no-untyped-def]
    """Take FSAUC's step on each row, within one stage."""
    seen, w, point, total, point_total = run.seen, run.w, run.point, run.total, run.point_total
    bounds = stage.bounds
    radius, limit = bounds.l1_bound, bounds.l1_bound * bounds.max_norm
    buffer = np.empty(w.size, w.dtype)
    a, b, alpha = point[0], point[1], point[2]
    a1, b1, alpha1 = stage.point[0], stage.point[1], stage.point[2]
    n_positive, t = seen[0], seen[1]
    guess = 0.0
    for row in rows:
        x = dense_row(table, row, buffer)
        t += 1
        n_positive += positive[row]
        move, a, b, alpha = saddle_point_step(
            positive[row], n_positive / t, dot(x, w), bounds.step, a, b, alpha
        )
        threshold = 0.0
        if _step_and_l1_norm(x, move, w) > radius:
            threshold = guess = l1_ball_threshold(w, radius, guess)
        a, b, alpha = clip(a, 0.0, limit), clip(b, 0.0, limit), clip(alpha, 0.0, 2.0 * limit)
        distance = threshold_and_distance(threshold, stage.w, w)
        distance = math.sqrt(distance + (a - a1) ** 2 + (b - b1) ** 2)
        shrink = 1.0
        if distance > bounds.radius:
            shrink = bounds.radius / distance
            a, b = a1 + shrink * (a - a1), b1 + shrink * (b - b1)
        alpha = clip(alpha, alpha1, bounds.dual_radius)
        _draw_in_and_average(stage.w, shrink, w, total)
        point_total[0] += a
        point_total[1] += b
    point[0], point[1], point[2] = a, b, alpha
    seen[0], seen[1] = n_positive, t
