"""Folds of a table."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sparseauc.folds import Split, groups_by_class, make_splits
from sparseauc.outcome import Binary
from sparseauc.selection.confidence import NestedScores, score_out_of_fold
from sparseauc.strata import Strata, StrataWarning
from sparseauc.utils.types import Mask

from .column_types import Rows
from .reading import DataError, Table

# With fewer rows without an event, folds need not all have some.
_LEAST_CENSORED = 10
# Called with the stage, the steps done, of which one may be done in part, and the steps
# in all.
Progress = Callable[[str, float, int], None]


def split_rows(table: Table, rows: Rows, most: int, seed: int) -> list[Split]:
    """Split some rows into ``most`` stratified folds or fewer, which keep groups together.

    The numbers are places among these rows.
    """
    holding = _units_by_class(table, rows)
    if min(holding) < 2:
        label = (table.negative, table.positive)[int(np.argmin(holding))]
        units = "rows" if table.groups is None else "groups have rows that"
        raise DataError(
            f"only {min(holding)} {units} are {label!r}: cross-validation needs at least 2, nested "
            "cross-validation at least 4"
        )
    return _split(table, rows, min(most, *holding), None, seed)


def outer_splits(table: Table, folds: int, seed: int) -> list[Split]:
    """Splits for nested cross-validation; none if the training rows of a fold lack a class."""
    outcome = Binary(table.y == 1)
    everything = np.arange(table.y.size)
    if table.groups is None and min(_units_by_class(table, everything)) < 3:
        return []
    if table.strata is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StrataWarning)
            outcome = outcome.within(table.strata)
    if outcome.strata is not None and table.groups is None:
        few = min(folds, *_units_by_class(table, everything))
        splits = _split(table, everything, few, outcome.strata, seed)
    else:
        splits = split_rows(table, everything, folds, seed)
    for train, _ in splits:
        strata = outcome.take(train).strata
        if min(_units_by_class(table, train)) < 2 or (
            strata is not None and not len(strata)
        ):
            return []
    return splits


def splits_of(folds: npt.NDArray[np.integer]) -> list[Split]:
    """Training and test rows of each fold, given the fold that tests each row."""
    return [
        (np.flatnonzero(folds != fold), np.flatnonzero(folds == fold))
        for fold in range(int(folds.max()) + 1)
    ]


def score_folds(
    table: Table, splits: Sequence[Split], fit: Callable[[int, Rows], Any]
) -> NestedScores:
    """Score every row by the model that ``fit`` returns for a fold and its training rows."""
    return score_out_of_fold(fit, table.X, table.outcome, splits, strata=table.strata)


def _split(
    table: Table, rows: Rows, folds: int, strata: Strata | None, seed: int
) -> list[Split]:
    groups: Any = None if table.groups is None else table.groups[rows]
    positive = _labels_of(table)[rows]
    return make_splits(
        folds, positive, positive, groups, seed, n_repeats=1, strata=strata
    )


def _labels_of(table: Table) -> Mask:
    """Return what folds should have equal shares of."""
    return table.outcome.fold_labels(_LEAST_CENSORED)


def _units_by_class(table: Table, rows: Rows) -> list[int]:
    """Number of groups, or else rows, of each class; of one where all rows are alike to folds."""
    units = rows if table.groups is None else table.groups[rows]
    labels = _labels_of(table)
    if labels.all():
        return [np.unique(units).size] * 2
    return groups_by_class(units, labels[rows])
