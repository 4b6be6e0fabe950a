"""``sparseauc reproduce``: the paper's tables and figures beside what it printed."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from sparseauc.cli.demo import check_writable

from . import plan
from .methods import find_methods
from .presets import PRESETS
from .protocols import PROTOCOLS
from .real import LOADERS
from .report import facts_of, make_report
from .runner import describe_failures, run_cells
from .store import Store

T = TypeVar("T")

# Experiments that need the gene data.
_ON_GENES = {"table3", "figure3", "figure4", "audit"}


def run_reproduce(
    experiments: list[str],
    *,
    preset: str,
    protocol: str,
    trials: int | None,
    methods: str | None,
    jobs: int,
    seed: int,
    out: Path,
    store: Path | None,
    dask: str | None,
) -> None:
    """Run what is missing, write the report.

    Raises
    ------
    ValueError
        For a name that does not exist.
    OutputError, StoreError
        If the folder or the store cannot be written to; found out before anything is computed.
    KeyboardInterrupt
        After saying how to go on.
    """
    console = Console(highlight=False)
    started = time.perf_counter()
    names = plan.find_experiments(experiments)
    size = _one_of(PRESETS, preset, "preset").with_trials(trials)
    _one_of(PROTOCOLS, protocol, "protocol")
    request = plan.Request(size, protocol, find_methods(methods), seed)
    check_writable(out)
    missing = _unavailable(console) if _ON_GENES & set(names) else {}
    datasets = tuple(name for name in request.datasets if name not in missing)
    request = plan.Request(size, protocol, request.methods, seed, datasets)

    with Store(out / "results.sqlite" if store is None else store) as kept:
        cells = list(dict.fromkeys(plan.cells_of(request, names)))
        console.print(
            f"{', '.join(names)}: {len(cells)} cells, {len(kept.get(cells))} of them in "
            f"{kept.path}",
            soft_wrap=True,
        )
        try:
            progressed = run_cells(cells, kept, jobs=jobs, dask=dask, console=console)
        except KeyboardInterrupt:
            console.print(
                f"Stopped. What was finished is in {kept.path}; the same command goes on from "
                "there.",
                soft_wrap=True,
            )
            raise
        outcomes = kept.get(cells)
    for failure in describe_failures(outcomes):
        console.print(f"Failed: {failure}", markup=False, soft_wrap=True)
    seconds = time.perf_counter() - started
    report = make_report(
        request,
        names,
        outcomes,
        facts=facts_of(
            shlex.join(["sparseauc", *sys.argv[1:]]),
            seed,
            seconds,
            sum(outcome.seconds for outcome in outcomes.values()),
        ),
        missing_data=missing,
    )
    console.print(
        f"{progressed.done} cells computed, {progressed.failed} failed, {progressed.found} found, "
        f"{progressed.seconds:.0f} s."
    )
    from sparseauc.tabular.report import write_report

    written = write_report(report, out)
    console.print(f"Report: {written[0]}", soft_wrap=True)


def _one_of(choices: Mapping[str, T], name: str, what: str) -> T:
    if name not in choices:
        raise ValueError(f"no {what} is named {name!r}; there are {', '.join(choices)}")
    return choices[name]


def _unavailable(console: Console) -> dict[str, str]:
    """Load the gene data, so that it is there before work begins; say why where it is not."""
    reasons = {}
    for name, load in LOADERS.items():
        try:
            load()
        except (OSError, ValueError) as error:
            reasons[name] = str(error)
            console.print(
                f"Without the {name} data, as it cannot be had: {error}", markup=False,
                soft_wrap=True,
            )  # fmt: skip
    return reasons
