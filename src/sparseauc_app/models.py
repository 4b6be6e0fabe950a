"""Fitted models as the application meets them: a classifier, alone or after other steps."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from sparseauc.columns.reading import ReadColumns, is_frame, read_table
from sparseauc.columns.units import Units
from sparseauc.estimators import ConcordanceModel, SparseLinearClassifier
from sparseauc.outcome import Outcome
from sparseauc.selection.confidence import scores_by
from sparseauc.selection.fitted_list import EXCHANGE_MODELS
from sparseauc.utils.types import Floats

from .reading import Table


def check_model(model: Any) -> None:
    """Refuse what is not a fitted model of this library."""
    if not isinstance(model, SparseLinearClassifier | ConcordanceModel):
        raise TypeError(
            f"expected a fitted model of sparseauc, got {type(model).__name__}. Of a search, give "
            "best_estimator_; in place of a pipeline, fit the model to the table itself: it takes "
            "text and missing values, and scales columns"
        )
    check_is_fitted(model)


class Numbers(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Scaled numbers for methods of others.

    Missing ones are medians of the training rows, texts are columns of 0 and 1.
    """

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn medians, levels and deviations from training rows."""
        table = read_columns(X)
        sparse = sp.issparse(table.values)
        self.units_ = None if sparse else Units.learn(table)
        self.scaler_ = StandardScaler(with_mean=not sparse).fit(self._numbers(X))
        return self

    def transform(self, X: Any) -> Any:
        """Return the numbers of rows."""
        return self.scaler_.transform(self._numbers(X))

    def _numbers(self, X: Any) -> Any:
        if self.units_ is None:
            return X
        return self.units_.basis(read_columns(X, self.units_.levels).values)

    def columns_used(self, coef: Any) -> npt.NDArray[np.intp]:
        """Columns of the table of which some number has a coefficient."""
        used = np.flatnonzero(np.ravel(coef))
        return used if self.units_ is None else np.unique(self.units_.columns[used])


class Peer:
    """A fitted method of others, on scaled numbers of a table."""

    def __init__(self, numbers: Numbers, model: Any, n_columns: int) -> None:
        self.numbers = numbers
        self.model = model
        if hasattr(model, "coef_"):
            self.coef_ = np.zeros((1, n_columns))
            self.coef_[0, numbers.columns_used(model.coef_)] = 1.0

    def decision_function(self, X: Any) -> Any:
        """Score rows."""
        return scores_by(self.model, self.numbers.transform(X))


def fit_peer(make: Callable[[], Any], X: Any, y: Any) -> Peer:
    """Fit a method of others to some rows of a table."""
    numbers = Numbers()
    model = make().fit(numbers.fit_transform(X), y)
    return Peer(numbers, model, X.shape[1])


def read_columns(X: Any, known: Any = None) -> ReadColumns:
    """Read a table as models do."""
    return read_table(X, known) if is_frame(X) else ReadColumns(X)


def labels_for(classifier: Any, table: Table) -> npt.NDArray[Any]:
    """Return the outcome of a table as a model was fitted to it."""
    if table.times is not None:
        return table.outcome.y
    labels: npt.NDArray[Any] = classifier.classes_[table.y]
    return labels


def chooses_by_exchanges(classifier: Any) -> bool:
    """Return whether a model chooses its list by the loss over pairs that exchanges lower."""
    return isinstance(classifier, EXCHANGE_MODELS)


def ridge_of(classifier: Any) -> float:
    """Ridge of a classifier, given or chosen; 0 without one."""
    return float(getattr(classifier, "alpha_", getattr(classifier, "alpha", 0.0)))


def on_scale_of(training_scores: Floats, outcome: Outcome, scores: Floats) -> Floats:
    """Turn scores scaled as those of ``NestedScores`` into those of another model."""
    middle, unit = outcome.scale(np.asarray(training_scores, np.float64))
    rescaled: Floats = middle + scores * unit
    return rescaled
