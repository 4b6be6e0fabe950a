"""What a report on a model draws and looks up, as plain arrays: from scores, labels and columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.stats import beta

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Points of a ROC curve that a page can show.
_MOST_POINTS = 400
# Multiplications that looking for near copies may take: about a second.
_MOST_PRODUCTS = 1e9


@dataclass(frozen=True, eq=False)
class ROC:
    """A ROC curve between limits.

    Attributes
    ----------
    false_positive, true_positive : ndarray
        Share of negatives and of positives that score at least a threshold, falling.
    upper, lower : ndarray of shape (2, m)
        Both rates on the upper and on the lower limit.
    """

    false_positive: Array
    true_positive: Array
    upper: Array
    lower: Array


def roc_with_limits(scores: Array, positive: Mask, confidence: float = 0.95) -> ROC:
    """Trace the ROC curve, and limits that hold the true rates of any one threshold.

    At each threshold both rates are shares of independent rows. Exact binomial limits of each, at a
    level of √confidence, span a rectangle that holds the true pair with this confidence or more;
    the limits are the outer corners of all rectangles. They are wide apart where rows are few, and
    where all are ranked rightly too.

    Parameters
    ----------
    scores : ndarray of shape (n,)
    positive : ndarray of bool of shape (n,)
        Both classes must occur.
    confidence : float, default=0.95

    Returns
    -------
    ROC
        Of a few hundred points at most, each of them on the curve.
    """
    order = np.argsort(-scores, kind="stable")
    ranked = positive[order]
    # Equal scores pass a threshold together.
    last = np.flatnonzero(np.r_[np.diff(scores[order]) != 0, True])
    above = np.r_[0, np.cumsum(ranked)[last]]
    wrongly = np.r_[0, np.cumsum(~ranked)[last]]
    n_positive, n_negative = int(above[-1]), int(wrongly[-1])
    way = above / n_positive + wrongly / n_negative
    shown = np.unique(np.searchsorted(way, np.linspace(0, way[-1], _MOST_POINTS)))
    above, wrongly = above[shown], wrongly[shown]
    tpr_low, tpr_high = binomial_limits(above, n_positive, np.sqrt(confidence))
    fpr_low, fpr_high = binomial_limits(wrongly, n_negative, np.sqrt(confidence))
    return ROC(
        false_positive=wrongly / n_negative,
        true_positive=above / n_positive,
        upper=np.array([np.r_[fpr_low, 1.0], np.r_[tpr_high, 1.0]]),
        lower=np.array([np.r_[0.0, fpr_high], np.r_[0.0, tpr_low]]),
    )


def binomial_limits(
    successes: npt.ArrayLike, trials: npt.ArrayLike, confidence: float = 0.95
) -> tuple[Array, Array]:
    """Exact limits of a probability, by Clopper and Pearson.

    Examples
    --------
    >>> low, high = binomial_limits(0, 10)
    >>> float(low), round(float(high), 3)
    (0.0, 0.308)
    """
    x, n = np.asarray(successes, np.float64), np.asarray(trials, np.float64)
    tail = (1.0 - confidence) / 2
    low = np.where(x > 0, beta.ppf(tail, np.maximum(x, 1), n - x + 1), 0.0)
    high = np.where(x < n, beta.ppf(1 - tail, x + 1, np.maximum(n - x, 1)), 1.0)
    return low, high


@dataclass(frozen=True, eq=False)
class Histogram:
    """Shares of each class by score.

    ``cut`` says whether rows beyond the ends are counted in the outermost bars.
    """

    centres: Array
    positives: Array
    negatives: Array
    cut: bool


def score_histogram(scores: Array, positive: Mask) -> Histogram:
    """Count rows of each class by score, as shares of the class: a rare one is seen as well."""
    low, middle, high = np.quantile(scores, [0.25, 0.5, 0.75])
    reach = 4 * (high - low)
    ends = [float(scores.min()), float(scores.max())]
    if reach > 0:
        ends = [max(ends[0], middle - reach), min(ends[1], middle + reach)]
    if not ends[0] < ends[1]:
        ends = [ends[0] - 0.5, ends[0] + 0.5]
    few = min(np.count_nonzero(positive), np.count_nonzero(~positive))
    edges = np.linspace(*ends, int(np.clip(2 * np.sqrt(few), 8, 20)) + 1)
    inside = np.clip(scores, *ends)
    shares = [np.histogram(inside[of], edges)[0] / of.sum() for of in (positive, ~positive)]
    return Histogram((edges[:-1] + edges[1:]) / 2, *shares, cut=bool(np.any(inside != scores)))


@dataclass(frozen=True, eq=False)
class Bins:
    """Rows in order of their score, in a few bins of nearly the same size."""

    scores: Array
    rows: Counts
    positives: Counts
    low: Array
    high: Array

    @property
    def share(self) -> Array:
        """Share of positives of each bin."""
        return self.positives / self.rows


def calibration_bins(scores: Array, positive: Mask) -> Bins:
    """Count positives among rows of similar score, with exact binomial limits.

    There are up to ten bins of twenty rows or more, three at least. Equal scores share a bin.
    """
    wanted = int(np.clip(scores.size // 20, 3, 10))
    edges = np.unique(np.quantile(scores, np.linspace(0, 1, wanted + 1)[1:-1], method="lower"))
    place = np.searchsorted(edges, scores, side="left")
    rows = np.bincount(place)
    held = rows > 0
    means = np.bincount(place, scores)[held] / rows[held]
    positives = np.bincount(place, positive)[held].astype(np.int64)
    low, high = binomial_limits(positives, rows[held])
    return Bins(means, rows[held], positives, low, high)


def near_copies(
    X: Any, chosen: Sequence[int], least: float = 0.9
) -> list[list[tuple[int, float]]] | None:
    """Find for each chosen column the others that nearly copy it, by their correlation.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d)
        Finite. Of many rows a thousand or fewer are looked at, spread evenly.
    chosen : sequence of int
    least : float, default=0.9
        Least correlation, by absolute value.

    Returns
    -------
    list of list of (int, float), or None
        For each chosen column the others and their correlation, the strongest first. None where
        there are so many columns that it would take too long.
    """
    n, d = X.shape
    room = int(_MOST_PRODUCTS / (d * max(1, len(chosen))))
    if room < 100:
        return None
    count = min(n, 1000, room)
    part = X[np.unique(np.linspace(0, n - 1, count).astype(np.intp))]
    part = part.tocsc() if sp.issparse(part) else part
    own = _standardised(part[:, list(chosen)])
    found: list[list[tuple[int, float]]] = [[] for _ in chosen]
    width = max(1, 4_000_000 // count)
    for start in range(0, d, width):
        correlation = own.T @ _standardised(part[:, start : start + width])
        for place, j in np.argwhere(np.abs(correlation) >= least).tolist():
            if start + j != chosen[place]:
                found[place].append((start + j, float(correlation[place, j])))
    return [sorted(copies, key=lambda copy: -abs(copy[1])) for copies in found]


def _standardised(X: Any) -> Array:
    """Columns of mean 0 and length 1; constant ones are 0."""
    dense = np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)
    centred = dense - dense.mean(axis=0)
    lengths = np.linalg.norm(centred, axis=0)
    # What rounding leaves of a constant column is no variation.
    constant = lengths <= 1e-12 * (1 + np.abs(dense).max(axis=0, initial=0)) * np.sqrt(len(dense))
    unit: Array = np.where(constant, 0.0, centred / np.where(constant, 1.0, lengths))
    return unit
