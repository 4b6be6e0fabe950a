"""Units in which the sums over rows neither overflow nor vanish, and what no unit helps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .._validation import check_finite
from ..rows import read_only
from ..strata import Strata, stratum_shares
from ..utils.types import Array, Mask

if TYPE_CHECKING:
    from .base import Quadratic


# Exponents of weights that are taken as they are: their sums, and squares of these, are numbers.
_ORDINARY = 200
# Deviations whose squares keep their digits.
_LEAST = 2.0**-505
# Exponents of units whose inverses are numbers.
_LARGEST = 1000


def scale_weights(weight: Array) -> tuple[Array, float]:
    """Weights, divided by a power of two where they are huge or tiny, and that power.

    Nothing depends on the scale of the weights but their sums.
    """
    exponent = int(np.frexp(weight.max(initial=0.0))[1]) - 1
    if abs(exponent) <= _ORDINARY:
        return weight, 1.0
    # Twice, as the power for the smallest numbers is itself too large for one.
    half = exponent // 2
    scaled: Array = np.ldexp(np.ldexp(weight, -half), half - exponent)
    return scaled, float(np.ldexp(1.0, exponent))


@dataclass(frozen=True)
class Cells:
    """Rows by stratum and class: cell 2s holds the positives of stratum s, 2s + 1 its negatives.

    Without strata there is one.
    """

    cell: npt.NDArray[np.int32]
    share: Array  # of each row in its cell; of size 0 where every row counts once
    # What the shares of a cell sum to: 1, 0 in an empty cell, without weights its number of rows.
    sums: Array
    weights: tuple[float, float]  # total of each class
    strata: Array  # what each stratum counts, 1 in all

    @classmethod
    def from_rows(cls, positive: Mask, weight: Array | None, strata: Strata | None) -> Cells:
        """Divide rows; those of strata without both classes count nothing."""
        if strata is None:
            cell, shares = np.where(positive, 0, 1).astype(np.int32), np.ones(1)
        else:
            strata = strata.with_both_classes(positive, weight)
            shares = stratum_shares(strata.totals(positive, weight), strata.weighting)
            inside = strata.code >= 0
            if not inside.all():
                weight = np.where(inside, 1.0 if weight is None else weight, 0.0)
            cell = np.where(inside, 2 * strata.code + ~positive, 0).astype(np.int32)
        counts = np.bincount(cell, minlength=2 * shares.size)
        if weight is None:
            totals = counts.astype(np.float64)
            share, sums = np.empty(0), totals
        else:
            members = np.split(np.argsort(cell, kind="stable"), np.cumsum(counts)[:-1])
            totals = np.array([weight[rows].sum() for rows in members])
            total = totals[cell]
            share = np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)
            sums = (totals > 0).astype(np.float64)
        weights = float(totals[::2].sum()), float(totals[1::2].sum())
        return cls(read_only(cell), read_only(share), sums, weights, shares)

    def first_rows(self) -> npt.NDArray[np.int64]:
        """Number of the first row of each stratum that counts."""
        counted = np.arange(self.cell.size) if self.share.size == 0 else np.flatnonzero(self.share)
        first = np.zeros(self.strata.size, np.int64)
        if counted.size and first.size == 1:
            first[0] = counted[0]
        else:
            # Backwards, so that the first comes last.
            first[self.cell[counted[::-1]] // 2] = counted[::-1]
        return first

    def factors(self, on_positive: float, on_negative: float) -> Array:
        """What a row's share is multiplied by: its class's factor times what its stratum counts."""
        on_class = np.tile([on_positive, on_negative], self.strata.size)
        factors: Array = np.repeat(self.strata, 2) * on_class
        np.divide(factors, self.sums, out=factors, where=self.sums > 0)
        return factors

    def by_class(self, values: Array) -> Array:
        """Means over the strata of numbers by cell, (n_cells, d), for each class, (2, d)."""
        if self.strata.size == 1:
            return values
        by_class: Array = np.tensordot(self.strata, values.reshape(self.strata.size, 2, -1), 1)
        return by_class


def unit_of(reach: Array) -> Array:
    """Powers of two just above ``reach``, and 1 where that is zero."""
    exponent = np.clip(np.frexp(reach)[1], -_LARGEST, _LARGEST)
    unit: Array = np.where(reach > 0, np.ldexp(1.0, exponent), 1.0)
    return unit


class ColumnError(ValueError):
    """The values of a column are no numbers to compute with.

    Attributes
    ----------
    column : int
    reason : str
    """

    def __init__(self, column: int, reason: str) -> None:
        super().__init__(column, reason)
        self.column, self.reason = column, reason

    def __str__(self) -> str:
        return self.named(self.column)

    def named(self, name: Any) -> str:
        """Say the same of a column that has a name."""
        shown = repr(str(name)) if isinstance(name, str) else name
        return f"the values of column {shown} are {self.reason}: rescale it"


def check_totals(X: Any, totals: Array) -> None:
    """Refuse a table whose columns' sums are no numbers, naming an entry or a column."""
    finite = np.isfinite(totals).all(axis=0)
    if not finite.all():
        check_finite(X)
        raise ColumnError(int(np.argmin(finite)), "too large to average")


def check_deviations(moments: Quadratic) -> tuple[Array, Mask]:
    """Deviations of the columns, and which are nothing but rounding beside the column's mean.

    A column whose deviation cannot be squared is refused.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        deviation = moments.deviations
    for column in np.flatnonzero(~np.isfinite(deviation))[:1].tolist():
        raise ColumnError(column, "too large to square")
    rounding: Mask = deviation <= np.finfo(np.float64).eps * moments.magnitudes
    tiny = (deviation < _LEAST) & ~(rounding & (deviation > 0))
    for column in np.flatnonzero(tiny & moments.varies)[:1].tolist():
        raise ColumnError(column, "too small to square")
    return deviation, rounding | ~moments.varies
