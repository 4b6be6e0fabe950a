"""Which tasks each table and figure needs. Tasks that two of them share are the same task."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .convergence import SCALES, Scale, convergence_task
from .gene_tables import DATASETS
from .methods import METHODS, PAPER_METHODS
from .presets import PAPER, SECONDS, Preset, n_points, one_of
from .protocols import (
    CORRECTED,
    PROTOCOLS,
    SWITCHES,
    Protocol,
    Switch,
    Where,
    one_switch_on,
)
from .real import real_task
from .synthetic import synthetic_task
from .tasks import Task
from .theory.measurements import SETTINGS, theory_task
from .tuning import N_FOLDS

TABLE_RATIO = 0.05
FIGURE2_SPARSITY = 20
COST_SPARSITY = 20
COST_EPOCHS = 10

# In the order of the report.
EXPERIMENTS = (
    "table1",
    "table2",
    "table3",
    "table4",
    "table5",
    "figure1",
    "figure2",
    "figure3",
    "figure4",
    "theory",
    "audit",
    "times",
)


@dataclass(frozen=True)
class Request:
    """What was asked for."""

    preset: Preset
    protocol: str  # name of the chosen protocol, "corrected" or "published"
    methods: tuple[str, ...]  # by key
    seed: int
    datasets: tuple[str, ...] = DATASETS  # gene data that can be had

    @property
    def other_protocol(self) -> str:
        """Name of the protocol that was not chosen."""
        return next(name for name in PROTOCOLS if name != self.protocol)

    def drawn(self, draw: int) -> dict[str, Any]:
        """Seed and trial of a draw: seeds take turns."""
        trial, seed = divmod(draw, self.preset.seeds)
        return {"seed": self.seed + seed, "trial": trial}

    @property
    def table_methods(self) -> tuple[str, ...]:
        """Methods that are rows of Tables I and II."""
        left_out = self.preset.not_simulated
        return tuple(
            m for m in self.methods if METHODS[m].in_tables and m not in left_out
        )

    @property
    def paper_methods(self) -> tuple[str, ...]:
        """Rows of the paper's own tables."""
        return tuple(key for key in self.methods if key in PAPER_METHODS)


Key = tuple[str, str, int, int]  # method, column or data set, draw or trial, fold
CurveKey = tuple[int, float, Scale, int]  # k*, r, scale of the step, draw
TheoryKey = tuple[str, float, int]  # setting, r, table


def _crossed(
    request: Request,
    protocol: Protocol,
    methods: Iterable[str],
    columns: Mapping[str, Mapping[str, Any]],
    trials: int,
    folds: int,
    on_one_fold: Collection[str] = (),
) -> dict[Key, Task]:
    """Every method on every column, which is a data set, or a k* and a share of positives."""
    return {
        (method, column, trial, fold): (
            real_task if "dataset" in of else synthetic_task
        )(request.preset, protocol, method, fold=fold, **request.drawn(trial), **of)
        for method in methods
        for column, of in columns.items()
        for trial in range(trials)
        for fold in range(1 if method in on_one_fold else folds)
    }


def _sparsities(ks: Iterable[int]) -> dict[str, dict[str, float]]:
    return {str(k): {"k": k, "ratio": TABLE_RATIO} for k in ks}


def table_tasks(request: Request, protocol: str) -> dict[Key, Task]:
    """Tasks of Tables I and II; the protocol not chosen is run with the paper's methods only."""
    preset = request.preset
    methods = (
        request.table_methods if protocol == request.protocol else request.paper_methods
    )
    return _crossed(
        request,
        PROTOCOLS[protocol],
        methods,
        _sparsities(preset.sparsities),
        preset.trials,
        preset.folds,
    )


def one_sided_tasks(request: Request) -> dict[Key, Task]:
    """Tasks of SOLAM in Tables I and II, corrected but for shifts that have the sign of its start.

    Every other method starts at 0, and finds the same columns whatever their signs.
    """
    preset = request.preset
    return _crossed(
        request,
        one_switch_on("one_sided_shifts"),
        [method for method in request.methods if method == "solam"],
        _sparsities(preset.sparsities),
        preset.trials,
        preset.folds,
    )


def figure2_tasks(request: Request, protocol: str) -> dict[Key, Task]:
    """Tasks of Figure 2 under a protocol; columns are the shares of positives."""
    preset = request.preset
    return _crossed(
        request,
        PROTOCOLS[protocol],
        [m for m in request.methods if METHODS[m].in_paper],
        {
            f"{ratio:g}": {"k": FIGURE2_SPARSITY, "ratio": ratio}
            for ratio in preset.ratios
        },
        preset.figure2_trials,
        preset.figure2_folds,
    )


def real_tasks(request: Request, protocol: str) -> dict[Key, Task]:
    """Tasks of Table III and Figures 3 and 4 under a protocol.

    The elastic net, which no printed table has, is run on one test part of each trial.
    """
    return _crossed(
        request,
        PROTOCOLS[protocol],
        request.methods if protocol == request.protocol else request.paper_methods,
        {name: {"dataset": name} for name in request.datasets},
        request.preset.real_trials,
        N_FOLDS,
        [method for method in request.methods if not METHODS[method].in_tables],
    )


def figure1_tasks(request: Request) -> dict[CurveKey, Task]:
    """Tasks of Figure 1."""
    preset = request.preset
    return {
        (k, ratio, scale, draw): convergence_task(
            preset, k=k, ratio=ratio, scale=scale, **request.drawn(draw)
        )
        for k in preset.sparsities
        for ratio in preset.figure1_ratios
        for scale in SCALES
        for draw in range(preset.figure1_draws)
    }


def theory_tasks(request: Request) -> dict[TheoryKey, Task]:
    """Tasks of the part on theory."""
    preset = request.preset
    return {
        (name, ratio, table): theory_task(
            setting,
            ratio=ratio,
            least_ratio=min(preset.theory_ratios),
            table=table,
            seed=request.seed,
        )
        for name, setting in SETTINGS.items()
        for ratio in preset.theory_ratios
        for table in range(preset.theory_tables)
    }


def cost_tasks(request: Request) -> dict[Key, Task]:
    """Tasks whose fits are timed, at one grid point; columns are widths of the table."""
    preset = request.preset
    found = {}
    for method in request.paper_methods:
        point = {
            name: [axis[len(axis) // 2]] for name, axis in preset.grids[method].items()
        }
        for width in preset.cost_columns:
            for draw in range(preset.cost_draws):
                task = synthetic_task(
                    preset,
                    CORRECTED,
                    method,
                    fold=0,
                    k=COST_SPARSITY,
                    ratio=TABLE_RATIO,
                    **request.drawn(draw),
                )
                if "k" in point:
                    point["k"] = [COST_SPARSITY]
                alone = {"grid": point, "d": width, "limits": [], "epochs": COST_EPOCHS}
                settings = {**task.settings, **alone, "timed": True}
                found[method, str(width), draw, 0] = Task("synthetic", settings)
    return found


@dataclass(frozen=True)
class Measured:
    """A switch and what it is measured on: each task without it, and the same task with it."""

    switch: Switch
    without: Protocol
    protocol: Protocol
    pairs: Mapping[Key, tuple[Task, Task]]
    where: str


def audit_tasks(request: Request) -> list[Measured]:
    """Tasks that tell what each switch does, over the corrected protocol."""
    measured = []
    for switch in SWITCHES:
        on = one_switch_on(switch.name)
        # The second permutation needs the hold-out of 50, and is compared with that.
        off = (
            one_switch_on("hold_out_fifty")
            if switch.name == "permute_twice"
            else CORRECTED
        )
        for where in switch.where:
            without, with_it = (
                _audited(request, protocol, where) for protocol in (off, on)
            )
            pairs = {
                key: (task, with_it[key])
                for key, task in without.items()
                if switch.touches(where, key[0])
            }
            if pairs:
                measured.append(Measured(switch, off, on, pairs, where))
    return measured


def _audited(request: Request, protocol: Protocol, where: Where) -> dict[Key, Task]:
    preset = request.preset
    methods = [method for method in preset.audit_methods if method in request.methods]
    if where == "synthetic":
        columns: Mapping[str, Mapping[str, Any]] = _sparsities(preset.audit_sparsities)
        trials, folds = preset.audit_trials, preset.audit_folds
    else:
        columns = {
            n: {"dataset": n} for n in preset.audit_datasets if n in request.datasets
        }
        trials, folds = preset.audit_real_trials, preset.audit_real_folds
    return _crossed(request, protocol, methods, columns, trials, folds)


# Switches by which the simulated columns are not scaled, or by all rows, and by which the
# intercept starts at the log odds; none is the corrected protocol's way.
SCALINGS = ("no_scaling", "scale_with_test_rows", "")
STARTS = ("", "log_odds_intercept")
WITH_INTERCEPT = ("sto-iht", "hsg-ht")


def scaling_tasks(request: Request) -> dict[tuple[str, str], dict[Key, Task]]:
    """Tasks with every scaling and, of the methods with an intercept, every start of it."""
    found = {}
    for scaling in SCALINGS:
        for start in STARTS:
            protocol = CORRECTED
            for switch in filter(None, (scaling, start)):
                protocol = one_switch_on(switch, protocol)
            tasks = _audited(request, protocol, "synthetic")
            found[scaling, start] = {
                key: task
                for key, task in tasks.items()
                if not start or key[0] in WITH_INTERCEPT
            }
    return found


def tasks_of(request: Request, experiments: tuple[str, ...]) -> Iterator[Task]:
    """All tasks that these experiments need; some come more than once."""
    for protocol in (request.protocol, request.other_protocol):
        if {"table1", "table2"} & set(experiments):
            yield from table_tasks(request, protocol).values()
            yield from one_sided_tasks(request).values()
        if {"table3", "figure3", "figure4"} & set(experiments):
            yield from real_tasks(request, protocol).values()
        if "figure2" in experiments:
            yield from figure2_tasks(request, protocol).values()
    if "figure1" in experiments:
        yield from figure1_tasks(request).values()
    if "theory" in experiments:
        yield from theory_tasks(request).values()
    if "times" in experiments:
        yield from cost_tasks(request).values()
    if "audit" in experiments:
        for measured in audit_tasks(request):
            for pair in measured.pairs.values():
                yield from pair
        for tasks in scaling_tasks(request).values():
            yield from tasks.values()


def find_experiments(names: list[str]) -> tuple[str, ...]:
    """Experiments named on the command line, in the order of the report; "all", or none, is all."""
    known = ("all", *EXPERIMENTS)
    wanted = {one_of(known, name.casefold(), "experiment") for name in names} or {"all"}
    return tuple(name for name in EXPERIMENTS if {name, "all"} & wanted)


_CONVERGENCE_SECONDS = 0.2
# Of a drawn table of the paper's task; the easy task takes a twentieth of it.
_THEORY_SECONDS = 6.0


def estimate_seconds(task: Task) -> float:
    """Processor time that a task should take, from that of the paper preset's."""
    settings = task.settings
    if task.kind == "theory":
        return (
            _THEORY_SECONDS
            if settings["d"] == SETTINGS["paper"].d
            else _THEORY_SECONDS / 20
        )
    if task.kind == "convergence":
        return _CONVERGENCE_SECONDS * float(settings["epochs"]) / PAPER.figure1_epochs
    method, real = settings["method"], task.kind == "real"
    place = 1 + DATASETS.index(settings["dataset"]) if real else 0
    whole = (
        PAPER.real_grid(method, settings["dataset"], CORRECTED)
        if real
        else PAPER.grids[method]
    )
    share = float(n_points(settings["grid"]) / n_points(whole))
    share *= float(settings["epochs"]) / (PAPER.real_epochs if real else PAPER.epochs)
    if real:
        share *= 0.25 if settings["switches"]["hold_out_fifty"] else 1.0
    else:
        share *= float(settings["n"] * settings["d"]) / (PAPER.n * PAPER.d)
    return SECONDS[method][place] * share


def subject(task: Task) -> str:
    """What a task is about: its method, or what has none."""
    without_method = {"convergence": "Figure 1", "theory": "theory"}
    return without_method.get(task.kind) or METHODS[task.settings["method"]].name


def describe_cost(tasks: Sequence[Task]) -> str:
    """Say how many tasks there are and how long they take, in all and for each method."""
    parts: dict[str, tuple[int, float]] = {}
    for task in tasks:
        count, seconds = parts.get(subject(task), (0, 0.0))
        parts[subject(task)] = count + 1, seconds + estimate_seconds(task)
    total = sum(seconds for _, seconds in parts.values())
    lines = [f"{len(tasks)} tasks, about {total / 3600:.1f} core-hours:"]
    for name, (count, seconds) in sorted(parts.items(), key=lambda part: -part[1][1]):
        lines.append(f"  {name}: {count} tasks, {seconds / 3600:.2f} h")
    return "\n".join(lines)
