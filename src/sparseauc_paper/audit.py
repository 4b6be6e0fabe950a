"""Where paper and published programs disagree, and what each slip is worth."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from scipy.stats import t as student

from sparseauc.tabular.report.elements import Element, Listing, Note

from . import plan, printed
from .methods import METHODS
from .plan import Measured, Request
from .protocols import SWITCHES, Switch
from .real import N_FOLDS
from .summaries import (
    FEWEST,
    Mean,
    Outcomes,
    Sample,
    difference_of,
    draws_of,
    mean_of,
    real_results,
    shown,
    synthetic_measure,
    synthetic_values,
)
from .tasks import Task

# Smaller changes matter to nobody, however certain they are.
_SEEN = 2e-3


@dataclass(frozen=True)
class Discrepancy:
    """One place where what is printed and what was run differ.

    Attributes
    ----------
    number : int
    paper, programs : str
        What either says or does.
    here : str
        How it is dealt with where no switch stands for it.
    """

    number: int
    paper: str
    programs: str
    here: str = ""


DISCREPANCIES = (
    Discrepancy(1, "keeps the k largest entries", "keep k − 1: the k-th largest goes too"),
    Discrepancy(
        2, "steps along the gradient of the block loss",
        "steps along r(1 − r) times it, 5.3 times less at r = 0.05 than at r = 0.5",
        "Figure 1 shows both scales; two switches change the step in the tables",
    ),
    Discrepancy(
        3, "step 1/ρ⁺", "a constant that is never tuned and ends far from converged",
        "both protocols keep the published constant; two switches change it",
    ),
    Discrepancy(4, "no ridge", "a ridge on SHT-AUC while it is tuned, none in the final fit"),
    Discrepancy(
        5, "the support is searched in every step",
        "with one block of all rows the first step settles it: the largest mean differences",
        "a property of the step, no slip to switch",
    ),
    Discrepancy(
        6, "the number of rows is divisible by that of a block",
        "rows left over join the last block, which is drawn no more often for it",
        "blocks here differ by one row at most, in both protocols",
    ),
    Discrepancy(
        7, "Algorithm 2, the selection, has five slips: ln(N) for ln(n), n − 1 for n − i, a "
        "reversed comparison, no exchange of the ends where the last entry is smaller, and a "
        "position counted from 0",
        "the textbook form of it",
        "any correct selection gives the same k entries",
    ),
    Discrepancy(
        8, "does not say how HSG-HT draws rows; its authors sample at random and let batches grow",
        "rows in order, and growth begins again in every epoch",
    ),
    Discrepancy(
        9, "does not say what SPAM returns; its authors return the mean of the iterates",
        "the last iterate; with both penalties only negative entries feel the L2 one",
        "the one-sided shrinkage is not copied",
    ),
    Discrepancy(
        10, "does not say in which order the baselines see rows; their authors draw them at random",
        "the same order in every epoch",
    ),
    Discrepancy(
        11, "SPAM's step from the same grid as SOLAM's, 1 to 100", "powers of ten from 1e-5 to 100",
        "the programs' grid in both protocols",
    ),
    Discrepancy(
        12, "1, 2, 4, 8 or 10 blocks", "so while tuning; 1, 2, 5, 10 or 12 in the final fit"
    ),
    Discrepancy(
        13, "does not say how the synthetic data are split and tuned, nor how often",
        "five independent random splits in each of five trials, classes not balanced",
    ),
    Discrepancy(
        14, "no scaling mentioned",
        "synthetic columns z-scored over all rows, test rows too; rows to unit length, which is "
        "all the genes get",
    ),
    Discrepancy(
        15, "entries not larger than 0.001 are set to 0, in a footnote to the AUC of Table I",
        "those below 0.001 are set to 0 before the test AUC and the F1, but not while tuning",
        "corrected: the AUC of all entries, and the k* largest as the columns",
    ),
    Discrepancy(
        16, "HSG-HT's parameters not given",
        "step 3, growth 1.033; its first batch is not tuned on the genes",
    ),
    Discrepancy(
        17, "prints a Jaccard index", "compute none", "the table below counts what cannot be"
    ),
    Discrepancy(
        18, "the formula divides the markers found by all markers", "divide by the columns chosen",
        "Figure 4 follows programs and text",
    ),
    Discrepancy(
        19, "five-fold cross-validation in 20 trials on the genes",
        "50 rows against the rest, tuned on one fold that overlaps the test rows; the best k by "
        "test AUC, for the hard-thresholding methods alone",
    ),
    Discrepancy(
        20, "other ranges of penalty and radius on the genes", "the grids of the synthetic data",
        "the programs' grids in both protocols",
    ),
    Discrepancy(
        21, "29 and 32 related genes", "38 and 37 columns, one marker without any",
        "39 and 48 columns: every probe whose description names the gene",
    ),
    Discrepancy(
        22, "an elastic net in Figure 2 and on the genes", "leave it out of tables and figure",
        "it is in Figure 2 and in Table III here",
    ),
    Discrepancy(
        23, "AUC in Figure 1", "training AUC, low by 1/n₋", "training AUC, not low",
    ),
    Discrepancy(
        24, "the convex methods rank worse",
        "some of their models rank well and are scored 0.5, all coefficients being below 0.001",
    ),
    Discrepancy(
        25, "no stop rule",
        "SPAM and SOLAM end when the last step of an epoch moves the answer by 1e-4 of its length "
        "or less (1e-6 on the genes); FSAUC's rule never fires while tuning, the others' never",
    ),
    Discrepancy(
        26, "SOLAM as its authors define it, with |a|, |b| ≤ R", "a, b ≤ R only",
    ),
    Discrepancy(
        27, "equation 2 counts a tie as a pair ranked wrongly", "count it as half a pair",
        "half a pair, in both protocols",
    ),
    Discrepancy(
        28, "six baselines in one place, seven in another", "six in tables, eight in all",
        "six in Tables I and II; the elastic net is the seventh",
    ),
    Discrepancy(
        29, "r = 0.355 for colon, whose positives are said to be the 40 tumours of 62 (r = 0.645)",
        "tumours are the positives", "tumours are the positives",
    ),
    Discrepancy(
        30, "Table I has 0.820 twice at k* = 80, and one of them bold", "print what they compute",
        "both are marked as best",
    ),
    Discrepancy(
        31, "k on the genes from {1, 5, 10, …} in one sentence and from 5 in the next",
        "from 1", "from 1",
    ),
    Discrepancy(
        32, "the constants c₁, c₂ of a bound are called c₄, c₅ further down", "none",
        "a misprint without effect",
    ),
)  # fmt: skip


MEASURES = {"auc": "test AUC", "f1": "F1", "jaccard": "Jaccard index"}


@dataclass(frozen=True)
class Effect:
    """What a switch does to a method: the mean change of a number when it is turned on.

    ``without`` is the mean of that number while it is off.
    """

    switch: Switch
    where: str
    method: str
    measure: str
    change: Mean
    without: float

    @property
    def p_value(self) -> float:
        """Probability of so large a change by chance; 1 from fewer than ten values, or if tiny."""
        change = self.change
        if change.n < FEWEST or abs(change.mean) < _SEEN or not change.se > 0:
            return 1.0
        return float(2 * student.sf(abs(change.mean) / change.se, change.df))


def clear_effects(found: Sequence[Effect]) -> list[Effect]:
    """Effects that are more than chance; of those named, one in twenty is so by accident.

    Benjamini and Hochberg: the most of the smallest p-values of which the i-th of n is below
    0.05·i/n.
    """
    ranked = sorted(found, key=lambda effect: effect.p_value)
    kept = [
        place
        for place, effect in enumerate(ranked, start=1)
        if effect.p_value <= 0.05 * place / len(ranked)
    ]
    return ranked[: max(kept, default=0)]


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
    import pandas as pd

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
        "Where a switch turns the programs' way on and off, the last column tells what it does to "
        "which method. Details are in the next tables.",
        pd.DataFrame(lines),
        digits=0,
    )
    pieces = [
        f"k* = {', '.join(map(str, preset.audit_sparsities))} ({preset.audit_trials} draws each, "
        f"{preset.audit_folds} test parts of each)"
    ]
    pieces += [f"{name} ({preset.audit_real_trials} trials)" for name in preset.audit_datasets]
    elements: list[Element] = [Note(_what_moves(measured, clear), "finding"), listing]
    turned = dict.fromkeys(e.switch for e in measured)
    if turned:
        elements.append(
            Listing(
                "audit-switches",
                "The switches",
                f"Each is turned on alone, over the corrected protocol, and measured on "
                f"{' and '.join(pieces)}.",
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
    import pandas as pd

    where = found[0].where
    lines = []
    for switch, method in dict.fromkeys((e.switch, e.method) for e in found):
        part = {e.measure: e for e in found if (e.switch, e.method) == (switch, method)}
        line = {"switch": switch.title, "method": METHODS[method].name}
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
    found = [e for e in measured if e.switch in switches]
    if not found:
        return ""
    certain = [e for e in clear if e.switch in switches]
    if not certain:
        return f"no clear effect among {len(found)}"
    return "; ".join(_in_words(e) for e in certain)


def _in_words(effect: Effect) -> str:
    name = METHODS[effect.method].name
    return f"{name} {shown(effect.change)} {effect.measure} ({effect.where})"


def _what_moves(found: Sequence[Effect], clear: Sequence[Effect]) -> str:
    """Name the effects that stand out from chance, the largest first."""
    if not found:
        return "No switch was measured."
    if not clear:
        return (
            f"None of {len(found)} measured effects is more than chance would make of so many at "
            "this number of draws (false discovery rate 5 %)."
        )
    named = "; ".join(
        f"{effect.switch.title}: {_in_words(effect)}"
        for effect in sorted(clear, key=lambda e: -abs(e.change.mean))
    )
    return (
        f"More than chance would make of {len(found)} effects (false discovery rate 5 %), the "
        f"largest first: {named}."
    )


def impossible_jaccards() -> list[tuple[str, str, float, float]]:
    """Printed Jaccard indices below what the printed F1 allows: method, k*, index, its least.

    For one solution it is F1/(2 − F1), which is convex: so the mean index is at least that of the
    mean F1, here taken half a unit of the last digit lower.
    """
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
    import pandas as pd

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
