"""Claims on the simulation: Tables I and II, Figures 1 and 2, times."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from . import plan, printed
from .claim import COMPARABLE, L0_RIVALS, OURS, Claim, equal, more, rivals, under
from .courses import epochs_to, over_draws, rise_between
from .estimates import Mean, Values, difference_of, mean_of, shown, unpaired_difference
from .methods import METHODS, PAPER_METHODS
from .plan import Request
from .protocols import PROTOCOLS
from .summaries import Outcomes, figure2_values, table_values
from .verdicts import (
    MISSING,
    Kind,
    Verdict,
    compare,
    judge_better,
    judge_more,
    of_method,
    together,
)

# Differences of test AUC beyond this are called a large margin.
LARGE = 0.05
# Training AUC is called converged where a sixth of the epochs makes no more of its rise than this.
SETTLED = 0.05


def claims_of_table1(request: Request, outcomes: Outcomes) -> Iterator[Claim]:
    """Claims on AUC."""
    aucs = {name: table_values(request, name, "auc", outcomes) for name in PROTOCOLS}
    evidence = ("Table I", "table1")

    def best(values: Values) -> Verdict:
        return compare(values, [OURS], rivals(OURS), columns=("40", "60", "80"), table=printed.AUC)

    yield Claim("gives the best AUC score for k* = 40, 60, 80", "SHT-AUC", evidence,
                under(aucs, best))  # fmt: skip
    yield Claim(
        "gives competitive AUC score when k* = 20",
        f"SHT-AUC is not {COMPARABLE:g} or more below any rival",
        evidence,
        under(
            aucs,
            lambda v: compare(v, [OURS], rivals(OURS), more(-COMPARABLE), columns=("20",)),
        ),
    )
    yield Claim(
        "the AUC scores of SHT-AUC and FSAUC are competitive with each other",
        f"within {COMPARABLE:g}",
        evidence,
        under(aucs, lambda v: compare(v, [OURS], ["fsauc"], equal(COMPARABLE))),
    )
    yield Claim(
        "the AUC scores of SPAM-ℓ² and SOLAM are inferior to SHT-AUC, SPAM-ℓ₁, and FSAUC",
        "",
        evidence,
        under(
            aucs,
            lambda v: compare(
                v, [OURS, "spam-l1", "fsauc"], ["spam-l2", "solam"], table=printed.AUC
            ),
        ),
    )
    yield Claim(
        "ℓ₀-based methods including StoIHT and HSG-HT have lower AUC scores",
        "than SHT-AUC",
        evidence,
        under(aucs, lambda v: compare(v, [OURS], L0_RIVALS, table=printed.AUC)),
    )


def claims_of_table2(request: Request, outcomes: Outcomes) -> Iterator[Claim]:
    """Claims on the columns found, with k tuned and with k* given."""
    for given in (False, True):
        found = {
            measure: {
                name: table_values(request, name, measure, outcomes, given=given)
                for name in PROTOCOLS
                if not (given and PROTOCOLS[name].absolute_cut)
            }
            for measure in ("f1", "jaccard")
        }
        how = "k* given to all methods" if given else "k tuned by all methods"
        evidence = ("Table II", "table2-given" if given else "table2")
        for measure, label, table in (
            ("f1", "F1", printed.F1),
            ("jaccard", "Jaccard index", printed.JACCARD),
        ):
            judge = partial(compare, better=[OURS], worse=rivals(OURS), table=table)
            yield Claim(
                "In both metric, our method SHT-AUC are significantly better than any other "
                "algorithms",
                f"{label}; corrected: {how}",
                evidence,
                under(found[measure], judge),
            )
        for quotation, others in (
            (
                "SHT-AUC is better than other ℓ₁ based stochastic AUC maximization algorithms",
                ["spam-l1", "fsauc"],
            ),
            ("SHT-AUC is better than StoIHT and HSG-HT", L0_RIVALS),
        ):
            judge = partial(compare, better=[OURS], worse=others, table=printed.F1)
            yield Claim(quotation, f"F1; corrected: {how}", evidence, under(found["f1"], judge))
    aucs, f1s = (
        {name: table_values(request, name, measure, outcomes) for name in PROTOCOLS}
        for measure in ("auc", "f1")
    )
    yield Claim(
        "SHT-AUC has better tradeoff between the AUC optimization and feature selection among all "
        "methods",
        "better than each rival in AUC or F1 and worse in neither",
        ("Tables I and II", "table2"),
        {name: _trade_off(aucs[name], f1s[name]) for name in PROTOCOLS},
    )


def _trade_off(aucs: Values, f1s: Values) -> Verdict:
    """Against each rival: better in one measure and not worse in the other."""
    kinds: dict[str, Kind] = {}
    missing = []
    for rival in rivals(OURS):
        changes = [
            mean_of(difference_of(of_method(values, OURS), of_method(values, rival)))
            for values in (aucs, f1s)
        ]
        if not all(change.n for change in changes):
            missing.append(METHODS[rival].name)
            continue
        signs = [judge_better(change, 2 * len(PAPER_METHODS)) for change in changes]
        if "fails" in signs:
            kinds[rival] = "open" if "holds" in signs else "fails"
        else:
            kinds[rival] = "holds" if "holds" in signs else "open"
    if not kinds:
        return MISSING
    kind = together(list(kinds.values()), complete=not missing)
    against = [METHODS[rival].name for rival, k in kinds.items() if k == kind]
    held = sum(k == "holds" for k in kinds.values())
    text = f"against {held} of {len(kinds)} rivals"
    if kind != "holds":
        text += f", {'not' if kind == 'fails' else 'open'} against {', '.join(against)}"
    return Verdict(kind, text + (f"; without {', '.join(missing)}" if missing else ""))


def claims_of_figure1(request: Request, outcomes: Outcomes) -> Iterator[Claim]:
    """Claims on convergence."""
    few, even = min(request.preset.figure1_ratios), max(request.preset.figure1_ratios)
    last = request.preset.figure1_epochs
    half, window = last // 2, last // 6
    evidence = ("Figure 1", "figure1")
    after = over_draws(request, outcomes, "auc", rise_between(half, half + window))
    end = over_draws(request, outcomes, "auc", rise_between(last - window, last))

    def share(known_shares: Mapping[tuple[str, float], Mean], r: float, when: str) -> str:
        change = known_shares["published", r]
        return (
            f"{when} training AUC makes {change.mean:.1%} ± {change.half_width():.1%} of its rise, "
            f"{change.draws} draws; up to {SETTLED:.0%} is called converged"
        )

    settled, rising = MISSING, MISSING
    if ("published", even) in after:
        change = after["published", even]
        # Converged is the opposite of making more than so much.
        opposite: dict[Kind, Kind] = {"holds": "fails", "fails": "holds", "open": "open"}
        settled = Verdict(
            opposite[judge_more(change, SETTLED)],
            share(after, even, f"from epoch {half} to {half + window}"),
        )
    if ("published", few) in end:
        rising = Verdict(
            judge_more(end["published", few], SETTLED),
            share(end, few, f"in the last {window} of {last} epochs"),
        )
    yield Claim("when r = 0.5 the SHT-AUC converges after 150 epochs", "", evidence, {"": settled})
    yield Claim(
        "when r = 0.05, SHT-AUC does not converge even after 300 epochs", "", evidence,
        {"": rising},
    )  # fmt: skip
    reached = over_draws(request, outcomes, "objective", epochs_to(0.99))
    for scale, step in (("published", "the programs' step r(1 − r)"), ("paper", "the step 1/ρ⁺")):
        verdict = MISSING
        if (scale, few) in reached and (scale, even) in reached:
            ends = [reached[scale, r] for r in (few, even)]
            change = unpaired_difference(*ends)
            verdict = Verdict(
                judge_better(change),
                f"{ends[0].mean:.1f} epochs at r = {few:g}, {ends[1].mean:.1f} at r = {even:g}, "
                f"difference {shown(change, 1)}, {change.draws} draws",
            )
        yield Claim(
            "when data is more imbalanced, the convergence is slower",
            f"epochs until F has made 99 % of its way, {step}",
            evidence,
            {"": verdict},
        )


def claims_of_figure2(request: Request, outcomes: Outcomes) -> Iterator[Claim]:
    """Claims on imbalance."""
    aucs, f1s = (
        {name: figure2_values(request, name, measure, outcomes) for name in PROTOCOLS}
        for measure in ("auc", "f1")
    )
    evidence = ("Figure 2", "figure2")
    for found, label in ((aucs, "AUC"), (f1s, "F1")):
        yield Claim(
            "for SHT-AUC, the more data is imbalanced, the worse the AUC and F1 scores are",
            f"{label}, both ends",
            evidence,
            under(found, partial(_falls, request, [OURS])),
        )
    others = ["spam-l1", "spam-l1l2", "spam-l2", "fsauc", "solam"]
    yield Claim(
        "Other AUC maximization algorithms also show the same phenomenon",
        "AUC, both ends",
        evidence,
        under(aucs, partial(_falls, request, others)),
    )
    yield Claim(
        "the performance of SHT-AUC, SPAM-ℓ₁, SPAM-ℓ₁/ℓ², and FSAUC are at the same tier",
        f"AUC over all r, within {COMPARABLE:g} of SHT-AUC",
        evidence,
        under(
            aucs,
            lambda v: compare(v, [OURS], ["spam-l1", "spam-l1l2", "fsauc"], equal(COMPARABLE)),
        ),
    )
    yield Claim(
        "The results of SPAM-ℓ² and SOLAM are inferior to the hard thresholding-based and ℓ₁ based "
        "methods",
        "AUC over all r; SHT-AUC, SPAM-l1, SPAM-l1/l2, FSAUC",
        evidence,
        under(
            aucs,
            lambda v: compare(v, [OURS, "spam-l1", "spam-l1l2", "fsauc"], ["spam-l2", "solam"]),
        ),
    )
    low = tuple(f"{r:g}" for r in request.preset.ratios if r <= 0.1)
    yield Claim(
        "the AUC optimization-based methods outperform these two by a large margin when the "
        "dataset is more imbalanced",
        f"StoIHT and HSG-HT; AUC at r = {' and '.join(low)}, by more than {LARGE:g}",
        evidence,
        under(
            aucs,
            lambda v: compare(v, [OURS, *others], L0_RIVALS, more(LARGE), columns=low),
        ),
    )


def _falls(request: Request, methods: Sequence[str], values: Values) -> Verdict:
    """Judge whether each method is worse at the smallest share of positives than at the largest."""
    few, even = (f"{r:g}" for r in (min(request.preset.ratios), max(request.preset.ratios)))
    kinds: list[Kind] = []
    missing, parts = [], []
    for method in methods:
        ends = [mean_of(values.get((method, r), {})) for r in (even, few)]
        if not all(end.n for end in ends):
            missing.append(METHODS[method].name)
            continue
        change = unpaired_difference(*ends)
        kinds.append(judge_better(change, len(methods)))
        parts.append(f"{METHODS[method].name} {shown(change)}")
    if not kinds:
        return MISSING
    text = f"r = {even} − r = {few}: {', '.join(parts)}; {request.preset.figure2_trials} draws"
    if missing:
        text += f"; without {', '.join(missing)}"
    return Verdict(together(kinds, complete=not missing), text)


def fit_seconds(request: Request, outcomes: Outcomes) -> dict[str, list[float]]:
    """Processor time of the final fits of the simulation, by method; they all run on a core."""
    found: dict[str, list[float]] = {}
    for (method, *_), task in plan.table_tasks(request, request.protocol).items():
        if task in outcomes and (result := outcomes[task].result) is not None:
            found.setdefault(method, []).append(float(result.get("seconds", math.nan)))
    return found


def claim_of_times(request: Request, outcomes: Outcomes) -> Claim:
    """Claim on the cost of methods, cited in the paper."""
    seconds = {key: float(np.median(many)) for key, many in fit_seconds(request, outcomes).items()}
    convex = [key for key in ("spam-l1", "fsauc") if key in seconds]
    verdict = MISSING
    if OURS in seconds and len(convex) == 2:
        times = {key: seconds[key] / seconds[OURS] for key in convex}
        # Fits of one size tell nothing against what is said of large ones.
        kind: Kind = "holds" if min(times.values()) >= 10 else "open"
        parts = [f"{METHODS[key].name} {times[key]:.1f} times as long" for key in convex]
        size = f"{request.preset.n * 4 // 5} rows and {request.preset.d} columns"
        verdict = Verdict(
            kind, f"{', '.join(parts)} as SHT-AUC at {size}; larger problems were not timed"
        )
    return Claim(
        "compared to the convex ℓ₁-norm based methods, hard thresholding algorithms are always "
        "orders of magnitude computationally more efficient for large-scale problems",
        "cited there; one order or more is judged",
        ("times", "times"),
        {"": verdict},
    )
