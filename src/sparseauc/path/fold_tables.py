"""Columns as the training rows of each split transform them, in training and in validation."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..transforms import Transform
from .folds import SplitPlan, rows_by_number
from .validation import Models


class FoldTables:
    """A table as each split takes it: limits and logarithms are those of its training rows.

    ``judged`` has all columns as they are and then, for each round of splits, those that change:
    every row as the split that validates it takes it. So one table serves all models.
    """

    def __init__(self, X: Any, plan: SplitPlan, transforms: Sequence[Transform]) -> None:
        self._X, self._transforms = X, transforms
        changed = np.unique(np.concatenate([one.changed for one in transforms]))
        d, n_splits = X.shape[1], len(plan.training)
        self._places = np.tile(np.arange(d), (n_splits, 1))
        tables = [X]
        for validated in plan.rounds:
            as_taken = X[:, changed]
            first = sum(table.shape[1] for table in tables)
            for split, rows in rows_by_number(validated):
                as_taken[rows] = transforms[split].of_columns(changed).apply(as_taken[rows])
                self._places[split, changed] = first + np.arange(changed.size)
            tables.append(as_taken)
        self.judged = np.hstack(tables)

    def training(self, split: int) -> Any:
        """All rows as a split takes them; −1 for the fit to all rows."""
        return self._transforms[split].apply(self._X)

    def moved(self, models: Sequence[Models]) -> list[Models]:
        """Models of all splits, with columns as they are in ``judged``."""
        return [model.moved(places) for model, places in zip(models, self._places, strict=True)]
