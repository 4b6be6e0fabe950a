"""A fitted short list and the rows it is asked about, checked and brought to moments."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from ..estimators import SparseAUCClassifier
from ..metrics import fast_auc
from ..moments import class_moments
from ..moments.gram import StandardisedGram
from ..solvers.exchange import dependence_tolerance, solve_on
from ..solvers.restrictions import Restrictions
from ..strata import Strata
from .table import _column, _positive_rows

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class FittedList(NamedTuple):
    """What questions about a list need."""

    X: Any  # array or CSR
    positive: Mask
    gram: StandardisedGram  # of these rows
    support: Indices  # the chosen columns, ascending
    alpha: float  # ridge on the standardised scale
    restrictions: Restrictions  # what the model's list obeys
    names: npt.NDArray[Any]  # of the columns, or their indices
    strata: Strata | None = None

    @classmethod
    def from_model(
        cls, model: Any, X: Any, y: npt.ArrayLike, *, groups: bool = False, strata: Any = None
    ) -> FittedList:
        """Check a classifier and rows against each other; ``groups``: it may have chosen such."""
        if not isinstance(model, SparseAUCClassifier):
            raise ValueError(
                "model must be a SparseAUCClassifier or SparseAUCClassifierCV, got "
                f"{type(model).__name__}"
            )
        check_is_fitted(model)
        support = np.flatnonzero(model.coef_[0])
        if support.size == 0:
            raise ValueError("the model chose no column: all that it could choose are constant")
        if model.groups is not None and not groups:
            raise ValueError(
                "this model chose groups of columns, which no single column can stand in for: "
                "fit one without groups"
            )
        (X,) = model._check_table(X, reset=False)
        positive = _positive_rows(model, X, y)
        if hasattr(model, "n_strata_") and strata is None:
            raise ValueError("this model compares rows within strata: give those of the fit too")
        divided = None
        if strata is not None:
            divided = Strata.from_labels(strata, positive, weighting=model.stratum_weights)
        return cls(
            X,
            positive,
            StandardisedGram(class_moments(X, positive, strata=divided)),
            support,
            model._chosen_alpha,
            model._list_restrictions(),
            getattr(model, "feature_names_in_", np.arange(model.n_features_in_)),
            divided,
        )

    def coef(self, support: Indices) -> Array:
        """Coefficients of least loss on some columns, per unit of each."""
        gram = self.gram
        solution = solve_on(gram.block(support, support), gram.delta[support], support, self.alpha)
        return solution.coef / gram.scale[support]

    def allows(self, support: Indices) -> bool:
        """Whether a list obeys all that the model's does."""
        return self.restrictions.allows(support) and self.restrictions.right_signs(
            support, self.coef(support)
        )

    def auc(self, scores: Array) -> float:
        """AUC of scores of the rows, within strata where there are any."""
        if self.strata is None:
            return fast_auc(scores, self.positive)
        return self.strata.auc(scores, self.positive)

    def values(self, columns: Indices) -> Array:
        """Some columns, dense and in double precision."""
        return np.column_stack([_column(self.X, j) for j in columns.tolist()])


def exchange_table(
    gram: StandardisedGram, rows: Array, support: Indices, alpha: float, restrictions: Restrictions
) -> tuple[float, Array]:
    """Objective of a list, and after each exchange of a chosen column with another, (k, d).

    Infinity where the other column is chosen already, excluded, constant, one too many of its
    family, too dear, depends linearly on those that stay, or if a coefficient would have a wrong
    sign. ``rows`` are those of H of the list.
    ``solvers.exchange`` derives the formula.
    """
    ridged = rows[:, support] + alpha * np.eye(support.size)
    try:
        M = np.linalg.inv(ridged)
    except np.linalg.LinAlgError:
        raise ValueError(
            "on these rows the chosen columns depend on each other linearly: give the rows of the "
            "fit, or fit with a ridge (alpha)"
        ) from None
    w = -M @ gram.delta[support]
    T = M @ rows
    whole = gram.diagonal + alpha
    left = whole - np.einsum("kd,kd->d", T, rows)
    gradient = gram.delta + w @ rows
    cost = w / M.diagonal()
    room = left + T**2 / M.diagonal()[:, None]
    possible = room > dependence_tolerance(gram.precision) * whole
    possible[:, gram.diagonal <= 0] = False
    possible[:, support] = False
    possible[:, restrictions.excluded] = False
    possible &= restrictions.exchanges(support, np.arange(gram.n_features))[:-1]
    before = float(1.0 + gram.delta[support] @ w)
    gain, joining = np.zeros(T.shape), np.zeros(T.shape)
    pull = gradient - T * cost[:, None]
    np.divide(pull**2, room, out=gain, where=possible)
    if restrictions.signs is not None:
        np.divide(-pull, room, out=joining, where=possible)
        possible &= restrictions.signs * joining >= 0
        for place in range(support.size):
            # Coefficients of those that stay, before and after another column joins.
            share = M[:, place] / M[place, place]
            coef = (w - share * w[place])[:, None] - (T - np.outer(share, T[place])) * joining[
                place
            ]
            coef[place] = 0.0
            possible[place] &= (restrictions.signs[support][:, None] * coef >= 0).all(axis=0)
    return before, np.where(possible, before + (w * cost)[:, None] - gain, np.inf)
