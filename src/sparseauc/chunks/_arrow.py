"""Columnar files: Parquet, Feather and Arrow IPC, one file or a folder of them, through pyarrow."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..utils.text import quoted
from ..utils.types import Indices
from .base import CHUNK_BYTES, FLOATS, SequentialChunks


class ArrowChunks(SequentialChunks):
    """Record batches of a ``pyarrow.dataset.Dataset``, in the order of its files and rows.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
    target : str, optional
        Column with the labels.
    leave_out : sequence of str
        Columns that are not features, such as names of rows.
    chunk_bytes : int
        Size of a batch.
    """

    def __init__(
        self,
        dataset: Any,
        target: str | None = None,
        leave_out: tuple[str, ...] = (),
        chunk_bytes: int = CHUNK_BYTES,
    ) -> None:
        self._dataset = dataset
        self._target = target
        names = list(dataset.schema.names)
        for name in (*(() if target is None else (target,)), *leave_out):
            if name not in names:
                raise InputError(
                    f"there is no column {name!r}; there are {quoted(names, 8)}"
                )
        apart = {target, *leave_out}
        self._names = [name for name in names if name not in apart]
        if not self._names:
            raise InputError("no column is left besides the target")
        kinds = [_float_of(dataset.schema.field(name)) for name in self._names]
        self.dtype = np.result_type(*kinds)
        self.feature_names = np.array(self._names, dtype=object)
        self.shape = int(dataset.count_rows()), len(self._names)
        self._chunk_bytes = chunk_bytes

    def target(self) -> npt.NDArray[Any] | None:
        """The labels; only that column is read."""
        if self._target is None:
            return None
        column = self._dataset.to_table(columns=[self._target]).column(0)
        if column.null_count:
            row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise InputError(
                f"column {self._target!r} has no label at row {row}; leave out rows without one"
            )
        labels: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
        return labels

    def beside(self, values: Any, name: str) -> npt.NDArray[Any]:
        """Values of all rows: given beside the table, or a column that is no feature."""
        if not isinstance(values, str):
            return super().beside(values, name)
        if values in self._names:
            raise InputError(
                f"column {values!r} is a feature: open the table with leave_out=[{values!r}] to "
                f"take {name} from it"
            )
        if values not in self._dataset.schema.names:
            raise InputError(
                f"there is no column {values!r}; there are {quoted(self._dataset.schema.names, 8)}"
            )
        column = self._dataset.to_table(columns=[values]).column(0)
        return np.array(column.to_pylist(), dtype=object)

    def read(self, columns: Indices | None = None) -> Iterator[Any]:
        """Give batches; only the columns asked for are read from the files."""
        names = self._names if columns is None else [self._names[j] for j in columns]
        rows = max(1, self._chunk_bytes // (max(1, len(names)) * self.dtype.itemsize))
        for batch in self._batches(names, rows):
            # A batch may be as large as its file made it.
            for start in range(0, batch.num_rows, rows):
                yield self._as_array(batch.slice(start, rows))

    def _batches(self, names: list[str], rows: int) -> Iterator[Any]:
        """Batches of about so many rows.

        Parquet files are read by their own reader, in small pieces: a scan reads whole
        row groups, and one may be as large as the file. Anything else, and columns that
        only the names of folders hold, is scanned, without reading ahead.
        """
        import pyarrow.dataset as ds

        for fragment in self._dataset.get_fragments():
            inside = set(names) <= set(fragment.physical_schema.names)
            if inside and isinstance(fragment, ds.ParquetFileFragment):
                yield from _parquet_batches(fragment, names, rows)
                continue
            yield from fragment.to_batches(
                self._dataset.schema,
                columns=names,
                batch_size=rows,
                batch_readahead=0,
                fragment_readahead=0,
                use_threads=False,
            )

    def _as_array(self, batch: Any) -> npt.NDArray[Any]:
        by_column = np.empty((batch.num_columns, batch.num_rows), self.dtype)
        for values, column in zip(by_column, batch.columns, strict=True):
            # Nulls become NaN, which whoever reads the chunk names and refuses; nulls
            # of true and false become NaN by way of numbers.
            numbers = column.cast("uint8") if str(column.type) == "bool" else column
            values[:] = numbers.to_numpy(zero_copy_only=False)
        return np.ascontiguousarray(by_column.T)


def _parquet_batches(fragment: Any, names: list[str], rows: int) -> Iterator[Any]:
    import pyarrow.parquet as pq

    # Read in small pieces: a row group may be as large as the file.
    with fragment.open() as source:
        file = pq.ParquetFile(source, buffer_size=2**16, pre_buffer=False)
        for batch in file.iter_batches(rows, columns=names, use_threads=False):
            yield batch.select(names)


def _float_of(field: Any) -> np.dtype[Any]:
    """Dtype of a column's numbers; columns of anything else are refused by name."""
    import pyarrow.types as kinds

    kind = field.type
    if kinds.is_floating(kind) or kinds.is_integer(kind) or kinds.is_boolean(kind):
        dtype = np.dtype(kind.to_pandas_dtype())
        if dtype == np.float16:
            return FLOATS[0]
        return dtype if dtype in FLOATS else FLOATS[1]
    raise InputError(
        f"column {field.name!r} holds {kind}, not numbers: encode it as numbers first, or leave it "
        "out"
    )
