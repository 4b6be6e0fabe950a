"""Cross-validating the path over k and ridge, and choosing a model by it.

One way for arrays, files, clusters and devices. Moments of the training rows of every
split come from the outcome: gathered in chunks and merged from the folds, or referring
to a wide table in memory. All models of a split are found from its moments alone, and
scored on its validation rows by the outcome. Nothing of a validation row enters the
choice of columns, nor what is learned of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy.stats import rankdata

from .chunks import Chunks, KeptColumns, SequentialChunks, chunks_in_memory
from .columns.reading import ReadColumns
from .columns.units import Units
from .defaults import AUTO_MOST_VALUES, LOGISTIC_RIDGES, PATH_LENGTHS_BEYOND
from .folds import SplitPlan, fold_standard_error, rows_by_number
from .held_out import Models, OutOfFold, narrow
from .moments.base import Quadratic
from .outcome import Binary, Outcome, TrainingSets
from .path import (
    ChosenList,
    Progress,
    SparseAUCPath,
    blas_threads,
    count_steps,
    find_paths,
)
from .rules import Rule, choose, smooth_over_lengths
from .solvers.logistic import logistic_regressions
from .solvers.restrictions import Restrictions
from .utils.types import Array, Indices

# Lengths of lists whose logistic coefficients are fitted at a time.
_LENGTHS_AT_A_TIME = 12
# Numbers in a table from which on several threads of BLAS are worth their while.
_LARGE = 2**25
# Largest number of values of the tables of all folds together, each transformed on its
# own.
_MOST_VALUES = 2**26

Kind = Literal["auc", "logistic"]


@dataclass(frozen=True, eq=False)
class CVTask:
    """Rows, their splits, the models to compare, and how to choose among them.

    Attributes
    ----------
    X : ndarray, CSR, Chunks or ReadColumns
    outcome : Outcome
    plan : SplitPlan
    ks, alphas : ndarray
        Ascending; ``ks`` may be one and the same where budgets ascend.
    restrictions : Restrictions
        With a budget for each k, if there are budgets.
    rule : str or callable
        Chooses among the models that cross-validation has scored.
    longest : int, optional
        Length that so many rows allow, if lengths were not given: of curves it is less.
    curves : "auto" or bool
        As of ``SparseAUCClassifierCV``.
    kinds : tuple of str, optional
        Kinds of coefficients that are compared; of least loss alone without.
    smoothing : int
        How often mean scores are smoothed over lengths before models are compared.
    n_jobs, verbose
        As of ``SparseAUCClassifierCV``.
    """

    X: Any
    outcome: Outcome
    plan: SplitPlan
    ks: Indices
    alphas: Array
    restrictions: Restrictions
    longest: int | None = None
    rule: str | Rule = "best"
    curves: Literal["auto"] | bool = False
    kinds: tuple[Kind, ...] | None = None
    smoothing: int = 0
    n_jobs: int | None = None
    verbose: int | Progress = 0

    @property
    def progress(self) -> Progress | None:
        """Callable that is told the stage of the fit, its steps done and their number."""
        return self.verbose if callable(self.verbose) else None

    def with_lengths(self, n_ks: int) -> CVTask:
        """Keep the first lengths."""
        restrictions = self.restrictions
        if restrictions.budgets is not None:
            restrictions = replace(restrictions, budgets=restrictions.budgets[:n_ks])
        return replace(self, ks=self.ks[:n_ks], restrictions=restrictions)

    def of_basis(self, units: Units) -> CVTask:
        """The task of choosing among units, by the columns of their bases.

        By default lists are shorter by as much as they have more numbers for each
        column.
        """
        d = len(units.encodings)
        task = self
        if self.longest is not None and self.restrictions.budgets is None:
            most = max(self.longest * d // units.columns.size, self.ks[0])
            task = self.with_lengths(int(np.count_nonzero(self.ks <= most)))
        return replace(task, restrictions=task.restrictions.spread(units.columns))


@dataclass(frozen=True, eq=False)
class Choice:
    """Model that cross-validation chose, fitted to all rows.

    Attributes
    ----------
    found : CVResult
        Cross-validation of the columns as the model takes them.
    k : int
        Number of columns, or of groups; with several budgets, those of the list.
    alpha : float
        Its ridge.
    budget : float or None
        What the list may cost.
    path : SparseAUCPath
        The lists of all k on all rows, at the ridge chosen.
    chosen : ChosenList
        Its list and coefficients, on all rows.
    rounds : ndarray of shape (n, n_rounds)
        Score of each row by models fitted without it; NaN where a round has none.
    """

    found: CVResult
    k: int
    alpha: float
    budget: float | None
    path: SparseAUCPath
    chosen: ChosenList
    rounds: Array


def choose_by_validation(task: CVTask) -> Choice:
    """Choose a model by cross-validation and fit it to all rows."""
    while True:
        found = _try_curves(task)
        family = found.family
        alpha = float(family.alphas[found.place])
        path = found.path_at(alpha)
        solution = path.solutions[0][found.place]
        restrictions = found.task.restrictions
        lost = restrictions.lost(solution.support, solution.coef)
        if lost.size == 0:
            break
        # Lists of the folds, too, are without required columns that can have no
        # coefficient.
        units = found.units
        columns = lost if units is None else np.unique(units.columns[lost])
        task = replace(task, restrictions=task.restrictions.without_fixed(columns))
    quadratic = found.folds.sets.everything
    chosen = ChosenList.of_solution(
        solution, quadratic, path.scale, restrictions, np.float64
    )
    if family.kind == "logistic":
        coef = chosen.coef.copy()
        coef[solution.support] = found.folds.logistic_coef(
            solution.support, float(family.ridges[found.place])
        )
        chosen = replace(chosen, coef=coef)
    k = int(path.ks[found.place])
    budget = None
    if restrictions.budgets is not None:
        budget = float(restrictions.budgets[found.place])
        if np.unique(restrictions.budgets).size > 1:
            k = restrictions.count(np.flatnonzero(chosen.coef))
        chosen = replace(
            chosen, restrictions=replace(restrictions, budgets=np.array([budget]))
        )
    rounds = found.out_of_fold(family, found.place)
    return Choice(found, k, alpha, budget, path, chosen, rounds)


def _try_curves(task: CVTask) -> CVResult:
    """Search among lines and then among curves, as far as these are to be tried.

    Curves are taken if the model chosen among them has the higher mean score. Where
    folds are repeated, those that have not on the first ones are not tried on the
    others.
    """
    if task.curves is True:
        return cross_validate(task, _learn_units(task, curved=True))
    lines = cross_validate(task, _learn_units(task, curved=False))
    if not _curves_are_tried(task):
        return lines
    first = task.plan.first_round()
    for plan in [first] if first is task.plan else [first, task.plan]:
        part = replace(task, plan=plan)
        units = _learn_units(part, curved=True)
        if units is None or not units[-1].curves:
            return lines
        curves = cross_validate(part, units)
        if not curves.is_better_than(lines):
            return replace(lines, rival=curves) if plan is task.plan else lines
    return replace(curves, rival=lines)


def _curves_are_tried(task: CVTask) -> bool:
    """Return whether curves are tried by default: of tables in memory that are not too large."""
    if task.curves != "auto" or not isinstance(task.X, np.ndarray | ReadColumns):
        return False
    limits = task.restrictions
    n, d = task.X.shape
    n_tables = len(task.plan.training) + 1
    few = is_small(n, d) and n * d <= _MOST_VALUES / n_tables
    return few and limits.families is None and limits.signs is None


def is_small(n: int, d: int) -> bool:
    """Return whether curves and logistic coefficients of a table are tried by default."""
    return d < n <= AUTO_MOST_VALUES // d


def _learn_units(task: CVTask, *, curved: bool) -> list[Units] | None:
    """Learn the units of each split from its training rows, and those of all rows.

    None where all columns count as what they are.
    """
    table = task.X
    if not isinstance(table, ReadColumns):
        if not curved:
            return None
        table = ReadColumns(table)
    *training, everything = task.plan.all_weights
    d = table.shape[1]
    units = Units.learn(table, everything, curved=np.full(d, curved))
    return [*(units.learn_again(table.values, weight) for weight in training), units]


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


@dataclass(frozen=True, eq=False)
class CVResult:
    """All models of every split, their scores on its validation rows, and the one chosen.

    Attributes
    ----------
    task : CVTask
        With the lengths that were tried, of the columns as models take them.
    folds : Folds
        Rows and columns as each split took them.
    families : list of Family
        Of each ridge, the largest first, and then the logistic ones.
    score_error : float
        How far scores may be off.
    full_path : SparseAUCPath or None
        Of all rows, where it was found along.
    results : dict of str to ndarray
        Scores of all models, as ``GridSearchCV`` has them.
    index : int
        Of the model that the rule chose among these.
    rival : CVResult, optional
        Of curves where these are lines, or of lines, if both were tried on all splits.
    """

    task: CVTask
    folds: Folds
    families: list[Family]
    score_error: float
    full_path: SparseAUCPath | None
    results: dict[str, Any]
    index: int
    rival: CVResult | None = None

    @property
    def family(self) -> Family:
        """Family of the model chosen."""
        return self.families[self.index % len(self.families)]

    @property
    def place(self) -> int:
        """Place of its list on the path."""
        return self.index // len(self.families)

    @property
    def units(self) -> Units | None:
        """Units of all rows; None where columns count as what they are."""
        return None if self.folds.units is None else self.folds.units[-1]

    def is_better_than(self, other: CVResult) -> bool:
        """Return whether the mean score is higher, over the splits that this one has tried."""
        scores = self.family.scores[:, self.place]
        gain = scores - other.family.scores[: scores.size, other.place]
        return bool(gain.mean() > 0)

    def path_at(self, alpha: float) -> SparseAUCPath:
        """Find the path on all rows at one of the ridges."""
        task = self.task
        alphas = np.array([alpha])
        if self.full_path is not None:
            (place,) = np.flatnonzero(task.alphas == alpha)
            return replace(
                self.full_path,
                ks=task.ks,
                alphas=alphas,
                solutions=[self.full_path.solutions[place][: task.ks.size]],
                budgets=task.restrictions.budgets,
            )
        (path,) = self.folds.find_paths(
            task, [self.folds.sets.everything], alphas, n_thorough=1
        )
        return path

    def out_of_fold(self, family: Family, place: int) -> Array:
        """Score all rows, each by the models that were fitted without it, (n, rounds).

        By the models of a family at one of the lengths. A round validates each row once
        at most; NaN where it does not.
        """
        models, number = family.models[place]
        used, chosen = narrow([one.only(number) for one in models])
        scores = self.folds.chunks.run(
            OutOfFold(chosen), *self.task.plan.rounds, columns=used
        )
        return np.concatenate(scores)


def cross_validate(task: CVTask, units: Sequence[Units] | None = None) -> CVResult:
    """Fit all models of every split, score them on its validation rows, and choose one.

    Where logistic coefficients are tried too, on the lists of each k at its best ridge,
    the path ends where the highest mean score lies twelve lengths back.

    Parameters
    ----------
    task : CVTask
    units : sequence of Units, optional
        What columns count as: by the training rows of each split, then by all rows.
    """
    folds = Folds(task if units is None else task.of_basis(units[-1]), units)
    task = folds.task
    sets = folds.sets
    # Where H takes passes over the rows, those for the final fit are made along.
    fitted = [*sets.training, sets.everything] if sets.read_again else sets.training
    # Small products are quicker on one thread: others would only wait for each other.
    small = folds.chunks.shape[0] * folds.chunks.shape[1] < _LARGE
    kinds = ("auc",) if task.kinds is None else task.kinds
    # The threads are kept, as there are several rounds.
    with folds.run, blas_threads().limit(limits=1 if small else None, user_api="blas"):
        paths = folds.find_paths(
            task, fitted, task.alphas, n_thorough=int(sets.read_again)
        )
        folds.keep_columns(paths)
        training_paths = paths[: len(sets.training)]
        families, score_error = _score_paths(folds, training_paths)
        if "logistic" in kinds:
            tried = _try_logistic(folds, families, training_paths)
            task = task.with_lengths(tried.scores.shape[1])
            families.append(tried)
    families = [family for family in families if family.kind in kinds]
    results = _tabulate(task, families)
    return CVResult(
        task=task,
        folds=folds,
        families=families,
        score_error=score_error,
        full_path=paths[-1] if sets.read_again else None,
        results=results,
        index=choose(task.rule, results),
    )


def _tabulate(task: CVTask, families: list[Family]) -> dict[str, Any]:
    """Tabulate the scores of all models, as ``GridSearchCV`` does.

    Models are by k first: among equals the first, of smallest k and then largest ridge,
    wins.
    """
    ks = task.ks
    scores = np.stack([family.scores[:, : ks.size] for family in families], axis=2)
    scores = scores.reshape(len(scores), -1)
    tried: dict[str, Any] = {
        "k": np.repeat(ks, len(families)),
        "alpha": np.stack(
            [family.alphas[: ks.size] for family in families], axis=1
        ).ravel(),
    }
    if task.kinds is not None:
        kinds = np.array([family.kind for family in families], dtype=object)
        tried["coefficients"] = np.tile(kinds, ks.size)
    if task.restrictions.budgets is not None:
        tried["budget"] = np.repeat(task.restrictions.budgets, len(families))
    rows = zip(*(values.tolist() for values in tried.values()), strict=True)
    mean = scores.mean(axis=0)
    results: dict[str, Any] = {
        **{f"param_{name}": values for name, values in tried.items()},
        "params": [dict(zip(tried, row, strict=True)) for row in rows],
        **{f"split{i}_test_score": row for i, row in enumerate(scores)},
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=0),
        "standard_error_test_score": fold_standard_error(scores, task.plan.n_repeats),
        "rank_test_score": rankdata(-mean, method="min").astype(np.int32),
    }
    if families[-1].kind == "logistic":
        ridges = np.stack([family.ridges[: ks.size] for family in families], axis=1)
        results["param_logistic_ridge"] = ridges.ravel()
    if task.smoothing:
        results["smooth_test_score"] = smooth_over_lengths(results, task.smoothing)
    return results


def _score_paths(
    folds: Folds, paths: Sequence[SparseAUCPath]
) -> tuple[list[Family], float]:
    """Score the models of the paths of all splits: a family for each ridge, the largest first."""
    models = [
        Models.from_path(path, quadratic.centre)
        for path, quadratic in zip(paths, folds.sets.training, strict=True)
    ]
    models, found, score_error = folds.score(models)
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
    folds: Folds, families: Sequence[Family], paths: Sequence[SparseAUCPath]
) -> Family:
    """Fit and score logistic coefficients on the lists of each k at its best ridge.

    Some lengths at a time, until the highest mean score of any model lies so far back
    that the path ends.
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
    shared = None if folds.units else folds.values(-1, used)
    n_ridges = len(LOGISTIC_RIDGES)
    starts = range(0, best_alphas.size, _LENGTHS_AT_A_TIME)
    step = count_steps(
        folds.task.progress, "Fitting coefficients", len(paths) * len(starts)
    )

    def fit(split: int, part: slice) -> Models:
        values = folds.values(split, used) if shared is None else shared
        models = folds.fit_logistic(
            split, values, used, lists[split][part], LOGISTIC_RIDGES
        )
        step()
        return models

    fitted: list[list[Models]] = []
    by_ridge = np.empty((len(paths), n_ridges, 0))
    for start in starts:
        part = slice(start, start + _LENGTHS_AT_A_TIME)
        models = folds.run(delayed(fit)(split, part) for split in range(len(paths)))
        models, found, _ = folds.score(models)
        scores = np.reshape(found, (len(paths), n_ridges, -1))
        by_ridge = np.concatenate([by_ridge, scores], axis=2)
        fitted.append(models)
        tried = by_ridge.shape[2]
        n_ks = _end_of_path(
            np.maximum(own.max(axis=0)[:tried], by_ridge.mean(axis=0).max(axis=0))
        )
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


class Folds:
    """A table as each split takes it: what is learned of columns comes from its training rows.

    Attributes
    ----------
    task : CVTask
    units : sequence of Units or None
        Of each split, then of all rows; None if columns count as what they are.
    chunks : Chunks
        What models are scored on: the columns of the basis that all splits share and
        then, for each round of splits, the others: every row as the split that
        validates it takes it. So one table serves all models.
    sets : TrainingSets
        Quadratics of the training rows of each split, and of all rows.
    run : Parallel
    """

    def __init__(self, task: CVTask, units: Sequence[Units] | None) -> None:
        self.task = task
        self.units = units
        verbose = 0 if callable(task.verbose) else max(0, task.verbose - 1)
        self.run = Parallel(n_jobs=task.n_jobs, prefer="threads", verbose=verbose)
        plan = task.plan
        # Of each split, the place of every column of the basis among those of
        # ``chunks``.
        self._places: Indices | None = None
        if units is None:
            X = task.X
            self.chunks: Chunks = X if isinstance(X, Chunks) else chunks_in_memory(X)
            self.sets = task.outcome.training_sets(X, self.chunks, plan)
            return
        self.chunks = chunks_in_memory(self._validated_columns())
        sets = []
        for split in [*range(len(plan.training)), -1]:
            table = units[split].basis(self._X)
            alone = plan.training_alone(split)
            sets.append(
                task.outcome.training_sets(table, chunks_in_memory(table), alone)
            )
        *training, everything = (one.everything for one in sets)
        self.sets = TrainingSets(
            training, everything, all(one.gathered for one in sets)
        )

    @property
    def _X(self) -> npt.NDArray[Any]:
        X = self.task.X
        return X.values if isinstance(X, ReadColumns) else X

    def _validated_columns(self) -> Array:
        """Return the basis of all rows, as each round validates them."""
        assert self.units is not None
        X = self._X
        everything = self.units[-1]
        learned = everything.learned(X)
        own = np.flatnonzero(learned)
        shared = np.flatnonzero(~learned)
        places = np.empty(learned.size, np.int64)
        places[shared] = np.arange(shared.size)
        self._places = np.tile(places, (len(self.task.plan.training), 1))
        parts = [everything.basis(X, shared)]
        for number, validated in enumerate(self.task.plan.rounds):
            as_taken = everything.basis(X, own)
            for split, rows in rows_by_number(validated):
                as_taken[rows] = self.units[split].basis(X[rows], own)
                first = shared.size + number * own.size
                self._places[split, own] = first + np.arange(own.size)
            parts.append(as_taken)
        return np.hstack(parts)

    def find_paths(
        self,
        task: CVTask,
        quadratics: Sequence[Quadratic],
        alphas: Array,
        n_thorough: int,
    ) -> list[SparseAUCPath]:
        """Find the paths of some quadratics over the lengths of a task and some ridges."""
        return find_paths(
            self.run,
            quadratics,
            task.ks,
            alphas,
            task.restrictions,
            n_thorough=n_thorough,
            one_thread=self.sets.gathered,
            progress=task.progress,
        )

    def keep_columns(self, paths: Sequence[SparseAUCPath]) -> None:
        """Keep the columns of all lists in memory, if rows are read in chunks and there is room."""
        if self.task.X is self.chunks:
            kept = np.unique(np.concatenate([path.columns for path in paths]))
            if KeptColumns.fit(self.chunks, kept.size):
                self.chunks = KeptColumns(self.chunks, kept)

    def score(self, models: list[Models]) -> tuple[list[Models], list[Array], float]:
        """Score the models of all splits on their validation rows.

        Returns them with columns as they are in ``chunks``, the scores, and how far
        these may be off.
        """
        if self._places is not None:
            models = [
                one.moved(places)
                for one, places in zip(models, self._places, strict=True)
            ]
        # Rows that lie elsewhere are judged there.
        n_threads = self.run.n_jobs if isinstance(self.chunks, SequentialChunks) else 1
        return models, *self.task.outcome.validate(
            self.chunks, self.task.plan, models, n_threads
        )

    def values(self, split: int, columns: Indices) -> Array:
        """Some columns of the basis of all rows as a split takes them; −1 for that of all rows."""
        if self.units is not None:
            return self.units[split].basis(self._X, columns)
        return self.chunks.take(np.arange(self.chunks.shape[0]), columns)

    def logistic_coef(self, columns: Indices, ridge: float) -> Array:
        """Fit logistic coefficients on some columns, with a ridge, to all rows."""
        return self.fit_logistic(
            -1, self.values(-1, columns), columns, [columns], [ridge]
        ).values

    def fit_logistic(
        self,
        split: int,
        values: Array,
        used: Indices,
        lists: Sequence[Indices],
        ridges: Sequence[float],
    ) -> Models:
        """Fit logistic coefficients to the training rows of a split; −1 for all rows.

        By ridge first, then in the order of the lists, which use the columns ``used``,
        of which ``values`` are those of all rows.
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
        quadratic = [*self.sets.training, self.sets.everything][split]
        return Models.from_lists(lists, coefs, quadratic.centre)
