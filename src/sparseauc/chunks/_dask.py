"""Dask arrays and dataframes: rows stay with the workers, and only what a pass returns travels."""

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..utils.types import Indices
from .base import Chunks, Pass, State, add_chunk, float_dtype

# Results combined at a time, on the workers: the fewer, the fewer wait for others in
# memory.
_MERGED_AT_ONCE = 2


class DaskChunks(Chunks):
    """The row chunks of a Dask array, or the partitions of a Dask dataframe.

    A pass is a task a chunk and a tree of merges in a fixed order, so the answer does
    not depend on which worker was quicker. Nothing is kept on the workers between
    passes: a chunk that is lost with its worker is made again.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame of n rows and d columns
        Chunks may be of unknown size, empty, of one class, and NumPy arrays or SciPy
        matrices.
    y : Dask series, optional
    """

    max_payload_bytes: ClassVar[int] = 2**25

    def __init__(self, X: Any, y: Any = None) -> None:
        if hasattr(X, "dtypes"):
            names = [str(name) for name in X.columns]
            kinds = [
                float_dtype(kind, f"column {name!r}")
                for name, kind in zip(names, X.dtypes, strict=True)
            ]
            self.dtype = np.result_type(*kinds) if kinds else np.dtype(np.float64)
            if all(isinstance(name, str) for name in X.columns):
                self.feature_names = np.array(names, dtype=object)
            n_features, sizes = len(names), (np.nan,) * X.npartitions
        else:
            if X.ndim != 2:
                raise InputError(
                    f"X must have rows and columns, got {X.ndim} dimensions"
                )
            if X.numblocks[1] > 1:
                X = X.rechunk({1: -1})
            self.dtype = float_dtype(X.dtype, "X")
            n_features, sizes = X.shape[1], X.chunks[0]
        self._blocks = _blocks(X)
        self._sizes: tuple[int, ...] | None = None
        self.shape = -1, int(n_features)
        if not np.isnan(sizes).any():
            self._set_sizes(sizes)
        self._y = y

    def target(self) -> npt.NDArray[Any] | None:
        """Labels of all rows, gathered from the workers; a pass, as they may be made with X."""
        return None if self._y is None else self.beside(self._y, "y")

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of rows of each chunk, from a pass if they are not known."""
        if self._sizes is None:
            from dask.delayed import delayed

            self.n_passes += 1
            self._set_sizes(compute([delayed(_size)(block) for block in self._blocks]))
        assert self._sizes is not None
        return self._sizes

    def _set_sizes(self, sizes: Sequence[float]) -> None:
        self._sizes = tuple(int(size) for size in sizes)
        self.shape = sum(self._sizes), self.shape[1]

    def beside(self, values: Any, name: str) -> npt.NDArray[Any]:
        """Values of all rows, gathered from the workers if they are there.

        Those of a Dask collection are cut like X where its chunk sizes are unknown.
        """
        from dask.delayed import delayed

        if not hasattr(values, "__dask_graph__"):
            array = super().beside(values, name)
            if array.shape[:1] != (sum(self.sizes),):
                raise InputError(
                    f"X has {sum(self.sizes)} rows but {name} has {len(array)}"
                )
            return array
        if values.ndim == 2 and values.shape[1] == 1:
            values = (
                values[values.columns[0]]
                if hasattr(values, "columns")
                else values[:, 0]
            )
        known = self._sizes is not None and not np.isnan(values.shape[0])
        if hasattr(values, "chunks") and known and values.chunks[0] != self._sizes:
            if values.shape[0] != self.shape[0]:
                raise InputError(
                    f"X has {self.shape[0]} rows but {name} has {values.shape[0]}"
                )
            values = values.rechunk((self._sizes,))
        blocks = _blocks(values)
        if len(blocks) != len(self._blocks):
            raise InputError(
                f"X is cut into {len(self._blocks)} chunks but {name} into {len(blocks)}: "
                "cut both at the same rows"
            )
        self.n_passes += 1
        parts = compute([delayed(_array)(block) for block in blocks])
        sizes = tuple(part.shape[0] for part in parts)
        if self._sizes is None:
            self._set_sizes(sizes)
        for number, (ours, theirs) in enumerate(zip(self.sizes, sizes, strict=True)):
            if ours != theirs:
                raise InputError(
                    f"chunk {number} has {ours} rows of X but {theirs} of {name}: "
                    "cut both at the same rows"
                )
        # An empty part may have been made without knowing its type.
        return np.concatenate([part for part in parts if part.size] or parts[:1])

    def _run(
        self,
        work: Pass[State],
        known: Sequence[npt.NDArray[Any]],
        columns: Indices | None,
    ) -> State | None:
        from dask.delayed import delayed

        shared = delayed(work, traverse=False)
        add, merge = delayed(_add), delayed(_merge)
        tasks: list[Any] = []
        start = 0
        for block, size in zip(self._blocks, self.sizes, strict=True):
            stop = start + size
            if size:
                before = tasks.pop() if tasks and work.in_order else None
                parts = [array[start:stop] for array in known]
                tasks.append(
                    add(shared, before, block, self.dtype, start, parts, columns)
                )
            start = stop
        while len(tasks) > 1:
            tasks = [
                merge(shared, tasks[low : low + _MERGED_AT_ONCE])
                for low in range(0, len(tasks), _MERGED_AT_ONCE)
            ]
        state: State | None = compute(tasks)[0] if tasks else None
        return state


def compute(values: Sequence[Any]) -> Sequence[Any]:
    """Compute Dask values on the cluster there is."""
    from dask.base import compute as compute_with_dask

    with warnings.catch_warnings():
        # The data of a pass are within ``max_payload_bytes``.
        warnings.filterwarnings("ignore", "Sending large graph")
        computed: Sequence[Any] = compute_with_dask(*values)  # type: ignore[no-untyped-call]
    return computed


def _blocks(collection: Any) -> list[Any]:
    """The blocks of a collection as Dask values."""
    return list(np.asarray(collection.to_delayed(), dtype=object).ravel())


def _size(block: Any) -> int:
    return int(block.shape[0])


def _array(block: Any) -> npt.NDArray[Any]:
    return np.asarray(block)


def _chunk_of(block: Any, dtype: Any, columns: Indices | None) -> Any:
    """Rows of a block as an array or a sparse matrix."""
    if hasattr(block, "to_numpy"):
        frame = block if columns is None else block.iloc[:, columns]
        return frame.to_numpy(dtype, na_value=np.nan)
    return block if columns is None else block[:, columns]


def _add(
    work: Pass[State],
    state: State | None,
    block: Any,
    dtype: Any,
    start: int,
    known: Sequence[npt.NDArray[Any]],
    columns: Indices | None = None,
) -> State | None:
    return add_chunk(work, state, _chunk_of(block, dtype, columns), start, known)


def _merge(work: Pass[State], states: Sequence[State]) -> State:
    total = states[0]
    for state in states[1:]:
        total = work.merge(total, state)
    return total
