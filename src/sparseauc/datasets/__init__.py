"""Simulated data, and the paper's two gene-expression tables.

`make_patients` simulates a hospital's table of patients; `make_outbreak` draws the paper's
simulation, with the best possible AUC; `load_colon` and `load_leukemia` read the real tables with
the marker genes of the paper.
"""

from ._markers import Marker
from ._patients import make_patients
from ._real import get_data_home, load_colon, load_leukemia
from ._synthetic import OutbreakData, make_outbreak

__all__ = [
    "Marker",
    "OutbreakData",
    "get_data_home",
    "load_colon",
    "load_leukemia",
    "make_outbreak",
    "make_patients",
]
