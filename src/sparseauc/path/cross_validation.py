"""Cross-validating the path over k and ridge: one way for arrays, files, clusters and devices.

Moments of the training rows of every split come from ``training_moments``: gathered in chunks and
merged from the folds, or referring to a wide table in memory. All models of a split are found from
its moments alone, and judged on its validation rows (``validation``). Nothing of a validation row
enters the choice of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import ThreadpoolController, threadpool_limits

from .._types import Array, Indices, Mask
from ..chunks import Chunks, KeptColumns, SequentialChunks, chunks_in_memory
from ..moments import Moments, class_moments
from ..moments.base import NotGathered
from ..moments.chunked import GatheredMoments, fits_whole
from ..solvers.logistic import logistic_regression
from ..solvers.restrictions import Restrictions
from ..strata import Strata
from .folds import SplitPlan
from .path import PathSearch, SparseAUCPath
from .validation import Models, OutOfFold, narrow, validate

# Tables in memory with more columns than this are wide: H of every fold would fill the memory.
_WIDE = 1500
# Ridges of logistic coefficients: enough for a list that is long for the rows, to next to none.
_LOGISTIC_RIDGES = (0.05, 0.005, 0.0005, 0.00005)
# Numbers in a table from which on several threads of BLAS are worth their while.
_LARGE = 2**25


@dataclass(frozen=True)
class CrossValidation:
    """What cross-validation found."""

    # Validation AUC of every model, of shape (n_splits, n_alphas, n_ks).
    aucs: Array
    # The same of logistic coefficients on the lists of each k, (n_splits, n_ks), and their ridges.
    logistic_aucs: Array | None
    logistic_ridges: Array | None
    # Index of the ridge with the highest mean AUC at each k, the largest of equals.
    best_alphas: Indices
    # The most by which a validation AUC may be off, 0 where all are exact.
    auc_error: float
    # Of all rows.
    moments: Moments
    # The path on all rows at one of the ridges, by its index.
    path_at: Callable[[int], SparseAUCPath]
    # Scores of all rows, each by the models at an index of alpha (None for logistic coefficients)
    # and of k that were fitted without it.
    out_of_fold: Callable[[int | None, int], Array]
    # Logistic coefficients on some columns, with a ridge, fitted to all rows.
    logistic_coef: Callable[[Indices, float], Array]


def cross_validate(
    table: Any,
    positive: Mask,
    plan: SplitPlan,
    ks: Indices,
    alphas: Array,
    restrictions: Restrictions,
    *,
    logistic: bool = False,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> CrossValidation:
    """Fit all models of every split, and judge them on its validation rows.

    ``ks`` and ``alphas`` ascend; ``ks`` may be one and the same where budgets ascend. Logistic
    coefficients may be tried too, if the columns used fit into memory. ``n_jobs`` training sets are
    searched at the same time, in threads; the answer does not depend on it.
    """
    chunks = table if isinstance(table, Chunks) else chunks_in_memory(table)
    training, everything = training_moments(table, chunks, positive, plan)
    read_again = everything.gathered is not None and not everything.gathered.whole
    # Where H takes passes over the rows, those for the final fit are made along with the others.
    fitted = [*training, everything] if read_again else training
    run = Parallel(n_jobs=n_jobs, prefer="threads", verbose=verbose)
    # Small products are quicker on one thread: others would only wait for each other.
    small = chunks.shape[0] * chunks.shape[1] < _LARGE
    # The threads are kept, as there are several rounds.
    with run, threadpool_limits(1 if small else None, user_api="blas"):
        paths = find_paths(run, fitted, ks, alphas, restrictions, n_thorough=int(read_again))
        models = [Models.from_path(path, m) for path, m in zip(paths, training, strict=False)]
        kept = np.unique(np.concatenate([path.matrix()[0] for path in paths]))
        if table is chunks and KeptColumns.fit(chunks, kept.size):
            chunks = KeptColumns(chunks, kept)
        # Rows that lie elsewhere are judged there.
        n_threads = run.n_jobs if isinstance(chunks, SequentialChunks) else 1
        found, error = validate(chunks, positive, plan, models, n_threads)
        shape = len(training), alphas.size, ks.size
        aucs = np.reshape(found, shape)
        # From the largest ridge down, so that it is the largest of equals.
        best_alphas = alphas.size - 1 - np.argmax(aucs.mean(axis=0)[::-1], axis=0)
        logistic_aucs = logistic_ridges = None
        if logistic:
            lists = [
                [path.solutions[a][i].support for i, a in enumerate(best_alphas.tolist())]
                for path in paths[: len(training)]
            ]
            used = np.unique(np.concatenate([columns for some in lists for columns in some]))
            values = chunks.take(np.arange(positive.size), used)
            refitted = run(
                delayed(_with_logistic_coefficients)(
                    values, used, positive, plan.training_weights(split), plan.strata, lists[split],
                    moments, restrictions,
                )
                for split, moments in enumerate(training)
            )  # fmt: skip
            found = validate(chunks, positive, plan, refitted, n_threads)[0]
            by_ridge = np.reshape(found, (len(training), len(_LOGISTIC_RIDGES), ks.size))
            best_ridges = np.argmax(by_ridge.mean(axis=0), axis=0)
            logistic_aucs = by_ridge[:, best_ridges, np.arange(ks.size)]
            logistic_ridges = np.array(_LOGISTIC_RIDGES)[best_ridges]

    def path_at(at_alpha: int) -> SparseAUCPath:
        if read_again:
            found = paths[-1]
            return replace(found, alphas=alphas[[at_alpha]], solutions=[found.solutions[at_alpha]])
        return find_paths(run, [everything], ks, alphas[[at_alpha]], restrictions)[0]

    def out_of_fold(at_alpha: int | None, at_k: int) -> Array:
        if at_alpha is None:
            at_ridge = int(best_ridges[at_k])
            chosen = [model.only(at_ridge * ks.size + at_k) for model in refitted]
        else:
            chosen = [model.only(at_alpha * ks.size + at_k) for model in models]
        used, narrowed = narrow(chosen)
        return np.concatenate(chunks.run(OutOfFold(narrowed), *plan.rounds, columns=used))

    def logistic_coef(columns: Indices, ridge: float) -> Array:
        values = chunks.take(np.arange(positive.size), columns)
        weight = np.ones(positive.size) if plan.weight is None else plan.weight
        return _with_logistic_coefficients(
            values, columns, positive, weight, plan.strata, [columns], everything, restrictions,
            [ridge],
        ).values  # fmt: skip

    return CrossValidation(
        aucs, logistic_aucs, logistic_ridges, best_alphas, error, everything, path_at, out_of_fold,
        logistic_coef,
    )  # fmt: skip


def _with_logistic_coefficients(
    values: Array,
    used: Indices,
    positive: Mask,
    weight: Array,
    strata: Strata | None,
    lists: Sequence[Indices],
    moments: Moments,
    restrictions: Restrictions,
    ridges: Sequence[float] = _LOGISTIC_RIDGES,
) -> Models:
    """Models with logistic coefficients on given columns, fitted to the rows of weight above 0.

    By ridge first, then in the order of the lists.
    """
    rows, counts, code = _compared(positive, weight, strata)
    training, target = values[rows], positive[rows]
    coefs: list[Array] = []
    for ridge in ridges:
        # A list differs little from the one before it, and so do its coefficients.
        last, intercept = np.zeros(used.size), 0.0
        for number, columns in enumerate(lists):
            place = np.searchsorted(used, columns)
            if number and np.array_equal(columns, lists[number - 1]):
                coefs.append(coefs[-1])
                continue
            coef, intercept = logistic_regression(
                training[:, place], target, counts, ridge=ridge,
                signs=restrictions.signs_of(columns), strata=code, start=(last[place], intercept),
            )  # fmt: skip
            last[:] = 0.0
            last[place] = coef
            coefs.append(coef)
    return Models.from_lists([*lists] * len(ridges), coefs, moments)


def _compared(
    positive: Mask, weight: Array, strata: Strata | None
) -> tuple[npt.NDArray[np.intp], Array, Indices | None]:
    """Rows that are compared with any other, what they count, and their strata."""
    if strata is None:
        rows = np.flatnonzero(weight)
        return rows, weight[rows], None
    both = strata.with_both_classes(positive, weight)
    rows = np.flatnonzero((both.code >= 0) & (weight > 0))
    code, counts = both.code[rows], weight[rows]
    if strata.weighting == "equal":
        counts = counts / np.bincount(code, counts)[code]
    return rows, counts, code


def training_moments(
    table: Any, chunks: Chunks, positive: Mask, plan: SplitPlan
) -> tuple[list[Moments], Moments]:
    """Moments of the training rows of each split, and of all rows.

    Training folds are merged, and the validation fold is not subtracted from the whole: a column
    that varies in that fold only would be left with a rounding error for its difference, and no
    variance, as if it told the classes apart.
    """
    strata = plan.strata
    wide = chunks.shape[1] > _WIDE
    if strata is not None:
        n_parts = sum(partition.n_parts for partition in plan.partitions)
        wide |= not fits_whole(chunks.shape[1], n_parts * len(strata))
    if table is not chunks and wide:
        weights = [*map(plan.training_weights, range(len(plan.training))), plan.weight]
        *sets, everything = (class_moments(table, positive, w, strata=strata) for w in weights)
        return sets, everything
    gathered = GatheredMoments(chunks, positive, plan.partitions, strata=strata)
    training = [gathered.merged(parts, solver=True) for parts in plan.training]
    return training, gathered.merged(plan.everything, solver=True)


def find_paths(
    run: Parallel,
    training: Sequence[Moments],
    ks: Indices,
    alphas: Array,
    restrictions: Restrictions,
    *,
    n_thorough: int = 1,
) -> list[SparseAUCPath]:
    """Find the paths of several training sets, gathering at once what all of them lack of H.

    Only the last ``n_thorough`` are searched thoroughly: elsewhere it buys no AUC.
    """
    first_thorough = len(training) - n_thorough
    searches: Iterable[PathSearch] = (
        PathSearch(moments, ks, restrictions, thorough=number >= first_thorough)
        for number, moments in enumerate(training)
    )
    gathered = training[0].gathered
    if gathered is not None:
        searches = list(searches)  # they go on when more of H was gathered
    threads = None if gathered is None else ThreadpoolController()
    while True:
        # Where H is gathered, only small products are left: several threads would get in each
        # other's way.
        with nullcontext() if threads is None else threads.limit(limits=1, user_api="blas"):
            found = run(delayed(_path_or_missing)(search, alphas) for search in searches)
        missing = NotGathered()
        for result in found:
            if isinstance(result, NotGathered):
                missing |= result
        if not missing:
            return list(found)
        assert gathered is not None
        gathered.gather(missing, single=restrictions.groups is None)


def _path_or_missing(search: PathSearch, alphas: Array) -> SparseAUCPath | NotGathered:
    try:
        return search.run(alphas)
    except NotGathered as missing:
        return missing
