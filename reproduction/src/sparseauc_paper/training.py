"""Rows to fit, and how: what the methods on the CPU and those on a GPU share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .arrays import Array, Indices, Mask
from .objective import AUCObjective
from .protocols import Protocol
from .seeds import generator

Point = Mapping[str, float]


@dataclass(frozen=True)
class Training:
    """Rows to fit, and how."""

    X: Array
    positive: Mask
    protocol: Protocol
    epochs: int
    seed: tuple[Any, ...]  # what the random choices depend on, besides the grid point
    tuning_rows: int  # rows that a training set has while tuning
    tuning: bool  # whether this is such a set, or that of the final fit
    stop_tol: float = 1e-4  # of the published stop rule
    # Where ``on_gpu`` fits whole grids; a final fit is of one point and quicker on the
    # CPU.
    device: str | None = None

    @cached_property
    def objective(self) -> AUCObjective:
        """F on these rows, made once for all grid points."""
        return AUCObjective(self.X, self.positive)

    @property
    def intercept(self) -> float:
        """Where the intercept of StoIHT and HSG-HT starts."""
        if not self.protocol.log_odds_intercept:
            return 0.0
        n_positive = int(self.positive.sum())
        return float(np.log(n_positive / (self.positive.size - n_positive)))

    @property
    def tol(self) -> float:
        """Tolerance of the stop rule, 0 where it is off."""
        return self.stop_tol if self.protocol.stop_rule else 0.0

    def orders(self, point: Point) -> Indices:
        """Rows of all epochs, one after the other."""
        n = self.X.shape[0]
        if self.protocol.fixed_order:
            return np.tile(np.arange(n), self.epochs)
        rows = np.tile(np.arange(n), (self.epochs, 1))
        return self.rng(point).permuted(rows, axis=1, out=rows).ravel()

    def rng(self, point: Point) -> np.random.Generator:
        """Random choices of a grid point; all k make the same ones."""
        return generator(
            *self.seed, {name: point[name] for name in point if name != "k"}
        )

    def n_blocks(self, point: Point) -> int:
        """Number of blocks that a grid point means on this many rows."""
        n = int(self.X.shape[0])
        if "blocks" in point:
            blocks = int(point["blocks"])
            if not self.protocol.keep_batch_size:
                return min(blocks, n)
            return max(1, n // max(1, self.tuning_rows // blocks))
        return max(1, n // int(point["batch_size"]))

    def n_columns(self, point: Point) -> int:
        """Non-zeros that k stands for."""
        return int(point["k"]) - self.protocol.one_fewer
