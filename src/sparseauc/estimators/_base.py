"""Base of all models: input checks, scores, the chosen columns; and labels of classifiers."""

import functools
import math
import sys
import warnings
from abc import abstractmethod
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, ClassVar, ParamSpec, Self, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import (
    _check_partial_fit_first_call,
    check_classification_targets,
)
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    assert_all_finite,
    check_array,
    check_is_fitted,
    check_X_y,
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
        try:
            return method(*arguments, **options)
        except NotFiniteError as bad:
            names = getattr(arguments[0], "feature_names_in_", None)
            shown = bad.column if names is None else repr(names[bad.column])
            raise InputError(
                f"{bad.named(shown)}. {type(arguments[0]).__name__} needs finite numbers: drop "
                "such rows or columns, or put sklearn.impute.SimpleImputer before it in a pipeline"
            ) from None
        except ColumnError as bad:
            names = getattr(arguments[0], "feature_names_in_", None)
            if names is None:
                raise
            raise InputError(bad.named(names[bad.column])) from None

    return named


def checks_parameters(
    *, nested: bool = False
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a fit so that parameters are checked first, and a column it refuses is named.

    With ``nested``, parameters of what it calls are checked too, such as those of
    splitters.
    """

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        context = _fit_context(prefer_skip_nested_validation=not nested)
        checked: Callable[P, R] = context(names_columns(method))
        return checked

    return decorate


class SparseLinearModel(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of linear models on few columns, which are also feature selectors.

    A subclass checks rows in ``_check_rows``, fits ``coef_`` and calls ``_set_coef``.
    """

    coef_: Floats
    intercept_: Floats
    bend_: Floats
    knots_: Array
    encodings_: dict[int, Encoding]
    n_features_in_: int
    # Makes SelectFromModel keep coefficients above 1e-5 rather than above their mean.
    penalty: str = "l1"

    # Whether rows may be read in chunks, from files or from a cluster.
    _reads_chunks: ClassVar[bool] = False
    # Whether large memory maps are read so.
    _reads_maps_in_chunks: ClassVar[bool] = False
    # Whether columns may hold text and missing values, and effects may bend.
    _encodes_columns: ClassVar[bool] = False
    # What the columns of the fit count as, where that is not what they are.
    _units: Units | None = None

    @names_columns
    def _score_rows(self, X: Any) -> Floats:
        """Score rows: the sum of the effects of the chosen columns."""
        check_is_fitted(self, "coef_")
        chunks = self._as_chunks(X)
        if chunks is not None:
            self._check_chunk_columns(chunks)
            scores = score_chunks(chunks, self.coef_[0], self.encodings_)
        else:
            (X,) = self._check_table(X, reset=False, only=list(self.encodings_))
            scores = self._add_effects(X)
        with_intercept: Floats = scores + self.intercept_[0]
        return with_intercept

    def _add_effects(self, X: Any) -> Floats:
        """Add up the effects of the chosen columns of rows that were checked."""
        support = np.flatnonzero(self.coef_[0])
        values = (X.values if isinstance(X, ReadColumns) else X)[:, support]
        scores: Floats = add_effects(
            values, self.coef_[0, support], list(self.encodings_.values())
        )
        return scores

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self, "coef_")
        mask: Mask = self.coef_[0] != 0
        return mask

    def _repr_html_inner(self) -> str:
        diagram: str = super()._repr_html_inner()
        return diagram + self._short_list()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._short_list()
        return bundle

    def _short_list(self) -> str:
        """Chosen columns, for notebooks; empty before ``fit``."""
        try:
            check_is_fitted(self, "coef_")
        except NotFittedError:
            return ""
        return short_list_html(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._encodes_columns
        return tags

    @names_columns
    def _check_table(
        self,
        X: Any,
        y: Any = "no_validation",
        *,
        reset: bool = True,
        only: Collection[int] | None = None,
    ) -> tuple[Any, ...]:
        """Return X as numbers in an array or CSR matrix, and y where it is given.

        Where columns hold text, or have missing values, X is ``ReadColumns``. Of a data
        frame ``only`` some columns are read.
        """
        X = plain_table(X)
        _check_feature_names(self, X, reset=reset)
        read = self._read_frame(X, reset=reset, only=only) if is_frame(X) else None
        checks: dict[str, Any] = {
            "accept_sparse": "csr",
            "dtype": [np.float64, np.float32],
            "ensure_all_finite": False,
            "estimator": self,
        }
        X = X if read is None else read.values
        labels: list[Any] = []
        if isinstance(y, str) and y == "no_validation":
            X = check_array(X, input_name="X", **checks)
        else:
            X, *labels = check_X_y(X, y, **checks)
        _check_n_features(self, X, reset=reset)
        X = X.astype(X.dtype.newbyteorder("="), copy=False)
        if hasattr(X, "check_format"):  # CSR
            X.check_format(full_check=True)  # kernels trust the indices
        if not self._encodes_columns or sp.issparse(X):
            check_finite(X)
            return X, *labels
        with np.errstate(over="ignore", invalid="ignore"):
            missing = np.isnan(X) if np.isnan(np.sum(X)) else np.zeros(1, np.bool_)
        check_finite(np.where(missing, 0.0, X) if missing.any() else X)
        if read is None:
            read = ReadColumns(X)
        if read.levels or read.booleans or missing.any():
            return replace(read, values=X), *labels
        return X, *labels

    def _read_frame(
        self, frame: Any, *, reset: bool, only: Collection[int] | None
    ) -> ReadColumns:
        """Read a data frame, by the levels of the fit where it is none."""
        _check_n_features(self, frame, reset=reset)
        known = None if reset else (self._units or Units(())).levels
        read = read_table(frame, known, only if self._encodes_columns else None)
        if read.levels and not self._encodes_columns:
            column = frame.columns[next(iter(read.levels))]
            more = f" and {len(read.levels) - 1} more" if len(read.levels) > 1 else ""
            raise InputError(
                f"column {column!r}{more} could not be converted to float: encode text as numbers "
                "first, for example with sklearn.preprocessing.OneHotEncoder, or drop it"
            )
        return read

    def _forget_fit(self) -> None:
        """Remove everything that a fit has set."""
        for name in list(vars(self)):
            if (name.endswith("_") and not name.startswith("__")) or name in _HIDDEN:
                delattr(self, name)

    def _as_chunks(self, X: Any, y: Any = None) -> Chunks | None:
        """View X as chunks where its rows are read so; None for tables in memory."""
        if isinstance(X, np.ndarray) and X.flags.owndata:
            return None
        chunks = as_chunks(X, y)
        if chunks is None and self._reads_maps_in_chunks:
            return mapped_chunks(X)
        if chunks is not None and not self._reads_chunks:
            raise InputError(
                f"{type(self).__name__} needs the rows in memory. SparseAUCClassifier, "
                "SparseAUCClassifierCV and SHTAUCClassifier read rows in chunks"
            )
        return chunks

    def _check_chunk_columns(self, chunks: Chunks) -> None:
        """Refuse chunks with other columns than those of the fit."""
        _check_n_features(self, chunks, reset=False)
        names = getattr(self, "feature_names_in_", None)
        if names is None or chunks.feature_names is None:
            return
        column = first_bad(names != chunks.feature_names)
        if column is not None:
            raise InputError(
                f"column {column} is {chunks.feature_names[column]!r}, but was "
                f"{names[column]!r} when the model was fitted"
            )

    def _columns_to_keep(self, k: int, n_features: int) -> int:
        """``k``, or all columns, with a warning, when there are fewer."""
        if k > n_features:
            warnings.warn(
                f"k={k} is greater than n_features={n_features}. All the features will be kept.",
                UserWarning,
                stacklevel=frames_of_ours(),
            )
        return min(k, n_features)

    @abstractmethod
    def _check_rows(
        self, X: Any, y: Any, sample_weight: Any = None, *, reset: bool = True
    ) -> tuple[Any, Outcome, CountedRows]:
        """Check rows, their outcome and weights.

        Returns X or its chunks, the outcome, and the rows that these are of: of a table
        in memory those of weight above 0, of one that is read in chunks all. Without
        ``reset`` the model is fitted, the rows are in memory, and columns and labels
        are those that it knows.
        """

    @staticmethod
    def _leave_out_absent(X: Any, outcome: T) -> tuple[Any, T, CountedRows]:
        """Leave out rows of weight 0, which are as good as absent."""
        rows = CountedRows.by_weight(outcome.weight, outcome.positive.size)
        if rows.are_all:
            return X, outcome, rows
        return X[rows.index], outcome.take_alone(rows.index), rows

    def _set_coef(self, coef: Floats, centre: Array) -> Self:
        """Set what columns count: lines with coefficients, and 0 at the centre of the rows."""
        chosen = np.flatnonzero(coef).tolist()
        encodings: dict[int, Encoding] = {j: Line().weighted(coef[[j]]) for j in chosen}
        return self._set_encodings(
            encodings, coef.dtype, coef @ centre.astype(coef.dtype)
        )

    def _set_encodings(
        self, encodings: dict[int, Encoding], dtype: Any, middle: Any
    ) -> Self:
        """Set the encodings of the chosen columns, and 0 where their effects add up to a number."""
        for j, one in encodings.items():
            if np.isinf(one.coef).any():
                raise ColumnError(j, f"too small for coefficients in {np.dtype(dtype)}")
        self.encodings_ = encodings
        self.coef_ = np.zeros((1, self.n_features_in_), dtype)
        self.bend_ = np.zeros((1, self.n_features_in_), dtype)
        self.knots_ = np.full((3, self.n_features_in_), np.nan)
        for j, one in encodings.items():
            self.coef_[0, j] = one.leading_coef
            self.bend_[0, j] = one.bend
            if one.knots:
                self.knots_[:, j] = one.knots
        self.intercept_ = np.array([-middle], dtype)
        return self

    def _rescale_score(self, slope: float, intercept: float = 0.0) -> None:
        """Multiply the score by a positive number, and add another."""
        dtype = self.coef_.dtype
        scaled = {
            j: one.weighted((slope * np.array(one.coef, dtype)).astype(dtype))
            for j, one in self.encodings_.items()
        }
        middle = (slope * self.intercept_ + intercept).astype(dtype, copy=False)
        self._set_encodings(scaled, dtype, -middle[0])


class SparseLinearClassifier(ClassifierMixin, SparseLinearModel):  # type: ignore[misc]
    """Base class of linear classifiers on few columns.

    ``classes_[1]`` is the positive class.
    """

    classes_: npt.NDArray[Any]
    platt_: dict[str, Any]
    # Of classifiers without this parameter.
    device: str | None = None

    # Whether every fit calibrates probabilities.
    _calibrates: ClassVar[bool] = False

    def decision_function(self, X: Any) -> Floats:
        """Score rows. Rows with a score above 0 are predicted positive."""
        return self._score_rows(X)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the class of each row: positive if its score is above 0."""
        scores = self.decision_function(X)
        labels: npt.NDArray[Any] = self.classes_[(scores > 0).astype(np.intp)]
        return labels

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
        tags.classifier_tags.multi_class = False
        return tags

    def _check_rows(
        self, X: Any, y: Any, sample_weight: Any = None, *, reset: bool = True
    ) -> tuple[Any, Binary, CountedRows]:
        chunks = self._read_in_chunks(X, y) if reset else None
        if chunks is not None:
            X = chunks
            y, sample_weight = self._check_chunks(chunks, y, sample_weight)
        else:
            refuse_masked("y", y)
            X, y = self._check_table(X, y, reset=reset)
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
        return self._leave_out_absent(X, outcome)

    def _check_more_rows(self, X: Any, y: Any, classes: Any) -> tuple[Any, Mask]:
        """Return rows of a stream and the mask of positives."""
        first = not hasattr(self, "_stream")
        refuse_masked("y", y)
        X, y = self._check_table(X, y, reset=first)
        if first:
            labels = np.unique(y if classes is None else classes)
            if labels.size != 2:
                raise InputError(
                    f"the first call has {labels.size} class(es): "
                    "name both with partial_fit(X, y, classes=[negative, positive])"
                )
        else:
            _check_partial_fit_first_call(self, classes)
            labels = self.classes_
        positive = check_known_labels(y, labels)
        self.classes_ = labels
        return X, positive

    def _read_in_chunks(self, X: Any, y: Any) -> Chunks | None:
        """Return X as chunks, where its rows are read so or a device is to read them."""
        self._forget_fit()  # so that a refused fit does not look fitted
        if self.device is not None:
            X = chunks_on_device(X, self.device)
        return self._as_chunks(X, y)

    def _check_chunks(
        self, chunks: Chunks, y: Any, sample_weight: Any
    ) -> tuple[Any, Any]:
        """Check the shape of chunks; return the labels and weights of their rows."""
        chunks.n_passes = 0
        y, sample_weight = (
            to_host(values) if is_tensor(values) else values
            for values in (y, sample_weight)
        )
        labels, sample_weight = labels_and_weights(chunks, y, sample_weight)
        if labels is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        labels = column_or_1d(labels, warn=True)
        if labels.dtype.kind == "f":
            assert_all_finite(labels, input_name="y")
        n, d = chunks.shape
        if labels.size != n:
            raise InputError(f"X has {n} rows but y has {labels.size}")
        if n == 0 or d == 0:
            raise InputError(f"X must have rows and columns, got shape {chunks.shape}")
        self.n_features_in_ = d
        if chunks.feature_names is not None:
            self.feature_names_in_ = chunks.feature_names
        return labels, sample_weight


def frames_of_ours() -> int:
    """Count the calls between a warning and the line outside sparseauc and scikit-learn."""
    frame = sys._getframe(1)
    count = 1
    ours = ("sparseauc", "sklearn")
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in ours:
        frame = frame.f_back
        count = count + 1
    return count


def check_scale(X: Any) -> None:
    """Refuse columns whose squares leave the range of their type, naming the first."""
    sparse = sp.issparse(X)
    values = X.data if sparse else X
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    range_ = np.finfo(values.dtype)
    # Sums over a million rows stay in range, too.
    upper = math.sqrt(range_.max) * 2.0**-10
    lower = math.sqrt(range_.tiny) * 2.0**2
    if largest > upper:
        magnitudes = abs(X).max(axis=0)
        column = int(
            np.argmax((magnitudes.toarray() if sparse else magnitudes) > upper)
        )
        raise ColumnError(column, f"too large to square in {values.dtype}")
    if 0.0 < largest < lower:
        raise InputError(
            f"no value of X is larger than {largest:g}, too small to square in {values.dtype}: "
            "rescale the columns"
        )


def plain_table(X: Any) -> Any:
    """Make a data frame of an Arrow table, and missing values of masked ones."""
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.filled(X.astype(np.result_type(X.dtype, np.float32)), np.nan)
    if type(X).__module__.startswith("pyarrow") and hasattr(X, "to_pandas"):
        return X.to_pandas()
    if type(X).__module__.startswith("polars") and hasattr(X, "collect"):
        raise InputError("X is a lazy frame, which has no rows yet: pass X.collect()")
    return X
