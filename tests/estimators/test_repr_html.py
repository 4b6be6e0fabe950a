"""What a notebook shows of a fitted classifier: scikit-learn's diagram and the short list."""

import re
import subprocess
import sys
from html import unescape

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparseauc import (
    MeanDifferenceClassifier,
    SHTAUCClassifier,
    SparseAUCClassifier,
    SparseAUCClassifierCV,
)
from sparseauc.datasets import make_outbreak
from sparseauc.estimators._short_list import MOST_ROWS

X, y = make_outbreak(n=200, d=12, k=3, mu=1.0, r=0.3, random_state=0)
LIST = '<table class="sparseauc-columns"'


def rows_of(html):
    table = html[html.index(LIST) :]
    return [
        [unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
        for row in re.findall(r"<tr>(.*?)</tr>", table)
    ]


def caption_of(html):
    return unescape(re.search(r"<caption[^>]*>(.*?)</caption>", html).group(1))


@pytest.mark.parametrize(
    "model",
    [
        SparseAUCClassifier(k=3),
        SparseAUCClassifierCV(ks=[1, 2, 3], alphas=[1.0], cv=3),
        SHTAUCClassifier(k=3, random_state=0),
        MeanDifferenceClassifier(k=3),
    ],
)
def test_columns_and_coefficients_below_the_diagram(model):
    assert LIST not in model._repr_html_()
    model.fit(X, y)
    html = model._repr_html_()
    assert html.index("sk-top-container") < html.index(LIST)
    headings, *rows = rows_of(html)
    assert headings[:2] == ["column", "coefficient"]
    expected = {
        str(j): f"{model.coef_[0, j]:.4g}" for j in np.flatnonzero(model.coef_[0])
    }
    assert {row[0]: row[1] for row in rows} == expected
    assert caption_of(html).startswith(
        f"{len(expected)} of 12 columns that rank 1 above -1"
    )


def test_standardised_where_the_deviations_are_known():
    scaled = X * np.logspace(-3, 3, 12)
    model = SparseAUCClassifier(k=4).fit(scaled, y)
    headings, *rows = rows_of(model._repr_html_())
    assert headings == ["column", "coefficient", "per standard deviation"]
    weights = model.coef_[0] * model.scale_
    chosen = sorted(np.flatnonzero(weights), key=lambda j: -abs(weights[j]))
    assert [row[0] for row in rows] == [str(j) for j in chosen]
    assert [row[2] for row in rows] == [f"{weights[j]:.3g}" for j in chosen]


def test_an_auc_that_was_chosen_among_many_says_so():
    model = SparseAUCClassifierCV(ks=[1, 3], alphas=[1.0, 10.0], cv=3).fit(X, y)
    caption = caption_of(model._repr_html_())
    assert (
        f"AUC {model.best_score_:.3f} in cross-validation, chosen among many" in caption
    )
    assert "AUC" not in caption_of(SparseAUCClassifier(k=3).fit(X, y)._repr_html_())


def test_names_and_labels_are_only_text():
    nasty = "</table><script>alert(1)</script> & \"x\" 'y'"
    frame = pd.DataFrame(X, columns=[f"{nasty}{j}" for j in range(12)])
    model = SparseAUCClassifier(k=2).fit(
        frame, np.where(y > 0, f"p{nasty}", f"n{nasty}")
    )
    shown = model._repr_html_()[model._repr_html_().index(LIST) :]
    assert "<script" not in shown
    assert all(row[0].startswith(nasty) for row in rows_of(shown)[1:])
    assert repr(f"p{nasty}") in caption_of(shown)


def test_mime_bundle_is_the_same(monkeypatch):
    model = SparseAUCClassifier(k=2).fit(X, y)
    bundle = model._repr_mimebundle_()
    assert bundle["text/plain"] == repr(model)
    shown = model._repr_html_()
    assert (
        bundle["text/html"][bundle["text/html"].index(LIST) :]
        == shown[shown.index(LIST) :]
    )
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert set(model._repr_mimebundle_()) == {"text/plain"}


def test_long_lists_are_cut_and_pipelines_stay_as_they_are():
    wide = np.random.default_rng(0).normal(size=(60, 80))
    model = SparseAUCClassifier(k=70).fit(wide, np.arange(60) % 2)
    assert len(rows_of(model._repr_html_())) == 1 + MOST_ROWS
    assert caption_of(model._repr_html_()).endswith("; 20 more are not shown")
    pipeline = make_pipeline(StandardScaler(), SparseAUCClassifier(k=2)).fit(X, y)
    assert "StandardScaler" in pipeline._repr_html_()


def test_neither_pandas_nor_jinja2_is_needed():
    code = (
        "import sys; sys.modules['pandas'] = sys.modules['jinja2'] = None; import numpy as np; "
        "from sparseauc import MeanDifferenceClassifier as M; "
        "print('sparseauc-columns' in M(k=1).fit(np.eye(4), [0, 0, 1, 1])._repr_html_())"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    )
    assert outcome.stdout == "True\n"
