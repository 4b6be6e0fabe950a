"""The numbers of a report: against other programs, naive versions and known cases."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from sparseauc.columns import Levels, Line
from sparseauc.datasets import make_outbreak
from sparseauc.metrics import auc_confidence_interval
from sparseauc_app.evaluation import alternatives, sample_size
from sparseauc_app.evaluation import evaluate as evaluate_module
from sparseauc_app.evaluation.evaluate import describe_candidates, evaluate
from sparseauc_app.evaluation.probabilities import (
    calibration_bins,
    calibration_curve,
    decision_curve,
)
from sparseauc_app.evaluation.sample_size import (
    development_size,
    r_squared_of_auc,
    validation_size,
)
from sparseauc_app.fitting import FitSettings, fit_table
from sparseauc_app.formatting import without_advice
from sparseauc_app.pages.html import render
from sparseauc_app.pages.model_figures import _score_bins
from sparseauc_app.pages.model_report import build_model_report
from sparseauc_app.pages.parts import list_items
from sparseauc_app.reading import Table
from sparseauc_app.scorecard import ScoreCard, Term


def make_table(n=160, d=12, seed=0):
    X, y = make_outbreak(n=n, d=d, k=3, mu=0.9, r=0.3, random_state=seed)
    names = tuple(f"gene {j}" for j in range(d))
    frame = pd.DataFrame(X, columns=names)
    return Table(
        frame, names, (y > 0).astype(np.int64), "state", "well", "ill", source="t.csv"
    )


@pytest.fixture(scope="module")
def summary():
    settings = FitSettings(
        k=3, alpha=1.0, stability_pairs=2, label="death within 30 days"
    )
    return fit_table(make_table(), settings)


@pytest.fixture(scope="module")
def steps():
    """What an evaluation has reported."""
    return []


@pytest.fixture(scope="module")
def evaluation(summary, steps):
    return evaluate(summary, lambda *step: steps.append(step))


# ------------------------------------------------------------------------- sample sizes


# AUC, prevalence, parameters; R², rows by three criteria: printed by pmsampsize 0.1.0.
DEVELOPMENT = [
    (0.8, 0.174, 24, 0.1668, (1171, 715, 221)),
    (0.7, 0.3, 10, 0.1031, (822, 264, 323)),
    (0.89, 0.05, 30, 0.1195, (2106, 1704, 73)),
    (0.65, 0.5, 5, 0.0689, (628, 127, 385)),
]


@pytest.mark.parametrize(("auc", "prevalence", "parameters", "r2", "rows"), DEVELOPMENT)
def test_development_sizes_are_those_of_pmsampsize(
    auc, prevalence, parameters, r2, rows, monkeypatch
):
    # That program finds R² by simulation.
    assert r_squared_of_auc(auc, prevalence) == pytest.approx(r2, abs=4e-4)
    monkeypatch.setattr(sample_size, "r_squared_of_auc", lambda *_: r2)
    found = development_size(auc, prevalence, parameters)
    assert (found.shrinkage, found.optimism, found.intercept) == rows
    assert found.rows == max(rows)


# AUC, prevalence, mean and deviation of the log odds; rows: printed by pmvalsampsize
# 0.2.1.
VALIDATION = [
    (0.8, 0.1, -2.6, 1.2, (3461, 4369, 836)),
    (0.7, 0.3, -0.9, 0.8, (898, 3971, 495)),
]


@pytest.mark.parametrize(("auc", "prevalence", "mean", "deviation", "rows"), VALIDATION)
def test_validation_sizes_are_those_of_pmvalsampsize(
    auc, prevalence, mean, deviation, rows
):
    log_odds = np.random.default_rng(0).normal(mean, deviation, 400_000)
    found = validation_size(log_odds, auc, prevalence)
    # Both search in steps or simulate, to three digits.
    assert (found.ratio, found.slope, found.auc) == pytest.approx(rows, rel=3e-3)


def test_sizes_that_are_not_defined():
    assert development_size(0.5, 0.2, 3) is None
    assert development_size(1.0, 0.2, 3) is None
    assert development_size(0.8, 0.2, 0) is None
    assert validation_size(np.zeros(10), 0.8, 0.2) is None


# -------------------------------------------------------------------------------- risks


def drawn():
    i = np.arange(1, 401)
    p = np.round((i / 401) ** 1.7, 6)
    return p, (np.sin(12.9898 * i) * 43758.5453) % 1 < p**0.8


def test_the_smooth_curve_is_that_of_r():
    """R 4.2: loess(y ~ p, control = loess.control(surface = "direct")), clipped to 0 and 1."""
    found = calibration_curve(*drawn())
    at = np.interp([0.05, 0.2, 0.4, 0.6, 0.8, 0.95], found.predicted, found.observed)
    assert at == pytest.approx(
        [0.09631, 0.24527, 0.45496, 0.64175, 0.78895, 0.89897], abs=2e-5
    )
    assert (found.ici, found.e50, found.e90) == pytest.approx(
        (0.041, 0.04359, 0.06054), abs=2e-5
    )
    assert (found.low <= found.observed).all()
    assert (found.observed <= found.high).all()
    assert calibration_curve(np.full(100, 0.5), np.arange(100) % 2 == 0) is None


def test_the_band_covers_the_truth():
    rng = np.random.default_rng(1)
    covered = []
    for _ in range(60):
        p = expit(rng.normal(-0.5, 1.2, 500))
        found = calibration_curve(p, rng.random(500) < p)
        place = np.searchsorted(found.predicted, 0.4)
        covered.append(found.low[place] <= found.predicted[place] <= found.high[place])
    assert np.mean(covered) > 0.85


def test_net_benefit_and_its_error():
    rng = np.random.default_rng(2)
    p = expit(rng.normal(-1, 1, 300))
    positive = rng.random(300) < p
    found = decision_curve(p, positive)
    place = 19
    t = found.thresholds[place]
    assert t == pytest.approx(0.2)
    each = np.where(p >= t, np.where(positive, 1.0, -t / (1 - t)), 0.0)
    assert found.model[place] == pytest.approx(each.mean())
    assert found.error[place] == pytest.approx(each.std() / np.sqrt(300))
    many = [
        np.mean(each[rng.integers(300, size=300)]) for _ in range(2000)
    ]  # the bootstrap agrees
    assert np.std(many) == pytest.approx(found.error[place], rel=0.1)
    assert found.thresholds[-1] == pytest.approx(
        np.ceil(100 * np.quantile(p, 0.99)) / 100
    )


def test_instability_by_hand(summary, evaluation):
    how = evaluation.fit.card.risk_map
    found = evaluation.instability
    assert found.refitted.shape == (5, 160)
    np.testing.assert_allclose(
        found.risks, expit(how.slope * summary.training_scores + how.intercept)
    )
    assert found.error == pytest.approx(np.mean(np.abs(found.refitted - found.risks)))
    # Test rows of a fold are scored by its model as nested cross-validation does.
    for fold in range(5):
        own = summary.nested.folds == fold
        np.testing.assert_allclose(
            summary.nested.fold_scores[fold, own], summary.nested.scores[own]
        )


# ------------------------------------------------------------------------------- tables


def test_table_one_by_hand():
    table = make_table()
    X = table.X.to_numpy(copy=True)
    X[:, 0] = X[:, 0] > 0
    X[:7, 1] = np.nan
    frame = pd.DataFrame(X, columns=table.names)
    rows = describe_candidates(
        dataclasses.replace(table, X=frame), ["gene 5", "gene 0"]
    )
    assert [one.name for one in rows[:3]] == ["gene 5", "gene 0", "gene 1"]
    assert [one.chosen for one in rows[:3]] == [True, True, False]
    assert len(rows) == 12
    ill = table.y == 1
    ones = int(X[ill, 0].sum())
    assert rows[1].positives == f"{ones} ({100 * ones / ill.sum():.0f} %)"
    low, middle, high = np.nanquantile(X[~ill, 1], [0.25, 0.5, 0.75])
    assert rows[2].negatives == f"{middle:.3g} ({low:.3g} to {high:.3g})".replace(
        "-", "−"
    )
    assert rows[2].missing == 7


def test_table_one_counts_the_levels_of_text():
    table = make_table()
    wards = np.array(["a", "b", None, "a"], object)[np.arange(table.y.size) % 4]
    frame = table.X.assign(ward=pd.Categorical(wards))
    with_text = dataclasses.replace(table, X=frame, names=tuple(frame.columns))
    rows = describe_candidates(with_text, ["ward"])
    assert [one.name for one in rows[:3]] == ["ward=a", "ward=b", "gene 0"]
    assert [one.chosen for one in rows[:3]] == [True, True, False]
    for row, level in zip(rows, "ab", strict=False):
        given = wards[(table.y == 1) & (wards != None)]  # noqa: E711
        count = int((given == level).sum())
        assert row.positives == f"{count} ({100 * count / given.size:.0f} %)"
        assert row.missing == 40


def test_the_claim_against_l1(evaluation):
    ours, *_, l1 = evaluation.baselines.results
    assert l1.method == "L1 logistic regression"
    assert evaluation.baselines.l1 is l1
    lead = build_model_report(evaluation).lead
    difference, reach = -l1.difference, 1.96 * l1.difference_error
    assert (
        f"lists of 3 columns (median) instead of the {l1.columns:g} of L1 logistic regression"
        in lead
    )
    shown = f"{difference:+.3f}, 95 % CI {difference - reach:+.3f} to {difference + reach:+.3f}"
    assert shown.replace("-", "−") in lead
    assert l1.auc == pytest.approx(
        auc_confidence_interval(evaluation.fit.table.y, l1.scores).auc
    )
    assert difference == pytest.approx(ours.auc - l1.auc)


def test_a_slow_method_is_left_out(summary, monkeypatch):
    monkeypatch.setattr(alternatives, "_PATIENCE", 0.0)
    found = alternatives.judge_baselines(summary)
    assert len(found.results) == 3
    assert found.left_out == ("L1 logistic regression",)
    monkeypatch.setattr(alternatives, "_CURVE_PATIENCE", 0.0)
    assert alternatives.learning_curve(summary) is None


@pytest.mark.usefixtures("evaluation")
def test_every_fold_of_an_evaluation_is_a_step(steps):
    folds = [(fold, 5) for fold in range(5)]
    l1 = [
        (done, total) for stage, done, total in steps if stage.startswith("L1 logistic")
    ]
    assert l1 == folds
    curve = [(done, total) for stage, done, total in steps if stage == "Learning curve"]
    assert curve == [(done, 20) for done in range(20)]
    # A stage begins with a step of 0, so that it has a time left of its own.
    stages = [stage.partition(",")[0] for stage, *_ in steps]
    for stage in dict.fromkeys(stages):
        assert steps[stages.index(stage)][1] == 0


def test_the_learning_curve_ends_with_all_rows(summary, evaluation):
    sizes = [rows for rows, _ in evaluation.learning]
    assert sizes == sorted(sizes)
    assert sizes[-1] == 128
    # The list of the fit is of the same kind here, so the last point is nested
    # cross-validation.
    assert evaluation.learning[-1][1].auc == pytest.approx(summary.nested.interval.auc)


# ------------------------------------------------------------------------------- report


def test_the_report_computes_nothing(evaluation, monkeypatch):
    """All fits and evaluations are done before; rendering could run without data."""

    def refuse(*_, **__):
        raise AssertionError("the report computes something")

    for name in (
        "find_alternatives",
        "judge_baselines",
        "learning_curve",
        "follow_scores",
        "describe_candidates",
    ):
        monkeypatch.setattr(evaluate_module, name, refuse)
    monkeypatch.setattr("sparseauc_app.evaluation.probabilities.judge_risks", refuse)
    monkeypatch.setattr("sparseauc.SparseAUCClassifier.fit", refuse)
    monkeypatch.setattr("sklearn.linear_model.LogisticRegression.fit", refuse)
    page = render(build_model_report(evaluation))
    assert "Table 1" in page


def test_the_label_is_in_title_axes_and_sentences(evaluation):
    report = build_model_report(evaluation)
    assert report.title == "3 columns that predict death within 30 days"
    assert "Positive (death within 30 days)" in report.glance
    assert "rows with death within 30 days score above the others" in report.lead
    assert evaluation.fit.card.event == "death within 30 days"


def test_no_command_line_advice_for_a_colleague(evaluation):
    page = render(build_model_report(evaluation))
    text = page[page.index("<main") :]
    assert "--exclude" not in text
    assert "sparseauc predict" not in text
    note = "the positive class is 'ill'; --positive 'well' swaps the classes"
    card = dataclasses.replace(evaluation.fit.card, summary={"notes": [note]})
    known = list_items(card)[0].frame.set_index("Item")["What is known"]
    assert known["7"].strip() == "The positive class is 'ill'."
    assert without_advice(
        "The model overfits. Fewer columns (`-k`, or `--rule 1se`) help."
    ) == ("The model overfits. Fewer columns help.")
    assert without_advice(
        "'id' looks like an id: --exclude or --ids leave it out."
    ) == ("'id' looks like an id.")
    assert without_advice("A well-known rate of 5-fold is fine.") == (
        "A well-known rate of 5-fold is fine."
    )


def test_quartiles_below_zero_have_a_word_between_them():
    table = make_table()
    table.X["gene 0"] = np.linspace(-4.0, 0.0, 160)
    shown = describe_candidates(table, ["gene 0"])[0].everyone
    assert shown == "−2 (−3 to −1)"


def test_levels_of_a_text_are_one_column_of_a_checklist():
    wards = Levels(levels=("a", "b", "c"), taken_as=(0, 1, 2, 0), coef=(1.0, 2.0))
    terms = (Term("unit", wards), Term("age", Line(coef=(0.1,))))
    card = ScoreCard(terms, 0.0, "no", "yes", "ill", ("unit=a", "unit=b", "age"))
    frame = list_items(card)[0].frame.set_index("Item")["What is known"]
    assert frame["1"].startswith("Prediction of ill = yes by 2 columns;")


def test_tripod_has_its_27_items_and_52_parts(evaluation):
    known, unknown = list_items(evaluation.fit.card, needed=evaluation.size)
    numbers = pd.concat([known.frame, unknown.frame]).sort_index()["Item"].tolist()
    assert len(numbers) == len(set(numbers)) == 52
    assert [int("".join(filter(str.isdigit, one))) for one in numbers] == sorted(
        int("".join(filter(str.isdigit, one))) for one in numbers
    )
    assert {int("".join(filter(str.isdigit, one))) for one in numbers} == set(
        range(1, 28)
    )
    frame = known.frame.set_index("Item")["What is known"]
    assert f"160 rows, {evaluation.fit.table.y.sum()} positive" in frame["10"]
    assert f"{evaluation.size.rows} rows" in frame["10"]
    assert "gene" in frame["22"]
    assert "17" in unknown.frame["Item"].tolist()
    assert unknown.folded
    assert frame["11"] == "No value was missing."
    assert not frame.str.contains("{{|None", regex=True).any()


# --------------------------------------------------------------------------- bins and
# calibration

SCORES = st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=4, max_size=80)


@given(SCORES)
def test_histograms_count_every_row_once(values):
    scores = np.array(values)
    edges = _score_bins(scores, np.arange(scores.size) % 3 == 0)
    assert (
        np.histogram(np.clip(scores, edges[0], edges[-1]), edges)[0].sum()
        == scores.size
    )
    assert edges.size <= 62
    assert np.all(np.diff(edges) > 0)


@given(SCORES)
def test_calibration_bins_against_a_loop(values):
    scores = np.array(values)
    positive = np.arange(scores.size) % 2 == 0
    bins = calibration_bins(scores, positive)
    assert bins.rows.sum() == scores.size
    ordered = np.sort(scores)
    start = 0
    for mean, rows, share in zip(bins.predicted, bins.rows, bins.share, strict=True):
        inside = ordered[start : start + rows]
        assert mean == pytest.approx(inside.mean(), rel=1e-9, abs=1e-9)
        held = (scores >= inside[0]) & (scores <= inside[-1])
        assert held.sum() == rows
        assert positive[held].mean() == pytest.approx(share)
        start += rows
    assert np.all((bins.low <= bins.share) & (bins.share <= bins.high))
