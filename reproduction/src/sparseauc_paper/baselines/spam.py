"""SPAM: stochastic proximal AUC maximisation (Natole, Ying and Lyu, ICML 2018).

    minimise  r(1 − r)·F(w) + β₁‖w‖₁ + β₂/2 ‖w‖²,

    F(w) = 1/(n₊n₋) Σ_{i positive} Σ_{j negative} (1 − w·(x_i − x_j))²,   r = n₊/n

    Input:    β₁, β₂, ξ, w_0
    Compute:  x̄₊, x̄₋ and r
    for t = 1, 2, …:
        take a row x;  η = ξ/√t
        ŵ = w_{t−1} − η·2(1 − r)(w_{t−1}·(x − x̄₋) − 1)·x    if x is positive
        ŵ = w_{t−1} − η·2r(w_{t−1}·(x − x̄₊) + 1)·x          if x is negative
        w_t = argmin_w ½‖w − ŵ‖² + η(β₁‖w‖₁ + β₂/2‖w‖²)
            = soft threshold of ŵ by ηβ₁, divided by 1 + ηβ₂
    Output:   the mean of w_1 … w_T, or w_T

The mean over rows of the gradient is r(1 − r)∇F, so the minimiser is that of
F(w) + α‖w‖² + λ‖w‖₁ with α = β₂/(2r(1 − r)) and λ = β₁/(r(1 − r)).

A step costs two sweeps over the columns. The mean of the iterates is not sparse even
with L1, and the last iterate only after many epochs.
"""

import math
from dataclasses import dataclass, field
from numbers import Real
from typing import Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..arrays import Array, Indices, reordering_kernel
from ..objective import AUCObjective
from ..thresholding import Solver
from .classifier import OnlineClassifier, RowSolver


@reordering_kernel
def _take_steps(X, positive, rows, means, ratio, xi, l1, l2, t, w, total):  # type: ignore[no-untyped-def]
    """Take SPAM's step on each row, the first of which is step t + 1."""
    for row in rows:
        x = X[row]
        t += 1
        step = xi / math.sqrt(t)
        # SPAM's 2(1 − r)(w·x − u) − 2(1 − r)(1 + v − u) with u = w·x̄₊ and v = w·x̄₋ is
        # free of u, and what it has for a negative row is free of v.
        other = means[0] if positive[row] else means[1]
        margin = 0.0
        for j in range(w.size):
            margin += w[j] * (x[j] - other[j])
        if positive[row]:
            move = 2.0 * step * (1.0 - ratio) * (margin - 1.0)
        else:
            move = 2.0 * step * ratio * (margin + 1.0)
        threshold, shrink = step * l1, 1.0 / (1.0 + step * l2)
        for j in range(w.size):
            moved = w[j] - move * x[j]
            w[j] = (moved - min(max(moved, -threshold), threshold)) * shrink
            total[j] += w[j]


class SPAM(RowSolver):
    """A run of SPAM; the answer is the mean of the iterates, or the last one."""

    def __init__(
        self,
        objective: AUCObjective,
        *,
        l1: float,
        l2: float,
        step_size: float,
        average: bool,
        start: Array | None = None,
    ) -> None:
        super().__init__(objective, step_size)
        if l1 < 0.0 or l2 < 0.0:
            raise ValueError(f"l1 and l2 must be 0 or more, got {l1} and {l2}")
        self.l1, self.l2, self.average = float(l1), float(l2), average
        self._means = np.stack([objective.mean_negative, objective.mean_positive])
        self._ratio = float(self.positive.mean())
        if start is not None:
            self.w[:] = start

    @property
    def coef(self) -> Array:
        """The mean of the iterates so far, or the last one."""
        return self.total / self.t if self.average and self.t else self.w

    @property
    def watched(self) -> Array:
        """What the published stop rule looks at."""
        return self.w

    def run_epoch(self, rows: Indices) -> bool:
        """Take one step on each of these rows."""
        _take_steps(
            self.X,
            self.positive,
            rows,
            self._means,
            self._ratio,
            self.step_size,
            self.l1,
            self.l2,
            self.t,
            self.w,
            self.total,
        )
        self.t += rows.size
        return False


@dataclass(kw_only=True, eq=False, repr=False)
class SPAMClassifier(OnlineClassifier):
    """Rank positives above negatives by stochastic proximal steps, with an L1 or L2 penalty.

    Minimises r(1 − r)·F(w) + β₁‖w‖₁ + β₂/2‖w‖², F the squared pairwise loss and r the
    share of positives, with β₁ = alpha·l1_ratio and β₂ = alpha·(1 − l1_ratio), as
    scikit-learn's elastic net has it; ``penalty="l1"`` is l1_ratio = 1 and
    ``penalty="l2"`` is l1_ratio = 0.

    Parameters
    ----------
    penalty : {"l1", "l2", "elasticnet"}, default="l1"
    alpha : float, default=1e-4
        Strength of the penalty.
    l1_ratio : float, default=0.5
        Share of L1 with ``penalty="elasticnet"``.
    step_size : float or "auto", default="auto"
        ξ in the steps ξ/√t. ``"auto"`` is one over the mean squared length of the rows.
    average : bool, default=True
        Return the mean of the iterates, as the method's authors do; otherwise the last,
        as in the comparison with SHT-AUC. A mean has no zeros: see ``zero_threshold``.
    zero_threshold : float, default=0.0
        Coefficients of lesser magnitude are set to zero. The comparison used 0.001.
    max_epochs, tol, warm_start, record_history, random_state, verbose
        As for :class:`SHTAUCClassifier`.
    shuffle : bool, default=True
        Visit the rows in a fresh random order every epoch; otherwise in the given
        order.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, history_, objective_, n_features_in_,
    feature_names_in_
        As for :class:`SHTAUCClassifier`; ``coef_`` may have any number of non-zeros.

    References
    ----------
    M. Natole, Y. Ying and S. Lyu, "Stochastic proximal algorithms for AUC
    maximization", ICML 2018.
    """

    penalty: Literal["l1", "l2", "elasticnet"] = field(default="l1", kw_only=False)
    alpha: float = 1e-4
    l1_ratio: float = 0.5
    average: bool = True

    _parameter_constraints = OnlineClassifier._parameter_constraints | {
        "penalty": [StrOptions({"l1", "l2", "elasticnet"})],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "average": ["boolean"],
    }

    def _begin(self, objective: AUCObjective, start: Array | None) -> Solver:
        share = {"l1": 1.0, "l2": 0.0, "elasticnet": self.l1_ratio}[self.penalty]
        return SPAM(
            objective,
            l1=self.alpha * share,
            l2=self.alpha * (1.0 - share),
            step_size=self._step(objective.table),
            average=self.average,
            start=start,
        )
