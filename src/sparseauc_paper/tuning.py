"""Choose a grid point on validation rows, fit again on all training rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold

from sparseauc.metrics import fast_auc

from .methods import METHODS, Point, Training
from .protocols import Protocol
from .row_space import Floats, Indices, Mask
from .seeds import generator

N_FOLDS = 5


class Split(NamedTuple):
    """Rows to fit and rows to judge, as row numbers of the table."""

    train: Indices
    test: Indices


def aucs(X: Floats, positive: Mask, W: Floats) -> list[float]:
    """AUC of every column of coefficients, NaN where it holds NaN."""
    return [
        fast_auc(column, positive) if np.isfinite(column).all() else np.nan
        for column in np.ascontiguousarray((X @ W).T)
    ]


def scale_columns(X: Floats, rows: Indices) -> Floats:
    """Z-score the columns with the mean and deviation of these rows; constant ones become zero."""
    deviation = X[rows].std(axis=0)
    centred = X - X[rows].mean(axis=0)
    scaled: Floats = np.divide(centred, deviation, out=np.zeros_like(centred), where=deviation > 0)
    return scaled


def scale_rows(X: Floats) -> Floats:
    """Bring every row to unit length; a row of zeros stays."""
    length = np.linalg.norm(X, axis=1, keepdims=True)
    scaled: Floats = np.divide(X, length, out=np.zeros_like(X), where=length > 0)
    return scaled


def best_of(scores: Floats, among: Sequence[int]) -> int:
    """Place of the best point, the first of equals; the first of all if none has a score."""
    return max(among, key=lambda i: (np.nan_to_num(scores[i], nan=-1.0), -i))


@dataclass(frozen=True)
class Fits:
    """Fits of a task's method to parts of a table; ``scale`` makes the table for training rows."""

    settings: Mapping[str, Any]
    protocol: Protocol
    positive: Mask
    inner: Sequence[Split]  # tuning splits
    seed: tuple[Any, ...]
    scale: Callable[[Indices], Floats]
    stop_tol: float = 1e-4

    def fit(
        self, part: Split, number: int, grid: Sequence[Point], *, tuning: bool = False
    ) -> tuple[Floats, Floats]:
        """Test rows of a part, and coefficients of its training rows, a column for each point."""
        X = self.scale(part.train)
        training = Training(
            X=np.ascontiguousarray(X[part.train]),
            positive=self.positive[part.train],
            protocol=self.protocol,
            epochs=self.settings["epochs"],
            seed=("fit", *self.seed, self.settings["method"], number),
            tuning_rows=self.inner[0].train.size,
            tuning=tuning,
            device=self.settings.get("device"),
            stop_tol=self.stop_tol,
        )
        return X[part.test], METHODS[self.settings["method"]].fit(training, grid)

    def tune(self, grid: Sequence[Point]) -> Floats:
        """Mean validation AUC of every point, NaN where a fit diverged on some split."""
        scores = []
        for number, split in enumerate(self.inner):
            judged = self.positive[split.test]
            if judged.any() and not judged.all():  # one class tells nothing
                X, W = self.fit(split, number, grid, tuning=True)
                scores.append(aucs(X, judged, W))
        mean: Floats = np.mean(scores, axis=0)
        return mean


def stratified_folds(positive: Mask, *seed: Any) -> list[Split]:
    """Shuffled stratified folds that depend on what they are for."""
    state = int(generator(*seed).integers(2**31))
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=state)
    return [Split(*split) for split in folds.split(np.zeros(positive.size), positive)]
