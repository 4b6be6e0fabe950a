"""A fitted short list and the rows it is asked about, checked and brought to moments."""

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from .._validation import check_each_class_weighs, check_weights
from ..errors import ExchangeError, FoldsError, InputError
from ..estimators import ConcordanceModel, ExchangeClassifier
from ..moments.base import Quadratic, StandardisedGram
from ..outcome import Binary, Outcome
from ..path.folds import Split, make_splits
from ..solvers.exchange import Solution, dependence_tolerance, exchange_gains, solve_on
from ..solvers.restrictions import Restrictions
from ..survival import SurvivalTimes
from ..transforms import transform_columns
from ..utils.types import Array, Indices
from .table import _column, _positive_rows


class FittedList(NamedTuple):
    """What questions about a list need."""

    X: Any  # array or CSR
    outcome: Outcome  # of its rows, with their weights and strata
    gram: StandardisedGram  # of these rows
    support: Indices  # the chosen columns, ascending
    alpha: float  # ridge on the standardised scale
    restrictions: Restrictions  # those of the model's list
    names: npt.NDArray[Any]  # of the columns, or their indices
    kept: Indices = np.empty(0, np.int64)  # columns of groups, which are not exchanged

    @classmethod
    def from_model(
        cls, model: Any, X: Any, y: npt.ArrayLike, *, times: bool = False,
        sample_weight: Any = None, **known: Any,
    ) -> Self:  # fmt: skip
        """Check a model and rows against each other.

        Rows, weights and what else is known of them, their strata, are those of the fit, whose
        standard deviations the model has. ``times``:
        it may rank times to event; rows with an event are then the positive ones.
        """
        if not isinstance(model, (ExchangeClassifier, ConcordanceModel)[: 1 + times]):
            more = ", SparseConcordance or SparseConcordanceCV" if times else ""
            raise InputError(
                f"model must be a SparseAUCClassifier or SparseAUCClassifierCV{more}, got "
                f"{type(model).__name__}"
            )
        check_is_fitted(model)
        support = np.flatnonzero(model.coef_[0])
        if support.size == 0:
            raise ExchangeError("the model chose no column: all are constant, or not allowed")
        (X,) = model._check_table(X, reset=False)
        X = transform_columns(model, X)
        weight = None
        outcome: Any
        if isinstance(model, ConcordanceModel):
            ends = SurvivalTimes.from_target(y)
            check_consistent_length(X, ends.time)
            if sample_weight is not None:
                weight = check_weights(sample_weight, len(ends))
            outcome = model._outcome(ends, weight)
        else:
            positive = _positive_rows(model, X, y)
            if sample_weight is not None:
                weight = check_weights(sample_weight, positive.size)
                check_each_class_weighs(weight, positive, np.array([False, True]))
            outcome = Binary(positive, weight)
        outcome = model._reapply_strata(outcome, X, **known)
        gram = StandardisedGram(outcome.quadratic(X))
        restrictions = model._fitted_restrictions()
        _check_same_rows(model, gram.scale, weighted=weight is not None)
        return cls(
            X,
            outcome,
            gram,
            support,
            model._chosen_alpha,
            restrictions.without_groups(support),
            getattr(model, "feature_names_in_", np.arange(model.n_features_in_)),
            restrictions.grouped,
        )

    def at(self, rows: Indices) -> Self:
        """The same list, asked about some of the rows."""
        X = self.X[rows]
        outcome = self.outcome.take_alone(rows)
        gram = StandardisedGram(outcome.quadratic(X))
        return self._replace(X=X, outcome=outcome, gram=gram)

    def quadratic(self, values: Array, rows: Indices) -> Quadratic:
        """Return the quadratic of some columns of all rows, over some of the rows."""
        weight = np.bincount(rows, minlength=len(values)).astype(np.float64)
        if self.outcome.weight is not None:
            weight *= self.outcome.weight
        return self.outcome.reweighted(weight).quadratic(values)

    def splits(self) -> list[Split]:
        """Folds of these rows, five or as many as there are rows of the rarer class; or none."""
        outcome = self.outcome
        counted = outcome.positive
        if outcome.weight is not None:
            counted = counted[outcome.weight > 0]
        few = int(min(counted.sum(), (~counted).sum()))
        if few < 2:
            return []
        found = make_splits(
            min(5, few), self.X, outcome.positive, None, 0, n_repeats=1, strata=outcome.strata
        )
        try:
            return outcome.split(found, self.X, None, 0)
        except FoldsError:
            return []

    def solution(self, support: Indices) -> Solution:
        """Least loss with ridge on some columns."""
        gram = self.gram
        return solve_on(gram.block(support, support), gram.delta[support], support, self.alpha)

    def coef(self, support: Indices) -> Array:
        """Coefficients of least loss on some columns, per unit of each."""
        return self.solution(support).coef / self.gram.scale[support]

    def allows(self, support: Indices) -> bool:
        """Whether a list is feasible, as the model's is."""
        return self.restrictions.allows(support) and self.restrictions.right_signs(
            support, self.coef(support)
        )

    def values(self, columns: Indices) -> Array:
        """Some columns, dense and in double precision."""
        return np.column_stack([_column(self.X, j) for j in columns.tolist()])


def _check_same_rows(model: Any, scale: Array, *, weighted: bool) -> None:
    """Refuse rows, or weights, whose standard deviations are not those of the fit."""
    same = np.isclose(scale, model.scale_, rtol=1e-4, atol=0.0)
    for column in np.flatnonzero(~same)[:1].tolist():
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
    columns, whole = np.arange(gram.n_features), gram.diagonal + alpha
    w = -M @ gram.delta[support]
    T, gradient = M @ rows, gram.delta + w @ rows
    allowed = restrictions.allowed_swaps(support, columns)
    allowed[:, gram.diagonal <= 0] = False
    allowed[:, support] = False
    allowed[:, restrictions.excluded] = False
    own, sign = np.empty((2, 0), np.int64)
    if restrictions.signs is not None:
        own, sign = restrictions.signs[support], restrictions.signs
    gains = [
        exchange_gains(
            T, rows, gradient, whole, dependence_tolerance(gram.precision) * whole, w, M,
            np.array([place]), False, allowed, own, sign,
        )
        for place in range(support.size)
    ]  # fmt: skip
    before = float(1.0 + gram.delta[support] @ w)
    return before, before - np.array(gains)
