"""FSAUC: fast stochastic AUC maximisation (Liu, Zhang, Chen, Wang and Yang, ICML 2018).

    minimise  p(1 − p)·F(w)   subject to   ‖w‖₁ ≤ R,

    F(w) = 1/(n₊n₋) Σ_{i positive} Σ_{j negative} (1 − w·(x_i − x_j))²,   p = n₊/n

as the saddle point of SOLAM in v = (w, a, b) and α, in stages of equal length:

    Input:    R, η, κ = max ‖x‖₂, number of rows T to take
    Begin:    v̄ = 0, ᾱ = 0, radius ρ = 2√(1 + 2κ²)·R, D = 2√2·κρ
    for each of max(1, ⌊½ log₂(2T/log₂T)⌋ − 1) stages:
        v = v̄, α = ᾱ
        for each row x of the stage:
            descend in v and ascend in α by η along half the gradient,
                with the running share p
            project:  ‖w‖₁ ≤ R, |a| ≤ Rκ, |b| ≤ Rκ, |α| ≤ 2Rκ;
                then ‖v − v̄‖₂ ≤ ρ, |α − ᾱ| ≤ D
        v̄ = mean of the stage's v
        ᾱ = w̄·(x̄₋ − x̄₊) with the means of the rows taken so far
        halve ρ;  set D and η for the next stage
    Output:   w̄ of the last stage

Use it as the convex baseline with a constraint on ‖w‖₁. The answer is a mean of
iterates and thus seldom sparse. A step costs some five sweeps over the columns, and as
many more as the L1 projection takes.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from ..arrays import Array, Indices, reordering_kernel
from ..objective import AUCObjective
from ..projections import l1_ball_threshold
from ..thresholding import Solver
from .classifier import RowSolver
from .solam import SOLAMClassifier, clip, saddle_point_step

# The bounds of a stage hold with probability 1 − δ for δ = 0.1; ln(12/δ) is all that is
# used of it.
_LOG = math.log(12 / 0.1)
_DEVIATIONS = 2 + math.sqrt(2 * _LOG)
# Stands for a bound that a stage too short cannot give.
_NO_BOUND = 1e7


class FSAUCBounds(NamedTuple):
    """R, κ, and ρ, D and η of a stage, with √β, from which η of the next stage follows."""

    l1_bound: float
    max_norm: float
    radius: float
    dual_radius: float
    step: float
    root_beta: float

    @classmethod
    def first(cls, l1_bound: float, max_norm: float, step: float) -> Self:
        """Of the first stage."""
        ball = 2 * math.hypot(1.0, math.sqrt(2) * max_norm) * l1_bound
        dual_radius = 2 * math.sqrt(2) * max_norm * ball
        root_beta = math.hypot(1.0, math.sqrt(8) * max_norm)
        return cls(l1_bound, max_norm, ball, dual_radius, step, root_beta)

    def next(self, n: int, share: float) -> Self:
        """Of the next stage of n rows, with this share of positives so far."""
        rarer = min(share, 1 - share)
        ball = self.radius / 2
        # Rows of the rarer class that a stage holds but for probability δ.
        assured = rarer * n - math.sqrt(2 * n * _LOG)
        dual_radius, root_beta = _NO_BOUND, math.sqrt(_NO_BOUND)
        if assured > 0:
            spread = self.max_norm * (1 + 2 * self.max_norm) * _DEVIATIONS
            dual_radius = 2 * math.sqrt(2) * self.max_norm * ball
            dual_radius += (
                4 * math.sqrt(2) * spread * self.l1_bound / math.sqrt(assured)
            )
            root_beta = math.hypot(
                1.0, math.sqrt(8) * self.max_norm, math.sqrt(32 * n / assured) * spread
            )
        step = min(root_beta / self.root_beta * self.step / 2, self.step)
        return self._replace(
            radius=ball, dual_radius=dual_radius, step=step, root_beta=root_beta
        )


@reordering_kernel
def _take_steps(  # type: ignore[no-untyped-def]
    X,
    positive,
    rows,
    bounds,
    t,
    centre,
    centre_point,
    w,
    point,
    total,
    point_total,
    guess,
):
    """Take FSAUC's step on each row of one stage, the first of which is step t + 1.

    Returns the threshold of the last projection, a guess for the next.
    """
    radius, limit = bounds.l1_bound, bounds.l1_bound * bounds.max_norm
    a, b, alpha, n_positive = point
    a1, b1, alpha1 = centre_point[0], centre_point[1], centre_point[2]
    for row in rows:
        x = X[row]
        t += 1
        n_positive += positive[row]
        score = 0.0
        for j in range(w.size):
            score += w[j] * x[j]
        move, a, b, alpha = saddle_point_step(
            positive[row], n_positive / t, score, bounds.step, a, b, alpha
        )
        norm = 0.0
        for j in range(w.size):
            w[j] -= move * x[j]
            norm += abs(w[j])
        threshold = 0.0
        if norm > radius:
            threshold = guess = l1_ball_threshold(w, radius, guess)
        a, b, alpha = (
            clip(a, 0.0, limit),
            clip(b, 0.0, limit),
            clip(alpha, 0.0, 2.0 * limit),
        )
        square = (a - a1) ** 2 + (b - b1) ** 2
        for j in range(w.size):
            w[j] -= min(max(w[j], -threshold), threshold)
            square += (w[j] - centre[j]) ** 2
        shrink = 1.0
        if square > bounds.radius * bounds.radius:
            shrink = bounds.radius / math.sqrt(square)
            a, b = a1 + shrink * (a - a1), b1 + shrink * (b - b1)
        alpha = clip(alpha, alpha1, bounds.dual_radius)
        for j in range(w.size):
            w[j] = centre[j] + shrink * (w[j] - centre[j])
            total[j] += w[j]
        point_total[0] += a
        point_total[1] += b
    point[:] = a, b, alpha, n_positive
    return guess


def count_stages(n_samples: int) -> int:
    """Number of stages of equal length into which T rows are divided."""
    if n_samples < 3:
        return 1
    return max(1, math.floor(0.5 * math.log2(2 * n_samples / math.log2(n_samples))) - 1)


class FSAUC(RowSolver):
    """A run of FSAUC over ``n_rows`` rows, divided into stages; those left over are left out."""

    def __init__(
        self,
        objective: AUCObjective,
        *,
        radius: float,
        step_size: float,
        max_norm: float,
        n_rows: int,
        start: Array | None = None,
    ) -> None:
        super().__init__(objective, step_size)
        if start is not None:
            threshold = 0.0
            if np.abs(start).sum() > radius:
                threshold = l1_ball_threshold(start, radius, 0.0)
            self.w[:] = start - np.clip(start, -threshold, threshold)
        self._point = np.zeros(4)  # a, b and α, and the positives so far
        self._counts = np.zeros(objective.n_rows)  # how often each row was taken
        self._stages_left = count_stages(n_rows)
        self._rows_per_stage = n_rows // self._stages_left
        self._begin_stage(FSAUCBounds.first(radius, max_norm, step_size))

    def _begin_stage(self, bounds: FSAUCBounds) -> None:
        """Begin a stage at the present point."""
        self._bounds = bounds
        self._centre, self._centre_point = self.w.copy(), self._point.copy()
        self.total[:] = 0.0
        self._point_total = np.zeros(2)
        self._taken, self._guess = 0, 0.0

    @property
    def step(self) -> float:  # type: ignore[override]
        """The step η of this stage."""
        return self._bounds.step

    @property
    def coef(self) -> Array:
        """The mean of this stage's iterates so far."""
        return self.total / self._taken if self._taken else self.w

    def run_epoch(self, rows: Indices) -> bool:
        """Take one step on each of these rows, as long as there are stages left."""
        while rows.size and self._stages_left:
            n_part = min(rows.size, self._rows_per_stage - self._taken)
            part, rows = rows[:n_part], rows[n_part:]
            self._guess = _take_steps(
                self.X,
                self.positive,
                part,
                self._bounds,
                self.t,
                self._centre,
                self._centre_point,
                self.w,
                self._point,
                self.total,
                self._point_total,
                self._guess,
            )
            self.t += n_part
            self._taken += n_part
            self._counts += np.bincount(part, minlength=self._counts.size)
            if self._taken == self._rows_per_stage:
                self._stages_left -= 1
                if self._stages_left:
                    self._end_stage()
        return False

    def _end_stage(self) -> None:
        """Go to the mean of a stage, and set radii and step of the next one of the same length."""
        n = self._taken
        self.w[:] = self.total / n
        self._point[:2] = self._point_total / n
        scores = self.X @ self.w
        on_negative, on_positive = (
            self._counts[of] @ scores[of] / max(self._counts[of].sum(), 1.0)
            for of in (~self.positive, self.positive)
        )
        self._point[2] = on_negative - on_positive
        self._begin_stage(self._bounds.next(n, self._point[3] / self.t))


@dataclass(kw_only=True, eq=False, repr=False)
class FSAUCClassifier(SOLAMClassifier):
    """Rank positives above negatives online, in stages of shrinking steps, with ‖w‖₁ ≤ radius.

    Minimises p(1 − p)·F(w), F the squared pairwise loss and p the running share of
    positives, by stochastic primal-dual steps within balls that shrink from stage to
    stage; returns the mean of the last stage's iterates.

    Parameters
    ----------
    radius : float, default=1.0
        R, bound on the L1 norm of the coefficients.
    step_size : float or "auto", default="auto"
        η of the first stage. ``"auto"`` is one over the mean squared length of the
        rows.
    max_norm, zero_threshold, max_epochs, tol, shuffle
        As for :class:`SOLAMClassifier`.
    warm_start, record_history, random_state, verbose
        As for :class:`SHTAUCClassifier`.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, history_, objective_, n_features_in_,
    feature_names_in_
        As for :class:`SPAMClassifier`.

    References
    ----------
    M. Liu, X. Zhang, Z. Chen, X. Wang and T. Yang, "Fast stochastic AUC maximization
    with O(1/n)-convergence rate", ICML 2018.
    """

    def _begin(self, objective: AUCObjective, start: Array | None) -> Solver:
        X, n = objective.table, objective.n_rows
        return FSAUC(
            objective,
            radius=self.radius,
            step_size=self._step(X),
            max_norm=self._max_norm(X),
            n_rows=n * self.max_epochs,
            start=start,
        )
