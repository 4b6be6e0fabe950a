"""A claim of the paper, and what judging several of them shares."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .estimates import Values
from .methods import METHODS, PAPER_METHODS
from .verdicts import Judge, Verdict, judge_equal, judge_more

OURS = "sht-auc"
L0_RIVALS = ("sto-iht", "hsg-ht")
CONVEX = tuple(key for key in PAPER_METHODS if METHODS[key].truncated)
# Differences of test AUC within this are called comparable.
COMPARABLE = 0.02


@dataclass(frozen=True)
class Claim:
    """Words of the paper, and what became of them."""

    quotation: str
    judged: str  # what exactly is judged, where the words leave it open
    evidence: tuple[str, str]  # what has it, and where that stands on the page
    verdicts: Mapping[str, Verdict]  # by protocol, or by "" where it does not depend on one


def under(results: Mapping[str, Values], judge: Callable[[Values], Verdict]) -> dict[str, Verdict]:
    """Verdicts under both protocols."""
    return {name: judge(values) for name, values in results.items()}


def equal(within: float) -> Judge:
    """Judge that a difference is no larger than this in either direction."""
    return lambda change, n_tests, _: judge_equal(change, within, n_tests)


def more(than: float) -> Judge:
    """Judge that a difference is larger than this."""
    return lambda change, n_tests, _: judge_more(change, than, n_tests)


def rivals(*without: str) -> list[str]:
    """Rows of the paper's tables but for these."""
    return [key for key in PAPER_METHODS if key not in without]
