"""Rows to fit, and how: what the methods on the CPU and those on a GPU share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .blocks import RowBlocks
from .objective import AUCObjective
from .protocols import Protocol
from .row_space import Floats, Indices, Mask, RowSpace
from .seeds import generator
from .theory.empirical import largest_curvature

Point = Mapping[str, float]

# The published programs' step and growth of batches for HSG-HT.
HSG_HT_STEP, HSG_HT_GROWTH = 3.0, 1.033


@dataclass(frozen=True)
class Training:
    """Rows to fit, and how."""

    X: Floats
    positive: Mask
    protocol: Protocol
    epochs: int
    seed: tuple[Any, ...]  # what the random choices depend on, besides the grid point
    tuning_rows: int  # rows that a training set has while tuning
    tuning: bool  # whether this is such a set, or that of the final fit
    stop_tol: float = 1e-4  # of the published stop rule
    # Where ``on_gpu`` fits whole grids; a final fit is of one point and quicker on the CPU.
    device: str | None = None

    @cached_property
    def objective(self) -> AUCObjective:
        """F on these rows, made once for all grid points."""
        return AUCObjective(self.X, self.positive)

    @cached_property
    def row_space(self) -> RowSpace:
        """Products of these rows with each other, made once for all grid points."""
        return RowSpace.of(self.X, self.positive)

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
        return generator(*self.seed, {name: point[name] for name in point if name != "k"})

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


class Family(NamedTuple):
    """Points that differ in k alone, and so make the same random choices."""

    point: Point
    places: dict[int, list[int]]  # of the points in the list, by the columns they keep

    @classmethod
    def all_of(cls, training: Training, points: Sequence[Point]) -> list[Family]:
        """Sort points into families, but for those that one column too many leaves with none."""
        families: dict[tuple[tuple[str, float], ...], dict[int, list[int]]] = {}
        for place, point in enumerate(points):
            rest = {name: value for name, value in point.items() if name != "k"}
            if "batch_size" in rest:
                # Sizes that mean the same number of blocks on these rows are the same fit.
                rest = {"blocks": training.n_blocks(point)}
            size = training.n_columns(point)
            if size > 0:
                family = families.setdefault(tuple(rest.items()), {})
                family.setdefault(size, []).append(place)
        return [cls(dict(rest), places) for rest, places in families.items()]

    def deal(self, training: Training, rng: np.random.Generator) -> RowBlocks:
        """Deal the rows to this family's blocks."""
        n = training.positive.size
        batch_size = -(-n // training.n_blocks(self.point))
        return RowBlocks.partition(
            n, batch_size, shuffle=not training.protocol.fixed_order, rng=rng
        )


def sht_auc_step(training: Training, blocks: RowBlocks) -> dict[str, Any]:
    """Step and ridge of SHT-AUC."""
    protocol, r = training.protocol, training.objective.moments.ratio
    if protocol.paper_step:
        return {"step_sizes": 1.0 / largest_curvature(training.objective, blocks)}
    step = r * (1 - r)
    # w is divided by 1 + step · ridge = 1.1 after every step.
    ridge = 0.1 / step if protocol.ridge_while_tuning and training.tuning else 0.0
    return {"step_sizes": "auto" if protocol.automatic_step else step, "ridges": ridge}


def sto_iht_step(training: Training, blocks: RowBlocks) -> dict[str, Any]:  # noqa: ARG001
    """Step of StoIHT, and where its intercept starts."""
    return {"step_sizes": 1.0, "intercept": training.intercept}
