"""Run what is missing of the paper's experiments, and write the report."""

import math
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TypeVar

import typer
from rich.console import Console

from sparseauc.utils.arrays import find_device
from sparseauc.utils.optional import import_optional
from sparseauc_app.cli.errors import ExitCode
from sparseauc_app.cli.output import check_writable

from . import plan
from .methods import find_methods
from .presets import PRESETS
from .protocols import PROTOCOLS
from .real import DATASETS, genes
from .runner import describe_failures, run_tasks
from .store import Store

T = TypeVar("T")

# Experiments that need the gene data; the audit has parts that do not.
_ON_GENES_ALONE = {"table3", "figure3", "figure4"}
_ON_GENES = {*_ON_GENES_ALONE, "audit"}


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
    device: str | None,
    minutes: float | None,
    dry_run: bool,
    stored_only: bool,
    page: Path | None,
    pdf: Path | None,
) -> None:
    """Run what is missing, write the report, and the page and the PDF if they are asked for."""
    console = Console(highlight=False)
    names = _named(lambda: plan.find_experiments(experiments))
    if device is not None:
        _named(lambda: find_device(device))
        import_optional("triton", f"--device {device}")
    size = _one_of(PRESETS, preset, "preset").with_trials(trials)
    _one_of(PROTOCOLS, protocol, "protocol")
    datasets, missing = _find_genes(names, console)
    chosen = _named(lambda: find_methods(methods))
    request = plan.Request(size, protocol, chosen, seed, datasets)
    tasks = list(dict.fromkeys(plan.tasks_of(request, names)))
    path = out / "results.sqlite" if store is None else store
    if dry_run:
        if path.is_file():
            with Store(path) as kept:
                tasks = [task for task in tasks if not kept.has(task)]
        console.print(plan.describe_cost(tasks), soft_wrap=True)
        return

    check_writable(out)
    with Store(path) as kept:
        console.print(
            f"{', '.join(names)}: {len(tasks)} tasks, {len(kept.get(tasks))} of them in "
            f"{kept.path}",
            soft_wrap=True,
        )
        if not stored_only:
            try:
                progressed = run_tasks(
                    tasks, kept, jobs=jobs, dask=dask, device=device, console=console,
                    seconds=math.inf if minutes is None else 60.0 * minutes,
                )  # fmt: skip
            except KeyboardInterrupt:
                raise _stopped("Stopped", kept, console) from None
            console.print(
                f"{progressed.done} tasks computed, {progressed.failed} failed, "
                f"{progressed.found} found, {progressed.seconds:.0f} s."
            )
            if progressed.left:
                why = f"Stopped after {minutes:g} minutes, with {progressed.left} tasks left"
                raise _stopped(why, kept, console)
        outcomes, runs = kept.get(tasks), kept.runs()
    for failure in describe_failures(outcomes):
        console.print(f"Failed: {failure}", markup=False, soft_wrap=True)
    # What the numbers depend on: where they were computed and kept is left out.
    options = {"preset": preset, "protocol": protocol, "seed": seed}
    options |= {"trials": trials, "methods": methods}
    command = " ".join(
        ["sparseauc reproduce", *(experiments or ["all"])]
        + [f"--{name} {value}" for name, value in options.items() if value is not None]
    )
    # What reports need is not needed to compute, nor to be there.
    from .page import write_markdown_page, write_pdf
    from .report import facts_of, make_report

    facts = facts_of(command, request, outcomes, runs)
    report = make_report(request, names, outcomes, facts=facts, missing_data=missing)
    from .pages import write_report

    written = write_report(report, out)
    if pdf is not None:
        console.print(f"PDF: {write_pdf(written[0], pdf)}", soft_wrap=True)
    if page is not None:
        written = [*write_markdown_page(report, page), *written]
    console.print(f"Report: {written[0]}", soft_wrap=True)


def _stopped(why: str, kept: Store, console: Console) -> typer.Exit:
    """Say where to find what was finished."""
    found = f"{why}. What was finished is in {kept.path}; the same command goes on from there."
    console.print(found, soft_wrap=True)
    return typer.Exit(ExitCode.INTERRUPTED)


def _one_of(choices: Mapping[str, T], name: str, what: str) -> T:
    if name not in choices:
        raise typer.BadParameter(f"no {what} is named {name!r}; there are {', '.join(choices)}")
    return choices[name]


def _named(find: Callable[[], T]) -> T:
    """Look something up by name; a name that does not exist is a misuse of the command."""
    try:
        return find()
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _find_genes(names: Collection[str], console: Console) -> tuple[tuple[str, ...], dict[str, str]]:
    """Gene data that experiments need and that can be had; and why others cannot."""
    if not _ON_GENES & set(names):
        return (), {}
    missing = _unavailable(console)
    if len(missing) == len(DATASETS) and set(names) <= _ON_GENES_ALONE:
        from sparseauc_app.reading import DataError

        raise DataError("; ".join(missing.values()))
    return tuple(name for name in DATASETS if name not in missing), missing


def _unavailable(console: Console) -> dict[str, str]:
    """Load the gene data, so that it is there before work begins; say why where it is not."""
    reasons = {}
    for name in DATASETS:
        try:
            genes(name)
        except (OSError, ValueError) as error:
            reasons[name] = str(error)
            console.print(
                f"Without the {name} data, which is not available: {error}", markup=False,
                soft_wrap=True,
            )  # fmt: skip
    return reasons
