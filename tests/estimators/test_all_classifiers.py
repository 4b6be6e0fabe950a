"""One classifier in place of another: the same conventions, the same errors, in any pipeline."""

import re
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparseauc import (
    MeanDifferenceClassifier,
    SHTAUCClassifier,
    SparseAUCClassifier,
    SparseAUCClassifierCV,
)
from sparseauc.datasets import make_outbreak


@pytest.fixture(scope="module")
def outbreak():
    return make_outbreak(n=500, d=30, k=5, mu=1.0, r=0.2, random_state=0)


@pytest.mark.slow
def test_swapped_in_a_pipeline(outbreak):
    X, y = outbreak
    estimator = SHTAUCClassifier(k=5, random_state=0)
    names = [f"gene{j}" for j in range(30)]
    frame, labels = pd.DataFrame(X, columns=names), np.where(y > 0, "sick", "healthy")
    search = GridSearchCV(
        make_pipeline(StandardScaler(), clone(estimator)),
        {f"{type(estimator).__name__.lower()}__max_epochs": [3, 20]},
        scoring="roc_auc",
        cv=3,
    ).fit(frame, labels)
    assert search.best_score_ > 0.85
    model = search.best_estimator_[-1]
    assert model.coef_.shape == (1, 30)
    assert list(model.classes_) == ["healthy", "sick"]
    assert set(search.predict(frame)) == {"healthy", "sick"}
    assert set(search.best_estimator_.get_feature_names_out()) <= set(names)
    assert pd.DataFrame(model.history_)["auc"].iloc[-1] > 0.85


def test_storages_and_precisions_agree(outbreak):
    X, y = outbreak
    estimator = SHTAUCClassifier(k=5, random_state=0)
    fitted = clone(estimator).set_params(max_epochs=3, tol=0.0).fit(X, y)
    for table in (sp.csr_array(X), np.asfortranarray(X)):
        other = clone(estimator).set_params(max_epochs=3, tol=0.0).fit(table, y)
        np.testing.assert_allclose(other.coef_, fitted.coef_, rtol=1e-7, atol=1e-10)
    single = (
        clone(estimator).set_params(max_epochs=3, tol=0.0).fit(X.astype(np.float32), y)
    )
    assert single.coef_.dtype == np.float32
    np.testing.assert_allclose(single.coef_, fitted.coef_, rtol=0.02, atol=2e-3)


def test_same_seed_same_answer_and_warm_start(outbreak):
    X, y = outbreak
    estimator = SHTAUCClassifier(k=5, random_state=0)
    model = clone(estimator).set_params(max_epochs=4, tol=0.0, batch_size=64)
    np.testing.assert_array_equal(
        clone(model).fit(X, y).coef_, clone(model).fit(X, y).coef_
    )
    warm = clone(model).set_params(warm_start=True).fit(X, y)
    first = warm.coef_.copy()
    assert not np.array_equal(warm.fit(X, y).coef_, first)


def test_bad_input_is_named(outbreak):
    X, y = outbreak
    estimator = SHTAUCClassifier(k=5, random_state=0)
    holed = X.copy()
    holed[7, 11] = np.nan
    for table, labels, match in [
        (holed, y, "NaN: first at row 7, column 11"),
        (X, np.ones(500), "one class only"),
        (X, np.arange(500) % 3, "3 classes"),
        (X, y[:-1], "X has 500 rows but y has 499"),
    ]:
        with pytest.raises(ValueError, match=match):
            clone(estimator).fit(table, labels)


def test_rows_of_no_weight_are_absent(outbreak):
    X, y = outbreak
    estimator = SHTAUCClassifier(k=5, random_state=0)
    keep = np.random.default_rng(0).random(500) < 0.6
    estimator = clone(estimator).set_params(max_epochs=3, tol=0.0, shuffle=False)
    weighted = clone(estimator).fit(X, y, sample_weight=keep.astype(float))
    absent = clone(estimator).fit(X[keep], y[keep])
    np.testing.assert_allclose(weighted.coef_, absent.coef_, rtol=1e-7, atol=1e-10)
    with pytest.raises(ValueError, match="sample_weight is -1 in row 3"):
        clone(estimator).fit(
            X, y, sample_weight=np.where(np.arange(500) == 3, -1.0, 1.0)
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    [
        SHTAUCClassifier(k=5, random_state=0),
        MeanDifferenceClassifier(k=3),
        SparseAUCClassifier(k=3),
        SparseAUCClassifierCV(ks=[1, 2], alphas=[1.0], cv=2),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize(
    "reason", ["one class", "infinity", "one dimension", "labels of other rows"]
)
def test_a_refused_refit_leaves_nothing_of_the_fit_before(estimator, reason):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 8)), np.arange(60) % 3
    y = (y == 0).astype(int)
    X[y == 1, :2] += 1.0
    before = set(vars(estimator))
    model = clone(estimator).fit(
        pd.DataFrame(X, columns=[f"gene{j}" for j in range(8)]), y
    )
    narrow, labels = X[:, 5:].copy(), y
    if reason == "one class":
        labels = np.ones(60)
    elif reason == "infinity":
        narrow[3, 1] = np.inf
    elif reason == "one dimension":
        narrow = narrow[:, 0]
    else:
        labels = y[:-1]
    with pytest.raises(ValueError):
        model.fit(narrow, labels)
    left = set(vars(model)) - before - {"n_features_in_", "feature_names_in_"}
    assert not left
    with pytest.raises(NotFittedError):
        model.decision_function(narrow)
    model.fit(X[:, :5], y)
    assert model.decision_function(X[:, :5]).shape == (60,)


EVERY = [SHTAUCClassifier(k=5, random_state=0), MeanDifferenceClassifier(k=3)]


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e150, 1e300])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(
    "estimator", EVERY, ids=lambda estimator: type(estimator).__name__
)
def test_any_scale_gives_a_finite_model_or_names_what_to_rescale(
    estimator, scale, whole, kind
):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 6)), np.arange(60) % 4 == 0
    X[y, :3] += 1.0
    X[:, slice(None) if whole else 3] *= scale
    model, told = clone(estimator), ""
    try:
        model.fit(kind(X), y)
    except ValueError as error:
        told = str(error)
    if told:
        column = r"\d" if whole else "3"
        assert re.search(rf"column {column} .*rescale it|rescale the columns", told)
        return
    for fitted in (model.coef_, model.intercept_, getattr(model, "objective_", 0.0)):
        assert np.isfinite(fitted).all()


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e200, 1e308])
@pytest.mark.parametrize(
    "estimator",
    EVERY,
    ids=lambda estimator: type(estimator).__name__,
)
def test_only_the_proportions_of_weights_count(estimator, scale):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 6)), np.arange(60) % 4 == 0
    X[y, :3] += 1.0
    weight = rng.integers(1, 3, 60) * 0.5
    expected = clone(estimator).fit(X, y, sample_weight=weight).coef_
    found = clone(estimator).fit(X, y, sample_weight=weight * scale).coef_
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "make", [SHTAUCClassifier, SparseAUCClassifier, SparseAUCClassifierCV]
)
def test_a_table_of_pyarrow(make):
    pa = pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = X[:, 0] + rng.normal(size=60) > 0
    table = pa.table({f"c{j}": X[:, j] for j in range(4)})
    model = make().fit(table, y)
    assert model.feature_names_in_.tolist() == table.column_names
    np.testing.assert_array_equal(
        model.decision_function(table), model.decision_function(table.to_pandas())
    )
    with pytest.raises(ValueError, match=r"'c0'"):
        model.fit(table.set_column(0, "c0", [[{"a": 1}] * 60]), y)


@pytest.mark.parametrize(
    "kind", ["object", "Decimal", "double[pyarrow]", "Float64", ">f8", "float16"]
)
def test_numbers_of_any_kind(kind):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(-9, 10, (60, 4)) / 4, columns=list("abcd"))
    y = X["a"] + rng.normal(size=60) > 0
    table = X.map(Decimal).astype(object) if kind == "Decimal" else X.astype(kind)
    model = SparseAUCClassifier(k=2).fit(table, y)
    expected = SparseAUCClassifier(k=2).fit(X, y).decision_function(X)
    np.testing.assert_allclose(
        model.decision_function(table), expected, rtol=1e-5, atol=1e-6
    )


def test_what_is_no_table_of_numbers_is_named():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    frame = pd.DataFrame(X, columns=list("abc"))
    masked = np.ma.masked_array(X, np.arange(180).reshape(60, 3) == 7)
    damaged = sp.csr_array(X)
    damaged.indices[5] = 3
    for table, match in [
        (frame.assign(b=pd.Timedelta("1h")), "column 'b' holds timedelta64"),
        (frame.assign(b=[[1]] * 60), "column 'b' holds object"),
        (pl.DataFrame(X).lazy(), r"lazy frame.*X\.collect\(\)"),
        (damaged, "indices must be < 3"),
    ]:
        with pytest.raises(ValueError, match=match):
            SparseAUCClassifier(k=1).fit(table, y)
        with pytest.raises(ValueError):
            SparseAUCClassifier(k=1).fit(X, y).predict(table)
    holed = SparseAUCClassifier(k=1).fit(masked, y)
    np.testing.assert_array_equal(
        holed.predict(masked), holed.predict(masked.filled(np.nan))
    )
    ones = np.ma.masked_array(y * 0 + 1, np.arange(60) == 4)
    with pytest.raises(ValueError, match="y is masked at row 4"):
        SparseAUCClassifier(k=1).fit(X, ones * y)
    with pytest.raises(ValueError, match="sample_weight is masked at row 4"):
        SparseAUCClassifier(k=1).fit(X, y, sample_weight=ones)


@pytest.mark.parametrize("k", [1, 3, 5])
def test_select_from_model_keeps_what_was_chosen(k):
    from sklearn.feature_selection import SelectFromModel

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 10)) * 10.0 ** rng.integers(-2, 3, 10)
    y = X[:, 0] / X[:, 0].std() + X[:, 1] / X[:, 1].std() + rng.normal(size=200) > 0
    selector = SelectFromModel(SparseAUCClassifier(k=k)).fit(X, y)
    assert selector.transform(X).shape == (200, k)
    assert (selector.get_support() == selector.estimator_.get_support()).all()
