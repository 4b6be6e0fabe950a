"""A fitted short list and the rows it is asked about, checked and brought to moments."""

from dataclasses import dataclass
from functools import cached_property
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
from ..solvers.exchange import DEPENDENT, Solution, dependence_tolerance, solve_on
from ..solvers.exchange_groups import independent
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
    columns, unit : ndarrays of int of shape (p,)
        Column of the table of each column of the basis, and its unit: that column, or
        its group where columns are grouped.
    outcome : Outcome
        Of the rows, with their weights and strata.
    gram : StandardisedGram
        Of the basis.
    support : ndarray of int
        The chosen units, ascending.
    alpha : float
        Ridge on the standardised scale.
    restrictions : Restrictions
        Of the model's list, on the columns of the basis.
    names : ndarray of shape (d,)
        Of the columns of the table, or their indices.
    counted : CountedRows
        The rows, those of weight above 0 among all that were given.
    """

    X: Any
    columns: Indices
    unit: Indices
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
        chosen = np.flatnonzero(model.coef_[0])
        if chosen.size == 0:
            raise ExchangeError(
                "the model chose no column: all are constant, or not allowed"
            )
        outcome = apply_fitted_strata(model, outcome, X, counted.take(strata, "strata"))
        gram = StandardisedGram(outcome.quadratic(X))
        units = model._units
        scale = gram.scale if units is None else units.leading(gram.scale)
        _check_same_rows(model, scale, weighted=sample_weight is not None)
        columns = np.arange(model.n_features_in_) if units is None else units.columns
        restrictions = model._fitted.restrictions.spread(columns)
        groups = restrictions.groups
        unit = np.arange(columns.size) if groups is None else groups
        on_list = np.flatnonzero(np.isin(columns, chosen))
        # Required columns that the model could not use are no part of its list.
        lost = restrictions.lost(on_list, np.ones(on_list.size))
        return cls(
            X=X,
            columns=columns,
            unit=unit,
            outcome=outcome,
            gram=gram,
            support=np.unique(unit[on_list]),
            alpha=model._fitted.alpha,
            restrictions=restrictions.without_fixed(lost),
            names=getattr(model, "feature_names_in_", np.arange(model.n_features_in_)),
            counted=counted,
        )

    @cached_property
    def limits(self) -> Restrictions:
        """Limits on units."""
        return self.restrictions.of_units()

    @cached_property
    def in_unit(self) -> list[Indices]:
        """Columns of the basis of each unit."""
        order = np.argsort(self.unit, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.unit))[:-1])

    @cached_property
    def _blocks(self) -> list[Array]:
        """H of the columns of each unit among themselves."""
        return [self.gram.block(own, own) for own in self.in_unit]

    def in_basis(self, units: Indices) -> Indices:
        """Columns of the basis of some units."""
        return np.sort(np.concatenate([self.in_unit[one] for one in units.tolist()]))

    def units_of(self, columns: npt.ArrayLike) -> Indices:
        """Units of some columns of the table."""
        return np.unique(self.unit[np.isin(self.columns, columns)])

    def names_of(self, units: Indices) -> tuple[Any, ...]:
        """Names of the columns of some units."""
        columns = np.unique(self.columns[self.in_basis(units)])
        return tuple(self.names[columns].tolist())

    def solution(self, units: Indices) -> Solution:
        """Least loss with ridge on some units."""
        support = self.in_basis(units)
        H = self.gram.block(support, support)
        kept = self._independent(H)
        return solve_on(
            H[np.ix_(kept, kept)],
            self.gram.delta[support[kept]],
            support[kept],
            self.alpha,
        )

    def _independent(self, H: Array) -> Indices:
        """Columns of a list that do not depend on those before them, given H of it."""
        return independent(H + self.alpha * np.eye(len(H)), DEPENDENT)

    def allows(self, units: Indices) -> bool:
        """Return whether a list is feasible, as the model's is."""
        found = self.solution(units)
        right = self.restrictions.right_signs(found.support, found.coef)
        return right and self.limits.allows(units)

    def exchanges(self, support: Indices) -> tuple[float, Array]:
        """Objective of a list, and after each exchange of a unit with another, (k, n_units).

        Infinity where the exchange is not possible, as of a unit that must stay.
        """
        gram = self.gram
        chosen = self.in_basis(support)
        gram.fetch(chosen)
        rows = gram.kept_rows[gram.positions(chosen)]
        n_units = len(self.in_unit)
        possible = self.limits.allowed_swaps(support, np.arange(n_units))
        possible[:, support] = False
        possible[:, self.limits.excluded] = False
        after = np.full((support.size, n_units), np.inf)
        leaves = ~np.isin(support, self.limits.fixed)
        for place in np.flatnonzero(leaves).tolist():
            kept = self.unit[chosen] != support[place]
            others = np.flatnonzero(possible[place])
            after[place, others] = self._objectives(chosen[kept], rows[kept], others)
        return self.solution(support).objective, after

    def _objectives(self, basis: Indices, rows: Array, others: Indices) -> Array:
        """Objective of a basis with each of some other units, given its rows of H.

        Infinity for units that the basis explains, and where a coefficient would have
        the wrong sign.
        """
        gram = self.gram
        kept = self._independent(rows[:, basis])
        basis, rows = basis[kept], rows[kept]
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
            signs = self.restrictions.signs
            kept_right = signs[basis, None] * (w[:, None] - T * new) >= 0
            gains[~(kept_right.all(axis=0) & (signs * new >= 0))] = -np.inf
        first = np.array([own[0] for own in self.in_unit])
        sizes = np.array([own.size for own in self.in_unit])[others]
        found = gains[first[others]]
        for size in np.unique(sizes[sizes > 1]):
            units = others[sizes == size].tolist()
            own = np.array([self.in_unit[one] for one in units])
            of_own = np.array([self._blocks[one] for one in units])
            of_own += self.alpha * np.eye(size)
            of_own -= np.einsum("puj,puh->ujh", rows[:, own], T[:, own])
            # What others explain, or what is constant, takes no part.
            part = takes_part[own]
            of_own *= part[:, :, None] & part[:, None, :]
            slope = np.where(part, gradient[own], 0.0)
            inverse = np.linalg.pinv(of_own, hermitian=True)
            step = np.einsum("ujh,uh->uj", inverse, slope)
            gain = np.sum(slope * step, axis=1)
            coef = w[:, None] + np.einsum("puj,uj->pu", T[:, own], step)
            signs = self.restrictions.signs_of(basis)[:, None]
            possible = part.any(axis=1) & (signs * coef >= 0).all(axis=0)
            found[sizes == size] = np.where(possible, gain, -np.inf)
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
