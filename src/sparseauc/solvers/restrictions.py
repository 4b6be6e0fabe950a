"""Limits on a list as solvers ask for them, by the index of columns."""

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from ..errors import InputError
from ..utils.types import Array, Indices, Mask
from .exchange.limits import ExchangeLimits

# Share of a budget by which rounding may let a sum of costs exceed it.
_ROUNDING = 1e-9


def _none() -> Indices:
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class Restrictions:
    """Conditions of a feasible list, besides its length.

    Attributes
    ----------
    fixed, excluded : ndarray of int
        Columns in every list, and in none, ascending.
    groups : ndarray of int of shape (d,), optional
        Group of each column, from 0 on: columns of a group are chosen together or not
        at all.
    families : ndarray of int of shape (d,), optional
        Family of each column, from 1 on, and 0 for columns of none. Columns of a group
        have the same.
    max_per_family : int
        Largest number of columns of a family on a list.
    signs : ndarray of int of shape (d,), optional
        1 for coefficients of 0 or more, −1 for those of 0 or less, 0 for any, such as
        those of groups of several columns: one held at 0 would leave part of a group.
    costs : ndarray, optional
        Cost of each column, or of each group where there are groups.
    budgets : ndarray of shape (n_ks,), optional
        Largest cost of the list at each point of a path. With costs only.
    """

    fixed: Indices = field(default_factory=_none)
    excluded: Indices = field(default_factory=_none)
    groups: Indices | None = None
    families: Indices | None = None
    max_per_family: int = 1
    signs: Indices | None = None
    costs: Array | None = None
    budgets: Array | None = None

    def lost(self, support: Indices, coef: Array) -> Indices:
        """Return the fixed columns without a coefficient in a list, nor any of their group."""
        on_the_list = self._units_of(support[coef != 0])
        return self.fixed[~np.isin(self._units_of(self.fixed), on_the_list)]

    def without_fixed(self, lost: Indices) -> Self:
        """Leave the places and costs of some fixed columns to others."""
        return replace(self, fixed=np.setdiff1d(self.fixed, lost))

    def spread(self, columns: Indices) -> Self:
        """Bring limits on columns to a basis, given the column that each part of it belongs to.

        Parts of one column are a group.
        """
        if np.unique(columns).size == columns.size:
            return self
        spread = replace(
            self,
            fixed=np.flatnonzero(np.isin(columns, self.fixed)),
            excluded=np.flatnonzero(np.isin(columns, self.excluded)),
            groups=columns if self.groups is None else self.groups[columns],
            families=None if self.families is None else self.families[columns],
            signs=None if self.signs is None else self.signs[columns],
        )
        signed = spread.signed_groups
        if signed.size:
            raise InputError(
                f"signs has a sign for column {columns[signed[0]]}, which has several "
                "coefficients: signs are of columns of numbers that count as lines, and of "
                "text of two levels"
            )
        return spread

    @property
    def signed_groups(self) -> Indices:
        """Columns of groups of several that have a sign."""
        if self.groups is None or self.signs is None:
            return _none()
        together = np.bincount(self.groups)[self.groups] > 1
        return np.flatnonzero(together & (self.signs != 0))

    def of_units(self) -> Self:
        """Bring limits on columns to their groups, where there are any."""
        if self.groups is None:
            return self
        first = np.unique(self.groups, return_index=True)[1]
        return replace(
            self,
            groups=None,
            fixed=np.unique(self.groups[self.fixed]),
            excluded=np.unique(self.groups[self.excluded]),
            families=None if self.families is None else self.families[first],
            signs=None if self.signs is None else self.signs[first],
        )

    def masks(self, d: int) -> Mask:
        """Masks of the fixed and of the excluded among d columns, of shape (2, d)."""
        masks = np.zeros((2, d), np.bool_)
        masks[0, self.fixed] = True
        masks[1, self.excluded] = True
        return masks

    def families_of(self, columns: Indices) -> Indices:
        """Family of each of some columns, 0 for none."""
        if self.families is None:
            return np.zeros(columns.size, np.int64)
        return self.families[columns]

    def signs_of(self, columns: Indices) -> Indices:
        """Sign that the coefficient of each of some columns must have, 0 for any."""
        if self.signs is None:
            return np.zeros(columns.size, np.int64)
        return self.signs[columns]

    def at_budget(self, budget: float) -> Self:
        """Keep one of the budgets; infinity for none."""
        if budget == np.inf:
            return replace(self, costs=None, budgets=None)
        return replace(self, budgets=np.array([budget]))

    def kernel_limits(
        self, columns: Indices, sizes: Indices | int = 1
    ) -> ExchangeLimits | None:
        """Limits on a subset of columns, after deducting the cost of fixed ones; None for none.

        Each group has one column here; ``sizes`` are those of the groups.
        """
        if self.none_bind:
            return None
        family = self.families_of(columns)
        sign = self.signs_of(columns)
        cost = self.extra_costs(self.fixed, columns)
        room = np.full(1 + family.max(initial=0), self.max_per_family)
        room[0] = columns.size
        return ExchangeLimits(
            family=family,
            sign=np.repeat(sign, sizes),
            signed=bool(sign.any()),
            paid=np.unique(cost).size > 1,
            required=np.zeros(columns.size, np.bool_),
            cost=cost,
            room=room,
            budget=np.array([self.largest_budget - self.cost_of(self.fixed)]),
            absent=np.zeros(1, np.int64),
        )

    @property
    def none_bind(self) -> bool:
        """True if all lists of single columns that are not excluded are feasible."""
        return self.families is None and self.signs is None and self.budgets is None

    def right_signs(self, columns: Indices, coef: Array) -> bool:
        """Return whether coefficients have the signs that they must have."""
        return bool((self.signs_of(columns) * coef >= 0).all())

    @property
    def largest_budget(self) -> float:
        """Largest budget, and what rounding may add to a sum of costs; infinity without budgets."""
        if self.budgets is None:
            return np.inf
        return float(self.budgets.max()) * (1 + _ROUNDING)

    def within_budget(self, d: int) -> Mask:
        """Mask of those of d columns that the largest budget pays for beside the fixed ones."""
        if self.costs is None:
            return np.ones(d, np.bool_)
        left = self.largest_budget - self.cost_of(self.fixed)
        within: Mask = self.extra_costs(self.fixed, np.arange(d)) <= left
        return within

    def count(self, columns: Indices) -> int:
        """Count some columns; a group counts as one."""
        return np.unique(self._units_of(columns)).size

    def most_columns(self, d: int) -> int:
        """Count the columns, or groups, that a list can have at most."""
        if self.groups is not None:
            return self.of_units().most_columns(np.unique(self.groups).size)
        usable = ~self.masks(d).any(axis=0) & self.within_budget(d)
        return self.count(self.fixed) + self.room(self.fixed, np.flatnonzero(usable))

    def _units_of(self, columns: Indices) -> Indices:
        """Groups of some columns; without groups the columns themselves."""
        return columns if self.groups is None else self.groups[columns]

    def cost_of(self, columns: Indices) -> float:
        """Cost of a list; 0 without costs."""
        if self.costs is None:
            return 0.0
        return float(self.costs[np.unique(self._units_of(columns))].sum())

    def extra_costs(self, support: Indices, columns: Indices) -> Array:
        """Cost of each of some columns beside a list, whose columns and groups are paid for."""
        if self.costs is None:
            return np.zeros(columns.size)
        units = self._units_of(columns)
        paid = np.isin(units, self._units_of(support))
        extra: Array = np.where(paid, 0.0, self.costs[units])
        return extra

    def room(self, support: Indices, columns: Indices) -> int:
        """Count those of some columns that can join a list; each of them may join alone."""
        counts = np.bincount(self.families_of(columns))
        taken = np.bincount(self.families_of(support), minlength=counts.size)[
            : counts.size
        ]
        most = int(counts[:1].sum())
        most += int(
            np.minimum(counts[1:], self.max_per_family - taken[1:]).clip(0).sum()
        )
        if self.budgets is None:
            return most
        listed = np.union1d(support, self.fixed)
        left = self.largest_budget - self.cost_of(listed)
        costs = self.extra_costs(listed, columns)
        payable = np.searchsorted(
            np.cumsum(np.sort(costs)), left * (1 + _ROUNDING), "right"
        )
        return min(most, int(payable))

    def allows(self, support: Indices) -> bool:
        """Return whether a list keeps to its families and to the largest budget."""
        listed = np.union1d(support, self.fixed)
        counts = np.bincount(self.families_of(listed))
        affordable = self.cost_of(listed) <= self.largest_budget
        return affordable and bool((counts[1:] <= self.max_per_family).all())

    def joins(self, support: Indices, columns: Indices) -> Mask:
        """Mask of those of some columns that families and the largest budget let join a list."""
        families = self.families_of(columns)
        taken = np.bincount(
            self.families_of(support), minlength=families.max(initial=0) + 1
        )
        listed = np.union1d(support, self.fixed)
        cost = self.cost_of(listed) + self.extra_costs(listed, columns)
        allowed: Mask = (families == 0) | (taken[families] < self.max_per_family)
        return allowed & (cost <= self.largest_budget)

    def allowed_swaps(self, support: Indices, columns: Indices) -> Mask:
        """Mask of the exchanges of a column of a list for another, (support + 1, columns).

        In the last row, of those that may join.
        """
        if self.families is None and self.costs is None:
            return np.ones((support.size + 1, columns.size), np.bool_)
        kept = [np.delete(support, place) for place in range(support.size)]
        return np.array([self.joins(one, columns) for one in [*kept, support]])
