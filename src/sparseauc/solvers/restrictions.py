"""What a list of columns must obey, beside its length."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def _none() -> Indices:
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class Restrictions:
    """Which columns must be chosen, which must not, which go together, and which compete.

    Attributes
    ----------
    fixed : ndarray of int64
        Columns in every list, ascending.
    excluded : ndarray of int64
        Columns in no list, ascending.
    groups : ndarray of int64 of shape (d,), optional
        Group of each column, from 0 on: columns of a group are chosen together or not at all.
    families : ndarray of int64 of shape (d,), optional
        Family of each column, from 1 on, and 0 for columns of none. Not together with groups.
    max_per_family : int, default=1
        Columns of a family that a list may have at most.
    """

    fixed: Indices = field(default_factory=_none)
    excluded: Indices = field(default_factory=_none)
    groups: Indices | None = None
    families: Indices | None = None
    max_per_family: int = 1

    def masks(self, d: int) -> tuple[Mask, Mask]:
        """Which of d columns are fixed, and which are excluded."""
        masks = np.zeros((2, d), np.bool_)
        masks[0, self.fixed] = True
        masks[1, self.excluded] = True
        return masks[0], masks[1]

    def families_of(self, columns: Indices) -> Indices:
        """Family of each of some columns, 0 for none."""
        if self.families is None:
            return np.zeros(columns.size, np.int64)
        return self.families[columns]

    def most_columns(self, d: int) -> int:
        """Columns that a list can have at most."""
        counts = np.bincount(self.families_of(np.flatnonzero(~self.masks(d)[1])))
        return int(counts[:1].sum() + np.minimum(counts[1:], self.max_per_family).sum())

    def full_families(self, support: Indices) -> Indices:
        """Families of which a list can have no more columns, ascending."""
        counts = np.bincount(self.families_of(support))
        return 1 + np.flatnonzero(counts[1:] >= self.max_per_family)

    def allows(self, support: Indices) -> bool:
        """Whether a list has no more columns of any family than it may."""
        counts = np.bincount(self.families_of(support))
        return bool((counts[1:] <= self.max_per_family).all())

    def exchanges(self, support: Indices, columns: Indices) -> Mask:
        """Whether a column of a list may give way to another for its family, (support, columns)."""
        families = self.families_of(columns)
        full = np.isin(families, self.full_families(support))
        allowed: Mask = ~full | (self.families_of(support)[:, None] == families)
        return allowed
