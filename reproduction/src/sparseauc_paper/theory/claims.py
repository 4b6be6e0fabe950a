"""Claims of the theory, judged by its own formulas."""

import math
from collections.abc import Iterator

from ..claim import Claim
from ..verdicts import Verdict
from .measurements import PAPER as PAPER_TASK
from .measurements import grouped


def claims_of_theory() -> Iterator[Claim]:
    """Claims on the conditions and on what follows from them."""
    ratios = (0.05, 0.5)
    needed = [grouped(math.ceil(PAPER_TASK.gaussian(r).rows_needed)) for r in ratios]
    kappa = min(PAPER_TASK.gaussian(r, 1e8).kappa for r in ratios)
    evidence = ("theory", "section-theory")
    yield Claim(
        "under Gaussian assumptions on the data, the RCS/RSS conditions can be satisfied",
        "Theorem 2's ρ⁻ is positive for a reason",
        evidence,
        {
            "": Verdict(
                "holds",
                f"from {needed[0]} rows on at r = {ratios[0]:g} and {needed[1]} at r = "
                f"{ratios[1]:g}; the simulation has {grouped(PAPER_TASK.n)}",
            )
        },
    )
    yield Claim(
        "under RCS/RSS conditions, SHT-AUC enjoys a linear convergence rate up to a tolerance "
        "error",
        "Theorem 1 with the constants of Theorem 2 has κ < 1",
        evidence,
        {"": Verdict("fails", f"κ ≥ {kappa:.2f} at 10⁸ rows, and no n, d, k and r make it < 1")},
    )
    tolerances = [r / (1 - 0.9 * math.sqrt(1 - r)) for r in ratios]
    yield Claim(
        "the more imbalance the data is, the slower the convergence is, and the larger tolerance "
        "error is",
        "the tolerance's formula c₁r/(1 − c₂√(1 − r))",
        evidence,
        {
            "": Verdict(
                "fails",
                "it falls to 0 as r → 0 for every c₂ < 1: with c₂ = 0.9 it is "
                f"{tolerances[0]:.2f} c₁ at r = {ratios[0]:g} and {tolerances[1]:.2f} c₁ at "
                f"r = {ratios[1]:g}; with c₂ = 1 it is nearly the same for all r",
            )
        },
    )
