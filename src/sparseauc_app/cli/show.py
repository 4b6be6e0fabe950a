"""``sparseauc show`` and ``sparseauc export``: what is in a model file, for people and programs."""

import io
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Literal

import typer

from ..text import printable
from . import _options as options
from .errors import OutputError


def show_command(model: options.ModelFile) -> None:
    """Print the columns, coefficients and AUC of MODEL. The file itself is JSON."""
    from ..model_files import ModelFileError, load_model
    from .output import print_card, print_notes

    card = load_model(model)
    try:
        warnings = [str(warning) for warning in card.summary.get("warnings", ())]
        with redirect_stdout(io.StringIO()):
            print_card(card)
    except Exception as error:
        # A summary can hold anything: it comes from whoever made the file.
        raise ModelFileError(f"{model.name}: its summary is damaged") from error
    print_notes((), warnings)
    print_card(card)
    typer.echo(f"Fitted by sparseauc {printable(card.version)}")


@options.grouped
def export_command(
    *,
    model: options.ModelFile,
    to: Annotated[
        Literal["html", "xlsx", "r", "sql"],
        typer.Argument(
            metavar="FORMAT",
            show_default=False,
            help="html for an offline page to fill in, xlsx for a workbook with formulas, r for a "
            "function in R, sql for an SQL query.",
        ),
    ],
    out: Annotated[
        Path | None,
        options.output(
            "--out",
            "-o",
            help="File to write. By default the text is printed; xlsx needs a file.",
        ),
    ] = None,
    force: options.Force = False,
) -> None:
    """Export MODEL for people and programs without sparseauc; all give the same scores."""
    from .output import check_outputs, finish

    if out is None and to == "xlsx":
        raise typer.BadParameter("a workbook cannot be printed: give a file with --out")
    check_outputs(out, force=force, inputs=(model,))
    from .. import export
    from ..model_files import ModelFileError, load_model

    card = load_model(model)
    try:
        made: str | bytes = getattr(export, f"to_{to}")(card)
    except ValueError as error:
        raise ModelFileError(f"{model.name} cannot be exported: {error}") from None
    content = made.encode() if isinstance(made, str) else made
    if out is not None:
        finish({out: content}, None, (), (), lambda: None)
    else:
        text = content.decode()
        # SQL has a blank for a carriage return in texts; quotes within them are
        # doubled.
        without = text.replace(", '\r', ' ')", "").replace("\t", " ")
        if printable(without) != without or any(
            "\r" in term.column for term in card.terms
        ):
            raise OutputError(
                f"{model.name} has names with control characters, which a terminal would obey: "
                "write the export to a file with --out"
            )
        typer.echo(text)
