"""SOLAM: stochastic online AUC maximisation (Ying, Wen and Lyu, NIPS 2016).

    minimise  p(1 − p)·F(w)   subject to   ‖w‖₂ ≤ R,

    F(w) = 1/(n₊n₋) Σ_{i positive} Σ_{j negative} (1 − w·(x_i − x_j))²,   p = n₊/n

as the saddle point in (w, a, b) and α of ``_saddle_point``:

    Input:    R, ξ;  w_j = R/√d, a = b = R, α = 2R
    for t = 1, 2, …:
        take a row x;  γ_t = ξ/√t;  p_t = share of positives among the rows taken so far
        descend in (w, a, b) and ascend in α by γ_t, all from the old point
        project:  ‖w‖₂ ≤ R,  |a| ≤ R,  |b| ≤ R,  |α| ≤ 2R
    Output:   Σ γ_t w_{t−1} / Σ γ_t

Use it as a convex baseline that needs no knowledge of the classes in advance. R must not be less
than the norm of the wanted w, and is also where w begins: much too large an R takes long to forget.
A step costs two sweeps over a dense row, and O(non-zeros) on a CSR row. The answer is dense.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np
import numpy.typing as npt

from .._jit import kernel, reordering_kernel
from ..objective import AUCObjective, Floats, Indices
from ..projections import project_l2_ball
from ..rows import CSR, Table, read_only
from ._epochs import Callback, Epoch, SolverResult, SparseVector
from ._online import ClassSums, Mask, aligned_zeros, dense_row, dot, refuse_weights, run_rows
from ._saddle_point import clip, saddle_point_step

# Non-zeros of CSR rows between two sweeps over all columns, as a multiple of d.
_BETWEEN_SWEEPS = 4
# The sum of iterates loses as many digits as the scale of w does.
_LEAST_SCALE = 1e-4


@reordering_kernel
def _score_and_square(x, w):  # type: ignore[no-untyped-def]
    """x·w and x·x."""
    number = w.dtype.type
    score, square = number(0), number(0)
    for j in range(w.size):
        score += x[j] * w[j]
        square += x[j] * x[j]
    return score, square


@reordering_kernel
def _average_and_step(x, gamma, move, shrink, w, total):  # type: ignore[no-untyped-def]
    """Add γ·w to ``total``, then set w to (w − move·x)·shrink."""
    number = w.dtype.type
    move, shrink = number(move), number(shrink)
    for j in range(w.size):
        total[j] += gamma * w[j]
        w[j] = (w[j] - move * x[j]) * shrink


@kernel
def _norm_after(norm_squared, move, score, square, radius):  # type: ignore[no-untyped-def]
    """‖w − move·x‖² cut at R², and the factor that the projection on the ball applies.

    Rounding in the recurrence is relative to R², as every longer w is cut back.
    """
    norm_squared += move * (move * square - 2.0 * score)
    if norm_squared > radius * radius:
        return radius * radius, radius / math.sqrt(norm_squared)
    return max(norm_squared, 0.0), 1.0


@kernel
def _dense_rows(table, rows, positive, radius, step_size, seen, w, point, total):  # type: ignore[no-untyped-def]
    """Take SOLAM's step on each row; returns the sum of the γ_t."""
    buffer = np.empty(w.size, w.dtype)
    a, b, alpha = point
    n_positive, t = seen
    mass = 0.0
    norm_squared = np.float64(dot(w, w))
    for row in rows:
        x = dense_row(table, row, buffer)
        t += 1
        n_positive += positive[row]
        gamma = step_size / math.sqrt(t)
        score, square = _score_and_square(x, w)
        move, a, b, alpha = saddle_point_step(
            positive[row], n_positive / t, score, 2.0 * gamma, a, b, alpha
        )
        norm_squared, shrink = _norm_after(norm_squared, move, score, square, radius)
        _average_and_step(x, gamma, move, shrink, w, total)
        mass += gamma
        a, b, alpha = clip(a, 0.0, radius), clip(b, 0.0, radius), clip(alpha, 0.0, 2.0 * radius)
    point[0], point[1], point[2] = a, b, alpha
    seen[0], seen[1] = n_positive, t
    return mass


@kernel
def _write_out(v, scale, weight, correction, total):  # type: ignore[no-untyped-def]
    """Set v to w = S·v, and bring the sum of iterates, K·v + correction, up to date."""
    for j in range(v.size):
        total[j] += weight * v[j] + correction[j]
        correction[j] = 0.0
        v[j] *= scale


@kernel
def _csr_rows(table, rows, positive, radius, step_size, seen, w, point, total):  # type: ignore[no-untyped-def]
    """Do the same as ``_dense_rows`` in the time of the non-zeros.

    w is kept as S·v, so that a projection changes S alone. Σ γ_t w_{t−1} is K·v with K = Σ γ_t S,
    plus a correction written wherever v changes.
    """
    data, indices, indptr = table.data, table.indices, table.indptr
    a, b, alpha = point
    n_positive, t = seen
    mass = 0.0
    v = w.astype(np.float64)
    correction = np.zeros(v.size)
    norm_squared = dot(v, v)
    scale, weight = 1.0, 0.0  # S, K
    unread = _BETWEEN_SWEEPS * v.size
    for row in rows:
        if unread <= 0 or not scale > _LEAST_SCALE:
            _write_out(v, scale, weight, correction, total)
            scale, weight = 1.0, 0.0
            norm_squared = dot(v, v)
            unread = _BETWEEN_SWEEPS * v.size
        start, stop = np.uint64(indptr[row]), np.uint64(indptr[row + 1])
        unread -= np.int64(stop - start)
        t += 1
        n_positive += positive[row]
        gamma = step_size / math.sqrt(t)
        score, square = 0.0, 0.0
        for p in range(start, stop):
            value = np.float64(data[p])
            score += value * v[np.uint64(indices[p])]
            square += value * value
        score *= scale
        move, a, b, alpha = saddle_point_step(
            positive[row], n_positive / t, score, 2.0 * gamma, a, b, alpha
        )
        weight += gamma * scale
        mass += gamma
        along = move / scale
        for p in range(start, stop):
            j = np.uint64(indices[p])
            v[j] -= along * data[p]
            correction[j] += along * weight * data[p]
        norm_squared, shrink = _norm_after(norm_squared, move, score, square, radius)
        scale *= shrink
        a, b, alpha = clip(a, 0.0, radius), clip(b, 0.0, radius), clip(alpha, 0.0, 2.0 * radius)
    _write_out(v, scale, weight, correction, total)
    w[:] = v
    point[0], point[1], point[2] = a, b, alpha
    seen[0], seen[1] = n_positive, t
    return mass


class SOLAMState:
    """SOLAM between two rows: feed it rows in as many parts as they come in.

    Minimises p(1 − p)·F(w) over ‖w‖₂ ≤ R as the module says.

    Parameters
    ----------
    n_features : int
    dtype : dtype
        Of the rows and of the coefficients.
    radius : float
        R.
    step_size : float
        ξ in γ_t = ξ/√t.
    start : array-like of shape (d,), optional
        w_0, brought into the ball; R/√d everywhere by default.

    Attributes
    ----------
    w : ndarray of shape (d,)
        w_t.
    point : ndarray of shape (3,)
        a, b and α.
    seen : ndarray of shape (2,)
        Positives, and rows, taken so far.
    sums : ClassSums
        Of the rows given to ``partial_fit``. The method does not use them; a threshold will.
    """

    def __init__(
        self,
        n_features: int,
        dtype: npt.DTypeLike,
        *,
        radius: float,
        step_size: float,
        start: npt.ArrayLike | None = None,
    ) -> None:
        self.radius, self.step_size = float(radius), float(step_size)
        self.w = aligned_zeros(n_features, dtype)
        if start is None:
            self.w[:] = self.radius / math.sqrt(n_features)
        else:
            self.w[:] = project_l2_ball(start, self.radius)
        self.point = np.array([self.radius, self.radius, 2.0 * self.radius])
        self.seen = np.zeros(2, np.int64)
        self.sums = ClassSums.none(n_features)
        # Σ γ_t w_{t−1} and Σ γ_t
        self._total = aligned_zeros(n_features, np.float64)
        self._mass = 0.0

    @property
    def coef(self) -> Floats:
        """The answer so far."""
        if self._mass == 0.0:
            return self.w.copy()
        mean: Floats = (self._total / self._mass).astype(self.w.dtype)
        return mean

    @property
    def step(self) -> float:
        """The step γ_t taken last."""
        return self.step_size / math.sqrt(max(self.seen[1], 1))

    def partial_fit(self, table: Table, positive: npt.ArrayLike) -> Self:
        """Take one step on each row, in order."""
        mask = read_only(np.asarray(positive, np.bool_))
        rows = np.arange(mask.size)
        self.advance(table, rows, mask)
        self.sums.add(table, rows, mask)
        return self

    def advance(self, table: Table, rows: Indices, positive: Mask) -> None:
        """Take one step on each of these rows."""
        take_rows = _csr_rows if isinstance(table, CSR) else _dense_rows
        self._mass += take_rows(
            table, rows, positive, self.radius, self.step_size, self.seen, self.w, self.point,
            self._total,
        )  # fmt: skip


def solam(
    objective: AUCObjective,
    *,
    radius: float = 1.0,
    step_size: float = 1.0,
    max_epochs: int = 50,
    tol: float = 1e-4,
    shuffle: bool = True,
    start: npt.ArrayLike | None = None,
    callback: Callback | None = None,
    rng: np.random.Generator | None = None,
) -> SolverResult:
    """Minimise p(1 − p)·F(w) over the ball ‖w‖₂ ≤ R by SOLAM.

    Parameters
    ----------
    objective : AUCObjective
        The data, without sample weights: the method estimates p as rows come and defines none.
    radius : float, default=1.0
        R.
    step_size : float, default=1.0
        ξ in γ_t = ξ/√t, where t counts rows over all epochs from 1.
    max_epochs : int, default=50
        Passes over the rows.
    tol : float, default=1e-4
        Stop when the answer, the mean of the iterates, moves over an epoch by less than ``tol``
        times its norm. 0 never stops.
    shuffle : bool, default=True
        Visit the rows in a fresh random order every epoch; otherwise in the given order.
    start : array-like of shape (d,), optional
        w_0, in place of R/√d everywhere.
    callback : callable, optional
        Called with an ``EpochRecord`` after each epoch; returning True ends the run.
    rng : numpy.random.Generator, optional
        Source of the random orders.

    Returns
    -------
    SolverResult
    """
    refuse_weights(objective, "SOLAM")
    state = SOLAMState(
        objective.n_features, objective.dtype, radius=radius, step_size=step_size, start=start
    )

    def advance(rows: Indices) -> Epoch:
        state.advance(objective.table, rows, objective.positive)
        return Epoch(SparseVector.of(state.coef), state.step)

    return run_rows(
        objective, "SOLAM", advance, start=state.w, step_size=step_size, max_epochs=max_epochs,
        tol=tol, shuffle=shuffle, callback=callback, rng=rng,
    )  # fmt: skip
