"""The paper's marker genes (Tables IV and V) as column numbers of the two gene-expression tables.

Two readings of the same tables are kept. "published" holds the columns the authors' own
scripts count; "corrected" has every probe whose description names the gene. Beside
further probes of nine leukemia genes, six of them with the very same description, it
mends three slips: colon marker 29 lacked column 628, the very homolog it names;
leukemia marker 11 had no column at all and is 5506; leukemia marker 23 was given 2878,
an Epstein–Barr-virus-induced protein, where the small-RNA-associated one is 1027.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from .files import read_lines

Reading = Literal["corrected", "published"]
DatasetName = Literal["colon", "leukemia"]


@dataclass(frozen=True)
class Marker:
    """One row of the paper's marker tables, and the columns that measure it.

    Attributes
    ----------
    marker_id : int
        Number in the paper's table, from 1.
    name : str
        Marker as printed there. Names may repeat: leukemia 1 and 15 are both
        myeloperoxidase.
    columns : tuple of int
        Columns of the table, from 0; several where several probes measure the marker,
        none where the published reading has none.
    """

    marker_id: int
    name: str
    columns: tuple[int, ...]


def markers_of(dataset: DatasetName, reading: Reading) -> tuple[Marker, ...]:
    """Say which columns count as known markers of a dataset, in one of the two readings."""
    place = get_args(Reading).index(reading)
    return tuple(
        Marker(int(number), name, tuple(map(int, readings[place].split())))
        for table, number, name, *readings in read_lines("markers.csv")
        if table == dataset
    )
