"""The baselines in place of the library's classifiers: the same conventions and errors."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import has_fit_parameter

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


def expected_failures(estimator):
    """Weights equal repetitions only where no rows are drawn one by one or in batches."""
    if isinstance(estimator, (SPAMClassifier, HSGHTClassifier)):
        reason = "rows are visited in an order that repetitions change, as in scikit-learn's SGD"
        return {
            f"check_sample_weight_equivalence_on_{kind}_data": reason
            for kind in ("dense", "sparse")
        }
    return {}


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
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("ignore:k=:UserWarning")
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
def test_storages_and_precisions_agree(outbreak, estimator):
    X, y = outbreak
    fitted = clone(estimator).set_params(max_epochs=3, tol=0.0).fit(X, y)
    for table in (sp.csr_array(X), np.asfortranarray(X)):
        other = clone(estimator).set_params(max_epochs=3, tol=0.0).fit(table, y)
        np.testing.assert_allclose(other.coef_, fitted.coef_, rtol=1e-7, atol=1e-10)
    single = clone(estimator).set_params(max_epochs=3, tol=0.0).fit(X.astype(np.float32), y)
    assert single.coef_.dtype == np.float32
    np.testing.assert_allclose(single.coef_, fitted.coef_, rtol=0.02, atol=2e-3)


@pytest.mark.parametrize("estimator", ALL, ids=name)
def test_same_seed_same_answer_and_warm_start(outbreak, estimator):
    X, y = outbreak
    model = clone(estimator).set_params(max_epochs=4, tol=0.0)
    np.testing.assert_array_equal(clone(model).fit(X, y).coef_, clone(model).fit(X, y).coef_)
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


@pytest.mark.parametrize("estimator", ALL, ids=name)
def test_weights_where_the_method_defines_them(outbreak, estimator):
    X, y = outbreak
    undefined = isinstance(estimator, SOLAMClassifier)
    assert has_fit_parameter(estimator, "sample_weight") is not undefined
    if undefined:
        return
    keep = np.random.default_rng(0).random(500) < 0.6
    estimator = clone(estimator).set_params(max_epochs=3, tol=0.0, shuffle=False)
    if isinstance(estimator, SPAMClassifier):
        estimator.set_params(step_size=0.02)  # "auto" looks at all rows
    weighted = clone(estimator).fit(X, y, sample_weight=keep.astype(float))
    absent = clone(estimator).fit(X[keep], y[keep])
    np.testing.assert_allclose(weighted.coef_, absent.coef_, rtol=1e-7, atol=1e-10)
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        clone(estimator).fit(X, y, sample_weight=np.where(np.arange(500) == 3, -1.0, 1.0))


# ------------------------------------------------------------------------------------- streams


@pytest.mark.parametrize("estimator", ONLINE, ids=name)
@pytest.mark.parametrize("make_table", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
def test_a_stream_in_parts_equals_the_stream_whole(outbreak, estimator, make_table):
    X, y = outbreak
    estimator = clone(estimator).set_params(step_size=0.05)
    if isinstance(estimator, SOLAMClassifier):
        estimator.set_params(max_norm=10.0)  # "auto" looks at the first part
    whole = clone(estimator).partial_fit(make_table(X), y)
    parts = clone(estimator)
    for rows in np.split(np.arange(500), [1, 40, 41, 300]):
        parts.partial_fit(make_table(X[rows]), y[rows], classes=[-1, 1])
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(parts.intercept_, whole.intercept_, rtol=1e-8, atol=1e-11)
    assert roc_auc_score(y, parts.decision_function(X)) > 0.8


@pytest.mark.parametrize("estimator", ONLINE, ids=name)
def test_streams_refuse_what_does_not_fit(outbreak, estimator):
    X, y = outbreak
    with pytest.raises(ValueError, match="name both with partial_fit"):
        clone(estimator).partial_fit(X[:5], np.ones(5))
    stream = clone(estimator).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"y holds 7, not among the classes \[-1, 1\]"):
        stream.partial_fit(X[:2], [1, 7])
    with pytest.raises(ValueError, match="29 features"):
        stream.partial_fit(X[:, 1:], y)
    # A fit after a stream begins afresh, and a stream after a fit too.
    fresh = clone(estimator).set_params(max_epochs=2).fit(X, y)
    np.testing.assert_array_equal(stream.set_params(max_epochs=2).fit(X, y).coef_, fresh.coef_)


@pytest.mark.parametrize("estimator", ONLINE, ids=name)
def test_zero_threshold(outbreak, estimator):
    X, y = outbreak
    full = clone(estimator).fit(X, y)
    cut = clone(estimator).set_params(zero_threshold=0.05).fit(X, y)
    np.testing.assert_array_equal(cut.coef_, np.where(np.abs(full.coef_) < 0.05, 0.0, full.coef_))
    assert 0 < cut.get_support().sum() < full.get_support().sum()


def test_spam_penalties_follow_scikit_learns_elastic_net(outbreak):
    X, y = outbreak

    def coef(**parameters):
        return (
            SPAMClassifier(alpha=0.01, max_epochs=3, random_state=0, **parameters).fit(X, y).coef_
        )

    np.testing.assert_array_equal(coef(penalty="l1"), coef(penalty="elasticnet", l1_ratio=1.0))
    np.testing.assert_array_equal(coef(penalty="l2"), coef(penalty="elasticnet", l1_ratio=0.0))
    assert not np.array_equal(coef(penalty="l1"), coef(penalty="l2"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    ALL,
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("reason", ["one class", "NaN", "one dimension", "labels of other rows"])
def test_a_refused_refit_leaves_nothing_of_the_fit_before(estimator, reason):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 8)), np.arange(60) % 3
    y = (y == 0).astype(int)
    X[y == 1, :2] += 1.0
    before = set(vars(estimator))
    model = clone(estimator).fit(pd.DataFrame(X, columns=[f"gene{j}" for j in range(8)]), y)
    narrow, labels = X[:, 5:].copy(), y
    if reason == "one class":
        labels = np.ones(60)
    elif reason == "NaN":
        narrow[3, 1] = np.nan
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


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e200, 1e308])
@pytest.mark.parametrize(
    "estimator",
    [estimator for estimator in ALL if has_fit_parameter(estimator, "sample_weight")],
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
