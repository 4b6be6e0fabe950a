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


class Limits(NamedTuple):
    """What restricts the choice among c columns, as kernels take it.

    Attributes
    ----------
    family : int64 ndarray of shape (c,)
        0 for columns of none.
    max_per_family : int
    sign : int64 ndarray of shape (c,)
        0 for coefficients of any sign.
    held : bool ndarray of shape (c,)
        Columns that must be on the list, and take a place, even where their sign holds them at 0.
    purchase : int64 ndarray of shape (c,)
        Purchase that each column comes with.
    price : ndarray of shape (n_purchases,)
        0 for what fixed columns have bought.
    money : float
        What may be spent.
    """

    family: Indices
    max_per_family: int
    sign: Indices
    held: Mask
    purchase: Indices
    price: Array
    money: float


def no_limits(c: int) -> Limits:
    """Let c columns be chosen freely."""
    zeros = np.zeros(c, np.int64)
    return Limits(zeros, c, zeros, np.zeros(c, np.bool_), zeros, np.zeros(1), 0.0)


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

    def limits_of(self, columns: Indices, money: float) -> Limits:
        """What restricts the choice among some columns, whatever is fixed being bought."""
        limits = no_limits(columns.size)._replace(
            family=self.families_of(columns),
            max_per_family=self.max_per_family,
            sign=self.signs_of(columns),
        )
        if self.prices is None or money == np.inf:
            return limits
        numbers, purchase = np.unique(self.prices.purchases[columns], return_inverse=True)
        paid = np.isin(numbers, self.prices.purchases[self.fixed])
        price = np.where(paid, 0.0, self.prices.amounts[numbers])
        left = money - self.prices.total(self.fixed)
        return limits._replace(purchase=purchase.astype(np.int64), price=price, money=left)

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

    def affordable(self, d: int, money: float | None = None) -> Mask:
        """Which of d columns money can buy beside those that are fixed, by default all there is."""
        if self.prices is None:
            return np.ones(d, np.bool_)
        left = (self.most_money if money is None else money) - self.prices.total(self.fixed)
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

    def allows(self, support: Indices) -> bool:
        """Whether a list has no more columns of any family than it may, nor costs more."""
        listed = np.union1d(support, self.fixed)
        counts = np.bincount(self.families_of(listed))
        price = 0.0 if self.prices is None else self.prices.total(listed)
        return price <= self.most_money and bool((counts[1:] <= self.max_per_family).all())

    def exchanges(self, support: Indices, columns: Indices, money: float | None = None) -> Mask:
        """Whether a column of a list may give way to another, (support + 1, columns).

        In the last row, whether another may join. For the families of both and for money, the
        largest budget by default.
        """
        allowed: Mask = np.ones((support.size + 1, columns.size), np.bool_)
        if self.families is not None:
            own, families = self.families_of(support), self.families_of(columns)
            counts = np.bincount(own)
            full = np.isin(families, 1 + np.flatnonzero(counts[1:] >= self.max_per_family))
            allowed = ~full | (np.append(own, -1)[:, None] == families)
        money = self.most_money if money is None else money
        if self.prices is not None and money < np.inf:
            for place in range(support.size + 1):
                kept = np.union1d(np.delete(support, np.s_[place : place + 1]), self.fixed)
                price = self.prices.total(kept) + self.prices.extra(kept, columns)
                allowed[place] &= price <= money
        return allowed
