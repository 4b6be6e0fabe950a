"""FSAUC: fast stochastic AUC maximisation (Liu, Zhang, Chen, Wang and Yang, ICML 2018).

    minimise  p(1 − p)·F(w)   subject to   ‖w‖₁ ≤ R,

    F(w) = 1/(n₊n₋) Σ_{i positive} Σ_{j negative} (1 − w·(x_i − x_j))²,   p = n₊/n

as the saddle point of SOLAM in v = (w, a, b) and α, in stages of equal length:

    Input:    R, η, κ = max ‖x‖₂, number of rows T to take
    Begin:    v̄ = 0, ᾱ = 0, radius ρ = 2√(1 + 2κ²)·R, D = 2√2·κρ
    for each of max(1, ⌊½ log₂(2T/log₂T)⌋ − 1) stages:
        v = v̄, α = ᾱ
        for each row x of the stage:
            descend in v and ascend in α by η along half the gradient, with the running share p
            project:  ‖w‖₁ ≤ R, |a| ≤ Rκ, |b| ≤ Rκ, |α| ≤ 2Rκ;  then ‖v − v̄‖₂ ≤ ρ, |α − ᾱ| ≤ D
        v̄ = mean of the stage's v;  ᾱ = w̄·(x̄₋ − x̄₊) with the means of the rows taken so far
        halve ρ;  set D and η for the next stage
    Output:   w̄ of the last stage

Use it as the convex baseline with a constraint on ‖w‖₁. The answer is a mean of iterates and thus
seldom sparse. On a dense row a step costs some five sweeps, and as many more as the L1 projection
takes. On a CSR row it costs O(non-zeros) while w is inside the ball, and O(d) on its surface.
"""

import math
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from ..arrays import Array, Floats, Indices, Mask
from ..epochs import SolverResult
from ..kernels import reordering_kernel
from ..objective import AUCObjective
from ..projections import l1_ball_threshold, project_l1_ball
from ..rows import Table
from .online import (
    BETWEEN_SWEEPS,
    LEAST_SCALE,
    aligned_zeros,
    column_at,
    read_row,
)
from .solam import BallState, SOLAMClassifier, clip, run_in_ball, saddle_point_step

# The bounds of a stage hold with probability 1 − δ for δ = 0.1; ln(12/δ) is all that is used of it.
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
            dual_radius += 4 * math.sqrt(2) * spread * self.l1_bound / math.sqrt(assured)
            root_beta = math.hypot(
                1.0, math.sqrt(8) * self.max_norm, math.sqrt(32 * n / assured) * spread
            )
        step = min(root_beta / self.root_beta * self.step / 2, self.step)
        return self._replace(radius=ball, dual_radius=dual_radius, step=step, root_beta=root_beta)


class _Stage(NamedTuple):
    """What holds throughout a stage: w̄; ā, b̄ and ᾱ; its bounds."""

    w: Floats
    point: Array
    bounds: FSAUCBounds


class _Run(NamedTuple):
    """What changes with every row of a stage."""

    seen: Indices
    w: Floats
    point: Array
    total: Floats
    point_total: Array


@reordering_kernel
def _write_out(v, scale, share, weight, weight_centre, centre, total):  # type: ignore[no-untyped-def]
    """Set v to w, for S = 1 and B = 0, and bring ``total`` up to date; returns the L1 norm."""
    number = v.dtype.type
    scale, share, norm = number(scale), number(share), number(0)
    for j in range(v.size):
        total[j] += weight * v[j] + weight_centre * centre[j]
        v[j] = scale * v[j] + share * centre[j]
        norm += abs(v[j])
    return np.float64(norm)


@reordering_kernel
def _threshold_and_distance(threshold, weight, centre, v, total):  # type: ignore[no-untyped-def]
    """Add K·v to ``total``, soft-threshold v, and return its squared distance from ``centre``."""
    number = v.dtype.type
    threshold, distance = number(threshold), number(0)
    for j in range(v.size):
        total[j] += weight * v[j]
        v[j] -= min(max(v[j], -threshold), threshold)
        distance += (v[j] - centre[j]) ** 2
    return np.float64(distance)


@reordering_kernel
def _descend_rows(table, rows, positive, stage, run):  # type: ignore[no-untyped-def]
    """Take FSAUC's step on each row of one stage, in the time of its non-zeros inside the ball.

    w is kept as S·v + B·w₁ with w₁ the centre of the stage, so that drawing w towards it changes S
    and B alone. ``total`` is the sum of the iterates but for K·v + L·w₁ with K = ΣS and L = ΣB, so
    it changes only where v does. The L1 norm is followed entry by entry, exactly until w is first
    drawn in and from above after that: only when it exceeds R is w written out, O(d), measured and
    projected.
    """
    seen, v, point, total, point_total = run.seen, run.w, run.point, run.total, run.point_total
    bounds, centre = stage.bounds, stage.w
    radius, limit = bounds.l1_bound, bounds.l1_bound * bounds.max_norm
    number = v.dtype.type
    buffer = np.empty(v.size, v.dtype)
    a, b, alpha = point[0], point[1], point[2]
    a1, b1, alpha1 = stage.point[0], stage.point[1], stage.point[2]
    n_positive, t = seen[0], seen[1]
    centre_norm = np.abs(centre).sum()
    scale, share, weight, weight_centre = 1.0, 0.0, 0.0, 0.0  # S, B, K, L
    norm, distance_squared, unread, guess = 0.0, 0.0, 0, 0.0
    for row in rows:
        start, stop, x = read_row(table, row, buffer)
        unread -= np.int64(stop - start)
        t += 1
        n_positive += positive[row]
        product, score_centre, square = number(0), number(0), number(0)
        for p in range(start, stop):
            j = column_at(table, p)
            product += x[p] * v[j]
            score_centre += x[p] * centre[j]
            square += x[p] * x[p]
        score = scale * product + share * score_centre
        move, a, b, alpha = saddle_point_step(
            positive[row], n_positive / t, score, bounds.step, a, b, alpha
        )
        along = number(move / scale)
        in_sum = along * weight
        change = number(0)
        if share != 0.0:
            offset = number(share / scale)
            for p in range(start, stop):
                j = column_at(table, p)
                before = v[j] + offset * centre[j]
                change += abs(before - along * x[p]) - abs(before)
                v[j] -= along * x[p]
                total[j] += in_sum * x[p]
        else:
            for p in range(start, stop):
                j = column_at(table, p)
                before = v[j]
                v[j] = before - along * x[p]
                change += abs(v[j]) - abs(before)
                total[j] += in_sum * x[p]
        norm += scale * change
        distance_squared += move * (move * square - 2.0 * (score - score_centre))
        if norm > radius or unread <= 0 or not scale > LEAST_SCALE:
            if share != 0.0 or unread <= 0:
                norm = _write_out(v, scale, share, weight, weight_centre, centre, total)
                scale, share, weight, weight_centre = 1.0, 0.0, 0.0, 0.0
            threshold = 0.0
            if norm > radius:
                threshold = guess = l1_ball_threshold(v, radius, guess)
                norm = radius
            distance_squared = _threshold_and_distance(threshold, weight, centre, v, total)
            weight, unread = 0.0, BETWEEN_SWEEPS * v.size
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
    _write_out(v, scale, share, weight, weight_centre, centre, total)
    point[0], point[1], point[2] = a, b, alpha
    seen[0], seen[1] = n_positive, t


def count_stages(n_samples: int) -> int:
    """Number of stages of equal length into which T rows are divided."""
    if n_samples < 3:
        return 1
    return max(1, math.floor(0.5 * math.log2(2 * n_samples / math.log2(n_samples))) - 1)


class FSAUCState(BallState):
    """FSAUC between two rows.

    A stream has no length from which stages could be planned: all its rows belong to one stage.
    """

    method = "FSAUC"

    def _begin(self, start: npt.ArrayLike | None) -> None:
        if start is not None:
            self.w[:] = project_l1_ball(start, self.radius)
        self._point_total = np.zeros(2)
        self._stages_left, self._rows_per_stage = 1, math.inf
        self._begin_stage(FSAUCBounds.first(self.radius, self.max_norm, self.step_size))

    def _begin_stage(self, bounds: FSAUCBounds) -> None:
        """Begin a stage at the present point."""
        centre = aligned_zeros(self.w.size, self.w.dtype)
        centre[:] = self.w
        self._stage = _Stage(centre, self.point.copy(), bounds)
        self._total[:] = 0
        self._point_total[:] = 0
        self._mass = 0.0

    @property
    def step(self) -> float:
        """The step η of this stage."""
        return self._stage.bounds.step

    def advance(self, table: Table, rows: Indices, positive: Mask) -> None:
        """Take one step on each of these rows, as long as there are stages left."""
        while rows.size and self._stages_left:
            n_part = int(min(rows.size, self._rows_per_stage - self._mass))
            part, rows = rows[:n_part], rows[n_part:]
            run = _Run(self.seen, self.w, self.point, self._total, self._point_total)
            _descend_rows(table, part, positive, self._stage, run)
            self._mass += n_part
            self.sums.add(table, part, positive)
            if self._mass == self._rows_per_stage:
                self._stages_left -= 1
                if self._stages_left:
                    self._end_stage()

    def _end_stage(self) -> None:
        """Go to the mean of a stage, and set radii and step of the next one of the same length."""
        n = int(self._mass)
        mean_positive, mean_negative = self.sums.means
        mean = self._total / n
        self.w[:] = mean
        self.point[:2] = self._point_total / n
        self.point[2] = mean @ (mean_negative - mean_positive)
        self._begin_stage(self._stage.bounds.next(n, self.seen[0] / self.seen[1]))

    def run(self, objective: AUCObjective, *, max_epochs: int = 50, **epochs: Any) -> SolverResult:
        """Divide all rows of all epochs into stages; those left over are left out at the end."""
        n_rows = max_epochs * objective.n_rows
        self._stages_left = count_stages(n_rows)
        self._rows_per_stage = n_rows // self._stages_left
        return super().run(objective, max_epochs=max_epochs, **epochs)


def fsauc(objective: AUCObjective, *, step_size: float = 0.1, **settings: Any) -> SolverResult:
    """Minimise p(1 − p)·F(w) over the ball ‖w‖₁ ≤ R by FSAUC.

    Parameters
    ----------
    objective : AUCObjective
        The data, without sample weights.
    step_size : float, default=0.1
        η of the first stage.
    **settings
        As in :func:`sparseauc_paper.baselines.solam`; ``start`` is w̄ before the first stage. All
        ``max_epochs``·n rows are divided into stages, so fewer epochs are not the beginning of
        more. A callback sees the mean of the present stage's iterates so far or, where a stage has
        just ended, that stage's mean.

    Returns
    -------
    SolverResult
    """
    return run_in_ball(FSAUCState, objective, step_size, **settings)


class FSAUCClassifier(SOLAMClassifier):
    """Rank positives above negatives online, in stages of shrinking steps, with ‖w‖₁ ≤ radius.

    Minimises p(1 − p)·F(w), F the squared pairwise loss and p the running share of positives, by
    stochastic primal-dual steps within balls that shrink from stage to stage; returns the mean of
    the last stage's iterates. ``partial_fit`` is one stage. The method defines no sample weights.

    Parameters
    ----------
    radius : float, default=1.0
        R, bound on the L1 norm of the coefficients.
    step_size : float or "auto", default="auto"
        η of the first stage. ``"auto"`` is one over the mean squared length of the rows.
    max_norm, zero_threshold, max_epochs, tol, shuffle
        As for :class:`SOLAMClassifier`.
    warm_start, record_history, random_state, verbose
        As for :class:`SHTAUCClassifier`.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, history_, objective_, n_features_in_, feature_names_in_
        As for :class:`SPAMClassifier`.

    References
    ----------
    M. Liu, X. Zhang, Z. Chen, X. Wang and T. Yang, "Fast stochastic AUC maximization with
    O(1/n)-convergence rate", ICML 2018.
    """

    _state_type = FSAUCState
