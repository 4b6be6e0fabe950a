"""Lists of single columns.

minimise F(w) + alpha‖w‖²   subject to   ‖w‖₀ ≤ k, and what restrictions allow
"""

from __future__ import annotations

import numpy as np

from ..moments.base import StandardisedGram
from ..utils.types import Array, Indices, Mask
from .exchange import Solution
from .outside import relative_gains
from .restrictions import Restrictions
from .working_set import ListSearch, by_better_rank

# Columns that differ by no more than this, on the standardised scale, are equal.
EQUAL = 1e-12
# Columns of the working set at first.
FIRST = 300


def exchange_path(
    gram: StandardisedGram,
    k_max: int,
    alpha: float = 0.0,
    restrictions: Restrictions | None = None,
    *,
    first: int = FIRST,
    thorough: bool = True,
) -> list[Solution]:
    """Best supports of every size up to ``k_max``, each such that no single exchange improves it.

    Parameters
    ----------
    gram : StandardisedGram
        The data.
    k_max : int
        Largest number of columns.
    alpha : float, default=0.0
        Ridge, on the standardised scale.
    restrictions : Restrictions, optional
        Without groups. A fixed column that is constant, or without a ridge depends
        linearly on those before it, adds nothing and takes no place: its coefficient is
        0. One whose sign holds it at 0 takes its place.
    first : int
        Columns of the working set at first.
    thorough : bool, default=True
        Whether to search on where single exchanges end. This finds lower objectives in
        about twice the time; the AUC of new rows stays the same.

    Returns
    -------
    list of Solution
        One for each k, from the number of fixed columns to ``k_max``; shorter when
        fewer columns carry everything there is to explain, all others depend on them,
        or signs or the budget let no other join.
    """
    restrictions = restrictions or Restrictions()
    return ColumnSearch(gram, alpha, restrictions, first=first, thorough=thorough).path(
        k_max
    )


class ColumnSearch(ListSearch):
    """The search for one ridge and budget among single columns.

    Parameters
    ----------
    gram, alpha, restrictions, first, thorough
        As for ``exchange_path``.
    """

    def __init__(
        self,
        gram: StandardisedGram,
        alpha: float,
        restrictions: Restrictions,
        *,
        first: int = FIRST,
        thorough: bool = True,
    ) -> None:
        fixed, excluded = restrictions.masks(gram.n_features)
        usable = (
            (gram.diagonal > 0)
            & ~excluded
            & restrictions.within_budget(gram.n_features)
        )
        super().__init__(
            _rank_columns(gram, alpha, fixed, usable, restrictions),
            fixed,
            np.ones(fixed.size, np.int64),
            gram,
            alpha,
            restrictions,
            first=first,
            thorough=thorough,
        )
        self._usable = usable

    def _columns_of(self, units: Indices) -> Indices:
        return units

    def _gains_outside(self, lists: list[Indices]) -> Array:
        return relative_gains(
            self._gram,
            lists,
            self._alpha,
            self._fixed,
            self._usable & ~self._is_working,
            self._restrictions.kernel_limits(np.arange(self._usable.size)),
            joins=self._exhausted,
        )

    def _solve(self, lists: list[Indices]) -> list[Solution]:
        supports = replace_by_first_of_equals(
            self._gram,
            lists,
            self._usable,
            self._fixed,
            self._is_working,
            self._restrictions,
        )
        signs_of = self._restrictions.signs_of
        return [self._solve_on(support, signs_of(support)) for support in supports]


def _rank_columns(
    gram: StandardisedGram,
    alpha: float,
    fixed: Mask,
    usable: Mask,
    restrictions: Restrictions,
) -> Indices:
    """Columns by what each explains alone, fixed ones first; none that is not usable.

    With a budget, by the better of two ranks: that by gain, and that by gain per cost.
    """
    gain = np.full(gram.n_features, -1.0)
    np.divide(gram.delta**2, gram.diagonal + alpha, out=gain, where=usable)
    if restrictions.signs is not None:
        gain[usable & (restrictions.signs * gram.delta > 0)] = 0.0
    if restrictions.costs is not None:
        gain = by_better_rank(gain, restrictions.costs)
        gain[~usable] = -np.inf
    gain[fixed] = np.inf
    return np.argsort(-gain, kind="stable")[: np.count_nonzero(usable | fixed)]


def replace_by_first_of_equals(
    gram: StandardisedGram,
    supports: list[Indices],
    usable: Mask,
    fixed: Mask,
    is_working: Mask,
    restrictions: Restrictions,
) -> list[Indices]:
    """Put the first of equal columns in place of the one found; with a budget, the cheapest.

    Parameters
    ----------
    gram : StandardisedGram
    supports : list of ndarrays of int64
    usable, fixed, is_working : bool ndarrays of shape (d,)
        Columns that can be chosen, those that stay, and those of the working set.
    restrictions : Restrictions
    """
    asked = np.unique(np.concatenate(supports))
    equals = _columns_alike(gram, asked[usable[asked] & ~fixed[asked]], usable)
    if not equals:
        return supports
    outside = [
        column for column, twins in equals.items() if not is_working[twins].all()
    ]
    gram.fetch(np.array(outside, np.int64))
    for column, twins in equals.items():
        place = np.array([column])
        rows = (
            gram.part(place, twins)
            if column in outside
            else gram.kept_block(place, twins)
        )
        # What is turned round serves as well, where its sign is turned round too.
        own = twins == column
        same = (np.abs(rows[0]) >= gram.diagonal[column] - EQUAL) | own
        signs = restrictions.signs_of(twins)
        families = restrictions.families_of(twins)
        same &= signs * np.sign(rows[0]) == signs[own]
        # Not one of another family, of which there may be enough.
        same &= families == families[own]
        equals[column] = twins[same]
    return [_first_of(equals, support, restrictions) for support in supports]


def _columns_alike(
    gram: StandardisedGram, asked: Indices, usable: Mask
) -> dict[int, Indices]:
    """Usable columns with the same δ and diagonal as some that are asked, where there are any."""
    size: Array = np.abs(gram.delta)
    by_size = np.argsort(size)
    first = np.searchsorted(size[by_size], size[asked] - EQUAL)
    end = np.searchsorted(size[by_size], size[asked] + EQUAL)
    alike: dict[int, Indices] = {}
    for at in np.flatnonzero(end - first > 1).tolist():
        column = int(asked[at])
        twins = np.sort(by_size[first[at] : end[at]])
        twins = twins[np.abs(gram.diagonal[twins] - gram.diagonal[column]) <= EQUAL]
        twins = twins[usable[twins]]
        if twins.size > 1:
            alike[column] = twins
    return alike


def _first_of(
    equals: dict[int, Indices], support: Indices, restrictions: Restrictions
) -> Indices:
    """Put the first of equal columns, or the cheapest, in place of each column of a support."""
    chosen = support.tolist()
    for column in [j for j in chosen if j in equals]:
        others = np.array([j for j in chosen if j != column], np.int64)
        twins = np.setdiff1d(equals[column], others)
        costs = restrictions.extra_costs(np.union1d(others, restrictions.fixed), twins)
        twins = twins[costs == costs.min()]
        chosen[chosen.index(column)] = int(twins[0])
    return np.array(sorted(chosen), np.int64)
