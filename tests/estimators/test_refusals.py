"""Bad input is refused by all classifiers alike."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sparseauc import SHTAUCClassifier, SparseAUCClassifier, SparseAUCClassifierCV

MODELS = [
    SHTAUCClassifier(k=3, random_state=0),
    SparseAUCClassifier(k=3),
    SparseAUCClassifierCV(ks=[3], cv=3),
]


@pytest.fixture(params=MODELS, ids=lambda model: type(model).__name__)
def model(request):
    return clone(request.param)


@pytest.fixture
def refused(model):
    def check(match, X, y, *, weight=None):
        with pytest.raises(ValueError, match=match):
            model.fit(X, y, sample_weight=weight)

    return check


def test_labels_are_checked(refused, outbreak):
    X, y = outbreak
    refused("one class only, 1", X, np.ones(600, int))
    refused(r"Only binary.*3 classes: 'a', 'b', 'c'\).*OneVsRestClassifier", X,
            np.array(["a", "b", "c"] * 200))  # fmt: skip
    refused("X has 600 rows but y has 599", X, y[:-1])
    refused("Input y contains NaN", X, np.where(y > 0, 1.0, np.nan))
    refused("continuous", X, np.linspace(0, 1, 600))


@pytest.mark.parametrize(
    ("value", "word"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "inf")]
)
def test_not_finite_is_located(model, refused, outbreak, frame, value, word):
    X, y = outbreak.X.copy(), outbreak.y
    X[17, 23] = value
    if np.isnan(value) and isinstance(
        model, SparseAUCClassifier | SparseAUCClassifierCV
    ):
        refused(f"contains {word}.*row 17, column 23", sp.csr_array(X), y)
        return  # it counts as the median
    refused(f"contains {word}.*row 17, column 23", X, y)
    refused(f"contains {word}.*row 17, column 23", X.astype(np.float32), y)
    refused(f"contains {word}.*row 17, column 23", sp.csr_array(X), y)
    refused(f"contains {word}.*row 17, column 'gene23'.*SimpleImputer",
            pd.DataFrame(X, columns=frame.columns), y)  # fmt: skip
    model.fit(outbreak.X, y)
    with pytest.raises(ValueError, match="row 17, column 23"):
        model.predict(X)


def test_shapes_and_types_are_checked(model, refused, outbreak, frame):
    X, y = outbreak
    refused("Complex data not supported", X + 1j, y)
    refused("0 feature", X[:, :0], y)
    refused("0 sample", X[:0], y[:0])
    refused("Expected 2D array, got 1D", X[:, 0], y)
    text = frame.assign(site="north", when=pd.Timestamp("2020-01-01"))
    refused("column 'when' holds datetime64", text, y)
    if not isinstance(model, SparseAUCClassifier | SparseAUCClassifierCV):
        text = text.assign(when="today")
        refused("column 'site' and 1 more could not be converted to float", text, y)
        refused(
            "column 'site' could not",
            pl.DataFrame({"site": ["n"] * 600, "a": X[:, 0]}),
            y,
        )
    refused(
        "could not convert string to float", np.full((600, 3), "x", dtype=object), y
    )
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


def test_weights_are_checked(refused, outbreak):
    X, y = outbreak
    weight = np.ones(600)
    refused(
        "sample_weight is -2 in row 5",
        X,
        y,
        weight=np.where(np.arange(600) == 5, -2.0, 1.0),
    )
    refused("non-zero number|zero on all rows", X, y, weight=np.zeros(600))
    refused("zero on all rows of class 1: give", X, y, weight=(y < 0).astype(float))
    refused("sample_weight has 599 rows, the labels 600", X, y, weight=weight[:-1])
    refused(
        "sample_weight is nan in row 5:",
        X,
        y,
        weight=np.where(np.arange(600) == 5, np.nan, weight),
    )


def test_changed_columns_are_refused(model, outbreak, frame):
    model.fit(frame, outbreak.y)
    with pytest.raises(ValueError, match=r"feature names should match[\s\S]*gene_new"):
        model.predict(frame.rename(columns={"gene3": "gene_new"}))
    with pytest.raises(ValueError, match=r"39 features, but .* is expecting 40"):
        model.predict(outbreak.X[:, 1:])
