"""Cross-validating the path over k and ridge: one way for arrays, files, clusters and devices.

Moments of the training rows of every split come from the target (``targets``): gathered in chunks
and merged from the folds, or referring to a wide table in memory. All models of a split are found
from its moments alone, and scored on its validation rows by the target. Nothing of a validation row
enters the choice of columns.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from ..chunks import Chunks, KeptColumns, SequentialChunks, TableInMemory
from ..solvers.logistic import logistic_regressions
from ..solvers.restrictions import Restrictions
from ..transforms import Transform
from ..utils.types import Array, Indices
from .fold_tables import FoldTables
from .folds import SplitPlan
from .path import SparseAUCPath, begin_stage, blas_threads, find_paths, listener
from .targets import Target, TrainingSets
from .validation import ClassTarget, Models, OutOfFold, narrow

# Ridges of logistic coefficients: enough for a list that is long for the rows, to next to none.
_LOGISTIC_RIDGES = (0.5, 0.05, 0.005, 0.0005, 0.00005)
# The path ends where the highest mean score lies so many lengths back; lengths fitted at a time.
_LENGTHS_BEYOND = 12
_LENGTHS_AT_A_TIME = 12
# Numbers in a table from which on several threads of BLAS are worth their while.
_LARGE = 2**25


class CrossValidation:
    """All models of every split, fitted and judged on its validation rows.

    ``ks`` and ``alphas`` ascend; ``ks`` may be one and the same where budgets ascend. Logistic
    coefficients of two classes may be tried too, if the columns used fit into memory; then the path
    ends where the highest mean score lies twelve lengths back, and ``n_ks`` lengths are left.
    ``transforms`` of columns of an array are those of the training rows of each split, then that of
    all rows.
    ``n_jobs`` training sets are searched at the same time, in threads; the answer does not depend
    on it.
    """

    def __init__(
        self,
        table: Any,
        target: Target,
        plan: SplitPlan,
        ks: Indices,
        alphas: Array,
        restrictions: Restrictions,
        *,
        transforms: Sequence[Transform] | None = None,
        logistic: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._target, self._plan, self._restrictions = target, plan, restrictions
        self._ks, self._alphas = ks, alphas
        self._table = table
        self._tables = None if transforms is None else FoldTables(table, plan, transforms)
        judged = table if self._tables is None else self._tables.judged
        chunks: Chunks = table if isinstance(table, Chunks) else TableInMemory(judged)
        if self._tables is None:
            sets = target.training_sets(table, chunks, plan)
        else:
            sets = _transformed_sets(self._tables, target, plan)
        self._sets = sets
        # The quadratic of all rows.
        self.moments = sets.everything
        training, read_again = sets.training, sets.read_again
        # Where H takes passes over the rows, those for the final fit are made along.
        fitted = [*training, sets.everything] if read_again else training
        run = self._parallel = Parallel(n_jobs=n_jobs, prefer="threads", verbose=verbose)
        # Small products are quicker on one thread: others would only wait for each other.
        small = chunks.shape[0] * chunks.shape[1] < _LARGE
        # The threads are kept, as there are several rounds.
        with run, blas_threads().limit(limits=1 if small else None, user_api="blas"):
            paths = find_paths(
                run, fitted, ks, alphas, restrictions, n_thorough=int(read_again),
                one_thread=sets.gathered,
            )  # fmt: skip
            self._path = paths[-1] if read_again else None
            if table is chunks:
                kept = np.unique(np.concatenate([path.matrix()[0] for path in paths]))
                if KeptColumns.fit(chunks, kept.size):
                    chunks = KeptColumns(chunks, kept)
            self._chunks = chunks
            # Rows that lie elsewhere are judged there.
            self._n_threads = run.n_jobs if isinstance(chunks, SequentialChunks) else 1
            self._models = [
                Models.from_path(paths[split], sets.centres[split])
                for split in range(len(training))
            ]
            if self._tables is not None:
                self._models = self._tables.moved(self._models)
            found, self.score_error = target.validate(chunks, plan, self._models, self._n_threads)
            # Of shape (n_splits, n_alphas, n_ks).
            self.scores = np.reshape(found, (len(training), alphas.size, ks.size))
            # Index of the best at each k; from the largest ridge down, so that it is the largest
            # of equals.
            best = np.argmax(self.scores.mean(axis=0)[::-1], axis=0)
            self.best_alphas: Indices = alphas.size - 1 - best
            # AUCs of logistic coefficients on the lists of each k, (n_splits, n_ks), and ridges.
            self.logistic_aucs: Array | None = None
            self.logistic_ridges: Array | None = None
            # How many of the ``ks`` are tried to the end.
            self.n_ks = ks.size
            if logistic:
                self._try_logistic(paths)

    def _try_logistic(self, paths: Sequence[SparseAUCPath]) -> None:
        """Fit and judge logistic coefficients on the lists of each k at its best ridge.

        Some lengths at a time, until the highest mean score of any model lies so far back that the
        path ends.
        """
        n_splits, n_ks = len(self.scores), self._ks.size
        lists = [
            [path.solutions[a][i].support for i, a in enumerate(self.best_alphas.tolist())]
            for path in paths[:n_splits]
        ]
        used = np.unique(np.concatenate([columns for some in lists for columns in some]))
        every = np.arange(self._chunks.shape[0])
        shared = self._chunks.take(every, used) if self._tables is None else None
        self._logistic_models: list[list[Models]] = []
        found = np.empty((n_splits, len(_LOGISTIC_RIDGES), 0))
        parts = [slice(at, at + _LENGTHS_AT_A_TIME) for at in range(0, n_ks, _LENGTHS_AT_A_TIME)]
        progress, n_steps = listener.get(), n_splits * len(parts)
        step = progress and begin_stage(progress, "Fitting coefficients", n_steps)
        for part in parts:
            refitted = self._parallel(
                delayed(self._refit)(split, used, lists[split][part], shared, step=step)
                for split in range(n_splits)
            )
            if self._tables is not None:
                refitted = self._tables.moved(refitted)
            scores = self._target.validate(self._chunks, self._plan, refitted, self._n_threads)[0]
            by_ridge = np.reshape(scores, (n_splits, len(_LOGISTIC_RIDGES), -1))
            found = np.concatenate([found, by_ridge], axis=2)
            self._logistic_models.append(refitted)
            means = [each.mean(axis=0).max(axis=0) for each in (self.scores, found)]
            n_ks = _end_of_path(np.maximum(means[0][: found.shape[2]], means[1]))
            if n_ks < found.shape[2]:
                break
        self.n_ks = n_ks
        self.scores, found = self.scores[:, :, :n_ks], found[:, :, :n_ks]
        self.best_alphas = self.best_alphas[:n_ks]
        self._best_ridges = np.argmax(found.mean(axis=0), axis=0)
        self.logistic_aucs = found[:, self._best_ridges, np.arange(n_ks)]
        self.logistic_ridges = np.array(_LOGISTIC_RIDGES)[self._best_ridges]

    def _refit(
        self, split: int, used: Indices, lists: Sequence[Indices], shared: Array | None,
        ridges: Sequence[float] = _LOGISTIC_RIDGES, step: Callable[[], None] | None = None,
    ) -> Models:  # fmt: skip
        """Models with logistic coefficients, of the training rows of a split; −1 for all rows.

        By ridge first, then in the order of the lists. The columns ``used`` by any list are
        ``shared`` unless splits transform them. ``step`` is called at the end.
        """
        target, signs, plan = self._target, self._restrictions.signs, self._plan
        assert isinstance(target, ClassTarget)
        values = shared
        if values is None:
            assert self._tables is not None
            values = self._tables.training(split)[:, used]
        if split >= 0:
            weight = plan.training_weights(split)
        else:
            weight = np.ones(len(values)) if plan.weight is None else plan.weight
        rows, counts, code = target.compared(weight)
        place = np.empty(used[-1] + 1 if used.size else 0, np.int64)
        place[used] = np.arange(used.size)
        coefs, _ = logistic_regressions(
            values[rows], target.positive[rows], counts, [place[one] for one in lists], ridges,
            signs=None if signs is None else signs[used], intercept_of=code,
        )  # fmt: skip
        if step is not None:
            step()
        return Models.from_lists(lists, coefs, self._sets.centres[split])

    def path_at(self, at_alpha: int) -> SparseAUCPath:
        """The path on all rows at one of the ridges, by its index."""
        alphas, ks = self._alphas[[at_alpha]], self._ks[: self.n_ks]
        budgets = self._restrictions.budgets
        if budgets is not None:
            budgets = budgets[: self.n_ks]
        if self._path is not None:
            solutions = [self._path.solutions[at_alpha][: self.n_ks]]
            return replace(self._path, ks=ks, alphas=alphas, solutions=solutions, budgets=budgets)
        return find_paths(
            self._parallel, [self.moments], ks, alphas,
            replace(self._restrictions, budgets=budgets), one_thread=self._sets.gathered,
        )[0]  # fmt: skip

    def out_of_fold(self, at_alpha: int | None, at_k: int) -> Array:
        """Scores of all rows, each by the models that were fitted without it, (n, rounds).

        A round validates each row once at most; NaN where it does not. At an index of alpha, None
        for logistic coefficients, and of k.
        """
        if at_alpha is None:
            part, at = divmod(at_k, _LENGTHS_AT_A_TIME)
            models, ridge = self._logistic_models[part], int(self._best_ridges[at_k])
            size = models[0].middle.size // len(_LOGISTIC_RIDGES)
            chosen = [model.only(ridge * size + at) for model in models]
        else:
            chosen = [model.only(at_alpha * self._ks.size + at_k) for model in self._models]
        used, chosen = narrow(chosen)
        scores = self._chunks.run(OutOfFold(chosen), *self._plan.rounds, columns=used)
        return np.concatenate(scores)

    def logistic_coef(self, columns: Indices, ridge: float) -> Array:
        """Logistic coefficients on some columns, with a ridge, fitted to all rows."""
        every = np.arange(self._chunks.shape[0])
        shared = self._chunks.take(every, columns) if self._tables is None else None
        return self._refit(-1, columns, [columns], shared, [ridge]).values


def _transformed_sets(tables: FoldTables, target: Target, plan: SplitPlan) -> TrainingSets:
    """Quadratics of the training rows of each split, as it takes them, and of all rows."""
    sets = []
    for split in [*range(len(plan.training)), -1]:
        table, alone = tables.training(split), plan.training_alone(split)
        sets.append(target.training_sets(table, TableInMemory(table), alone))
    *training, everything = (one.everything for one in sets)
    centres = [one.centres[-1] for one in sets]
    return TrainingSets(training, everything, centres, all(one.gathered for one in sets))


def _end_of_path(means: Array) -> int:
    """How many lengths are tried: until the highest mean score lies twelve lengths back."""
    rises = np.append(True, means[1:] > np.maximum.accumulate(means)[:-1])
    # Of each length, the place of the highest mean up to it.
    last = np.maximum.accumulate(np.where(rises, np.arange(means.size), 0))
    ends = np.flatnonzero(np.arange(means.size) - last >= _LENGTHS_BEYOND)
    return int(ends[0]) + 1 if ends.size else means.size


def mean_over_rounds(scores: Array) -> Array:
    """Mean of the out-of-fold scores of each row, (n, n_rounds); NaN if it has none."""
    known = ~np.isnan(scores)
    times = known.sum(axis=1)
    total = np.where(known, scores, 0.0).sum(axis=1)
    mean: Array = np.where(times > 0, total / np.maximum(times, 1), np.nan)
    return mean
