"""The command ``sparseauc reproduce``: run what is missing of the experiments, and report.

``sparseauc_app.cli`` finds it by its entry point. What it needs is imported when it
runs, so that ``sparseauc --help`` starts quickly.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from .store import Store

# Exit codes, those of the other commands.
_DATA = 3
_OUTPUT = 5
_INTERRUPTED = 130

# Experiments that need the gene data; the audit has parts that do not.
_ON_GENES_ALONE = {"table3", "figure3", "figure4"}
_ON_GENES = {*_ON_GENES_ALONE, "audit"}


def reproduce_command(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            help="all, or some of table1 … table5, figure1 … figure4, theory, audit.",
            show_default="all",
        ),
    ] = None,
    preset: Annotated[
        str,
        typer.Option(
            help="quick (minutes on two cores) or paper (full grids and trials)."
        ),
    ] = "quick",
    protocol: Annotated[
        str,
        typer.Option(
            help="corrected, or published: as in the authors' programs, errors included."
        ),
    ] = "corrected",
    trials: Annotated[
        int | None,
        typer.Option(min=1, help="Trials everywhere, in place of the preset's."),
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Methods, with commas between; all by default.")
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=-1, help="Parallel fits; -1 for all cores.")
    ] = 1,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of data, splits and fits.")
    ] = 0,
    out: Annotated[
        Path, typer.Option(help="Folder of the report and, by default, of the results.")
    ] = Path("results"),
    store: Annotated[
        Path | None, typer.Option(help="File of finished results, to go on from.")
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="cuda: tune the convex methods on a GPU.")
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            min=0, help="Begin no task after this time; the same command goes on later."
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="List remaining tasks with hours and stop."),
    ] = False,
    stored_only: Annotated[
        bool,
        typer.Option("--stored-only", help="Report what the store has; run nothing."),
    ] = False,
    page: Annotated[
        Path | None,
        typer.Option(help="Markdown file for the whole report, as Sphinx reads it."),
    ] = None,
    pdf: Annotated[
        Path | None,
        typer.Option(help="PDF file of the whole report; needs Chromium."),
    ] = None,
) -> None:
    """Run the paper's experiments again and report them beside its printed numbers.

    Stop it at any time: the same command goes on from what was finished.
    """
    from rich.console import Console

    from . import plan
    from .methods import find_methods
    from .presets import PRESETS, one_of
    from .protocols import PROTOCOLS
    from .runner import describe_failures, run_tasks

    asked = experiments or ["all"]
    console = Console(highlight=False)
    try:
        names = plan.find_experiments(asked)
        chosen = find_methods(methods)
        size = PRESETS[one_of(PRESETS, preset, "preset")].with_trials(trials)
        one_of(PROTOCOLS, protocol, "protocol")
        _check_device(device)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    datasets, missing = _find_genes(names, console)
    request = plan.Request(size, protocol, chosen, seed, datasets)
    tasks = list(dict.fromkeys(plan.tasks_of(request, names)))
    path = out / "results.sqlite" if store is None else store
    if dry_run:
        if path.is_file():
            with _open_store(path) as kept:
                tasks = [task for task in tasks if not kept.has(task)]
        console.print(plan.describe_cost(tasks), soft_wrap=True)
        return

    _check_writable(out)
    with _open_store(path) as kept:
        console.print(
            f"{', '.join(names)}: {len(tasks)} tasks, {len(kept.get(tasks))} of them in "
            f"{kept.path}",
            soft_wrap=True,
        )
        if not stored_only:
            seconds = math.inf if minutes is None else 60.0 * minutes
            try:
                progressed = run_tasks(
                    tasks,
                    kept,
                    jobs=jobs or 1,
                    device=device,
                    console=console,
                    seconds=seconds,
                )
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
        ["sparseauc reproduce", *asked]
        + [f"--{name} {value}" for name, value in options.items() if value is not None]
    )
    # What reports need is not needed to compute, nor to be there.
    from .note import make_note
    from .page import write_markdown_page, write_pdf, write_report
    from .report import facts_of, make_report
    from .results import Results

    results = Results(request, outcomes)
    facts = facts_of(command, request, outcomes, runs)
    report = make_report(results, names, facts=facts, missing_data=missing)
    note = make_note(results, facts)
    places = [write_report(report, out), write_report(note, out, "note")]
    if pdf is not None:
        printed = [pdf, pdf.with_name("note.pdf")]
        written = map(write_pdf, places, printed)
        console.print(f"PDF: {' and '.join(map(str, written))}", soft_wrap=True)
    if page is not None:
        places = [
            write_markdown_page(report, page),
            write_markdown_page(note, page.with_name("note.md")),
        ]
    console.print(
        f"Report: {places[0]}, and a note to the authors: {places[1]}", soft_wrap=True
    )


def _failure(message: str, code: int) -> typer.Exit:
    """Print what went wrong; the exit is to be raised."""
    typer.echo(f"Error: {message}", err=True)
    return typer.Exit(code)


def _check_device(name: str | None) -> None:
    """Refuse a device that is not there, or that kernels cannot be compiled for."""
    if name is None:
        return
    if find_spec("torch") is None:
        raise ValueError("--device needs torch and triton: pip install torch triton")
    import torch

    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ValueError(f"{name!r} is not a device torch knows: {error}") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"torch {torch.__version__} finds no GPU here")
    if find_spec("triton") is None:
        raise ValueError("--device needs triton: pip install triton")


def _check_writable(folder: Path) -> None:
    """Make a folder and check that files can be written to it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror or error
        raise _failure(f"cannot write to folder {folder}: {reason}", _OUTPUT) from None


@contextmanager
def _open_store(path: Path) -> Iterator[Store]:
    """Open a store; a file that is no good ends the command."""
    from .store import Store, StoreError

    try:
        with Store(path) as kept:
            yield kept
    except StoreError as error:
        raise _failure(str(error), _OUTPUT) from None


def _stopped(why: str, kept: Store, console: Console) -> typer.Exit:
    """Say where to find what was finished."""
    found = f"{why}. What was finished is in {kept.path}; the same command goes on from there."
    console.print(found, soft_wrap=True)
    return typer.Exit(_INTERRUPTED)


def _find_genes(
    names: Collection[str], console: Console
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Load the gene data that experiments need: those that can be had, and why others cannot."""
    from .gene_tables import DATASETS, genes

    missing: dict[str, str] = {}
    if not _ON_GENES & set(names):
        return (), missing
    for name in DATASETS:
        try:
            genes(name)
        except (OSError, ValueError) as error:
            missing[name] = str(error)
            why = f"Without the {name} data, which is not available: {error}"
            console.print(why, markup=False, soft_wrap=True)
    if len(missing) == len(DATASETS) and set(names) <= _ON_GENES_ALONE:
        raise _failure("; ".join(missing.values()), _DATA)
    return tuple(name for name in DATASETS if name not in missing), missing
