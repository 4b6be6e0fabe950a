"""Reading Parquet, Feather and Arrow files: types are known, only row names need a look."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa

from .source import DataError, Source, read_by
from .text import check_names


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
    check_names(frame.column_names, path.name)
    row_ids = None
    written_by_pandas = (frame.schema.metadata or {}).get(b"pandas", b"{}")
    for name in json.loads(written_by_pandas).get("index_columns", []):
        if isinstance(name, str) and name in frame.column_names:
            row_ids = np.asarray(frame.column(name).to_pylist(), dtype=object)
            frame = frame.drop_columns([name])
    return Source(path.name, frame, row_ids=row_ids)
