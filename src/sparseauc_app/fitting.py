"""From a table to a validated short list: ``sparseauc fit`` as a function."""

import itertools
import time
import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from sklearn.utils import _safe_indexing

from sparseauc.errors import InputError
from sparseauc.estimators._sparse_auc_cv import score_in_log_odds
from sparseauc.folds import Split
from sparseauc.limits import Limits
from sparseauc.rules import ChanceWarning
from sparseauc.selection.confidence import fit_rows, scores_by
from sparseauc.selection.points import PointScore, point_score
from sparseauc.selection.stability import StabilityResult, stability_selection
from sparseauc.strata import StrataWarning
from sparseauc.utils.text import quoted

from .column_types import Rows
from .fit_result import FitResult, ValidatedFit, describe_fit
from .folds import Progress, outer_splits, score_folds, split_rows
from .limits import limits_for
from .methods import choose_by_validation
from .models import (
    chooses_by_exchanges,
    labels_for,
    on_scale_of,
    ridge_of,
)
from .reading import DataError, Table


@dataclass(frozen=True)
class FitSettings:
    """Settings of fitting and validating a list.

    Attributes
    ----------
    k : int, optional
        Number of columns; chosen by cross-validation if not given.
    min_k, max_k : int, optional
        Smallest and largest number of columns to try; without ``max_k`` those that
        :class:`~sparseauc.SparseAUCClassifierCV` tries.
    alpha : float, optional
        Ridge; chosen by cross-validation if not given.
    rule : {"best", "1se"}
        See :class:`~sparseauc.SparseAUCClassifierCV`.
    limits : Limits
        Limits on the list, with columns by name. Cross-validation tries smaller budgets
        too, unless ``k`` or ``max_k`` is given.
    points : int, optional
        Round the effects to whole points, up to this for the strongest column.
    folds : int
        Outer folds of nested cross-validation; 0 skips it.
    stability_pairs : int
        Pairs of halves for stability selection; 0 skips it.
    seed : int
    jobs : int, optional
        Number of parallel jobs.
    label : str, optional
        What the outcome is called in reports and exports, such as "death within 30
        days".
    """

    k: int | None = None
    min_k: int = 1
    max_k: int | None = None
    alpha: float | None = None
    rule: Literal["best", "1se"] = "best"
    limits: Limits = field(default_factory=Limits)
    points: int | None = None
    folds: int = 5
    stability_pairs: int = 50
    seed: int = 0
    jobs: int | None = None
    label: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the settings for JSON."""
        return {**vars(self), "limits": self.limits.as_dict()}


def fit_table(
    table: Table,
    settings: FitSettings | None = None,
    progress: Progress = lambda *_: None,
) -> FitResult:
    """Choose columns, fit them, and validate the result.

    Parameters
    ----------
    table : Table
    settings : FitSettings, optional
    progress : callable, optional
        Called with the stage, its steps done and their number.

    Returns
    -------
    FitResult

    Raises
    ------
    DataError
        If the table does not allow these settings.
    """
    settings = FitSettings() if settings is None else settings
    started = time.perf_counter()
    splits = (
        []
        if settings.folds == 0
        else outer_splits(table, settings.folds, settings.seed)
    )
    # Warnings of the estimators are shown once, however many folds raise them.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            steps = []

            def choose(stage: str, done: int, total: int) -> None:
                steps.append(done)
                progress(stage, done, total)

            every = np.arange(table.y.size)
            model, points = _fit_model(table, settings, every, choose)

            def fit_again(rows: Rows, tell: Callable[..., None]) -> Any:
                return _fit_model(table, settings, rows, tell)[0]

            fit = validate_fit(
                table,
                model,
                fit_again,
                settings,
                splits,
                progress,
                points,
                n_steps=len(steps),
            )
        except InputError as error:
            raise DataError(str(error)) from error
    progress("Done", 1, 1)

    # With nested cross-validation, its interval tells whether the list is chance.
    wanted = (UserWarning,) if fit.nested is not None else (UserWarning, ChanceWarning)
    said = dict.fromkeys(str(one.message) for one in caught if one.category in wanted)
    # The first is that of all rows; folds say so of their own.
    alone = [str(one.message) for one in caught if one.category is StrataWarning][:1]
    alone += _describe_left_out(fit.model, table)
    seconds = time.perf_counter() - started
    return describe_fit(fit, [*table.warnings, *alone, *said], seconds)


def validate_fit(
    table: Table,
    model: Any,
    fit: Callable[[Rows, Callable[..., None]], Any],
    settings: FitSettings,
    splits: Sequence[Split],
    progress: Progress = lambda *_: None,
    points: PointScore | None = None,
    n_steps: int = 0,
) -> ValidatedFit:
    """Validate a model that was fitted to all rows of a table.

    Parameters
    ----------
    table : Table
    model : SparseLinearClassifier or concordance model
        Without probabilities, a copy is calibrated by the scores of nested
        cross-validation.
    fit : callable
        Fits the same procedure to some rows of the table, and reports its steps to a
        function.
    settings : FitSettings
    splits : sequence of (ndarray, ndarray)
        Training and test rows of the outer folds; none without nested cross-validation.
    progress : callable, optional
        Called with the stage, its steps done and their number.
    points : PointScore, optional
        The points of the model, if it has any.
    n_steps : int, default=0
        Steps that the fit to all rows has reported: the fit of a fold takes about as
        many.

    Returns
    -------
    ValidatedFit
    """

    def fit_fold(fold: int, train: Rows) -> Any:
        stage = f"Nested cross-validation, fold {fold + 1} of {len(splits)}"
        progress(stage, fold, len(splits))
        numbers = itertools.count(1)

        def tell(*_: Any) -> None:
            progress(
                stage, fold + min(next(numbers), n_steps) / (n_steps + 1), len(splits)
            )

        return fit(train, tell)

    nested = score_folds(table, splits, fit_fold) if splits else None
    stability = _select_halves(table, settings, model, progress)
    notes = table.notes
    if stability is not None and table.groups is not None:
        notes = (*notes, "selection frequencies ignore groups and are too high")
    scores = np.asarray(scores_by(model, table.X), np.float64)
    if (
        nested is not None
        and not hasattr(model, "predict_proba")
        and table.times is None
    ):
        # It has no out-of-fold scores of its own.
        held_out = np.asarray(
            on_scale_of(scores, table.outcome, nested.scores), np.float64
        )
        model = copy(model)
        score_in_log_odds(model, held_out[:, None], table.y == 1, table.weight)
        scores = np.asarray(model.decision_function(table.X), np.float64)
    return ValidatedFit(
        table=table,
        settings=settings.as_dict(),
        model=model,
        training_scores=scores,
        nested=nested,
        stability=stability,
        points=points,
        notes=notes,
    )


def _select_halves(
    table: Table, settings: FitSettings, classifier: Any, report: Progress
) -> StabilityResult | None:
    """Select columns from halves of the rows, with the settings of the fitted classifier.

    None if it is not asked for, or nothing is chosen.
    """
    if not settings.stability_pairs or not chooses_by_exchanges(classifier):
        return None
    limits = Limits() if classifier.limits is None else classifier.limits
    found = limits.resolve(len(table.names), np.array(table.names))
    k = found.count(np.flatnonzero(classifier.coef_[0]))
    every = found.count(np.arange(classifier.n_features_in_))
    if k <= found.count(found.fixed) or k >= every:
        return None

    return stability_selection(
        table.X,
        labels_for(classifier, table),
        k,
        alpha=ridge_of(classifier),
        limits=replace(limits, budget=getattr(classifier, "budget_", limits.budget)),
        n_pairs=settings.stability_pairs,
        random_state=settings.seed,
        n_jobs=settings.jobs,
        progress=report,
        **table.known(),
    )


def _describe_left_out(classifier: Any, table: Table) -> list[str]:
    """Say which required columns are not on the list, by name."""
    names = [table.names[j] for j in classifier.not_included_]
    if not names:
        return []
    return [
        f"always_include: {quoted(names)} cannot be on the list: constant, made redundant by other "
        "columns, or with a sign that the data contradict"
    ]


def _make_estimator(
    table: Table, settings: FitSettings, rows: Rows, tell: Callable[..., None]
) -> Any:
    """Return the unfitted model for these rows of the table."""
    limits = limits_for(table, settings.limits)
    ks = None if settings.k is None else [settings.k]
    if ks is None and settings.max_k is not None:
        least = max(settings.min_k, len(limits.always_include))
        ks = list(range(least, min(max(settings.max_k, least), len(table.names)) + 1))
    coefficients: Literal["auto", "auc"] = "auto"
    if settings.k is not None and settings.alpha is not None:
        # There is nothing to choose; folds are for the calibration alone.
        coefficients = "auc"
    return choose_by_validation(
        table.outcome,
        rows,
        ks=ks,
        alphas=None if settings.alpha is None else [settings.alpha],
        cv=None if table.groups is None else split_rows(table, rows, 5, settings.seed),
        rule=settings.rule,
        coefficients=coefficients,
        curves="auto",
        limits=limits,
        random_state=settings.seed,
        n_jobs=settings.jobs,
        verbose=tell,
    )


def _fit_model(
    table: Table, settings: FitSettings, rows: Rows, tell: Callable[..., None]
) -> tuple[Any, PointScore | None]:
    """Fit a model to some rows, and give points if wanted; folds keep groups together."""
    model = _make_estimator(table, settings, rows, tell)
    fit_rows(
        model, table.X, table.outcome.y, rows, groups=table.groups, **table.known()
    )
    model.set_params(verbose=0)  # nobody is told of steps of the fitted model
    if settings.points is None:
        return model, None
    score = point_score(
        model,
        _safe_indexing(table.X, rows),
        table.outcome.y[rows],
        largest=settings.points,
        cv=None if table.groups is None else split_rows(table, rows, 5, settings.seed),
        random_state=settings.seed,
        **table.known(rows),
    )
    return score.model, score
