"""A note to the paper's authors, two pages in ReScience's form, made from the stored results."""

from collections.abc import Iterable, Mapping
from importlib.resources import files
from string import Template

from . import printed
from .audit import DISCREPANCIES, about_scaling
from .claims import ANY, Judged, Kind, count_verdicts, judge_claims
from .estimates import difference_of, draws_of, mean_of, shown
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
    preset = results.request.preset
    template = files(__package__).joinpath("note.md").read_text(encoding="utf-8")
    text = Template(template).substitute(
        quotations=len({claim.quotation for claim, _ in claims} - {""}),
        discrepancies=len(DISCREPANCIES),
        trials=preset.trials,
        real_trials=preset.real_trials,
        commit=facts.get("commit", "a commit that is not known"),
        results="\n\n".join(_results(results, claims)),
        slips=len(SLIPS),
    )
    sections = []
    for place, part in enumerate(text.split("## ")[1:]):
        heading, _, body = part.partition("\n")
        elements: list[Element] = [Note(body)]
        if heading == "Results":
            elements.append(headline(results))
        sections.append(Section(f"note-{place}", heading, elements))
    return Report(
        "A note to the authors of “Stochastic Hard Thresholding Algorithms for AUC Maximization”",
        f"{CITATION}. Programs: {PROGRAMS}.",
        sections,
        is_wide=False,
    )


def _results(results: Results, claims: Iterable[Judged]) -> list[str]:
    claims = list(claims)
    agreed = dict.fromkeys(
        f"“{claim.quotation}”"
        for claim, verdicts in claims
        if all(verdict.kind == "holds" for verdict in verdicts.values())
    )
    texts = agreement_words(results)
    texts.append(
        f"{count_verdicts(claims)} In every protocol hold: {'; '.join(agreed)}."
    )
    against: dict[Kind, str] = {
        "fails": "What did not hold",
        "smaller": "Smaller than printed",
    }
    for kind, words in against.items():
        if parts := list(_with_verdict(claims, kind)):
            texts.append(f"{words}. {' '.join(parts)}")
    why = [*about_signs(results), *about_scaling(results)]
    return [*texts, f"Why. {' '.join(why)}"] if why else texts


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
        method: sum(entry.mean for entry in row.values())
        for method, row in printed.AUC.items()
    }
    lines = []
    for method in sorted(means, key=lambda method: -means[method])[:3]:
        row = printed.AUC[method]
        lines.append({"method": METHODS[method].name, "": "printed"})
        lines[-1] |= {
            f"k* = {column}": f"{entry.mean:.3f}" for column, entry in row.items()
        }
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
    values = results.table("corrected", "f1")
    one_sided = simulated(results.one_sided, PROTOCOLS["corrected"], "f1")
    ours = draws_of(values, "sht-auc")
    gaps = [
        mean_of(difference_of(ours, draws_of(of_arm, "solam")))
        for of_arm in (one_sided, values)
    ]
    if not all(gap.n for gap in gaps):
        return []
    return [
        "SOLAM alone starts at the same positive number in every column, and the simulation's "
        "shifts are all positive: so it is told their sign. With random signs SHT-AUC's F1 (k "
        f"tuned) less SOLAM's goes from {shown(gaps[0])} to {shown(gaps[1])}; both arms are in the "
        "tables, and the verdict is from the second. The other methods start at 0 and do the "
        "same whatever the signs."
    ]
