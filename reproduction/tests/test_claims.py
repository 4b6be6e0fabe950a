"""Verdicts on made-up results whose truth is known."""

import os
import re
from collections import Counter
from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest

from sparseauc_paper import plan, printed
from sparseauc_paper.claims import CLAIMS, MEASURES, Kind, judge, judge_claims, mean_of
from sparseauc_paper.estimates import Mean
from sparseauc_paper.methods import METHODS, PAPER_METHODS
from sparseauc_paper.plan import Request
from sparseauc_paper.report import claims_listing, make_report
from sparseauc_paper.results import Results
from sparseauc_paper.store import Outcome
from test_summaries import genes, synthetic
from tiny import TINY

PRESET = replace(TINY, sparsities=(40, 60), trials=6, real_trials=12)


def tables(request, protocol, value, noise=0.02):
    """Outcomes of Tables I and II with the value of each method, and noise that draws share."""
    rng = np.random.default_rng(1)
    shared = {}
    outcomes = {}
    for (method, column, trial, fold), task in plan.table_tasks(
        request, protocol
    ).items():
        move = shared.setdefault((column, trial, fold), rng.normal(0, 0.1))
        auc, f1 = value[method]
        own = rng.normal(0, noise)
        outcomes[task] = synthetic(
            np.clip(auc + move + own, 0, 1), np.clip(f1 + own, 0.01, 1)
        )
    return outcomes


def verdict(claims, words, protocol="published", judged=""):
    """The first claim with these words."""
    return next(
        verdicts[protocol]
        for claim, verdicts in claims
        if words in claim.quotation and judged in claim.judged and protocol in verdicts
    )


def request_for(*methods, protocol="published", **changes):
    return Request(replace(PRESET, **changes), protocol, methods, seed=0, datasets=())


def judged(request, outcomes):
    return judge_claims(Results(request, outcomes))


# ---------------------------------------------------------------------------------- the
# one rule


def mean(value, se, df=39):
    return Mean(value, se, df, 40, draws=40)


@pytest.mark.parametrize(
    ("change", "low", "high", "theirs", "kind"),
    [
        ((0.0, 0.004), -0.02, 0.02, None, "holds"),
        ((0.05, 0.004), -0.02, 0.02, None, "fails"),
        ((0.02, 0.004), -0.02, 0.02, None, "open"),
        ((0.06, 0.004), 0.05, inf, None, "holds"),
        ((0.02, 0.004), 0.05, inf, None, "fails"),
        ((0.05, 0.004), 0.05, inf, None, "open"),
        ((0.01, 0.02), 0.0, inf, None, "open"),
        ((0.01, 0.02), 0.0, inf, (0.08, 0.005), "smaller"),
        ((0.01, 0.02), 0.0, inf, (0.08, 0.04), "open"),  # print is not certain either
        ((0.05, 0.004), 0.0, inf, (0.2, 0.01), "holds"),
        ((-0.009, 0.0065), 0.0, inf, (0.011, 0.001), "smaller"),
        ((-0.009, 0.0065), 0.0, inf, (0.003, 0.001), "open"),
        ((-0.02, 0.004), 0.0, inf, (0.011, 0.001), "fails"),
    ],
)
def test_judging_by_an_interval(change, low, high, theirs, kind):
    print_ = None if theirs is None else mean(*theirs)
    assert judge(mean(*change), low, high, print_) == kind


def test_many_rivals_widen_the_interval_that_speaks_against():
    change = mean(-0.01, 0.004)
    assert judge(change) == "fails"
    assert judge(change, n_tests=6) == "open"
    theirs = mean(0.025, 0.011)
    assert judge(mean(0.001, 0.004), 0, inf, theirs) == "smaller"
    assert judge(mean(0.001, 0.004), 0, inf, theirs, n_tests=6) == "open"


def verdicts_by_draws(truth, margin, draws, runs=400, seed=0):
    """How often each verdict is given on simulated differences, print being simulated too."""
    rng = np.random.default_rng(seed)
    counts: Counter[Kind] = Counter()
    for _ in range(runs):
        ours = rng.normal(truth, 0.1, draws)
        theirs = rng.normal(margin, 0.1, 5)
        samples = [
            {(i, 0): value for i, value in enumerate(part)} for part in (ours, theirs)
        ]
        counts[judge(mean_of(samples[0]), 0, inf, mean_of(samples[1]))] += 1
    return {kind: counts[kind] / runs for kind in ("holds", "fails", "smaller", "open")}


@pytest.mark.parametrize("truth", [-0.05, -0.02, 0.0, 0.02, 0.05])
@pytest.mark.parametrize("margin", [0.0, 0.05, 0.3])
def test_more_draws_make_verdicts_sharper_and_do_not_reverse_them(truth, margin):
    few, many = (verdicts_by_draws(truth, margin, n) for n in (12, 200))
    # 2.5 % on either side, and what 400 runs leave uncertain of it.
    wrong = 0.025 + 3 * np.sqrt(0.025 * 0.975 / 400)
    for rates in (few, many):
        if truth >= 0:
            assert rates["fails"] <= wrong
        if truth <= 0:
            assert rates["holds"] <= wrong
        if margin <= truth:
            assert rates["smaller"] <= wrong
    right = "holds" if truth > 0 else "fails"
    if truth != 0:
        assert many[right] >= few[right]
    if abs(truth) == 0.05:
        assert many[right] > 0.99


# ------------------------------------------------------------------------------- claims
# as data


def test_every_claim_names_what_there_is():
    for claim in CLAIMS:
        assert set(claim.measures) <= set(MEASURES)
        assert set(claim.protocols) <= {"published", "corrected", "any"}
        assert {*claim.better, *claim.worse} <= {*METHODS, "paper", "easy"}
        assert claim.low < claim.high
        assert claim.quotation or claim.judged.startswith("Not quoted")


@pytest.mark.parametrize(
    ("ours", "kind"), [(0.7, "holds"), (0.6, "smaller"), (0.5, "fails")]
)
def test_best_is_judged_against_every_rival(ours, kind, monkeypatch):
    """Equal to FSAUC is no advantage, and less than was printed; it does not speak against it."""
    sure = {
        m: {c: replace(e, se=1e-4) for c, e in row.items()}
        for m, row in printed.AUC.items()
    }
    monkeypatch.setitem(printed.TABLES, "auc", sure)
    claims = [claim for claim in CLAIMS if "gives the best AUC" in claim.quotation]
    monkeypatch.setattr("sparseauc_paper.claims.CLAIMS", claims)
    request = request_for(*PAPER_METHODS)
    value = dict.fromkeys(PAPER_METHODS, (0.5, 0.2))
    value |= {"sht-auc": (ours, 0.4), "fsauc": (0.6, 0.2)}
    claims = judged(request, tables(request, "published", value, noise=0.002))
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
            outcomes[task] = synthetic(
                float(np.clip(0.5 + rng.normal(0, 0.4), 0, 1)), 0.2
            )
    found = verdict(judged(request, outcomes), "best AUC score")
    assert found.kind == "open"
    assert "SOLAM" in found.numbers


def test_never_holds_without_a_rival():
    request = request_for("sht-auc", "sto-iht")
    value = {"sht-auc": (0.9, 0.9), "sto-iht": (0.5, 0.1)}
    found = verdict(
        judged(request, tables(request, "published", value)), "best AUC score"
    )
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
    claims = judged(request, outcomes)
    kinds = [
        verdict(claims, "In both", "corrected", how).kind
        for how in ("F1; corr", "F1; k* g")
    ]
    assert kinds == ["holds", "fails"]
    assert not any(
        "published" in verdicts
        for claim, verdicts in claims
        if "k* given" in claim.judged
    )


@pytest.mark.parametrize(
    ("auc", "f1", "kind"),
    [(0.7, 0.2, "holds"), (0.6, 0.4, "holds"), (0.7, 0.1, "open"), (0.6, 0.1, "fails")],
)
def test_the_trade_off_is_that_of_one_model(auc, f1, kind):
    """AUC is that of the columns whose F1 is taken, not of the best dense answer."""
    request = request_for(*PAPER_METHODS, protocol="corrected")
    value = dict.fromkeys(PAPER_METHODS, (0.6, 0.2)) | {"sht-auc": (auc, f1)}
    outcomes = tables(request, "corrected", value, noise=0.002)
    for task, outcome in outcomes.items():
        if task.settings["method"] == "spam-l2":
            outcomes[task] = replace(outcome, result={**outcome.result, "auc": 0.99})
    assert verdict(judged(request, outcomes), "tradeoff", "corrected").kind == kind


def test_few_values_tell_nothing():
    request = request_for("sht-auc", "sto-iht", trials=1)
    value = {"sht-auc": (0.9, 0.9), "sto-iht": (0.5, 0.1)}
    claims = judged(request, tables(request, "published", value))
    kinds = {found.kind for _, verdicts in claims for found in verdicts.values()}
    assert kinds == {"open", "missing"}


@pytest.mark.usefixtures("data_folder")
def test_genes_are_judged_for_other_patients():
    """Splits of the same patients: a difference that is certain on these may say nothing more."""
    request = Request(
        PRESET, "published", ("sht-auc", "hsg-ht"), seed=0, datasets=("colon",)
    )
    rng = np.random.default_rng(0)
    outcomes = {}
    for (method, *_), task in plan.real_tasks(request, "published").items():
        auc = 0.8 + 0.01 * rng.normal() + 0.012 * (method == "sht-auc")
        outcomes[task] = genes(
            {"5": auc, "29": auc}, "5", markers=3 - (method == "sht-auc")
        )
    claims = judged(request, outcomes)
    best = verdict(claims, "highest AUC", judged="colon")
    assert best.kind == "open", "rivals are missing"
    wide, here = re.search(
        r"± ([\d.]+); on these patients ± ([\d.]+), 12 trials", best.numbers
    ).groups()
    assert float(wide) > 1.5 * float(here)
    assert verdict(claims, "HSG-HT returns the best percentage").kind == "open"
    assert "+0.250" in verdict(claims, "HSG-HT returns the best percentage").numbers
    for reading in ("precision", "recall"):
        assert verdict(claims, "when k = 29", judged=reading).kind == "fails"
    # Leukemia was not run.
    assert verdict(claims, "saturated").kind == "missing"


@pytest.mark.parametrize(("slow", "expected"), [(80.0, "holds"), (2.0, "fails")])
def test_convergence_is_judged_by_what_is_still_to_come(slow, expected):
    """At r = 0.5 training AUC has risen by epoch 30 of 60; at the other ratio it may rise on."""
    preset = replace(
        TINY, figure1_ratios=(0.2, 0.5), figure1_draws=6, figure1_epochs=60
    )
    request = Request(preset, "corrected", (), seed=0, datasets=())
    epochs = list(range(61))
    outcomes = {}
    for (_, ratio, _, draw), task in plan.figure1_tasks(request).items():
        pace = (2.0 if ratio == 0.5 else slow) * (1 + 0.01 * draw)
        rise = -np.expm1(-np.array(epochs) / pace)
        course = {
            "epochs": epochs,
            "auc": list(0.5 + 0.4 * rise),
            "objective": list(1 - rise),
        }
        outcomes[task] = Outcome(course | {"step": 0.1}, None, 0.0)
    last_ten = mean_of(
        MEASURES["rising"](Results(request, outcomes), "any")["sht-auc", ""]
    )
    by_hand = [
        (np.exp(-50 / p) - np.exp(-60 / p)) / (np.exp(-1 / p) - np.exp(-60 / p))
        for p in (slow * (1 + 0.01 * draw) for draw in range(6))
    ]
    assert last_ten.mean == pytest.approx(np.mean(by_hand))
    assert last_ten.draws == 6
    claims = judged(request, outcomes)
    assert verdict(claims, "when r = 0.05", "any").kind == expected
    assert verdict(claims, "when r = 0.5 ", "any").kind == "holds"


def test_a_fall_is_the_slope_of_a_line_through_all_ratios():
    preset = replace(TINY, ratios=(0.1, 0.3, 0.5), figure2_trials=12)
    request = Request(preset, "corrected", ("sht-auc",), 0, datasets=())
    outcomes = {
        task: synthetic(0.6 + 0.2 * float(ratio) + 0.01 * (-1) ** trial)
        for (_, ratio, trial, _), task in plan.figure2_tasks(
            request, "corrected"
        ).items()
    }
    sample = Results(request, outcomes).falls("corrected", "auc")["sht-auc", ""]
    assert list(sample.values()) == pytest.approx([0.2 * 0.4] * 24)


@pytest.mark.parametrize(
    ("fsauc", "counts"),
    [(7.0, "0 of 2 pairs hold, 2 do not"), (20.0, "1 of 2 pairs hold, 1 does")],
)
def test_times_are_judged_on_the_wider_table_in_powers_of_ten(fsauc, counts):
    preset = replace(TINY, cost_draws=12)
    request = Request(
        preset, "corrected", ("sht-auc", "spam-l1", "fsauc"), 0, datasets=()
    )
    outcomes = {}
    for (method, width, draw, _), task in plan.cost_tasks(request).items():
        seconds = {
            "sht-auc": 1.0,
            "spam-l1": 3.0,
            "fsauc": 7.0 if width == "30" else fsauc,
        }
        result = {
            **synthetic(0.6).result,
            "seconds": seconds[method] * (1 + 0.01 * draw),
        }
        outcomes[task] = Outcome(result, None, 1.0)
    wide = verdict(judged(request, outcomes), "orders of magnitude", "any")
    assert (wide.kind, counts in wide.numbers) == ("fails", True)


MEASURED = {
    "rho_minus": (0.5, 0.4),
    "kappa": (0.7, 0.8),
    "slack": 0.1,
    "printed_kappa": 1.7,
    "rate": 0.9,
    "remaining": 0.5,
    "rho_plus": (2.0, 2.0),
}


def theory(change=lambda name, r, found: found):
    preset = replace(TINY, theory_ratios=(0.05, 0.5), theory_tables=10)
    request = Request(preset, "corrected", (), 0, datasets=())
    outcomes = {}
    for (name, r, table), task in plan.theory_tasks(request).items():
        found = {
            **MEASURED,
            "rate": 0.9 - 0.2 * r + 0.001 * table,
            "remaining": 0.5 - 0.4 * r,
        }
        outcomes[task] = Outcome(change(name, r, found), None, 1.0)
    claims = judged(request, outcomes)
    return {
        place: verdicts["any"].kind
        for place, (claim, verdicts) in enumerate(claims)
        if claim.anchor == "section-theory"
    }


def test_theory_is_judged_by_measurements_and_altered_ones_change_the_verdict():
    kinds = theory()
    assert list(kinds.values()) == ["holds", "holds", "fails", "holds", "holds"]
    # One table against it is enough to refute what is said of all.
    changes = [
        {"rho_minus": (0.5, 0.0)},
        {"slack": -0.01},
        {"printed_kappa": 0.9},
        {"rate": 0.5},
        {"remaining": 0.1},
    ]
    for place, change in zip(kinds, changes, strict=True):

        def alter(name, r, found, change=change):
            return {**found, **change} if r == 0.05 else found

        altered = theory(alter)
        if "printed_kappa" in change:
            altered = theory(lambda name, r, found: {**found, "printed_kappa": 0.9})
        assert altered[place] == ("holds" if kinds[place] == "fails" else "fails")
        assert {p: kind for p, kind in altered.items() if p != place} == {
            p: kind for p, kind in kinds.items() if p != place
        }


def test_theorem_1_is_judged_where_its_condition_is_met():
    """A bound that it does not make cannot be broken."""
    place = list(theory())[1]
    silent = theory(
        lambda name, r, found: {**found, "kappa": (1.1, 1.2), "slack": -1.0}
    )
    assert silent[place] == "missing"


def test_the_table_links_to_evidence_that_is_shown_and_counts_verdicts():
    request = request_for("sht-auc", "sto-iht")
    value = {"sht-auc": (0.9, 0.9), "sto-iht": (0.5, 0.1)}
    outcomes = tables(request, "published", value)
    claims = judged(request, outcomes)
    listing = claims_listing(claims, {"table1"})
    evidence = set(listing.frame["evidence"])
    assert {"[Table I](#table1)", "Table II", "theory"} <= evidence
    counts = Counter(v["published"].kind for _, v in claims if "published" in v)
    assert f"{counts['open']} cannot be told" in listing.caption
    assert all(text[0] in "✔✘◐?–" for text in listing.frame["published protocol"])
    report = make_report(
        Results(request, outcomes), ("table1",), facts={}, missing_data={}
    )
    assert "Yang" in report.lead
    assert "2f338cd" in report.lead
    assert [section.name for section in report.sections[:2]] == ["summary", "overview"]


@pytest.mark.skipif(
    "SPARSEAUC_PAPER" not in os.environ, reason="needs the paper's text"
)
def test_quotations_are_the_papers_words():
    """Letter by letter, but for the signs of TeX."""
    text = (Path(os.environ["SPARSEAUC_PAPER"]) / "sht-auc.tex").read_text(
        encoding="utf-8"
    )

    def plain(words):
        words = re.sub(r"~?\\(cite|ref|eqref|footnote)\{[^}]*\}", "", words)
        words = words.replace(r"\shtauc", "SHT-AUC").replace(r"\ell", "l")
        words = re.sub(r"\\[a-z]+", "", words).translate(
            str.maketrans("₀₁₂²ℓ", "0122l")
        )
        return re.sub(r"[^a-z0-9]", "", words.lower())

    whole = plain(text)
    for claim in CLAIMS:
        assert plain(claim.quotation) in whole, claim.quotation
