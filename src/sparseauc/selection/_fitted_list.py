"""A fitted short list and the rows it is asked about, checked and brought to moments."""

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from .._clipping import clip_columns
from ..estimators import ExchangeClassifier
from ..metrics import fast_auc_within
from ..moments import class_moments
from ..moments.gram import StandardisedGram
from ..objective import Array, Indices, Mask
from ..solvers.exchange import Solution, dependence_tolerance, solve_on
from ..solvers.restrictions import Restrictions
from ..solvers.working_set import exchange_gains
from ..strata import Strata
from .table import _column, _positive_rows


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
    ) -> Self:
        """Check a classifier and rows against each other; ``groups``: it may have chosen such."""
        if not isinstance(model, ExchangeClassifier):
            raise ValueError(
                "model must be a SparseAUCClassifier or SparseAUCClassifierCV, got "
                f"{type(model).__name__}"
            )
        check_is_fitted(model)
        support = np.flatnonzero(model.coef_[0])
        if support.size == 0:
            raise ValueError("the model chose no column: all that it could choose are constant")
        if model.limits is not None and model.limits.column_groups is not None and not groups:
            raise ValueError(
                "this model chose groups of columns, which no single column can stand in for: "
                "fit one without column_groups"
            )
        (X,) = model._check_table(X, reset=False)
        X = clip_columns(X, model.clip_limits_)
        positive = _positive_rows(model, X, y)
        if hasattr(model, "n_strata_") and strata is None:
            raise ValueError("this model compares rows within strata: give those of the fit too")
        divided = None
        if strata is not None:
            divided = Strata.from_labels(strata, positive, weighting=model.stratum_weights_)
        return cls(
            X,
            positive,
            StandardisedGram(class_moments(X, positive, strata=divided)),
            support,
            model._chosen_alpha,
            model._fitted_restrictions(),
            getattr(model, "feature_names_in_", np.arange(model.n_features_in_)),
            divided,
        )

    def solution(self, support: Indices) -> Solution:
        """Least loss with ridge on some columns."""
        gram = self.gram
        return solve_on(gram.block(support, support), gram.delta[support], support, self.alpha)

    def coef(self, support: Indices) -> Array:
        """Coefficients of least loss on some columns, per unit of each."""
        return self.solution(support).coef / self.gram.scale[support]

    def allows(self, support: Indices) -> bool:
        """Whether a list obeys all that the model's does."""
        return self.restrictions.allows(support) and self.restrictions.right_signs(
            support, self.coef(support)
        )

    def auc(self, scores: Array) -> float:
        """AUC of scores of the rows, within strata where there are any."""
        return fast_auc_within(scores, self.positive, self.strata)

    def values(self, columns: Indices) -> Array:
        """Some columns, dense and in double precision."""
        return np.column_stack([_column(self.X, j) for j in columns.tolist()])


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
        raise ValueError(
            "on these rows the chosen columns depend on each other linearly: give the rows of the "
            "fit, or fit with a ridge (alpha)"
        ) from None
    columns, whole = np.arange(gram.n_features), gram.diagonal + alpha
    w = -M @ gram.delta[support]
    T, gradient = M @ rows, gram.delta + w @ rows
    allowed = restrictions.exchanges(support, columns)
    allowed[:, gram.diagonal <= 0] = False
    allowed[:, support] = False
    allowed[:, restrictions.excluded] = False
    gains = [
        exchange_gains(
            T, rows, gradient, whole, dependence_tolerance(gram.precision) * whole, w, M,
            np.array([place]), False, allowed, restrictions.signs_of(support),
            restrictions.signs_of(columns),
        )
        for place in range(support.size)
    ]  # fmt: skip
    before = float(1.0 + gram.delta[support] @ w)
    return before, before - np.array(gains)
