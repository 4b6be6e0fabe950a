"""Limits on the list of a table, from files and options, for its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sparseauc.errors import InputError
from sparseauc.limits import Limits
from sparseauc.limits_files import HEADINGS, LISTS
from sparseauc.utils.text import did_you_mean, quoted
from sparseauc.utils.types import Indices

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
        # Some columns are left out, after which places are others.
        by_place = field in HEADINGS and not isinstance(value, dict)
        if by_place or (
            field in LISTS and not all(isinstance(name, str) for name in value)
        ):
            raise DataError(
                f"--limits: {field} has columns by their place: give their names"
            )
    return limits


def limits_for(table: Table, limits: Limits) -> Limits:
    """Bring limits to the columns of a table.

    They may name more columns than the table has: such as were left out, or with costs
    and families any others.
    """
    known = {*table.names}
    found: dict[str, Any] = {}
    for field in ("costs", "families", "column_groups", "signs"):
        given = getattr(limits, field)
        if isinstance(given, dict):
            found[field] = {
                name: value for name, value in given.items() if name in known
            }
            if field == "signs" or not found[field]:
                _refuse_unknown(
                    [name for name in given if name not in known], table, field
                )
    for field in ("always_include", "exclude"):
        names = getattr(limits, field)
        here = [name for name in names if name in known or isinstance(name, int)]
        _refuse_unknown([name for name in names if name not in here], table, field)
        found[field] = here
    if "costs" in found:
        _refuse_free(found["costs"], limits.costs, table)
    try:
        brought = replace(limits, **found)
        # What is wrong with them is said here, and not by each fold.
        resolved = brought.resolve(len(table.names), np.array(table.names))
    except InputError as error:
        raise DataError(str(error)) from None
    _refuse_text(table, resolved.signs_of(np.arange(len(table.names))))
    return brought


def _refuse_text(table: Table, signs: Indices) -> None:
    """Refuse signs of text of more than two levels, which has several coefficients."""
    texts = [
        table.names[j]
        for j, levels in table.numbers.levels.items()
        if len(levels) > 2 and signs[j] != 0
    ]
    if texts:
        raise DataError(
            f"signs are of numbers, and of text of two levels, but not of {quoted(texts)}"
        )


def _refuse_free(costs: Mapping[str, Any], given: Any, table: Table) -> None:
    """Refuse columns without a cost, where others have one."""
    free = [name for name in table.names if name not in costs]
    if free:
        others = [str(name) for name in given if name not in table.types]
        hint = f"; {did_you_mean(free[0], others)}" if others else ""
        raise DataError(f"costs: there is no cost for {quoted(free, 20)}{hint}")


def _refuse_unknown(names: Sequence[Any], table: Table, field: str) -> None:
    """Refuse names that are of no column, or of one that was left out and must be on the list."""
    for name in names:
        if name not in table.left_out:
            raise unknown_column_error(str(name), list(table.names), field)
        if field == "always_include":
            raise DataError(f"{field}: {name!r} is left out ({table.left_out[name]})")
