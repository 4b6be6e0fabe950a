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
    X : ndarray or CSR of shape (n, p)
        Basis of the rows: the columns, unless they have missing values, or are curves
        or texts.
    columns : ndarray of int of shape (p,)
        Column of the table of each column of the basis.
    outcome : Outcome
        Of the rows, with their weights and strata.
    gram : StandardisedGram
        Of the basis.
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
    columns: Indices
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

        Rows, weights and strata are those of the fit, whose standard deviations the
        model has.
        """
        if not isinstance(model, EXCHANGE_MODELS):
            names = ", ".join(kind.__name__ for kind in EXCHANGE_MODELS[:-1])
            raise InputError(
                f"model must be a {names} or {EXCHANGE_MODELS[-1].__name__}, got "
                f"{type(model).__name__}"
            )
        table, outcome, counted = rows_of_fit(model, X, y, sample_weight)
        X = basis_of(table, model._units)
        support = np.flatnonzero(model.coef_[0])
        if support.size == 0:
            raise ExchangeError(
                "the model chose no column: all are constant, or not allowed"
            )
        outcome = apply_fitted_strata(model, outcome, X, counted.take(strata, "strata"))
        gram = StandardisedGram(outcome.quadratic(X))
        scale = gram.scale if model._units is None else model._units.leading(gram.scale)
        _check_same_rows(model, scale, weighted=sample_weight is not None)
        restrictions = model._fitted.restrictions
        units = model._units
        return cls(
            X=X,
            columns=np.arange(model.n_features_in_) if units is None else units.columns,
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
        return replace(
            self, X=X, outcome=outcome, gram=StandardisedGram(outcome.quadratic(X))
        )

    def quadratic(self, values: Array, rows: Indices) -> Quadratic:
        """Return the quadratic of some columns of all rows, over some of the rows."""
        weight = np.bincount(rows, minlength=len(values)).astype(np.float64)
        if self.outcome.weight is not None:
            weight *= self.outcome.weight
        return self.outcome.reweighted(weight).quadratic(values)

    @property
    def single(self) -> bool:
        """True if every column has one number only."""
        return self.columns.size == self.names.size

    def in_basis(self, support: Indices) -> Indices:
        """Return the columns of the basis of some columns."""
        return (
            support if self.single else np.flatnonzero(np.isin(self.columns, support))
        )

    def solution(self, support: Indices) -> Solution:
        """Least loss with ridge on some columns."""
        gram = self.gram
        support = self.in_basis(support)
        return solve_on(
            gram.block(support, support), gram.delta[support], support, self.alpha
        )

    def coef(self, support: Indices) -> Array:
        """Coefficients of least loss on some columns, per unit of each."""
        return self.solution(support).coef / self.gram.scale[support]

    def allows(self, support: Indices) -> bool:
        """Return whether a list is feasible, as the model's is."""
        allowed = self.restrictions.allows(support)
        if self.restrictions.signs is None:
            return allowed
        return allowed and self.restrictions.right_signs(support, self.coef(support))

    def exchanges(self, support: Indices) -> tuple[float, Array]:
        """Objective of a list, and after each exchange of a column with another, (k, d).

        Infinity where the exchange is not possible.
        """
        gram = self.gram
        if self.single:
            gram.fetch(support)
            rows = gram.kept_rows[gram.positions(support)]
            return exchange_table(gram, rows, support, self.alpha, self.restrictions)
        chosen = self.in_basis(support)
        rows = gram.rows(chosen)
        allowed = self.restrictions.allowed_swaps(support, np.arange(self.names.size))
        after = np.full((support.size, self.names.size), np.inf)
        for place, column in enumerate(support.tolist()):
            kept = self.columns[chosen] != column
            possible = np.flatnonzero(allowed[place])
            others = np.setdiff1d(possible, [*support, *self.restrictions.excluded])
            after[place, others] = self._objectives_with(
                chosen[kept], rows[kept], others
            )
        return self.solution(support).objective, after

    def _objectives_with(self, basis: Indices, rows: Array, others: Indices) -> Array:
        """Objective of a list with each of some other columns, given the rows of H of its basis."""
        gram = self.gram
        H = rows[:, basis] + self.alpha * np.eye(basis.size)
        T = np.linalg.solve(H, rows)
        w = np.linalg.solve(H, -gram.delta[basis])
        gradient = gram.delta + w @ rows
        found = np.empty(others.size)
        for number, column in enumerate(others.tolist()):
            own = self.in_basis(np.array([column]))
            left = (
                gram.block(own, own)
                + self.alpha * np.eye(own.size)
                - rows[:, own].T @ T[:, own]
            )
            # What others explain, or what is constant, takes no part.
            takes_part = left.diagonal() > dependence_tolerance(gram.precision)
            own = own[takes_part]
            left = left[np.ix_(takes_part, takes_part)]
            step = np.linalg.lstsq(left, gradient[own], rcond=None)[0]
            found[number] = 1.0 + gram.delta[basis] @ w - gradient[own] @ step
        return found

    def values(self, columns: Indices) -> Array:
        """Some columns of the basis, dense and in double precision."""
        return np.column_stack([column_of(self.X, j) for j in columns.tolist()])


def rows_of_fit(
    model: Any, X: Any, y: npt.ArrayLike, sample_weight: Any = None
) -> tuple[Any, Outcome, CountedRows]:
    """Check the rows of a fitted model, in memory.

    Returns them, their outcome as the model ranks them, and which of those given have a
    weight above 0.
    """
    check_is_fitted(model)
    X, outcome, counted = model._check_rows(X, y, sample_weight, reset=False)
    return X, outcome, counted


def _check_same_rows(model: Any, scale: Array, *, weighted: bool) -> None:
    """Refuse rows, or weights, whose standard deviations are not those of the fit."""
    column = first_bad(~np.isclose(scale, model.scale_, rtol=1e-4, atol=0.0))
    if column is not None:
        given = "X, strata and sample_weight are" if weighted else "X and strata are"
        more = (
            "" if weighted else "; if it was fitted with sample_weight, give that too"
        )
        raise InputError(
            f"{given} not those of the fit: column {column} has a standard deviation of "
            f"{scale[column]:.6g}, and had {model.scale_[column]:.6g}{more}"
        )


def exchange_table(
    gram: StandardisedGram,
    rows: Array,
    support: Indices,
    alpha: float,
    restrictions: Restrictions,
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
