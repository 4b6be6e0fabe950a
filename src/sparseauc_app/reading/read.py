"""Read a table of any supported format, recognised by its name or its first bytes."""

import json
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sparseauc.utils.optional import import_optional
from sparseauc.utils.text import quoted

from .source import COMPRESSIONS, MOST_BYTES, DataError, Source, read_by
from .text import MISSING, count_titles, note_on_titles, read_text


def read_parquet(path: Path) -> Source:
    """Read a Parquet file."""
    import pyarrow.parquet as pq

    with read_by("pyarrow", path, "Parquet"):
        # As a file: read_table would take a folder or a name with "key=value" for a
        # data set.
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
            raise DataError(
                f"{path.name} is Feather of version 1, long outdated: save it again"
            )
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
    import pandas as pd

    with read_by("openpyxl", path, "Excel"):
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > MOST_BYTES:
                raise DataError(
                    f"{path.name} would unpack to more than {MOST_BYTES} bytes"
                )
        # Values as Excel last computed them, not formulas.
        with pd.ExcelFile(path, engine="openpyxl") as book:
            titles = [str(title) for title in book.sheet_names]
            if sheet is not None and sheet not in titles:
                are = "is" if len(titles) == 1 else "are"
                raise DataError(
                    f"{path.name} has no sheet {sheet!r}; there {are} {quoted(titles, 20)}"
                )
            asked = titles if sheet is None else [sheet]
            missing = {"na_values": list(MISSING), "keep_default_na": False}
            found = pd.read_excel(
                book, sheet_name=asked, header=None, dtype=object, **missing
            )
        sheets = {title: frame for title, frame in found.items() if frame.size}
        if not sheets:
            raise DataError(f"{path.name} is empty")
        if len(sheets) > 1:
            raise DataError(
                f"{path.name} has {len(sheets)} sheets, {quoted(sheets, 20)}: choose one with "
                "--format sheet=NAME",
                [
                    "--format",
                    f"sheet={max(sheets, key=lambda title: len(sheets[title]))}",
                ],
            )
        (frame,) = sheets.values()
        rows = frame.mask(frame.isna(), None).to_numpy().tolist()
        titles_above = count_titles(rows[:20])
        header, *rows = rows[titles_above:]
        if not rows:
            raise DataError(f"{path.name} has a header and no rows")
        names = [
            f"column {place}" if name is None else str(name).strip()
            for place, name in enumerate(header, start=1)
        ]
        columns = [_make_column(values) for values in zip(*rows, strict=True)]
    notes = (note_on_titles(titles_above),) if titles_above else ()
    return Source(path.name, pa.Table.from_arrays(columns, names), notes=notes)


def _make_column(values: Sequence[Any]) -> Any:
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


READERS: dict[str, Callable[[Path], Source]] = {
    ".parquet": read_parquet,
    ".pq": read_parquet,
    ".feather": read_arrow,
    ".arrow": read_arrow,
    ".ipc": read_arrow,
    ".arrows": read_arrow,
    ".dta": read_by_pandas,
    ".sas7bdat": read_by_pandas,
    ".xpt": read_by_pandas,
    ".sav": read_by_pandas,
}
# Formats of matrices, which are for the Python library.
_MATRICES = (".npz", ".npy", ".mtx", ".h5ad", ".libsvm", ".svmlight", ".svm")
# First bytes of formats that are met under other names.
_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"PAR1", ".parquet"),
    (b"ARROW1", ".arrow"),
    (b"\x89HDF\r\n", ".h5ad"),
    (b"%%MatrixMarket", ".mtx"),
)


def read_source(
    path: Path | str, *, sheet: str | None = None, **written: Any
) -> Source:
    r"""Read a table of any known format.

    Parameters
    ----------
    path : path or str
        CSV and its relatives (also compressed), Excel (``.xlsx``), Parquet, Feather,
        Arrow, Stata (``.dta``), SAS (``.sas7bdat``, ``.xpt``), SPSS (``.sav``, with
        pyreadstat); ``-`` for text from standard input.
    sheet : str, optional
        Sheet of an Excel file that has several.
    **written
        How a text file is written, as :func:`~sparseauc_app.reading.text.read_text`
        takes it.

    Returns
    -------
    Source

    Raises
    ------
    DataError
        If it cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sparseauc_app.reading import read_source
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "table.csv"
    ...     _ = path.write_text("name;height\nann;1,75\nbob;1,80\n")
    ...     source = read_source(path)
    >>> source.frame.column("height").to_pylist(), source.notes[-1]
    ([1.75, 1.8], "decimal commas in 'height'")
    """
    path = Path(path)
    if str(path) == "-":
        with tempfile.TemporaryDirectory() as folder:  # all readers need a file
            path = Path(folder) / "standard input"
            path.write_bytes(sys.stdin.buffer.read(MOST_BYTES + 1))
            return read_source(path, sheet=sheet, **written)
    with read_by("Python", path, "a file"):
        if path.is_dir():
            raise DataError(f"{path} is a folder, not a file")
        with path.open("rb") as file:
            start = file.read(16)
    if not start:
        raise DataError(f"{path.name} is empty")
    signed = next((kind for mark, kind in _SIGNATURES if start.startswith(mark)), None)
    compressed = path.suffix.lower() in COMPRESSIONS
    suffix = signed or (path.with_suffix("") if compressed else path).suffix.lower()
    if suffix in _MATRICES:
        raise DataError(
            f"{path.name} holds a matrix: load it with scipy or scikit-learn and fit "
            "sparseauc.SparseAUCClassifierCV in Python, or save it as Parquet or CSV"
        )
    if start.startswith(b"PK\x03\x04") and path.suffix.lower() not in (".zip", ".xlsx"):
        raise DataError(
            f"{path.name} is a zip archive or a spreadsheet: name it .csv.zip or .xlsx if it is "
            "one, or save the table as CSV or Parquet"
        )
    if suffix == ".xlsx" and not compressed:
        return read_excel(path, sheet)
    if sheet is not None:
        raise DataError(f"{path.name} is not an Excel file and has no sheet {sheet!r}")
    if suffix == ".xls":
        raise DataError(f"{path.name} is Excel's old format: save it as .xlsx or CSV")
    read = READERS.get(suffix)
    if compressed and read is not None:
        raise DataError(f"{path.name}: unpack it first, only text is read compressed")
    if read is not None:
        return read(path)
    return read_text(path, **written)
