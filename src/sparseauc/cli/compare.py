"""``sparseauc compare``: which method ranks new rows of a table best."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..tabular.methods import METHODS
from . import _options as options

if TYPE_CHECKING:
    from ..tabular.comparison import MethodResult


def compare_command(
    table: options.TableFile,
    target: options.Target = None,
    positive: options.Positive = None,
    methods: Annotated[
        str,
        options.fitting(
            help="Comma-separated names, or all: "
            + "; ".join(f"{name} ({method.title})" for name, method in METHODS.items())
            + "."
        ),
    ] = "all",
    repeats: Annotated[
        int,
        options.fitting(min=1, metavar="N", help="Repeats of the outer cross-validation."),
    ] = 1,
    folds: Annotated[int, options.fitting(min=2, metavar="N", help="Number of outer folds.")] = 5,
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
    seed: options.Seed = 0,
    out: Annotated[
        Path | None, options.output("--out", "-o", help="Results file to write: .csv or .json.")
    ] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Compare methods on TABLE by nested cross-validation, each tuned on training rows only."""
    chosen = list(METHODS) if methods == "all" else [name.strip() for name in methods.split(",")]
    for name in chosen:
        if name not in METHODS:
            raise typer.BadParameter(f"unknown method {name!r}; known: {', '.join(METHODS)}")

    from ._listing import print_notes
    from ._output import Outputs, check_suffix
    from ._progress import progress

    inputs = (table,) if target_file is None else (table, target_file)
    with Outputs(out, force=force, inputs=inputs) as outputs:
        check_suffix(out, "--out", (".csv", ".json"))
        with progress(quiet, f"Reading {table.name}") as advance:
            from ..tabular.comparison import compare_methods
            from ..tabular.reading import Rules
            from ._reading import read_table

            rules = Rules(
                target=target, target_file=target_file, positive=positive, groups=groups,
                strata=strata, ids=ids, exclude=tuple(exclude or ()), text=text.value,
                missing=missing.value, max_levels=max_levels, numeric=tuple(numeric or ()),
            )  # fmt: skip
            ready = read_table(table, rules, delimiter, encoding, max_gib)
            results = compare_methods(
                ready, chosen, repeats=repeats, folds=folds, seed=seed, progress=advance
            )
        rows = [result.as_dict() for result in results]
        if out is not None:
            outputs.stage(out, _format_results(rows, out.suffix.lower()))
        written = outputs.commit()

    if as_json:
        typer.echo(json.dumps({"methods": rows, "written": written}))
    elif not quiet:
        print_notes(ready.notes, ready.warnings)
        _print_results(results, repeats, strata)
        for name in written:
            typer.echo(f"Written: {name}")


def _format_results(rows: list[dict[str, Any]], suffix: str) -> bytes:
    """Return the contents of a results file."""
    if suffix == ".json":
        return json.dumps(rows, indent=1).encode()
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _print_results(results: list[MethodResult], repeats: int, strata: str | None) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from ._listing import print_table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("method", no_wrap=True)
    for heading in ("AUC (95 % CI)", "in folds", "k", "vs first", "s"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in results:
        against = "" if one.difference is None else f"{one.difference:+.3f}"
        against += "" if one.pvalue is None else f", p {one.pvalue:.2g}"
        table.add_row(
            one.method,
            f"{one.auc:.3f} ({one.low:.3f}–{one.high:.3f})",
            f"{one.fold_auc:.3f}",
            f"{one.columns:g}",
            against,
            f"{one.seconds:.1f}",
        )
    print_table(table)
    Console(highlight=False).print(
        "AUC: by nested cross-validation, "
        + ("all rows pooled" if strata is None else f"within {strata!r}")
        + (f", mean of {repeats} repeats" if repeats > 1 else "")
        + ". in folds: mean AUC within folds. k: median number of columns. "
        + (
            "p: DeLong's paired test, not corrected for multiple comparisons. "
            if strata is None
            else "Methods other than ours are fitted to all pairs. "
        )
        + "s: seconds."
    )
