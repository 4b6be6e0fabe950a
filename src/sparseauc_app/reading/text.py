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

from sparseauc._text import quoted

from .columns import is_number
from .source import MOST_BYTES, DataError, Marks, Source, file_bytes, read_by

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
MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "N/A", "NA", "NULL", "NAN", "NaN", "n/a", "nan", "null", "?", ".", "<NA>",
)  # fmt: skip


def read_text(
    path: Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    as_text: Collection[str] = (),
    most_bytes: int = MOST_BYTES,
) -> Source:
    """Read a table of delimited text; lines before its header may begin with ``#``.

    Parameters are those of :func:`~sparseauc_app.reading.read_source`.
    """
    with read_by("Python", path, "text"):
        data = file_bytes(path, most_bytes)
    if not data.strip():
        raise DataError(f"{path.name} is empty")
    if delimiter is not None and (len(delimiter) != 1 or delimiter not in _SIGNS):
        raise DataError(f"the delimiter must be one of {_SIGNS!r}, got {delimiter!r}")
    text, found_encoding = decode(data, encoding, path.name)
    notes = [] if found_encoding in ("utf-8", "ascii") else [f"read as {found_encoding}"]

    start, end = text[:1000].lstrip().lower(), text[-1000:].rstrip()
    if start.startswith(("<!doctype", "<html", "<?xml")):
        raise DataError(f"{path.name} is a web page or XML, not a table: save the table as CSV")
    if start.startswith(("{", "[")) and end.endswith(("}", "]")):
        raise DataError(f"{path.name} is JSON, not a table: save the table as CSV or Parquet")
    named = None
    if separator_line := re.match(r"sep=([,;|:\t ])\r?\n", text):  # as spreadsheets write it
        text, named = text[separator_line.end() :], separator_line[1]
    text, comments = _without_comments(text, delimiter or named)
    if comments:
        notes.append(f"{comments} line{'s' if comments > 1 else ''} of comment before the header")
    delimiter = delimiter or named or _find_delimiter(text)
    header, *rows = _first_rows(text, delimiter) or [[]]
    # R writes row names in front, for which the header has no field.
    if rows and all(len(row) == len(header) + 1 for row in rows):
        text = delimiter + text
    frame = _parse(path, text, delimiter, as_text)
    if delimiter != ",":
        notes.append(f"fields are delimited by {DELIMITER_NAMES.get(delimiter, repr(delimiter))}")
    frame, marks = _read_written_numbers(frame, as_text, comma_delimits=delimiter == ",")
    unusual = [name for name, mark in marks.items() if mark != Marks(".")]
    if unusual:
        sign = "commas between thousands" if delimiter == "," else "decimal commas"
        notes.append(f"{sign} in {quoted(unusual)}")
    # Whole numbers have no decimal sign: theirs is that of the file's other columns.
    comma = any(mark.decimal == "," for mark in marks.values())
    whole = [field.name for field in frame.schema if pa.types.is_integer(field.type)]
    marks |= dict.fromkeys(whole, Marks("," if comma else "."))
    row_ids = None
    if frame.num_columns > 1 and frame.column_names[0] == "" and frame.schema[0].type != pa.null():
        # R and pandas write row names in front, in a column without a name.
        row_ids = np.asarray(frame.column(0).to_pylist(), dtype=object)
        frame = frame.remove_column(0)
        notes.append("the first column has no name and is read as row names")
    names = [name or f"column {i}" for i, name in enumerate(frame.column_names, start=1)]
    marks = {name: mark for name, mark in marks.items() if name}
    return Source(
        path.name, frame.rename_columns(names), row_ids=row_ids, marks=marks, notes=tuple(notes)
    )


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
        f"{name} is not a text file. Supported formats: CSV, Excel, Parquet, Feather, Arrow, "
        "LIBSVM, .npz, .mtx and .h5ad"
    )


def _wide_without_mark(data: bytes) -> str | None:
    """Recognise UTF-16 without a mark: nearly every second byte of Latin text is zero."""
    start = data[:4096]
    even, odd = start[::2].count(0), start[1::2].count(0)
    pairs = len(start) // 2
    if pairs and odd > 0.6 * pairs and even < 0.1 * pairs:
        return "utf-16-le"
    if pairs and even > 0.6 * pairs and odd < 0.1 * pairs:
        return "utf-16-be"
    return None


def _without_comments(text: str, delimiter: str | None) -> tuple[str, int]:
    """Remove lines that begin with # before the header, and count them.

    The last of them is the header itself if it has as many fields as the line below, which holds
    numbers, as in ``#CHROM,POS``.
    """
    end, count, last = 0, 0, 0
    while text.startswith("#", end) and text.find("\n", end) >= 0:
        last, end, count = end, text.find("\n", end) + 1, count + 1
    if count == 0:
        return text, 0
    delimiter = delimiter or _find_delimiter(text[end:])
    header, *below = _first_rows(text[last:], delimiter) or [[]]
    if below and len(header) > 1 and len(header) == len(below[0]):
        numbers = [any(is_number(field) for field in row) for row in (header, below[0])]
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


def _find_delimiter(text: str) -> str:
    """Choose the delimiter that splits most rows into as many fields as the header, and most."""
    best, best_score = ",", (0.0, 1)
    for delimiter in DELIMITERS:
        widths = [len(row) for row in _first_rows(text, delimiter)]
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


def _parse(path: Path, text: str, delimiter: str, as_text: Collection[str]) -> pa.Table:
    """Columns of the types that pyarrow finds, those ``as_text`` as text; names are stripped."""
    data = pa.py_buffer(text.encode("utf-8", "surrogatepass"))
    # A row must fit into a block; the header is as good a measure of a row as there is.
    header = text.find("\n") if "\n" in text else len(text)
    block = min(max(1 << 24, 64 * header), (1 << 31) - 1)

    ragged: list[Any] = []

    def skip(row: Any) -> str:
        if not ragged:
            ragged.append((row.number, row.expected_columns, row.actual_columns))
        return "skip"

    def parsed(names: Sequence[str]) -> pa.Table:
        return pa.csv.read_csv(
            pa.BufferReader(data),
            # Threads of pyarrow that are still there when Python ends may abort it.
            read_options=pa.csv.ReadOptions(block_size=block, use_threads=False),
            parse_options=pa.csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=skip
            ),
            convert_options=pa.csv.ConvertOptions(
                null_values=list(MISSING),
                strings_can_be_null=True,
                # Row names, which have no name themselves, are text too.
                column_types={
                    name: pa.string() for name in names if not name or name.strip() in as_text
                },
            ),
        )

    with read_by("pyarrow", path, f"{DELIMITER_NAMES.get(delimiter, delimiter)}-delimited text"):
        names: list[str] = next(iter(_first_rows(text, delimiter)), [])
        try:
            frame = parsed(names)
        except pa.ArrowInvalid as error:
            if "Empty CSV" in str(error):
                raise DataError(f"{path.name}: a quotation mark is not closed") from None
            raise
        if frame.column_names != names:  # quoted in a way of its own
            frame = parsed(frame.column_names)
    if ragged:  # named without what it holds
        number, expected, actual = ragged[0]
        place = "a row" if number is None else f"line {number}"
        raise DataError(
            f"{path.name}: {place} has {actual} field{'' if actual == 1 else 's'} where the header "
            f"has {expected}"
        )
    if frame.num_rows == 0:
        raise DataError(f"{path.name} has a header and no rows")
    return frame.rename_columns([name.strip() for name in frame.column_names])


def number_pattern(marks: Marks) -> str:
    """Return the regular expression of numbers written with these marks."""
    decimal = re.escape(marks.decimal)
    whole = r"\d+"
    if marks.thousands is not None:
        whole = rf"(\d{{1,3}}({re.escape(marks.thousands)}\d{{3}})+|\d+)"
    return rf"^\s*[+-]?({whole}({decimal}\d*)?|{decimal}\d+)([eE][+-]?\d+)?\s*$"


def numbers_written(column: pa.ChunkedArray, marks: Marks) -> pa.ChunkedArray | int:
    """Numbers of a column of text, or the place of the first entry that is not one."""
    fits = pc.fill_null(pc.match_substring_regex(column, number_pattern(marks)), True)
    if not pc.all(fits, min_count=0).as_py():
        place: int = pc.index(fits, False).as_py()
        return place
    plain = column
    if marks.thousands is not None:
        plain = pc.replace_substring(plain, marks.thousands, "")
    if marks.decimal != ".":
        plain = pc.replace_substring(plain, marks.decimal, ".")
    return pc.utf8_ltrim(pc.utf8_trim_whitespace(plain), "+").cast(pa.float64())


def numbers_with_limits(column: pa.ChunkedArray, marks: Marks) -> pa.ChunkedArray | int:
    """Numbers of a column in which some are limits, such as ``>2000``, which counts as 2000.

    Text without a digit is missing. What has one and is no number is not guessed at: the place of
    the first such entry is returned.
    """
    bare = pc.replace_substring_regex(column, r"^\s*[<>≤≥~]=?\s*", "")
    return numbers_written(pc.if_else(pc.match_substring_regex(bare, r"\d"), bare, None), marks)


def _read_written_numbers(
    frame: pa.Table, as_text: Collection[str], *, comma_delimits: bool
) -> tuple[pa.Table, dict[str, Marks]]:
    """Columns of numbers with commas as numbers, and how the numbers of each column are written."""
    # In a comma-delimited file a comma within quotes groups thousands; in others it is the decimal
    # sign, and points group thousands.
    marks = Marks(".", ",") if comma_delimits else Marks(",", ".")
    columns, found = [], {}
    for name, column in zip(frame.column_names, frame.columns, strict=True):
        if pa.types.is_floating(column.type):
            found[name] = Marks(".")
        # One entry tells of most columns that they are text.
        elif pa.types.is_string(column.type) and name and name not in as_text:
            first = next((value.as_py() for value in column if value.is_valid), None)
            if first is not None and re.match(number_pattern(marks), first):
                numbers = numbers_written(column, marks)
                if not isinstance(numbers, int):
                    grouped = pc.any(pc.match_substring(column, marks.thousands)).as_py()
                    found[name] = marks if grouped else Marks(marks.decimal)
                    column = numbers
        columns.append(column)
    return pa.Table.from_arrays(columns, names=frame.column_names), found
