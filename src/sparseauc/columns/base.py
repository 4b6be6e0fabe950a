"""Encodings of a column: a few numbers for each value, and a formula once these have weights.

A score is an intercept plus the effects of the chosen columns. The *encoding* of a
column says what numbers it gives the solver (its basis), what its effect at a value is,
and how others can compute that: whatever shows or exports a model reads nothing but
encodings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from ..utils.types import Array
from .reading import as_texts

Reads = Literal["number", "boolean", "text"]


@dataclass(frozen=True)
class Piece:
    """A polynomial of a number: ``Σ c_i (x − origin)^i`` for x above ``start``.

    Attributes
    ----------
    start : float
        Where it begins; −∞ for the first.
    origin : float
    coef : tuple of float
        Of powers 0, 1, ….
    """

    start: float
    origin: float
    coef: tuple[float, ...]

    def at(self, numbers: Array) -> Array:
        """Evaluate at numbers."""
        offset = numbers - self.origin
        found = np.zeros_like(offset)
        for coef in reversed(self.coef):
            found = found * offset + coef
        return found


@dataclass(frozen=True)
class Pieces:
    """Effect of a number: polynomials that meet, one between each two limits.

    A missing value counts as ``missing``; without one (NaN) its row has no score.
    Numbers below ``low`` count as ``low``, those above ``high`` as ``high``; infinite
    for no limit. Then the last piece counts whose ``start`` is below the number.
    """

    missing: float
    low: float
    high: float
    pieces: tuple[Piece, ...]

    def at(self, numbers: npt.ArrayLike) -> Array:
        """Evaluate at numbers, NaN where they are missing."""
        given = np.asarray(numbers, np.float64)
        filled = np.where(np.isnan(given), self.missing, given)
        clipped = np.clip(filled, self.low, self.high)
        found = self.pieces[0].at(clipped)
        for piece in self.pieces[1:]:
            found = np.where(clipped > piece.start, piece.at(clipped), found)
        return found


@dataclass(frozen=True)
class Table:
    """Effect of a text: a number for each level, and one for missing and unknown texts."""

    effects: Mapping[str, float]
    missing: float

    def at(self, texts: Iterable[Any]) -> Array:
        """Evaluate at texts, or what can be written as one."""
        found = [self.effects.get(text, self.missing) for text in as_texts(texts)]
        return np.array(found, np.float64)


class Encoding(ABC):
    """A column as a unit: chosen as a whole or not at all.

    Values of a column are numbers, NaN where missing; texts are numbered by their
    level. Weights ``coef`` belong to the columns of the basis, as many as ``width``;
    all 0 until it has any.
    """

    kind: ClassVar[str]
    reads: Reads
    coef: tuple[float, ...]
    # Places where the effect bends, and the size of the bend; 0 for none.
    knots: tuple[float, ...] = ()
    bend: float = 0.0

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of columns of the basis."""

    @abstractmethod
    def basis(self, values: Array) -> Array:
        """Return the numbers that values count as, (n, width)."""

    @abstractmethod
    def formula(self) -> Pieces | Table:
        """Return how anyone can compute the effect."""

    @abstractmethod
    def words(self) -> str:
        """Describe the shape of the effect in a few words."""

    @property
    @abstractmethod
    def leading_coef(self) -> float:
        """One number for the effect: not 0 if there is any."""

    def weighted(self, coef: npt.ArrayLike) -> Self:
        """Give the columns of the basis their weights."""
        numbers = np.asarray(coef, np.float64)
        return replace(self, coef=tuple(numbers.tolist()))  # type: ignore[type-var]

    def effect(self, values: Any) -> Array:
        """Evaluate the effect at values as they stand in the table: numbers, or texts."""
        return self.formula().at(values)

    def effect_of(self, numbers: Array) -> Array:
        """Evaluate the effect at numbers, of texts those of their levels."""
        effects: Array = self.basis(numbers) @ np.array(self.coef)
        return effects

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON can hold, of which ``encoding_from_dict`` makes the same again."""
        return {"kind": self.kind} | {
            name: _plain(value) for name, value in vars(self).items()
        }


def _plain(value: Any) -> Any:
    """Write lists for tuples, and None for numbers that JSON does not have."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def quantiles(
    values: npt.NDArray[Any], weight: Array | None, shares: npt.ArrayLike
) -> Array:
    """Return the smallest values of columns with a share of the weight at or below them.

    Of shape (n_shares, n_columns), among the values that are not missing; NaN where all
    are. As if a row of weight 2 were two rows.
    """
    if weight is not None:
        values = values[weight > 0]
        weight = weight[weight > 0]
    found = np.full((np.size(shares), values.shape[1]), np.nan)
    if values.size == 0:
        return found
    # Missing values come last.
    if weight is None or np.ptp(weight) == 0:
        ascending = np.sort(values, axis=0)
        below = np.cumsum(~np.isnan(ascending), axis=0, dtype=np.float64)
    else:
        order = np.argsort(values, axis=0, kind="stable")
        ascending = np.take_along_axis(values, order, axis=0)
        below = np.cumsum(np.where(np.isnan(ascending), 0.0, weight[order]), axis=0)
    for j in np.flatnonzero(below[-1] > 0).tolist():
        # Sums of weights are off by rounding: so close to a share, it is reached.
        reached = (np.ravel(shares) - 1e-12) * below[-1, j]
        found[:, j] = ascending[np.searchsorted(below[:, j], reached), j]
    return found
