"""``sparseauc fit``: from a table to a short list of columns, a model file and a report."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shlex
import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import _options as options

if TYPE_CHECKING:
    from ..tabular.summary import FitSummary


class Rule(StrEnum):
    """How the number of columns is chosen."""

    best = "best"
    one_se = "1se"


def fit_command(
    table: options.TableFile,
    target: options.Target = None,
    positive: options.Positive = None,
    k: Annotated[
        int | None,
        typer.Option(
            "-k",
            min=1,
            show_default=False,
            rich_help_panel=options.CHECKS,
            help="Number of columns. The ridge is chosen by cross-validation, unless --alpha is "
            "given.",
        ),
    ] = None,
    cv: Annotated[
        bool,
        typer.Option(
            "--cv",
            rich_help_panel=options.CHECKS,
            help="Choose the number of columns by cross-validation; so it is without -k too.",
        ),
    ] = False,
    max_k: Annotated[
        int,
        typer.Option(min=1, rich_help_panel=options.CHECKS, help="Most columns to try with --cv."),
    ] = 50,
    rule: Annotated[
        Rule,
        typer.Option(
            rich_help_panel=options.CHECKS,
            help="With --cv: a list of the best AUC, or the shortest within one standard error.",
        ),
    ] = Rule.best,
    alpha: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            show_default=False,
            rich_help_panel=options.CHECKS,
            help="Ridge, on the standardised scale; chosen by cross-validation if not given.",
        ),
    ] = None,
    always_include: Annotated[
        list[str] | None,
        typer.Option(
            show_default=False,
            rich_help_panel=options.CHECKS,
            metavar="NAME",
            help="Column that must be chosen; may be given again.",
        ),
    ] = None,
    exclude: options.Exclude = None,
    groups: options.Groups = None,
    ids: options.Ids = None,
    text: options.Text = options.OnText.refuse,
    missing: options.Missing = options.OnMissing.refuse,
    target_file: options.TargetFile = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    permutations: Annotated[
        int,
        typer.Option(
            min=0,
            rich_help_panel=options.CHECKS,
            help="Shuffle the outcome so often and refit everything, for a p-value. Slow.",
        ),
    ] = 0,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            rich_help_panel=options.CHECKS,
            help="Leave out the honest AUC and the refits on halves: the list alone, sooner.",
        ),
    ] = False,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            show_default=False,
            rich_help_panel=options.OUTPUT,
            help="Model file to write, such as model.skops.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            show_default=False,
            rich_help_panel=options.OUTPUT,
            help="Report to write, such as report.html.",
        ),
    ] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Choose the few columns of TABLE whose weighted sum best ranks positives above negatives.

    Example: sparseauc fit patients.csv --target outcome --positive yes --out model.skops
    """
    if k is not None and cv:
        raise typer.BadParameter("give -k, or --cv to have it chosen, not both")
    if alpha is not None and not alpha < float("inf"):
        raise typer.BadParameter("--alpha must be a finite number of 0 or more")
    if report is not None:
        _need_report_libraries()

    from ._listing import print_card, print_notes
    from ._output import Outputs
    from ._progress import progress

    inputs = (table,) if target_file is None else (table, target_file)
    with Outputs(out, report, force=force, inputs=inputs) as outputs:
        with progress(quiet, f"Reading {table.name}") as advance:
            from ..tabular.fitting import FitSettings, fit_table
            from ..tabular.reading import Rules
            from ._reading import read_table

            rules = Rules(
                target=target, target_file=target_file, positive=positive, groups=groups, ids=ids,
                exclude=tuple(exclude or ()), text=text.value, missing=missing.value,
            )  # fmt: skip
            ready = read_table(table, rules, delimiter, encoding)
            settings = FitSettings(
                k=k, max_k=max_k, alpha=alpha, rule=rule.value,
                always_include=tuple(always_include or ()), folds=0 if quick else 5,
                stability_pairs=0 if quick else 50, permutations=permutations, seed=seed, jobs=jobs,
            )  # fmt: skip
            summary = fit_table(ready, settings, advance)
            card = summary.card()
            if out is not None:
                from ..tabular.model_files import model_bytes

                outputs.stage(out, model_bytes(summary.model, card))
            if report is not None:
                outputs.stage(report, report_page(summary, _facts(table)).encode())
        written = outputs.commit()

    if as_json:
        typer.echo(json.dumps({**summary.to_dict(), "written": written}, ensure_ascii=False))
    elif not quiet:
        print_notes(summary.notes, summary.cautions)
        print_card(card)
        for name in written:
            typer.echo(f"Written: {name}")


def report_page(summary: FitSummary, facts: Mapping[str, str]) -> str:
    """Return the report on a fitted table, a page of HTML."""
    from ..tabular.report import build_model_report
    from ..tabular.report.html import render

    return render(build_model_report(summary, facts))


def _need_report_libraries() -> None:
    """Refuse a report that could not be written, before any time is spent on the fit."""
    for name in ("jinja2", "plotly"):
        if importlib.util.find_spec(name) is None:
            raise ImportError(f'--report needs {name}: pip install "sparseauc[report]"')


def _facts(table: Path) -> dict[str, str]:
    """What a report says of how it was made: the command, and which file it was."""
    with table.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"sha256 of the data": digest, "command": shlex.join(["sparseauc", *sys.argv[1:]])}
