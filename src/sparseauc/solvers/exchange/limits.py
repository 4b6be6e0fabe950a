"""Families, budgets and signs beside the kernels that exchange columns.

The kernels ask one question: may these units change places? ``find_allowed`` answers it for many
units at once, ``signs_stay`` for the best of them, as signs depend on all coefficients. And where
a list is not feasible there is one repair, ``must_leave``: which unit goes first? Where no limit
binds, none of this runs.

With signs, all supports are such that the minimiser has the right ones: where a sign holds a
coefficient at 0, the support is the shorter one without it.
"""

from typing import NamedTuple

import numpy as np

from ...utils.jit import kernel
from ...utils.types import Array, Indices, Mask
from .gain import keeps_signs

# A column without cost is taken to cost this, where gains are compared per cost.
MIN_COST = 1e-12
# Answers of ``must_leave`` that are no positions.
FEASIBLE = np.int64(-1)
STUCK = np.int64(-2)


class ExchangeLimits(NamedTuple):
    """Limits on the choice among c units, and how much of them is used up.

    Units are columns. Where they are groups of columns, costs alone restrict the choice.

    Attributes
    ----------
    family : int64 ndarray of shape (c,)
        0 for columns of none.
    sign : int64 ndarray of shape (c,)
        0 for coefficients of any sign.
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

    @classmethod
    def make(
        cls, family: Indices, max_per_family: int, sign: Indices, cost: Array, budget: float
    ) -> "ExchangeLimits":
        """Limits of some columns, of which nothing is used up."""
        room = np.full(1 + family.max(initial=0), max_per_family, np.int64)
        room[0] = family.size
        return cls(
            family=family,
            sign=sign,
            signed=bool(sign.any()),
            paid=np.unique(cost).size > 1,
            required=np.zeros(family.size, np.bool_),
            cost=cost,
            room=room,
            budget=np.array([budget]),
            absent=np.zeros(1, np.int64),
        )


_NONE = np.empty(0, np.int64)
# Where none bind: no array is looked at but that of absent columns.
UNLIMITED = ExchangeLimits(
    family=_NONE,
    sign=_NONE,
    signed=False,
    paid=False,
    required=np.empty(0, np.bool_),
    cost=np.empty(0),
    room=_NONE,
    budget=np.empty(0),
    absent=np.zeros(1, np.int64),
)


@kernel
def count(limits, unit, change):  # type: ignore[no-untyped-def]
    """Note that a unit joins, 1, or leaves, −1."""
    if limits.required[unit]:
        limits.absent[0] -= change  # its place, its family's and its cost stay taken
    else:
        limits.room[limits.family[unit]] -= change
        limits.budget[0] -= change * limits.cost[unit]


@kernel
def find_allowed(limits, units, position, low, allowed):  # type: ignore[no-untyped-def]
    """Find which units from ``low`` on may take a position, −1 for a new one.

    Families and the budget tell; the answers are written to ``allowed``, as many as have room.
    """
    own = np.int64(-1)
    budget = limits.budget[0]
    if position >= 0:
        own = limits.family[units[position]]
        budget += limits.cost[units[position]]
    for j in range(allowed.size):
        family = limits.family[low + j]
        room = limits.room[family] > 0 or family == own or limits.required[low + j]
        allowed[j] = room and limits.cost[low + j] <= budget


@kernel
def signs_stay(s, position, column, numerator, denominator):  # type: ignore[no-untyped-def]
    """Tell whether all coefficients keep their signs where a column takes a position.

    The numerator and the denominator are those of ``exchange_terms``.
    """
    return not s.signed or keeps_signs(
        s.limits.sign,
        s.support,
        s.n_columns[0],
        s.limits.sign[column],
        s.w,
        s.M,
        s.T,
        position,
        column,
        numerator,
        denominator,
    )


@kernel
def _wrong_sign(sign, s, losses):  # type: ignore[no-untyped-def]
    """Position of the coefficient of a wrong sign that explains most; −1 if there is none."""
    most = 0.0
    winner = FEASIBLE
    for p in range(s.n_units[0]):
        wrong = sign[s.units[p]] * s.w[p] < 0.0
        if wrong and (winner < 0 or losses[p] > most):
            most = losses[p]
            winner = p
    return winner


@kernel
def must_leave(limits, s, losses, top):  # type: ignore[no-untyped-def]
    """Position of the unit that must leave next for a list of at most ``top`` to be feasible.

    Coefficients of the wrong sign go first; then, of families with too many columns, the one that
    explains least; then the one that explains least for its cost, where the budget is exceeded.
    ``losses`` are what doing without each unit costs.

    Returns
    -------
    int
        −1 if the list is feasible, −2 if the units that cannot leave are too many.
    """
    position = _wrong_sign(limits.sign, s, losses) if limits.signed else FEASIBLE
    over_budget = limits.budget[0] < 0.0
    over_family_limit = False
    for family in range(limits.room.size):
        over_family_limit |= limits.room[family] < 0
    too_long = s.n_units[0] + limits.absent[0] > top
    if position < 0 and (over_family_limit or over_budget or too_long):
        least = np.inf
        position = STUCK
        for p in range(s.n_units[0]):
            unit = s.units[p]
            loss = losses[p]
            eligible = not s.fixed[unit]
            if over_family_limit:
                eligible &= limits.room[limits.family[unit]] < 0
            if over_budget and not over_family_limit:
                loss /= max(limits.cost[unit], MIN_COST)
            if eligible and loss < least:
                least = loss
                position = p
    return position
