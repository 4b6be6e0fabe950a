"""``sparseauc export``: a model for other programs and other people."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from sparseauc.utils.text import printable

from . import _options as options
from .errors import OutputError


@options.grouped
def export_command(
    *,
    model: options.ModelFile,
    to: Annotated[
        Literal["html", "xlsx", "r", "sql"],
        typer.Option(
            show_default=False,
            help="html for an offline page to fill in, xlsx for a workbook with formulas, r for a "
            "function in R, sql for one SQL expression.",
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
    output: options.Output,
) -> None:
    """Export MODEL for people and programs without sparseauc; all give the same scores."""
    from ._listing import print_result
    from .output import check_outputs, write_outputs

    if out is None and to == "xlsx":
        raise typer.BadParameter("a workbook cannot be printed: give a file with --out")
    check_outputs(out, force=output.force, inputs=(model,))
    from .. import export
    from ..model_files import ModelFileError, load_model

    card = load_model(model)
    try:
        made: str | bytes = getattr(export, f"to_{to}")(card)
    except ValueError as error:
        raise ModelFileError(f"{model.name} cannot be exported: {error}") from None
    content = made.encode() if isinstance(made, str) else made
    written = write_outputs({} if out is None else {out: content})
    text = content.decode() if out is None else None
    if text is not None and not output.as_json:
        if printable(text) != text.replace("\t", " "):
            raise OutputError(
                f"{model.name} has names with control characters, which a terminal would obey: "
                "write the export to a file with --out"
            )
        typer.echo(text)
    print_result(output, {"to": to, "content": text}, written)
