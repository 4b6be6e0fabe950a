"""The baselines in place of the library's classifiers: the same conventions and errors."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparseauc.datasets import make_outbreak
from sparseauc_paper.baselines import (
    FSAUCClassifier,
    HSGHTClassifier,
    SOLAMClassifier,
    SPAMClassifier,
    StoIHTClassifier,
)

HARD_THRESHOLDING = [
    StoIHTClassifier(k=5, random_state=0),
    HSGHTClassifier(k=5, random_state=0),
]
ONLINE = [
    SPAMClassifier(penalty="l1", random_state=0),
    SPAMClassifier(penalty="l2", random_state=0),
    SPAMClassifier(penalty="elasticnet", average=False, random_state=0),
    SOLAMClassifier(random_state=0),
    FSAUCClassifier(random_state=0),
]
ALL = HARD_THRESHOLDING + ONLINE


@pytest.mark.slow
@parametrize_with_checks(
    [
        StoIHTClassifier(k=3),
        HSGHTClassifier(k=3),
        SPAMClassifier(),
        SPAMClassifier(penalty="elasticnet", average=False),
        SOLAMClassifier(),
        FSAUCClassifier(),
    ],
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def name(estimator):
    return f"{type(estimator).__name__}-{getattr(estimator, 'penalty', '')}"


@pytest.fixture(scope="module")
def outbreak():
    return make_outbreak(n=500, d=30, k=5, mu=1.0, r=0.2, random_state=0)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ALL, ids=name)
def test_swapped_in_a_pipeline(outbreak, estimator):
    X, y = outbreak
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


@pytest.mark.parametrize("estimator", ALL, ids=name)
def test_same_seed_same_answer_and_warm_start(outbreak, estimator):
    X, y = outbreak
    model = clone(estimator).set_params(max_epochs=4, tol=0.0)
    np.testing.assert_array_equal(
        clone(model).fit(X, y).coef_, clone(model).fit(X, y).coef_
    )
    warm = clone(model).set_params(warm_start=True).fit(X, y)
    first = warm.coef_.copy()
    assert not np.array_equal(warm.fit(X, y).coef_, first)


@pytest.mark.parametrize("estimator", ALL, ids=name)
def test_bad_input_is_named(outbreak, estimator):
    X, y = outbreak
    holed = X.copy()
    holed[7, 11] = np.nan
    for table, labels, match in [
        (holed, y, "contains NaN"),
        (X, np.ones(500), "one class only"),
        (X, np.arange(500) % 3, "3 classes"),
        (X, y[:-1], "inconsistent numbers of samples"),
    ]:
        with pytest.raises(ValueError, match=match):
            clone(estimator).fit(table, labels)


@pytest.mark.parametrize("estimator", ONLINE, ids=name)
def test_zero_threshold(outbreak, estimator):
    X, y = outbreak
    full = clone(estimator).fit(X, y)
    cut = clone(estimator).set_params(zero_threshold=0.05).fit(X, y)
    np.testing.assert_array_equal(
        cut.coef_, np.where(np.abs(full.coef_) < 0.05, 0.0, full.coef_)
    )
    assert 0 < cut.get_support().sum() < full.get_support().sum()


@pytest.mark.parametrize("estimator", ALL, ids=name)
def test_history_and_the_end_of_a_run(outbreak, estimator):
    X, y = outbreak
    model = clone(estimator).set_params(max_epochs=500, tol=2e-2).fit(X, y)
    assert model.n_iter_ == len(model.history_["epoch"]) < 500
    assert model.history_["auc"][-1] > 0.8
    silent = clone(model).set_params(record_history=False).fit(X, y)
    assert silent.history_ == {}
    np.testing.assert_array_equal(silent.coef_, model.coef_)
