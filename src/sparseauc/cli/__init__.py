"""The command ``sparseauc``. Each command imports what it needs when it runs, to start quickly.

Exit codes: 0 done; 1 something is not installed, or memory ran out; 2 the command was misused; 3
the data cannot be used; 4 the model file cannot be used; 5 an output exists or cannot be written;
130 interrupted. Whatever fails or is interrupted leaves no output behind.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from .. import __version__
from ._errors import EXIT_CODES, GuardedGroup, PlainCommand
from .compare import compare_command
from .export import export_command
from .fit import fit_command
from .predict import predict_command
from .show import show_command

__all__ = ["app"]

app = typer.Typer(
    help="The k columns whose linear score best ranks positives above negatives.",
    epilog=EXIT_CODES,
    cls=GuardedGroup,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    # Values of local variables are rows of somebody's table.
    pretty_exceptions_show_locals=False,
)


def _add(name: str, command: Callable[..., None]) -> None:
    app.command(name, epilog=EXIT_CODES, cls=PlainCommand)(command)


_add("fit", fit_command)
_add("predict", predict_command)
_add("show", show_command)
_add("compare", compare_command)
_add("export", export_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _all_commands(
    version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", is_eager=True, callback=_print_version, help="Print the version."
        ),
    ] = False,
) -> None:
    """Options before any command."""


# Not called demo: that name is the module's.
@app.command("demo")
def show_demo(
    out: Annotated[
        Path, typer.Option(help="Folder of the plot demo.png; an older one is overwritten.")
    ] = Path("demo-output"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the data and of the fits.")] = 0,
) -> None:
    """Fit SHT-AUC to the paper's outbreak data, print tables and save a plot (seconds)."""
    from .demo import OutputError, run_demo

    try:
        run_demo(out, seed)
    except OutputError as error:
        typer.echo(f"Error: {error}. Choose another folder with --out", err=True)
        raise typer.Exit(1) from None


@app.command("reproduce")
def reproduce_paper(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            help="all, or some of table1 … table5, figure1 … figure4, theory, audit.",
            show_default="all",
        ),
    ] = None,
    preset: Annotated[
        str, typer.Option(help="quick (minutes on two cores) or paper (full grids and trials).")
    ] = "quick",
    protocol: Annotated[
        str,
        typer.Option(help="corrected, or published: as the authors' programs did, slips included."),
    ] = "corrected",
    trials: Annotated[
        int | None, typer.Option(min=1, help="Trials everywhere, in place of the preset's.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Methods, with commas between; all by default.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=-1, help="Fits at the same time; -1 for all cores.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of data, splits and fits.")] = 0,
    out: Annotated[
        Path, typer.Option(help="Folder of the report and, by default, of the results.")
    ] = Path("results"),
    store: Annotated[
        Path | None, typer.Option(help="File of finished results, to go on from.")
    ] = None,
    dask: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler that runs the fits.")
    ] = None,
) -> None:
    """Run the paper's experiments again and report them beside its printed numbers.

    Stop it at any time: the same command goes on from what was finished.
    """
    from sparseauc_paper.command import run_reproduce
    from sparseauc_paper.store import StoreError

    from .demo import OutputError

    try:
        run_reproduce(
            experiments or [], preset=preset, protocol=protocol, trials=trials, methods=methods,
            jobs=jobs or 1, seed=seed, out=out, store=store, dask=dask,
        )  # fmt: skip
    except (OutputError, StoreError, ValueError, ImportError, OSError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
