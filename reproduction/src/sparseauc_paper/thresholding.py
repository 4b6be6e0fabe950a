"""The threshold of SHT-AUC, StoIHT and HSG-HT: w_{t+1} = H_k(w_t − γ ∇f_B(w_t))."""

from typing import Any, NamedTuple, Self

import numpy as np

from .arrays import Floats, Indices
from .blocks import RowBlocks
from .kernels import kernel
from .objective import SparseVector
from .projections import largest_magnitudes, top_k


class Iterate(NamedTuple):
    """w_t in kernels: dense, for CSR rows, and as a list of its non-zeros."""

    w: Floats
    support: Indices  # of length k; the first entries are the non-zeros, by ascending column
    values: Floats
    size: Indices  # how many they are, in an array of one; −1 once w has overflowed
    candidate: Floats  # −γ∇f_B(w)
    magnitudes: Floats  # scratch space for the selection of the k largest

    @classmethod
    def zeros(cls, n_features: int, k: int, dtype: Any) -> Self:
        """Begin at w = 0."""
        return cls(
            np.zeros(n_features, dtype),
            np.empty(k, np.int64),
            np.empty(k, dtype),
            np.zeros(1, np.int64),
            np.empty(n_features, dtype),
            np.empty(n_features, dtype),
        )

    def move_to(self, vector: SparseVector) -> None:
        """Go to another point."""
        size = vector.support.size
        self.w[:] = 0
        self.w[vector.support] = vector.values
        self.size[0] = size
        self.support[:size] = vector.support
        self.values[:size] = vector.values

    def copy(self) -> SparseVector:
        """Return the present point."""
        size = max(0, int(self.size[0]))
        return SparseVector(self.support[:size].copy(), self.values[:size].copy())


@kernel
def threshold_step(iterate, constant, k):  # type: ignore[no-untyped-def]
    """Set w to H_k(w + candidate), and its size to −1 when it overflowed."""
    w, support, values = iterate.w, iterate.support, iterate.values
    candidate, size = iterate.candidate, iterate.size[0]
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
    size = largest_magnitudes(candidate, k, floor, iterate.magnitudes, support)
    for q in range(size):
        values[q] = candidate[support[q]]
        w[support[q]] = values[q]
    iterate.size[0] = size


def deal_blocks(
    rows: Indices, batch_size: int, *, shuffle: bool, rng: np.random.Generator
) -> RowBlocks:
    """Deal these rows to blocks of at most ``batch_size``."""
    blocks = RowBlocks.partition(rows.size, min(batch_size, rows.size), shuffle=shuffle, rng=rng)
    return RowBlocks(rows[blocks.rows], blocks.starts)


def largest_entries(w: Any, k: int, dtype: Any) -> SparseVector:
    """Keep the k largest entries of a dense vector."""
    vector = np.asarray(w, dtype)
    kept = top_k(vector, k)
    return SparseVector(kept, vector[kept])
