"""What the paper claims, and whether it holds: a verdict, the number behind it, its evidence."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any

import numpy as np
import pandas as pd

from sparseauc_app.report.elements import Listing

from . import plan, printed
from .methods import METHODS, PAPER_METHODS
from .plan import Request
from .protocols import HARD_THRESHOLDING, PROTOCOLS
from .summaries import (
    FEWEST,
    Mean,
    Outcomes,
    Sample,
    Values,
    difference_of,
    draws_of,
    epochs_to,
    figure2_values,
    mean_of,
    real_results,
    rise_after,
    shown,
    table_values,
    trial_means,
)
from .theory.measurements import PAPER as PAPER_TASK
from .theory.measurements import grouped

OURS = "sht-auc"
_LARGE_SUPPORTS = ("40", "60", "80")
_CONVEX = tuple(key for key in PAPER_METHODS if METHODS[key].truncated)
_HOLDS, _FAILS, _OPEN = "holds", "does not hold", "cannot be told"
# Supports this many times as good as the rival's would be nearer to twice than to equal.
_NEARER_TO_TWICE = 1.5
# Training AUC is called converged where a sixth of the epochs makes no more of its rise than this.
_SETTLED = 0.05


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, in our words, and what became of it."""

    text: str
    evidence: tuple[str, str]  # what has it, and where that stands on the page
    # By protocol, or by "" where it does not depend on one: a verdict and its number.
    verdicts: dict[str, str] = field(default_factory=dict)


def judge_claims(request: Request, outcomes: Outcomes) -> list[Claim]:
    """Judge every claim for which there are results."""
    claims = [
        *_claims_of_tables(request, outcomes),
        *_claims_of_figure1(request, outcomes),
        *_claims_of_figure2(request, outcomes),
        *_claims_of_genes(request, outcomes),
        _claim_of_theorems(),
    ]
    return [claim for claim in claims if claim.verdicts]


def claims_listing(claims: Sequence[Claim], experiments: Collection[str]) -> Listing:
    """Make the table of claims for the front page; evidence that is shown there is a link."""
    return Listing(
        "claims",
        "The paper's claims",
        "± is half of a 95 % interval (Student's t over draws or trials); differences are taken "
        "draw by draw. A claim that one method is better holds where the whole interval of the "
        "difference is above 0, does not where it is below, and cannot be told otherwise, or from "
        f"fewer than {FEWEST} values. "
        "Published: as the authors' programs ran it; corrected: without their slips.",
        pd.DataFrame(
            {
                "claim": claim.text,
                "published protocol": claim.verdicts.get("published", claim.verdicts.get("", "–")),
                "corrected protocol": claim.verdicts.get(
                    "corrected", "the same" if "" in claim.verdicts else "–"
                ),
                "evidence": f"[{claim.evidence[0]}](#{claim.evidence[1]})"
                if claim.evidence[1].removeprefix("section-") in experiments
                else claim.evidence[0],
            }
            for claim in claims
        ),
        digits=0,
    )


def _of(values: Values, method: str, columns: Sequence[str] | None = None) -> Sample:
    """Values of a method over some columns, by draw."""
    return draws_of(
        {
            (key, column): sample
            for (key, column), sample in values.items()
            if key == method and (columns is None or column in columns)
        }
    )


def _verdict(change: Mean) -> str:
    """Judge the claim that a difference is positive."""
    half = change.half_width(0.05)
    if change.n < FEWEST or isnan(half) or abs(change.mean) <= half:
        return _OPEN
    return _HOLDS if change.mean > 0 else _FAILS


def _counted(change: Mean) -> str:
    return f"{shown(change)}, n = {change.n}"


def _best_of(
    values: Values,
    columns: Sequence[str] | None = None,
    *,
    rivals: Sequence[str] = PAPER_METHODS,
    method: str = OURS,
) -> str | None:
    """Judge whether a method beats every rival, by the strongest of them."""
    own = _of(values, method, columns)
    others = [rival for rival in rivals if rival != method]
    changes = {
        rival: change
        for rival in others
        if (change := mean_of(difference_of(own, _of(values, rival, columns)))).n
    }
    if not changes:
        return None
    # A rival with too few values to be judged is none, as long as there are others.
    most = max(change.n for change in changes.values())
    changes = {rival: c for rival, c in changes.items() if c.n >= min(FEWEST, most)}
    nearest = min(changes, key=lambda rival: changes[rival].mean)
    change = changes[nearest]
    missing = [METHODS[rival].name for rival in others if rival not in changes]
    text = f"{_verdict(change)}: {_counted(change)} against {METHODS[nearest].name}"
    return text + (f"; without {', '.join(missing)}" if missing else "")


def _beats(values: Values, better: Sequence[str], worse: Sequence[str]) -> str | None:
    """Judge whether each method of one list beats each of another."""
    pairs = {
        (a, b): change
        for a in better
        for b in worse
        if (change := mean_of(difference_of(_of(values, a), _of(values, b)))).n
    }
    if not pairs:
        return None
    verdicts = [_verdict(change) for change in pairs.values()]
    verdict = _OPEN
    if all(v == _HOLDS for v in verdicts):
        verdict = _HOLDS
    elif any(v == _FAILS for v in verdicts):
        verdict = _FAILS
    numbers = "; ".join(
        f"{METHODS[a].name} − {METHODS[b].name} {_counted(change)}"
        for (a, b), change in pairs.items()
    )
    return f"{verdict}: {numbers}"


def _told(
    results: Mapping[str, Values], judge: Callable[..., str | None], **how: Any
) -> dict[str, str]:
    """Verdicts under the protocols that have results."""
    verdicts = {name: judge(values, **how) for name, values in results.items()}
    return {name: text for name, text in verdicts.items() if text is not None}


def _claims_of_tables(request: Request, outcomes: Outcomes) -> Iterator[Claim]:
    aucs, f1s = (
        {name: table_values(request, name, measure, outcomes) for name in PROTOCOLS}
        for measure in ("auc", "f1")
    )
    first, second = ("Table I", "table1"), ("Table II", "table2")
    yield Claim(
        "SHT-AUC has the best AUC at k* = 40, 60 and 80",
        first,
        _told(aucs, _best_of, columns=_LARGE_SUPPORTS),
    )
    yield Claim(
        "SPAM-l2 and SOLAM, which are not sparse, rank worse than SHT-AUC",
        first,
        _told(aucs, _beats, better=[OURS], worse=["spam-l2", "solam"]),
    )
    yield Claim(
        f"Where positives are few ({plan.TABLE_RATIO:.0%}), StoIHT and HSG-HT, which maximise "
        "likelihood, rank worse than SHT-AUC",
        first,
        _told(aucs, _beats, better=[OURS], worse=["sto-iht", "hsg-ht"]),
    )
    yield Claim(
        "SHT-AUC finds the columns better (F1) than the convex methods (corrected: of these the "
        "k* largest count, which tells them k*)",
        second,
        _told(f1s, _best_of, rivals=_CONVEX),
    )
    yield Claim(
        "SHT-AUC finds the columns better (F1) than StoIHT and HSG-HT",
        second,
        _told(f1s, _best_of, rivals=HARD_THRESHOLDING),
    )
    ratio = np.mean([e.mean for e in printed.F1[OURS].values()]) / np.mean(
        [e.mean for e in printed.F1["sto-iht"].values()]
    )
    yield Claim(
        f"SHT-AUC finds the columns about twice as well as StoIHT (printed F1: {ratio:.1f} times)",
        second,
        _told(f1s, _twice),
    )


def _twice(f1: Values) -> str | None:
    ours, theirs = _of(f1, OURS), _of(f1, "sto-iht")
    change = mean_of(difference_of(ours, theirs, _NEARER_TO_TWICE))
    if not change.n:
        return None
    means = mean_of(ours).mean, mean_of(theirs).mean
    times = means[0] / means[1] if means[1] else math.inf
    return (
        f"{_verdict(change)}: {times:.2f} times, {means[0]:.3f} against {means[1]:.3f}, "
        f"n = {change.n}"
    )


def _claims_of_figure1(request: Request, outcomes: Outcomes) -> Iterator[Claim]:
    few, even = min(request.preset.figure1_ratios), max(request.preset.figure1_ratios)
    last = request.preset.figure1_epochs
    evidence = ("Figure 1", "figure1")
    half, window = last // 2, last // 6
    after_half, at_end = (rise_after(request, outcomes, e) for e in (half, last - window))
    if all(("published", r) in after_half for r in (few, even)):
        settled = after_half["published", even] * window / (last - half)
        rising = at_end["published", few]
        holds = settled <= _SETTLED < rising
        yield Claim(
            f"SHT-AUC converges by epoch {half} at r = {even:g}, and not by {last} at r = {few:g}",
            evidence,
            {
                "": f"{_HOLDS if holds else _FAILS}: of its whole rise, training AUC makes "
                f"{settled:.1%} in {window} epochs after epoch {half} at r = {even:g}, and "
                f"{rising:.1%} in the last {window} at r = {few:g}; {_SETTLED:.0%} or less is "
                "called converged"
            },
        )
    reached = epochs_to(request, outcomes, 0.99)
    if all((scale, r) in reached for scale in ("published", "paper") for r in (few, even)):
        numbers = [f"{reached[s, r]:.0f}" for s in ("published", "paper") for r in (few, even)]
        slower = [reached[s, few] > reached[s, even] for s in ("published", "paper")]
        yield Claim(
            "The more imbalanced the data, the slower SHT-AUC converges",
            evidence,
            {
                "": f"{_HOLDS if all(slower) else _FAILS}: epochs until F has made 99 % of its "
                f"way, at r = {few:g} and {even:g}: {numbers[0]} and {numbers[1]} with the "
                f"programs' step r(1 − r), {numbers[2]} and {numbers[3]} with the paper's 1/ρ⁺"
            },
        )


def _claims_of_figure2(request: Request, outcomes: Outcomes) -> Iterator[Claim]:
    few, even = (f"{r:g}" for r in (min(request.preset.ratios), max(request.preset.ratios)))
    for measure, label in (("auc", "AUC"), ("f1", "F1")):
        values = figure2_values(request, request.protocol, measure, outcomes)
        ends = [mean_of(values.get((OURS, r), {})) for r in (even, few)]
        if min(end.n for end in ends) == 0:
            continue
        change = Mean(
            ends[0].mean - ends[1].mean, math.hypot(ends[0].se, ends[1].se), math.nan,
            min(end.n for end in ends), 0, min(end.df for end in ends),
        )  # fmt: skip
        yield Claim(
            f"The {label} of SHT-AUC is the worse the more imbalanced the data are",
            ("Figure 2", "figure2"),
            {request.protocol: f"{_verdict(change)}: r = {even} − r = {few} {_counted(change)}"},
        )


def _claims_of_genes(request: Request, outcomes: Outcomes) -> Iterator[Claim]:
    genes = {
        name: real_results(plan.real_tasks(request, name), outcomes, PROTOCOLS[name])
        for name in PROTOCOLS
    }
    for dataset in request.datasets:
        tuned = {name: _trials(found.tuned) for name, found in genes.items()}
        yield Claim(
            f"SHT-AUC has the best AUC on {dataset}",
            ("Table III", "table3"),
            _told(tuned, _best_of, columns=[dataset]),
        )
    for dataset, method, k, note in (
        ("colon", "hsg-ht", "5", ""),
        ("colon", OURS, "30", " (29 in the text)"),
        ("leukemia", OURS, "30", " (32 in the text)"),
    ):
        if dataset in request.datasets:
            at_k = {name: _shares(found.share, dataset, k) for name, found in genes.items()}
            yield Claim(
                f"{METHODS[method].name} has the largest share of related genes on {dataset} at "
                f"k = {k}{note}",
                ("Figure 4", "figure4"),
                _told(at_k, _best_of, method=method, rivals=HARD_THRESHOLDING),
            )


def _trials(values: Values) -> Values:
    """One value for each trial: its five values judge the same rows, or parts of the same table."""
    return {place: trial_means(sample) for place, sample in values.items()}


def _shares(share: dict[tuple[str, str, str], Sample], dataset: str, k: str) -> Values:
    return _trials({(key, ""): v for (key, *at), v in share.items() if at == [dataset, k]})


def _claim_of_theorems() -> Claim:
    ratios = (0.05, 0.5)
    needed = [math.ceil(PAPER_TASK.gaussian(r).rows_needed) for r in ratios]
    kappa = min(PAPER_TASK.gaussian(r, 1e8).kappa for r in ratios)
    return Claim(
        f"The conditions of Theorems 1 and 2 can be met with n = {grouped(PAPER_TASK.n)} rows",
        ("theory", "section-theory"),
        {
            "": f"{_FAILS}: Theorem 2's ρ⁻ is a bound from {grouped(needed[0])} rows on at "
            f"r = {ratios[0]:g} and {grouped(needed[1])} at r = {ratios[1]:g}; and even then "
            f"κ ≥ {kappa:.2f}, where Theorem 1 needs κ < 1"
        },
    )
