"""What each column of the file adds to a score: all that an export is written from."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparseauc.columns import Pieces, Table

from ..column_types import ColumnType, Kind
from ..scorecard import ScoreCard, Term

# A unit in brackets at the end of a name: "urea (mmol/L)", "weight [kg]".
_UNIT = re.compile(r"^(?P<label>.*\S)\s*[(\[](?P<unit>[^()\[\]]+)[)\]]\s*$", re.DOTALL)


@dataclass(frozen=True)
class Effect:
    """A column of the file, and what it adds to the score.

    Attributes
    ----------
    label, unit : str
        The column's name in two parts; ``unit`` is empty if the name has none.
    type : ColumnType
        How its values are written, and their range in training.
    term : Term
    """

    label: str
    unit: str
    type: ColumnType
    term: Term

    @property
    def column(self) -> str:
        """Name of the column."""
        return self.term.column

    @property
    def kind(self) -> Kind:
        """What its values are."""
        return "text" if isinstance(self.formula, Table) else self.type.kind

    @property
    def formula(self) -> Pieces | Table:
        """How anyone can compute the effect."""
        return self.term.formula

    @property
    def levels(self) -> dict[str, float]:
        """Effect of each text; any other counts as missing."""
        return dict(self.formula.effects) if isinstance(self.formula, Table) else {}

    @property
    def required(self) -> bool:
        """Whether a row without the value has no score."""
        return bool(np.isnan(self.formula.missing))

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
        number = self.term.fill if self.kind == "number" else None
        return "as in training" if number is None else f"{number:.4g}"

    def at(self, value: float | str) -> float:
        """Return what the column adds to the score at a value."""
        values: Any = [value]
        return float(self.formula.at(values)[0])

    def as_dict(self) -> dict[str, Any]:
        """Return the formula as JSON can hold it; None where a number has no end, or is missing."""
        formula = self.formula
        missing = None if self.required else formula.missing
        if isinstance(formula, Table):
            return {"effects": self.levels, "missing": missing}
        pieces = [[_finite(one.start), one.origin, *one.coef] for one in formula.pieces]
        ends = {"low": _finite(formula.low), "high": _finite(formula.high)}
        return {"missing": missing, **ends, "pieces": pieces}


def _finite(number: float) -> float | None:
    return number if np.isfinite(number) else None


def effects_of(card: ScoreCard) -> list[Effect]:
    """Return the effects of a card's columns, in the order of its terms."""
    found = []
    for term in card.terms:
        parts = _UNIT.match(term.column)
        label = parts["label"] if parts else term.column
        unit = parts["unit"] if parts else ""
        found.append(Effect(label, unit, card.type_of(term), term))
    return found
