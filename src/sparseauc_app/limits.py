"""Signs, prices and families, from options and small CSV files, for the columns of a table."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseauc._text import did_you_mean
from sparseauc._types import Indices
from sparseauc.path.limits import with_limits
from sparseauc.solvers.restrictions import Restrictions

from .reading import DataError, Table
from .reading.source import unknown_column_error

if TYPE_CHECKING:
    from .fitting import FitSettings

_SIGNS = {"+": 1, "+1": 1, "1": 1, "-": -1, "-1": -1, "−": -1, "−1": -1, "0": 0}


def read_signs(given: Sequence[str]) -> dict[str, int]:
    """Signs by column, of texts such as "age=+,dose=-" and CSV files with columns name and sign."""
    signs = {}
    for name, text, _ in _entries(given, "sign", "--signs"):
        if text not in _SIGNS:
            raise DataError(f"--signs: {name!r} has {text!r}; a sign is +, - or 0")
        signs[name] = _SIGNS[text]
    return signs


def read_costs(given: Sequence[str]) -> tuple[dict[str, float], dict[str, str]]:
    """Prices by column, and bundles by column where a file has a column "bundle"."""
    costs, bundles = {}, {}
    for name, text, bundle in _entries(given, "cost", "--costs"):
        try:
            costs[name] = float(text)
        except ValueError:
            raise DataError(f"--costs: the price of {name!r} is {text!r}, not a number") from None
        if bundle:
            bundles[name] = bundle
    return costs, bundles


def read_families(given: Sequence[str]) -> dict[str, str]:
    """Families by column, of texts such as "probe 1=BRCA1" and CSV files."""
    return {name: text for name, text, _ in _entries(given, "family", "--families") if text}


def _entries(given: Sequence[str], value: str, option: str) -> list[tuple[str, str, str]]:
    """Name, value and bundle of each entry."""
    found: list[tuple[str, str, str]] = []
    for text in given:
        if text.lower().endswith(".csv"):
            found += _rows(Path(text), value, option)
            continue
        for part in text.split(","):
            name, equals, written = part.rpartition("=")
            if not equals:
                raise DataError(
                    f"{option}: {part!r} is neither NAME=VALUE nor a file that ends in .csv"
                )
            found.append((name.strip(), written.strip(), ""))
    for name, count in Counter(name for name, _, _ in found).items():
        if count > 1:
            raise DataError(f"{option}: {name!r} is there twice")
    return found


def _rows(path: Path, value: str, option: str) -> list[tuple[str, str, str]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"{option}: cannot read {path}: {reason}") from None
    if not rows or "name" not in rows[0] or value not in rows[0]:
        raise DataError(f"{option}: {path} needs the columns name and {value}, and a line of them")
    return [
        tuple((row.get(key) or "").strip() for key in ("name", value, "bundle"))  # type: ignore[misc]
        for row in rows
    ]


def limits_for(table: Table, settings: FitSettings) -> dict[str, Any]:
    """What the list must obey, by column number, as the classifiers take it.

    A column of text stands for all its levels, which are bought together. A price list may have
    more columns than the table, and so may a list of families.
    """
    fixed = _places_of(table, settings.always_include, "--always-include")
    signs, costs, bundles = settings.signs, settings.costs, settings.bundles
    limits: dict[str, Any] = dict.fromkeys(("signs", "costs", "bundles"))
    if signs:
        places = {name: _places_of(table, [name], "--signs") for name in signs}
        limits["signs"] = {j: signs[name] for name in signs for j in places[name].tolist()}
    if costs:
        prices = [costs.get(one.name, costs.get(one.column)) for one in table.inputs]
        if None in prices:
            one = table.inputs[prices.index(None)]
            unknown = [name for name in costs if name not in table.columns]
            hint = f"; {did_you_mean(one.column, unknown)}" if unknown else ""
            raise DataError(f"--costs: there is no price for column {one.column!r}{hint}")
        limits["costs"] = prices
        # Levels of text with prices of their own are bought one by one.
        levels = [None if one.name in costs else one.column for one in table.inputs]
        limits["bundles"] = [
            f"bundle {bundles[one.column]}" if one.column in bundles else level
            for one, level in zip(table.inputs, levels, strict=True)
        ]
    families = None
    if settings.families:
        known = settings.families
        families = [known.get(one.name, known.get(one.column)) for one in table.inputs]
        if not any(families):
            raise unknown_column_error(next(iter(known)), table.columns.tolist(), "--families")
    # What is wrong with them is said here, where columns have names.
    budgets = None if settings.budget is None else [settings.budget]
    with_limits(Restrictions(fixed), len(table.inputs), table.columns, budgets=budgets, **limits)
    return {
        "always_include": fixed.tolist() or None, "budget": settings.budget, "families": families,
        "max_per_family": settings.max_per_family, **limits,
    }  # fmt: skip


def _places_of(table: Table, names: Iterable[str], option: str) -> Indices:
    """Numbers of the columns that names stand for, ascending: of text, for all its levels."""
    places: set[int] = set()
    for name in names:
        found = [j for j, one in enumerate(table.inputs) if name in (one.name, one.column)]
        if not found:
            raise unknown_column_error(name, table.columns.tolist(), option)
        places |= set(found)
    return np.array(sorted(places), np.int64)
