"""The list, its support and all that follows from them."""

import itertools
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.experimental import structref

from ...moments.base import Gram
from ...utils.jit import inlined_kernel
from ...utils.types import Array, Indices, Mask
from .limits import UNLIMITED, ExchangeLimits

# A change must add more than this share of what is explained; less is rounding.
MIN_RELATIVE_GAIN = 1e-11
# Units are equal if their gains differ by less than this share: the first one wins.
EQUAL = 1e-9
# What a standardised difference of means of 1e-12 would explain is rounding.
_MIN_EXPLAINED = 1e-24
# Less than this share may be nothing but rounding: a column of which less is left over after the
# support explains it is taken for linearly dependent and left out, and when less of the objective
# is left, everything is explained. The second is in units of H's precision, for float32.
_TOLERANCE = 5e-7
_TOLERANCE_UNITS = 1e5


class State(NamedTuple):
    """A list, its support and all that follows from them, kept up to date as units join and leave.

    A *unit* is a column or, where there are ``starts``, a group of columns that join and leave
    together. The support are the columns of the units on the list, but for columns of groups that
    depend on others.

    Attributes
    ----------
    H, delta : ndarrays of shape (d, d) and (d,)
        The problem, on the standardised scale.
    ridged_diagonal : ndarray of shape (d,)
        Diagonal of H, and the ridge.
    min_q : ndarray of shape (d,)
        Columns of which the support leaves no more than this cannot join; infinity bars a column.
    starts : int64 ndarray of shape (n_units + 1,)
        First column of each group, and the end of the last one; empty where units are columns.
    fixed : bool ndarray of shape (n_units,)
        Units that never leave.
    limited, signed : bool
        Whether anything else restricts the choice, and whether any coefficient must have a sign.
    limits : ExchangeLimits
        What that is.
    n_units, n_columns, n_updates : int64 ndarrays of shape (1,)
        Units on the list, columns of the support, and updates since everything was computed afresh.
    units, listed : ndarrays of shape (k_max,) and (n_units,)
        The list, and whether each unit is on it. Where units are columns, ``units`` is ``support``.
    support, w, M, T : ndarrays of shape (m,), (m,), (m, m) and (m, d)
        Columns, coefficients, (H_AA + alpha I)⁻¹ and M H_A, filled up to the size of the support.
    g, q : ndarrays of shape (d,)
        Half the gradient, and the Schur complement: what the support leaves of each column.
    S, block_starts : ndarrays
        Schur complement of each group off the list, below the diagonal, one group after the other,
        and where each begins; empty where units are columns.
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
    min_q: Array
    starts: Indices
    fixed: Mask
    limited: bool
    signed: bool
    limits: ExchangeLimits
    n_units: Indices
    n_columns: Indices
    n_updates: Indices
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


def dependence_tolerance(precision: float = float(np.finfo(np.float64).eps)) -> float:
    """Share of a column below which what is left of it may be rounding."""
    return max(_TOLERANCE, _TOLERANCE_UNITS * precision)


# The same in double precision.
DEPENDENT = dependence_tolerance()


def make_state(
    gram: Gram,
    alpha: float,
    k_max: int,
    fixed: Mask,
    limits: ExchangeLimits | None = None,
    *,
    starts: Indices | None = None,
) -> State:
    """Start with an empty list.

    Parameters
    ----------
    gram : Gram
    alpha : float
        Ridge.
    k_max : int
        Units of the longest list.
    fixed : bool ndarray of shape (n_units,)
        Units that never leave.
    limits : ExchangeLimits, optional
        What else restricts the choice.
    starts : int64 ndarray of shape (n_units + 1,), optional
        First column of each group of columns, and the end of the last one; without it each column
        is a unit.
    """
    d = gram.H.shape[0]
    diagonal = gram.H.diagonal()
    ridged_diagonal = diagonal + alpha
    min_q = np.where(diagonal <= 0, np.inf, DEPENDENT * ridged_diagonal)
    size = k_max
    blocks = [np.empty(0)]
    if starts is not None:
        size = int(np.sort(np.diff(starts))[-k_max:].sum())
        blocks += [gram.H[a:b, a:b].ravel() for a, b in itertools.pairwise(starts.tolist())]
    support = np.empty(size, np.int64)
    resolved = UNLIMITED if limits is None else limits
    return State(
        H=gram.H,
        delta=gram.delta,
        ridged_diagonal=ridged_diagonal,
        min_q=min_q,
        starts=np.empty(0, np.int64) if starts is None else starts,
        fixed=fixed,
        limited=limits is not None,
        signed=resolved.signed,
        limits=resolved,
        n_units=np.zeros(1, np.int64),
        n_columns=np.zeros(1, np.int64),
        n_updates=np.zeros(1, np.int64),
        units=support if starts is None else np.empty(k_max, np.int64),
        listed=np.zeros(fixed.size, np.bool_),
        support=support,
        w=np.empty(size),
        M=np.empty((size, size)),
        T=np.empty((size, d)),
        g=gram.delta.copy(),
        q=ridged_diagonal.copy(),
        S=np.concatenate(blocks),
        block_starts=np.cumsum([block.size for block in blocks]),
        tolerance=DEPENDENT,
        min_gain=_MIN_EXPLAINED / (1.0 + alpha),
        may_depend=bool((min_q[np.isfinite(min_q)] > alpha).any()),
    )


@inlined_kernel
def places(s):  # type: ignore[no-untyped-def]
    """Units on the list, and required columns whose signs hold them at 0."""
    return s.n_units[0] + s.limits.absent[0]


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
    """Reduction of the objective by the support, −δ·w; without columns the objective is 1."""
    total = 0.0
    for p in range(s.n_columns[0]):
        total -= s.delta[s.support[p]] * s.w[p]
    return total


@inlined_kernel
def least_gain(total, tolerance, min_gain):  # type: ignore[no-untyped-def]
    """Least gain of a change, given what is explained; less is rounding."""
    return np.inf if 1.0 - total < tolerance else max(MIN_RELATIVE_GAIN * total, min_gain)


@inlined_kernel
def depends(s):  # type: ignore[no-untyped-def]
    """Tell whether next to nothing, 1/M_ii, is left of a member that the others explain."""
    dependent = False
    if s.may_depend:
        for p in range(s.n_columns[0]):
            dependent |= s.M[p, p] * s.tolerance * s.ridged_diagonal[s.support[p]] > 1.0
    return dependent
