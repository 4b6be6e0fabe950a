"""The whole report: the paper's claims and what became of them, then every table and figure."""

import os
import platform
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from sparseauc_app.report.elements import Comparison, Element, Figure, Note, Report, Section
from sparseauc_app.report.palette import all_series

from . import plan, printed, summaries
from .audit import DISCREPANCIES, audit_elements, effects, what_moves
from .claims import claims_listing, judge_claims
from .markers import marker_table
from .methods import METHODS, PAPER_METHODS
from .plan import Request
from .protocols import PROTOCOLS
from .summaries import FEWEST, Outcomes, mean_of, shown, table_values
from .tasks import Task
from .theory.measurements import SETTINGS
from .theory.section import theory_section
from .theory.slips import SLIPS

TITLE = "Stochastic Hard Thresholding Algorithms for AUC Maximization, run again"
CITATION = (
    "Z. Yang, B. Zhou, Y. Lei and Y. Ying, “Stochastic Hard Thresholding Algorithms for AUC "
    "Maximization”, IEEE International Conference on Data Mining (ICDM), 2020"
)


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
        "table2": lambda: both(summaries.table2, request, outcomes),
        "table3": lambda: genes(summaries.table3, request, outcomes),
        "table4": lambda: [marker_table("leukemia")],
        "table5": lambda: [marker_table("colon")],
        "figure1": lambda: list(summaries.figure1(request, outcomes)),
        "figure2": lambda: [summaries.figure2(request, outcomes)],
        "figure3": lambda: genes(summaries.figure3, request, outcomes),
        "figure4": lambda: genes(summaries.figure4, request, outcomes),
        "audit": lambda: audit_elements(request, outcomes),
    }
    sections = [
        Section("overview", "What became of its claims", _overview(request, experiments, outcomes))
    ]
    for name in experiments:
        if name == "theory":
            sections.append(_theory(request, outcomes))
        elif elements := builders[name]():
            sections.append(Section(f"the-{name}", _HEADINGS[name], elements))
    tasks = dict.fromkeys(plan.tasks_of(request, experiments))
    return Report(TITLE, _lead(request, tasks, outcomes), sections, dict(facts))


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
        f"{CITATION}.\n\nIts experiments were run again with its methods implemented anew: as its "
        "text and the methods' own papers define them (the corrected protocol), and as its "
        "published programs ran them, slips included (the published protocol). "
        f"What was run: preset {preset.name}, {request.protocol} protocol with all methods, the "
        f"other with the paper's; {_work(outcomes)}. "
        "The paper's tables are compared number by number; of its figures only pictures exist, so "
        "they are drawn anew and not compared. The numbers of every figure stand beside it as CSV."
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
            "\n\nGrids are coarser and trials fewer than in the paper: single numbers are rough. "
            "`--preset paper` has the full grids and trials."
        )
    return text


def _overview(request: Request, experiments: tuple[str, ...], outcomes: Outcomes) -> list[Element]:
    """Judge the claims, and say what else came out: slips, order of methods, theory."""
    elements: list[Element] = [
        claims_listing(judge_claims(request, outcomes), experiments),
        *_about_scaling(request, outcomes),
        *_about_order(request, outcomes),
        *_about_empty_fits(request, outcomes),
        Note(
            "Theory: with the constants of Theorem 2 the contraction factor κ of Theorem 1 is "
            "above 1 for every number of rows, so that together they promise nothing. "
            f"{len(SLIPS)} places where statement and proof part ways are listed in the part on "
            "theory."
        ),
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


def _about_scaling(request: Request, outcomes: Outcomes) -> list[Note]:
    """What z-scoring with the test rows does to each method, and what follows for Table II."""
    found = [e for e in effects(request, outcomes) if e.switch.name == "scale_with_test_rows"]
    if not found:
        return []
    parts = [
        f"{METHODS[e.method].name} {e.without:.3f}, change {shown(e.change)}"
        for e in found
        if e.measure == "F1"
    ]
    clear = [e for e in found if e.measure == "F1" and e.p_value < 0.05]
    text = (
        "The slip that matters. The programs z-score the simulated columns over training and test "
        "rows together, which leaves training columns off centre. SHT-AUC looks at differences of "
        "class means and does not notice; the logistic loss with an intercept that starts at 0 "
        "then picks columns by noise. F1 when scaled on training rows, and its change when test "
        f"rows are included: {'; '.join(parts)} (n = {found[0].change.n} pairs)."
    )
    if any(e.method == "sto-iht" and e.change.mean < 0 for e in clear):
        text += " The paper's main result, support recovery twice as good, rests on it."
    return [Note(text, "finding")]


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
            "takes the k* largest as the columns.",
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
    full = (
        element
        for element in both
        if (any(all_series(element)) if isinstance(element, Figure) else len(element.cells))
    )
    return [*notes, *full]


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


def facts_of(command: str, seed: int, outcomes: Outcomes) -> dict[str, str]:
    """How the report was made."""
    data = {
        str(task.settings["dataset"]): str(task.settings["data"])
        for task in outcomes
        if task.kind == "real"
    }
    packages = ("sparseauc", "numpy", "scipy", "sklearn", "numba", "joblib")
    return {
        "command": command,
        "seed": str(seed),
        "data": ", ".join(f"{name} (SHA-256 {digest}…)" for name, digest in data.items())
        or "simulated only",
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "versions": ", ".join(f"{name} {import_module(name).__version__}" for name in packages),
    }
