"""Row blocks: which rows form a block, and in which order an epoch visits the blocks."""

import itertools
from dataclasses import dataclass
from typing import Literal, Self, get_args

import numpy as np

from .arrays import Indices

BlockOrder = Literal["replacement", "permutation", "cyclic"]
BLOCK_ORDERS = get_args(BlockOrder)


@dataclass(frozen=True)
class RowBlocks:
    """A partition of n rows into blocks B_1 … B_m whose sizes differ by at most one.

    Block i holds ``rows[starts[i]:starts[i + 1]]``.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        The rows, block after block.
    starts : ndarray of shape (m + 1,)
        Where each block begins.
    """

    rows: Indices
    starts: Indices

    @classmethod
    def partition(
        cls, n: int, batch_size: int, *, shuffle: bool, rng: np.random.Generator
    ) -> Self:
        """Deal n rows into the fewest blocks of at most ``batch_size`` rows.

        With ``shuffle`` the rows are dealt at random, once, so that a table sorted by
        class still has both classes in every block of some size; without, blocks are
        runs of neighbours.
        """
        m = -(-n // batch_size)
        starts = np.arange(m + 1, dtype=np.int64) * n // m
        rows = np.arange(n)
        if shuffle:
            rng.shuffle(rows)
            # The order within a block changes no sum but for rounding; memory likes it
            # ascending.
            for start, stop in itertools.pairwise(starts):
                rows[start:stop].sort()
        return cls(rows, starts)

    def __len__(self) -> int:
        return self.starts.size - 1

    @property
    def largest(self) -> int:
        """Rows of the largest block."""
        return int(np.diff(self.starts).max())


def visiting_order(
    n_blocks: int, block_order: BlockOrder, rng: np.random.Generator
) -> Indices:
    """Blocks of one epoch: m draws, uniform with replacement, permuted, or in order."""
    if block_order == "replacement":
        return rng.integers(0, n_blocks, size=n_blocks)
    if block_order == "permutation":
        return rng.permutation(n_blocks)
    return np.arange(n_blocks)
