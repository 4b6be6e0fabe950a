"""Update a model on new rows: its risks are recalibrated, its score stays as it is."""

from copy import copy
from dataclasses import asdict, replace
from typing import Any, Literal

import numpy as np
from sklearn.pipeline import Pipeline

from sparseauc.curves import fit_logistic
from sparseauc.survival import ProportionalHazards

from .card_making import calibration_of, steps_of, threshold_of
from .model_files import ModelFileError, SavedModel
from .outcomes import TimeToEvent
from .reading import DataError
from .scorecard import Calibration
from .validation import Validation

Update = Literal["intercept", "slope"]


def update_model(saved: SavedModel, found: Validation, how: Update) -> SavedModel:
    """Recalibrate the probabilities of a model on the rows of a validation.

    Parameters
    ----------
    saved : SavedModel
        The model that was validated.
    found : Validation
    how : {"intercept", "slope"}
        Whether to shift the log odds, so that as many positives are expected as there are
        (recalibration in the large), or to fit their slope too. Of times to event: whether to fit
        Breslow's baseline hazard alone, or the slope of the Cox model too.

    Returns
    -------
    SavedModel
        With the same score. Its card has the update in its history, ``summary["updates"]``.

    Raises
    ------
    ModelFileError
        If the model has no probabilities.
    DataError
        If the rows do not allow a slope.
    """
    old, check = saved.card.calibration, found.calibration
    if old is None or check is None:
        raise ModelFileError("the model has no probabilities to recalibrate")
    classifier = copy(steps_of(saved.estimator)[1])
    slope, shift = 1.0, check.intercept
    if isinstance(found.outcome, TimeToEvent):
        given = None if how == "slope" else old.slope
        classifier.hazards_ = ProportionalHazards.fit(
            found.scores, found.outcome.times, slope=given
        )
        new = calibration_of(classifier)
        assert new is not None
        slope = new.slope / old.slope if old.slope else 1.0
        shift = new.intercept - slope * old.intercept
        names, scale = ("baseline", "slope and baseline"), "logarithm of the cumulative hazard"
    else:
        if how == "slope":
            slope, shift = fit_logistic(
                old.linear(found.scores), found.positive, found.outcome.weight
            )
        new = Calibration(
            slope=slope * old.slope,
            intercept=slope * old.intercept + shift,
            n_positive=found.positives,
            n_negative=found.rows - found.positives,
        )
        _set_calibration(classifier, asdict(new))
        names, scale = ("intercept", "slope and intercept"), "log odds"
    if not (np.isfinite([slope, shift]).all() and slope > 0):
        raise DataError(
            f"{found.source}: the score ranks these rows without exception, or the other way "
            "round, so that no slope can be fitted; update the intercept"
        )
    what = names[how == "slope"]
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
    summary = dict(saved.card.summary)
    summary["updates"] = [*(summary.get("updates") or ()), step]
    summary["calibration"] = asdict(new)
    threshold = threshold_of(classifier, total=saved.card.total)
    card = replace(saved.card, calibration=new, threshold=threshold, summary=summary)
    return SavedModel(_with_last_step(saved.estimator, classifier), card)


def _set_calibration(classifier: Any, calibration: dict[str, Any]) -> None:
    """Give a classifier another calibration."""
    if "points_" in vars(classifier) and "platt_" in vars(classifier):
        # Of points the calibration is part of the coefficients.
        counts = calibration["n_positive"], calibration["n_negative"]
        classifier.platt_ = {**calibration, "prevalence": counts[0] / sum(counts)}
        totals = classifier.points_ / classifier.units_
        classifier.coef_ = calibration["slope"] * totals.reshape(1, -1)
        classifier.intercept_ = np.array([calibration["intercept"]])
    else:
        classifier.calibration_ = calibration


def _with_last_step(estimator: Any, classifier: Any) -> Any:
    """A copy of a fitted model with another classifier."""
    if not isinstance(estimator, Pipeline):
        return classifier
    model = copy(estimator)
    model.steps = [*estimator.steps[:-1], (estimator.steps[-1][0], classifier)]
    return model
