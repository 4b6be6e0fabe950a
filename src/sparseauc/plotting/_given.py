"""What displays are given: fitted estimators, names of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..selection.confidence import scores_by


def fitted_step(estimator: Any, attribute: str, otherwise: str) -> Any:
    """Last step of a fitted estimator, which must have an attribute."""
    model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    check_is_fitted(model)
    if not hasattr(model, attribute):
        raise ValueError(f"{type(model).__name__} {otherwise}")
    return model


def names_of(columns: npt.NDArray[Any], names: Sequence[str] | None) -> list[str]:
    if names is None:
        return [f"x{j}" for j in columns.tolist()]
    if len(names) <= max(columns.tolist(), default=-1):
        raise ValueError(f"there are {len(names)} names, and a column {max(columns.tolist())}")
    return [str(names[j]) for j in columns.tolist()]


def scores_of(estimator: Any, X: Any) -> npt.NDArray[Any]:
    check_is_fitted(estimator)
    return scores_by(estimator, X)
