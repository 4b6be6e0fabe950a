"""OPAUC: one pass, one row a step, the other class remembered by its centre and covariance.

    minimise  F(w) + alpha‖w‖²,   F(w) = 1/(n₊n₋) Σ_{i positive} Σ_{j negative} (1 − w·(x_i − x_j))²

    for each row x with label y = ±1:
        let c and S be centre and covariance of the rows of the other class so far
        w ← w − η (alpha·w + (x − c)((x − c)·w − y) + S w)
    Output: the last w

The bracket is half the gradient over the pairs that x forms with all earlier rows of the other
class, exactly, although no row is kept (Gao, Jin, Zhu and Zhou, 2013). There is no step until both
classes were seen.

Use it on a stream that can be read once only. The answer is dense. A step costs O(d²), and so does
the memory; beyond some thousand columns random sketches of low rank stand in for the covariances,
O(d·rank) each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

from .._jit import REORDER, kernel
from ..objective import AUCObjective, Floats, Indices
from ..rows import Table, add_rows, read_only
from ._epochs import Callback, Epoch, SolverResult, SparseVector, run_epochs

Doubles = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

# Rows between two looks at w: an overflow or an interruption waits no longer than that, and no
# more random vectors are drawn at a time.
_CHUNK = 256


def _reordering(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile as part of a kernel; sums may be reordered, so that they are vectorised."""
    part: Callable[..., Any] = register_jitable(fastmath=REORDER)(function)
    return part


# -------------------------------------------------- the row's own class, and S of the other times w


@_reordering
def _move_centre(x, share, centre, gap):  # type: ignore[no-untyped-def]
    """``gap = x − centre``, then ``centre += share · gap``; returns ‖gap‖²."""
    total = 0.0
    for j in range(x.size):
        gap[j] = x[j] - centre[j]
        centre[j] += share * gap[j]
        total += gap[j] * gap[j]
    return total


@_reordering
def _fold_triangle_row(own, other, factor, gap, w_i, w, product):  # type: ignore[no-untyped-def]
    """Update a row left of the diagonal; multiply the other one as a row and as a column."""
    total = w.dtype.type(0)
    for j in range(own.size):
        own[j] += factor * gap[j]
        total += other[j] * w[j]
        product[j] += other[j] * w_i
    return total


@kernel
def _fold_scatter(own, other, gap, kept, w, product):  # type: ignore[no-untyped-def]
    """``own += kept · gap gapᵀ`` and ``product = other · w``, in one sweep over both.

    The matrices are symmetric: their lower triangles alone are stored, row after row.
    """
    start = 0
    for i in range(w.size):
        stop = start + i
        factor = kept * gap[i]
        product[i] = other[stop] * w[i] + _fold_triangle_row(
            own[start:stop], other[start:stop], factor, gap, w[i], w, product
        )
        own[stop] += factor * gap[i]
        start = stop + 1


@_reordering
def _dot(a, b):  # type: ignore[no-untyped-def]
    total = a.dtype.type(0)
    for q in range(a.size):
        total += a[q] * b[q]
    return total


@kernel
def _fold_sketch(own, other, gap, direction, w, scores, product):  # type: ignore[no-untyped-def]
    """``own += gap directionᵀ`` and ``product = other otherᵀ w``."""
    scores[:] = 0
    for j in range(w.size):
        for q in range(scores.size):
            own[j, q] += gap[j] * direction[q]
            scores[q] += other[j, q] * w[j]
    for j in range(w.size):
        product[j] = _dot(other[j], scores)


# ----------------------------------------------------------------------------------- the iteration


@_reordering
def _compare(x, centre, w):  # type: ignore[no-untyped-def]
    """``x −= centre``; returns x·w and ‖x‖²."""
    score = 0.0
    distance = 0.0
    for j in range(x.size):
        x[j] -= centre[j]
        score += x[j] * w[j]
        distance += x[j] * x[j]
    return score, distance


@kernel
def _descend_rows(  # type: ignore[no-untyped-def]
    table, rows, positive, step_size, alpha, counts, centres, spreads,
    scatters, sketches, sums, draws, w, x, gap, product,
):  # fmt: skip
    """Take one step for each row, in order; returns the last step size.

    Classes are indexed 0 for positives and 1 for negatives. A ``step_size`` of 0 stands for the
    automatic one. ``draws`` holds a random vector for each row; without columns, S is exact.
    ``x``, ``gap`` and ``product`` are scratch space.
    """
    number = w.dtype.type
    once = np.ones(1, w.dtype)
    rank = draws.shape[1]
    direction = np.empty(rank, w.dtype)
    scores = np.empty(rank, w.dtype)
    step = step_size
    for i in range(rows.size):
        x[:] = 0
        add_rows(table, rows[i : i + 1], once, x)
        own = 0 if positive[rows[i]] else 1
        other = 1 - own
        counts[own] += 1
        share = number(1.0 / counts[own])
        kept = number(1.0 - 1.0 / counts[own])
        spreads[own] += kept * _move_centre(x, share, centres[own], gap)
        if rank == 0:
            _fold_scatter(scatters[own], scatters[other], gap, kept, w, product)
        else:
            # Z = Σ (x_i − c) r_iᵀ about a centre that has moved: the new row joins, the old rows
            # are shifted, and both are multiples of the gap.
            for q in range(rank):
                direction[q] = kept * draws[i, q] - share * sums[own, q]
                sums[own, q] += draws[i, q]
            _fold_sketch(sketches[own], sketches[other], gap, direction, w, scores, product)
        if counts[other] == 0:
            continue
        score, distance = _compare(x, centres[other], w)
        if step_size == 0.0:
            # Half of 1 / (a bound of this step's curvature), never of less than a usual row's.
            usual = spreads[own] / counts[own]
            bound = max(distance, usual) + spreads[other] / counts[other] + alpha
            step = 0.5 / bound if bound > 0 else 0.0
        pull = number(step * (score - (1.0 if own == 0 else -1.0)))
        decay = number(1.0 - step * alpha)
        turn = number(step / counts[other])
        for j in range(w.size):
            w[j] = decay * w[j] - pull * x[j] - turn * product[j]
    return step


class OPAUCState:
    """OPAUC between two rows: feed it rows in as many parts as they come in.

    Minimises F(w) + alpha‖w‖² as the module says.

    Parameters
    ----------
    n_features : int
    dtype : dtype
        Of the coefficients and of all that is remembered.
    step_size, alpha, rank, exact_limit, start
        As in :func:`opauc`.
    rng : numpy.random.Generator
        Source of the sketches.

    Attributes
    ----------
    w : ndarray of shape (d,)
        The present iterate.
    counts : ndarray of shape (2,)
        Rows seen, of positives and of negatives.
    centres : ndarray of shape (2, d)
        Their means, zeros for a class not seen yet.
    step : float
        The step size used last.
    """

    def __init__(
        self,
        n_features: int,
        dtype: npt.DTypeLike,
        *,
        step_size: float | Literal["auto"] = "auto",
        alpha: float = 1e-4,
        rank: int = 50,
        exact_limit: int = 5000,
        start: npt.ArrayLike | None = None,
        rng: np.random.Generator,
    ) -> None:
        self._step_size = 0.0 if isinstance(step_size, str) else float(step_size)
        self._alpha = float(alpha)
        self._rng = rng
        exact = n_features <= exact_limit
        self._rank = 0 if exact else rank
        self.w: Floats = np.zeros(n_features, dtype)
        if start is not None:
            self.w[:] = start
        self.counts = np.zeros(2, np.int64)
        self.centres: Floats = np.zeros((2, n_features), dtype)
        self.step = self._step_size
        # Σ ‖x − c‖², the trace of the scatter Σ (x − c)(x − c)ᵀ.
        self._spreads = np.zeros(2)
        triangle = n_features * (n_features + 1) // 2 if exact else 0
        self._scatters: Floats = np.zeros((2, triangle), dtype)
        # Z = Σ (x − c) rᵀ, whose ZZᵀ has the scatter as its mean, and Σ r.
        self._sketches: Floats = np.zeros((2, 0 if exact else n_features, self._rank), dtype)
        self._sums: Floats = np.zeros((2, self._rank), dtype)

    def partial_fit(self, table: Table, positive: npt.ArrayLike) -> Self:
        """Take one step on each row, in order."""
        mask = read_only(np.asarray(positive, np.bool_))
        self.advance(table, np.arange(mask.size), mask)
        return self

    def advance(self, table: Table, rows: Indices, positive: Mask) -> None:
        """Take one step on each of these rows."""
        scratch: Floats = np.empty((3, self.w.size), self.w.dtype)
        for first in range(0, rows.size, _CHUNK):
            chunk = rows[first : first + _CHUNK]
            self.step = _descend_rows(
                table, chunk, positive, self._step_size, self._alpha,
                self.counts, self.centres, self._spreads, self._scatters,
                self._sketches, self._sums, self._draw(chunk.size), self.w, *scratch,
            )  # fmt: skip
            if not np.isfinite(self.w).all():
                raise ValueError(
                    f"OPAUC diverged within {self.counts.sum()} rows with "
                    f"step_size={self.step:g}: give a smaller one, or rescale the columns"
                )

    def _draw(self, n_rows: int) -> Floats:
        """Draw r with E[r·r] = 1 for each row; the same numbers however the rows are parted."""
        draws: Floats = self._rng.standard_normal((n_rows, self._rank))
        return (draws / math.sqrt(max(self._rank, 1))).astype(self.w.dtype)

    def run(
        self,
        objective: AUCObjective,
        *,
        max_epochs: int,
        tol: float,
        shuffle: bool,
        callback: Callback | None,
        rng: np.random.Generator,
    ) -> SolverResult:
        """Read a whole table, ``max_epochs`` times; the arguments are those of :func:`opauc`."""
        if objective.weight.size:
            raise ValueError("OPAUC defines no sample weights: leave them out, or repeat rows")
        rows = np.arange(objective.n_rows)

        def run_epoch(_: int) -> Epoch:
            order = rng.permutation(rows) if shuffle else rows
            self.advance(objective.table, order, objective.positive)
            return Epoch(SparseVector.of(self.w), self.step)

        return run_epochs(
            objective, run_epoch, start=SparseVector.of(self.w), max_epochs=max_epochs, tol=tol,
            callback=callback,
        )  # fmt: skip


def opauc(
    objective: AUCObjective,
    *,
    step_size: float | Literal["auto"] = "auto",
    alpha: float = 1e-4,
    rank: int = 50,
    exact_limit: int = 5000,
    max_epochs: int = 1,
    tol: float = 1e-4,
    shuffle: bool = True,
    start: npt.ArrayLike | None = None,
    callback: Callback | None = None,
    rng: np.random.Generator | None = None,
) -> SolverResult:
    """Minimise F(w) + alpha‖w‖² row by row, in one pass.

    Parameters
    ----------
    objective : AUCObjective
        The data, without sample weights: the method defines none.
    step_size : float or "auto", default="auto"
        η, the same in every step. ``"auto"`` needs no look at the data in advance; see Notes.
    alpha : float, default=1e-4
        Ridge, λ in the method's paper.
    rank : int, default=50
        Columns of the sketches, τ in the method's paper.
    exact_limit : int, default=5000
        With more columns than this, covariances are sketched.
    max_epochs : int, default=1
        Passes over the rows; the class moments go on counting.
    tol : float, default=1e-4
        Stop before that when w moves over an epoch by less than ``tol`` times its norm. With a
        constant step it seldom does.
    shuffle : bool, default=True
        Visit the rows in a fresh random order every epoch; otherwise in the given order.
    start : array-like of shape (d,), optional
        The first w, zero by default.
    callback : callable, optional
        Called with an ``EpochRecord`` after each epoch; returning True ends the run.
    rng : numpy.random.Generator, optional
        Source of the orders and of the sketches.

    Returns
    -------
    SolverResult
        The last iterate.

    Notes
    -----
    The curvature of a step, the largest eigenvalue of (x − c)(x − c)ᵀ + S + alpha·I, is at most
    ‖x − c‖² + tr S + alpha. The automatic step is half of one over this bound, computed from the
    rows so far, with tr S of the row's own class in place of ‖x − c‖² where that is smaller. So no
    step overshoots, whatever the scale of the columns; and it soon becomes as good as constant,
    at about 1/(2 tr(S₊ + S₋)).

    A sketch replaces the scatter Σ (x_i − c)(x_i − c)ᵀ by ZZᵀ with Z = Σ (x_i − c) r_iᵀ and
    r_i ~ N(0, I/rank): positive semi-definite, and right on average. The published programs sketch
    the rows as they are and correct for the centre afterwards: one of them adds the correction
    instead of subtracting it, and both take ‖r̄‖²ccᵀ, which is only 1/n of what is needed.
    Here the sketch itself is centred.
    """
    rng = np.random.default_rng() if rng is None else rng
    state = OPAUCState(
        objective.n_features, objective.dtype, step_size=step_size, alpha=alpha, rank=rank,
        exact_limit=exact_limit, start=start, rng=rng.spawn(1)[0],
    )  # fmt: skip
    return state.run(
        objective, max_epochs=max_epochs, tol=tol, shuffle=shuffle, callback=callback, rng=rng
    )
