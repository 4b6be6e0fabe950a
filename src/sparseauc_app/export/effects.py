"""What each column of the file adds to a score: all that an export is written from."""

import re
from dataclasses import dataclass

import numpy as np

from ..column_types import ColumnType, Kind
from ..scorecard import ScoreCard, Term

# A unit in brackets at the end of a name: "urea (mmol/L)", "weight [kg]".
_UNIT = re.compile(r"^(?P<label>.*\S)\s*[(\[](?P<unit>[^()\[\]]+)[)\]]\s*$", re.DOTALL)


@dataclass(frozen=True)
class Effect:
    """A column of the file and its terms: it adds the sum of coefficient × value to the score.

    The value of a term is 1 or 0 for a level of text, and for a number above a cut; else the number
    within limits, or the logarithm of that plus ``log``. A missing value is replaced after that.

    Attributes
    ----------
    column, label, unit : str
        The column's name, and the same in two parts; ``unit`` is empty if the name has none.
    kind : {"number", "boolean", "text"}
    type : ColumnType
        How its numbers are written, and their range in training.
    levels : tuple of str
        Texts of training; without any, no text is unknown.
    terms : tuple of Term
    """

    column: str
    label: str
    unit: str
    kind: Kind
    type: ColumnType
    levels: tuple[str, ...]
    terms: tuple[Term, ...]

    @property
    def choices(self) -> tuple[str, ...]:
        """Texts to choose from."""
        return self.levels or tuple(one.level for one in self.terms if one.level is not None)

    @property
    def required(self) -> bool:
        """Whether a row without the value has no score."""
        return any(one.fill is None for one in self.terms)

    @property
    def fill(self) -> float | None:
        """What a missing number counts as, if the model fills it in by one."""
        only = len(self.terms) == 1 and self.terms[0].above is None
        return self.terms[0].fill_in_units if only and self.kind == "number" else None

    @property
    def range_text(self) -> str:
        """The training range, or nothing."""
        if self.kind != "number" or self.type.low is None or self.type.high is None:
            return ""
        return f"{self.type.low:.6g} to {self.type.high:.6g}"

    @property
    def fill_text(self) -> str:
        """Say what happens if the value is missing."""
        if self.required:
            return "no score"
        return "as in training" if self.fill is None else f"{self.fill:.4g}"

    def at(self, value: float | str) -> float:
        """Return what the column adds to the score at a value."""
        numbers = [value if one.level is None else value == one.level for one in self.terms]
        part = ScoreCard(self.terms, 0.0, "", "", "", ())
        return float(part.scores(np.array([numbers], np.float64))[0])


def effects_of(card: ScoreCard) -> list[Effect]:
    """Return the effects of a card's columns, in the order of its terms."""
    found = []
    for column in dict.fromkeys(term.column for term in card.terms):
        terms = tuple(term for term in card.terms if term.column == column)
        of = card.type_of(terms[0])
        parts = _UNIT.match(column)
        found.append(
            Effect(
                column=column,
                label=parts["label"] if parts else column,
                unit=parts["unit"] if parts else "",
                kind="text" if terms[0].level is not None else of.kind,
                type=of,
                levels=tuple(level.strip() for level in of.levels),
                terms=terms,
            )
        )
    return found
