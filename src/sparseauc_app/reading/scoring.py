"""Read a model's columns from a new table, by name and by their types in training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparseauc.columns.reading import number_texts
from sparseauc.utils.text import quoted
from sparseauc.utils.types import Array

from ..column_types import ColumnType, Labels
from ..text import shortened
from .columns import (
    Marks,
    is_given,
    is_number,
    is_text,
    kind_of,
    numbers,
    parse_numbers,
    texts,
)
from .source import DataError, Source

if TYPE_CHECKING:
    from ..scorecard import ScoreCard, Term

# A mean is said to have moved if it did so by this many training standard deviations
# and by this many standard errors.
MOVED = 0.25
CERTAIN = 3.0
# Standard deviations by which a mean has moved too far for any number of rows.
FAR = 2.0


@dataclass(frozen=True)
class ColumnShift:
    """A chosen column in the new rows, compared with training.

    ``missing`` are shares; ``mean_shift`` is the mean of the new rows minus that of
    training, in standard deviations of training; ``outside`` counts values outside the
    training range.
    """

    name: str
    missing: float
    missing_before: float | None
    mean_shift: float | None
    outside: int
    moved: bool

    @property
    def sentence(self) -> str:
        """Warning of a mean that has moved."""
        return (
            f"The mean of {self.name!r} has moved by {self.mean_shift:+.1f} training standard "
            "deviations. Check its unit and how it is measured."
        )


def compare_columns(card: ScoreCard, values: Array) -> list[ColumnShift]:
    """Compare the columns with their training distribution on the card."""
    before: Mapping[str, Any] = card.summary.get("distributions") or {}
    shifts = []
    for j, term in enumerate(card.terms):
        column = values[:, j]
        present = column[~np.isnan(column)]
        known = before.get(term.column)
        shift = None
        moved = False
        if known is not None and present.size and float(known.get("std", 0.0)) > 0:
            shift = float((present.mean() - float(known["mean"])) / float(known["std"]))
            error = np.sqrt(1 / present.size + 1 / max(1, int(known["rows"])))
            moved = bool(abs(shift) > max(MOVED, CERTAIN * error))
        of = card.types.get(term.column)
        outside = 0
        if of is not None and of.low is not None and of.high is not None:
            outside = int(np.count_nonzero((present < of.low) | (present > of.high)))
        shifts.append(
            ColumnShift(
                name=term.column,
                missing=1 - present.size / column.size,
                missing_before=None if known is None else float(known["missing"]),
                mean_shift=shift,
                outside=outside,
                moved=moved,
            )
        )
    return shifts


# Share of rows outside the range of training from which a column is warned of.
MANY_OUTSIDE = 0.2
TRUE = ("1", "true", "TRUE", "True")
FALSE = ("0", "false", "FALSE", "False")


@dataclass(frozen=True, eq=False, repr=False)
class ScoredRows:
    """Values of a model's columns, of texts numbers of levels, and scores of the rows."""

    values: Array
    scores: Array
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def written_columns(card: ScoreCard) -> set[str]:
    """Columns to read as text first, and then by their types in training."""
    types = {term.column: card.type_of(term) for term in card.terms}
    return {
        name
        for name, of in types.items()
        if of.kind != "number" or of.decimal is not None
    }


def score_rows(source: Source, card: ScoreCard) -> ScoredRows:
    """Read the values of the model's columns, and score the rows.

    A text file is to be read with ``as_text=written_columns(card)``. Columns that the
    model does not use are ignored, whatever they hold.
    """
    _check_present(source, card)
    values = np.zeros((source.n_rows, len(card.terms)))
    notes: list[str] = []
    warnings: list[str] = []
    for j, term in enumerate(card.terms):
        of = card.type_of(term)
        unseen = np.empty(0, object)
        if of.kind == "text":
            values[:, j], unseen = _read_levels(source, term, of.levels)
        else:
            values[:, j] = read_numbers(source, term.column, of)
        _tell(values[:, j], term, of, unseen, notes, warnings)
    infinite = np.flatnonzero(np.isinf(values).any(axis=0)).tolist()
    if infinite:
        named = quoted([card.terms[j].column for j in infinite])
        raise DataError(f"{source.name}: infinite values in {named}")
    try:
        scores = card.scores(values)
    except ValueError as error:
        raise DataError(f"{source.name}: {error}") from None
    warnings += _warn_of_units(card, values)
    return ScoredRows(values, scores, tuple(notes), tuple(warnings))


def _warn_of_units(card: ScoreCard, values: Array) -> list[str]:
    """Warn about columns whose mean is far from that of training, however many rows there are."""
    try:
        shifts = compare_columns(card, values)
    except (AttributeError, KeyError, TypeError, ValueError):
        return []  # of a damaged summary, without which rows can be scored
    measured = [card.type_of(term).kind == "number" for term in card.terms]
    return [
        one.sentence
        for one, number in zip(shifts, measured, strict=True)
        if number and one.mean_shift is not None and abs(one.mean_shift) >= FAR
    ]


def _check_present(source: Source, card: ScoreCard) -> None:
    columns = [term.column for term in card.terms]
    absent = [name for name in columns if name not in source.names]
    if len(absent) > 1:
        raise DataError(
            f"{source.name} lacks {len(absent)} of the {len(columns)} columns that the model "
            f"uses: {quoted(absent, 10)}"
        )


def read_numbers(source: Source, name: str, of: ColumnType, option: str = "") -> Array:
    """A column of numbers or booleans, NaN where missing."""
    column = source.column(name, option)
    kind = kind_of(column)
    if kind == "empty":
        return np.full(source.n_rows, np.nan)
    if not is_text(column.type):
        if kind in ("number", "boolean"):
            return numbers(column)
        raise DataError(
            f"{source.name}: {name!r} must be numeric, but is {column.type}"
        )
    marks = Marks(of.decimal or ".", of.thousands)
    if of.kind == "boolean":
        found = _read_booleans(column)
    else:
        found = parse_numbers(column, marks, limits=of.limits)
    if isinstance(found, int):
        entry = shortened(str(column[found].as_py()), 20)
        wanted = "true or false" if of.kind == "boolean" else "numbers"
        message = f"{source.name}: {name!r} must hold {wanted}, but is {entry!r} in row {found + 1}"
        if of.kind != "boolean" and marks != Marks("."):
            decimal = "comma" if of.decimal == "," else "point"
            message += f"; in training numbers had a decimal {decimal}"
            grouped = (
                ""
                if of.thousands is None
                else f" and {of.thousands!r} between thousands"
            )
            message += grouped
        raise DataError(message)
    return numbers(found.cast(pa.float64()))


def _read_booleans(column: pa.ChunkedArray) -> pa.ChunkedArray | int:
    """1 for true and 0 for false, or the place of the first entry that is neither."""
    column = pc.utf8_trim_whitespace(column)
    true = pc.is_in(column, value_set=pa.array(TRUE))
    known = pc.or_(true, pc.is_in(column, value_set=pa.array(FALSE)))
    place: int = pc.index(pc.or_(known, pc.is_null(column)), False).as_py()
    return (
        pc.if_else(pc.is_null(column), None, true).cast(pa.uint8())
        if place < 0
        else place
    )


def _read_levels(
    source: Source, term: Term, known: tuple[str, ...]
) -> tuple[Array, Labels]:
    """Numbers of the levels of a column of text, NaN where missing or unseen; and texts unseen."""
    column = source.column(term.column)
    kind = kind_of(column)
    if kind not in ("text", "empty") and not pa.types.is_integer(column.type):
        raise DataError(
            f"{source.name}: {term.column!r} was text in training, but is {column.type} here: "
            "write it as text"
        )
    entries = texts(column)
    levels = tuple(level.strip() for level in known)
    found = number_texts(entries, levels)
    new = is_given(entries) & np.isnan(found)
    numbers_of = {float(level): level for level in levels if is_number(level)}
    for entry in [] if is_text(column.type) else entries[new].tolist():
        if float(entry) in numbers_of:  # 01 has become 1
            raise DataError(
                f"{source.name}: {term.column!r} was text in training, such as "
                f"{numbers_of[float(entry)]!r}, but is the number {entry} here: write text"
            )
    entries[~new] = None
    return found, entries


def _tell(
    values: Array,
    term: Term,
    of: ColumnType,
    unseen: Labels,
    notes: list[str],
    warnings: list[str],
) -> None:
    """Note imputed values of a column, and warn about values unlike those of training."""
    n = values.size
    count = int(np.count_nonzero(np.isnan(values)))
    rows = np.flatnonzero(is_given(unseen))
    if rows.size:
        warnings.append(
            f"{term.column!r} has levels not seen in training in {rows.size} of {n} rows, first "
            f"{shortened(str(unseen[rows[0]]), 20)!r} in row {rows[0] + 1}: treated as missing"
        )
    if count and not np.isnan(term.formula.missing):
        by = "" if term.fill is None else f" by {term.fill:.4g}"
        said = f"{term.column!r} is missing in {count} of {n} rows: imputed{by}"
        (warnings if count == n else notes).append(said)
    if of.kind == "number" and of.low is not None and of.high is not None:
        width = of.high - of.low
        outside = np.flatnonzero((values < of.low) | (values > of.high))
        far = np.flatnonzero((values < of.low - width) | (values > of.high + width))
        if outside.size >= MANY_OUTSIDE * max(1, n - count):
            how = ""
            which = outside
        else:
            how = "far "
            which = far
        if which.size:
            warnings.append(
                f"{term.column!r} is {how}outside its training range, {of.low:.4g} to "
                f"{of.high:.4g}, in {which.size} of {n} rows, first in row {which[0] + 1}. "
                "Check the unit"
            )
