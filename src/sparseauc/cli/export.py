"""``sparseauc export``: a model for other programs."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from . import _options as options


class Format(StrEnum):
    """What a model can be exported to."""

    onnx = "onnx"
    json = "json"
    sql = "sql"


def export_command(
    model: options.ModelFile,
    to: Annotated[
        Format,
        typer.Option(
            show_default=False,
            help="onnx for ONNX runtimes, json for a score card, sql for one SQL expression.",
        ),
    ],
    out: Annotated[
        Path | None,
        options.output("--out", "-o", help="File to write. By default JSON and SQL are printed."),
    ] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Export MODEL as ONNX, as a JSON score card or as one SQL expression."""
    from ._listing import print_notes
    from ._output import Outputs

    if out is None and to is Format.onnx:
        raise typer.BadParameter("ONNX is binary: give a file with --out")
    notes: list[str] = []
    with Outputs(out, force=force, inputs=(model,)) as outputs:
        from ..tabular.export import to_json, to_onnx, to_sql
        from ..tabular.model_files import ModelFileError
        from ._reading import card_of

        card = card_of(model, notes)
        try:
            if to is Format.onnx:
                content = to_onnx(card)
            else:
                content = (to_json if to is Format.json else to_sql)(card).encode()
        except ValueError as error:
            raise ModelFileError(f"{model.name} cannot be exported: {error}") from None
        if out is not None:
            outputs.stage(out, content)
        written = outputs.commit()
    if as_json:
        text = content.decode() if out is None else None
        typer.echo(json.dumps({"to": to.value, "written": written, "content": text}))
        return
    if out is None:
        typer.echo(content.decode())
    if not quiet:
        print_notes(notes, ())
        for name in written:
            typer.echo(f"Written: {name}")
