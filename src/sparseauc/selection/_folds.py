"""Cross-validating the path: training moments of every fold, validation AUC of every model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..metrics import fast_auc
from ..moments import ClassMoments, Moments, class_moments
from ._path import SparseAUCPath, path_of_moments

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Split = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]

# Up to this many columns all of H is gathered fold by fold, so that each row is read once and the
# moments of a training set are those of all rows less those of the fold. With more columns H would
# fill the memory, and rows of it are computed as they are needed.
_WHOLE = 1500


class FoldResult(NamedTuple):
    """What a fold says of all models.

    Attributes
    ----------
    aucs : ndarray of shape (n_alphas, n_ks)
    scores : ndarray of shape (n_validation, n_alphas, n_ks)
        Scores of the validation rows, zero midway between the class means of the training rows.
    """

    aucs: Array
    scores: Array


def training_moments(
    X: Any, positive: Mask, weight: Array | None, splits: list[Split]
) -> Callable[[int], Moments]:
    """Moments of the training rows of each split, given by its number.

    Nothing of the validation rows enters them.
    """
    n, d = X.shape
    if d <= _WHOLE and _is_partition(splits, n):
        columns = np.arange(d)
        parts = [
            class_moments(
                X[test], positive[test], None if weight is None else weight[test]
            ).summary(columns)
            for _, test in splits
        ]
        total = ClassMoments.merge(parts)
        return lambda fold: total - parts[fold]

    def masked(fold: int) -> Moments:
        only_training = np.zeros(n)
        train = splits[fold][0]
        only_training[train] = 1.0 if weight is None else weight[train]
        return class_moments(X, positive, only_training)

    return masked


def run_fold(
    X: Any,
    positive: Mask,
    split: Split,
    moments: Moments,
    ks: Indices,
    alphas: Array,
    fixed: Indices,
    excluded: Indices,
) -> FoldResult:
    """Fit all models on the training moments and score the validation rows with each."""
    path: SparseAUCPath = path_of_moments(moments, ks, alphas, fixed=fixed, excluded=excluded)
    used, coefficients = path.matrix()
    test = split[1]
    means = np.array(moments.means)[:, used]
    scores = np.asarray(X[test][:, used] @ coefficients - means.mean(axis=0) @ coefficients)
    aucs = np.array([fast_auc(column, positive[test]) for column in scores.T])
    shape = alphas.size, ks.size
    return FoldResult(aucs.reshape(shape), scores.reshape(test.size, *shape))


def check_splits(splits: list[Split], positive: Mask, weight: Array | None) -> None:
    """Refuse a split in which training or validation rows are of one class."""
    for number, parts in enumerate(splits):
        for name, rows in zip(("training", "validation"), parts, strict=True):
            counted = rows if weight is None or name == "validation" else rows[weight[rows] > 0]
            kinds = np.unique(positive[counted])
            if kinds.size < 2:
                missing = (
                    "rows" if kinds.size == 0 else "positives" if not kinds[0] else "negatives"
                )
                raise ValueError(
                    f"split {number} has no {missing} among its {name} rows: use fewer folds, or "
                    "a splitter that keeps the classes together, such as StratifiedKFold"
                )


def _is_partition(splits: list[Split], n: int) -> bool:
    """Whether every row is validated once and trained on otherwise."""
    tested = np.concatenate([test for _, test in splits])
    return tested.size == n == np.unique(tested).size and all(
        train.size + test.size == n for train, test in splits
    )
