"""Verdicts on made-up results whose truth is known."""

import os
import re
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from sparseauc_paper import plan
from sparseauc_paper.claims import claims_listing, judge_claims
from sparseauc_paper.estimates import Mean
from sparseauc_paper.methods import PAPER_METHODS
from sparseauc_paper.plan import Request
from sparseauc_paper.report import make_report
from sparseauc_paper.verdicts import judge_better, judge_equal, judge_more
from test_summaries import genes, synthetic
from tiny import TINY

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
    """The only claim with these words, or the first of several."""
    return next(c for c in claims if words in c.quotation).verdicts[protocol]


def request_for(*methods, protocol="published", **changes):
    return Request(replace(PRESET, **changes), protocol, methods, seed=0, datasets=())


@pytest.mark.parametrize(("ours", "kind"), [(0.7, "holds"), (0.6, "fails"), (0.5, "fails")])
def test_best_is_judged_against_every_rival(ours, kind):
    """Equal to FSAUC is no advantage: the interval does not reach the printed one."""
    request = request_for(*PAPER_METHODS)
    value = dict.fromkeys(PAPER_METHODS, (0.5, 0.2))
    value |= {"sht-auc": (ours, 0.4), "fsauc": (0.6, 0.2)}
    claims = judge_claims(request, tables(request, "published", value, noise=0.002))
    found = verdict(claims, "best AUC score")
    assert found.kind == kind
    assert "SHT-AUC − FSAUC" in found.numbers
    assert "draws" in found.numbers
    # Nothing was run under the other protocol.
    assert verdict(claims, "best AUC score", "corrected").kind == "missing"


def test_a_noisy_rival_that_is_far_behind_leaves_the_claim_open():
    request = request_for(*PAPER_METHODS)
    value = dict.fromkeys(PAPER_METHODS, (0.5, 0.2)) | {"sht-auc": (0.56, 0.4)}
    outcomes = tables(request, "published", value, noise=0.002)
    rng = np.random.default_rng(0)
    for (method, *_), task in plan.table_tasks(request, "published").items():
        if method == "solam":
            outcomes[task] = synthetic(float(np.clip(0.5 + rng.normal(0, 0.4), 0, 1)), 0.2)
    found = verdict(judge_claims(request, outcomes), "best AUC score")
    assert found.kind == "open"
    assert "SOLAM" in found.numbers


def test_never_holds_without_a_rival():
    request = request_for("sht-auc", "sto-iht")
    value = {"sht-auc": (0.9, 0.9), "sto-iht": (0.5, 0.1)}
    found = verdict(judge_claims(request, tables(request, "published", value)), "best AUC score")
    assert found.kind == "open"
    assert "without SPAM-l1" in found.numbers


def test_columns_with_k_tuned_and_with_k_given():
    """All know k*, or none does: two claims, of which the programs have one."""
    request = request_for(*PAPER_METHODS, protocol="corrected")
    value = dict.fromkeys(PAPER_METHODS, (0.6, 0.2)) | {"sht-auc": (0.6, 0.4)}
    outcomes = tables(request, "corrected", value, noise=0.002)
    for task, outcome in outcomes.items():
        result = dict(outcome.result)
        result["f1_told"] = 0.9 if task.settings["method"] == "fsauc" else 0.5
        outcomes[task] = replace(outcome, result=result)
    both = [c for c in judge_claims(request, outcomes) if c.judged.startswith("F1; corrected: k")]
    kinds = {c.judged: c.verdicts["corrected"].kind for c in both if "In both" in c.quotation}
    assert kinds == {
        "F1; corrected: k tuned by all methods": "holds",
        "F1; corrected: k* given to all methods": "fails",
    }


def test_few_values_tell_nothing():
    request = request_for("sht-auc", "sto-iht", trials=1)
    value = {"sht-auc": (0.9, 0.9), "sto-iht": (0.5, 0.1)}
    claims = judge_claims(request, tables(request, "published", value))
    kinds = {
        found.kind
        for claim in claims
        if claim.evidence[1] != "section-theory"
        for found in claim.verdicts.values()
    }
    assert kinds == {"open", "missing"}


@pytest.mark.parametrize(
    ("change", "judged", "kind"),
    [
        ((0.0, 0.004), partial(judge_equal, within=0.02), "holds"),
        ((0.05, 0.004), partial(judge_equal, within=0.02), "fails"),
        ((0.02, 0.004), partial(judge_equal, within=0.02), "open"),
        ((0.06, 0.004), partial(judge_more, than=0.05), "holds"),
        ((0.02, 0.004), partial(judge_more, than=0.05), "fails"),
        ((0.05, 0.004), partial(judge_more, than=0.05), "open"),
        ((0.01, 0.02), judge_better, "open"),
        ((0.01, 0.02), partial(judge_better, margin=0.08), "fails"),
        ((-0.009, 0.0065), partial(judge_better, margin=0.011), "fails"),
        ((-0.009, 0.0065), partial(judge_better, margin=0.003), "open"),
    ],
)  # fmt: skip
def test_judging_by_an_interval(change, judged, kind):
    mean, se = change
    assert judged(Mean(mean, se, 0.1, 40, 0, 39, 40)) == kind


def test_many_rivals_widen_the_interval_that_speaks_against():
    change = Mean(-0.01, 0.004, 0.1, 40, 0, 39, 40)
    assert judge_better(change) == "fails"
    assert judge_better(change, n_tests=6) == "open"


@pytest.mark.usefixtures("data_folder")
def test_genes_are_judged_for_other_patients():
    """Splits of the same patients: a difference that is certain on these may say nothing more."""
    request = Request(PRESET, "published", ("sht-auc", "hsg-ht"), seed=0, datasets=("colon",))
    rng = np.random.default_rng(0)
    outcomes = {}
    for (method, *_), task in plan.real_tasks(request, "published").items():
        auc = 0.8 + 0.01 * rng.normal() + 0.012 * (method == "sht-auc")
        outcomes[task] = genes({"5": auc, "30": auc}, "5", markers=3 - (method == "sht-auc"))
    claims = judge_claims(request, outcomes)
    (best,) = (
        c.verdicts["published"]
        for c in claims
        if "highest AUC" in c.quotation and c.judged == "colon"
    )
    assert best.kind == "open", "rivals are missing"
    wide, here = re.search(
        r"± ([\d.]+); on these patients ± ([\d.]+), 12 trials", best.numbers
    ).groups()
    assert float(wide) > 1.5 * float(here)
    assert verdict(claims, "HSG-HT returns the best percentage").kind == "open"
    assert "+0.250" in verdict(claims, "HSG-HT returns the best percentage").numbers
    assert verdict(claims, "when k = 29").kind == "fails"
    # Leukemia was not run.
    assert verdict(claims, "saturated").kind == "missing"


def test_the_table_links_to_evidence_that_is_shown_and_counts_verdicts():
    request = request_for("sht-auc", "sto-iht")
    value = {"sht-auc": (0.9, 0.9), "sto-iht": (0.5, 0.1)}
    outcomes = tables(request, "published", value)
    claims = judge_claims(request, outcomes)
    listing = claims_listing(claims, {"table1"})
    evidence = set(listing.frame["evidence"])
    assert {"[Table I](#table1)", "Table II", "theory"} <= evidence
    counts = Counter(c.verdicts["published"].kind for c in claims if "published" in c.verdicts)
    assert f"{counts['open']} cannot be told" in listing.caption
    assert all(text[0] in "✔✘?–" for text in listing.frame["published protocol"])
    report = make_report(request, ("table1",), outcomes, facts={}, missing_data={})
    assert "Yang" in report.lead
    assert [section.name for section in report.sections[:2]] == ["summary", "overview"]


@pytest.mark.skipif("SPARSEAUC_PAPER" not in os.environ, reason="needs the paper's text")
def test_quotations_are_the_papers_words():
    """Letter by letter, but for the signs of TeX."""
    text = (Path(os.environ["SPARSEAUC_PAPER"]) / "sht-auc.tex").read_text(encoding="utf-8")

    def plain(words):
        words = re.sub(r"~?\\(cite|ref|eqref|footnote)\{[^}]*\}", "", words)
        words = words.replace(r"\shtauc", "SHT-AUC").replace(r"\ell", "l")
        words = re.sub(r"\\[a-z]+", "", words).translate(str.maketrans("₀₁₂²ℓ", "0122l"))
        return re.sub(r"[^a-z0-9]", "", words.lower())

    whole = plain(text)
    for claim in judge_claims(request_for("sht-auc"), {}):
        assert plain(claim.quotation) in whole, claim.quotation
