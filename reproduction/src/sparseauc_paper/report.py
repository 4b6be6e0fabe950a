"""The whole report: a summary, the paper's claims and what became of them, tables and figures."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from . import gene_summaries, plan, printed, summaries
from .agreement import agreement_listing, agreement_words, scatter
from .audit import DISCREPANCIES, audit_elements, effects, what_moves
from .claims import claims_listing, count_verdicts, judge_claims
from .comparison import Comparison
from .courses import figure1
from .estimates import FEWEST, mean_of
from .markers import marker_table
from .methods import METHODS, PAPER_METHODS
from .page import (
    Element,
    Figure,
    Listing,
    Note,
    Report,
    Section,
)
from .plan import Request
from .presets import points
from .protocols import PROTOCOLS
from .scaling import about_scaling
from .simulation_claims import fit_seconds
from .store import Run
from .summaries import Outcomes, table_values
from .tasks import Task
from .theory.measurements import SETTINGS
from .theory.section import theory_section
from .theory.slips import SLIPS

TITLE = "Stochastic Hard Thresholding Algorithms for AUC Maximization, run again"
CITATION = (
    "Z. Yang, B. Zhou, Y. Lei and Y. Ying, “Stochastic Hard Thresholding Algorithms for AUC "
    "Maximization”, IEEE International Conference on Data Mining (ICDM), 2020, "
    "https://arxiv.org/abs/2011.02396"
)
PROGRAMS = "https://github.com/baojianzhou/sparse-auc"


def make_report(
    request: Request,
    experiments: tuple[str, ...],
    outcomes: Outcomes,
    *,
    facts: Mapping[str, str],
    missing_data: Mapping[str, str],
) -> Report:
    """Assemble the report of the experiments; tasks without an outcome are left out of means."""
    both, genes = _under_both, partial(_under_both, missing=missing_data)
    builders: dict[str, Callable[[], list[Element]]] = {
        "table1": lambda: _table1(request, outcomes),
        "table2": lambda: _table2(request, outcomes),
        "table3": lambda: genes(gene_summaries.table3, request, outcomes),
        "table4": lambda: [marker_table("leukemia")],
        "table5": lambda: [marker_table("colon")],
        "figure1": lambda: list(figure1(request, outcomes)),
        "figure2": lambda: both(summaries.figure2, request, outcomes),
        "figure3": lambda: genes(gene_summaries.figure3, request, outcomes),
        "figure4": lambda: genes(gene_summaries.figure4, request, outcomes),
        "audit": lambda: audit_elements(request, outcomes),
    }
    sections = []
    for name in experiments:
        if name == "theory":
            sections.append(_theory(request, outcomes))
        elif elements := builders[name]():
            sections.append(Section(f"the-{name}", _HEADINGS[name], elements))
    if tables := [*_times(request, outcomes), *_seeds(request, outcomes)]:
        sections.append(Section("times-and-seeds", "Times, and spread over seeds", tables))
    anchors = {section.anchor for section in sections} | {
        element.name
        for section in sections
        for element in section.elements
        if not isinstance(element, Note) and hasattr(element, "name")
    }
    tasks = dict.fromkeys(plan.tasks_of(request, experiments))
    first = [
        Section("summary", "Summary", _summary(request, outcomes)),
        Section("overview", "What became of its claims", _overview(request, outcomes, anchors)),
    ]
    return Report(TITLE, _lead(request, tasks, outcomes), [*first, *sections], dict(facts))


# What a section shows; its tables and figures have the paper's numbers in their titles.
_HEADINGS = {
    "table1": "Ranking on the simulation",
    "table2": "Finding the columns of the simulation",
    "table3": "Ranking on gene data",
    "table4": "Known markers of leukemia",
    "table5": "Known markers of colon cancer",
    "figure1": "Convergence",
    "figure2": "Imbalance",
    "figure3": "Ranking on gene data for every k",
    "figure4": "Known markers among the genes chosen",
    "audit": "Where paper and programs disagree, and what it does",
}


def _lead(request: Request, tasks: Collection[Task], outcomes: Outcomes) -> str:
    preset = request.preset
    text = (
        f"{CITATION}. Its programs: {PROGRAMS} (the commit that made the printed numbers is not "
        "known; no seeds were kept)."
    )
    wanted = Counter(map(plan.subject, tasks))
    missing = Counter(plan.subject(task) for task in tasks if task not in outcomes)
    if missing:
        parts = [f"{count} of {wanted[name]} tasks of {name}" for name, count in missing.items()]
        text += (
            f"\n\nMissing: {', '.join(parts)}. Entries that rest on fewer values for it say so. "
            "The command below goes on from what is there."
        )
    if preset.name != "paper":
        text += (
            "\n\nGrids are coarser and draws fewer than in the full run: single numbers are rough. "
            "`--preset paper` has the full grids."
        )
    return text


def _summary(request: Request, outcomes: Outcomes) -> list[Element]:
    """Half a page in plain words, made from the numbers; then the agreement with print."""
    preset = request.preset
    elements: list[Element] = [
        Note(
            "SHT-AUC chooses at most k columns of a table whose linear score ranks positive rows "
            "above negative ones. The paper compares it with six other methods on simulated data "
            "and on two gene tables. All methods were implemented anew, and the experiments run "
            "in two ways: as in the authors' programs, errors included (the published "
            "protocol), and without these errors, so that nothing is learned from test rows (the "
            f"corrected protocol). This report rests on the preset {preset.name}, "
            f"{_work(outcomes)}."
        )
    ]
    if words := agreement_words(request, outcomes):
        elements.append(Note(" ".join(words), "finding"))
    claims = judge_claims(request, outcomes)
    if counted := count_verdicts(claims):
        elements.append(Note(f"Its claims, judged one by one below. {counted}"))
    elements += [Note(text, "finding") for text in about_scaling(request, outcomes)]
    elements.append(
        Note(
            "Theory: with the constants of Theorem 2 the contraction factor κ of Theorem 1 is "
            "above 1 for every number of rows, so that together they promise nothing. "
            f"{len(SLIPS)} places where statement and proof part ways are listed in the part on "
            "theory."
        )
    )
    elements.append(
        Note(
            "What could not be reproduced, and why. The draws themselves: the programs set no "
            "seed, so that only means can be compared. The figures number by number: only pictures "
            "exist. The Jaccard index as printed: the programs compute none, and a part of the "
            "printed ones contradicts the printed F1. The elastic net in the authors' way: it is "
            "in the text and not in the programs' tables. Claims without a measurable statement, "
            "such as being the first of its kind or more robust, are not judged."
        )
    )
    if (picture := scatter(request, outcomes)) is not None:
        elements.append(picture)
    if (table := agreement_listing(request, outcomes)) is not None:
        elements.append(table)
    return elements


def _overview(request: Request, outcomes: Outcomes, anchors: Collection[str]) -> list[Element]:
    """Judge the claims, and say what else came out: order of methods, empty fits, audit."""
    elements: list[Element] = [
        claims_listing(judge_claims(request, outcomes), anchors),
        *_about_order(request, outcomes),
        *_about_empty_fits(request, outcomes),
        Note(
            f"Audit: {len(DISCREPANCIES)} places where paper and programs disagree. "
            f"{what_moves(effects(request, outcomes))}"
        ),
    ]
    failed = sum(outcome.error is not None for outcome in outcomes.values())
    if failed:
        text = f"{failed} tasks failed; the tables say where. Running again tries them again."
        elements.append(Note(text, "caution"))
    return elements


def _times(request: Request, outcomes: Outcomes) -> list[Listing]:
    """Processor time of a fit of the simulation, for each method."""
    seconds = {key: np.median(many) for key, many in fit_seconds(request, outcomes).items()}
    if not seconds:
        return []
    ours = seconds.get("sht-auc", np.nan)
    lines = [
        {
            "method": METHODS[key].name,
            "a fit, seconds": float(spent),
            "times SHT-AUC": float(spent / ours),
            "grid points": len(points(request.preset.grids[key])),
        }
        for key, spent in seconds.items()
    ]
    preset = request.preset
    return [
        Listing(
            "times",
            "Time of a fit",
            f"Median processor time of a final fit of the simulation ({preset.n * 4 // 5} rows, "
            f"{preset.d} columns, {preset.epochs} epochs) on one core, with the parameters that "
            "were chosen; tuning fits every grid point five times. The paper reports no times.",
            pd.DataFrame(lines),
            formats={"a fit, seconds": "#.2g", "times SHT-AUC": "#.2g"},
        )
    ]


def _seeds(request: Request, outcomes: Outcomes) -> list[Listing]:
    """Means of Tables I and II seed by seed."""
    seeds = request.preset.seeds
    found = {
        measure: table_values(request, request.protocol, measure, outcomes)
        for measure in ("auc", "f1")
    }
    lines = []
    for method in dict.fromkeys(method for method, _ in found["auc"]):
        line: dict[str, Any] = {"method": METHODS[method].name}
        for seed in range(seeds):
            means = [
                np.mean(
                    [
                        value
                        for (key, _), sample in values.items()
                        for (draw, _), value in sample.items()
                        if key == method and draw % seeds == seed and not np.isnan(value)
                    ]
                    or [np.nan]
                )
                for values in found.values()
            ]
            line[f"seed {request.seed + seed}"] = (
                "–" if np.isnan(means[0]) else f"{means[0]:.3f}, {means[1]:.3f}"
            )
        lines.append(line)
    if not lines:
        return []
    return [
        Listing(
            "seeds",
            f"Tables I and II seed by seed, {request.protocol} protocol",
            "Test AUC and F1 (k tuned), means over all k*. Draws are taken from the seeds in turn.",
            pd.DataFrame(lines),
            digits=0,
        )
    ]


def _table2(request: Request, outcomes: Outcomes) -> list[Element]:
    elements = _under_both(summaries.table2, request, outcomes)
    if request.protocol == "corrected" or outcomes:
        given = summaries.table2(request, "corrected", outcomes, given=True)
        if len(given.cells):
            elements.insert(1, given)
    return elements


def _about_order(request: Request, outcomes: Outcomes) -> list[Note]:
    """How our order of the seven methods agrees with the printed one."""
    parts = [
        f"{correlation:.2f} under the {protocol} protocol"
        for protocol in PROTOCOLS
        if not np.isnan(correlation := correlation_with_paper(request, protocol, outcomes))
    ]
    if not parts:
        return []
    text = "Order of the seven methods by mean AUC over Table I against the printed order, Spearman"
    return [Note(f"{text}: {', '.join(parts)}.")]


def correlation_with_paper(request: Request, protocol: str, outcomes: Outcomes) -> float:
    """Spearman correlation of our order of the seven methods with the printed one.

    Over the k* for which all of them have results; NaN where one has fewer than ten in all.
    """
    values = table_values(request, protocol, "auc", outcomes)
    columns = [
        column
        for column in printed.AUC["sht-auc"]
        if all(mean_of(values.get((method, column), {})).n for method in PAPER_METHODS)
    ]
    counts = [sum(mean_of(values[m, c]).n for c in columns) for m in PAPER_METHODS]
    if min(counts) < FEWEST:
        return float("nan")
    ours = [np.mean([mean_of(values[m, c]).mean for c in columns]) for m in PAPER_METHODS]
    theirs = [np.mean([printed.AUC[m][c].mean for c in columns]) for m in PAPER_METHODS]
    return float(spearmanr(ours, theirs).statistic)


def _about_empty_fits(request: Request, outcomes: Outcomes) -> list[Note]:
    """How many answers of the convex methods lose all coefficients to the cut at 0.001."""
    parts = []
    for method in (m for m in METHODS.values() if m.truncated and m.in_tables):
        results = [
            outcomes[task].result
            for (key, *_), task in plan.table_tasks(request, "published").items()
            if key == method.key and task in outcomes
        ]
        empty = [r["auc"] for r in results if r is not None and r["columns"] == 0]
        if empty:
            parts.append(f"{method.name} {len(empty)} of {len(results)} (AUC {np.mean(empty):.3f})")
    if not parts:
        return []
    return [
        Note(
            "Published protocol: coefficients below 0.001 are set to 0 before the test AUC. Fits "
            "that have none left, and so count as AUC 0.5 and F1 0, with their mean AUC before "
            f"the cut: {', '.join(parts)}. The corrected protocol ranks by all coefficients and "
            "takes the k largest as the columns, with k tuned or k* given.",
            "caution",
        )
    ]


def _under_both(
    show: Callable[[Request, str, Outcomes], Comparison | Figure],
    request: Request,
    outcomes: Outcomes,
    missing: Mapping[str, str] = MappingProxyType({}),
) -> list[Element]:
    """Show something under the chosen protocol and the other, where there are results."""
    notes = [
        Note(f"The {name} data is not available, so its numbers are missing: {reason}", "caution")
        for name, reason in missing.items()
    ]
    protocols = (request.protocol, request.other_protocol)
    both = [show(request, protocol, outcomes) for protocol in protocols]
    return [*notes, *(element for element in both if len(element.frame))]


def _theory(request: Request, outcomes: Outcomes) -> Section:
    measured: dict[str, dict[float, list[Any]]] = {name: {} for name in SETTINGS}
    for (name, ratio, _), task in plan.theory_tasks(request).items():
        if task in outcomes and (result := outcomes[task].result) is not None:
            measured[name].setdefault(ratio, []).append(result)
    return theory_section(request.preset.theory_ratios, **measured)


def _table1(request: Request, outcomes: Outcomes) -> list[Element]:
    tasks = plan.table_tasks(request, request.protocol)
    values = summaries.synthetic_values(tasks, outcomes, lambda result: float(result["bayes_auc"]))
    best = {column: mean_of(sample).mean for (_, column), sample in values.items()}
    elements = _under_both(summaries.table1, request, outcomes)
    if best:
        text = ", ".join(f"{auc:.3f} at k* = {k}" for k, auc in best.items())
        note = f"No score can have a larger AUC on fresh rows than {text} (Bayes)."
        elements.insert(0, Note(note))
    return elements


def _work(outcomes: Outcomes) -> str:
    """Tasks that were run, on what, and the time it took."""
    seconds: dict[str | None, list[float]] = {}
    for outcome in outcomes.values():
        seconds.setdefault(outcome.device, []).append(outcome.seconds)
    parts = [
        f"{len(spent)} {'on processor cores' if device is None else f'tuned on an {device}'}, "
        f"in {sum(spent) / 3600:.2f} core-hours{'' if device is None else ' beside it'}"
        for device, spent in sorted(seconds.items(), key=lambda part: part[0] or "")
    ]
    return f"{len(outcomes)} tasks: {'; '.join(parts)}" if parts else "no task"


def facts_of(
    command: str, request: Request, outcomes: Outcomes, runs: Sequence[Run]
) -> dict[str, str]:
    """How the report was made: what was asked for, from which data, where and when computed."""
    data = {
        str(task.settings["dataset"]): str(task.settings["data"])
        for task in outcomes
        if task.kind == "real"
    }
    facts = {
        "command": command,
        "seeds": f"{request.seed} to {request.seed + request.preset.seeds - 1}, in turn",
        "data": ", ".join(f"{name} (SHA-256 {digest}…)" for name, digest in data.items())
        or "simulated only",
    }
    for number, run in enumerate(runs, 1):
        facts[f"run {number}"] = (
            f"{run.tasks} tasks, {run.started} to {run.ended} UTC, {run.machine}, {run.versions}, "
            f"{run.revision}"
        )
    return facts
