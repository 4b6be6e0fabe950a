"""Reading Excel sheets: cells have types, and the first row has the names."""

from __future__ import annotations

import zipfile
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..._text import quoted
from .source import MOST_BYTES, DataError, Source, read_by
from .text import MISSING, check_names


def read_excel(path: Path) -> Source:
    """Read the only sheet of an ``.xlsx`` file that is not empty."""
    import openpyxl

    with read_by("openpyxl", path, "Excel"):
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > MOST_BYTES:
                raise DataError(f"{path.name} would unpack to more than {MOST_BYTES} bytes")
        # Values as Excel last computed them, not formulas; read-only streams the rows.
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        sheets = {sheet.title: _read_rows(sheet) for sheet in book.worksheets}
        book.close()
        sheets = {title: rows for title, rows in sheets.items() if rows}
        if not sheets:
            raise DataError(f"{path.name} is empty")
        if len(sheets) > 1:
            raise DataError(
                f"{path.name} has {len(sheets)} sheets, {quoted(sheets, 20)}: save the one to read "
                "as a file"
            )
        ((_, (header, *rows)),) = sheets.items()
        names, columns = [], []
        for place, (name, *values) in enumerate(zip_longest(header, *rows), start=1):
            names.append(f"column {place}" if name is None else str(name).strip())
            columns.append(_make_column(values))
        check_names(names, path.name)
        if not rows:
            raise DataError(f"{path.name} has a header and no rows")
    return Source(path.name, pa.table(dict(zip(names, columns, strict=True))))


def _read_rows(sheet: Any) -> list[list[Any]]:
    """Cells by row, without the empty rows and columns that formatting leaves behind."""
    rows = []
    for cells in sheet.iter_rows(values_only=True):
        row = [None if value in MISSING else value for value in cells]
        while row and row[-1] is None:
            row.pop()
        rows.append(row)
    while rows and not rows[-1]:
        rows.pop()
    return rows


def _make_column(values: list[Any]) -> Any:
    """A column of one type; of several types, as text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return pa.array(values, pa.float64())
    if len(kinds) <= 1:
        return pa.array(values)
    return pa.array([None if value is None else str(value) for value in values])
