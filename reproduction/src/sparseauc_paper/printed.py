"""Numbers printed in the paper's Tables I to III: mean and population deviation of each entry."""

from collections.abc import Mapping
from typing import NamedTuple

from .files import read_lines


class Printed(NamedTuple):
    """An entry of a printed table."""

    mean: float
    std: float


# By method and column.
Table = Mapping[str, Mapping[str, Printed]]


class Extent(NamedTuple):
    """What an entry rests on: values that tell something each, and independent trials."""

    values: int
    trials: int


# Five trials of five splits. On the genes twenty trials of five values, which all judge the same
# rows and so count once.
SYNTHETIC = Extent(25, 5)
REAL = Extent(20, 20)


def _table(measure: str) -> Table:
    table: dict[str, dict[str, Printed]] = {}
    for name, method, column, mean, std in read_lines("printed.csv"):
        if name == measure:
            table.setdefault(method, {})[column] = Printed(float(mean), float(std))
    return table


AUC, F1, JACCARD, REAL_AUC = (_table(name) for name in ("auc", "f1", "jaccard", "gene_auc"))
