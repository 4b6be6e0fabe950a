"""Loaders of the paper's two gene-expression tables, from a local file or, failing that, the web.

The tables are not shipped with the package. A loader looks for ``colon.npz`` or ``leukemia.npz``
in the data home (`get_data_home`); where the file is absent it downloads a public copy once and
keeps it there.
"""

import bz2
import hashlib
import io
import os
import urllib.request
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException, IncompleteRead
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urljoin, urlsplit

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from .files import write_atomically
from .marker_genes import DatasetName, Reading, markers_of

ENVIRONMENT_VARIABLE = "SPARSEAUC_DATA"
LIBSVM_URL = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
DOWNLOAD_TIMEOUT_S = 60.0
# A hundred times what is served today, packed and unpacked.
_MOST_BYTES = 256 << 20

RAW_SCALE = "raw intensities"
LIBSVM_SCALE = "log-transformed, then rows and columns standardised (LIBSVM's colon-cancer)"

# The npz files, and what a download is turned into: array name -> array.
Record = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class _Spec:
    """What is known of a table before it is read; every copy is checked against it."""

    name: DatasetName
    shape: tuple[int, int]
    n_positive: int
    target_names: tuple[str, str]
    source: str
    fetch: Callable[[], Record]

    @property
    def filename(self) -> str:
        return f"{self.name}.npz"


def get_data_home(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of the real data, also used for downloads.

    It is `data_home` if given, else the environment variable ``SPARSEAUC_DATA`` if set and not
    empty, else ``~/.cache/sparseauc``. The folder is not created.
    """
    chosen = data_home or os.environ.get(ENVIRONMENT_VARIABLE) or "~/.cache/sparseauc"
    return Path(chosen).expanduser()


def load_colon(
    data_home: str | os.PathLike[str] | None = None,
    *,
    markers: Reading = "corrected",
    return_X_y: bool = False,
    as_frame: bool = False,
    download: bool = True,
) -> Any:
    """Load the colon-cancer table: 62 tissues, 2000 genes, tumour (40) against normal (22).

    Alon et al. (1999). A local ``colon.npz`` holds raw intensities. The public copy that is
    downloaded otherwise, LIBSVM's ``colon-cancer``, has the same rows and columns in the same
    order but is log-transformed and standardised, and names no genes; its labels, inverted there,
    are turned back. Look at ``scale`` to see which of the two was loaded.

    Parameters
    ----------
    data_home : path-like or None, default=None
        Folder of ``colon.npz``; see `get_data_home`.
    markers : {"corrected", "published"}, default="corrected"
        Reading of the paper's Table V: 39 columns, or the 38 which the authors' scripts count.
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.
    as_frame : bool, default=False
        Return pandas objects; needs pandas.
    download : bool, default=True
        Download the table if the file is absent.

    Returns
    -------
    sklearn.utils.Bunch or tuple
        With these attributes:

        - ``data``: ndarray of shape (62, 2000), or DataFrame;
        - ``target``: ndarray of shape (62,), int64, or Series: +1 for tumour, -1 for normal;
        - ``target_names``: names of -1 and +1, in this order;
        - ``feature_names``: unique gene identifiers; ``column_0`` … where the copy names none;
        - ``descriptions``: what each gene is; empty where the copy does not say;
        - ``markers``: the paper's 29 markers and their columns;
        - ``marker_columns``: their columns together, sorted, each once;
        - ``scale``: what the numbers are: raw intensities, or how they were transformed;
        - ``filename``, ``DESCR``;
        - ``frame``: data and target together, with ``as_frame=True``.
    """
    return _load(_COLON, data_home, markers, return_X_y, as_frame, download)


def load_leukemia(
    data_home: str | os.PathLike[str] | None = None,
    *,
    markers: Reading = "corrected",
    **options: bool,
) -> Any:
    """Load the leukaemia table: 72 patients, 7129 probes, lymphoblastic (47) against myeloid (25).

    Golub et al. (1999), raw intensities; negative values are in the original. Where no local
    ``leukemia.npz`` is found, OpenML's ``leukemia``, version 1, is downloaded. Its numbers must be
    exactly those of the original, and its rows are put in the order of the local file, so that
    splits by row number mean the same rows everywhere.

    Parameters
    ----------
    data_home : path-like or None, default=None
        Folder of ``leukemia.npz``; see `get_data_home`.
    markers : {"corrected", "published"}, default="corrected"
        Reading of the paper's Table IV: 48 columns, or the 37 which the authors' scripts count.
    **options
        ``return_X_y``, ``as_frame`` and ``download``, as for `load_colon`.

    Returns
    -------
    sklearn.utils.Bunch or tuple
        As `load_colon` has it, with 72 rows, 7129 columns, +1 for ALL, -1 for AML and the paper's
        32 markers; and

        original_split : ndarray of str or None
            "train" (38 rows) or "test" (34), as Golub et al. used them; None where the copy
            does not tell.
    """
    return _load(_LEUKEMIA, data_home, markers, **options)


def _load(
    spec: _Spec,
    data_home: str | os.PathLike[str] | None,
    reading: Reading,
    return_X_y: bool = False,
    as_frame: bool = False,
    download: bool = True,
) -> Any:
    """Find, check and dress one table; both loaders are this with a different `_Spec`."""
    markers = markers_of(spec.name, reading)  # first: a wrong argument must not cost a download
    path = get_data_home(data_home) / spec.filename
    record = _read(spec, path) if path.exists() else _download(spec, path, download)

    feature_names = [str(name) for name in record["feature_id"]]
    data: Any = record["X"]
    target: Any = record["y"]
    frame: Any = None
    if as_frame:
        import pandas as pd

        data, target = pd.DataFrame(data, columns=feature_names), pd.Series(target, name="target")
        frame = pd.concat([data, target], axis=1)
    if return_X_y:
        return data, target
    scale = str(record["scale"])
    description = files(__package__).joinpath(f"{spec.name}.txt").read_text(encoding="utf-8")
    bunch = Bunch(
        data=data,
        target=target,
        frame=frame,
        target_names=np.array(spec.target_names),
        feature_names=feature_names,
        descriptions=[str(text) for text in record["description"]],
        markers=markers,
        marker_columns=np.unique([c for m in markers for c in m.columns]).astype(np.int64),
        scale=scale,
        filename=str(path),
        DESCR=f"{description}\nScale of this copy: {scale}.\n",
    )
    if spec.name == "leukemia":
        bunch["original_split"] = record.get("original_split")
    return bunch


def _read(spec: _Spec, path: Path) -> Record:
    """Read and check an npz file; whatever is wrong with it becomes one kind of error."""
    with path.open("rb") as file:  # a missing permission is the system's to explain
        try:
            # A damaged zip member fails in many ways (BadZipFile, zlib.error, EOFError, struct
            # and header errors): all mean the same to whoever has to mend it.
            if not zipfile.is_zipfile(file):
                raise ValueError("it is cut short, or no npz archive at all")
            file.seek(0)
            archive = np.load(file, allow_pickle=False)
            record = {key: archive[key] for key in archive.files}
            return _checked(spec, record)
        except Exception as error:
            raise ValueError(
                f"{path} is not a usable copy of the {spec.name} data: {error}. Delete it and "
                "load again to download a fresh copy, or replace it."
            ) from error


def _write(path: Path, record: Record) -> None:
    """Write an npz file so that no reader ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = dict(record)
    write_atomically(path, lambda file: np.savez_compressed(file, **arrays))


def _checked(spec: _Spec, record: Record) -> Record:
    """Make sure that a record is the table it should be, and give it its final types."""
    n, d = spec.shape
    shapes = {"X": (n, d), "y": (n,), "feature_id": (d,), "description": (d,)}
    if spec.name == "leukemia" and "original_split" in record:
        shapes["original_split"] = (n,)
    for key, shape in shapes.items():
        if key not in record:
            raise ValueError(f"array {key!r} is missing (there are: {sorted(record)})")
        if record[key].shape != shape:
            raise ValueError(f"array {key!r} has shape {record[key].shape}, expected {shape}")
    for key in ("X", "y"):
        if record[key].dtype.kind not in "fiu":
            raise ValueError(f"array {key!r} has type {record[key].dtype}, expected numbers")
    X = np.ascontiguousarray(record["X"], dtype=np.float64)
    if not np.isfinite(X).all():
        row, column = np.argwhere(~np.isfinite(X))[0]
        raise ValueError(f"array 'X' is not finite at row {row}, column {column}")
    y = record["y"]
    n_positive, n_negative = int(np.sum(y == 1)), int(np.sum(y == -1))
    if (n_positive, n_negative) != (spec.n_positive, n - spec.n_positive):
        raise ValueError(
            f"array 'y' has {n_positive} labels +1 and {n_negative} labels -1, expected "
            f"{spec.n_positive} ({spec.target_names[1]}) and {n - spec.n_positive} "
            f"({spec.target_names[0]})"
        )
    names, counts = np.unique(record["feature_id"], return_counts=True)
    if len(names) < d:
        raise ValueError(f"array 'feature_id' names {str(names[counts > 1][0])!r} more than once")
    checked = {key: record[key] for key in shapes}
    checked |= {"X": X, "y": y.astype(np.int64)}
    # Files without a scale are the originals; only what we download ourselves may differ.
    checked["scale"] = np.asarray(record.get("scale", RAW_SCALE), dtype=str)
    return checked


def _download(spec: _Spec, path: Path, allowed: bool) -> Record:
    """Fetch a public copy and keep it, or say what to do by hand."""
    advice = (
        f"{spec.filename} is needed for the {spec.name} data and was not found in {path.parent}. "
        f"Put the file there, or name the folder that has it by the environment variable "
        f"{ENVIRONMENT_VARIABLE} or by data_home"
    )
    if not allowed:
        raise FileNotFoundError(f"{advice}; or pass download=True to fetch it from {spec.source}.")
    try:
        record = spec.fetch()
    except (OSError, ValueError, HTTPException, EOFError) as error:
        cause = str(error) or type(error).__name__
        raise OSError(f"{advice}. Downloading it from {spec.source} failed: {cause}") from error
    try:
        _write(path, record)
    except OSError as error:
        # The data are at hand; a read-only folder is no reason to withhold them.
        warnings.warn(
            f"the downloaded {spec.name} data could not be kept as {path}, and will be "
            f"downloaded again next time: {error}",
            stacklevel=4,
        )
    return record


def _fetch_colon() -> Record:
    """LIBSVM's copy as a record, with the labels turned back to +1 for tumour."""
    from sklearn.datasets import load_svmlight_file  # slow to import, rarely needed

    url = urljoin(LIBSVM_URL, "colon-cancer.bz2")
    text = _unpacked(_fetch(url))
    d = _COLON.shape[1]
    X, labels = load_svmlight_file(io.BytesIO(text), n_features=d, zero_based=False)
    record = {
        "X": X.toarray(),
        "y": -labels,
        "feature_id": np.array([f"column_{j}" for j in range(d)]),
        "description": np.full(d, "", dtype="U1"),
        "scale": np.array(LIBSVM_SCALE),
    }
    record = _checked(_COLON, record)
    _verify_colon(record)
    return record


def _fetch(url: str) -> bytes:
    """Download a file: of no more than a size, and by no way less safe than that of its address."""
    opener = urllib.request.build_opener(_SafeRedirects)
    with opener.open(url, timeout=DOWNLOAD_TIMEOUT_S) as response:
        announced = int(response.headers.get("Content-Length") or 0)
        content: bytes = response.read(_MOST_BYTES + 1)
    if max(len(content), announced) > _MOST_BYTES:
        raise ValueError(f"it has more than {_MOST_BYTES} bytes")
    if len(content) < announced:
        raise IncompleteRead(content, announced - len(content))
    return content


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but none from https to anything else."""

    def redirect_request(
        self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: Any
    ) -> Any:
        """Return the request to go on with."""
        if urlsplit(req.full_url).scheme == "https" and urlsplit(newurl).scheme != "https":
            raise URLError(f"it is redirected to {newurl}, which is not secure")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _unpacked(content: bytes) -> bytes:
    """Undo bz2, up to a size."""
    decompressor = bz2.BZ2Decompressor()
    text = decompressor.decompress(content, max_length=_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        raise ValueError(f"unpacked it has more than {_MOST_BYTES} bytes")
    if not decompressor.eof:
        raise EOFError("Compressed data ended before the end-of-stream marker was reached")
    return text


def _verify_colon(record: Record) -> None:
    """Refuse a table that is not Alon's after LIBSVM's transformations.

    The rows must have his labels, and their sums over columns, with signs that nobody would guess,
    must follow those of his table. That leaves room for details of how rows and columns were
    standardised; other numbers, or other orders of rows or columns, follow by less than 0.6.
    """
    labels = "".join("+" if label > 0 else "-" for label in record["y"])
    follows = np.corrcoef(_signed_sums(record["X"]), _COLON_SUMS)[0, 1]
    if labels != _COLON_LABELS or not follows > 0.9:
        raise ValueError("its numbers or labels are not those of Alon et al.")


def _signed_sums(X: NDArray[np.float64]) -> NDArray[np.float64]:
    digests = b"".join(hashlib.sha256(f"{j}".encode()).digest() for j in range(8))
    bits = np.unpackbits(np.frombuffer(digests, np.uint8))[: X.shape[1]]
    sums: NDArray[np.float64] = X @ (2.0 * bits - 1.0) / np.sqrt(X.shape[1])
    return sums


_COLON_LABELS = "+-+-+-+-+-+-+-+-+-+-+-+-++++++++++++++-++--++++-+--++--++++-+-"
# fmt: off
_COLON_SUMS = (
    1.26, 0.22, -1.37, 0.36, -0.12, -0.18, 1.66, 0.88, 0.19, 0.01, 0.29, 0.2, 0.03, -0.78, 0.77,
    0.95, 0.41, -0.21, 0.79, -0.6, 1.02, -0.11, -0.67, 0.12, 0.47, 0.49, -0.56, 1.14, 0.05,
    -0.01, 0.55, -0.85, 0.12, 1.24, -0.26, -0.54, 0.18, 0.9, -0.57, 1.59, 0.34, -0.34, -2.31,
    -0.47, -0.01, -0.18, -1.11, -1.4, -0.52, -0.55, 0.43, 0.51, 0.1, -0.41, -1.34, -2.12, 0.32,
    0.24, 1.03, -0.92, 0.58, -0.94,
)
# fmt: on


def _fetch_leukemia() -> Record:
    """OpenML's copy as a record, its rows in Golub's order; other rows than his are refused."""
    from sklearn.datasets import fetch_openml  # slow to import, rarely needed

    # This parser is the one that does without pandas. A copy that scikit-learn has kept is used.
    served = fetch_openml("leukemia", version=1, as_frame=False, parser="liac-arff")
    X = np.asarray(served.data, dtype=np.float64)
    labels = np.asarray(served.target).astype(str)
    unknown = sorted(set(labels.tolist()) - {"ALL", "AML"})
    if unknown:
        raise ValueError(f"the labels should be 'ALL' and 'AML', found {unknown[0]!r}")
    if X.shape != _LEUKEMIA.shape:
        raise ValueError(f"the table has shape {X.shape}, expected {_LEUKEMIA.shape}")
    order = _golub_order(X)
    if order is None:
        raise ValueError("its numbers are not those of Golub et al.")
    record = {
        "X": X[order],
        "y": np.where(labels[order] == "ALL", 1, -1),
        "feature_id": np.array([str(name) for name in served.feature_names]),
        "description": np.full(X.shape[1], "", dtype="U1"),
        "scale": np.array(RAW_SCALE),
        "original_split": np.where(np.arange(len(X)) < _GOLUB_N_TEST, "test", "train"),
    }
    return _checked(_LEUKEMIA, record)


# The original table can be known again whatever the order of its rows: sorted by row sum (and by
# the first column, as two sums are equal), it has this digest as little-endian int32. Row i of the
# sorted table is row _GOLUB_ROWS_BY_SUM[i] of the original, whose first 34 rows are the test set.
_GOLUB_SHA256 = "0a032398daa6f90b1efe3b3f9f4607838d5a13db07084ea73ee899c150877dcf"
_GOLUB_N_TEST = 34
# fmt: off
_GOLUB_ROWS_BY_SUM = (
    45, 25, 60, 62, 11, 55, 1, 9, 30, 8, 17, 56, 19, 10, 18, 29, 67, 51, 52, 27, 26, 7, 39, 6,
    41, 22, 12, 3, 54, 28, 0, 40, 58, 69, 20, 43, 37, 5, 16, 59, 2, 13, 61, 49, 65, 44, 23,
    34, 47, 57, 24, 33, 66, 46, 70, 38, 32, 64, 35, 36, 48, 68, 71, 31, 21, 14, 15, 4, 63, 42,
    50, 53,
)
# fmt: on


def _golub_order(X: NDArray[np.float64]) -> NDArray[np.intp] | None:
    """The rows of X in the order of the original table; None if X is not that table."""
    if not (np.abs(X) < 2**31).all():  # NaN included: it is not less than anything
        return None
    by_sum = np.lexsort((X[:, 0], X.sum(axis=1)))
    integers = X[by_sum].astype("<i4")
    if not (integers == X[by_sum]).all():
        return None
    if hashlib.sha256(integers.tobytes()).hexdigest() != _GOLUB_SHA256:
        return None
    order = np.empty_like(by_sum)
    order[list(_GOLUB_ROWS_BY_SUM)] = by_sum
    return order


_COLON = _Spec(
    name="colon",
    shape=(62, 2000),
    n_positive=40,
    target_names=("normal", "tumour"),
    source="LIBSVM's collection (colon-cancer.bz2)",
    fetch=_fetch_colon,
)

_LEUKEMIA = _Spec(
    name="leukemia",
    shape=(72, 7129),
    n_positive=47,
    target_names=("AML", "ALL"),
    source="OpenML (leukemia, version 1)",
    fetch=_fetch_leukemia,
)
