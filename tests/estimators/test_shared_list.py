"""One list for all classes, as a scikit-learn classifier."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparseauc import Limits, SharedListClassifier
from sparseauc.chunks import open_table


@pytest.mark.slow
@parametrize_with_checks([SharedListClassifier(k=3)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600], np.array([f"digit {label}" for label in y[:600]])


def test_a_list_tells_digits_apart(digits):
    X, y = digits
    model = SharedListClassifier(k=15).fit(X, y)
    assert model.support_.size == 15
    assert model.score(X, y) > 0.85
    assert model.coef_.shape == (10, 64)
    assert_array_equal(np.flatnonzero(np.abs(model.coef_).sum(axis=0)), model.support_)
    assert_array_equal(model.get_support(indices=True), model.support_)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert_array_equal(model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)])
    assert_array_equal(np.sort(model.order_), model.support_)


def test_sparse_tables_files_and_frames_give_the_same(digits, tmp_path):
    X, y = digits
    model = SharedListClassifier(k=6)
    expected = model.fit(X, y).support_
    np.save(tmp_path / "X.npy", X)
    frame = pd.DataFrame(X, columns=[f"pixel {j}" for j in range(64)])
    for table in (sp.csr_matrix(X), open_table(tmp_path / "X.npy", chunk_bytes=2**14), frame):
        model.fit(table, y)
        assert_array_equal(model.support_, expected)
        assert model.predict(table).shape == y.shape


def test_a_panel_is_extended(digits):
    X, y = digits
    frame = pd.DataFrame(X, columns=[f"pixel {j}" for j in range(64)])
    # Pixel 0 is constant: it stays on the list, and takes a place.
    model = SharedListClassifier(
        k=8, limits=Limits(always_include=["pixel 0", "pixel 9"], exclude=["pixel 21"])
    ).fit(frame, y)
    names = model.get_feature_names_out().tolist()
    assert {"pixel 0", "pixel 9"} < set(names)
    assert "pixel 21" not in names
    assert len(names) == 8


def test_weights_of_whole_numbers_count_rows_as_often(digits):
    X, y = digits
    times = np.random.default_rng(0).integers(0, 3, y.size)
    model = SharedListClassifier(k=6)
    weighted = model.fit(X, y, sample_weight=times).order_
    assert_array_equal(model.fit(X.repeat(times, 0), y.repeat(times)).order_, weighted)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"always_include": [1, 2, 3]}, "names 3 columns, more than k=2"),
        ({"always_include": [1], "exclude": [1]}, "both always_include and exclude"),
        ({"always_include": [99]}, "names column 99; there are 64"),
        ({"exclude": range(64)}, "none is left"),
    ],
)
def test_bad_input_is_named(digits, given, message):
    with pytest.raises(ValueError, match=message):
        SharedListClassifier(k=2, limits=Limits(**given)).fit(*digits)


def test_a_ridge_of_0_is_refused(digits):
    with pytest.raises(ValueError, match="alpha"):
        SharedListClassifier(k=2, alpha=0.0).fit(*digits)
