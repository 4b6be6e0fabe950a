"""Claims on the gene data: Table III, Figures 3 and 4."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from . import printed
from .claim import COMPARABLE, CONVEX, L0_RIVALS, OURS, Claim, equal, rivals
from .estimates import Sample, Values, difference_of, mean_of, resampled_mean, shown
from .gene_summaries import RealResults, results_under
from .methods import METHODS
from .plan import Request
from .protocols import HARD_THRESHOLDING, PROTOCOLS
from .real import PATIENTS, TRAINING_ROWS
from .summaries import Outcomes
from .verdicts import (
    MISSING,
    Judge,
    Kind,
    Ruler,
    Verdict,
    compare,
    judge_better,
    judge_equal,
    known,
    together,
)

# Shares of related genes within this are called comparable: about half a gene of thirty.
SHARE_COMPARABLE = 0.02
# Change of AUC from k = 100 on that is called saturated.
SATURATED = 0.01


def gene_ruler(protocol: str, dataset: str) -> Ruler:
    """Rule of differences between splits of the same patients."""
    held_out = PROTOCOLS[protocol].hold_out_fifty
    share = (PATIENTS[dataset] - TRAINING_ROWS) / TRAINING_ROWS if held_out else 0.25

    def show(sample: Sample) -> str:
        wide = resampled_mean(sample, share, by_trial=held_out)
        here = mean_of(sample, by_trial=True)
        return f"{shown(wide)}; on these patients ± {here.half_width():.3f}, {here.draws} trials"

    return Ruler(lambda sample: resampled_mean(sample, share, by_trial=held_out), show)


def _by_protocol(
    genes: Mapping[str, RealResults], judge: Callable[[str, RealResults], Verdict]
) -> dict[str, Verdict]:
    return {name: judge(name, found) for name, found in genes.items()}


def claims_of_table3(request: Request, outcomes: Outcomes) -> Iterator[Claim]:
    """Claims on AUC."""
    genes = {name: results_under(request, name, outcomes) for name in PROTOCOLS}
    evidence = ("Table III", "table3")
    for dataset in ("colon", "leukemia"):
        lists: tuple[tuple[str, str, Sequence[str], Sequence[str], Judge, bool], ...] = (
            (
                "our algorithm SHT-AUC has highest AUC score among all methods", "",
                [OURS], rivals(OURS), judge_better, True,
            ),
            (
                "StoIHT and HSG-HT also give comparable AUC scores",
                f"within {COMPARABLE:g} of SHT-AUC", [OURS], L0_RIVALS, equal(COMPARABLE), False,
            ),
            (
                "The performance of SPAM, FSAUC and SOLAM are second tier",
                "below SHT-AUC, StoIHT and HSG-HT", HARD_THRESHOLDING, CONVEX, judge_better, True,
            ),
            (
                "the advantage of ℓ₀-based over ℓ₁-based stochastic algorithms in AUC maximization",
                "SHT-AUC against SPAM-l1 and FSAUC", [OURS], ["spam-l1", "fsauc"], judge_better,
                True,
            ),
        )  # fmt: skip
        for quotation, words, better, worse, judge, margins in lists:

            def verdict(
                name: str,
                found: RealResults,
                of: tuple[str, Sequence[str], Sequence[str], Judge, bool] = (
                    dataset, better, worse, judge, margins,
                ),
            ) -> Verdict:  # fmt: skip
                dataset, better, worse, judge, margins = of
                return compare(
                    found.tuned, better, worse, judge, columns=[dataset],
                    table=printed.REAL_AUC if margins else None, ruler=gene_ruler(name, dataset),
                )  # fmt: skip

            yield Claim(
                quotation, "; ".join(filter(None, [dataset, words])), evidence,
                _by_protocol(genes, verdict),
            )  # fmt: skip


def claims_of_gene_figures(request: Request, outcomes: Outcomes) -> Iterator[Claim]:
    """Claims on k and on related genes."""
    genes = {name: results_under(request, name, outcomes) for name in PROTOCOLS}
    third, fourth = ("Figure 3", "figure3"), ("Figure 4", "figure4")
    yield Claim(
        "SHT-AUC, StoIHT and HSG-HT reach their highest AUC scores when k is moderately larger "
        "than k*",
        "colon, k* = 29: k from 30 to 100",
        third,
        _by_protocol(genes, lambda name, found: _peaks(name, found, "colon", 30, 100)),
    )
    yield Claim(
        "the AUC scores are saturated after certain k",
        f"leukemia: k = 500 and k = 100 are within {SATURATED:g}",
        third,
        _by_protocol(genes, lambda name, found: _saturated(name, found, "leukemia")),
    )
    at = (
        ("HSG-HT returns the best percentage when the sparsity is k = 5", "colon", "hsg-ht", "5"),
        (
            "when k = 29, which is the number of related genes, SHT-AUC can achieve the highest "
            "percentage of related genes", "colon", OURS, "30",
        ),
        (
            "SHT-AUC recovers the best percentage also when sparsity is the number of related "
            "genes, i.e. k = 32, and significantly outperforms HSG-HT and StoIHT",
            "leukemia", OURS, "30",
        ),
    )  # fmt: skip
    for quotation, dataset, method, k in at:
        others = [key for key in HARD_THRESHOLDING if key != method]

        def largest(
            name: str,
            found: RealResults,
            of: tuple[str, str, str, Sequence[str]] = (dataset, method, k, others),
        ) -> Verdict:
            dataset, method, k, others = of
            verdict = compare(
                _at_k(found.share, dataset, k), [method], others, ruler=gene_ruler(name, dataset)
            )
            leads = _leads(found.share, dataset, method)
            return verdict._replace(numbers=verdict.numbers + leads) if leads else verdict

        yield Claim(quotation, f"{dataset}, at k = {k}", fourth, _by_protocol(genes, largest))
    yield Claim(
        "SHT-AUC and HSG-HT are comparable in general",
        f"colon, share of related genes over all k from 5 to 100, within {SHARE_COMPARABLE:g}",
        fourth,
        _by_protocol(genes, lambda name, found: _comparable_shares(name, found, "colon")),
    )


def _at_k(values: Mapping[tuple[str, str, str], Sample], dataset: str, k: str) -> Values:
    return {(key, ""): v for (key, *at), v in values.items() if at == [dataset, k]}


def _leads(share: Mapping[tuple[str, str, str], Sample], dataset: str, method: str) -> str:
    """At which k the method has the largest mean share."""
    ks = sorted({float(k) for _, name, k in share if name == dataset and k})
    leading = []
    for k in ks:
        means = {key: mean_of(v).mean for (key, _), v in _at_k(share, dataset, f"{k:g}").items()}
        if method in means and means[method] == max(means.values()) and len(means) > 1:
            leading.append(f"{k:g}")
    if not leading:
        return "; it leads at no k" if ks else ""
    return f"; it leads at k = {', '.join(leading)}"


def _peaks(name: str, found: RealResults, dataset: str, low: int, high: int) -> Verdict:
    """Judge whether the best k of each method lies in a range."""
    ruler, kinds, parts = gene_ruler(name, dataset), [], []
    for method in HARD_THRESHOLDING:
        ks = [k for key, at, k in found.by_k if (key, at) == (method, dataset) and k]
        inside = [k for k in ks if low <= float(k) <= high]
        if not inside:
            continue
        best = found.best_k[method, dataset]
        near = max(inside, key=lambda k: mean_of(found.by_k[method, dataset, k]).mean)
        ahead = difference_of(found.by_k[method, dataset, best], found.by_k[method, dataset, near])
        kind: Kind = "holds"
        if best not in inside:
            change = ruler.summarise(ahead)
            kind = "fails" if known(change) and change.bounds()[0] > 0 else "open"
        kinds.append(kind)
        more = "" if best in inside else f", {shown(ruler.summarise(ahead))} ahead of k = {near}"
        parts.append(f"{METHODS[method].name} at k = {best}{more}")
    return Verdict(together(kinds, complete=len(kinds) == 3), "; ".join(parts))


def _saturated(name: str, found: RealResults, dataset: str) -> Verdict:
    ruler, kinds, parts = gene_ruler(name, dataset), [], []
    for method in HARD_THRESHOLDING:
        ends = [found.by_k.get((method, dataset, k), {}) for k in ("500", "100")]
        if all(ends):
            change = ruler.summarise(difference_of(*ends))
            kinds.append(judge_equal(change, SATURATED, len(HARD_THRESHOLDING)))
            parts.append(f"{METHODS[method].name} {shown(change)}")
    return Verdict(together(kinds, complete=len(kinds) == 3), "; ".join(parts))


def _comparable_shares(name: str, found: RealResults, dataset: str) -> Verdict:
    samples: dict[str, list[Sample]] = {OURS: [], "hsg-ht": []}
    for (key, at, k), sample in found.share.items():
        if at == dataset and key in samples and k and 5 <= float(k) <= 100:
            samples[key].append(sample)
    if not all(samples.values()):
        return MISSING
    means = {
        key: {at: float(np.mean([s[at] for s in many])) for at in many[0]}
        for key, many in samples.items()
    }
    change = difference_of(means[OURS], means["hsg-ht"])
    ruler = gene_ruler(name, dataset)
    kind = judge_equal(ruler.summarise(change), SHARE_COMPARABLE)
    return Verdict(kind, f"SHT-AUC − HSG-HT {ruler.show(change)}")
