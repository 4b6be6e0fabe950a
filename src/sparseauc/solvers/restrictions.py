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
    """Which columns must be chosen, which must not, and which go together.

    Attributes
    ----------
    fixed : ndarray of int64
        Columns in every list, ascending.
    excluded : ndarray of int64
        Columns in no list, ascending.
    groups : ndarray of int64 of shape (d,), optional
        Group of each column, from 0 on: columns of a group are chosen together or not at all.
    """

    fixed: Indices = field(default_factory=_none)
    excluded: Indices = field(default_factory=_none)
    groups: Indices | None = None

    def masks(self, d: int) -> tuple[Mask, Mask]:
        """Which of d columns are fixed, and which are excluded."""
        masks = np.zeros((2, d), np.bool_)
        masks[0, self.fixed] = True
        masks[1, self.excluded] = True
        return masks[0], masks[1]
