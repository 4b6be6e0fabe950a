"""Strata: sites, batches, donors or matched sets, within which alone rows are compared.

Where the level of a column, or the share of positives, differs between strata,
comparing rows of two of them rewards columns that tell strata apart. Each stratum with
both classes counts by its share: of all pairs within strata, or the same for each.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from ._validation import is_missing, label_rows
from .errors import InputError
from .utils.text import listed
from .utils.types import Array, Indices, Mask

Weighting = Literal["pairs", "equal"]


class StrataWarning(UserWarning):
    """Some strata hold rows of one class only, and count nothing."""


@dataclass(frozen=True, eq=False)
class Strata:
    """The stratum of each row.

    Attributes
    ----------
    code : ndarray of int of shape (n,)
        Number of each row's stratum, −1 for rows that count nothing.
    names : sequence
        Of the strata.
    weighting : {"pairs", "equal"}
        Whether strata count by their number of pairs, or all the same.
    """

    code: Indices
    names: Sequence[Any]
    weighting: Weighting = "pairs"

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def encode(cls, labels: Any, n_rows: int, weighting: Weighting = "pairs") -> Self:
        """Number the strata of rows, whose labels are anything but missing values."""
        values = label_rows(labels, n_rows, "strata")
        _check_none_missing(values)
        if values.dtype.kind == "O":
            number = {
                name: at
                for at, name in enumerate(sorted(set(values.tolist()), key=str))
            }
            names = list(number)
            code = np.array([number[name] for name in values.tolist()], np.int64)
        else:
            unique, code = np.unique(values, return_inverse=True)
            names = unique.tolist()
        return cls(code.astype(np.int64), names, weighting)

    @classmethod
    def of_classes(
        cls,
        labels: Any,
        positive: Mask,
        weighting: Weighting = "pairs",
        weight: Array | None = None,
    ) -> Self:
        """Encode strata and keep those with both classes; warn of the others, which count nothing.

        Rows of weight 0 count nothing.
        """
        every = cls.encode(labels, positive.size, weighting)
        both = every.with_both_classes(positive, weight)
        if not both.names:
            raise InputError(
                f"none of the {len(every)} strata holds rows of both classes: pairs of one "
                "stratum are all that count, so leave strata out or give coarser ones"
            )
        counted = set(both.names)
        left_out = [repr(name) for name in every.names if name not in counted]
        if left_out:
            rows = int(np.count_nonzero(both.code == -1))
            warnings.warn(
                f"{len(left_out)} of {len(every)} strata "
                f"hold{'s' if len(left_out) == 1 else ''} rows of one class only and "
                f"count{'s' if len(left_out) == 1 else ''} nothing, {rows} "
                f"row{'' if rows == 1 else 's'} in all: {listed(left_out)}",
                StrataWarning,
                stacklevel=3,
            )
        return both

    def take(self, rows: Any) -> Self:
        """Take some of the rows; strata keep their numbers."""
        return replace(self, code=self.code[rows])

    def select(self, kept: Mask) -> Self:
        """Select some of the strata, numbered anew; rows of others count nothing."""
        if kept.all():
            return self
        number = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
        names = [name for name, chosen in zip(self.names, kept, strict=True) if chosen]
        return replace(self, code=number[self.code], names=names)

    def with_both_classes(self, positive: Mask, weight: Array | None = None) -> Self:
        """Select the strata with rows of both classes."""
        return self.select(np.all(self.class_weights(positive, weight) > 0, axis=0))

    def class_weights(self, positive: Mask, weight: Array | None = None) -> Array:
        """Weight of the positives and of the negatives of each stratum, of shape (2, n_strata)."""
        return class_weights(self.code, len(self), positive, weight)

    def shares(self, class_weights: Array) -> Array:
        """Share of each stratum, 1 in all, given the weight of both classes in each, (2, n)."""
        return pair_shares(class_weights, self.weighting)

    def split_parts(
        self, part: npt.NDArray[np.integer[Any]]
    ) -> npt.NDArray[np.integer[Any]]:
        """Split parts of the rows by stratum: each into as many as there are strata."""
        inside = (part >= 0) & (self.code >= 0)
        return np.where(inside, part * np.int64(len(self)) + self.code, -1).astype(
            np.int32
        )


def class_weights(
    code: Indices, size: int, positive: Mask, weight: Array | None
) -> Array:
    """Weight of the positives and of the negatives of each number, of shape (2, size)."""
    rows = np.flatnonzero(code >= 0)
    cell = code[rows] + size * ~positive[rows]
    weights = None if weight is None else weight[rows]
    return np.bincount(cell, weights, 2 * size).reshape(2, -1).astype(np.float64)


def pair_shares(class_weights: Array, weighting: Weighting) -> Array:
    """Share of each stratum, 1 in all, given the weight of both classes in each, (2, n)."""
    if weighting not in ("pairs", "equal"):
        raise InputError(f"strata count by 'pairs' or 'equal', not by {weighting!r}")
    pairs = class_weights[0] * class_weights[1]
    counts = pairs if weighting == "pairs" else (pairs > 0).astype(np.float64)
    shares: Array = counts / counts.sum()
    return shares


def sum_variance(parts: Array, first: Mask, groups: Indices | None = None) -> float:
    """Estimate the variance of the sum of what rows add to a measure, whose mean is zero.

    Rows of two classes are drawn apart, ``first`` being one of them. Related rows,
    those with the same number in ``groups``, are drawn together: their sums are
    independent (Obuchowski, 1997).
    """
    unit = (
        np.arange(parts.size)
        if groups is None
        else np.unique(groups, return_inverse=True)[1]
    )
    n_units = int(unit.max(initial=-1)) + 1
    sums = []
    variance = 0.0
    for side in (first, ~first):
        of_unit = np.bincount(unit[side], parts[side], n_units)
        variance += float(of_unit @ of_unit) * _unbiased(np.unique(unit[side]).size)
        sums.append(of_unit)
    return max(0.0, variance + 2.0 * float(sums[0] @ sums[1]) * _unbiased(n_units))


def _unbiased(n: int) -> float:
    """Return n / (n − 1), 1 of a single one."""
    return n / max(1, n - 1)


def check_weighting(weighting: Weighting, strata: Any) -> None:
    """Refuse weights of strata that are unknown, or have nothing to weigh."""
    if weighting not in ("pairs", "equal"):
        raise InputError(
            f"stratum_weights must be 'pairs' or 'equal', got {weighting!r}"
        )
    if strata is None and weighting != "pairs":
        raise InputError(f"stratum_weights={weighting!r} has no effect without strata")


def _check_none_missing(values: npt.NDArray[Any]) -> None:
    """Refuse missing labels, naming their rows."""
    if values.dtype.kind == "O":
        missing = np.array([is_missing(value) for value in values.tolist()], np.bool_)
    elif values.dtype.kind in "fcmM":
        missing = values != values
    else:
        return
    rows = np.flatnonzero(missing)
    if rows.size:
        shown = listed([str(row) for row in rows.tolist()])
        raise InputError(
            f"strata {'is' if rows.size == 1 else 'are'} missing in row"
            f"{'' if rows.size == 1 else 's'} {shown}: leave out rows without a stratum, or give "
            "them one of their own"
        )
