"""How much is run: trials, folds, grids, epochs; for a look in minutes or for the whole paper."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from .protocols import SPAM, Protocol

Axis = tuple[float, ...]
Grid = Mapping[str, Axis]


def points(grid: Grid) -> list[dict[str, float]]:
    """Spell out a grid: the last axis runs fastest."""
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def n_points(grid: Mapping[str, Sequence[float]]) -> int:
    """Count the points of a grid."""
    return math.prod(len(axis) for axis in grid.values())


def powers(base: float, first: int, last: int, step: int = 1) -> Axis:
    """Powers of a base, from the first exponent to the last."""
    return tuple(float(base) ** e for e in range(first, last + 1, step))


@dataclass(frozen=True)
class Preset:
    """What a run consists of."""

    name: str
    trials: int  # draws of the synthetic data for Tables I and II
    seeds: int  # that draws are taken from in turn, so that no seed stands for all
    folds: int  # test parts of each that are used, of the five it has
    sparsities: tuple[int, ...]  # k* of Tables I and II and of Figure 1
    ratios: tuple[float, ...]  # shares of positives of Figure 2
    figure2_trials: int
    figure2_folds: int
    figure1_ratios: tuple[float, ...]
    figure1_draws: int
    figure1_epochs: int
    theory_ratios: tuple[float, ...]
    theory_tables: int  # drawn for each ratio
    real_trials: int  # of five test parts each
    # What each switch is measured on.
    audit_sparsities: tuple[int, ...]
    audit_trials: int
    audit_folds: int
    audit_datasets: tuple[str, ...]
    audit_real_trials: int
    audit_real_folds: int
    audit_methods: tuple[str, ...]
    n: int
    d: int
    epochs: int
    real_epochs: int
    grids: Mapping[str, Grid]  # by method
    real_grids: Mapping[str, Grid]  # those that differ on the gene data
    leukemia_batch_sizes: Axis
    cost_columns: tuple[int, ...]  # widths of the tables on which fits are timed
    cost_draws: int
    not_simulated: tuple[str, ...] = ()  # methods too slow for the synthetic data

    def synthetic_grid(self, method: str, protocol: Protocol) -> Grid:
        """Grid of a method on the synthetic data."""
        grid = dict(self.grids[method])
        if protocol.paper_spam_steps and method in SPAM:
            grid["xi"] = self.grids["solam"]["xi"]
        return grid

    def real_grid(self, method: str, dataset: str, protocol: Protocol) -> Grid:
        """Grid of a method on the gene data."""
        grid = dict(self.real_grids.get(method, self.grids[method]))
        if dataset == "leukemia" and "batch_size" in grid:
            grid["batch_size"] = self.leukemia_batch_sizes
        if protocol.untuned_batch_growth and "tau" in grid:
            grid["tau"] = grid["tau"][-1:]
        if protocol.paper_gene_ranges:
            if "l1" in grid:
                grid["l1"] = tuple(np.geomspace(1e-5, 0.07, len(grid["l1"])).tolist())
            if method == "fsauc":
                grid["radius"] = powers(10, -5, 4)
        return grid

    def with_trials(self, trials: int | None) -> Preset:
        """Return the same preset with another number of trials, everywhere."""
        if trials is None:
            return self
        return replace(
            self, trials=trials, figure1_draws=trials, figure2_trials=trials, real_trials=trials,
            audit_trials=trials, audit_real_trials=trials, cost_draws=trials,
        )  # fmt: skip


_KS = tuple(range(10, 101, 10))
_HARD_GRID = {"k": _KS, "blocks": (1, 2, 4, 8, 10)}
# With 29 and 32, the numbers of related genes.
_REAL_KS = (1, *range(5, 30, 5), 29, 30, 32, *range(35, 51, 5), *range(60, 101, 10),
            *range(200, 501, 100))  # fmt: skip
_REAL_HARD_GRID = {"k": _REAL_KS, "batch_size": tuple(range(5, 41, 5))}
_RADII = powers(10, -1, 5)
_TENS = powers(10, -5, 2)

_RATIOS = tuple(round(0.05 * i, 2) for i in range(1, 11))

PAPER = Preset(
    name="paper",
    trials=40,
    seeds=5,
    # Two test parts of forty draws tell more than five of sixteen, at the same cost.
    folds=2,
    sparsities=(20, 40, 60, 80),
    ratios=_RATIOS,
    figure2_trials=40,
    figure2_folds=1,
    figure1_ratios=(0.05, 0.25, 0.5),
    figure1_draws=10,
    figure1_epochs=300,
    theory_ratios=_RATIOS,
    theory_tables=10,
    real_trials=20,
    # Twenty pairs for each switch and method: differences of pairs need fewer draws than means.
    audit_sparsities=(40, 80),
    audit_trials=5,
    audit_folds=2,
    audit_datasets=("colon",),
    audit_real_trials=20,
    audit_real_folds=1,
    audit_methods=("sht-auc", "spam-l1", "spam-l2", "fsauc", "solam", "sto-iht", "hsg-ht"),
    n=1000,
    d=1000,
    epochs=50,
    real_epochs=100,
    grids={
        "sht-auc": _HARD_GRID,
        "sto-iht": _HARD_GRID,
        "hsg-ht": {"k": _KS, "tau": (1, 10, 100, 1000)},
        "spam-l1": {"xi": _TENS, "l1": _TENS},
        "spam-l2": {"xi": _TENS, "l2": _TENS},
        "spam-l1l2": {"xi": _TENS, "l1": _TENS, "l2": _TENS},
        "solam": {"xi": tuple(range(1, 101, 9)), "radius": _RADII},
        "fsauc": {"radius": _RADII, "eta": powers(2, -10, 10)},
        "sparse-auc": {},
        "mean-difference": {"k": _KS},
        "shrunken-centroid": {"k": _KS},
        "l1-logistic": {"C": tuple(10.0 ** (e / 2) for e in range(-6, 5))},
    },
    real_grids={
        "sht-auc": _REAL_HARD_GRID,
        "sto-iht": _REAL_HARD_GRID,
        "hsg-ht": {"k": _REAL_KS, "tau": (1, 10, 100, 1000)},
        "mean-difference": {"k": _REAL_KS},
        "shrunken-centroid": {"k": _REAL_KS},
    },
    leukemia_batch_sizes=tuple(range(1, 40)),
    cost_columns=(1000, 20_000),
    cost_draws=12,
    not_simulated=("sparse-auc",),
)

_QUICK_KS = (10, 20, 40, 60, 80, 100)
_QUICK_HARD_GRID = {"k": _QUICK_KS, "blocks": (1, 4, 10)}
_QUICK_REAL_KS = (1, 5, 10, 20, 29, 32, 50, 100, 200, 500)
_QUICK_REAL_HARD_GRID = {"k": _QUICK_REAL_KS, "batch_size": (5, 20, 40)}
_QUICK_TENS = powers(10, -5, 1, 2)

QUICK = replace(
    PAPER,
    name="quick",
    trials=5,
    folds=1,
    ratios=(0.05, 0.1, 0.2, 0.35, 0.5),
    figure2_trials=2,
    figure1_draws=3,
    theory_ratios=(0.05, 0.1, 0.25, 0.5),
    theory_tables=1,
    real_trials=2,
    audit_folds=1,
    audit_real_trials=2,
    audit_real_folds=5,
    audit_methods=("sht-auc", "spam-l2", "solam", "sto-iht", "hsg-ht"),
    grids={
        **PAPER.grids,
        "sht-auc": _QUICK_HARD_GRID,
        "sto-iht": _QUICK_HARD_GRID,
        "hsg-ht": {"k": _QUICK_KS, "tau": (1, 100)},
        "mean-difference": {"k": _QUICK_KS},
        "shrunken-centroid": {"k": _QUICK_KS},
        "spam-l1": {"xi": _QUICK_TENS, "l1": _QUICK_TENS},
        "spam-l2": {"xi": _QUICK_TENS, "l2": _QUICK_TENS},
        "spam-l1l2": {
            "xi": powers(10, -3, 1, 2), "l1": powers(10, -5, -1, 2), "l2": powers(10, -5, -1, 2)
        },
        "solam": {"xi": (1, 10, 100), "radius": powers(10, -1, 5, 2)},
        "fsauc": {"radius": powers(10, 0, 4, 2), "eta": powers(2, -6, 6, 6)},
        "l1-logistic": {"C": tuple(10.0**e for e in range(-3, 3))},
    },
    real_grids={
        "sht-auc": _QUICK_REAL_HARD_GRID,
        "sto-iht": _QUICK_REAL_HARD_GRID,
        "hsg-ht": {"k": _QUICK_REAL_KS, "tau": (1, 1000)},
        "mean-difference": {"k": _QUICK_REAL_KS},
        "shrunken-centroid": {"k": _QUICK_REAL_KS},
    },
    leukemia_batch_sizes=(5, 20, 39),
)  # fmt: skip

PRESETS: Mapping[str, Preset] = {"quick": QUICK, "paper": PAPER}
