"""The contents of a file, as read."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp

from sparseauc.utils.text import did_you_mean, quoted

from ..column_types import Mark
from ..text import shortened
from .columns import Marks, dense_column, is_sparse

if TYPE_CHECKING:
    from ..scorecard import ScoreCard

# More bytes of text, unpacked, are not read: a small archive, or a device, may hold
# more than fits into memory.
MOST_BYTES = 2 << 30


class DataError(ValueError):
    """A table that cannot be used as it is. The message names the problem and the remedy.

    Parameters
    ----------
    message : str
    options : sequence of str
        Options of the command that would solve it.
    """

    def __init__(self, message: str, options: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.options = tuple(options)


@dataclass(frozen=True, eq=False)
class Source:
    """The contents of a file, with its columns as found.

    Attributes
    ----------
    name : str
        Of the file, for messages.
    frame : pyarrow.Table
        Columns of any type, each name once.
    row_ids : ndarray, optional
        Names of the rows, where the file has them outside its columns.
    marks : dict of str to Marks
        For columns of numbers in text files: how they are written.
    decimal : {".", ","}, optional
        Decimal sign of a text file, where its columns settle it.
    doubtful : tuple of str
        Columns of a text file whose numbers have two meanings, such as 2.812; they are
        text.
    notes : tuple of str
        Encoding, delimiter and so on, as detected.
    """

    name: str
    frame: pa.Table
    row_ids: npt.NDArray[Any] | None = None
    marks: Mapping[str, Marks] = field(default_factory=dict)
    decimal: Mark | None = None
    doubtful: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_names(self.names, self.name)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.frame.column_names)

    def column(self, name: str, option: str = "") -> pa.ChunkedArray:
        """Return a column; one that is not there is refused, as one that an option names."""
        if name not in self.names:
            what = f"{self.name}, {option}" if option else self.name
            raise unknown_column_error(name, self.names, what)
        return self.frame.column(name)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.frame.num_rows)


def check_names(names: Sequence[str], file: str) -> None:
    """Refuse duplicate names, and names that cannot be written."""
    seen: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        if re.search("[\0\ud800-\udfff]", name):
            raise DataError(
                f"{file} has a column named {name!r}, with characters that cannot be written to "
                "text files: rename it"
            )
        if name in seen:
            raise DataError(
                f"{file} has two columns named {name!r} (columns {seen[name]} and {place}): "
                "rename one"
            )
        seen[name] = place


def source_of(X: Any, card: ScoreCard | None = None) -> Source:
    """Return a data frame of any kind as a source, or an array of all columns of a card.

    Of a frame, the columns that the card uses are taken, by name; without a card, all.
    """
    if isinstance(X, pa.Table):
        return Source("X", X)
    if hasattr(X, "to_arrow"):  # polars
        return Source("X", X.to_arrow())
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        return _from_pandas(X, card)
    matrix = sp.csr_array(X) if is_sparse(X) else np.asarray(X)
    if card is None or matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        also = "" if card is None else ", or a matrix of numbers"
        raise DataError(f"X must be a data frame{also}")
    if any(term.encoding.reads == "text" for term in card.terms):
        raise DataError("the model reads text, or cuts numbers: X must be a data frame")
    if matrix.shape[1] != len(card.columns):
        raise DataError(
            f"X has {matrix.shape[1]} columns, but the model was fitted to {len(card.columns)}"
        )
    used = {term.column for term in card.terms}
    columns = [
        pa.array(dense_column(matrix, place))
        if name in used
        else pa.nulls(matrix.shape[0])
        for place, name in enumerate(card.columns)
    ]
    return Source("X", pa.Table.from_arrays(columns, list(card.columns)))


def _from_pandas(X: Any, card: ScoreCard | None) -> Source:
    names = [str(name) for name in X.columns]
    used = set(names) if card is None else {term.column for term in card.terms}
    columns = []
    for place, name in enumerate(names):
        if name not in used:
            columns.append(
                pa.nulls(len(X))
            )  # not looked at, but named where another is sought
            continue
        try:
            columns.append(pa.Array.from_pandas(X.iloc[:, place]))
        except (
            pa.ArrowInvalid,
            pa.ArrowTypeError,
            pa.ArrowNotImplementedError,
        ) as error:
            raise DataError(
                f"X: {name!r} holds values of several types: {error}"
            ) from error
    return Source("X", pa.Table.from_arrays(columns, names))


def file_bytes(path: Path) -> bytes:
    """Return the contents of a file, unpacked if its name says that they are compressed."""
    parts = []
    size = 0
    with _opened(path) as file:
        while part := file.read(1 << 24):
            parts.append(part)
            size += len(part)
            if size > MOST_BYTES:
                raise DataError(
                    f"{path.name} holds more than {MOST_BYTES / 2**30:.3g} GiB of text: save it as "
                    "Parquet"
                )
    return b"".join(parts)


def _opened(path: Path) -> IO[bytes]:
    """Open a file, unpacked."""
    suffix = path.suffix.lower()
    if suffix == ".zip":
        archive = zipfile.ZipFile(path)
        # Neither folders, nor what macOS adds, such as .DS_Store.
        members = [
            name
            for name in archive.namelist()
            if not name.endswith("/") and not re.match(r"__MACOSX/|(.*/)?\.", name)
        ]
        if len(members) != 1:
            raise DataError(
                f"{path.name} holds {len(members)} files, {quoted(members)}: one table is read "
                "from a zip archive"
            )
        return archive.open(members[0])
    openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    opened: IO[bytes] = openers[suffix](path) if suffix in openers else path.open("rb")
    return opened


COMPRESSIONS = (".gz", ".bz2", ".xz", ".zip")


@contextmanager
def read_by(library: str, path: Path, kind: str) -> Iterator[None]:
    """Turn whatever a parser raises on a broken file into one sentence.

    Parsers of foreign formats fail in many ways on damaged bytes (KeyError,
    OverflowError, a decoding error deep within); that the file cannot be read is all
    there is to say.
    """
    try:
        yield
    except (DataError, ImportError):
        raise
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except PermissionError:
        raise DataError(f"{path}: no permission to read it") from None
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from None
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(
            f"{path.name} could not be read as {kind} by {library}: {shortened(reason, 200)}"
        ) from error


def unknown_column_error(name: str, names: Sequence[str], what: str) -> DataError:
    """Return the error for a column that is not there, with those it may have been meant to be."""
    return DataError(
        f"{what}: there is no column {name!r}; {did_you_mean(name, names)}"
    )
