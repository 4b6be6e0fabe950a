"""Tables IV and V: the paper's marker genes, with the columns of the data they match."""

import pandas as pd

from .marker_genes import DatasetName, markers_of
from .page import Listing

_NUMBERS: dict[DatasetName, tuple[str, str]] = {
    "leukemia": ("table4", "Table IV: markers of leukemia"),
    "colon": ("table5", "Table V: markers of colon cancer"),
}


def marker_table(dataset: DatasetName) -> Listing:
    """List the markers of a data set with their columns, in both readings of the paper's table."""
    name, title = _NUMBERS[dataset]
    readings = [markers_of(dataset, reading) for reading in ("corrected", "published")]
    lines = [
        {
            "marker": mended.marker_id,
            "name": mended.name,
            "columns": _numbers(mended.columns),
            "columns of the published programs": "the same"
            if mended.columns == theirs.columns
            else _numbers(theirs.columns),
        }
        for mended, theirs in zip(*readings, strict=True)
    ]
    totals = [len({c for marker in reading for c in marker.columns}) for reading in readings]
    return Listing(
        name,
        title,
        f"{len(lines)} markers; {totals[0]} columns measure them. The published programs count "
        f"{totals[1]}. Columns are numbered from 0.",
        pd.DataFrame(lines),
        digits=0,
    )


def _numbers(columns: tuple[int, ...]) -> str:
    return ", ".join(map(str, columns)) or "none"
