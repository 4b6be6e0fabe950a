"""Table 1: every candidate column by outcome."""

from dataclasses import dataclass

import numpy as np

from sparseauc.utils.types import Array

from ..reading import Table
from ..reading.columns import dense_column

# A column with no more different values than these, all whole, is counted instead of ranked.
_FEW = 2


@dataclass(frozen=True)
class CandidateRow:
    """A candidate column in all rows and in each class, as text, and its missing values.

    A number is its median (quartiles), a column of 0 and 1 the count (per cent) of 1.
    """

    name: str
    chosen: bool
    everyone: str
    positives: str
    negatives: str
    missing: int


def describe_candidates(table: Table, chosen: list[str]) -> list[CandidateRow]:
    """Describe all candidates of a table, the chosen ones first and in their order."""
    names = [str(name) for name in table.columns]
    place = {name: j for j, name in enumerate(names)}
    first = [place[name] for name in chosen]
    taken = set(first)
    others = [j for j in range(len(names)) if j not in taken]
    positive = table.y == 1
    rows = []
    for j in (*first, *others):
        values = dense_column(table.X, j)
        known = ~np.isnan(values)
        distinct = np.unique(values[known])
        counted = distinct.size <= _FEW and set(distinct.tolist()) <= {0.0, 1.0}
        rows.append(
            CandidateRow(
                name=names[j],
                chosen=j in taken,
                everyone=_describe(values[known], counted),
                positives=_describe(values[known & positive], counted),
                negatives=_describe(values[known & ~positive], counted),
                missing=int((~known).sum()),
            )
        )
    return rows


def _describe(values: Array, counted: bool) -> str:
    if not values.size:
        return "–"
    if counted:
        ones = int(np.count_nonzero(values == 1))
        return f"{ones} ({100 * ones / values.size:.0f} %)"
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return f"{middle:.3g} ({low:.3g}–{high:.3g})"
