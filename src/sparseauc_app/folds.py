"""Folds of a table."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sparseauc.labels import Labels, StrataWarning
from sparseauc.path.folds import Split, groups_by_class, make_splits
from sparseauc.selection.confidence import NestedScores, score_out_of_fold

from .reading import DataError, Table

Rows = npt.NDArray[np.intp]
# Called with the stage, the steps done, of which one may be done in part, and the steps in all.
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
    labels = Labels(table.y == 1)
    everything = np.arange(table.y.size)
    if table.groups is None and min(_units_by_class(table, everything)) < 3:
        return []
    if table.strata is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StrataWarning)
            labels = labels.within(table.strata)
    if labels.code is not None and table.groups is None:
        few = min(folds, *_units_by_class(table, everything))
        splits = _split(table, everything, few, labels, seed)
    else:
        splits = split_rows(table, everything, folds, seed)
    for train, _ in splits:
        if min(_units_by_class(table, train)) < 2 or not len(labels.take(train)):
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
    return score_out_of_fold(fit, table.X, table.outcome.ranking, splits, strata=table.strata)


def _split(table: Table, rows: Rows, folds: int, labels: Labels | None, seed: int) -> list[Split]:
    groups: Any = None if table.groups is None else table.groups[rows]
    positive = table.outcome.fold_labels[rows]
    divided = Labels(positive) if labels is None else replace(labels, positive=positive)
    return make_splits(folds, positive, divided, groups, seed, n_repeats=1)


def _units_by_class(table: Table, rows: Rows) -> list[int]:
    """Number of groups, or else rows, of each class; of one where all rows are alike to folds."""
    units = rows if table.groups is None else table.groups[rows]
    labels = table.outcome.fold_labels[rows]
    if table.outcome.fold_labels.all():
        return [np.unique(units).size] * 2
    return groups_by_class(units, labels)
