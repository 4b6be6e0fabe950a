"""Where paper and published programs disagree, and what each slip is worth."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import pandas as pd
from scipy.stats import false_discovery_control
from scipy.stats import t as student

from . import plan, printed
from .estimates import FEWEST, Mean, Sample, difference_of, draws_of, mean_of, shown
from .files import read_lines
from .gene_summaries import real_results
from .methods import METHODS
from .page import Element, Listing
from .plan import Measured, Request
from .protocols import SWITCHES, Switch
from .scaling import scaling_listing
from .summaries import Outcomes, synthetic_measure, synthetic_values
from .tasks import Task
from .tuning import N_FOLDS

# Smaller changes matter to nobody, however certain they are.
_SEEN = 2e-3


class Discrepancy(NamedTuple):
    """One place where what is printed and what was run differ."""

    number: int
    paper: str  # what it says
    programs: str  # what they do
    here: str  # how it is dealt with where no switch stands for it


DISCREPANCIES = tuple(
    Discrepancy(int(number), *texts) for number, *texts in read_lines("discrepancies.csv")
)
MEASURES = {"auc": "test AUC", "f1": "F1", "jaccard": "Jaccard index"}


@dataclass(frozen=True)
class Effect:
    """What a switch does to a method: the mean change of a number when it is turned on."""

    switch: Switch
    where: str
    method: str
    measure: str
    change: Mean
    without: float  # the mean of that number while it is off

    @property
    def p_value(self) -> float:
        """Probability of so large a change by chance; 1 from fewer than ten values, or if tiny."""
        change = self.change
        if change.n < FEWEST or abs(change.mean) < _SEEN or not change.se > 0:
            return 1.0
        return float(2 * student.sf(abs(change.mean) / change.se, change.df))


def clear_effects(found: Sequence[Effect]) -> list[Effect]:
    """Effects that are more than chance; of those named, one in twenty is so by accident."""
    if not found:
        return []
    adjusted = false_discovery_control([effect.p_value for effect in found])
    clear = [effect for effect, p in zip(found, adjusted, strict=True) if p <= 0.05]
    return sorted(clear, key=lambda effect: effect.p_value)


def effects(request: Request, outcomes: Outcomes) -> list[Effect]:
    """Measure every switch on every method that it touches, over the corrected protocol."""
    found = []
    for measured in plan.audit_tasks(request):
        read = _synthetic_changes if measured.where == "synthetic" else _real_changes
        for method in dict.fromkeys(method for method, *_ in measured.pairs):
            pairs = {
                key: pair
                for key, pair in measured.pairs.items()
                if key[0] == method and pair[0] in outcomes and pair[1] in outcomes
            }
            if not pairs:
                continue
            for where, measure, before, after in read(measured, pairs, outcomes):
                change = mean_of(difference_of(after, before))
                if change.n:
                    found.append(
                        Effect(
                            measured.switch, where, method, measure, change, mean_of(before).mean
                        )
                    )
    return found


Pairs = Mapping[plan.Key, tuple[Task, Task]]
# Data, measure, and the numbers without the switch and with it.
Change = tuple[str, str, Sample, Sample]


def _synthetic_changes(measured: Measured, pairs: Pairs, outcomes: Outcomes) -> list[Change]:
    """AUC, F1 and Jaccard index; each pair is on the same draw and, where it can, test part."""
    changes = []
    for measure, label in MEASURES.items():
        before, after = (
            synthetic_values(
                {key: pair[place] for key, pair in pairs.items()},
                outcomes,
                partial(synthetic_measure, protocol, measure),
            )
            for place, protocol in enumerate((measured.without, measured.protocol))
        )
        changes.append(("synthetic", label, draws_of(before), draws_of(after)))
    return changes


def _real_changes(measured: Measured, pairs: Pairs, outcomes: Outcomes) -> list[Change]:
    changes: list[Change] = []
    (method,) = {key[0] for key in pairs}
    for dataset in dict.fromkeys(key[1] for key in pairs):
        part = {key: pair for key, pair in pairs.items() if key[1] == dataset}
        before, after = (
            real_results({key: pair[place] for key, pair in part.items()}, outcomes, protocol)
            for place, protocol in enumerate((measured.without, measured.protocol))
        )
        if measured.switch.name == "published_markers":
            shares = _together(before.share.values()), _together(after.share.values())
            changes.append((dataset, "share of markers", *shares))
        else:
            place = method, dataset
            changes.append((dataset, MEASURES["auc"], before.tuned[place], after.tuned[place]))
    return changes


def _together(samples: Iterable[Sample]) -> Sample:
    """Put the values of several samples together, trial by trial."""
    return {
        (trial, part + N_FOLDS * number): value
        for number, sample in enumerate(samples)
        for (trial, part), value in sample.items()
    }


def audit_elements(request: Request, outcomes: Outcomes) -> list[Element]:
    """Make the audit: all discrepancies, and for those with a switch what it does."""
    measured = effects(request, outcomes)
    clear = clear_effects(measured)
    lines = []
    for discrepancy in DISCREPANCIES:
        switches = [s for s in SWITCHES if discrepancy.number in s.discrepancies]
        lines.append(
            {
                "no.": discrepancy.number,
                "the paper": discrepancy.paper,
                "its programs": discrepancy.programs,
                "here": "; ".join(
                    filter(None, [_summary(measured, clear, switches), discrepancy.here])
                )
                or "not measured",
            }
        )
    preset = request.preset
    listing = Listing(
        "audit",
        "Where paper and programs disagree",
        "Where a switch stands for it, the last column tells what the switch clearly does, to "
        "which method: the programs' way, or the text's where neither protocol follows it, against "
        "the corrected protocol. Details are in the next tables.",
        pd.DataFrame(lines),
        digits=0,
    )
    pieces = [
        f"k* = {', '.join(map(str, preset.audit_sparsities))} ({preset.audit_trials} draws each, "
        f"{preset.audit_folds} test parts of each)"
    ]
    pieces += [f"{name} ({preset.audit_real_trials} trials)" for name in preset.audit_datasets]
    elements: list[Element] = [listing]
    if (scaled := scaling_listing(request, outcomes)) is not None:
        elements.append(scaled)
    turned = dict.fromkeys(e.switch for e in measured)
    if turned:
        elements.append(
            Listing(
                "audit-switches",
                "The switches",
                f"Each is turned on alone, over the corrected protocol, and measured on "
                f"{' and '.join(pieces)}. One at a time they do not add up to the difference "
                "between the protocols.",
                pd.DataFrame({"switch": s.title, "when on": s.description} for s in turned),
                digits=0,
            )
        )
    for where in dict.fromkeys(e.where for e in measured):
        elements.append(_listing_of_effects([e for e in measured if e.where == where], clear))
    elements.append(_jaccard_audit())
    return elements


def _listing_of_effects(found: Sequence[Effect], clear: Collection[Effect]) -> Listing:
    """One line for each switch and method, a column for each measure."""
    where = found[0].where
    lines = []
    for switch, method in dict.fromkeys((e.switch, e.method) for e in found):
        part = {e.measure: e for e in found if (e.switch, e.method) == (switch, method)}
        line = {"switch": switch.title, "whose way": switch.whose, "method": METHODS[method].name}
        for measure in dict.fromkeys(e.measure for e in found):
            effect = part.get(measure)
            line[measure] = "" if effect is None else _shown(effect, effect in clear)
        lines.append({**line, "pairs": str(max(e.change.n for e in part.values()))})
    return Listing(
        f"audit-{where}",
        f"What each switch does to each method: {where} data",
        "Mean change when the switch is turned on, ± half of its 95 % interval (Student's t over "
        "draws), in brackets the mean without it. Pairs share their draw. ● marks what is more "
        "than chance even among so many effects (false discovery rate 5 %).",
        pd.DataFrame(lines),
        digits=0,
    )


def _shown(effect: Effect, is_clear: bool) -> str:
    change = effect.change
    if change.mean == change.std == 0:
        return f"none ({effect.without:.3f})"
    return f"{shown(change)} ({effect.without:.3f}){' ●' if is_clear else ''}"


def _summary(
    measured: Sequence[Effect], clear: Sequence[Effect], switches: Sequence[Switch]
) -> str:
    """What the switches of a discrepancy clearly do, or that they do nothing clear."""
    parts = []
    for whose in dict.fromkeys(switch.whose for switch in switches):
        found = [e for e in measured if e.switch in switches and e.switch.whose == whose]
        certain = [e for e in clear if e in found]
        if found:
            words = "; ".join(_in_words(e) for e in certain)
            parts.append(f"{whose} way: {words or f'no clear effect among {len(found)}'}")
    return ". ".join(parts)


def _in_words(effect: Effect) -> str:
    name = METHODS[effect.method].name
    return f"{name} {shown(effect.change)} {effect.measure} on {effect.where} data"


def what_moves(found: Sequence[Effect]) -> str:
    """Name the effects that stand out from chance, the largest first."""
    if not found:
        return "No switch was measured."
    clear = clear_effects(found)
    if not clear:
        return (
            f"None of {len(found)} measured effects is more than chance would make of so many at "
            "this number of draws (false discovery rate 5 %)."
        )
    by_size = sorted(clear, key=lambda e: -abs(e.change.mean))
    largest: dict[tuple[str, str], Effect] = {}
    for effect in by_size:
        largest.setdefault((effect.switch.title, effect.method), effect)
    named = {
        title: [_in_words(e) for e in largest.values() if e.switch.title == title]
        for title, _ in largest
    }
    return (
        f"More than chance would make of {len(found)} effects of its switches (false discovery "
        "rate 5 %) are, with the measure that each method changes most in, the largest first: "
        + "; ".join(f"{title} ({', '.join(words)})" for title, words in named.items())
        + "."
    )


def impossible_jaccards() -> list[tuple[str, str, float, float]]:
    """Printed Jaccard indices below what the printed F1 allows: method, k*, index, its least."""
    # For one solution it is F1/(2 − F1), which is convex: so the mean index is at least that of the
    # mean F1, here taken half a unit of the last digit lower.
    found = []
    for method, row in printed.F1.items():
        for column, f1 in row.items():
            index = printed.JACCARD[method][column].mean
            low = f1.mean - 0.0005
            least = low / (2 - low)
            if index + 0.0005 < least:
                found.append((method, column, index, least))
    return found


def _jaccard_audit() -> Listing:
    found = impossible_jaccards()
    total = sum(len(row) for row in printed.F1.values())
    return Listing(
        "audit-jaccard",
        "Printed Jaccard indices that the printed F1 rules out",
        f"{len(found)} of {total} entries of Table II are below the least mean Jaccard index that "
        "goes with the printed mean F1, rounding allowed for: the two halves of the table cannot "
        "stem from the same solutions.",
        pd.DataFrame(
            {"method": METHODS[m].name, "k*": k, "printed": index, "at least": least}
            for m, k, index, least in found
        ),
    )
