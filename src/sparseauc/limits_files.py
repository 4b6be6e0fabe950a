"""Reading of limits from files and texts, as parameters of ``Limits``."""

import csv
import io
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .errors import InputError
from .utils.text import did_you_mean

# Fields with a value for each column, and the heading of each in a CSV file.
HEADINGS = {
    "signs": "sign",
    "costs": "cost",
    "families": "family",
    "column_groups": "column_group",
}
# Fields that are lists of columns.
LISTS = ("always_include", "exclude")
_NUMBERS = ("budget", "max_per_family")
# A key of many parts, such as a.b.c, over which tomllib takes the square of their
# number.
_DEEP = re.compile(r"""(\.[ \t]*["'\w-]+[ \t]*){50}""")


def read_source(source: str, known: Sequence[str]) -> dict[str, Any]:
    """Read parameters of Limits, whose names are known, from a file or a text like "budget=40"."""
    name, equals, value = source.partition("=")
    if equals and name in LISTS:
        return {name: [value]}
    if equals and name in _NUMBERS:
        return {name: _read_number(source, value)}
    path = Path(source)
    kind = path.suffix.lower()
    if kind == ".toml":
        return _read_toml(path, known)
    if kind == ".csv":
        return _read_csv(path)
    wanted = " nor ".join(f"{one}=X" for one in _NUMBERS)
    raise InputError(f"{source} is neither a .toml nor a .csv file, nor {wanted}")


def combine(
    one: Mapping[str, Any], other: Mapping[str, Any], source: str
) -> dict[str, Any]:
    """Bring together parameters of Limits; what both give is refused."""
    both = dict(one)
    for name, value in other.items():
        if name in LISTS:
            earlier = one.get(name, ())
            both[name] = (
                *earlier,
                *(column for column in value if column not in earlier),
            )
        elif not one.get(name) or not value:
            both[name] = value or one.get(name)
        elif isinstance(value, dict) and isinstance(one[name], Mapping):
            for column in value.keys() & one[name].keys():
                raise InputError(f"{source}: {name} of {column!r} is given twice")
            both[name] = {**one[name], **value}
        else:
            raise InputError(f"{source}: {name} is given twice")
    return both


def number_or_nan(value: Any) -> float:
    """The number that a value is; NaN for others."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan


def _read_toml(path: Path, known: Sequence[str]) -> dict[str, Any]:
    """Read parameters of Limits, whose names are known, from a TOML file."""
    text = _read_text(path)
    if _DEEP.search(text):
        raise InputError(
            f"{path} is not a file of limits: a key has more than 50 parts"
        )
    try:
        content = tomllib.loads(text)
    # Long numbers, and lists within lists within lists.
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a TOML file: {error}") from None
    for name in content:
        if name not in known:
            raise InputError(
                f"{path}: {name!r} is not a limit; {did_you_mean(name, known)}"
            )
        if name in LISTS and not isinstance(content[name], list):
            raise InputError(f"{path}: {name} must be a list of columns")
    return content


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8: {error}") from None


def _read_csv(path: Path) -> dict[str, Any]:
    """Read parameters of Limits from a CSV file."""
    rows = _read_rows(path)
    names = _cells(rows, "name")
    for name, count in Counter(names).items():
        if count > 1:
            raise InputError(f"{path}: {name!r} occurs {count} times")
    content: dict[str, Any] = {}
    for field, heading in HEADINGS.items():
        values = zip(names, _cells(rows, heading), strict=True)
        content[field] = {name: value for name, value in values if value}
    for name, cost in content["costs"].items():
        content["costs"][name] = number_or_nan(cost)
        if np.isnan(content["costs"][name]):
            raise InputError(f"{path}: the cost of {name!r} is {cost!r}, not a number")
    include = [word.lower() for word in _cells(rows, "include")]
    for name, word in zip(names, include, strict=True):
        if word not in ("", "always", "never"):
            raise InputError(
                f"{path}: include of {name!r} is {word!r}, not always or never"
            )
    for field, word in zip(LISTS, ("always", "never"), strict=True):
        content[field] = [
            name for name, one in zip(names, include, strict=True) if one == word
        ]
    return content


def _read_rows(path: Path) -> list[dict[str, str]]:
    """Read the rows of a CSV file that has a column of names and one or more of limits."""
    try:
        rows = list(csv.DictReader(io.StringIO(_read_text(path))))
    except csv.Error as error:
        raise InputError(f"{path} is not a CSV file: {error}") from None
    headings = {*HEADINGS.values(), "include"}
    given = headings & set(rows[0] if rows else ())
    if not given or "name" not in rows[0]:
        raise InputError(
            f"{path} needs a column name and one or more of {', '.join(sorted(headings))}, "
            "and at least one row"
        )
    return rows


def _cells(rows: Sequence[Mapping[str, str]], heading: str) -> list[str]:
    """Return the text of each row under a heading, empty where there is none."""
    return [(row.get(heading) or "").strip() for row in rows]


def _read_number(source: str, text: str) -> int | float:
    try:
        number = float(text)
    except ValueError:
        raise InputError(f"{source}: {text!r} is not a number") from None
    return int(number) if number == np.floor(number) < np.inf else number
