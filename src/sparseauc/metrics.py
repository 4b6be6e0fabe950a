"""Area under the ROC curve, its variance and its tests.

The area under the ROC curve (AUC) is the chance that a random positive scores above a
random negative, a tie counting one half. Everything here that involves it, the variance
included, is counted by sorting, in O(n log n), never by visiting the n₊n₋ pairs.
"""

from dataclasses import dataclass, replace
from math import exp, inf, sqrt
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, ndtr, ndtri, stdtrit

from ._validation import (
    check_each_class_weighs,
    check_labels,
    check_scores,
    check_weights,
    label_rows,
)
from .errors import InputError
from .strata import Strata, Weighting, sum_variance
from .utils.jit import kernel
from .utils.types import Array, Indices, Mask

__all__ = [
    "AUCInterval",
    "DeLongTest",
    "auc",
    "auc_confidence_interval",
    "delong_test",
    "fast_auc",
    "stratified_auc",
]


def auc(
    y_true: ArrayLike, y_score: ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
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
    positive: Mask,
    sample_weight: NDArray[Any] | None = None,
    strata: Strata | None = None,
) -> float:
    """Area under the ROC curve, without input checks.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Without NaN.
    positive : ndarray of bool of shape (n,)
        Both classes must occur, in every stratum.
    sample_weight : ndarray of shape (n,), optional
        Non-negative weights, not all zero in either class.
    strata : Strata, optional
        Only rows of one stratum are compared.
    """
    counts = PairCounts.of_scores(scores, positive, sample_weight, strata)
    return float(counts.shares @ counts.areas)


@dataclass(frozen=True, eq=False)
class PairCounts:
    """The other class below each row of its stratum: all that AUCs and their variances need.

    Attributes
    ----------
    below : ndarray of shape (n,)
        Twice the weight of the rows of the other class with a lower score, those with
        an equal one counted once. Without weights these are whole numbers.
    totals : ndarray of shape (2, n_strata)
        Weight of the positives and of the negatives.
    shares : ndarray of shape (n_strata,)
        Share of each stratum in the AUC, 1 in all.
    positive, weight, code
        Of the rows; ``code`` is 0 without strata.
    """

    below: Array
    totals: Array
    shares: Array
    positive: Mask
    weight: Array | None
    code: Indices

    @classmethod
    def of_scores(
        cls,
        scores: NDArray[Any],
        positive: Mask,
        sample_weight: NDArray[Any] | None = None,
        strata: Strata | None = None,
    ) -> Self:
        """Count the pairs of some scores; parameters are those of :func:`fast_auc`."""
        n = positive.size
        if strata is None:
            code = np.zeros(n, np.int64)
            order = scores.argsort()
        else:
            code = strata.code
            order = np.lexsort((scores, code))
        ascending = scores[order]
        starts_tie = np.append(True, ascending[1:] != ascending[:-1])
        weight = (
            None if sample_weight is None else np.asarray(sample_weight, np.float64)
        )
        below = np.zeros(n)
        totals = np.zeros((2, 1 if strata is None else len(strata)))
        _add_below(
            order,
            starts_tie,
            positive,
            np.empty(0) if weight is None else weight,
            code,
            below,
            totals,
        )
        shares = np.ones(1) if strata is None else strata.shares(totals)
        return cls(below, totals, shares, positive, weight, code)

    def minus(self, other: Self) -> Self:
        """Take away the counts of other scores of the same rows."""
        return replace(self, below=self.below - other.below)

    @property
    def areas(self) -> Array:
        """AUC of each stratum."""
        counted = np.flatnonzero(self.positive & (self.code >= 0))
        stratum = self.code[counted]
        if self.weight is None:  # whole numbers: the only rounding is this division
            twice = np.bincount(stratum, self.below[counted])
            areas: Array = twice / (2.0 * self.totals[0] * self.totals[1])
            return areas
        # Each share is at most 1, exactly, and both sums round alike: separated classes
        # give 1.0.
        share_below = self.below[counted] / (2.0 * self.totals[1][stratum])
        weight = self.weight[counted]
        return np.bincount(stratum, weight * share_below) / np.bincount(stratum, weight)

    @property
    def class_variances(self) -> Array:
        """Variances that the rows of each class add to the AUC of each stratum, by DeLong.

        Of shape (2, n_strata); NaN where a stratum has a single row of the class.
        """
        rows = np.flatnonzero(self.code >= 0)
        size = self.totals.size
        cell = self.code[rows] + self.shares.size * ~self.positive[rows]
        weight = np.ones(rows.size) if self.weight is None else self.weight[rows]
        n_rows = np.bincount(cell, weight > 0, size)
        totals = self.totals.ravel()
        mean = np.bincount(cell, weight * self.below[rows], size) / totals
        deviation = weight * (self.below[rows] - mean[cell])
        spread = np.bincount(cell, deviation**2, size) / totals**2
        unbiased = np.full(size, np.nan)
        np.divide(n_rows, n_rows - 1.0, out=unbiased, where=n_rows > 1)
        of_others = self.totals[::-1].ravel()
        variances: Array = spread * unbiased / (2.0 * of_others) ** 2
        return variances.reshape(2, -1)

    def spread(self, groups: Indices | None = None) -> tuple[float, int]:
        """Standard error of the AUC of one stratum, and how many pairs share no row or group.

        The error is DeLong's, of rows without weights; of groups of related rows
        Obuchowski's.
        """
        if groups is None:
            return sqrt(self.class_variances.sum()), int(self.totals.min())
        # Those of a negative are below it where it is ranked wrong.
        side = np.where(self.positive, 1.0, -1.0)
        mean = np.where(self.positive, *(self.below[of].mean() for of in self._sides))
        parts = side * (self.below - mean) / (2.0 * self.totals.prod())
        disjoint = min(np.unique(groups[of]).size for of in self._sides)
        return sqrt(sum_variance(parts, self.positive, groups)), disjoint

    @property
    def _sides(self) -> tuple[Mask, Mask]:
        return self.positive, ~self.positive


@kernel
def _add_below(order, starts_tie, positive, weight, code, below, totals):  # type: ignore[no-untyped-def]
    """Go up the scores of each stratum, adding up the weight of both classes."""
    n = order.size
    start = 0
    while start < n:
        stratum = code[order[start]]
        stop = start + 1
        while stop < n and not starts_tie[stop] and code[order[stop]] == stratum:
            stop += 1
        if stratum >= 0:
            lower_positive = totals[0, stratum]
            lower_negative = totals[1, stratum]
            for i in range(start, stop):
                row = order[i]
                own = 0 if positive[row] else 1
                totals[own, stratum] += weight[row] if weight.size else 1.0
            for i in range(start, stop):
                row = order[i]
                if positive[row]:
                    below[row] = lower_negative + totals[1, stratum]
                else:
                    below[row] = lower_positive + totals[0, stratum]
        start = stop


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
    y_true: ArrayLike,
    y_score: ArrayLike,
    confidence: float = 0.95,
    *,
    groups: ArrayLike | None = None,
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
    groups : array-like of shape (n,), optional
        Related rows, such as the visits of a patient. The more alike they are, the
        wider the interval.

    Returns
    -------
    AUCInterval

    Notes
    -----
    The variance is that of DeLong, DeLong and Clarke-Pearson (1988), with groups that
    of Obuchowski (1997), which sums what the rows of a group add. The interval is
    symmetric in log(AUC / (1 − AUC)), where the estimate is nearer normal than on its
    own scale.

    If all pairs agree (AUC 0 or 1, or all scores equal), the variance is zero. The
    interval is then the exact one of Clopper and Pearson for m successes in m trials,
    with m = min(n₊, n₋), the number of disjoint and so independent pairs; of groups,
    the fewer that have rows of a class.
    """
    positive, _ = check_labels(y_true, "y_true", least=2)
    scores = check_scores(y_score, positive.size, "y_score")

    counts = PairCounts.of_scores(scores, positive)
    error, disjoint = counts.spread(number_groups(groups, positive.size))
    return area_interval(float(counts.areas[0]), error, disjoint, confidence)


def number_groups(groups: ArrayLike | None, n_rows: int) -> Indices | None:
    """Number groups of related rows; None where there are none."""
    if groups is None:
        return None
    return np.unique(label_rows(groups, n_rows, "groups"), return_inverse=True)[1]


def area_interval(
    area: float, error: float, disjoint: int, confidence: float
) -> AUCInterval:
    """Interval on the logistic scale, or an exact one from so many disjoint pairs that agree."""
    if not 0.0 < confidence < 1.0:
        raise InputError(
            f"confidence must lie strictly between 0 and 1, got {confidence}."
        )
    if error == 0.0 or area in (0.0, 1.0):
        # All pairs agree, so `area` is what each contributes: 0, 1/2 or 1.
        agreement = ((1.0 - confidence) / 2.0) ** (1.0 / disjoint)
        low = area * agreement
        high = 1.0 - (1.0 - area) * agreement
    else:
        half_width = ndtri((1.0 + confidence) / 2.0) * error / (area * (1.0 - area))
        centre = logit(area)
        low = expit(centre - half_width)
        high = expit(centre + half_width)
    return AUCInterval(area, float(low), float(high), error, confidence)


def stratified_auc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    strata: ArrayLike,
    *,
    weights: Weighting = "pairs",
    effects: Literal["fixed", "random"] = "fixed",
    confidence: float = 0.95,
) -> AUCInterval:
    """AUC within strata: only pairs of a positive and a negative of the same stratum count.

    Strata are sites, batches, donors, matched sets or users. A score that only tells
    them apart has an AUC of one half within them, whatever its AUC over all rows.

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
        "fixed": the interval is for these strata, with other rows. "random": these
        strata are a sample, such as some of many sites, and the interval is for the
        mean over all of them; it needs two strata, and is wide with few.
    confidence : float, default=0.95
        Level of the two-sided interval, strictly between 0 and 1.

    Returns
    -------
    AUCInterval

    Notes
    -----
    Strata are independent: the variance is Σ π_s² V_s with DeLong's variance in each.
    With random effects it is that of the AUCs about their mean, Σ π_s² (A_s − A)² n/(n
    − 1), if that is more, and the interval is by Student's t with one degree of freedom
    less than there are strata of equal share, 1/Σ π_s². DeLong's variance is undefined
    where a class has a single row, as in matched sets, and zero where all pairs of a
    stratum agree. Such strata contribute the variance of their AUCs about their mean,
    and one alone the largest variance that its AUC could have. The interval is that of
    :func:`auc_confidence_interval`.

    Examples
    --------
    >>> y, site = [0, 0, 1, 0, 1, 1], ["a", "a", "a", "b", "b", "b"]
    >>> stratified_auc(y, [1.0, 3.0, 2.0, 5.0, 6.0, 7.0], site).auc
    0.75
    """
    positive, _ = check_labels(y_true, "y_true")
    scores = check_scores(y_score, positive.size, "y_score")
    divided = Strata.of_classes(strata, positive, weights)
    counts = PairCounts.of_scores(scores, positive, None, divided)
    totals = counts.totals
    shares = counts.shares
    aucs = counts.areas
    variances = counts.class_variances.sum(axis=0)
    area = float(np.clip(shares @ aucs, aucs.min(), aucs.max()))
    told = variances > 0
    variance = float(shares[told] ** 2 @ variances[told])
    share = shares[~told]
    others = aucs[~told]
    if others.size > 1:
        spread = (others - np.average(others, weights=share)) ** 2
        variance += float(share**2 @ spread) * others.size / (others.size - 1)
    elif others.size == 1 and (aucs.size > 1 or np.isnan(variances[0])):
        variance += float(share[0] ** 2) * area * (1.0 - area)
    stretch = 1.0
    if effects == "random":
        if aucs.size < 2:
            raise InputError(
                "effects='random' needs two strata with rows of both classes"
            )
        between = float(shares**2 @ (aucs - area) ** 2) * aucs.size / (aucs.size - 1)
        variance = max(variance, between)
        freedom = max(1.0, 1.0 / float(shares @ shares) - 1.0)
        tail = (1.0 + confidence) / 2.0
        stretch = float(stdtrit(freedom, tail) / ndtri(tail))
    elif effects != "fixed":
        raise InputError(f"effects must be 'fixed' or 'random', got {effects!r}")
    disjoint = int(totals.min(axis=0).sum())
    interval = area_interval(area, stretch * sqrt(variance), disjoint, confidence)
    return replace(interval, standard_error=sqrt(variance))


def delong_test(
    y_true: ArrayLike,
    score_a: ArrayLike,
    score_b: ArrayLike,
    *,
    groups: ArrayLike | None = None,
) -> DeLongTest:
    """Test whether two scores of the same rows have the same AUC.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels with two distinct values, the larger positive, each on two rows or more.
    score_a, score_b : array-like of shape (n,)
        Finite scores to compare, row by row those of the same cases.
    groups : array-like of shape (n,), optional
        Related rows, as of :func:`auc_confidence_interval`.

    Returns
    -------
    DeLongTest

    Notes
    -----
    The paired test of DeLong, DeLong and Clarke-Pearson (1988), normal and two-sided.
    It is not valid for scores that were fitted to these rows, or if one model contains
    the other.

    If the difference is not zero but its estimated variance is, the statistic is
    infinite and the p-value is Hoeffding's bound 2 exp(−m·difference²/2), with m =
    min(n₊, n₋) disjoint pairs.
    """
    positive, _ = check_labels(y_true, "y_true", least=2)
    one = PairCounts.of_scores(
        check_scores(score_a, positive.size, "score_a"), positive
    )
    other = PairCounts.of_scores(
        check_scores(score_b, positive.size, "score_b"), positive
    )
    # The counts are whole numbers: a difference of AUCs is zero, or constant, exactly
    # when it is.
    difference = one.minus(other)
    error, disjoint = difference.spread(number_groups(groups, positive.size))
    return paired_test(
        float(one.areas[0]),
        float(other.areas[0]),
        float(difference.areas[0]),
        error,
        disjoint,
    )


def paired_test(
    auc_a: float, auc_b: float, difference: float, error: float, disjoint: int
) -> DeLongTest:
    """Test a difference by its standard error, and the number of disjoint pairs if that is 0."""
    if difference == 0.0:
        statistic = 0.0
        pvalue = 1.0
    elif error == 0.0:
        statistic = inf if difference > 0.0 else -inf
        pvalue = min(1.0, 2.0 * exp(-disjoint * difference**2 / 2.0))
    else:
        statistic = difference / error
        pvalue = float(2.0 * ndtr(-abs(statistic)))
    return DeLongTest(auc_a, auc_b, difference, error, statistic, pvalue)
