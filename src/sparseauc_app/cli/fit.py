"""``sparseauc fit``: from a table to a short list of columns, a model file and a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from . import _options as options
from ._options import fitting

if TYPE_CHECKING:
    from ..fitting import FitSettings
    from ..summary import FitSummary


@dataclass(frozen=True)
class Fitting:
    """How a list is fitted and validated."""

    k: Annotated[
        int | None,
        fitting("--columns", "-k", min=1, metavar="N", help="Number of columns. Chosen by "
            "cross-validation by default."),
    ] = None  # fmt: skip
    max_k: Annotated[
        int | None,
        fitting("--max-k", min=1, metavar="N", help="Largest number of columns to try. By default "
            "100, if there are 5 rows for each column (2.5 up to 24 columns)."),
    ] = None  # fmt: skip
    rule: Annotated[
        Literal["best", "1se"],
        fitting(help="The shortest list with an AUC within 0.002 of the highest (best) or within "
            "one standard error of it (1se)."),
    ] = "best"  # fmt: skip
    alpha: Annotated[
        float | None,
        fitting(min=0.0, metavar="X", help="Ridge penalty on standardised columns. Chosen by "
            "cross-validation by default."),
    ] = None  # fmt: skip
    always_include: Annotated[
        list[str] | None,
        fitting(metavar="NAME", help="Column that must be on the list. Can be repeated."),
    ] = None
    budget: Annotated[
        float | None,
        fitting(min=0.0, metavar="X", help="Largest total cost of the list; without costs each "
            "column costs 1. Cross-validation tries smaller budgets too."),
    ] = None  # fmt: skip
    limits: Annotated[
        list[Path] | None,
        fitting(metavar="FILE", help="Limits on the list: a CSV file with a column name and any of "
            "sign, cost, bundle, family, column_group and include; or a TOML file. Can be "
            "repeated."),
    ] = None  # fmt: skip
    clip: Annotated[
        str,
        fitting(metavar="auto|none|X", help="Share of values clipped at each end of a column, such "
            "as 0.05: values beyond count as the 5 % and 95 % quantiles. auto clips columns with "
            "heavy tails if that raises the cross-validated AUC."),
    ] = "auto"  # fmt: skip
    log: Annotated[
        str,
        fitting(metavar="auto|always|none", help="Logarithms of skewed columns of numbers of 0 or "
            "more. auto takes them if that raises the cross-validated AUC."),
    ] = "auto"  # fmt: skip
    points: Annotated[
        int | None,
        fitting(min=1, metavar="N", help="Whole points from -N to N instead of coefficients, to "
            "add up by hand; also prints the risk by total. Usual: --points 5 -k 5."),
    ] = None  # fmt: skip
    permutations: Annotated[
        int,
        fitting(min=0, metavar="N", help="Permutations of the outcome for a p-value. Slow: each "
            "one refits everything."),
    ] = 0  # fmt: skip
    quick: Annotated[
        bool, fitting("--quick", help="Skip nested cross-validation and stability selection.")
    ] = False
    seed: options.Seed = 0
    jobs: Annotated[
        int | None,
        fitting(metavar="N", help="Number of parallel jobs. The result does not depend on it."),
    ] = None

    label: Annotated[
        str | None,
        fitting(metavar="TEXT", help="Name of the outcome in reports and exports, such as "
            "\"death within 30 days\"."),
    ] = None  # fmt: skip

    def settings(self, exclude: Sequence[str] | None = None) -> FitSettings:
        """Return the settings, with the files that they name read."""
        from ..fitting import FitSettings
        from ..limits import read_limits

        given = options.given(self)
        singles = {name: given.pop(name, None) for name in ("always_include", "budget")}
        files = given.pop("limits", ())
        limits = read_limits(files, **singles, exclude=exclude)
        # Columns excluded by the option are not read at all.
        kept = [name for name in limits.exclude if name not in (exclude or ())]
        limits = replace(limits, exclude=kept)
        if given.pop("quick"):
            given |= {"folds": 0, "stability_pairs": 0}
        transforms = {"clip": _read_clip(self.clip), "log": _read_log(self.log)}
        return FitSettings(**(given | {"limits": limits} | transforms))


def _read_log(given: str) -> Any:
    kinds = {"auto": "auto", "always": True, "none": False}
    if given not in kinds:
        raise typer.BadParameter(f"--log must be auto, always or none, got {given!r}")
    return kinds[given]


def _read_clip(given: str) -> Any:
    if given in ("auto", "none"):
        return None if given == "none" else given
    try:
        share = float(given)
    except ValueError:
        share = 0.0
    if not 0 < share < 0.5:
        raise typer.BadParameter(
            f"--clip must be auto, none or a share between 0 and 0.5, got {given!r}"
        )
    return share


@options.grouped
def fit_command(
    *,
    table: options.TableFile,
    training: options.Training,
    cut: Annotated[
        bool,
        options.reading("--cut", help="Cut numbers at their deciles into columns of 0 and 1, such "
            "as age > 60: extreme values count no more than others, and totals of --points are "
            "whole numbers."),
    ] = False,
    text_file: options.TextFile,
    how: Fitting,
    out: Annotated[
        Path | None, options.output("--out", "-o", help="Model file to write, such as model.skops.")
    ] = None,
    report: Annotated[
        Path | None, options.output(help="Report to write, such as report.html.")
    ] = None,
    output: options.Output,
) -> None:  # fmt: skip
    """Find the few columns of TABLE whose weighted sum best ranks positives above negatives.

    Example: sparseauc fit patients.csv --target outcome --positive yes --out model.skops
    """
    if how.alpha is not None and not how.alpha < float("inf"):
        raise typer.BadParameter("--alpha must be a finite number of 0 or more")

    from ._listing import print_card, print_result
    from ._output import check_outputs, check_suffix, write_outputs
    from ._progress import progress

    contents: dict[Path, bytes] = {}
    check_outputs(out, report, force=output.force, inputs=(table, training.target_file))
    check_suffix(out, "--out", (".skops",))
    check_suffix(report, "--report", (".html", ".htm"))
    with progress(output.quiet, f"Reading {table.name}") as advance:
        from ..fitting import fit_table
        from ..model_files import model_bytes
        from ..reading.training import cut_numbers
        from ._reading import made_by, read_table

        settings = how.settings(training.exclude)
        keep = [str(name) for name in settings.limits.always_include or ()]
        ready = read_table(table, training, text_file, keep)
        summary = fit_table(cut_numbers(ready) if cut else ready, settings, advance)
        card = summary.card()
        if out is not None:
            contents[out] = model_bytes(summary.model, card)
        if report is not None:
            contents[report] = report_page(summary, made_by(table)).encode()
    written = write_outputs(contents)
    print_result(
        output, summary.to_dict(), written, summary.notes, summary.cautions,
        lambda: print_card(card),
    )  # fmt: skip


def report_page(summary: FitSummary, facts: Mapping[str, str]) -> str:
    """Return the report on a fitted table, a page of HTML."""
    from ..evaluation.evaluate import evaluate
    from ..report import build_model_report
    from ..report.html import render

    return render(build_model_report(evaluate(summary), facts))
