"""Stored results as tables and figures: the simulation's Tables I and II and Figure 2."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isnan, nan
from typing import Any

import pandas as pd

from . import plan, printed
from .comparison import Comparison
from .estimates import Mean, Values, difference_in_errors, mean_of
from .methods import METHODS
from .page import Figure, Panel, Series
from .plan import Request
from .protocols import PROTOCOLS, Protocol
from .store import Outcome
from .tasks import Task

Outcomes = Mapping[Task, Outcome]

PROTOCOL_WORDS = {
    "corrected": "the corrected protocol (stratified nested cross-validation, nothing learned from "
    "test rows, exactly k columns)",
    "published": "the published protocol (as in the authors' programs, errors included)",
}
AUC = "test AUC"
# The second arm of the corrected protocol: the simulation as the paper has it.
ONE_SIDED = "SOLAM, all shifts positive"
ABOUT_ARMS = (
    "The columns of the simulation have random signs. In the paper all shifts are positive, and "
    "SOLAM alone does not start at 0 but at R/√d in every column, which tells it their sign; the "
    f"row “{ONE_SIDED}” shows what that is worth. To all other methods signs make no difference."
)
ABOUT_DIFFERENCES = (
    "Differences from print that rest on fewer than ten values are not given. The others are "
    "Student's t, as the normal deviate of the same probability, with an error no smaller than the "
    "printed deviation makes it: few draws that happen to agree are not taken for certainty."
)


def synthetic_measure(
    protocol: Protocol, measure: str, result: Mapping[str, Any], *, given: bool = False
) -> float:
    """Test AUC ("auc"), F1 ("f1") or Jaccard index ("jaccard"), as the protocol reads them.

    Columns are those of the k that was tuned or, if k* was ``given``, of k = k*.
    """
    if measure == "auc":
        return float(result["auc_cut" if protocol.truncate_before_auc else "auc"])
    if protocol.absolute_cut:
        return float(result[measure])
    return float(result[f"{measure}_{'told' if given else 'tuned'}"])


def synthetic_values(
    tasks: Mapping[plan.Key, Task],
    outcomes: Outcomes,
    read: Callable[[Mapping[str, Any]], float],
) -> Values:
    """Read one number off every task that was run, by method and column; NaN where it failed."""
    values: Values = {}
    for (method, column, trial, fold), task in tasks.items():
        if task in outcomes:
            result = outcomes[task].result
            sample = values.setdefault((method, column), {})
            sample[trial, fold] = nan if result is None else read(result)
    return values


def table_values(
    request: Request, protocol: str, measure: str, outcomes: Outcomes, *, given: bool = False
) -> Values:
    """Numbers of Tables I and II."""
    read = partial(synthetic_measure, PROTOCOLS[protocol], measure, given=given)
    return synthetic_values(plan.table_tasks(request, protocol), outcomes, read)


def one_sided_lines(
    request: Request, group: str, measure: str, outcomes: Outcomes, *, given: bool = False
) -> list[dict[str, Any]]:
    """Lines of SOLAM where all shifts have the sign of its start."""
    read = partial(synthetic_measure, PROTOCOLS["corrected"], measure, given=given)
    values = synthetic_values(plan.one_sided_tasks(request), outcomes, read)
    lines = frame_of(values, group, {}, printed.SYNTHETIC, _sparsity_columns(request))
    return [{**line, "method": ONE_SIDED, "in_paper": False} for line in lines]


def figure2_values(request: Request, protocol: str, measure: str, outcomes: Outcomes) -> Values:
    """Numbers of Figure 2."""
    read = partial(synthetic_measure, PROTOCOLS[protocol], measure)
    return synthetic_values(plan.figure2_tasks(request, protocol), outcomes, read)


def frame_of(
    values: Values,
    group: str,
    table: printed.Table,
    extent: printed.Extent,
    columns: Mapping[str, str],
    *,
    by_trial: bool = False,
) -> list[dict[str, Any]]:
    """Lines of a comparison; ``columns`` names them as the report does."""
    lines = []
    for (key, column), sample in values.items():
        summary = mean_of(sample, by_trial=by_trial)
        theirs = table.get(key, {}).get(column, printed.Printed(nan, nan))
        lines.append(
            {
                "method": METHODS[key].name,
                "in_paper": METHODS[key].in_paper,
                "group": group,
                "column": columns[column],
                "mean": summary.mean,
                "se": summary.se,
                "std": summary.std,
                "n": summary.n,
                "failed": summary.failed,
                "printed": theirs.mean,
                "printed_std": theirs.std,
                "difference": difference_in_errors(summary, theirs, extent),
            }
        )
    return lines


def values_of(values: Values) -> str:
    """How many values there are behind an entry, and which methods have fewer."""
    counts: dict[str, list[int]] = {}
    for (method, _), sample in values.items():
        counts.setdefault(method, []).append(mean_of(sample).n)
    if not counts:
        return ""
    most = max(map(max, counts.values()))
    fewer = [
        f"; of {METHODS[method].name} {' to '.join(map(str, sorted({min(found), max(found)})))}"
        for method, found in counts.items()
        if min(found) < most
    ]
    return f" ({most} values an entry{''.join(fewer)})"


def extent_of(trials: int, folds: int, what: str) -> str:
    """Say how many draws or trials there are, and test parts of each."""
    several = f"{trials} {what}{'s' if trials != 1 else ''}"
    return f"{several}, one test part each" if folds == 1 else f"{several} of {folds} test parts"


def _draws(request: Request) -> str:
    return extent_of(request.preset.trials, request.preset.folds, "draw")


def table1(request: Request, protocol: str, outcomes: Outcomes) -> Comparison:
    """Table I under a protocol, beside the printed numbers."""
    values = table_values(request, protocol, "auc", outcomes)
    lines = frame_of(values, AUC, printed.AUC, printed.SYNTHETIC, _sparsity_columns(request))
    arms = protocol == "corrected"
    if arms:
        lines += one_sided_lines(request, AUC, "auc", outcomes)
    return Comparison(
        name_of("table1", request, protocol),
        f"Table I, {protocol} protocol",
        f"Test AUC at {plan.TABLE_RATIO:.0%} positives under {PROTOCOL_WORDS[protocol]}; "
        f"{_draws(request)}{values_of(values)}. {f'{ABOUT_ARMS} ' * arms}{ABOUT_DIFFERENCES}",
        pd.DataFrame(lines),
    )


def table2(
    request: Request, protocol: str, outcomes: Outcomes, *, given: bool = False
) -> Comparison:
    """Table II under a protocol: were the shifted columns found, with k tuned or k* given?"""
    lines = []
    for group, table in (("F1", printed.F1), ("Jaccard", printed.JACCARD)):
        values = table_values(request, protocol, group.lower(), outcomes, given=given)
        lines += frame_of(values, group, table, printed.SYNTHETIC, _sparsity_columns(request))
        if protocol == "corrected":
            lines += one_sided_lines(request, group, group.lower(), outcomes, given=given)
    if PROTOCOLS[protocol].absolute_cut:
        which, about = "", (
            "As in the programs, the hard-thresholding methods tune k, and of the convex methods, "
            "whose answers are dense, all columns with a coefficient of at least 0.001 count"
        )  # fmt: skip
    elif given:
        which, about = ", k* given to every method", (
            "Every method is given the true number k* of columns and tunes the rest: the "
            "hard-thresholding methods keep k* columns, of dense answers the k* largest count. "
            f"{ABOUT_ARMS}"
        )  # fmt: skip
    else:
        which, about = ", k tuned by every method", (
            "No method is given k*. Each tunes its number of columns over the same values, by "
            f"validation AUC: of dense answers the k largest count. {ABOUT_ARMS}"
        )  # fmt: skip
    stem = name_of("table2", request, protocol)
    return Comparison(
        f"{stem}-given" if given else stem,
        f"Table II, {protocol} protocol{which}",
        "Agreement of the columns chosen with the k* shifted ones, under "
        f"{PROTOCOL_WORDS[protocol]}; {_draws(request)}{values_of(values)}. {about}. "
        f"{ABOUT_DIFFERENCES}",
        pd.DataFrame(lines),
    )


def _sparsity_columns(request: Request) -> dict[str, str]:
    return {str(k): f"k* = {k}" for k in request.preset.sparsities}


def name_of(stem: str, request: Request, protocol: str) -> str:
    """Name of a table or figure; that of the protocol which was not chosen says so."""
    return stem if protocol == request.protocol else f"{stem}-{protocol}"


def figure2(request: Request, protocol: str, outcomes: Outcomes) -> Figure:
    """Figure 2: AUC and F1 against the share of positives."""
    panels = []
    for label, measure in ((AUC, "auc"), ("F1 of the columns", "f1")):
        values = figure2_values(request, protocol, measure, outcomes)
        series = []
        for method in request.methods:
            means = {r: mean_of(values.get((method, f"{r:g}"), {})) for r in request.preset.ratios}
            means = {r: mean for r, mean in means.items() if mean.n}
            if means:
                series.append(series_of(method, list(means), list(means.values())))
        panels.append(Panel(label, "share of positives r", label, series))
    preset = request.preset
    return Figure(
        name_of("figure2", request, protocol),
        f"Figure 2: AUC and F1 against the share of positives, {protocol} protocol",
        f"k* = {plan.FIGURE2_SPARSITY}, {PROTOCOL_WORDS[protocol]}; "
        f"{extent_of(preset.figure2_trials, preset.figure2_folds, 'draw')}. Bands are one standard "
        "error.",
        panels,
    )


def series_of(method: str, x: Sequence[float], means: Sequence[Mean]) -> Series:
    """Make a line of means with a band of one standard error."""
    return Series(
        METHODS[method].name, x, [mean.mean for mean in means],
        error=[0.0 if isnan(mean.se) else mean.se for mean in means],
        in_paper=METHODS[method].in_paper,
        style="line" if METHODS[method].in_paper else "dashed",
        slot=list(METHODS).index(method),
    )  # fmt: skip
