"""Reports from Python: the same numbers as the command's, a page to save, a frame in a notebook."""

import html
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from sparseauc import SHTAUCClassifier, SparseAUCClassifier, SparseAUCClassifierCV
from sparseauc.datasets import make_outbreak
from sparseauc.selection.confidence import nested_scores
from sparseauc_app import report, report_model
from sparseauc_app.reading import DataError

FAST = {"k": 2, "alpha": 1.0, "stability_pairs": 3}
ONE_FIT = {**FAST, "stability_pairs": 0, "folds": 0}


@pytest.fixture(scope="module")
def frame():
    X, y = make_outbreak(n=120, d=8, k=2, mu=1.0, r=0.4, random_state=0)
    table = pd.DataFrame(X, columns=[f"gene {j}" for j in range(8)])
    table.insert(3, "state", np.where(y > 0, "ill", "well"))
    return table


@pytest.mark.slow
def test_a_frame_is_reported_as_its_file_is(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    pages = [
        report(data, "state", positive="ill", **FAST)
        for data in (frame, pl.from_pandas(frame), tmp_path / "t.csv")
    ]
    for page in pages[1:]:
        assert page.fit.columns.equals(pages[0].fit.columns)
        assert page.fit.nested.interval == pages[0].fit.nested.interval
    one = pages[0].fit.nested.interval
    assert f"{one.auc:.3f} ({one.low:.3f}–{one.high:.3f})" in pages[0].html


@pytest.mark.slow
def test_the_page_is_saved_and_shown_in_a_notebook(frame, tmp_path):
    page = report(
        frame, "state", positive="ill", path=tmp_path / "a" / "r.html", **FAST
    )
    assert (tmp_path / "a" / "r.html").read_text(encoding="utf-8") == page.html
    shown = page._repr_html_()
    assert html.unescape(re.search(r'srcdoc="([^"]*)"', shown)[1]) == page.html
    assert len(repr(page)) < 200


@pytest.mark.slow
def test_text_and_gaps_are_refused_or_treated_as_told(frame):
    messy = frame.assign(ward=np.array(["a", "b", "c"])[np.arange(120) % 3])
    messy.loc[:5, "gene 1"] = np.nan
    with pytest.raises(DataError, match="'gene 1'"):
        report(messy, "state", positive="ill", **FAST)
    page = report(messy, "state", positive="ill", missing="median", **ONE_FIT)
    assert page.fit.table.missing == {"gene 1": 6}
    assert {*page.fit.table.numbers.levels} == {page.fit.table.names.index("ward")}


@pytest.mark.slow
@pytest.mark.parametrize("file", [False, True])
def test_columns_are_read_as_by_the_command(frame, file, tmp_path):
    lab = [f"{value:.2f}" if i % 9 else ">3" for i, value in enumerate(frame["gene 1"])]
    given = frame.assign(lab=lab, patient=[f"P{i}" for i in range(120)])
    given.loc[:9, "state"] = "unknown"
    data = given
    if file:
        data = tmp_path / "t.csv"
        given.to_csv(data, index=False)
    page = report(
        data,
        "state",
        positive="ill",
        negative="well",
        ids="patient",
        numeric=["lab"],
        **ONE_FIT,
    )
    assert page.fit.table.y.size == 110
    assert "lab" in page.fit.table.columns
    assert page.fit.table.ids == "patient"
    with pytest.raises(TypeError, match="gropus"):
        report(data, "state", gropus="patient")


@pytest.mark.slow
def test_numbers_and_truth_values_as_outcome(frame):
    sick = frame["state"] == "ill"
    for outcome, positive in (
        (sick.astype(int), 1),
        (sick, True),
        (sick.astype(float), 1),
    ):
        page = report(
            frame.assign(state=outcome), "state", positive=positive, **ONE_FIT
        )
        assert page.fit.table.y.tolist() == sick.astype(int).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(
    "model",
    [
        SparseAUCClassifierCV(ks=[1, 2, 3], alphas=[1.0], cv=3, random_state=0),
        SparseAUCClassifier(k=2),
        SHTAUCClassifier(k=2, max_epochs=5, random_state=0),
    ],
)
def test_a_fitted_model_is_reported(frame, model, named, tmp_path):
    X, y = (
        frame.drop(columns="state"),
        frame["state"].map({"well": "a", "ill": "b"}).to_numpy(),
    )
    X = X if named else X.to_numpy()
    fitted = model.fit(X, y)
    page = report_model(
        fitted, X, y, tmp_path / "report.html", stability_pairs=3, folds=3
    )
    assert (tmp_path / "report.html").exists()
    summary = page.fit
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    expected = nested_scores(model, X, y, cv=folds)
    assert summary.nested.interval == expected.interval
    chosen = np.flatnonzero(fitted.coef_[0])
    assert set(summary.columns["column"]) == {
        f"{'gene ' if named else 'x'}{j}" for j in chosen
    }
    assert (summary.stability is None) == isinstance(model, SHTAUCClassifier)
    assert "that rank b above a" in page.html


def test_pipelines_and_searches_are_reported(frame, tmp_path):
    """By the columns that the classifier gets; folds repeat a search, and keep earlier steps."""
    X = frame.drop(columns="state").assign(ward=np.tile(["a", "b", "c"], 40))
    X.iloc[::9, 0] = np.nan
    spread = make_column_transformer(
        (OneHotEncoder(), ["ward"]), (SimpleImputer(), [f"gene {j}" for j in range(8)])
    )
    search = GridSearchCV(SparseAUCClassifier(), {"k": [1, 2]}, scoring="roc_auc")
    model = make_pipeline(spread, search).fit(X, frame["state"])
    page = report_model(model, X, frame["state"], folds=3, stability_pairs=0)
    names = spread.get_feature_names_out()
    chosen = names[np.flatnonzero(model[-1].best_estimator_.coef_[0])]
    assert {*page.fit.columns["column"]} == {*chosen}
    assert "Outer folds refit the classifier alone" in page.html
    values = spread.transform(X)
    assert page.fit.training_auc.auc == roc_auc_score(
        frame["state"] == "well", model[-1].best_estimator_.decision_function(values)
    )
    alone = search.fit(values, frame["state"])
    found = report_model(alone, values, frame["state"], folds=3, stability_pairs=0)
    assert "Outer folds refit the classifier alone" not in found.html
    expected = nested_scores(search, values, frame["state"], cv=fold_ids(found)).scores
    np.testing.assert_allclose(found.fit.nested.scores, expected)


def fold_ids(page):
    folds = page.fit.nested.folds
    return [
        (np.flatnonzero(folds != one), np.flatnonzero(folds == one))
        for one in np.unique(folds)
    ]


def test_few_events_leave_nested_cross_validation_out(frame):
    rows = np.r_[
        np.flatnonzero(frame["state"] == "well"),
        np.flatnonzero(frame["state"] == "ill")[:2],
    ]
    X, y = frame.drop(columns="state").iloc[rows], frame["state"].iloc[rows].to_numpy()
    model = SparseAUCClassifier(k=1).fit(X, y)
    assert report_model(model, X, y, folds=0, stability_pairs=0).fit.nested is None
