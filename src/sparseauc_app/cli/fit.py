"""``sparseauc fit``: from a table to a short list of columns, a model file and a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from . import _options as options
from ._options import fitting

if TYPE_CHECKING:
    from ..fit_result import FitResult
    from ..fitting import FitSettings
    from ..folds import Progress


@dataclass(frozen=True)
class Fitting:
    """Options of fitting and validating a list."""

    columns: Annotated[
        str | None,
        fitting(
            "--columns",
            "-k",
            metavar="N|M-N",
            help="Number of columns; or, such as 1-20, "
            "those among which cross-validation chooses. By default at most 100, and at most one "
            "column per 5 rows (per 2.5 rows up to 24).",
        ),
    ] = None
    rule: Annotated[
        Literal["best", "1se"],
        fitting(
            help="The shortest list with an AUC within 0.002 of the highest (best) or within "
            "one standard error of it (1se)."
        ),
    ] = "best"
    alpha: Annotated[
        float | None,
        fitting(
            min=0.0,
            metavar="X",
            help="Ridge penalty on standardised columns. Chosen by cross-validation by default.",
        ),
    ] = None
    limits: Annotated[
        list[str] | None,
        fitting(
            "--limits",
            metavar="FILE|NAME=X",
            help="Limits on the list: a CSV file with a "
            "column name and any of sign, cost, family, column_group and include; a TOML "
            "file; or one limit, such as budget=40, or always_include=NAME for a column that must "
            "be on the list. Can be repeated.",
        ),
    ] = None
    points: Annotated[
        int | None,
        fitting(
            min=1,
            max=100,
            metavar="N",
            help="A card of whole points, up to N for the strongest column, to "
            "add up by hand; also prints the risk by total. Usual: --points 10 -k 5.",
        ),
    ] = None
    quick: Annotated[
        bool,
        fitting(
            "--quick", help="Skip nested cross-validation and stability selection."
        ),
    ] = False
    seed: Annotated[
        int, fitting(min=0, max=2**32 - 1, metavar="N", help="Random seed.")
    ] = 0
    jobs: Annotated[
        int | None,
        fitting(
            min=-1024,
            max=1024,
            metavar="N",
            help="Number of parallel jobs. The result does not depend on it.",
        ),
    ] = None

    def settings(self, exclude: Sequence[str] | None = None) -> FitSettings:
        """Return the settings, with the files that they name read."""
        from ..fitting import FitSettings
        from ..limits import read_limits

        given = options.given(self)
        given.pop("columns", None)
        limits = read_limits(given.pop("limits", ()), exclude=exclude)
        # Columns excluded by the option are not read at all.
        kept = [name for name in limits.exclude if name not in (exclude or ())]
        limits = replace(limits, exclude=kept)
        if given.pop("quick"):
            given |= {"folds": 0, "stability_pairs": 0}
        given |= _read_columns(self.columns) | {"limits": limits}
        return FitSettings(**given)


def _read_columns(given: str | None) -> dict[str, Any]:
    """Return k, or the smallest and the largest to try, of texts such as 5 and 1-20."""
    if given is None:
        return {}
    low, dash, high = given.partition("-")
    try:
        numbers = [int(low), int(high)] if dash else [int(low)]
    except ValueError:
        numbers = [0]
    if numbers[0] < 1 or numbers != sorted(numbers):
        raise typer.BadParameter(
            f"--columns must be a number of 1 or more, or two such as 1-20, got {given!r}"
        )
    return {"k": numbers[0]} if not dash else {"min_k": numbers[0], "max_k": numbers[1]}


@options.grouped
def fit_command(
    *,
    table: options.TableFile,
    training: options.Training,
    text_file: options.TextFile,
    ids: Annotated[
        str | None,
        options.reading(
            help="Column of row identifiers, which predict copies. It is not fitted."
        ),
    ] = None,
    how: Fitting,
    out: Annotated[
        Path | None,
        options.output("--out", "-o", help="Model file to write, such as model.json."),
    ] = None,
    report: Annotated[
        Path | None,
        options.output(help="Report to write, such as report.html."),
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Find the few columns of TABLE whose weighted sum best ranks positives above negatives.

    Example: sparseauc fit patients.csv --target sepsis --positive yes --ids patient
    --missing median --out model.json
    """
    if how.alpha is not None and not how.alpha < float("inf"):
        raise typer.BadParameter("--alpha must be a finite number of 0 or more")
    if how.jobs == 0:
        raise typer.BadParameter(
            "--jobs must be a number other than 0; -1 is one for each core"
        )

    from .output import (
        check_outputs,
        check_suffix,
        finish,
        made_by,
        print_card,
        progress,
    )

    contents: dict[Path, bytes] = {}
    check_outputs(out, report, force=force, inputs=(table,))
    check_suffix(report, "--report", (".html", ".htm"))
    with progress(f"Reading {table.name}") as advance:
        from ..fitting import fit_table
        from ..model_files import model_bytes

        settings = how.settings(training.exclude)
        ready = training.read(table, text_file, ids=ids, limits=settings.limits)
        fit = fit_table(ready, settings, advance)
        if out is not None:
            contents[out] = model_bytes(fit.card)
        if report is not None:
            contents[report] = report_page(fit, made_by(table), advance)
    show = partial(print_card, fit.card)
    finish(contents, fit.summary if as_json else None, fit.notes, fit.cautions, show)


def report_page(fit: FitResult, facts: Mapping[str, str], progress: Progress) -> bytes:
    """Return the page of the report on a fitted table."""
    from ..evaluation.evaluate import evaluate
    from ..pages.html import render
    from ..pages.model_report import build_model_report

    return render(build_model_report(evaluate(fit, progress), facts)).encode()
