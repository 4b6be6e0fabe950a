"""Everything known about a fitted table, for reports, model files and the terminal."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import expit, logit

from sparseauc.estimators import ConcordanceModel, ExchangeClassifier
from sparseauc.metrics import AUCInterval, auc_by_k
from sparseauc.operating_points import OperatingPoint, operating_points, roc_thresholds
from sparseauc.outcome import Outcome
from sparseauc.selection.confidence import (
    NestedScores,
    variance_inflation,
)
from sparseauc.selection.points import PointScore
from sparseauc.selection.stability import StabilityResult
from sparseauc.selection.table import near_copies
from sparseauc.transforms import Transform, transform_columns
from sparseauc.utils.types import Floats

from .card_making import fill_in, limits_on_card, make_card, steps_of
from .cautions import find_cautions
from .reading import Table
from .reading.columns import dense_column
from .scorecard import ScoreCard
from .validation import GroupResult, judge_groups

# Strata beyond which the AUC within each is no more than noise, as in matched sets.
_MOST_STRATA = 50


@dataclass(frozen=True, eq=False)
class FitSummary:
    """A fitted model and its evaluation.

    Attributes
    ----------
    model : SparseLinearClassifier, or Pipeline of SimpleImputer and one
        Fitted on all rows.
    table : Table
        The training data: X, y (1 is positive), column names, labels, groups, missing values.
    settings : dict
        Settings of the fit: k, alpha, rule, seed and so on.
    columns : pandas.DataFrame
        The chosen columns, from :func:`~sparseauc.selection.table.column_table`: rank, column,
        coefficient, standardised, auc, direction and, with ``stability``, frequency.
    training_scores : ndarray of shape (n,)
        Scores of the training rows by the final model (optimistic).
    nested : NestedScores, optional
        Nested cross-validation: out-of-fold scores, scaled so that the class means of the training
        rows are ±0.5; the AUC of each fold, and the pooled AUC with its interval.
    stability : StabilityResult, optional
        How often each column is chosen from half of the rows.
    points : PointScore, optional
        The model's whole points and the risk by total on the training rows.
    warnings : tuple of str
        Raised while the table was read and fitted; ``cautions`` has these and more.
    notes : tuple of str
        How the table was read.
    seconds : float
    """

    model: Any = field(repr=False)
    table: Table = field(repr=False)
    settings: Mapping[str, Any]
    columns: pd.DataFrame = field(repr=False)
    training_scores: Floats = field(repr=False)
    nested: NestedScores | None = None
    stability: StabilityResult | None = None
    points: PointScore | None = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def classifier(self) -> Any:
        """The classifier within the model, or the model of times to event."""
        return steps_of(self.model)[1]

    @property
    def label(self) -> str | None:
        """What the outcome is called in reports, if a name was given."""
        label = self.settings.get("label")
        return None if label is None else str(label)

    @property
    def k(self) -> int:
        """Number of columns chosen; a text column that is chosen whole counts once."""
        return self.table.count(np.flatnonzero(self.classifier.coef_[0]).tolist())

    @property
    def alpha(self) -> float:
        """Ridge of the model."""
        return ridge_of(self.classifier)

    @property
    def logistic_ridge(self) -> float | None:
        """Ridge of logistic coefficients, of a model with such."""
        classifier: Any = self.classifier
        if getattr(classifier, "coefficients_", None) != "logistic":
            return None
        return float(classifier.cv_results_["param_logistic_ridge"][classifier.best_index_])

    @property
    def cv_results(self) -> Mapping[str, Any] | None:
        """Validation AUC of every k and ridge tried, as ``SparseAUCClassifierCV`` keeps it."""
        return getattr(self.classifier, "cv_results_", None)

    @cached_property
    def training_auc(self) -> AUCInterval:
        """AUC of the training scores (optimistic), within strata where there are any."""
        table, outcome = self.table, self.table.outcome
        if table.strata is None:
            return outcome.interval(self.training_scores)
        within = outcome.interval_within(self.training_scores, table.strata)
        assert within is not None
        return within

    @property
    def clip_limits(self) -> dict[str, list[float]]:
        """The least and the largest value of each chosen column that is clipped."""
        limits = getattr(self.classifier, "clip_limits_", None)
        if limits is None:
            return {}
        # Logged columns that are not clipped have a smallest value only.
        chosen = np.flatnonzero(self.classifier.coef_[0] * np.isfinite(limits[1]))
        return {self.table.inputs[j].name: limits[:, j].tolist() for j in chosen.tolist()}

    @property
    def log_offsets(self) -> dict[str, float]:
        """What is added to each chosen column whose logarithm is taken."""
        offsets = getattr(self.classifier, "log_offsets_", None)
        if offsets is None:
            return {}
        chosen = np.flatnonzero(self.classifier.coef_[0] * ~np.isnan(offsets))
        return {self.table.inputs[j].name: float(offsets[j]) for j in chosen.tolist()}

    def auc_by_k(self) -> list[dict[str, float]]:
        """Validation AUC of the best ridge at every k or budget, with its standard error."""
        classifier: Any = self.classifier
        return [] if self.cv_results is None else auc_by_k(self.cv_results, classifier.n_repeats_)

    @cached_property
    def out_of_fold_scores(self) -> Floats | None:
        """Scores of nested cross-validation, on the scale of this model."""
        return None if self.nested is None else self.rescale(self.nested.scores)

    def rescale(self, scores: Floats) -> Floats:
        """Turn scores scaled as those of ``nested`` into scores on the scale of this model."""
        return on_scale_of(self.training_scores, self.table.outcome, scores)

    @property
    def refit_scores(self) -> Floats | None:
        """Scores of all rows by the model of each outer fold, scaled as those of ``nested``."""
        return None if self.nested is None else self.nested.fold_scores

    @cached_property
    def strata_results(self) -> list[GroupResult]:
        """The AUC of nested cross-validation within each stratum, and fold."""
        table, nested = self.table, self.nested
        if table.strata is None or nested is None:
            return []
        return judge_groups(table.strata, table.outcome, nested.scores, nested.folds)

    @cached_property
    def operating_points(self) -> list[OperatingPoint]:
        """The usual thresholds, evaluated on the out-of-fold scores.

        Empty without them, for times to event, and for rows with weights.
        """
        scores, platt = self.scores_left_out, getattr(self.classifier, "platt_", None)
        if scores is None or self.nested is None or not self._has_thresholds:
            return []
        if self.points is not None:
            default = self.points.threshold
        else:
            default = 0.0 if platt is None else float(logit(platt["prevalence"]))
        found = operating_points(
            self.table.y, scores, default=default, whole=self.points is not None,
            inflation=variance_inflation(self.nested.agreement),
        )  # fmt: skip
        if self.points is not None:
            return [
                replace(one, risk=float(self.points.risks(one.threshold)), total=True)
                for one in found
            ]
        return [
            replace(one, risk=None if platt is None else float(expit(one.threshold)))
            for one in found
        ]

    @property
    def _has_thresholds(self) -> bool:
        return self.table.times is None and self.table.weight is None

    @cached_property
    def scores_left_out(self) -> Floats | None:
        """Out-of-fold scores as the score card gives them: log odds, or totals of points."""
        scores = self.out_of_fold_scores
        if scores is None or self.points is None:
            return scores
        totals: Floats = (scores - self.points.intercept) / self.points.slope
        # Those of the model's own points are whole; those of other folds are on their scale.
        return np.rint(totals) if self.points.whole else totals

    def _describe_thresholds(self) -> dict[str, list[float]] | None:
        """Sensitivity and specificity of thresholds, of which many are left out."""
        scores = self.scores_left_out
        if scores is None or not self._has_thresholds:
            return None
        found = roc_thresholds(
            self.table.y == 1, np.asarray(scores, np.float64), whole=self.points is not None
        )
        # Where neither changes more than by one of four hundred steps.
        steps = np.floor(400 * (found[2] - found[1]))
        kept = np.flatnonzero(np.diff(steps, prepend=-np.inf, append=np.inf)[:-1] > 0)
        names = ("threshold", "sensitivity", "specificity")
        return {name: of[kept].tolist() for name, of in zip(names, found, strict=True)}

    @cached_property
    def near_copies(self) -> list[list[tuple[str, float]]]:
        """For each chosen column the names and correlations of others that nearly copy it."""
        X = transform_columns(self.classifier, fill_in(self.model, self.table.X))
        names = [str(name) for name in self.table.columns]
        places = [names.index(str(name)) for name in self.columns["column"]]
        return [
            [(names[j], correlation) for j, correlation in copies]
            for copies in near_copies(X, places)
        ]

    @cached_property
    def cautions(self) -> list[str]:
        """Reasons not to rely on the result, the most serious first."""
        return find_cautions(self._describe(), self.warnings, self.near_copies)

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON except rows."""
        return {**self._describe(), "warnings": self.cautions}

    def _describe(self) -> dict[str, Any]:
        table, limits = self.table, limits_on_card(self.classifier, self.table.columns)
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
            "columns_tried": table.count(range(len(table.inputs))),
            "groups": None if table.groups is None else int(np.unique(table.groups).size),
            "strata": None if table.strata is None else self._describe_strata(),
            "k": self.k,
            "alpha": self.alpha,
            "coefficients": getattr(self.classifier, "coefficients_", None),
            "logistic_ridge": self.logistic_ridge,
            "clip": self.clip_limits,
            "log": self.log_offsets,
            "cost": getattr(self.classifier, "cost_", None),
            "budget": limits.get("budget"),
            "limits": limits,
            "auc": self._describe_auc(),
            "training_auc": self.training_auc.auc,
            "operating_points": [point.as_dict() for point in self.operating_points],
            "thresholds": self._describe_thresholds(),
            "calibration": getattr(self.classifier, "platt_", None),
            "chosen": self.columns.to_dict(orient="records"),
            "distributions": self._describe_columns(),
            "auc_by_k": self.auc_by_k(),
            "stability_pairs": None if self.stability is None else self.stability.n_pairs,
            "points": None if self.points is None else self.points.as_dict(),
            "ids": table.ids,
            "missing": dict(table.missing),
            "left_out": dict(table.left_out),
            "imputation": table.imputation,
            "settings": dict(self.settings),
            "notes": list(self.notes),
            "seconds": round(self.seconds, 3),
        }

    def _describe_auc(self) -> dict[str, Any] | None:
        if self.nested is None:
            return None
        folds = [None if np.isnan(area) else float(area) for area in self.nested.fold_aucs]
        sizes = [self.table.count(columns.tolist()) for columns in self.nested.fold_columns]
        return {**asdict(self.nested.interval), "folds": folds, "fold_sizes": sizes}

    def _describe_strata(self) -> dict[str, Any]:
        """The column of the strata, how many they are, and the AUC within each, if not too many."""
        few = len(self.strata_results) <= _MOST_STRATA
        return {
            "column": self.table.within,
            "count": self.table.n_within,
            "within": [asdict(one) for one in self.strata_results] if few else [],
        }

    def _describe_columns(self) -> dict[str, dict[str, float]]:
        """Mean, standard deviation and missing share of each chosen column, for later rows.

        Of columns as the model takes them, clipped and logged.
        """
        table, transform = self.table, Transform.of_model(self.classifier)
        found = {}
        for j in np.flatnonzero(self.classifier.coef_[0]).tolist():
            values = dense_column(table.X, j)
            if transform is not None:
                values = transform.of_columns(np.array([j])).apply(values[:, None])[:, 0]
            known = values[~np.isnan(values)]
            if known.size:
                found[table.inputs[j].name] = {
                    "rows": int(known.size),
                    "mean": float(known.mean()),
                    "std": float(known.std()),
                    "missing": 1 - known.size / values.size,
                }
        return found

    def card(self) -> ScoreCard:
        """The model as a score card, with this summary on it."""
        table = self.table
        return make_card(
            self.model,
            inputs=table.inputs,
            types=table.types,
            classes=(table.negative, table.positive),
            target=table.target,
            summary=self.to_dict(),
            follow_up=table.follow_up,
        )


def labels_for(classifier: Any, table: Table) -> npt.NDArray[Any]:
    """Return the outcome of a table as a model was fitted to it."""
    if table.times is not None:
        return table.outcome.y
    labels: npt.NDArray[Any] = classifier.classes_[table.y]
    return labels


def chooses_by_exchanges(classifier: Any) -> bool:
    """Whether a model chooses its list by the loss over pairs that exchanges lower."""
    return isinstance(classifier, ExchangeClassifier | ConcordanceModel)


def ridge_of(classifier: Any) -> float:
    """Ridge of a classifier, given or chosen; 0 without one."""
    return float(getattr(classifier, "alpha_", getattr(classifier, "alpha", 0.0)))


def on_scale_of(training_scores: Floats, outcome: Outcome, scores: Floats) -> Floats:
    """Turn scores scaled as those of ``NestedScores`` into those of another model."""
    middle, unit = outcome.scale(np.asarray(training_scores, np.float64))
    rescaled: Floats = middle + scores * unit
    return rescaled
