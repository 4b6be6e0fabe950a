"""All k in one go: the best columns of every number, for several ridges."""

import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from threadpoolctl import ThreadpoolController

from ..errors import InputError
from ..labels import Weighting
from ..limits import Limits
from ..moments import class_moments
from ..moments.base import HCache, NotGathered, Quadratic, StandardisedGram
from ..solvers.exchange import Solution
from ..solvers.exchange_groups import Groups, GroupSearch
from ..solvers.restrictions import Restrictions
from ..solvers.working_set import ExchangeSearch, ListSearch
from ..utils.types import Array, Indices

# Ridges tried by default where there are more rows than columns, on the standardised scale, where
# the diagonal of H is about 2: from next to none to so much that the largest differences of means
# are chosen one by one. Steps of a hundred lose nothing to finer ones.
DEFAULT_ALPHAS = (0.01, 1.0, 100.0)
# Elsewhere, where correlated columns need small ridges and few rows large ones.
WIDE_ALPHAS = (0.01, 0.1, 10.0, 1000.0)

# Called with the stage of a search, its steps done and their number.
Progress = Callable[[str, int, int], None]
listener: ContextVar[Progress | None] = ContextVar("listener", default=None)


@contextmanager
def steps_reported(progress: Progress) -> Iterator[None]:
    """Report the steps of searches to a function: training sets searched, and refitted."""
    token = listener.set(progress)
    try:
        yield
    finally:
        listener.reset(token)


def begin_stage(progress: Progress, stage: str, total: int) -> Callable[[], None]:
    """Report that none of the steps of a stage is done; return what reports one more."""
    numbers = itertools.count(1)
    progress(stage, 0, total)
    return lambda: progress(stage, next(numbers), total)


@dataclass(frozen=True)
class SparseAUCPath:
    """Supports and coefficients for every k and ridge.

    Attributes
    ----------
    ks : ndarray of shape (n_ks,)
    alphas : ndarray of shape (n_alphas,)
    scale : ndarray of shape (d,)
        Deviations by which columns were divided.
    solutions : list of lists of Solution
        ``solutions[a][i]`` for ``alphas[a]`` and ``ks[i]``, on the standardised scale. Where fewer
        than k columns carry everything there is to explain, the support is smaller than k.
    budgets : ndarray of shape (n_ks,), optional
        What the list of each point may cost, beside having at most ``ks[i]`` columns.
    """

    ks: Indices
    alphas: Array
    scale: Array
    solutions: list[list[Solution]]
    budgets: Array | None = None

    @property
    def objectives(self) -> Array:
        """F(w) + alpha‖w‖², of shape (n_alphas, n_ks)."""
        return np.array([[s.objective for s in row] for row in self.solutions])

    def support(self, k: int, alpha: float, budget: float | None = None) -> Indices:
        """Columns chosen for k and a ridge, and a budget on a path with several, ascending."""
        return self._solution(k, alpha, budget).support

    def coef(self, k: int, alpha: float, budget: float | None = None) -> Array:
        """Coefficients of all columns on the original scale."""
        return self.coef_of(self._solution(k, alpha, budget))

    def coef_of(self, solution: Solution) -> Array:
        """Coefficients of all columns on the original scale, of one of the solutions."""
        coef = np.zeros(self.scale.size)
        coef[solution.support] = solution.coef / self.scale[solution.support]
        return coef

    def matrix(self) -> tuple[Indices, Array]:
        """Columns used by any model, and their original-scale coefficients, (used, models).

        Models are ordered by ridge, then by k, so that ``X[:, used] @ coefficients`` scores rows
        with all of them at once.
        """
        flat = [solution for row in self.solutions for solution in row]
        used = np.unique(np.concatenate([solution.support for solution in flat]))
        coefficients = np.zeros((used.size, len(flat)))
        for model, solution in enumerate(flat):
            place = np.searchsorted(used, solution.support)
            coefficients[place, model] = solution.coef / self.scale[solution.support]
        return used, coefficients

    def _solution(self, k: int, alpha: float, budget: float | None) -> Solution:
        at, at_alpha = self.ks == k, np.flatnonzero(self.alphas == alpha)
        if budget is not None and self.budgets is not None:
            at &= self.budgets == budget
        if np.count_nonzero(at) > 1:
            raise KeyError(f"there are several lists of k={k}: say of which budget")
        if not at.any() or at_alpha.size == 0:
            wanted = f"k={k}, alpha={alpha}" + ("" if budget is None else f", budget={budget}")
            raise KeyError(f"{wanted} is not on the path: see ks, alphas and budgets")
        return self.solutions[int(at_alpha[0])][int(np.argmax(at))]


class PathSearch:
    """The search for the path of one set of moments, ridge by ridge.

    What was found and what was computed of H is kept, so that the search goes on where parts of H
    were missing.
    """

    def __init__(
        self, moments: Quadratic, ks: Indices, restrictions: Restrictions, *, thorough: bool
    ) -> None:
        self._ks, self._restrictions, self._thorough = ks, restrictions, thorough
        self._gram = StandardisedGram(moments)
        self._cache = HCache(self._gram)
        self._groups: Groups | None = None
        # What the list of each point may cost.
        self._budgets = [np.inf] * ks.size
        if restrictions.budgets is not None:
            self._budgets = restrictions.cost_limits(ks.size)
        self._searches: dict[tuple[float, float], ListSearch] = {}
        self._found: dict[float, list[Solution]] = {}
        self.missing: NotGathered | None = None

    def run(self, alphas: Array) -> "SparseAUCPath | PathSearch":
        """Find the path; the search itself, to be run again, where parts of H are ``missing``."""
        self.missing = None
        for alpha in [one for one in alphas.tolist() if one not in self._found]:
            try:
                if self._restrictions.groups is not None and self._groups is None:
                    self._groups = Groups(self._gram, self._restrictions)
                paths: dict[float, tuple[list[Solution], int]] = {}
                # Each budget on its own: a list does not depend on what else is asked for.
                for budget in dict.fromkeys(self._budgets):
                    if (alpha, budget) not in self._searches:
                        start: Any = partial(ExchangeSearch, restrictions=self._restrictions)
                        if self._groups is not None:
                            start = partial(GroupSearch, groups=self._groups)
                        self._searches[alpha, budget] = start(
                            self._gram, alpha, cache=self._cache, budget=budget,
                            thorough=self._thorough,
                        )  # fmt: skip
                    search = self._searches[alpha, budget]
                    paths[budget] = search.path(int(self._ks[-1])), search.lowest
                for budget in paths:
                    del self._searches[alpha, budget]
                # Beyond the last list found, more columns explain nothing more.
                self._found[alpha] = [
                    path[min(max(k - lowest, 0), len(path) - 1)]
                    for k, budget in zip(self._ks.tolist(), self._budgets, strict=True)
                    for path, lowest in [paths[budget]]
                ]
            except NotGathered as more:
                self.missing = more if self.missing is None else self.missing | more
        if self.missing is not None:
            return self
        solutions = [self._found[alpha] for alpha in alphas.tolist()]
        budgets = self._restrictions.budgets
        return SparseAUCPath(self._ks, alphas, self._gram.scale, solutions, budgets)


def path_of_moments(
    moments: Quadratic,
    ks: Indices,
    alphas: Array,
    restrictions: Restrictions,
    *,
    thorough: bool = False,
) -> SparseAUCPath:
    """Compute the path from moments that have all of H."""
    found = PathSearch(moments, ks, restrictions, thorough=thorough).run(alphas)
    if isinstance(found, PathSearch):
        assert found.missing is not None
        raise found.missing
    return found


@functools.cache
def blas_threads() -> ThreadpoolController:
    """What limits the threads of BLAS; to look for its libraries takes as long as a path."""
    return ThreadpoolController()


def find_paths(
    run: Parallel,
    training: Sequence[Quadratic],
    ks: Indices,
    alphas: Array,
    restrictions: Restrictions,
    *,
    n_thorough: int = 1,
    one_thread: bool = False,
) -> list[SparseAUCPath]:
    """Find the paths of several training sets, gathering at once what all of them lack of H.

    Only the last ``n_thorough`` are searched thoroughly: elsewhere it buys no AUC. ``one_thread``:
    where only small products are left, several threads of BLAS would get in each other's way.
    """
    first_thorough = len(training) - n_thorough
    # One after the other, as a search keeps what it computed of H.
    searches: Iterable[PathSearch] = (
        PathSearch(moments, ks, restrictions, thorough=number >= first_thorough)
        for number, moments in enumerate(training)
    )
    unfinished = list(range(len(training)))
    paths: dict[int, SparseAUCPath] = {}
    run_search: Callable[..., SparseAUCPath | PathSearch] = PathSearch.run
    if (progress := listener.get()) is not None:
        step = begin_stage(progress, "Choosing columns", len(training))
        run_search = partial(_run_and_report, step)
    while unfinished:
        with blas_threads().limit(limits=1 if one_thread else None, user_api="blas"):
            results = run(delayed(run_search)(search, alphas) for search in searches)
        found = dict(zip(unfinished, results, strict=True))
        paths |= {at: one for at, one in found.items() if isinstance(one, SparseAUCPath)}
        searches = [one for one in found.values() if isinstance(one, PathSearch)]
        unfinished = [at for at in unfinished if at not in paths]
        lacking = [search.missing for search in searches if search.missing is not None]
        if lacking:
            functools.reduce(operator.or_, lacking).gather(single=restrictions.groups is None)
    return [paths[number] for number in range(len(training))]


def _run_and_report(
    step: Callable[[], None], search: PathSearch, alphas: Array
) -> SparseAUCPath | PathSearch:
    """Run a search and, if it found its path, report one more step."""
    found = search.run(alphas)
    if isinstance(found, SparseAUCPath):
        step()
    return found


def sparse_auc_path(
    X: Any,
    y: npt.ArrayLike,
    ks: npt.ArrayLike | None = None,
    alphas: npt.ArrayLike = (1.0,),
    *,
    sample_weight: npt.ArrayLike | None = None,
    strata: npt.ArrayLike | None = None,
    stratum_weights: Weighting = "pairs",
    limits: Limits | None = None,
    thorough: bool = True,
) -> SparseAUCPath:
    """Find the best k columns for AUC, for every k at once.

    For each k and ridge minimises F(w) + alpha‖w‖² over w with at most k non-zeros, columns divided
    by their deviations; no single exchange of columns, or of whole groups of columns, improves any
    of the supports returned.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d), float32 or float64
        Neither copied nor scaled.
    y : array-like of shape (n,)
        Positive where true or greater than zero.
    ks : array-like of int, optional
        Numbers of columns, of which a group counts as one; 1 … min(50, d) by default.
    alphas : array-like of float, default=(1.0,)
        Ridges, on the standardised scale.
    sample_weight : array-like of shape (n,), optional
    strata : array-like of shape (n,), optional
        Site, batch, donor or matched set of each row: only pairs of one stratum count.
    stratum_weights : {"pairs", "equal"}, default="pairs"
        Whether strata count by their number of pairs, or all the same.
    limits : Limits, optional
        Limits on the lists, with columns by index. With several budgets the path runs over these,
        and lists have at most the largest of ``ks`` columns.
    thorough : bool, default=True
        Whether to search on where single exchanges end, as
        :class:`~sparseauc.SparseAUCClassifier` does. This finds lower objectives in about twice
        the time; the AUC of new rows stays the same.

    Returns
    -------
    SparseAUCPath

    Examples
    --------
    >>> from sparseauc import sparse_auc_path
    >>> from sparseauc.datasets import make_outbreak
    >>> X, y = make_outbreak(n=2000, d=100, k=5, mu=1.0, random_state=0)
    >>> path = sparse_auc_path(X, y, ks=range(1, 11))
    >>> len(path.support(5, alpha=1.0))
    5
    """
    moments = class_moments(X, y, sample_weight, strata=strata, stratum_weights=stratum_weights)
    moments.check_both_classes()
    d = moments.n_features
    limits = Limits() if limits is None else limits
    budgets = limits.budgets
    restrictions = limits.restrict(d, budgets=budgets)
    if ks is None:
        counted = restrictions.fixed, np.arange(d), restrictions.excluded
        least, most, off = map(restrictions.count, counted)
        ks = np.arange(max(1, least), min(50, most - off) + 1)
    sizes = whole_numbers(ks, "ks")
    check_lengths(sizes, d, restrictions)
    if budgets is not None:
        if budgets.size > 1:
            sizes = sizes[-1:]
        sizes, budgets = np.broadcast_arrays(sizes, budgets)
        restrictions = replace(restrictions, budgets=budgets)
    ridges = np.atleast_1d(np.asarray(alphas, np.float64))
    if ridges.size == 0:
        raise InputError("alphas is empty: give at least one ridge")
    for alpha in ridges[~(ridges >= 0) | np.isinf(ridges)][:1]:
        raise InputError(f"alphas holds {alpha}: a ridge is a finite number of 0 or more")
    return path_of_moments(moments, sizes, ridges, restrictions, thorough=thorough)


def whole_numbers(values: npt.ArrayLike, name: str) -> Indices:
    """Return numbers ascending, each once; masks, fractions and text are refused, not converted."""
    numbers = np.atleast_1d(np.asarray(values))
    if numbers.size == 0:
        return np.empty(0, np.int64)
    if numbers.dtype.kind not in "iuf" or numbers.ndim != 1:
        raise InputError(
            f"{name} must be a list of whole numbers, got {numbers.dtype} of shape {numbers.shape}"
        )
    for number in numbers[~(numbers % 1 == 0)][:1]:
        raise InputError(f"{name} holds {number}, which is no whole number")
    return np.unique(numbers.astype(np.int64))


def check_lengths(ks: Indices, d: int, restrictions: Restrictions) -> None:
    """Refuse lengths of lists that contradict the columns there are."""
    n_fixed = restrictions.count(restrictions.fixed)
    available = restrictions.count(np.arange(d)) - restrictions.count(restrictions.excluded)
    if ks.size == 0 or ks[0] < 1:
        raise InputError(f"ks must be numbers of 1 or more, got {ks.tolist()}")
    if ks[0] < n_fixed:
        raise InputError(f"k={ks[0]} is less than the {n_fixed} columns always included")
    if ks[-1] > available:
        raise InputError(f"k={ks[-1]} is more than the {available} columns there are")
