"""From a table to a validated short list: ``sparseauc fit`` as a function."""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from sparseauc._text import quoted
from sparseauc.curves import fit_calibration
from sparseauc.estimators import ExchangeClassifier, SparseAUCClassifier, SparseAUCClassifierCV
from sparseauc.limits import Limits
from sparseauc.moments import ColumnError
from sparseauc.path.folds import Split
from sparseauc.path.rules import ChanceWarning
from sparseauc.selection.confidence import (
    PermutationResult,
    comparable_scores,
    fit_rows,
    permutation_test,
)
from sparseauc.selection.points import point_score
from sparseauc.selection.stability import StabilityResult, stability_selection
from sparseauc.selection.table import column_table
from sparseauc.strata import StrataWarning

from .card_making import as_fitted, steps_of
from .folds import Progress, Rows, outer_splits, score_folds, stratified_folds
from .limits import limits_for
from .reading import DataError, Table
from .summary import FitSummary, ridge_of


@dataclass(frozen=True)
class FitSettings:
    """How to fit and validate a list.

    Attributes
    ----------
    k : int, optional
        Number of columns; chosen by cross-validation if not given.
    max_k : int, optional
        Largest number of columns to try; by default those that
        :class:`~sparseauc.SparseAUCClassifierCV` tries.
    alpha : float, optional
        Ridge; chosen by cross-validation if not given.
    rule : {"best", "1se"}
        See :class:`~sparseauc.SparseAUCClassifierCV`.
    limits : Limits
        Limits on the list, with columns by name; a text column stands for all its levels, and is
        paid for once. Cross-validation tries smaller budgets too, unless ``k`` or ``max_k`` is
        given.
    clip : "auto", float or None
        See :class:`~sparseauc.SparseAUCClassifierCV`.
    points : int, optional
        Give whole points from minus this to this instead of coefficients.
    folds : int
        Outer folds of nested cross-validation; 0 skips it.
    stability_pairs : int
        Pairs of halves for stability selection; 0 skips it.
    permutations : int
        Permutations of the labels for a p-value; each refits everything.
    seed : int
    jobs : int, optional
        Number of parallel jobs.
    label : str, optional
        What the outcome is called in reports and exports, such as "death within 30 days".
    """

    k: int | None = None
    max_k: int | None = None
    alpha: float | None = None
    rule: Literal["best", "1se"] = "best"
    limits: Limits = field(default_factory=Limits)
    clip: Literal["auto"] | float | None = "auto"
    points: int | None = None
    folds: int = 5
    stability_pairs: int = 50
    permutations: int = 0
    seed: int = 0
    jobs: int | None = None
    label: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the settings for JSON."""
        return {**vars(self), "limits": self.limits.as_dict()}

    @property
    def tuned(self) -> bool:
        """Whether cross-validation has anything to choose."""
        return self.k is None or self.alpha is None or isinstance(self.clip, float)


def fit_table(
    table: Table, settings: FitSettings | None = None, progress: Progress | None = None
) -> FitSummary:
    """Choose columns, fit them, and validate the result.

    Parameters
    ----------
    table : Table
    settings : FitSettings, optional
    progress : callable, optional
        Called with the stage, the steps done and the number of steps.

    Returns
    -------
    FitSummary

    Raises
    ------
    DataError
        If the table does not allow these settings.

    Notes
    -----
    Missing values are imputed by a ``SimpleImputer`` that is part of the model. Every outer fold
    fits its own, so the AUC of nested cross-validation is not affected by test rows. The inner
    folds that choose k and the ridge share one imputer: it sees values, not labels, of validation
    rows, which can make the choice of k slightly worse but never the AUC look better.
    """
    settings = FitSettings() if settings is None else settings
    report = progress or (lambda *_: None)
    started = time.perf_counter()
    if settings.permutations and table.groups is not None:
        raise DataError(
            "--permutations cannot be combined with --groups: permuting single rows would make the "
            "p-value too small"
        )
    splits = [] if settings.folds == 0 else outer_splits(table, settings.folds, settings.seed)
    steps = 1 + len(splits) + (settings.stability_pairs > 0)
    done = 0

    def advance(stage: str) -> None:
        nonlocal done
        report(stage, done, steps)
        done += 1

    # Warnings of the estimators are shown once, however many folds raise them.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            advance("Choosing columns")
            model = _fit_pipeline(table, settings, np.arange(table.y.size))
            summary = summarise_fit(
                table, model, partial(_fit_pipeline, table, settings), settings, splits, advance
            )
            permutation = None
            if settings.permutations:
                permutation = _test_permutations(table, settings, report)
        except DataError:
            raise
        except ValueError as error:  # the estimators' own checks
            raise DataError(str(error)) from error
    report("Done", steps, steps)

    # With nested cross-validation, its interval tells whether the list is chance.
    wanted = (UserWarning,) if summary.nested is not None else (UserWarning, ChanceWarning)
    said = dict.fromkeys(str(one.message) for one in caught if one.category in wanted)
    # The first is that of all rows; folds say so of their own.
    alone = [str(one.message) for one in caught if one.category is StrataWarning][:1]
    alone += _describe_left_out(summary.classifier, table)
    # As if it were fitted to a data frame, which is slow to make of a wide table.
    first = model.steps[0][1] if isinstance(model, Pipeline) else model
    first.feature_names_in_ = table.columns.astype(object)
    summary.classifier.classes_ = np.array([table.negative, table.positive])
    return replace(
        summary,
        permutation=permutation,
        warnings=(*table.warnings, *alone, *said),
        seconds=time.perf_counter() - started,
    )


def summarise_fit(
    table: Table,
    model: Any,
    fit: Callable[[Rows], Any],
    settings: FitSettings,
    splits: Sequence[Split],
    advance: Callable[[str], None] | None = None,
) -> FitSummary:
    """Validate a model that was fitted to all rows of a table, and summarise what is known of it.

    Parameters
    ----------
    table : Table
    model : SparseLinearClassifier, or Pipeline of SimpleImputer and one
        It gets a calibration by the scores of nested cross-validation, and keeps all else.
    fit : callable
        Fits the same procedure to some rows of the table.
    settings : FitSettings
    splits : sequence of (ndarray, ndarray)
        Training and test rows of the outer folds; none without nested cross-validation.
    advance : callable, optional
        Called with the name of each stage.

    Returns
    -------
    FitSummary
    """
    tell = advance or (lambda _: None)
    everything, positive = np.arange(table.y.size), table.y == 1
    refits: list[Any] = []

    def fit_fold(fold: int, train: Rows) -> Any:
        tell(f"Nested cross-validation, fold {fold + 1} of {len(splits)}")
        fitted = fit(train)
        refits.append(comparable_scores(fitted, table.X, positive, train, everything))
        return fitted

    nested = score_folds(table, splits, fit_fold) if splits else None
    _, classifier = steps_of(model)
    X = as_fitted(model, table.X)
    points = None
    if settings.points is not None:
        points = point_score(classifier, X, table.y, strata=table.strata)
        names = table.columns[points.columns["column"].to_numpy(np.int64)]
        points = replace(
            points, columns=points.columns.assign(column=names), positive_label=table.positive
        )
    stability = None
    notes = list(table.notes)
    if settings.stability_pairs and isinstance(classifier, ExchangeClassifier):
        tell("Stability selection")
        stability = refit_halves(
            classifier, X, table.y, n_pairs=settings.stability_pairs, strata=table.strata,
            random_state=settings.seed, n_jobs=settings.jobs,
        )  # fmt: skip
        if stability is not None and table.groups is not None:
            notes.append("selection frequencies ignore groups and are too high")
    columns = column_table(classifier, X, table.y, stability, table.strata)
    if columns["column"].dtype.kind in "iu":
        columns["column"] = table.columns[columns["column"].to_numpy(np.int64)]
    summary = FitSummary(
        model=model,
        table=table,
        settings=settings.as_dict(),
        columns=columns,
        training_scores=np.asarray(classifier.decision_function(X), np.float64),
        nested=nested,
        stability=stability,
        points=points,
        notes=tuple(notes),
        refit_scores=np.array(refits) if refits else None,
    )
    if summary.out_of_fold_scores is not None:
        # Better for calibration than the inner folds' scores, which the choice of k has seen.
        scores = np.asarray(summary.out_of_fold_scores, np.float64)
        classifier.calibration_ = fit_calibration(scores, positive)
    return summary


def _describe_left_out(classifier: Any, table: Table) -> list[str]:
    """Say which required columns are not on the list, by name."""
    names = table.columns[classifier.not_included_].tolist()
    if not names:
        return []
    return [
        f"always_include: {quoted(names)} cannot be on the list: constant, made redundant by other "
        "columns, or with a sign that the data contradict"
    ]


def _make_estimator(table: Table, settings: FitSettings, rows: Rows) -> Any:
    """Return the unfitted pipeline for these rows of the table."""
    limits, clip = limits_for(table, settings.limits), settings.clip
    if settings.points is not None:
        if clip not in ("auto", None):
            raise DataError("--points are added up by hand: leave --clip out, or use --clip none")
        clip = None
    classifier: Any
    if not settings.tuned:
        assert settings.k is not None
        assert settings.alpha is not None
        classifier = SparseAUCClassifier(settings.k, settings.alpha, limits=limits)
    else:
        ks = None if settings.k is None else [settings.k]
        if ks is None and settings.max_k is not None:
            least = max(1, len(limits.always_include))
            ks = list(range(least, min(max(settings.max_k, least), len(table.inputs)) + 1))
        classifier = SparseAUCClassifierCV(
            ks=ks,
            alphas=None if settings.alpha is None else [settings.alpha],
            cv=None if table.groups is None else stratified_folds(table, rows, 5, settings.seed),
            rule=settings.rule,
            clip=clip,
            limits=limits,
            random_state=settings.seed,
            n_jobs=settings.jobs,
        )
    if table.imputation is None:
        return classifier
    imputer = SimpleImputer(strategy=table.imputation, keep_empty_features=True)
    return Pipeline([("impute", imputer), ("model", classifier)])


def _fit_pipeline(table: Table, settings: FitSettings, rows: Rows) -> Any:
    """Fit the pipeline to some rows; inner folds keep groups together."""
    model = _make_estimator(table, settings, rows)
    known = {"strata": table.strata, "groups": table.groups if settings.tuned else None}
    try:
        fit_rows(model, table.X, table.y, rows, **known)
    except ColumnError as bad:
        raise DataError(bad.named(str(table.columns[bad.column]))) from None
    if settings.points is not None:
        _give_points(model, table, rows, settings.points)
    return model


def _give_points(model: Any, table: Table, rows: Rows, largest: int) -> None:
    """Put whole points in place of the coefficients of a model fitted to some rows."""
    _, classifier = steps_of(model)
    strata = None if table.strata is None else table.strata[rows]
    score = point_score(
        classifier, as_fitted(model, table.X[rows]), table.y[rows], largest=largest, strata=strata
    )
    classifier.__dict__.update(vars(score.model))


def _test_permutations(table: Table, settings: FitSettings, report: Progress) -> PermutationResult:
    """Permutation test of the whole procedure."""
    procedure = _make_estimator(table, settings, np.arange(table.y.size))
    folds = stratified_folds(table, np.arange(table.y.size), 5, settings.seed)
    if settings.tuned:
        # Not repeated: that costs several times as much, and the test compares like with like.
        last = procedure.steps[-1][1] if isinstance(procedure, Pipeline) else procedure
        last.set_params(cv=folds, n_jobs=None)

    def tell(done: int, steps: int) -> None:
        report(f"Permutation {done} of {steps}", done, steps)

    tell(0, settings.permutations)
    return permutation_test(
        procedure, table.X, table.y,
        n_permutations=settings.permutations, cv=None if settings.tuned else folds,
        strata=table.strata, random_state=settings.seed, n_jobs=settings.jobs, progress=tell,
    )  # fmt: skip


def refit_halves(classifier: Any, X: Any, y: Any, **how: Any) -> StabilityResult | None:
    """Stability selection with the settings of a fitted classifier; None if nothing is chosen."""
    k = np.count_nonzero(classifier.coef_)
    limits = Limits() if classifier.limits is None else classifier.limits
    if k <= len(limits.always_include) or k >= classifier.n_features_in_:
        return None
    limits = replace(limits, budget=getattr(classifier, "budget_", limits.budget))
    return stability_selection(X, y, int(k), alpha=ridge_of(classifier), limits=limits, **how)
