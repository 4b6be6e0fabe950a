"""Curves of a ranking: ROC and precision–recall; Kaplan–Meier curves and AUC at times."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr
from sklearn.metrics import precision_recall_curve, roc_curve

from sparseauc.metrics import AUCInterval
from sparseauc.outcome import Times
from sparseauc.performance import roc_band
from sparseauc.survival import ProportionalHazards, SurvivalTimes, kaplan_meier
from sparseauc.utils.types import Array, Indices, Mask

from ..formatting import round_ticks

# Points of the precision–recall curve.
_MOST_POINTS = 400
# Events before and after a time, with fewer of which hazards are not compared.
_FEWEST_EVENTS = 10


@dataclass(frozen=True, eq=False, repr=False)
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

    fpr: Array
    tpr: Array
    low: Array
    high: Array
    thresholds: Array
    recall: Array
    precision: Array
    cuts: Array
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


# Times at which rows at risk are counted, about.
_MARKS = 5
_THIRDS = ("lowest third", "middle third", "highest third")


@dataclass(frozen=True, eq=False, repr=False)
class FreeOfEvent:
    """A Kaplan–Meier curve: the share of rows free of the event from each time on, with its band.

    ``at_risk`` counts rows that are followed until each mark.
    """

    name: str
    time: Array
    free: Array
    low: Array
    high: Array
    at_risk: Indices


@dataclass(frozen=True)
class HazardsCheck:
    """Whether the hazards of two scores are in proportion: Cox models before and after a time.

    Attributes
    ----------
    until : float
        Median time of the events.
    before, after : ProportionalHazards
        Of the rows until then, and of those that are followed longer.
    pvalue : float
        That both have the same slope.
    """

    until: float
    before: ProportionalHazards
    after: ProportionalHazards
    pvalue: float


@dataclass(frozen=True, eq=False, repr=False)
class Followed:
    """The ranking of rows that are followed until an event.

    Attributes
    ----------
    harrell : AUCInterval
        Harrell's C, of all pairs that can be compared.
    at : list of (float, AUCInterval)
        AUC at about quarters of the horizon and at it: of rows with the event by then
        against rows that are followed longer, by inverse censoring weights.
    marks : ndarray
        Times at which rows at risk are counted.
    thirds : list of FreeOfEvent
        Of thirds of the score, the lowest first.
    hazards : HazardsCheck, optional
        None where there are too few events.
    """

    harrell: AUCInterval
    at: list[tuple[float, AUCInterval]]
    marks: Array
    thirds: list[FreeOfEvent]
    hazards: HazardsCheck | None


def follow_scores(
    times: SurvivalTimes, horizon: float | None, scores: Array
) -> Followed:
    """Judge scores of rows by the times to their events; without a horizon at no single time."""
    at = []
    # Quarters in two digits, which are easily read.
    shares = (0.25, 0.5, 0.75)
    quarters = (
        [] if horizon is None else [float(f"{share * horizon:.2g}") for share in shares]
    )
    for time in [] if horizon is None else [*quarters, horizon]:
        found = Times(times).at_horizon(time).interval_within(scores)
        if found is not None:
            at.append((time, found))
    marks = np.array(round_ticks(0.0, float(times.time.max()), _MARKS))
    edges = np.quantile(scores, [1 / 3, 2 / 3])
    third = np.searchsorted(edges, scores, "left")
    parts = [times.take(third == place) for place in range(3)]
    thirds = [
        _free_of_event(name, part, marks)
        for name, part in zip(_THIRDS, parts, strict=True)
        if len(part)
    ]
    return Followed(
        Times(times).interval(scores), at, marks, thirds, _check_hazards(times, scores)
    )


def _check_hazards(times: SurvivalTimes, scores: Array) -> HazardsCheck | None:
    """Fit the slope to the earlier half of the events, and to the later one; None for few."""
    until = float(np.median(times.time[times.event])) if times.event.any() else 0.0
    later = times.time > until
    early = SurvivalTimes(np.minimum(times.time, until), times.event & ~later)
    parts = (early, scores), (times.take(later), scores[later])
    if min(part.event.sum() for part, _ in parts) < _FEWEST_EVENTS:
        return None
    slopes = [ProportionalHazards.fit(of, part) for part, of in parts]
    apart = slopes[1].slope - slopes[0].slope
    error = float(np.hypot(slopes[0].slope_error, slopes[1].slope_error))
    pvalue = 2 * float(ndtr(-abs(apart) / error)) if error > 0 else np.nan
    return HazardsCheck(until, slopes[0], slopes[1], pvalue)


def _free_of_event(name: str, times: SurvivalTimes, marks: Array) -> FreeOfEvent:
    """The curve with Greenwood's variance, its band on the scale of log(−log)."""
    curve = kaplan_meier(times)
    at_risk = np.array([np.count_nonzero(times.time >= at) for at in curve.x.tolist()])
    events = np.array(
        [np.count_nonzero(times.event & (times.time == at)) for at in curve.x]
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.cumsum(events / (at_risk * (at_risk - events)))
        width = 1.96 * np.sqrt(variance) / np.log(curve.y)
        low = curve.y ** np.exp(-width)
        high = curve.y ** np.exp(width)
    unknown = ~np.isfinite(low) | ~np.isfinite(high)
    low, high = (np.where(unknown, curve.y, end) for end in (low, high))
    counts = np.array([np.count_nonzero(times.time >= mark) for mark in marks.tolist()])
    return FreeOfEvent(name, curve.x, curve.y, low, high, counts)
