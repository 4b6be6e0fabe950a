"""What the classifiers share that take one row at a time, also on streams."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from ..estimators._stochastic import StochasticClassifier
from ..objective import AUCObjective, Floats
from ..rows import Table, as_table
from ..solvers import SolverResult
from ._online import RowState, row_norms


class OnlineClassifier(StochasticClassifier):
    """A convex method that takes one row at a time.

    A subclass has a ``_state_type``, provides its ``_settings``, and has the parameters
    ``step_size`` and ``zero_threshold``.
    """

    _parameter_constraints = StochasticClassifier._parameter_constraints | {
        "step_size": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "zero_threshold": [Interval(Real, 0, None, closed="left")],
    }

    _state_type: ClassVar[Callable[..., RowState]]
    # Whether ``partial_fit`` continues what ``fit`` began.
    _continues: ClassVar[bool] = False
    step_size: float | Literal["auto"]
    zero_threshold: float

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Continue with more rows, one step on each, in order.

        Class means, and the share of positives, are those of the rows seen so far. Rows given in
        parts give the same result as rows given at once, except that parameters set to ``"auto"``
        depend on the rows of the first call. A later ``fit`` starts anew.

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
            rng = np.random.default_rng(self._seeds()[1])
            settings = self._settings(as_table(X), rng)
            self._stream = self._state_type(X.shape[1], X.dtype, **settings)
            self.n_iter_ = 1
        # A stream keeps the type of its first rows.
        X = X.astype(self._stream.coef.dtype, copy=False)
        self._stream.partial_fit(as_table(X), positive)
        means = (mean.astype(X.dtype) for mean in self._stream.means)
        return self._set_fitted(self._cut(self._stream.coef), *means)

    def _solve(self, objective: AUCObjective, **common: Any) -> SolverResult:
        settings = self._settings(objective.table, common["rng"])
        start = common.pop("start")
        state = self._state_type(objective.n_features, objective.dtype, start=start, **settings)
        result = state.run(objective, **common)
        if self._continues:
            self._stream = state
        coef = self._cut(result.dense(objective.n_features))
        support = np.flatnonzero(coef)
        return result._replace(support=support, values=coef[support])

    @abstractmethod
    def _settings(self, table: Table, rng: np.random.Generator) -> dict[str, Any]:
        """Parameters of the state; those set to "auto" depend on these rows."""

    def _step(self, table: Table) -> float:
        """``step_size``, or one over the mean squared length of the rows.

        With that step, a row changes its own score by about one.
        """
        if not isinstance(self.step_size, str):
            return float(self.step_size)
        norms = row_norms(table)
        longest = float(norms.max(initial=0.0))
        if longest == 0.0:
            return 1.0
        # In units of the longest, so that squares stay in range.
        return 1.0 / float(np.mean((norms / longest) ** 2)) / longest / longest

    def _cut(self, coef: Floats) -> Floats:
        coef[np.abs(coef) < self.zero_threshold] = 0
        return coef


class UnweightedClassifier(OnlineClassifier):
    """A method that defines no sample weights: it estimates the share of positives as rows come."""

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
