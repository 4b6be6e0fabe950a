"""Simulated data.

`make_patients` simulates a hospital's table of patients; `make_outbreak` draws the
paper's simulation, with the best possible AUC.
"""

from ._patients import make_patients
from ._synthetic import OutbreakData, make_outbreak

__all__ = ["OutbreakData", "make_outbreak", "make_patients"]
