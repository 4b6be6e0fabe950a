"""Lists of groups of columns that enter together, such as the columns of one category.

    minimise F(w) + alpha‖w‖²   subject to   supp(w) a union of at most k groups,
                                             whose costs come to at most a budget

The units of the search are groups; columns that depend on others take no part.
"""

import numpy as np
import scipy.linalg

from ..errors import InputError
from ..moments.base import Gram, HCache, NotGathered, StandardisedGram
from ..utils.types import Array, Indices, Mask
from .exchange import DEPENDENT, Solution, State, dependence_tolerance, make_state, solve_on
from .exchange.groups import gains_outside, split_list
from .exchange.limits import ExchangeLimits
from .outside import LEAST_EXPLAINED, NEARLY
from .restrictions import Restrictions
from .working_set import ListSearch, by_better_rank

# Columns of the working set at first: more than of single columns, as a check takes longer.
FIRST = 500


class Groups:
    """Columns by their groups, and what is asked of H before any search.

    Parameters
    ----------
    gram : StandardisedGram
    restrictions : Restrictions
        With groups, each of which counts as one.

    Attributes
    ----------
    order, starts : int64 ndarrays of shape (d,) and (n_groups + 1,)
        The columns, group by group, and where each group begins.
    fixed, usable : bool ndarrays of shape (n_groups,)
        Groups on every list, and groups that can be on one.
    costs : ndarray of shape (n_groups,)
    blocks, block_starts : ndarrays
        H of the columns of each group, one group after the other, and where each begins.
    """

    def __init__(self, gram: StandardisedGram, restrictions: Restrictions) -> None:
        labels = restrictions.groups
        assert labels is not None
        self.order = np.argsort(labels, kind="stable")
        sizes = np.bincount(labels)
        self.starts = _starts(sizes)
        fixed, excluded = restrictions.masks(labels.size)
        self.fixed, off = np.zeros((2, sizes.size), np.bool_)
        self.fixed[labels[fixed]] = off[labels[excluded]] = True
        self.usable: Mask = self.fixed | ~off
        costs = restrictions.costs
        self.costs = np.zeros(sizes.size) if costs is None else costs
        self.block_starts = _starts(sizes**2)
        self.blocks = np.zeros(self.block_starts[-1])
        missing = NotGathered()
        for number in np.flatnonzero(self.usable).tolist():
            own = self.columns(np.array([number]))
            try:
                block = gram.block(own, own).ravel()
            except NotGathered as more:
                missing |= more
            else:
                self.blocks[self.block_starts[number] : self.block_starts[number + 1]] = block
        if missing:  # all that is missing is asked for at once
            raise missing

    def columns(self, groups: Indices) -> Indices:
        """Columns of some groups, one group after the other."""
        parts = [self.order[self.starts[one] : self.starts[one + 1]] for one in groups.tolist()]
        return np.concatenate([self.order[:0], *parts])

    def ridged(self, alpha: float) -> Array:
        """The blocks, with a ridge."""
        blocks = self.blocks.copy()
        for first, size in zip(self.block_starts, np.diff(self.starts), strict=False):
            blocks[first : first + size**2 : size + 1] += alpha
        return blocks


class GroupSearch(ListSearch):
    """The search for one ridge and budget among groups of columns.

    Parameters
    ----------
    gram : StandardisedGram
    alpha : float
        Ridge, on the standardised scale.
    groups : Groups
    cache : HCache, optional
        What is known of H.
    budget : float
        What the groups of a list may cost together.
    first : int
        Columns of the working set at first.
    thorough : bool, default=True
        Whether to search on where single exchanges end.
    """

    def __init__(
        self,
        gram: StandardisedGram,
        alpha: float,
        groups: Groups,
        cache: HCache | None = None,
        *,
        budget: float = np.inf,
        first: int = FIRST,
        thorough: bool = True,
    ) -> None:
        self._groups, self._blocks = groups, groups.ridged(alpha)
        self._floor = dependence_tolerance(gram.precision) * (gram.diagonal + alpha)
        self._floor[gram.diagonal <= 0] = np.inf
        self._left = budget - groups.costs[groups.fixed].sum()
        usable = groups.usable & (groups.fixed | (groups.costs <= self._left))
        self._budget = budget
        super().__init__(
            np.flatnonzero(usable),
            groups.fixed,
            np.diff(groups.starts),
            gram,
            alpha,
            cache,
            first=first,
            thorough=thorough,
        )
        none = np.empty(0, np.int64)
        alone = self._gains_beside(none, self._ranked, none < 0, joins=True)[1]
        if budget < np.inf:
            alone = by_better_rank(alone, groups.costs[self._ranked])
        alone[groups.fixed[self._ranked]] = np.inf
        self._ranked = self._ranked[np.argsort(-alone, kind="stable")]

    def path(self, k_max: int) -> list[Solution]:
        """Solutions of all lengths up to ``k_max``, from the shortest on."""
        n_fixed = np.count_nonzero(self._fixed)
        if n_fixed > k_max:
            raise InputError(f"{n_fixed} groups are always included, more than k={k_max}")
        return super().path(k_max)

    def _columns_of(self, units: Indices) -> Indices:
        return self._groups.columns(units)

    def _make_state(self, ceiling: int) -> State:
        W, limits = self._W, None
        if self._budget < np.inf:
            none = np.zeros(W.size, np.int64)
            costs = np.where(self._fixed[W], 0.0, self._groups.costs[W])
            limits = ExchangeLimits.make(none, 1, none, costs, self._left)
        delta = self._gram.delta[self._columns]
        return make_state(
            Gram(delta, self._H), self._alpha, ceiling + 1, self._fixed[W],
            np.zeros(delta.size, np.bool_), limits, starts=_starts(self._sizes[W]),
        )  # fmt: skip

    def _gains_outside(self, lists: list[Indices]) -> Array:
        self._fetch(lists)
        gains = np.full(self._fixed.size, -np.inf)
        outside = np.setdiff1d(self._ranked, self._W)
        for number, units in enumerate(lists):
            free, joins = ~self._fixed[units], self._exhausted and number == len(lists) - 1
            varying = np.count_nonzero(self._gram.diagonal[self._columns_of(units)] > 0)
            if self._support(units).size == varying:
                explained, found = self._gains_beside(units, outside, free, joins=joins)
            else:  # columns that take no part may do so without another group
                explained, found = self._gains_beside(units, outside, free & False, joins=joins)
                for out in units[free]:
                    rest = units[units != out]
                    value, more = self._gains_beside(rest, outside, rest < 0, joins=True)
                    found = np.maximum(found, more + value - explained)
            if 1.0 - explained >= DEPENDENT:  # else nothing is left to explain
                found /= max(explained, LEAST_EXPLAINED)
                gains[outside] = np.maximum(gains[outside], found)
        return gains

    def _gains_beside(
        self, units: Indices, asked: Indices, leaving: Mask, *, joins: bool
    ) -> tuple[float, Array]:
        """What a list explains, and what each group asked gains where some of the list may leave.

        −infinity where its costs are too high. Where it ``joins``, none need leave.
        """
        groups, order, support = self._groups, self._groups.order, self._support(units)
        delta, rows = self._gram.delta, self._cache.part(support, order)
        M = np.linalg.inv(self._cache.part(support, support) + self._alpha * np.eye(support.size))
        w = -M @ delta[support]
        T = M @ rows
        place = np.empty(order.size, np.int64)
        place[order] = np.arange(order.size)
        *parts, losses = split_list(
            place[support], support.size, units, units.size, groups.starts, w, M, T
        )
        freed = np.append(np.where(self._fixed[units], 0.0, groups.costs[units]), 0.0)
        left = self._left - freed.sum() + freed
        losses, slopes = np.where(leaving, losses, np.inf), delta[order] + w @ rows
        looked_at = np.ones(asked.size, np.bool_)
        if not joins:  # single columns are screened, as in ``outside``
            h, explained = self._gram.diagonal[order] + self._alpha, np.einsum("pj,pj->j", T, rows)
            needed = np.sqrt(losses.min(initial=1.0)) * (np.sqrt(h) - np.sqrt(explained.clip(0)))
            near = (np.abs(slopes) > NEARLY * needed)[groups.starts[asked]]
            looked_at = near | (self._sizes[asked] > 1)
        found = np.full(asked.size, -np.inf)
        found[looked_at] = gains_outside(
            T, rows, slopes, self._blocks, groups.block_starts, groups.starts,
            asked[looked_at], self._floor[order], *parts, losses,
            groups.costs[asked[looked_at]] <= left[:, None], joins,
        )  # fmt: skip
        return float(-delta[support] @ w), found

    def _support(self, units: Indices) -> Indices:
        """Columns of groups, but for those that others before them explain."""
        columns = self._columns_of(units)
        block = self._cache.block(columns)
        return columns[independent(block + self._alpha * np.eye(columns.size), DEPENDENT)]

    def _solve(self, lists: list[Indices]) -> list[Solution]:
        path = []
        for units in lists:
            support = np.sort(self._support(units))
            delta = self._gram.delta[support]
            path.append(solve_on(self._cache.block(support), delta, support, self._alpha))
        return path


def _starts(sizes: Indices) -> Indices:
    """Where each of some parts begins, and where the last one ends."""
    return np.append(0, np.cumsum(sizes))


def independent(P: Array, tolerance: float) -> Indices:
    """Columns of a matrix that do not depend on those before them."""
    kept = np.flatnonzero(P.diagonal() > 0)
    least = tolerance * P.diagonal()
    while True:
        # The squares of the diagonal are what those before leave of each column.
        factor, failed = scipy.linalg.lapack.dpotrf(P[np.ix_(kept, kept)], lower=1)
        left = factor.diagonal()[: failed - 1 if failed else None] ** 2
        dependent = np.flatnonzero(left <= least[kept[: left.size]])
        if dependent.size == 0 and not failed:
            return np.asarray(kept, np.int64)
        kept = np.delete(kept, dependent[0] if dependent.size else failed - 1)
