"""Signs, costs and budgets as a person gives them, checked and turned into restrictions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._text import did_you_mean
from ..solvers.restrictions import Prices, Restrictions

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Names = npt.NDArray[Any] | None

# Budgets tried up to the one that is given.
_MOST_BUDGETS = 20


def with_limits(
    restrictions: Restrictions, d: int, names: Names, *, signs: Any, costs: Any, budgets: Any
) -> Restrictions:
    """Restrictions with signs, costs and a budget for each point of the path, where given.

    Parameters
    ----------
    restrictions : Restrictions
        Without these.
    d : int
        Number of columns.
    names : ndarray of shape (d,), optional
        Names of the columns, where they have any.
    signs, costs : mapping or array-like, optional
        As for ``SparseAUCClassifier``.
    budgets : array-like of shape (n_points,), optional
    """
    if signs is not None:
        if restrictions.groups is not None:
            raise ValueError(
                "signs and groups do not go together: columns of a group are chosen together, and "
                "a sign may hold one of them at 0"
            )
        restrictions = replace(restrictions, signs=_read_signs(signs, d, names))
    if costs is not None or budgets is not None:
        prices = _read_costs(costs, d, names, restrictions.groups)
        restrictions = replace(restrictions, prices=prices)
    if budgets is None:
        return restrictions
    restrictions = replace(restrictions, budgets=np.asarray(budgets, np.float64))
    _check_budgets(restrictions, d, names)
    return restrictions


def budgets_to_try(most: float, restrictions: Restrictions, d: int) -> Array:
    """Budgets up to the one given, from the least that buys a list."""
    prices = restrictions.prices
    assert prices is not None
    amounts = prices.amounts
    least = max(prices.total(restrictions.fixed), cheapest(restrictions, d)[1])
    budgets = np.linspace(min(least, most), most, _MOST_BUDGETS)
    # Where all prices are so many cents, no list costs anything between their sums.
    cents = np.round(100 * amounts)
    if np.abs(cents - 100 * amounts).max() <= 1e-6 and 0 < cents.max() < 2**53:
        step = int(np.gcd.reduce(cents.astype(np.int64))) / 100
        budgets = step * np.floor(budgets / step * (1 + 1e-12))
    return np.unique(np.append(budgets[budgets >= least], most))


def cheapest(restrictions: Restrictions, d: int) -> tuple[int, float]:
    """The column of least price, of those not excluded, and its price with the fixed ones."""
    prices = restrictions.prices
    assert prices is not None
    extra = prices.extra(restrictions.fixed, np.arange(d))
    extra[restrictions.excluded] = np.inf
    column = int(np.argmin(extra))
    return column, float(prices.total(restrictions.fixed) + extra[column])


def _read_signs(given: Any, d: int, names: Names) -> Indices:
    signs = np.zeros(d, np.int64)
    for columns, value in _values(given, "signs", d, names):
        try:
            known = float(value) in (-1.0, 0.0, 1.0)
        except (TypeError, ValueError):
            known = False
        if not known:
            raise ValueError(
                f"signs: {_label(columns[0], names)} has {value!r}; a sign is 1 (no negative "
                "coefficient), -1 (no positive one) or 0 (any)"
            )
        signs[columns] = int(value)
    return signs


def _read_costs(given: Any, d: int, names: Names, groups: Indices | None) -> Prices:
    if given is None:
        given = np.ones(d)
    purchases = np.full(d, -1, np.int64)
    amounts: list[float] = []
    for columns, value in _values(given, "costs", d, names):
        label = _label(columns[0], names)
        try:
            price = float(value)
        except (TypeError, ValueError):
            price = np.nan
        if not 0 <= price < np.inf:
            raise ValueError(
                f"costs: the price of {label} is {value!r}; a price is a finite number of 0 or more"
            )
        for column in columns:
            if purchases[column] >= 0:
                raise ValueError(f"costs: {_label(column, names)} has two prices")
            purchases[column] = len(amounts)
        amounts.append(price)
    for column in np.flatnonzero(purchases < 0)[:1].tolist():
        raise ValueError(f"costs: there is no price for {_label(column, names)}")
    prices = Prices(np.array(amounts), purchases)
    return prices if groups is None else _by_group(prices, groups, names)


def _by_group(prices: Prices, groups: Indices, names: Names) -> Prices:
    """Prices of groups, which are paid once: their columns have the same."""
    each = prices.amounts[prices.purchases]
    first = np.unique(groups, return_index=True)[1]
    for column in np.flatnonzero(each != each[first][groups])[:1].tolist():
        other = int(first[groups[column]])
        raise ValueError(
            f"costs: {_label(other, names)} costs {each[other]:g} and {_label(column, names)} "
            f"{each[column]:g}, but they are of one group, which is paid once: give all its "
            "columns the price of the group"
        )
    return Prices(each[first], groups)


def _check_budgets(restrictions: Restrictions, d: int, names: Names) -> None:
    """Refuse budgets that buy nothing, or less than must be in every list."""
    prices, budgets = restrictions.prices, restrictions.budgets
    assert prices is not None
    assert budgets is not None
    for budget in budgets[~(budgets >= 0) | np.isinf(budgets)][:1]:
        raise ValueError(f"budget is {budget}: a budget is a finite number of 0 or more")
    least = float(budgets.min())
    required = prices.total(restrictions.fixed)
    if required > least * (1 + 1e-9):
        labels = ", ".join(_label(column, names) for column in restrictions.fixed.tolist())
        raise ValueError(
            f"budget is {least:g}, but what is always included ({labels}) costs {required:g}"
        )
    column, price = cheapest(restrictions, d)
    if restrictions.fixed.size == 0 and price > least * (1 + 1e-9):
        raise ValueError(
            f"budget is {least:g}, but the cheapest, {_label(column, names)}, costs {price:g}"
        )


def _values(given: Any, parameter: str, d: int, names: Names) -> Iterable[tuple[list[int], Any]]:
    """Columns and their value, of a mapping by name or number or of an array for all columns."""
    if hasattr(given, "keys"):
        return [
            (
                [
                    _place(name, parameter, d, names)
                    for name in (key if isinstance(key, tuple) else (key,))
                ],
                given[key],
            )
            for key in given.keys()  # noqa: SIM118 (of a pandas Series too)
        ]
    values = np.asarray(given)
    if values.shape != (d,):
        raise ValueError(
            f"{parameter} must be a dict by column name, or have a value for each of the {d} "
            f"columns; got shape {values.shape}"
        )
    return [([column], value) for column, value in enumerate(values.tolist())]


def _place(name: Any, parameter: str, d: int, names: Names) -> int:
    """Number of the column that a key stands for."""
    if isinstance(name, (int, np.integer)) and not isinstance(name, bool):
        if not 0 <= name < d:
            raise ValueError(f"{parameter} names column {name}; there are {d}")
        return int(name)
    if names is None:
        raise ValueError(f"{parameter} holds names, but X has no column names: give numbers")
    found = np.flatnonzero(names == name)
    if found.size == 0:
        raise ValueError(
            f"{parameter} names {name!r}, which is no column of X; "
            f"{did_you_mean(str(name), [str(known) for known in names])}"
        )
    return int(found[0])


def _label(column: int, names: Names) -> str:
    return f"column {column}" if names is None else f"column {str(names[column])!r}"
