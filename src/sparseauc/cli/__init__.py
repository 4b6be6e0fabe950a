"""The command ``sparseauc``. Each command imports what it needs when it runs, to start quickly."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(
    help="The k columns whose linear score best ranks positives above negatives.",
    no_args_is_help=True,
    add_completion=False,
)


@app.command("version")
def show_version() -> None:
    """Print the version."""
    from .. import __version__

    typer.echo(__version__)


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
