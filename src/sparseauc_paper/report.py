"""The whole report: every table and figure of the paper from stored results, and what they say."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping
from datetime import timedelta
from importlib.metadata import PackageNotFoundError, version
from itertools import combinations
from math import isnan

import numpy as np
from scipy.stats import spearmanr

from sparseauc.tabular.report.elements import Element, Note, Report, Section

from . import plan, printed, summaries
from .audit import audit_elements
from .convergence import SCALES
from .markers import marker_table
from .methods import METHODS, PAPER_METHODS
from .plan import Request
from .protocols import PROTOCOLS
from .seeds import generator
from .summaries import Mean, Outcomes, mean_of

# What the reproduction is asked to reach.
_LEAST_CORRELATION = 0.7
_MOST_ERRORS = 2.0


def make_report(
    request: Request,
    experiments: tuple[str, ...],
    outcomes: Outcomes,
    *,
    facts: Mapping[str, str],
    missing_data: Mapping[str, str],
) -> Report:
    """Assemble the report of the experiments.

    Parameters
    ----------
    request : Request
    experiments : tuple of str
        Those to show.
    outcomes : dict of Task to Outcome
    facts : dict of str to str
        About the run.
    missing_data : dict of str to str
        Data sets that cannot be had, and why.
    """
    builders: dict[str, Callable[[], list[Element]]] = {
        "table1": lambda: _table1(request, outcomes),
        "table2": lambda: _table2(request, outcomes),
        "table3": lambda: _table3(request, outcomes, missing_data),
        "table4": lambda: [marker_table("leukemia")],
        "table5": lambda: [marker_table("colon")],
        "figure1": lambda: _figure1(request, outcomes),
        "figure2": lambda: [summaries.figure2(request, outcomes)],
        "figure3": lambda: _figure_by_k(request, outcomes, 0, missing_data),
        "figure4": lambda: _figure_by_k(request, outcomes, 1, missing_data),
        "audit": lambda: audit_elements(request, outcomes),
    }
    overview = overview_notes(request, experiments, outcomes)
    sections = [Section("overview", "What came out", overview)]
    for name in experiments:
        if name == "theory":
            sections.append(_theory(request))
        else:
            sections.append(Section(f"the-{name}", _HEADINGS[name], builders[name]()))
    return Report("The paper again: printed and measured", _extent(request), sections, dict(facts))


_HEADINGS = {
    "table1": "Table I: test AUC",
    "table2": "Table II: columns found",
    "table3": "Table III: gene data",
    "table4": "Table IV: markers of leukemia",
    "table5": "Table V: markers of colon cancer",
    "figure1": "Figure 1: convergence",
    "figure2": "Figure 2: share of positives",
    "figure3": "Figure 3: AUC against k",
    "figure4": "Figure 4: related genes",
    "audit": "Audit: what each discrepancy is worth",
}


def _extent(request: Request) -> str:
    preset = request.preset
    text = (
        f"Preset {preset.name}, {request.protocol} protocol in full and {request.other_protocol} "
        "beside it for the paper's methods. Standard errors are those of independent values, or "
        "of independent trials where that is more."
    )
    if preset.name != "paper":
        text += (
            " Grids are coarser and trials fewer than in the paper: single numbers are rough, and "
            "small differences mean nothing. The preset paper has the full grids and trials."
        )
    if "repeats" in preset.grids["sparse-auc"] and "sparse-auc" in request.methods:
        text += (
            " SparseAUCClassifierCV tunes itself on five folds once, to save time; its default "
            "repeats them where positives are few, and chooses better."
        )
    return text


# ---------------------------------------------------------------------------------- findings


def overview_notes(
    request: Request, experiments: tuple[str, ...], outcomes: Outcomes
) -> list[Note]:
    """Say what came out, computed from the results."""
    notes = []
    if "table1" in experiments:
        notes += _winners(request, outcomes)
        if set(PAPER_METHODS) <= set(request.methods):
            for protocol in ("published", "corrected"):
                notes.append(_order_of_methods(request, protocol, outcomes))
    if "table3" in experiments and "sht-auc" in request.methods:
        notes.append(_colon_mean(request, outcomes))
    failed = sum(outcome.error is not None for outcome in outcomes.values())
    if failed:
        notes.append(
            Note(f"{failed} tasks failed; the tables say where. Running again tries them again.",
                 "caution")
        )  # fmt: skip
    return notes


def _overall(values: summaries.Values, methods: tuple[str, ...]) -> dict[str, Mean]:
    """Mean over columns, and its error, of each method."""
    overall = {}
    for method in methods:
        means = [mean_of(v) for (key, _), v in values.items() if key == method]
        if not means:
            overall[method] = mean_of({})
            continue
        errors = np.array([m.se for m in means])
        overall[method] = Mean(
            float(np.mean([m.mean for m in means])),
            float(np.sqrt((errors**2).sum())) / len(means),
            float("nan"),
            sum(m.n for m in means),
            sum(m.failed for m in means),
        )
    return overall


def _winners(request: Request, outcomes: Outcomes) -> list[Note]:
    values = summaries.table1_values(request, request.protocol, outcomes)
    overall = _overall(values, request.table_methods)
    ranked = sorted(
        (m for m in overall if not isnan(overall[m].mean)), key=lambda m: -overall[m].mean
    )
    if not ranked:
        return []
    listed = ", ".join(
        f"{METHODS[m].name} {overall[m].mean:.3f}{'' if METHODS[m].in_paper else ' (not in paper)'}"
        for m in ranked
    )
    return [
        Note(
            f"Mean test AUC over Table I, {request.protocol} protocol: {listed}.{_errors(overall)}",
            "finding",
        )
    ]


def _errors(overall: Mapping[str, Mean]) -> str:
    known = [m.se for m in overall.values() if not isnan(m.se)]
    return f" Standard errors about {np.median(known):.3f}." if known else ""


def printed_order() -> dict[str, Mean]:
    """Mean printed AUC over Table I of each method, with its error."""
    order = {}
    for method, row in printed.AUC.items():
        errors = np.array([entry.std for entry in row.values()]) / np.sqrt(printed.SYNTHETIC.values)
        order[method] = Mean(
            float(np.mean([entry.mean for entry in row.values()])),
            float(np.sqrt((errors**2).sum())) / len(row),
            float("nan"),
            printed.SYNTHETIC.values * len(row),
            0,
        )
    return order


def correlation_with_paper(
    request: Request, protocol: str, outcomes: Outcomes
) -> tuple[float, dict[str, Mean]]:
    """Spearman correlation of our order of the seven methods with the printed one, and ours."""
    values = summaries.table1_values(request, protocol, outcomes)
    ours = _overall(values, PAPER_METHODS)
    theirs = printed_order()
    means = np.array([[order[m].mean for m in PAPER_METHODS] for order in (ours, theirs)])
    if np.isnan(means).any():
        return float("nan"), ours
    return float(spearmanr(means[0], means[1]).statistic), ours


def _order_of_methods(request: Request, protocol: str, outcomes: Outcomes) -> Note:
    correlation, ours = correlation_with_paper(request, protocol, outcomes)
    if isnan(correlation):
        return Note(
            f"Table I, {protocol} protocol: a method has no result, so no order.", "caution"
        )
    start = (
        f"Order of the seven methods by mean AUC over Table I, {protocol} protocol, against the "
        f"printed one: Spearman {correlation:.2f}"
    )
    if correlation >= _LEAST_CORRELATION:
        return Note(f"{start}, at or above {_LEAST_CORRELATION}.", "finding")
    why = _why_not_in_order(ours) + _zeroed(request, protocol, outcomes)
    return Note(f"{start}, below {_LEAST_CORRELATION}. {why}", "caution")


def _zeroed(request: Request, protocol: str, outcomes: Outcomes) -> str:
    """How many fits rank above chance and are scored ½ because all coefficients are small."""
    if not PROTOCOLS[protocol].truncate_before_auc:
        return ""
    results = [
        outcome.result
        for (method, *_), task in plan.table_tasks(request, protocol).items()
        if METHODS[method].truncated
        and (outcome := outcomes.get(task)) is not None
        and outcome.result is not None
    ]
    zeroed = [r["auc"] for r in results if r["columns"] == 0 and r["auc"] > 0.5]
    if not zeroed:
        return ""
    return (
        f" Zeroing coefficients below 0.001 scores {len(zeroed)} of {len(results)} fits of the "
        f"convex methods 0.5; their mean AUC without it is {np.mean(zeroed):.3f}."
    )


def _why_not_in_order(ours: Mapping[str, Mean]) -> str:
    """How sure either order is, and which methods are out of place."""
    theirs = printed_order()
    unsure = [_unsure_pairs(order) for order in (theirs, ours)]
    pairs = len(list(combinations(PAPER_METHODS, 2)))
    chance = _expected_correlation(theirs, theirs), _expected_correlation(theirs, ours)
    places = [
        {m: i for i, m in enumerate(sorted(PAPER_METHODS, key=lambda m: -order[m].mean))}
        for order in (theirs, ours)
    ]
    moved = sorted(PAPER_METHODS, key=lambda m: -abs(places[0][m] - places[1][m]))[:3]
    movers = ", ".join(
        f"{METHODS[m].name} from place {places[0][m] + 1} to {places[1][m] + 1} "
        f"(mean {theirs[m].mean:.3f} printed, {ours[m].mean:.3f} here)"
        for m in moved
        if places[0][m] != places[1][m]
    )
    return (
        f"Why: of {pairs} pairs of methods {unsure[0]} are closer than two standard errors in the "
        f"printed table and {unsure[1]} in ours, so orders are partly chance. Two tables drawn "
        f"with the printed means and errors would correlate by {chance[0]:.2f} on average; one "
        f"drawn with the printed means and our errors by {chance[1]:.2f} with the printed one. Out "
        f"of place: {movers}. The audit says what the slips of the programs do to each method."
    )


def _unsure_pairs(order: Mapping[str, Mean]) -> int:
    return sum(
        abs(order[a].mean - order[b].mean) < 2 * np.hypot(order[a].se, order[b].se)
        for a, b in combinations(PAPER_METHODS, 2)
    )


def _expected_correlation(centre: Mapping[str, Mean], errors: Mapping[str, Mean]) -> float:
    """Mean Spearman correlation of a noisy copy of the printed means with another."""
    rng = generator("expected correlation")
    means = np.array([centre[m].mean for m in PAPER_METHODS])
    first = np.nan_to_num([centre[m].se for m in PAPER_METHODS])
    second = np.nan_to_num([errors[m].se for m in PAPER_METHODS])
    draws = [
        spearmanr(rng.normal(means, first), rng.normal(means, second)).statistic for _ in range(500)
    ]
    return float(np.mean(draws))


def _colon_mean(request: Request, outcomes: Outcomes) -> Note:
    """SHT-AUC on colon under the published protocol against the printed mean."""
    tasks = plan.real_tasks(request, "published")
    results = summaries.real_results(tasks, outcomes, PROTOCOLS["published"])
    ours = mean_of(results.tuned.get(("sht-auc", "colon"), {}), by_trial=True)
    theirs = printed.REAL_AUC["sht-auc"]["colon"]
    if ours.n == 0:
        return Note("SHT-AUC on colon under the published protocol: no result.", "caution")
    errors = summaries.difference_in_errors(ours, theirs, printed.REAL)
    k = results.best_k["sht-auc", "colon"]
    start = (
        f"SHT-AUC on colon under the published protocol: mean test AUC {ours.mean:.4f} ± "
        f"{ours.se:.4f} at k = {k} over {ours.n} values, printed {theirs.mean:.4f}: "
        f"{errors:+.1f} standard errors of the difference"
    )
    if abs(errors) <= _MOST_ERRORS:
        return Note(f"{start}, within {_MOST_ERRORS:g}.", "finding")
    spread = [mean_of(v).mean for (m, d, _), v in results.by_k.items()
              if (m, d) == ("sht-auc", "colon")]  # fmt: skip
    return Note(
        f"{start}, more than {_MOST_ERRORS:g}. k was chosen on test AUC, whose mean here goes from "
        f"{min(spread):.4f} to {max(spread):.4f} over {len(spread)} values of k, and the programs' "
        "splits were not seeded and cannot be drawn again.",
        "caution",
    )


# ---------------------------------------------------------------------------------- sections


def _table1(request: Request, outcomes: Outcomes) -> list[Element]:
    best = _bayes_note(request, outcomes)
    tables = [
        summaries.table1(request, protocol, outcomes)
        for protocol in (request.protocol, request.other_protocol)
    ]
    return [*best, *(t for t in tables if len(t.cells))]


def _bayes_note(request: Request, outcomes: Outcomes) -> list[Element]:
    tasks = plan.table_tasks(request, request.protocol)
    values = summaries.synthetic_values(tasks, outcomes, lambda result: result["bayes_auc"])
    best = {column: mean_of(sample).mean for (_, column), sample in values.items()}
    text = ", ".join(f"{auc:.3f} at k* = {k}" for k, auc in best.items())
    return [Note(f"No score can have a larger AUC on fresh rows than {text} (Bayes).")]


def _table2(request: Request, outcomes: Outcomes) -> list[Element]:
    tables = [
        summaries.table2(request, protocol, outcomes)
        for protocol in (request.protocol, request.other_protocol)
    ]
    return [t for t in tables if len(t.cells)]


def _unavailable(missing: Mapping[str, str]) -> list[Element]:
    return [
        Note(f"The {name} data could not be had, so its numbers are missing: {reason}", "caution")
        for name, reason in missing.items()
    ]


def _table3(request: Request, outcomes: Outcomes, missing: Mapping[str, str]) -> list[Element]:
    tables = [
        summaries.table3(request, protocol, outcomes)
        for protocol in (request.protocol, request.other_protocol)
    ]
    return [*_unavailable(missing), *(t for t in tables if len(t.cells))]


def _figure_by_k(
    request: Request, outcomes: Outcomes, which: int, missing: Mapping[str, str]
) -> list[Element]:
    figures = [
        summaries.figures_by_k(request, protocol, outcomes)[which]
        for protocol in (request.protocol, request.other_protocol)
    ]
    return [*_unavailable(missing), *(f for f in figures if f.panels)]


def _figure1(request: Request, outcomes: Outcomes) -> list[Element]:
    reached = summaries.epochs_to(request, outcomes, 0.99)
    parts = []
    for scale, words in SCALES.items():
        epochs = ", ".join(
            f"{reached[scale, r]:.0f} at r = {r:g}"
            for r in request.preset.figure1_ratios
            if (scale, r) in reached
        )
        parts.append(f"{epochs} with the {words}")
    note = Note(
        "Epochs until F has made 99 % of its way down, mean over k*: "
        + "; ".join(parts) + ".",
        "finding",
    )  # fmt: skip
    return [note, *summaries.figure1(request, outcomes)]


def _theory(request: Request) -> Section:
    from .theory import theory_section

    return theory_section(seed=request.seed, quick=request.preset.name != "paper")


# ------------------------------------------------------------------------------------- facts


def facts_of(
    command: str, seed: int, seconds: float, outcomes: Outcomes, n_tasks: int
) -> dict[str, str]:
    """How the report was made."""
    spent = sum(outcome.seconds for outcome in outcomes.values())
    data = {
        str(task.settings["dataset"]): str(task.settings["data"])
        for task in outcomes
        if task.kind == "real"
    }
    packages = ("sparseauc", "numpy", "scipy", "scikit-learn", "numba", "joblib")
    return {
        "command": command,
        "seed": str(seed),
        "duration": str(timedelta(seconds=round(seconds))),
        "tasks": f"{len(outcomes)} of {n_tasks}, {spent / 3600:.2f} core-hours in all",
        "data": ", ".join(f"{name} (SHA-256 {digest}…)" for name, digest in data.items())
        or "simulated only",
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "versions": ", ".join(f"{name} {_version(name)}" for name in packages),
    }


def _version(name: str) -> str:
    from sparseauc import __version__

    if name == "sparseauc":
        return __version__
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
