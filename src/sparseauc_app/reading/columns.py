"""Columns of a file: their kinds, and their entries as numbers or text."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from pyarrow import types

from sparseauc.utils.text import quoted
from sparseauc.utils.types import Array, Mask

from ..column_types import Labels, Mark
from ..text import shortened

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

    Of numbers ``written`` as text, which are double precision already, whole ones
    beyond 2^53 may.
    """
    if types.is_integer(column.type) or types.is_decimal(column.type):
        return (
            count_distinct(column.drop_null()) > np.unique(found[~np.isnan(found)]).size
        )
    largest = np.nanmax(np.abs(found), initial=0.0)
    return bool(written and 2**53 < largest < 1e25 and np.nanmin(np.abs(found)) > 2**53)


def texts(column: pa.ChunkedArray, *, strip: bool = True) -> Labels:
    """Entries of any type as text, None where missing: whole numbers without a point.

    Blanks around a text are removed, and blank texts are missing, except of
    identifiers.
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return labels_as_text(column.to_pylist(), strip=strip)


def is_given(entries: Labels) -> Mask:
    """Whether each entry of a column of text is not missing."""
    return np.array([entry is not None for entry in entries], np.bool_)


def labels_as_text(values: Any, *, strip: bool = True) -> Labels:
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


class Marks(NamedTuple):
    """Marks of the numbers of a column of a text file."""

    decimal: Mark
    thousands: Mark | None = None


POINT = Marks(".", ",")
COMMA = Marks(",", ".")
# Signs in front of limits, such as >2000 or <= 5.
_LIMIT = r"^\s*[<>≤≥~]=?\s*"


def number_pattern(marks: Marks) -> str:
    """Return the regular expression of numbers written with these marks."""
    decimal = re.escape(marks.decimal)
    whole = r"\d+"
    if marks.thousands is not None:
        whole = rf"([1-9]\d{{0,2}}({re.escape(marks.thousands)}\d{{3}})+|\d+)"
    return rf"^\s*[+-]?({whole}({decimal}\d*)?|{decimal}\d+)([eE][+-]?\d+)?\s*$"


def parse_numbers(
    column: pa.ChunkedArray, marks: Marks, *, limits: bool = False
) -> pa.ChunkedArray | int:
    """Numbers of a column of text, or the place of the first entry that is not one.

    Blanks are missing. With ``limits``, ``>2000`` counts as 2000 and text without a
    digit is missing; what has a digit and is no number is not guessed at.
    """
    column = pc.utf8_trim_whitespace(column)
    if limits:
        bare = pc.replace_substring_regex(column, _LIMIT, "")
        plain = pc.if_else(pc.match_substring_regex(bare, r"\d"), bare, None)
    else:
        plain = pc.if_else(pc.match_substring_regex(column, r"\S"), column, None)
    fits = pc.fill_null(pc.match_substring_regex(plain, number_pattern(marks)), True)
    if not pc.all(fits, min_count=0).as_py():
        place: int = pc.index(fits, False).as_py()
        return place
    if marks.thousands is not None:
        plain = pc.replace_substring(plain, marks.thousands, "")
    if marks.decimal != ".":
        plain = pc.replace_substring(plain, marks.decimal, ".")
    return pc.utf8_ltrim(plain, "+").cast(pa.float64())


def conventions_of(column: pa.ChunkedArray, *, limits: bool = False) -> list[Marks]:
    """Conventions in which all entries are numbers, with the marks that the entries have.

    Two of them are two meanings: whole numbers without marks are of one convention.
    """
    marked = {
        mark: bool(pc.any(pc.match_substring(column, mark), min_count=0).as_py())
        for mark in ".,"
    }
    found = []
    for whole in (POINT, COMMA):
        marks = whole if marked[str(whole.thousands)] else Marks(whole.decimal)
        if not isinstance(parse_numbers(column, marks, limits=limits), int):
            found.append(marks)
    return found if any(marked.values()) else found[:1]


def both_meanings(column: pa.ChunkedArray) -> str:
    """An entry that is a number in both conventions, and which numbers these are."""
    entries = (value.as_py() for value in column if value.is_valid)
    entry = next(entry for entry in entries if re.search(r"\d[.,]\d", entry))
    digits = re.sub(_LIMIT, "", entry)
    grouped = re.sub(r"[.,]", "", digits)
    decimal = digits.replace(",", ".")
    return f"{shortened(entry, 20)!r} is {grouped.strip()} or {decimal.strip()}"


def read_written_numbers(
    frame: pa.Table,
    as_text: Collection[str],
    as_written: Callable[[Collection[str]], pa.Table],
    *,
    delimiter: str,
    decimal: Mark | None = None,
) -> tuple[pa.Table, dict[str, Marks], Mark | None, tuple[str, ...]]:
    """Find the convention of a file, and read its columns of numbers by it.

    Parameters
    ----------
    frame : pyarrow.Table
    as_text : collection of str
        Columns that stay text.
    as_written : callable
        Returns columns of the file as text.
    delimiter : str
    decimal : {".", ","}, optional
        Decimal sign if it is known; by default that of columns that have one meaning
        only, or else a point where commas delimit fields.

    Returns
    -------
    frame : pyarrow.Table
    marks : dict of str to Marks
        How the numbers of each column are written that may have a decimal sign.
    decimal : {".", ","}, optional
        Decimal sign of the file; None if nothing settles it.
    doubtful : tuple of str
        Columns left as text, because their numbers have two meanings.
    """
    texts = _texts_of_numbers(frame, as_text)
    floats = [
        one.name for one in frame.schema if pa.types.is_floating(one.type) and one.name
    ]
    # pyarrow has read points as decimal points; nothing else is possible for most
    # columns.
    grouped = [name for name in floats if _may_be_thousands(frame.column(name))]
    found = {name: conventions_of(column) for name, column in texts.items()}
    settled = _settled_decimals(found)
    settled |= {"."} if len(grouped) < len(floats) else set()
    asked = decimal == "," or (decimal is None and _leaves_open(settled, delimiter))
    if grouped and asked:
        raw = as_written(grouped)
        texts |= {name: raw.column(name) for name in grouped}
        found |= {name: conventions_of(texts[name]) for name in grouped}
        settled |= _settled_decimals({name: found[name] for name in grouped})
    if decimal is None and len(settled) == 1:
        (decimal,) = settled
    elif decimal is None and not settled and delimiter == ",":
        decimal = "."
    frame, marks, doubtful = _read_by(frame, texts, found, floats, decimal)
    return frame, marks, decimal, doubtful


def _texts_of_numbers(
    frame: pa.Table, as_text: Collection[str]
) -> dict[str, pa.ChunkedArray]:
    """Columns of text that may be numbers, those left out that are to stay text."""
    return {
        name: frame.column(name)
        for name in frame.column_names
        if name and name not in as_text and _may_be_numbers(frame.column(name))
    }


def _settled_decimals(found: Mapping[str, list[Marks]]) -> set[Mark]:
    """Decimal signs of columns that have one meaning only."""
    return {one[0].decimal for one in found.values() if len(one) == 1}


def _read_by(
    frame: pa.Table,
    texts: Mapping[str, pa.ChunkedArray],
    found: Mapping[str, list[Marks]],
    floats: list[str],
    decimal: Mark | None,
) -> tuple[pa.Table, dict[str, Marks], tuple[str, ...]]:
    """Read columns as numbers in the convention of the file, or in the only one that fits."""
    columns = frame.columns
    marks = dict.fromkeys(floats, Marks("."))
    doubtful = []
    for name, fitting in found.items():
        chosen = next((one for one in fitting if one.decimal == decimal), None)
        if chosen is None and len(fitting) == 1:
            chosen = fitting[0]
        if chosen is not None:
            marks[name] = chosen
            columns[frame.column_names.index(name)] = parse_numbers(texts[name], chosen)
        elif fitting:
            columns[frame.column_names.index(name)] = texts[name]
            marks.pop(name, None)
            doubtful.append(name)
    return (
        pa.Table.from_arrays(columns, names=frame.column_names),
        marks,
        tuple(doubtful),
    )


def _may_be_numbers(column: pa.ChunkedArray) -> bool:
    """Return whether the first entry of a column of text is a number, which of most it is not."""
    if not pa.types.is_string(column.type):
        return False
    first = next((value.as_py() for value in column if value.is_valid), None)
    return first is not None and any(
        re.match(number_pattern(marks), first) for marks in (POINT, COMMA)
    )


def _may_be_thousands(column: pa.ChunkedArray) -> bool:
    """Return whether points may stand between thousands: three digits follow each."""
    values = column.drop_null().to_numpy()
    for start in range(0, values.size, 10_000):  # the first rows tell of most columns
        part = np.abs(values[start : start + 10_000])
        with np.errstate(over="ignore", invalid="ignore"):
            if np.any((part > 0) & (part < 1)) or np.any(np.round(part, 3) != part):
                return False
    return bool(values.size)


def _leaves_open(settled: Collection[str], delimiter: str) -> bool:
    """Return whether points that pyarrow took for decimal points may be between thousands."""
    return "," in settled or (delimiter == ";" and "." not in settled)


def notes_on(marks: Mapping[str, Marks]) -> Iterator[str]:
    """Say where numbers have decimal commas, or marks between thousands."""
    commas = [name for name, one in marks.items() if one.decimal == ","]
    if commas:
        yield f"decimal commas in {quoted(commas)}"
    for sign, named in ((",", "commas"), (".", "points")):
        grouped = [name for name, one in marks.items() if one.thousands == sign]
        if grouped:
            yield f"{named} between thousands in {quoted(grouped)}"
