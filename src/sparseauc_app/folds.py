"""Folds of a table, and scores of its rows by models fitted without them."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from sparseauc.path.folds import Split, make_splits
from sparseauc.selection.confidence import NestedScores, columns_used, comparable_scores, pool_folds
from sparseauc.strata import Strata, StrataWarning

from .reading import DataError, Table

Rows = npt.NDArray[np.intp]
# Called with the stage, the steps done and the steps in all.
Progress = Callable[[str, int, int], None]


def stratified_folds(table: Table, rows: Rows, most: int, seed: int) -> Any:
    """Return a splitter of some rows into ``most`` folds or fewer, which keeps groups together."""
    holding = _units_by_class(table, rows)
    if min(holding) < 2:
        label = (table.negative, table.positive)[int(np.argmin(holding))]
        units = "rows" if table.groups is None else "groups have rows that"
        raise DataError(
            f"only {min(holding)} {units} are {label!r}: cross-validation needs at least 2, nested "
            "cross-validation at least 4"
        )
    kind = StratifiedKFold if table.groups is None else StratifiedGroupKFold
    return kind(min(most, *holding), shuffle=True, random_state=seed)


def _units_by_class(table: Table, rows: Rows) -> list[int]:
    """Number of groups, or else rows, of each class."""
    units, y = rows if table.groups is None else table.groups[rows], table.y[rows]
    return [np.unique(units[y == label]).size for label in (0, 1)]


def outer_splits(table: Table, folds: int, seed: int) -> list[Split]:
    """Splits for nested cross-validation; none if the training rows of a fold lack a class."""
    positive, strata = table.y == 1, None
    everything = np.arange(table.y.size)
    if table.groups is None and min(_units_by_class(table, everything)) < 3:
        return []
    if table.strata is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StrataWarning)
            strata = Strata.from_labels(table.strata, positive)
    if strata is not None and table.groups is None:
        few = min(folds, *_units_by_class(table, everything))
        splits = make_splits(few, table.y, positive, None, strata, seed, 1)
    else:
        splits = split_rows(table, everything, folds, seed)
    for train, _ in splits:
        if min(_units_by_class(table, train)) < 2:
            return []
        inside = np.bincount(train, minlength=table.y.size).astype(np.float64)
        if strata is not None and not len(strata.with_both_classes(positive, inside)):
            return []
    return splits


def split_rows(table: Table, rows: Rows, most: int, seed: int) -> list[Split]:
    """Split some rows into stratified folds; the numbers are places among these rows."""
    groups = None if table.groups is None else table.groups[rows]
    splitter = stratified_folds(table, rows, most, seed)
    return list(splitter.split(np.zeros((rows.size, 1)), table.y[rows], groups))


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
    parts, columns, positive = [], [], table.y == 1
    for fold, (train, _) in enumerate(splits):
        model = fit(fold, train)
        parts.append(comparable_scores(model, table.X, positive, train))
        columns.append(columns_used(model))
    tests = [test for _, test in splits]
    return pool_folds(parts, tests, positive, columns=columns, strata=table.strata)
