"""Limits on the list of a table, from files and options, for its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sparseauc.errors import InputError
from sparseauc.limits import Limits
from sparseauc.limits_files import HEADINGS, LISTS
from sparseauc.utils.text import did_you_mean, quoted

from .reading import DataError, Table
from .reading.source import unknown_column_error


def read_limits(sources: Sequence[str], **given: Any) -> Limits:
    """Read limits from files and texts such as budget=40, and add those given."""
    try:
        limits = Limits.read(sources, **given)
    except OSError as error:
        raise DataError(
            f"--limits: cannot read {error.filename}: {error.strerror or error}"
        ) from None
    except InputError as error:
        raise DataError(f"--limits: {error}" if sources else str(error)) from None
    for field, value in limits.given().items():
        # Text is spread into columns of its levels, after which places are others.
        by_place = field in HEADINGS and not isinstance(value, dict)
        if by_place or (field in LISTS and not all(isinstance(name, str) for name in value)):
            raise DataError(f"--limits: {field} has columns by their place: give their names")
    for name in map(str, limits.always_include):
        column, level, _ = name.partition("=")
        if level and column in limits.exclude:
            raise DataError(
                f"always_include names {name!r}, a level of column {column!r}, which is excluded: "
                "remove it from one of them"
            )
    return limits


def limits_for(table: Table, limits: Limits) -> Limits:
    """Bring limits by name to the columns of a table, by index.

    A text column stands for all its levels. Levels of one that is chosen as a whole are a group,
    and paid for once; else each level that is chosen costs what the column does. Costs and families
    may name more columns than the table has. Values in the order of the table's columns stay as
    they are.
    """
    found: dict[str, Any] = {}
    limits = _with_whole_columns(table, limits)
    if isinstance(limits.costs, dict):
        found["costs"] = _costs(table, limits.costs)
    for name in ("families", "column_groups"):
        known = getattr(limits, name)
        if isinstance(known, dict):
            found[name] = values = _values(table, known)
            if all(value is None for value in values):
                raise _unknown(next(iter(known)), table, name)
    if isinstance(limits.signs, dict):
        places = {name: _places(table, name, "signs") for name in limits.signs}
        found["signs"] = {j: limits.signs[name] for name, own in places.items() for j in own}
    for name in ("always_include", "exclude"):
        columns = getattr(limits, name)
        found[name] = sorted({j for one in columns for j in _places(table, one, name)})
    try:
        expanded = replace(limits, **found)
        # What is wrong with them is said here, where columns have names.
        expanded.resolve(len(table.inputs), table.columns)
    except InputError as error:
        raise DataError(str(error)) from None
    return expanded


def _with_whole_columns(table: Table, limits: Limits) -> Limits:
    """The limits, and that text columns are chosen as a whole where the table says so."""
    given = {} if limits.column_groups is None else limits.column_groups
    if not table.whole or not isinstance(given, dict):
        return limits
    return replace(limits, column_groups={**{name: name for name in table.whole}, **given})


def _costs(table: Table, costs: dict[Any, Any]) -> list[Any]:
    """Cost of each input; of a level without a cost of its own, that of its column."""
    each = _values(table, costs)
    missing = [one.column for one, cost in zip(table.inputs, each, strict=True) if cost is None]
    if missing:
        unknown = [name for name in costs if name not in table.columns and name not in table.types]
        hint = f"; {did_you_mean(missing[0], unknown)}" if unknown else ""
        raise DataError(f"costs: there is no cost for {quoted(dict.fromkeys(missing), 20)}{hint}")
    return each


def _values(table: Table, given: dict[Any, Any]) -> list[Any]:
    """The value of each input, by its own name or that of its column."""
    return [given.get(one.name, given.get(one.column)) for one in table.inputs]


def _places(table: Table, name: Any, field: str) -> list[int]:
    """Indices of the inputs that a name stands for: of a text column, all its levels."""
    if isinstance(name, int):
        return [name]
    column, _, level = str(name).partition("=")
    of_text = column in table.types and level in table.types[column].levels
    if of_text and (column in table.whole or name not in table.columns):
        if field == "exclude":
            raise DataError(
                f"exclude names {name!r}: {column!r} is chosen with all its levels, or not at all; "
                "exclude the column, or have levels chosen one by one with --text one-hot"
            )
        name = column
    places = [j for j, one in enumerate(table.inputs) if name in (one.name, one.column)]
    # Limits may name columns that were left out, such as identifiers.
    if not places and field == "always_include" and name in table.left_out:
        raise DataError(f"{field}: {name!r} is left out ({table.left_out[name]})")
    if not places and name not in table.left_out:
        raise _unknown(name, table, field)
    return places


def _unknown(name: Any, table: Table, field: str) -> DataError:
    return unknown_column_error(str(name), table.columns.tolist(), field)
