"""Units in which the sums over rows neither overflow nor vanish, and what no unit helps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..chunks import first_not_finite

if TYPE_CHECKING:
    from .base import Quadratic

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

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


def class_shares(
    positive: Mask, weight: Array | None
) -> tuple[tuple[float, float], Array, tuple[float, float]]:
    """Total weight of each class, the rows' shares of it, and what the shares of a class sum to.

    Without weights every row counts once: there are no shares, and the sums are numbers of rows.
    """
    if weight is None:
        count = int(np.count_nonzero(positive))
        counts = float(count), float(positive.size - count)
        return counts, np.empty(0), counts
    totals = float(weight[positive].sum()), float(weight[~positive].sum())
    total = np.where(positive, *totals)
    share: Array = np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)
    return totals, share, (float(totals[0] > 0), float(totals[1] > 0))


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


def check_finite(X: Any, totals: Array) -> None:
    """Refuse a table whose columns' sums are no numbers, naming an entry or a column."""
    finite = np.isfinite(totals).all(axis=0)
    if finite.all():
        return
    if (bad := first_not_finite(X)) is not None:
        row, column, value = bad
        kind = "NaN" if np.isnan(value) else "infinity"
        raise ValueError(f"X contains {kind}: first at row {row}, column {column}")
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
