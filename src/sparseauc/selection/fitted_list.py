"""A fitted short list and the rows it is asked about, checked and brought to moments."""

from dataclasses import dataclass
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
from ..moments.base import StandardisedGram
from ..outcome import Outcome
from ..solvers.exchange import Solution, dependence_tolerance, solve_on
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
            counted=counted,
        )

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

    def allows(self, support: Indices) -> bool:
        """Return whether a list is feasible, as the model's is."""
        coef = self.solution(support).coef
        limits = self.restrictions
        return limits.allows(support) and limits.right_signs(support, coef)

    def exchanges(self, support: Indices) -> tuple[float, Array]:
        """Objective of a list, and after each exchange of a column with another, (k, d).

        Infinity where the exchange is not possible, as of a column that must stay.
        """
        gram = self.gram
        chosen = self.in_basis(support)
        gram.fetch(chosen)
        rows = gram.kept_rows[gram.positions(chosen)]
        possible = self.restrictions.allowed_swaps(support, np.arange(self.names.size))
        possible[:, support] = False
        possible[:, self.restrictions.excluded] = False
        after = np.full((support.size, self.names.size), np.inf)
        leaves = ~np.isin(support, self.restrictions.fixed)
        for place in np.flatnonzero(leaves).tolist():
            kept = self.columns[chosen] != support[place]
            others = np.flatnonzero(possible[place])
            after[place, others] = self._objectives(chosen[kept], rows[kept], others)
        return self.solution(support).objective, after

    def _objectives(self, basis: Indices, rows: Array, others: Indices) -> Array:
        """Objective of a basis with each of some other columns, given its rows of H.

        Infinity for columns that the basis explains, and where a coefficient would have
        the wrong sign.
        """
        gram = self.gram
        H = rows[:, basis] + self.alpha * np.eye(basis.size)
        T = np.linalg.solve(H, rows)
        w = np.linalg.solve(H, -gram.delta[basis])
        gradient = gram.delta + w @ rows
        whole = gram.diagonal + self.alpha
        left = whole - np.sum(rows * T, axis=0)
        tolerance = dependence_tolerance(gram.precision) * whole
        takes_part = (gram.diagonal > 0) & (left > tolerance)
        new = -np.divide(gradient, left, out=np.zeros_like(left), where=takes_part)
        gains = np.where(takes_part, -gradient * new, -np.inf)
        if self.restrictions.signs is not None:
            signs = self.restrictions.signs[self.columns]
            kept_right = signs[basis, None] * (w[:, None] - T * new) >= 0
            gains[~(kept_right.all(axis=0) & (signs * new >= 0))] = -np.inf
        first = np.searchsorted(self.columns, others)
        found = gains[first]
        width = np.searchsorted(self.columns, others, "right") - first
        for number in np.flatnonzero(width > 1).tolist():
            own = first[number] + np.arange(width[number])
            # What others explain, or what is constant, takes no part.
            own = own[takes_part[own]]
            of_own = gram.block(own, own) + self.alpha * np.eye(own.size)
            of_own -= rows[:, own].T @ T[:, own]
            step = np.linalg.lstsq(of_own, gradient[own], rcond=None)[0]
            found[number] = gradient[own] @ step
        objectives: Array = 1.0 + gram.delta[basis] @ w - found
        return objectives

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
