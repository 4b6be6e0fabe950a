"""Read the columns of a data frame as numbers: texts as numbers of their levels."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..utils.types import Array, Indices

# Texts with more levels are refused, unless rows are so many for each.
MOST_LEVELS = 20
ROWS_A_LEVEL = 20

Holds = Literal["number", "boolean", "text"]
_KINDS: dict[Holds, set[str]] = {
    "number": {
        *("integer", "floating", "mixed-integer-float", "decimal", "empty"),
        *("int", "uint", "float", "null"),
    },
    "boolean": {"boolean"},
    "text": {"string", "mixed-integer", "categorical", "enum"},
}


@dataclass(frozen=True, eq=False)
class ReadColumns:
    """Columns as numbers, NaN where missing.

    Attributes
    ----------
    values : ndarray of shape (n, d)
        Texts are numbers of their level.
    levels : dict of int to tuple of str
        Levels of the columns of texts, sorted.
    booleans : frozenset of int
        Columns of true and false.
    """

    values: npt.NDArray[Any]
    levels: dict[int, tuple[str, ...]] = field(default_factory=dict)
    booleans: frozenset[int] = frozenset()

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        n, d = self.values.shape
        return n, d

    @property
    def dtype(self) -> Any:
        """Type of the values."""
        return self.values.dtype

    def __getitem__(self, rows: Indices) -> Self:
        """Take some of the rows, and the levels that these have."""
        values = self.values[rows]
        levels = {}
        for j, known in self.levels.items():
            column = values[:, j]
            given = ~np.isnan(column)
            there, column[given] = np.unique(column[given], return_inverse=True)
            levels[j] = tuple(known[place] for place in there.astype(np.int64).tolist())
        return replace(self, values=values, levels=levels)


def is_frame(X: Any) -> bool:
    """Return whether X is a data frame of pandas or polars."""
    return hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "to_series"))


def read_table(
    frame: Any,
    known: Mapping[int, tuple[str, ...]] | None = None,
    only: Collection[int] | None = None,
) -> ReadColumns:
    """Read the columns of a data frame.

    Parameters
    ----------
    frame : data frame of pandas or polars
    known : dict of int to tuple of str, optional
        Levels that columns of texts had in a fit: all others are numbers.
    only : collection of int, optional
        Columns to read; others are missing.
    """
    n, d = frame.shape
    if not known and _is_one_array(frame):
        return ReadColumns(frame.to_numpy())
    values = np.full((n, d), np.nan, _common_type(frame))
    levels = {}
    booleans = set()
    for j in range(d) if only is None else only:
        column = _column_of(frame, j)
        name = frame.columns[j]
        holds = (
            _what_it_holds(column, name) if known is None or j not in known else "text"
        )
        if holds != "text":
            values[:, j] = _as_numbers(column)
            booleans |= {j} if holds == "boolean" else set()
            continue
        texts = _texts_of(column)
        if known is None:
            levels[j] = tuple(sorted({text for text in texts if text is not None}))
            if not _are_categories(column):
                _check_levels(name, len(levels[j]), n)
        elif j in known:
            levels[j] = known[j]
        else:
            raise InputError(
                f"column {str(name)!r} holds text, and was numbers in the fit"
            )
        values[:, j] = number_texts(texts, levels[j])
    return ReadColumns(values, levels, frozenset(booleans))


def _is_one_array(frame: Any) -> bool:
    """Whether the numbers of a frame of pandas are held in one array of single or double."""
    kinds = set(frame.dtypes) if hasattr(frame, "iloc") else set()
    return len(kinds) == 1 and str(next(iter(kinds))) in ("float32", "float64")


def _texts_of(column: Any) -> npt.NDArray[np.object_]:
    """Return the texts of a column; of categories each once, which is much quicker."""
    if not (hasattr(column, "iloc") and _are_categories(column)):
        return as_texts(column)
    # The code of a missing value is -1: the last.
    texts = np.append(as_texts(column.cat.categories), [None])
    found: npt.NDArray[np.object_] = texts[column.cat.codes]
    return found


def _are_categories(column: Any) -> bool:
    """Whether someone has said that the texts of a column are categories."""
    kind = str(column.dtype)
    return kind.startswith(("category", "Categorical", "Enum"))


def number_texts(texts: Iterable[str | None], levels: tuple[str, ...]) -> Array:
    """Number texts by their level, NaN for those that are missing or unknown."""
    number: dict[str | None, float] = {
        level: place for place, level in enumerate(levels)
    }
    return np.array([number.get(text, np.nan) for text in texts], np.float64)


def as_texts(values: Iterable[Any]) -> npt.NDArray[np.object_]:
    """Return values as a person would write them, without blanks around; None where missing.

    Whole numbers have no point: where a value is missing, pandas makes 1.0 of 1.
    """
    texts = [_as_text(value) for value in values]
    found = np.empty(len(texts), dtype=object)
    found[:] = texts
    return found


def _as_text(value: Any) -> str | None:
    if value is None or value is _missing_of_pandas() or value != value:  # NaN
        return None
    if isinstance(value, bytes):
        text = value.decode("utf-8", "replace")
    elif isinstance(value, float | np.floating) and float(value).is_integer():
        text = str(int(value))
    else:
        text = str(value)
    return text.strip() or None


def _missing_of_pandas() -> Any:
    """``pd.NA``, which has no truth value, if pandas is there."""
    pandas = sys.modules.get("pandas")
    return None if pandas is None else pandas.NA


def _column_of(frame: Any, j: int) -> Any:
    return frame.iloc[:, j] if hasattr(frame, "iloc") else frame.to_series(j)


def _what_it_holds(column: Any, name: Any) -> Holds:
    """Return what a column holds; dates and the like are refused."""
    kind = _kind_of(column)
    for holds, kinds in _KINDS.items():
        if kind in kinds:
            return holds
    raise InputError(
        f"column {str(name)!r} holds {column.dtype}: give numbers or text, such as the days "
        "since a date, or drop it"
    )


def _kind_of(column: Any) -> str:
    """Name the kind of a column: as pandas infers it, or its type in polars without its size."""
    if hasattr(column, "iloc"):
        from pandas.api import types

        return str(types.infer_dtype(column))
    return str(column.dtype).partition("(")[0].rstrip("0123456789").lower()


def _common_type(frame: Any) -> type:
    """Single precision if all floating-point numbers are, and none are of another type."""
    kinds = {str(kind).lower() for kind in frame.dtypes}
    texts = ("float32", "bool", "str", "object", "cat", "enum")
    single = "float32" in kinds and all(kind.startswith(texts) for kind in kinds)
    return np.float32 if single else np.float64


def _as_numbers(column: Any) -> Array:
    if hasattr(column, "iloc"):
        found = column.to_numpy(np.float64, na_value=np.nan)
    else:
        import polars

        found = column.cast(polars.Float64).to_numpy()
    return np.asarray(found, np.float64)


def _check_levels(name: Any, n_levels: int, n: int) -> None:
    most = max(MOST_LEVELS, n // ROWS_A_LEVEL)
    if n_levels > most:
        raise InputError(
            f"column {str(name)!r} has {n_levels} different texts in {n} rows, and may have {most} "
            "levels: give similar ones one name, drop it, or make it a column of categories"
        )
