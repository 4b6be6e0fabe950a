"""The command ``sparseauc reproduce``, which ``sparseauc_app.cli`` finds by its entry point.

What it needs is imported when it runs, so that ``sparseauc --help`` starts quickly.
"""

from pathlib import Path
from typing import Annotated

import typer


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
    from .reproduce import run_reproduce

    run_reproduce(
        experiments or [], preset=preset, protocol=protocol, trials=trials, methods=methods,
        jobs=jobs or 1, seed=seed, out=out, store=store, device=device,
        minutes=minutes, dry_run=dry_run, stored_only=stored_only, page=page, pdf=pdf,
    )  # fmt: skip
