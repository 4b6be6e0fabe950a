"""``sparseauc export``: a model for other programs."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from . import _options as options


@options.grouped
def export_command(
    *,
    model: options.ModelFile,
    to: Annotated[
        Literal["onnx", "json", "sql"],
        typer.Option(
            show_default=False,
            help="onnx for ONNX runtimes, json for a score card, sql for one SQL expression.",
        ),
    ],
    out: Annotated[
        Path | None,
        options.output("--out", "-o", help="File to write. By default JSON and SQL are printed."),
    ] = None,
    output: options.Output,
) -> None:
    """Export MODEL as ONNX, as a JSON score card or as one SQL expression."""
    from ._listing import print_result
    from ._output import check_outputs, write_outputs

    if out is None and to == "onnx":
        raise typer.BadParameter("ONNX is binary: give a file with --out")
    check_outputs(out, force=output.force, inputs=(model,))
    from ..export import to_json, to_onnx, to_sql
    from ..model_files import ModelFileError
    from ._reading import card_of

    card, notes = card_of(model)
    try:
        if to == "onnx":
            content = to_onnx(card)
        else:
            content = (to_json if to == "json" else to_sql)(card).encode()
    except ValueError as error:
        raise ModelFileError(f"{model.name} cannot be exported: {error}") from None
    written = write_outputs({} if out is None else {out: content})
    text = content.decode() if out is None else None
    if text is not None and not output.as_json:
        typer.echo(text)
    print_result(output, {"to": to, "content": text}, written, notes)
