"""How well scores rank: the area under the ROC curve, its variance and its tests.

The area under the ROC curve (AUC) is the chance that a random positive scores above a random
negative, a tie counting one half. Everything here that involves it, the variance included, is
counted by sorting, in O(n log n), never by visiting the n₊n₋ pairs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import exp, inf, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, ndtr, ndtri, stdtrit

from ._validation import check_each_class_weighs, check_labels, check_scores, check_weights
from .errors import InputError
from .labels import Labels, Weighting

__all__ = [
    "AUCInterval",
    "DeLongTest",
    "StratifiedAUC",
    "auc",
    "auc_by_k",
    "auc_confidence_interval",
    "delong_test",
    "fast_auc",
    "fold_standard_error",
    "stratified_auc",
]


def auc(y_true: ArrayLike, y_score: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Area under the ROC curve, exactly, ties counted one half.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels with two distinct values of any sortable kind; the larger is positive.
    y_score : array-like of shape (n,)
        Finite scores, higher for positives.
    sample_weight : array-like of shape (n,), optional
        Non-negative weights; a pair counts by the product of its two weights.

    Returns
    -------
    float
        Between 0 and 1; 0.5 is chance.

    Examples
    --------
    >>> auc(["no", "no", "yes", "yes"], [0.1, 0.4, 0.4, 0.8])
    0.875
    """
    positive, classes = check_labels(y_true, "y_true")
    scores = check_scores(y_score, positive.size, "y_score")
    if sample_weight is None:
        return fast_auc(scores, positive)
    weight = check_weights(sample_weight, positive.size)
    check_each_class_weighs(weight, classes[positive.astype(np.intp)], classes)
    return fast_auc(scores, positive, weight)


def fast_auc(
    scores: NDArray[Any],
    positive: NDArray[np.bool_],
    sample_weight: NDArray[Any] | None = None,
) -> float:
    """Area under the ROC curve, without input checks.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Without NaN.
    positive : ndarray of bool of shape (n,)
        Both classes must occur.
    sample_weight : ndarray of shape (n,), optional
        Non-negative weights, not all zero in either class.

    Notes
    -----
    Each class is sorted and the smaller one looked up in the larger, which is quicker than one sort
    of all rows when positives are few. Without weights the only rounding is one division.
    """
    negative = ~positive
    swapped = 2 * np.count_nonzero(positive) > positive.size
    few, many = (negative, positive) if swapped else (positive, negative)

    if sample_weight is None:
        few_scores, many_scores = scores[few], scores[many]
        few_scores.sort()
        many_scores.sort()
        twice_pairs = 2 * few_scores.size * many_scores.size
        twice_above = int(_twice_below(few_scores, many_scores).sum())
        return (twice_pairs - twice_above if swapped else twice_above) / twice_pairs

    few_order, many_order = scores[few].argsort(), scores[many].argsort()
    keys, ascending = scores[few][few_order], scores[many][many_order]
    weight_before = np.zeros(ascending.size + 1)
    sample_weight[many][many_order].cumsum(dtype=np.float64, out=weight_before[1:])
    # Every share is at most 1, exactly, and the two sums below round alike: the quotient cannot
    # leave [0, 1], and perfect separation gives 1.0 to the last bit.
    share = weight_before[ascending.searchsorted(keys, "left")]
    share += weight_before[ascending.searchsorted(keys, "right")]
    share /= 2.0 * weight_before[-1]
    key_weights = sample_weight[few][few_order].astype(np.float64, copy=False)
    share_above = float((key_weights * share).sum() / key_weights.sum())
    return 1.0 - share_above if swapped else share_above


def fast_auc_within(
    scores: NDArray[Any], labels: Labels, sample_weight: NDArray[Any] | None = None
) -> float:
    """Area under the ROC curve, within strata where there are any, without input checks."""
    positive = labels.positive
    if labels.code is None:
        return fast_auc(scores, positive, sample_weight)
    if sample_weight is None:
        return labels.auc(scores)
    shares = labels.shares(labels.totals(sample_weight))
    parts = [np.flatnonzero(labels.code == number) for number in range(len(labels))]
    aucs = [fast_auc(scores[rows], positive[rows], sample_weight[rows]) for rows in parts]
    return float(shares @ aucs)


def _twice_below(keys: NDArray[Any], ascending: NDArray[Any]) -> NDArray[np.intp]:
    """Twice the number of ``ascending`` below each key, ties one half: an exact integer."""
    return ascending.searchsorted(keys, "left") + ascending.searchsorted(keys, "right")


@dataclass(frozen=True)
class AUCInterval:
    """An AUC and its confidence interval.

    Attributes
    ----------
    auc, low, high : float
        The AUC, and the ends of the interval, within [0, 1].
    standard_error : float
        DeLong standard error of ``auc``.
    confidence : float
    """

    auc: float
    low: float
    high: float
    standard_error: float
    confidence: float


@dataclass(frozen=True)
class DeLongTest:
    """Outcome of a paired comparison of two AUCs.

    Attributes
    ----------
    auc_a, auc_b : float
    difference : float
        ``auc_a - auc_b``.
    standard_error : float
        DeLong standard error of ``difference``.
    statistic : float
        ``difference / standard_error``.
    pvalue : float
        Two-sided.
    """

    auc_a: float
    auc_b: float
    difference: float
    standard_error: float
    statistic: float
    pvalue: float


def auc_confidence_interval(
    y_true: ArrayLike, y_score: ArrayLike, confidence: float = 0.95
) -> AUCInterval:
    """AUC with a DeLong confidence interval that stays inside [0, 1].

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels with two distinct values, the larger positive, each on two rows or more.
    y_score : array-like of shape (n,)
        Finite scores, higher for positives.
    confidence : float, default=0.95
        Level of the two-sided interval, strictly between 0 and 1.

    Returns
    -------
    AUCInterval

    Notes
    -----
    The variance is that of DeLong, DeLong and Clarke-Pearson (1988). The interval is symmetric
    in log(AUC / (1 − AUC)), where the estimate is nearer normal than on its own scale.

    If all pairs agree (AUC 0 or 1, or all scores equal), the variance is zero. The interval is then
    the exact one of Clopper and Pearson for m successes in m trials, with m = min(n₊, n₋), the
    number of disjoint and so independent pairs.
    """
    positive, _ = check_labels(y_true, "y_true", least=2)
    scores = check_scores(y_score, positive.size, "y_score")

    above, below = _pair_counts(scores, positive)
    disjoint = min(above.size, below.size)
    return area_interval(_area(above, below), _standard_error(above, below), disjoint, confidence)


def area_interval(area: float, error: float, disjoint: int, confidence: float) -> AUCInterval:
    """Interval on the logistic scale, or an exact one from so many disjoint pairs that agree."""
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence must lie strictly between 0 and 1, got {confidence}.")
    if error == 0.0 or area in (0.0, 1.0):
        # All pairs agree, so `area` is what each contributes: 0, 1/2 or 1.
        agreement = ((1.0 - confidence) / 2.0) ** (1.0 / disjoint)
        low, high = area * agreement, 1.0 - (1.0 - area) * agreement
    else:
        half_width = ndtri((1.0 + confidence) / 2.0) * error / (area * (1.0 - area))
        centre = logit(area)
        low, high = expit(centre - half_width), expit(centre + half_width)
    return AUCInterval(area, float(low), float(high), error, confidence)


@dataclass(frozen=True)
class StratifiedAUC(AUCInterval):
    """The mean of the AUCs within strata, with its interval.

    Attributes
    ----------
    auc, low, high, standard_error, confidence
        As of :class:`AUCInterval`.
    strata : list
        Names of the strata that have both classes.
    shares : ndarray of shape (n_strata,)
        What each counts in the mean, 1 in all.
    aucs : ndarray of shape (n_strata,)
        AUC within each.
    n_positive, n_negative : ndarrays of int of shape (n_strata,)
        Rows of each.
    """

    strata: list[Any]
    shares: NDArray[np.float64]
    aucs: NDArray[np.float64]
    n_positive: NDArray[np.int64]
    n_negative: NDArray[np.int64]


def stratified_auc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    strata: ArrayLike,
    *,
    weights: Weighting = "pairs",
    effects: Literal["fixed", "random"] = "fixed",
    confidence: float = 0.95,
) -> StratifiedAUC:
    """AUC within strata: only pairs of a positive and a negative of the same stratum count.

    Strata are sites, batches, donors, matched sets or users. A score that only tells them apart has
    an AUC of one half within them, whatever its AUC over all rows.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels with two distinct values, the larger positive.
    y_score : array-like of shape (n,)
        Finite scores, higher for rows thought positive.
    strata : array-like of shape (n,)
        Stratum of each row. Those with one class only count nothing, with a warning.
    weights : {"pairs", "equal"}, default="pairs"
        Whether strata count by their number of pairs, or all the same.
    effects : {"fixed", "random"}, default="fixed"
        "fixed": the interval is for these strata, with other rows. "random": these strata are a
        sample, such as some of many sites, and the interval is for the mean over all of them; it
        needs two strata, and is wide with few.
    confidence : float, default=0.95
        Level of the two-sided interval, strictly between 0 and 1.

    Returns
    -------
    StratifiedAUC

    Notes
    -----
    Strata are independent: the variance is Σ π_s² V_s with DeLong's variance in each. With random
    effects it is that of the AUCs about their mean, Σ π_s² (A_s − A)² n/(n − 1), if that is more,
    and the interval is by Student's t with one degree of freedom less than there are strata of
    equal share, 1/Σ π_s². DeLong's variance is
    undefined where a class has a single row, as in matched sets, and zero where all pairs of a
    stratum agree. Such strata contribute the variance of their AUCs about their mean, and one alone
    the largest variance that its AUC could have. The interval is that of
    :func:`auc_confidence_interval`.

    Examples
    --------
    >>> y, site = [0, 0, 1, 0, 1, 1], ["a", "a", "a", "b", "b", "b"]
    >>> stratified_auc(y, [1.0, 3.0, 2.0, 5.0, 6.0, 7.0], site).auc
    0.75
    """
    positive, _ = check_labels(y_true, "y_true")
    scores = check_scores(y_score, positive.size, "y_score")
    divided = Labels(positive).within(strata, weights)
    assert divided.code is not None
    totals = divided.totals()
    shares = divided.shares(totals)
    order = np.argsort(divided.code, kind="stable")
    ends = np.searchsorted(divided.code[order], np.arange(len(divided) + 1))
    aucs, variances = np.empty(len(divided)), np.full(len(divided), np.nan)
    for stratum in range(len(divided)):
        rows = order[ends[stratum] : ends[stratum + 1]]
        above, below = _pair_counts(scores[rows], positive[rows])
        aucs[stratum] = _area(above, below)
        if min(above.size, below.size) > 1:
            variances[stratum] = _standard_error(above, below) ** 2
    area = float(np.clip(shares @ aucs, aucs.min(), aucs.max()))
    told = variances > 0
    variance = float(shares[told] ** 2 @ variances[told])
    share, others = shares[~told], aucs[~told]
    if others.size > 1:
        spread = (others - np.average(others, weights=share)) ** 2
        variance += float(share**2 @ spread) * others.size / (others.size - 1)
    elif others.size == 1 and (aucs.size > 1 or np.isnan(variances[0])):
        variance += float(share[0] ** 2) * area * (1.0 - area)
    stretch = 1.0
    if effects == "random":
        if aucs.size < 2:
            raise InputError("effects='random' needs two strata with rows of both classes")
        between = float(shares**2 @ (aucs - area) ** 2) * aucs.size / (aucs.size - 1)
        variance = max(variance, between)
        freedom = max(1.0, 1.0 / float(shares @ shares) - 1.0)
        tail = (1.0 + confidence) / 2.0
        stretch = float(stdtrit(freedom, tail) / ndtri(tail))
    elif effects != "fixed":
        raise InputError(f"effects must be 'fixed' or 'random', got {effects!r}")
    disjoint = int(totals.min(axis=0).sum())
    interval = area_interval(area, stretch * sqrt(variance), disjoint, confidence)
    interval = replace(interval, standard_error=sqrt(variance))
    return StratifiedAUC(
        **vars(interval), strata=list(divided.names), shares=shares, aucs=aucs,
        n_positive=totals[0].astype(np.int64), n_negative=totals[1].astype(np.int64),
    )  # fmt: skip


def delong_test(y_true: ArrayLike, score_a: ArrayLike, score_b: ArrayLike) -> DeLongTest:
    """Test whether two scores of the same rows have the same AUC.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels with two distinct values, the larger positive, each on two rows or more.
    score_a, score_b : array-like of shape (n,)
        Finite scores to compare, row by row those of the same cases.

    Returns
    -------
    DeLongTest

    Notes
    -----
    The paired test of DeLong, DeLong and Clarke-Pearson (1988), normal and two-sided. It is not
    valid for scores that were fitted to these rows, or if one model contains the other.

    If the difference is not zero but its estimated variance is, the statistic is infinite and the
    p-value is Hoeffding's bound 2 exp(−m·difference²/2), with m = min(n₊, n₋) disjoint pairs.
    """
    positive, _ = check_labels(y_true, "y_true", least=2)
    above_a, below_a = _pair_counts(check_scores(score_a, positive.size, "score_a"), positive)
    above_b, below_b = _pair_counts(check_scores(score_b, positive.size, "score_b"), positive)

    auc_a, auc_b = _area(above_a, below_a), _area(above_b, below_b)
    # The counts are integers: a difference of AUCs is zero, or constant, exactly when it is.
    above, below = above_a - above_b, below_a - below_b
    difference = _area(above, below)
    error = _standard_error(above, below)
    return paired_test(auc_a, auc_b, difference, error, min(above.size, below.size))


def paired_test(
    auc_a: float, auc_b: float, difference: float, error: float, disjoint: int
) -> DeLongTest:
    """Test a difference by its standard error, and the number of disjoint pairs if that is 0."""
    if difference == 0.0:
        statistic, pvalue = 0.0, 1.0
    elif error == 0.0:
        statistic = inf if difference > 0.0 else -inf
        pvalue = min(1.0, 2.0 * exp(-disjoint * difference**2 / 2.0))
    else:
        statistic = difference / error
        pvalue = float(2.0 * ndtr(-abs(statistic)))
    return DeLongTest(auc_a, auc_b, difference, error, statistic, pvalue)


def _pair_counts(
    scores: NDArray[Any], positive: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Twice the negatives below each positive and the positives above each negative.

    These are DeLong's structural components times 2n₋ and 2n₊, which makes them integers.
    """
    positives, negatives = scores[positive], scores[~positive]
    above = _twice_below(positives, np.sort(negatives))
    below = 2 * positives.size - _twice_below(negatives, np.sort(positives))
    return above, below


def _area(above: NDArray[np.intp], below: NDArray[np.intp]) -> float:
    return int(above.sum()) / (2 * above.size * below.size)


def _standard_error(above: NDArray[np.intp], below: NDArray[np.intp]) -> float:
    """DeLong's: the variance of each class's components, over the size of that class."""
    variance_above = float(above.var(ddof=1)) / (2 * below.size) ** 2
    variance_below = float(below.var(ddof=1)) / (2 * above.size) ** 2
    return sqrt(variance_above / above.size + variance_below / below.size)


def fold_standard_error(scores: ArrayLike, repeats: float = 1.0) -> NDArray[np.float64]:
    """Standard error of a mean over folds.

    Parameters
    ----------
    scores : array-like of shape (n_splits, ...)
        Score of each validation fold.
    repeats : float, default=1.0
        How often each row was validated. Repeats use the same rows again and are not independent.

    Returns
    -------
    ndarray of shape (...)
        Standard deviation of the folds (``ddof=1``) over the square root of their number; 0 for a
        single fold.

    Examples
    --------
    >>> float(fold_standard_error([0.8, 0.9, 0.7, 0.8]))
    0.04082482904638631
    """
    values = np.asarray(scores, np.float64)
    if len(values) < 2:
        return np.zeros(values.shape[1:])
    return np.asarray(values.std(axis=0, ddof=1) / np.sqrt(len(values) / repeats))


def auc_by_k(cv_results: Mapping[str, Any], repeats: float = 1.0) -> list[dict[str, float]]:
    """Mean validation AUC at every k, or every budget, with the best other parameters for it.

    Parameters
    ----------
    cv_results : mapping of str to array
        With ``param_k`` and ``split0_test_score`` …, as ``SparseAUCClassifierCV`` and
        ``GridSearchCV`` over ``k`` have them; with ``param_budget`` where budgets were tried.
    repeats : float, default=1.0
        How often each row was validated, as for ``fold_standard_error``.

    Returns
    -------
    list of dict
        For each k, or each of several budgets, ascending: ``k``, ``auc``, ``standard_error`` and,
        where these were searched too, ``budget`` and ``alpha``.
    """
    if "param_k" not in cv_results or "split0_test_score" not in cv_results:
        raise InputError("cv_results needs 'param_k' and 'split0_test_score', 'split1_…'")
    n_splits = sum(f"split{i}_test_score" in cv_results for i in range(len(cv_results)))
    scores = np.array([cv_results[f"split{i}_test_score"] for i in range(n_splits)])
    mean, error = scores.mean(axis=0), fold_standard_error(scores, repeats)
    param_k = np.asarray(cv_results["param_k"], np.int64)
    budgets = np.asarray(cv_results.get("param_budget", np.zeros(0)), np.float64)
    along = budgets if np.unique(budgets).size > 1 else param_k
    rows = []
    for point in np.unique(along).tolist():
        best = int(np.argmax(np.where(along == point, mean, -np.inf)))
        row = {"k": int(param_k[best]), "auc": float(mean[best])}
        row["standard_error"] = float(error[best])
        if along is budgets:
            row["budget"] = point
        if "param_alpha" in cv_results:
            row["alpha"] = float(cv_results["param_alpha"][best])
        rows.append(row)
    return rows
