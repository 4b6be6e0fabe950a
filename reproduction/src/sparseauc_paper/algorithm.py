"""SHT-AUC as Algorithm 1 of the paper has it, one step at a time."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from .arrays import Array, Indices
from .blocks import RowBlocks
from .objective import AUCObjective
from .projections import hard_threshold


def iterates(
    objective: AUCObjective,
    blocks: RowBlocks,
    k: int,
    *,
    step_size: float,
    rng: np.random.Generator,
    n_epochs: int,
) -> Iterator[Array]:
    """Yield w_1, w_2, …: blocks are drawn with replacement, w_0 = 0."""
    rows = list(rows_of(blocks))
    w = np.zeros(objective.n_features)
    for _ in range(n_epochs):
        for i in rng.integers(0, len(rows), size=len(rows)):
            gradient = objective.block_gradient(w, rows[i], len(rows))
            w = hard_threshold(w - step_size * gradient, k).astype(np.float64)
            yield w


def rows_of(blocks: RowBlocks) -> Iterator[Indices]:
    """Yield the rows of each block."""
    for start, stop in pairwise(blocks.starts):
        yield blocks.rows[start:stop]
