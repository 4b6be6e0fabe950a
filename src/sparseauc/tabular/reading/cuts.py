"""Cut columns of numbers into columns of 0 and 1: is the age above 60?"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..scorecard import Input
from .source import DataError
from .training import Table

# Values of the table beyond which columns of 0 and 1 would fill the memory.
_MOST_NUMBERS = 5e7


def cut_numbers(table: Table) -> Table:
    """Replace each column of numbers by columns of 0 and 1: is it above a decile?

    Extreme values then count no more than others, and a column may matter from some value on. A
    column of at most ten different values is cut between all of them, and one of two is left
    alone. Deciles are those of all rows of the table, whatever their class, and are rounded.
    """
    if hasattr(table.X, "tocsr"):
        raise DataError("--cut: a sparse table cannot be cut")
    if 9 * table.X.size > _MOST_NUMBERS:
        raise DataError(
            f"--cut: {table.y.size} rows of {len(table.inputs)} columns are too many to be cut"
        )
    columns: list[npt.NDArray[np.floating]] = []
    inputs: list[Input] = []
    for one, values in zip(table.inputs, table.X.T, strict=True):
        known = values[~np.isnan(values)]
        if one.level is not None or np.unique(known).size <= 2:
            columns.append(values)
            inputs.append(one)
            continue
        for cut in _choose_cuts(np.asarray(known, np.float64)):
            columns.append(np.where(np.isnan(values), np.nan, values > cut).astype(values.dtype))
            inputs.append(Input(one.column, above=cut))
    note = "numbers are cut at their deciles into columns of 0 and 1"
    return replace(
        table, X=np.column_stack(columns), inputs=tuple(inputs), notes=(*table.notes, note)
    )


def _choose_cuts(values: npt.NDArray[np.float64]) -> Iterator[float]:
    """Cuts with rows on both sides, rounded to a tenth of the way to their neighbours."""
    different = np.unique(values)
    if different.size <= 10:
        yield from different[:-1].tolist()
        return
    found = np.unique(np.quantile(values, np.arange(0.1, 0.95, 0.1), method="lower"))
    found = found[found < different[-1]]
    ways = np.diff(found, prepend=-np.inf, append=np.inf)
    for cut, way in zip(found.tolist(), np.minimum(ways[:-1], ways[1:]).tolist(), strict=True):
        rounded = cut
        if np.isfinite(way):
            # Adding 0 turns −0 into 0.
            rounded = round(cut, int(np.ceil(-np.log10(way / 10)))) + 0.0
        yield rounded if different[0] <= rounded < different[-1] else cut
