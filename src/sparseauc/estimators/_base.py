"""What all classifiers share: checking input, labels, scoring, and the chosen columns."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

Floats = npt.NDArray[np.floating]


class SparseLinearClassifier(SelectorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A linear score on few columns, with a threshold; also a selector of those columns.

    A subclass fits ``coef_`` and calls ``_set_fitted``. ``classes_[1]`` is the positive class.
    """

    coef_: Floats
    intercept_: Floats
    classes_: npt.NDArray[Any]
    n_features_in_: int

    def decision_function(self, X: Any) -> Floats:
        """Score rows; higher is more likely positive, above 0 is predicted positive."""
        check_is_fitted(self)
        X = validate_data(
            self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32],
            ensure_all_finite=False,
        )  # fmt: skip
        check_finite(self, X)
        support = np.flatnonzero(self.coef_[0])
        scores: Floats = X[:, support] @ self.coef_[0, support] + self.intercept_[0]
        return scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the class of each row: positive where the score is above 0."""
        scores = self.decision_function(X)
        labels: npt.NDArray[Any] = self.classes_[(scores > 0).astype(np.intp)]
        return labels

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        check_is_fitted(self)
        mask: npt.NDArray[np.bool_] = self.coef_[0] != 0
        return mask

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def _check_training_data(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Any, npt.NDArray[np.bool_], npt.NDArray[np.float64] | None]:
        """Return X, the mask of positives and the weights, or say what is wrong with them."""
        name_text_columns(X)
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32],
            ensure_all_finite=False,
        )  # fmt: skip
        check_finite(self, X)
        check_classification_targets(y)
        classes = np.unique(y)
        if classes.size < 2:
            raise ValueError(
                f"y holds one class only, {classes.tolist()[0]!r}: "
                "ranking needs rows of two classes"
            )
        if classes.size > 2:
            shown = ", ".join(repr(label) for label in classes[:5].tolist())
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass "
                f"({classes.size} classes: {shown}{', …' if classes.size > 5 else ''}). Pass "
                "y == label, or wrap the classifier in sklearn.multiclass.OneVsRestClassifier"
            )
        positive: npt.NDArray[np.bool_] = y == classes[1]
        weight = None
        if sample_weight is not None:
            weight = check_weights(sample_weight, X, positive, classes)
        self.classes_ = classes
        return X, positive, weight

    def _columns_to_keep(self, k: int, n_features: int) -> int:
        """``k``, or all columns, with a warning, when there are fewer."""
        if k > n_features:
            warnings.warn(
                f"k={k} is greater than n_features={n_features}. All the features will be kept.",
                UserWarning,
                stacklevel=4,
            )
        return min(k, n_features)

    def _set_fitted(self, coef: Floats, mean_positive: Floats, mean_negative: Floats) -> Self:
        """Set ``coef_``, and ``intercept_`` so that the threshold lies midway between the classes.

        Both classes weigh the same in the midpoint however rare one is, as they do in the AUC.
        """
        middle = (coef @ mean_positive + coef @ mean_negative) / 2
        self.coef_ = coef.reshape(1, -1)
        self.intercept_ = np.array([-middle], dtype=coef.dtype)
        return self


def check_finite(estimator: Any, X: Any) -> None:
    """Refuse NaN and infinity, naming the first row and column that hold one."""
    sparse = sp.issparse(X)
    values = X.data if sparse else X
    with np.errstate(over="ignore", invalid="ignore"):
        # A finite sum proves all entries finite and costs no memory; sums may overflow.
        if values.size == 0 or np.isfinite(np.sum(values, dtype=np.float64)):
            return
    for row in range(X.shape[0]):
        entries = X.data[X.indptr[row] : X.indptr[row + 1]] if sparse else X[row]
        bad = np.flatnonzero(~np.isfinite(entries))
        if bad.size:
            break
    else:
        return
    value = entries[bad[0]]
    column = int(X.indices[X.indptr[row] + bad[0]] if sparse else bad[0])
    names = getattr(estimator, "feature_names_in_", None)
    shown = f"{column}" if names is None else f"{names[column]!r}"
    kind = "NaN" if np.isnan(value) else "infinity"
    raise ValueError(
        f"Input X contains {kind}: first at row {row}, column {shown}. {type(estimator).__name__} "
        "needs finite numbers: drop such rows or columns, or put sklearn.impute.SimpleImputer "
        "before it in a pipeline"
    )


def check_weights(
    sample_weight: Any, X: Any, positive: npt.NDArray[np.bool_], classes: npt.NDArray[Any]
) -> npt.NDArray[np.float64]:
    """Return weights as float64, or name the first that is negative or the class without any."""
    weight: npt.NDArray[np.float64] = _check_sample_weight(sample_weight, X, dtype=np.float64)
    for row in np.flatnonzero(weight < 0)[:1]:
        raise ValueError(f"sample_weight is {weight[row]:g} at row {row}; give 0 or more")
    for label, mask in zip(classes.tolist(), (~positive, positive), strict=True):
        if not weight[mask].sum() > 0:
            raise ValueError(
                f"sample_weight is zero on all rows of class {label!r}: "
                "give at least one row of each class a positive weight"
            )
    return weight


def name_text_columns(X: Any) -> None:
    """Refuse a frame with columns that are not numbers, naming the first."""
    if hasattr(X, "select_dtypes"):  # pandas
        text = list(X.select_dtypes(exclude=["number", "bool"]).columns)
    elif hasattr(X, "schema") and hasattr(X, "columns"):  # polars
        text = [
            name
            for name, kind in X.schema.items()
            if not (kind.is_numeric() or str(kind) == "Boolean")
        ]
    else:
        return
    if text:
        more = f" and {len(text) - 1} more" if len(text) > 1 else ""
        raise ValueError(
            f"column {text[0]!r}{more} could not be converted to float: encode text and dates as "
            "numbers first, for example with sklearn.preprocessing.OneHotEncoder, or drop them"
        )
