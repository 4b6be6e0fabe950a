"""Sparse tables on disk: the three arrays of a CSR matrix."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..errors import InputError
from ..utils.types import Indices
from .base import CHUNK_BYTES, SequentialChunks, float_dtype


class CSRChunks(SequentialChunks):
    """Runs of rows of a CSR matrix whose three arrays are memory-mapped.

    Parameters
    ----------
    data, indices, indptr : array-likes
        As in ``scipy.sparse.csr_array``; usually ``np.load(…, mmap_mode="r")``.
    n_features : int, optional
        Number of columns; by default one more than the largest index, which takes a
        pass over ``indices``.
    y : ndarray of shape (n,), optional
    chunk_bytes : int
        Size of a run in bytes of entries and their indices.
    """

    def __init__(
        self,
        data: Any,
        indices: Any,
        indptr: Any,
        n_features: int | None = None,
        y: npt.NDArray[Any] | None = None,
        chunk_bytes: int = CHUNK_BYTES,
    ) -> None:
        if data.shape != indices.shape or indptr.ndim != 1 or indptr.size < 2:
            raise InputError(
                f"data, indices and indptr of shapes {data.shape}, {indices.shape} and "
                f"{indptr.shape} make no CSR matrix with rows"
            )
        if indptr[0] != 0 or indptr[-1] != data.shape[0]:
            raise InputError(
                f"indptr runs from {indptr[0]} to {indptr[-1]}, but there are {data.shape[0]} "
                "entries"
            )
        self._data, self._indices, self._indptr = data, indices, indptr
        if n_features is None:
            n_features = int(indices.max()) + 1 if indices.size else 0
        self.shape = int(indptr.size) - 1, int(n_features)
        self.dtype = float_dtype(data.dtype, "data")
        self._y = y
        entry_bytes = np.dtype(data.dtype).itemsize + np.dtype(indices.dtype).itemsize
        entries, n = max(1, chunk_bytes // entry_bytes), self.shape[0]
        self._starts = [0]
        while self._starts[-1] < n:
            start = self._starts[-1]
            stop = (
                int(np.searchsorted(indptr, int(indptr[start]) + entries, "right")) - 1
            )
            self._starts.append(min(n, max(start + 1, stop)))

    def read(self, columns: Indices | None = None) -> Iterator[Any]:
        """Yield runs of rows."""
        for start, stop in pairwise(self._starts):
            part = slice(int(self._indptr[start]), int(self._indptr[stop]))
            chunk = sp.csr_array(
                (
                    np.asarray(self._data[part]),
                    np.asarray(self._indices[part]),
                    np.asarray(self._indptr[start : stop + 1]) - part.start,
                ),
                shape=(stop - start, self.shape[1]),
            )
            yield chunk if columns is None else chunk[:, columns]
