"""Which cells each table and figure needs. Cells that two of them share are the same cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .convergence import SCALES, Scale, convergence_cell
from .methods import METHODS
from .presets import Preset
from .protocols import CORRECTED, PROTOCOLS, SWITCHES, Protocol, Switch, one_switch_on
from .real import DATASETS, N_FOLDS, real_cell
from .synthetic import synthetic_cell
from .tasks import Cell

TABLE_RATIO = 0.05
FIGURE2_SPARSITY = 20

# In the order of the report.
EXPERIMENTS = (
    "table1", "table2", "table3", "table4", "table5",
    "figure1", "figure2", "figure3", "figure4", "theory", "audit",
)  # fmt: skip


@dataclass(frozen=True)
class Request:
    """What was asked for.

    Attributes
    ----------
    preset : Preset
    protocol : str
        Name of the chosen protocol, "corrected" or "published".
    methods : tuple of str
        Keys of the methods.
    seed : int
    datasets : tuple of str
        Gene data that can be had.
    """

    preset: Preset
    protocol: str
    methods: tuple[str, ...]
    seed: int
    datasets: tuple[str, ...] = DATASETS

    @property
    def other_protocol(self) -> str:
        """Name of the protocol that was not chosen."""
        return next(name for name in PROTOCOLS if name != self.protocol)

    @property
    def table_methods(self) -> tuple[str, ...]:
        """Methods that are rows of tables."""
        return tuple(key for key in self.methods if not METHODS[key].figure2_only)

    @property
    def paper_methods(self) -> tuple[str, ...]:
        """Rows of the paper's own tables."""
        return tuple(key for key in self.table_methods if METHODS[key].in_paper)

    def is_chosen(self, protocol: str) -> bool:
        """Whether this is the chosen protocol."""
        return protocol == self.protocol


SyntheticKey = tuple[str, str, int, int]  # method, column, trial, fold
RealKey = tuple[str, str, int, int]  # method, data set, trial, fold
CurveKey = tuple[int, float, Scale, int]  # k*, r, scale of the step, fold


def table_cells(request: Request, protocol: str) -> dict[SyntheticKey, Cell]:
    """Cells of Tables I and II under a protocol; columns are the k*.

    Under the protocol that was not chosen only the paper's methods are run, to compare with it.
    """
    preset, chosen = request.preset, request.is_chosen(protocol)
    return {
        (method, str(k), trial, fold): synthetic_cell(
            preset, PROTOCOLS[protocol], method, k=k, ratio=TABLE_RATIO, trial=trial, fold=fold,
            seed=request.seed,
        )
        for method in (request.table_methods if chosen else request.paper_methods)
        for k in preset.sparsities
        for trial in range(preset.trials if chosen else preset.other_trials)
        for fold in range(preset.folds if chosen else preset.other_folds)
    }  # fmt: skip


def figure2_cells(request: Request) -> dict[SyntheticKey, Cell]:
    """Cells of Figure 2; columns are the shares of positives."""
    preset = request.preset
    return {
        (method, f"{ratio:g}", trial, fold): synthetic_cell(
            preset, PROTOCOLS[request.protocol], method, k=FIGURE2_SPARSITY, ratio=ratio,
            trial=trial, fold=fold, seed=request.seed,
        )
        for method in request.methods
        for ratio in preset.ratios
        for trial in range(preset.figure2_trials)
        for fold in range(preset.figure2_folds)
    }  # fmt: skip


def real_cells(request: Request, protocol: str) -> dict[RealKey, Cell]:
    """Cells of Table III and Figures 3 and 4 under a protocol."""
    preset, chosen = request.preset, request.is_chosen(protocol)
    return {
        (method, dataset, trial, fold): real_cell(
            preset, PROTOCOLS[protocol], method, dataset=dataset, trial=trial, fold=fold,
            seed=request.seed,
        )
        for method in (request.table_methods if chosen else request.paper_methods)
        for dataset in request.datasets
        for trial in range(preset.real_trials if chosen else preset.other_real_trials)
        for fold in range(N_FOLDS)
    }  # fmt: skip


def figure1_cells(request: Request) -> dict[CurveKey, Cell]:
    """Cells of Figure 1."""
    preset = request.preset
    return {
        (k, ratio, scale, fold): convergence_cell(
            preset, k=k, ratio=ratio, fold=fold, scale=scale, seed=request.seed
        )
        for k in preset.sparsities
        for ratio in preset.figure1_ratios
        for scale in SCALES
        for fold in range(preset.figure1_folds)
    }


@dataclass(frozen=True)
class Measured:
    """A switch and what it is measured on: each cell with it, beside the same cell without."""

    switch: Switch
    protocol: Protocol
    pairs: Mapping[SyntheticKey | RealKey, tuple[Cell, Cell]]
    where: str


def audit_cells(request: Request) -> list[Measured]:
    """Cells that tell what each switch is worth, over the corrected protocol.

    What needs another protocol to be on as well is compared with that one: the second permutation
    with the hold-out of 50.
    """
    measured = []
    for switch in SWITCHES:
        on = one_switch_on(switch.name)
        off = one_switch_on("hold_out_fifty") if switch.name == "permute_twice" else CORRECTED
        for where in switch.where:
            build = _audited_synthetic if where == "synthetic" else _audited_real
            without, with_it = build(request, off), build(request, on)
            pairs = {
                key: (cell, with_it[key])
                for key, cell in without.items()
                if switch.touches(where, key[0])
            }
            if pairs:
                measured.append(Measured(switch, on, pairs, where))
    return measured


def _audited_synthetic(request: Request, protocol: Protocol) -> dict[SyntheticKey, Cell]:
    preset = request.preset
    return {
        (method, str(k), trial, fold): synthetic_cell(
            preset, protocol, method, k=k, ratio=TABLE_RATIO, trial=trial, fold=fold,
            seed=request.seed,
        )
        for method in preset.audit_methods
        if method in request.methods
        for k in preset.audit_sparsities
        for trial in range(preset.audit_trials)
        for fold in range(preset.audit_folds)
    }  # fmt: skip


def _audited_real(request: Request, protocol: Protocol) -> dict[RealKey, Cell]:
    preset = request.preset
    return {
        (method, dataset, trial, fold): real_cell(
            preset, protocol, method, dataset=dataset, trial=trial, fold=fold, seed=request.seed
        )
        for method in preset.audit_methods
        if method in request.methods
        for dataset in preset.audit_datasets
        if dataset in request.datasets
        for trial in range(preset.audit_real_trials)
        for fold in range(N_FOLDS)
    }


def cells_of(request: Request, experiments: tuple[str, ...]) -> Iterator[Cell]:
    """All cells that these experiments need; some come more than once."""
    both = (request.protocol, request.other_protocol)
    if {"table1", "table2"} & set(experiments):
        for protocol in both:
            yield from table_cells(request, protocol).values()
    if {"table3", "figure3", "figure4"} & set(experiments):
        for protocol in both:
            yield from real_cells(request, protocol).values()
    if "figure1" in experiments:
        yield from figure1_cells(request).values()
    if "figure2" in experiments:
        yield from figure2_cells(request).values()
    if "audit" in experiments:
        for measured in audit_cells(request):
            for pair in measured.pairs.values():
                yield from pair


def find_experiments(names: list[str]) -> tuple[str, ...]:
    """Experiments named on the command line, in the order of the report; "all", or none, is all.

    Raises
    ------
    ValueError
        For a name that is not among them.
    """
    wanted = {name.casefold() for name in names} or {"all"}
    for name in sorted(wanted - {"all", *EXPERIMENTS}):
        raise ValueError(
            f"no experiment is named {name!r}; there are all, {', '.join(EXPERIMENTS)}"
        )
    return tuple(name for name in EXPERIMENTS if name in wanted or "all" in wanted)
