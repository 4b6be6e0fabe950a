"""What the paper claims, in its own words, and whether it holds."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import pandas as pd

from .claim import Claim
from .estimates import FEWEST
from .gene_claims import claims_of_gene_figures, claims_of_table3
from .page import Listing
from .plan import Request
from .simulation_claims import (
    claim_of_times,
    claims_of_figure1,
    claims_of_figure2,
    claims_of_table1,
    claims_of_table2,
)
from .summaries import Outcomes
from .theory.claims import claims_of_theory
from .verdicts import Kind


def judge_claims(request: Request, outcomes: Outcomes) -> list[Claim]:
    """Judge all claims that can be measured; those without results say so."""
    return [
        *claims_of_table1(request, outcomes),
        *claims_of_table2(request, outcomes),
        *claims_of_figure1(request, outcomes),
        *claims_of_figure2(request, outcomes),
        *claims_of_table3(request, outcomes),
        *claims_of_gene_figures(request, outcomes),
        claim_of_times(request, outcomes),
        *claims_of_theory(),
    ]


def count_verdicts(claims: Sequence[Claim]) -> str:
    """Say how many claims hold, under each protocol and apart from both."""
    parts = []
    for name, words in (
        ("published", "Published protocol"),
        ("corrected", "Corrected protocol"),
        ("", "Independent of the protocol (Figure 1, times, theory)"),
    ):
        counts = Counter(claim.verdicts[name].kind for claim in claims if name in claim.verdicts)
        said = [
            f"{counts[kind]} {'do' if kind == 'fails' and counts[kind] != 1 else ''}{ending}"
            for kind, ending in _COUNTED.items()
            if counts[kind]
        ]
        if said:
            parts.append(f"{words}: {', '.join(said).replace('  ', ' ')}.")
    return " ".join(parts)


_COUNTED: Mapping[Kind, str] = {
    "holds": "hold",
    "fails": " not hold",
    "open": "cannot be told",
    "missing": "not run",
}


def claims_listing(claims: Sequence[Claim], anchors: Collection[str]) -> Listing:
    """Make the table of claims for the front page; evidence that is shown there is a link."""

    def under(claim: Claim, protocol: str) -> str:
        if "" in claim.verdicts:
            return str(claim.verdicts[""]) if protocol == "published" else "the same"
        return str(claim.verdicts.get(protocol, "–"))

    return Listing(
        "claims",
        "The paper's claims, one by one",
        f"{count_verdicts(claims)}\n\n"
        "± is half of a 95 % interval. Simulation: Student's t over draws, differences taken draw "
        "by draw; the error is that of draws or that of values, whichever is larger. Genes: the "
        "first ± is corrected for splits that share their rows (Nadeau and Bengio) and speaks of "
        "other patients like these; the second speaks of these patients alone. "
        "“Better” holds where the whole interval of the difference is above 0 against every rival; "
        "it does not where, against some rival, the interval is below 0 or does not reach the "
        "printed difference, with intervals widened for the number of rivals (Bonferroni); it "
        f"cannot be told otherwise, from fewer than {FEWEST} values, or without a rival. "
        "An interval misses the truth once in twenty times: some verdicts are wrong by chance.",
        pd.DataFrame(
            {
                "the paper": f"“{claim.quotation}”{f' ({claim.judged})' if claim.judged else ''}",
                "published protocol": under(claim, "published"),
                "corrected protocol": under(claim, "corrected"),
                "evidence": f"[{claim.evidence[0]}](#{claim.evidence[1]})"
                if claim.evidence[1] in anchors
                else claim.evidence[0],
            }
            for claim in claims
        ),
        digits=0,
    )
