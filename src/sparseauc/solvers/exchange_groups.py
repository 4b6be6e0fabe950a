"""Lists of groups of columns that enter together, such as the columns of one category.

    minimise F(w) + alpha‖w‖²   subject to   supp(w) a union of at most k groups,
                                             whose costs come to at most a budget

The units of the search are groups; columns that depend on others take no part.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from ..errors import InputError
from ..moments.base import StandardisedGram
from ..moments.chunked import NotGathered
from ..utils.types import Array, Indices, Mask
from .exchange import DEPENDENT, Solution, dependence_tolerance
from .exchange.groups import Leavers, gains_outside, split_list
from .outside import LEAST_EXPLAINED, NEARLY
from .restrictions import Restrictions
from .working_set import ListSearch, by_better_rank

# Columns of the working set at first: more than of single columns, as a check takes
# longer.
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
    labels, order : int64 ndarrays of shape (d,)
        Group of each column, and the columns, group by group.
    starts : int64 ndarray of shape (n_groups + 1,)
        Where each group begins.
    sizes : int64 ndarray of shape (n_groups,)
        Columns of each group.
    restrictions : Restrictions
        Of the groups.
    blocks, block_starts : ndarrays
        H of the columns of each group, one group after the other, and where each
        begins.
    """

    def __init__(self, gram: StandardisedGram, restrictions: Restrictions) -> None:
        labels = restrictions.groups
        assert labels is not None
        self.labels = labels
        self.order = np.argsort(labels, kind="stable")
        self.sizes = np.bincount(labels)
        self.starts = _offsets(self.sizes)
        self.restrictions = restrictions.of_units()
        self.block_starts = _offsets(self.sizes**2)
        self.blocks = np.zeros(self.block_starts[-1])
        missing: NotGathered | None = None
        for number in np.flatnonzero(
            ~self.restrictions.masks(self.sizes.size)[1]
        ).tolist():
            own = self.columns(np.array([number]))
            try:
                block = gram.block(own, own).ravel()
            except NotGathered as more:
                missing = more
            else:
                self.blocks[
                    self.block_starts[number] : self.block_starts[number + 1]
                ] = block
        if missing is not None:  # all that is missing is asked for at once
            raise missing

    def columns(self, groups: Indices) -> Indices:
        """Columns of some groups, one group after the other."""
        parts = [
            self.order[self.starts[one] : self.starts[one + 1]]
            for one in groups.tolist()
        ]
        return np.concatenate([self.order[:0], *parts])

    def ridged_blocks(self, alpha: float) -> Array:
        """The blocks, with a ridge."""
        blocks = self.blocks.copy()
        for first, size in zip(self.block_starts[:-1], self.sizes, strict=True):
            blocks[first : first + size**2 : size + 1] += alpha
        return blocks


class GroupSearch(ListSearch):
    """The search for one ridge and budget among groups of columns.

    Parameters
    ----------
    gram : StandardisedGram
    alpha : float
        Ridge, on the standardised scale.
    restrictions : Restrictions
        Of the groups.
    groups : Groups
    first : int
        Columns of the working set at first.
    thorough : bool, default=True
        Whether to search on where single exchanges end.
    """

    def __init__(
        self,
        gram: StandardisedGram,
        alpha: float,
        restrictions: Restrictions,
        groups: Groups,
        *,
        first: int = FIRST,
        thorough: bool = True,
    ) -> None:
        self._groups = groups
        self._blocks = groups.ridged_blocks(alpha)
        self._min_left = dependence_tolerance(gram.precision) * (gram.diagonal + alpha)
        self._min_left[gram.diagonal <= 0] = np.inf
        fixed, excluded = restrictions.masks(groups.sizes.size)
        super().__init__(
            np.flatnonzero(~excluded & restrictions.within_budget(fixed.size)),
            fixed,
            groups.sizes,
            gram,
            alpha,
            restrictions,
            first=first,
            thorough=thorough,
        )
        self._ranked = self._ranked[np.argsort(-self._gains_alone(), kind="stable")]

    def path(self, k_max: int) -> list[Solution]:
        """Solutions of all lengths up to ``k_max``, from the shortest on."""
        n_fixed = np.count_nonzero(self._fixed)
        if n_fixed > k_max:
            raise InputError(
                f"{n_fixed} groups are always included, more than k={k_max}"
            )
        return super().path(k_max)

    def _columns_of(self, units: Indices) -> Indices:
        return self._groups.columns(units)

    def _gains_alone(self) -> Array:
        """Gain of each ranked group alone, or minus its better rank where there is a budget.

        Infinity for those that are fixed.
        """
        nothing = np.empty(0, np.int64)
        nobody = np.empty(0, np.bool_)
        _, gains = self._gains_beside(nothing, self._ranked, nobody, joins=True)
        costs = self._restrictions.costs
        if costs is not None:
            gains = by_better_rank(gains, costs[self._ranked])
        gains[self._fixed[self._ranked]] = np.inf
        return gains

    def _gains_outside(self, lists: list[Indices]) -> Array:
        outside = np.setdiff1d(self._ranked, self._working_set)
        gains = np.full(self._fixed.size, -np.inf)
        for number, units in enumerate(lists):
            joins = self._exhausted and number == len(lists) - 1
            explained, found = self._gains_of_list(units, outside, joins=joins)
            if 1.0 - explained >= DEPENDENT:  # else nothing is left to explain
                share = found / max(explained, LEAST_EXPLAINED)
                gains[outside] = np.maximum(gains[outside], share)
        return gains

    def _gains_of_list(
        self, units: Indices, asked: Indices, *, joins: bool
    ) -> tuple[float, Array]:
        """Reduction by a list, and gain of the best exchange with each group asked."""
        free = ~self._fixed[units]
        n_varying = np.count_nonzero(self._gram.diagonal[self._columns_of(units)] > 0)
        if self._support(units).size == n_varying:
            return self._gains_beside(units, asked, free, joins=joins)
        # Columns that take no part may do so without another group.
        nobody = np.zeros(units.size, np.bool_)
        explained, gains = self._gains_beside(units, asked, nobody, joins=joins)
        for out in units[free]:
            rest = units[units != out]
            explained_by_rest, more = self._gains_beside(
                rest, asked, nobody[1:], joins=True
            )
            gains = np.maximum(gains, more + explained_by_rest - explained)
        return explained, gains

    def _gains_beside(
        self, units: Indices, asked: Indices, leaving: Mask, *, joins: bool
    ) -> tuple[float, Array]:
        """Reduction by a list, and gain of each group asked where some of the list may leave.

        −infinity where its costs are too high. Where it ``joins``, none need leave.
        """
        groups = self._groups
        order = groups.order
        support = self._support(units)
        delta = self._gram.delta
        rows = self._gram.part(support, order)
        M = np.linalg.inv(
            self._gram.part(support, support) + self._alpha * np.eye(support.size)
        )
        w = -M @ delta[support]
        T = M @ rows
        g = delta[order] + w @ rows
        place = np.empty(order.size, np.int64)
        place[order] = np.arange(order.size)
        leavers = split_list(place[support], units, groups.starts, w, M, T)
        least_loss = leavers.losses[leaving].min(initial=1.0)
        near = joins | self._near(asked, T, rows, g, least_loss)
        candidates = asked[near]
        allowed = self._restrictions.allowed_swaps(units, candidates)
        allowed &= np.append(leaving, joins)[:, None]
        # Whoever joins takes the place of a unit without rows.
        leavers = Leavers(*leavers[:3], *(np.append(one, 0) for one in leavers[3:]))
        gains = np.full(asked.size, -np.inf)
        gains[near] = gains_outside(
            T,
            rows,
            g,
            self._blocks,
            groups.block_starts,
            groups.starts,
            candidates,
            self._min_left[order],
            leavers,
            allowed,
        )
        return float(-delta[support] @ w), gains

    def _near(
        self, asked: Indices, T: Array, rows: Array, g: Array, least_loss: float
    ) -> Mask:
        """Tell whether groups could help: those of one column are screened, as in ``outside``."""
        diagonal = self._gram.diagonal[self._groups.order] + self._alpha
        explained = np.einsum("pj,pj->j", T, rows)
        needed = np.sqrt(least_loss) * (np.sqrt(diagonal) - np.sqrt(explained.clip(0)))
        near = np.abs(g) > NEARLY * needed
        result: Mask = near[self._groups.starts[asked]] | (self._sizes[asked] > 1)
        return result

    def _support(self, units: Indices) -> Indices:
        """Columns of groups, but for those that others before them explain."""
        columns = self._columns_of(units)
        block = self._gram.kept_block(columns)
        return columns[
            independent(block + self._alpha * np.eye(columns.size), DEPENDENT)
        ]

    def _solve(self, lists: list[Indices]) -> list[Solution]:
        path = []
        for units in lists:
            support = np.sort(self._support(units))
            signs = self._restrictions.signs_of(self._groups.labels[support])
            path.append(self._solve_on(support, signs))
        return path


def _offsets(sizes: Indices) -> Indices:
    """Start of each of some parts, and the end of the last one."""
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
