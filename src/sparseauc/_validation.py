"""Checks of tables, labels, scores and weights: an error names the first that cannot be used."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .errors import InputError
from .utils.arrays import import_torch, is_tensor
from .utils.types import Array, Indices, Mask


def first_bad(bad: Any) -> int | None:
    """Return the first place where a mask is true, or None."""
    places = np.flatnonzero(bad)
    return int(places[0]) if places.size else None


def check_classes(
    labels: npt.NDArray[Any], name: str = "y", *, least: int = 1
) -> npt.NDArray[Any]:
    """Return the two classes of labels, ascending; each must have ``least`` rows."""
    if labels.ndim != 1:
        raise InputError(f"{name} must be one-dimensional, got shape {labels.shape}")
    if labels.size == 0:
        raise InputError(f"{name} is empty")
    try:
        missing = (
            labels != labels
        )  # NaN in a column of objects too, where isnan would fail
        row = first_bad(missing)
        if row is not None:
            raise InputError(
                f"{name} is {labels[row]} in row {row}: every row needs a label"
            )
        classes, counts = np.unique(labels, return_counts=True)
    except TypeError as error:
        raise InputError(
            f"{name} mixes labels that cannot be ordered, or has missing ones: use labels of one "
            "type"
        ) from error
    names = classes.tolist()
    if len(names) == 1:
        raise InputError(
            f"{name} holds one class only, {names[0]!r}: two classes are needed"
        )
    if len(names) > 2:
        shown = ", ".join(map(repr, names[:5])) + (", …" if len(names) > 5 else "")
        raise InputError(
            "Only binary classification is supported. The type of the target is multiclass "
            f"({len(names)} classes: {shown}). Pass {name} == label to set one class against the "
            "others, or wrap a classifier in sklearn.multiclass.OneVsRestClassifier"
        )
    for label, count in zip(names, counts.tolist(), strict=True):
        if count < least:
            few = "a single row" if count == 1 else f"{count} rows"
            raise InputError(
                f"{name} has {few} of class {label!r}: {least} of each are needed"
            )
    return classes


def check_labels(
    y: Any, name: str = "y", *, least: int = 1
) -> tuple[Mask, npt.NDArray[Any]]:
    """Return the mask of the positive rows and the two classes; the last is positive."""
    refuse_masked(name, y)
    labels = np.asarray(y)
    classes = check_classes(labels, name, least=least)
    positive: Mask = labels == classes[1]
    return positive, classes


def check_known_labels(labels: npt.NDArray[Any], classes: npt.NDArray[Any]) -> Mask:
    """Return the mask of the positive rows, of labels that a model knows."""
    row = first_bad(~np.isin(labels, classes))
    if row is not None:
        raise InputError(
            f"y holds {labels.tolist()[row]!r}, not among the classes {classes.tolist()} "
            f"(row {row})"
        )
    positive: Mask = labels == classes[1]
    return positive


def check_numbers(values: Any, n_rows: int, name: str) -> npt.NDArray[Any]:
    """Return finite real numbers, one for each row."""
    refuse_masked(name, values)
    column = np.asarray(values)
    if column.dtype.kind == "O":
        try:
            column = column.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{name} has entries that are not numbers: {error}"
            ) from error
    if column.dtype.kind not in "biuf":
        raise InputError(f"{name} must hold real numbers, got dtype {column.dtype}")
    if column.ndim != 1:
        raise InputError(f"{name} must be one-dimensional, got shape {column.shape}")
    if column.size != n_rows:
        raise InputError(f"{name} has {column.size} rows, the labels {n_rows}")
    row = first_bad(~np.isfinite(column))
    if row is not None:
        raise InputError(f"{name} is {column[row]} in row {row}: it must be finite")
    return column


def label_rows(values: Any, n_rows: int, name: str) -> npt.NDArray[Any]:
    """Return labels of any kind, such as groups, one for each row."""
    labels = np.asarray(values)
    if labels.shape != (n_rows,):
        raise InputError(
            f"{name} must label each of the {n_rows} rows, got shape {labels.shape}"
        )
    return labels


def check_scores(values: Any, n_rows: int, name: str) -> npt.NDArray[Any]:
    """Return scores, one for each row."""
    shape = np.asarray(values).shape
    if len(shape) == 2:
        raise InputError(
            f"{name} must be one-dimensional, got shape {shape}: of predict_proba's two "
            "columns take the second, [:, 1]"
        )
    return check_numbers(values, n_rows, name)


def check_weights(sample_weight: Any, n_rows: int) -> Array:
    """Return the weights of the rows, finite numbers of 0 or more; one number is for all."""
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n_rows, sample_weight)
    numbers = check_numbers(sample_weight, n_rows, "sample_weight")
    weight = np.ascontiguousarray(numbers, np.float64)
    row = first_bad(weight < 0)
    if row is not None:
        raise InputError(
            f"sample_weight is {weight[row]:g} in row {row}: give 0 or more"
        )
    return weight


def check_each_class_weighs(
    weight: Array, labels: npt.NDArray[Any], classes: npt.NDArray[Any]
) -> None:
    """Refuse weights that are zero on all rows of a class."""
    for label in classes.tolist():
        if not weight[labels == label].max(initial=0.0) > 0:
            raise InputError(
                f"sample_weight is zero on all rows of class {label!r}: give at least one row of "
                "each class a positive weight"
            )


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Rows of weight above 0, among all that were given; the others are as good as absent.

    Attributes
    ----------
    index : ndarray of int
        Their numbers, ascending.
    n_given : int
    """

    index: Indices
    n_given: int

    @classmethod
    def by_weight(cls, weight: Array | None, n: int) -> Self:
        """Find the rows that count, of ``n``."""
        return cls(np.arange(n) if weight is None else np.flatnonzero(weight > 0), n)

    @property
    def are_all(self) -> bool:
        """True if every row counts."""
        return self.index.size == self.n_given

    def take(self, values: Any, name: str) -> Any:
        """Take what was given for every row, such as its group; None if nothing was."""
        if values is None or self.are_all:
            return values
        return label_rows(values, self.n_given, name)[self.index]

    def number_splits(self, cv: Any) -> Any:
        """Number the rows of given splits as these rows; leave splitters and numbers of folds."""
        if (
            self.are_all
            or cv is None
            or isinstance(cv, Integral)
            or hasattr(cv, "split")
        ):
            return cv
        place = np.full(self.n_given, -1)
        place[self.index] = np.arange(self.index.size)
        return [
            tuple(part[part >= 0] for part in (place[train], place[test]))
            for train, test in cv
        ]

    def spread(self, values: Array) -> Array:
        """Give values of these rows a place among all rows, with NaN for the others."""
        if self.are_all:
            return values
        spread = np.full(self.n_given, np.nan)
        spread[self.index] = values
        return spread


def refuse_masked(name: str, values: Any) -> None:
    """Refuse values that are masked, which would count as if they were not."""
    row = first_bad(np.ma.getmask(values))
    if row is not None:
        raise InputError(f"{name} is masked at row {row}: leave such rows out")


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or pandas' NA, which is equal to nothing."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


class NotFiniteError(InputError):
    """A value that is no finite number, at a row and column of the whole table."""

    def __init__(self, row: int, column: int, value: float) -> None:
        super().__init__(row, column, value)
        self.row = row
        self.column = column
        self.value = value

    def __str__(self) -> str:
        return self.named(self.column)

    def named(self, name: Any) -> str:
        """Say the same of a column that has a name."""
        column = repr(str(name)) if isinstance(name, str) else name
        kind = "NaN" if np.isnan(self.value) else "infinity"
        return f"Input X contains {kind}: first at row {self.row}, column {column}"


def check_finite(X: Any, start: int = 0) -> None:
    """Refuse rows, of which ``start`` is the first, that are not all finite numbers."""
    sparse = sp.issparse(X)
    if not sparse and not isinstance(X, np.ndarray) and is_tensor(X):
        bad = _first_not_finite_tensor(X)
    else:
        values = X.data if sparse else X
        with np.errstate(over="ignore", invalid="ignore"):
            # A finite sum proves all entries finite and costs no memory; sums may
            # overflow.
            if values.size == 0 or np.isfinite(np.sum(values, dtype=np.float64)):
                return
        bad = _first_not_finite(X)
    if bad is not None:
        row, column, value = bad
        raise NotFiniteError(start + row, column, value)


def _first_not_finite(X: Any) -> tuple[int, int, float] | None:
    """Row, column and value of the first entry that is not finite; None if all are."""
    sparse = sp.issparse(X)
    for row in range(X.shape[0]):
        entries = X.data[X.indptr[row] : X.indptr[row + 1]] if sparse else X[row]
        bad = np.flatnonzero(~np.isfinite(entries))
        if bad.size:
            column = X.indices[X.indptr[row] + bad[0]] if sparse else bad[0]
            return row, int(column), float(entries[bad[0]])
    return None


def _first_not_finite_tensor(X: Any) -> tuple[int, int, float] | None:
    torch = import_torch()
    # Both are NaN where any entry is. A sum in double precision would take a copy.
    if all(bool(torch.isfinite(end)) for end in torch.aminmax(X)):
        return None
    for row, entries in enumerate(X):
        bad = torch.nonzero(~torch.isfinite(entries))
        if len(bad):
            column = int(bad[0, 0])
            return row, column, float(entries[column])
    return None


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view of ``array`` that cannot be written through."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view
