"""Fitted models as the application meets them: a classifier, alone or after other steps."""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from sparseauc.estimators import ConcordanceModel, SparseLinearClassifier
from sparseauc.outcome import Outcome
from sparseauc.selection.fitted_list import EXCHANGE_MODELS
from sparseauc.utils.types import Floats

from .reading import Table


def steps_of(model: Any) -> tuple[list[Any], Any]:
    """Return the steps before the classifier or concordance model, and that, of a fitted model."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    *before, classifier = [step for step in steps if step not in (None, "passthrough")]
    if not isinstance(classifier, SparseLinearClassifier | ConcordanceModel) or not all(
        isinstance(step, SimpleImputer | StandardScaler) for step in before
    ):
        named = ", ".join(type(step).__name__ for step in steps)
        raise TypeError(
            "expected a sparseauc model, alone or after SimpleImputer and StandardScaler; got "
            f"{named}"
        )
    for step in (*before, classifier):
        check_is_fitted(step)
    for step in before:
        width = len(step.get_feature_names_out())
        if width != classifier.n_features_in_ or step.n_features_in_ != width:
            raise TypeError(
                "the imputer dropped or added columns: use keep_empty_features=True and "
                "add_indicator=False"
            )
    return before, classifier


def replace_classifier(model: Any, classifier: Any) -> Any:
    """Return the model with another classifier at its end."""
    if not isinstance(model, Pipeline):
        return classifier
    *before, (name, _) = model.steps
    return Pipeline([*before, (name, classifier)])


def fill_in(model: Any, X: Any) -> Any:
    """Replace missing values of X as a model fitted by the command does."""
    before, _ = steps_of(model)
    return before[0].transform(X) if before else X


def make_filler(table: Table) -> SimpleImputer:
    """Return what fills in missing values for methods to compare with."""
    return SimpleImputer(strategy=table.imputation or "median", keep_empty_features=True)


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
