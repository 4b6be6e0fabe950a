"""The command ``sparseauc``. Each command imports what it needs when it runs, to start quickly."""

from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer

from sparseauc import __version__

from .compare import compare_command
from .errors import EXIT_CODES, GuardedGroup, PlainCommand
from .fit import fit_command
from .predict import predict_command
from .show import export_command, show_command
from .validate import validate_command

__all__ = ["app"]

app = typer.Typer(
    help="Find the short list: the few columns whose weighted sum best ranks positives above "
    "negatives.",
    epilog=EXIT_CODES,
    cls=GuardedGroup,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    # Values of local variables are rows of somebody's table.
    pretty_exceptions_show_locals=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _all_commands(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            "-V",
            is_eager=True,
            callback=_print_version,
            help="Print the version.",
        ),
    ] = False,
) -> None:
    """Options before any command."""


def _show_demo(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="Where to write. Files of an earlier demo are replaced.",
        ),
    ] = Path("demo-output"),
) -> None:
    """Fit, predict and compare on simulated patients, and show each command.

    It takes about 10 seconds, and 45 the first time if kernels have to be compiled.
    """
    from .demo import run_demo

    run_demo(folder, app)


_commands = {
    "fit": fit_command,
    "predict": predict_command,
    "show": show_command,
    "validate": validate_command,
    "compare": compare_command,
    "export": export_command,
    "demo": _show_demo,
    # Commands that installed packages register, such as ``reproduce``.
    **{point.name: point.load() for point in entry_points(group="sparseauc.commands")},
}
for _name, _command in _commands.items():
    app.command(_name, epilog=EXIT_CODES, cls=PlainCommand)(_command)
