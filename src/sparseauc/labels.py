"""Labels of rows: the class of each, and strata, within which alone rows are compared.

Sites, batches, donors, matched sets: where the level of a column, or the share of positives,
differs between them, comparing rows of two strata rewards columns that tell strata apart. Each
stratum with both classes counts by its share: of all pairs within strata, or the same for each.

``Labels`` carry both: moments, folds and validation take them and turn strata into cells of rows.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from ._validation import is_missing
from .errors import InputError
from .utils.text import listed
from .utils.types import Array, Indices, Mask

Weighting = Literal["pairs", "equal"]


class StrataWarning(UserWarning):
    """Some strata hold rows of one class only, and count nothing."""


@dataclass(frozen=True)
class Labels:
    """The class of each row; with strata, only pairs of one stratum count."""

    positive: Mask
    # Number of each row's stratum, −1 for rows that count nothing; None without strata.
    code: Indices | None = None
    names: Sequence[Any] = (None,)  # of the strata
    weighting: Weighting = "pairs"  # of strata: by their number of pairs, or all the same

    def __len__(self) -> int:
        return len(self.names)

    def within(
        self, strata: Any, weighting: Weighting = "pairs", weight: Array | None = None
    ) -> Self:
        """The same classes within strata; warn of those with one class only, which count nothing.

        Strata are anything but missing values, row by row; rows of weight 0 count nothing.
        """
        every = self.numbered(strata, weighting)
        names = every.names
        both = every.with_both_classes(weight)
        counted = set(both.names)
        left_out = [repr(name) for name in names if name not in counted]
        if not both.names:
            raise InputError(
                f"none of the {len(names)} strata holds rows of both classes: pairs of one "
                "stratum are all that count, so leave strata out or give coarser ones"
            )
        if left_out:
            rows = int(np.count_nonzero(both.code == -1))
            warnings.warn(
                f"{len(left_out)} of {len(names)} strata "
                f"hold{'s' if len(left_out) == 1 else ''} rows of one class only and "
                f"count{'s' if len(left_out) == 1 else ''} nothing, {rows} "
                f"row{'' if rows == 1 else 's'} in all: {listed(left_out)}",
                StrataWarning,
                stacklevel=3,
            )
        return both

    def numbered(self, strata: Any, weighting: Weighting = "pairs") -> Self:
        """Number the strata, whatever rows they hold."""
        values, n = np.asarray(strata), self.positive.size
        if values.shape != (n,):
            raise InputError(f"strata must label each of the {n} rows, got shape {values.shape}")
        _check_none_missing(values)
        if values.dtype.kind == "O":
            number = {name: at for at, name in enumerate(sorted(set(values.tolist()), key=str))}
            names = list(number)
            code = np.array([number[name] for name in values.tolist()], np.int64)
        else:
            unique, code = np.unique(values, return_inverse=True)
            names = unique.tolist()
        return replace(self, code=code.astype(np.int64), names=names, weighting=weighting)

    def take(self, rows: Indices, weight: Array | None = None) -> Self:
        """The same for some of the rows, and the strata with both classes among them."""
        code = None if self.code is None else self.code[rows]
        return replace(self, positive=self.positive[rows], code=code).with_both_classes(weight)

    def with_both_classes(self, weight: Array | None = None) -> Self:
        """The strata with rows of both classes, numbered anew; rows of others are left out."""
        if self.code is None:
            return self
        return self.only(np.all(self.totals(weight) > 0, axis=0))

    def only(self, kept: Mask) -> Self:
        """Some of the strata, numbered anew; rows of others are left out."""
        if self.code is None or kept.all():
            return self
        number = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
        names = [name for name, chosen in zip(self.names, kept, strict=True) if chosen]
        return replace(self, code=number[self.code], names=names)

    def totals(self, weight: Array | None = None) -> Array:
        """Weight of the positives and of the negatives of each stratum, of shape (2, n_strata)."""
        code = np.zeros(self.positive.size, np.int64) if self.code is None else self.code
        return _totals(code, len(self), self.positive, weight)

    def shares(self, totals: Array) -> Array:
        """What each stratum counts, 1 in all, given the weight of both classes in each, (2, n)."""
        return np.ones(1) if self.code is None else pair_shares(totals, self.weighting)

    def cells(self, weight: Array | None) -> tuple[npt.NDArray[np.int32], Array, Array | None]:
        """Cell of each row by stratum and class, what each stratum counts, and what rows count.

        Cell 2s holds the positives of stratum s, 2s + 1 its negatives. Rows of strata without both
        classes count nothing.
        """
        both = self.with_both_classes(weight)
        assert both.code is not None
        inside = both.code >= 0
        shares = both.shares(both.totals(weight))
        if not inside.all():
            weight = np.where(inside, 1.0 if weight is None else weight, 0.0)
        cell = np.where(inside, 2 * both.code + ~self.positive, 0)
        return cell.astype(np.int32), shares, weight

    def divide(self, part: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.integer[Any]]:
        """Divide parts of the rows by stratum: as many parts of each as there are strata."""
        if self.code is None:
            return part
        inside = (part >= 0) & (self.code >= 0)
        return np.where(inside, part * np.int64(len(self)) + self.code, -1).astype(np.int32)

    def compared(self, weight: Array) -> tuple[npt.NDArray[np.intp], Array, Indices | None]:
        """Rows of weight above 0 that are compared with any other, what they count, and strata."""
        if self.code is None:
            rows = np.flatnonzero(weight)
            return rows, weight[rows], None
        both = self.with_both_classes(weight)
        assert both.code is not None
        rows = np.flatnonzero((both.code >= 0) & (weight > 0))
        code, counts = both.code[rows], weight[rows]
        if self.weighting == "equal":
            counts = counts / np.bincount(code, counts)[code]
        return rows, counts, code

    def judged(
        self, rounds: Sequence[npt.NDArray[np.integer[Any]]], n_splits: int, weight: Array | None
    ) -> tuple[list[npt.NDArray[np.integer[Any]]], Indices]:
        """Rounds whose numbers are those of what is judged, and the split that each belongs to.

        Judged are splits or, of each split, the strata with validation rows of both classes.
        """
        if self.code is None:
            return [*rounds], np.arange(n_splits)
        numbers = [self.divide(validated) for validated in rounds]
        judged = np.zeros(n_splits * len(self), np.bool_)
        for number in numbers:
            among = _totals(number.astype(np.int64), judged.size, self.positive, weight)
            judged |= np.all(among > 0, axis=0)
        place = np.append(np.where(judged, np.cumsum(judged) - 1, -1), -1)
        return [place[number] for number in numbers], np.flatnonzero(judged) // len(self)

    def to_divide(self, n_folds: int) -> tuple[npt.NDArray[Any], Indices | None]:
        """What folds are stratified by, and what they keep whole.

        Folds hold rows of every stratum, in both classes. Where most strata are too small for that,
        as matched sets are, they keep strata whole.
        """
        if self.code is None:
            return self.positive, None
        large = np.min(self.totals(), axis=0) >= n_folds
        if len(self) > 1 and 2 * np.count_nonzero(large) < len(self):
            return self.positive, self.code
        cell = np.where(self.code >= 0, 2 * self.code + self.positive, -1)
        counts = np.bincount(cell[cell >= 0], minlength=2 * len(self))
        # Rows of strata without pairs, and of those smaller than there are folds, go with others.
        largest = 2 * counts.reshape(-1, 2).argmax(axis=0) + [0, 1]
        few = np.append(counts < n_folds, True)[cell]
        return np.where(few, largest[self.positive.astype(np.intp)], cell), None

    def to_halve(self, counted: Mask) -> tuple[Indices, Indices]:
        """Unit of each row, and the cell of each unit: halves have the same number of a cell.

        Units are rows, within each class of a stratum; or strata, where most have a single row of a
        class. Those of cell −1 are in neither half.
        """
        every = np.arange(self.positive.size)
        if self.code is None:
            return every, np.where(counted, self.positive, -1)
        large = np.min(self.totals(counted.astype(np.float64)), axis=0) > 1
        if 2 * np.count_nonzero(large) < len(self):
            return np.where(counted, self.code, -1), np.zeros(len(self), np.int64)
        inside = counted & (self.code >= 0)
        return every, np.where(inside, 2 * self.code + self.positive, -1)

    def auc(self, scores: Array) -> float:
        """AUC of scores within the strata, which all have rows of both classes; no checks."""
        assert self.code is not None
        rows = np.flatnonzero(self.code >= 0)
        rows = rows[np.lexsort((scores[rows], self.code[rows]))]
        code, values, inside = self.code[rows], scores[rows], self.positive[rows]
        first = np.append(True, (np.diff(code) != 0) | (np.diff(values) != 0))
        starts = np.flatnonzero(first)
        # Mean places of equal scores, from the first row of a stratum on.
        middle = (starts + np.append(starts[1:], rows.size) - 1) / 2
        place = middle[np.cumsum(first) - 1] - np.searchsorted(code, np.arange(len(self)))[code]
        totals = self.totals()
        above = np.bincount(code[inside], place[inside]) - totals[0] * (totals[0] - 1) / 2
        return float(self.shares(totals) @ (above / (totals[0] * totals[1])))


def _totals(code: Indices, size: int, positive: Mask, weight: Array | None) -> Array:
    """Weight of the positives and of the negatives of each number, of shape (2, size)."""
    rows = np.flatnonzero(code >= 0)
    cell = code[rows] + size * ~positive[rows]
    weights = None if weight is None else weight[rows]
    return np.bincount(cell, weights, 2 * size).reshape(2, -1).astype(np.float64)


def check_weighting(weighting: Weighting, strata: Any) -> None:
    """Refuse weights of strata that are unknown, or have nothing to weigh."""
    if weighting not in ("pairs", "equal"):
        raise InputError(f"stratum_weights must be 'pairs' or 'equal', got {weighting!r}")
    if strata is None and weighting != "pairs":
        raise InputError(f"stratum_weights={weighting!r} has no effect without strata")


def pair_shares(totals: Array, weighting: Weighting) -> Array:
    """What each stratum counts, 1 in all, given the weight of both classes in each, (2, n)."""
    if weighting not in ("pairs", "equal"):
        raise InputError(f"strata count by 'pairs' or 'equal', not by {weighting!r}")
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
        raise InputError(
            f"strata {'is' if rows.size == 1 else 'are'} missing in row"
            f"{'' if rows.size == 1 else 's'} {shown}: leave out rows without a stratum, or give "
            "them one of their own"
        )
