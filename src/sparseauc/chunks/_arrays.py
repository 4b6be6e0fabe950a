"""Dense tables on disk that can be sliced: memory maps, .npy files, HDF5 and Zarr arrays."""

import mmap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..utils.types import Indices
from .base import (
    CHUNK_BYTES,
    Chunks,
    GatherRows,
    Pass,
    SequentialChunks,
    State,
    float_dtype,
)


class ArrayChunks(SequentialChunks):
    """Slices of rows of an array, in memory or not.

    Parameters
    ----------
    array : array-like of shape (n, d)
        Anything with ``shape``, ``dtype`` and slices: ``numpy.memmap``, an HDF5 or Zarr
        dataset.
    y : ndarray of shape (n,), optional
    chunk_bytes : int
        Size of a slice.
    """

    def __init__(
        self,
        array: Any,
        y: npt.NDArray[Any] | None = None,
        chunk_bytes: int = CHUNK_BYTES,
    ) -> None:
        if len(array.shape) != 2:
            raise InputError(
                f"a table has rows and columns, this array has shape {array.shape}"
            )
        self.array = array
        self.shape = int(array.shape[0]), int(array.shape[1])
        self.dtype = float_dtype(array.dtype, "the array")
        self._y = y
        row_bytes = max(1, self.shape[1] * np.dtype(array.dtype).itemsize)
        self.chunk_rows = max(1, chunk_bytes // row_bytes)

    def read(self, columns: Indices | None = None) -> Iterator[Any]:
        """Yield slices of rows; those of a memory map are read one ahead, in a thread."""
        starts = range(0, self.shape[0], self.chunk_rows)
        pieces = (self._piece(start, columns) for start in starts)
        return pieces if mapped_by(self.array) is None else read_ahead(pieces)

    def _piece(self, start: int, columns: Indices | None) -> Any:
        chunk = self.array[start : start + self.chunk_rows]
        if columns is not None:
            piece = np.asarray(chunk)[:, columns]
        elif mapped_by(self.array) is None:
            return chunk
        else:
            piece = np.array(chunk)
        _release(chunk)
        return piece

    def take(self, rows: Indices, columns: Indices) -> npt.NDArray[np.float64]:
        """Some rows of some columns; of a memory map only their pages are read."""
        if not isinstance(self.array, np.ndarray):
            return super().take(rows, columns)
        taken = np.empty((rows.size, columns.size))
        for low in range(0, rows.size, self.chunk_rows):
            part = rows[low : low + self.chunk_rows]
            taken[low : low + part.size] = self.array[part[:, None], columns]
            _release(self.array[part[0] : part[-1] + 1])
        return taken


class KeptColumns(ArrayChunks):
    """A table some of whose columns are kept in memory, after one pass; others are read again.

    Parameters
    ----------
    chunks : Chunks
    columns : ndarray of int64, ascending
        What is kept.
    """

    def __init__(self, chunks: Chunks, columns: Indices) -> None:
        super().__init__(np.concatenate(chunks.run(GatherRows(), columns=columns)))
        self._place = np.full(chunks.shape[1], -1, np.int64)
        self._place[columns] = np.arange(columns.size)
        self._chunks = chunks

    @classmethod
    def fit(cls, chunks: Chunks, n_columns: int) -> bool:
        """Return whether so many columns can be kept."""
        return (
            chunks.shape[0] * n_columns * chunks.dtype.itemsize
            <= chunks.max_payload_bytes
        )

    def run(
        self,
        work: Pass[State],
        *known: npt.NDArray[Any],
        columns: Indices | None = None,
    ) -> State:
        """Make one pass over all rows, of the table itself where columns are not kept."""
        if columns is None or (self._place[columns] < 0).any():
            return self._chunks.run(work, *known, columns=columns)
        return super().run(work, *known, columns=self._place[columns])

    def take(self, rows: Indices, columns: Indices) -> npt.NDArray[np.float64]:
        """Some rows of some columns, of the table itself where columns are not kept."""
        if (self._place[columns] < 0).any():
            return self._chunks.take(rows, columns)
        return super().take(rows, self._place[columns])


def read_ahead(pieces: Iterator[Any]) -> Iterator[Any]:
    """Yield each piece while the next is made."""
    with ThreadPoolExecutor(1) as reader:
        following = reader.submit(next, pieces, None)
        while (piece := following.result()) is not None:
            following = reader.submit(next, pieces, None)
            yield piece


def mapped_by(array: Any) -> np.memmap[Any, Any] | None:
    """The memory map that an array is, or is a view of; None for arrays in memory."""
    holder = array
    while isinstance(holder, np.ndarray):
        if isinstance(holder, np.memmap) and isinstance(holder.base, mmap.mmap):
            return holder
        holder = holder.base
    return None


def _release(chunk: Any) -> None:
    """Release the pages of a chunk of a memory map."""
    mapped = mapped_by(chunk)
    # Pages of a private copy would lose what was written to them.
    if (
        mapped is None
        or mapped.mode == "c"
        or not chunk.flags.c_contiguous
        or not chunk.size
    ):
        return
    mapping: Any = mapped.base
    if not hasattr(mapping, "madvise"):
        return
    first = chunk.ctypes.data - np.frombuffer(mapping, np.uint8, 1).ctypes.data
    # Whole pages within the chunk: those at its ends are shared with its neighbours.
    low = -(-first // mmap.PAGESIZE) * mmap.PAGESIZE
    high = (first + chunk.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
    if high > low:
        mapping.madvise(mmap.MADV_DONTNEED, low, high - low)
