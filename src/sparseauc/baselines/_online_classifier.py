"""What the classifiers share that take one row at a time, also on streams."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import Any, Literal, Protocol, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from ..estimators._stochastic import StochasticClassifier
from ..objective import AUCObjective, Floats
from ..rows import Table, as_table
from ..solvers import SolverResult
from ._online import Doubles, row_norms


class State(Protocol):
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
    def _new_state(
        self, n_features: int, dtype: npt.DTypeLike, step_size: float, longest: float
    ) -> State:
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
            norms = row_norms(as_table(X))
            step = _safe_step(norms) if isinstance(self.step_size, str) else float(self.step_size)
            self._stream = self._new_state(X.shape[1], X.dtype, step, float(norms.max()))
            self.n_iter_ = 1
        # A stream keeps the type of its first rows.
        X = X.astype(self._stream.coef.dtype, copy=False)
        self._stream.partial_fit(as_table(X), positive)
        means = (mean.astype(X.dtype) for mean in self._stream.sums.means)
        return self._set_fitted(self._cut(self._stream.coef), *means)

    def _solve(self, objective: AUCObjective, **common: Any) -> SolverResult:
        step = self.step_size
        step = _safe_step(row_norms(objective.table)) if isinstance(step, str) else float(step)
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


def _safe_step(norms: Doubles) -> float:
    """One over the mean squared length of the rows: a row then moves its own score by about one."""
    longest = float(norms.max(initial=0.0))
    if longest == 0.0:
        return 1.0
    # In units of the longest, so that squares stay in range.
    return 1.0 / float(np.mean((norms / longest) ** 2)) / longest / longest
