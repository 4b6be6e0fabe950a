"""Reading CSV and its relatives, whose encoding, delimiter and decimal sign nobody wrote down.

What can be found out is found out and noted; what is ambiguous can be stated by the caller.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .source import DataError, Source, file_bytes, listed, read_by

if TYPE_CHECKING:
    import pyarrow as pa

DELIMITERS = (",", ";", "\t", "|")
_SIGNS = "\t !#$%&'*+,-./:;<=>?@^`|~"
DELIMITER_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}

# The longest first: the mark of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Those of pyarrow, and what UCI, SAS and pandas write.
_MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null", "?", ".", "<NA>",
)  # fmt: skip
# Numbers as people write them where pyarrow sees text: 1.234,5 and 1,234.5.
_DECIMAL_COMMA = r"^\s*[+-]?(\d{1,3}(\.\d{3})+|\d*)(,\d*)?([eE][+-]?\d+)?\s*$"
_THOUSANDS_COMMA = r"^\s*[+-]?(\d{1,3}(,\d{3})+|\d+)(\.\d*)?([eE][+-]?\d+)?\s*$"


def read_text(path: Path, *, delimiter: str | None = None, encoding: str | None = None) -> Source:
    """Read a table of delimited text.

    Parameters
    ----------
    path : Path
        With a header line; may be compressed (``.gz``, ``.bz2``, ``.xz``).
    delimiter, encoding : str, optional
        Found out if not given.

    Returns
    -------
    Source
    """
    with read_by("Python", path, "text"):
        data = file_bytes(path)
    if not data.strip():
        raise DataError(f"{path.name} is empty")
    if delimiter is not None and (len(delimiter) != 1 or delimiter not in _SIGNS):
        raise DataError(f"the delimiter must be one of {_SIGNS!r}, got {delimiter!r}")
    text, found_encoding = decoded(data, encoding, path.name)
    notes = [] if found_encoding in ("utf-8", "ascii") else [f"read as {found_encoding}"]

    text, named = _without_separator_line(text)
    rows = _first_rows(text)
    delimiter = delimiter or named or find_delimiter(rows)
    if _header_lacks_row_names(rows(delimiter)):
        text = delimiter + text
    return _parsed(path, text, delimiter, notes)


def decoded(data: bytes, encoding: str | None, name: str) -> tuple[str, str]:
    """Return the text and its encoding: by its mark, else UTF-8 if valid, else Windows-1252."""
    if encoding is not None:
        try:
            return data.decode(encoding).removeprefix("\ufeff"), encoding
        except LookupError:
            raise DataError(f"there is no encoding {encoding!r}") from None
        except UnicodeError as error:
            raise DataError(f"{name} is not {encoding}: {error}") from None
    for mark, marked in _MARKS:
        if data.startswith(mark):
            try:
                return data[len(mark) :].decode(marked), marked
            except UnicodeError as error:
                raise DataError(
                    f"{name} begins with the mark of {marked} but is not: {error}"
                ) from None
    wide = _wide_without_mark(data)
    for candidate in (wide,) if wide else ("utf-8", "windows-1252", "latin-1"):
        try:
            text = data.decode(candidate)
        except UnicodeError:
            continue
        if "\0" in text:
            break
        return text, candidate
    raise DataError(
        f"{name} is no text: it holds bytes that text does not. Is it a file of another kind? "
        "Known are CSV, Parquet, Feather, Arrow, LIBSVM, .npz, .mtx and .h5ad"
    )


def _wide_without_mark(data: bytes) -> str | None:
    """UTF-16 shows by a zero in nearly every second byte, as most text is mostly Latin."""
    start = data[:4096]
    even, odd = start[::2].count(0), start[1::2].count(0)
    pairs = len(start) // 2
    if pairs and odd > 0.6 * pairs and even < 0.1 * pairs:
        return "utf-16-le"
    if pairs and even > 0.6 * pairs and odd < 0.1 * pairs:
        return "utf-16-be"
    return None


def _without_separator_line(text: str) -> tuple[str, str | None]:
    """Take off the line "sep=;" that spreadsheets write and read, and heed it."""
    match = re.match(r"sep=([,;|:\t ])\r?\n", text)
    return (text[match.end() :], match[1]) if match else (text, None)


def _first_rows(text: str, lines: int = 20, characters: int = 1 << 16) -> Any:
    """Return a function that splits the beginning of the text by a delimiter."""
    end = 0
    for _ in range(lines):
        end = text.find("\n", end) + 1
        if end == 0:
            break
    if end:
        end = text.rfind("\n", 0, max(end, characters)) + 1
    whole = end in (0, len(text))
    start = text if whole else text[:end]

    def rows(delimiter: str) -> list[list[str]]:
        # A field longer than csv allows comes of a quote that is not closed.
        try:
            found = [row for row in csv.reader(io.StringIO(start), delimiter=delimiter) if row]
        except csv.Error:
            return []
        # The end may cut through a quoted field.
        return found if whole else found[:-1]

    return rows


def find_delimiter(rows: Callable[[str], list[list[str]]]) -> str:
    """Choose the delimiter that splits most rows into as many fields as the header, and most."""
    best, best_score = ",", (0.0, 1)
    for delimiter in DELIMITERS:
        widths = [len(row) for row in rows(delimiter)]
        if not widths or widths[0] < 2:
            continue
        # Rows with one field more are those of R, which names rows and not their column.
        agreeing = max(
            np.mean([width == widths[0] for width in widths]),
            np.mean([width == widths[0] + 1 for width in widths[1:]] or [False]),
        )
        score = (round(float(agreeing), 1), widths[0])
        if score > best_score:
            best, best_score = delimiter, score
    return best


def _header_lacks_row_names(rows: list[list[str]]) -> bool:
    """Whether rows have a name in front for which the header has no field, as R writes them."""
    return len(rows) > 1 and all(len(row) == len(rows[0]) + 1 for row in rows[1:])


def _parsed(path: Path, text: str, delimiter: str, notes: list[str]) -> Source:
    import pyarrow as pa
    import pyarrow.csv

    data = pa.py_buffer(text.encode("utf-8", "surrogatepass"))
    # A row must fit into a block; the header is as good a measure of a row as there is.
    header = text.find("\n") if "\n" in text else len(text)
    block = min(max(1 << 24, 64 * header), (1 << 31) - 1)
    with read_by("pyarrow", path, f"{DELIMITER_NAMES.get(delimiter, delimiter)}-delimited text"):
        frame = pa.csv.read_csv(
            pa.BufferReader(data),
            # Threads of pyarrow that are still there when Python ends may abort it.
            read_options=pa.csv.ReadOptions(block_size=block, use_threads=False),
            parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(
                null_values=list(_MISSING), strings_can_be_null=True
            ),
        )
    if frame.num_rows == 0:
        raise DataError(f"{path.name} has a header and no rows")
    if delimiter != ",":
        notes.append(f"fields are delimited by {DELIMITER_NAMES.get(delimiter, repr(delimiter))}")
    frame, as_numbers = _with_written_numbers(frame, comma_delimits=delimiter == ",")
    if as_numbers:
        sign = "commas between thousands" if delimiter == "," else "decimal commas"
        notes.append(f"{sign} in {listed([repr(name) for name in as_numbers])}")
    return _with_names(path, frame, notes)


def _with_written_numbers(frame: pa.Table, *, comma_delimits: bool) -> tuple[pa.Table, list[str]]:
    """Columns of numbers with commas as numbers, and the names of those."""
    import pyarrow as pa

    columns, converted = [], []
    for name, column in zip(frame.column_names, frame.columns, strict=True):
        numbers = (
            numbers_of_text(column, comma_delimits=comma_delimits)
            if pa.types.is_string(column.type)
            else None
        )
        columns.append(column if numbers is None else numbers)
        if numbers is not None:
            converted.append(name.strip())
    return pa.Table.from_arrays(columns, names=frame.column_names), converted


def numbers_of_text(column: pa.ChunkedArray, *, comma_delimits: bool) -> pa.ChunkedArray | None:
    """Numbers written with commas, or None if any entry is not one.

    In a comma-delimited file a comma within quotes groups thousands; in others it is the decimal
    sign, and points group thousands.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    # One entry tells of most columns that they are text.
    first = next((value.as_py() for value in column if value.is_valid), None)
    pattern = _THOUSANDS_COMMA if comma_delimits else _DECIMAL_COMMA
    if first is None or not re.match(pattern, first):
        return None
    if not pc.all(pc.match_substring_regex(column, pattern)).as_py():
        return None
    if comma_delimits:
        plain = pc.replace_substring(column, ",", "")
    else:
        plain = pc.replace_substring(pc.replace_substring(column, ".", ""), ",", ".")
    try:
        return pc.utf8_trim_whitespace(plain).cast(pa.float64())
    except pa.ArrowInvalid:  # a lone sign or comma
        return None


def _with_names(path: Path, frame: pa.Table, notes: list[str]) -> Source:
    """Give every column one name, and tell row names from columns."""
    import pyarrow as pa

    names = [name.strip() for name in frame.column_names]
    row_ids = None
    if len(names) > 1 and names[0] == "" and not pa.types.is_null(frame.column(0).type):
        # R and pandas write row names in front, in a column without a name.
        row_ids = np.asarray(frame.column(0).to_pylist(), dtype=object)
        frame, names = frame.remove_column(0), names[1:]
        notes.append("the first column has no name: taken for row names")
    names = [name or f"column {place}" for place, name in enumerate(names, start=1)]
    check_names(names, path.name)
    return Source(
        path.name, "CSV", frame.rename_columns(names), row_ids=row_ids, notes=tuple(notes)
    )


def check_names(names: list[str], file: str) -> None:
    """Refuse a name that two columns have: which is meant could not be told later."""
    seen: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        if name in seen:
            raise DataError(
                f"{file} has two columns named {name!r} (numbers {seen[name]} and {place}): "
                "rename one"
            )
        seen[name] = place
