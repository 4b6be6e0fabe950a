"""The paper's theory: its constants as printed, and the same measured on data.

``constants`` has the formulas of Theorems 1 and 2, ``slips`` what is wrong with them, ``empirical``
the restricted eigenvalues of actual blocks and the contraction of actual runs, ``measurements`` the
tasks on which they are compared, ``section`` all of it as a part of the report.
"""

from .constants import GaussianConstants, gaussian_constants
from .empirical import (
    Bracket,
    Course,
    EmpiricalConstants,
    block_gradient_norm,
    empirical_constants,
    fit_rate,
    measure_course,
)
from .section import theory_section
from .slips import SLIPS, Slip

__all__ = [
    "SLIPS",
    "Bracket",
    "Course",
    "EmpiricalConstants",
    "GaussianConstants",
    "Slip",
    "block_gradient_norm",
    "empirical_constants",
    "fit_rate",
    "gaussian_constants",
    "measure_course",
    "theory_section",
]
