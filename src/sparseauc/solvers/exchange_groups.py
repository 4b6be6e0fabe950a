"""Exchanging groups of columns that enter together, such as the columns of one category.

    minimise F(w) + alpha‖w‖²   subject to   supp(w) a union of groups of at most k columns in all

On a support A a group G that joins lowers the objective by g_Gᵀ S⁻¹ g_G, where S is what A leaves
of the block of H on G. The columns of a group join and leave one by one, by the updates of
``exchange``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..moments.gram import BATCH, StandardisedGram
from .exchange import GAIN, Indices, Mask, Solution, Sweeper, solve_on

# Of the eigenvalues of what is left of a group, those below this share of the largest are rounding.
_DEPENDENT = 1e-9


class _Groups:
    """The groups, their blocks of H, and what each would add to a support."""

    def __init__(
        self, gram: StandardisedGram, labels: npt.NDArray[np.int64], excluded: Mask
    ) -> None:
        self.members: list[Indices] = [
            np.flatnonzero(labels == label) for label in range(int(labels.max()) + 1)
        ]
        self.sizes = np.array([m.size for m in self.members])
        # A group that cannot join as a whole cannot join.
        self.allowed = np.array([not excluded[m].any() for m in self.members])
        self._blocks = self._diagonal_blocks(gram)

    def _diagonal_blocks(self, gram: StandardisedGram) -> list[npt.NDArray[np.float64]]:
        blocks = [np.empty((m.size, m.size)) for m in self.members]
        group_of = np.empty(gram.n_features, np.int64)
        place = np.empty(gram.n_features, np.int64)
        for number, members in enumerate(self.members):
            group_of[members] = number
            place[members] = np.arange(members.size)
        for low in range(0, gram.n_features, BATCH):
            columns = np.arange(low, min(low + BATCH, gram.n_features))
            for column, row in zip(columns.tolist(), gram.rows(columns), strict=True):
                number = group_of[column]
                blocks[number][place[column]] = row[self.members[number]]
        return blocks

    def gains(self, sweeper: Sweeper, room: int) -> npt.NDArray[np.float64]:
        """Decrease of the objective if a group joined; zero for those in, too large or excluded."""
        gains = np.zeros(len(self.members))
        inside = np.zeros(sweeper.gram.n_features, np.bool_)
        inside[sweeper.members] = True
        rows = sweeper.gram.rows(sweeper.members)
        for number in np.flatnonzero(self.allowed & (self.sizes <= room)).tolist():
            columns = self.members[number]
            if inside[columns].any():
                continue
            left = self._blocks[number] + sweeper.alpha * np.eye(columns.size)
            left -= rows[:, columns].T @ sweeper.T[: sweeper.k, columns]
            g = sweeper.g[columns]
            values, vectors = np.linalg.eigh((left + left.T) / 2)
            solid = values > _DEPENDENT * max(float(np.trace(self._blocks[number])), 1e-300)
            projected = vectors[:, solid].T @ g
            gains[number] = float(np.sum(projected**2 / values[solid]))
        return gains


def exchange_groups(
    gram: StandardisedGram,
    labels: npt.NDArray[np.int64],
    k: int,
    alpha: float = 0.0,
    *,
    fixed: npt.ArrayLike = (),
    excluded: npt.ArrayLike = (),
) -> Solution:
    """Best union of groups with at most ``k`` columns, such that no exchange of two groups helps.

    Parameters
    ----------
    gram : StandardisedGram
    labels : ndarray of shape (d,)
        Group of each column, 0 … number of groups − 1.
    k : int
        Largest number of columns, not of groups.
    alpha : float, default=0.0
        Ridge, on the standardised scale.
    fixed, excluded : array-like of int
        Columns whose groups are in every support, and in none.

    Returns
    -------
    Solution
    """
    masks = np.zeros((2, gram.n_features), np.bool_)
    for mask, columns in zip(masks, (fixed, excluded), strict=True):
        mask[np.asarray(columns, np.int64)] = True
    groups = _Groups(gram, labels, masks[1])
    fixed_groups = sorted(set(labels[masks[0]].tolist()))
    size = int(groups.sizes[fixed_groups].sum())
    if size > k:
        raise ValueError(f"the groups always included have {size} columns, more than k={k}")
    solutions = []
    # Two ways to grow, as a large group may be worth more in all and less a column.
    for per_column in (True, False):
        sweeper = Sweeper(gram, alpha, k, masks[0], masks[1])
        chosen = list(fixed_groups)
        for number in chosen:
            _join_group(sweeper, groups, number)
        _grow(sweeper, groups, chosen, k, per_column=per_column)
        while _exchange(sweeper, groups, chosen, k, set(fixed_groups)):
            _grow(sweeper, groups, chosen, k, per_column=per_column)
        solutions.append(solve_on(gram, np.sort(sweeper.members), alpha))
    return min(solutions, key=lambda solution: solution.objective)


def _join_group(sweeper: Sweeper, groups: _Groups, number: int) -> None:
    for column in groups.members[number].tolist():
        # A column that the others of its group explain adds nothing and stays out of the algebra.
        if sweeper.q[column] > sweeper.floor[column]:
            sweeper.join(column)


def _leave_group(sweeper: Sweeper, groups: _Groups, number: int) -> None:
    for column in np.intersect1d(groups.members[number], sweeper.members).tolist():
        sweeper.remove(column)


def _room(groups: _Groups, chosen: list[int], k: int) -> int:
    return k - int(groups.sizes[chosen].sum())


def _grow(
    sweeper: Sweeper, groups: _Groups, chosen: list[int], k: int, *, per_column: bool
) -> None:
    """Add groups while one fits that helps."""
    while (room := _room(groups, chosen, k)) > 0:
        gains = groups.gains(sweeper, room)
        worth = gains / groups.sizes if per_column else gains
        best = int(np.argmax(worth))
        if not gains[best] > GAIN:
            return
        _join_group(sweeper, groups, best)
        chosen.append(best)


def _exchange(
    sweeper: Sweeper, groups: _Groups, chosen: list[int], k: int, fixed: set[int]
) -> bool:
    """Make the best exchange of one group for another, if any helps."""
    value = sweeper.value
    best_value, best_pair = value - sweeper.least_gain(sweeper.explained), None
    for out in [number for number in chosen if number not in fixed]:
        _leave_group(sweeper, groups, out)
        room = _room(groups, chosen, k) + int(groups.sizes[out])
        gains = groups.gains(sweeper, room)
        gains[out] = 0.0
        into = int(np.argmax(gains))
        if sweeper.value - gains[into] < best_value:
            best_value, best_pair = sweeper.value - gains[into], (out, into)
        _join_group(sweeper, groups, out)
    if best_pair is None:
        return False
    out, into = best_pair
    _leave_group(sweeper, groups, out)
    chosen.remove(out)
    _join_group(sweeper, groups, into)
    if not sweeper.value < value:
        # What the formula promised was rounding; it may promise forever.
        _leave_group(sweeper, groups, into)
        _join_group(sweeper, groups, out)
        chosen.append(out)
        return False
    chosen.append(into)
    return True
