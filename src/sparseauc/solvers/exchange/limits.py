"""Families, budgets and signs beside the kernels that exchange columns.

The kernels ask one question, ``allows``: may this unit make room for that one? And
where a list is not feasible there is one repair, ``must_leave``: which unit goes first?
Where no limit binds, ``limits`` is None, and none of this is compiled.

With signs, all supports are such that the minimiser has the right ones: where a sign
holds a coefficient at 0, the support is the shorter one without it.
"""

from typing import NamedTuple

import numpy as np

from ...utils.jit import inner_kernel
from ...utils.types import Array, Indices, Mask
from .gain import keeps_signs

# A column without cost is taken to cost this, where gains are compared per cost.
MIN_COST = 1e-12
# Answers of ``must_leave`` that are no positions.
FEASIBLE = np.int64(-1)
STUCK = np.int64(-2)


class ExchangeLimits(NamedTuple):
    """Limits on the choice among c units, and how much of them is used up.

    Signs are of columns that are a unit each.

    Attributes
    ----------
    family : int64 ndarray of shape (c,)
        0 for units of none.
    sign : int64 ndarray of shape (d,)
        Of each column of the units; 0 for coefficients of any sign.
    signed, paid : bool
        Whether any coefficient must have a sign, and whether units cost unlike amounts.
    required : bool ndarray of shape (c,)
        Must be on the list, and take a place, even where their sign holds them at 0.
    cost : ndarray of shape (c,)
        0 for fixed columns, which are paid for.
    room : int64 ndarray of shape (1 + n_families,)
        How many more columns of each family may join.
    budget : ndarray of shape (1,)
        What is left of the budget.
    absent : int64 ndarray of shape (1,)
        Required columns that are not in the support, as their signs hold them at 0.
    """

    family: Indices
    sign: Indices
    signed: bool
    paid: bool
    required: Mask
    cost: Array
    room: Indices
    budget: Array
    absent: Indices


@inner_kernel
def count(limits, unit, change):  # type: ignore[no-untyped-def]
    """Note that a unit joins, 1, or leaves, −1."""
    if limits.required[unit]:
        limits.absent[0] -= change  # its place, its family's and its cost stay taken
    else:
        limits.room[limits.family[unit]] -= change
        limits.budget[0] -= change * limits.cost[unit]


@inner_kernel
def has_room(limits, gone, unit):  # type: ignore[no-untyped-def]
    """Tell whether families and the budget let a unit in, another, or −1 for none, making room."""
    room = limits.room[limits.family[unit]] > 0 or limits.required[unit]
    budget = limits.budget[0]
    if gone >= 0:
        room = room or limits.family[unit] == limits.family[gone]
        budget += limits.cost[gone]
    return room and limits.cost[unit] <= budget


@inner_kernel
def allows(s, limits, gone, unit, numerator, denominator):  # type: ignore[no-untyped-def]
    """Tell whether a unit may take the place of another, or −1 a new one.

    The numerator and the denominator are those of ``exchange_terms``; only signs ask
    for them.
    """
    if limits is None:
        return True
    if not has_room(limits, gone, unit):
        return False
    if not limits.signed:
        return True
    position = s.place[s.starts[gone]] if gone >= 0 else gone
    k = s.n_columns[0]
    sign = limits.sign
    column = s.starts[unit]
    return keeps_signs(
        sign,
        s.support,
        k,
        sign[column],
        s.w,
        s.M,
        s.T,
        position,
        column,
        numerator,
        denominator,
    )


@inner_kernel
def allows_several(s, limits, gone, unit, L, z):  # type: ignore[no-untyped-def]
    """Tell whether a unit of several columns may take the place of another, or −1 a new one.

    Where signs are asked for, it takes a new one. Its coefficients are −L⁻ᵀz; columns
    that take no part have 0 on the diagonal of L.
    """
    if limits is None:
        return True
    if not has_room(limits, gone, unit):
        return False
    if not limits.signed:
        return True
    low = s.starts[unit]
    size = s.starts[unit + 1] - low
    coef = np.zeros(size)
    for a in range(size - 1, -1, -1):
        if L[a, a] > 0.0:
            coef[a] = -z[a]
            for b in range(a + 1, size):
                coef[a] -= L[b, a] * coef[b]
            coef[a] /= L[a, a]
    right = True
    for p in range(s.n_columns[0]):
        value = s.w[p]
        for a in range(size):
            value -= s.T[p, low + a] * coef[a]
        right &= limits.sign[s.support[p]] * value >= 0.0
    return right


@inner_kernel
def must_leave(limits, s, losses):  # type: ignore[no-untyped-def]
    """Position of the unit that must leave next for the list to be feasible.

    Coefficients of the wrong sign go first, the one that explains most; then, of
    families with too many columns, the one that explains least; then the one that
    explains least for its cost, where the budget is exceeded. ``losses`` are what doing
    without each unit costs.

    Returns
    -------
    int
        −1 if the list is feasible, −2 if the units that cannot leave are too many.
    """
    n_units = s.n_units[0]
    position = FEASIBLE
    if limits.signed:
        for p in range(n_units):
            column = s.starts[s.units[p]]
            at = s.place[column]
            wrong = at >= 0 and limits.sign[column] * s.w[at] < 0.0
            if wrong and (position < 0 or losses[p] > losses[position]):
                position = np.int64(p)
        if position >= 0:
            return position
    over_budget = limits.budget[0] < 0.0
    over_family_limit = False
    for family in range(limits.room.size):
        over_family_limit |= limits.room[family] < 0
    too_long = n_units + limits.absent[0] > s.units.size
    if over_family_limit or over_budget or too_long:
        least = np.inf
        position = STUCK
        for p in range(n_units):
            unit = s.units[p]
            loss = losses[p]
            eligible = not s.fixed[unit]
            if over_family_limit:
                eligible &= limits.room[limits.family[unit]] < 0
            elif over_budget:
                loss /= max(limits.cost[unit], MIN_COST)
            if eligible and loss < least:
                least = loss
                position = np.int64(p)
    return position
