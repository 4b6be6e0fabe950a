"""Cross-validating the path over k and ridge: one way for arrays, files, clusters and devices.

Moments of the training rows of every split come from the outcome: gathered in chunks and merged
from the folds, or referring to a wide table in memory. All models of a split are found from its
moments alone, and scored on its validation rows by the outcome. Nothing of a validation row enters
the choice of columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from .chunks import Chunks, KeptColumns, SequentialChunks, TableInMemory
from .defaults import LOGISTIC_RIDGES, PATH_LENGTHS_BEYOND
from .moments.base import Quadratic
from .outcome import Binary, Outcome, TrainingSets
from .path.folds import SplitPlan, rows_by_number
from .path.path import Progress, SparseAUCPath, blas_threads, count_steps, find_paths
from .path.validation import Models, OutOfFold, narrow
from .solvers.logistic import logistic_regressions
from .solvers.restrictions import Restrictions
from .transforms import Transform
from .utils.types import Array, Indices

# Lengths of lists whose logistic coefficients are fitted at a time.
_LENGTHS_AT_A_TIME = 12
# Numbers in a table from which on several threads of BLAS are worth their while.
_LARGE = 2**25


def cross_validate(
    table: Any,
    outcome: Outcome,
    plan: SplitPlan,
    ks: Indices,
    alphas: Array,
    restrictions: Restrictions,
    *,
    transforms: Sequence[Transform] | None = None,
    logistic: bool = False,
    n_jobs: int | None = None,
    verbose: int = 0,
    progress: Progress | None = None,
) -> CVResult:
    """Fit all models of every split and score them on its validation rows.

    Parameters
    ----------
    table : ndarray, CSR or Chunks
    outcome : Outcome
    plan : SplitPlan
    ks, alphas : ndarray
        Ascending; ``ks`` may be one and the same where budgets ascend.
    restrictions : Restrictions
    transforms : sequence of Transform, optional
        Of columns of an array: those of the training rows of each split, then that of all rows.
    logistic : bool, default=False
        Whether logistic coefficients of two classes are tried too, on the lists of each k at its
        best ridge. The path then ends where the highest mean score lies twelve lengths back.
    n_jobs : int, optional
        Training sets that are searched at the same time, in threads. The result does not depend on
        it.
    verbose : int, default=0
        As of joblib.
    progress : callable, optional
        Called with a stage, its steps done and their number.

    Returns
    -------
    CVResult
    """
    tables = None
    judged = table
    if transforms is not None:
        tables = FoldTables(table, plan, transforms)
        judged = tables.judged
    chunks: Chunks = table if isinstance(table, Chunks) else TableInMemory(judged)
    if tables is None:
        sets = outcome.training_sets(table, chunks, plan)
    else:
        sets = _transformed_sets(tables, outcome, plan)
    # Where H takes passes over the rows, those for the final fit are made along.
    fitted = [*sets.training, sets.everything] if sets.read_again else sets.training
    run = Parallel(n_jobs=n_jobs, prefer="threads", verbose=verbose)
    # Small products are quicker on one thread: others would only wait for each other.
    small = chunks.shape[0] * chunks.shape[1] < _LARGE
    # The threads are kept, as there are several rounds.
    with run, blas_threads().limit(limits=1 if small else None, user_api="blas"):
        paths = find_paths(
            run,
            fitted,
            ks,
            alphas,
            restrictions,
            n_thorough=int(sets.read_again),
            one_thread=sets.gathered,
            progress=progress,
        )
        if table is chunks:
            kept = np.unique(np.concatenate([path.matrix()[0] for path in paths]))
            if KeptColumns.fit(chunks, kept.size):
                chunks = KeptColumns(chunks, kept)
        # Rows that lie elsewhere are judged there.
        n_threads = run.n_jobs if isinstance(chunks, SequentialChunks) else 1
        folds = _Folds(outcome, plan, restrictions, tables, chunks, sets, run, n_threads, progress)
        n_splits = len(sets.training)
        models = folds.as_judged(
            [Models.from_path(paths[split], sets.centres[split]) for split in range(n_splits)]
        )
        found, score_error = folds.score(models)
        scores = np.reshape(found, (n_splits, alphas.size, ks.size))
        # From the largest ridge down, so that it is the largest of equals.
        best_alphas = alphas.size - 1 - np.argmax(scores.mean(axis=0)[::-1], axis=0)
        result = CVResult(
            folds=folds,
            ks=ks,
            alphas=alphas,
            full_path=paths[-1] if sets.read_again else None,
            models=models,
            scores=scores,
            score_error=score_error,
            best_alphas=best_alphas,
        )
        if logistic:
            result = _try_logistic(result, paths)
    return result


@dataclass(frozen=True, eq=False)
class CVResult:
    """All models of every split, and their scores on its validation rows.

    Attributes
    ----------
    ks, alphas : ndarray
        As far as they were tried.
    scores : ndarray of shape (n_splits, n_alphas, n_ks)
    score_error : float
        How far scores may be off.
    best_alphas : ndarray of int of shape (n_ks,)
        Index of the ridge with the highest mean score at each k.
    logistic_scores : ndarray of shape (n_splits, n_ks), optional
        Scores of logistic coefficients on the lists of each k.
    logistic_ridges : ndarray of shape (n_ks,), optional
        Their ridges.
    """

    folds: _Folds
    ks: Indices
    alphas: Array
    full_path: SparseAUCPath | None  # of all rows, where it was found along
    models: Sequence[Models]
    scores: Array
    score_error: float
    best_alphas: Indices
    logistic_models: Sequence[Sequence[Models]] = ()  # of some lengths at a time
    logistic_scores: Array | None = None
    logistic_ridges: Array | None = None

    @property
    def quadratic(self) -> Quadratic:
        """The quadratic of all rows."""
        return self.folds.sets.everything

    def path_at(self, at_alpha: int) -> SparseAUCPath:
        """Find the path on all rows at one of the ridges, by its index."""
        n_ks = self.ks.size
        alphas = self.alphas[[at_alpha]]
        restrictions = self.folds.restrictions
        if restrictions.budgets is not None:
            restrictions = replace(restrictions, budgets=restrictions.budgets[:n_ks])
        if self.full_path is not None:
            solutions = [self.full_path.solutions[at_alpha][:n_ks]]
            return replace(
                self.full_path,
                ks=self.ks,
                alphas=alphas,
                solutions=solutions,
                budgets=restrictions.budgets,
            )
        sets = self.folds.sets
        (path,) = find_paths(
            self.folds.run,
            [sets.everything],
            self.ks,
            alphas,
            restrictions,
            one_thread=sets.gathered,
            progress=self.folds.progress,
        )
        return path

    def out_of_fold(self, at_alpha: int | None, at_k: int) -> Array:
        """Score all rows, each by the models that were fitted without it, (n, rounds).

        A round validates each row once at most; NaN where it does not. At an index of alpha, None
        for logistic coefficients, and of k.
        """
        if at_alpha is None:
            assert self.logistic_ridges is not None
            part, at = divmod(at_k, _LENGTHS_AT_A_TIME)
            models = self.logistic_models[part]
            at_ridge = LOGISTIC_RIDGES.index(self.logistic_ridges[at_k])
            place = at_ridge * (models[0].middle.size // len(LOGISTIC_RIDGES)) + at
        else:
            models = self.models
            place = at_alpha * (models[0].middle.size // self.alphas.size) + at_k
        used, chosen = narrow([model.only(place) for model in models])
        scores = self.folds.chunks.run(OutOfFold(chosen), *self.folds.plan.rounds, columns=used)
        return np.concatenate(scores)

    def logistic_coef(self, columns: Indices, ridge: float) -> Array:
        """Fit logistic coefficients on some columns, with a ridge, to all rows."""
        return self.folds.fit_logistic(-1, columns, [columns], [ridge]).values


@dataclass(frozen=True, eq=False)
class _Folds:
    """The rows of every split, as its models take them."""

    outcome: Outcome
    plan: SplitPlan
    restrictions: Restrictions
    tables: FoldTables | None
    chunks: Chunks
    sets: TrainingSets
    run: Parallel
    n_threads: int
    progress: Progress | None

    def as_judged(self, models: Sequence[Models]) -> list[Models]:
        """Return models of the table that is judged, where columns of each split have a place."""
        return list(models) if self.tables is None else self.tables.moved(models)

    def score(self, models: Sequence[Models]) -> tuple[list[Array], float]:
        """Score models on the validation rows of their splits."""
        return self.outcome.validate(self.chunks, self.plan, models, self.n_threads)

    def values(self, columns: Indices) -> Array | None:
        """Columns of all rows, where all splits take them alike."""
        if self.tables is not None:
            return None
        return self.chunks.take(np.arange(self.chunks.shape[0]), columns)

    def fit_logistic(
        self,
        split: int,
        used: Indices,
        lists: Sequence[Indices],
        ridges: Sequence[float],
        shared: Array | None = None,
    ) -> Models:
        """Fit logistic coefficients to the training rows of a split; −1 for all rows.

        By ridge first, then in the order of the lists, which use the columns ``used``; their values
        are ``shared`` by the splits unless each transforms them.
        """
        assert isinstance(self.outcome, Binary)
        values = self.values(used) if shared is None else shared
        if values is None:
            assert self.tables is not None
            values = self.tables.training(split)[:, used]
        weight = self.plan.weight if split < 0 else self.plan.training_weights(split)
        rows, counts, code = self.outcome.reweighted(weight).rows_with_pairs()
        place = np.empty(used[-1] + 1 if used.size else 0, np.int64)
        place[used] = np.arange(used.size)
        signs = self.restrictions.signs
        coefs, _ = logistic_regressions(
            values[rows],
            self.outcome.positive[rows],
            counts,
            [place[columns] for columns in lists],
            ridges,
            signs=None if signs is None else signs[used],
            intercept_of=code,
        )
        return Models.from_lists(lists, coefs, self.sets.centres[split])


def _try_logistic(result: CVResult, paths: Sequence[SparseAUCPath]) -> CVResult:
    """Fit and score logistic coefficients on the lists of each k at its best ridge.

    Some lengths at a time, until the highest mean score of any model lies so far back that the path
    ends.
    """
    folds = result.folds
    n_splits = len(result.scores)
    lists = [
        [path.solutions[a][i].support for i, a in enumerate(result.best_alphas.tolist())]
        for path in paths[:n_splits]
    ]
    used = np.unique(np.concatenate([columns for some in lists for columns in some]))
    shared = folds.values(used)
    parts = [
        slice(at, at + _LENGTHS_AT_A_TIME) for at in range(0, result.ks.size, _LENGTHS_AT_A_TIME)
    ]
    step = count_steps(folds.progress, "Fitting coefficients", n_splits * len(parts))

    def fit(split: int, part: slice) -> Models:
        models = folds.fit_logistic(split, used, lists[split][part], LOGISTIC_RIDGES, shared)
        step()
        return models

    fitted: list[list[Models]] = []
    by_ridge = np.empty((n_splits, len(LOGISTIC_RIDGES), 0))
    n_ks = result.ks.size
    for part in parts:
        models = folds.run(delayed(fit)(split, part) for split in range(n_splits))
        models = folds.as_judged(models)
        found, _ = folds.score(models)
        scores = np.reshape(found, (n_splits, len(LOGISTIC_RIDGES), -1))
        by_ridge = np.concatenate([by_ridge, scores], axis=2)
        fitted.append(models)
        own = result.scores.mean(axis=0).max(axis=0)[: by_ridge.shape[2]]
        n_ks = _end_of_path(np.maximum(own, by_ridge.mean(axis=0).max(axis=0)))
        if n_ks < by_ridge.shape[2]:
            break
    by_ridge = by_ridge[:, :, :n_ks]
    best = np.argmax(by_ridge.mean(axis=0), axis=0)
    return replace(
        result,
        ks=result.ks[:n_ks],
        scores=result.scores[:, :, :n_ks],
        best_alphas=result.best_alphas[:n_ks],
        logistic_models=fitted,
        logistic_scores=by_ridge[:, best, np.arange(n_ks)],
        logistic_ridges=np.array(LOGISTIC_RIDGES)[best],
    )


def _end_of_path(means: Array) -> int:
    """Count the lengths that are tried: until the highest mean score lies twelve lengths back."""
    rises = np.append(True, means[1:] > np.maximum.accumulate(means)[:-1])
    # Of each length, the place of the highest mean up to it.
    last = np.maximum.accumulate(np.where(rises, np.arange(means.size), 0))
    ends = np.flatnonzero(np.arange(means.size) - last >= PATH_LENGTHS_BEYOND)
    return int(ends[0]) + 1 if ends.size else means.size


def mean_over_rounds(scores: Array) -> Array:
    """Average the out-of-fold scores of each row, (n, n_rounds); NaN if it has none."""
    known = ~np.isnan(scores)
    times = known.sum(axis=1)
    total = np.where(known, scores, 0.0).sum(axis=1)
    mean: Array = np.where(times > 0, total / np.maximum(times, 1), np.nan)
    return mean


class FoldTables:
    """A table as each split takes it: limits and logarithms are those of its training rows.

    ``judged`` has all columns as they are and then, for each round of splits, those that change:
    every row as the split that validates it takes it. So one table serves all models.
    """

    def __init__(self, X: Any, plan: SplitPlan, transforms: Sequence[Transform]) -> None:
        self._X = X
        self._transforms = transforms
        changed = np.unique(np.concatenate([one.changed for one in transforms]))
        d = X.shape[1]
        n_splits = len(plan.training)
        self._places = np.tile(np.arange(d), (n_splits, 1))
        tables = [X]
        for validated in plan.rounds:
            as_taken = X[:, changed]
            first = sum(table.shape[1] for table in tables)
            for split, rows in rows_by_number(validated):
                as_taken[rows] = transforms[split].of_columns(changed).apply(as_taken[rows])
                self._places[split, changed] = first + np.arange(changed.size)
            tables.append(as_taken)
        self.judged = np.hstack(tables)

    def training(self, split: int) -> Any:
        """All rows as a split takes them; −1 for the fit to all rows."""
        return self._transforms[split].apply(self._X)

    def moved(self, models: Sequence[Models]) -> list[Models]:
        """Models of all splits, with columns as they are in ``judged``."""
        return [model.moved(places) for model, places in zip(models, self._places, strict=True)]


def _transformed_sets(tables: FoldTables, outcome: Outcome, plan: SplitPlan) -> TrainingSets:
    """Quadratics of the training rows of each split, as it takes them, and of all rows."""
    sets = []
    for split in [*range(len(plan.training)), -1]:
        table = tables.training(split)
        sets.append(outcome.training_sets(table, TableInMemory(table), plan.training_alone(split)))
    *training, everything = (one.everything for one in sets)
    centres = [one.centres[-1] for one in sets]
    return TrainingSets(training, everything, centres, all(one.gathered for one in sets))
