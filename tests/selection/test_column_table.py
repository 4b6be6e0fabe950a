"""The table of chosen columns: its numbers, its names, and what it refuses."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score

from sparseauc import SHTAUCClassifier, SparseAUCClassifier, SparseAUCClassifierCV
from sparseauc.datasets import make_outbreak
from sparseauc.selection.stability import stability_selection
from sparseauc.selection.table import column_table


@pytest.fixture(scope="module")
def outbreak():
    data = make_outbreak(
        n=300, d=10, k=3, mu=1.0, r=0.3, correlation=0.5, random_state=0
    )
    # Columns on other scales, and one turned round.
    data.X[:] *= 10.0 ** np.arange(-5, 5)
    data.X[:, data.support[0]] *= -1
    return data


@pytest.fixture(scope="module")
def model(outbreak):
    return SparseAUCClassifier(k=4).fit(*outbreak)


def test_numbers_column_by_column(outbreak, model):
    X, y = outbreak
    table = column_table(model, X, y)
    assert list(table.columns) == [
        "rank", "column", "coefficient", "standardised", "auc", "direction",
    ]  # fmt: skip
    assert set(table["column"]) == set(model.get_support(indices=True))
    for row in table.itertuples():
        value = X[:, row.column]
        assert row.coefficient == model.coef_[0, row.column]
        assert row.standardised == pytest.approx(row.coefficient * value.std())
        area = roc_auc_score(y, value)
        assert row.auc == pytest.approx(max(area, 1 - area))
        assert row.direction == ("+" if area > 0.5 else "-")
    turned = table.set_index("column").loc[outbreak.support[0]]
    assert turned["direction"] == "-"
    assert turned["coefficient"] < 0


def test_sorted_by_rank(outbreak, model):
    table = column_table(model, *outbreak)
    assert table["rank"].tolist() == [1, 2, 3, 4]
    assert table.index.tolist() == [0, 1, 2, 3]
    assert np.all(np.diff(table["standardised"].abs()) <= 0)


def test_frequency_of_a_stability_selection(outbreak, model):
    stability = stability_selection(*outbreak, 4, n_pairs=3, random_state=0)
    table = column_table(model, *outbreak, stability=stability)
    np.testing.assert_array_equal(
        table["frequency"], stability.frequency[table["column"]]
    )


@pytest.mark.parametrize("kind", ["frame", "polars", "csr", "float32", "column-major"])
def test_any_table(outbreak, model, kind):
    X, y = outbreak
    expected = column_table(model, X, y)
    names = [f"gene{j}" for j in range(10)]
    frame = pd.DataFrame(X, columns=names)
    table = {
        "frame": frame,
        "polars": pl.from_pandas(frame),
        "csr": sp.csr_matrix(X),
        "float32": X.astype(np.float32),
        "column-major": np.asfortranarray(X),
    }[kind]
    found = column_table(SparseAUCClassifier(k=4).fit(table, y), table, y)
    if kind in ("frame", "polars"):
        assert found["column"].tolist() == [names[j] for j in expected["column"]]
        found["column"] = expected["column"]
    pd.testing.assert_frame_equal(found, expected, rtol=1e-4)


@pytest.mark.parametrize(
    "classifier",
    [
        SparseAUCClassifierCV(ks=[2, 3], alphas=[1.0]),
        SHTAUCClassifier(k=3, random_state=0),
    ],
)
def test_every_classifier_and_text_labels(classifier):
    X, y = make_outbreak(n=300, d=10, k=3, mu=1.0, r=0.3, random_state=0)
    named = np.where(y > 0, "ill", "hale")
    table = column_table(classifier.fit(X, named), X, named)
    assert len(table) == classifier.get_support().sum() > 0
    assert set(table["direction"]) == {"+"}


def test_ties_and_nothing_chosen(outbreak, model):
    X, y = outbreak
    flat = np.zeros_like(X)
    table = column_table(model, flat, y)
    assert set(table["direction"]) == {""}
    assert set(table["auc"]) == {0.5}
    # Without a difference the first columns come first.
    assert table["column"].is_monotonic_increasing
    empty = column_table(SparseAUCClassifier(k=2).fit(flat, y), X, y)
    assert len(empty) == 0
    assert list(empty.columns) == list(table.columns)


def test_bad_input(outbreak, model):
    X, y = outbreak
    with pytest.raises(NotFittedError):
        column_table(SparseAUCClassifier(), X, y)
    with pytest.raises(
        ValueError, match="9 features, but SparseAUCClassifier is expecting 10"
    ):
        column_table(model, X[:, 1:], y)
    with pytest.raises(ValueError, match="X has 300 rows but y has 299"):
        column_table(model, X, y[:-1])
    with pytest.raises(ValueError, match=r"y holds 0, not among the classes \[-1, 1\]"):
        column_table(model, X, y * (y > 0))
    with pytest.raises(ValueError, match="one class only"):
        column_table(model, X, np.ones_like(y))
    holed = X.copy()
    holed[7, 2] = np.inf
    with pytest.raises(ValueError, match="row 7, column 2"):
        column_table(model, holed, y)
    narrow = stability_selection(X[:, :5], y, 2, n_pairs=1, random_state=0)
    with pytest.raises(ValueError, match="of 5 columns and the model of 10"):
        column_table(model, X, y, narrow)
