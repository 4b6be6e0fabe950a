"""OPAUCClassifier: one pass over a stream of rows."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from ..objective import AUCObjective, Floats
from ..rows import as_table
from ..solvers.opauc import OPAUCState
from ._base import SparseLinearClassifier
from ._stochastic import EpochMonitor


class OPAUCClassifier(SparseLinearClassifier):
    """Rank positives above negatives after one pass over the rows (OPAUC).

    Minimises F(w) + alpha‖w‖² with the squared pairwise loss of the AUC,

        F(w) = 1/(n₊n₋) Σ_{i positive} Σ_{j negative} (1 − w·(x_i − x_j))²,

    taking for each row a gradient step over its pairs with *all* earlier rows of the other class,
    which are remembered by their mean and covariance (Gao, Jin, Zhu and Zhou, 2013). Use it on
    streams, with ``partial_fit``, when columns are at most a few thousand and a short list of them
    is not needed: the answer is dense. There is no ``sample_weight``, as the method defines none.
    Columns should be on comparable scales.

    Parameters
    ----------
    step_size : float or "auto", default="auto"
        η, the same in every step. ``"auto"`` divides one half by a bound of each step's curvature,
        ‖x − c‖² + tr S + alpha with c and S the mean and covariance of the other class so far:
        no step overshoots, whatever the scale, and none needs a look at later rows.
    alpha : float, default=1e-4
        Ridge (λ in the method's paper).
    rank : int, default=50
        Columns of the random sketches that stand in for the covariances when X has more than
        ``exact_limit`` columns (τ in the method's paper).
    exact_limit : int, default=5000
        Up to this many columns the two covariances are exact, which takes d(d + 1) numbers and
        O(d²) a row; sketches take 2·d·rank and O(d·rank).
    max_epochs : int, default=1
        Passes over the rows in ``fit``. More than one helps when columns are correlated and rows
        are few.
    tol : float, default=1e-4
        Stop before ``max_epochs`` when the coefficients move over an epoch by less than ``tol``
        times their norm. With a constant step they seldom do.
    shuffle : bool, default=True
        In ``fit``, visit the rows in a fresh random order every epoch; otherwise in the given
        order. ``partial_fit`` takes rows as they come.
    warm_start : bool, default=False
        Let ``fit`` start from the coefficients of the previous fit, with new means and
        covariances. (``partial_fit`` goes on with the old ones.)
    zero_threshold : float, default=0.0
        Coefficients smaller in magnitude count as zero in ``coef_``; the iteration goes on with
        all of them.
    record_history : bool, default=True
        In ``fit``, compute F and the training AUC after every epoch.
    random_state : int, RandomState instance or None, default=None
        Seed of the row order and of the sketches.
    verbose : int, default=0
        Above 0, ``fit`` prints a line an epoch.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features_in_)
        Coefficients: the last iterate.
    intercept_ : ndarray of shape (1,)
        Minus the score midway between the class means.
    classes_ : ndarray of shape (2,)
        The labels; ``classes_[1]`` is positive.
    n_iter_ : int
        Epochs of the last ``fit``; 1 after ``partial_fit`` alone.
    history_ : dict of str to list
        Of the last ``fit``, as for :class:`SHTAUCClassifier`.
    objective_ : float
        F at ``coef_``, after ``fit``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X has string column names.

    Notes
    -----
    A fitted model keeps the means and covariances, so that ``partial_fit`` can go on: at 5000
    columns 200 MB in float64.

    References
    ----------
    W. Gao, R. Jin, S. Zhu and Z.-H. Zhou, "One-Pass AUC Optimization", International Conference on
    Machine Learning, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseauc.datasets import make_outbreak
    >>> X, y = make_outbreak(n=2000, d=50, k=5, mu=1.0, r=0.1, random_state=0)
    >>> whole = OPAUCClassifier(shuffle=False).fit(X, y)
    >>> stream = OPAUCClassifier()
    >>> for part in np.array_split(np.arange(2000), 8):
    ...     stream = stream.partial_fit(X[part], y[part], classes=[-1, 1])
    >>> bool(np.all(stream.coef_ == whole.coef_))
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "step_size": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "rank": [Interval(Integral, 1, None, closed="left")],
        "exact_limit": [Interval(Integral, 0, None, closed="left")],
        "max_epochs": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "shuffle": ["boolean"],
        "warm_start": ["boolean"],
        "zero_threshold": [Interval(Real, 0, None, closed="left")],
        "record_history": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        step_size: float | Literal["auto"] = "auto",
        alpha: float = 1e-4,
        rank: int = 50,
        exact_limit: int = 5000,
        max_epochs: int = 1,
        tol: float = 1e-4,
        shuffle: bool = True,
        warm_start: bool = False,
        zero_threshold: float = 0.0,
        record_history: bool = True,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.step_size = step_size
        self.alpha = alpha
        self.rank = rank
        self.exact_limit = exact_limit
        self.max_epochs = max_epochs
        self.tol = tol
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.zero_threshold = zero_threshold
        self.record_history = record_history
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> Self:
        """Learn coefficients from a whole table, forgetting what was learnt before.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows. Dense arrays and CSR are not copied.
        y : array-like of shape (n,)
            Two kinds of labels; the one that sorts last is positive.

        Returns
        -------
        self
        """
        before = self._state.w if self.warm_start and hasattr(self, "_state") else None
        X, positive, _ = self._check_training_data(X, y, None)
        if before is not None and before.size != X.shape[1]:
            raise ValueError(
                f"warm_start: the previous fit had {before.size} columns, X has {X.shape[1]}; "
                "set warm_start=False or give the same columns"
            )
        objective = AUCObjective(X, positive)
        order = self._start(X, before)
        monitor = EpochMonitor(positive, print_lines=bool(self.verbose))
        result = self._state.run(
            objective,
            max_epochs=self.max_epochs,
            tol=self.tol,
            shuffle=self.shuffle,
            callback=monitor if self.record_history or self.verbose else None,
            rng=order,
        )
        self.n_iter_ = result.n_epochs
        self.history_ = monitor.history
        self._set_coefficients()
        self.objective_ = objective.value(self.coef_[0])
        # The automatic step may end a little above 1 where there is nothing to learn.
        if self.objective_ > 1.0 and self.step_size != "auto":
            warnings.warn(
                f"F ended at {self.objective_:g}, above its value 1 for no column at all: "
                f"step_size={self.step_size:g} is too large for these data",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Go on with more rows, in the given order.

        Parts give what all their rows at once would give. Coefficients stay zero until both classes
        were seen. Parameters count as they were set at the first call, or at ``fit``; only
        ``zero_threshold`` may change.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            More rows.
        y : array-like of shape (n,)
            Their labels.
        classes : array-like of shape (2,), optional
            Both labels; needed in the first call, if its rows are of one class.

        Returns
        -------
        self
        """
        first = not hasattr(self, "_state")
        X, positive = self._check_more_rows(X, y, classes, first=first)
        if first:
            self._start(X, None)
            self.n_iter_ = 1
        self._state.partial_fit(as_table(X), positive)
        self._set_coefficients()
        return self

    def _start(self, X: Any, before: Floats | None) -> np.random.Generator:
        """Begin with no rows seen; returns the source of row orders."""
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=2)
        self._state = OPAUCState(
            X.shape[1],
            X.dtype,
            step_size=self.step_size,
            alpha=self.alpha,
            rank=self.rank,
            exact_limit=self.exact_limit,
            start=before,
            rng=np.random.default_rng(seeds[0]),
        )
        return np.random.default_rng(seeds[1])

    def _set_coefficients(self) -> None:
        coef = self._state.w.copy()
        coef[np.abs(coef) < self.zero_threshold] = 0
        self._set_fitted(coef, *self._state.centres)
