"""The whole report: a summary, the paper's claims and what became of them, tables and figures."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

from . import figures, plan, tables
from .audit import (
    DISCREPANCIES,
    Effect,
    about_scaling,
    audit_elements,
    effects,
    what_moves,
)
from .claims import ANY, Judged, count_verdicts, judge_claims
from .estimates import FEWEST, mean_of
from .page import Element, Figure, Note, Report, Section, Table, listing
from .plan import Request
from .results import Outcomes, Results, values_of
from .store import Run
from .theory.section import SLIPS, theory_section

TITLE = "Stochastic Hard Thresholding Algorithms for AUC Maximization, run again"
CITATION = (
    "Z. Yang, B. Zhou, Y. Lei and Y. Ying, “Stochastic Hard Thresholding Algorithms for AUC "
    "Maximization”, IEEE International Conference on Data Mining (ICDM), 2020, "
    "https://arxiv.org/abs/2011.02396"
)
PROGRAMS = (
    "https://github.com/baojianzhou/sparse-auc, read at commit 2f338cd (the commit that made the "
    "printed numbers is not known; no seeds were kept)"
)
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
    "times": "Times",
}


def make_report(
    results: Results,
    experiments: tuple[str, ...],
    *,
    facts: Mapping[str, str],
    missing_data: Mapping[str, str],
) -> Report:
    """Assemble the report of the experiments; tasks without an outcome are left out of means."""
    measured = effects(results)
    claims = judge_claims(results)
    absent = [
        Note(
            f"The {name} data is not available, so its numbers are missing: {reason}",
            "caution",
        )
        for name, reason in missing_data.items()
    ]
    builders: dict[str, Callable[[], Sequence[Element | None]]] = {
        "table1": lambda: [_bayes(results), *_under_both(tables.table1, results)],
        "table2": lambda: _table2(results),
        "table3": lambda: [*absent, *_under_both(tables.table3, results)],
        "table4": lambda: [tables.marker_table("leukemia")],
        "table5": lambda: [tables.marker_table("colon")],
        "figure1": lambda: figures.figure1(results),
        "figure2": lambda: _under_both(figures.figure2, results),
        "figure3": lambda: [*absent, *_under_both(figures.figure3, results)],
        "figure4": lambda: [*absent, *_under_both(figures.figure4, results)],
        "audit": lambda: audit_elements(results, measured),
        "times": lambda: [tables.times_table(results)],
    }
    sections = []
    for name in experiments:
        if name == "theory":
            sections.append(
                theory_section(results.request.preset.theory_ratios, results.theory)
            )
        elif elements := _there(builders[name]()):
            sections.append(Section(f"the-{name}", _HEADINGS[name], elements))
    anchors = {section.anchor for section in sections} | {
        element.name
        for section in sections
        for element in section.elements
        if not isinstance(element, Note)
    }
    first = [
        Section("summary", "Summary", _summary(results, claims)),
        Section(
            "overview",
            "What became of its claims",
            _overview(results, claims, anchors, measured),
        ),
    ]
    lead = _lead(results, experiments, facts.get("commit", "not known"))
    return Report(TITLE, lead, [*first, *sections], dict(facts))


def _there(elements: Sequence[Element | None]) -> list[Element]:
    return [element for element in elements if element is not None]


def _under_both(
    show: Callable[[Results, str], Table | Figure], results: Results
) -> list[Element]:
    """Show something under the chosen protocol and the other, where there are results."""
    protocols = (results.request.protocol, results.request.other_protocol)
    both = [show(results, protocol) for protocol in protocols]
    return [element for element in both if len(element.frame)]


def _lead(results: Results, experiments: tuple[str, ...], commit: str) -> str:
    request, outcomes = results.request, results.outcomes
    text = f"{CITATION}. Its programs: {PROGRAMS}. This page was computed at {commit}."
    tasks = dict.fromkeys(plan.tasks_of(request, experiments))
    wanted = Counter(map(plan.subject, tasks))
    missing = Counter(plan.subject(task) for task in tasks if task not in outcomes)
    if missing:
        parts = [
            f"{count} of {wanted[name]} tasks of {name}"
            for name, count in missing.items()
        ]
        text += (
            f"\n\nMissing: {', '.join(parts)}. Entries that rest on fewer values for it say so. "
            "The command below goes on from what is there."
        )
    if request.preset.name != "paper":
        text += (
            "\n\nGrids are coarser and draws fewer than in the full run: single numbers are rough. "
            "`--preset paper` has the full grids."
        )
    return text


def _summary(results: Results, claims: Sequence[Judged]) -> list[Element]:
    """Half a page in plain words, made from the numbers; then the agreement with print."""
    hours = sum(outcome.seconds for outcome in results.outcomes.values()) / 3600
    elements: list[Element | None] = [
        Note(
            "SHT-AUC chooses at most k columns of a table whose linear score ranks positive rows "
            "above negative ones. The paper compares it with six other methods on simulated data "
            "and on two gene tables. All methods were implemented anew, and the experiments run "
            "in two ways: as in the authors' programs, errors included (the published "
            "protocol), and without these errors, so that nothing is learned from test rows (the "
            f"corrected protocol). This report rests on the preset {results.request.preset.name}: "
            f"{len(results.outcomes)} tasks, {hours:.2f} core-hours."
        )
    ]
    if words := tables.agreement_words(results):
        elements.append(Note(" ".join(words), "finding"))
    elements.append(
        Note(f"Its claims, judged one by one below. {count_verdicts(claims)}")
    )
    elements += [Note(text, "finding") for text in about_scaling(results)]
    return _there(
        [
            *elements,
            Note(
                "Theory: where Theorem 1's condition κ < 1 is met, its bound is measured below. "
                "The condition is not met by the printed constants of Theorem 2, for any number "
                f"of rows. {len(SLIPS)} places where statement and proof part ways are listed."
            ),
            Note(_LEFT_OUT),
            figures.scatter(results),
            tables.single_values(results),
        ]
    )


_LEFT_OUT = (
    "What could not be reproduced, and why. The draws themselves: the programs set no seed, so "
    "that only means can be compared. The figures number by number: only pictures exist. The "
    "Jaccard index as printed: the programs compute none, and a part of the printed ones "
    "contradicts the printed F1. The elastic net in the authors' way: it is in the text and not in "
    "the programs' tables. Claims without a measurable statement, such as being the first of its "
    "kind or more robust, are not judged."
)


def _overview(
    results: Results,
    claims: Sequence[Judged],
    anchors: Collection[str],
    measured: Sequence[Effect],
) -> list[Element]:
    """Show the claims, and say what else came out: audit and failures."""
    audited = f"Audit: {len(DISCREPANCIES)} places where paper and programs disagree. "
    elements: list[Element | None] = [
        claims_listing(claims, anchors),
        Note(audited + what_moves(measured)),
    ]
    failed = sum(outcome.error is not None for outcome in results.outcomes.values())
    if failed:
        text = f"{failed} tasks failed; the tables say where. Running again tries them again."
        elements.append(Note(text, "caution"))
    return _there(elements)


def claims_listing(claims: Sequence[Judged], anchors: Collection[str]) -> Table:
    """Make the table of claims for the front page; evidence that is shown there is a link."""
    lines = []
    for claim, verdicts in claims:
        words = [f"“{claim.quotation}”"] if claim.quotation else []
        words += [f"({claim.judged})"] if claim.judged else []
        words += [f"Remark: {claim.remark}"] if claim.remark else []
        shown = {name: str(verdict) for name, verdict in verdicts.items()}
        link = f"[{claim.evidence}](#{claim.anchor})"
        lines.append(
            {
                "the paper": " ".join(words),
                "published protocol": shown.get(ANY, shown.get("published", "–")),
                "corrected protocol": "the same"
                if ANY in shown
                else shown["corrected"],
                "evidence": link if claim.anchor in anchors else claim.evidence,
            }
        )
    return listing(
        "claims",
        "The paper's claims, one by one",
        f"{count_verdicts(claims)}\n\n"
        "± is half of a 95 % interval. Simulation: Student's t over draws, differences taken draw "
        "by draw; the error is that of draws or that of values, whichever is larger. Genes: the "
        "first ± is corrected for splits that share their rows (Nadeau and Bengio) and speaks of "
        "other patients like these; the second speaks of these patients alone. "
        "“Better” holds where the whole interval of the difference is above 0 against every rival. "
        "It does not hold where, against some rival, the interval is below 0. It is smaller than "
        "printed where the interval contains 0 and our difference lies below the printed one by "
        "more than the errors of both allow. Intervals that speak against a claim are widened for "
        "the number of rivals (Bonferroni). It cannot be told otherwise, from fewer than "
        f"{FEWEST} values, or without a rival. What is not measured is called a remark. An "
        "interval misses the truth once in twenty times: some verdicts are wrong by chance.",
        lines,
    )


def _table2(results: Results) -> list[Element]:
    elements = _under_both(tables.table2, results)
    given = tables.table2(results, "corrected", given=True)
    return [*elements[:1], *([given] if len(given.frame) else []), *elements[1:]]


def _bayes(results: Results) -> Note | None:
    values = values_of(results.tables["corrected"], lambda result: result["bayes_auc"])
    best = {column: mean_of(sample).mean for (_, column), sample in values.items()}
    if not best:
        return None
    text = ", ".join(f"{auc:.3f} at k* = {k}" for k, auc in best.items())
    return Note(f"No score can have a larger AUC on fresh rows than {text} (Bayes).")


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
        "commit": " and ".join(dict.fromkeys(run.revision for run in runs))
        or "not known",
        "seeds": f"{request.seed} to {request.seed + request.preset.seeds - 1}, in turn",
        "data": ", ".join(
            f"{name} (SHA-256 {digest}…)" for name, digest in data.items()
        )
        or "simulated only",
    }
    for number, run in enumerate(runs, 1):
        facts[f"run {number}"] = (
            f"{run.tasks} tasks, {run.started} to {run.ended} UTC, {run.machine}, {run.versions}, "
            f"{run.revision}"
        )
    return facts
