"""SOLAM: stochastic online AUC maximisation (Ying, Wen and Lyu, NIPS 2016).

    minimise  p(1 − p)·F(w)   subject to   ‖w‖₂ ≤ R,

    F(w) = 1/(n₊n₋) Σ_{i positive} Σ_{j negative} (1 − w·(x_i − x_j))²,   p = n₊/n

as a saddle point in (w, a, b) and α. p(1 − p)·F(w) is the mean over rows of

    (1 − p)(w·x − a)² − 2(1 − p)(1 + α) w·x − p(1 − p)α²     on a positive row
    p(w·x − b)² + 2p(1 + α) w·x − p(1 − p)α²                 on a negative row

at its minimum over a and b and its maximum over α, up to a constant. They are reached
at a = w·x̄₊, b = w·x̄₋ and α = w·(x̄₋ − x̄₊), so the means need not be known.

    Input:    R, ξ, κ = max ‖x‖₂;  w_j = R/√d, a = b = Rκ, α = 2Rκ
    for t = 1, 2, …:
        take a row x;  γ_t = ξ/√t;  p_t = share of positives among the rows taken so far
        descend in (w, a, b) and ascend in α by γ_t, all from the old point
        project:  ‖w‖₂ ≤ R,  |a| ≤ Rκ,  |b| ≤ Rκ,  |α| ≤ 2Rκ
    Output:   Σ γ_t w_{t−1} / Σ γ_t

R must be at least the norm of the wanted w. It is also where w begins, so with much too
large an R the method needs many rows. A step costs two or three sweeps over the
columns. The answer is dense.
"""

import math
from dataclasses import dataclass, field
from numbers import Real
from typing import Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..arrays import Array, Indices, kernel, reordering_kernel
from ..objective import AUCObjective
from ..thresholding import Solver
from .classifier import OnlineClassifier, RowSolver, row_norms


@kernel
def saddle_point_step(is_positive, p, score, step, a, b, alpha):  # type: ignore[no-untyped-def]
    """Descend in (w, a, b) and ascend in α along *half* the gradient at a row with this score.

    FSAUC defines its gradient so; SOLAM's step γ along the whole gradient is the step
    2γ here. Returns the factor ``move`` of w ← w − move·x, and a, b and α before any
    projection.
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


@reordering_kernel
def _take_steps(X, positive, rows, xi, radius, limit, lowest, t, w, total, point):  # type: ignore[no-untyped-def]
    """Take SOLAM's step on each row, the first of which is step t + 1."""
    a, b, alpha, n_positive, mass = point
    for row in rows:
        x = X[row]
        t += 1
        n_positive += positive[row]
        gamma = xi / math.sqrt(t)
        mass += gamma
        score = 0.0
        for j in range(w.size):
            score += w[j] * x[j]
            total[j] += gamma * w[j]
        move, a, b, alpha = saddle_point_step(
            positive[row], n_positive / t, score, 2.0 * gamma, a, b, alpha
        )
        square = 0.0
        for j in range(w.size):
            w[j] -= move * x[j]
            square += w[j] * w[j]
        if square > radius * radius:
            w *= radius / math.sqrt(square)
        a, b = max(min(a, limit), lowest), max(min(b, limit), lowest)
        alpha = clip(alpha, 0.0, 2.0 * limit)
    point[:] = a, b, alpha, n_positive, mass


class SOLAM(RowSolver):
    """A run of SOLAM; its programs bound a and b from above only: ``clip_below`` is false then."""

    def __init__(
        self,
        objective: AUCObjective,
        *,
        radius: float,
        step_size: float,
        max_norm: float,
        clip_below: bool = True,
        start: Array | None = None,
    ) -> None:
        super().__init__(objective, step_size)
        self.radius, self.limit = float(radius), float(radius * max_norm)
        self.lowest = -self.limit if clip_below else -np.inf
        self.w[:] = radius / math.sqrt(self.w.size)
        if start is not None:
            self.w[:] = start * min(1.0, radius / (np.linalg.norm(start) or 1.0))
        # a, b and α, the positives so far, and Σ γ_t.
        self._point = np.array([self.limit, self.limit, 2.0 * self.limit, 0.0, 0.0])

    @property
    def coef(self) -> Array:
        """The mean of the iterates so far."""
        mass = self._point[4]
        return self.total / mass if mass else self.w

    @property
    def watched(self) -> Array:
        """What the published stop rule looks at."""
        return self.coef

    def run_epoch(self, rows: Indices) -> bool:
        """Take one step on each of these rows."""
        _take_steps(
            self.X,
            self.positive,
            rows,
            self.step_size,
            self.radius,
            self.limit,
            self.lowest,
            self.t,
            self.w,
            self.total,
            self._point,
        )
        self.t += rows.size
        return False


@dataclass(kw_only=True, eq=False, repr=False)
class SOLAMClassifier(OnlineClassifier):
    """Rank positives above negatives online, as a saddle point, with ‖w‖₂ ≤ radius.

    Minimises p(1 − p)·F(w), F the squared pairwise loss and p the running share of
    positives, by stochastic primal-dual steps; returns the weighted mean of the
    iterates.

    Parameters
    ----------
    radius : float, default=1.0
        R, bound on the Euclidean norm of the coefficients.
    step_size : float or "auto", default="auto"
        ξ in the steps ξ/√t. ``"auto"`` is one over the mean squared length of the rows.
    max_norm : float or "auto", default="auto"
        κ, a bound on the norm of the rows, which bounds the auxiliary variables.
        ``"auto"`` is the norm of the longest row. The programs published with SHT-AUC
        use 1, whatever the rows.
    zero_threshold, max_epochs, tol, shuffle, warm_start, record_history, random_state,
    verbose
        As for :class:`SPAMClassifier`.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, history_, objective_, n_features_in_,
    feature_names_in_
        As for :class:`SPAMClassifier`.

    References
    ----------
    Y. Ying, L. Wen and S. Lyu, "Stochastic online AUC maximization", NIPS 2016.
    """

    radius: float = field(default=1.0, kw_only=False)
    max_norm: float | Literal["auto"] = "auto"

    _parameter_constraints = OnlineClassifier._parameter_constraints | {
        "radius": [Interval(Real, 0, None, closed="neither")],
        "max_norm": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
    }

    def _begin(self, objective: AUCObjective, start: Array | None) -> Solver:
        X = objective.table
        return SOLAM(
            objective,
            radius=self.radius,
            step_size=self._step(X),
            max_norm=self._max_norm(X),
            start=start,
        )

    def _max_norm(self, X: Array) -> float:
        """κ as given, or the norm of the longest row."""
        if isinstance(self.max_norm, str):
            return float(row_norms(X).max()) or 1.0
        return float(self.max_norm)
