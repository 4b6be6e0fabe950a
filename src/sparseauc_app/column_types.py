"""Columns of a training table: their types, and those of a time to event."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Kind = Literal["number", "boolean", "text"]
Mark = Literal[".", ","]
# Places of rows, and their labels or other entries as text, None where missing.
Rows = npt.NDArray[np.intp]
Labels = npt.NDArray[np.object_]


@dataclass(frozen=True)
class ColumnType:
    """Type of a column in training, used to read new tables.

    Attributes
    ----------
    kind : {"number", "boolean", "text"}
    decimal, thousands : str, optional
        Decimal and thousands marks in the text file; None if there were none.
    levels : tuple of str
        Levels of a text column. Any other text is treated as missing.
    low, high : float, optional
        Smallest and largest number.
    limits : bool
        Whether ``>2000`` is read as 2000, and text without a digit as missing.
    """

    kind: Kind
    decimal: Mark | None = None
    thousands: Mark | None = None
    levels: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    limits: bool = False


@dataclass(frozen=True)
class FollowUp:
    """The outcome as it is known: by the time of an event, or of censoring.

    Attributes
    ----------
    time : str
        Column of the times.
    event : str
        Value of the outcome column of rows that had the event then; others are
        censored.
    horizon : float
        Time until which risks are given.
    binary : bool
        Whether rows are of two classes: with the event until the horizon, and without.
    """

    time: str
    event: str
    horizon: float
    binary: bool = False
