"""What a list of columns must obey, beside its length."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Share of a budget by which rounding may let a sum of prices exceed it.
_ROUNDING = 1e-9


def _none() -> Indices:
    return np.empty(0, np.int64)


class Prices(NamedTuple):
    """What columns cost; some are bought together and paid once, whichever of them are chosen.

    Attributes
    ----------
    amounts : ndarray of shape (n_purchases,)
    purchases : ndarray of int64 of shape (d,)
        The purchase that each column comes with, from 0 on.
    """

    amounts: Array
    purchases: Indices

    def total(self, columns: Indices) -> float:
        """What some columns cost together."""
        return float(self.amounts[np.unique(self.purchases[columns])].sum())

    def extra(self, bought: Indices, columns: Indices) -> Array:
        """What each of some columns would cost beside others that are bought."""
        purchases = self.purchases[columns]
        paid = np.isin(purchases, self.purchases[bought])
        extra: Array = np.where(paid, 0.0, self.amounts[purchases])
        return extra


@dataclass(frozen=True)
class Restrictions:
    """What lists must obey: columns in all or none, groups, families, signs and a budget.

    Attributes
    ----------
    fixed : ndarray of int64
        Columns in every list, ascending.
    excluded : ndarray of int64
        Columns in no list, ascending.
    groups : ndarray of int64 of shape (d,), optional
        Group of each column, from 0 on: columns of a group are chosen together or not at all.
    families : ndarray of int64 of shape (d,), optional
        Family of each column, from 1 on, and 0 for columns of none. Not together with groups.
    max_per_family : int, default=1
        Columns of a family that a list may have at most.
    signs : ndarray of int64 of shape (d,), optional
        1 for coefficients of 0 or more, −1 for those of 0 or less, 0 for any. Not together with
        groups: a coefficient held at 0 would leave part of a group.
    prices : Prices, optional
        Each purchase is a group where there are groups.
    budgets : ndarray of shape (n_points,), optional
        What the columns of a list may cost together, for each point of a path. With prices only.
    """

    fixed: Indices = field(default_factory=_none)
    excluded: Indices = field(default_factory=_none)
    groups: Indices | None = None
    families: Indices | None = None
    max_per_family: int = 1
    signs: Indices | None = None
    prices: Prices | None = None
    budgets: Array | None = None

    def masks(self, d: int) -> tuple[Mask, Mask]:
        """Which of d columns are fixed, and which are excluded."""
        masks = np.zeros((2, d), np.bool_)
        masks[0, self.fixed] = True
        masks[1, self.excluded] = True
        return masks[0], masks[1]

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

    def right_signs(self, columns: Indices, coef: Array) -> bool:
        """Whether coefficients have the signs that they must have."""
        return bool((self.signs_of(columns) * coef >= 0).all())

    def money(self, n_points: int) -> list[float]:
        """What lists may cost, with what rounding may add to a sum; infinity without a budget."""
        if self.budgets is None:
            return [np.inf] * n_points
        return [budget * (1 + _ROUNDING) for budget in self.budgets.tolist()]

    @property
    def most_money(self) -> float:
        """What the list of the largest budget may cost."""
        return max(self.money(1))

    def affordable(self, d: int) -> Mask:
        """Which of d columns the largest budget can buy beside those that are fixed."""
        if self.prices is None:
            return np.ones(d, np.bool_)
        left = self.most_money - self.prices.total(self.fixed)
        affordable: Mask = self.prices.extra(self.fixed, np.arange(d)) <= left
        return affordable

    def most_columns(self, d: int) -> int:
        """Columns that a list can have at most."""
        usable = np.flatnonzero(~self.masks(d)[1] & self.affordable(d))
        counts = np.bincount(self.families_of(usable))
        most = int(counts[:1].sum() + np.minimum(counts[1:], self.max_per_family).sum())
        if self.budgets is None or self.prices is None:
            return most
        # As many as the money can buy, the last purchase in part: no list has more.
        sizes = np.bincount(self.prices.purchases[usable], minlength=self.prices.amounts.size)
        prices = self.prices.amounts.copy()
        prices[self.prices.purchases[self.fixed]] = 0.0
        money, bought = self.most_money - self.prices.total(self.fixed), 0.0
        for number in np.argsort(prices / np.maximum(sizes, 0.5), kind="stable").tolist():
            share = 1.0 if prices[number] <= money else money / prices[number]
            money -= share * prices[number]
            bought += share * sizes[number]
        return min(most, int(bought + _ROUNDING))

    def full_families(self, support: Indices) -> Indices:
        """Families of which a list can have no more columns, ascending."""
        counts = np.bincount(self.families_of(support))
        return 1 + np.flatnonzero(counts[1:] >= self.max_per_family)

    def allows(self, support: Indices) -> bool:
        """Whether a list has no more columns of any family than it may, nor costs more."""
        listed = np.union1d(support, self.fixed)
        counts = np.bincount(self.families_of(listed))
        price = 0.0 if self.prices is None else self.prices.total(listed)
        return price <= self.most_money and bool((counts[1:] <= self.max_per_family).all())

    def exchanges(self, support: Indices, columns: Indices) -> Mask:
        """Whether a column of a list may give way to another, (support, columns).

        For the families of both, and for the largest budget.
        """
        families = self.families_of(columns)
        full = np.isin(families, self.full_families(support))
        allowed: Mask = ~full | (self.families_of(support)[:, None] == families)
        if self.budgets is not None and self.prices is not None:
            for place in range(support.size):
                kept = np.delete(support, place)
                price = self.prices.total(kept) + self.prices.extra(kept, columns)
                allowed[place] &= price <= self.most_money
        return allowed
