"""The result of a fit: what reports, model files and the terminal tell of it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from sparseauc.metrics import AUCInterval
from sparseauc.operating_points import OperatingPoint, operating_points
from sparseauc.rules import auc_by_k
from sparseauc.selection.confidence import NestedScores, variance_inflation
from sparseauc.selection.points import PointScore
from sparseauc.selection.stability import StabilityResult
from sparseauc.selection.table import column_table
from sparseauc.utils.types import Array, Floats

from .card_making import limits_on_card, make_card
from .cautions import find_cautions, near_copies
from .models import labels_for, on_scale_of, ridge_of
from .reading import Table
from .scorecard import ScoreCard
from .validation import GroupResult, judge_groups

# Strata beyond which the AUC within each is no more than noise, as in matched sets.
_MOST_STRATA = 50


@dataclass(frozen=True, eq=False, repr=False)
class ValidatedFit:
    """A model that was fitted to a table, and how it did on rows left out.

    Attributes
    ----------
    table : Table
        The training data: X, y (1 is positive), column names, labels, groups, missing
        values.
    settings : dict
        Settings of the fit: k, alpha, rule, seed and so on.
    model : SparseLinearClassifier or concordance model
        Fitted on all rows.
    training_scores : ndarray of shape (n,)
        Scores of the training rows by the final model (optimistic).
    nested : NestedScores, optional
        Nested cross-validation: out-of-fold scores, scaled so that the class means of
        the training rows are ±0.5; the AUC of each fold, and the pooled AUC with its
        interval.
    stability : StabilityResult, optional
        How often each column is chosen from half of the rows.
    points : PointScore, optional
        The model's whole points and the risk by total on the training rows.
    notes : tuple of str
        How the table was read.
    """

    table: Table
    settings: Mapping[str, Any]
    model: Any
    training_scores: Floats
    nested: NestedScores | None
    stability: StabilityResult | None
    points: PointScore | None
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class FitResult(ValidatedFit):
    """A fitted and validated model, with all that is told of it.

    Attributes
    ----------
    columns : pandas.DataFrame
        The chosen columns, from :func:`~sparseauc.selection.table.column_table`: rank,
        column, coefficient, standardised, auc, direction and, with ``stability``,
        frequency.
    training_auc : AUCInterval
        AUC of the training scores (optimistic), within strata where there are any.
    out_of_fold_scores : ndarray of shape (n,), optional
        Scores of nested cross-validation, on the scale of the model.
    strata_results : list of GroupResult
        The AUC of nested cross-validation within each stratum, and fold.
    operating_points : list of OperatingPoint
        The usual thresholds, evaluated on the out-of-fold scores; none without them,
        for times to event, and for rows with weights.
    card : ScoreCard
        The model as its file has it. ``card.summary`` is what ``sparseauc fit --json``
        prints.
    """

    columns: pd.DataFrame
    training_auc: AUCInterval
    out_of_fold_scores: Floats | None
    strata_results: Sequence[GroupResult]
    operating_points: Sequence[OperatingPoint]
    card: ScoreCard

    @property
    def summary(self) -> Mapping[str, Any]:
        """The fit as JSON tells it."""
        return self.card.summary

    @property
    def k(self) -> int:
        """Number of columns chosen."""
        return int(self.summary["k"])

    @property
    def chosen(self) -> dict[str, int]:
        """The chosen columns and their places in the table, as ``columns`` has them."""
        names = self.columns["column"].astype(str)
        return {name: self.table.names.index(name) for name in names}

    @property
    def n_numbers(self) -> int:
        """How many numbers the effects of the chosen columns have together."""
        return sum(len(one.coef) for one in self.model.encodings_.values())

    @property
    def label(self) -> str | None:
        """Name of the outcome in reports, if one was given."""
        label = self.settings.get("label")
        return None if label is None else str(label)

    @property
    def cautions(self) -> list[str]:
        """Reasons not to rely on the result, the most serious first."""
        return list(self.summary["warnings"])


def describe_fit(
    fit: ValidatedFit, warnings: Sequence[str], seconds: float
) -> FitResult:
    """Compute what is told of a fit.

    Parameters
    ----------
    fit : ValidatedFit
    warnings : sequence of str
        Raised while the table was read and fitted.
    seconds : float
        How long the fit took.

    Returns
    -------
    FitResult
    """
    table = fit.table
    outcome = table.outcome
    columns = _list_columns(fit)
    training_auc = outcome.interval_within(fit.training_scores, table.strata)
    assert training_auc is not None
    scores = None
    strata_results = []
    if fit.nested is not None:
        scores = on_scale_of(fit.training_scores, outcome, fit.nested.scores)
        if table.strata is not None:
            strata_results = judge_groups(
                table.strata, outcome, fit.nested.scores, fit.nested.folds
            )
    card = make_card(
        fit.model,
        names=table.names,
        types=table.types,
        classes=(table.negative, table.positive),
        target=table.target,
        follow_up=table.follow_up,
        required=table.imputation is None,
    )
    points = _judge_thresholds(fit, card, scores)
    about = {
        **_describe_table(table, strata_results),
        **_describe_model(fit),
        "auc": _describe_auc(fit),
        "training_auc": training_auc.auc,
        "operating_points": [point.as_dict() for point in points],
        "chosen": columns.astype(object)
        .where(columns.notna(), None)
        .to_dict(orient="records"),
        "stability_pairs": None if fit.stability is None else fit.stability.n_pairs,
        "points": None if fit.points is None else fit.points.as_dict(),
        "settings": dict(fit.settings),
        "notes": list(fit.notes),
        "seconds": round(seconds, 3),
    }
    about["warnings"] = find_cautions(about, warnings, _find_near_copies(fit, columns))
    return FitResult(
        **vars(fit),
        columns=columns,
        training_auc=training_auc,
        out_of_fold_scores=scores,
        strata_results=strata_results,
        operating_points=points,
        card=replace(card, summary=about),
    )


def _list_columns(fit: ValidatedFit) -> pd.DataFrame:
    """List the chosen columns by name."""
    table = fit.table
    labels = labels_for(fit.model, table)
    columns = column_table(fit.model, table.X, labels, fit.stability, table.strata)
    if columns["column"].dtype.kind in "iu":
        columns["column"] = table.columns[columns["column"].to_numpy(np.int64)]
    places = [table.names.index(str(name)) for name in columns["column"]]
    return columns.assign(kind=[fit.model.encodings_[j].kind for j in places])


def _find_near_copies(
    fit: ValidatedFit, columns: pd.DataFrame
) -> list[list[tuple[str, float]]]:
    """Name for each chosen column others that nearly copy it, with their correlations."""
    names = fit.table.names
    places = [names.index(str(name)) for name in columns["column"]]
    values = fit.table.numbers.values
    if isinstance(values, np.ndarray) and np.isnan(values).any():
        values = np.where(np.isnan(values), np.nanmedian(values, axis=0), values)
    return [
        [(names[j], correlation) for j, correlation in copies]
        for copies in near_copies(values, places)
    ]


# --------------------------------------------------------------------------- thresholds


def _judge_thresholds(
    fit: ValidatedFit, card: ScoreCard, scores: Floats | None
) -> list[OperatingPoint]:
    """Evaluate the usual thresholds on out-of-fold scores, as the card has them.

    There are none where rows have no classes, or do not count the same.
    """
    if (
        fit.nested is None
        or fit.table.times is not None
        or fit.table.weight is not None
    ):
        return []
    exact: Array = np.asarray(scores, np.float64)
    how = card.risk_map
    if fit.points is not None:
        # Totals of the model's own points are whole; those of other folds are on their
        # scale.
        exact = np.rint((exact - fit.points.intercept) / fit.points.slope)
    found = operating_points(
        fit.table.y,
        exact,
        default=card.threshold,
        whole=card.total,
        inflation=variance_inflation(fit.nested.agreement),
    )
    if how is None:
        return found
    return [
        replace(one, risk=float(how.risks(np.array(one.threshold))), total=card.total)
        for one in found
    ]


# ------------------------------------------------------------------------------ as JSON


def _describe_table(
    table: Table, strata_results: Sequence[GroupResult]
) -> dict[str, Any]:
    strata = None
    if table.strata is not None:
        few = len(strata_results) <= _MOST_STRATA
        strata = {
            "column": table.within,
            "count": table.n_within,
            "within": [asdict(one) for one in strata_results] if few else [],
        }
    return {
        "source": table.source,
        "target": table.target,
        "positive": table.positive,
        "negative": table.negative,
        "negative_labels": list(table.negatives),
        "follow_up": None if table.follow_up is None else asdict(table.follow_up),
        "measure": table.outcome.measure,
        "rows": int(table.y.size),
        "positives": int(table.y.sum()),
        "columns_tried": len(table.names),
        "groups": None if table.groups is None else int(np.unique(table.groups).size),
        "strata": strata,
        "ids": table.ids,
        "missing_codes": list(table.missing_codes),
        "missing": dict(table.missing),
        "left_out": dict(table.left_out),
        "imputation": table.imputation,
    }


def _describe_model(fit: ValidatedFit) -> dict[str, Any]:
    table = fit.table
    classifier = fit.model
    chosen = np.flatnonzero(classifier.coef_[0]).tolist()
    limits = limits_on_card(classifier, table.columns)
    results: Any = getattr(classifier, "cv_results_", None)
    coefficients = getattr(classifier, "coefficients_", None)
    logistic_ridge = None
    if coefficients == "logistic":
        logistic_ridge = float(results["param_logistic_ridge"][classifier.best_index_])
    return {
        "k": len(chosen),
        "alpha": ridge_of(classifier),
        "coefficients": coefficients,
        "logistic_ridge": logistic_ridge,
        "cost": getattr(classifier, "cost_", None),
        "budget": limits.get("budget"),
        "limits": limits,
        "distributions": _describe_columns(table, chosen),
        "auc_by_k": [] if results is None else auc_by_k(results, classifier.n_repeats_),
    }


def _describe_auc(fit: ValidatedFit) -> dict[str, Any] | None:
    nested = fit.nested
    if nested is None:
        return None
    folds = [None if np.isnan(area) else float(area) for area in nested.fold_aucs]
    sizes = [columns.size for columns in nested.fold_columns]
    return {**asdict(nested.interval), "folds": folds, "fold_sizes": sizes}


def _describe_columns(table: Table, chosen: list[int]) -> dict[str, dict[str, float]]:
    """Rows and missing share of each chosen column, and of numbers mean and standard deviation."""
    found = {}
    for j in chosen:
        values = table.values_of(j)
        known = values[~np.isnan(values)]
        about = {"rows": int(known.size), "missing": 1 - known.size / values.size}
        if known.size and j not in table.numbers.levels:
            about |= {"mean": float(known.mean()), "std": float(known.std())}
        found[table.names[j]] = about
    return found
