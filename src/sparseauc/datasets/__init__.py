"""Data to try sparse AUC maximisation on: simulations and the paper's two gene-expression sets.

`make_patients` draws a cohort of patients as a hospital's table has it; `make_outbreak` draws the
paper's simulation, with the best reachable AUC in closed form beside it;
`load_colon` and `load_leukemia` read the real tables with the marker genes the paper counts.
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
