"""Update a model on new rows: its risks are recalibrated, its score stays as it is."""

from dataclasses import asdict, replace
from typing import Literal

import numpy as np
from scipy.special import logit

from sparseauc.outcome import Times
from sparseauc.performance import fit_logistic
from sparseauc.selection.points import whole_threshold
from sparseauc.survival import ProportionalHazards

from .card_making import risk_map_of_hazards
from .model_files import ModelFileError
from .reading import DataError
from .scorecard import RiskMap, ScoreCard
from .validation import Validation

Update = Literal["intercept", "slope"]


def update_model(found: Validation, how: Update) -> ScoreCard:
    """Recalibrate the probabilities of a model on the rows of its validation.

    Parameters
    ----------
    found : Validation
    how : {"intercept", "slope"}
        Whether to shift the log odds, so that as many positives are expected as there
        are (recalibration in the large), or to fit their slope too. Of times to event:
        whether to fit Breslow's baseline hazard alone, or the slope of the Cox model
        too.

    Returns
    -------
    ScoreCard
        With the same score, and the update in its history, ``summary["updates"]``.

    Raises
    ------
    ModelFileError
        If the model has no probabilities.
    DataError
        If the rows do not allow a slope.
    """
    card = found.card
    old = card.risk_map
    if old is None:
        raise ModelFileError("the model has no probabilities to recalibrate")
    if found.calibration is None:
        raise DataError(
            f"{found.source} is not followed until the horizon of the model: its risks cannot be "
            "recalibrated on these rows"
        )
    of_times = isinstance(found.outcome, Times)
    new = (
        _recalibrate_hazards(found, old, how)
        if of_times
        else _recalibrate(found, old, how)
    )
    slope = new.slope / old.slope if old.slope else 1.0
    shift = new.intercept - slope * old.intercept
    if not (np.isfinite([slope, shift]).all() and slope > 0):
        raise DataError(
            f"{found.source}: the score ranks these rows without exception, or the other way "
            "round, so that no slope can be fitted; update the intercept"
        )
    what = "baseline" if of_times else "intercept"
    if how == "slope":
        what = f"slope and {what}"
    scale = "logarithm of the cumulative hazard" if of_times else "log odds"
    step = {
        "what": what,
        "source": found.source,
        "rows": found.rows,
        "events": found.positives,
        "slope": slope,
        "intercept": shift,
        "text": f"Recalibrated ({what}) on {found.rows} rows of {found.source} with "
        f"{found.positives} positive: {scale} × {slope:.4g} {shift:+.4g}.",
    }
    summary = dict(card.summary)
    summary["updates"] = [*(summary.get("updates") or ()), step]
    threshold = 0.0 if of_times else _threshold_of(new, total=card.total)
    return replace(card, risk_map=new, threshold=threshold, summary=summary)


def _recalibrate(found: Validation, old: RiskMap, how: Update) -> RiskMap:
    assert found.calibration is not None
    slope = 1.0
    shift = found.calibration.intercept
    if how == "slope":
        linear = old.linear(found.scores)
        slope, shift = fit_logistic(linear, found.positive, found.outcome.weight)
    return RiskMap(
        slope=slope * old.slope,
        intercept=slope * old.intercept + shift,
        n_positive=found.positives,
        n_negative=found.rows - found.positives,
    )


def _recalibrate_hazards(found: Validation, old: RiskMap, how: Update) -> RiskMap:
    assert isinstance(found.outcome, Times)
    assert found.outcome.horizon is not None
    given = None if how == "slope" else old.slope
    hazards = ProportionalHazards.fit(found.scores, found.outcome.times, slope=given)
    return risk_map_of_hazards(hazards, found.outcome.horizon)


def _threshold_of(of: RiskMap, *, total: bool) -> float:
    """Score with a risk of the share of positives that it was fitted to."""
    prevalence = of.n_positive / (of.n_positive + of.n_negative)
    if total:
        return whole_threshold({**asdict(of), "prevalence": prevalence})
    return float((logit(prevalence) - of.intercept) / of.slope)
