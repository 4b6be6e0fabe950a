"""Columns of new rows, compared with those of training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseauc.utils.types import Array

if TYPE_CHECKING:
    from .scorecard import ScoreCard

# A mean is said to have moved if it did so by this many training standard deviations and by this
# many standard errors.
MOVED = 0.25
CERTAIN = 3.0
# Standard deviations by which a mean has moved too far for any number of rows.
FAR = 2.0


@dataclass(frozen=True)
class ColumnShift:
    """A chosen column in the new rows, compared with training.

    ``missing`` are shares; ``mean_shift`` is the mean of the new rows minus that of training, in
    standard deviations of training; ``outside`` counts values outside the training range.
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
    taken = card.as_taken(values)
    for j, term in enumerate(card.terms):
        column = values[:, j]
        present, entered = (part[~np.isnan(column)] for part in (column, taken[:, j]))
        known = before.get(term.name)
        shift = None
        moved = False
        if known is not None and present.size and float(known["std"]) > 0:
            shift = float((entered.mean() - float(known["mean"])) / float(known["std"]))
            error = np.sqrt(1 / present.size + 1 / max(1, int(known["rows"])))
            moved = bool(abs(shift) > max(MOVED, CERTAIN * error))
        of = card.types.get(term.column)
        outside = 0
        if term.level is None and of is not None and of.low is not None and of.high is not None:
            outside = int(np.count_nonzero((present < of.low) | (present > of.high)))
        shifts.append(
            ColumnShift(
                name=term.name,
                missing=1 - present.size / column.size,
                missing_before=None if known is None else float(known["missing"]),
                mean_shift=shift,
                outside=outside,
                moved=moved,
            )
        )
    return shifts
