"""The list, its support and all that follows from them."""

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.experimental import structref

from ...utils.jit import inlined_kernel
from ...utils.types import Array, Indices, Mask
from .limits import ExchangeLimits

# A change must add more than this share of what is explained; less is rounding.
MIN_RELATIVE_GAIN = 1e-11
# Groups are equal if their gains differ by less than this share: the first one wins.
EQUAL = 1e-9


class State(NamedTuple):
    """A list, its support and all that follows from them, kept up to date as units join and leave.

    A *unit* is a column or, where there are ``starts``, a group of columns that join and leave
    together. The support are the columns of the units on the list, but for columns of groups that
    depend on others.

    Attributes
    ----------
    H, delta : ndarrays of shape (d, d) and (d,)
        The problem, on the standardised scale.
    whole : ndarray of shape (d,)
        Diagonal of H, and the ridge.
    floor : ndarray of shape (d,)
        What must be left of a column for it to join; infinity for excluded columns.
    starts : int64 ndarray of shape (n_units + 1,)
        First column of each group, and the end of the last one; empty where units are columns.
    fixed : bool ndarray of shape (n_units,)
        Units that never leave.
    limited, signed : bool
        Whether anything else restricts the choice, and whether any coefficient must have a sign.
    limits : ExchangeLimits
        What that is.
    counts : int64 ndarray of shape (3,)
        Units on the list, columns of the support, and updates since everything was computed afresh.
    units, listed : ndarrays of shape (k_max,) and (n_units,)
        The list, and whether each unit is on it. Where units are columns, ``units`` is ``support``.
    support, w, M, T : ndarrays of shape (m,), (m,), (m, m) and (m, d)
        Columns, coefficients, (H_AA + alpha I)⁻¹ and M H_A, filled up to the size of the support.
    g, q : ndarrays of shape (d,)
        Half the gradient, and what the support leaves of each column.
    S, block_starts : ndarrays
        What the support leaves of H on each group off the list, below the diagonal, one group after
        the other, and where each begins; empty where units are columns.
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
    starts: Indices
    fixed: Mask
    limited: bool
    signed: bool
    limits: ExchangeLimits
    counts: Indices
    units: Indices
    listed: Mask
    support: Indices
    w: Array
    M: Array
    T: Array
    g: Array
    q: Array
    S: Array
    block_starts: Indices
    tolerance: float
    min_gain: float
    may_depend: bool


@structref.register
class _ReferenceType(types.StructRef):
    """Type of a ``Reference``."""

    def preprocess_fields(self, fields: Any) -> Any:
        """Take flags for numbers that may change."""
        return tuple((name, types.unliteral(one)) for name, one in fields)  # type: ignore[no-untyped-call]


class Reference(structref.StructRefProxy):
    """A state that kernels hand on by its address: so many arrays take long to compile."""


structref.define_constructor(Reference, _ReferenceType, State._fields)  # type: ignore[no-untyped-call]


@inlined_kernel
def places(s):  # type: ignore[no-untyped-def]
    """Units on the list, and required columns whose signs hold them at 0."""
    return s.counts[0] + s.limits.absent[0]


@inlined_kernel
def find_position(members, count, wanted):  # type: ignore[no-untyped-def]
    """Position of a unit or column among the first of some; −1 if it is not there."""
    position = np.int64(-1)
    for p in range(count):
        if members[p] == wanted:
            position = p
    return position


@inlined_kernel
def explained(s):  # type: ignore[no-untyped-def]
    """What the support takes off the objective, which is 1 without columns: −δ·w."""
    total = 0.0
    for p in range(s.counts[1]):
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
        for p in range(s.counts[1]):
            dependent |= s.M[p, p] * s.tolerance * s.whole[s.support[p]] > 1.0
    return dependent
