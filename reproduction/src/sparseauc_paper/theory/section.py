"""The theory's part of the report: what the theorems say, beside what data and runs do."""

import math
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from ..files import read_lines
from ..page import Element, Note, Section, Table, listing
from .measurements import (
    EASY,
    MANY_ROWS,
    PAPER,
    Measurement,
    Measurements,
    grouped,
)


class Slip(NamedTuple):
    """A place where the paper's theory does not follow, or does not say what it means."""

    where: str
    printed: str
    follows: str
    matters: str


# Each was checked with numbers; the tests of ``constants.py`` and ``empirical.py`` do
# so again.
SLIPS = tuple(Slip(*line) for line in read_lines("theory/slips.csv"))


def theory_section(
    ratios: Sequence[float], measured: Mapping[str, Measurements]
) -> Section:
    """Set the constants of Theorems 1 and 2 beside what is measured, if both tasks were."""
    elements: list[Element] = [
        Note(
            "Theorem 1 bounds the distance of SHT-AUC's iterates from any vector w* of k* columns "
            "by κ^t times the first distance, plus a tolerance. κ follows from the restricted "
            "condition number ρ: the greatest curvature of a block over the least of the loss, "
            "along vectors of 2k + k* columns. Theorem 2 computes both for Gaussian rows from n, "
            "d, k and the share r of positives. Below, the formulas as printed stand beside the "
            "same quantities measured on drawn tables."
        ),
        *_findings_in_print(ratios),
    ]
    if len(measured) > 1:
        paper, easy = measured["paper"], measured["easy"]
        elements += [
            *_findings(paper, easy),
            _listing_of_paper(paper),
            _listing_of_easy(easy),
        ]
    elements += [
        _listing_of_printed(ratios),
        listing(
            "theory-slips",
            "Where the theory's statement and proof part ways",
            "Found by reading the proofs and checking each step with numbers.",
            [slip._asdict() for slip in SLIPS],
            aside=True,
        ),
    ]
    return Section("theory", "Theory: Theorems 1 and 2", elements)


def _listing_of_printed(ratios: Sequence[float]) -> Table:
    rows = []
    for r in sorted(ratios):
        printed, many = PAPER.gaussian(r), PAPER.gaussian(r, MANY_ROWS)
        rows.append(
            {
                "r": r,
                "ρ⁻": printed.rho_minus,
                "a bound": "yes" if printed.is_bound else "no",
                "rows needed": math.ceil(printed.rows_needed),
                "ρ⁺": round(printed.rho_plus),
                "ρ⁻, n = 10⁸": many.rho_minus,
                "ρ, n = 10⁸": round(many.condition),
                "κ, n = 10⁸": many.kappa,
            }
        )
    return listing(
        "theory-printed",
        f"Theorem 2 as printed, for the paper's task: {PAPER}",
        "Rows needed: from there on ρ⁻ is a bound. The last three columns are what it would be "
        "with more rows than that.",
        rows,
    )


def _listing_of_paper(paper: Measurements) -> Table:
    return listing(
        "theory-paper-task",
        f"The paper's task, measured: {PAPER}",
        "≤ and ≥: on the worst columns found, so that the truth is as bad or worse; random: on "
        "columns drawn at random. Rates: by which a step came nearer to where the run ended, in "
        "its first descent, with the step 1/ρ⁺ and with that of the smallest r. Last: distance to "
        f"the best {PAPER.k_star} columns' vector at the end, as a share of the first.",
        _means(
            paper,
            {
                "ρ⁻ ≤": lambda m: m["rho_minus"][0],
                "ρ⁺ ≥": lambda m: m["rho_plus"][0],
                "ρ, random": lambda m: m["condition_on_random"],
                "ρ ≥": lambda m: m["condition"][0],
                "κ ≥": lambda m: m["kappa"][0],
                "rate of a step": lambda m: m["rate"],
                "rate, same step": lambda m: m["same_rate"],
                "left of ‖w − w*‖": lambda m: m["remaining"],
            },
        ),
    )


def _listing_of_easy(easy: Measurements) -> Table:
    return listing(
        "theory-easy-task",
        f"An easy task, measured: {EASY}",
        "Here all columns together are well conditioned, so that κ is known for certain. "
        "Tolerance and distance as shares of the first distance.",
        _means(
            easy,
            {
                "ρ ≥": lambda m: m["condition"][0],
                "ρ ≤": lambda m: m["condition"][1],
                "κ ≤": lambda m: m["kappa"][1],
                "rate of a step": lambda m: m["rate"],
                "promised tolerance": lambda m: m["promised"],
                "left of ‖w − w*‖": lambda m: m["remaining"],
            },
        ),
    )


def _findings_in_print(ratios: Sequence[float]) -> list[Note]:
    """Say what follows from the formulas as printed."""
    few, even = min(ratios), max(ratios)
    needed = [grouped(math.ceil(PAPER.gaussian(r).rows_needed)) for r in (even, few)]
    void = [r for r in ratios if not PAPER.gaussian(r).is_bound]
    at_its_word = [PAPER.gaussian(r).condition_as_printed for r in (few, even)]
    many = [PAPER.gaussian(r, MANY_ROWS).kappa for r in ratios]
    return [
        Note(
            f"Theorem 2's ρ⁻ is a bound from {needed[0]} rows on at r = {even:g} and from "
            f"{needed[1]} at r = {few:g}; the paper's tables have {grouped(PAPER.n)}. Its formula "
            f"squares a negative number at {len(void)} of the {len(ratios)} ratios shown, and "
            f"taken at its word gives a condition number of {at_its_word[0]:.0f} at r = {few:g} "
            f"and {at_its_word[1]:.0f} at r = {even:g}: balance would be worse.",
            "caution",
        ),
        Note(
            "Theorem 1's condition κ < 1 is not met by the printed constants of Theorem 2, however "
            f"many rows there are: with 10⁸ of them κ is {min(many):.2f} or more. Theorem 1 asks "
            "for k > (ρ² − ρ)k*, while the printed ρ is at least 64(2k + k*)·log(d)²/r > 100k, for "
            "every k. Theorem 1 itself does not depend on these constants.",
            "caution",
        ),
    ]


def _findings(paper: Measurements, easy: Measurements) -> list[Note]:
    """Say what the measurements show, and only what they show."""
    ratios = sorted(paper)
    few, even = ratios[0], ratios[-1]
    kappas = [_mean(paper[r], lambda m: m["kappa"][0]) for r in ratios]
    rates, same, remaining = (
        [_mean(paper[r], itemgetter(name)) for r in (few, even)]
        for name in ("rate", "same_rate", "remaining")
    )
    steps = [_mean(paper[r], lambda m: 1 / m["rho_plus"][0]) for r in (few, even)]
    certain = [_mean(measured, lambda m: m["kappa"][1]) for measured in easy.values()]
    slack = min(m["slack"] for measured in easy.values() for m in measured)
    on_paper = (
        f"Measured on the paper's tables, κ is at least {min(kappas):.2f} to {max(kappas):.2f} "
        "on the worst columns found"
    )
    if min(kappas) < 1:
        on_paper += (
            ". Where that is below 1, worse columns may exist, and nothing is certain."
        )
    else:
        on_paper += (
            ": Theorem 1's condition is not met there. The runs converge all the same."
        )
    return [
        Note(on_paper),
        Note(
            f"With many rows and few columns ({EASY}) the condition is met: κ is at most "
            f"{max(certain):.2f} for certain. The bound "
            f"{'holds in every step' if slack > 0 else 'does not hold in every step'}; a step "
            f"contracts by {_range(easy, 'rate')}, where κ is {min(certain):.2f} to "
            f"{max(certain):.2f}, and of the first distance {_range(easy, 'remaining')} is left, "
            f"where {_range(easy, 'promised')} is allowed."
        ),
        Note(
            f"What the theory gets right is its direction, through the step. Blocks with few "
            f"positives are curved more: the step 1/ρ⁺ is {steps[0]:.4f} at r = {few:g} and "
            f"{steps[1]:.4f} at r = {even:g}, and in the first descent a step multiplies the "
            f"distance to the end by {rates[0]:.3f} and {rates[1]:.3f}. With the same step for "
            f"both it is {same[0]:.3f} and {same[1]:.3f}: "
            + (
                "imbalance slows the descent by asking for shorter steps, hardly otherwise."
                if abs(same[0] - same[1]) < 0.25 * abs(rates[0] - rates[1])
                else "the step explains part of the difference only."
            ),
            "finding",
        ),
        Note(
            f"On the paper's task a run ends with {remaining[0]:.0%} of the first distance to the "
            f"best {PAPER.k_star} columns' vector at r = {few:g}, with {remaining[1]:.0%} at "
            f"r = {even:g}."
        ),
    ]


def _range(measured: Measurements, name: str) -> str:
    """Least and greatest of the means of every ratio."""
    means = [_mean(tables, itemgetter(name)) for tables in measured.values()]
    return f"{min(means):.2f} to {max(means):.2f}"


def _mean(
    measured: Sequence[Measurement], value: Callable[[Measurement], float]
) -> float:
    return float(np.mean([value(m) for m in measured]))


def _means(
    results: Measurements, columns: Mapping[str, Callable[[Measurement], float]]
) -> list[dict[str, float]]:
    """Means over the tables of every ratio."""
    return [
        {"r": r, "tables": len(measured)}
        | {label: _mean(measured, value) for label, value in columns.items()}
        for r, measured in sorted(results.items())
    ]
