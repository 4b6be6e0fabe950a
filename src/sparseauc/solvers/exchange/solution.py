"""A support with its minimiser."""

from typing import NamedTuple

import numpy as np
import scipy.linalg

from ...utils.types import Array, Indices


class Solution(NamedTuple):
    """The best support found for a k.

    Attributes
    ----------
    support : ndarray of int64
        Columns, ascending; at most k.
    coef : ndarray
        Their coefficients on the standardised scale.
    objective : float
        F(w) + alpha‖w‖² there.
    """

    support: Indices
    coef: Array
    objective: float


def solve_on(block: Array, delta: Array, support: Indices, alpha: float) -> Solution:
    """Minimise on a support, given its part of H and δ, free of the rounding of updates."""
    if support.size == 0:
        return Solution(support, np.empty(0), 1.0)
    ridged = block.copy()
    ridged.ravel()[:: support.size + 1] += alpha
    _, solution, failed = scipy.linalg.lapack.dposv(ridged, delta)
    if failed:
        solution = scipy.linalg.solve(ridged, delta, assume_a="sym", check_finite=False)
    coef: Array = -solution
    return Solution(support, coef, float(1.0 + delta @ coef))
