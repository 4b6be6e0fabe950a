"""Cross-validating the path over k and ridge: one way for arrays, files, clusters and devices.

Moments of the training rows of every split come from the outcome: gathered in chunks and merged
from the folds, or referring to a wide table in memory. All models of a split are found from its
moments alone, and scored on its validation rows by the outcome. Nothing of a validation row enters
the choice of columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from joblib import Parallel, delayed

from .chunks import Chunks, KeptColumns, SequentialChunks, TableInMemory
from .defaults import LOGISTIC_RIDGES, PATH_LENGTHS_BEYOND
from .folds import SplitPlan, rows_by_number
from .held_out import Models, OutOfFold, narrow
from .moments.base import Quadratic
from .outcome import Binary, Outcome, TrainingSets
from .path import Progress, SparseAUCPath, blas_threads, count_steps, find_paths
from .solvers.logistic import logistic_regressions
from .solvers.restrictions import Restrictions
from .transforms import Transform
from .utils.types import Array, Indices

# Lengths of lists whose logistic coefficients are fitted at a time.
_LENGTHS_AT_A_TIME = 12
# Numbers in a table from which on several threads of BLAS are worth their while.
_LARGE = 2**25

Kind = Literal["auc", "logistic"]


@dataclass(frozen=True, eq=False)
class CVTask:
    """Rows, their splits, and the models to compare.

    Attributes
    ----------
    X : ndarray, CSR or Chunks
    outcome : Outcome
    plan : SplitPlan
    ks, alphas : ndarray
        Ascending; ``ks`` may be one and the same where budgets ascend.
    restrictions : Restrictions
        With a budget for each k, if there are budgets.
    """

    X: Any
    outcome: Outcome
    plan: SplitPlan
    ks: Indices
    alphas: Array
    restrictions: Restrictions


@dataclass(frozen=True, eq=False)
class Family:
    """Models with one kind of coefficients, one for each length of list.

    Attributes
    ----------
    kind : {"auc", "logistic"}
    alphas : ndarray of shape (n_ks,)
        Ridges that the lists were chosen with.
    ridges : ndarray of shape (n_ks,)
        Ridges of logistic coefficients; NaN for others.
    scores : ndarray of shape (n_splits, n_ks)
        Validation scores.
    models : sequence of (sequence of Models, int)
        Of each length: models of every split, and which of these is meant.
    """

    kind: Kind
    alphas: Array
    ridges: Array
    scores: Array
    models: Sequence[tuple[Sequence[Models], int]]

    def shortened(self, n_ks: int) -> Self:
        """Keep the first lengths."""
        return replace(
            self,
            alphas=self.alphas[:n_ks],
            ridges=self.ridges[:n_ks],
            scores=self.scores[:, :n_ks],
            models=self.models[:n_ks],
        )


@dataclass(frozen=True, eq=False)
class CVResult:
    """All models of every split, and their scores on its validation rows.

    Attributes
    ----------
    ks : ndarray
        As far as they were tried.
    families : list of Family
        Of each ridge, the largest first, and then the logistic ones.
    score_error : float
        How far scores may be off.
    """

    ks: Indices
    families: list[Family]
    score_error: float
    folds: _Folds
    full_path: SparseAUCPath | None  # of all rows, where it was found along

    @property
    def n_splits(self) -> int:
        """Number of splits."""
        return len(self.folds.task.plan.training)

    @property
    def quadratic(self) -> Quadratic:
        """The quadratic of all rows."""
        return self.folds.sets.everything

    def path_at(self, alpha: float) -> SparseAUCPath:
        """Find the path on all rows at one of the ridges."""
        n_ks = self.ks.size
        task = self.folds.task
        restrictions = task.restrictions
        if restrictions.budgets is not None:
            restrictions = replace(restrictions, budgets=restrictions.budgets[:n_ks])
        alphas = np.array([alpha])
        if self.full_path is not None:
            place = int(np.flatnonzero(task.alphas == alpha)[0])
            return replace(
                self.full_path,
                ks=self.ks,
                alphas=alphas,
                solutions=[self.full_path.solutions[place][:n_ks]],
                budgets=restrictions.budgets,
            )
        (path,) = find_paths(
            self.folds.run,
            [self.quadratic],
            self.ks,
            alphas,
            restrictions,
            one_thread=self.folds.sets.gathered,
            progress=self.folds.progress,
        )
        return path

    def out_of_fold(self, family: Family, place: int) -> Array:
        """Score all rows, each by the models that were fitted without it, (n, rounds).

        By the models of a family at one of the lengths. A round validates each row once at most;
        NaN where it does not.
        """
        models, number = family.models[place]
        used, chosen = narrow([one.only(number) for one in models])
        folds = self.folds
        scores = folds.chunks.run(OutOfFold(chosen), *folds.task.plan.rounds, columns=used)
        return np.concatenate(scores)

    def logistic_coef(self, columns: Indices, ridge: float) -> Array:
        """Fit logistic coefficients on some columns, with a ridge, to all rows."""
        folds = self.folds
        values = folds.values(-1, columns)
        return folds.fit_logistic(-1, values, columns, [columns], [ridge]).values


def cross_validate(
    task: CVTask,
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
    task : CVTask
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
    tables = FoldTables(task, transforms)
    sets = tables.training_sets()
    chunks = tables.chunks
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
            task.ks,
            task.alphas,
            task.restrictions,
            n_thorough=int(sets.read_again),
            one_thread=sets.gathered,
            progress=progress,
        )
        if task.X is chunks:
            kept = np.unique(np.concatenate([path.matrix()[0] for path in paths]))
            if KeptColumns.fit(chunks, kept.size):
                chunks = KeptColumns(chunks, kept)
        folds = _Folds(task, tables, sets, chunks, run, progress)
        training_paths = paths[: len(sets.training)]
        families, score_error = _score_paths(folds, training_paths)
        n_ks = task.ks.size
        if logistic:
            tried = _try_logistic(folds, families, training_paths)
            n_ks = tried.scores.shape[1]
            families = [*(family.shortened(n_ks) for family in families), tried]
    return CVResult(
        ks=task.ks[:n_ks],
        families=families,
        score_error=score_error,
        folds=folds,
        full_path=paths[-1] if sets.read_again else None,
    )


def _score_paths(folds: _Folds, paths: Sequence[SparseAUCPath]) -> tuple[list[Family], float]:
    """Score the models of the paths of all splits: a family for each ridge, the largest first."""
    centres = folds.sets.centres
    models = [Models.from_path(path, centres[split]) for split, path in enumerate(paths)]
    models = folds.tables.moved(models)
    found, score_error = folds.score(models)
    alphas = folds.task.alphas
    n_ks = folds.task.ks.size
    scores = np.reshape(found, (len(paths), alphas.size, n_ks))
    families = []
    for place in range(alphas.size)[::-1]:
        first = place * n_ks
        families.append(
            Family(
                kind="auc",
                alphas=np.full(n_ks, alphas[place]),
                ridges=np.full(n_ks, np.nan),
                scores=scores[:, place],
                models=[(models, first + at) for at in range(n_ks)],
            )
        )
    return families, score_error


def _try_logistic(
    folds: _Folds, families: Sequence[Family], paths: Sequence[SparseAUCPath]
) -> Family:
    """Fit and score logistic coefficients on the lists of each k at its best ridge.

    Some lengths at a time, until the highest mean score of any model lies so far back that the path
    ends.
    """
    own = np.array([family.scores.mean(axis=0) for family in families])
    # The largest of equally good ridges.
    best_alphas = len(families) - 1 - np.argmax(own, axis=0)
    lists = [
        [path.solutions[a][at].support for at, a in enumerate(best_alphas.tolist())]
        for path in paths
    ]
    used = np.unique(np.concatenate([columns for some in lists for columns in some]))
    # Splits that take columns alike share their values.
    shared = None if folds.tables.transforms else folds.values(-1, used)
    n_ridges = len(LOGISTIC_RIDGES)
    starts = range(0, best_alphas.size, _LENGTHS_AT_A_TIME)
    step = count_steps(folds.progress, "Fitting coefficients", len(paths) * len(starts))

    def fit(split: int, part: slice) -> Models:
        values = folds.values(split, used) if shared is None else shared
        models = folds.fit_logistic(split, values, used, lists[split][part], LOGISTIC_RIDGES)
        step()
        return models

    fitted: list[list[Models]] = []
    by_ridge = np.empty((len(paths), n_ridges, 0))
    for start in starts:
        part = slice(start, start + _LENGTHS_AT_A_TIME)
        models = folds.run(delayed(fit)(split, part) for split in range(len(paths)))
        models = folds.tables.moved(models)
        found, _ = folds.score(models)
        scores = np.reshape(found, (len(paths), n_ridges, -1))
        by_ridge = np.concatenate([by_ridge, scores], axis=2)
        fitted.append(models)
        tried = by_ridge.shape[2]
        n_ks = _end_of_path(np.maximum(own.max(axis=0)[:tried], by_ridge.mean(axis=0).max(axis=0)))
        if n_ks < tried:
            break
    by_ridge = by_ridge[:, :, :n_ks]
    best = np.argmax(by_ridge.mean(axis=0), axis=0)
    chosen = []
    for at, ridge in enumerate(best.tolist()):
        part_number, place = divmod(at, _LENGTHS_AT_A_TIME)
        models = fitted[part_number]
        n_lists = models[0].middle.size // n_ridges
        chosen.append((models, ridge * n_lists + place))
    return Family(
        kind="logistic",
        alphas=folds.task.alphas[best_alphas[:n_ks]],
        ridges=np.array(LOGISTIC_RIDGES)[best],
        scores=by_ridge[:, best, np.arange(n_ks)],
        models=chosen,
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


@dataclass(frozen=True, eq=False)
class _Folds:
    """The rows of every split, as its models take them."""

    task: CVTask
    tables: FoldTables
    sets: TrainingSets
    chunks: Chunks
    run: Parallel
    progress: Progress | None

    def score(self, models: Sequence[Models]) -> tuple[list[Array], float]:
        """Score models on the validation rows of their splits."""
        # Rows that lie elsewhere are judged there.
        n_threads = self.run.n_jobs if isinstance(self.chunks, SequentialChunks) else 1
        return self.task.outcome.validate(self.chunks, self.task.plan, models, n_threads)

    def values(self, split: int, columns: Indices) -> Array:
        """Some columns of all rows as a split takes them; −1 for the fit to all rows."""
        if self.tables.transforms:
            transform = self.tables.transforms[split].of_columns(columns)
            values: Array = transform.apply(self.task.X[:, columns])
            return values
        return self.chunks.take(np.arange(self.chunks.shape[0]), columns)

    def fit_logistic(
        self,
        split: int,
        values: Array,
        used: Indices,
        lists: Sequence[Indices],
        ridges: Sequence[float],
    ) -> Models:
        """Fit logistic coefficients to the training rows of a split; −1 for all rows.

        By ridge first, then in the order of the lists, which use the columns ``used``, of which
        ``values`` are those of all rows.
        """
        outcome = self.task.outcome
        assert isinstance(outcome, Binary)
        rows, counts, code = outcome.reweighted(
            self.task.plan.training_weights(split)
        ).rows_with_pairs()
        signs = self.task.restrictions.signs
        coefs, _ = logistic_regressions(
            values[rows],
            outcome.positive[rows],
            counts,
            [np.searchsorted(used, columns) for columns in lists],
            ridges,
            signs=None if signs is None else signs[used],
            intercept_of=code,
        )
        return Models.from_lists(lists, coefs, self.sets.centres[split])


class FoldTables:
    """A table as each split takes it: what is learned of columns comes from its training rows.

    ``chunks`` are what models are scored on: all columns as they are and then, for each round of
    splits, those that change: every row as the split that validates it takes it. So one table
    serves all models.
    """

    def __init__(self, task: CVTask, transforms: Sequence[Transform] | None) -> None:
        self._task = task
        self.transforms = transforms
        X = task.X
        if transforms is None:
            self.chunks: Chunks = X if isinstance(X, Chunks) else TableInMemory(X)
            return
        changed = np.unique(np.concatenate([one.changed for one in transforms]))
        d = X.shape[1]
        # Of each split, the place of every column among those of ``chunks``.
        self._places = np.tile(np.arange(d), (len(task.plan.training), 1))
        parts = [X]
        for number, validated in enumerate(task.plan.rounds):
            as_taken = X[:, changed]
            for split, rows in rows_by_number(validated):
                as_taken[rows] = transforms[split].of_columns(changed).apply(as_taken[rows])
                self._places[split, changed] = d + number * changed.size + np.arange(changed.size)
            parts.append(as_taken)
        self.chunks = TableInMemory(np.hstack(parts))

    def moved(self, models: list[Models]) -> list[Models]:
        """Models of all splits, with columns as they are in ``chunks``."""
        if self.transforms is None:
            return models
        return [model.moved(places) for model, places in zip(models, self._places, strict=True)]

    def training_sets(self) -> TrainingSets:
        """Quadratics of the training rows of each split, as it takes them, and of all rows."""
        X = self._task.X
        plan = self._task.plan
        outcome = self._task.outcome
        if self.transforms is None:
            return outcome.training_sets(X, self.chunks, plan)
        sets = []
        for split in [*range(len(plan.training)), -1]:
            table = self.transforms[split].apply(X)
            alone = plan.training_alone(split)
            sets.append(outcome.training_sets(table, TableInMemory(table), alone))
        *training, everything = (one.everything for one in sets)
        centres = [one.centres[-1] for one in sets]
        return TrainingSets(training, everything, centres, all(one.gathered for one in sets))
