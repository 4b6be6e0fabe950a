"""``sparseauc compare``: which method ranks new rows of a table best."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sparseauc.utils.optional import REQUIREMENTS

from ..methods import all_methods, methods_of_times
from . import _options as options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..comparison import MethodResult
    from ..methods import Method

_METHODS = all_methods()


@options.grouped
def compare_command(
    *,
    table: options.TableFile,
    training: options.Training,
    text_file: options.TextFile,
    methods: Annotated[
        str,
        options.fitting(
            help="Comma-separated names, or all: "
            + "; ".join(f"{name} ({method.title})" for name, method in _METHODS.items())
            + f". With --time: {', '.join(methods_of_times())}."
        ),
    ] = "all",
    repeats: Annotated[
        int, options.fitting(min=1, metavar="N", help="Repeats of the outer cross-validation.")
    ] = 1,
    folds: Annotated[int, options.fitting(min=2, metavar="N", help="Number of outer folds.")] = 5,
    seed: options.Seed = 0,
    limits: options.LimitsGiven = None,
    out: Annotated[
        Path | None, options.output("--out", "-o", help="Results file to write: .csv or .json.")
    ] = None,
    output: options.Output,
) -> None:
    """Compare methods on TABLE by nested cross-validation, each tuned on training rows only."""
    of_times = training.time is not None and "within" not in (training.horizon or "")
    known = methods_of_times() if of_times else _METHODS
    chosen, left_out = _choose_methods(methods, known)

    from ._listing import print_result
    from .output import check_outputs, check_suffix, csv_bytes, write_outputs
    from .progress import progress

    check_outputs(out, force=output.force, inputs=(table,))
    check_suffix(out, "--out", (".csv", ".json"))
    with progress(output.quiet, f"Reading {table.name}") as advance:
        from ..comparison import compare_methods
        from ..limits import read_limits
        from ._reading import read_table

        kept_to = read_limits(limits) if limits else None
        ready = read_table(table, training, text_file, kept_to)
        results = compare_methods(
            ready, chosen, repeats=repeats, folds=folds, seed=seed, limits=kept_to,
            progress=advance,
        )  # fmt: skip
    rows = [result.as_dict() for result in results]
    contents: dict[Path, bytes] = {}
    if out is not None and out.suffix.lower() == ".json":
        contents[out] = json.dumps(rows, indent=1).encode()
    elif out is not None:
        contents[out] = csv_bytes([rows[0], *(row.values() for row in rows)])
    written = write_outputs(contents)
    print_result(
        output, {"methods": rows}, written, [*ready.notes, *left_out], ready.warnings,
        lambda: _print_results(results, repeats, ready.within, ready.outcome.measure),
    )  # fmt: skip


def _choose_methods(names: str, known: Mapping[str, Method]) -> tuple[list[str], list[str]]:
    """Methods by name, and notes on those that are left out of all."""
    if names != "all":
        chosen = [name.strip() for name in names.split(",")]
        for name in chosen:
            if name not in known:
                raise typer.BadParameter(f"unknown method {name!r}; known: {', '.join(known)}")
        return chosen, []
    absent = [method for method in known.values() if not method.installed]
    notes = [
        f"{method.key} is left out: pip install '{REQUIREMENTS[str(method.needs)]}'"
        for method in absent
    ]
    return [name for name, method in known.items() if method.installed], notes


def _print_results(
    results: list[MethodResult], repeats: int, within: str | None, measure: str
) -> None:
    from rich.console import Console

    from ..formatting import auc_text
    from ._listing import print_rows

    rows = []
    for one in results:
        against = "" if one.difference is None else f"{one.difference:+.3f}"
        against += "" if one.pvalue is None else f", p {one.pvalue:.2g}"
        rows.append(
            {
                "method": one.method,
                f"{measure} (95 % CI)": auc_text(one.as_dict()),
                "in folds": f"{one.fold_auc:.3f}",
                "k": f"{one.columns:g}",
                "vs first": against,
                "s": f"{one.seconds:.1f}",
            }
        )
    print_rows(rows)
    test = "DeLong's paired test" if measure == "AUC" else "paired test"
    Console(highlight=False).print(
        f"{measure}: by nested cross-validation, "
        + ("all rows pooled" if within is None else f"within {within!r}")
        + (f", mean of {repeats} repeats" if repeats > 1 else "")
        + f". in folds: mean {measure} within folds. k: median number of columns. "
        + (
            "Methods other than ours are fitted to all pairs. "
            if within is not None
            else f"p: {test}, not corrected for multiple comparisons. "
        )
        + "s: seconds."
    )
