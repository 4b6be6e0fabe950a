"""The interface of tables that are read in chunks, and of passes over them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..errors import InputError
from ..utils.arrays import is_tensor
from ..utils.types import Indices

State = TypeVar("State")

# Bytes of a chunk where the source leaves the choice: large enough for quick matrix
# products, small enough that a few of them fit anywhere.
CHUNK_BYTES = 2**26


class Pass(ABC, Generic[State]):
    """Work done in one pass over all rows.

    Chunks may be processed in different processes, so a pass must be picklable, and
    only its result is sent back.

    Attributes
    ----------
    in_order : bool
        Whether each chunk needs the state after the one before it. Otherwise chunks may
        be processed apart, and their results are merged.
    """

    in_order: ClassVar[bool] = False

    @abstractmethod
    def add(
        self, state: State | None, X: Any, start: int, *known: npt.NDArray[Any]
    ) -> State:
        """Take in a chunk: rows ``X`` from row ``start`` on, with what is known of each of them.

        ``X`` is a row-major ndarray or a canonical CSR array of float32 or float64, and
        has rows; of rows on a device it is a tensor, unless some columns alone are
        read. ``state`` may be changed and returned; it is None for the first chunk.
        """

    @abstractmethod
    def merge(self, first: State, second: State) -> State:
        """Combine the results of earlier and later rows."""


class Chunks(ABC):
    """Rows of a table, read in chunks from first to last, as often as needed.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns. If the number of rows is known only after reading, ``target``
        sets it.
    dtype : dtype
        float32 or float64; other numbers are converted to float64.
    feature_names : ndarray of object or None
    n_passes : int
        Number of passes since the start of a fit. Reading the labels counts only if
        columns may have to be computed or read with them.
    in_device_memory : bool
        Whether the rows lie in the memory of a GPU, where passes are quick.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    feature_names: npt.NDArray[np.object_] | None = None
    n_passes: int = 0
    in_device_memory: bool = False

    # Largest amount of data that a pass may send to each worker.
    max_payload_bytes: ClassVar[int] = 2**28

    ndim: ClassVar[int] = 2

    @abstractmethod
    def target(self) -> npt.NDArray[Any] | None:
        """Labels of all rows, where the source knows them."""

    def beside(self, values: Any, name: str) -> npt.NDArray[Any]:
        """Values of all rows that were given beside the table, or are a column of it."""
        if isinstance(values, str):
            raise InputError(
                f"this table has no column {values!r}: give {name} row by row"
            )
        return np.asarray(values)

    @abstractmethod
    def _run(
        self,
        work: Pass[State],
        known: Sequence[npt.NDArray[Any]],
        columns: Indices | None,
    ) -> State | None:
        """Do ``work`` on every chunk."""

    def run(
        self,
        work: Pass[State],
        *known: npt.NDArray[Any],
        columns: Indices | None = None,
    ) -> State:
        """Make one pass over all rows.

        Parameters
        ----------
        work : Pass
        *known : ndarrays of shape (n,)
            Per-row arrays (labels, weights, folds), passed to ``work`` chunk by chunk.
        columns : ndarray of int, optional
            Read these columns only.
        """
        self.n_passes += 1
        state = self._run(work, known, columns)
        if state is None:
            raise InputError("the table holds no rows")
        return state

    def take(self, rows: Indices, columns: Indices) -> npt.NDArray[np.float64]:
        """Some rows, ascending, of some columns, as a dense float64 array."""
        wanted = np.zeros(self.shape[0], np.bool_)
        wanted[rows] = True
        taken = np.concatenate(self.run(GatherRows(), wanted, columns=columns))
        return taken.astype(np.float64, copy=False)


class SequentialChunks(Chunks):
    """Chunks that this process reads one after the other."""

    _y: npt.NDArray[Any] | None = None

    @abstractmethod
    def read(self, columns: Indices | None = None) -> Iterator[Any]:
        """Yield the chunks in turn, or some columns of them: arrays or sparse matrices."""

    def target(self) -> npt.NDArray[Any] | None:
        """Labels given along with the table."""
        return self._y

    def _run(
        self,
        work: Pass[State],
        known: Sequence[npt.NDArray[Any]],
        columns: Indices | None,
    ) -> State | None:
        state, start = None, 0
        for chunk in self.read(columns):
            stop = start + chunk.shape[0]
            state = add_chunk(
                work, state, chunk, start, [array[start:stop] for array in known]
            )
            start = stop
        return state


def add_chunk(
    work: Pass[State],
    state: State | None,
    chunk: Any,
    start: int,
    known: Sequence[npt.NDArray[Any]],
) -> State | None:
    """Hand a chunk to a pass in the form passes expect; chunks without rows are left out."""
    for array in known:
        if array.shape[0] != chunk.shape[0]:
            raise InputError(
                f"the chunk at row {start} has {chunk.shape[0]} rows and {array.shape[0]} labels: "
                "X and y must be cut at the same rows"
            )
    if chunk.shape[0] == 0:
        return state
    return work.add(state, plain_chunk(chunk), start, *known)


def plain_chunk(chunk: Any) -> Any:
    """Rows as a row-major ndarray, a canonical CSR array or a tensor, float32 or float64."""
    if is_tensor(chunk):
        return chunk
    if hasattr(chunk, "tocsr"):
        matrix: Any = sp.csr_array(chunk)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        return matrix if matrix.dtype in FLOATS else matrix.astype(np.float64)
    array = np.asarray(chunk)
    return np.ascontiguousarray(
        array, array.dtype if array.dtype in FLOATS else np.float64
    )


FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def float_dtype(dtype: Any, what: str) -> np.dtype[Any]:
    """Dtype in which numbers of this one are given out; anything but numbers is refused."""
    # Also of dtypes that are not NumPy's, such as those of pandas with missing values.
    if getattr(dtype, "kind", np.dtype(object).kind) not in "biuf":
        raise InputError(
            f"{what} holds {dtype}, not numbers: encode it as numbers first"
        )
    return dtype if dtype in FLOATS else np.dtype(np.float64)


class Gather(Pass[list[npt.NDArray[Any]]]):
    """Gather an array from every chunk, in the order of the rows."""

    @abstractmethod
    def give(self, X: Any, start: int, *known: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Compute the array of a chunk; see :meth:`Pass.add`."""

    def add(
        self,
        state: list[npt.NDArray[Any]] | None,
        X: Any,
        start: int,
        *known: npt.NDArray[Any],
    ) -> list[npt.NDArray[Any]]:
        """Append the array of a chunk."""
        return [*(state or ()), self.give(X, start, *known)]

    def merge(
        self, first: list[npt.NDArray[Any]], second: list[npt.NDArray[Any]]
    ) -> list[npt.NDArray[Any]]:
        """Keep the order of the rows."""
        return first + second


class GatherRows(Gather):
    """Dense rows: all, or those that are marked."""

    def give(self, X: Any, start: int, *known: npt.NDArray[Any]) -> npt.NDArray[Any]:  # noqa: ARG002
        """Return the rows of a chunk."""
        rows = X[np.flatnonzero(known[0])] if known else X
        dense: npt.NDArray[Any] = rows.toarray() if hasattr(rows, "tocsr") else rows
        return dense
