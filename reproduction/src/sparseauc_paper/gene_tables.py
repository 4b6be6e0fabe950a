"""The paper's two gene-expression tables: from a local file or, of the leukaemia, from OpenML.

The tables are not shipped with the package. They are ``colon.npz`` and ``leukemia.npz``
in the folder that the environment variable ``SPARSEAUC_DATA`` names, or else
``~/.cache/sparseauc``. Each holds X, raw intensities, and y, of +1 and −1.

colon: 62 tissue samples by 2000 genes, 40 tumours (+1) and 22 normal tissues (−1). U.
Alon and others (1999), Broad patterns of gene expression revealed by clustering
analysis of tumor and normal colon tissues probed by oligonucleotide arrays, PNAS
96(12). LIBSVM's copy is standardised over all rows, so that test rows would leak into
every fit; it is refused.

leukemia: 72 patients by 7129 probes, 47 acute lymphoblastic (+1) and 25 acute myeloid
(−1). T. R. Golub and others (1999), Molecular classification of cancer, Science
286(5439). Negative intensities are in the original.
"""

import hashlib
import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, get_args

import numpy as np

from .arrays import Array, Indices, Mask
from .files import write_atomically
from .marker_genes import DatasetName, Reading, markers_of

DATASETS: tuple[DatasetName, ...] = get_args(DatasetName)
READINGS: tuple[Reading, ...] = get_args(Reading)
PATIENTS = {"colon": 62, "leukemia": 72}
_GENES = {"colon": 2000, "leukemia": 7129}
_POSITIVES = {"colon": 40, "leukemia": 47}


class Genes(NamedTuple):
    """A gene table: rows, which of them are positive, markers in both readings, a digest."""

    X: Array
    positive: Mask
    markers: dict[Reading, Indices]
    fingerprint: str


@lru_cache(maxsize=2)
def genes(dataset: DatasetName) -> Genes:
    """Load a table; ``OSError`` where there is none, ``ValueError`` for what is not the table."""
    home = os.environ.get("SPARSEAUC_DATA") or "~/.cache/sparseauc"
    path = Path(home).expanduser() / f"{dataset}.npz"
    if path.exists():
        X, y = _read(dataset, path)
    elif dataset == "leukemia":
        X, y = _download(path)
    else:
        raise FileNotFoundError(
            f"there is no {path}, with raw intensities X and labels y"
        )
    positive = y > 0
    digest = hashlib.sha256(X.tobytes() + positive.tobytes()).hexdigest()[:16]
    markers = {
        reading: np.unique(
            [c for marker in markers_of(dataset, reading) for c in marker.columns]
        )
        for reading in READINGS
    }
    return Genes(X, positive, markers, digest)


def _read(dataset: DatasetName, path: Path) -> tuple[Array, Array]:
    """Read and check a file; whatever is wrong with it becomes one kind of error."""
    with path.open("rb") as file:  # a missing permission is the system's to explain
        try:
            # A damaged file fails in many ways: all mean the same to whoever has to
            # mend it.
            with np.load(file, allow_pickle=False) as archive:
                X, y = (
                    np.ascontiguousarray(archive["X"], np.float64),
                    np.asarray(archive["y"]),
                )
            _check(dataset, X, y)
        except Exception as error:
            raise ValueError(
                f"{path} is not a usable copy of the {dataset} data: {error}. Replace it by raw "
                "intensities X and labels y"
            ) from error
    return X, y


def _check(dataset: DatasetName, X: Array, y: Array) -> None:
    """Make sure that a table is what it should be."""
    shape = PATIENTS[dataset], _GENES[dataset]
    if X.shape != shape:
        raise ValueError(f"X has shape {X.shape}, expected {shape}")
    if not np.isfinite(X).all():
        row, column = np.argwhere(~np.isfinite(X))[0]
        raise ValueError(f"X is not finite at row {row}, column {column}")
    counts = (y == 1).sum(), (y == -1).sum()
    expected = _POSITIVES[dataset], PATIENTS[dataset] - _POSITIVES[dataset]
    if y.shape != shape[:1] or counts != expected:
        raise ValueError(
            f"y has {counts[0]} labels +1 and {counts[1]} labels -1, expected {expected[0]} and "
            f"{expected[1]}"
        )
    if np.ptp(X.std(axis=0)) < 0.1:
        raise ValueError(
            "the columns were scaled over all rows, so that test rows would leak"
        )


def _download(path: Path) -> tuple[Array, Array]:
    """Fetch OpenML's copy of the leukaemia, put its rows in Golub's order, and keep it."""
    from sklearn.datasets import fetch_openml  # slow to import, rarely needed

    try:
        # This parser does without pandas. A copy that scikit-learn has kept is used.
        served = fetch_openml("leukemia", version=1, as_frame=False, parser="liac-arff")
        X = np.asarray(served.data, np.float64)
        order = _golub_order(X)
        y = np.where(np.asarray(served.target)[order] == "ALL", 1, -1)
        X = np.ascontiguousarray(X[order])
        _check("leukemia", X, y)
    except Exception as error:
        raise OSError(
            f"there is no {path}, with raw intensities X and labels y, and OpenML's leukemia "
            f"cannot be had: {str(error) or type(error).__name__}"
        ) from error
    with suppress(
        OSError
    ):  # the data are at hand: a read-only folder is no reason to stop
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, lambda file: np.savez_compressed(file, X=X, y=y))
    return X, y


# The original table can be known again whatever the order of its rows: sorted by row
# sum (and by the first column, as two sums are equal), it has this digest as
# little-endian int32. Row i of the sorted table is row _GOLUB_ROWS_BY_SUM[i] of the
# original.
_GOLUB_SHA256 = "0a032398daa6f90b1efe3b3f9f4607838d5a13db07084ea73ee899c150877dcf"
# fmt: off
_GOLUB_ROWS_BY_SUM = (
    45, 25, 60, 62, 11, 55, 1, 9, 30, 8, 17, 56, 19, 10, 18, 29, 67, 51, 52, 27, 26, 7, 39, 6,
    41, 22, 12, 3, 54, 28, 0, 40, 58, 69, 20, 43, 37, 5, 16, 59, 2, 13, 61, 49, 65, 44, 23,
    34, 47, 57, 24, 33, 66, 46, 70, 38, 32, 64, 35, 36, 48, 68, 71, 31, 21, 14, 15, 4, 63, 42,
    50, 53,
)
# fmt: on


def _golub_order(X: Array) -> Indices:
    """Order of the rows of X in the original table, so that splits by row number agree."""
    by_sum = np.lexsort((X[:, 0], X.sum(axis=1)))
    integers = X[by_sum].astype("<i4")
    if hashlib.sha256(integers.tobytes()).hexdigest() != _GOLUB_SHA256:
        raise ValueError("its numbers are not those of Golub et al.")
    return by_sum[np.argsort(_GOLUB_ROWS_BY_SUM)]
