"""Turn the columns of a file into a data frame of numbers and texts."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sparseauc.utils.text import listed, quoted

from ..column_types import ColumnType, Kind
from ..text import shortened
from .columns import (
    COMMA,
    POINT,
    Marks,
    both_meanings,
    conventions_of,
    is_number,
    is_text,
    kind_of,
    loses_digits,
    numbers,
    parse_numbers,
    texts,
)
from .source import DataError, Source

Text = Literal["auto", "drop"]
Missing = Literal["refuse", "median", "drop-rows"]

# Text with more levels is left out by default.
MAX_LEVELS = 20
# A text column with this share of numbers was probably meant to be numeric.
_NEARLY = 0.8


@dataclass(frozen=True)
class Rules:
    """Rules of reading a file's columns. What would change or lose numbers is refused by default.

    Attributes
    ----------
    target : str, optional
        Outcome column.
    positive : str, optional
        Label of the positive class. By default the label that sorts last, unless it is
        a word such as "control" or "no". Required with three or more labels; all others
        are then negative.
    negative : str, optional
        Label of the negative class. Rows with other labels are left out.
    time : str, optional
        Column of the time of the event, or until which a row is known to have been
        without it. The outcome then says which rows had the event, and all others are
        censored.
    horizon : float, optional
        Time until which risks are given. By default that by which 80 % of the events
        have happened.
    within : bool
        Ask a binary question instead: did the event come until the horizon?
    weights : str, optional
        Column that says what each row counts.
    groups, strata, ids : str, optional
        Columns of related rows, of strata within which rows are compared, and of row
        identifiers.
    exclude : sequence of str
        Columns to leave out.
    text : {"auto", "drop"}
        Text columns: each is chosen with all its levels or not at all, as one column.
        Dates and text with more than ``max_levels`` levels are left out; "drop" leaves
        out all of them.
    max_levels : int
        Largest number of levels of a text column that is used.
    numeric : sequence of str
        Text columns to read as numbers: ``>2000`` as 2000, text without a digit as
        missing.
    missing : {"refuse", "median", "drop-rows"}
        Missing values. With "median" a missing number counts as the median of the
        training rows of each fit, and missing text as a level of its own.
    missing_codes : sequence of str
        Values such as -9 that are read as empty.
    keep : sequence of str
        Columns that are not left out as identifiers, as copies of others, or for their
        levels.
    """

    target: str | None = None
    positive: str | None = None
    negative: str | None = None
    time: str | None = None
    horizon: float | None = None
    within: bool = False
    weights: str | None = None
    groups: str | None = None
    strata: str | None = None
    ids: str | None = None
    exclude: Sequence[str] = ()
    text: Text = "auto"
    missing: Missing = "refuse"
    max_levels: int = MAX_LEVELS
    numeric: Sequence[str] = ()
    missing_codes: Sequence[str] = ()
    keep: Sequence[str] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """Columns of labels, groups and row identifiers, read as text."""
        named = (self.target, self.groups, self.strata, self.ids)
        return tuple(name for name in named if name is not None)

    @property
    def aside(self) -> set[str]:
        """Columns that are no predictors."""
        numbers = (name for name in (self.time, self.weights) if name is not None)
        return {*self.labels, *numbers, *self.exclude}

    @property
    def written(self) -> tuple[str, ...]:
        """All columns that are read as text."""
        return (*self.labels, *self.numeric)


@dataclass(frozen=True, eq=False)
class Features:
    """A file's columns as a frame, with those left out and why, and notes on what was done."""

    X: Any
    types: Mapping[str, ColumnType] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()


def encode_columns(
    source: Source, aside: Collection[str], rules: Rules, problems: list[DataError]
) -> Features:
    """Make a frame of all columns but those set aside.

    What is in the way is added to the problems, and the columns concerned are left out.
    """
    import pandas as pd  # takes a while, and new rows do without it

    limited, marks = _read_numeric(source, rules.numeric)
    source = replace(source, frame=limited, marks={**source.marks, **marks})
    if doubtful := [name for name in source.doubtful if name not in aside]:
        problems.append(_two_meanings(source, doubtful))
    aside = {*aside, *source.doubtful}
    frame = source.frame.select([name for name in source.names if name not in aside])
    kinds = {name: kind_of(frame.column(name)) for name in frame.column_names}
    levels, left_out, notes = _choose_levels(source, kinds, rules, problems)
    values: dict[str, Any] = {}
    types: dict[str, ColumnType] = {}
    inexact: list[str] = []
    for name, kind in kinds.items():
        column = frame.column(name)
        if kind in ("number", "boolean"):
            found = numbers(column)
            if loses_digits(column, found, written=name in source.marks):
                inexact.append(name)
            values[name] = found
            types[name] = _type_of_numbers(
                kind, found, source.marks.get(name), name in marks
            )
        elif name in levels:
            values[name] = pd.Categorical(texts(column), levels[name])
            types[name] = ColumnType("text", levels=tuple(levels[name]))
    if inexact:
        problems.append(_refuse_inexact(inexact))
    unused = {name: why for name, why in left_out.items() if kinds[name] != "empty"}
    notes = [*_note_on_text(levels, unused, rules), *notes]
    float32 = {
        str(frame.column(name).type) for name, kind in kinds.items() if kind == "number"
    }
    single = np.float32 if float32 == {"float"} else np.float64
    return Features(_make_frame(values, frame.num_rows, single), types, left_out, notes)


def _make_frame(values: Mapping[str, Any], n_rows: int, dtype: npt.DTypeLike) -> Any:
    """Return columns as a frame: numbers of one type, in one array, and texts."""
    import pandas as pd

    numeric = [
        name for name, column in values.items() if isinstance(column, np.ndarray)
    ]
    X = np.empty((n_rows, len(numeric)), dtype, order="F")
    for j, name in enumerate(numeric):
        X[:, j] = values[name]
    frame = pd.DataFrame(X, columns=numeric, copy=False)
    if len(numeric) < len(values):
        others = {name: column for name, column in values.items() if name not in frame}
        frame = pd.concat([frame, pd.DataFrame(others)], axis=1)[[*values]]
    return frame


def _type_of_numbers(
    kind: Kind, values: npt.NDArray[Any], marks: Marks | None, limits: bool
) -> ColumnType:
    """The type of a column of numbers: how they are written, and their range."""
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (None, None)
    decimal, thousands = marks or (None, None)
    return ColumnType(kind, decimal, thousands, (), low, high, limits)


def _refuse_inexact(names: Sequence[str]) -> DataError:
    """The error for numbers that double precision cannot hold."""
    return DataError(
        f"{quoted(names)}: numbers beyond 2^53 or of more than 17 digits, which double "
        "precision cannot tell apart. --exclude or --ids leaves out a column; subtract a "
        "constant from measurements",
        [part for name in names for part in ("--exclude", name)],
    )


def _read_numeric(
    source: Source, numeric: Collection[str]
) -> tuple[Any, dict[str, Marks]]:
    """The frame with columns of text as numbers, and how those are written."""
    frame = source.frame
    found = {}
    for name in numeric:
        column = source.column(name, "--numeric")
        if not is_text(column.type):
            continue
        fitting = conventions_of(column, limits=True)
        if not fitting:
            place = max(
                int(parse_numbers(column, one, limits=True)) for one in (POINT, COMMA)
            )
            raise DataError(
                f"--numeric: {name!r} is {shortened(str(column[place].as_py()), 20)!r} in row "
                f"{place + 1}, which is not a number"
            )
        chosen = [one for one in fitting if one.decimal == source.decimal] or fitting
        if len(chosen) > 1:
            raise _two_meanings(source, [name])
        found[name] = chosen[0]
        values = parse_numbers(column, chosen[0], limits=True)
        frame = frame.set_column(frame.column_names.index(name), name, values)
    return frame, found


def _two_meanings(source: Source, names: Sequence[str]) -> DataError:
    meanings = both_meanings(source.column(names[0]))
    return DataError(
        f"{quoted(names)}: the numbers can be read in two ways, {meanings}. --format "
        "decimal=comma says that commas are decimal commas and points are between thousands, "
        "--format decimal=point the reverse",
        [
            "--format",
            "decimal=" + ("comma" if "." in meanings.split("'")[1] else "point"),
        ],
    )


def _choose_levels(
    source: Source, kinds: Mapping[str, str], rules: Rules, problems: list[DataError]
) -> tuple[dict[str, list[str]], dict[str, str], list[str]]:
    """Levels of the columns of text to use; those left out, and why; and what to note of them."""
    empty = [name for name, kind in kinds.items() if kind == "empty"]
    left_out = dict.fromkeys(empty, "empty")
    notes = [f"empty columns left out: {quoted(empty)}"] if empty else []
    found = [name for name, kind in kinds.items() if kind in ("text", "date", "other")]
    if rules.text == "drop":
        left_out |= dict.fromkeys(found, "not numeric")
        return {}, left_out, notes + _nearly_numbers(source, found)
    levels, unfit = _few_levels(source, kinds, found, rules)
    numeric = [name for name in unfit if _readable_numbers(source.column(name))]
    if numeric:
        problems.append(_ask_for_numbers(source, numeric))
    notes += _nearly_numbers(source, [name for name in found if name not in numeric])
    return levels, left_out | unfit, notes


def _few_levels(
    source: Source, kinds: Mapping[str, str], names: Sequence[str], rules: Rules
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Sorted levels of the columns of text that have few, and why the others are unfit."""
    levels = {}
    unfit = {}
    for name in names:
        if kinds[name] != "text":
            unfit[name] = "a date" if kinds[name] == "date" else "not text"
            continue
        found = sorted(
            {entry for entry in texts(source.column(name)) if entry is not None}
        )
        if len(found) in (1, source.n_rows):
            unfit[name] = (
                f"only {found[0]!r}" if len(found) == 1 else "differs in every row"
            )
        elif len(found) > rules.max_levels and name not in rules.keep:
            unfit[name] = f"text with {len(found)} levels"
        else:
            levels[name] = found
    return levels, unfit


def _note_on_text(
    used: Collection[str], left_out: Mapping[str, str], rules: Rules
) -> list[str]:
    """One sentence on what was done with columns of text."""
    parts = []
    hint = ""
    if used:
        parts.append(
            f"text columns are chosen with all their levels or not at all: {quoted(used)}"
        )
    if left_out:
        named = [f"{name!r} ({why})" for name, why in left_out.items()]
        parts.append(f"text and dates left out: {listed(named, 20)}")
        if any(why.startswith("text with") for why in left_out.values()):
            hint = f". --text {rules.text}:N uses text of up to N levels"
    return ["; ".join(parts) + hint] if parts else []


def _ask_for_numbers(source: Source, names: Sequence[str]) -> DataError:
    """The error for columns of text that are numbers but for a few entries."""
    return DataError(
        f"{'; '.join(_nearly_numbers(source, names))}; --exclude leaves out a column",
        [part for name in names for part in ("--numeric", name)],
    )


def _readable_numbers(column: Any) -> bool:
    """Return whether most texts of a column are numbers, and all can be read with limits."""
    if not is_text(column.type):
        return False
    entries, other = _not_numbers(column)
    return len(other) < entries and bool(conventions_of(column, limits=True))


def _not_numbers(column: Any) -> tuple[int, list[str]]:
    """Number of texts in a column that was probably meant to be numeric, and those that are none.

    0 of any other column.
    """
    entries = [entry for entry in texts(column) if entry is not None]
    other = [entry for entry in entries if not is_number(entry)]
    nearly = len(entries) - len(other) >= _NEARLY * len(entries)
    return (len(entries), other) if nearly else (0, [])


def _nearly_numbers(source: Source, names: Sequence[str]) -> list[str]:
    """A sentence on each text column in which most entries are numbers."""
    found = []
    for name in names:
        entries, other = _not_numbers(source.column(name))
        if entries and not other:
            found.append(
                f"{name!r}: numbers stored as text; --numeric {name!r} reads them"
            )
        elif entries:
            found.append(
                f"{name!r}: {entries - len(other)} of {entries} values are numbers, "
                f"{len(other)} are like {shortened(other[0], 20)!r}; --numeric {name!r} reads "
                "limits such as >5 as 5, and text without a digit as missing"
            )
    return found
