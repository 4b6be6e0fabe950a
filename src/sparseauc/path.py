"""Paths: the best columns of every number k, for several ridges."""

import functools
import itertools
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from threadpoolctl import ThreadpoolController

from .columns.units import Units
from .errors import InputError
from .limits import Limits
from .moments import class_moments
from .moments.base import Quadratic, StandardisedGram
from .moments.chunked import GatheredMoments, NotGathered
from .solvers.exchange import Solution
from .solvers.exchange_columns import ColumnSearch
from .solvers.exchange_groups import Groups, GroupSearch
from .solvers.restrictions import Restrictions
from .strata import Weighting
from .utils.types import Array, Indices

# Called with the stage of a search, its steps done and their number.
Progress = Callable[[str, int, int], None]


def count_steps(
    progress: Progress | None, stage: str, total: int
) -> Callable[[], None]:
    """Report that none of the steps of a stage is done; return what reports one more."""
    if progress is None:
        return lambda: None
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
        ``solutions[a][i]`` for ``alphas[a]`` and ``ks[i]``, on the standardised scale.
        Where fewer than k columns carry everything there is to explain, the support is
        smaller than k.
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
        return coef_of(self._solution(k, alpha, budget), self.scale)

    @property
    def columns(self) -> Indices:
        """Columns on any of the lists, ascending."""
        return np.unique(
            np.concatenate([one.support for row in self.solutions for one in row])
        )

    def of_units(self, units: Units) -> Self:
        """Put columns of the table in place of those of their bases."""
        scale = units.leading(self.scale)

        def of_columns(solution: Solution) -> Solution:
            chosen = units.chosen(coef_of(solution, self.scale))
            support = np.array(list(chosen), np.int64)
            leading = np.array([one.leading_coef for one in chosen.values()])
            return Solution(support, leading * scale[support], solution.objective)

        solutions = [[of_columns(one) for one in row] for row in self.solutions]
        return replace(self, scale=scale, solutions=solutions)

    def _solution(self, k: int, alpha: float, budget: float | None) -> Solution:
        at = self.ks == k
        at_alpha = np.flatnonzero(self.alphas == alpha)
        if budget is not None and self.budgets is not None:
            at &= self.budgets == budget
        if np.count_nonzero(at) > 1:
            raise KeyError(f"there are several lists of k={k}: say of which budget")
        if not at.any() or at_alpha.size == 0:
            wanted = f"k={k}, alpha={alpha}" + (
                "" if budget is None else f", budget={budget}"
            )
            raise KeyError(f"{wanted} is not on the path: see ks, alphas and budgets")
        return self.solutions[int(at_alpha[0])][int(np.argmax(at))]


def coef_of(solution: Solution, scale: Array) -> Array:
    """Coefficients of all columns on the original scale."""
    coef = np.zeros(scale.size)
    coef[solution.support] = solution.coef / scale[solution.support]
    return coef


def _search_path(
    quadratic: Quadratic,
    ks: Indices,
    alphas: Array,
    restrictions: Restrictions,
    *,
    thorough: bool,
) -> Generator[GatheredMoments, None, SparseAUCPath]:
    """Search for a path; yield the source of H whenever it must gather more to go on.

    What was found and what was computed of H is kept meanwhile.
    """
    gram = StandardisedGram(quadratic)
    groups: Groups | None = None
    budgets = restrictions.budgets
    each = [np.inf] * ks.size if budgets is None else budgets.tolist()
    # Each budget on its own: a list does not depend on what else is asked for.
    wanted = list(itertools.product(alphas.tolist(), dict.fromkeys(each)))
    searches: dict[tuple[float, float], ColumnSearch | GroupSearch] = {}
    found: dict[tuple[float, float], list[Solution]] = {}
    while len(found) < len(wanted):
        source = None
        for alpha, budget in wanted:
            if (alpha, budget) in found:
                continue
            try:
                if restrictions.groups is None:
                    limits = restrictions.at_budget(budget)
                    search = searches.get((alpha, budget)) or ColumnSearch(
                        gram, alpha, limits, thorough=thorough
                    )
                else:
                    groups = groups or Groups(gram, restrictions)
                    limits = groups.restrictions.at_budget(budget)
                    search = searches.get((alpha, budget)) or GroupSearch(
                        gram, alpha, limits, groups, thorough=thorough
                    )
                searches[alpha, budget] = search
                lists = search.path(int(ks[-1]))
            except NotGathered as more:
                source = more.source
                continue
            del searches[alpha, budget]
            # Beyond the last list found, more columns explain nothing more.
            places = np.clip(ks - search.lowest, 0, len(lists) - 1)
            found[alpha, budget] = [lists[place] for place in places.tolist()]
        if source is not None:
            yield source
    solutions = [
        [found[alpha, budget][at] for at, budget in enumerate(each)]
        for alpha in alphas.tolist()
    ]
    return SparseAUCPath(ks, alphas, gram.scale, solutions, budgets)


@functools.cache
def blas_threads() -> ThreadpoolController:
    """Return what limits the threads of BLAS; looking for its libraries takes as long as a path."""
    return ThreadpoolController()


def find_paths(
    run: Parallel,
    training: Sequence[Quadratic],
    ks: Indices,
    alphas: Array,
    restrictions: Restrictions,
    *,
    n_thorough: int = 1,
    progress: Progress | None = None,
) -> list[SparseAUCPath]:
    """Find the paths of several training sets, gathering at once what all of them lack of H.

    Only the last ``n_thorough`` are searched thoroughly: elsewhere it buys no AUC.
    """
    step = count_steps(progress, "Choosing columns", len(training))
    # Where only small products are left, several threads would get in each other's way.
    small = not any(quadratic.sums_rows for quadratic in training)
    paths: dict[int, SparseAUCPath] = {}

    def search(number: int, quadratic: Quadratic) -> Iterator[GatheredMoments]:
        thorough = number >= len(training) - n_thorough
        paths[number] = yield from _search_path(
            quadratic, ks, alphas, restrictions, thorough=thorough
        )
        step()

    searches = list(itertools.starmap(search, enumerate(training)))
    while searches:
        with blas_threads().limit(limits=1 if small else None, user_api="blas"):
            # None of a finished search, which keeps nothing of what it computed.
            lacking = run(delayed(next)(one, None) for one in searches)
        each = zip(searches, lacking, strict=True)
        searches = [one for one, source in each if source is not None]
        for source in {one for one in lacking if one is not None}:
            source.gather(single=restrictions.groups is None)
    return [paths[number] for number in range(len(training))]


def path_of_moments(
    moments: Quadratic,
    ks: Indices,
    alphas: Array,
    restrictions: Restrictions,
    *,
    thorough: bool = False,
) -> SparseAUCPath:
    """Find the path of one quadratic."""
    (path,) = find_paths(
        Parallel(require="sharedmem"),
        [moments],
        ks,
        alphas,
        restrictions,
        n_thorough=int(thorough),
    )
    return path


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

    For each k and ridge minimises F(w) + alpha‖w‖² over w with at most k non-zeros,
    columns divided by their deviations; no single exchange of columns, or of whole
    groups of columns, improves any of the supports returned.

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
        Limits on the lists, with columns by index. With several budgets the path runs
        over these, and lists have at most the largest of ``ks`` columns.
    thorough : bool, default=True
        Whether to search on where single exchanges end, as
        :class:`~sparseauc.SparseAUCClassifier` does. This finds lower objectives in
        about twice the time; the AUC of new rows stays the same.

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
    moments = class_moments(
        X, y, sample_weight, strata=strata, stratum_weights=stratum_weights
    )
    moments.check_both_classes()
    d = moments.n_features
    restrictions = (Limits() if limits is None else limits).resolve(d)
    if ks is None:
        counted = restrictions.fixed, np.arange(d), restrictions.excluded
        least, most, off = map(restrictions.count, counted)
        ks = np.arange(max(1, least), min(50, most - off) + 1)
    sizes = whole_numbers(ks, "ks")
    check_lengths(sizes, d, restrictions)
    sizes, restrictions = spread_budgets(sizes, restrictions)
    ridges = check_ridges(alphas)
    return path_of_moments(moments, sizes, ridges, restrictions, thorough=thorough)


def check_ridges(alphas: npt.ArrayLike) -> Array:
    """Return ridges as numbers."""
    ridges = np.atleast_1d(np.asarray(alphas, np.float64))
    if ridges.size == 0 or not (ridges.min() >= 0 and np.isfinite(ridges.max())):
        raise InputError(f"alphas must be finite numbers of 0 or more, got {alphas!r}")
    return ridges


def whole_numbers(values: npt.ArrayLike, name: str) -> Indices:
    """Return numbers ascending, each once; masks, fractions and text are refused, not converted."""
    numbers = np.atleast_1d(np.asarray(values))
    if numbers.size == 0:
        return np.empty(0, np.int64)
    if numbers.dtype.kind not in "iuf" or numbers.ndim != 1:
        raise InputError(
            f"{name} must be a list of whole numbers, got {numbers.dtype} of shape {numbers.shape}"
        )
    fractions = numbers[~(numbers % 1 == 0)]
    if fractions.size:
        raise InputError(f"{name} holds {fractions[0]}, which is no whole number")
    return np.unique(numbers.astype(np.int64))


def check_lengths(ks: Indices, d: int, restrictions: Restrictions) -> None:
    """Refuse lengths of lists that contradict the columns there are."""
    n_fixed = restrictions.count(restrictions.fixed)
    available = restrictions.count(np.arange(d)) - restrictions.count(
        restrictions.excluded
    )
    if ks.size == 0 or ks[0] < 1:
        raise InputError(f"ks must be numbers of 1 or more, got {ks.tolist()}")
    if ks[0] < n_fixed:
        raise InputError(
            f"k={ks[0]} is less than the {n_fixed} columns always included"
        )
    if ks[-1] > available:
        raise InputError(f"k={ks[-1]} is more than the {available} columns there are")


def spread_budgets(
    ks: Indices, restrictions: Restrictions
) -> tuple[Indices, Restrictions]:
    """Give each length its budget; along several budgets all lists have the largest length."""
    budgets = restrictions.budgets
    if budgets is None:
        return ks, restrictions
    if budgets.size > 1:
        ks = ks[-1:]
    ks, budgets = np.broadcast_arrays(ks, budgets)
    return ks, replace(restrictions, budgets=budgets)


@dataclass(frozen=True, eq=False)
class ChosenList:
    """A list of columns, fitted to a quadratic.

    Attributes
    ----------
    coef : ndarray of shape (d,)
        Of all columns, on the original scale.
    objective : float
        Loss of coefficients of least loss on the same columns.
    quadratic : Quadratic
    scale : ndarray of shape (d,)
        Deviations by which columns were divided.
    restrictions : Restrictions
        Limits of the list, without required columns that can have no coefficient.
    """

    coef: npt.NDArray[Any]
    objective: float
    quadratic: Quadratic
    scale: Array
    restrictions: Restrictions

    @classmethod
    def of_solution(
        cls,
        solution: Solution,
        quadratic: Quadratic,
        scale: Array,
        restrictions: Restrictions,
        dtype: Any,
    ) -> Self:
        """Bring a solution to the original scale."""
        coef = coef_of(solution, scale).astype(dtype, copy=False)
        # Coefficients too large for their type are refused where they are set.
        with np.errstate(over="ignore", invalid="ignore"):
            objective = quadratic.loss(coef)
        return cls(coef, objective, quadratic, scale, restrictions)


def choose_list(
    quadratic: Quadratic,
    k: int,
    alpha: float,
    restrictions: Restrictions,
    dtype: Any,
) -> ChosenList:
    """Choose k columns and their coefficients by a quadratic."""
    ks = np.array([k])
    alphas = np.array([float(alpha)])
    while True:
        path = path_of_moments(quadratic, ks, alphas, restrictions, thorough=True)
        solution = path.solutions[0][0]
        lost = restrictions.lost(solution.support, solution.coef)
        if lost.size == 0:
            return ChosenList.of_solution(
                solution, quadratic, path.scale, restrictions, dtype
            )
        restrictions = restrictions.without_fixed(lost)
