"""SOLAM: stochastic online AUC maximisation (Ying, Wen and Lyu, NIPS 2016).

    minimise  p(1 − p)·F(w)   subject to   ‖w‖₂ ≤ R,

    F(w) = 1/(n₊n₋) Σ_{i positive} Σ_{j negative} (1 − w·(x_i − x_j))²,   p = n₊/n

as the saddle point in (w, a, b) and α of ``_saddle_point``:

    Input:    R, ξ, κ = max ‖x‖₂;  w_j = R/√d, a = b = Rκ, α = 2Rκ
    for t = 1, 2, …:
        take a row x;  γ_t = ξ/√t;  p_t = share of positives among the rows taken so far
        descend in (w, a, b) and ascend in α by γ_t, all from the old point
        project:  ‖w‖₂ ≤ R,  |a| ≤ Rκ,  |b| ≤ Rκ,  |α| ≤ 2Rκ
    Output:   Σ γ_t w_{t−1} / Σ γ_t

R must be at least the norm of the wanted w. It is also where w begins, so with much too large an R
the method needs many rows. A step costs two sweeps over a dense row, and O(non-zeros) on a CSR row.
The answer is dense.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval, StrOptions

from .._jit import kernel, reordering_kernel
from ..objective import Array, AUCObjective, Floats, Indices, Mask
from ..projections import project_l2_ball
from ..rows import CSR, Table
from ..solvers._epochs import SolverResult
from ._online import (
    BETWEEN_SWEEPS,
    LEAST_SCALE,
    RowState,
    UnweightedClassifier,
    dense_row,
    dot,
    find_max_norm,
)
from ._saddle_point import clip, saddle_point_step


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


class _Run(NamedTuple):
    """What holds throughout, R, Rκ and ξ, and what changes with every row, with Σ γ_t w_{t−1}."""

    radius: float
    limit: float
    step_size: float
    seen: Indices
    w: Floats
    point: Array
    total: Floats


@kernel
def _dense_rows(table, rows, positive, run):  # type: ignore[no-untyped-def]
    """Take SOLAM's step on each row; returns the sum of the γ_t."""
    w, point, seen, total = run.w, run.point, run.seen, run.total
    radius, limit = run.radius, run.limit
    buffer = np.empty(w.size, w.dtype)
    a, b, alpha = point
    n_positive, t = seen
    mass = 0.0
    norm_squared = np.float64(dot(w, w))
    for row in rows:
        x = dense_row(table, row, buffer)
        t += 1
        n_positive += positive[row]
        gamma = run.step_size / math.sqrt(t)
        score, square = _score_and_square(x, w)
        move, a, b, alpha = saddle_point_step(
            positive[row], n_positive / t, score, 2.0 * gamma, a, b, alpha
        )
        norm_squared, shrink = _norm_after(norm_squared, move, score, square, radius)
        _average_and_step(x, gamma, move, shrink, w, total)
        mass += gamma
        a, b, alpha = clip(a, 0.0, limit), clip(b, 0.0, limit), clip(alpha, 0.0, 2.0 * limit)
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
def _csr_rows(table, rows, positive, run):  # type: ignore[no-untyped-def]
    """Do the same as ``_dense_rows`` in the time of the non-zeros.

    w is kept as S·v, so that a projection changes S alone. Σ γ_t w_{t−1} is K·v with K = Σ γ_t S,
    plus a correction written wherever v changes.
    """
    data, indices, indptr = table.data, table.indices, table.indptr
    w, point, seen, total = run.w, run.point, run.seen, run.total
    radius, limit = run.radius, run.limit
    a, b, alpha = point
    n_positive, t = seen
    mass = 0.0
    v = w.astype(np.float64)
    correction = np.zeros(v.size)
    norm_squared = dot(v, v)
    scale, weight = 1.0, 0.0  # S, K
    unread = BETWEEN_SWEEPS * v.size
    for row in rows:
        if unread <= 0 or not scale > LEAST_SCALE:
            _write_out(v, scale, weight, correction, total)
            scale, weight = 1.0, 0.0
            norm_squared = dot(v, v)
            unread = BETWEEN_SWEEPS * v.size
        start, stop = np.uint64(indptr[row]), np.uint64(indptr[row + 1])
        unread -= np.int64(stop - start)
        t += 1
        n_positive += positive[row]
        gamma = run.step_size / math.sqrt(t)
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
        a, b, alpha = clip(a, 0.0, limit), clip(b, 0.0, limit), clip(alpha, 0.0, 2.0 * limit)
    _write_out(v, scale, weight, correction, total)
    w[:] = v
    point[0], point[1], point[2] = a, b, alpha
    seen[0], seen[1] = n_positive, t
    return mass


class SOLAMState(RowState):
    """SOLAM between two rows: w, the ``point`` a, b and α, and positives and rows ``seen``.

    ``start`` is projected on the ball. The method does without class sums; a threshold needs them.
    """

    method = "SOLAM"

    def __init__(
        self,
        n_features: int,
        dtype: npt.DTypeLike,
        *,
        radius: float,
        step_size: float,
        max_norm: float,
        start: npt.ArrayLike | None = None,
    ) -> None:
        super().__init__(n_features, dtype, step_size)
        self.radius, self.limit = float(radius), float(radius) * float(max_norm)
        if start is None:
            self.w[:] = self.radius / math.sqrt(n_features)
        else:
            self.w[:] = project_l2_ball(start, self.radius)
        self.point = np.array([self.limit, self.limit, 2.0 * self.limit])
        self.seen = np.zeros(2, np.int64)

    @property
    def step(self) -> float:
        """The step γ_t taken last."""
        return self.step_size / math.sqrt(max(self.seen[1], 1))

    def partial_fit(self, table: Table, positive: npt.ArrayLike) -> Self:
        """Take one step on each row, in order."""
        mask = np.asarray(positive, np.bool_)
        self.sums.add(table, np.arange(mask.size), mask)
        return super().partial_fit(table, mask)

    def advance(self, table: Table, rows: Indices, positive: Mask) -> None:
        """Take one step on each of these rows."""
        take_rows = _csr_rows if isinstance(table, CSR) else _dense_rows
        run = _Run(
            self.radius, self.limit, self.step_size, self.seen, self.w, self.point, self._total
        )
        self._mass += take_rows(table, rows, positive, run)


def solam(
    objective: AUCObjective,
    *,
    radius: float = 1.0,
    step_size: float = 1.0,
    max_norm: float | Literal["auto"] = "auto",
    start: npt.ArrayLike | None = None,
    **epochs: Any,
) -> SolverResult:
    """Minimise p(1 − p)·F(w) over the ball ‖w‖₂ ≤ R by SOLAM.

    Parameters
    ----------
    objective : AUCObjective
        The data, without sample weights.
    radius, step_size, max_norm
        As for :class:`sparseauc.SOLAMClassifier`, with ``step_size`` a number.
    start : array-like of shape (d,), optional
        w_0; R/√d everywhere by default.
    **epochs
        ``max_epochs``, ``tol``, ``shuffle``, ``callback`` and ``rng``, as in
        :func:`sparseauc.solvers.sht_auc`.

    Returns
    -------
    SolverResult
    """
    state = SOLAMState(
        objective.n_features, objective.dtype, radius=radius, step_size=step_size,
        max_norm=find_max_norm(max_norm, objective.table), start=start,
    )  # fmt: skip
    return state.run(objective, **epochs)


class SOLAMClassifier(UnweightedClassifier):
    """Rank positives above negatives online, as a saddle point, with ‖w‖₂ ≤ radius.

    Minimises p(1 − p)·F(w), F the squared pairwise loss and p the running share of positives, by
    stochastic primal-dual steps; returns the weighted mean of the iterates. The method defines no
    sample weights.

    Parameters
    ----------
    radius : float, default=1.0
        R, bound on the Euclidean norm of the coefficients.
    step_size : float or "auto", default="auto"
        ξ in the steps ξ/√t. ``"auto"`` is one over the mean squared length of the rows.
    max_norm : float or "auto", default="auto"
        κ, a bound on the norm of the rows, which bounds the auxiliary variables. ``"auto"`` is the
        norm of the longest row. The programs published with SHT-AUC use 1, whatever the rows.
    zero_threshold, max_epochs, tol, shuffle, warm_start, record_history, random_state, verbose
        As for :class:`SPAMClassifier`.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, history_, objective_, n_features_in_, feature_names_in_
        As for :class:`SPAMClassifier`.

    References
    ----------
    Y. Ying, L. Wen and S. Lyu, "Stochastic online AUC maximization", NIPS 2016.
    """

    _parameter_constraints = UnweightedClassifier._parameter_constraints | {
        "radius": [Interval(Real, 0, None, closed="neither")],
        "max_norm": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
    }

    _descends_from_zero = False
    _state_type: ClassVar[Callable[..., RowState]] = SOLAMState

    def __init__(
        self,
        radius: float = 1.0,
        *,
        step_size: float | Literal["auto"] = "auto",
        max_norm: float | Literal["auto"] = "auto",
        zero_threshold: float = 0.0,
        max_epochs: int = 50,
        tol: float = 1e-4,
        shuffle: bool = True,
        warm_start: bool = False,
        record_history: bool = True,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.radius = radius
        self.step_size = step_size
        self.max_norm = max_norm
        self.zero_threshold = zero_threshold
        self.max_epochs = max_epochs
        self.tol = tol
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.record_history = record_history
        self.random_state = random_state
        self.verbose = verbose

    def _settings(self, table: Table, rng: np.random.Generator) -> dict[str, Any]:  # noqa: ARG002
        max_norm = find_max_norm(self.max_norm, table)
        return {"radius": self.radius, "max_norm": max_norm, "step_size": self._step(table)}
