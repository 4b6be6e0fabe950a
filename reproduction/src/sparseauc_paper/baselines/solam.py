"""SOLAM: stochastic online AUC maximisation (Ying, Wen and Lyu, NIPS 2016).

    minimise  p(1 − p)·F(w)   subject to   ‖w‖₂ ≤ R,

    F(w) = 1/(n₊n₋) Σ_{i positive} Σ_{j negative} (1 − w·(x_i − x_j))²,   p = n₊/n

as a saddle point in (w, a, b) and α. p(1 − p)·F(w) is the mean over rows of

    (1 − p)(w·x − a)² − 2(1 − p)(1 + α) w·x − p(1 − p)α²     on a positive row
    p(w·x − b)² + 2p(1 + α) w·x − p(1 − p)α²                 on a negative row

at its minimum over a and b and its maximum over α, up to a constant. They are reached at a = w·x̄₊,
b = w·x̄₋ and α = w·(x̄₋ − x̄₊), so the means need not be known.

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

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval, StrOptions

from ..arrays import Array, Floats, Indices, Mask
from ..epochs import SolverResult
from ..kernels import kernel, reordering_kernel
from ..objective import AUCObjective
from ..projections import project_l2_ball
from ..rows import Table
from .online import (
    BETWEEN_SWEEPS,
    LEAST_SCALE,
    RowState,
    UnweightedClassifier,
    column_at,
    dot,
    find_max_norm,
    read_row,
)


@kernel
def saddle_point_step(is_positive, p, score, step, a, b, alpha):  # type: ignore[no-untyped-def]
    """Descend in (w, a, b) and ascend in α along *half* the gradient at a row with this score.

    FSAUC defines its gradient so; SOLAM's step γ along the whole gradient is the step 2γ here.
    Returns the factor ``move`` of w ← w − move·x, and a, b and α before any projection.
    """
    if is_positive:
        share = 1.0 - p
        move = step * share * (score - a - 1.0 - alpha)
        a += step * share * (score - a)
        ascent = -share * score
    else:
        share = p
        move = step * share * (score - b + 1.0 + alpha)
        b += step * share * (score - b)
        ascent = share * score
    return move, a, b, alpha + step * (ascent - p * (1.0 - p) * alpha)


@kernel
def clip(value, centre, radius):  # type: ignore[no-untyped-def]
    """Nearest number to ``value`` within ``radius`` of ``centre``."""
    return min(max(value, centre - radius), centre + radius)


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
def _write_out(v, scale, weight, total):  # type: ignore[no-untyped-def]
    """Set v to w = S·v, and bring the sum of iterates up to date."""
    for j in range(v.size):
        total[j] += weight * v[j]
        v[j] *= scale


@reordering_kernel
def _descend_rows(table, rows, positive, run):  # type: ignore[no-untyped-def]
    """Take SOLAM's step on each row, in the time of its non-zeros; returns the sum of the γ_t.

    w is kept as S·v, so that a projection changes S alone. ``total`` is Σ γ_t w_{t−1} but for K·v
    with K = Σ γ_t S, so it changes only where v does.
    """
    v, point, seen, total = run.w, run.point, run.seen, run.total
    radius, limit = run.radius, run.limit
    number = v.dtype.type
    buffer = np.empty(v.size, v.dtype)
    a, b, alpha = point
    n_positive, t = seen
    mass, norm_squared = 0.0, 0.0
    scale, weight, unread = 1.0, 0.0, 0  # S, K, entries until the next sweep
    for row in rows:
        if unread <= 0 or not scale > LEAST_SCALE:
            _write_out(v, scale, weight, total)
            scale, weight = 1.0, 0.0
            norm_squared = np.float64(dot(v, v))
            unread = BETWEEN_SWEEPS * v.size
        start, stop, x = read_row(table, row, buffer)
        unread -= np.int64(stop - start)
        t += 1
        n_positive += positive[row]
        gamma = run.step_size / math.sqrt(t)
        product, square = number(0), number(0)
        for p in range(start, stop):
            j = column_at(table, p)
            product += x[p] * v[j]
            square += x[p] * x[p]
        score = scale * product
        move, a, b, alpha = saddle_point_step(
            positive[row], n_positive / t, score, 2.0 * gamma, a, b, alpha
        )
        weight += gamma * scale
        mass += gamma
        along = number(move / scale)
        in_sum = along * weight
        for p in range(start, stop):
            j = column_at(table, p)
            v[j] -= along * x[p]
            total[j] += in_sum * x[p]
        norm_squared, shrink = _norm_after(norm_squared, move, score, square, radius)
        scale *= shrink
        a, b, alpha = clip(a, 0.0, limit), clip(b, 0.0, limit), clip(alpha, 0.0, 2.0 * limit)
    _write_out(v, scale, weight, total)
    point[0], point[1], point[2] = a, b, alpha
    seen[0], seen[1] = n_positive, t
    return mass


class BallState(RowState):
    """SOLAM or FSAUC between two rows: the ``point`` is a, b and α.

    ``seen`` counts positives and rows. ``start`` is projected on the ball.
    """

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
        self.radius, self.max_norm = float(radius), float(max_norm)
        self.point, self.seen = np.zeros(3), np.zeros(2, np.int64)
        self._begin(start)

    @abstractmethod
    def _begin(self, start: npt.ArrayLike | None) -> None:
        """Set where w and the point begin."""


class SOLAMState(BallState):
    """SOLAM between two rows; it does without class sums, but a threshold needs them."""

    method = "SOLAM"

    def _begin(self, start: npt.ArrayLike | None) -> None:
        self.limit = self.radius * self.max_norm
        if start is None:
            self.w[:] = self.radius / math.sqrt(self.w.size)
        else:
            self.w[:] = project_l2_ball(start, self.radius)
        self.point[:] = self.limit, self.limit, 2.0 * self.limit

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
        run = _Run(
            self.radius, self.limit, self.step_size, self.seen, self.w, self.point, self._total
        )
        self._mass += _descend_rows(table, rows, positive, run)


def solam(objective: AUCObjective, *, step_size: float = 1.0, **settings: Any) -> SolverResult:
    """Minimise p(1 − p)·F(w) over the ball ‖w‖₂ ≤ R by SOLAM.

    Parameters
    ----------
    objective : AUCObjective
        The data, without sample weights.
    step_size : float, default=1.0
        ξ in the steps ξ/√t.
    **settings
        ``radius`` and ``max_norm``, as for :class:`sparseauc_paper.baselines.SOLAMClassifier`;
        ``start``, array-like of shape (d,): w_0, R/√d everywhere by default; ``max_epochs``,
        ``tol``, ``shuffle``, ``callback`` and ``rng``, as in :func:`sparseauc.solvers.sht_auc`.

    Returns
    -------
    SolverResult
    """
    return run_in_ball(SOLAMState, objective, step_size, **settings)


def run_in_ball(
    state_type: type[BallState],
    objective: AUCObjective,
    step_size: float,
    *,
    radius: float = 1.0,
    max_norm: float | Literal["auto"] = "auto",
    start: npt.ArrayLike | None = None,
    **epochs: Any,
) -> SolverResult:
    """Run SOLAM or FSAUC on an objective."""
    state = state_type(
        objective.n_features, objective.dtype, radius=radius, step_size=step_size,
        max_norm=find_max_norm(max_norm, objective.table), start=start,
    )  # fmt: skip
    return state.run(objective, **epochs)


@dataclass(kw_only=True, eq=False, repr=False)
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

    radius: float = field(default=1.0, kw_only=False)
    max_norm: float | Literal["auto"] = "auto"

    _parameter_constraints = UnweightedClassifier._parameter_constraints | {
        "radius": [Interval(Real, 0, None, closed="neither")],
        "max_norm": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
    }

    _state_type: ClassVar[Callable[..., RowState]] = SOLAMState

    def _settings(self, table: Table, rng: np.random.Generator) -> dict[str, Any]:  # noqa: ARG002
        max_norm = find_max_norm(self.max_norm, table)
        return {"radius": self.radius, "max_norm": max_norm, "step_size": self._step(table)}
