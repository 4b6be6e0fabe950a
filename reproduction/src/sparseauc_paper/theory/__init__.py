"""The paper's theory: its constants as printed, and the same measured on data.

``constants`` has the formulas of Theorems 1 and 2, ``empirical`` the restricted
eigenvalues of actual blocks and the contraction of actual runs, ``measurements`` the
tasks on which they are compared, ``section`` all of it as a part of the report.
"""

from .measurements import compute as compute
