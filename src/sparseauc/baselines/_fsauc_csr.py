"""FSAUC's step on CSR rows: in the time of the non-zeros while w is inside the L1 ball.

w is kept as S·v + B·w₁ with w₁ the centre of the stage, so that drawing w towards it changes S and
B alone. Of the sum of the iterates, K·v + L·w₁ with K = ΣS and L = ΣB is known at any time, and a
correction is written wherever v changes. The L1 norm is followed entry by entry, exactly until w
is first drawn in and from above after that: only when it exceeds R is w written out, O(d), measured
and projected.
"""

from __future__ import annotations

import math

import numpy as np

from .._jit import kernel
from ..projections import l1_ball_threshold
from ._fsauc_dense import threshold_and_distance
from ._online import BETWEEN_SWEEPS, LEAST_SCALE
from ._saddle_point import clip, saddle_point_step


@kernel
def _write_out(v, scale, share, weight, weight_centre, centre, correction, total):  # type: ignore[no-untyped-def]
    """Set v to w, for S = 1 and B = 0, and bring ``total`` up to date; returns the L1 norm."""
    norm = 0.0
    for j in range(v.size):
        total[j] += weight * v[j] + weight_centre * centre[j] + correction[j]
        correction[j] = 0.0
        v[j] = scale * v[j] + share * centre[j]
        norm += abs(v[j])
    return norm


@kernel
def descend_csr_rows(table, rows, positive, stage, run):  # type: ignore[no-untyped-def]
    """Take FSAUC's step on each row, within one stage."""
    seen, w, point, total, point_total = run.seen, run.w, run.point, run.total, run.point_total
    bounds = stage.bounds
    radius, limit = bounds.l1_bound, bounds.l1_bound * bounds.max_norm
    data, indices, indptr = table.data, table.indices, table.indptr
    a, b, alpha = point[0], point[1], point[2]
    a1, b1, alpha1 = stage.point[0], stage.point[1], stage.point[2]
    n_positive, t = seen[0], seen[1]
    centre = stage.w.astype(np.float64)
    centre_norm = np.abs(centre).sum()
    v = w.astype(np.float64)
    correction = np.zeros(v.size)
    scale, share, weight, weight_centre = 1.0, 0.0, 0.0, 0.0  # S, B, K, L
    norm, distance_squared, unread, guess = 0.0, 0.0, 0, 0.0
    for row in rows:
        if unread <= 0 or not scale > LEAST_SCALE:
            norm = _write_out(v, scale, share, weight, weight_centre, centre, correction, total)
            scale, share, weight, weight_centre = 1.0, 0.0, 0.0, 0.0
            distance_squared = threshold_and_distance(0.0, centre, v)
            unread = BETWEEN_SWEEPS * v.size
        start, stop = np.uint64(indptr[row]), np.uint64(indptr[row + 1])
        unread -= np.int64(stop - start)
        t += 1
        n_positive += positive[row]
        score, score_centre, square = 0.0, 0.0, 0.0
        for p in range(start, stop):
            j, value = np.uint64(indices[p]), np.float64(data[p])
            score += value * v[j]
            score_centre += value * centre[j]
            square += value * value
        score = scale * score + share * score_centre
        move, a, b, alpha = saddle_point_step(
            positive[row], n_positive / t, score, bounds.step, a, b, alpha
        )
        along = move / scale
        for p in range(start, stop):
            j = np.uint64(indices[p])
            before = scale * v[j] + share * centre[j]
            v[j] -= along * data[p]
            norm += abs(before - move * data[p]) - abs(before)
            correction[j] += along * weight * data[p]
        distance_squared += move * (move * square - 2.0 * (score - score_centre))
        if norm > radius:
            norm = _write_out(v, scale, share, weight, weight_centre, centre, correction, total)
            scale, share, weight, weight_centre = 1.0, 0.0, 0.0, 0.0
            threshold = 0.0
            if norm > radius:
                threshold = guess = l1_ball_threshold(v, radius, guess)
                norm = radius
            distance_squared = threshold_and_distance(threshold, centre, v)
        a, b, alpha = clip(a, 0.0, limit), clip(b, 0.0, limit), clip(alpha, 0.0, 2.0 * limit)
        distance = math.sqrt(max(distance_squared, 0.0) + (a - a1) ** 2 + (b - b1) ** 2)
        if distance > bounds.radius:
            shrink = bounds.radius / distance
            a, b = a1 + shrink * (a - a1), b1 + shrink * (b - b1)
            scale, share = shrink * scale, shrink * share + (1.0 - shrink)
            norm = shrink * norm + (1.0 - shrink) * centre_norm
            distance_squared *= shrink * shrink
        alpha = clip(alpha, alpha1, bounds.dual_radius)
        weight += scale
        weight_centre += share
        point_total[0] += a
        point_total[1] += b
    _write_out(v, scale, share, weight, weight_centre, centre, correction, total)
    w[:] = v
    point[0], point[1], point[2] = a, b, alpha
    seen[0], seen[1] = n_positive, t
