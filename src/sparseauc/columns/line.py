"""A column that counts as its number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..utils.types import Array
from .base import Encoding, Piece, Pieces, Reads, quantiles


@dataclass(frozen=True)
class Line(Encoding):
    """A number, or true and false as 1 and 0.

    Attributes
    ----------
    missing : float
        What a missing value counts as: the median.
    low, high : float
        Range of the training rows. Numbers beyond it count as what they are.
    reads : {"number", "boolean"}
    """

    missing: float = np.nan
    low: float = -np.inf
    high: float = np.inf
    reads: Reads = "number"
    coef: tuple[float, ...] = (0.0,)

    kind = "line"

    @classmethod
    def learn(
        cls, values: Array, weight: Array | None = None, reads: Reads = "number"
    ) -> Self:
        """Learn what a missing value counts as, and the range."""
        (found,) = cls.learn_each(values[:, None], weight, [reads])
        return found

    @classmethod
    def learn_each(
        cls, values: npt.NDArray[Any], weight: Array | None, reads: Sequence[Reads]
    ) -> list[Self]:
        """Learn the same of several columns."""
        found = quantiles(values, weight, (0.5, 0.0, 1.0)).T.tolist()
        return [
            cls(missing, low, high, how) if low <= high else cls(reads=how)
            for (missing, low, high), how in zip(found, reads, strict=True)
        ]

    @property
    def width(self) -> int:
        """One."""
        return 1

    def basis(self, values: Array) -> Array:
        """Values, missing ones replaced."""
        fill = 0.0 if np.isnan(self.missing) else self.missing
        return np.where(np.isnan(values), values.dtype.type(fill), values)[:, None]

    def formula(self) -> Pieces:
        """The coefficient times the number."""
        line = Piece(-np.inf, 0.0, (0.0, *self.coef))
        return Pieces(self.missing, -np.inf, np.inf, (line,))

    def words(self) -> str:
        """Say what a unit is worth."""
        unit = "if true" if self.reads == "boolean" else "for each unit"
        return f"{self.coef[0]:+.4g} {unit}"

    @property
    def leading_coef(self) -> float:
        """The coefficient."""
        return self.coef[0]
