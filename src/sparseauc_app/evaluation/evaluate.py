"""The evaluation of a fit: every number of its report."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from sparseauc.columns import Levels
from sparseauc.metrics import AUCInterval
from sparseauc.utils.types import Array, Mask

from ..fit_result import FitResult
from ..folds import Progress
from ..models import on_scale_of
from ..reading import Table
from ..scorecard import RiskMap, ScoreCard
from .alternatives import (
    Alternatives,
    Baselines,
    find_alternatives,
    judge_baselines,
    learning_curve,
)
from .bootstrap import ColumnEffect, bootstrap_effects
from .probabilities import Risks, judge_scores, log_odds_of
from .ranking import Followed, RankCurves, follow_scores, rank_curves
from .sample_size import (
    DevelopmentSize,
    ValidationSize,
    development_size,
    validation_size,
)


@dataclass(frozen=True)
class CandidateRow:
    """A candidate column in all rows and in each class, as text, and its missing values.

    A number is its median (quartiles), a column of 0 and 1 the count (per cent) of 1. A
    column of text has a row for each level, with its count (per cent).
    """

    name: str
    chosen: bool
    everyone: str
    positives: str
    negatives: str
    missing: int


def describe_candidates(table: Table, chosen: list[str]) -> list[CandidateRow]:
    """Describe all candidates of a table, the chosen ones first and in their order."""
    place = {name: j for j, name in enumerate(table.names)}
    first = dict.fromkeys(place[name] for name in chosen)
    rows = []
    for j in first | dict.fromkeys(range(len(table.names))):
        name = table.names[j]
        values = table.values_of(j)
        missing = int(np.isnan(values).sum())
        levels = table.numbers.levels.get(j)
        if levels is None:
            rows.append(
                _describe_column(name, values, table.y == 1, j in first, missing)
            )
            continue
        for number, level in enumerate(levels):
            has = np.where(np.isnan(values), np.nan, values == number)
            row = _describe_column(
                f"{name}={level}", has, table.y == 1, j in first, missing
            )
            rows.append(row)
    return rows


def _describe_column(
    name: str, values: Array, positive: Mask, chosen: bool, missing: int
) -> CandidateRow:
    known = ~np.isnan(values)
    counted = set(np.unique(values[known]).tolist()) <= {0.0, 1.0}
    return CandidateRow(
        name=name,
        chosen=chosen,
        everyone=_describe(values[known], counted),
        positives=_describe(values[known & positive], counted),
        negatives=_describe(values[known & ~positive], counted),
        missing=missing,
    )


def _describe(values: Array, counted: bool) -> str:
    if not values.size:
        return "–"
    if counted:
        ones = int(np.count_nonzero(values == 1))
        return f"{ones} ({100 * ones / values.size:.0f} %)"
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    between = " to " if low < 0 else "–"
    return f"{middle:.3g} ({low:.3g}{between}{high:.3g})".replace("-", "−")


@dataclass(frozen=True, eq=False, repr=False)
class Instability:
    """Risks of the same rows by the model and by models fitted without an outer fold.

    Attributes
    ----------
    risks : ndarray of shape (n,)
        By the final model.
    refitted : ndarray of shape (n_refits, n)
    error : float
        Mean absolute difference of the two (mean absolute prediction error).
    error_90 : float
        90 % quantile over the rows of their own mean absolute difference.
    """

    risks: Array
    refitted: Array
    error: float
    error_90: float


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """A fitted table and all that its report says.

    Attributes
    ----------
    fit : FitResult
    candidates : list of CandidateRow
        Table 1.
    correlations : pandas.DataFrame
        Of the chosen columns, by complete pairs.
    baselines : Baselines, optional
        Like the others below, None without nested cross-validation.
    alternatives : Alternatives, optional
    risks : Risks, optional
        Out-of-fold, calibrated by the other folds; of times to event, until the
        horizon.
    curves : RankCurves, optional
        Of two classes without weights.
    followed : Followed, optional
        Of times to event.
    instability : Instability, optional
    learning : list of (int, AUCInterval), optional
    size, size_of_all : DevelopmentSize, optional
        For the chosen columns, and for all candidates.
    validation : ValidationSize, optional
        Rows to validate the model.
    effects : list of ColumnEffect
        Of the chosen columns, with those in bootstrap samples.
    """

    fit: FitResult
    candidates: list[CandidateRow]
    correlations: pd.DataFrame
    baselines: Baselines | None
    alternatives: Alternatives | None
    risks: Risks | None
    curves: RankCurves | None
    followed: Followed | None
    instability: Instability | None
    learning: list[tuple[int, AUCInterval]] | None
    size: DevelopmentSize | None
    size_of_all: DevelopmentSize | None
    validation: ValidationSize | None
    effects: list[ColumnEffect]


def evaluate(fit: FitResult, progress: Progress = lambda *_: None) -> Evaluation:
    """Evaluate a fit for its report.

    Parameters
    ----------
    fit : FitResult
        From :func:`~sparseauc_app.fitting.fit_table`.
    progress : callable, optional
        Called with the stage, its steps done and their number.

    Returns
    -------
    Evaluation

    Notes
    -----
    L1 logistic regression and the learning curve are left out where their first fits
    say that they would take minutes.
    """
    progress("Looking for replacements", 0, 1)
    table = fit.table
    nested = fit.nested
    card = fit.card
    risks = curves = followed = size = size_of_all = validation = None
    if nested is not None:
        scores = np.asarray(fit.out_of_fold_scores, np.float64)
        if card.risk_map is not None:
            risks = judge_scores(table.outcome, _risk_map_of_model(card), scores)
        if table.times is not None and card.follow_up is not None:
            followed = follow_scores(table.times, card.follow_up.horizon, scores)
        elif table.weight is None:
            curves = rank_curves(scores, table.y == 1, nested.interval.confidence)
        if curves is not None and risks is not None:
            auc = nested.interval.auc
            size = development_size(auc, risks.share, fit.n_numbers)
            size_of_all = development_size(auc, risks.share, len(table.names))
            validation = validation_size(log_odds_of(risks.p), auc, risks.share)
    return Evaluation(
        fit=fit,
        candidates=describe_candidates(table, [*fit.chosen]),
        correlations=_correlate(fit),
        baselines=judge_baselines(fit, progress),
        alternatives=find_alternatives(fit),
        risks=risks,
        curves=curves,
        followed=followed,
        instability=_judge_instability(fit),
        learning=learning_curve(fit, progress),
        size=size,
        size_of_all=size_of_all,
        validation=validation,
        effects=bootstrap_effects(fit, progress),
    )


def _correlate(fit: FitResult) -> pd.DataFrame:
    """Correlate the chosen columns: of text, what its levels count."""
    values = {}
    for name, j in fit.chosen.items():
        column = fit.table.values_of(j)
        encoding = fit.model.encodings_[j]
        if isinstance(encoding, Levels):
            column = encoding.basis(column) @ np.array(encoding.coef)
        values[name] = column
    return pd.DataFrame(values).corr()


def _risk_map_of_model(card: ScoreCard) -> RiskMap:
    """Return the map from a score to its risk; scores of points are in log odds already."""
    how = card.risk_map
    assert how is not None
    return RiskMap(1.0, 0.0, 0, 0) if card.total and how.link == "logit" else how


def _judge_instability(fit: FitResult) -> Instability | None:
    """Risks by the models of the outer folds, on the scale of the final model."""
    if (
        fit.nested is None
        or fit.nested.fold_scores is None
        or fit.card.risk_map is None
    ):
        return None
    how = _risk_map_of_model(fit.card)
    risks = how.risks(fit.training_scores)
    scores = on_scale_of(fit.training_scores, fit.table.outcome, fit.nested.fold_scores)
    refitted = how.risks(scores)
    away = np.abs(refitted - risks).mean(axis=0)
    return Instability(
        risks, refitted, float(away.mean()), float(np.quantile(away, 0.9))
    )
