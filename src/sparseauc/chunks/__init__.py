"""Tables that do not fit in memory: rows read in chunks, from files or from a cluster.

``open_table`` makes a table on disk usable as X of ``SparseAUCClassifier`` and
``SparseAUCClassifierCV``; Dask arrays and dataframes can be
passed as they are.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array
from sklearn.utils.validation import _get_feature_names as get_feature_names

from .._validation import NotFiniteError, check_finite
from ..errors import InputError
from ..utils.arrays import find_device, is_tensor
from ._arrays import ArrayChunks, KeptColumns, mapped_by
from ._arrow import ArrowChunks
from ._dask import DaskChunks
from ._device import DeviceChunks
from ._sparse import CSRChunks
from .base import CHUNK_BYTES, Chunks, Pass, SequentialChunks
from .scores import score_chunks

__all__ = [
    "ArrayChunks",
    "ArrowChunks",
    "CSRChunks",
    "Chunks",
    "DaskChunks",
    "DeviceChunks",
    "KeptColumns",
    "NotFiniteError",
    "Pass",
    "SequentialChunks",
    "as_chunks",
    "check_finite",
    "chunks_in_memory",
    "chunks_on_device",
    "labels_and_weights",
    "mapped_chunks",
    "open_table",
    "score_chunks",
]

_CSR = ("data.npy", "indices.npy", "indptr.npy")
_COLUMNAR = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "ipc",
    ".ipc": "ipc",
}
# Memory maps from this size on are read in chunks. Smaller ones fit wherever anything
# does, and are treated like arrays in memory.
_MAPPED = 2**28


def open_table(
    source: Any,
    target: str | npt.ArrayLike | None = None,
    *,
    leave_out: Sequence[str] = (),
    chunk_bytes: int = CHUNK_BYTES,
) -> SequentialChunks:
    """Open a table that need not fit in memory, for use as X of ``fit``.

    Parameters
    ----------
    source : path or object
        - ``.npy``: a dense table;
        - ``.parquet``, ``.feather``, ``.arrow``, or a folder of such files;
        - a folder with ``data.npy``, ``indices.npy`` and ``indptr.npy``: the arrays of
          a CSR matrix (and ``shape.npy``, if the last columns may be empty);
        - a ``pyarrow.dataset.Dataset``, or anything with ``shape``, ``dtype`` and
          slices, such as an HDF5 or Zarr dataset.
    target : str or array-like of shape (n,), optional
        The labels: a column name for columnar files, otherwise the labels themselves.
        They can also be given to ``fit``.
    leave_out : sequence of str
        Columns of columnar files that are no features.
    chunk_bytes : int, default=64 MiB
        Rows are read in chunks of about this size.

    Returns
    -------
    Chunks
        With ``shape``, ``dtype``, ``feature_names`` and ``n_passes``.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> from sparseauc import SparseAUCClassifier
    >>> from sparseauc.chunks import open_table
    >>> from sparseauc.datasets import make_outbreak
    >>> X, y = make_outbreak(n=2000, d=100, k=5, mu=1.0, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(pathlib.Path(folder) / "X.npy", X)
    ...     table = open_table(pathlib.Path(folder) / "X.npy", target=y)
    ...     model = SparseAUCClassifier(k=5).fit(table)
    >>> int(model.get_support().sum())
    5
    """
    if isinstance(source, Chunks):
        raise InputError("this table is open already")
    given = source
    if isinstance(source, str | os.PathLike):
        source = _open_path(Path(source))
    if _is_arrow(source):
        if target is not None and not isinstance(target, str):
            raise InputError(
                "name the column with the labels, or give the labels to fit"
            )
        return ArrowChunks(source, target, tuple(leave_out), chunk_bytes)
    if isinstance(target, str) or leave_out:
        raise InputError(
            f"{given} has no column names: give the labels themselves, and all columns as features"
        )
    y = None if target is None else np.asarray(target)
    if isinstance(source, Path):
        data, indices, indptr = (np.load(source / name, mmap_mode="r") for name in _CSR)
        shape = source / "shape.npy"
        width = int(np.load(shape)[1]) if shape.exists() else None
        return CSRChunks(data, indices, indptr, width, y, chunk_bytes)
    if not all(hasattr(source, name) for name in ("shape", "dtype", "__getitem__")):
        raise InputError(f"cannot read rows from {type(source).__name__}")
    return ArrayChunks(source, y, chunk_bytes)


def _open_path(path: Path) -> Any:
    """An Arrow dataset, a folder with a CSR matrix, or a memory map."""
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file or folder")
    suffix = path.suffix.lower()
    if path.is_dir():
        if all((path / name).exists() for name in _CSR):
            return path
        suffixes = {file.suffix.lower() for file in path.iterdir()} & set(_COLUMNAR)
        if len({_COLUMNAR[one] for one in suffixes}) != 1:
            raise InputError(
                f"{path} holds neither {', '.join(_CSR)} nor files of one kind among "
                f"{', '.join(_COLUMNAR)}"
            )
        suffix = suffixes.pop()
    if suffix in _COLUMNAR:
        import pyarrow.dataset as ds

        files = sorted(path.glob("*")) if path.is_dir() else [path]
        names = [str(file) for file in files if file.suffix.lower() in _COLUMNAR]
        return ds.dataset(names, format=_COLUMNAR[suffix])
    if suffix == ".npy":
        return np.load(path, mmap_mode="r")
    raise InputError(
        f"{path}: a table is read from .npy, {', '.join(_COLUMNAR)} or a folder"
    )


def as_chunks(X: Any, y: Any = None) -> Chunks | None:
    """View X as chunks if it is a table read in chunks; None for tables in memory.

    With a ``pyarrow.dataset.Dataset`` or a Dask dataframe as X, y may be the name of a
    column.
    """
    if isinstance(X, Chunks):
        return X
    if hasattr(X, "__dask_graph__"):
        if isinstance(y, str):
            if y not in getattr(X, "columns", ()):
                raise InputError(f"X has no column {y!r} to take the labels from")
            return DaskChunks(X.drop(columns=y), X[y])
        return DaskChunks(X)
    if is_tensor(X):
        return DeviceChunks(X, X.device)
    if _is_arrow(X):
        return ArrowChunks(X, y if isinstance(y, str) else None)
    return None


def labels_and_weights(chunks: Chunks, y: Any, sample_weight: Any) -> tuple[Any, Any]:
    """Labels and weights of all rows, from the table itself or as they were given beside it."""
    labels = chunks.target()
    if labels is None:
        labels = None if y is None else chunks.beside(y, "y")
    elif y is not None and not isinstance(y, str):
        raise InputError("the labels are given twice: with the table, and as y")
    if sample_weight is not None:
        sample_weight = chunks.beside(sample_weight, "sample_weight")
    return labels, sample_weight


def chunks_in_memory(table: Any) -> SequentialChunks:
    """View an array or a CSR matrix as slices of its rows."""
    if not hasattr(table, "tocsr"):
        return ArrayChunks(table)
    stored = int(table.indptr[-1])
    return CSRChunks(
        table.data[:stored], table.indices[:stored], table.indptr, table.shape[1]
    )


def chunks_on_device(X: Any, device: str) -> DeviceChunks:
    """Bring a dense table to a device, or stream it through."""
    where = find_device(device)
    if isinstance(X, Chunks) or _is_arrow(X) or hasattr(X, "__dask_graph__"):
        raise InputError(
            f"device={device!r} needs rows in memory or in a memory map; set device=None for rows "
            "that are read in chunks"
        )
    if hasattr(X, "tocsr"):
        raise TypeError(
            f"device={device!r} needs a dense X: set device=None to fit CSR rows, or convert them "
            "with toarray()"
        )
    if is_tensor(X):
        # On the host it is an array like any other, and streams where it does not fit.
        return DeviceChunks(X.detach().numpy() if X.device.type == "cpu" else X, where)
    names = get_feature_names(X)
    array = check_array(X, dtype=[np.float64, np.float32], ensure_all_finite=False)
    chunks = DeviceChunks(array, where)
    chunks.feature_names = names
    return chunks


def mapped_chunks(X: Any) -> ArrayChunks | None:
    """View a large memory map as chunks; None for anything else."""
    if (
        mapped_by(X) is None
        or X.ndim != 2
        or X.nbytes < _MAPPED
        or X.dtype.kind not in "biuf"
    ):
        return None
    return ArrayChunks(X)


def _is_arrow(source: Any) -> bool:
    """Return whether this is a ``pyarrow.dataset.Dataset``; pyarrow is not imported to find out."""
    return any(
        kind.__module__.split(".")[0] == "pyarrow" and kind.__name__ == "Dataset"
        for kind in type(source).__mro__
    )
