"""Readers of all formats but text: Parquet, Arrow and Excel have columns, the others a matrix."""

import json
import warnings
import zipfile
from collections import Counter
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from sparseauc.utils.optional import import_optional
from sparseauc.utils.text import quoted

from .columns import is_sparse
from .source import MOST_BYTES, DataError, Source, file_bytes, read_by
from .text import MISSING

# What the arrays of an .npz file are commonly called.
_NAMES_KEYS = ("columns", "feature_names", "names", "genes")

# More rows than this would be a slip of the pen, and memory for their places is asked for at once.
MOST_ROWS = 50_000_000


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
        names, columns = [], []
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
    """Those of the empty columns of a sheet that have formulas, by their places."""
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


def read_libsvm(path: Path) -> Source:
    """Read "label number:value …" lines; columns are named by their numbers in the file."""
    from sklearn.datasets import load_svmlight_file

    with read_by("scikit-learn", path, "LIBSVM"):
        found, target = load_svmlight_file(str(path), zero_based=True)
        # Columns with an entry only: the largest number may be in the billions.
        columns, places = np.unique(found.indices, return_inverse=True)
        parts = (found.data, places.astype(np.int32), found.indptr)
        matrix = _check_matrix(sp.csr_array(parts, (found.shape[0], columns.size)), path.name)
    return Source(
        path.name, matrix=matrix, matrix_columns=columns.astype(np.str_), target=target,
        absent_is_zero=True,
    )  # fmt: skip


def read_npz(path: Path, target: str | None) -> Source:
    """Read arrays saved by ``numpy.savez`` (X, y, …) or ``scipy.sparse.save_npz``.

    Besides X, or the parts of a CSR matrix, the file may hold labels (``y``, or as ``target`` says)
    and column names (``columns``, ``feature_names``, ``names`` or ``genes``).
    """
    with read_by("numpy", path, "npz"), np.load(path, allow_pickle=False) as file:
        if not hasattr(file, "files"):
            raise DataError(f"{path.name} is a single array, not an .npz file")
        arrays = {key: file[key] for key in file.files}
        if {"format", "data", "shape"} <= arrays.keys():
            matrix = sp.load_npz(path)
        elif {"data", "indices", "indptr", "shape"} <= arrays.keys():
            parts = arrays["data"], arrays["indices"], arrays["indptr"]
            rows, columns = arrays["shape"].tolist()
            matrix = sp.csr_array(parts, (rows, columns))
        elif "X" in arrays:
            matrix = arrays["X"]
        else:
            raise DataError(
                f"{path.name} holds {quoted(arrays)}: it needs X, or a "
                "matrix as scipy.sparse.save_npz writes it"
            )
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
        matrix = _check_matrix(matrix, path.name)
    key = "y" if target is None else target
    labels = arrays.get(key)
    if labels is not None and labels.shape != (matrix.shape[0],):
        raise DataError(
            f"{path.name}: {key!r} has shape {labels.shape} for {matrix.shape[0]} rows of X"
        )
    names = next((arrays[key] for key in _NAMES_KEYS if key in arrays), None)
    if names is None or names.shape != (matrix.shape[1],):
        names = np.arange(matrix.shape[1])
    return Source(path.name, matrix=matrix, matrix_columns=names.astype(np.str_), target=labels)


def read_mtx(path: Path) -> Source:
    """Read a Matrix Market file; columns are numbered from 1, as in the file.

    Parsed here: scipy's reader ends Python on some damaged files.
    """
    with read_by("sparseauc", path, "Matrix Market"):
        matrix = _check_matrix(_parse_market(file_bytes(path), path.name), path.name)
    names = np.arange(1, matrix.shape[1] + 1).astype(np.str_)
    return Source(path.name, matrix=matrix, matrix_columns=names)


def _parse_market(data: bytes, name: str) -> Any:
    """Parse the Matrix Market format: a header, comments, sizes, then entries or all values."""
    header, _, body = data.partition(b"\n")
    _, kind, layout, numbers, symmetry = header.decode("ascii").lower().split()
    if (
        kind != "matrix"
        or numbers not in ("real", "integer", "pattern", "double")
        or symmetry not in ("general", "symmetric", "skew-symmetric")
    ):
        raise DataError(f"{name} holds a {symmetry} {numbers} {kind}, which is no table")
    while body.lstrip().startswith(b"%"):
        body = body.lstrip().partition(b"\n")[2]
    size_line, _, body = body.lstrip().partition(b"\n")
    sizes = [int(size) for size in size_line.split()]
    with warnings.catch_warnings():
        # What cannot be parsed is an error, in the versions of NumPy that only warn too.
        warnings.simplefilter("error", DeprecationWarning)
        values = np.fromstring(body.decode("ascii"), sep=" ") if body.strip() else np.empty(0)
    if layout == "array":
        rows, columns = sizes
        if symmetry != "general" or values.size != rows * columns:
            raise DataError(f"{name} has {values.size} values for {rows} × {columns}")
        return values.reshape(columns, rows).T
    rows, columns, entries = sizes
    width = 2 if numbers == "pattern" else 3
    if max(rows, columns) > MOST_ROWS or values.size != entries * width:
        raise DataError(f"{name} claims {rows} × {columns} with {entries} entries")
    table = values.reshape(entries, width)
    row, column = table[:, 0].astype(np.int64) - 1, table[:, 1].astype(np.int64) - 1
    value = np.ones(entries) if numbers == "pattern" else table[:, 2]
    if symmetry != "general":
        below = row != column
        sign = -1.0 if symmetry == "skew-symmetric" else 1.0
        row, column, value = (
            np.concatenate([row, column[below]]),
            np.concatenate([column, row[below]]),
            np.concatenate([value, sign * value[below]]),
        )
    # Numbers of rows and columns out of range are refused by scipy.
    return sp.csr_array(sp.coo_array((value, (row, column)), (rows, columns)))


def read_h5ad(path: Path) -> Source:
    """Read cells: X is the matrix, named by ``var_names``; labels and groups are in ``obs``."""
    anndata = import_optional("anndata", f"reading {path.name}")

    with read_by("anndata", path, "h5ad"):
        cells = anndata.read_h5ad(path)
        if cells.X is None:
            raise DataError(f"{path.name} has no X")
        matrix = _check_matrix(cells.X, path.name)
        frame = pa.Table.from_pandas(cells.obs, preserve_index=False)
        names = np.asarray(cells.var_names, np.str_)
        row_ids = np.asarray(cells.obs_names, dtype=object)
    for name, count in Counter(names.tolist()).items():
        if count > 1:
            raise DataError(
                f"{path.name} has two columns named {name!r}: use var_names_make_unique() and "
                "save it again"
            )
    return Source(path.name, frame, matrix=matrix, matrix_columns=names, row_ids=row_ids)


def _check_matrix(matrix: Any, file: str) -> Any:
    """Two-dimensional real numbers, at least one, float32 or float64, CSR if sparse."""
    if matrix.ndim != 2:
        raise DataError(f"{file}: X has {matrix.ndim} dimensions, it needs two")
    if matrix.dtype.kind not in "biuf":
        raise DataError(f"{file}: X holds {matrix.dtype}, it needs real numbers")
    if min(matrix.shape) == 0:
        raise DataError(f"{file} has {matrix.shape[0]} rows and {matrix.shape[1]} columns")
    keep = matrix.dtype in (np.float32, np.float64)
    matrix = matrix if keep else matrix.astype(np.float64)
    if not is_sparse(matrix):
        return np.asarray(matrix)
    matrix = sp.csr_array(matrix)
    matrix.sum_duplicates()
    return matrix
