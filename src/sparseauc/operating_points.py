"""Thresholds with their sensitivity, specificity and predictive values."""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._validation import check_labels, check_scores
from .performance import binomial_limits
from .utils.types import Array

__all__ = [
    "OperatingPoint",
    "Rate",
    "judge_threshold",
    "operating_points",
]


class Rate(NamedTuple):
    """A share of rows with its exact (Clopper–Pearson) 95 % CI."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class OperatingPoint:
    """A threshold and its performance.

    Attributes
    ----------
    name : str
    threshold : float
        Rows with a higher score are predicted positive.
    sensitivity, specificity : Rate
    ppv, npv : Rate or None
        Positive and negative predictive value, at the prevalence of these rows. None if
        there are no such rows.
    flagged_per_1000 : float
        Rows predicted positive per thousand.
    risk : float, optional
        Risk at the threshold, if the score has one.
    total : bool
        Whether the score is a total of whole points.
    """

    name: str
    threshold: float
    sensitivity: Rate
    specificity: Rate
    ppv: Rate | None
    npv: Rate | None
    flagged_per_1000: float
    risk: float | None = None
    total: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the point as JSON can hold it, with rates as mappings."""
        return {
            key: value._asdict() if isinstance(value, Rate) else value
            for key, value in vars(self).items()
        }


def judge_threshold(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    threshold: float,
    name: str = "",
    *,
    inflation: float = 1.0,
) -> OperatingPoint:
    """Evaluate a threshold.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Binary labels; the one that sorts last is positive.
    y_score : array-like of shape (n,)
    threshold : float
    name : str, optional
    inflation : float, default=1.0
        Factor of the variance, for scores of several models: limits are those of so
        many times fewer rows.

    Returns
    -------
    OperatingPoint

    Examples
    --------
    >>> from sparseauc.operating_points import judge_threshold
    >>> point = judge_threshold([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], 0.5)
    >>> point.sensitivity.value, point.specificity.value, point.flagged_per_1000
    (0.5, 0.5, 500.0)
    """
    positive, _ = check_labels(y_true, "y_true")
    scores = check_scores(y_score, positive.size, "y_score")
    above = scores > threshold
    hits = int((above & positive).sum())
    alarms = int((above & ~positive).sum())
    positives = int(positive.sum())
    negatives = int((~positive).sum())
    flagged = hits + alarms
    rate = partial(_rate, inflation=inflation)
    return OperatingPoint(
        name=name,
        threshold=float(threshold),
        sensitivity=rate(hits, positives),
        specificity=rate(negatives - alarms, negatives),
        ppv=rate(hits, flagged) if flagged else None,
        npv=rate(negatives - alarms, scores.size - flagged)
        if flagged < scores.size
        else None,
        flagged_per_1000=1000 * flagged / scores.size,
    )


def operating_points(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    inflation: float = 1.0,
    default: float = 0.0,
    whole: bool = False,
) -> list[OperatingPoint]:
    """Evaluate the usual thresholds: a default, Youden's, of high sensitivity and specificity.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Binary labels; the one that sorts last is positive.
    y_score : array-like of shape (n,)
        Preferably out-of-fold scores.
    inflation : float, default=1.0
        As for ``judge_threshold``.
    default : float, default=0.0
        The first threshold.
    whole : bool, default=False
        Whether thresholds are whole numbers, as for totals of points.

    Returns
    -------
    list of OperatingPoint
        The default threshold; Youden's, with the largest sensitivity + specificity; the
        highest thresholds that reach a sensitivity of 90 and 95 %, and the lowest that
        reach such a specificity. All but the first lie halfway between two neighbouring
        scores, or are whole.

    Notes
    -----
    Thresholds are chosen and evaluated on the same scores, so new rows miss a target
    about as often as they reach it.
    """
    positive, _ = check_labels(y_true, "y_true")
    scores = np.asarray(check_scores(y_score, positive.size, "y_score"), np.float64)
    values = np.unique(scores)
    thresholds = _between(values)
    if whole:
        thresholds = np.arange(np.floor(values[0]) - 1, np.ceil(values[-1]) + 1)
    below = [
        np.searchsorted(np.sort(side), thresholds, "right") / side.size
        for side in (scores[positive], scores[~positive])
    ]
    sensitivity = 1 - below[0]
    specificity = below[1]
    chosen = {
        "default": default,
        # Of equals the lowest, which misses fewest positives; sums are rounded to find
        # equals.
        "Youden": thresholds[np.argmax(np.round(sensitivity + specificity, 12))],
    }
    rates = {"sensitivity": (sensitivity, -1), "specificity": (specificity, 0)}
    for name, (reached, place) in rates.items():
        for share in (0.9, 0.95):
            able = np.flatnonzero(reached >= share - 1e-12)
            chosen[f"{name} {100 * share:g} %"] = float(thresholds[able[place]])
    return [
        judge_threshold(positive, scores, value, name, inflation=inflation)
        for name, value in chosen.items()
    ]


def _between(values: Array) -> Array:
    """Thresholds that part distinct ascending values: below all, between neighbours, above all."""
    margin = max(1.0, float(values[-1] - values[0])) / 2
    halfway = values[:-1] + np.diff(values) / 2
    # Of two neighbouring floats the middle is one of them; the lower one parts them.
    halfway = np.where(halfway < values[1:], halfway, values[:-1])
    return np.concatenate([[values[0] - margin], halfway, [values[-1] + margin]])


def _rate(part: int, whole: int, inflation: float) -> Rate:
    low, high = binomial_limits(part / inflation, whole / inflation)
    return Rate(part / whole, float(low), float(high))
