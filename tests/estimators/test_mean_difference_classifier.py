"""MeanDifferenceClassifier as a scikit-learn user meets it."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparseauc.estimators._mean_difference import MeanDifferenceClassifier


@parametrize_with_checks([MeanDifferenceClassifier(k=2)])
@pytest.mark.filterwarnings("ignore:k=:UserWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_finds_the_columns_and_ranks(outbreak):
    X, y = outbreak
    model = MeanDifferenceClassifier(k=5).fit(X, y)
    np.testing.assert_array_equal(model.get_support(indices=True), outbreak.support)
    assert roc_auc_score(y, model.decision_function(X)) > 0.9
    scores = model.decision_function(X)
    np.testing.assert_allclose(
        scores, X @ model.coef_[0] + model.intercept_[0], atol=1e-12
    )
    assert scores[y > 0].mean() == pytest.approx(-scores[y < 0].mean())
    z = model.standardised_differences_
    assert z.shape == (40,)
    assert (
        np.abs(z[outbreak.support]).min() > np.abs(np.delete(z, outbreak.support)).max()
    )


def test_score_is_that_of_the_diagonal_discriminant(outbreak):
    X, y = outbreak
    model = MeanDifferenceClassifier(k=40).fit(X, y)
    z, coef = model.standardised_differences_, model.coef_[0]
    deviation = np.sqrt((X[y > 0].var(axis=0) + X[y < 0].var(axis=0)) / 2)
    np.testing.assert_allclose(coef, z / deviation, rtol=1e-9)


def test_tables_agree(outbreak, tmp_path):
    X, y = outbreak
    expected = MeanDifferenceClassifier(k=5).fit(X, y).coef_
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for table in (
        np.asfortranarray(X),
        sp.csr_matrix(X),
        sp.csc_array(X),
        X.tolist(),
        mapped,
    ):
        coef = MeanDifferenceClassifier(k=5).fit(table, y).coef_
        np.testing.assert_allclose(coef, expected, rtol=1e-9)
    single = MeanDifferenceClassifier(k=5).fit(X.astype(np.float32), y)
    assert single.coef_.dtype == single.intercept_.dtype == np.float32
    np.testing.assert_allclose(single.coef_, expected, rtol=1e-5)


def test_scaling_changes_nothing(outbreak):
    X, y = outbreak
    plain = MeanDifferenceClassifier(k=7).fit(X, y)
    scaled = make_pipeline(StandardScaler(), MeanDifferenceClassifier(k=7)).fit(X, y)
    np.testing.assert_allclose(
        scaled.decision_function(X), plain.decision_function(X), rtol=1e-8
    )


def test_integer_weights_are_repetitions(outbreak):
    X, y = outbreak
    weight = np.random.default_rng(0).integers(0, 4, y.size)
    weighted = MeanDifferenceClassifier(k=5).fit(X, y, sample_weight=weight)
    repeated = MeanDifferenceClassifier(k=5).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-10)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-10)


def test_a_column_that_separates_outweighs_the_others(outbreak):
    X, y = outbreak.X.copy(), outbreak.y
    X[:, 8] = np.where(y > 0, 2.0, 3.0)
    for table in (X, sp.csr_array(X), X.astype(np.float32)):
        model = MeanDifferenceClassifier(k=6).fit(table, y)
        assert roc_auc_score(y, model.decision_function(table)) == 1.0
        assert model.score(table, y) == 1.0
        assert model.get_support()[8]
        assert model.coef_[0, 8] < 0


def test_names_and_grid_search(outbreak):
    X, y = outbreak
    frame = pd.DataFrame(X, columns=[f"gene{j}" for j in range(40)])
    model = MeanDifferenceClassifier(k=5).set_output(transform="pandas").fit(frame, y)
    assert list(model.transform(frame).columns) == [
        f"gene{j}" for j in outbreak.support
    ]
    search = GridSearchCV(
        MeanDifferenceClassifier(), {"k": [1, 5, 40]}, scoring="roc_auc", cv=3
    )
    assert search.fit(frame, y).best_params_ == {"k": 5}


def test_bad_input_is_refused(outbreak):
    X, y = outbreak
    with pytest.raises(ValueError, match="'k' parameter"):
        MeanDifferenceClassifier(k=0).fit(X, y)
    broken = X.copy()
    broken[17, 23] = np.nan
    with pytest.raises(ValueError, match="row 17, column 23"):
        MeanDifferenceClassifier().fit(broken, y)
    with pytest.warns(UserWarning, match="k=99 is greater than n_features=40"):
        assert MeanDifferenceClassifier(k=99).fit(X, y).get_support().all()
