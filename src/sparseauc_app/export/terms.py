"""How the value of a term is computed: one description for every target of an export.

A term reads a column, changes the number by steps, and replaces a missing value by its fill. A
target writes each kind of step in its own language; :func:`write_steps` refuses the others.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from ..column_types import ColumnType, Kind, Mark
from ..scorecard import ScoreCard, Term

Text = TypeVar("Text")
# For each kind of step a function of the step and of what it is applied to.
Writers = Mapping[type, Callable[[Any, Text], Text]]


@dataclass(frozen=True)
class IsLevel:
    """1 if the text is the level, 0 if it is another known level, else missing.

    Without ``levels`` every other text counts as known.
    """

    level: str
    levels: tuple[str, ...]


@dataclass(frozen=True)
class IsAbove:
    """1 if the number is larger than the cut, else 0."""

    cut: float


@dataclass(frozen=True)
class Clip:
    """The number, but ``low`` if it is smaller and ``high`` if it is larger; None is no limit."""

    low: float | None
    high: float | None


@dataclass(frozen=True)
class Log:
    """The natural logarithm of the number plus the offset; limits keep that above 0."""

    offset: float


Step = IsLevel | IsAbove | Clip | Log

# The fields of a term that the steps below express. A term that uses another one is refused.
_EXPRESSED = {"column", "level", "coefficient", "fill", "above", "low", "high", "log"}


@dataclass(frozen=True)
class TermValue:
    """A term as every target computes it: ``coefficient`` × the column's value after ``steps``.

    Attributes
    ----------
    name, column : str
        Names of the term and of the column that it reads.
    kind : {"number", "boolean", "text"}
    limits : bool
        Whether ``>2000`` is read as 2000, and text without a digit as missing.
    decimal, thousands : str, optional
        Marks of numbers that are written as text; None if there were none.
    steps : tuple of Step
    fill : float, optional
        Replaces a missing value, after all steps; without it, the row has no score.
    coefficient : float
    """

    name: str
    column: str
    kind: Kind
    limits: bool
    steps: tuple[Step, ...]
    fill: float | None
    coefficient: float
    decimal: Mark | None = None
    thousands: Mark | None = None


def term_values(card: ScoreCard) -> list[TermValue]:
    """Describe how each term of a card is computed.

    Raises
    ------
    ValueError
        If a term has a setting that no export expresses.
    """
    return [_describe(term, card.type_of(term)) for term in card.terms]


def _describe(term: Term, of: ColumnType) -> TermValue:
    for one in fields(term):
        if one.name not in _EXPRESSED and getattr(term, one.name) != one.default:
            raise ValueError(f"{term.name!r} has the setting {one.name!r}, which is not exported")
    steps: list[Step] = []
    if term.level is not None:
        levels = tuple(level.strip() for level in of.levels)
        steps.append(IsLevel(term.level.strip(), levels))
    elif term.above is not None:
        steps.append(IsAbove(term.above))
    elif term.clips:
        steps.append(Clip(term.low, term.high))
    if term.log is not None:
        steps.append(Log(term.log))
    kind: Kind = of.kind if term.level is None else "text"
    return TermValue(
        term.name,
        term.column,
        kind,
        of.limits,
        tuple(steps),
        term.fill,
        term.coefficient,
        of.decimal,
        of.thousands,
    )


def write_steps(value: TermValue, start: Text, writers: Writers[Text], target: str) -> Text:
    """Write a term's steps one after the other, each applied to the result of the one before.

    Parameters
    ----------
    value : TermValue
    start : object
        What stands for the number in the column.
    writers : Writers
    target : str
        Name of the target, for the error.

    Raises
    ------
    ValueError
        If the target has no writer for a step.
    """
    for step in value.steps:
        if type(step) not in writers:
            raise ValueError(f"{value.name!r}: {target} has no way to write {step}")
        start = writers[type(step)](step, start)
    return start
