"""Numbers printed in the paper's Tables I to III, with the error that their deviation means."""

from collections.abc import Mapping
from math import sqrt

from .estimates import Mean
from .files import read_lines

# By method and column.
Table = Mapping[str, Mapping[str, Mean]]

TRIALS = 5  # draws of the simulation behind an entry
# Values that tell something each, and independent trials: five trials of five splits.
# On the genes twenty trials of five values, which all judge the same rows and so count
# once.
_EXTENTS = {
    "auc": (25, TRIALS),
    "f1": (25, TRIALS),
    "jaccard": (25, TRIALS),
    "gene_auc": (20, 20),
}


def _read() -> dict[str, Table]:
    tables: dict[str, dict[str, dict[str, Mean]]] = {name: {} for name in _EXTENTS}
    for name, method, column, mean, deviation in read_lines("printed.csv"):
        values, trials = _EXTENTS[name]
        std = float(deviation)
        entry = Mean(
            float(mean), std / sqrt(values), trials - 1, values, std, draws=trials
        )
        tables[name].setdefault(method, {})[column] = entry
    return dict(tables)


TABLES = _read()
AUC, F1, JACCARD, GENE_AUC = TABLES.values()
NAMES = ("Table I", "Table II, F1", "Table II, Jaccard", "Table III")


def difference(
    table: Table, one: str, other: str, columns: tuple[str, ...]
) -> Mean | None:
    """How much one method is printed to be ahead of another; none where nothing is printed.

    Mean over the columns; the methods' errors are taken as independent, which is not
    too small.
    """
    used = [
        c
        for c in table.get(one, {})
        if c in table.get(other, {}) and (c in columns or not columns)
    ]
    if not used:
        return None
    entries = [table[method][column] for method in (one, other) for column in used]
    variance = sum(entry.se**2 for entry in entries)
    gap = sum(table[one][c].mean - table[other][c].mean for c in used)
    df = variance**2 / sum(entry.se**4 / entry.df for entry in entries)
    return Mean(
        gap / len(used), sqrt(variance) / len(used), df, len(used) * entries[0].n
    )
