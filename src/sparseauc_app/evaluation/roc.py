"""ROC and precision–recall curves of scores."""

from dataclasses import dataclass, field

import numpy as np
from sklearn.metrics import precision_recall_curve, roc_curve

from sparseauc.curves import roc_band
from sparseauc.utils.types import Array, Mask

# Points of the precision–recall curve.
_MOST_POINTS = 400


@dataclass(frozen=True, eq=False)
class RankCurves:
    """Sensitivity, specificity and precision at the thresholds of scores.

    Attributes
    ----------
    fpr, tpr, low, high, thresholds : ndarray
        The ROC curve, with its pointwise band.
    recall, precision, cuts : ndarray
        The precision–recall curve, and its thresholds.
    confidence : float
        Level of the band.
    """

    fpr: Array = field(repr=False)
    tpr: Array = field(repr=False)
    low: Array = field(repr=False)
    high: Array = field(repr=False)
    thresholds: Array = field(repr=False)
    recall: Array = field(repr=False)
    precision: Array = field(repr=False)
    cuts: Array = field(repr=False)
    confidence: float


def rank_curves(scores: Array, positive: Mask, confidence: float = 0.95) -> RankCurves:
    """Compute the curves of scores."""
    fpr, tpr, thresholds = roc_curve(positive, scores)
    grid, low, high = roc_band(scores, positive, confidence)
    precision, recall, cuts = precision_recall_curve(positive, scores)
    shown = np.unique(np.linspace(0, cuts.size - 1, _MOST_POINTS).astype(np.intp))
    return RankCurves(
        fpr=fpr,
        tpr=tpr,
        low=np.interp(fpr, grid, low),
        high=np.interp(fpr, grid, high),
        thresholds=thresholds,
        recall=recall[shown],
        precision=precision[shown],
        cuts=cuts[shown],
        confidence=confidence,
    )
