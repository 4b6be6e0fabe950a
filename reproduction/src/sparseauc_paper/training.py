"""Rows to fit, and how: what the methods on the CPU and those on a GPU share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Literal, NamedTuple

import numpy as np

from .arrays import Array, Indices, Mask
from .baselines.hsg_ht import visit_growing_batches
from .blocks import RowBlocks
from .objective import AUCObjective
from .protocols import Protocol
from .seeds import generator
from .theory.empirical import largest_curvature
from .thresholding import Visits, visit_equal_blocks

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
                # Sizes that mean the same number of blocks on these rows are the same
                # fit.
                rest = {"blocks": training.n_blocks(point)}
            size = training.n_columns(point)
            if size > 0:
                family = families.setdefault(tuple(rest.items()), {})
                family.setdefault(size, []).append(place)
        return [cls(dict(rest), places) for rest, places in families.items()]


class HardRun(NamedTuple):
    """How the fits of a family by SHT-AUC, StoIHT or HSG-HT go: the same for every k."""

    epochs: list[Visits]
    step_size: float | Literal["auto"]
    logistic: bool
    ridge: float
    intercept: float

    @classmethod
    def of(cls, method: str, training: Training, family: Family) -> HardRun:
        """Choose blocks and step as the protocol has them."""
        protocol, objective, point = training.protocol, training.objective, family.point
        rng, shuffle = training.rng(point), not protocol.fixed_order
        n, r = objective.n_rows, objective.moments.ratio
        logistic = method != "sht-auc"
        step_size: float | Literal["auto"] = 1.0
        ridge = 0.0
        if method == "hsg-ht":
            # The published programs' step and growth of batches.
            step_size, growth = 3.0, 1.033
            epochs = visit_growing_batches(
                n,
                point["tau"],
                growth,
                rng,
                restart=protocol.restart_batches,
                shuffle=shuffle,
            )
        else:
            batch_size = -(-n // training.n_blocks(point))
            blocks = RowBlocks.partition(n, batch_size, shuffle=shuffle, rng=rng)
            epochs = visit_equal_blocks(
                objective, blocks, "replacement", rng, logistic=logistic
            )
        if method == "sht-auc":
            step_size = r * (1 - r)
            if protocol.paper_step:
                step_size = 1.0 / largest_curvature(objective, blocks)
            elif protocol.automatic_step:
                step_size = "auto"
            elif protocol.ridge_while_tuning and training.tuning:
                # w is divided by 1 + step · ridge = 1.1 after every step.
                ridge = 0.1 / step_size
        visits = list(islice(epochs, training.epochs))
        return cls(
            visits, step_size, logistic, ridge, training.intercept if logistic else 0.0
        )
