"""Choose a grid point on validation rows, fit again on all training rows."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection import StratifiedKFold

from .arrays import Array, Indices, Mask
from .methods import METHODS
from .protocols import Protocol
from .seeds import generator
from .training import Point, Training

N_FOLDS = 5


class Split(NamedTuple):
    """Rows to fit and rows to judge, as row numbers of the table."""

    train: Indices
    test: Indices


def aucs(positive: Mask, scores: Array) -> Array:
    """AUC of every column of scores, NaN where it holds NaN."""
    n_positive = int(positive.sum())
    lowest = n_positive * (n_positive + 1) / 2
    pairs = n_positive * (positive.size - n_positive)
    found: Array = (rankdata(scores, axis=0)[positive].sum(axis=0) - lowest) / pairs
    return found


def aucs_of_largest(X: Array, positive: Mask, W: Array, ks: Sequence[int]) -> Array:
    """AUC of the k largest entries of each column of coefficients, a line for each; NaN if lost."""
    found = np.full((W.shape[1], len(ks)), np.nan)
    if not ks:
        return found
    # Of equal entries those of the smaller column number, as in ``top_k``.
    order = np.argsort(-np.abs(W), axis=0, kind="stable")[: max(ks)]
    ends = np.minimum(ks, W.shape[0]) - 1
    for line, (columns, w) in enumerate(zip(order.T, W.T, strict=True)):
        found[line] = aucs(
            positive, np.cumsum(X[:, columns] * w[columns], axis=1)[:, ends]
        )
    return found


def scale_columns(X: Array, rows: Indices) -> Array:
    """Z-score the columns with the mean and deviation of these rows; constant ones become zero."""
    deviation = X[rows].std(axis=0)
    centred = X - X[rows].mean(axis=0)
    scaled: Array = np.divide(
        centred, deviation, out=np.zeros_like(centred), where=deviation > 0
    )
    return scaled


def scale_rows(X: Array) -> Array:
    """Bring every row to unit length; a row of zeros stays."""
    length = np.linalg.norm(X, axis=1, keepdims=True)
    scaled: Array = np.divide(X, length, out=np.zeros_like(X), where=length > 0)
    return scaled


def best_of(scores: Array, among: Sequence[int]) -> int:
    """Place of the best point, the first of equals; the first of all if none has a score."""
    return max(among, key=lambda i: (np.nan_to_num(scores[i], nan=-1.0), -i))


class Fitted(NamedTuple):
    """Test rows, coefficients with a column for each point, and processor time of a fit."""

    X_test: Array
    W: Array
    seconds: float


@dataclass(frozen=True)
class Fits:
    """Fits of a task's method to parts of a table; ``scale`` makes the table for training rows."""

    settings: Mapping[str, Any]
    protocol: Protocol
    positive: Mask
    inner: Sequence[Split]  # tuning splits
    seed: tuple[Any, ...]
    scale: Callable[[Indices], Array]
    stop_tol: float = 1e-4

    def fit(self, part: Split, grid: Sequence[Point]) -> Fitted:
        """Fit the points to the training rows of a part."""
        X, training = self._training(part, len(self.inner), tuning=False)
        start = time.thread_time()
        (W,) = METHODS[self.settings["method"]].fit([training], grid)
        return Fitted(X, W, (time.thread_time() - start) / len(grid))

    def _training(
        self, part: Split, number: int, *, tuning: bool
    ) -> tuple[Array, Training]:
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
        return X[part.test], training

    def tune(
        self, grid: Sequence[Point], ks: Sequence[int] = ()
    ) -> tuple[Array, Array]:
        """Mean validation AUC of every point, NaN where a fit diverged on some split.

        And that of its k largest coefficients alone, for every k: a line for each
        point.
        """
        used = []
        for number, split in enumerate(self.inner):
            judged = self.positive[split.test]
            if judged.any() and not judged.all():  # one class tells nothing
                used.append((judged, *self._training(split, number, tuning=True)))
        fits = METHODS[self.settings["method"]].fit(
            [training for *_, training in used], grid
        )
        whole, limited = [], []
        for (judged, X, _), W in zip(used, fits, strict=True):
            whole.append(aucs(judged, X @ W))
            limited.append(aucs_of_largest(X, judged, W, ks))
        return np.mean(whole, axis=0), np.mean(limited, axis=0)


def stratified_folds(positive: Mask, *seed: Any) -> list[Split]:
    """Shuffled stratified folds that depend on what they are for."""
    state = int(generator(*seed).integers(2**31))
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=state)
    return [Split(*split) for split in folds.split(np.zeros(positive.size), positive)]
