"""What cross-validation chooses: rules, coefficients, probabilities; and when it is chance."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from sparseauc import SparseAUCClassifier, SparseAUCClassifierCV
from sparseauc.datasets import make_outbreak
from sparseauc.moments import class_moments
from sparseauc.performance import fit_calibration
from sparseauc.rules import ChanceWarning


def chosen(model):
    return model.get_support(indices=True).tolist()


@pytest.mark.parametrize("rule", ["best", "1se"])
@pytest.mark.parametrize("seed", range(4))
def test_rules_take_the_fewest_columns_that_are_good_enough(seed, rule):
    # Easy for odd seeds: there the standard error is less than what does not count.
    X, y = make_outbreak(
        150, 30, 6, mu=2.0 if seed % 2 else 0.5, r=0.3, random_state=seed
    )
    model = SparseAUCClassifierCV(range(1, 13), (0.1, 10.0), cv=5, rule=rule).fit(X, y)
    table = pd.DataFrame(model.cv_results_)
    splits = table[[f"split{i}_test_score" for i in range(5)]].to_numpy()
    # Fewer than 50 rows of a class: means of three lengths, the middle one counting
    # twice.
    assert 0 < (y > 0).sum() < 50
    mean = splits.mean(axis=1).reshape(12, -1)
    around = np.pad(mean, ((1, 1), (0, 0)), mode="edge")
    compared = (around[:-2] / 4 + mean / 2 + around[2:] / 4).ravel()
    assert_allclose(table["smooth_test_score"], compared, rtol=1e-12)
    best = table["smooth_test_score"].idxmax()
    below = (
        0.002 if rule == "best" else max(0.005, splits[best].std(ddof=1) / np.sqrt(5))
    )
    good = table[compared >= compared[best] - below]
    assert model.k_ == good["param_k"].min()
    same_k = table[table["param_k"] == model.k_]
    chosen = table.iloc[model.best_index_]
    assert chosen["smooth_test_score"] == same_k["smooth_test_score"].max()
    assert chosen["mean_test_score"] == model.best_score_
    assert chosen["params"] == {
        "k": model.k_, "alpha": model.alpha_, "coefficients": model.coefficients_,
    }  # fmt: skip


def test_repeats_add_no_independent_folds(outbreak):
    X, y = outbreak
    splits = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y))
    once, thrice = (
        SparseAUCClassifierCV([1, 3], [1.0], cv=splits * times).fit(X, y)
        for times in (1, 3)
    )
    key = "standard_error_test_score"
    # The same folds again: only the degrees of freedom differ, 11 of 12 in place of 3
    # of 4.
    expected = once.cv_results_[key] * np.sqrt((3 / 4) / (11 / 12))
    assert_allclose(thrice.cv_results_[key], expected)


def test_a_rule_may_be_any_callable(outbreak):
    def longest(cv_results):
        return int(np.argmax(cv_results["param_k"]))

    model = SparseAUCClassifierCV([1, 3, 5], [1.0], cv=3, rule=longest).fit(*outbreak)
    assert model.k_ == 5
    wrong = SparseAUCClassifierCV([1, 3, 5], [1.0], cv=3, rule=lambda _: 99)
    with pytest.raises(ValueError, match="it returned 99"):
        wrong.fit(*outbreak)


# ------------------------------------------------------- cross-validation: logistic
# coefficients


def logistic_scores(X, y, columns, X_new, ridge):
    """Scores by scikit-learn, zero midway between the class means of the training rows."""
    scaler = StandardScaler().fit(X[:, columns])
    model = LogisticRegression(
        C=1 / (ridge * len(X)), solver="newton-cholesky", tol=1e-12, max_iter=1000
    )
    model.fit(scaler.transform(X[:, columns]), y)
    scores, training = (
        scaler.transform(table[:, columns]) @ model.coef_[0] for table in (X_new, X)
    )
    positive = y == model.classes_[1]
    return scores - (training[positive].mean() + training[~positive].mean()) / 2


@pytest.mark.parametrize("home", [np.asarray, sp.csr_array])
def test_logistic_coefficients_are_tried_on_the_lists_of_the_best_ridge(outbreak, home):
    X, y = outbreak
    ks, alphas = [1, 3, 5], [0.1, 10.0]
    model = SparseAUCClassifierCV(ks, alphas, cv=4, coefficients="auto").fit(home(X), y)
    table = pd.DataFrame(model.cv_results_)
    assert len(table) == 9
    tried = table[table["param_coefficients"] == "logistic"].set_index("param_k")
    for k in ks:
        others = table[(table["param_k"] == k) & (table["param_coefficients"] == "auc")]
        best = others.loc[others["mean_test_score"].idxmax()]
        assert tried.loc[k, "param_alpha"] == best["param_alpha"]
        aucs = {ridge: [] for ridge in (0.5, 0.05, 0.005, 0.0005, 0.00005)}
        for train, test in StratifiedKFold(4).split(X, y):
            plain = SparseAUCClassifier(k=k, alpha=best["param_alpha"]).fit(
                X[train], y[train]
            )
            for ridge, found in aucs.items():
                columns = sorted(chosen(plain))
                scores = logistic_scores(X[train], y[train], columns, X[test], ridge)
                found.append(roc_auc_score(y[test], scores))
        ridge = max(aucs, key=lambda ridge: np.mean(aucs[ridge]))
        assert tried.loc[k, "param_logistic_ridge"] == ridge
        splits = [f"split{i}_test_score" for i in range(4)]
        assert_allclose(tried.loc[k, splits].astype(float), aucs[ridge], atol=1e-9)


def test_logistic_coefficients_are_those_of_the_fit(outbreak):
    X, y = outbreak
    model = SparseAUCClassifierCV([1, 3, 5], [1.0], cv=3, coefficients="logistic").fit(
        X, y
    )
    assert (
        set(model.cv_results_["param_coefficients"])
        == {model.coefficients_}
        == {"logistic"}
    )
    columns = sorted(chosen(model))
    ridge = model.cv_results_["param_logistic_ridge"][model.best_index_]
    slope, intercept = model.platt_["slope"], model.platt_["intercept"]
    expected = slope * logistic_scores(X, y, columns, X, ridge) + intercept
    assert_allclose(model.decision_function(X), expected, atol=1e-7)
    for i, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
        scores = model.out_of_fold_scores_[test]
        found = model.cv_results_[f"split{i}_test_score"][model.best_index_]
        assert found == pytest.approx(roc_auc_score(y[test], scores), abs=1e-12)
        plain = SparseAUCClassifier(k=model.k_, alpha=1.0).fit(X[train], y[train])
        naive = logistic_scores(
            X[train], y[train], sorted(chosen(plain)), X[test], ridge
        )
        assert_allclose(scores, slope * naive + intercept, atol=1e-7)


def test_logistic_coefficients_are_not_tried_where_columns_outnumber_rows():
    X, y = make_outbreak(40, 60, 3, mu=1.0, r=0.4, random_state=0)
    model = SparseAUCClassifierCV([1, 3], [1.0], cv=3).fit(X, y)
    assert set(model.cv_results_["param_coefficients"]) == {"auc"}


# ---------------------------------------------------------------- cross-validation:
# probabilities


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_log_odds_by_logistic_regression_on_out_of_fold_scores(
    outbreak, weighted
):
    X, y = outbreak
    weight = (
        np.random.default_rng(0).integers(1, 4, y.size).astype(float)
        if weighted
        else None
    )
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    how = {"ks": [3], "alphas": [1.0], "coefficients": "auc", "curves": False, "cv": cv}
    model = SparseAUCClassifierCV(**how).fit(X, y, weight)
    positive, platt = y == model.classes_[1], model.platt_
    assert (platt["n_positive"], platt["n_negative"]) == (
        positive.sum(),
        (~positive).sum(),
    )
    assert platt["prevalence"] == pytest.approx(np.average(positive, weights=weight))
    scores, target, counted = [], [], []
    for train, test in cv.split(X, y):
        part = None if weight is None else weight[train]
        plain = SparseAUCClassifier(3, 1.0).fit(X[train], y[train], part)
        means = class_moments(X[train], positive[train], part).means
        scores.append((X[test] - np.mean(means, axis=0)) @ plain.coef_[0])
        target.append(positive[test])
        counted.append(np.ones(test.size) if weight is None else weight[test])
    scores, target, counted = (np.concatenate(one) for one in (scores, target, counted))
    oracle = LogisticRegression(C=np.inf, tol=1e-10).fit(
        scores[:, None], target, counted
    )
    assert platt["slope"] == pytest.approx(oracle.coef_[0, 0], rel=0.01)
    assert platt["intercept"] == pytest.approx(oracle.intercept_[0], rel=0.01)
    log_odds, found = model.decision_function(X), model.predict_proba(X)
    assert_allclose(found[:, 1], 1 / (1 + np.exp(-log_odds)))
    assert_array_equal(
        model.predict(X), model.classes_[(found[:, 1] > 0.5).astype(int)]
    )


def test_calibration_of_scores_that_rank_the_wrong_way_or_perfectly():
    positive = np.arange(40) % 4 == 0
    scores = np.linspace(0, 1e-3, 40) - 1.0 * positive
    backwards, is_reversed = fit_calibration(scores, positive)
    assert is_reversed
    assert 0 < backwards["slope"] * scores.std() <= 0.01
    probabilities = 1 / (
        1 + np.exp(-backwards["slope"] * scores - backwards["intercept"])
    )
    assert_allclose(probabilities, 0.25, atol=0.01)
    constant, _ = fit_calibration(np.ones(40), positive)
    assert constant["slope"] + constant["intercept"] == pytest.approx(np.log(1 / 3))
    perfect, is_reversed = fit_calibration(
        np.append(positive[:-1] * 1.0, np.nan), positive
    )
    assert np.isfinite(perfect["slope"])
    assert perfect["slope"] > 0
    assert (perfect["n_positive"], perfect["n_negative"]) == (10, 29)
    assert not is_reversed


def test_on_noise_the_order_of_rows_stays_and_a_warning_tells():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(60, 5)), np.arange(60) % 3 == 0
    model = SparseAUCClassifierCV([2], [1.0], cv=3, coefficients="auc", curves=False)
    with pytest.warns(ChanceWarning, match="do not rank positives above negatives"):
        model.fit(X, y)
    plain = SparseAUCClassifier(2, 1.0).fit(X, y)
    order = np.argsort(plain.decision_function(X))
    assert_array_equal(np.argsort(model.decision_function(X)), order)
    assert_allclose(model.predict_proba(X)[:, 1], 1 / 3, atol=0.02)


def test_without_folds_there_are_no_probabilities_and_an_error_says_why(outbreak):
    model = SparseAUCClassifier(3).fit(*outbreak)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(
        AttributeError, match="has no predict_proba, because it has no out-of-fold"
    ):
        model.predict_proba(outbreak.X)


def test_probabilities_agree_with_how_frequent_positives_are():
    X, y = make_outbreak(6000, 10, 4, mu=1.0, r=0.2, random_state=0)
    model = SparseAUCClassifierCV(range(1, 7), [1.0], cv=3).fit(X[:3000], y[:3000])
    found, positive = model.predict_proba(X[3000:])[:, 1], y[3000:] > 0
    for low, high in ((0.0, 0.2), (0.2, 0.5), (0.5, 1.0)):
        inside = (found >= low) & (found < high)
        assert inside.sum() > 50
        assert positive[inside].mean() == pytest.approx(found[inside].mean(), abs=0.06)


def test_only_what_is_calibrated_has_probabilities(outbreak):
    plain = SparseAUCClassifier(k=2).fit(*outbreak)
    assert not hasattr(plain, "predict_proba")
    with pytest.raises(AttributeError, match=r"predict_proba|probabilities"):
        plain.predict_proba  # noqa: B018
    assert hasattr(SparseAUCClassifierCV(), "predict_proba")
    with pytest.raises(NotFittedError):
        SparseAUCClassifierCV().predict_proba(outbreak.X)


# ------------------------------------------------------------- cross-validation: chance


@pytest.mark.parametrize("seed", [10, 12, 13, 14])
def test_noise_is_called_noise(seed):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(300, 20)), random.random(300) < 0.4
    with pytest.warns(ChanceWarning, match=r"no better than chance.* includes 0\.5"):
        SparseAUCClassifierCV().fit(X, y)


def test_a_signal_is_not_called_noise(outbreak, recwarn):
    SparseAUCClassifierCV(range(1, 8), cv=5).fit(*outbreak)
    assert not [one for one in recwarn if one.category is ChanceWarning]


def test_ridges_depend_on_whether_rows_outnumber_columns():
    X, y = make_outbreak(60, 60, 3, mu=1.0, r=0.4, random_state=0)
    for table, ridges in (
        (X, [0.01, 0.1, 10.0, 1000.0]),
        (X[:, :20], [0.01, 1.0, 100.0]),
    ):
        model = SparseAUCClassifierCV([1, 3], cv=3).fit(table, y)
        tried = model.cv_results_["param_coefficients"] == "auc"
        assert np.unique(model.cv_results_["param_alpha"][tried]).tolist() == ridges


@pytest.mark.slow
def test_a_long_table_takes_little_memory():
    """In a process of its own: one million rows of 80 MB, which took 4.6 GB."""
    code = """
import resource
import numpy as np
from sparseauc import SparseAUCClassifierCV
rng = np.random.default_rng(0)
X = rng.standard_normal((1_000_000, 20), dtype=np.float32)
y = X[:, 0] + X[:, 1] + 2 * rng.standard_normal(len(X), dtype=np.float32) > 1
SparseAUCClassifierCV(random_state=0).fit(X, y)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(done.stdout) * unit < 1.5e9
