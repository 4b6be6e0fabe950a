"""How much is run: trials, folds, grids, epochs; for a look in minutes or for the whole paper."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from .files import read_settings
from .protocols import SPAM, Protocol

Axis = tuple[float, ...]
Grid = Mapping[str, Axis]


def points(grid: Grid) -> list[dict[str, float]]:
    """Spell out a grid: the last axis runs fastest."""
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def n_points(grid: Mapping[str, Sequence[float]]) -> int:
    """Count the points of a grid."""
    return math.prod(len(axis) for axis in grid.values())


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
                grid["radius"] = tuple(10.0**e for e in range(-5, 5))
        return grid

    def with_trials(self, trials: int | None) -> Preset:
        """Return the same preset with another number of trials, everywhere."""
        if trials is None:
            return self
        return replace(
            self,
            trials=trials,
            figure1_draws=trials,
            figure2_trials=trials,
            real_trials=trials,
            audit_trials=trials,
            audit_real_trials=trials,
            cost_draws=trials,
        )


_FILE = read_settings("presets.toml")
PAPER = Preset(name="paper", **_FILE["paper"])
# The quick one is that of the paper but for what the file names.
_QUICK = _FILE["quick"]
_GRIDS = {name: getattr(PAPER, name) | _QUICK[name] for name in ("grids", "real_grids")}
QUICK = replace(PAPER, name="quick", **_QUICK | _GRIDS)

PRESETS: Mapping[str, Preset] = {"quick": QUICK, "paper": PAPER}

# Seconds of a task of the paper preset: synthetic, colon, leukemia.
SECONDS: Mapping[str, tuple[float, ...]] = _FILE["seconds"]


def one_of(known: Collection[str], name: str, what: str) -> str:
    """Return a name that is known; any other is an error that names the known ones."""
    if name not in known:
        raise ValueError(f"no {what} is named {name!r}; there are {', '.join(known)}")
    return name
