"""What a report on a model draws and looks up, as plain arrays: from scores, labels and columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import beta

from ..reading.columns import is_sparse

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Points of a ROC curve that a page can show.
_MOST_POINTS = 1000
# Places of its limits, and draws that these are quantiles of.
_LIMITS_AT, _DRAWS = 101, 2000
# Multiplications that looking for near copies may take: about a second.
_MOST_PRODUCTS = 1e9


@dataclass(frozen=True, eq=False)
class ROC:
    """A ROC curve between limits.

    Attributes
    ----------
    false_positive, true_positive : ndarray
        Share of negatives and of positives that score at least a threshold, for falling thresholds.
    at : ndarray of shape (m,)
        Shares of negatives at which there are limits.
    low, high : ndarray of shape (m,)
        Limits of the share of positives there.
    """

    false_positive: Array
    true_positive: Array
    at: Array
    low: Array
    high: Array


def roc_with_limits(scores: Array, positive: Mask, confidence: float = 0.95) -> ROC:
    """Trace the ROC curve, with limits of its height at each share of negatives.

    Two things are uncertain at a share t of negatives: which threshold lets it pass, and what share
    of positives lies above that. The first is drawn as the bootstrap would: of n₋ negatives drawn
    with replacement, the m-th largest is the original of rank n₋·B with B ~ Beta(m, n₋ − m + 1),
    which takes no resampling. The second is drawn from the Beta distribution of a share under
    Jeffreys' prior, which unlike the bootstrap does not vanish where all rows are ranked rightly.
    Limits are quantiles of the draws.

    Parameters
    ----------
    scores : ndarray of shape (n,)
    positive : ndarray of bool of shape (n,)
        Both classes must occur.
    confidence : float, default=0.95
        Of the limits at any one share of negatives, not of all together.

    Returns
    -------
    ROC
        The curve has a few hundred points at most, all of them on it.
    """
    order = np.argsort(-scores, kind="stable")
    ranked = positive[order]
    # Equal scores pass a threshold together.
    last = np.flatnonzero(np.r_[np.diff(scores[order]) != 0, True])
    above = np.r_[0, np.cumsum(ranked)[last]]
    wrongly = np.r_[0, np.cumsum(~ranked)[last]]
    n_positive, n_negative = int(above[-1]), int(wrongly[-1])
    shown = np.arange(above.size)
    if shown.size > _MOST_POINTS:
        way = above / n_positive + wrongly / n_negative
        shown = np.unique(np.searchsorted(way, np.linspace(0, way[-1], _MOST_POINTS)))

    # Positives above the negative of each rank, largest first; below the last come all.
    negatives = np.sort(scores[~positive])[::-1]
    passed = np.searchsorted(np.sort(-scores[positive]), -negatives, side="left")
    passed = np.r_[passed, n_positive]
    at = np.linspace(0, 1, _LIMITS_AT)
    rank = np.floor(at * n_negative + 1e-9).astype(np.intp)
    rng = np.random.default_rng(0)
    drawn = rng.beta(rank + 1, np.maximum(n_negative - rank, 1), size=(_DRAWS, at.size))
    drawn_rank = np.minimum((n_negative * drawn).astype(np.intp), n_negative - 1)
    drawn_rank[:, rank == n_negative] = n_negative
    caught = passed[drawn_rank]
    shares = rng.beta(caught + 0.5, n_positive - caught + 0.5)
    tail = (1.0 - confidence) / 2
    low, high = np.quantile(shares, [tail, 1.0 - tail], axis=0)
    height = passed[rank] / n_positive
    low, high = np.minimum(low, height), np.maximum(high, height)
    return ROC(
        false_positive=wrongly[shown] / n_negative,
        true_positive=above[shown] / n_positive,
        at=at,
        low=np.maximum.accumulate(low),
        high=np.maximum.accumulate(high),
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
    reach = 4 * (high - low) or np.inf
    ends = max(scores.min(), middle - reach), min(scores.max(), middle + reach)
    few = int(min(positive.sum(), (~positive).sum()))
    width = _round_width((ends[1] - ends[0]) / np.clip(2 * np.sqrt(few), 8, 20))
    edges = np.arange(np.floor(ends[0] / width), np.floor(ends[1] / width) + 2) * width
    inside = np.clip(scores, *ends)
    shares = [np.histogram(inside[of], edges)[0] / of.sum() for of in (positive, ~positive)]
    cut = bool(np.any(inside != scores))
    return Histogram((edges[:-1] + edges[1:]) / 2, shares[0], shares[1], cut)


def _round_width(width: float) -> float:
    """Nearest of 1, 2 and 5 times a power of ten, or 1 for nothing: ends a person can read."""
    if not width > 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(width))
    return float(min((1, 2, 5, 10), key=lambda times: abs(np.log(times * power / width))) * power)


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

    There are three to ten bins: so many that they hold fifteen rows or more, of the rarer class
    three on average. Equal scores share a bin.
    """
    few = int(min(positive.sum(), (~positive).sum()))
    wanted = int(np.clip(min(scores.size // 15, few // 3), 3, 10))
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
    part = part.tocsc() if is_sparse(part) else part
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
    dense = np.asarray(X.toarray() if is_sparse(X) else X, np.float64)
    centred = dense - dense.mean(axis=0)
    lengths = np.linalg.norm(centred, axis=0)
    # What rounding leaves of a constant column is no variation.
    constant = lengths <= 1e-12 * (1 + np.abs(dense).max(axis=0, initial=0)) * np.sqrt(len(dense))
    unit: Array = np.where(constant, 0.0, centred / np.where(constant, 1.0, lengths))
    return unit
