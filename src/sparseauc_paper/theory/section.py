"""The theory's part of the report: what the theorems promise, beside what data and runs do."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from sparseauc.moments.base import Array
from sparseauc.tabular.report.elements import Figure, Listing, Note, Panel, Section, Series

from .constants import rows_needed
from .measurements import EASY, PAPER, Measurement, Measurements, grouped, measure_ratios
from .slips import SLIPS

if TYPE_CHECKING:
    import pandas as pd

# Shares of positives whose runs are drawn: those of the paper's Figure 1.
_DRAWN = (0.05, 0.25, 0.5)
_QUICK_RATIOS = (0.05, 0.1, 0.25, 0.5)
_RATIOS = tuple(np.arange(1, 11) / 20)
# Epochs drawn of a run.
_SHOWN_EPOCHS = 20
# Enough rows for Theorem 2's ρ⁻ to be a bound at every ratio shown.
_MANY = 1e8

_SILENT = "1: Theorem 1 is silent above"
_FOUND = "measured, worst columns found"
_RANDOM = "measured, random columns"
_CERTAIN = "measured, certain"
_RATE = "contraction of a step"


def theory_section(seed: int = 0, quick: bool = True) -> Section:
    """Set the constants of Theorems 1 and 2 beside what is measured on data and in runs.

    Quick is one table for each of four ratios, some seconds; otherwise five for each of ten.
    """
    ratios = _QUICK_RATIOS if quick else _RATIOS
    n_tables = 1 if quick else 5
    # Thousands of small eigenvalue problems: threads would cost more than they bring, and another
    # number of them other last digits.
    with threadpool_limits(limits=1, user_api="blas"):
        paper = measure_ratios(PAPER, ratios, n_tables, seed)
        easy = measure_ratios(EASY, ratios, n_tables, seed)
    return Section(
        "theory",
        "Theory: Theorems 1 and 2",
        [
            Note(
                "Theorem 1 bounds the distance of SHT-AUC's iterates from any vector w* of k* "
                "columns by κ^t times the first distance, plus a tolerance. κ follows from the "
                "restricted condition number ρ: the greatest curvature of a block over the least "
                "of the loss, along vectors of 2k + k* columns. Theorem 2 computes both for "
                "Gaussian rows from n, d, k and the share r of positives. Below, the formulas as "
                "printed stand beside the same quantities measured on drawn tables."
            ),
            *_findings(paper, easy),
            _figure_of_constants(paper, easy),
            _figure_of_courses(paper, easy),
            _listing_of_printed(ratios),
            _listing_of_paper(paper),
            _listing_of_easy(easy),
            Listing(
                "theory-slips",
                "Where the theory's statement and proof part ways",
                "Found by reading the proofs and checking each step with numbers.",
                _frame([slip._asdict() for slip in SLIPS]),
            ),
        ],
    )


# -------------------------------------------------------------------------------------- showing


def _figure_of_constants(paper: Measurements, easy: Measurements) -> Figure:
    ratios = sorted(paper)
    few, many = f"printed, n = {grouped(PAPER.n)}: no bound", "printed, n = 10⁸"
    paper_size = f"{grouped(PAPER.n)} × {grouped(PAPER.d)}"
    one = Series(_SILENT, ratios, [1.0] * len(ratios), style="dashed")
    return Figure(
        "theory-constants",
        "Constants of the theory against the share of positives",
        "Left: the restricted condition number ρ; middle and right: κ, and by how much a step of a "
        "run did contract. The theorem speaks only where κ is below 1. Tasks: "
        f"{PAPER}; {EASY}. Printed: Theorem 2's formulas. Measured: on drawn tables; the worst "
        "columns found are a lower bound of ρ and κ, since worse ones may exist, while what is "
        "certain holds for all choices of columns.",
        [
            Panel(
                f"ρ, {paper_size}",
                "share r of positives",
                "condition number ρ",
                [
                    _printed(few, ratios, lambda r: PAPER.gaussian(r).condition_as_printed),
                    _printed(many, ratios, lambda r: PAPER.gaussian(r, _MANY).condition),
                    _series(_FOUND, paper, lambda m: m.constants.condition[0]),
                    _series(_RANDOM, paper, lambda m: m.constants.condition_on_random),
                ],
                y_log=True,
            ),
            Panel(
                f"κ, {paper_size}",
                "share r of positives",
                "κ",
                [
                    _printed(many, ratios, lambda r: PAPER.gaussian(r, _MANY).kappa),
                    _series(_FOUND, paper, lambda m: m.constants.kappa[0]),
                    one,
                    _series(_RATE, paper, lambda m: m.course.rate, style="points"),
                ],
            ),
            Panel(
                f"κ, {grouped(EASY.n)} × {EASY.d}",
                "share r of positives",
                "κ",
                [
                    _printed(many, ratios, lambda r: EASY.gaussian(r, _MANY).kappa),
                    _series(_CERTAIN, easy, lambda m: m.constants.kappa[1]),
                    one,
                    _series(_RATE, easy, lambda m: m.course.rate, style="points"),
                ],
            ),
        ],
    )


def _figure_of_courses(paper: Measurements, easy: Measurements) -> Figure:
    bounds = []
    for r in _DRAWN:
        first = easy[r][0]
        if first.constants.kappa[1] < 1:
            drawn = _course(r, first.bound, 1, unit=first.course.distances[0])
            bounds.append(replace(drawn, label=f"r = {r:g}, Theorem 1", style="dashed"))
    steps = PAPER.n // PAPER.b
    title = f"{grouped(PAPER.n)} × {grouped(PAPER.d)}"
    return Figure(
        "theory-contraction",
        "Contraction in the course of a run",
        "Distances in units of the first; one table for each ratio. Left: to the best vector w* of "
        "k* columns, on a task where κ is below 1 for certain, with Theorem 1's bound dashed. "
        "Middle: to the place w̄ where the run ends, on the paper's task with Theorem 1's step "
        "1/ρ⁺, which is shorter the fewer positives there are; κ is above 1, so that there is no "
        "bound to draw. Right: the same with one step for all ratios.",
        [
            Panel(
                f"{grouped(EASY.n)} × {EASY.d}, one block",
                "epochs (a step each)",
                "‖w − w*‖ / ‖w*‖",
                [_course(r, easy[r][0].course.distances, 1) for r in _DRAWN] + bounds,
                y_log=True,
            ),
            Panel(
                f"{title}, step 1/ρ⁺",
                f"epochs ({steps} steps each)",
                "‖w − w̄‖ / ‖w̄‖",
                [_course(r, paper[r][0].course.to_limit, steps) for r in _DRAWN],
                y_log=True,
            ),
            Panel(
                f"{title}, same step for all",
                f"epochs ({steps} steps each)",
                "‖w − w̄‖ / ‖w̄‖",
                [_course(r, paper[r][0].same_step.to_limit, steps) for r in _DRAWN],
                y_log=True,
            ),
        ],
    )


def _listing_of_printed(ratios: Sequence[float]) -> Listing:
    rows = []
    for r in sorted(ratios):
        printed, many = PAPER.gaussian(r), PAPER.gaussian(r, _MANY)
        rows.append(
            {
                "r": r,
                "ρ⁻": printed.rho_minus,
                "a bound": "yes" if printed.is_bound else "no",
                "rows needed": math.ceil(rows_needed(PAPER.d, printed.s, r)),
                "ρ⁺": round(printed.rho_plus),
                "ρ⁻, n = 10⁸": many.rho_minus,
                "ρ, n = 10⁸": round(many.condition),
                "κ, n = 10⁸": many.kappa,
            }
        )
    return Listing(
        "theory-printed",
        f"Theorem 2 as printed, for the paper's task: {PAPER}",
        "Rows needed: from there on ρ⁻ is a bound. The last three columns are what it would be "
        "with more rows than that.",
        _frame(rows),
    )


def _listing_of_paper(paper: Measurements) -> Listing:
    return Listing(
        "theory-paper-task",
        f"The paper's task, measured: {PAPER}",
        "≤ and ≥: on the worst columns found, so that the truth is as bad or worse; random: on "
        "columns drawn at random. Rates: by which a step came nearer to where the run ended, in "
        "its first descent, with the step 1/ρ⁺ and with that of the smallest r. Last: distance to "
        f"the best {PAPER.k_star} columns' vector at the end, as a share of the first.",
        _means(
            paper,
            {
                "ρ⁻ ≤": lambda m: m.constants.rho_minus[0],
                "ρ⁺ ≥": lambda m: m.constants.rho_plus[0],
                "ρ, random": lambda m: m.constants.condition_on_random,
                "ρ ≥": lambda m: m.constants.condition[0],
                "κ ≥": lambda m: m.constants.kappa[0],
                "rate of a step": lambda m: m.course.rate,
                "rate, same step": lambda m: m.same_step.rate,
                "left of ‖w − w*‖": lambda m: m.remaining,
            },
        ),
    )


def _listing_of_easy(easy: Measurements) -> Listing:
    return Listing(
        "theory-easy-task",
        f"An easy task, measured: {EASY}",
        "Here all columns together are well conditioned, so that κ is known for certain. "
        "Tolerance and distance as shares of the first distance.",
        _means(
            easy,
            {
                "ρ ≥": lambda m: m.constants.condition[0],
                "ρ ≤": lambda m: m.constants.condition[1],
                "κ ≤": lambda m: m.constants.kappa[1],
                "rate of a step": lambda m: m.course.rate,
                "promised tolerance": lambda m: m.promised,
                "left of ‖w − w*‖": lambda m: m.remaining,
            },
        ),
    )


def _findings(paper: Measurements, easy: Measurements) -> list[Note]:
    """Say what the numbers show, and only what they show."""
    ratios = sorted(paper)
    few, even = ratios[0], ratios[-1]
    needed = [math.ceil(rows_needed(PAPER.d, PAPER.gaussian(r).s, r)) for r in (even, few)]
    void = [r for r in ratios if not PAPER.gaussian(r).is_bound]
    at_its_word = [PAPER.gaussian(r).condition_as_printed for r in (few, even)]
    many = [PAPER.gaussian(r, _MANY).kappa for r in ratios]
    kappas = [_mean(paper[r], lambda m: m.constants.kappa[0]) for r in ratios]
    rates, same = (
        [_mean(paper[r], rate) for r in (few, even)]
        for rate in (lambda m: m.course.rate, lambda m: m.same_step.rate)
    )
    remaining = [_mean(paper[r], lambda m: m.remaining) for r in (few, even)]
    steps = [_mean(paper[r], lambda m: 1 / m.constants.rho_plus[0]) for r in (few, even)]
    notes = [
        Note(
            f"Theorem 2 has no ρ⁻ for the paper's tables: its formula is a bound from "
            f"{grouped(needed[0])} rows on at r = {even:g} and from {grouped(needed[1])} at "
            f"r = {few:g}; the tables have {grouped(PAPER.n)}. It squares a negative number at "
            f"{len(void)} of the {len(ratios)} ratios shown, and taken at its word gives a "
            f"condition number of {at_its_word[0]:.0f} at r = {few:g} and {at_its_word[1]:.0f} "
            f"at r = {even:g}: balance would be worse.",
            "caution",
        ),
        Note(
            f"Nor do more rows help: with 10⁸ of them the printed constants give κ = "
            f"{min(many):.2f} or more, and no n, d, k and r bring it below 1, because the printed "
            f"ρ⁺ grows with k faster than Theorem 1 can bear. With the constants of Theorem 2, "
            f"Theorem 1 says nothing.",
            "caution",
        ),
        Note(_about_paper_kappa(kappas)),
        Note(_about_easy(easy)),
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
            f"Where a run ends is another matter. On the paper's task it ends with "
            f"{remaining[0]:.0%} of the first distance to the best {PAPER.k_star} "
            f"columns' vector at r = {few:g}, with {remaining[1]:.0%} at "
            f"r = {even:g}. That it should come nearer no theorem here says."
        ),
    ]
    return notes


def _about_paper_kappa(kappas: Sequence[float]) -> str:
    text = (
        f"Measured on the paper's tables, κ is at least {min(kappas):.2f} to {max(kappas):.2f} "
        "on the worst columns found. "
    )
    if min(kappas) >= 1:
        return text + (
            "So Theorem 1 says nothing there, whatever the constants of Theorem 2; that runs "
            "converge all the same is not explained by it."
        )
    return text + "Where that is below 1, worse columns may exist, and nothing is certain."


def _about_easy(easy: Measurements) -> str:
    kappas = [_mean(measured, lambda m: m.constants.kappa[1]) for measured in easy.values()]
    rates = [_mean(measured, lambda m: m.course.rate) for measured in easy.values()]
    left = [_mean(measured, lambda m: m.remaining) for measured in easy.values()]
    promised = [_mean(measured, lambda m: m.promised) for measured in easy.values()]
    held = all(
        np.all(m.course.distances <= m.bound) for measured in easy.values() for m in measured
    )
    return (
        f"With many rows and few columns ({EASY}) the theorem does speak: κ is at most "
        f"{max(kappas):.2f} for certain. The bound {'holds in every step' if held else 'FAILS'}, "
        f"with room: a step contracts by {min(rates):.2f} to {max(rates):.2f}, where κ is "
        f"{min(kappas):.2f} to {max(kappas):.2f}, and of the first distance {min(left):.0%} to "
        f"{max(left):.0%} is left, where {min(promised):.0%} to {max(promised):.0%} is allowed."
    )


def _series(
    label: str,
    results: Measurements,
    value: Callable[[Measurement], float],
    style: Literal["line", "points"] = "line",
) -> Series:
    ratios = sorted(results)
    values = [[value(m) for m in results[r]] for r in ratios]
    error = None
    if len(values[0]) > 1:
        error = [float(np.std(v, ddof=1)) / math.sqrt(len(v)) for v in values]
    return Series(label, ratios, [float(np.mean(v)) for v in values], error, style=style)


def _printed(label: str, ratios: Sequence[float], value: Callable[[float], float]) -> Series:
    return Series(label, ratios, [value(r) for r in ratios], style="dashed")


def _course(r: float, distances: Array, steps_per_epoch: int, unit: float | None = None) -> Series:
    # The descent is over by then, and ten points an epoch are as fine as the eye sees.
    shown = distances[: _SHOWN_EPOCHS * steps_per_epoch + 1 : max(1, steps_per_epoch // 10)]
    shares = shown / (distances[0] if unit is None else unit)
    epochs = np.linspace(0, _SHOWN_EPOCHS, len(shown))
    return Series(f"r = {r:g}", epochs.tolist(), shares.tolist())


def _mean(measured: Sequence[Measurement], value: Callable[[Measurement], float]) -> float:
    return float(np.mean([value(m) for m in measured]))


def _means(
    results: Measurements, columns: Mapping[str, Callable[[Measurement], float]]
) -> pd.DataFrame:
    """Means over the tables of every ratio."""
    return _frame(
        [
            {"r": r, **{label: _mean(measured, value) for label, value in columns.items()}}
            for r, measured in sorted(results.items())
        ]
    )


def _frame(rows: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows)
