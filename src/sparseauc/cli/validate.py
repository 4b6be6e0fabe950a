"""``sparseauc validate``: a model on rows of another place or year."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._text import printable
from . import _options as options

if TYPE_CHECKING:
    from ..tabular.validation import Validation


def validate_command(
    model: options.ModelFile,
    table: options.TableFile,
    by: Annotated[
        str | None,
        options.fitting(
            metavar="NAME", help="Column of groups to evaluate one by one, such as the site."
        ),
    ] = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    max_gib: options.MaxGib = 2.0,
    report: Annotated[
        Path | None, options.output(help="Report to write, such as validation.html.")
    ] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Validate MODEL on new rows with known outcome, such as another hospital or year.

    Example: sparseauc validate model.skops next_year.csv --by site --report validation.html
    """
    from ._listing import operating_table, print_notes, print_table
    from ._output import Outputs, check_suffix
    from ._progress import progress

    notes: list[str] = []
    with Outputs(report, force=force, inputs=(model, table)) as outputs:
        check_suffix(report, "--report", (".html", ".htm"))
        with progress(quiet, f"Reading {table.name}"):
            from ..tabular.validation import validate_model
            from ._reading import card_of, made_by, read_new_rows

            card = card_of(model, notes)
            source = read_new_rows(table, card, delimiter, encoding, max_gib, by)
            found = validate_model(card, source, by)
            if report is not None:
                from ..tabular.report.html import render
                from ..tabular.report.validation_report import build_validation_report

                page = render(build_validation_report(found, made_by(table)))
                outputs.stage(report, page.encode())
        written = outputs.commit()

    if as_json:
        typer.echo(json.dumps({**found.to_dict(), "written": written}, ensure_ascii=False))
    elif not quiet:
        print_notes([*notes, *found.notes], found.warnings)
        for line in _lines(found):
            typer.echo(printable(line))
        points = [point.as_dict() for point in found.points]
        print_table(operating_table(points, f"Thresholds of the model on {found.source}"))
        for name in written:
            typer.echo(f"Written: {name}")


def _lines(found: Validation) -> Iterable[str]:
    from ..tabular.formatting import auc_text, calibration_text

    card = found.card
    yield (
        f"{found.source}: {found.positive.size} rows, {int(found.positive.sum())} with "
        f"{card.target} = {card.positive}"
    )
    within = "" if found.within is None else f" within {found.within!r}"
    yield f"AUC{within} {auc_text(found.interval, long=True)}"
    if found.promised is not None:
        tested = "" if found.pvalue is None else f"; difference p = {found.pvalue:.2g}"
        yield f"Expected from nested cross-validation: {auc_text(found.promised)}{tested}"
    if found.calibration is not None:
        yield f"Calibration: {calibration_text(found.calibration)}"
    for group in found.groups:
        area = f"AUC {auc_text(group.interval)}" if group.interval else "too few rows of a class"
        yield f"  {group.name}: {area}, {group.rows} rows, {group.positives} positive"
