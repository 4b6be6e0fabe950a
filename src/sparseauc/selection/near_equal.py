"""Other lists that are as good: all of them where that can be settled, else those found."""

import heapq
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_scalar

from ..errors import InputError
from ..solvers.near_optimal import supports_below
from ..utils.types import Array, Indices, Mask
from .fitted_list import FittedList

# Objectives, which are 1 without columns, are known this well.
_ROUNDING = 1e-10


@dataclass(frozen=True, eq=False)
class NearEqualLists:
    """Lists of the same length that are nearly as good as the best.

    Attributes
    ----------
    lists : list of tuples
        Names of the columns of each list, or their numbers. The best list comes first,
        then always the one that differs most from all before it.
    objectives : ndarray of shape (n_lists,)
        Loss with ridge of each.
    complete : bool
        True if these are all such lists; False if they are at least these.
    share : ndarray of shape (n_features,)
        Share of the lists that each column is in.
    names : ndarray of shape (n_features,)
    """

    lists: list[tuple[Any, ...]]
    objectives: Array = field(repr=False)
    complete: bool
    share: Array = field(repr=False)
    names: npt.NDArray[Any] = field(repr=False)

    @property
    def in_all(self) -> list[Any]:
        """Columns in every list."""
        return list(self.names[self.share == 1].tolist())

    @property
    def in_most(self) -> list[Any]:
        """Columns in more than half of the lists, though not in all."""
        return list(self.names[(self.share > 0.5) & (self.share < 1)].tolist())


def near_equal_lists(
    model: Any,
    X: Any,
    y: npt.ArrayLike,
    *,
    within: float = 0.01,
    most: int = 1000,
    operations: float = 5e9,
    sample_weight: npt.ArrayLike | None = None,
    strata: npt.ArrayLike | None = None,
) -> NearEqualLists:
    """Find lists of the same length whose objective is within a share of the best.

    Up to some hundred columns all lists are settled, by the search that proves
    certificates. Otherwise, and where there are more than ``most``, lists are found by
    exchanges of one column, or group, at a time, the best first.

    Parameters
    ----------
    model : SparseAUCClassifier, SparseConcordance, or one of these with CV
        Fitted. Columns that it must include are in all lists, and those that it
        excludes in none. Columns of a group are on a list together.
    X : array-like, sparse matrix or frame of shape (n, d)
        The rows of the fit.
    y : array-like of shape (n,)
    within : float, default=0.01
        Lists count whose loss with ridge is at most ``1 + within`` times the least
        found.
    most : int, default=1000
        Lists returned at most.
    operations : float, default=5e9
        Multiplications that settling all lists may take, which is a few seconds. A
        number of seconds would give other lists on another machine.
    sample_weight, strata : array-like of shape (n,), optional
        Those that the model was fitted with.

    Returns
    -------
    NearEqualLists

    Notes
    -----
    Lists whose columns depend on each other linearly are left out: shorter lists are as
    good.

    Examples
    --------
    >>> from sparseauc import SparseAUCClassifier, datasets, selection
    >>> X, y = datasets.make_outbreak(n=500, d=20, k=3, mu=1.0, r=0.2, random_state=0)
    >>> found = selection.near_equal_lists(SparseAUCClassifier(k=2).fit(X, y), X, y, within=0.1)
    >>> len(found.lists), found.complete
    (3, True)
    """
    check_scalar(within, "within", Real, min_val=0.0)
    if not np.isfinite(within):
        raise InputError(f"within == {within}, must be a finite number of 0 or more.")
    check_scalar(most, "most", Integral, min_val=1)
    check_scalar(operations, "operations", Real, min_val=0.0)
    fitted = FittedList.from_model(
        model, X, y, sample_weight=sample_weight, strata=strata
    )
    return lists_near(fitted, within, most, operations)


def lists_near(
    fitted: FittedList, within: float, most: int, operations: float
) -> NearEqualLists:
    """Find lists near a checked one; see :func:`near_equal_lists`."""
    start = fitted.solution(fitted.support).objective
    supports = _all_lists(fitted, start * (1 + within), most, operations)
    complete = supports is not None
    if supports is None:
        supports = _lists_by_exchanges(fitted, start, within, most)
    objectives = np.array([fitted.solution(support).objective for support in supports])
    near = np.flatnonzero(objectives <= objectives.min() * (1 + within) + _ROUNDING)
    members = np.zeros((near.size, fitted.names.size), np.bool_)
    for row, place in enumerate(near.tolist()):
        members[row, fitted.columns[fitted.in_basis(supports[place])]] = True
    order = _diverse_first(members, objectives[near])
    return NearEqualLists(
        [tuple(fitted.names[member].tolist()) for member in members[order]],
        objectives[near][order],
        complete,
        members.mean(axis=0),
        fitted.names,
    )


def _all_lists(
    fitted: FittedList, cutoff: float, most: int, operations: float
) -> list[Indices] | None:
    """All lists that reach a cutoff, None where that takes too long or there are more."""
    supports = supports_below(
        fitted.gram,
        fitted.support.size,
        fitted.alpha,
        fitted.restrictions,
        cutoff + _ROUNDING,
        most=most,
        operations=float(operations),
    )
    if supports is None:
        return None
    # None at all: even the best list has columns that depend on each other.
    return [support for support in supports if fitted.allows(support)] or None


def _lists_by_exchanges(
    fitted: FittedList, start: float, within: float, most: int
) -> list[Indices]:
    """Lists near the best one, from list to list by exchanges of one column, the best first."""
    best = start
    first = tuple(fitted.support.tolist())
    seen = {first}
    waiting = [(start, first)]
    done: list[Indices] = []
    while waiting and len(done) < most:
        objective, columns = heapq.heappop(waiting)
        if objective > best * (1 + within):
            break
        support = np.array(columns, np.int64)
        done.append(support)
        _, after = fitted.exchanges(support)
        best = min(best, float(after.min()))
        # No more than these can be among the best of all.
        first_few = np.argsort(after, axis=None, kind="stable")[:most]
        near = first_few[after.ravel()[first_few] <= best * (1 + within)]
        for place, j in np.column_stack(np.unravel_index(near, after.shape)).tolist():
            other = tuple(sorted([*columns[:place], *columns[place + 1 :], j]))
            if other not in seen:
                seen.add(other)
                heapq.heappush(waiting, (float(after[place, j]), other))
    return done


def _diverse_first(members: Mask, objectives: Array) -> Indices:
    """Order lists: the best, then always the one that differs most from all before it."""
    best_first = np.argsort(objectives, kind="stable")
    ordered = members[best_first].astype(np.float64)
    shared = np.full(best_first.size, -1.0)
    order: list[int] = []
    place = 0
    for _ in range(best_first.size):
        order.append(place)
        shared = np.maximum(shared, ordered @ ordered[place])
        shared[order] = np.inf
        place = int(np.argmin(shared))
    return best_first[order]
