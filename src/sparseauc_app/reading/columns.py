"""Convert columns of any type to numbers or text."""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp
from pyarrow import types

from sparseauc.utils.types import Array, Mask

Kind = Literal["number", "boolean", "text", "date", "empty", "other"]


def is_sparse(X: Any) -> bool:
    """Return whether X is a sparse matrix; as a plain bool, which leaves X of any type."""
    return bool(sp.issparse(X))


def dense_column(X: Any, j: int) -> Array:
    """One column of a matrix, dense and in double precision."""
    part = X[:, [j]]
    return np.asarray(part.toarray() if is_sparse(part) else part, np.float64).ravel()


def kind_of(column: pa.ChunkedArray) -> Kind:
    """Return what a column holds."""
    of = column.type
    if types.is_null(of) or column.null_count == len(column):
        return "empty"
    if types.is_boolean(of):
        return "boolean"
    if types.is_integer(of) or types.is_floating(of) or types.is_decimal(of):
        return "number"
    if types.is_temporal(of):
        return "date"
    if types.is_dictionary(of) or is_text(of):
        return "text"
    return "other"


def is_text(of: Any) -> bool:
    """Return whether a type is one of Arrow's several of text."""
    views = getattr(types, "is_string_view", lambda _: False)
    return bool(types.is_string(of) or types.is_large_string(of) or views(of))


def count_distinct(column: pa.ChunkedArray) -> int:
    """Number of different entries; 0 for nested types, which pyarrow does not compare."""
    try:
        return len(column.unique())
    except NotImplementedError:
        return 0


def is_number(entry: Any) -> bool:
    """Return whether an entry can be read as a number."""
    try:
        float(entry)
    except (TypeError, ValueError):
        return False
    return True


def numbers(column: pa.ChunkedArray) -> Array:
    """Numbers and booleans as float64, NaN where missing; exact for float32 too."""
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    values = column.cast(pa.float64(), safe=False).to_numpy()
    return np.asarray(values, np.float64)


def loses_digits(column: pa.ChunkedArray, found: Array, *, written: bool) -> bool:
    """Return whether different numbers of a column are equal in double precision.

    Of numbers ``written`` as text, which are double precision already, whole ones beyond 2^53 may.
    """
    if types.is_integer(column.type) or types.is_decimal(column.type):
        return count_distinct(column.drop_null()) > np.unique(found[~np.isnan(found)]).size
    largest = np.nanmax(np.abs(found), initial=0.0)
    return bool(written and 2**53 < largest < 1e25 and np.nanmin(np.abs(found)) > 2**53)


def texts(column: pa.ChunkedArray, *, strip: bool = True) -> npt.NDArray[np.object_]:
    """Entries of any type as text, None where missing: whole numbers without a point.

    Blanks around a text are removed, and blank texts are missing, except of identifiers.
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return labels_as_text(column.to_pylist(), strip=strip)


def indicator(entries: npt.NDArray[np.object_], level: str) -> Array:
    """1 where a text is the level, 0 where it is another, NaN where it is missing."""
    return np.where(is_given(entries), entries == level, np.nan).astype(np.float64)


def is_given(entries: npt.NDArray[np.object_]) -> Mask:
    """Whether each entry of a column of text is not missing."""
    return np.array([entry is not None for entry in entries], np.bool_)


def labels_as_text(values: Any, *, strip: bool = True) -> npt.NDArray[np.object_]:
    """Labels as a person would write them, None where missing."""
    found = np.empty(len(values), dtype=object)
    found[:] = [_as_text(value) for value in values]
    if strip:
        found[:] = [None if text is None else text.strip() or None for text in found]
    return found


def _as_text(value: Any) -> str | None:
    if value is None or value != value:  # NaN
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    # 1.0 and 1 are one label: a missing entry elsewhere in the column made it a float.
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)
