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

A step costs two sweeps over the columns, on CSR rows too. The mean of the iterates is
not sparse even with L1, and the last iterate only after many epochs.
"""

import math
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval, StrOptions

from ..arrays import Array, Floats, Indices, Mask, read_only
from ..epochs import SolverResult
from ..kernels import kernel, reordering_kernel
from ..objective import AUCObjective
from ..rows import CSR, Table
from .online import ClassSums, OnlineClassifier, RowState, dot, read_dense_row, read_row


@reordering_kernel
def _margin(x, total, share, w):  # type: ignore[no-untyped-def]
    """w·(x − share·total)."""
    margin = 0.0
    for j in range(w.size):
        margin += w[j] * (x[j] - share * total[j])
    return margin


@reordering_kernel
def _proximal_step(x, move, threshold, shrink, w, average):  # type: ignore[no-untyped-def]
    """Move w by −move·x, threshold and shrink it; add it to ``average`` unless that is empty."""
    number = w.dtype.type
    move, threshold, shrink = number(move), number(threshold), number(shrink)
    if average.size:
        for j in range(w.size):
            moved = w[j] - move * x[j]
            w[j] = (moved - min(max(moved, -threshold), threshold)) * shrink
            average[j] += w[j]
    else:
        for j in range(w.size):
            moved = w[j] - move * x[j]
            w[j] = (moved - min(max(moved, -threshold), threshold)) * shrink


@kernel
def multiplier(is_positive, margin, ratio):  # type: ignore[no-untyped-def]
    """Factor of x in the gradient at a row, given w·(x − mean of the other class).

    SPAM's 2(1 − r)(w·x − u) − 2(1 − r)(1 + v − u) with u = w·x̄₊ and v = w·x̄₋ is free of u, and
    what it has for a negative row is free of v.
    """
    return 2.0 * (1.0 - ratio) * (margin - 1.0) if is_positive else 2.0 * ratio * (margin + 1.0)


class _Run(NamedTuple):
    """What SPAM needs besides the rows: β₁, β₂, ξ, w, Σ w_t, and whether rows join the sums."""

    sums: ClassSums
    gathers: bool
    l1: float
    l2: float
    step_size: float
    w: Floats
    average: Floats


@kernel
def _descend_rows(table, rows, positive, weight, run, t):  # type: ignore[no-untyped-def]
    """Take SPAM's step on each row, the first of which is step t + 1."""
    w = run.w
    buffer = np.empty(w.size, w.dtype)
    on_positive, on_negative, counts = run.sums.positive, run.sums.negative, run.sums.counts
    for row in rows:
        x = read_dense_row(table, row, buffer)
        is_positive = positive[row]
        if run.gathers:
            own = on_positive if is_positive else on_negative
            for j in range(w.size):
                own[j] += x[j]
            counts[0 if is_positive else 1] += 1.0
        other = on_negative if is_positive else on_positive
        count = counts[1 if is_positive else 0]
        share = 1.0 / count if count > 0.0 else 0.0
        ratio = counts[0] / (counts[0] + counts[1])
        t += 1
        step = run.step_size / math.sqrt(t)
        move = step * multiplier(is_positive, _margin(x, other, share, w), ratio)
        if weight.size:
            move *= weight[row]
        _proximal_step(x, move, step * run.l1, 1.0 / (1.0 + step * run.l2), w, run.average)


@reordering_kernel
def _score_pair(x, y, w):  # type: ignore[no-untyped-def]
    """x·w, y·w and x·y."""
    number = w.dtype.type
    of_x, of_y, overlap = number(0), number(0), number(0)
    for j in range(w.size):
        of_x += x[j] * w[j]
        of_y += y[j] * w[j]
        overlap += x[j] * y[j]
    return of_x, of_y, overlap


@reordering_kernel
def _step_pair(x, move_x, shrink_x, y, move_y, shrink_y, w, average):  # type: ignore[no-untyped-def]
    """Step along x, then along y, and add both iterates to ``average`` unless that is empty."""
    number = w.dtype.type
    move_x, shrink_x = number(move_x), number(shrink_x)
    move_y, shrink_y = number(move_y), number(shrink_y)
    if average.size:
        for j in range(w.size):
            first = (w[j] - move_x * x[j]) * shrink_x
            second = (first - move_y * y[j]) * shrink_y
            w[j] = second
            average[j] += first + second
    else:
        for j in range(w.size):
            first = (w[j] - move_x * x[j]) * shrink_x
            w[j] = (first - move_y * y[j]) * shrink_y


@kernel
def _descend_pairs(table, rows, positive, weight, products, run, t):  # type: ignore[no-untyped-def]
    """Take SPAM's step on an even number of rows when there is no L1 penalty."""
    # A step is then linear in w. So the score of the second row of a pair follows from the first
    # step and the product of the two rows, and w·x̄± from the products of all rows with the class
    # sums: w is read and written once for two rows. Equal to one row at a time but for rounding.
    w, sums = run.w, run.sums
    buffers = np.empty((2, w.size), w.dtype)
    on_positive, on_negative = dot(w, sums.positive), dot(w, sums.negative)
    n_positive, n_negative = sums.counts
    ratio = n_positive / (n_positive + n_negative)
    moves, shrinks = np.empty(2), np.empty(2)
    for i in range(0, rows.size - 1, 2):
        _, _, x = read_row(table, rows[i], buffers[0])
        _, _, y = read_row(table, rows[i + 1], buffers[1])
        score, following, overlap = _score_pair(x, y, w)
        for k in range(2):
            row = rows[i + k]
            t += 1
            step = run.step_size / math.sqrt(t)
            other = on_negative / n_negative if positive[row] else on_positive / n_positive
            move = step * multiplier(positive[row], score - other, ratio)
            if weight.size:
                move *= weight[row]
            shrink = 1.0 / (1.0 + step * run.l2)
            on_positive = (on_positive - move * products[row, 0]) * shrink
            on_negative = (on_negative - move * products[row, 1]) * shrink
            moves[k], shrinks[k] = move, shrink
            score = (following - move * overlap) * shrink
        _step_pair(x, moves[0], shrinks[0], y, moves[1], shrinks[1], w, run.average)


class SPAMState(RowState):
    """SPAM between two rows, after t steps; class sums not given are gathered as rows come."""

    method = "SPAM"
    takes_weights = True

    def __init__(
        self,
        n_features: int,
        dtype: npt.DTypeLike,
        *,
        l1: float,
        l2: float,
        step_size: float,
        average: bool,
        sums: ClassSums | None = None,
        start: npt.ArrayLike | None = None,
    ) -> None:
        for name, value in (("l1", l1), ("l2", l2), ("step_size", step_size)):
            if not 0 <= value < math.inf:
                raise ValueError(f"{name} must be a finite number of 0 or more, got {value}")
        super().__init__(n_features, dtype, step_size)
        self.l1, self.l2, self.t = float(l1), float(l2), 0
        if start is not None:
            self.w[:] = start
        if sums is not None:
            self.sums = sums
        self._gathers = sums is None
        if not average:
            self._total = self._total[:0]
        self._weight: Array = np.empty(0)
        # Products of each row with the class sums, where steps are taken in pairs.
        self._products: Array | None = None

    @property
    def step(self) -> float:
        """The step η_t taken last."""
        return self.step_size / math.sqrt(max(self.t, 1))

    def advance(self, table: Table, rows: Indices, positive: Mask) -> None:
        """Take one step on each of these rows; until both classes have been seen w only shrinks."""
        run = _Run(self.sums, self._gathers, self.l1, self.l2, self.step_size, self.w, self._total)
        if self._products is not None:
            even = rows.size - rows.size % 2
            _descend_pairs(table, rows[:even], positive, self._weight, self._products, run, self.t)
            self.t += even
            rows = rows[even:]
        _descend_rows(table, rows, positive, self._weight, run, self.t)
        self.t += rows.size
        self._mass = self.t if self._total.size else 0.0

    def run(self, objective: AUCObjective, **epochs: Any) -> SolverResult:
        """Visit every row once an epoch, with the class means of all rows."""
        self.sums, self._gathers = ClassSums.from_objective(objective), False
        if objective.weight.size:
            mean = objective.weight[objective.rows].mean()
            self._weight = read_only(objective.weight / mean)
        if self.l1 == 0.0 and not isinstance(objective.table, CSR):
            sums = np.column_stack(self.sums[:2]).astype(objective.dtype)
            self._products = (objective.table @ sums).astype(np.float64)
        return super().run(objective, **epochs)


def spam(
    objective: AUCObjective,
    *,
    l1: float = 0.0,
    l2: float = 0.0,
    step_size: float = 1.0,
    average: bool = True,
    start: npt.ArrayLike | None = None,
    **epochs: Any,
) -> SolverResult:
    """Minimise r(1 − r)·F(w) + β₁‖w‖₁ + β₂/2‖w‖² by stochastic proximal steps.

    Parameters
    ----------
    objective : AUCObjective
        The data. With sample weights, x̄₊, x̄₋ and r are weighted, a row's gradient is multiplied
        by its weight over the mean weight, and rows of weight zero are left out.
    l1, l2 : float, default=0.0
        β₁ and β₂.
    step_size, average
        As for :class:`sparseauc_paper.baselines.SPAMClassifier`, with ``step_size`` a number.
    start : array-like of shape (d,), optional
        w_0.
    **epochs
        ``max_epochs``, ``tol``, ``shuffle``, ``callback`` and ``rng``, as in
        :func:`sparseauc.solvers.sht_auc`.

    Returns
    -------
    SolverResult
    """
    state = SPAMState(
        objective.n_features, objective.dtype, l1=l1, l2=l2, step_size=step_size, average=average,
        start=start,
    )  # fmt: skip
    return state.run(objective, **epochs)


@dataclass(kw_only=True, eq=False, repr=False)
class SPAMClassifier(OnlineClassifier):
    """Rank positives above negatives by stochastic proximal steps, with an L1 or L2 penalty.

    Minimises r(1 − r)·F(w) + β₁‖w‖₁ + β₂/2‖w‖², F the squared pairwise loss and r the share of
    positives, with β₁ = alpha·l1_ratio and β₂ = alpha·(1 − l1_ratio), as scikit-learn's elastic net
    has it; ``penalty="l1"`` is l1_ratio = 1 and ``penalty="l2"`` is l1_ratio = 0.

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
        Return the mean of the iterates, as the method's authors do; otherwise the last, as in the
        comparison with SHT-AUC. A mean has no zeros: see ``zero_threshold``.
    zero_threshold : float, default=0.0
        Coefficients of lesser magnitude are set to zero. The comparison used 0.001.
    max_epochs, tol, warm_start, record_history, random_state, verbose
        As for :class:`SHTAUCClassifier`.
    shuffle : bool, default=True
        Visit the rows in a fresh random order every epoch; otherwise in the given order.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, history_, objective_, n_features_in_, feature_names_in_
        As for :class:`SHTAUCClassifier`; ``coef_`` may have any number of non-zeros.

    References
    ----------
    M. Natole, Y. Ying and S. Lyu, "Stochastic proximal algorithms for AUC maximization", ICML 2018.
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
    _state_type = SPAMState

    def _settings(self, table: Table, rng: np.random.Generator) -> dict[str, Any]:  # noqa: ARG002
        share = {"l1": 1.0, "l2": 0.0, "elasticnet": self.l1_ratio}[self.penalty]
        return {
            "l1": self.alpha * share,
            "l2": self.alpha * (1.0 - share),
            "step_size": self._step(table),
            "average": self.average,
        }
