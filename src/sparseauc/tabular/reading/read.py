"""One door for all formats: the name of a file, or else its first bytes, tell what it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from . import binary, matrices
from .source import COMPRESSIONS, DataError, Source, read_by
from .text import read_text

READERS: dict[str, Callable[[Path], Source]] = {
    ".libsvm": matrices.read_libsvm,
    ".svmlight": matrices.read_libsvm,
    ".svm": matrices.read_libsvm,
    ".mtx": matrices.read_mtx,
    ".h5ad": matrices.read_h5ad,
    ".parquet": binary.read_parquet,
    ".pq": binary.read_parquet,
    ".feather": binary.read_arrow,
    ".arrow": binary.read_arrow,
    ".ipc": binary.read_arrow,
    ".arrows": binary.read_arrow,
}
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
    target: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Source:
    r"""Read a table or matrix of any known format.

    Parameters
    ----------
    path : path or str
        CSV and its relatives (also compressed), Parquet, Feather, Arrow, LIBSVM, ``.npz``,
        ``.mtx`` or ``.h5ad``.
    target : str, optional
        Name of the labels, where the format keeps them as an array (``.npz``).
    delimiter, encoding : str, optional
        Of text; found out if not given.

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
    >>> from sparseauc.tabular.reading import read_source
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "table.csv"
    ...     _ = path.write_text("name;height\nann;1,75\nbob;1,80\n")
    ...     source = read_source(path)
    >>> source.frame.column("height").to_pylist(), source.notes[-1]
    ([1.75, 1.8], "decimal commas in 'height'")
    """
    path = Path(path)
    if path.is_dir():
        raise DataError(f"{path} is a folder, not a file")
    with read_by("Python", path, "a file"), path.open("rb") as file:
        start = file.read(16)
    if not start:
        raise DataError(f"{path.name} is empty")
    signed = next((kind for mark, kind in _SIGNATURES if start.startswith(mark)), None)
    compressed = path.suffix.lower() in COMPRESSIONS
    suffix = signed or (path.with_suffix("") if compressed else path).suffix.lower()
    if suffix == ".npz":
        return matrices.read_npz(path, target)
    if start.startswith(b"PK\x03\x04"):
        raise DataError(
            f"{path.name} is a zip archive or a spreadsheet: save the table as CSV or Parquet"
        )
    read = READERS.get(suffix)
    if compressed and read not in (None, matrices.read_mtx):
        raise DataError(f"{path.name}: unpack it first, only text is read compressed")
    if read is not None:
        return read(path)
    return read_text(path, delimiter=delimiter, encoding=encoding)
