"""Strata of rows: only pairs of a positive and a negative of the same stratum count.

Sites, batches, donors, matched sets: where the level of a column, or the share of positives,
differs between them, comparing rows of two strata rewards columns that tell strata apart. Each
stratum with both classes counts by its share: of all pairs within strata, or the same for each.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from ._validation import is_missing
from .utils.text import listed
from .utils.types import Array, Indices, Mask

Weighting = Literal["pairs", "equal"]


class StrataWarning(UserWarning):
    """Some strata hold rows of one class only, and count nothing."""


@dataclass(frozen=True)
class Strata:
    """The stratum of each row, and how much strata count."""

    code: Indices  # number of each row's stratum, −1 for rows that count nothing
    names: list[Any]
    weighting: Weighting = "pairs"  # by their number of pairs, or all the same

    @classmethod
    def from_labels(
        cls,
        labels: Any,
        positive: Mask,
        weight: Array | None = None,
        weighting: Weighting = "pairs",
    ) -> Self:
        """Number the strata; warn of those with one class only, which count nothing.

        Labels are anything but missing values; rows of weight 0 count nothing.
        """
        every = cls.numbered(labels, positive.size, weighting)
        names = every.names
        both = every.with_both_classes(positive, weight)
        counted = set(both.names)
        left_out = [repr(name) for name in names if name not in counted]
        if not both.names:
            raise ValueError(
                f"none of the {len(names)} strata holds rows of both classes: pairs of one "
                "stratum are all that count, so leave strata out or give coarser ones"
            )
        if left_out:
            rows = int(np.count_nonzero(both.code < 0))
            warnings.warn(
                f"{len(left_out)} of {len(names)} strata "
                f"hold{'s' if len(left_out) == 1 else ''} rows of one class only and "
                f"count{'s' if len(left_out) == 1 else ''} nothing, {rows} "
                f"row{'' if rows == 1 else 's'} in all: {listed(left_out)}",
                StrataWarning,
                stacklevel=3,
            )
        return both

    @classmethod
    def numbered(cls, labels: Any, n: int, weighting: Weighting = "pairs") -> Self:
        """Number the strata of n rows, whatever rows they hold."""
        values = np.asarray(labels)
        if values.shape != (n,):
            raise ValueError(f"strata must label each of the {n} rows, got shape {values.shape}")
        _check_none_missing(values)
        if values.dtype.kind == "O":
            number = {name: at for at, name in enumerate(sorted(set(values.tolist()), key=str))}
            names = list(number)
            code = np.array([number[name] for name in values.tolist()], np.int64)
        else:
            unique, code = np.unique(values, return_inverse=True)
            names = unique.tolist()
        return cls(code.astype(np.int64), names, weighting)

    def __len__(self) -> int:
        return len(self.names)

    def totals(self, positive: Mask, weight: Array | None = None) -> Array:
        """Weight of the positives and of the negatives of each stratum, of shape (2, n_strata)."""
        rows = np.flatnonzero(self.code >= 0)
        cell = self.code[rows] + len(self) * ~positive[rows]
        weights = None if weight is None else weight[rows]
        return np.bincount(cell, weights, 2 * len(self)).reshape(2, -1).astype(np.float64)

    def with_both_classes(self, positive: Mask, weight: Array | None = None) -> Self:
        """The strata with rows of both classes, numbered anew; rows of others are left out."""
        return self.only(np.all(self.totals(positive, weight) > 0, axis=0))

    def only(self, kept: Mask) -> Self:
        """Some of the strata, numbered anew; rows of others are left out."""
        if kept.all():
            return self
        number = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
        names = [name for name, chosen in zip(self.names, kept, strict=True) if chosen]
        return replace(self, code=number[self.code], names=names)

    def auc(self, scores: Array, positive: Mask) -> float:
        """AUC of scores within the strata, which all have rows of both classes; no checks."""
        rows = np.flatnonzero(self.code >= 0)
        rows = rows[np.lexsort((scores[rows], self.code[rows]))]
        code, values, inside = self.code[rows], scores[rows], positive[rows]
        first = np.append(True, (np.diff(code) != 0) | (np.diff(values) != 0))
        starts = np.flatnonzero(first)
        # Mean places of equal scores, from the first row of a stratum on.
        middle = (starts + np.append(starts[1:], rows.size) - 1) / 2
        place = middle[np.cumsum(first) - 1] - np.searchsorted(code, np.arange(len(self)))[code]
        totals = self.totals(positive)
        above = np.bincount(code[inside], place[inside]) - totals[0] * (totals[0] - 1) / 2
        shares = stratum_shares(totals, self.weighting)
        return float(shares @ (above / (totals[0] * totals[1])))


def check_weighting(weighting: Weighting, strata: Any) -> None:
    """Refuse weights of strata that are unknown, or have nothing to weigh."""
    if weighting not in ("pairs", "equal"):
        raise ValueError(f"stratum_weights must be 'pairs' or 'equal', got {weighting!r}")
    if strata is None and weighting != "pairs":
        raise ValueError(f"stratum_weights={weighting!r} has no effect without strata")


def stratum_shares(totals: Array, weighting: Weighting) -> Array:
    """What each stratum counts, 1 in all, given the weight of both classes in each, (2, n)."""
    if weighting not in ("pairs", "equal"):
        raise ValueError(f"strata count by 'pairs' or 'equal', not by {weighting!r}")
    pairs = totals[0] * totals[1]
    counts = pairs if weighting == "pairs" else (pairs > 0).astype(np.float64)
    shares: Array = counts / counts.sum()
    return shares


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
        raise ValueError(
            f"strata {'is' if rows.size == 1 else 'are'} missing in row"
            f"{'' if rows.size == 1 else 's'} {shown}: leave out rows without a stratum, or give "
            "them one of their own"
        )
