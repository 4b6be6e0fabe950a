"""The list, its support and all that follows from them."""

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.experimental import structref

from ...moments.base import Gram
from ...utils.jit import inner_kernel
from ...utils.types import Array, Indices, Mask

# A change must add more than this share of what is explained; less is rounding.
MIN_RELATIVE_GAIN = 1e-11
# Units are equal if their gains differ by less than this share: the first one wins.
EQUAL = 1e-9
# What a standardised difference of means of 1e-12 would explain is rounding.
_MIN_EXPLAINED = 1e-24
# Less than this share may be nothing but rounding: a column of which less is left over
# after the support explains it is taken for linearly dependent and left out, and when
# less of the objective is left, everything is explained. The second is in units of H's
# precision, for float32.
_TOLERANCE = 5e-7
_TOLERANCE_UNITS = 1e5


class State(NamedTuple):
    """A list, its support and all that follows from them, kept up to date as units join and leave.

    A *unit* is one column, or several that join and leave together. The support are the
    columns of the units on the list, but for columns of units of several that depend on
    others.

    Attributes
    ----------
    H, delta : ndarrays of shape (d, d) and (d,)
        The problem, on the standardised scale.
    ridged_diagonal : ndarray of shape (d,)
        Diagonal of H, and the ridge.
    least_left, min_q : ndarrays of shape (d,)
        Columns of which the support leaves no more than this cannot join; the second is
        infinite where units are barred for a while.
    starts, unit_of : int64 ndarrays of shape (n_units + 1,) and (d,)
        First column of each unit, and the end of the last one; and the unit of each
        column.
    several : int64 ndarray
        Units of several columns.
    most_columns : int
        Columns of the largest unit.
    fixed : bool ndarray of shape (n_units,)
        Units that never leave.
    n_units, n_columns, n_updates : int64 ndarrays of shape (1,)
        Units on the list, columns of the support, and updates since everything was
        computed afresh.
    units, listed : ndarrays of shape (k_max,) and (n_units,)
        The list, and whether each unit is on it.
    support, place : int64 ndarrays of shape (m,) and (d,)
        Columns, filled up to the size of the support; and where each column of it is.
    w, M, T : ndarrays of shape (m,), (m, m) and (m, d)
        Coefficients, (H_AA + alpha I)⁻¹ and M H_A, filled up to the size of the
        support.
    g, q : ndarrays of shape (d,)
        Half the gradient, and the Schur complement: what the support leaves of each
        column. Infinite for columns of the support, and for those of units of several.
    S, block_starts : ndarrays
        Schur complement of each unit of several columns off the list, up to the
        diagonal, one unit after the other, and where each begins. Infinite on the
        diagonal for columns of the support.
    tolerance : float
        Share of a column below which it counts as linearly dependent.
    min_gain : float
        Least gain that is more than rounding, whatever is explained.
    may_depend : bool
        Whether columns can depend on one another linearly; with a ridge they cannot.
    """

    H: Array
    delta: Array
    ridged_diagonal: Array
    least_left: Array
    min_q: Array
    starts: Indices
    unit_of: Indices
    several: Indices
    most_columns: int
    fixed: Mask
    n_units: Indices
    n_columns: Indices
    n_updates: Indices
    units: Indices
    listed: Mask
    support: Indices
    place: Indices
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


def dependence_tolerance(precision: float = float(np.finfo(np.float64).eps)) -> float:
    """Share of a column below which what is left of it may be rounding."""
    return max(_TOLERANCE, _TOLERANCE_UNITS * precision)


# The same in double precision.
DEPENDENT = dependence_tolerance()


def make_state(
    gram: Gram, alpha: float, k_max: int, fixed: Mask, sizes: Indices | None = None
) -> State:
    """Start with an empty list.

    Parameters
    ----------
    gram : Gram
        Unit by unit.
    alpha : float
        Ridge.
    k_max : int
        Units of the longest list.
    fixed : bool ndarray of shape (n_units,)
        Units that never leave.
    sizes : int64 ndarray of shape (n_units,), optional
        Columns of each unit, by default one.
    """
    d = gram.H.shape[0]
    if sizes is None:
        sizes = np.ones(d, np.int64)
    several = np.flatnonzero(sizes > 1)
    starts = np.arange(sizes.size + 1)
    unit_of = np.arange(d)
    block_starts = np.zeros_like(starts)
    n_chosen = k_max
    if several.size:
        np.cumsum(sizes, out=starts[1:])
        unit_of = np.repeat(np.arange(sizes.size), sizes)
        np.cumsum(np.where(sizes > 1, sizes**2, 0), out=block_starts[1:])
        n_chosen = int(np.sort(sizes)[-k_max:].sum())
    diagonal = gram.H.diagonal()
    ridged_diagonal = diagonal + alpha
    least_left = np.where(diagonal <= 0, np.inf, DEPENDENT * ridged_diagonal)
    q = ridged_diagonal.copy()
    S = np.empty(block_starts[-1])
    for unit in several:
        own = slice(starts[unit], starts[unit + 1])
        q[own] = np.inf
        block = gram.H[own, own].copy()
        np.fill_diagonal(block, ridged_diagonal[own])
        S[block_starts[unit] : block_starts[unit + 1]] = block.ravel()
    return State(
        H=gram.H,
        delta=gram.delta,
        ridged_diagonal=ridged_diagonal,
        least_left=least_left,
        min_q=least_left.copy(),
        starts=starts,
        unit_of=unit_of,
        several=several,
        most_columns=int(sizes.max(initial=1)),
        fixed=fixed,
        n_units=np.zeros(1, np.int64),
        n_columns=np.zeros(1, np.int64),
        n_updates=np.zeros(1, np.int64),
        units=np.empty(k_max, np.int64),
        listed=np.zeros(sizes.size, np.bool_),
        support=np.empty(n_chosen, np.int64),
        place=np.full(d, -1),
        w=np.empty(n_chosen),
        M=np.empty((n_chosen, n_chosen)),
        T=np.empty((n_chosen, d)),
        g=gram.delta.copy(),
        q=q,
        S=S,
        block_starts=block_starts,
        tolerance=DEPENDENT,
        min_gain=_MIN_EXPLAINED / (1.0 + alpha),
        may_depend=bool((least_left[np.isfinite(least_left)] > alpha).any()),
    )


@inner_kernel
def places(s, limits):  # type: ignore[no-untyped-def]
    """Units on the list, and required columns whose signs hold them at 0."""
    if limits is None:
        return s.n_units[0]
    return s.n_units[0] + limits.absent[0]


@inner_kernel
def find_position(s, unit):  # type: ignore[no-untyped-def]
    """Position of a unit on the list; −1 if it is not there."""
    position = np.int64(-1)
    for p in range(s.n_units[0]):
        if s.units[p] == unit:
            position = p
    return position


@inner_kernel
def explained(s):  # type: ignore[no-untyped-def]
    """Reduction of the objective by the support, −δ·w; without columns the objective is 1."""
    total = 0.0
    for p in range(s.n_columns[0]):
        total -= s.delta[s.support[p]] * s.w[p]
    return total


@inner_kernel
def least_gain(s, total):  # type: ignore[no-untyped-def]
    """Least gain of a change, given what is explained; less is rounding."""
    return (
        np.inf
        if 1.0 - total < s.tolerance
        else max(MIN_RELATIVE_GAIN * total, s.min_gain)
    )


@inner_kernel
def depends(s):  # type: ignore[no-untyped-def]
    """Tell whether next to nothing, 1/M_ii, is left of a member that the others explain."""
    dependent = False
    if s.may_depend:
        for p in range(s.n_columns[0]):
            dependent |= s.M[p, p] * s.tolerance * s.ridged_diagonal[s.support[p]] > 1.0
    return dependent
