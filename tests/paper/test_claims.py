"""Verdicts on made-up results whose truth is known."""

from dataclasses import replace

import numpy as np
import pytest
from test_summaries import genes, synthetic
from tiny import TINY

from sparseauc_paper import plan
from sparseauc_paper.claims import claims_listing, judge_claims
from sparseauc_paper.methods import PAPER_METHODS
from sparseauc_paper.plan import Request
from sparseauc_paper.report import make_report

pytestmark = pytest.mark.slow

PRESET = replace(TINY, sparsities=(40, 60), trials=6, real_trials=12)


def tables(request, protocol, value, noise=0.02):
    """Outcomes of Tables I and II with the value of each method, and noise that draws share."""
    rng = np.random.default_rng(1)
    shared = {}
    outcomes = {}
    for (method, column, trial, fold), task in plan.table_tasks(request, protocol).items():
        move = shared.setdefault((column, trial, fold), rng.normal(0, 0.1))
        auc, f1 = value[method]
        own = rng.normal(0, noise)
        outcomes[task] = synthetic(np.clip(auc + move + own, 0, 1), np.clip(f1 + own, 0.01, 1))
    return outcomes


def verdict(claims, words, protocol="published"):
    (claim,) = (claim for claim in claims if words in claim.text)
    return claim.verdicts[protocol]


@pytest.mark.parametrize(
    ("ours", "expected"), [(0.7, "holds"), (0.6, "cannot be told"), (0.5, "does not hold")]
)
def test_best_is_judged_against_the_strongest_rival(ours, expected):
    request = Request(PRESET, "published", PAPER_METHODS, seed=0, datasets=())
    value = dict.fromkeys(PAPER_METHODS, (0.5, 0.2))
    value |= {"sht-auc": (ours, 0.4), "fsauc": (0.6, 0.2)}
    claims = judge_claims(request, tables(request, "published", value))
    text = verdict(claims, "best AUC at k* = 40")
    assert text.startswith(f"{expected}: ")
    assert text.endswith("against FSAUC")
    # Nothing was run under the other protocol.
    (claim,) = (claim for claim in claims if "best AUC" in claim.text)
    assert set(claim.verdicts) == {"published"}


@pytest.mark.parametrize(("theirs", "expected"), [(0.2, "holds"), (0.38, "does not hold")])
def test_twice_as_well(theirs, expected):
    request = Request(PRESET, "corrected", ("sht-auc", "sto-iht"), seed=0, datasets=())
    value = {"sht-auc": (0.7, 0.4), "sto-iht": (0.7, theirs)}
    claims = judge_claims(request, tables(request, "corrected", value, noise=0.005))
    text = verdict(claims, "about twice", "corrected")
    assert text.startswith(f"{expected}: ")
    times = float(text.removeprefix(f"{expected}: ").split()[0])
    assert times == pytest.approx(0.4 / theirs, abs=0.05)


def test_few_values_tell_nothing():
    preset = replace(PRESET, trials=1)
    request = Request(preset, "published", ("sht-auc", "sto-iht"), seed=0, datasets=())
    value = {"sht-auc": (0.9, 0.9), "sto-iht": (0.5, 0.1)}
    claims = judge_claims(request, tables(request, "published", value))
    assert all(
        text.startswith("cannot be told")
        for claim in claims
        if claim.evidence[1] != "section-theory"
        for text in claim.verdicts.values()
    )


@pytest.mark.usefixtures("data_folder")
def test_genes_count_trials_not_values():
    """Five values of a trial judge the same rows: they are one."""
    request = Request(PRESET, "published", ("sht-auc", "hsg-ht"), seed=0, datasets=("colon",))
    outcomes = {}
    for (method, _, trial, _), task in plan.real_tasks(request, "published").items():
        auc = 0.8 + 0.01 * (trial % 3) + 0.05 * (method == "sht-auc")
        outcomes[task] = genes({"5": auc, "30": auc}, "5", markers=3 - (method == "sht-auc"))
    claims = judge_claims(request, outcomes)
    text = verdict(claims, "best AUC on colon")
    assert text.startswith("holds: +0.050 ± 0.000, n = 12 against HSG-HT")
    assert verdict(claims, "HSG-HT has the largest share").startswith("holds: +0.250")
    assert verdict(claims, "SHT-AUC has the largest share").startswith("does not hold: −0.250")


def test_the_table_links_to_evidence_that_is_shown():
    request = Request(PRESET, "published", ("sht-auc", "sto-iht"), seed=0, datasets=())
    value = {"sht-auc": (0.9, 0.9), "sto-iht": (0.5, 0.1)}
    outcomes = tables(request, "published", value)
    claims = judge_claims(request, outcomes)
    frame = claims_listing(claims, ("table1",)).frame
    assert set(frame["evidence"]) == {"[Table I](#table1)", "Table II", "theory"}
    report = make_report(request, ("table1",), outcomes, facts={}, missing_data={})
    assert "Yang" in report.lead
    assert report.sections[0].elements[0].name == "claims"
