"""The fields of a form: one for each column that a model reads, with unit and training range."""

import re
from dataclasses import dataclass

from ..column_types import ColumnType, Kind
from ..scorecard import ScoreCard

# A unit in brackets at the end of a name: "urea (mmol/L)", "weight [kg]".
_UNIT = re.compile(r"^(?P<label>.*\S)\s*[(\[](?P<unit>[^()\[\]]+)[)\]]\s*$", re.DOTALL)


@dataclass(frozen=True)
class Field:
    """A column to be filled in.

    Attributes
    ----------
    column, label, unit : str
        The column's name, and the same in two parts; ``unit`` is empty if the name has none.
    kind : {"number", "boolean", "text"}
    levels : tuple of str
        Texts to choose from, of a column of text.
    low, high : float, optional
        Range of the training rows.
    fill : float, optional
        What a missing number counts as, if the model fills it in.
    required : bool
        Whether a row without the value has no score.
    """

    column: str
    label: str
    unit: str
    kind: Kind
    levels: tuple[str, ...]
    low: float | None
    high: float | None
    fill: float | None
    required: bool

    @property
    def range_text(self) -> str:
        """The training range, or nothing."""
        if self.kind != "number" or self.low is None or self.high is None:
            return ""
        return f"{self.low:.6g} to {self.high:.6g}"

    @property
    def fill_text(self) -> str:
        """Say what happens if the value is missing."""
        if self.required:
            return "no score"
        if self.kind == "number" and self.fill is not None:
            return f"{self.fill:.4g}"
        return "as in training"


def fields_of(card: ScoreCard) -> list[Field]:
    """The fields of a card, in the order of its terms."""
    found: dict[str, Field] = {}
    for term in card.terms:
        if term.column in found:
            continue
        of: ColumnType = card.type_of(term)
        same = [one for one in card.terms if one.column == term.column]
        parts = _UNIT.match(term.column)
        levels = of.levels or tuple(str(one.level) for one in same if one.level is not None)
        simple = len(same) == 1 and (term.level, term.above) == (None, None)
        found[term.column] = Field(
            column=term.column,
            label=parts["label"] if parts else term.column,
            unit=parts["unit"] if parts else "",
            kind="text" if term.level is not None else of.kind,
            levels=levels if term.level is not None else (),
            low=of.low,
            high=of.high,
            fill=term.fill_in_units if simple else None,
            required=any(one.fill is None for one in same),
        )
    return list(found.values())
