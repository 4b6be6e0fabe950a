"""A column whose effect bends: a restricted cubic spline with three knots.

Between the outer knots t₁ and t₃ the effect is made of two cubics that meet smoothly at
t₂, and beyond them it is a line. So it has one number more than a line has:

    f(x) = a x + b B(x),   B(x) = C(x) − c (x − t₂),
    C(x) = ((x − t₁)₊³ − q (x − t₂)₊³ + (q − 1) (x − t₃)₊³) / (t₃ − t₁)²,
    q = (t₃ − t₁)/(t₃ − t₂)

c is the slope of C, such that over the training rows the bend B says nothing that a
line could say: a is the slope of the line that is closest to the effect, and b how much
that bends. The slope of C rises from 0 at t₁ to 3 (t₂ − t₁)/(t₃ − t₁) at t₃ and never
falls. So the slope of f lies between those at the outer knots: the effect turns once at
most, and never falls (rises) if neither of the two is below (above) 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..utils.types import Array, Mask
from .base import Encoding, Piece, Pieces, quantiles

# Shares of the training rows below the knots.
SHARES = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class Curve(Encoding):
    """A number whose effect bends once.

    Attributes
    ----------
    knots : tuple of float
        Quantiles of the training rows: 10 %, 50 % and 90 %. A missing value counts as
        the median. Without three different ones, the bend is 0 everywhere.
    low, high : float
        Range of the training rows; values beyond it count as its ends.
    tilt : float
        c above.
    """

    knots: tuple[float, float, float] = (np.nan, np.nan, np.nan)
    low: float = -np.inf
    high: float = np.inf
    tilt: float = 0.0
    coef: tuple[float, ...] = (0.0, 0.0)

    kind = "curve"
    reads = "number"

    @classmethod
    def learn(cls, values: Array, weight: Array | None = None) -> Self:
        """Learn knots, range and tilt."""
        (found,) = cls.learn_each(values[:, None], weight)
        return found

    @classmethod
    def learn_each(cls, values: npt.NDArray[Any], weight: Array | None) -> list[Self]:
        """Learn the same of several columns."""
        low, *knots, high = quantiles(values, weight, (0.0, *SHARES, 1.0))
        ends = np.where(np.isnan([low, high]), [[-np.inf], [np.inf]], [low, high])
        flat = np.zeros(values.shape[1])
        # Values around the middle knot, which no huge mean makes inexact.
        x = np.where(np.isnan(values), knots[1], values) - knots[1]
        counts = np.ones(len(values)) if weight is None else weight
        share = np.where(np.isnan(values), 0.0, (counts / counts.sum())[:, None])
        share = share / np.maximum(share.sum(axis=0), np.finfo(np.float64).tiny)
        x = x - np.sum(share * x, axis=0)
        bend = bends(
            np.where(np.isnan(values), knots[1], values), np.array(knots), flat
        )
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            tilt = np.sum(share * x * bend, axis=0) / np.sum(share * x**2, axis=0)
        tilt[~can_bend(np.array(knots))] = 0.0
        return [
            cls((t[0], t[1], t[2]), end[0], end[1], one)
            for t, end, one in zip(
                np.transpose(knots).tolist(),
                ends.T.tolist(),
                tilt.tolist(),
                strict=True,
            )
        ]

    @property
    def bends(self) -> bool:
        """Return whether the three knots are different."""
        return bool(can_bend(np.array(self.knots)))

    @property
    def width(self) -> int:
        """Two."""
        return 2

    @property
    def missing(self) -> float:
        """Value that a missing one counts as: the median."""
        return self.knots[1]

    @property
    def bend(self) -> float:  # type: ignore[override]
        """Size of the bend: b above."""
        return self.coef[1]

    @property
    def leading_coef(self) -> float:
        """Mean slope, a above, or the bend where that is 0."""
        return self.coef[0] or self.coef[1]

    @property
    def outer_slopes(self) -> tuple[float, float]:
        """Slope of the effect below the first knot and above the last: it lies between them."""
        first, *_, last = self.formula().pieces
        return first.coef[1], last.coef[1]

    def basis(self, values: Array) -> Array:
        """Values within the range, missing ones replaced, and the bend."""
        return curve_bases([self], values[:, None])

    def formula(self) -> Pieces:
        """A line, two cubics and a line, between which the knots are."""
        slope, bend = self.coef
        first, middle, last = self.knots
        if not self.bends:
            whole = Piece(-np.inf, 0.0, (0.0, slope))
            return Pieces(self.missing, self.low, self.high, (whole,))
        width = last - first
        share = (middle - first) / width
        # C around the start of each piece: its value, slope, and coefficients of higher
        # powers.
        shapes = (
            (-np.inf, first, (0.0, 0.0)),
            (first, first, (0.0, 0.0, 0.0, 1 / width**2)),
            (
                middle,
                middle,
                (
                    width * share**3,
                    3 * share**2,
                    3 * share / width,
                    -share / (1 - share) / width**2,
                ),
            ),
            (last, last, (width * share * (2 - share), 3 * share)),
        )
        pieces = []
        for start, origin, (level, steepness, *higher) in shapes:
            level = bend * (level - self.tilt * (origin - middle)) + slope * origin
            steepness = bend * (steepness - self.tilt) + slope
            coef = (level, steepness, *(bend * one for one in higher))
            pieces.append(Piece(start, origin, coef))
        return Pieces(self.missing, self.low, self.high, tuple(pieces))

    def words(self) -> str:
        """Say how the slope changes."""
        if not self.bends:
            return f"{self.coef[0]:+.4g} for each unit"
        below, above = self.outer_slopes
        first, _, last = self.knots
        return (
            f"{below:+.4g} for each unit below {first:.4g}, bending to {above:+.4g} above "
            f"{last:.4g}"
        )


def curve_bases(curves: Sequence[Curve], values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the bases of columns, (n, 2 × columns), those of each side by side."""
    knots = np.transpose([one.knots for one in curves])
    filled = np.where(
        np.isnan(values), np.nan_to_num(knots[1]), values.astype(np.float64)
    )
    within = np.clip(filled, [one.low for one in curves], [one.high for one in curves])
    bend = bends(within, knots, np.array([one.tilt for one in curves]))
    return (
        np.stack([within, bend], axis=2).reshape(len(values), -1).astype(values.dtype)
    )


def can_bend(knots: Array) -> Mask:
    """Return whether three knots are different, of shape (3, …)."""
    first, middle, last = knots
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        width = last - first
        share = (middle - first) / width
    return np.asarray((share > 0) & (share < 1) & np.isfinite(width))


def bends(values: Array, knots: Array, tilt: Array) -> Array:
    """Evaluate B of several columns; 0 everywhere without three different knots."""
    able = can_bend(knots)
    first, middle, last = np.where(able, knots, [[0.0], [0.5], [1.0]])
    width = last - first
    share = (middle - first) / width
    x = (np.where(able, values, 0.0) - first) / width
    # Between the outer knots, then beyond the last, where cubes would cancel.
    between = np.clip(x, 0.0, 1.0)
    C = between**3
    C -= np.maximum(between - share, 0.0) ** 3 / (1.0 - share)
    C += 3.0 * share * np.maximum(x - 1.0, 0.0)
    C -= tilt * (x - share)
    return np.where(able, width * C, 0.0)
