"""Readers of all formats but text: Parquet, Arrow, Excel, Stata, SAS and SPSS."""

import json
import zipfile
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sparseauc.utils.optional import import_optional
from sparseauc.utils.text import quoted

from .source import MOST_BYTES, DataError, Source, read_by
from .text import MISSING


def read_parquet(path: Path) -> Source:
    """Read a Parquet file."""
    import pyarrow.parquet as pq

    with read_by("pyarrow", path, "Parquet"):
        # As a file: read_table would take a folder or a name with "key=value" for a data set.
        with pq.ParquetFile(path) as file:
            # Threads of pyarrow that are still there when Python ends may abort it.
            frame = file.read(use_threads=False)
        return _check_frame(path, frame)


def read_arrow(path: Path) -> Source:
    """Read an Arrow IPC file or stream; Feather, since its version 2, is the former."""
    kind = "Feather" if path.suffix.lower() == ".feather" else "Arrow"
    serial = pa.ipc.IpcReadOptions(use_threads=False)
    with read_by("pyarrow", path, kind):
        data = path.read_bytes()
        if data.startswith(b"FEA1"):
            raise DataError(f"{path.name} is Feather of version 1, long outdated: save it again")
        if data.startswith(b"ARROW1"):
            frame = pa.ipc.open_file(data, options=serial).read_all()
        else:
            frame = pa.ipc.open_stream(data, options=serial).read_all()
        return _check_frame(path, frame)


def _check_frame(path: Path, frame: pa.Table) -> Source:
    """Refuse damaged columns before anything reads past their end; set row names aside."""
    frame.validate(full=True)
    if frame.num_rows == 0:
        raise DataError(f"{path.name} has no rows")
    row_ids = None
    written_by_pandas = (frame.schema.metadata or {}).get(b"pandas", b"{}")
    for name in json.loads(written_by_pandas).get("index_columns", []):
        if isinstance(name, str) and name in frame.column_names:
            row_ids = np.asarray(frame.column(name).to_pylist(), dtype=object)
            frame = frame.drop_columns([name])
    return Source(path.name, frame, row_ids=row_ids)


def read_excel(path: Path, sheet: str | None = None) -> Source:
    """Read a sheet of an ``.xlsx`` file, by default the only one that is not empty."""
    import openpyxl

    with read_by("openpyxl", path, "Excel"):
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > MOST_BYTES:
                raise DataError(f"{path.name} would unpack to more than {MOST_BYTES} bytes")
        # Values as Excel last computed them, not formulas; read-only streams the rows.
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        titles = [one.title for one in book.worksheets]
        if sheet is not None and sheet not in titles:
            raise DataError(
                f"{path.name} has no sheet {sheet!r}; there {'is' if len(titles) == 1 else 'are'} "
                f"{quoted(titles, 20)}"
            )
        sheets = {
            one.title: _read_rows(one) for one in book.worksheets if sheet in (None, one.title)
        }
        book.close()
        sheets = {title: rows for title, rows in sheets.items() if rows}
        if not sheets:
            raise DataError(f"{path.name} is empty")
        if len(sheets) > 1:
            raise DataError(
                f"{path.name} has {len(sheets)} sheets, {quoted(sheets, 20)}: choose one with "
                "--format sheet=NAME",
                ["--format", f"sheet={max(sheets, key=lambda title: len(sheets[title]))}"],
            )
        ((title, (header, *rows)),) = sheets.items()
        names = []
        columns = []
        for place, (name, *values) in enumerate(zip_longest(header, *rows), start=1):
            names.append(f"column {place}" if name is None else str(name).strip())
            columns.append(_make_column(values))
        if not rows:
            raise DataError(f"{path.name} has a header and no rows")
        empty = {place for place, one in enumerate(columns) if one.null_count == len(one)}
        formulas = [names[place] for place in sorted(_find_formulas(path, title, empty))]
    told = f"formulas in {quoted(formulas)} were never computed: save the file in Excel"
    return Source(path.name, pa.Table.from_arrays(columns, names), notes=(told,) * bool(formulas))


def _find_formulas(path: Path, title: str, empty: set[int]) -> set[int]:
    """Find the empty columns of a sheet that have formulas, by their places."""
    import openpyxl

    if not empty:
        return set()
    book = openpyxl.load_workbook(path, read_only=True)
    found = {
        place
        for cells in book[title].iter_rows(values_only=True)
        for place in empty.intersection(range(len(cells)))
        if str(cells[place]).startswith("=")
    }
    book.close()
    return found


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


def read_by_pandas(path: Path) -> Source:
    """Read a file of Stata, SAS or SPSS: labels of values where it has them, else the values."""
    import pandas as pd

    suffix = path.suffix.lower()
    kind = {".dta": "Stata", ".sav": "SPSS"}.get(suffix, "SAS")
    if kind == "SPSS":
        import_optional("pyreadstat", f"reading {path.name}")
    with read_by("pandas", path, kind):
        if kind == "Stata":
            frame = pd.read_stata(path)
        elif kind == "SPSS":
            frame = pd.read_spss(path)
        else:
            frame = pd.read_sas(path, encoding="utf-8")
        if not len(frame):
            raise DataError(f"{path.name} has no rows")
        return Source(path.name, pa.Table.from_pandas(frame, preserve_index=False))
