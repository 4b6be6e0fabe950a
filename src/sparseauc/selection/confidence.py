"""Nested cross-validation and permutation test of the whole procedure.

All functions refit the *whole* procedure, every choice included. So pass the estimator
that makes the choices, such as :class:`~sparseauc.SparseAUCClassifierCV` or a pipeline,
not one with the chosen k.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_random_state, check_scalar
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_consistent_length

from ..defaults import INFLATION_PER_DISAGREEMENT, MOST_INFLATION
from ..errors import InputError
from ..folds import Split, make_splits
from ..metrics import AUCInterval
from ..outcome import Outcome, read_outcome
from ..path import Progress, count_steps
from ..rules import ChanceWarning
from ..strata import StrataWarning
from ..utils.types import Array, Indices, Mask

RandomState = int | np.random.RandomState | None


@dataclass(frozen=True, eq=False)
class NestedScores:
    """Out-of-fold scores of nested cross-validation.

    Attributes
    ----------
    scores : ndarray of shape (n,)
        Score of each row by the model fitted without its fold, scaled by
        ``comparable_scores``.
    folds : ndarray of shape (n,)
        Index of that fold.
    fold_aucs : ndarray of shape (n_folds,)
        AUC within each fold; NaN for a fold with a single class.
    interval : AUCInterval
        Pooled AUC with the interval of ``honest_interval``. With strata, only rows of
        the same stratum and fold are compared: models of different folds shift a
        stratum's scores differently.
    agreement : float
        Mean correlation of the scores of two folds' models, within classes.
    fold_scores : ndarray of shape (n_folds, n)
        Scores of all rows by the model of each fold, scaled in the same way.
    fold_columns : tuple of ndarray of int
        Columns that the model of each fold uses; empty for models without coefficients.
    """

    scores: Array = field(repr=False)
    folds: Indices = field(repr=False)
    fold_aucs: Array
    interval: AUCInterval
    agreement: float
    fold_scores: Array = field(repr=False)
    fold_columns: tuple[Indices, ...] = field(repr=False)


def nested_scores(
    estimator: Any,
    X: Any,
    y: npt.ArrayLike,
    *,
    cv: Any = 5,
    groups: npt.ArrayLike | None = None,
    strata: npt.ArrayLike | None = None,
    confidence: float = 0.95,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> NestedScores:
    """Nested cross-validation: score every row by a model chosen and fitted without it.

    Parameters
    ----------
    estimator : classifier, or model of times to event
        Cloned and fitted for each fold, including its own cross-validation.
    X : array-like, sparse matrix or frame of shape (n, d)
    y : array-like of shape (n,)
        Binary labels; the one that sorts last is positive. Or event and time of each
        row, as :class:`~sparseauc.SparseConcordance` takes them: concordance, Harrell's
        C, is then in the place of the AUC.
    cv : int, splitter or iterable, default=5
        Number of shuffled stratified folds, or as in scikit-learn. Each row must be
        tested once.
    groups : array-like of shape (n,), optional
        Related rows, such as the visits of a patient; they share a fold, and the
        interval takes them together. Groups are not passed to the estimator, whose
        inner cross-validation may split them.
    strata : array-like of shape (n,), optional
        Site, batch, donor or matched set of each row, passed to the estimator (of a
        pipeline, the last step). The AUC compares rows of the same stratum only.
    confidence : float, default=0.95
        Level of the interval.
    random_state : int, RandomState or None
        For the folds; the estimator has its own.
    n_jobs : int, optional
        Number of folds in parallel.

    Returns
    -------
    NestedScores

    Notes
    -----
    The AUC within a fold compares rows scored by the same model, but gives no interval.
    The pooled AUC does, but also compares rows of different folds, whose models may
    score on very different scales: a large ridge makes scores a thousand times smaller.
    So the scores of each fold are divided by the distance of its training classes, zero
    midway (``comparable_scores``). On pure noise (150 rows, 100 columns, 40 draws) the
    pooled AUC was within 0.004 of the mean of the folds on average, with k = 5 and with
    k and the ridge tuned. If the two differ by more than the standard error, report the
    mean of the folds.

    The interval is wider than DeLong's, which is that of one fixed model and covers the
    AUC of the final model in 85 % of simulated tables: see ``honest_interval``.

    Examples
    --------
    >>> from sparseauc import SparseAUCClassifierCV, datasets, selection
    >>> X, y = datasets.make_outbreak(n=300, d=20, k=3, mu=0.7, r=0.2, random_state=0)
    >>> model = SparseAUCClassifierCV(ks=range(1, 5), alphas=[1.0, 10.0])
    >>> result = selection.nested_scores(model, X, y, random_state=0)
    >>> result.interval.low < result.interval.auc < model.fit(X, y).best_score_
    True
    """
    if not 0.0 < confidence < 1.0:
        raise InputError(
            f"confidence must lie strictly between 0 and 1, got {confidence}"
        )
    check_consistent_length(X, y)
    of_row = None if strata is None else np.asarray(strata)
    labels, outcome = read_outcome(y)
    outcome = outcome.related(groups)
    divided = outcome if of_row is None else outcome.within(of_row)
    splits = make_splits(
        cv,
        X,
        outcome.positive,
        groups,
        random_state,
        n_repeats=1,
        strata=divided.strata,
    )
    times = np.bincount(
        np.concatenate([test for _, test in splits]), minlength=labels.size
    )
    wrong = np.flatnonzero(times != 1)
    if wrong.size:
        raise InputError(
            f"row {wrong[0]} is tested {times[wrong[0]]} times: cv must test each row once, as "
            "KFold does"
        )

    def fit(_: int, train: Indices) -> Any:
        return fit_rows(clone(estimator), X, labels, train, strata=of_row)

    return score_out_of_fold(
        fit, X, outcome, splits, strata=of_row, confidence=confidence, n_jobs=n_jobs
    )


def score_out_of_fold(
    fit: Callable[[int, Indices], Any],
    X: Any,
    outcome: Outcome,
    splits: Sequence[Split],
    *,
    strata: npt.NDArray[Any] | None = None,
    confidence: float = 0.95,
    n_jobs: int | None = None,
) -> NestedScores:
    """Score every row by the model that ``fit`` returns for a fold and its training rows.

    With ``strata`` only pairs of one stratum and fold count.
    """
    parts = Parallel(n_jobs=n_jobs)(
        delayed(_score_fold)(fit, fold, X, outcome, train)
        for fold, (train, _) in enumerate(splits)
    )
    fold_scores = np.array([scores for scores, _ in parts])
    columns = [used for _, used in parts if used is not None]
    n = outcome.positive.size
    scores = np.empty(n)
    folds = np.empty(n, np.intp)
    fold_aucs = np.full(len(splits), np.nan)
    for fold, (_, test) in enumerate(splits):
        scores[test] = fold_scores[fold, test]
        folds[test] = fold
        within = None if strata is None else strata[test]
        found = outcome.take(test).interval_within(scores[test], within)
        if found is not None:
            fold_aucs[fold] = found.auc
    together = None if strata is None else folds
    interval = outcome.interval_within(scores, strata, together, confidence=confidence)
    if interval is None:
        raise InputError("no stratum has test rows to compare in the same fold")
    agreement = _agreement(fold_scores, outcome.positive)
    return NestedScores(
        scores=scores,
        folds=folds,
        fold_aucs=fold_aucs,
        interval=honest_interval(interval, agreement, outcome.informative),
        agreement=agreement,
        fold_scores=fold_scores,
        fold_columns=tuple(columns) if len(columns) == len(parts) else (),
    )


def _score_fold(
    fit: Callable[[int, Indices], Any],
    fold: int,
    X: Any,
    outcome: Outcome,
    train: Indices,
) -> tuple[Array, Indices | None]:
    """Scores of all rows by the model of some, and the columns it uses."""
    model = fit(fold, train)
    return comparable_scores(model, X, outcome, train), columns_used(model)


def comparable_scores(model: Any, X: Any, outcome: Outcome, train: Indices) -> Array:
    """Score all rows on a scale that the models of all folds share.

    The unit is the distance between the mean scores of the two training classes, and
    zero lies midway; for times to event, the standard deviation of the training rows,
    and their mean. Probabilities, of classifiers without a decision function, are not
    rescaled.
    """
    scores = np.asarray(scores_by(model, X), np.float64)
    if hasattr(model, "predict_proba") and not hasattr(model, "decision_function"):
        return scores
    middle, unit = outcome.take(train).scale(scores[train])
    comparable: Array = (scores - middle) / unit
    return comparable


def _agreement(scores: Array, positive: Mask) -> float:
    """Mean correlation of the rows of ``scores``, centred within classes."""
    centred = scores.copy()
    for mask in [side for side in (positive, ~positive) if side.any()]:
        centred[:, mask] -= centred[:, mask].mean(axis=1, keepdims=True)
    n_folds = len(scores)
    if n_folds < 2 or not centred.any(axis=1).all():
        return 0.0  # a model that uses no column agrees with none
    return float((np.corrcoef(centred).sum() - n_folds) / (n_folds * (n_folds - 1)))


def variance_inflation(agreement: float) -> float:
    """Variance of an AUC of nested cross-validation, relative to that of one fixed model.

    It is 1 if the models of all folds score alike, and 2.2 if their scores have a
    correlation of 0.85 or less. Both numbers are from simulations: see
    ``honest_interval``.
    """
    disagreement = 1.0 - min(agreement, 1.0)
    return 1.0 + min(MOST_INFLATION, INFLATION_PER_DISAGREEMENT * disagreement)


def honest_interval(interval: AUCInterval, agreement: float, fewer: int) -> AUCInterval:
    """Widen DeLong's interval of a nested AUC, so that it covers the AUC of the final model.

    Parameters
    ----------
    interval : AUCInterval
        Of the pooled scores.
    agreement : float
        Mean correlation of the scores of two folds' models, within classes.
    fewer : int
        Rows of the rarer class; of related rows, the fewer groups that have rows of a
        class.

    Returns
    -------
    AUCInterval
        ``standard_error`` is the larger one on which the interval rests.

    Notes
    -----
    Each row is used for testing one model and for fitting the others, so the errors of
    the folds are correlated, and a variance that takes rows as independent is too small
    (Bates, Hastie and Tibshirani, 2024). How much too small depends on how much the
    models differ. In simulations of five kinds of tables with 60 to 1000 rows, from
    noise to strong columns, the mean squared error was 2.2 times DeLong's variance
    where the scores of the folds' models had a correlation below 0.85, and up to a
    correlation of 1 it fell to DeLong's variance.

    With few rows the quantile is that of Student's distribution, with as many degrees
    of freedom as the rarer class has rows, less one, and each end is the farther one of
    two: for the AUC itself, and for the AUC if one row more of the rarer class were
    ranked at random.

    The nominal 95 % CI covered the AUC of the final model in 94 to 98 % of the tables
    of each kind; ``benchmarks/nested_interval.py`` has a table.
    """
    area = interval.auc
    inflation = variance_inflation(agreement)
    error = interval.standard_error * np.sqrt(inflation)
    if error == 0.0 or area in (0.0, 1.0):  # exact, from so many times fewer pairs
        low = area * (interval.low / area) ** inflation if area > 0 else 0.0
        high = (
            1 - (1 - area) * ((1 - interval.high) / (1 - area)) ** inflation
            if area < 1
            else 1.0
        )
    else:
        quantile = student.ppf((1 + interval.confidence) / 2, max(1, fewer - 1))
        half_width = quantile * error / (area * (1 - area))
        ends = logit(area), logit((area * fewer + 0.5) / (fewer + 1))
        low = expit(min(ends) - half_width)
        high = expit(max(ends) + half_width)
    return AUCInterval(area, float(low), float(high), float(error), interval.confidence)


def fit_rows(
    estimator: Any,
    X: Any,
    y: npt.NDArray[Any],
    rows: Indices,
    **known: npt.NDArray[Any] | None,
) -> Any:
    """Fit an estimator to some rows; what else is known goes to the last step of a pipeline."""
    prefix = f"{estimator.steps[-1][0]}__" if hasattr(estimator, "steps") else ""
    given = {
        f"{prefix}{name}": of[rows] for name, of in known.items() if of is not None
    }
    return estimator.fit(
        X if rows.size == y.size else _safe_indexing(X, rows), y[rows], **given
    )


def columns_used(model: Any) -> Indices | None:
    """Columns used by a model or the last step of a pipeline; None without coefficients."""
    coef = getattr(_last_step(model), "coef_", None)
    return None if coef is None else np.flatnonzero(np.asarray(coef).reshape(-1))


@dataclass(frozen=True, eq=False)
class PermutationResult:
    """Result of a permutation test.

    Attributes
    ----------
    auc : float
        Mean AUC of the validation folds, or ``best_score_``.
    null : ndarray of shape (n_permutations,)
        The same with permuted labels.
    pvalue : float
        (1 + number of ``null`` as large as ``auc``) / (1 + n_permutations).
    """

    auc: float
    null: Array = field(repr=False)
    pvalue: float


def permutation_test(
    estimator: Any,
    X: Any,
    y: npt.ArrayLike,
    *,
    n_permutations: int = 200,
    cv: Any = None,
    strata: npt.ArrayLike | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> PermutationResult:
    """Permutation test: does a procedure rank better than chance?

    The p-value is valid for any procedure if all permutations of the labels are equally
    likely under the null hypothesis. Groups of related rows violate this.

    Parameters
    ----------
    estimator : classifier
        Refitted for each permutation, including its own cross-validation.
    X : array-like, sparse matrix or frame of shape (n, d)
    y : array-like of shape (n,)
        Binary labels; the one that sorts last is positive. Or events and times, as of
        :class:`~sparseauc.SparseConcordanceCV`, which are permuted together.
    n_permutations : int, default=200
        The p-value is never below 1 / (1 + n_permutations).
    cv : int or splitter, optional
        Number of shuffled stratified folds, or as in scikit-learn; the test compares
        their mean AUC. Each fold needs both classes, so the splitter should stratify.
        By default five folds; an estimator with a ``best_score_`` is fitted once per
        permutation and compared by it.
    strata : array-like of shape (n,), optional
        As for :func:`nested_scores`. Labels are permuted within strata, so that
        differences between strata are not tested.
    random_state : int, RandomState or None
        For folds and permutations; the estimator has its own.
    n_jobs : int, optional
        Number of permutations in parallel.
    progress : callable, optional
        Called with the stage, the number of permutations done and in total.

    Returns
    -------
    PermutationResult

    Notes
    -----
    ``best_score_`` is optimistic. That does no harm here: it is for permuted labels
    too.

    Examples
    --------
    >>> from sparseauc import SparseAUCClassifier, datasets, selection
    >>> X, y = datasets.make_outbreak(n=200, d=10, k=3, mu=1.0, r=0.2, random_state=0)
    >>> model = SparseAUCClassifier(k=3)
    >>> selection.permutation_test(model, X, y, n_permutations=19, random_state=0).pvalue
    0.05
    """
    check_scalar(n_permutations, "n_permutations", Integral, min_val=1)
    of_row = None if strata is None else np.asarray(strata)
    labels, outcome = read_outcome(y)
    check_consistent_length(X, labels)
    rng = check_random_state(random_state)
    divided = None if of_row is None else outcome.within(of_row).strata
    code = None if divided is None else divided.code

    def fit(labels: npt.NDArray[Any], train: Indices) -> Any:
        return fit_rows(clone(estimator), X, labels, train, strata=of_row)

    def best_score(order: Indices) -> float | None:
        """Score by which the estimator chose; None if it does not choose."""
        model = fit(labels[order], np.arange(order.size))
        return getattr(_last_step(model), "best_score_", None)

    def mean_auc(order: Indices) -> float:
        """Mean AUC of the validation folds; NaN if one has no pair to compare."""
        shuffled = outcome.take(order)
        found = score_out_of_fold(
            lambda _, train: fit(labels[order], train),
            X,
            shuffled,
            make_splits(
                folds, X, shuffled.positive, groups=None, random_state=seed, n_repeats=1
            ),
            strata=of_row,
        )
        return float(np.mean(found.fold_aucs))

    every = np.arange(labels.size)
    score: Callable[[Indices], Any] = best_score
    observed = _quietly(best_score, every) if cv is None else None
    if observed is None:
        score = mean_auc
        folds = 5 if cv is None else cv
        seed = None
        if divided is not None:
            folds = make_splits(
                folds, X, outcome.positive, None, rng, n_repeats=1, strata=divided
            )
        elif isinstance(folds, Integral):
            # Folds are stratified by the labels as they are permuted.
            seed = rng.randint(np.iinfo(np.int32).max)
        observed = _quietly(mean_auc, every)
        if np.isnan(observed):
            raise InputError(
                "a fold has no two rows to compare: use a stratified splitter, or fewer folds"
            )
    shuffled = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_quietly)(score, _permutation(labels.size, code, rng))
        for _ in range(n_permutations)
    )
    step = count_steps(progress, "Permuting outcomes", n_permutations)
    null = np.empty(n_permutations)
    for number, value in enumerate(shuffled):
        null[number] = value
        step()
    if np.isnan(null).any():
        raise InputError(
            "shuffled labels left a fold with one class only: use a stratified splitter"
        )
    pvalue = (1 + np.count_nonzero(null >= observed)) / (1 + n_permutations)
    return PermutationResult(float(observed), null, float(pvalue))


def _quietly(score: Callable[[Indices], Any], order: Indices) -> Any:
    """Score permuted labels, which are chance on purpose; strata were warned of before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ChanceWarning)
        warnings.simplefilter("ignore", StrataWarning)
        return score(order)


def _last_step(model: Any) -> Any:
    return model.steps[-1][1] if hasattr(model, "steps") else model


def _permutation(n: int, code: Indices | None, rng: np.random.RandomState) -> Indices:
    """Rows in random order, or in random order within strata."""
    if code is None:
        return rng.permutation(n)
    order = np.empty(n, np.intp)
    order[np.argsort(code, kind="stable")] = np.lexsort((rng.uniform(size=n), code))
    return order


def scores_by(model: Any, X: Any) -> npt.NDArray[Any]:
    """Scores of rows by a fitted model, higher for the class that sorts last, or earlier events."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X))
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))[:, 1]
    return np.asarray(model.predict(X))
