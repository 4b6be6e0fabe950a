"""Choose a grid point on validation rows, fit again on all training rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sparseauc.metrics import fast_auc

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


class Split(NamedTuple):
    """Rows to fit and rows to judge, as row numbers of the table."""

    train: Indices
    test: Indices


def aucs(X: Floats, positive: Mask, W: Floats) -> Floats:
    """AUC of every column of coefficients, NaN where it holds NaN."""
    scores = X @ W
    return np.array(
        [
            fast_auc(column, positive) if np.isfinite(column).all() else np.nan
            for column in np.ascontiguousarray(scores.T)
        ]
    )


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


@dataclass(frozen=True)
class Tuned:
    """Mean validation AUC of every grid point; NaN where a fit diverged on some fold."""

    scores: Floats

    def best(self, among: Sequence[int] | None = None) -> int:
        """Place of the best point, the first of equals; the first of all if none has a score."""
        places = range(self.scores.size) if among is None else among
        return max(places, key=lambda i: (np.nan_to_num(self.scores[i], nan=-1.0), -i))


def tune(
    splits: Iterable[Split],
    fit: Callable[[Split, int], tuple[Floats, Floats]],
    positive: Mask,
) -> Tuned:
    """Score all grid points on each split.

    ``fit(split, number)`` returns the scaled validation rows and one column of coefficients for
    each grid point. A split whose validation rows are of one class tells nothing and is left out.
    """
    scores = []
    for number, split in enumerate(splits):
        judged = positive[split.test]
        if judged.all() or not judged.any():
            continue
        X, W = fit(split, number)
        scores.append(aucs(X, judged, W))
    return Tuned(np.mean(scores, axis=0))
