"""Where the statement of Theorems 1 and 2, their proofs and their discussion part ways.

Each was checked with numbers; the tests of ``constants.py`` and ``empirical.py`` do so again.
"""

from typing import NamedTuple

from ..files import read_lines


class Slip(NamedTuple):
    """A place where the paper's theory does not follow, or does not say what it means."""

    where: str
    printed: str
    follows: str
    matters: str


SLIPS = tuple(Slip(*line) for line in read_lines("theory/slips.csv"))
