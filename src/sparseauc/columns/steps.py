"""A column whose effect is one number for each class of its values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..utils.types import Array
from .base import Encoding, Piece, Pieces, Reads


@dataclass(frozen=True)
class Steps(Encoding):
    """A number that counts by its class: up to the first cut, or above a cut and up to the next.

    Attributes
    ----------
    cuts : tuple of float
        Ascending.
    missing : float
        What a missing value counts as.
    low, high : float
        Range of the training rows.
    reads : {"number", "boolean"}
    coef : tuple of float
        Effect of each class.
    """

    cuts: tuple[float, ...] = ()
    missing: float = np.nan
    low: float = -np.inf
    high: float = np.inf
    reads: Reads = "number"
    coef: tuple[float, ...] = (0.0,)

    kind = "steps"

    @property
    def width(self) -> int:
        """Number of classes."""
        return len(self.cuts) + 1

    def basis(self, values: Array) -> Array:
        """1 in the column of the class."""
        filled = np.where(np.isnan(values), self.missing, values)
        return np.eye(self.width, dtype=values.dtype)[
            np.searchsorted(self.cuts, filled)
        ]

    def formula(self) -> Pieces:
        """A number for each class."""
        starts = (-np.inf, *self.cuts)
        pieces = (
            Piece(start, 0.0, (one,))
            for start, one in zip(starts, self.coef, strict=True)
        )
        return Pieces(self.missing, -np.inf, np.inf, tuple(pieces))

    def classes(self) -> dict[str, float]:
        """Return the effect of each class, named by its limits."""
        ends = [f"{cut:.12g}" for cut in self.cuts]
        names = ["any", *(f"above {end}" for end in ends)]
        for place, end in enumerate(ends):
            names[place] = f"{names[place]} to {end}" if place else f"up to {end}"
        return dict(zip(names, self.coef, strict=True))

    def words(self) -> str:
        """Say what each class is worth."""
        return ", ".join(
            f"{name} {effect:+.4g}" for name, effect in self.classes().items()
        )

    @property
    def leading_coef(self) -> float:
        """The range of the effects."""
        return max(self.coef) - min(self.coef)
