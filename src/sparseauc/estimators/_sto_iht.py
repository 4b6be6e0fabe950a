"""StoIHTClassifier and HSGHTClassifier: hard thresholding of the logistic loss."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Literal

from sklearn.utils._param_validation import Interval, StrOptions

from ..blocks import BLOCK_ORDERS, BlockOrder
from ..objective import AUCObjective
from ..solvers import SolverResult, hsg_ht, sto_iht
from ._stochastic import StochasticClassifier


class StoIHTClassifier(StochasticClassifier):
    """Classify with at most k columns: the logistic loss by stochastic hard thresholding.

    Minimises 1/n Σ log(1 + exp(−y_i(w·x_i + c))) + alpha/2 ‖w‖² subject to ‖w‖₀ ≤ k. It is
    SHT-AUC's iteration with another loss, and the paper's first baseline of that kind.

    Parameters
    ----------
    k : int, default=10
        Largest number of columns. More than there are keeps all, with a warning.
    batch_size : int, default=64
        Rows of a block. More than n means all rows.
    step_size : float or "auto", default="auto"
        γ on the mean logistic gradient of a block. ``"auto"`` follows the course of the loss and
        ends at the best iterate seen.
    alpha : float, default=0.0
        Ridge.
    block_order : {"replacement", "permutation", "cyclic"}, default="replacement"
        Blocks drawn with replacement, in a fresh random order every epoch, or in order.
    max_epochs : int, default=50
        Passes over the rows.
    tol : float, default=1e-4
        Stop when the coefficients move over an epoch by less than ``tol`` times their norm.
    shuffle : bool, default=True
        Deal the rows to the blocks at random; otherwise neighbouring rows form a block.
    warm_start : bool, default=False
        Start from the coefficients of the previous fit.
    record_history : bool, default=True
        Compute F and the training AUC after every epoch.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
        Above 0, a line an epoch.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features_in_)
    intercept_ : ndarray of shape (1,)
        Minus the score midway between the class means, as for the other classifiers here: the
        intercept trained with the logistic loss would predict the larger class nearly always when
        the other is rare.
    logistic_intercept_ : float
        The intercept trained with the logistic loss: 1/(1 + exp(−x·coef − logistic_intercept)) is
        the modelled probability of ``classes_[1]``.
    classes_ : ndarray of shape (2,)
    n_iter_ : int
    history_ : dict of str to list
        ``objective`` is F, the pairwise loss, so that methods compare.
    objective_ : float
        F at ``coef_``.

    References
    ----------
    N. Nguyen, D. Needell and T. Woolf, "Linear convergence of stochastic iterative greedy
    algorithms with sparse constraints", IEEE Transactions on Information Theory, 2017.
    """

    _parameter_constraints = StochasticClassifier._parameter_constraints | {
        "k": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "step_size": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "block_order": [StrOptions(set(BLOCK_ORDERS))],
    }

    _descends_from_zero = False

    def __init__(
        self,
        k: int = 10,
        *,
        batch_size: int = 64,
        step_size: float | Literal["auto"] = "auto",
        alpha: float = 0.0,
        block_order: BlockOrder = "replacement",
        max_epochs: int = 50,
        tol: float = 1e-4,
        shuffle: bool = True,
        warm_start: bool = False,
        record_history: bool = True,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.k = k
        self.batch_size = batch_size
        self.step_size = step_size
        self.alpha = alpha
        self.block_order = block_order
        self.max_epochs = max_epochs
        self.tol = tol
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.record_history = record_history
        self.random_state = random_state
        self.verbose = verbose

    def _solve(self, objective: AUCObjective, **common: Any) -> SolverResult:
        result = sto_iht(
            objective,
            self._columns_to_keep(self.k, objective.n_features),
            batch_size=self.batch_size,
            step_size=self.step_size,
            alpha=self.alpha,
            block_order=self.block_order,
            **common,
        )
        self.logistic_intercept_ = result.intercept
        return result


class HSGHTClassifier(StochasticClassifier):
    """Classify with at most k columns: StoIHT with batches that grow from one row to all.

    Minimises 1/n Σ log(1 + exp(−y_i(w·x_i + c))) + alpha/2 ‖w‖² subject to ‖w‖₀ ≤ k; batch t
    holds ⌊τ ζ^t⌋ rows.

    Parameters
    ----------
    k : int, default=10
        Largest number of columns. More than there are keeps all, with a warning.
    step_size : float or "auto", default="auto"
        Step on the mean logistic gradient of a batch. ``"auto"`` follows the course of the loss and
        ends at the best iterate seen.
    alpha : float, default=0.0
        Ridge.
    initial_batch_size : float, default=1.0
        τ, rows of the first batch.
    growth : float, default=1.033
        ζ, factor from batch to batch.
    restart_batches : bool, default=False
        Begin again with the smallest batch in every epoch, as the program published with SHT-AUC
        does; the method itself goes on growing.
    max_epochs : int, default=50
        Passes over the rows.
    tol : float, default=1e-4
        Stop when the coefficients move over an epoch by less than ``tol`` times their norm.
    shuffle : bool, default=True
        Take the rows in a fresh random order every epoch; otherwise in the given order.
    warm_start : bool, default=False
        Start from the coefficients of the previous fit.
    record_history : bool, default=True
        Compute F and the training AUC after every epoch.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
        Above 0, a line an epoch.

    Attributes
    ----------
    coef_, intercept_, logistic_intercept_, classes_, n_iter_, history_, objective_
        As for :class:`StoIHTClassifier`.

    References
    ----------
    P. Zhou, X. Yuan and J. Feng, "Efficient stochastic gradient hard thresholding", Advances in
    Neural Information Processing Systems, 2018.
    """

    _parameter_constraints = StochasticClassifier._parameter_constraints | {
        "k": [Interval(Integral, 1, None, closed="left")],
        "step_size": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "initial_batch_size": [Interval(Real, 1, None, closed="left")],
        "growth": [Interval(Real, 1, None, closed="neither")],
        "restart_batches": ["boolean"],
    }

    _descends_from_zero = False

    def __init__(
        self,
        k: int = 10,
        *,
        step_size: float | Literal["auto"] = "auto",
        alpha: float = 0.0,
        initial_batch_size: float = 1.0,
        growth: float = 1.033,
        restart_batches: bool = False,
        max_epochs: int = 50,
        tol: float = 1e-4,
        shuffle: bool = True,
        warm_start: bool = False,
        record_history: bool = True,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.k = k
        self.step_size = step_size
        self.alpha = alpha
        self.initial_batch_size = initial_batch_size
        self.growth = growth
        self.restart_batches = restart_batches
        self.max_epochs = max_epochs
        self.tol = tol
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.record_history = record_history
        self.random_state = random_state
        self.verbose = verbose

    def _solve(self, objective: AUCObjective, **common: Any) -> SolverResult:
        result = hsg_ht(
            objective,
            self._columns_to_keep(self.k, objective.n_features),
            step_size=self.step_size,
            alpha=self.alpha,
            initial_batch_size=self.initial_batch_size,
            growth=self.growth,
            restart_batches=self.restart_batches,
            **common,
        )
        self.logistic_intercept_ = result.intercept
        return result
