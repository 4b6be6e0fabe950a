"""Numbers printed in the paper's Tables I to III: mean and population deviation of each entry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Printed(NamedTuple):
    """An entry of a printed table."""

    mean: float
    std: float


Table = Mapping[str, Mapping[str, Printed]]


def _table(columns: tuple[str, ...], rows: Mapping[str, tuple[tuple[float, float], ...]]) -> Table:
    return {
        method: {column: Printed(*entry) for column, entry in zip(columns, entries, strict=True)}
        for method, entries in rows.items()
    }


class Extent(NamedTuple):
    """What an entry rests on: values that tell something each, and independent trials."""

    values: int
    trials: int


# Five trials of five splits. On the genes twenty trials of five values, which all judge the same
# rows and so count once.
SYNTHETIC = Extent(25, 5)
REAL = Extent(20, 20)

_SPARSITIES = ("20", "40", "60", "80")
AUC = _table(
    _SPARSITIES,
    {
        "sht-auc": ((0.551, 0.107), (0.675, 0.068), (0.766, 0.074), (0.82, 0.061)),
        "spam-l1": ((0.56, 0.087), (0.621, 0.094), (0.697, 0.118), (0.763, 0.128)),
        "spam-l2": ((0.537, 0.095), (0.597, 0.11), (0.653, 0.141), (0.752, 0.135)),
        "fsauc": ((0.571, 0.107), (0.654, 0.083), (0.754, 0.079), (0.82, 0.071)),
        "solam": ((0.523, 0.102), (0.628, 0.077), (0.732, 0.092), (0.74, 0.139)),
        "sto-iht": ((0.538, 0.096), (0.604, 0.087), (0.659, 0.091), (0.719, 0.092)),
        "hsg-ht": ((0.484, 0.094), (0.593, 0.089), (0.661, 0.116), (0.759, 0.083)),
    },
)
F1 = _table(
    _SPARSITIES,
    {
        "sht-auc": ((0.209, 0.046), (0.365, 0.078), (0.382, 0.053), (0.45, 0.072)),
        "spam-l1": ((0.058, 0.053), (0.182, 0.137), (0.147, 0.102), (0.177, 0.126)),
        "spam-l2": ((0.037, 0.019), (0.06, 0.053), (0.1, 0.085), (0.159, 0.065)),
        "fsauc": ((0.1, 0.075), (0.202, 0.114), (0.222, 0.096), (0.32, 0.102)),
        "solam": ((0.044, 0.021), (0.088, 0.039), (0.125, 0.064), (0.171, 0.064)),
        "sto-iht": ((0.089, 0.037), (0.163, 0.069), (0.231, 0.054), (0.237, 0.067)),
        "hsg-ht": ((0.089, 0.042), (0.157, 0.076), (0.228, 0.061), (0.249, 0.066)),
    },
)
JACCARD = _table(
    _SPARSITIES,
    {
        "sht-auc": ((0.126, 0.047), (0.2, 0.043), (0.275, 0.051), (0.311, 0.032)),
        "spam-l1": ((0.028, 0.04), (0.087, 0.076), (0.078, 0.06), (0.101, 0.059)),
        "spam-l2": ((0.017, 0.021), (0.029, 0.02), (0.04, 0.034), (0.065, 0.033)),
        "fsauc": ((0.037, 0.033), (0.117, 0.071), (0.146, 0.06), (0.21, 0.069)),
        "solam": ((0.024, 0.029), (0.049, 0.032), (0.073, 0.027), (0.1, 0.072)),
        "sto-iht": ((0.051, 0.033), (0.093, 0.028), (0.122, 0.036), (0.146, 0.045)),
        "hsg-ht": ((0.046, 0.037), (0.096, 0.031), (0.127, 0.049), (0.171, 0.042)),
    },
)
_DATASETS = ("colon", "leukemia")
REAL_AUC = _table(
    _DATASETS,
    {
        "sht-auc": ((0.8777, 0.1114), (0.9963, 0.0098)),
        "spam-l1": ((0.8409, 0.1646), (0.9812, 0.0602)),
        "spam-l2": ((0.8304, 0.1478), (0.9812, 0.0604)),
        "fsauc": ((0.7907, 0.2143), (0.9708, 0.073)),
        "solam": ((0.8089, 0.1752), (0.9751, 0.0773)),
        "sto-iht": ((0.8647, 0.1339), (0.9947, 0.0138)),
        "hsg-ht": ((0.8759, 0.1246), (0.9898, 0.0218)),
    },
)
