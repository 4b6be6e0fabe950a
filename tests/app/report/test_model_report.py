"""The report on a table of one's own: its numbers against naive ones, its words, and its page."""

import dataclasses
import re
from itertools import combinations

import duckdb
import numpy as np
import pandas as pd
import pytest
from browser import check_page
from scipy.special import expit, logit
from sklearn.metrics import roc_auc_score

from sparseauc import SparseAUCClassifier
from sparseauc.datasets import make_outbreak
from sparseauc.folds import fold_standard_error
from sparseauc.metrics import auc_confidence_interval
from sparseauc.performance import fit_logistic, roc_band
from sparseauc.plotting import AUCPathDisplay, ROCBandDisplay
from sparseauc.selection import replacements
from sparseauc_app.cautions import find_cautions
from sparseauc_app.evaluation.alternatives import find_alternatives
from sparseauc_app.evaluation.bootstrap import bootstrap_effects
from sparseauc_app.evaluation.evaluate import evaluate
from sparseauc_app.evaluation.probabilities import calibration_bins
from sparseauc_app.fitting import FitSettings, fit_table
from sparseauc_app.formatting import percent
from sparseauc_app.pages.elements import Code, Figure, Listing
from sparseauc_app.pages.html import columns, render
from sparseauc_app.pages.model_report import build_model_report
from sparseauc_app.reading import Table
from sparseauc_app.reporting import report

NASTY = "</script><img src=x onerror=alert(1)> `$x$` %{x} 基因"


def make_table(n=160, d=12, r=0.3, mu=0.9, seed=0, **extra):
    X, y = make_outbreak(n=n, d=d, k=3, mu=mu, r=r, random_state=seed)
    fields = {
        "target": "state",
        "negative": "well",
        "positive": "ill",
        "source": "t.csv",
    }
    names = tuple(f"gene {j}" for j in range(d))
    return of_numbers(X, names, (y > 0).astype(np.int64), **{**fields, **extra})


def of_numbers(X, names, y, *labels, **more):
    """A table of columns of numbers."""
    return Table(pd.DataFrame(X, columns=names), tuple(names), y, *labels, **more)


def with_numbers(table, X, **changes):
    return dataclasses.replace(table, X=pd.DataFrame(X, columns=table.names), **changes)


def noise():
    return make_table(n=80, d=30, mu=0.0, seed=3)


@pytest.fixture(scope="module")
def tuned():
    return fit_table(make_table(), FitSettings(max_k=6, stability_pairs=5))


@pytest.fixture(scope="module")
def fixed():
    return fit_table(make_table(), FitSettings(k=3, alpha=1.0, stability_pairs=5))


@pytest.fixture(scope="module")
def tuned_report(tuned):
    return build_model_report(evaluate(tuned), {"command": "sparseauc fit t.csv"})


@pytest.fixture(scope="module")
def fixed_report(fixed):
    return build_model_report(evaluate(fixed))


def element(report, name):
    found = [
        e
        for s in report.sections
        for e in s.elements
        if getattr(e, "name", None) == name
    ]
    return found[0] if found else None


def words(report):
    """All text of a report."""
    parts = [report.title, report.lead, *report.facts.values()]
    for section in report.sections:
        for one in section.elements:
            parts.append(getattr(one, "text", "") or f"{one.title} {one.caption}")
    return "\n".join(parts)


# -------------------------------------------------------------------------- the numbers


@pytest.mark.slow
def test_the_head_states_the_result(fixed, fixed_report):
    one, report = fixed.nested.interval, fixed_report
    assert report.title == "3 columns that rank ill above well"
    events = fixed.table.y.sum()
    assert report.glance == {
        "AUC (95 % CI)": f"{one.auc:.3f} ({one.low:.3f}–{one.high:.3f})",
        "Rows": "160",
        "Positive (ill)": f"{events} ({100 * events / 160:.0f} %)",
        "Columns": "3 of 12",
    }
    assert report.lead.split("\n\n")[0] == (
        "In nested cross-validation, ill rows score above well rows in "
        f"{100 * one.auc:.1f} % of pairs (95 % CI {100 * one.low:.1f} % to "
        f"{100 * one.high:.1f} %)."
    )


def test_the_list_has_everything_about_each_column(fixed, fixed_report):
    listing = element(fixed_report, "short-list")
    shown = listing.frame
    # The coefficient is next to the name: in sight at every width.
    assert shown.columns[:2].tolist() == ["Column", "Coefficient"]
    assert shown["Column"].tolist() == fixed.columns["column"].tolist()
    assert shown["Coefficient"].tolist() == fixed.columns["coefficient"].tolist()
    assert shown["Odds ratio"].tolist() == np.exp(fixed.columns["coefficient"]).tolist()
    positive = fixed.table.y == 1
    for name, area, spread in zip(
        shown["Column"], shown["AUC alone"], shown["SD"], strict=True
    ):
        values = fixed.table.X[name]
        deviation = values.std(ddof=0)
        assert spread == pytest.approx(deviation)
        assert area == pytest.approx(roc_auc_score(positive, values))
    frequency = 100 * fixed.columns["frequency"].to_numpy()
    np.testing.assert_allclose(shown["Selection frequency, %"], frequency, atol=0.5)


def test_odds_ratios_have_the_intervals_of_the_bootstrap(fixed, fixed_report):
    """Against samples drawn as rows, not as weights: folds then have the same row twice."""
    listing = element(fixed_report, "short-list")
    assert (
        "The odds ratios have no usual CIs: the same rows chose the columns"
        in listing.caption
    )
    shown = [
        [float(number) for number in re.findall(r"[0-9.e+-]+", text)]
        for text in listing.frame["Odds ratio, 25th to 75th percentile"]
    ]
    rng = np.random.default_rng(1)
    table = fixed.table
    places = [int(name.split()[1]) for name in listing.frame["Column"]]
    quartiles = np.quantile(table.X, [0.25, 0.75], axis=0)

    def ratios(model):
        found = []
        for j in places:
            low, high = (
                model.encodings_[j].effect(quartiles[:, j])
                if model.coef_[0][j]
                else (0, 0)
            )
            found.append(np.exp(high - low))
        return found

    drawn = []
    for _ in range(40):
        rows = rng.integers(0, table.y.size, table.y.size)
        part = dataclasses.replace(table, X=table.X.iloc[rows], y=table.y[rows])
        settings = FitSettings(k=3, alpha=1.0, folds=0, stability_pairs=0)
        drawn.append(ratios(fit_table(part, settings).model))
    expected = np.quantile(drawn, [0.025, 0.975], axis=0).T
    own = ratios(fixed.model)
    for (middle, low, high), (least, most), ratio in zip(
        shown, expected, own, strict=True
    ):
        assert low < ratio < high
        assert middle == pytest.approx(ratio, rel=0.01)
        assert np.log(high / low) == pytest.approx(np.log(most / least), rel=0.5)


def test_a_column_that_samples_do_not_choose_adds_nothing():
    fit = fit_table(noise(), FitSettings(k=3, alpha=0.1, stability_pairs=0))
    effects = bootstrap_effects(fit)
    assert [len(one.samples) for one in effects] == [50] * 3
    for one in effects:
        low, high = one.interval
        assert low <= 0 <= high
    assert any((one.samples == 0).all(axis=1).any() for one in effects)


def test_text_counts_as_one_column_against_a_level_that_is_named(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(240) % 2
    ward = np.where(
        rng.random(240) < 0.7, np.array(["a", "b"])[y], rng.choice(["c", "d"], 240)
    )
    frame = pd.DataFrame({"ward": ward, "x": rng.normal(size=240) + y, "ill": y})
    frame.to_csv(tmp_path / "t.csv", index=False)
    page = report(tmp_path / "t.csv", target="ill", k=2, alpha=1.0, stability_pairs=0)
    built = build_model_report(evaluate(page.fit))
    listed = element(built, "short-list").frame.set_index("Column")
    against = max("abcd", key=ward.tolist().count)
    assert listed["Counts as"].to_dict() == {
        "ward": f"levels, against {against}",
        "x": "line",
    }
    panel = element(built, "effects").panels[listed.index.get_loc("ward")]
    assert panel.title == "ward"
    assert list(panel.x_names) == ["a", "b", "c", "d"]
    effects = panel.series[0].y
    assert [
        name for name, effect in zip(panel.x_names, effects, strict=True) if effect == 0
    ] == [max("abcd", key=ward.tolist().count)]
    folds = element(built, "folds").frame
    assert folds["Columns"].tolist() == [2] * 5 == folds["On the list"].tolist()
    assert folds["Columns chosen"].tolist() == ["ward, x"] * 5
    assert element(built, "baselines").frame["Columns"].max() <= 2
    assert "There were 2 columns to choose from." in words(built)


def test_what_readers_seldom_need_is_folded(fixed_report):
    page = render(fixed_report)
    for title in (
        "SQL",
        "Correlations among the chosen columns",
        "TRIPOD+AI, for you to write",
    ):
        assert f"<details><summary>{title}</summary>" in page
    assert (
        "for you to write"
        not in element(fixed_report, "checklist").frame["What is known"].tolist()
    )


def test_a_score_by_hand_from_what_the_page_shows(fixed, fixed_report):
    listing = element(fixed_report, "short-list")
    intercept = float(
        re.search(r"Score = (\S+) \+", listing.caption).group(1).replace("−", "-")
    )
    shown = {column.name: column.values for column in columns(listing)}
    places = [int(name.split()[1]) for name in shown["Column"]]
    coefficients = [float(text.replace("−", "-")) for text in shown["Coefficient"]]
    by_hand = intercept + fixed.table.X.to_numpy()[:, places] @ coefficients
    np.testing.assert_allclose(by_hand, fixed.training_scores, atol=2e-3)


@pytest.mark.slow
def test_the_auc_and_its_optimism(tuned, tuned_report):
    frame = element(tuned_report, "auc").frame.set_index("Estimated by")
    nested = frame.loc["nested cross-validation"]
    one = tuned.nested.interval
    assert nested.tolist()[:3] == [one.auc, one.low, one.high]
    plain = auc_confidence_interval(tuned.table.y, tuned.nested.scores)
    alone = frame.loc["the same, without widening"]
    assert alone.tolist()[:3] == [plain.auc, plain.low, plain.high]
    assert nested["to"] - nested.iloc[1] > alone["to"] - alone.iloc[1]
    folds = frame.loc["mean of its 5 folds", "AUC"]
    assert folds == pytest.approx(tuned.nested.fold_aucs.mean())
    search = frame.loc["cross-validation of k"]
    assert search["AUC"] == tuned.model.best_score_
    assert "best of 24" in search["Comment"]
    training = frame.loc["training rows"]
    assert training["AUC"] == tuned.training_auc.auc
    # No interval for what is optimistic: it would lend it weight.
    assert np.isnan(training["to"])


def test_operating_points_are_those_of_the_summary(tuned, tuned_report):
    frame = element(tuned_report, "operating-points").frame
    assert frame["Risk above"].tolist() == [
        percent(one.risk) for one in tuned.operating_points
    ]
    for text, one in zip(frame["Sensitivity, %"], tuned.operating_points, strict=True):
        rate = one.sensitivity
        assert (
            text
            == f"{100 * rate.value:.0f} ({100 * rate.low:.0f}–{100 * rate.high:.0f})"
        )


def test_the_folds_show_what_each_chose(tuned, tuned_report):
    frame = element(tuned_report, "folds").frame
    assert frame["AUC"].tolist() == tuned.nested.fold_aucs.tolist()
    assert frame["Rows"].sum() == 160
    assert frame["Positive"].sum() == tuned.table.y.sum()
    for size, names, chosen in zip(
        frame["Columns"],
        frame["Columns chosen"],
        tuned.nested.fold_columns,
        strict=True,
    ):
        assert names.split(", ") == [f"gene {j}" for j in chosen]
        assert size == chosen.size
    assert tuned.summary["auc"]["fold_sizes"] == frame["Columns"].tolist()


def test_baselines_are_judged_on_the_same_folds(fixed, fixed_report):
    frame = element(fixed_report, "baselines").frame.set_index("Method")
    assert frame.loc["this list", "AUC"] == fixed.nested.interval.auc
    table, folds = fixed.table, fixed.nested.folds
    scores = np.empty(table.y.size)
    for fold in range(5):
        train, test = folds != fold, folds == fold
        model = SparseAUCClassifier(k=1).fit(
            table.X.iloc[np.flatnonzero(train)], table.y[train]
        )
        fitted = model.decision_function(table.X[train])
        high, low = (fitted[table.y[train] == label].mean() for label in (1, 0))
        score = model.decision_function(table.X[test])
        scores[test] = (score - (high + low) / 2) / (high - low)
    alone = frame.loc["best single column"]
    assert alone["AUC"] == pytest.approx(roc_auc_score(table.y, scores))
    assert alone["Columns"] == 1
    difference = fixed.nested.interval.auc - alone["AUC"]
    assert alone["Difference"] == pytest.approx(difference, abs=6e-4)
    assert "L1 logistic regression" in frame.index
    assert frame.loc["largest mean differences", "Columns"] == 3


def test_every_column_by_class_and_correlations(fixed, fixed_report):
    report = fixed_report
    panels = element(report, "by-class").panels
    assert [panel.title for panel in panels] == fixed.columns["column"].tolist()
    for panel in panels:
        assert [series.label for series in panel.series] == ["well", "ill"]
        for series in panel.series:
            assert sum(series.y) == pytest.approx(100)
    table = element(report, "correlations").frame.drop(columns="Column").to_numpy()
    places = [int(name.split()[1]) for name in fixed.columns["column"]]
    np.testing.assert_allclose(
        table, np.corrcoef(fixed.table.X.to_numpy()[:, places].T)
    )


@pytest.mark.slow
def test_columns_of_few_values_are_bars():
    table = make_table()
    X = table.X.to_numpy(copy=True)
    X[:, 0] = np.where(X[:, 0] > 0, 2.0, -1.0)
    summary = fit_table(
        with_numbers(table, X), FitSettings(k=12, alpha=1.0, stability_pairs=0)
    )
    panels = {
        panel.title: panel
        for panel in element(build_model_report(evaluate(summary)), "by-class").panels
    }
    panel = panels["gene 0"]
    assert panel.x_names == ["-1", "2"]
    share = 100 * np.mean(X[summary.table.y == 1, 0] == 2)
    assert panel.series[1].y == pytest.approx([100 - share, share])


def test_one_number_for_one_thing(tuned, tuned_report):
    """Report, display, summary and estimator agree."""
    classifier, nested = tuned.model, tuned.nested
    rows = tuned.summary["auc_by_k"]
    display = AUCPathDisplay.from_estimator(classifier)
    assert list(display.mean) == [row["auc"] for row in rows]
    assert list(display.error) == [row["standard_error"] for row in rows]
    at = int(np.argmax([row["auc"] for row in rows]))
    splits = [
        classifier.cv_results_[f"split{i}_test_score"]
        for i in range(classifier.n_splits_)
    ]
    top = int(np.argmax(np.mean(splits, axis=0)))
    error = fold_standard_error(np.array(splits)[:, top], classifier.n_repeats_)
    assert rows[at]["standard_error"] == error
    assert display.chosen_auc == classifier.best_score_

    report = tuned_report
    (drawn,) = element(report, "auc-by-k").panels
    line, best, chosen, _ = drawn.series
    assert (list(line.x), list(line.y)) == (list(display.ks), list(display.mean))
    assert best.label == display.points_["best"].get_label()
    assert chosen.label == f"chosen: k = {display.chosen}"
    scores = np.asarray(
        tuned.out_of_fold_scores, np.float64
    )  # thresholds that predict takes
    wide = nested.interval.low, nested.interval.high
    roc = ROCBandDisplay.from_predictions(tuned.table.y, scores, interval=wide)
    fpr, low, high = roc_band(scores, tuned.table.y == 1)
    drawn, _ = element(report, "roc").panels
    line, band, _ = drawn.series
    assert (list(line.x), list(line.y)) == (roc.fpr.tolist(), roc.tpr.tolist())
    np.testing.assert_allclose(band.low, np.interp(roc.fpr, fpr, low))
    np.testing.assert_allclose(band.high, np.interp(roc.fpr, fpr, high))
    assert line.label == roc.line_.get_label()
    assert roc.auc == nested.interval.auc == tuned.summary["auc"]["auc"]
    assert roc.line_.get_label() == f"AUC {roc.auc:.2f} ({wide[0]:.2f}–{wide[1]:.2f})"
    # That of the procedure is wider than DeLong's for these scores.
    delong = auc_confidence_interval(tuned.table.y, scores)
    assert wide[0] < delong.low < delong.high < wide[1]
    assert f"{roc.auc:.3f}" in report.glance["AUC (95 % CI)"]


@pytest.mark.slow
def test_an_extreme_value_does_not_hide_the_calibration():
    """Its probability is 1 to the last digit."""
    y = (np.arange(200) % 3 == 0).astype(np.int64)
    X = np.random.default_rng(0).normal(size=(200, 3)) + np.outer(y, [1.5, 0, 0])
    X[0, 0] = 1e4
    table = of_numbers(X, list("abc"), y, "state", "well", "ill", source="t.csv")
    summary = fit_table(table, FitSettings(k=1, alpha=1.0, stability_pairs=0))
    caption = element(build_model_report(evaluate(summary)), "calibration").caption
    assert re.search(r"intercept [+-][0-9.]+ ± [0-9.]+ ", caption)


def test_calibration_tells_the_ends_of_its_intervals(tuned, tuned_report):
    calibration, decision = element(tuned_report, "calibration").panels
    positive = tuned.table.y == 1
    p = expit(tuned.out_of_fold_scores)
    bins = calibration_bins(p, positive)
    observed = calibration.series[0]
    assert observed.x == pytest.approx(100 * bins.predicted)
    assert observed.low == pytest.approx(100 * bins.low)
    assert observed.high == pytest.approx(100 * bins.high)
    slope, _ = fit_logistic(logit(p), positive)
    caption = element(tuned_report, "calibration").caption
    assert f"slope {slope:.2f}" in caption
    everyone = decision.series[1]
    assert everyone.y[0] == pytest.approx(positive.mean(), abs=0.01)


def test_how_to_use_it(fixed, fixed_report):
    report = fixed_report
    (use,) = [section for section in report.sections if section.name == "use"]
    code = {one.title: one.text for one in use.elements if isinstance(one, Code)}
    assert set(code) == {"Formula", "SQL"}
    frame = fixed.table.X  # noqa: F841
    query = code["SQL"].replace("my_table", "frame")
    scores = duckdb.sql(query).fetchnumpy()["sparseauc_score"]
    np.testing.assert_allclose(scores, fixed.training_scores)


def test_what_was_not_done_is_not_shown(fixed_report):
    report = fixed_report
    assert element(report, "auc-by-k") is None
    quick = fit_table(
        make_table(), FitSettings(k=3, alpha=1.0, folds=0, stability_pairs=0)
    )
    report = build_model_report(evaluate(quick))
    assert [s.name for s in report.sections] == [
        "reliance",
        "columns",
        "ranking",
        "use",
        "method",
        "references",
        "reporting",
    ]
    figures = [
        e.name for s in report.sections for e in s.elements if isinstance(e, Figure)
    ]
    assert figures == ["effects", "by-class"]
    assert "optimistic" in report.lead
    assert "AUC on training rows (optimistic)" in report.glance
    assert "Nested cross-validation was skipped." in words(report)
    assert "Selection frequency, %" not in element(report, "short-list").frame


# ---------------------------------------------------------------------------- the words


def test_what_was_done_in_plain_words(tuned, tuned_report):
    text = words(tuned_report)
    y = tuned.table.y
    for part in (
        f"has 160 rows: {y.sum()} with state = ill (positive) and {160 - y.sum()} with well (nega",
        "No value was missing",
        "Lists of 1 to 6 columns and 3 ridge penalties were compared by AUC in 5-fold cross-val",
        "for each of 5 outer folds",
        "split into halves 5 times",
        "Platt scaling",
        "sparseauc fit t.csv",
    ):
        assert part in text
    logistic = tuned.model.coefficients_ == "logistic"
    assert ("a logistic regression on the chosen columns" in text) == logistic
    assert tuned_report.facts["seed"] == "0"


@pytest.mark.slow
def test_missing_values_are_told():
    X = make_table().X.to_numpy(copy=True)
    X[:60, 0] = np.nan
    X[:3, 1] = np.nan
    missing = {"gene 0": 60, "gene 1": 3}
    table = with_numbers(
        make_table(),
        X,
        missing=missing,
        imputation="median",
        notes=("a thing was done",),
    )
    summary = fit_table(table, FitSettings(k=12, alpha=1.0, stability_pairs=0))
    report = build_model_report(evaluate(summary))
    text = words(report)
    assert (
        "63 values were missing, in 2 columns: gene 0 (60), gene 1 (3). Missing "
        in text
    )
    assert (
        "numbers count as the median of the training rows, separately in each outer"
        in text
    )
    assert "Notes on the data: A thing was done." in text
    assert "many missing values, which were imputed: 'gene 0' (38 %)" in text
    assert (
        element(report, "short-list").frame.set_index("Column")["Missing, %"]["gene 0"]
        == 37.5
    )


@pytest.mark.slow
def test_nothing_to_be_cautious_about():
    summary = fit_table(
        make_table(n=400, mu=1.2), FitSettings(k=3, alpha=1.0, stability_pairs=5)
    )
    assert summary.cautions == []
    evaluation = evaluate(summary)
    assert evaluation.size.rows <= 400
    (note,) = build_model_report(evaluation).sections[0].elements
    assert note.kind == "fine"


@pytest.mark.parametrize("extra", [0.0, 0.7])
def test_simpler_and_better_methods_are_cautions(extra):
    """A single column tells all, or many tell more than a list may have."""
    rng = np.random.default_rng(5)
    y = np.arange(120) % 2
    X = rng.normal(size=(120, 30)) + extra * y[:, None]
    X[:, 0] += 1.2 * y
    names = [f"gene {j}" for j in range(30)]
    table = of_numbers(X, names, y, "state", "well", "ill")
    evaluation = evaluate(
        fit_table(table, FitSettings(k=2, alpha=1e-3, stability_pairs=0))
    )
    (note,) = build_model_report(evaluation).sections[0].elements
    single = evaluation.baselines.results[1]
    assert ("better than the best single column" in note.text) == (single.lead[1] <= 0)
    assert ("L1 logistic regression with" in note.text) == (extra > 0)
    assert ("by the criteria of Riley et al." in note.text) == (
        evaluation.size.rows > 120
    )


@pytest.mark.slow
def test_noise_is_called_noise():
    table = make_table(n=60, d=40, mu=0.0, r=0.4, seed=3)
    summary = fit_table(table, FitSettings(k=8, alpha=0.1, stability_pairs=5))
    report = build_model_report(evaluate(summary))
    (note,) = report.sections[0].elements
    assert note.kind == "caution"
    assert summary.nested.interval.low < 0.5
    assert "do not show that the list ranks better than chance" in note.text
    assert "The AUC falls from" in note.text
    assert "refits on random halves of the rows: 'gene" in note.text
    assert f"{min(table.y.sum(), 60 - table.y.sum())} rows are" in note.text
    assert "Chance, which is 50 %, is not ruled out." in report.lead


def test_replacements_and_other_lists(fixed, fixed_report):
    table = fixed.table
    X, names = table.X.to_numpy(), list(table.names)
    shown = element(fixed_report, "replacements").frame
    assert len(shown) == 9
    # On the rows of the table and the outer folds; tests/selection/test_replacements.py
    # has the naive version of these numbers.
    model = SparseAUCClassifier(k=3, alpha=1.0).fit(X, table.y)
    assert {names[j] for j in model.get_support(indices=True)} == set(
        fixed.columns["column"]
    )
    splits = [(np.flatnonzero(fixed.nested.folds != j), np.flatnonzero(fixed.nested.folds == j))
              for j in range(5)]  # fmt: skip
    found = replacements(model, X, table.y, n_best=3, cv=splits)
    for name in ("column", "replacement"):
        found[name] = [names[j] for j in found[name]]
    found = found.set_index(["column", "replacement"])
    for row in shown.to_dict("records"):
        told = found.loc[(row["Column"], row["Replacement"])]
        shown_ = [row["AUC"], row["Change"], row["95 % CI from"], row["to"]]
        assert shown_ == pytest.approx(
            told[["auc", "auc_change", "low", "high"]].tolist()
        )

    def loss(columns):
        Z = X[:, columns]
        Z = Z / Z.std(axis=0)
        pairs = (Z[table.y == 1][:, None] - Z[table.y == 0]).reshape(-1, len(columns))
        H, delta = pairs.T @ pairs / len(pairs), -pairs.mean(axis=0)
        return 1 - delta @ np.linalg.solve(H + np.eye(len(columns)), delta)

    losses = {names_: loss(list(names_)) for names_ in combinations(range(12), 3)}
    least = min(losses.values())
    near = {
        places for places, value in losses.items() if 1 - value >= 0.98 * (1 - least)
    }
    found = find_alternatives(fixed).near_equal
    assert found.complete
    assert {tuple(names.index(name) for name in one) for one in found.lists} == near
    assert len(found.in_all) == len(set.intersection(*map(set, near)))
    told = f"{len(near)} lists" if len(near) > 1 else "No other list of the same length"
    assert told in words(fixed_report)


@pytest.mark.slow
def test_other_lists_are_named_by_what_differs():
    table = make_table(d=20, mu=0.3, seed=4)
    summary = fit_table(table, FitSettings(k=4, alpha=10.0, stability_pairs=0))
    evaluation = evaluate(summary)
    report = build_model_report(evaluation)
    shown, found = element(report, "other-lists").frame, evaluation.alternatives
    own = set(summary.columns["column"])
    assert len(shown) == min(10, len(found.near_equal.lists)) > 2
    assert shown["Without"][0] == shown["Instead"][0] == "–"
    for row, names in zip(
        shown.to_dict("records")[1:], found.lists["columns"][1:], strict=True
    ):
        without, instead = (set(row[key].split(", ")) for key in ("Without", "Instead"))
        assert own - without | instead == set(names)
    assert f"Exactly {len(found.near_equal.lists)} lists of this length" in words(
        report
    )
    np.testing.assert_allclose(shown["Gain"].max(), 100)
    assert shown["Gain"].min() >= 98 - 1e-6


def test_text_is_replaced_as_a_whole():
    table = make_table()
    wards = np.where(table.y == 1, "a", np.array(["b", "c"])[np.arange(160) % 2])
    wards[::3] = "d"
    frame = table.X.assign(ward=pd.Categorical(wards))
    table = dataclasses.replace(table, X=frame, names=tuple(frame.columns))
    summary = fit_table(table, FitSettings(k=3, alpha=1.0, stability_pairs=0))
    assert "ward" in set(summary.columns["column"])
    alternatives = find_alternatives(summary)
    assert alternatives.near_equal.complete
    assert {*alternatives.lists["columns"][0]} == {*summary.columns["column"]}
    found = alternatives.replacements
    assert found.groupby("column").size().tolist() == [3, 3, 3]
    assert set(found["replacement"]) <= set(table.names) - set(
        summary.columns["column"]
    )


@pytest.mark.slow
def test_nothing_to_exchange():
    summary = fit_table(make_table(d=3), FitSettings(k=3, alpha=1.0, stability_pairs=0))
    assert find_alternatives(summary) is None
    assert element(build_model_report(evaluate(summary)), "replacements") is None


@pytest.mark.slow
def test_same_columns_ends_of_the_grid_and_warnings():
    table = make_table(mu=1.0)
    X = table.X.to_numpy(copy=True)
    X[:, 7] = 3 * X[:, 0] + 1
    table = with_numbers(table, X, warnings=("'gene 4' looks like an id",))
    summary = fit_table(table, FitSettings(max_k=2, alpha=1.0, stability_pairs=0))
    (note,) = build_model_report(evaluate(summary)).sections[0].elements
    assert "'gene 4' looks like an id." in note.text
    assert "2, is the largest tried" in note.text
    chosen = {f"gene {j}" for j in np.flatnonzero(summary.model.coef_[0])}
    told = "differ only in scale: 'gene 0' and 'gene 7'" in note.text
    assert told == bool(chosen & {"gene 0", "gene 7"})


def test_folds_that_disagree_with_all_rows_together(fixed):
    about = {**fixed.summary, "auc": {**fixed.summary["auc"], "folds": [0.5] * 5}}
    told = find_cautions(about)
    assert any("Report the mean within folds" in text for text in told)


@pytest.mark.slow
def test_a_column_against_its_own_direction():
    rng = np.random.default_rng(0)
    y = (np.arange(300) % 2).astype(np.int64)
    noise = rng.normal(size=300)
    X = np.c_[
        y + noise, noise + 0.2 * y + 0.05 * rng.normal(size=300), rng.normal(size=300)
    ]
    table = of_numbers(X, ["signal", "helper", "other"], y, "state", "well", "ill")
    report = build_model_report(
        evaluate(fit_table(table, FitSettings(k=2, alpha=0.01, stability_pairs=2)))
    )
    assert (
        "single-column association for 'helper'"
        in element(report, "short-list").caption
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("positive", "negative", "shown"),
    [("ill", "well", "ill"), ("1", "0", "state=1"), ("yes", "no", "state=yes"),
     ("2", "not 2", "state=2")],
)  # fmt: skip
def test_labels_that_say_nothing_by_themselves(fixed, positive, negative, shown):
    table = dataclasses.replace(fixed.table, positive=positive, negative=negative)
    report = build_model_report(evaluate(dataclasses.replace(fixed, table=table)))
    assert f"Positive ({shown})" in report.glance
    if negative.startswith("not"):
        assert "not state=2" in words(report)


@pytest.mark.slow
def test_same_summary_same_page(fixed, fixed_report):
    assert render(build_model_report(evaluate(fixed))) == render(fixed_report)


# ------------------------------------------------------------------------- in a browser


def ten_positives():
    table = make_table(n=60, r=10 / 60)
    assert table.y.sum() == 10
    return fit_table(table, FitSettings(k=4, alpha=1.0, stability_pairs=3))


def groups_without_stability():
    """And names that a page must not stumble over."""
    names = [f"{NASTY} {j}" for j in range(12)]
    table = make_table(groups=np.arange(160) // 2)
    table = dataclasses.replace(
        table, X=table.X.set_axis(names, axis=1), names=tuple(names),
        target=NASTY, positive=f"a{NASTY}", negative="not <ill> & `x`", source=NASTY,
        missing={NASTY: 3}, notes=(NASTY,), warnings=(NASTY,),
    )  # fmt: skip
    return fit_table(table, FitSettings(k=2, stability_pairs=0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "figures", "says"),
    [
        ("tuned_report", 8, "1 to 6 columns and 3 ridge penalties"),
        (ten_positives, 7, "Only 10 rows are 'ill'"),
        (groups_without_stability, 7, "Rows come in 80 groups"),
    ],
)
def test_page_in_a_browser(make, figures, says, request, open_page, tmp_path):
    report = (
        build_model_report(evaluate(make()))
        if callable(make)
        else request.getfixturevalue(make)
    )
    shown = [e for s in report.sections for e in s.elements]
    assert sum(isinstance(e, Figure) for e in shown) == figures
    assert sum(isinstance(e, Listing) for e in shown) >= 4
    assert says in words(report)
    path = tmp_path / "report.html"
    path.write_text(render(report), "utf-8")
    assert path.stat().st_size < 1_500_000
    check_page(open_page, path, tmp_path)
    for width in (400, 800, 1200, 1600):
        page = open_page(path, width=width).page
        cell = page.locator("#short-list tbody tr:first-child td").first.bounding_box()
        box = page.locator("#short-list .scroll").bounding_box()
        assert (
            cell["x"] + cell["width"] <= box["x"] + box["width"] + 1
        )  # the coefficient
