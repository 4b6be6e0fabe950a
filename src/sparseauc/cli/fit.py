"""``sparseauc fit``: from a table to a short list of columns, a model file and a report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import _options as options

if TYPE_CHECKING:
    from ..tabular.summary import FitSummary


def fit_command(
    table: options.TableFile,
    target: options.Target = None,
    positive: options.Positive = None,
    k: options.Columns = None,
    max_k: options.MaxColumns = None,
    rule: options.Rule = options.RuleForK.best,
    alpha: options.Alpha = None,
    always_include: options.AlwaysInclude = None,
    signs: options.Signs = None,
    costs: options.Costs = None,
    budget: options.Budget = None,
    families: options.Families = None,
    max_per_family: options.MaxPerFamily = 1,
    points: options.Points = None,
    cut: options.Cut = False,
    exclude: options.Exclude = None,
    groups: options.Groups = None,
    strata: options.Strata = None,
    ids: options.Ids = None,
    text: options.Text = options.OnText.refuse,
    max_levels: options.MaxLevels = 20,
    numeric: options.Numeric = None,
    missing: options.Missing = options.OnMissing.refuse,
    target_file: options.TargetFile = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    max_gib: options.MaxGib = 2.0,
    permutations: options.Permutations = 0,
    quick: options.Quick = False,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    out: Annotated[
        Path | None, options.output("--out", "-o", help="Model file to write, such as model.skops.")
    ] = None,
    report: Annotated[
        Path | None, options.output(help="Report to write, such as report.html.")
    ] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Find the few columns of TABLE whose weighted sum best ranks positives above negatives.

    Example: sparseauc fit patients.csv --target outcome --positive yes --out model.skops
    """
    if alpha is not None and not alpha < float("inf"):
        raise typer.BadParameter("--alpha must be a finite number of 0 or more")

    from ._listing import print_card, print_notes
    from ._output import Outputs, check_suffix
    from ._progress import progress

    inputs = (table,) if target_file is None else (table, target_file)
    with Outputs(out, report, force=force, inputs=inputs) as outputs:
        check_suffix(out, "--out", (".skops",))
        check_suffix(report, "--report", (".html", ".htm"))
        with progress(quiet, f"Reading {table.name}") as advance:
            from ..tabular.fitting import FitSettings, fit_table
            from ..tabular.limits import read_costs, read_families, read_signs
            from ..tabular.model_files import model_bytes
            from ..tabular.reading import Rules
            from ..tabular.reading.cuts import cut_numbers
            from ._reading import made_by, read_table

            rules = Rules(
                target=target, target_file=target_file, positive=positive, groups=groups,
                strata=strata, ids=ids, exclude=tuple(exclude or ()), text=text.value,
                missing=missing.value, max_levels=max_levels, numeric=tuple(numeric or ()),
            )  # fmt: skip
            prices, bundles = read_costs(costs or ())
            settings = FitSettings(
                k=k, max_k=max_k, alpha=alpha, rule=rule.value,
                always_include=tuple(always_include or ()), signs=read_signs(signs or ()),
                costs=prices, bundles=bundles, budget=budget,
                families=read_families(families or ()), max_per_family=max_per_family,
                points=points,
                folds=0 if quick else 5, stability_pairs=0 if quick else 50,
                permutations=permutations, seed=seed, jobs=jobs,
            )  # fmt: skip
            ready = read_table(table, rules, delimiter, encoding, max_gib)
            ready = cut_numbers(ready) if cut else ready
            summary = fit_table(ready, settings, advance)
            card = summary.card()
            if out is not None:
                outputs.stage(out, model_bytes(summary.model, card))
            if report is not None:
                outputs.stage(report, report_page(summary, made_by(table)).encode())
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
