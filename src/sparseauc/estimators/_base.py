"""Base of all models: input checks, scores, the chosen columns; and labels of classifiers."""

import functools
import sys
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, ClassVar, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import expit
from sklearn.base import BaseEstimator, _fit_context
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import ClassifierTags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    assert_all_finite,
    check_array,
    check_is_fitted,
    column_or_1d,
)

from .._validation import (
    CountedRows,
    NotFiniteError,
    check_classes,
    check_each_class_weighs,
    check_finite,
    check_known_labels,
    check_weights,
    first_bad,
    refuse_masked,
)
from ..chunks import (
    Chunks,
    as_chunks,
    chunks_on_device,
    labels_and_weights,
    mapped_chunks,
    score_chunks,
)
from ..columns import Encoding, Line
from ..columns.reading import ReadColumns, is_frame, read_table
from ..columns.units import Units, add_effects
from ..errors import InputError
from ..moments import ColumnError, scale_weights
from ..outcome import Binary, Outcome
from ..utils.arrays import is_tensor, to_host
from ..utils.types import Array, Floats, Mask
from ._short_list import short_list_html

# What a fit sets besides attributes that end with an underscore.
_HIDDEN = ("_fitted", "_stream", "_units")

P = ParamSpec("P")
T = TypeVar("T", bound=Outcome)
R = TypeVar("R")


def names_columns(method: Callable[P, R]) -> Callable[P, R]:
    """Decorate a method so that a column it refuses is named, where X has names."""

    @functools.wraps(method)
    def named(*arguments: P.args, **options: P.kwargs) -> R:
        model = arguments[0]
        try:
            return method(*arguments, **options)
        except (NotFiniteError, ColumnError) as bad:
            names = getattr(model, "feature_names_in_", None)
            said = str(bad) if names is None else bad.named(names[bad.column])
            if isinstance(bad, NotFiniteError):
                said += (
                    f". {type(model).__name__} needs finite numbers: drop such rows or columns, or "
                    "put sklearn.impute.SimpleImputer before it in a pipeline"
                )
            raise InputError(said) from None

    return named


def checks_parameters(method: Callable[P, R]) -> Callable[P, R]:
    """Decorate a fit so that parameters are checked first, and a column it refuses is named."""
    context = _fit_context(prefer_skip_nested_validation=False)
    checked: Callable[P, R] = context(names_columns(method))
    return checked


# ------------------------------------------------------------------------------- tables


@names_columns
def check_table(
    model: Any, X: Any, *, reset: bool = True, only: Collection[int] | None = None
) -> Any:
    """Return X as numbers in an array or CSR matrix.

    Where columns hold text, or have missing values, X is ``ReadColumns``. Of a data
    frame ``only`` some columns are read.
    """
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.result_type(X.dtype, np.float32)), np.nan)
    elif type(X).__module__.startswith("pyarrow") and hasattr(X, "to_pandas"):
        X = X.to_pandas()
    elif type(X).__module__.startswith("polars") and hasattr(X, "collect"):
        raise InputError("X is a lazy frame, which has no rows yet: pass X.collect()")
    _check_feature_names(model, X, reset=reset)
    read = None
    if not isinstance(X, np.ndarray) and is_frame(X):
        read = _read_frame(model, X, reset=reset, only=only)
        X = read.values
    X = check_array(
        X,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,
        estimator=model,
        input_name="X",
    )
    _check_n_features(model, X, reset=reset)
    X = X.astype(X.dtype.newbyteorder("="), copy=False)
    sparse = sp.issparse(X)
    if sparse:
        X.check_format(full_check=True)  # kernels trust the indices
    if sparse or not model._encodes_columns:
        check_finite(X)
        return X
    with np.errstate(over="ignore", invalid="ignore"):
        missing = np.isnan(X) if np.isnan(np.sum(X)) else np.zeros(1, np.bool_)
    check_finite(np.where(missing, 0.0, X) if missing.any() else X)
    if read is None:
        read = ReadColumns(X)
    if read.levels or read.booleans or missing.any():
        return replace(read, values=X)
    return X


def check_target(model: Any, y: Any, n_rows: int) -> npt.NDArray[Any]:
    """Return the labels of so many rows."""
    if y is None:
        raise InputError(
            f"{type(model).__name__} requires y to be passed, but the target y is None"
        )
    refuse_masked("y", y)
    labels: npt.NDArray[Any] = column_or_1d(y, warn=True)
    assert_all_finite(labels, input_name="y")
    if labels.size != n_rows:
        raise InputError(f"X has {n_rows} rows but y has {labels.size}")
    return labels


def _read_frame(
    model: Any, frame: Any, *, reset: bool, only: Collection[int] | None
) -> ReadColumns:
    """Read a data frame, by the levels of the fit where it is none."""
    _check_n_features(model, frame, reset=reset)
    known = None if reset else (model._units or Units(())).levels
    read = read_table(frame, known, only if model._encodes_columns else None)
    if read.levels and not model._encodes_columns:
        column = frame.columns[next(iter(read.levels))]
        more = f" and {len(read.levels) - 1} more" if len(read.levels) > 1 else ""
        raise InputError(
            f"column {column!r}{more} could not be converted to float: encode text as numbers "
            "first, for example with sklearn.preprocessing.OneHotEncoder, or drop it"
        )
    return read


def chunks_of(model: Any, X: Any, y: Any = None) -> Chunks | None:
    """View X as chunks where its rows are read so; None for tables in memory."""
    if isinstance(X, np.ndarray) and X.flags.owndata:
        return None
    chunks = as_chunks(X, y)
    if chunks is None and model._reads_maps_in_chunks:
        return mapped_chunks(X)
    return chunks


def forget_fit(model: Any) -> None:
    """Remove everything that a fit has set."""
    for name in list(vars(model)):
        if (name.endswith("_") and not name.startswith("__")) or name in _HIDDEN:
            delattr(model, name)


def leave_out_absent(X: Any, outcome: T) -> tuple[Any, T, CountedRows]:
    """Leave out rows of weight 0, which are as good as absent."""
    rows = CountedRows.by_weight(outcome.weight, outcome.positive.size)
    if rows.are_all:
        return X, outcome, rows
    return X[rows.index], outcome.take_alone(rows.index), rows


# ------------------------------------------------------------------------------- scores


@names_columns
def score_rows(model: Any, X: Any) -> Floats:
    """Score rows by a fitted model: the sum of the effects of the chosen columns."""
    check_is_fitted(model, "coef_")
    chunks = chunks_of(model, X)
    names = getattr(model, "feature_names_in_", None)
    if chunks is None:
        X = check_table(model, X, reset=False, only=list(model.encodings_))
    else:
        X = chunks
        _check_n_features(model, chunks, reset=False)
        if names is not None and chunks.feature_names is not None:
            column = first_bad(names != chunks.feature_names)
            if column is not None:
                raise InputError(
                    f"column {column} is {chunks.feature_names[column]!r}, but was "
                    f"{names[column]!r} when the model was fitted"
                )
    scores: Floats = effects_of(model, X) + model.intercept_[0]
    return scores


def effects_of(model: Any, X: Any) -> Floats:
    """Add up the effects of the chosen columns of rows that were checked."""
    coef = model.coef_[0]
    if isinstance(X, Chunks):
        return score_chunks(X, coef, model.encodings_)
    support = np.flatnonzero(coef)
    values = (X.values if isinstance(X, ReadColumns) else X)[:, support]
    effects: Floats = add_effects(
        values, coef[support], list(model.encodings_.values())
    )
    return effects


def set_lines(model: Any, coef: Floats, centre: Array) -> None:
    """Set what columns count: lines with coefficients, and 0 at the centre of the rows."""
    chosen = np.flatnonzero(coef).tolist()
    encodings: dict[int, Encoding] = {j: Line(coef=(float(coef[j]),)) for j in chosen}
    set_encodings(model, encodings, coef, coef @ centre.astype(coef.dtype))


def leading_coefs(encodings: Mapping[int, Encoding], n_features: int) -> Array:
    """One number for the effect of each column, 0 for those without encoding."""
    found = np.zeros(n_features)
    for j, one in encodings.items():
        found[j] = one.leading_coef
    return found


def set_encodings(
    model: Any, encodings: dict[int, Encoding], coef: Floats, middle: Any
) -> None:
    """Set the encodings of the chosen columns, and 0 where their effects add up to a number.

    ``coef`` has the leading coefficient of each.
    """
    model.encodings_ = encodings
    model.coef_ = coef[None]
    model.bend_ = np.zeros((1, coef.size), coef.dtype)
    model.knots_ = np.full((3, coef.size), np.nan)
    for j, one in encodings.items():
        if np.isinf(one.coef).any():
            raise ColumnError(j, f"too small for coefficients in {coef.dtype}")
        model.bend_[0, j] = one.bend
        if one.knots:
            model.knots_[:, j] = one.knots
    model.intercept_ = np.array([-middle], coef.dtype)


def rescale_score(model: Any, slope: float, intercept: float = 0.0) -> None:
    """Multiply the score by a positive number, and add another."""
    coef = model.coef_[0]
    scaled = {
        j: one.weighted((slope * np.array(one.coef, coef.dtype)).astype(coef.dtype))
        for j, one in model.encodings_.items()
    }
    (middle,) = (slope * model.intercept_ + intercept).astype(coef.dtype, copy=False)
    set_encodings(model, scaled, (slope * coef).astype(coef.dtype), -middle)


# ------------------------------------------------------------------- what all models have


def chosen_mask(model: Any) -> Mask:
    """Mask of the chosen columns."""
    check_is_fitted(model, "coef_")
    mask: Mask = model.coef_[0] != 0
    return mask


def html_with_list(model: Any) -> str:
    """Draw a model for notebooks, and the chosen columns if it is fitted."""
    diagram: str = BaseEstimator._html_repr(model)
    return diagram + (short_list_html(model) if hasattr(model, "coef_") else "")


class SparseLinearClassifier(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of linear classifiers on few columns, which are also feature selectors.

    ``classes_[1]`` is the positive class.
    """

    coef_: Floats
    intercept_: Floats
    bend_: Floats
    knots_: Array
    encodings_: dict[int, Encoding]
    n_features_in_: int
    classes_: npt.NDArray[Any]
    platt_: dict[str, Any]
    # Makes SelectFromModel keep coefficients above 1e-5 rather than above their mean.
    penalty: str = "l1"
    # Of classifiers without this parameter.
    device: str | None = None

    # Whether large memory maps are read in chunks.
    _reads_maps_in_chunks: ClassVar[bool] = False
    # Whether columns may hold text and missing values, and effects may bend.
    _encodes_columns: ClassVar[bool] = False
    # Whether every fit calibrates probabilities.
    _calibrates: ClassVar[bool] = False
    # What the columns of the fit count as, where that is not what they are.
    _units: Units | None = None

    _get_support_mask = chosen_mask
    _html_repr = html_with_list

    def decision_function(self, X: Any) -> Floats:
        """Score rows. Rows with a score above 0 are predicted positive."""
        return score_rows(self, X)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the class of each row: positive if its score is above 0."""
        scores = self.decision_function(X)
        labels: npt.NDArray[Any] = self.classes_[(scores > 0).astype(np.intp)]
        return labels

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows that are predicted right."""
        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))

    @property
    def predict_proba(self) -> Callable[[Any], Floats]:
        """Return class probabilities of rows, of shape (n, 2), at the prevalence of training.

        The score is in log odds, and the probability of the positive class is its
        logistic function. Only models that were calibrated on out-of-fold scores have
        probabilities.
        """
        if not self._calibrates and "platt_" not in vars(self):
            raise AttributeError(
                f"{type(self).__name__} has no predict_proba, because it has no out-of-fold scores "
                "to calibrate probabilities on: use SparseAUCClassifierCV, or wrap it in "
                "sklearn.calibration.CalibratedClassifierCV"
            )
        return self._predict_proba

    def _predict_proba(self, X: Any) -> Floats:
        positive = expit(self.decision_function(X))
        return np.column_stack([1.0 - positive, positive])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(multi_class=False)
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._encodes_columns
        return tags

    def _check_rows(
        self, X: Any, y: Any, sample_weight: Any = None, *, reset: bool = True
    ) -> tuple[Any, Binary, CountedRows]:
        """Check rows, their labels and weights.

        Returns X or its chunks, the outcome, and the rows that these are of: of a table
        in memory those of weight above 0, of one that is read in chunks all. Without
        ``reset`` the model is fitted, the rows are in memory, and columns and labels
        are those that it knows.
        """
        chunks = None
        if reset:
            forget_fit(self)  # so that a refused fit does not look fitted
            if self.device is not None:
                X = chunks_on_device(X, self.device)
            chunks = chunks_of(self, X, y)
        if chunks is not None:
            X = chunks
            y, sample_weight = self._check_chunks(chunks, y, sample_weight)
        else:
            X = check_table(self, X, reset=reset)
        y = check_target(self, y, X.shape[0])
        if reset:
            check_classification_targets(y)
            self.classes_ = check_classes(y)
            positive = y == self.classes_[1]
        else:
            positive = check_known_labels(y, self.classes_)
            check_classes(y)
        weight = None
        if sample_weight is not None:
            weight, _ = scale_weights(check_weights(sample_weight, y.size))
            check_each_class_weighs(weight, y, self.classes_)
        outcome = Binary(positive, weight)
        if chunks is not None:
            return X, outcome, CountedRows.by_weight(None, y.size)
        return leave_out_absent(X, outcome)

    def _check_chunks(
        self, chunks: Chunks, y: Any, sample_weight: Any
    ) -> tuple[Any, Any]:
        """Check the shape of chunks; return the labels and weights of their rows."""
        chunks.n_passes = 0
        y, sample_weight = (
            to_host(values) if is_tensor(values) else values
            for values in (y, sample_weight)
        )
        known = labels_and_weights(chunks, y, sample_weight)
        n, d = chunks.shape
        if n == 0 or d == 0:
            raise InputError(f"X must have rows and columns, got shape {chunks.shape}")
        self.n_features_in_ = d
        if chunks.feature_names is not None:
            self.feature_names_in_ = chunks.feature_names
        return known


def columns_to_keep(model: Any) -> int:
    """``k``, or all columns, with a warning, when there are fewer."""
    k: int = model.k
    d: int = model.n_features_in_
    if k > d:
        warnings.warn(
            f"k={k} is greater than n_features={d}. All the features will be kept.",
            UserWarning,
            stacklevel=frames_of_ours(),
        )
    return min(k, d)


def frames_of_ours() -> int:
    """Count the calls between a warning and the line outside sparseauc and scikit-learn."""
    frame = sys._getframe(1)
    count = 1
    ours = ("sparseauc", "sklearn")
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in ours:
        frame = frame.f_back
        count = count + 1
    return count
