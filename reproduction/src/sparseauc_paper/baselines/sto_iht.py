"""StoIHT: SHT-AUC's iteration with the logistic loss in place of the pairwise one.

    minimise  1/n Σ log(1 + exp(−y_i (w·x_i + c))) + alpha/2 ‖w‖²   subject to   ‖w‖₀ ≤ k

    w_{t+1} = H_k(w_t − γ ∇f_{B_i}(w_t)),   i drawn from [m] at random

The intercept c takes the same steps and is never thresholded (Nguyen, Needell and Woolf, 2017).

Centre the columns on the training rows, or start the intercept at the log odds of the classes. By
default it starts at 0 and takes many steps to get there; until then columns that are not centred
are chosen by their means, which are noise. SHT-AUC has no intercept and needs neither.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval, StrOptions

from ..arrays import Array, Floats, Indices
from ..blocks import BLOCK_ORDERS, BlockOrder, RowBlocks, visiting_order
from ..bold_driver import BoldDriver
from ..epochs import Epoch, SolverResult, divergence_error, run_epochs
from ..kernels import kernel
from ..objective import AUCObjective, SparseVector
from ..projections import top_k
from ..rows import accumulate_rows, add_rows, score_rows
from ..thresholding import Iterate, deal_blocks, largest_entries, threshold_step
from .classifier import StochasticClassifier


@kernel
def _logistic_epoch(  # type: ignore[no-untyped-def]
    table, positive, weight, constant, order, starts, scales, drawn, step, alpha, k, iterate,
    intercept,
):  # fmt: skip
    """Take a step on each block drawn; block i is ``order[starts[i]:starts[i + 1]]``.

    ``scales`` are what each block's sum of row gradients is multiplied by.
    """
    out = iterate.candidate
    for i in drawn:
        block = order[starts[i] : starts[i + 1]]
        support = iterate.support[: iterate.size[0]]
        values = iterate.values[: iterate.size[0]]
        scores = np.empty(block.size, out.dtype)
        score_rows(table, block, iterate.w, support, values, scores)
        total = 0.0
        for q in range(block.size):
            row = np.uint64(block[q])
            sign = 1.0 if positive[row] else -1.0
            # σ(yz) − 1 = −1 / (1 + exp(yz)); exp overflows to infinity and gives 0, as it should.
            multiplier = -scales[i] * sign / (1.0 + math.exp(sign * (scores[q] + intercept[0])))
            if weight.size:
                multiplier *= weight[row]
            total += multiplier
            scores[q] = out.dtype.type(-step * multiplier)
        out[:] = 0
        add_rows(table, block, scores, out)
        for q in range(support.size):
            out[support[q]] -= step * alpha * values[q]
        intercept[0] -= step * total
        threshold_step(iterate, constant, k)
        if iterate.size[0] < 0:
            break


class Point(NamedTuple):
    """Coefficients and the intercept."""

    w: SparseVector
    intercept: float


class LogisticDescent:
    """Hard thresholding of the logistic loss; StoIHT and HSG-HT differ in their blocks alone."""

    def __init__(self, objective: AUCObjective, k: int, alpha: float) -> None:
        self.objective = objective
        self.k = k
        self.alpha = float(alpha)
        self._iterate = Iterate.zeros(objective.n_features, k, objective.dtype)
        self._intercept = np.zeros(1)
        self._constant = np.flatnonzero(~objective.varies)

    def run(self, blocks: RowBlocks, scales: Array, drawn: Indices, step: float) -> bool:
        """Take a step on each of the blocks drawn; False when w or the intercept overflowed."""
        objective = self.objective
        _logistic_epoch(
            objective.table, objective.positive, objective.weight, self._constant, blocks.rows,
            blocks.starts, scales, drawn, step, self.alpha, self.k, self._iterate, self._intercept,
        )  # fmt: skip
        return self._iterate.size[0] >= 0 and math.isfinite(self._intercept[0])

    def point(self) -> Point:
        """Copy the iterate."""
        return Point(self._iterate.copy(), float(self._intercept[0]))

    def move_to(self, point: Point) -> None:
        """Go on from another iterate."""
        self._iterate.move_to(point.w)
        self._intercept[0] = point.intercept

    def value(self, point: Point) -> float:
        """Mean logistic loss, and the ridge."""
        objective = self.objective
        scores = objective.scores_on(*point.w).astype(np.float64) + point.intercept
        losses = np.logaddexp(0.0, np.where(objective.positive, -scores, scores))
        weight = objective.weight if objective.weight.size else None
        ridge = self.alpha / 2 * float(np.sum(point.w.values.astype(np.float64) ** 2))
        return float(np.average(losses, weights=weight)) + ridge

    def exact_first_step(self) -> float:
        """Step that minimises the quadratic model at zero along its gradient, on k columns."""
        objective = self.objective
        weight = objective.weight if objective.weight.size else np.ones(objective.n_rows)
        share = weight / weight.sum()
        pull = (np.where(objective.positive, -0.5, 0.5) * share).astype(objective.dtype)
        gradient: Floats = np.zeros(objective.n_features, objective.dtype)
        accumulate_rows(objective.table, np.arange(objective.n_rows), pull, gradient)
        gradient[self._constant] = 0
        chosen = top_k(gradient, self.k)
        if chosen.size == 0:
            return 1.0
        # The logistic loss curves by 1/4 at zero; the intercept is a column of ones.
        unit = np.abs(gradient[chosen]).max()
        direction = np.append(gradient[chosen] / unit, float(pull.sum()) / float(unit))
        scores = objective.scores_on(chosen, gradient[chosen] / unit).astype(np.float64)
        curvature = float(share @ (scores + direction[-1]) ** 2) / 4 + self.alpha
        return float(direction.astype(np.float64) @ direction) / curvature


def descend_in_epochs(
    method: str,
    descent: LogisticDescent,
    run_blocks: Callable[[float], bool],
    *,
    step_size: float | Literal["auto"] = "auto",
    start: npt.ArrayLike | None = None,
    intercept: float = 0.0,
    max_epochs: int = 50,
    **epochs: Any,
) -> SolverResult:
    """Run StoIHT or HSG-HT; an automatic step undoes epochs that raise the loss.

    ``run_blocks`` takes the descent through the blocks of an epoch with a given step, and returns
    False if w overflowed. ``epochs`` are those of ``run_epochs``.
    """
    w = SparseVector(np.empty(0, np.int64), np.empty(0, descent.objective.dtype))
    if start is not None:
        w = largest_entries(start, descent.k, descent.objective.dtype)
    first = Point(w, intercept)
    descent.move_to(first)
    driver = None
    if isinstance(step_size, str):
        driver = BoldDriver(descent.exact_first_step(), first, descent.value(first), max_epochs)

    def run_epoch(number: int) -> Epoch:
        step = float(step_size) if driver is None else float(driver.step(number))
        finite = run_blocks(step)
        point = descent.point()
        undone = False
        if driver is not None:
            strayed, point = driver.update(point, descent.value(point) if finite else np.inf)
            undone = bool(strayed)
            if undone:
                descent.move_to(point)
        elif not finite:
            raise divergence_error(method, number, step)
        return Epoch(point.w, step, undone)

    result = run_epochs(
        descent.objective, run_epoch, start=first.w, max_epochs=max_epochs, **epochs
    )
    last = descent.point() if driver is None else driver.best
    return result._replace(**last.w._asdict(), intercept=last.intercept)


def sto_iht(
    objective: AUCObjective,
    k: int,
    *,
    batch_size: int = 64,
    alpha: float = 0.0,
    block_order: BlockOrder = "replacement",
    shuffle: bool = True,
    rng: np.random.Generator | None = None,
    **settings: Any,
) -> SolverResult:
    """Minimise the logistic loss with at most k non-zeros by stochastic hard thresholding.

    Parameters
    ----------
    objective : AUCObjective
    k, alpha
        As for :class:`sparseauc_paper.baselines.StoIHTClassifier`.
    batch_size, block_order, shuffle, rng
        As in :func:`sparseauc.solvers.sht_auc`.
    **settings
        ``step_size``, a number or "auto", the default; ``intercept`` to start from, 0 by default:
        the log odds of the classes make centred columns unnecessary; ``start``, ``max_epochs``,
        ``tol`` and ``callback``, as there.

    Returns
    -------
    SolverResult
        With the intercept.
    """
    rng = np.random.default_rng() if rng is None else rng
    blocks = deal_blocks(objective.rows, batch_size, shuffle=shuffle, rng=rng)
    # Mean gradient: of m equally likely blocks, each stands for an m-th of the total weight.
    scales = np.full(len(blocks), len(blocks) / sum(objective.moments.weights))
    descent = LogisticDescent(objective, min(k, objective.n_features), alpha)

    def run_blocks(step: float) -> bool:
        drawn = visiting_order(len(blocks), block_order, rng)
        return descent.run(blocks, scales, drawn, step)

    return descend_in_epochs("StoIHT", descent, run_blocks, **settings)


@dataclass(kw_only=True, eq=False, repr=False)
class LogisticClassifier(StochasticClassifier):
    """A classifier with at most k columns, fitted with the logistic loss by its ``_solver``."""

    k: int = field(default=10, kw_only=False)
    alpha: float = 0.0

    _parameter_constraints = StochasticClassifier._parameter_constraints | {
        "k": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    _solver: ClassVar[Callable[..., SolverResult]]

    def _solve(self, objective: AUCObjective, **common: Any) -> SolverResult:
        settings = self.get_params(deep=False) | common
        for name in ("warm_start", "record_history", "random_state", "verbose"):
            del settings[name]
        result = type(self)._solver(objective, **settings)
        self.logistic_intercept_ = result.intercept
        return result


@dataclass(kw_only=True, eq=False, repr=False)
class StoIHTClassifier(LogisticClassifier):
    """Classify with at most k columns: the logistic loss by stochastic hard thresholding.

    Minimises 1/n Σ log(1 + exp(−y_i(w·x_i + c))) + alpha/2 ‖w‖² subject to ‖w‖₀ ≤ k. This is
    SHT-AUC's iteration with another loss.

    Parameters
    ----------
    k : int, default=10
        Largest number of columns. If X has fewer, all are kept, with a warning.
    step_size : float or "auto", default="auto"
        γ on the mean logistic gradient of a block. ``"auto"`` adapts it to the loss after every
        epoch and returns the best iterate.
    alpha : float, default=0.0
        Ridge.
    batch_size, block_order, shuffle, max_epochs, tol, warm_start, record_history
        As for :class:`SHTAUCClassifier`.
    random_state, verbose
        As for :class:`SHTAUCClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features_in_)
    intercept_ : ndarray of shape (1,)
        Minus the score midway between the class means, as for the other classifiers here. With
        rare positives, the intercept of the logistic loss would nearly always predict the others.
    logistic_intercept_ : float
        The intercept of the logistic loss: 1/(1 + exp(−x·coef − logistic_intercept)) is the
        modelled probability of ``classes_[1]``.
    classes_ : ndarray of shape (2,)
    n_iter_ : int
    history_ : dict of str to list
        ``objective`` is F, the pairwise loss, so that methods can be compared.
    objective_ : float
        F at ``coef_``.

    References
    ----------
    N. Nguyen, D. Needell and T. Woolf, "Linear convergence of stochastic iterative greedy
    algorithms with sparse constraints", IEEE Transactions on Information Theory, 2017.
    """

    batch_size: int = 64
    block_order: BlockOrder = "replacement"

    _parameter_constraints = LogisticClassifier._parameter_constraints | {
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "block_order": [StrOptions(set(BLOCK_ORDERS))],
    }
    _solver = staticmethod(sto_iht)
