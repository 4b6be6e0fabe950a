"""A column of texts: each has an effect of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ..utils.types import Array, Indices
from .base import Encoding, Table


@dataclass(frozen=True)
class Levels(Encoding):
    """A category, with all its levels or not at all.

    The most frequent level counts 0, and each other has a column of the basis. Missing
    values are a level of their own if training rows have any; otherwise they count as
    the most frequent one. Levels that training rows do not have count as a missing
    value.

    Attributes
    ----------
    levels : tuple of str
        In the order of their numbers.
    has_missing : bool
        Whether missing values have a column of the basis, the last one.
    against : int
        The level without one; −1 if all have one.
    taken_as : tuple of int
        For each level, and last for a missing value, the level that it counts as;
        ``len(levels)`` for a missing one.
    """

    levels: tuple[str, ...] = ()
    has_missing: bool = False
    against: int = 0
    taken_as: tuple[int, ...] = ()
    coef: tuple[float, ...] = ()

    kind = "levels"
    reads = "text"

    @classmethod
    def learn(
        cls, values: Array, weight: Array | None = None, levels: Sequence[str] = ()
    ) -> Self:
        """Learn which of the levels there are; values are their numbers."""
        counts, missing = _count(values, weight, len(levels))
        most = int(np.argmax(counts)) if levels else 0
        found = cls(tuple(levels), missing, most).learn_again(values, weight)
        return found.weighted((0.0,) * found.width)

    def learn_again(self, values: Array, weight: Array | None = None) -> Self:
        """Learn which of the levels, and whether missing values, other rows have."""
        counts, missing = _count(values, weight, len(self.levels))
        last = len(self.levels)
        if counts.any() and not (missing and self.has_missing):
            last = int(np.argmax(counts))
        taken_as = [
            place if count else last for place, count in enumerate(counts.tolist())
        ]
        return replace(self, taken_as=(*taken_as, last))

    @property
    def width(self) -> int:
        """One less than there are levels; of a single level one, which is 0 everywhere."""
        return max(len(self._others), 1)

    @property
    def _others(self) -> Indices:
        """Levels with a column of the basis."""
        return np.setdiff1d(
            np.arange(len(self.levels) + self.has_missing), self.against
        )

    def basis(self, values: Array) -> Array:
        """1 in the column of the level, if it has one."""
        places = np.where(np.isnan(values), len(self.levels), values).astype(np.int64)
        taken = np.array(self.taken_as)[places]
        found = np.zeros((values.size, self.width), values.dtype)
        others = self._others
        found[:, : others.size] = taken[:, None] == others
        return found

    @property
    def effects(self) -> Array:
        """Effect of each level, and last of a missing value if training rows had any."""
        found = np.zeros(len(self.levels) + self.has_missing)
        others = self._others
        found[others] = self.coef[: others.size]
        return found

    def formula(self) -> Table:
        """The effect of each level."""
        taken = self.effects[list(self.taken_as)].tolist()
        return Table(dict(zip(self.levels, taken[:-1], strict=True)), taken[-1])

    def classes(self) -> dict[str, float]:
        """Return the effect of each level, and last of missing and unknown texts."""
        table = self.formula()
        return {**table.effects, "missing": table.missing}

    def words(self) -> str:
        """Say what each level is worth."""
        *levels, (missing, effect) = self.classes().items()
        worth = [f"{one!r} {of:+.4g}" for one, of in levels]
        return ", ".join([*worth, f"{missing} {effect:+.4g}"])

    @property
    def leading_coef(self) -> float:
        """The range of the effects."""
        return float(np.ptp(self.effects))


def _count(values: Array, weight: Array | None, n_levels: int) -> tuple[Array, bool]:
    """Return the weight of the rows of each level, and whether there are missing values."""
    counts = np.ones(values.size) if weight is None else weight
    missing = np.isnan(values)
    places = values[~missing].astype(np.int64)
    found = np.bincount(places, counts[~missing], n_levels)
    return np.asarray(found, np.float64), bool(np.any(missing & (counts > 0)))
