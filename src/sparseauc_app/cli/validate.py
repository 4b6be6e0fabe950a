"""``sparseauc validate``: a model on rows of another place or year."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ..text import printable
from . import _options as options

if TYPE_CHECKING:
    from ..validation import Validation


@options.grouped
def validate_command(
    *,
    model: options.ModelFile,
    table: options.TableFile,
    by: Annotated[
        str | None,
        options.fitting(
            metavar="NAME",
            help="Column of groups to evaluate one by one, such as the site.",
        ),
    ] = None,
    groups: Annotated[
        str | None,
        options.fitting(
            metavar="NAME",
            help="Column that marks related rows, such as the visits of a patient. Intervals and "
            "tests of rankings take them together.",
        ),
    ] = None,
    risk_column: Annotated[
        list[str] | None,
        options.fitting(
            metavar="NAME",
            help="Column of another score or risk, such as an established one, to "
            "compare on the same rows. May be given several times.",
        ),
    ] = None,
    positive: Annotated[
        str | None,
        options.reading(
            help="Label of the positive class in TABLE. By default that of the model."
        ),
    ] = None,
    negative: Annotated[
        str | None,
        options.reading(
            help="Label of the negative class in TABLE. Rows with other labels are left out; "
            "without it they are refused."
        ),
    ] = None,
    text_file: options.TextFile,
    report: Annotated[
        Path | None, options.output(help="Report to write, such as validation.html.")
    ] = None,
    update: Annotated[
        Literal["intercept", "slope"] | None,
        options.output(
            show_default=False,
            help="Recalibrate the risks on these rows and write a new model (--out): intercept "
            "shifts the log odds, of times to event the baseline hazard; slope fits their slope "
            "too.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        options.output("--out", "-o", help="Updated model to write, with --update."),
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Validate MODEL on new rows with known outcome, such as another hospital or year.

    Example: sparseauc validate model.json next_year.csv --by site --report
    validation.html
    """
    from .output import check_outputs, check_suffix, finish, made_by, progress

    contents: dict[Path, bytes] = {}
    if (update is None) != (out is None):
        raise typer.BadParameter(
            "--update and --out go together: one says how, the other where"
        )
    check_outputs(report, out, force=force, inputs=(model, table))
    check_suffix(report, "--report", (".html", ".htm"))
    with progress(f"Reading {table.name}"):
        from ..model_files import load_model, model_bytes
        from ..validation import validate_model

        card = load_model(model)
        notes: list[str] = []
        source = text_file.read_new_rows(table, card, (by, groups))
        found = validate_model(
            card,
            source,
            by,
            groups=groups,
            positive=positive,
            negative=negative,
            risk_columns=risk_column or (),
        )
        if update is not None and out is not None:
            from ..updating import update_model

            updated = update_model(found, update)
            contents[out] = model_bytes(updated)
            notes.append(updated.summary["updates"][-1]["text"])
        if report is not None:
            from ..pages.html import render
            from ..pages.validation_report import build_validation_report

            contents[report] = render(
                build_validation_report(found, made_by(table))
            ).encode()
    notes += found.notes
    show = partial(_print_validation, found)
    finish(contents, found.to_dict() if as_json else None, notes, found.warnings, show)


def _print_validation(found: Validation) -> None:
    from ..formatting import write_lines
    from .output import print_points

    for line in write_lines("terminal_validation", found=found):
        typer.echo(printable(line))
    if found.points:
        points = [point.as_dict() for point in found.points]
        print_points(points, f"Thresholds of the model on {found.source}")
