"""Cross-validating the path over k and ridge, and choosing a model by it.

One way for arrays, files, clusters and devices. Moments of the training rows of every
split come from the outcome: gathered in chunks and merged from the folds, or referring
to a wide table in memory. All models of a split are found from its moments alone, and
scored on its validation rows by the outcome. Nothing of a validation row enters the
choice of columns, nor what is learned of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import rankdata

from .chunks import Chunks, KeptColumns, chunks_in_memory
from .columns.reading import ReadColumns
from .columns.units import Units
from .defaults import AUTO_MOST_VALUES, LOGISTIC_RIDGES, PATH_LENGTHS_BEYOND
from .folds import SplitPlan, fold_standard_error, rows_by_number
from .held_out import Models, OutOfFold, narrow
from .moments.base import Quadratic
from .outcome import Binary, Outcome
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
    run : Parallel
        Runs what is done for each split, in threads.
    progress : callable, optional
        Told the stage of the fit, its steps done and their number.
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
    run: Parallel = field(default_factory=lambda: Parallel(require="sharedmem"))
    progress: Progress | None = None

    @property
    def values(self) -> Any:
        """The table as numbers."""
        return self.X.values if isinstance(self.X, ReadColumns) else self.X

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
        task = self
        if self.longest is not None and self.restrictions.budgets is None:
            most = self.longest * len(units.encodings) // units.columns.size
            task = self.with_lengths(
                int(np.count_nonzero(self.ks <= max(most, self.ks[0])))
            )
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
        path = found.path()
        place = found.place
        solution = path.solutions[0][place]
        restrictions = found.folds.task.restrictions
        lost = restrictions.lost(solution.support, solution.coef)
        if lost.size == 0:
            break
        # Lists of the folds, too, are without required columns that can have no
        # coefficient.
        columns = lost if found.units is None else found.units.columns[lost]
        task = replace(task, restrictions=task.restrictions.without_fixed(columns))
    budgets = restrictions.budgets
    budget = None
    if budgets is not None:
        budget = float(budgets[place])
        restrictions = restrictions.at_budget(budget)
    chosen = ChosenList.of_solution(
        solution, found.folds.quadratics[-1], path.scale, restrictions, np.float64
    )
    if found.family.kind == "logistic":
        support = solution.support
        values = found.folds.values(-1, support)
        coef = chosen.coef.copy()
        coef[support] = found.folds.fit_logistic(
            -1, values, support, [support], found.family.ridges[[place]]
        ).values
        chosen = replace(chosen, coef=coef)
    k = int(path.ks[place])
    if budgets is not None and np.unique(budgets).size > 1:
        k = restrictions.count(np.flatnonzero(chosen.coef))
    alpha = float(path.alphas[0])
    return Choice(found, k, alpha, budget, path, chosen, found.out_of_fold())


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
        gain = curves.scores - lines.scores[: curves.scores.size]
        if not gain.mean() > 0:
            return replace(lines, rival=curves) if plan is task.plan else lines
    return replace(curves, rival=lines)


def _curves_are_tried(task: CVTask) -> bool:
    """Return whether curves are tried by default: of tables in memory that are not too large."""
    if task.curves != "auto" or not isinstance(task.values, np.ndarray):
        return False
    n, d = task.X.shape
    n_tables = len(task.plan.training) + 1
    return is_small(n, d) and n * d <= _MOST_VALUES / n_tables


def is_small(n: int, d: int) -> bool:
    """Return whether curves and logistic coefficients of a table are tried by default."""
    return d < n <= AUTO_MOST_VALUES // d


def _learn_units(task: CVTask, *, curved: bool) -> list[Units] | None:
    """Learn the units of each split from its training rows, and those of all rows.

    Columns with a sign are lines. None where all columns count as what they are.
    """
    table = task.X
    if not isinstance(table, ReadColumns):
        if not curved:
            return None
        table = ReadColumns(table)
    *training, everything = task.plan.all_weights
    of_any_sign = task.restrictions.signs_of(np.arange(table.shape[1])) == 0
    units = Units.learn(table, everything, curved=of_any_sign & curved)
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
    """The model that cross-validation chose, and the scores of all.

    Attributes
    ----------
    folds : Folds
        Rows and columns as each split took them; with the lengths that were tried.
    results : dict of str to ndarray
        Scores of all models, as ``GridSearchCV`` has them.
    index : int
        Of the model that the rule chose among these.
    family : Family
        The models with the coefficients of the chosen one.
    place : int
        Place of its list on the path.
    score_error : float
        How far scores may be off.
    full_path : SparseAUCPath or None
        Of all rows, where it was found along.
    rival : CVResult, optional
        Of curves where these are lines, or of lines, if both were tried on all splits.
    """

    folds: Folds
    results: dict[str, Any]
    index: int
    family: Family
    place: int
    score_error: float
    full_path: SparseAUCPath | None
    rival: CVResult | None = None

    @property
    def scores(self) -> Array:
        """Validation score of the model chosen on each split."""
        return self.family.scores[:, self.place]

    @property
    def units(self) -> Units | None:
        """Units of all rows; None where columns count as what they are."""
        return None if self.folds.units is None else self.folds.units[-1]

    def path(self) -> SparseAUCPath:
        """Find the path on all rows at the ridge chosen."""
        task = self.folds.task
        alphas = self.family.alphas[[self.place]]
        if self.full_path is None:
            (path,) = self.folds.find_paths(
                self.folds.quadratics[-1:], alphas, n_thorough=1
            )
            return path
        (number,) = np.flatnonzero(task.alphas == alphas)
        return replace(
            self.full_path,
            ks=task.ks,
            alphas=alphas,
            solutions=[self.full_path.solutions[number][: task.ks.size]],
            budgets=task.restrictions.budgets,
        )

    def out_of_fold(self) -> Array:
        """Score all rows, each by the chosen models fitted without it, (n, rounds).

        A round validates each row once at most; NaN where it does not.
        """
        models, number = self.family.models[self.place]
        used, chosen = narrow([one.only(number) for one in models])
        scores = self.folds.chunks.run(
            OutOfFold(chosen), *self.folds.task.plan.rounds, columns=used
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
    folds = _take_folds(task, units)
    task = folds.task
    *training, everything = folds.quadratics
    # Where H takes passes over the rows, those for the final fit are made along.
    along = [everything] if everything.reads_again else []
    # Small products are quicker on one thread: others would only wait for each other.
    small = folds.chunks.shape[0] * folds.chunks.shape[1] < _LARGE
    kinds = ("auc",) if task.kinds is None else task.kinds
    # The threads are kept, as there are several rounds.
    with task.run, blas_threads().limit(limits=1 if small else None, user_api="blas"):
        paths = folds.find_paths(
            [*training, *along], task.alphas, n_thorough=len(along)
        )
        full_path = paths.pop() if along else None
        if task.X is folds.chunks:
            folds = _keep_columns(folds, paths)
        families, score_error = _score_paths(folds, paths)
        if "logistic" in kinds:
            tried = _try_logistic(folds, families, paths)
            task = task.with_lengths(tried.scores.shape[1])
            folds = replace(folds, task=task)
            families.append(tried)
    families = [family for family in families if family.kind in kinds]
    results = _tabulate(task, families)
    index = choose(task.rule, results)
    place, number = divmod(index, len(families))
    return CVResult(
        folds, results, index, families[number], place, score_error, full_path
    )


def _keep_columns(folds: Folds, paths: Sequence[SparseAUCPath]) -> Folds:
    """Keep the columns of all lists of chunks in memory, if there is room."""
    kept = np.unique(np.concatenate([path.columns for path in paths]))
    if not KeptColumns.fit(folds.chunks, kept.size):
        return folds
    return replace(folds, chunks=KeptColumns(folds.chunks, kept))


def _tabulate(task: CVTask, families: list[Family]) -> dict[str, Any]:
    """Tabulate the scores of all models, as ``GridSearchCV`` does.

    Models are by k first: among equals the first, of smallest k and then largest ridge,
    wins.
    """
    ks = task.ks
    scores = np.stack([family.scores[:, : ks.size] for family in families], axis=2)
    scores = scores.reshape(len(scores), -1)

    def by_k(values: Sequence[Array]) -> Array:
        return np.stack([each[: ks.size] for each in values], axis=1).ravel()

    tried: dict[str, Any] = {
        "k": np.repeat(ks, len(families)),
        "alpha": by_k([family.alphas for family in families]),
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
        ridges = by_k([family.ridges for family in families])
        results["param_logistic_ridge"] = ridges
    if task.smoothing:
        results["smooth_test_score"] = smooth_over_lengths(results, task.smoothing)
    return results


def _score_paths(
    folds: Folds, paths: Sequence[SparseAUCPath]
) -> tuple[list[Family], float]:
    """Score the models of the paths of all splits: a family for each ridge, the largest first."""
    models = []
    for path, quadratic in zip(paths, folds.quadratics, strict=False):
        solutions = [solution for row in path.solutions for solution in row]
        lists = [solution.support for solution in solutions]
        coefs = np.concatenate([solution.coef for solution in solutions])
        coefs /= path.scale[np.concatenate(lists)]
        models.append(Models.from_lists(lists, coefs[None], quadratic.centre))
    models, found, score_error = folds.score(models)
    alphas = folds.task.alphas
    n_ks = folds.task.ks.size
    scores = np.reshape(found, (len(paths), alphas.size, n_ks))
    families = [
        Family(
            kind="auc",
            alphas=np.full(n_ks, alphas[number]),
            ridges=np.full(n_ks, np.nan),
            scores=scores[:, number],
            models=[(models, number * n_ks + place) for place in range(n_ks)],
        )
        for number in range(alphas.size)[::-1]
    ]
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
    ridges = np.array(LOGISTIC_RIDGES)
    starts = range(0, best_alphas.size, _LENGTHS_AT_A_TIME)
    step = count_steps(
        folds.task.progress, "Fitting coefficients", len(paths) * len(starts)
    )

    def fit(split: int, part: slice) -> Models:
        values = folds.values(split, used) if shared is None else shared
        models = folds.fit_logistic(split, values, used, lists[split][part], ridges)
        step()
        return models

    # Models of each length: those of every split, and the places of all ridges there.
    fitted: list[tuple[list[Models], Indices]] = []
    by_ridge = np.empty((len(paths), ridges.size, 0))
    for start in starts:
        part = slice(start, start + _LENGTHS_AT_A_TIME)
        models = folds.task.run(
            delayed(fit)(split, part) for split in range(len(paths))
        )
        models, found, _ = folds.score(models)
        scores = np.reshape(found, (len(paths), ridges.size, -1))
        by_ridge = np.concatenate([by_ridge, scores], axis=2)
        places = np.arange(scores[0].size).reshape(ridges.size, -1)
        fitted += [(models, of_length) for of_length in places.T]
        tried = by_ridge.shape[2]
        n_ks = _end_of_path(
            np.maximum(own.max(axis=0)[:tried], by_ridge.mean(axis=0).max(axis=0))
        )
        if n_ks < tried:
            break
    by_ridge = by_ridge[:, :, :n_ks]
    best = np.argmax(by_ridge.mean(axis=0), axis=0)
    return Family(
        kind="logistic",
        alphas=folds.task.alphas[best_alphas[:n_ks]],
        ridges=ridges[best],
        scores=by_ridge[:, best, np.arange(n_ks)],
        models=[
            (models, int(places[ridge]))
            for (models, places), ridge in zip(fitted, best, strict=False)
        ],
    )


def _end_of_path(means: Array) -> int:
    """Count the lengths that are tried: until the highest mean score lies twelve lengths back."""
    for n_ks in range(1, means.size):
        if n_ks - 1 - np.argmax(means[:n_ks]) >= PATH_LENGTHS_BEYOND:
            return n_ks
    return means.size


def mean_over_rounds(scores: Array) -> Array:
    """Average the out-of-fold scores of each row, (n, n_rounds); NaN if it has none."""
    times = np.count_nonzero(~np.isnan(scores), axis=1)
    with np.errstate(invalid="ignore"):
        mean: Array = np.nansum(scores, axis=1) / times
    return mean


@dataclass(frozen=True, eq=False)
class Folds:
    """A table as each split takes it: what is learned of columns comes from its training rows.

    Attributes
    ----------
    task : CVTask
    quadratics : sequence of Quadratic
        Of the training rows of each split, then of all rows.
    chunks : Chunks
        What models are scored on: the columns of the basis that all splits share and
        then, for each round of splits, the others: every row as the split that
        validates it takes it. So one table serves all models.
    units : sequence of Units, optional
        Of each split, then of all rows; None if columns count as what they are.
    places : ndarray of int of shape (n_splits, p), optional
        Of each split, the place of every column of the basis among those of ``chunks``.
    """

    task: CVTask
    quadratics: Sequence[Quadratic]
    chunks: Chunks
    units: Sequence[Units] | None = None
    places: Indices | None = None

    def find_paths(
        self, quadratics: Sequence[Quadratic], alphas: Array, n_thorough: int
    ) -> list[SparseAUCPath]:
        """Find the paths of some quadratics over some ridges."""
        task = self.task
        return find_paths(
            task.run,
            quadratics,
            task.ks,
            alphas,
            task.restrictions,
            n_thorough=n_thorough,
            progress=task.progress,
        )

    def score(self, models: list[Models]) -> tuple[list[Models], list[Array], float]:
        """Score the models of all splits on their validation rows.

        Returns them with columns as they are in ``chunks``, the scores, and how far
        these may be off.
        """
        if self.places is not None:
            models = [
                one.moved(places)
                for one, places in zip(models, self.places, strict=True)
            ]
        task = self.task
        return models, *task.outcome.validate(
            self.chunks, task.plan, models, task.run.n_jobs
        )

    def values(self, split: int, columns: Indices) -> Array:
        """Some columns of the basis of all rows as a split takes them; −1 for that of all rows."""
        if self.units is not None:
            return self.units[split].basis(self.task.values, columns)
        return self.chunks.take(np.arange(self.chunks.shape[0]), columns)

    def fit_logistic(
        self,
        split: int,
        values: Array,
        used: Indices,
        lists: Sequence[Indices],
        ridges: Array,
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
            ridges.tolist(),
            signs=None if signs is None else signs[used],
            intercept_of=code,
        )
        return Models.from_lists(lists, coefs, self.quadratics[split].centre)


def _take_folds(task: CVTask, units: Sequence[Units] | None) -> Folds:
    """Take the table as each split does."""
    plan = task.plan
    X = task.values
    if units is None:
        chunks = X if isinstance(X, Chunks) else chunks_in_memory(X)
        return Folds(task, task.outcome.training_sets(X, chunks, plan), chunks)
    task = task.of_basis(units[-1])
    quadratics = [
        task.outcome.reweighted(weight).quadratic_for_path(own.basis(X))
        for own, weight in zip(units, plan.all_weights, strict=True)
    ]
    everything = units[-1]
    learned = everything.learned(X)
    own = np.flatnonzero(learned)
    shared = np.flatnonzero(~learned)
    places = np.empty((len(plan.training), learned.size), np.int64)
    places[:, shared] = np.arange(shared.size)
    parts = [everything.basis(X, shared)]
    for number, validated in enumerate(plan.rounds):
        as_taken = everything.basis(X, own)
        for split, rows in rows_by_number(validated):
            as_taken[rows] = units[split].basis(X[rows], own)
            first = shared.size + number * own.size
            places[split, own] = first + np.arange(own.size)
        parts.append(as_taken)
    chunks = chunks_in_memory(np.hstack(parts))
    return Folds(task, quadratics, chunks, units, places)
