"""A note to the paper's authors, two pages in ReScience's form, made from the stored results."""

from collections.abc import Iterable, Mapping

from . import printed
from .audit import DISCREPANCIES, about_scaling
from .claims import ANY, Judged, Kind, count_verdicts, judge_claims
from .estimates import Sample, difference_of, draws_of, mean_of, shown
from .methods import METHODS
from .page import Element, Note, Report, Section, Table, listing
from .protocols import PROTOCOLS
from .report import CITATION, PROGRAMS
from .results import Results, simulated
from .tables import agreement_words
from .theory.section import SLIPS


def make_note(results: Results, facts: Mapping[str, str]) -> Report:
    """Claims, method, results, what was easy and what was difficult, and two questions."""
    claims = judge_claims(results)
    sections: dict[str, list[Element]] = {
        "Scope": [
            Note(
                "All methods of the paper were implemented anew from its text and from its "
                "programs, and Tables I to V, Figures 1 to 4 and the constants of Theorems 1 and 2 "
                "computed again. Proofs were read and checked with numbers. Being the first of its "
                "kind is not judged."
            )
        ],
        "Claims": [
            Note(
                f"{len({claim.quotation for claim, _ in claims} - {''})} sentences of the paper "
                "can be measured; some have several readings. A claim holds where the 95 % "
                "interval of the paired difference is above 0 against every rival, and does not "
                "where it is below 0 against one. It is smaller than printed where the interval "
                "contains 0 and excludes the printed difference, whose own error counts."
            )
        ],
        "Method": [
            Note(
                "Everything was run twice: as the programs run (the published protocol), and with "
                f"none of the {len(DISCREPANCIES)} differences between paper and programs that "
                "can change a number (the corrected protocol: nested, stratified "
                "cross-validation, nothing learned from test rows, exactly k columns, columns of "
                f"the simulation with random signs). {results.request.preset.trials} draws of the "
                f"simulation, {results.request.preset.real_trials} trials on the genes; "
                f"computed at {facts.get('commit', 'a commit that is not known')}."
            )
        ],
        "Results": _results(results, claims),
        "What was easy": [
            Note(
                "The paper defines its task, its loss and its algorithm completely: SHT-AUC is "
                "ten lines. The programs are public, with the gene data, and each rival follows "
                "its own paper."
            )
        ],
        "What was difficult": [
            Note(
                "The programs set no seed, so that only means can be compared. They differ from "
                "the text in the step, in how many columns are kept, and in what is tuned on "
                "which rows. No program computes a Jaccard index. The figures have no numbers "
                f"beside them. {len(SLIPS)} places where statement and proof of the theory part "
                "ways are listed with the report; most change a constant only."
            )
        ],
        "Two questions": [
            Note(
                "1. Which seed, and which commit of the programs, made the printed numbers?\n\n"
                "2. How was the Jaccard index computed? A part of the printed ones is below what "
                "the printed F1 allows."
            )
        ],
    }
    return Report(
        "A note to the authors of “Stochastic Hard Thresholding Algorithms for AUC Maximization”",
        f"{CITATION}. Programs: {PROGRAMS}.",
        [
            Section(f"note-{place}", name, part)
            for place, (name, part) in enumerate(sections.items())
        ],
        is_wide=False,
    )


def _results(results: Results, claims: Iterable[Judged]) -> list[Element]:
    claims = list(claims)
    elements: list[Element] = [Note(text) for text in agreement_words(results)]
    elements.append(headline(results))
    agreed = dict.fromkeys(
        f"“{claim.quotation}”"
        for claim, verdicts in claims
        if all(verdict.kind == "holds" for verdict in verdicts.values())
    )
    elements.append(Note(f"{count_verdicts(claims)} In every protocol hold: {'; '.join(agreed)}."))
    against: dict[Kind, str] = {"fails": "What did not hold", "smaller": "Smaller than printed"}
    for kind, words in against.items():
        if parts := list(_with_verdict(claims, kind)):
            elements.append(Note(f"{words}. {' '.join(parts)}"))
    why = [*about_signs(results), *about_scaling(results)]
    return [*elements, Note(f"Why. {' '.join(why)}")] if why else elements


def _with_verdict(claims: Iterable[Judged], kind: Kind) -> Iterable[str]:
    for claim, verdicts in claims:
        for protocol, verdict in verdicts.items():
            if verdict.kind == kind:
                words = f"“{claim.quotation}”" if claim.quotation else ""
                under = "" if protocol == ANY else f", {protocol} protocol"
                yield f"{words} ({claim.judged}{under}): {verdict.numbers}."


def headline(results: Results) -> Table:
    """Table I for SHT-AUC and the two next in print, under both protocols, beside the print."""
    values = {name: results.table(name, "auc") for name in ("published", "corrected")}
    means = {
        method: sum(entry.mean for entry in row.values()) for method, row in printed.AUC.items()
    }
    lines = []
    for method in sorted(means, key=lambda method: -means[method])[:3]:
        row = printed.AUC[method]
        lines.append({"method": METHODS[method].name, "": "printed"})
        lines[-1] |= {f"k* = {column}": f"{entry.mean:.3f}" for column, entry in row.items()}
        for protocol, found in values.items():
            lines.append({"method": METHODS[method].name, "": protocol})
            for column in row:
                mean = mean_of(found.get((method, column), {}))
                text = f"{mean.mean:.3f} ± {mean.se:.3f}" if mean.n else "–"
                lines[-1][f"k* = {column}"] = text
    caption = "Test AUC at 5 % positives; mean ± standard error."
    return listing("headline", "Table I, printed and run again", caption, lines)


def about_signs(results: Results) -> list[str]:
    """Say what SOLAM's start is worth on shifts of one sign; nothing without both arms."""

    def f1(values: Mapping[tuple[str, str], Sample], method: str) -> Sample:
        return draws_of({place: sample for place, sample in values.items() if place[0] == method})

    ours = results.table("corrected", "f1")
    one_sided = simulated(results.one_sided, PROTOCOLS["corrected"], "f1")
    gaps = [
        mean_of(difference_of(f1(ours, "sht-auc"), f1(values, "solam")))
        for values in (one_sided, ours)
    ]
    if not all(gap.n for gap in gaps):
        return []
    return [
        "SOLAM alone starts at the same positive number in every column, and the simulation's "
        "shifts are all positive: so it is told their sign. With random signs SHT-AUC's F1 (k "
        f"tuned) less SOLAM's goes from {shown(gaps[0])} to {shown(gaps[1])}; both arms are in the "
        "tables, and the verdict is from the second."
    ]
