"""Families, signs, costs and budgets as a person gives them, turned into restrictions."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._text import did_you_mean
from .._types import Array, Indices
from ..solvers.restrictions import Prices, Restrictions
from ..strata import is_missing

Names = npt.NDArray[Any] | None

# Budgets tried up to the one that is given.
_MOST_BUDGETS = 20


def with_limits(
    restrictions: Restrictions,
    d: int,
    names: Names,
    *,
    families: Any = None,
    max_per_family: int = 1,
    signs: Any = None,
    costs: Any = None,
    bundles: Any = None,
    budgets: Any = None,
) -> Restrictions:
    """Restrictions with families, signs, costs and a budget for each point of the path.

    As ``SparseAUCClassifier`` takes them, of d columns that may have names.
    """
    if families is not None:
        if restrictions.groups is not None:
            raise ValueError(
                "groups and families do not go together: columns of a group are chosen together, "
                "columns of a family compete"
            )
        labels = column_labels(families, "families", d, names)
        fixed = Counter(labels[column] for column in restrictions.fixed.tolist())
        for label in [one for one in fixed if one is not None and fixed[one] > max_per_family]:
            raise ValueError(
                f"always_include names {fixed[label]} columns of family {label!r}, more than "
                f"max_per_family={max_per_family}"
            )
        numbers: dict[Any, int] = {None: 0}
        of_columns = np.array([numbers.setdefault(one, len(numbers)) for one in labels], np.int64)
        restrictions = replace(
            restrictions, families=of_columns, max_per_family=int(max_per_family)
        )
    if signs is not None:
        if restrictions.groups is not None:
            raise ValueError(
                "signs and groups do not go together: columns of a group are chosen together, and "
                "a sign may hold one of them at 0"
            )
        restrictions = replace(restrictions, signs=_read_signs(signs, d, names))
    if costs is not None or budgets is not None:
        if bundles is None:
            bought = restrictions.groups
        elif restrictions.groups is None:
            bought = _read_bundles(bundles, d, names)
        else:
            raise ValueError("groups are paid once, so they and bundles do not go together")
        prices = _read_costs(costs, d, names, bought)
        restrictions = replace(restrictions, prices=prices)
    elif bundles is not None:
        raise ValueError("bundles are about money: give costs or a budget too")
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
    for column, value in _values(given, "signs", d, names):
        if _number(value) not in (-1.0, 0.0, 1.0):
            raise ValueError(
                f"signs: {_label(column, names)} has {value!r}; a sign is 1 (no negative "
                "coefficient), -1 (no positive one) or 0 (any)"
            )
        signs[column] = int(value)
    return signs


def column_labels(given: Any, parameter: str, d: int, names: Names) -> list[Any]:
    """Label of each column, None for columns without one."""
    labels: list[Any] = [None] * d
    for column, value in _values(given, parameter, d, names):
        labels[column] = None if is_missing(value) else value
    return labels


def _read_bundles(given: Any, d: int, names: Names) -> Indices:
    """Bundle of each column, as numbers from 0; columns of none are bundles of their own."""
    labels = enumerate(column_labels(given, "bundles", d, names))
    numbers: dict[Any, int] = {}
    own = ((column,) if label is None else label for column, label in labels)
    return np.array([numbers.setdefault(label, len(numbers)) for label in own], np.int64)


def _read_costs(given: Any, d: int, names: Names, bought: Indices | None) -> Prices:
    each = np.ones(d) if given is None else np.full(d, np.nan)
    unknown = set() if given is None else set(range(d))
    for column, value in () if given is None else _values(given, "costs", d, names):
        each[column] = _number(value)
        unknown.discard(column)
        if not 0 <= each[column] < np.inf:
            raise ValueError(
                f"costs: the price of {_label(column, names)} is {value!r}; a price is a finite "
                "number of 0 or more"
            )
    for column in sorted(unknown)[:1]:
        raise ValueError(f"costs: there is no price for {_label(column, names)}")
    if bought is None:
        return Prices(each, np.arange(d))
    first = np.unique(bought, return_index=True)[1]
    for column in np.flatnonzero(each != each[first][bought])[:1].tolist():
        other = int(first[bought[column]])
        raise ValueError(
            f"costs: {_label(other, names)} costs {each[other]:g} and {_label(column, names)} "
            f"{each[column]:g}, but they are bought together and paid once: give both the price "
            "of all that is bought"
        )
    return Prices(each[first], bought)


def _number(value: Any) -> float:
    """The number that a value is; NaN for others."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan


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


def _values(given: Any, parameter: str, d: int, names: Names) -> Iterable[tuple[int, Any]]:
    """Columns and their value, of a mapping by name or number or of an array for all columns."""
    if hasattr(given, "keys"):  # a pandas Series too
        keys = list(given.keys())
        columns = column_indices(keys, parameter, d, names)
        return [(column, given[key]) for column, key in zip(columns, keys, strict=True)]
    values = np.asarray(given, dtype=object)
    if values.shape != (d,):
        raise ValueError(
            f"{parameter} must be a dict by column name, or have a value for each of the {d} "
            f"columns; got shape {values.shape}"
        )
    return list(enumerate(values.tolist()))


def column_indices(given: Iterable[Any], parameter: str, d: int, names: Names) -> list[int]:
    """Index of each column that a parameter names, or gives by index."""
    known = {} if names is None else {name: column for column, name in enumerate(names)}
    columns = []
    for name in given:
        if isinstance(name, (int, np.integer)) and not isinstance(name, bool):
            if not 0 <= name < d:
                raise ValueError(f"{parameter} names column {name}; there are {d}")
            columns.append(int(name))
        elif name in known:
            columns.append(known[name])
        elif names is None:
            raise ValueError(f"{parameter} holds names, but X has no column names: give numbers")
        else:
            raise ValueError(
                f"{parameter} names {name!r}, which is no column of X; "
                f"{did_you_mean(str(name), [str(other) for other in names])}"
            )
    return columns


def _label(column: int, names: Names) -> str:
    return f"column {column}" if names is None else f"column {str(names[column])!r}"
