"""The support and all that follows from it."""

from typing import NamedTuple

import numpy as np

from ...utils.jit import inlined_kernel
from ...utils.types import Array, Indices, Mask
from .limits import ExchangeLimits

# A change must add more than this share of what is explained; less is rounding.
MIN_RELATIVE_GAIN = 1e-11


class State(NamedTuple):
    """The support and all that follows from it, kept up to date as columns join and leave.

    Attributes
    ----------
    H, delta : ndarrays of shape (d, d) and (d,)
        The problem, on the standardised scale.
    whole : ndarray of shape (d,)
        Diagonal of H, and the ridge.
    floor : ndarray of shape (d,)
        What must be left of a column for it to join; infinity for excluded columns.
    fixed : bool ndarray of shape (d,)
        Columns that never leave.
    limited, signed : bool
        Whether anything else restricts the choice, and whether any coefficient must have a sign.
    limits : ExchangeLimits
        What that is.
    counts : int64 ndarray of shape (2,)
        Size of the support, and updates since everything was computed afresh.
    support, w, M, T : ndarrays of shape (k_max,), (k_max,), (k_max, k_max) and (k_max, d)
        Columns, coefficients, (H_AA + alpha I)⁻¹ and M H_A, filled up to the size of the support.
    g, q : ndarrays of shape (d,)
        Half the gradient, and what the support leaves of each column.
    tolerance : float
        Share of a column below which it counts as linearly dependent.
    min_gain : float
        Least gain that is more than rounding, whatever is explained.
    may_depend : bool
        Whether columns can depend on one another linearly; with a ridge they cannot.
    """

    H: Array
    delta: Array
    whole: Array
    floor: Array
    fixed: Mask
    limited: bool
    signed: bool
    limits: ExchangeLimits
    counts: Indices
    support: Indices
    w: Array
    M: Array
    T: Array
    g: Array
    q: Array
    tolerance: float
    min_gain: float
    may_depend: bool


@inlined_kernel
def places(s):  # type: ignore[no-untyped-def]
    """Columns on the list: those of the support, and required ones whose signs hold them at 0."""
    return s.counts[0] + s.limits.absent[0]


@inlined_kernel
def find_position(s, column):  # type: ignore[no-untyped-def]
    """Position of a column in the support; −1 if it is not there."""
    position = np.int64(-1)
    for p in range(s.counts[0]):
        if s.support[p] == column:
            position = p
    return position


@inlined_kernel
def explained(s):  # type: ignore[no-untyped-def]
    """What the support takes off the objective, which is 1 without columns: −δ·w."""
    total = 0.0
    for p in range(s.counts[0]):
        total -= s.delta[s.support[p]] * s.w[p]
    return total


@inlined_kernel
def least_gain(total, tolerance, min_gain):  # type: ignore[no-untyped-def]
    """What a change must gain, given what is explained; less is rounding."""
    return np.inf if 1.0 - total < tolerance else max(MIN_RELATIVE_GAIN * total, min_gain)


@inlined_kernel
def depends(s):  # type: ignore[no-untyped-def]
    """Whether next to nothing is left of a member after the others explain it: 1/M_ii."""
    dependent = False
    if s.may_depend:
        for p in range(s.counts[0]):
            dependent |= s.M[p, p] * s.tolerance * s.whole[s.support[p]] > 1.0
    return dependent
