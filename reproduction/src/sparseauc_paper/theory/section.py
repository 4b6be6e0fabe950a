"""The theory's part of the report: what the theorems say, beside what data and runs do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from ..files import read_lines
from ..page import Element, Note, Section, Table, listing
from .measurements import (
    EASY,
    MANY_ROWS,
    PAIRS,
    PAPER,
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
        paper, easy = (_means(measured[name]) for name in ("paper", "easy"))
        slack = min(m["slack"] for tables in measured["easy"].values() for m in tables)
        elements += [
            *_findings(paper, easy, slack),
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


def _means(measured: Measurements) -> pd.DataFrame:
    """Means over the tables of every ratio; of pairs, what was found and what is certain."""
    lines = []
    for r, tables in sorted(measured.items()):
        for table in tables:
            line: dict[str, float] = {"r": r}
            for name, value in table.items():
                if name in PAIRS:
                    line[f"{name} found"], line[f"{name} certain"] = value
                else:
                    line[name] = value
            line["step"] = 1 / line["rho_plus found"]
            lines.append(line)
    groups = pd.DataFrame(lines).groupby("r")
    means: pd.DataFrame = groups.agg(lambda values: values.mean(skipna=False))
    means.insert(0, "tables", groups.size())
    return means.reset_index()


def _lines(means: pd.DataFrame, names: Mapping[str, str]) -> Any:
    """Columns of the means under other names."""
    chosen = means[["r", "tables", *names]].rename(columns=names)
    return chosen.to_dict("records")


def _listing_of_paper(paper: pd.DataFrame) -> Table:
    return listing(
        "theory-paper-task",
        f"The paper's task, measured: {PAPER}",
        "≤ and ≥: on the worst columns found, so that the truth is as bad or worse; random: on "
        "columns drawn at random. Rates: by which a step came nearer to where the run ended, in "
        "its first descent, with the step 1/ρ⁺ and with that of the smallest r. Last: distance to "
        f"the best {PAPER.k_star} columns' vector at the end, as a share of the first.",
        _lines(
            paper,
            {
                "rho_minus found": "ρ⁻ ≤",
                "rho_plus found": "ρ⁺ ≥",
                "condition_on_random": "ρ, random",
                "condition found": "ρ ≥",
                "kappa found": "κ ≥",
                "rate": "rate of a step",
                "same_rate": "rate, same step",
                "remaining": "left of ‖w − w*‖",
            },
        ),
    )


def _listing_of_easy(easy: pd.DataFrame) -> Table:
    return listing(
        "theory-easy-task",
        f"An easy task, measured: {EASY}",
        "Here all columns together are well conditioned, so that κ is known for certain. "
        "Tolerance and distance as shares of the first distance.",
        _lines(
            easy,
            {
                "condition found": "ρ ≥",
                "condition certain": "ρ ≤",
                "kappa certain": "κ ≤",
                "rate": "rate of a step",
                "promised": "promised tolerance",
                "remaining": "left of ‖w − w*‖",
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


def _findings(paper: pd.DataFrame, easy: pd.DataFrame, slack: float) -> list[Note]:
    """Say what the measurements show, and only what they show."""
    few = paper.iloc[0]
    even = paper.iloc[-1]
    kappas = paper["kappa found"]
    certain = easy["kappa certain"]
    slower = abs(few["rate"] - even["rate"])
    same = abs(few["same_rate"] - even["same_rate"])
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
            f"contracts by {_range(easy['rate'])}, where κ is {min(certain):.2f} to "
            f"{max(certain):.2f}, and of the first distance {_range(easy['remaining'])} is left, "
            f"where {_range(easy['promised'])} is allowed."
        ),
        Note(
            f"What the theory gets right is its direction, through the step. Blocks with few "
            f"positives are curved more: the step 1/ρ⁺ is {few['step']:.4f} at r = {few['r']:g} "
            f"and {even['step']:.4f} at r = {even['r']:g}, and in the first descent a step "
            f"multiplies the distance to the end by {few['rate']:.3f} and {even['rate']:.3f}. With "
            f"the same step for both it is {few['same_rate']:.3f} and {even['same_rate']:.3f}: "
            + (
                "imbalance slows the descent by asking for shorter steps, hardly otherwise."
                if same < 0.25 * slower
                else "the step explains part of the difference only."
            ),
            "finding",
        ),
        Note(
            f"On the paper's task a run ends with {few['remaining']:.0%} of the first distance to "
            f"the best {PAPER.k_star} columns' vector at r = {few['r']:g}, with "
            f"{even['remaining']:.0%} at r = {even['r']:g}."
        ),
    ]


def _range(means: pd.Series[float]) -> str:
    return f"{means.min():.2f} to {means.max():.2f}"
