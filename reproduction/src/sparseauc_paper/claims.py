"""What the paper claims, in its own words, and whether it holds.

Every claim is an entry of ``claims.toml``: a sentence, what is measured for it, and where
that must lie. One function judges them all, by intervals of stored measurements.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf, isnan
from typing import Literal, NamedTuple

import numpy as np

from . import printed
from .estimates import (
    Mean,
    Sample,
    Values,
    difference_of,
    draws_of,
    mean_of,
    resampled_mean,
    shown,
    unpaired_difference,
)
from .files import read_settings
from .gene_tables import PATIENTS
from .methods import METHODS
from .protocols import HARD_THRESHOLDING, PROTOCOLS
from .real import TRAINING_ROWS
from .results import AtK, Result, Results, epochs_to, rise_between, simulated

Kind = Literal["holds", "fails", "smaller", "open", "missing"]
# With its mark, and of several claims.
WORDS: Mapping[Kind, tuple[str, str]] = {
    "holds": ("✔ holds", "hold"),
    "fails": ("✘ does not hold", "do not hold"),
    "smaller": ("◐ smaller than printed", "are smaller than printed"),
    "open": ("? cannot be told", "cannot be told"),
    "missing": ("– not run", "were not run"),
}
ANY = "any"  # in place of a protocol where there is no choice of one


@dataclass(frozen=True)
class Claim:
    """Words of the paper, and what must be measured if they are true.

    Every method of ``better`` less every other of ``worse``, or by itself where there
    are none, must lie between ``low`` and ``high``: in the mean, or in every single
    measurement.
    """

    evidence: str
    anchor: str  # where that stands on the page
    protocols: tuple[str, ...]
    measures: tuple[str, ...]  # names in ``MEASURES``
    better: tuple[str, ...]
    worse: tuple[str, ...] = ()
    quotation: str = ""  # the paper's words, none where the statement is ours
    judged: str = ""  # what exactly is judged, where the words leave it open
    columns: tuple[str, ...] = ()  # all where none is named
    low: float = -inf
    high: float = inf
    printed: str = ""  # name of the table whose differences are shown beside ours
    every: bool = False
    remark: str = ""  # what is true and not measured


CLAIMS = tuple(Claim(**about) for about in read_settings("claims.toml")["claim"])


class Verdict(NamedTuple):
    """What became of a claim, and the numbers behind it."""

    kind: Kind
    numbers: str = ""

    def __str__(self) -> str:
        """Mark, words and numbers."""
        return ": ".join(filter(None, (WORDS[self.kind][0], self.numbers)))


class Judged(NamedTuple):
    """A claim with its verdict under each protocol that it can be judged under."""

    claim: Claim
    verdicts: Mapping[str, Verdict]


def judge(
    change: Mean,
    low: float = 0.0,
    high: float = inf,
    theirs: Mean | None = None,
    n_tests: int = 1,
) -> Kind:
    """Judge that a difference lies between ``low`` and ``high``.

    It holds where the 95 % interval lies between them, and does not where the interval
    lies outside. Otherwise it is smaller than printed where the interval of the
    difference from the printed one, whose own error counts, is below 0; or it cannot be
    told. Ends that speak against a claim are widened for ``n_tests`` (Bonferroni): one
    of many rivals may look better by chance.
    """
    if not change.known:
        return "open"
    bottom, top = change.bounds()
    if low < bottom and top < high:
        return "holds"
    level = 0.05 / n_tests
    bottom, top = change.bounds(level)
    if top < low or bottom > high:
        return "fails"
    if theirs is not None and unpaired_difference(change, theirs).bounds(level)[1] < 0:
        return "smaller"
    return "open"


def judge_every(sample: Sample, low: float, high: float) -> Kind:
    """Judge that every single value lies between ``low`` and ``high``: of what has no error."""
    return "holds" if all(low < value < high for value in sample.values()) else "fails"


def together(kinds: Sequence[Kind], *, complete: bool = True) -> Kind:
    """Kind of a claim that all of these must bear out; it never holds where some are missing."""
    if not kinds:
        return "missing"
    if complete and set(kinds) == {"holds"}:
        return "holds"
    against: tuple[Kind, ...] = ("fails", "smaller")
    return next((kind for kind in against if kind in kinds), "open")


def either(kinds: Sequence[Kind]) -> Kind:
    """Kind of being better in one of several measures and worse in none."""
    if len(kinds) == 1:
        return kinds[0]
    if "fails" in kinds:
        return "open" if "holds" in kinds else "fails"
    return "holds" if "holds" in kinds else "open"


def judge_claims(results: Results) -> list[Judged]:
    """Judge all claims; those without results say so."""
    return [
        Judged(
            claim, {name: judge_claim(claim, results, name) for name in claim.protocols}
        )
        for claim in CLAIMS
    ]


class _Pair(NamedTuple):
    """Two methods, or one, what became of the claim on them, and how that is shown."""

    kind: Kind
    mean: float
    text: str


def judge_claim(claim: Claim, results: Results, protocol: str) -> Verdict:
    """Judge a claim by the methods that have results; those without are named."""
    measured = [MEASURES[name](results, protocol) for name in claim.measures]
    pairs = [(a, b) for a in claim.better for b in claim.worse or ("",) if a != b]
    judged = []
    missing = dict.fromkeys(
        method
        for values in measured
        for method in (*claim.better, *claim.worse)
        if not draws_of(values, method, claim.columns)
    )
    for pair in pairs:
        if not missing.keys() & set(pair):
            samples = [_difference(claim, values, *pair) for values in measured]
            if all(mean_of(sample).n for sample in samples):
                judged.append(_judge_pair(claim, protocol, pair, samples, len(pairs)))
    if not judged:
        return Verdict("missing")
    kind = together([pair.kind for pair in judged], complete=not missing)
    # Shown is the pair that decides: of those with this verdict, the one nearest to
    # failing.
    deciding = [pair for pair in judged if pair.kind == kind] or judged
    text = min(deciding, key=lambda pair: pair.mean).text
    if len(judged) > 1:
        counts = Counter(pair.kind for pair in judged)
        held = (
            f"{counts['holds']} of {len(judged)}{' pairs' if claim.worse else ''} hold"
        )
        failed = counts["fails"]
        text += f"; {held}" + (
            f", {failed} {'do' if failed > 1 else 'does'} not" if failed else ""
        )
    if missing:
        text += f"; without {', '.join(map(_name, missing))}"
    return Verdict(kind, text)


def _judge_pair(
    claim: Claim,
    protocol: str,
    pair: tuple[str, str],
    samples: Sequence[Sample],
    n_tests: int,
) -> _Pair:
    names = " − ".join(_name(method) for method in pair if method)
    if claim.every:
        (sample,) = samples
        ends = (min(sample.values()), max(sample.values()))
        text = f"{names} {ends[0]:.3f} to {ends[1]:.3f} in {len(sample)} tables"
        return _Pair(judge_every(sample, claim.low, claim.high), ends[0], text)
    theirs = (
        printed.difference(printed.TABLES[claim.printed], *pair, claim.columns)
        if claim.printed
        else None
    )
    kinds, parts = [], []
    for sample, measure in zip(samples, claim.measures, strict=True):
        change = _summarise(claim, protocol, sample)
        kinds.append(
            judge(change, claim.low, claim.high, theirs, n_tests * len(samples))
        )
        parts.append(shown(change) + (f" {measure}" if len(samples) > 1 else ""))
    text = f"{names} {', '.join(parts)}"
    if "gene" in claim.measures[0]:
        here = mean_of(samples[0], by_trial=True)
        text += f"; on these patients ± {here.half_width():.3f}, {here.draws} trials"
    else:
        text += f", {mean_of(samples[0]).draws} draws"
    if theirs is not None:
        text += f" (printed {shown(theirs)})"
    return _Pair(either(kinds), mean_of(samples[0]).mean, text)


def _summarise(claim: Claim, protocol: str, sample: Sample) -> Mean:
    """Mean with its error; on the genes for other patients, as all splits share these."""
    if "gene" not in claim.measures[0]:
        return mean_of(sample)
    dataset = claim.columns[0].partition(":")[0]
    held_out = PROTOCOLS[protocol].hold_out_fifty
    share = (PATIENTS[dataset] - TRAINING_ROWS) / TRAINING_ROWS if held_out else 0.25
    return resampled_mean(sample, share, by_trial=held_out)


def _difference(claim: Claim, values: Values, one: str, other: str) -> Sample:
    sample = draws_of(values, one, claim.columns)
    if not other:
        return sample
    return difference_of(sample, draws_of(values, other, claim.columns))


def _name(method: str) -> str:
    """Name of a method in tables; of a task of the theory, what it is called there."""
    return METHODS[method].name if method in METHODS else f"{method} task"


# ------------------------------------------------------------------------------ what is
# measured


def _of_tables(measure: str, results: Results, protocol: str) -> Values:
    return results.table(protocol, measure)


def _falls(measure: str, results: Results, protocol: str) -> Values:
    return results.falls(protocol, measure)


def _over_r(results: Results, protocol: str) -> Values:
    return simulated(results.figure2[protocol], PROTOCOLS[protocol], "auc")


def _rise(results: Results, ratio: float, first: int, last: int) -> Values:
    read = rise_between(first, last)
    sample = results.over_draws("auc", "published", ratio, read)
    return {("sht-auc", ""): sample} if sample else {}


def _settling(results: Results, _: str) -> Values:
    preset = results.request.preset
    half, window = preset.figure1_epochs // 2, preset.figure1_epochs // 6
    return _rise(results, max(preset.figure1_ratios), half, half + window)


def _rising(results: Results, _: str) -> Values:
    preset = results.request.preset
    last = preset.figure1_epochs
    return _rise(results, min(preset.figure1_ratios), last - last // 6, last)


def _epochs(scale: Literal["published", "paper"], results: Results, _: str) -> Values:
    """Epochs that the least share of positives takes more than the largest."""
    ratios = results.request.preset.figure1_ratios
    few, even = (
        results.over_draws("objective", scale, r, epochs_to(0.99))
        for r in (min(ratios), max(ratios))
    )
    return {("sht-auc", ""): difference_of(few, even)}


def _at_k(
    field: Literal["precision", "recall"], results: Results, protocol: str
) -> Values:
    """Numbers by k, as columns such as colon:29; and means over all k from 5 to 100."""
    found: AtK = getattr(results.genes[protocol], field)
    values = {
        (method, f"{name}:{k}"): sample for (method, name, k), sample in found.items()
    }
    many: dict[tuple[str, str], list[Sample]] = {}
    for (method, name, k), sample in found.items():
        if k and 5 <= float(k) <= 100:
            many.setdefault((method, f"{name}:5-100"), []).append(sample)
    means = {
        place: {
            key: float(np.mean([sample[key] for sample in samples]))
            for key in samples[0]
        }
        for place, samples in many.items()
    }
    return values | means


def _gains(
    some: Callable[[float], bool],
    others: Callable[[float], bool],
    results: Results,
    protocol: str,
) -> Values:
    """AUC at the best k of some less that at the best of others."""
    genes = results.genes[protocol]
    known = dict.fromkeys(k for *_, k in genes.auc if k)
    ks, rest = ([k for k in known if among(float(k))] for among in (some, others))
    return {
        (method, dataset): genes.gain(method, dataset, ks, rest)
        for method in HARD_THRESHOLDING
        for dataset in PATIENTS
    }


def _seconds(results: Results, _: str) -> Values:
    width = str(max(results.request.preset.cost_columns))
    return {at: sample for at, sample in results.seconds.items() if at[1] == width}


def _of_theory(number: Callable[[Result], float], results: Results, _: str) -> Values:
    """A number of every table of each task; tables of a ratio are its parts."""
    return {
        (name, ""): {
            (place, table): number(measurement)
            for place, tables in enumerate(found.values())
            for table, measurement in enumerate(tables)
            if not isnan(number(measurement))
        }
        for name, found in results.theory.items()
    }


def _more_with_imbalance(field: str, results: Results, _: str) -> Values:
    """How much more a number is at the least share of positives than at the largest."""
    values: Values = {}
    for name, found in results.theory.items():
        pairs = zip(found[min(found)], found[max(found)], strict=True)
        values[name, ""] = {
            (table, 0): few[field] - even[field]
            for table, (few, even) in enumerate(pairs)
        }
    return values


def _room(measurement: Result) -> float:
    """Room between a run and Theorem 1's bound; NaN where the theorem makes none."""
    return float(measurement["slack"]) if measurement["kappa"][1] < 1 else float("nan")


# What claims are judged by: results and the name of a protocol give values by method
# and column.
MEASURES: Mapping[str, Callable[[Results, str], Values]] = {
    "auc": partial(_of_tables, "auc"),
    "auc of the list": partial(_of_tables, "auc of the list"),
    "f1": partial(_of_tables, "f1"),
    "jaccard": partial(_of_tables, "jaccard"),
    "f1 given": partial(_of_tables, "f1 given"),
    "jaccard given": partial(_of_tables, "jaccard given"),
    "auc over r": _over_r,
    "fall of auc": partial(_falls, "auc"),
    "fall of f1": partial(_falls, "f1"),
    "settling": _settling,
    "rising": _rising,
    "epochs published": partial(_epochs, "published"),
    "epochs paper": partial(_epochs, "paper"),
    "gene auc": lambda results, protocol: results.genes[protocol].tuned,
    "gene precision": partial(_at_k, "precision"),
    "gene recall": partial(_at_k, "recall"),
    "gene peak": partial(
        _gains, lambda k: 30 <= k <= 100, lambda k: not 30 <= k <= 100
    ),
    "gene end": partial(_gains, lambda k: k == 500, lambda k: k == 100),
    "seconds on the wider table": _seconds,
    "curvature": partial(_of_theory, lambda measurement: measurement["rho_minus"][1]),
    "room": partial(_of_theory, _room),
    "printed κ": partial(_of_theory, lambda measurement: measurement["printed_kappa"]),
    "slower": partial(_more_with_imbalance, "rate"),
    "left": partial(_more_with_imbalance, "remaining"),
}


# ----------------------------------------------------------------------------- in words


def count_verdicts(claims: Sequence[Judged]) -> str:
    """Say how many claims hold, under each protocol and apart from both."""
    parts = []
    for name, words in (
        ("published", "Published protocol"),
        ("corrected", "Corrected protocol"),
        (ANY, "Independent of the protocol (Figure 1, times, theory)"),
    ):
        counts = Counter(
            verdicts[name].kind for _, verdicts in claims if name in verdicts
        )
        said = [
            f"{counts[kind]} {of_several}"
            for kind, (_, of_several) in WORDS.items()
            if counts[kind]
        ]
        if said:
            parts.append(f"{words}: {', '.join(said)}.")
    return " ".join(parts)
