"""The step common to SHT-AUC, StoIHT and HSG-HT: w_{t+1} = H_k(w_t − γ ∇f_B(w_t))."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._jit import kernel
from ..blocks import RowBlocks
from ..objective import AUCObjective, Floats, Indices
from ..projections import largest_magnitudes, top_k
from ._epochs import SparseVector


class Iterate:
    """w_t as kernels keep it: dense, for CSR rows, and as a list of its non-zeros.

    Attributes
    ----------
    w : ndarray of shape (d,)
    support, values : ndarrays of shape (k,)
        The first ``size`` entries are the non-zeros, by ascending column.
    size : int
    """

    def __init__(self, objective: AUCObjective, k: int, start: npt.ArrayLike | None) -> None:
        d, dtype = objective.n_features, objective.dtype
        self.w: Floats = np.zeros(d, dtype)
        self.support: Indices = np.empty(k, np.int64)
        self.values: Floats = np.empty(k, dtype)
        self.size = 0
        if start is not None:
            first = np.asarray(start, dtype)
            kept = top_k(first, k)
            self.set(SparseVector(kept, first[kept]))

    def set(self, vector: SparseVector) -> None:
        """Go to another point."""
        self.w[:] = 0
        self.w[vector.support] = vector.values
        self.size = vector.support.size
        self.support[: self.size] = vector.support
        self.values[: self.size] = vector.values

    def copy(self) -> SparseVector:
        """Return the present point."""
        return SparseVector(self.support[: self.size].copy(), self.values[: self.size].copy())


def counted_rows(objective: AUCObjective) -> Indices:
    """Rows that belong to blocks: those of positive weight, so that weight zero means absent."""
    weight = objective.weight
    return np.flatnonzero(weight) if weight.size else np.arange(objective.n_rows)


def deal_blocks(
    objective: AUCObjective, batch_size: int, *, shuffle: bool, rng: np.random.Generator
) -> RowBlocks:
    """Deal the counted rows to blocks of at most ``batch_size`` rows."""
    rows = counted_rows(objective)
    blocks = RowBlocks.partition(rows.size, min(batch_size, rows.size), shuffle=shuffle, rng=rng)
    return RowBlocks(rows[blocks.rows], blocks.starts)


@kernel
def threshold_step(candidate, constant, k, w, support, values, size, magnitudes):  # type: ignore[no-untyped-def]
    """Set w to H_k(w + candidate); return its number of non-zeros, or −1 when it overflowed.

    ``candidate`` holds −γ∇f_B(w) on entry. ``constant`` lists the columns of one value: their
    gradient is zero, and rounding must not make one of them a winner.
    """
    for q in range(size):
        candidate[support[q]] += values[q]
    for j in constant:
        candidate[j] = 0
    # The k columns held now bound the k-th largest magnitude from below.
    floor = 0.0
    if size == k:
        floor = np.inf
        for q in range(k):
            floor = min(floor, abs(candidate[support[q]]))
    for q in range(size):
        w[support[q]] = 0
    size = largest_magnitudes(candidate, k, floor, magnitudes, support)
    for q in range(size):
        values[q] = candidate[support[q]]
        w[support[q]] = values[q]
    return size
