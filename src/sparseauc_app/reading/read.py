"""Read a table of any supported format, recognised by its name or its first bytes."""

import sys
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path

from ..column_types import Mark
from . import formats
from .source import COMPRESSIONS, MOST_BYTES, DataError, Source, read_by
from .text import read_text

READERS: dict[str, Callable[[Path], Source]] = {
    ".parquet": formats.read_parquet,
    ".pq": formats.read_parquet,
    ".feather": formats.read_arrow,
    ".arrow": formats.read_arrow,
    ".ipc": formats.read_arrow,
    ".arrows": formats.read_arrow,
    ".dta": formats.read_by_pandas,
    ".sas7bdat": formats.read_by_pandas,
    ".xpt": formats.read_by_pandas,
    ".sav": formats.read_by_pandas,
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
    path: Path | str,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: Mark | None = None,
    sheet: str | None = None,
    ids: str | None = None,
    as_text: Collection[str] = (),
    most_bytes: int = MOST_BYTES,
) -> Source:
    r"""Read a table of any known format.

    Parameters
    ----------
    path : path or str
        CSV and its relatives (also compressed), Excel (``.xlsx``), Parquet, Feather, Arrow, Stata
        (``.dta``), SAS (``.sas7bdat``, ``.xpt``), SPSS (``.sav``, with pyreadstat); ``-`` for text
        from standard input.
    delimiter, encoding : str, optional
        Of text files; detected by default.
    decimal : {".", ","}, optional
        Decimal sign of text files; the other sign stands between thousands. Found by default.
    sheet : str, optional
        Sheet of an Excel file that has several.
    ids : str, optional
        Column of row identifiers, kept as they are written: 007 is not 7, and NA is not missing.
    as_text : collection of str
        Columns of text files that are read as text.
    most_bytes : int
        Text that holds more, unpacked, is refused.

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
            path.write_bytes(sys.stdin.buffer.read(most_bytes + 1))
            return read_source(
                path,
                delimiter=delimiter,
                encoding=encoding,
                decimal=decimal,
                sheet=sheet,
                ids=ids,
                as_text=as_text,
                most_bytes=most_bytes,
            )
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
        return formats.read_excel(path, sheet)
    if sheet is not None:
        raise DataError(f"{path.name} is not an Excel file and has no sheet {sheet!r}")
    if suffix == ".xls":
        raise DataError(f"{path.name} is Excel's old format: save it as .xlsx or CSV")
    read = READERS.get(suffix)
    if compressed and read is not None:
        raise DataError(f"{path.name}: unpack it first, only text is read compressed")
    if read is not None:
        return read(path)
    return read_text(
        path,
        delimiter=delimiter,
        encoding=encoding,
        decimal=decimal,
        ids=ids,
        as_text=as_text,
        most_bytes=most_bytes,
    )
