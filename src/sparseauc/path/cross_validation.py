"""Cross-validating the path over k and ridge: one way for arrays, files, clusters and devices.

Moments of the training rows of every split come from ``training_moments``: gathered in chunks and
merged from the folds, or referring to a wide table in memory. All models of a split are found from
its moments alone, and judged on its validation rows (``validation``). Nothing of a validation row
enters the choice of columns.
"""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
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

# Tables in memory with more columns than this are wide: H of every fold would fill the memory. So
# are those with fewer rows than columns, which are smaller than H.
_WIDE = 1500
# Ridges of logistic coefficients: enough for a list that is long for the rows, to next to none.
_LOGISTIC_RIDGES = (0.05, 0.005, 0.0005, 0.00005)
# Numbers in a table from which on several threads of BLAS are worth their while.
_LARGE = 2**25


class CrossValidation:
    """All models of every split, fitted and judged on its validation rows.

    ``ks`` and ``alphas`` ascend; ``ks`` may be one and the same where budgets ascend. Logistic
    coefficients may be tried too, if the columns used fit into memory. ``n_jobs`` training sets are
    searched at the same time, in threads; the answer does not depend on it.
    """

    def __init__(
        self,
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
    ) -> None:
        self._positive, self._plan, self._restrictions = positive, plan, restrictions
        self._ks, self._alphas = ks, alphas
        chunks: Chunks = table if isinstance(table, Chunks) else chunks_in_memory(table)
        training, self.moments = training_moments(table, chunks, positive, plan)
        gathered = self.moments.gathered
        # Where H takes passes over the rows, those for the final fit are made along.
        read_again = gathered is not None and not gathered.whole
        fitted = [*training, self.moments] if read_again else training
        run = self._parallel = Parallel(n_jobs=n_jobs, prefer="threads", verbose=verbose)
        # Small products are quicker on one thread: others would only wait for each other.
        small = chunks.shape[0] * chunks.shape[1] < _LARGE
        # The threads are kept, as there are several rounds.
        with run, threadpool_limits(1 if small else None, user_api="blas"):
            paths = find_paths(run, fitted, ks, alphas, restrictions, n_thorough=int(read_again))
            self._path = paths[-1] if read_again else None
            self._models = [Models.from_path(*each) for each in zip(paths, training, strict=False)]
            kept = np.unique(np.concatenate([path.matrix()[0] for path in paths]))
            if table is chunks and KeptColumns.fit(chunks, kept.size):
                chunks = KeptColumns(chunks, kept)
            self._chunks = chunks
            # Rows that lie elsewhere are judged there.
            n_threads = run.n_jobs if isinstance(chunks, SequentialChunks) else 1
            found, self.auc_error = validate(chunks, positive, plan, self._models, n_threads)
            # Of shape (n_splits, n_alphas, n_ks).
            self.aucs = np.reshape(found, (len(training), alphas.size, ks.size))
            # Index of the best at each k; from the largest ridge down, so that it is the largest
            # of equals.
            best = np.argmax(self.aucs.mean(axis=0)[::-1], axis=0)
            self.best_alphas: Indices = alphas.size - 1 - best
            # AUCs of logistic coefficients on the lists of each k, (n_splits, n_ks), and ridges.
            self.logistic_aucs: Array | None = None
            self.logistic_ridges: Array | None = None
            if not logistic:
                return
            lists = [
                [path.solutions[a][i].support for i, a in enumerate(self.best_alphas.tolist())]
                for path in paths[: len(training)]
            ]
            used = np.unique(np.concatenate([columns for some in lists for columns in some]))
            values = chunks.take(np.arange(positive.size), used)
            refitted = self._logistic_models = run(
                delayed(_with_logistic_coefficients)(
                    values, used, positive, plan.training_weights(split), plan.strata, lists[split],
                    moments, restrictions,
                )
                for split, moments in enumerate(training)
            )  # fmt: skip
            found = validate(chunks, positive, plan, refitted, n_threads)[0]
            by_ridge = np.reshape(found, (len(training), len(_LOGISTIC_RIDGES), ks.size))
            self._best_ridges = np.argmax(by_ridge.mean(axis=0), axis=0)
            self.logistic_aucs = by_ridge[:, self._best_ridges, np.arange(ks.size)]
            self.logistic_ridges = np.array(_LOGISTIC_RIDGES)[self._best_ridges]

    def path_at(self, at_alpha: int) -> SparseAUCPath:
        """The path on all rows at one of the ridges, by its index."""
        alphas = self._alphas[[at_alpha]]
        if self._path is not None:
            return replace(self._path, alphas=alphas, solutions=[self._path.solutions[at_alpha]])
        return find_paths(self._parallel, [self.moments], self._ks, alphas, self._restrictions)[0]

    def out_of_fold(self, at_alpha: int | None, at_k: int) -> Array:
        """Scores of all rows, each by the models that were fitted without it.

        At an index of alpha, None for logistic coefficients, and of k.
        """
        models, at = self._models, at_alpha
        if at is None:
            models, at = self._logistic_models, int(self._best_ridges[at_k])
        used, chosen = narrow([model.only(at * self._ks.size + at_k) for model in models])
        scores = self._chunks.run(OutOfFold(chosen), *self._plan.rounds, columns=used)
        return np.concatenate(scores)

    def logistic_coef(self, columns: Indices, ridge: float) -> Array:
        """Logistic coefficients on some columns, with a ridge, fitted to all rows."""
        n, plan = self._positive.size, self._plan
        values = self._chunks.take(np.arange(n), columns)
        weight = np.ones(n) if plan.weight is None else plan.weight
        return _with_logistic_coefficients(
            values, columns, self._positive, weight, plan.strata, [columns], self.moments,
            self._restrictions, [ridge],
        ).values  # fmt: skip


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
    n, d = chunks.shape
    wide = d > _WIDE or d >= n
    if strata is not None:
        n_parts = sum(partition.n_parts for partition in plan.partitions)
        wide |= not fits_whole(d, n_parts * len(strata))
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
