"""What a file holds, before anything is decided about it."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
}


class DataError(ValueError):
    """A table that cannot be used as it is; the message names the offender and the way out."""


@dataclass(frozen=True, eq=False)
class Source:
    """A file's contents, its columns as they were found.

    Attributes
    ----------
    name : str
        Of the file, for messages.
    kind : str
        Of the file, such as "CSV" or "Parquet".
    frame : pyarrow.Table
        Columns of any type, each name once. Beside a matrix they are labels, groups and the like.
    matrix : ndarray or CSR, optional
        Columns that are all numbers, where the format keeps them so.
    matrix_columns : ndarray of str
        Their names.
    target : ndarray, optional
        Labels, where the format has a place for them.
    row_ids : ndarray, optional
        Names of the rows, where the file has them outside its columns.
    absent_is_zero : bool
        Whether a column that the file does not mention is zero in all its rows.
    notes : tuple of str
        What was found out or assumed in reading.
    """

    name: str
    kind: str
    frame: pa.Table
    matrix: Any = None
    matrix_columns: npt.NDArray[np.str_] = field(default_factory=lambda: np.empty(0, np.str_))
    target: npt.NDArray[Any] | None = None
    row_ids: npt.NDArray[Any] | None = None
    absent_is_zero: bool = False
    notes: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.frame.num_rows if self.matrix is None else self.matrix.shape[0])

    def noting(self, *notes: str) -> Source:
        """The same with more notes."""
        return replace(self, notes=(*self.notes, *notes))


def file_bytes(path: Path) -> bytes:
    """Return the contents of a file, unpacked if its name says that they are compressed."""
    unpack = COMPRESSIONS.get(path.suffix.lower())
    data = path.read_bytes()
    return data if unpack is None else unpack(data)


@contextmanager
def read_by(library: str, path: Path, kind: str) -> Iterator[None]:
    """Turn whatever a parser raises on a broken file into one sentence.

    Parsers of foreign formats fail in many ways on damaged bytes (KeyError, OverflowError, a
    decoding error deep within); that the file cannot be read is all there is to say.
    """
    try:
        yield
    except (DataError, ImportError):
        raise
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except PermissionError:
        raise DataError(f"{path}: no permission to read it") from None
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(
            f"{path.name} could not be read as {kind} by {library}: {shortened(reason, 200)}"
        ) from error


def unknown_column(name: str, names: Sequence[str], what: str) -> DataError:
    """Return the error for a column that is not there, with those it may have been meant to be."""
    lowered = {known.lower(): known for known in names}
    close = get_close_matches(name.lower(), list(lowered), n=3, cutoff=0.5)
    if close:
        hint = f"did you mean {either([repr(lowered[match]) for match in close])}?"
    else:
        hint = f"there are {listed([repr(known) for known in names], 8)}"
    return DataError(f"{what}: there is no column {name!r}; {hint}")


def listed(items: Sequence[str], most: int = 5) -> str:
    """Enumerate with commas, the first few and how many more."""
    shown = ", ".join(items[:most])
    return shown + (f" and {len(items) - most} more" if len(items) > most else "")


def either(items: Sequence[str]) -> str:
    """Enumerate as a choice: a, b or c."""
    *first, last = items
    return f"{', '.join(first)} or {last}" if first else last


def shortened(text: str, most: int = 40) -> str:
    """The text on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"
