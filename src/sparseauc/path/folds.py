"""Cross-validating the path: training moments of every fold, validation AUC of every model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr
from sklearn.model_selection import RepeatedStratifiedKFold

from ..metrics import fast_auc
from ..moments import ClassMoments, Moments, class_moments
from .path import SparseAUCPath, path_of_moments

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Split = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]

# Up to this many columns all of H is gathered fold by fold, so that each row is read once and the
# moments of a training set are merged from those of its folds. With more columns, or as many folds
# as make up more than ten such tables, H would fill the memory, and rows of it are computed as they
# are needed.
_WHOLE, _TABLES = 1500, 10


class FoldResult(NamedTuple):
    """What a fold says of all models.

    Attributes
    ----------
    aucs : ndarray of shape (n_alphas, n_ks)
    binormal_aucs : ndarray of shape (n_alphas, n_ks)
        What the AUC would be if scores were normal with their means and variances in each class,
        Φ((mean₊ − mean₋) / √(var₊ + var₋)). It tells models apart where few rows give many of them
        the same AUC.
    scores : ndarray of shape (n_validation, n_alphas, n_ks)
        Scores of the validation rows, zero midway between the class means of the training rows.
    """

    aucs: Array
    binormal_aucs: Array
    scores: Array


def training_moments(
    X: Any, positive: Mask, weight: Array | None, splits: list[Split]
) -> Iterator[Moments]:
    """Moments of the training rows of each split in turn.

    Nothing of the validation rows enters them. So training folds are merged, and the validation
    fold is not subtracted from the whole: a column that varies in that fold only would be left with
    a rounding error for its difference, and no variance, as if it told the classes apart.
    """
    n, d = X.shape
    for repeat in _partitions(splits, n):
        if len(repeat) > 1 and d <= _WHOLE and len(repeat) * d**2 <= _TABLES * _WHOLE**2:
            columns = np.arange(d)
            parts = [
                class_moments(
                    X[test], positive[test], None if weight is None else weight[test]
                ).summary(columns)
                for _, test in repeat
            ]
            yield from _all_but_one(parts, None)
            continue
        for train, _ in repeat:
            # A row drawn twice, as bootstrap splits draw, counts twice.
            times = np.bincount(train, minlength=n).astype(np.float64)
            yield class_moments(X, positive, times if weight is None else times * weight)


def _partitions(splits: list[Split], n: int) -> Iterator[list[Split]]:
    """Runs of splits that validate every row once and train on all others; else one each."""
    run: list[Split] = []
    seen = np.zeros(n, np.bool_)
    for split in splits:
        train, test = split
        validated = np.zeros(n, np.bool_)
        validated[test] = True
        rest = np.array_equal(np.bincount(train, minlength=n), ~validated)
        if not rest or (seen & validated).any():
            yield from ([earlier] for earlier in run)
            run = []
            seen[:] = False
        if not rest:
            yield [split]
            continue
        run.append(split)
        seen |= validated
        if seen.all():
            yield run
            run = []
            seen[:] = False
    yield from ([earlier] for earlier in run)


def _all_but_one(parts: list[ClassMoments], others: ClassMoments | None) -> Iterator[ClassMoments]:
    """For each part the sum of the others, and of ``others``, by halves: K log K sums for K."""
    if len(parts) == 1:
        assert others is not None
        yield others
        return
    middle = len(parts) // 2
    left, right = parts[:middle], parts[middle:]
    outside = [] if others is None else [others]
    yield from _all_but_one(left, ClassMoments.merge([*outside, *right]))
    yield from _all_but_one(right, ClassMoments.merge([*outside, *left]))


def run_fold(
    X: Any,
    positive: Mask,
    weight: Array | None,
    split: Split,
    moments: Moments,
    ks: Indices,
    alphas: Array,
    **restrictions: Any,
) -> FoldResult:
    """Fit all models on the training moments and score the validation rows with each."""
    path: SparseAUCPath = path_of_moments(moments, ks, alphas, **restrictions)
    used, coefficients = path.matrix()
    test = split[1]
    means = np.array(moments.means)[:, used]
    scores = np.asarray(X[test][:, used] @ coefficients - means.mean(axis=0) @ coefficients)
    mask = positive[test]
    counted = None if weight is None else weight[test]
    aucs = np.array([fast_auc(column, mask, counted) for column in scores.T])
    (mean, variance), (mean_negative, variance_negative) = (
        _mean_and_variance(scores[side], None if counted is None else counted[side])
        for side in (mask, ~mask)
    )
    gap = mean - mean_negative
    spread = np.sqrt(variance + variance_negative)
    # Without spread any gap is complete separation, and none, as without columns, is chance.
    apart = np.where(gap == 0, 0.0, np.copysign(np.inf, gap))
    distance = np.divide(gap, spread, out=apart, where=spread > 0)
    shape = alphas.size, ks.size
    return FoldResult(
        aucs.reshape(shape), ndtr(distance).reshape(shape), scores.reshape(test.size, *shape)
    )


def _mean_and_variance(scores: Array, weight: Array | None) -> tuple[Array, Array]:
    """Of each column, with weights."""
    mean = np.average(scores, axis=0, weights=weight)
    return mean, np.average((scores - mean) ** 2, axis=0, weights=weight)


def check_splits(splits: list[Split], positive: Mask, weight: Array | None) -> None:
    """Refuse a split in which training or validation rows are of one class."""
    for number, parts in enumerate(splits):
        for name, rows in zip(("training", "validation"), parts, strict=True):
            counted = rows if weight is None else rows[weight[rows] > 0]
            kinds = np.unique(positive[counted])
            if kinds.size < 2:
                missing = (
                    "rows" if kinds.size == 0 else "positives" if not kinds[0] else "negatives"
                )
                which = "" if weight is None else " of weight above 0"
                raise ValueError(
                    f"split {number} has no {missing}{which} among its {name} rows: use fewer "
                    "folds, or a splitter that keeps the classes together, such as StratifiedKFold"
                )


def default_splitter(positive: Mask, random_state: Any) -> RepeatedStratifiedKFold:
    """Five stratified folds, repeated where rows are few.

    With few rows of a class the AUC of a fold is a matter of luck; repeats average it out, until a
    hundred rows of the rarer class have been validated, five times at most.
    """
    rarer = int(min(positive.sum(), (~positive).sum()))
    return RepeatedStratifiedKFold(
        n_splits=max(2, min(5, rarer)),
        n_repeats=min(5, -(-100 // rarer)),
        random_state=random_state,
    )
