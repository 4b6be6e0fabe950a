"""Score cards of fitted models: an imputer and a scaler are folded into the coefficients."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import logit
from sklearn.impute import SimpleImputer

from sparseauc.columns import Encoding, Line, Steps
from sparseauc.estimators import ConcordanceModel
from sparseauc.selection.points import whole_threshold
from sparseauc.survival import ProportionalHazards
from sparseauc.utils.types import Array

from .column_types import ColumnType, FollowUp, Input, Rows
from .models import steps_of
from .scorecard import Calibration, ScoreCard, Term


def make_card(
    model: Any,
    *,
    inputs: Sequence[tuple[Any, ...]] | None = None,
    types: Mapping[str, ColumnType] | None = None,
    classes: tuple[str, str] | None = None,
    target: str = "y",
    summary: Mapping[str, Any] | None = None,
    follow_up: FollowUp | None = None,
) -> ScoreCard:
    """Make the score card of a fitted model.

    Parameters
    ----------
    model : SparseLinearClassifier, or Pipeline that ends with one
        A fitted classifier, alone or after ``SimpleImputer`` and ``StandardScaler``. A scaler is
        folded into the coefficients.
    inputs : sequence of Input or (column, level, above), optional
        Origin of each column of X; the level is None except for text, and above is None except for
        numbers that were cut. By default the names that the model was fitted with, or indices.
    types : mapping of str to ColumnType, optional
        Column types in training; only those of chosen columns are kept.
    classes : (str, str), optional
        Names of the negative and the positive class; the model's own by default.
    target : str, default="y"
        Name of the outcome.
    summary : mapping, optional
        Further content, as JSON.
    follow_up : FollowUp, optional
        Of a model of times to event; columns "event" and "time" by default.

    Returns
    -------
    ScoreCard
    """
    from sparseauc import __version__

    before, classifier = steps_of(model)
    labels = getattr(classifier, "classes_", np.array(["censored", "event"]))
    numeric = classes is None and labels.dtype.kind in "biuf"
    origins = _origins_of(model, inputs, classifier.n_features_in_)
    intercept = float(classifier.intercept_[0])
    encodings = classifier.encodings_
    calibration = calibration_of(classifier)
    # The score of points is their total, and its log odds are part of the calibration.
    total = "points_" in vars(classifier) and bool({"platt_", "hazards_"} & {*vars(classifier)})
    if total:
        encodings = classifier.points_
        intercept = 0.0
    terms, height = _make_terms(before, encodings, origins)
    about = {} if summary is None else dict(summary)
    if given := limits_on_card(classifier, [one.name for one in origins]):
        about.setdefault("limits", given)
    negative, positive = classes or map(str, labels.tolist())
    if isinstance(classifier, ConcordanceModel) and follow_up is None:
        follow_up = FollowUp("time", positive, float(classifier.horizon_))
    used = {term.column for term in terms}
    card = ScoreCard(
        terms=terms,
        intercept=float(intercept + height),
        negative=negative,
        positive=positive,
        target=target,
        columns=tuple(one.name for one in origins),
        types={name: kind for name, kind in (types or {}).items() if name in used},
        calibration=calibration,
        threshold=threshold_of(classifier, total=total),
        total=total,
        follow_up=follow_up,
        labels=tuple(labels.tolist()) if numeric else None,
        summary=about,
        version=__version__,
    )
    _refuse_surrogates((card.target, card.negative, card.positive, *card.columns))
    return card


def _origins_of(
    model: Any, inputs: Sequence[tuple[Any, ...]] | None, n_columns: int
) -> list[Input]:
    """Origin of each column of X; by default the names the model was fitted with, or indices."""
    if inputs is None:
        names = getattr(model, "feature_names_in_", np.arange(n_columns))
        inputs = [(str(name),) for name in names]
    if len(inputs) != n_columns:
        raise ValueError(f"inputs names {len(inputs)} columns, the model has {n_columns}")
    return [Input(*one) for one in inputs]


def _make_terms(
    before: Sequence[Any], encodings: Mapping[int, Encoding], origins: Sequence[Input]
) -> tuple[tuple[Term, ...], float]:
    """Terms of the chosen columns, for values before all steps, and what the intercept gains."""
    chosen = np.array([*encodings], np.intp)
    terms: list[Term] = []
    height = 0.0
    steps = zip(*(part.tolist() for part in _fold_steps(before, chosen)), strict=True)
    for (j, one), (slope, offset, fill) in zip(encodings.items(), steps, strict=True):
        made = Term(origins[j].column, origins[j].level, 0.0, _known(fill), origins[j].above)
        if isinstance(one, Line):
            (coef,) = one.coef
            terms.append(replace(made, coefficient=coef * slope))
            height += coef * offset
        elif isinstance(one, Steps):
            height += one.coef[0]
            for cut, jump in zip(one.cuts, np.diff(one.coef).tolist(), strict=True):
                at = (cut - offset) / slope
                reaches = None if made.fill is None else float(made.fill > at)
                step = replace(made, coefficient=jump, fill=reaches)
                is_number = (made.level, made.above) == (None, None)
                terms.append(replace(step, above=at) if is_number else step)
        else:
            raise ValueError("the model has curves or texts: fit one with curves=False, to numbers")
    return tuple(terms), height


def _refuse_surrogates(names: Iterable[str]) -> None:
    """Refuse names that are not valid Unicode, which no file can hold."""
    for name in names:
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise ValueError(f"{name!r} is not valid Unicode and cannot be written: rename it")


def limits_on_card(classifier: Any, names: Any) -> dict[str, Any]:
    """Limits on the list of a fitted classifier, by column name, as JSON; empty without any.

    ``not_included`` are the columns of ``always_include`` that could not be on the list.
    """
    limits = getattr(classifier, "limits", None)
    if limits is None:
        return {}
    found: dict[str, Any] = limits.as_dict(names)
    lost = getattr(classifier, "not_included_", ())
    if len(lost):
        found["not_included"] = [str(names[j]) for j in lost]
    return found


def calibration_of(classifier: Any) -> Calibration | None:
    """Return the map from the score of a classifier to log odds; None without probabilities."""
    hazards = getattr(classifier, "hazards_", None)
    if hazards is not None:
        return calibration_of_hazards(hazards, classifier.horizon_)
    platt = getattr(classifier, "platt_", None)
    if platt is None:
        return None
    # Platt scaling is part of the coefficients, but not of points.
    slope = 1.0
    intercept = 0.0
    if "points_" in vars(classifier):
        slope = platt["slope"]
        intercept = platt["intercept"]
    return Calibration(slope, intercept, platt["n_positive"], platt["n_negative"])


def calibration_of_hazards(hazards: ProportionalHazards, horizon: float) -> Calibration:
    """Return the map from the score of a Cox model to a risk until the horizon."""
    baseline = float(hazards.log_hazard(horizon))
    censored = hazards.n_rows - hazards.n_events
    return Calibration(hazards.slope, baseline, hazards.n_events, censored, "cloglog")


def threshold_of(classifier: Any, *, total: bool) -> float:
    """Score where the risk is that of the training rows; 0 without probabilities of log odds."""
    platt = getattr(classifier, "platt_", None)
    if platt is None:
        return 0.0
    return whole_threshold(platt) if total else float(logit(platt["prevalence"]))


def _known(number: float) -> float | None:
    """The number, None if it is none or infinite."""
    return number if np.isfinite(number) else None


def _fold_steps(before: Sequence[Any], chosen: Rows) -> tuple[Array, Array, Array]:
    """Slope and offset with which values reach the classifier, and fills, NaN if there are none."""
    slope = np.ones(chosen.size)
    offset = np.zeros(chosen.size)
    fills = np.full(chosen.size, np.nan)
    for step in before:
        if isinstance(step, SimpleImputer):
            statistics = (step.statistics_[chosen].astype(np.float64) - offset) / slope
            fills = np.where(np.isnan(fills), statistics, fills)
        else:
            mean = step.mean_[chosen] if step.with_mean else 0.0
            scale = step.scale_[chosen] if step.with_std else 1.0
            slope = slope / scale
            offset = (offset - mean) / scale
    return slope, offset, fills
