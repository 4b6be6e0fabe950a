"""A fitted short list and the rows it is asked about, checked and brought to moments."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from .._validation import CountedRows, first_bad
from ..errors import ExchangeError, InputError
from ..estimators import (
    SparseAUCClassifier,
    SparseAUCClassifierCV,
    SparseConcordance,
    SparseConcordanceCV,
    apply_fitted_strata,
    basis_of,
    refuse_units,
)
from ..moments.base import Quadratic, StandardisedGram
from ..outcome import Outcome
from ..solvers.exchange import Solution, dependence_tolerance, exchange_gains, solve_on
from ..solvers.restrictions import Restrictions
from ..utils.arrays import column_of
from ..utils.types import Array, Indices

EXCHANGE_MODELS = (
    SparseAUCClassifier,
    SparseAUCClassifierCV,
    SparseConcordance,
    SparseConcordanceCV,
)


@dataclass(frozen=True, eq=False)
class FittedList:
    """A fitted short list, and the rows that questions about it are about.

    Attributes
    ----------
    X : ndarray or CSR of shape (n, d)
        As the model takes columns: missing values are replaced.
    outcome : Outcome
        Of the rows, with their weights and strata.
    gram : StandardisedGram
        Of the rows.
    support : ndarray of int
        The chosen columns, ascending.
    alpha : float
        Ridge on the standardised scale.
    restrictions : Restrictions
        Of the model's list.
    names : ndarray of shape (d,)
        Of the columns, or their indices.
    kept : ndarray of int
        Columns of groups, which are not exchanged.
    counted : CountedRows
        The rows, those of weight above 0 among all that were given.
    """

    X: Any
    outcome: Outcome
    gram: StandardisedGram
    support: Indices
    alpha: float
    restrictions: Restrictions
    names: npt.NDArray[Any]
    kept: Indices
    counted: CountedRows

    @classmethod
    def from_model(
        cls,
        model: Any,
        X: Any,
        y: npt.ArrayLike,
        *,
        sample_weight: Any = None,
        strata: Any = None,
    ) -> Self:
        """Check a model and rows against each other.

        Rows, weights and strata are those of the fit, whose standard deviations the model has.
        """
        if not isinstance(model, EXCHANGE_MODELS):
            names = ", ".join(kind.__name__ for kind in EXCHANGE_MODELS[:-1])
            raise InputError(
                f"model must be a {names} or {EXCHANGE_MODELS[-1].__name__}, got "
                f"{type(model).__name__}"
            )
        refuse_units(model, "this")
        table, outcome, counted = rows_of_fit(model, X, y, sample_weight)
        X = basis_of(table, model._units)
        support = np.flatnonzero(model.coef_[0])
        if support.size == 0:
            raise ExchangeError("the model chose no column: all are constant, or not allowed")
        outcome = apply_fitted_strata(model, outcome, X, counted.take(strata, "strata"))
        gram = StandardisedGram(outcome.quadratic(X))
        _check_same_rows(model, gram.scale, weighted=sample_weight is not None)
        restrictions = model._fitted.restrictions
        return cls(
            X=X,
            outcome=outcome,
            gram=gram,
            support=support,
            alpha=model._fitted.alpha,
            restrictions=restrictions.without_groups(support),
            names=getattr(model, "feature_names_in_", np.arange(model.n_features_in_)),
            kept=restrictions.grouped,
            counted=counted,
        )

    def at(self, rows: Indices) -> Self:
        """Ask about some of the rows."""
        X = self.X[rows]
        outcome = self.outcome.take_alone(rows)
        return replace(self, X=X, outcome=outcome, gram=StandardisedGram(outcome.quadratic(X)))

    def quadratic(self, values: Array, rows: Indices) -> Quadratic:
        """Return the quadratic of some columns of all rows, over some of the rows."""
        weight = np.bincount(rows, minlength=len(values)).astype(np.float64)
        if self.outcome.weight is not None:
            weight *= self.outcome.weight
        return self.outcome.reweighted(weight).quadratic(values)

    def solution(self, support: Indices) -> Solution:
        """Least loss with ridge on some columns."""
        gram = self.gram
        return solve_on(gram.block(support, support), gram.delta[support], support, self.alpha)

    def coef(self, support: Indices) -> Array:
        """Coefficients of least loss on some columns, per unit of each."""
        return self.solution(support).coef / self.gram.scale[support]

    def allows(self, support: Indices) -> bool:
        """Return whether a list is feasible, as the model's is."""
        return self.restrictions.allows(support) and self.restrictions.right_signs(
            support, self.coef(support)
        )

    def values(self, columns: Indices) -> Array:
        """Some columns, dense and in double precision."""
        return np.column_stack([column_of(self.X, j) for j in columns.tolist()])


def rows_of_fit(
    model: Any, X: Any, y: npt.ArrayLike, sample_weight: Any = None
) -> tuple[Any, Outcome, CountedRows]:
    """Check the rows of a fitted model, in memory.

    Returns them, their outcome as the model ranks them, and which of those given have a weight
    above 0.
    """
    check_is_fitted(model)
    X, outcome, counted = model._check_rows(X, y, sample_weight, reset=False)
    return X, outcome, counted


def _check_same_rows(model: Any, scale: Array, *, weighted: bool) -> None:
    """Refuse rows, or weights, whose standard deviations are not those of the fit."""
    column = first_bad(~np.isclose(scale, model.scale_, rtol=1e-4, atol=0.0))
    if column is not None:
        given = "X, strata and sample_weight are" if weighted else "X and strata are"
        more = "" if weighted else "; if it was fitted with sample_weight, give that too"
        raise InputError(
            f"{given} not those of the fit: column {column} has a standard deviation of "
            f"{scale[column]:.6g}, and had {model.scale_[column]:.6g}{more}"
        )


def exchange_table(
    gram: StandardisedGram, rows: Array, support: Indices, alpha: float, restrictions: Restrictions
) -> tuple[float, Array]:
    """Objective of a list, and after each exchange of a chosen column with another, (k, d).

    Infinity where the exchange is not possible. ``rows`` are those of H of the list.
    """
    ridged = rows[:, support] + alpha * np.eye(support.size)
    try:
        M = np.linalg.inv(ridged)
    except np.linalg.LinAlgError:
        raise ExchangeError(
            "on these rows the chosen columns depend on each other linearly: give the rows of the "
            "fit, or fit with a ridge (alpha)"
        ) from None
    columns = np.arange(gram.n_features)
    whole = gram.diagonal + alpha
    w = -M @ gram.delta[support]
    T = M @ rows
    gradient = gram.delta + w @ rows
    allowed = restrictions.allowed_swaps(support, columns)
    allowed[:, gram.diagonal <= 0] = False
    allowed[:, support] = False
    allowed[:, restrictions.excluded] = False
    own, sign = np.empty((2, 0), np.int64)
    if restrictions.signs is not None:
        own = restrictions.signs[support]
        sign = restrictions.signs
    gains = [
        exchange_gains(
            T,
            rows,
            gradient,
            whole,
            dependence_tolerance(gram.precision) * whole,
            w,
            M,
            np.array([place]),
            False,
            allowed,
            own,
            sign,
        )
        for place in range(support.size)
    ]
    before = float(1.0 + gram.delta[support] @ w)
    return before, before - np.array(gains)
