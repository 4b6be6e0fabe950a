"""What the classifiers share that take one row at a time, also on streams."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from ..estimators._stochastic import StochasticClassifier
from ..objective import AUCObjective, Floats
from ..rows import Table, as_table
from ..solvers import SolverResult
from ._online import Doubles, RowState, row_norms


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
    def _new_state(
        self, n_features: int, dtype: npt.DTypeLike, step_size: float, longest: float
    ) -> RowState:
        """Begin a stream, of whose first rows the longest has this norm."""

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Go on with more rows, one step on each, in order.

        Class means, and the share of positives, are those of the rows seen so far. Feeding a table
        in parts gives the same as feeding it whole, but for parameters set to ``"auto"``, which
        follow from the rows of the first call. A later ``fit`` begins afresh.

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
            table = as_table(X)
            longest = float(row_norms(table).max())
            self._stream = self._new_state(X.shape[1], X.dtype, self._step(table), longest)
            self.n_iter_ = 1
        # A stream keeps the type of its first rows.
        X = X.astype(self._stream.coef.dtype, copy=False)
        self._stream.partial_fit(as_table(X), positive)
        means = (mean.astype(X.dtype) for mean in self._stream.means)
        return self._set_fitted(self._cut(self._stream.coef), *means)

    def _solve(self, objective: AUCObjective, **common: Any) -> SolverResult:
        result = self._run(objective, **common)
        coef = self._cut(result.dense(objective.n_features))
        support = np.flatnonzero(coef)
        return result._replace(support=support, values=coef[support])

    @abstractmethod
    def _run(self, objective: AUCObjective, **arguments: Any) -> SolverResult:
        """Call the solver."""

    def _step(self, table: Table) -> float:
        """``step_size``, or one that suits the length of the rows."""
        step = self.step_size
        return _safe_step(row_norms(table)) if isinstance(step, str) else float(step)

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


def _safe_step(norms: Doubles) -> float:
    """One over the mean squared length of the rows: a row then moves its own score by about one."""
    longest = float(norms.max(initial=0.0))
    if longest == 0.0:
        return 1.0
    # In units of the longest, so that squares stay in range.
    return 1.0 / float(np.mean((norms / longest) ** 2)) / longest / longest
