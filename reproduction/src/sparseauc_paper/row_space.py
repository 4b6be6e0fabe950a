"""SPAM with a ridge and SOLAM in the space of the rows: n numbers a step instead of d.

Their iterates are combinations of the rows, and of the start: w = Σ c_i x_i. All that a step needs
of w are its scores u = K c, where K holds the products of the rows with each other; a step along
row i adds a multiple of K's row i to u. w itself is written out once at the end. The answers are
those of the solvers in ``baselines`` but for rounding, as long as a run stays bounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .baselines.solam import clip, saddle_point_step
from .baselines.spam import multiplier
from .kernels import kernel, reordering_kernel

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# w is kept as scale · Σ c_i x_i; a sum of iterates loses as many digits as the scale does.
_LEAST_SCALE = 1e-4


@dataclass(frozen=True)
class RowSpace:
    """Rows of a training set, and one more of ones, from which SOLAM starts."""

    basis: Floats
    products: Floats  # of the rows with each other
    class_means: Floats  # of each row with the mean of the positives and that of the negatives
    positive: Mask

    @classmethod
    def of(cls, X: Floats, positive: Mask) -> RowSpace:
        """Compute the products of the rows of X."""
        basis = np.vstack([X, np.ones(X.shape[1])])
        products = basis @ basis.T
        rows = products[:-1, :-1]
        means = np.stack([rows[:, positive].mean(axis=1), rows[:, ~positive].mean(axis=1)], axis=1)
        return cls(basis, products, np.ascontiguousarray(means), np.ascontiguousarray(positive))

    def spam(
        self,
        points: Sequence[tuple[float, float]],
        orders: Iterable[Indices],
        *,
        average: bool,
        tol: float,
    ) -> Floats:
        """Run SPAM with each (ξ, β₂) over its rows until an epoch's last step moves little.

        Returns a column of coefficients for each, NaN where it diverged.
        """
        C = np.zeros((len(points), self.basis.shape[0]))
        data = self.products, self.class_means, self.positive
        for point, order, c in zip(points, orders, C, strict=True):
            _run_spam(*data, order, *point, average, tol, c)
        return self._write_out(C)

    def solam(
        self,
        points: Sequence[tuple[float, float]],
        orders: Iterable[Indices],
        *,
        clip_below: bool,
        tol: float,
    ) -> Floats:
        """Run SOLAM with each (ξ, R) likewise; ``clip_below`` keeps a and b above −R as well."""
        C = np.zeros((len(points), self.basis.shape[0]))
        for (xi, radius), order, c in zip(points, orders, C, strict=True):
            _run_solam(self.products, self.positive, order, xi, radius, clip_below, tol, c)
        return self._write_out(C)

    def _write_out(self, C: Floats) -> Floats:
        with np.errstate(invalid="ignore", over="ignore"):
            W: Floats = (C @ self.basis).T
        W[:, ~np.isfinite(W).all(axis=0)] = np.nan
        return W


@reordering_kernel
def _add(along, row, u):  # type: ignore[no-untyped-def]
    """Add a multiple of a row of products to the scores."""
    for j in range(u.size):
        u[j] -= along * row[j]


@reordering_kernel
def _square(products, c):  # type: ignore[no-untyped-def]
    """‖Σ c_i x_i‖²."""
    total = 0.0
    for i in range(c.size):
        if c[i] != 0.0:
            score = 0.0
            for j in range(c.size):
                score += products[i, j] * c[j]
            total += c[i] * score
    return max(total, 0.0)


@kernel
def _flush(scale, mass, c, u, total, correction):  # type: ignore[no-untyped-def]
    """Write the scale into c and u, and bring the sum of iterates up to date."""
    for i in range(c.size):
        total[i] += mass * c[i] + correction[i]
        correction[i] = 0.0
        c[i] *= scale
        u[i] *= scale


@kernel
def _run_spam(products, class_means, positive, order, xi, l2, average, tol, out):  # type: ignore[no-untyped-def]
    """SPAM without an L1 penalty; writes the coefficients of the rows."""
    # The sum of iterates is mass · c, with mass the sum of the scales since it was last written
    # out, plus a correction wherever c has changed.
    n = positive.size
    ratio = positive.sum() / n
    c, u = np.zeros(n), np.zeros(n)
    total, correction = np.zeros(n), np.zeros(n)
    scale, mass = 1.0, 0.0
    on_positive, on_negative = 0.0, 0.0
    t = 0
    while t < order.size:
        row = order[t]
        t += 1
        step = xi / math.sqrt(t)
        score = scale * u[row]
        other = on_negative if positive[row] else on_positive
        move = step * multiplier(positive[row], score - other, ratio)
        shrink = 1.0 / (1.0 + step * l2)
        stopped = False
        if t % n == 0 and tol > 0.0:
            length = 0.0
            for i in range(n):
                length += c[i] * u[i]
            length *= scale * scale
            loss = 1.0 - shrink
            moved = loss * loss * length + 2.0 * loss * shrink * move * score
            moved += shrink * shrink * move * move * products[row, row]
            stopped = length > 0.0 and moved <= tol * tol * length
        along = move / scale
        c[row] -= along
        correction[row] += along * mass
        _add(along, products[row, :n], u)
        on_positive = (on_positive - move * class_means[row, 0]) * shrink
        on_negative = (on_negative - move * class_means[row, 1]) * shrink
        scale *= shrink
        mass += scale
        if scale < _LEAST_SCALE or t % n == 0:
            _flush(scale, mass, c, u, total, correction)
            scale, mass = 1.0, 0.0
        if stopped or (t % n == 0 and not np.isfinite(on_positive + on_negative)):
            break
    for i in range(n):
        out[i] = total[i] / t if average else c[i]


@kernel
def _run_solam(products, positive, order, xi, radius, clip_below, tol, out):  # type: ignore[no-untyped-def]
    """SOLAM; writes the coefficients of the rows and, last, of the ones that it starts from."""
    n, size = positive.size, out.size
    c, total, correction = np.zeros(size), np.zeros(size), np.zeros(size)
    # ‖w‖ = R at the start; products of the ones with themselves are the number of columns.
    c[n] = radius / math.sqrt(products[n, n])
    u = c[n] * products[n]
    norm_squared = radius * radius
    a, b, alpha = radius, radius, 2.0 * radius
    scale, mass, sum_of_steps = 1.0, 0.0, 0.0
    n_positive, t = 0, 0
    while t < order.size:
        row = order[t]
        t += 1
        n_positive += positive[row]
        gamma = xi / math.sqrt(t)
        score = scale * u[row]
        move, a, b, alpha = saddle_point_step(
            positive[row], n_positive / t, score, 2.0 * gamma, a, b, alpha
        )
        mass += gamma * scale
        sum_of_steps += gamma
        stopped = False
        if t % n == 0 and tol > 0.0:
            # The answer now less the answer before, (γ/Γ)(w − before), against the latter.
            _flush(scale, mass, c, u, total, correction)
            scale, mass = 1.0, 0.0
            before = (total - gamma * c) / (sum_of_steps - gamma)
            length = _square(products, before)
            moved = (gamma / sum_of_steps) ** 2 * _square(products, c - before)
            stopped = length > 0.0 and moved <= tol * tol * length
        along = move / scale
        c[row] -= along
        correction[row] += along * mass
        _add(along, products[row], u)
        norm_squared += move * (move * products[row, row] - 2.0 * score)
        if norm_squared > radius * radius:
            scale *= radius / math.sqrt(norm_squared)
            norm_squared = radius * radius
        norm_squared = max(norm_squared, 0.0)
        lowest = -radius if clip_below else -np.inf
        a, b = max(min(a, radius), lowest), max(min(b, radius), lowest)
        alpha = clip(alpha, 0.0, 2.0 * radius)
        if scale < _LEAST_SCALE or t % n == 0:
            _flush(scale, mass, c, u, total, correction)
            scale, mass = 1.0, 0.0
        if stopped:
            break
    for i in range(size):
        out[i] = total[i] / sum_of_steps
