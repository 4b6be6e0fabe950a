"""Stored results as tables and figures of a report."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isnan, nan, sqrt
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm as normal
from scipy.stats import t as student

from sparseauc_app.report.elements import Comparison, Figure, Panel, Series

from . import plan, printed
from .convergence import SCALES, Scale
from .methods import METHODS
from .plan import Request
from .protocols import HARD_THRESHOLDING, PROTOCOLS, Protocol
from .row_space import Floats
from .store import Outcome
from .tasks import Task
from .tuning import N_FOLDS

Outcomes = Mapping[Task, Outcome]
# Values by trial and test part, NaN for a task that failed; the samples of a method and a column.
Sample = dict[tuple[int, int], float]
Values = dict[tuple[str, str], Sample]

PROTOCOL_WORDS = {
    "corrected": "the corrected protocol (stratified nested cross-validation, nothing learned from "
    "test rows, exactly k columns)",
    "published": "the published protocol (as the authors' programs did it, slips included)",
}
_AUC = "test AUC"
_ABOUT_DIFFERENCES = (
    "Differences from fewer than ten values are not given; the others are Student's t as the "
    "normal deviate of the same probability, with errors no smaller than the printed deviation "
    "makes them."
)


# Nothing is called different, or clear, that rests on fewer values.
FEWEST = 10


@dataclass(frozen=True)
class Mean:
    """Mean of some values and how well it is known."""

    mean: float
    se: float  # standard error of the mean; NaN for a single value
    std: float  # the population deviation, as the paper prints it
    n: int
    failed: int  # values missing because their task failed
    df: int = 0  # degrees of freedom of the standard error

    def half_width(self, level: float) -> float:
        """Half of the interval that misses the mean with probability ``level``: Student's t."""
        if self.df < 1 or isnan(self.se):
            return nan
        return float(student.isf(level / 2, self.df)) * self.se


def mean_of(sample: Sample, *, by_trial: bool = False) -> Mean:
    """Summarise some values, of which NaN ones are failures.

    The error is that of independent values, or that of independent trials, whichever is larger;
    ``by_trial``, for trials whose values all judge the same rows, always that of trials.
    """
    finite = {key: value for key, value in sample.items() if not isnan(value)}
    good = np.array(list(finite.values()))
    failed = len(sample) - good.size
    if not finite:
        return Mean(nan, nan, nan, 0, failed)
    means = np.array(list(trial_means(finite).values()))
    errors = [
        (float(units.std(ddof=1)) / sqrt(units.size), units.size - 1)
        for units in ([means] if by_trial else [good, means])
        if units.size > 1
    ]
    se, df = max(errors, default=(nan, 0))
    return Mean(float(good.mean()), se, float(good.std()), good.size, failed, df)


def trial_means(sample: Sample) -> Sample:
    """One value for each trial."""
    trials: dict[int, list[float]] = {}
    for (trial, _), value in sample.items():
        trials.setdefault(trial, []).append(value)
    return {(trial, 0): float(np.mean(values)) for trial, values in trials.items()}


def difference_of(one: Sample, other: Sample, factor: float = 1.0) -> Sample:
    """``one`` minus ``factor`` times ``other``, on the trials and parts that both have."""
    return {key: value - factor * other[key] for key, value in one.items() if key in other}


def difference_in_errors(mine: Mean, theirs: printed.Printed, extent: printed.Extent) -> float:
    """Difference of two means in standard errors; NaN where it rests on fewer than ten values.

    A few values that happen to agree do not make an error small: ours is at least what the printed
    deviation makes of as many values. The quotient is Student's t; what is returned is the normal
    deviate of the same probability, so that 2 means the same for any number of values.
    """
    if mine.n < FEWEST or mine.df < 1:
        return nan
    own = max((mine.se, mine.df), (theirs.std / sqrt(mine.df + 1), mine.df))
    parts = (own[0] ** 2, own[1]), (theirs.std**2 / extent.values, extent.trials - 1)
    variance = sum(square for square, _ in parts)
    if not variance > 0:
        return nan
    df = variance**2 / sum(square**2 / freedom for square, freedom in parts)
    quotient = (mine.mean - theirs.mean) / sqrt(variance)
    return float(np.sign(quotient) * normal.isf(student.sf(abs(quotient), df)))


def draws_of(values: Values) -> Sample:
    """Values of one method by their draw: a trial of one column is one, of another another."""
    places = {column: place for place, column in enumerate(dict.fromkeys(c for _, c in values))}
    return {
        (trial * len(places) + places[column], part): value
        for (_, column), sample in values.items()
        for (trial, part), value in sample.items()
    }


def shown(change: Mean) -> str:
    """Show a change with its sign, and half of its 95 % interval where that is known."""
    half = change.half_width(0.05)
    text = f"{round(change.mean, 3) + 0.0:+.3f}".replace("-", "−")
    return text if isnan(half) else f"{text} ± {half:.3f}"


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


def _values_of(values: Values) -> str:
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


def _extent(trials: int, folds: int, what: str) -> str:
    several = f"{trials} {what}{'s' if trials != 1 else ''}"
    return f"{several}, one test part each" if folds == 1 else f"{several} of {folds} test parts"


def _draws(request: Request) -> str:
    return _extent(request.preset.trials, request.preset.folds, "draw")


def _trials(request: Request) -> str:
    return _extent(request.preset.real_trials, N_FOLDS, "trial")


def table1(request: Request, protocol: str, outcomes: Outcomes) -> Comparison:
    """Table I under a protocol, beside the printed numbers."""
    values = table_values(request, protocol, "auc", outcomes)
    lines = frame_of(values, _AUC, printed.AUC, printed.SYNTHETIC, _sparsity_columns(request))
    return Comparison(
        _name("table1", request, protocol),
        f"Table I, {protocol} protocol",
        f"Test AUC at {plan.TABLE_RATIO:.0%} positives under {PROTOCOL_WORDS[protocol]}; "
        f"{_draws(request)}{_values_of(values)}. {_ABOUT_DIFFERENCES}",
        pd.DataFrame(lines),
    )


def table2(request: Request, protocol: str, outcomes: Outcomes) -> Comparison:
    """Table II under a protocol: were the shifted columns found?"""
    lines = []
    for group, table in (("F1", printed.F1), ("Jaccard", printed.JACCARD)):
        values = table_values(request, protocol, group.lower(), outcomes)
        lines += frame_of(values, group, table, printed.SYNTHETIC, _sparsity_columns(request))
    return Comparison(
        _name("table2", request, protocol),
        f"Table II, {protocol} protocol",
        f"Agreement of the columns chosen with the k* shifted ones, under "
        f"{PROTOCOL_WORDS[protocol]}; {_draws(request)}{_values_of(values)}. "
        "The convex methods give dense answers: their columns are "
        + (
            "those with a coefficient of at least 0.001"
            if PROTOCOLS[protocol].absolute_cut
            else "the k* largest, which tells them k*"
        )
        + f". {_ABOUT_DIFFERENCES}",
        pd.DataFrame(lines),
    )


def _sparsity_columns(request: Request) -> dict[str, str]:
    return {str(k): f"k* = {k}" for k in request.preset.sparsities}


def _name(stem: str, request: Request, protocol: str) -> str:
    return stem if protocol == request.protocol else f"{stem}-{protocol}"


def figure2(request: Request, outcomes: Outcomes) -> Figure:
    """Figure 2: AUC and F1 against the share of positives."""
    panels = []
    for label, measure in ((_AUC, "auc"), ("F1 of the columns", "f1")):
        values = figure2_values(request, request.protocol, measure, outcomes)
        series = []
        for method in request.methods:
            means = {r: mean_of(values.get((method, f"{r:g}"), {})) for r in request.preset.ratios}
            means = {r: mean for r, mean in means.items() if mean.n}
            if means:
                series.append(_series(method, list(means), list(means.values())))
        panels.append(Panel(label, "share of positives r", label, series))
    preset = request.preset
    return Figure(
        "figure2",
        "Figure 2: AUC and F1 against the share of positives",
        f"k* = {plan.FIGURE2_SPARSITY}, {PROTOCOL_WORDS[request.protocol]}; "
        f"{_extent(preset.figure2_trials, preset.figure2_folds, 'draw')}, of FSAUC and SPAM-l1/l2 "
        "one test part each. Bands are one standard error.",
        panels,
    )


def _series(method: str, x: Sequence[float], means: Sequence[Mean]) -> Series:
    """A line of means with a band of one standard error."""
    return Series(
        METHODS[method].name, x, [mean.mean for mean in means],
        error=[0.0 if isnan(mean.se) else mean.se for mean in means],
        in_paper=METHODS[method].in_paper,
        style="line" if METHODS[method].in_paper else "dashed",
    )  # fmt: skip


Courses = dict[tuple[int, float, Scale], tuple[list[int], Floats]]


def _courses(request: Request, outcomes: Outcomes, field: str) -> Courses:
    """Epochs, and the mean over training parts of what was recorded at them, of what was run."""
    runs: dict[tuple[int, float, Scale], list[dict[str, Any]]] = {}
    for (k, ratio, scale, _), task in plan.figure1_tasks(request).items():
        if task in outcomes and (result := outcomes[task].result) is not None:
            runs.setdefault((k, ratio, scale), []).append(result)
    return {
        place: (parts[0]["epochs"], np.mean([part[field] for part in parts], axis=0))
        for place, parts in runs.items()
    }


def figure1(request: Request, outcomes: Outcomes) -> list[Figure]:
    """Figure 1 for each scale of the step, a panel for each k*; and F in the same runs."""
    aucs = _courses(request, outcomes, "auc")

    def panel(k: int, scale: Scale) -> Panel:
        courses = {r: aucs.get((k, r, scale)) for r in request.preset.figure1_ratios}
        # Each curve is divided by its own largest value, as in the paper; the start, where all
        # scores are zero, would only flatten it.
        series = [
            Series(f"r = {ratio:g}", course[0][1:], list(course[1][1:] / course[1].max()))
            for ratio, course in courses.items()
            if course is not None
        ]
        return Panel(f"k* = {k}", "epochs", "training AUC ÷ its maximum", series)

    figures = []
    for scale, words in SCALES.items():
        panels = [panel(k, scale) for k in request.preset.sparsities]
        figures.append(
            Figure(
                "figure1" if scale == "published" else "figure1-paper-step",
                f"Figure 1, {words}",
                "Training AUC of SHT-AUC with k = k* and blocks of 50 rows, each curve divided by "
                f"its maximum, as in the paper; {_figure1_extent(request)}. "
                f"{_mean_steps(request, outcomes, scale)}"
                + (
                    " ρ⁺ is taken as the largest curvature of any block, which bounds it for any "
                    "number of columns."
                    if scale == "paper"
                    else ""
                )
                + _range_of(panels),
                panels,
            )
        )
    objectives = _courses(request, outcomes, "objective")
    panels = []
    for scale, words in SCALES.items():
        series = []
        for ratio in request.preset.figure1_ratios:
            courses = [at for (_, *place), at in objectives.items() if place == [ratio, scale]]
            if courses:
                mean = np.mean([values for _, values in courses], axis=0)
                series.append(Series(f"r = {ratio:g}", courses[0][0], list(mean)))
        panels.append(Panel(words, "epochs", "F on the training rows", series))
    figures.append(
        Figure(
            "figure1-objective",
            "What SHT-AUC minimises, in the same runs",
            f"F, mean over k*; {_figure1_extent(request)}.",
            panels,
        )
    )
    return figures


def _range_of(panels: Sequence[Panel]) -> str:
    """How much of the AUC the whole figure shows."""
    lowest = min((min(series.y) for panel in panels for series in panel.series), default=1.0)
    return f" All of it is a change of {1 - lowest:.1%} of the AUC." if lowest < 1 else ""


def _figure1_extent(request: Request) -> str:
    draws = request.preset.figure1_draws
    return f"mean of {draws} draws" if draws > 1 else "one draw"


def _mean_steps(request: Request, outcomes: Outcomes, scale: Scale) -> str:
    courses = _courses(request, outcomes, "step")
    parts = []
    for ratio in request.preset.figure1_ratios:
        steps = [step for (_, *place), (_, step) in courses.items() if place == [ratio, scale]]
        if steps:
            parts.append(f"{np.mean(steps):.3g} at r = {ratio:g}")
    return f"Mean γ: {', '.join(parts)}."


def epochs_to(request: Request, outcomes: Outcomes, share: float) -> dict[tuple[str, float], float]:
    """Epochs until F has made a share of its way down, mean over k*, by step and ratio."""

    def first(epochs: list[int], values: Floats) -> float:
        return epochs[int(np.argmax(values <= values[0] - share * (values[0] - values.min())))]

    return _over_supports(request, outcomes, "objective", first)


def rise_after(request: Request, outcomes: Outcomes, epoch: int) -> dict[tuple[str, float], float]:
    """Share of the rise in training AUC since the first epoch that comes after another one."""

    def share(epochs: list[int], values: Floats) -> float:
        place = min(int(np.searchsorted(epochs, epoch)), len(epochs) - 1)
        rise = values[-1] - values[1]
        return float((values[-1] - values[place]) / rise) if rise > 0 else 0.0

    return _over_supports(request, outcomes, "auc", share)


def _over_supports(
    request: Request, outcomes: Outcomes, field: str, read: Callable[[list[int], Floats], float]
) -> dict[tuple[str, float], float]:
    """Mean over k* of what is read off a course, by step and ratio."""
    found: dict[tuple[str, float], list[float]] = {}
    for (_, ratio, scale), course in _courses(request, outcomes, field).items():
        found.setdefault((scale, ratio), []).append(read(*course))
    return {place: float(np.mean(values)) for place, values in found.items()}


@dataclass(frozen=True)
class RealResults:
    """What the tasks of a protocol on the gene data hold, by method, data set and k, if any."""

    tuned: Values  # test AUCs with k as the protocol chooses it
    by_k: dict[tuple[str, str, str], Sample]  # test AUCs
    share: dict[tuple[str, str, str], Sample]  # share of markers among the columns chosen
    best_k: dict[tuple[str, str], str]  # k with the best mean test AUC


def real_results(
    tasks: Mapping[plan.Key, Task], outcomes: Outcomes, protocol: Protocol
) -> RealResults:
    """Read all numbers off the tasks of the gene data."""
    reading = "published" if protocol.published_markers else "corrected"
    by_k: dict[tuple[str, str, str], Sample] = {}
    share: dict[tuple[str, str, str], Sample] = {}
    own: Values = {}
    for (method, dataset, trial, fold), task in tasks.items():
        if task not in outcomes:
            continue
        result = outcomes[task].result
        values = own.setdefault((method, dataset), {})
        values[trial, fold] = nan
        if result is None:
            continue
        values[trial, fold] = result["by_k"][result["best"]]["auc"]
        for k, at_k in result["by_k"].items():
            place = method, dataset, k
            hits, columns = at_k["markers"][reading], at_k["columns"]
            auc = nan if at_k["auc"] is None else at_k["auc"]
            by_k.setdefault(place, {})[trial, fold] = auc
            share.setdefault(place, {})[trial, fold] = hits / columns if columns else 0.0
    best_k: dict[tuple[str, str], str] = {}
    for (method, dataset, k), sample in by_k.items():
        now = best_k.get((method, dataset))
        if now is None or mean_of(sample).mean > mean_of(by_k[method, dataset, now]).mean:
            best_k[method, dataset] = k
    tuned = dict(own)
    if protocol.best_k_on_test:
        for (method, dataset), k in best_k.items():
            if method in HARD_THRESHOLDING:
                # Tasks that failed have no value at any k; they count all the same.
                failed = {key: v for key, v in own[method, dataset].items() if isnan(v)}
                tuned[method, dataset] = {**by_k[method, dataset, k], **failed}
    return RealResults(tuned, by_k, share, best_k)


def table3(request: Request, protocol: str, outcomes: Outcomes) -> Comparison:
    """Table III under a protocol."""
    tasks = plan.real_tasks(request, protocol)
    results = real_results(tasks, outcomes, PROTOCOLS[protocol])
    lines = frame_of(
        results.tuned, _AUC, printed.REAL_AUC, printed.REAL,
        {name: name for name in request.datasets},
        by_trial=PROTOCOLS[protocol].hold_out_fifty,
    )  # fmt: skip
    chosen = (
        "k of the hard-thresholding methods is the one with the best mean test AUC, as there"
        if PROTOCOLS[protocol].best_k_on_test
        else "k is tuned on training rows like everything else"
    )
    return Comparison(
        _name("table3", request, protocol),
        f"Table III, {protocol} protocol",
        f"Test AUC on the gene data under {PROTOCOL_WORDS[protocol]}; {chosen}; "
        f"{_trials(request)}{_values_of(results.tuned)}. {_ABOUT_DIFFERENCES}",
        pd.DataFrame(lines),
    )


def figure3(request: Request, protocol: str, outcomes: Outcomes) -> Figure:
    """Figure 3: test AUC against k."""
    results = real_results(plan.real_tasks(request, protocol), outcomes, PROTOCOLS[protocol])
    return Figure(
        _name("figure3", request, protocol),
        f"Figure 3: AUC against k, {protocol} protocol",
        f"Test AUC on the gene data for every k, {_trials(request)}; what else there is to tune is "
        "tuned for each k. Methods without a limit k are drawn level. Bands are one standard "
        "error.",
        _panels_by_k(request, protocol, results.by_k, _AUC),
    )


def figure4(request: Request, protocol: str, outcomes: Outcomes) -> Figure:
    """Figure 4: share of markers among the columns chosen, against k."""
    results = real_results(plan.real_tasks(request, protocol), outcomes, PROTOCOLS[protocol])
    reading = "published" if PROTOCOLS[protocol].published_markers else "corrected"
    limited = {place: sample for place, sample in results.share.items() if place[2]}
    return Figure(
        _name("figure4", request, protocol),
        f"Figure 4: share of related genes against k, {protocol} protocol",
        "Share of the columns chosen that measure one of the paper's markers (a precision: the "
        f"paper's formula has a recall, its text and programs this). {_trials(request)}; markers "
        f"in the {reading} reading. Bands are one standard error.",
        _panels_by_k(request, protocol, limited, "share of markers among columns"),
    )


def _panels_by_k(
    request: Request,
    protocol: str,
    values: Mapping[tuple[str, str, str], Sample],
    label: str,
) -> list[Panel]:
    """A panel for each data set that has values, with a line for each method."""
    methods = request.methods if protocol == request.protocol else request.paper_methods
    panels = []
    for dataset in request.datasets:
        limits = sorted({float(k) for _, name, k in values if k and name == dataset})
        series = []
        for method in methods:
            ks = [k for key, name, k in values if (key, name) == (method, dataset)]
            means = [mean_of(values[method, dataset, k]) for k in ks]
            if ks == [""]:
                ends = [limits[0], limits[-1]] if limits else [1.0, 500.0]
                series.append(_series(method, ends, means * 2))
            elif ks:
                series.append(_series(method, [float(k) for k in ks], means))
        if series:
            panels.append(Panel(dataset, "columns allowed k", label, series, x_log=True))
    return panels
