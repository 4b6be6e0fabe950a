"""``sparseauc compare``: which method ranks new rows of a table best."""

from __future__ import annotations

from functools import partial
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
            help="Comma-separated names, or usual (all but plugins and sht-auc), or all: "
            + "; ".join(f"{name} ({method.title})" for name, method in _METHODS.items())
            + f". With --time: {', '.join(methods_of_times())}."
        ),
    ] = "usual",
    folds: Annotated[
        int, options.fitting(min=2, metavar="N", help="Number of outer folds.")
    ] = 5,
    as_json: options.Json = False,
) -> None:
    """Compare methods on TABLE by nested cross-validation, each tuned on training rows only."""
    of_times = training.time is not None and "within" not in (training.horizon or "")
    known = methods_of_times() if of_times else _METHODS
    chosen, left_out = _choose_methods(methods, known)

    from .output import finish, progress

    with progress(f"Reading {table.name}") as advance:
        from ..comparison import compare_methods

        ready = training.read(table, text_file)
        results = compare_methods(ready, chosen, folds=folds, progress=advance)
    notes = [*ready.notes, *left_out]
    rows = [result.as_dict() for result in results]
    said = {"methods": rows, "notes": notes, "warnings": ready.warnings}
    show = partial(_print_results, results, ready.within, ready.outcome.measure)
    finish({}, said if as_json else None, notes, ready.warnings, show)


def _choose_methods(
    names: str, known: Mapping[str, Method]
) -> tuple[list[str], list[str]]:
    """Methods by name, and notes on those that are left out of the usual ones, or of all."""
    if names not in ("usual", "all"):
        chosen = [name.strip() for name in names.split(",")]
        for name in chosen:
            if name not in known:
                raise typer.BadParameter(
                    f"unknown method {name!r}; known: {', '.join(known)}"
                )
        return chosen, []
    asked = [method for method in known.values() if names == "all" or method.usual]
    absent = [method for method in asked if not method.installed]
    notes = [
        f"{method.key} is left out: pip install '{REQUIREMENTS[str(method.needs)]}'"
        for method in absent
    ]
    return [method.key for method in asked if method.installed], notes


def _print_results(
    results: list[MethodResult], within: str | None, measure: str
) -> None:
    from rich.console import Console

    from ..formatting import auc_text
    from .output import print_rows

    rows = []
    for one in results:
        against = "" if one.difference is None else f"{one.difference:+.3f}"
        against += "" if one.pvalue is None else f", p {one.pvalue:.2g}"
        rows.append(
            {
                "method": one.method,
                "k": f"{one.columns:g}",
                f"{measure} (95 % CI)": auc_text(one.as_dict()),
                "vs first": against,
                "s": f"{one.seconds:.0f}",
            }
        )
    print_rows(rows)
    test = "DeLong's paired test" if measure == "AUC" else "paired test"
    Console(highlight=False).print(
        f"{measure}: by nested cross-validation, "
        + ("all rows pooled" if within is None else f"within {within!r}")
        + ". k: median number of columns. "
        + (
            "Methods other than ours are fitted to all pairs. "
            if within is not None
            else f"p: {test}, not corrected for multiple comparisons. "
        )
        + "s: seconds."
    )
