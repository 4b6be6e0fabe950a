"""Score cards of fitted models."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import logit

from sparseauc.estimators import ConcordanceModel
from sparseauc.selection.points import whole_threshold
from sparseauc.survival import ProportionalHazards

from .column_types import ColumnType, FollowUp
from .models import check_model
from .scorecard import RiskMap, ScoreCard, Term


def make_card(
    model: Any,
    *,
    names: Sequence[str] | None = None,
    types: Mapping[str, ColumnType] | None = None,
    classes: tuple[str, str] | None = None,
    target: str = "y",
    summary: Mapping[str, Any] | None = None,
    follow_up: FollowUp | None = None,
    required: bool = False,
) -> ScoreCard:
    """Make the score card of a fitted model.

    Parameters
    ----------
    model : SparseLinearClassifier, SparseConcordance or SparseConcordanceCV
        Fitted.
    names : sequence of str, optional
        Names of the columns of X. By default those that the model was fitted with, or
        x0, x1, ….
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
    required : bool, default=False
        Whether rows with missing values have no score.

    Returns
    -------
    ScoreCard
    """
    from sparseauc import __version__

    check_model(model)
    labels = getattr(model, "classes_", np.array(["censored", "event"]))
    numeric = classes is None and labels.dtype.kind in "biuf"
    columns = names_of(model, names)
    encodings = model.encodings_
    intercept = float(model.intercept_[0])
    # The score of points is their total, whose log odds are part of its risk map.
    total = "points_" in vars(model) and bool({"platt_", "hazards_"} & {*vars(model)})
    if total:
        encodings = model.points_
        intercept = 0.0
    terms = tuple(Term(columns[j], one, required) for j, one in encodings.items())
    about = {} if summary is None else dict(summary)
    if given := limits_on_card(model, columns):
        about.setdefault("limits", given)
    negative, positive = classes or map(str, labels.tolist())
    if isinstance(model, ConcordanceModel) and follow_up is None:
        follow_up = FollowUp("time", positive, float(model.horizon_))
    used = {term.column for term in terms}
    card = ScoreCard(
        terms=terms,
        intercept=intercept,
        negative=negative,
        positive=positive,
        target=target,
        columns=tuple(columns),
        types={name: kind for name, kind in (types or {}).items() if name in used},
        risk_map=risk_map_of(model),
        threshold=threshold_of(model, total=total),
        total=total,
        follow_up=follow_up,
        labels=tuple(labels.tolist()) if numeric else None,
        summary=about,
        version=__version__,
    )
    _refuse_surrogates((card.target, card.negative, card.positive, *card.columns))
    return card


def names_of(model: Any, names: Sequence[str] | None = None) -> list[str]:
    """Names of the columns of a model: those given, or that it was fitted with, or x0, x1, …."""
    if names is None:
        numbered = [f"x{j}" for j in range(model.n_features_in_)]
        names = getattr(model, "feature_names_in_", numbered)
    if len(names) != model.n_features_in_:
        raise ValueError(
            f"names has {len(names)} columns, the model has {model.n_features_in_}"
        )
    return [str(name) for name in names]


def _refuse_surrogates(names: Iterable[str]) -> None:
    """Refuse names that are not valid Unicode, which no file can hold."""
    for name in names:
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise ValueError(
                f"{name!r} is not valid Unicode and cannot be written: rename it"
            )


def limits_on_card(classifier: Any, names: Any) -> dict[str, Any]:
    """Limits on the list of a fitted classifier, by column name, as JSON; empty without any.

    ``not_included`` are the columns of ``always_include`` that could not be on the
    list.
    """
    limits = getattr(classifier, "limits", None)
    if limits is None:
        return {}
    found: dict[str, Any] = limits.as_dict(names)
    lost = getattr(classifier, "not_included_", ())
    if len(lost):
        found["not_included"] = [str(names[j]) for j in lost]
    return found


def risk_map_of(classifier: Any) -> RiskMap | None:
    """Return the map from the score of a classifier to log odds; None without probabilities."""
    hazards = getattr(classifier, "hazards_", None)
    if hazards is not None:
        return risk_map_of_hazards(hazards, classifier.horizon_)
    platt = getattr(classifier, "platt_", None)
    if platt is None:
        return None
    # Platt scaling is part of the coefficients, but not of points.
    slope = 1.0
    intercept = 0.0
    if "points_" in vars(classifier):
        slope = platt["slope"]
        intercept = platt["intercept"]
    return RiskMap(slope, intercept, platt["n_positive"], platt["n_negative"])


def risk_map_of_hazards(hazards: ProportionalHazards, horizon: float) -> RiskMap:
    """Return the map from the score of a Cox model to a risk until the horizon."""
    baseline = float(hazards.log_hazard(horizon))
    censored = hazards.n_rows - hazards.n_events
    return RiskMap(hazards.slope, baseline, hazards.n_events, censored, "cloglog")


def threshold_of(classifier: Any, *, total: bool) -> float:
    """Score where the risk is that of the training rows; 0 without probabilities of log odds."""
    platt = getattr(classifier, "platt_", None)
    if platt is None:
        return 0.0
    return whole_threshold(platt) if total else float(logit(platt["prevalence"]))
