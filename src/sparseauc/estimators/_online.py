"""SPAM, SOLAM and FSAUC: the convex methods, one row at a time, also on streams."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import Any, Literal, Protocol, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from ..objective import AUCObjective
from ..rows import Table, as_table
from ..solvers import SolverResult, fsauc, solam, spam
from ..solvers.fsauc import FSAUCState
from ..solvers.solam import SOLAMState
from ..solvers.spam import SPAMState
from ._base import Floats
from ._stochastic import StochasticClassifier


class _State(Protocol):
    """A method between two rows."""

    sums: Any

    @property
    def coef(self) -> Floats: ...

    def partial_fit(self, table: Table, positive: npt.ArrayLike) -> Self: ...


class OnlineClassifier(StochasticClassifier):
    """A convex method that takes one row at a time.

    A subclass also provides ``_new_state``, and has the parameters ``step_size`` and
    ``zero_threshold``.
    """

    _parameter_constraints = StochasticClassifier._parameter_constraints | {
        "step_size": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "zero_threshold": [Interval(Real, 0, None, closed="left")],
    }

    step_size: float | Literal["auto"]
    zero_threshold: float

    @abstractmethod
    def _new_state(self, n_features: int, dtype: npt.DTypeLike, step_size: float) -> _State:
        """Begin a stream."""

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Go on with more rows, one step on each, in order.

        Class means, and the share of positives, are those of the rows seen so far. Feeding a table
        in parts gives the same as feeding it whole. A later ``fit`` begins afresh.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        classes : array-like of shape (2,), optional
            Both labels; needed in the first call, if its rows are of one class.

        Returns
        -------
        self
        """
        first = not hasattr(self, "_stream")
        X, positive = self._check_more_rows(X, y, classes, first=first)
        if first:
            step = _safe_step(X) if isinstance(self.step_size, str) else float(self.step_size)
            self._stream = self._new_state(X.shape[1], X.dtype, step)
            self.n_iter_ = 1
        # A stream keeps the type of its first rows.
        X = X.astype(self._stream.coef.dtype, copy=False)
        self._stream.partial_fit(as_table(X), positive)
        means = (mean.astype(X.dtype) for mean in self._stream.sums.means)
        return self._set_fitted(self._cut(self._stream.coef), *means)

    def _solve(self, objective: AUCObjective, **common: Any) -> SolverResult:
        step = self.step_size
        step = _safe_step_of(objective) if isinstance(step, str) else float(step)
        result = self._run(objective, step_size=step, **common)
        coef = self._cut(result.dense(objective.n_features))
        support = np.flatnonzero(coef)
        return result._replace(support=support, values=coef[support])

    @abstractmethod
    def _run(self, objective: AUCObjective, **arguments: Any) -> SolverResult:
        """Call the solver."""

    def _cut(self, coef: Floats) -> Floats:
        coef[np.abs(coef) < self.zero_threshold] = 0
        return coef


def _safe_step(X: Any) -> float:
    """One over the mean squared length of the rows: a row then moves its own score by about one."""
    sparse = sp.issparse(X)
    values = X.data if sparse else X
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0:
        return 1.0
    # In units of the largest entry, so that squares stay in range.
    total = float(np.linalg.norm(values.ravel() / largest)) ** 2
    n_rows: int = X.shape[0]
    return n_rows / total / largest / largest


def _safe_step_of(objective: AUCObjective) -> float:
    """``_safe_step`` of the rows of an objective."""
    table = objective.table
    if isinstance(table, tuple):
        shape = objective.n_rows, objective.n_features
        return _safe_step(sp.csr_array(tuple(table), shape=shape))
    return _safe_step(table)


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
    max_epochs : int, default=50
        Passes over the rows.
    tol : float, default=1e-4
        Stop when the coefficients move over an epoch by less than ``tol`` times their norm.
    shuffle : bool, default=True
        Visit the rows in a fresh random order every epoch; otherwise in the given order.
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
        Minus the score midway between the class means.
    classes_, n_iter_, history_, objective_, n_features_in_, feature_names_in_
        As for :class:`SHTAUCClassifier`.

    References
    ----------
    M. Natole, Y. Ying and S. Lyu, "Stochastic proximal algorithms for AUC maximization", ICML 2018.
    """

    _parameter_constraints = OnlineClassifier._parameter_constraints | {
        "penalty": [StrOptions({"l1", "l2", "elasticnet"})],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "average": ["boolean"],
    }

    def __init__(
        self,
        penalty: Literal["l1", "l2", "elasticnet"] = "l1",
        *,
        alpha: float = 1e-4,
        l1_ratio: float = 0.5,
        step_size: float | Literal["auto"] = "auto",
        average: bool = True,
        zero_threshold: float = 0.0,
        max_epochs: int = 50,
        tol: float = 1e-4,
        shuffle: bool = True,
        warm_start: bool = False,
        record_history: bool = True,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.step_size = step_size
        self.average = average
        self.zero_threshold = zero_threshold
        self.max_epochs = max_epochs
        self.tol = tol
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.record_history = record_history
        self.random_state = random_state
        self.verbose = verbose

    @property
    def _betas(self) -> tuple[float, float]:
        share = {"l1": 1.0, "l2": 0.0, "elasticnet": self.l1_ratio}[self.penalty]
        return self.alpha * share, self.alpha * (1.0 - share)

    def _run(self, objective: AUCObjective, **arguments: Any) -> SolverResult:
        l1, l2 = self._betas
        return spam(objective, l1=l1, l2=l2, average=self.average, **arguments)

    def _new_state(self, n_features: int, dtype: npt.DTypeLike, step_size: float) -> _State:
        l1, l2 = self._betas
        return SPAMState(n_features, dtype, l1=l1, l2=l2, step_size=step_size, average=self.average)


class SOLAMClassifier(OnlineClassifier):
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

    _parameter_constraints = OnlineClassifier._parameter_constraints | {
        "radius": [Interval(Real, 0, None, closed="neither")],
    }

    _descends_from_zero = False

    def __init__(
        self,
        radius: float = 1.0,
        *,
        step_size: float | Literal["auto"] = "auto",
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
        self.zero_threshold = zero_threshold
        self.max_epochs = max_epochs
        self.tol = tol
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.record_history = record_history
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:
        """Fit; the method defines no sample weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)

        Returns
        -------
        self
        """
        fitted: Self = super().fit(X, y)
        return fitted

    def _run(self, objective: AUCObjective, **arguments: Any) -> SolverResult:
        return solam(objective, radius=self.radius, **arguments)

    def _new_state(self, n_features: int, dtype: npt.DTypeLike, step_size: float) -> _State:
        return SOLAMState(n_features, dtype, radius=self.radius, step_size=step_size)


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
    zero_threshold, max_epochs, tol, shuffle, warm_start, record_history, random_state, verbose
        As for :class:`SPAMClassifier`.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, history_, objective_, n_features_in_, feature_names_in_
        As for :class:`SPAMClassifier`.

    References
    ----------
    M. Liu, X. Zhang, Z. Chen, X. Wang and T. Yang, "Fast stochastic AUC maximization with
    O(1/n)-convergence rate", ICML 2018.
    """

    def _run(self, objective: AUCObjective, **arguments: Any) -> SolverResult:
        return fsauc(objective, radius=self.radius, **arguments)

    def _new_state(self, n_features: int, dtype: npt.DTypeLike, step_size: float) -> _State:
        return FSAUCState(n_features, dtype, radius=self.radius, step_size=step_size)
