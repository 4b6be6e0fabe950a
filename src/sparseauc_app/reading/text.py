"""Read delimited text, with detection of encoding, delimiter and decimal sign.

What is detected is noted; the caller can state what is ambiguous.
"""

import codecs
import csv
import io
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from ..column_types import Mark
from .columns import (
    COMMA,
    POINT,
    Marks,
    is_number,
    notes_on,
    number_pattern,
    read_written_numbers,
)
from .source import DataError, Source, check_names, file_bytes, read_by

DELIMITERS = (",", ";", "\t", "|")
_SIGNS = "\t !#$%&'*+,-./:;<=>?@^`|~"
DELIMITER_NAMES = {
    ",": "comma",
    ";": "semicolon",
    "\t": "tab",
    "|": "bar",
    " ": "space",
}

# The longest first: the mark of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Those of pyarrow, and what UCI, SAS and pandas write.
MISSING = (
    "",
    "#N/A",
    "#N/A N/A",
    "#NA",
    "-1.#IND",
    "-1.#QNAN",
    "-NaN",
    "-nan",
    "1.#IND",
    "1.#QNAN",
    "N/A",
    "NA",
    "NULL",
    "NAN",
    "NaN",
    "n/a",
    "nan",
    "null",
    "?",
    ".",
    "<NA>",
)


def read_text(
    path: Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: Mark | None = None,
    as_text: Collection[str] = (),
    ids: str | None = None,
) -> Source:
    """Read a table of delimited text; lines before its header may begin with ``#``.

    Parameters
    ----------
    path : path
    delimiter, encoding : str, optional
        Detected by default.
    decimal : {".", ","}, optional
        Decimal sign; the other sign stands between thousands. Found by default.
    as_text : collection of str
        Columns that are read as text.
    ids : str, optional
        Column of row identifiers, kept as they are written: 007 is not 7, and NA is not
        missing.
    """
    if delimiter is not None and (len(delimiter) != 1 or delimiter not in _SIGNS):
        raise DataError(f"the delimiter must be one of {_SIGNS!r}, got {delimiter!r}")
    text, notes = _load(path, encoding)
    text, delimiter, more = _find_layout(text, delimiter)
    notes += more
    table = _TextTable(path, text, delimiter)
    as_text = {*as_text, *([] if ids is None else [ids])}
    frame = _trimmed(table.parse(as_text))
    if table.ends_in_delimiter:
        frame = _without_last(frame, path)
        notes.append("rows end with a delimiter")
    check_names([name for name in frame.column_names if name], path.name)
    if ids is not None and ids in frame.column_names:
        # Of identifiers nothing is missing: NA may be one.
        place = frame.column_names.index(ids)
        frame = frame.set_column(place, ids, table.as_written([ids]).column(0))
    frame, marks, decimal, doubtful = read_written_numbers(
        frame,
        as_text,
        lambda names: _trimmed(table.as_written(names)),
        delimiter=delimiter,
        decimal=decimal,
    )
    row_ids = None
    notes += notes_on(marks)
    if (
        frame.num_columns > 1
        and frame.column_names[0] == ""
        and frame.schema[0].type != pa.null()
    ):
        # R and pandas write row names in front, in a column without a name.
        first = frame.column(0)
        if frame.column_names.count("") == 1:
            first = table.as_written([""]).column(0)
        row_ids = np.asarray(first.to_pylist(), dtype=object)
        frame = frame.remove_column(0)
        notes.append("the first column has no name and is read as row names")
    names = [
        name or f"column {i}" for i, name in enumerate(frame.column_names, start=1)
    ]
    return Source(
        path.name,
        frame.rename_columns(names),
        row_ids=row_ids,
        notes=tuple(notes),
        marks=_with_whole_numbers(marks, frame, decimal),
        decimal=decimal,
        doubtful=doubtful,
    )


def _with_whole_numbers(
    marks: dict[str, Marks], frame: pa.Table, decimal: Mark | None
) -> dict[str, Marks]:
    """Add columns of whole numbers, which have no decimal sign: theirs is that of the file."""
    whole = [one.name for one in frame.schema if pa.types.is_integer(one.type)]
    marks |= dict.fromkeys(whole, Marks(decimal or "."))
    return {name: mark for name, mark in marks.items() if name}


def _load(path: Path, encoding: str | None) -> tuple[str, list[str]]:
    """The text of a file that may be a table, with a note on its encoding."""
    with read_by("Python", path, "text"):
        data = file_bytes(path)
    if not data.strip():
        raise DataError(f"{path.name} is empty")
    text, found = decode(data, encoding, path.name)
    start = text[:1000].lstrip().lower()
    end = text[-1000:].rstrip()
    if start.startswith(("<!doctype", "<html", "<?xml")):
        raise DataError(
            f"{path.name} is a web page or XML, not a table: save the table as CSV"
        )
    if start.startswith(("{", "[")) and end.endswith(("}", "]")):
        raise DataError(
            f"{path.name} is JSON, not a table: save the table as CSV or Parquet"
        )
    return text, [] if found in ("utf-8", "ascii") else [f"read as {found}"]


def _find_layout(text: str, delimiter: str | None) -> tuple[str, str, list[str]]:
    """The text from its header on, its delimiter, and notes on both."""
    notes = []
    if separator_line := re.match(
        r"sep=([,;|:\t ])\r?\n", text
    ):  # as spreadsheets write it
        text = text[separator_line.end() :]
        delimiter = delimiter or separator_line[1]
    text, comments = _without_comments(text, delimiter)
    if comments:
        notes.append(
            f"{comments} line{'s' if comments > 1 else ''} of comment before the header"
        )
    delimiter = delimiter or _find_delimiter(text)
    titles = count_titles(_first_rows(text, delimiter))
    if titles:
        text = text[_end_of_rows(text, delimiter, titles) :].lstrip("\r\n")
        notes.append(note_on_titles(titles))
    if delimiter != ",":
        notes.append(
            f"fields are delimited by {DELIMITER_NAMES.get(delimiter, repr(delimiter))}"
        )
    return text, delimiter, notes


def _trimmed(frame: pa.Table) -> pa.Table:
    """Texts without blanks around them; what is then empty, or means so, is missing."""
    missing = pa.array(MISSING)
    columns = []
    for column in frame.columns:
        if pa.types.is_string(column.type):
            column = pc.utf8_trim_whitespace(column)
            column = pc.if_else(pc.is_in(column, value_set=missing), None, column)
        columns.append(column)
    return pa.Table.from_arrays(columns, names=frame.column_names)


def _without_last(frame: pa.Table, path: Path) -> pa.Table:
    """The frame without the column that delimiters at the end of rows make, which is empty."""
    last = frame.columns[-1]
    if last.null_count < len(last):
        raise DataError(
            f"{path.name}: rows have one field more than the header, which is empty in most "
            "rows and not in all: give each column a name"
        )
    return frame.remove_column(frame.num_columns - 1)


def decode(data: bytes, encoding: str | None, name: str) -> tuple[str, str]:
    """Return the text and its encoding: by its mark, else UTF-8 if valid, else Windows-1252."""
    marked = next((known for mark, known in _MARKS if data.startswith(mark)), None)
    given = marked if encoding is None else encoding
    if given is not None:
        try:
            return data.decode(given).removeprefix("\ufeff"), given
        except LookupError:
            raise DataError(f"unknown encoding {encoding!r}") from None
        except UnicodeError as error:
            other = f"begins with the mark of {given} but is not"
            wrong = other if encoding is None else f"is not {encoding}"
            raise DataError(f"{name} {wrong}: {error}") from None
    for candidate in ("utf-8", "windows-1252", "latin-1"):
        try:
            text = data.decode(candidate)
        except UnicodeError:
            continue
        if "\0" in text:
            break
        return text, candidate
    raise DataError(
        f"{name} is not a text file, or needs --format encoding=utf-16-le. Supported formats: CSV, "
        "Excel, Parquet, Feather, Arrow, Stata, SAS and SPSS"
    )


def _without_comments(text: str, delimiter: str | None) -> tuple[str, int]:
    """Remove lines that begin with # before the header, and count them.

    The last of them is the header itself if it has as many fields as the line below,
    which holds numbers, as in ``#CHROM,POS``.
    """
    end = 0
    count = 0
    last = 0
    while text.startswith("#", end) and text.find("\n", end) >= 0:
        last = end
        end = text.find("\n", end) + 1
        count = count + 1
    if count == 0:
        return text, 0
    delimiter = delimiter or _find_delimiter(text[last:])
    header, *below = _first_rows(text[last:], delimiter) or [[]]
    if below and len(header) > 1 and len(header) == len(below[0]):
        patterns = [number_pattern(marks) for marks in (POINT, COMMA)]
        numbers = [
            any(re.match(one, field) for field in row for one in patterns)
            for row in (header, below[0])
        ]
        if numbers == [False, True]:
            return text[last:], count - 1
    return text[end:], count


def _first_rows(text: str, delimiter: str) -> list[list[str]]:
    """The beginning of a text as rows: twenty lines, or 64 kB."""
    end = 0
    for _ in range(20):
        end = text.find("\n", end) + 1
        if end == 0:
            break
    if end:
        end = text.rfind("\n", 0, max(end, 1 << 16)) + 1
    whole = end in (0, len(text))
    start = io.StringIO(text if whole else text[:end])
    # A field longer than csv allows comes of a quote that is not closed.
    try:
        found = [row for row in csv.reader(start, delimiter=delimiter) if row]
    except csv.Error:
        return []
    # The end may cut through a quoted field.
    return found if whole else found[:-1]


def count_titles(rows: Sequence[Sequence[Any]]) -> int:
    """Number of rows above the header, such as a title, a date and an empty row.

    They have less than half of the entries that most rows have, and the header has no
    numbers.
    """
    entries = [
        [cell for cell in row if cell is not None and str(cell).strip()] for row in rows
    ]
    usual = float(np.median([len(row) for row in entries])) if entries else 0.0
    header = next((i for i, row in enumerate(entries) if len(row) > usual / 2), 0)
    named = usual >= 3 and not any(map(is_number, entries[header]))
    return header if named else 0


def note_on_titles(count: int) -> str:
    """Say that rows above the header were left out."""
    return f"{count} row{'s' if count > 1 else ''} above the header left out, such as a title"


def _find_delimiter(text: str) -> str:
    """Choose the delimiter that splits most rows into as many fields as the header, and most."""
    best = ","
    best_score = (0.0, 1)
    for delimiter in DELIMITERS:
        rows = _first_rows(text, delimiter)
        widths = [len(row) for row in rows[count_titles(rows) :]]
        if not widths or widths[0] < 2:
            continue
        # Rows with one field more are those of R, which names rows and not their
        # column.
        agreeing = max(
            np.mean([width == widths[0] for width in widths]),
            np.mean([width == widths[0] + 1 for width in widths[1:]] or [False]),
        )
        score = (round(float(agreeing), 1), widths[0])
        if score > best_score:
            best = delimiter
            best_score = score
    return best


class _TextTable:
    """A delimited text, of which columns are read by type or as they are written.

    ``ends_in_delimiter`` tells that rows have an empty field after the last that the
    header names.
    """

    def __init__(self, path: Path, text: str, delimiter: str) -> None:
        self._path = path
        self._delimiter = delimiter
        header, *rows = _first_rows(text, delimiter) or [[]]
        longer = bool(rows) and all(len(row) == len(header) + 1 for row in rows)
        blank = sum(not row[-1].strip() for row in rows)
        self.ends_in_delimiter = longer and 2 * blank > len(rows)
        if self.ends_in_delimiter:
            end = _end_of_rows(text, delimiter)
            text = f"{text[:end]}{delimiter}{text[end:]}"
            header = [*header, ""]
        elif longer:  # R writes row names in front, for which the header has no field
            text = delimiter + text
            header = ["", *header]
        self._names = header
        self._data = pa.py_buffer(text.encode("utf-8", "surrogatepass"))
        # A row must fit into a block; the header is as good a measure of a row as there
        # is.
        line = text.find("\n") if "\n" in text else len(text)
        self._block = min(max(1 << 24, 64 * line), (1 << 31) - 1)

    def parse(self, as_text: Collection[str]) -> pa.Table:
        """Return columns of the types that pyarrow finds, those ``as_text`` as text."""
        ragged: list[Any] = []

        def skip(row: Any) -> str:
            if not ragged:
                ragged.append((row.number, row.expected_columns, row.actual_columns))
            return "skip"

        def parsed(names: Sequence[str]) -> pa.Table:
            # Row names, which have no name themselves, are text too.
            texts = [name for name in names if not name or name.strip() in as_text]
            return self._read(
                pa.csv.ConvertOptions(
                    null_values=list(MISSING),
                    strings_can_be_null=True,
                    column_types=dict.fromkeys(texts, pa.string()),
                ),
                skip,
            )

        path = self._path
        kind = DELIMITER_NAMES.get(self._delimiter, self._delimiter)
        with read_by("pyarrow", path, f"{kind}-delimited text"):
            try:
                frame = parsed(self._names)
            except pa.ArrowInvalid as error:
                if "Empty CSV" in str(error):
                    raise DataError(
                        f"{path.name}: a quotation mark is not closed"
                    ) from None
                raise
            if frame.column_names != self._names:  # quoted in a way of its own
                self._names = frame.column_names
                frame = parsed(self._names)
        if ragged:  # named without what it holds
            number, expected, actual = ragged[0]
            place = "a row" if number is None else f"line {number}"
            raise DataError(
                f"{path.name}: {place} has {actual} field{'' if actual == 1 else 's'} where the "
                f"header has {expected}"
            )
        if frame.num_rows == 0:
            raise DataError(f"{path.name} has a header and no rows")
        return frame.rename_columns([name.strip() for name in frame.column_names])

    def as_written(self, names: Collection[str]) -> pa.Table:
        """Return columns as text, empty where nothing is written."""
        wanted = [name for name in self._names if name.strip() in names]
        frame = self._read(
            pa.csv.ConvertOptions(
                include_columns=wanted,
                column_types=dict.fromkeys(wanted, pa.string()),
                strings_can_be_null=False,
            ),
            lambda _: "skip",
        )
        return frame.rename_columns([name.strip() for name in wanted])

    def _read(self, convert: Any, skip: Any) -> pa.Table:
        return pa.csv.read_csv(
            pa.BufferReader(self._data),
            # Threads of pyarrow that are still there when Python ends may abort it.
            read_options=pa.csv.ReadOptions(block_size=self._block, use_threads=False),
            parse_options=pa.csv.ParseOptions(
                delimiter=self._delimiter,
                newlines_in_values=True,
                invalid_row_handler=skip,
            ),
            convert_options=convert,
        )


def _end_of_rows(text: str, delimiter: str, count: int = 1) -> int:
    """Place of the end of the line, or of the last line, of the header, or of the first rows."""
    reader = csv.reader(io.StringIO(text[: 1 << 20], newline=""), delimiter=delimiter)
    for _ in range(count):
        next(row for row in reader if row)
    end = -1
    for _ in range(reader.line_num):
        end = text.find("\n", end + 1)
    return end - (text[end - 1] == "\r")
