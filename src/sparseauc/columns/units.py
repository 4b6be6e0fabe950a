"""All columns of a table as units: one basis, in which solvers choose whole units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..utils.types import Array, Indices, Mask
from .base import Encoding, Reads
from .curve import Curve, curve_bases
from .levels import Levels
from .line import Line
from .reading import ReadColumns


@dataclass(frozen=True, eq=False)
class Units:
    """The encodings of all columns of a table, whose bases stand side by side.

    Attributes
    ----------
    encodings : tuple of Encoding
        One for each column.
    """

    encodings: tuple[Encoding, ...]

    @classmethod
    def learn(
        cls,
        table: ReadColumns,
        weight: Array | None = None,
        *,
        curved: Mask | None = None,
    ) -> Self:
        """Learn the encodings of a table; ``curved`` columns are curves where they can bend."""
        found: dict[int, Encoding] = {}
        for j, levels in table.levels.items():
            found[j] = Levels.learn(table.values[:, j], weight, levels)
        if curved is not None:
            asked = np.setdiff1d(np.flatnonzero(curved), list(found))
            curves = Curve.learn_each(table.values[:, asked], weight)
            found |= {
                j: one
                for j, one in zip(asked.tolist(), curves, strict=True)
                if one.bends
            }
        d = table.values.shape[1]
        rest = np.setdiff1d(np.arange(d), list(found))
        reads: list[Reads] = [
            "boolean" if j in table.booleans else "number" for j in rest.tolist()
        ]
        lines = Line.learn_each(table.values[:, rest], weight, reads)
        found |= zip(rest.tolist(), lines, strict=True)
        return cls(tuple(found[j] for j in range(d)))

    def learn_again(self, values: npt.NDArray[Any], weight: Array | None) -> Self:
        """Learn the same bases from other rows of the table."""
        found = dict(enumerate(self.encodings))
        curves = self._of_kind(Curve)
        found |= zip(curves, Curve.learn_each(values[:, curves], weight), strict=True)
        for j, one in enumerate(self.encodings):
            if isinstance(one, Levels):
                found[j] = one.learn_again(values[:, j], weight)
        # Without missing values nothing of a line is asked for here.
        lines = [j for j in self._of_kind(Line) if np.isnan(values[:, j]).any()]
        reads = [self.encodings[j].reads for j in lines]
        found |= zip(
            lines, Line.learn_each(values[:, lines], weight, reads), strict=True
        )
        return type(self)(tuple(found[j] for j in range(len(self.encodings))))

    def _of_kind(self, kind: type[Encoding]) -> list[int]:
        return [j for j, one in enumerate(self.encodings) if isinstance(one, kind)]

    @cached_property
    def columns(self) -> Indices:
        """Column of the table of each column of the basis."""
        widths = [one.width for one in self.encodings]
        return np.repeat(np.arange(len(widths)), widths)

    @property
    def levels(self) -> dict[int, tuple[str, ...]]:
        """Levels of the columns of texts."""
        pairs = enumerate(self.encodings)
        return {j: one.levels for j, one in pairs if isinstance(one, Levels)}

    def leading(self, scale: Array) -> Array:
        """Return the deviation of each column of the table, of those of the basis.

        1 of texts with more than one column there.
        """
        first = scale[np.searchsorted(self.columns, np.arange(len(self.encodings)))]
        texts = [isinstance(one, Levels) and one.width > 1 for one in self.encodings]
        return np.where(texts, 1.0, first)

    @property
    def curves(self) -> bool:
        """Return whether any column is a curve."""
        return any(isinstance(one, Curve) for one in self.encodings)

    def basis(
        self, values: npt.NDArray[Any], places: Indices | None = None
    ) -> npt.NDArray[Any]:
        """Return the basis of rows, or some of its columns."""
        wanted = np.arange(self.columns.size) if places is None else places
        asked = np.unique(self.columns[wanted])
        starts = np.searchsorted(self.columns, asked)
        ends = np.searchsorted(self.columns, asked, "right")
        found = np.empty((len(values), self.columns.size), values.dtype, order="F")
        curves = []
        for j, start, end in zip(asked.tolist(), starts, ends, strict=True):
            one = self.encodings[j]
            if isinstance(one, Curve):
                curves.append(j)
            else:
                found[:, start:end] = one.basis(values[:, j])
        if curves:  # all at once, which is much quicker
            at = np.isin(self.columns, curves)
            found[:, at] = curve_bases(
                [self.encodings[j] for j in curves], values[:, curves]
            )
        return found if places is None else found[:, places]

    def learned(self, values: npt.NDArray[Any]) -> Mask:
        """Mask of the columns of the basis that depend on the rows that were learned from."""
        as_it_is = [isinstance(one, Line) for one in self.encodings]
        depend: Mask = ~np.array(as_it_is, np.bool_) | np.isnan(values).any(axis=0)
        spread: Mask = depend[self.columns]
        return spread

    def chosen(self, coef: npt.NDArray[Any]) -> dict[int, Encoding]:
        """Return the encodings of the columns that have a coefficient, with these."""
        columns = np.unique(self.columns[np.flatnonzero(coef)])
        return {
            j: self.encodings[j].weighted(coef[self.columns == j])
            for j in columns.tolist()
        }


def add_effects(
    values: Any, coef: npt.NDArray[Any], encodings: Sequence[Encoding]
) -> npt.NDArray[Any]:
    """Add up the effects of some columns; ``coef`` are those of lines, in their type."""
    dense = values if isinstance(values, np.ndarray) else values.toarray()
    scores: npt.NDArray[Any]
    if all(isinstance(one, Line) for one in encodings) and not np.isnan(dense).any():
        scores = values @ coef
        return scores
    effects = [one.effect_of(dense[:, at]) for at, one in enumerate(encodings)]
    scores = np.sum(effects, axis=0, dtype=np.float64).astype(
        np.result_type(dense, coef)
    )
    return scores
