"""StoIHT: SHT-AUC's iteration with the logistic loss in place of the pairwise one.

    minimise    1/n Σ log(1 + exp(−y_i (w·x_i + c))) + alpha/2 ‖w‖²
    subject to  ‖w‖₀ ≤ k

    w_{t+1} = H_k(w_t − γ ∇f_{B_i}(w_t)),   i drawn from [m] at random

The intercept c takes the same steps and is never thresholded (Nguyen, Needell and
Woolf, 2017).

Centre the columns on the training rows: the intercept starts at 0 and takes many steps
to get to the log odds of the classes, and until then columns that are not centred are
chosen by their means, which are noise. SHT-AUC has no intercept and needs no centring.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..arrays import Array
from ..blocks import BLOCK_ORDERS, BlockOrder, RowBlocks
from ..objective import AUCObjective
from ..thresholding import BlockDescent, Solver, Visits, visit_equal_blocks
from .classifier import StochasticClassifier


@dataclass(kw_only=True, eq=False, repr=False)
class LogisticClassifier(StochasticClassifier):
    """A classifier with at most k columns, fitted with the logistic loss on blocks of rows."""

    k: int = field(default=10, kw_only=False)
    alpha: float = 0.0

    _parameter_constraints = StochasticClassifier._parameter_constraints | {
        "k": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    def _begin(self, objective: AUCObjective, start: Array | None) -> Solver:
        return BlockDescent(
            objective,
            self.k,
            step_size=self.step_size,
            max_epochs=self.max_epochs,
            logistic=True,
            ridge=self.alpha,
            start=start,
        )

    def _set_fitted(self, objective: AUCObjective, solver: BlockDescent) -> Self:  # type: ignore[override]
        self.logistic_intercept_ = float(solver.best[1][0])
        return super()._set_fitted(objective, solver)


@dataclass(kw_only=True, eq=False, repr=False)
class StoIHTClassifier(LogisticClassifier):
    """Classify with at most k columns: the logistic loss by stochastic hard thresholding.

    Minimises 1/n Σ log(1 + exp(−y_i(w·x_i + c))) + alpha/2 ‖w‖² subject to ‖w‖₀ ≤ k.
    This is SHT-AUC's iteration with another loss.

    Parameters
    ----------
    k : int, default=10
        Largest number of columns. If X has fewer, all are kept.
    step_size : float or "auto", default="auto"
        γ on the mean logistic gradient of a block. ``"auto"`` adapts it to the loss
        after every epoch and returns the best iterate.
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
        Minus the score midway between the class means, as for the other classifiers
        here. With rare positives, the intercept of the logistic loss would nearly
        always predict the others.
    logistic_intercept_ : float
        The intercept of the logistic loss: 1/(1 + exp(−x·coef − logistic_intercept)) is
        the modelled probability of ``classes_[1]``.
    classes_ : ndarray of shape (2,)
    n_iter_ : int
    history_ : dict of str to list
        ``objective`` is F, the pairwise loss, so that methods can be compared.
    objective_ : float
        F at ``coef_``.

    References
    ----------
    N. Nguyen, D. Needell and T. Woolf, "Linear convergence of stochastic iterative
    greedy algorithms with sparse constraints", IEEE Transactions on Information Theory,
    2017.
    """

    batch_size: int = 64
    block_order: BlockOrder = "replacement"

    _parameter_constraints = LogisticClassifier._parameter_constraints | {
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "block_order": [StrOptions(set(BLOCK_ORDERS))],
    }

    def _epochs(
        self, objective: AUCObjective, rng: np.random.Generator
    ) -> Iterator[Visits]:
        n = objective.n_rows
        blocks = RowBlocks.partition(
            n, min(self.batch_size, n), shuffle=self.shuffle, rng=rng
        )
        return visit_equal_blocks(
            objective, blocks, self.block_order, rng, logistic=True
        )
