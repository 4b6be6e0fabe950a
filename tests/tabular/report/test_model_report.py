"""The report on a table of one's own: its numbers against naive ones, its words, and its page."""

import dataclasses
import re

import numpy as np
import pytest
from browser import check_page
from sklearn.metrics import roc_auc_score

from sparseauc.datasets import make_outbreak
from sparseauc.tabular.fitting import FitSettings, fit_table
from sparseauc.tabular.reading import Input, Table
from sparseauc.tabular.report import (
    Figure,
    Listing,
    Note,
    build_model_report,
    write_page,
)
from sparseauc.tabular.report.html import render

NASTY = "</script><img src=x onerror=alert(1)> `$x$` %{x} 基因"


def make_table(n=160, d=12, r=0.3, mu=0.9, seed=0, **extra):
    X, y = make_outbreak(n=n, d=d, k=3, mu=mu, r=r, random_state=seed)
    inputs = tuple(Input(f"gene {j}") for j in range(d))
    fields = {"target": "state", "negative": "well", "positive": "ill", "source": "t.csv"}
    return Table(X, inputs, (y > 0).astype(np.int64), **{**fields, **extra})


@pytest.fixture(scope="module")
def tuned():
    return fit_table(make_table(), FitSettings(max_k=6, stability_pairs=5))


@pytest.fixture(scope="module")
def fixed():
    return fit_table(make_table(), FitSettings(k=3, alpha=1.0, stability_pairs=5, permutations=9))


def element(report, name):
    found = [e for s in report.sections for e in s.elements if getattr(e, "name", None) == name]
    return found[0] if found else None


def words(report):
    """All text of a report."""
    parts = [report.title, report.lead, *report.facts.values()]
    for section in report.sections:
        for one in section.elements:
            parts.append(one.text if isinstance(one, Note) else f"{one.title} {one.caption}")
    return "\n".join(parts)


# ------------------------------------------------------------------------------------- the numbers


def test_the_lead_states_the_result(fixed):
    one = fixed.nested.interval
    assert build_model_report(fixed).lead == (
        f"In {100 * one.auc:.0f} % of pairs (95 % interval {100 * one.low:.0f} % to "
        f"{100 * one.high:.0f} %) 3 of 12 columns rank a row whose state is ill above one whose "
        "state is well, estimated on rows the model had not seen."
    )


def test_the_list_has_everything_about_each_column(fixed):
    shown = element(build_model_report(fixed), "short-list").frame
    assert shown["Column"].tolist() == fixed.columns["column"].tolist()
    assert shown["Rank"].tolist() == [1, 2, 3]
    assert shown["In ill"].tolist() == ["higher"] * 3
    for text, value in zip(shown["Coefficient"], fixed.columns["coefficient"], strict=True):
        assert float(text.replace("−", "-")) == pytest.approx(value, rel=1e-3)
    for text, value in zip(shown["Weight per SD"], fixed.columns["standardised"], strict=True):
        assert float(text.replace("−", "-")) == pytest.approx(value, rel=1e-2)
    positive = fixed.table.y == 1
    for name, area in zip(shown["Column"], shown["AUC alone"], strict=True):
        values = fixed.table.X[:, int(name.split()[1])]
        assert area == pytest.approx(roc_auc_score(positive, values))
    frequency = 100 * fixed.columns["frequency"].to_numpy()
    np.testing.assert_allclose(shown["In halves, %"], frequency, atol=0.5)


def test_a_score_by_hand_from_what_the_page_shows(fixed):
    listing = element(build_model_report(fixed), "short-list")
    intercept = float(re.search(r"is (\S+) plus", listing.caption).group(1).replace("−", "-"))
    places = [int(name.split()[1]) for name in listing.frame["Column"]]
    coefficients = [float(text.replace("−", "-")) for text in listing.frame["Coefficient"]]
    by_hand = intercept + fixed.table.X[:, places] @ coefficients
    np.testing.assert_allclose(by_hand, fixed.training_scores, atol=2e-3)


def test_honest_beside_flattering(tuned):
    frame = element(build_model_report(tuned), "auc").frame.set_index("Judged on")
    honest = frame.loc["rows the model had not seen"]
    one = tuned.nested.interval
    assert honest.tolist()[:3] == [one.auc, one.low, one.high]
    folds = frame.loc["the same, mean of 5 folds", "AUC"]
    assert folds == pytest.approx(tuned.nested.fold_aucs.mean())
    search = frame.loc["validation rows of the search"]
    assert search["AUC"] == tuned.classifier.best_score_
    assert "chosen among 30 models" in search["What it is worth"]
    flattering = frame.loc["rows the model was fitted to"]
    assert flattering["AUC"] == tuned.training_auc.auc
    # No interval for what flatters: it would lend it weight.
    assert np.isnan(flattering["to"])


def test_auc_against_k_with_the_choice_marked(tuned):
    (panel,) = element(build_model_report(tuned), "auc-by-k").panels
    curve, chosen = panel.series
    rows = tuned.auc_by_k()
    assert list(curve.x) == [1, 2, 3, 4, 5, 6]
    assert list(curve.error) == [row["standard_error"] for row in rows]
    assert (list(chosen.x), list(chosen.y)) == ([tuned.k], [tuned.classifier.best_score_])


def test_what_was_not_done_is_not_shown(fixed):
    report = build_model_report(fixed)
    assert element(report, "auc-by-k") is None
    quick = fit_table(make_table(), FitSettings(k=3, alpha=1.0, folds=0, stability_pairs=0))
    report = build_model_report(quick)
    assert [s.name for s in report.sections] == ["reliance", "columns", "ranking", "method"]
    assert not any(isinstance(e, Figure) for s in report.sections for e in s.elements)
    assert "was not estimated" in report.lead
    assert "`--quick`" in words(report)
    assert "In halves, %" not in element(report, "short-list").frame


# --------------------------------------------------------------------------------------- the words


def test_what_was_done_in_plain_words(tuned):
    text = words(build_model_report(tuned, {"command": "sparseauc fit t.csv"}))
    y = tuned.table.y
    for part in (
        f"has 160 rows: {y.sum()} with state ill, called positive, and {160 - y.sum()} with well",
        "No value was missing",
        "Tried were 1 to 6 columns and five ridges, each by five-fold cross-validation",
        "dealt into five parts",
        "halves 5 times",
        "A score is not a probability",
        "CalibratedClassifierCV(SparseAUCClassifierCV()",
        "sparseauc fit t.csv",
    ):
        assert part in text
    assert build_model_report(tuned).facts["seed"] == "0"


def test_shuffled_outcomes_are_told(fixed):
    text = words(build_model_report(fixed))
    assert "The outcome was shuffled 9 times" in text
    assert f"reached by {np.sum(fixed.permutation.null >= fixed.permutation.auc)} of the" in text
    assert f"p = {fixed.permutation.pvalue:.2g}" in text


def test_missing_values_are_told():
    X = make_table().X.copy()
    X[:60, 0] = np.nan
    table = dataclasses.replace(
        make_table(), X=X, missing={"gene 0": 60}, imputation="median", notes=("a thing was done",)
    )
    summary = fit_table(table, FitSettings(k=12, alpha=1.0, stability_pairs=0))
    report = build_model_report(summary)
    text = words(report)
    assert "60 values were missing, in 1 column: gene 0 (60)." in text
    assert "filled in by the median" in text
    assert "Noted on the way: A thing was done." in text
    assert "many of their values were missing and imputed: 'gene 0' (38%)" in text
    assert element(report, "short-list").frame.set_index("Column")["Missing"]["gene 0"] == 60


def test_nothing_to_be_cautious_about():
    summary = fit_table(make_table(n=400, mu=1.2), FitSettings(k=3, alpha=1.0, stability_pairs=5))
    assert summary.cautions == []
    (note,) = build_model_report(summary).sections[0].elements
    assert note.kind == "finding"
    assert note.text.startswith("Nothing stood out")


def test_noise_is_called_noise():
    table = make_table(n=60, d=40, mu=0.0, r=0.4, seed=3)
    summary = fit_table(table, FitSettings(k=8, alpha=0.1, stability_pairs=5, permutations=4))
    report = build_model_report(summary)
    (note,) = report.sections[0].elements
    assert note.kind == "caution"
    assert summary.nested.interval.low < 0.5
    assert "do not show that the list ranks better than chance" in note.text
    assert "did as well" in note.text
    assert "The AUC falls from" in note.text
    assert "Fewer than half of the refits on half of the rows chose 'gene" in note.text
    assert f"{min(table.y.sum(), 60 - table.y.sum())} rows are" in note.text
    assert report.lead.endswith("Guessing, which is right in half of them, is not ruled out.")


def test_same_columns_ends_of_the_grid_and_warnings():
    table = make_table(mu=1.0)
    X = table.X.copy()
    X[:, 7] = 3 * X[:, 0] + 1
    table = dataclasses.replace(table, X=X, warnings=("'gene 4' looks like an id",))
    summary = fit_table(table, FitSettings(max_k=2, alpha=1.0, stability_pairs=0))
    (note,) = build_model_report(summary).sections[0].elements
    assert "'gene 4' looks like an id." in note.text
    assert "2, is the largest that was tried" in note.text
    chosen = {f"gene {j}" for j in np.flatnonzero(summary.classifier.coef_[0])}
    told = "same but for their scale: 'gene 0' and 'gene 7'" in note.text
    assert told == bool(chosen & {"gene 0", "gene 7"})


def test_folds_that_disagree_with_all_rows_together(fixed):
    nested = dataclasses.replace(fixed.nested, fold_aucs=np.full(5, 0.5))
    told = dataclasses.replace(fixed, nested=nested).cautions
    assert any("Believe the former" in text for text in told)


def test_a_column_against_its_own_direction():
    rng = np.random.default_rng(0)
    y = (np.arange(300) % 2).astype(np.int64)
    noise = rng.normal(size=300)
    X = np.c_[y + noise, noise + 0.2 * y + 0.05 * rng.normal(size=300), rng.normal(size=300)]
    inputs = tuple(Input(name) for name in ("signal", "helper", "other"))
    table = Table(X, inputs, y, "state", "well", "ill")
    report = build_model_report(fit_table(table, FitSettings(k=2, alpha=0.01, stability_pairs=2)))
    assert "against their own direction: 'helper'" in element(report, "short-list").caption


@pytest.mark.parametrize(
    ("positive", "negative", "shown"),
    [("ill", "well", "In ill"), ("1", "0", "In state=1"), ("yes", "no", "In state=yes"),
     ("2", "not 2", "In state=2")],
)  # fmt: skip
def test_labels_that_say_nothing_by_themselves(fixed, positive, negative, shown):
    table = dataclasses.replace(fixed.table, positive=positive, negative=negative)
    report = build_model_report(dataclasses.replace(fixed, table=table))
    assert shown in element(report, "short-list").frame.columns
    if negative.startswith("not"):
        assert "not state=2" in words(report)


def test_same_summary_same_page(fixed):
    assert render(build_model_report(fixed)) == render(build_model_report(fixed))


# ------------------------------------------------------------------------------------ in a browser


def ten_positives():
    table = make_table(n=60, r=10 / 60)
    assert table.y.sum() == 10
    return fit_table(table, FitSettings(k=4, alpha=1.0, stability_pairs=3))


def groups_without_stability():
    """And names that a page must not stumble over."""
    table = dataclasses.replace(
        make_table(groups=np.arange(160) // 2),
        inputs=tuple(Input(f"{NASTY} {j}") for j in range(12)),
        target=NASTY, positive=f"a{NASTY}", negative="not <ill> & `x`", source=NASTY,
        missing={NASTY: 3}, notes=(NASTY,), warnings=(NASTY,),
    )  # fmt: skip
    return fit_table(table, FitSettings(k=2, stability_pairs=0))


@pytest.mark.parametrize(
    ("make", "figures", "says"),
    [
        ("tuned", 4, "Tried were 1 to 6 columns"),
        (ten_positives, 3, "Only 10 rows are 'ill'"),
        (groups_without_stability, 3, "Rows come in 80 groups"),
    ],
)
def test_page_in_a_browser(make, figures, says, request, open_page, tmp_path):
    summary = request.getfixturevalue(make) if isinstance(make, str) else make()
    report = build_model_report(summary, {"command": "sparseauc fit t.csv"})
    shown = [e for s in report.sections for e in s.elements]
    assert sum(isinstance(e, Figure) for e in shown) == figures
    assert sum(isinstance(e, Listing) for e in shown) == 2
    assert says in words(report)
    check_page(open_page, write_page(report, tmp_path / "report.html"), tmp_path)
