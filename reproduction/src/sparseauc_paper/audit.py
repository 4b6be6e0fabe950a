"""Where paper and published programs disagree, and what each slip is worth."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scipy.stats import false_discovery_control
from scipy.stats import t as student

from . import plan, printed
from .estimates import (
    FEWEST,
    Mean,
    Sample,
    Values,
    difference_of,
    draws_of,
    mean_of,
    shown,
)
from .files import read_lines
from .methods import METHODS
from .page import Element, Table, listing
from .plan import SCALINGS, Measured
from .protocols import CORRECTED, SWITCHES, Protocol, Switch
from .results import Found, Results, found_by, read_genes, simulated
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
    Discrepancy(int(number), *texts)
    for number, *texts in read_lines("discrepancies.csv")
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

    def __str__(self) -> str:
        """Method, change, measure and data."""
        name = METHODS[self.method].name
        return f"{name} {shown(self.change)} {self.measure} on {self.where} data"


def clear_effects(found: Sequence[Effect]) -> list[Effect]:
    """Effects that are more than chance; of those named, one in twenty is so by accident."""
    if not found:
        return []
    adjusted = false_discovery_control([effect.p_value for effect in found])
    clear = [effect for effect, p in zip(found, adjusted, strict=True) if p <= 0.05]
    return sorted(clear, key=lambda effect: effect.p_value)


def effects(results: Results) -> list[Effect]:
    """Measure every switch on every method that it touches, over the corrected protocol."""
    found = []
    for measured in plan.audit_tasks(results.request):
        arms = [
            found_by(
                {key: pair[place] for key, pair in measured.pairs.items()},
                results.outcomes,
            )
            for place in (0, 1)
        ]
        both = arms[0].keys() & arms[1].keys()
        before, after = (
            {key: arm[key] for key in measured.pairs if key in both} for arm in arms
        )
        read = _simulated if measured.where == "synthetic" else _on_genes
        numbers = [
            read(arm, protocol, measured)
            for arm, protocol in (
                (before, measured.without),
                (after, measured.protocol),
            )
        ]
        for place, sample in numbers[0].items():
            change = mean_of(difference_of(numbers[1][place], sample))
            if change.n:
                found.append(
                    Effect(measured.switch, *place, change, mean_of(sample).mean)
                )
    return found


# Data, method, and measure.
Place = tuple[str, str, str]


def _simulated(found: Found, protocol: Protocol, _: Measured) -> dict[Place, Sample]:
    """AUC, F1 and Jaccard index; each pair is on the same draw and, where it can, test part."""
    return {
        ("synthetic", method, label): sample
        for measure, label in MEASURES.items()
        for method, sample in _by_method(simulated(found, protocol, measure)).items()
    }


def _by_method(values: Values) -> dict[str, Sample]:
    return {
        method: draws_of(values, method)
        for method in dict.fromkeys(method for method, _ in values)
    }


def _on_genes(
    found: Found, protocol: Protocol, measured: Measured
) -> dict[Place, Sample]:
    """AUC; or the share of markers at every k, where only their reading changes."""
    genes = read_genes(found, protocol)
    if measured.switch.name != "published_markers":
        label = MEASURES["auc"]
        return {
            (name, method, label): sample
            for (method, name), sample in genes.tuned.items()
        }
    shares: dict[Place, Sample] = {}
    for number, ((method, name, _), sample) in enumerate(genes.precision.items()):
        together = shares.setdefault((name, method, "share of markers"), {})
        together |= {
            (trial, part + N_FOLDS * number): v for (trial, part), v in sample.items()
        }
    return shares


def audit_elements(results: Results, measured: Sequence[Effect]) -> list[Element]:
    """Make the audit: all discrepancies, and for those with a switch what it does."""
    preset = results.request.preset
    ks = ", ".join(map(str, preset.audit_sparsities))
    clear = clear_effects(measured)
    lines = []
    for discrepancy in DISCREPANCIES:
        switches = [s for s in SWITCHES if discrepancy.number in s.discrepancies]
        words = [_summary(measured, clear, switches), discrepancy.here]
        lines.append(
            {
                "no.": discrepancy.number,
                "the paper": discrepancy.paper,
                "its programs": discrepancy.programs,
                "here": "; ".join(filter(None, words)) or "not measured",
            }
        )
    elements: list[Element] = [
        listing(
            "audit",
            "Where paper and programs disagree",
            "Where a switch stands for it, the last column tells what the switch clearly does, to "
            "which method: the programs' way, or the text's where neither protocol follows it, "
            "against the corrected protocol, one at a time: they do not add up to the difference "
            f"between the protocols. Simulation: k* = {ks}, {preset.audit_trials} draws each; "
            f"genes: {preset.audit_real_trials} trials. Details are in the next tables.",
            lines,
            aside=True,
        )
    ]
    for where in dict.fromkeys(e.where for e in measured):
        elements.append(
            _listing_of_effects([e for e in measured if e.where == where], clear)
        )
    return [*elements, _jaccard_audit()]


def _listing_of_effects(found: Sequence[Effect], clear: Collection[Effect]) -> Table:
    """One line for each switch and method, a column for each measure."""
    where = found[0].where
    lines = []
    for switch, method in dict.fromkeys((e.switch, e.method) for e in found):
        part = {e.measure: e for e in found if (e.switch, e.method) == (switch, method)}
        line = {
            "switch": switch.title,
            "whose way": switch.whose,
            "method": METHODS[method].name,
        }
        for measure in dict.fromkeys(e.measure for e in found):
            effect = part.get(measure)
            line[measure] = ""
            if effect is not None:
                change = effect.change
                moved = "none" if change.mean == change.std == 0 else shown(change)
                line[measure] = f"{moved} ({effect.without:.3f})" + " ●" * (
                    effect in clear
                )
        lines.append({**line, "pairs": str(max(e.change.n for e in part.values()))})
    return listing(
        f"audit-{where}",
        f"What each switch does to each method: {where} data",
        "Mean change when the switch is turned on, ± half of its 95 % interval (Student's t over "
        "draws), in brackets the mean without it. Pairs share their draw. ● marks what is more "
        "than chance even among so many effects (false discovery rate 5 %).",
        lines,
        aside=True,
    )


def _summary(
    measured: Sequence[Effect], clear: Sequence[Effect], switches: Sequence[Switch]
) -> str:
    """What the switches of a discrepancy clearly do, or that they do nothing clear."""
    parts = []
    for whose in dict.fromkeys(switch.whose for switch in switches):
        found = [
            e for e in measured if e.switch in switches and e.switch.whose == whose
        ]
        if found:
            words = "; ".join(str(e) for e in clear if e in found)
            parts.append(
                f"{whose} way: {words or f'no clear effect among {len(found)}'}"
            )
    return ". ".join(parts)


def what_moves(found: Sequence[Effect]) -> str:
    """Name the effects that stand out from chance, the largest first."""
    if not found:
        return "No switch was measured."
    named: dict[str, dict[str, Effect]] = {}
    for effect in sorted(clear_effects(found), key=lambda e: -abs(e.change.mean)):
        named.setdefault(effect.switch.title, {}).setdefault(effect.method, effect)
    if not named:
        return (
            f"None of {len(found)} measured effects is more than chance would make of so many at "
            "this number of draws (false discovery rate 5 %)."
        )
    parts = [
        f"{title} ({', '.join(map(str, of.values()))})" for title, of in named.items()
    ]
    return (
        f"More than chance would make of {len(found)} effects of its switches (false discovery "
        "rate 5 %) are, with the measure that each method changes most in, the largest first: "
        f"{'; '.join(parts)}."
    )


def impossible_jaccards() -> list[tuple[str, str, float, float]]:
    """Printed Jaccard indices below what the printed F1 allows: method, k*, index, its least."""
    # For one solution it is F1/(2 − F1), which is convex: so the mean index is at least
    # that of the mean F1, here taken half a unit of the last digit lower.
    found = []
    for method, row in printed.F1.items():
        for column, f1 in row.items():
            index = printed.JACCARD[method][column].mean
            low = f1.mean - 0.0005
            least = low / (2 - low)
            if index + 0.0005 < least:
                found.append((method, column, index, least))
    return found


def _jaccard_audit() -> Table:
    found = impossible_jaccards()
    total = sum(len(row) for row in printed.F1.values())
    return listing(
        "audit-jaccard",
        "Printed Jaccard indices that the printed F1 rules out",
        f"{len(found)} of {total} entries of Table II are below the least mean Jaccard index that "
        "goes with the printed mean F1, rounding allowed for: the two halves of the table cannot "
        "stem from the same solutions.",
        (
            {"method": METHODS[m].name, "k*": k, "printed": index, "at least": least}
            for m, k, index, least in found
        ),
    )


# --------------------------------------------- scaling of the columns and start of the
# intercept

# By scaling, start of the intercept and method.
Scaled = Mapping[tuple[str, str, str], Sample]


def _scaled(results: Results) -> Scaled:
    """F1 of every method for every scaling and start of the intercept."""
    return {
        (*place, method): sample
        for place, tasks in plan.scaling_tasks(results.request).items()
        for method, sample in _by_method(
            simulated(found_by(tasks, results.outcomes), CORRECTED, "f1")
        ).items()
    }


def about_scaling(results: Results) -> list[str]:
    """Say what the gap between SHT-AUC and StoIHT is made of; nothing without results."""
    found = _scaled(results)
    ours, at_zero, at_odds = (
        [found.get((scaling, start, method), {}) for scaling in SCALINGS]
        for method, start in (
            ("sht-auc", ""),
            ("sto-iht", ""),
            ("sto-iht", "log_odds_intercept"),
        )
    )
    if not all([*ours, *at_zero, *at_odds]):
        return []

    def numbers(samples: Iterable[Sample]) -> str:
        return ", ".join(f"{mean_of(sample).mean:.3f}" for sample in samples)

    # Columns are not scaled in the first, and by all rows in the second.
    plain = mean_of(difference_of(ours[0], at_zero[0]))
    left = mean_of(difference_of(ours[0], at_odds[0]))
    closed = mean_of(difference_of(at_odds[0], at_zero[0]))
    moved = mean_of(difference_of(at_zero[1], at_zero[0]))
    text = (
        "F1 with columns not z-scored, z-scored by all rows (the programs), and by training rows: "
        f"SHT-AUC {numbers(ours)}; StoIHT with an intercept that starts at 0 {numbers(at_zero)}; "
        f"StoIHT with one that starts at the log odds of the classes {numbers(at_odds)} "
        f"({plain.draws} draws). The programs' scaling changes StoIHT by {shown(moved)} against "
        f"none. Without z-scoring SHT-AUC is {shown(plain)} ahead; the start of the intercept "
        f"changes StoIHT by {shown(closed)}, and {shown(left)} is left. "
    )
    if closed.mean > closed.half_width() and left.mean < plain.mean / 2:
        text += (
            "So most of the gap is that of an intercept that starts at 0 on columns that are not "
            "centred. The squared pairwise loss has no intercept and needs none, which is a merit "
            "of the paper's method."
        )
    else:
        text += "So the start of the intercept does not explain the gap."
    return [text]
