"""Where paper and published programs disagree, and what each slip is worth."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan

import numpy as np

from sparseauc.tabular.report.elements import Element, Listing, Note

from . import plan, printed
from .methods import METHODS
from .plan import Measured, Request
from .protocols import CORRECTED, SWITCHES
from .summaries import Mean, Outcomes, Sample, mean_of, real_results, synthetic_auc
from .tasks import Cell

# Changes smaller than this are shown as zero.
_SEEN = 5e-4


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
        "Figure 1 shows both scales; the switch lets the step adapt",
    ),
    Discrepancy(
        3, "step 1/ρ⁺", "a constant that is never tuned and ends far from converged",
        "both protocols keep the published constant; the switch lets the step adapt",
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
        7, "pseudo-code of the selection with misprints", "the textbook form of it",
        "any correct selection gives the same k entries",
    ),
    Discrepancy(8, "HSG-HT samples at random and its batches keep growing",
                "rows in order, and growth begins again in every epoch"),
    Discrepancy(
        9, "SPAM, whose authors return the mean of its iterates",
        "the last iterate; with both penalties only negative entries feel the L2 one",
        "the one-sided shrinkage is not copied",
    ),
    Discrepancy(10, "rows drawn at random", "the same order in every epoch"),
    Discrepancy(
        11, "SPAM's step from the same grid as SOLAM's, 1 to 100", "powers of ten from 1e-5 to 100",
        "the programs' grid in both protocols",
    ),
    Discrepancy(
        12, "1, 2, 4, 8 or 10 blocks", "so while tuning; 1, 2, 5, 10 or 12 in the final fit"
    ),
    Discrepancy(
        13, "five-fold cross-validation, trials not counted",
        "five independent random splits in each of five trials, classes not balanced",
    ),
    Discrepancy(
        14, "no scaling mentioned",
        "synthetic columns z-scored over all rows, test rows too; rows to unit length, which is "
        "all the genes get",
    ),
    Discrepancy(
        15, "entries not above 0.001 are dropped to count columns",
        "those below 0.001 are dropped before the test AUC too, but not while tuning",
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
    Discrepancy(21, "29 and 32 related genes", "38 and 37 columns, one marker without any"),
    Discrepancy(
        22, "an elastic net in Figure 2", "leave it out of their tables and of that figure",
        "it is in Figure 2 here",
    ),
    Discrepancy(
        23, "AUC in Figure 1", "training AUC, low by 1/n₋", "training AUC, not low",
    ),
    Discrepancy(
        24, "the convex methods rank worse",
        "some of their models rank well and are scored 0.5, all coefficients being below 0.001",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Effect:
    """What a switch does to a method: the mean change of a number when it is turned on."""

    switch: str
    where: str
    method: str
    measure: str
    change: Mean


def effects(request: Request, outcomes: Outcomes) -> list[Effect]:
    """Measure every switch on every method that it touches, over the corrected protocol."""
    found = []
    for measured in plan.audit_cells(request):
        methods = dict.fromkeys(method for method, *_ in measured.pairs)
        for method in methods:
            pairs = {key: pair for key, pair in measured.pairs.items() if key[0] == method}
            read = _synthetic_change if measured.where == "synthetic" else _real_change
            found += [
                Effect(measured.switch.name, where, method, measure, change)
                for where, measure, change in read(measured, pairs, outcomes)
            ]
    return found


Pairs = Mapping[plan.SyntheticKey, tuple[Cell, Cell]]
Change = tuple[str, str, Mean]


def _synthetic_change(measured: Measured, pairs: Pairs, outcomes: Outcomes) -> list[Change]:
    changes: Sample = {}
    for (_, _, trial, _), (without, with_it) in pairs.items():
        results = [outcomes[c].result if c in outcomes else None for c in (without, with_it)]
        change = nan
        if results[0] is not None and results[1] is not None:
            change = synthetic_auc(measured.protocol, results[1])
            change -= synthetic_auc(CORRECTED, results[0])
        changes.setdefault(trial, []).append(change)
    return [("synthetic", "test AUC", mean_of(changes))]


def _real_change(measured: Measured, pairs: Pairs, outcomes: Outcomes) -> list[Change]:
    changes = []
    (method,) = {key[0] for key in pairs}
    for dataset in dict.fromkeys(key[1] for key in pairs):
        part = {key: pair for key, pair in pairs.items() if key[1] == dataset}
        without, with_it = (
            real_results({key: pair[i] for key, pair in part.items()}, outcomes, protocol)
            for i, protocol in enumerate((CORRECTED, measured.protocol))
        )
        if measured.switch.name == "published_markers":
            shares = [_by_trial(results.share.values()) for results in (without, with_it)]
            changes.append((dataset, "share of markers", mean_of(_differences(*shares))))
            continue
        before, after = (results.tuned[method, dataset] for results in (without, with_it))
        changes.append((dataset, "test AUC", mean_of(_differences(before, after))))
    return changes


def _by_trial(samples: Iterable[Sample]) -> Sample:
    """Put the values of several samples together, trial by trial."""
    together: Sample = {}
    for sample in samples:
        for trial, values in sample.items():
            together.setdefault(trial, []).extend(values)
    return together


def _differences(before: Sample, after: Sample) -> Sample:
    """Value by value; where a cell failed the values of its trial do not pair, and are left out."""
    return {
        trial: [b - a for a, b in zip(values, after[trial], strict=True)]
        for trial, values in before.items()
        if len(after.get(trial, [])) == len(values)
    }


def audit_elements(request: Request, outcomes: Outcomes) -> list[Element]:
    """Make the audit: all discrepancies, and for those with a switch what it is worth."""
    import pandas as pd

    measured = effects(request, outcomes)
    lines = []
    for discrepancy in DISCREPANCIES:
        switches = [s for s in SWITCHES if discrepancy.number in s.discrepancies]
        lines.append(
            {
                "no.": discrepancy.number,
                "discrepancy": f"Paper: {discrepancy.paper}. Programs: {discrepancy.programs}.",
                "switch": ", ".join(s.name for s in switches) or "none",
                "worth": "; ".join(
                    filter(None, [_worth(measured, {s.name for s in switches}), discrepancy.here])
                )
                or "not measured",
            }
        )
    preset = request.preset
    listing = Listing(
        "audit",
        "Where paper and programs disagree",
        "Worth: change of the mean when the switch is turned on over the corrected protocol, "
        "averaged over the methods it touches, ± one standard error. Measured on "
        f"k* = {', '.join(map(str, preset.audit_sparsities))} ({preset.audit_trials} × "
        f"{preset.audit_folds} test parts) and on {' and '.join(preset.audit_datasets)} "
        f"({preset.audit_real_trials} × 5). A change within two standard errors may be chance.",
        pd.DataFrame(lines),
        digits=0,
    )
    detail = pd.DataFrame(
        {
            "switch": e.switch,
            "when on": next(s.description for s in SWITCHES if s.name == e.switch),
            "data": e.where,
            "method": METHODS[e.method].name,
            "measure": e.measure,
            "change": e.change.mean,
            "se": e.change.se,
            "pairs": str(e.change.n),
        }
        for e in measured
    )
    elements: list[Element] = [Note(_what_moves(measured), "finding"), listing]
    if len(detail):
        elements.append(
            Listing(
                "audit-methods",
                "What each switch does to each method",
                "Change when the switch is turned on over the corrected protocol, each pair on the "
                "same draw and test part.",
                detail,
                digits=3,
            )
        )
    elements.append(_jaccard_audit())
    return elements


def pooled(found: Sequence[Effect]) -> Mean:
    """Mean change over methods, each counting the same; its error as if they were independent."""
    good = [e.change for e in found if not isnan(e.change.mean)]
    if not good:
        return Mean(nan, nan, nan, 0, 0)
    errors = np.array([c.se for c in good])
    return Mean(
        float(np.mean([c.mean for c in good])),
        float(np.sqrt((errors**2).sum())) / len(good),
        nan,
        sum(c.n for c in good),
        sum(c.failed for c in good),
    )


def _signed(value: float) -> str:
    return f"{round(value, 3) + 0.0:+.3f}".replace("-", "−")


def _worth(measured: Sequence[Effect], switches: Collection[str]) -> str:
    found = [e for e in measured if e.switch in switches]
    parts = []
    for switch, where, measure in dict.fromkeys((e.switch, e.where, e.measure) for e in found):
        group = [e for e in found if (e.switch, e.where, e.measure) == (switch, where, measure)]
        change = pooled(group)
        if change.n:
            name = f"{switch}, {where}" if len(switches) > 1 else where
            parts.append(f"{name}: {_signed(change.mean)} ± {change.se:.3f} {measure}")
    return "; ".join(parts)


def _what_moves(found: Sequence[Effect]) -> str:
    """Name the switches whose effect stands out from chance, the largest first."""
    groups = dict.fromkeys((e.switch, e.where, e.measure) for e in found)
    clear, unclear = [], 0
    for switch, where, measure in groups:
        change = pooled(
            [e for e in found if (e.switch, e.where, e.measure) == (switch, where, measure)]
        )
        if change.n and abs(change.mean) > max(2 * change.se, _SEEN):
            clear.append(
                (abs(change.mean), f"{switch} ({where}, {_signed(change.mean)} {measure})")
            )
        else:
            unclear += 1
    if not clear:
        return (
            f"None of {unclear} measured effects is larger than two of its standard errors at this "
            "number of trials."
        )
    named = ", ".join(text for _, text in sorted(clear, reverse=True))
    return (
        f"Larger than two of their standard errors: {named}. Not so: {unclear} other effects. One "
        "effect in twenty would be so by chance."
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
