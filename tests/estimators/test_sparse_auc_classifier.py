"""The flagship as a scikit-learn user meets it: conventions, pipelines, folds, bad input."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    cross_val_score,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparseauc import Limits, SparseAUCClassifier, SparseAUCClassifierCV, outcome
from sparseauc.chunks import chunks_in_memory
from sparseauc.datasets import make_outbreak
from sparseauc.folds import SplitPlan, make_splits
from sparseauc.moments import class_moments
from sparseauc.outcome import Binary
from sparseauc.path import path_of_moments
from sparseauc.solvers.restrictions import Restrictions


@parametrize_with_checks(
    [
        SparseAUCClassifier(),
        SparseAUCClassifierCV(ks=[1, 2, 3], alphas=[0.1, 10.0], cv=3),
    ],
)
@pytest.mark.filterwarnings("ignore:k=:UserWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def chosen(model):
    return model.get_support(indices=True).tolist()


def midway(model, X, y, X_new):
    """Scores of new rows, zero midway between the class means of the training rows."""
    scores = X @ model.coef_[0]
    return X_new @ model.coef_[0] - (scores[y > 0].mean() + scores[y <= 0].mean()) / 2


def before_scaling(model):
    """Out-of-fold scores before Platt scaling."""
    return (model.out_of_fold_scores_ - model.platt_["intercept"]) / model.platt_[
        "slope"
    ]


# -------------------------------------------------------------------------------- what
# it returns


def test_finds_the_columns_and_ranks(outbreak):
    X, y = outbreak
    model = SparseAUCClassifier(k=5).fit(X, y)
    assert_array_equal(chosen(model), outbreak.support)
    assert model.coef_.shape == (1, 40)
    scores = model.decision_function(X)
    assert roc_auc_score(y, scores) > 0.9
    assert_allclose(scores, X @ model.coef_[0] + model.intercept_[0], atol=1e-12)
    assert_array_equal(model.predict(X), np.where(scores > 0, 1, -1))
    # Classes weigh the same in the threshold, rare as one of them is.
    balanced = LogisticRegression(C=np.inf, class_weight="balanced", tol=1e-10)
    balanced.fit(scores[:, None], y)
    assert balanced.intercept_[0] == pytest.approx(0, abs=1e-3)
    assert_allclose(model.scale_, X.std(axis=0), rtol=1e-10)


def test_objective_is_the_pairwise_loss(outbreak):
    X, y = outbreak
    model = SparseAUCClassifier(k=3, alpha=0.5).fit(X, y)
    scores = X @ model.coef_[0]
    margins = 1 - scores[y > 0][:, None] + scores[y < 0][None, :]
    assert model.objective_ == pytest.approx((margins**2).mean())


@pytest.mark.parametrize(
    "labels", [(0, 1), (-1, 1), ("ill", "well"), (False, True), (3.0, 7.0)]
)
def test_any_two_labels(outbreak, labels):
    X, y = outbreak
    model = SparseAUCClassifier(k=5).fit(X, np.where(y > 0, labels[1], labels[0]))
    assert list(model.classes_) == sorted(labels)
    assert_array_equal(model.coef_, SparseAUCClassifier(k=5).fit(X, y).coef_)
    assert set(model.predict(X)) == set(labels)


def test_storage_and_precision(outbreak, tmp_path):
    X, y = outbreak
    expected = SparseAUCClassifier(k=5).fit(X, y).coef_
    for table in (np.asfortranarray(X), sp.csr_matrix(X), sp.csc_array(X), X.tolist()):
        assert_allclose(
            SparseAUCClassifier(k=5).fit(table, y).coef_, expected, atol=1e-9
        )
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = SparseAUCClassifier(k=5).fit(mapped, y)
    assert model.coef_.dtype == model.decision_function(mapped).dtype == np.float32
    assert_allclose(model.coef_, expected, rtol=1e-3)


@pytest.mark.parametrize("weights", ["counts", "zeros and ones"])
def test_weights_are_repetitions(outbreak, weights):
    X, y = outbreak
    weight = np.random.default_rng(0).integers(
        0, 4 if weights == "counts" else 2, y.size
    )
    weighted = SparseAUCClassifier(k=8).fit(X, y, sample_weight=weight)
    repeated = SparseAUCClassifier(k=8).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    assert chosen(weighted) == chosen(repeated)
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-10)
    assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-10)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-10)


def test_units_of_columns_do_not_matter(outbreak):
    X, y = outbreak
    factors = 10.0 ** np.random.default_rng(0).uniform(-6, 6, 40)
    for model in (
        SparseAUCClassifier(k=9),
        SparseAUCClassifierCV(range(1, 12), (0.1, 10.0), cv=3),
    ):
        plain, scaled = clone(model).fit(X, y), clone(model).fit(X * factors, y)
        assert chosen(plain) == chosen(scaled)
        assert_allclose(scaled.coef_ * factors, plain.coef_, rtol=1e-7, atol=1e-12)


def test_more_columns_than_there_are_keeps_all_with_a_warning(outbreak):
    X, y = outbreak
    with pytest.warns(UserWarning, match="k=99 is greater than n_features=40"):
        model = SparseAUCClassifier(k=99).fit(X, y)
    assert model.get_support().all()
    with pytest.warns(
        UserWarning, match="k=40 is greater than the 38 that the limits allow"
    ):
        model = SparseAUCClassifier(k=40, limits=Limits(exclude=[0, 39])).fit(X, y)
    assert chosen(model) == list(range(1, 39))


# --------------------------------------------------------------- columns that must or
# must not be


@pytest.mark.parametrize("cross_validated", [False, True])
def test_columns_by_name_and_by_number(outbreak, frame, cross_validated):
    def fit(table, **columns):
        limits = Limits(**columns)
        if cross_validated:
            return SparseAUCClassifierCV(ks=[3, 5], cv=3, limits=limits).fit(
                table, outbreak.y
            )
        return SparseAUCClassifier(k=5, limits=limits).fit(table, outbreak.y)

    useless = sorted(set(range(40)) - set(outbreak.support))[:2]
    best = int(outbreak.support[0])
    named = fit(
        frame,
        always_include=[f"gene{j}" for j in useless],
        exclude=pd.Index([f"gene{best}"]),
    )
    numbered = fit(outbreak.X, always_include=np.array(useless), exclude=(best,))
    mixed = fit(frame, always_include=useless[::-1], exclude={f"gene{best}": 1})
    assert set(useless) < set(chosen(named))
    assert best not in chosen(named)
    assert_allclose(named.coef_, numbered.coef_, rtol=1e-10)
    assert_array_equal(named.coef_, mixed.coef_)
    polars = pl.DataFrame(frame.to_dict(orient="list"))
    by_name, by_number = fit(polars, exclude=["gene3"]), fit(frame, exclude=[3])
    assert_allclose(by_name.coef_, by_number.coef_, rtol=1e-10)


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        (
            {"always_include": ["gene40"]},
            "always_include names 'gene40', which is no column of X",
        ),
        (
            {"exclude": ["gene1", "weight"]},
            "exclude names 'weight', which is no column of X",
        ),
        ({"always_include": [40]}, "always_include names column 40; there are 40"),
        ({"exclude": [-1]}, "exclude names column -1; there are 40"),
        (
            {"always_include": "gene1"},
            "always_include must be a list of columns, got 'gene1'",
        ),
        ({"exclude": 3}, "exclude must be a list of columns, got 3"),
        (
            {"always_include": [1, 2], "exclude": [2]},
            "column 2 is in both always_include and exclude",
        ),
        ({"always_include": [1, 2, 3, 4]}, "more than k=3|less than the 4 columns"),
        ({"exclude": range(40)}, "exclude names every column"),
        (
            {"exclude": [True] * 40},
            "exclude must hold column names or indices, not True",
        ),
    ],
)
def test_columns_are_checked(outbreak, frame, columns, match):
    for model in (SparseAUCClassifier(k=3), SparseAUCClassifierCV(ks=[3], cv=3)):
        with pytest.raises(ValueError, match=match):
            model.set_params(limits=Limits(**columns)).fit(frame, outbreak.y)


def test_names_need_names(outbreak):
    with pytest.raises(
        ValueError, match="exclude names 'gene1', but X has no column names"
    ):
        SparseAUCClassifier(k=3, limits=Limits(exclude=["gene1"])).fit(*outbreak)


# ---------------------------------------------------------------------------- inside
# scikit-learn


def test_pipeline_grid_search_and_calibration(outbreak):
    X, y = outbreak
    pipeline = make_pipeline(StandardScaler(), SparseAUCClassifier())
    grid = {
        "sparseaucclassifier__k": [1, 5, 20],
        "sparseaucclassifier__alpha": [0.1, 10.0],
    }
    search = GridSearchCV(pipeline, grid, scoring="roc_auc", cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    calibrated = CalibratedClassifierCV(search.best_estimator_, cv=3).fit(X, y)
    assert calibrated.predict_proba(X)[:, 1].mean() == pytest.approx(0.1, abs=0.03)


def test_as_a_selector(outbreak, frame):
    X, y = outbreak
    model = SparseAUCClassifier(k=5).fit(X, y)
    assert_array_equal(model.transform(X), X[:, outbreak.support])
    pipeline = make_pipeline(SparseAUCClassifier(k=5), LogisticRegression())
    assert cross_val_score(pipeline, X, y, scoring="roc_auc", cv=3).mean() > 0.9
    for library in ("pandas", "polars"):
        table = (
            frame if library == "pandas" else pl.DataFrame(frame.to_dict(orient="list"))
        )
        selector = SparseAUCClassifier(k=5).set_output(transform=library)
        names = [f"gene{j}" for j in outbreak.support]
        assert list(selector.fit_transform(table, y).columns) == names
        assert list(selector.get_feature_names_out()) == names


def test_several_classes_through_one_versus_rest():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = rng.standard_normal((300, 12))
    X[np.arange(300), y] += 2.0
    model = OneVsRestClassifier(SparseAUCClassifier(k=2)).fit(X, y)
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize(
    "model",
    [SparseAUCClassifier(k=4, alpha=0.3), SparseAUCClassifierCV(range(1, 5), cv=3)],
)
def test_pickle_clone_and_again(outbreak, model):
    X, y = outbreak
    model = clone(model).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert_array_equal(copy.decision_function(X), model.decision_function(X))
    assert clone(model).get_params() == model.get_params()
    assert_array_equal(clone(model).fit(X, y).coef_, model.coef_)


# ---------------------------------------------------------------------------- bad input


def refused(match, X, y, **parameters):
    models = [SparseAUCClassifier(k=3), SparseAUCClassifierCV(ks=[3], cv=3)]
    for model in models:
        known = {
            name: v for name, v in parameters.items() if name in model.get_params()
        }
        if known or not parameters:
            with pytest.raises(ValueError, match=match):
                model.set_params(**known).fit(X, y)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_values_at_the_end_of_the_range(outbreak):
    X, y = outbreak.X.copy(), outbreak.y
    X[:, 23] *= 1e200
    refused("column 23 are too large to square: rescale it", X, y)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"k": 0}, "'k' parameter"),
        ({"k": 2.5}, "'k' parameter"),
        ({"alpha": -1.0}, "'alpha' parameter"),
        ({"alpha": np.inf}, "'alpha' parameter"),
        ({"alpha": np.nan}, "'alpha' parameter"),
        ({"ks": 3}, "'ks' parameter"),
        ({"ks": [0, 1]}, "ks must be numbers of 1 or more"),
        ({"ks": []}, "ks must be numbers of 1 or more"),
        ({"ks": [1.5]}, "ks holds 1.5, which is no whole number"),
        ({"alphas": []}, "alphas must be finite numbers of 0 or more"),
        ({"alphas": [1.0, -1.0]}, "alphas must be finite numbers of 0 or more"),
        ({"alphas": [1.0, np.nan]}, "alphas must be finite numbers of 0 or more"),
        ({"cv": 1}, "'cv' parameter"),
        ({"cv": "five"}, "'cv' parameter"),
        ({"rule": "2se"}, "'rule' parameter"),
        ({"n_jobs": 1.5}, "'n_jobs' parameter"),
    ],
)
def test_parameters_are_checked(outbreak, parameters, match):
    refused(match, *outbreak, **parameters)


# -------------------------------------------------------------- cross-validation: folds


def small_table(seed, n=90, d=12):
    return make_outbreak(n, d, 3, mu=0.8, r=0.3, correlation=0.5, random_state=seed)


def training_moments(X, positive, weight, splits):
    plan = SplitPlan.from_splits(splits, positive.size, weight)
    return Binary(positive, weight).training_sets(X, chunks_in_memory(X), plan)[:-1]


def naive_training_moments(X, y, weight, splits):
    for train, _ in splits:
        yield class_moments(
            X[train], y[train], None if weight is None else weight[train]
        ).summary()


SPLITTERS = {
    "folds": StratifiedKFold(4, shuffle=True, random_state=0),
    "repeated": RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
    "overlapping": ShuffleSplit(3, test_size=0.4, random_state=0),
    "part of the rows": StratifiedShuffleSplit(
        3, train_size=0.5, test_size=0.2, random_state=0
    ),
}


@pytest.mark.parametrize("merged", [True, False], ids=["merged", "masked"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
def test_training_moments_are_those_of_the_training_rows(
    monkeypatch, merged, weighted, splitter, convert
):
    if not merged:
        monkeypatch.setattr(outcome, "_WIDE", 0)
    X, y = small_table(0)
    X[:, 5] = 0.0
    X[7, 5] = 1.0  # a column that varies in one fold only
    X[:, 6] += 1e4
    weight = np.random.default_rng(0).integers(0, 3, 90) * 0.5 if weighted else None
    splits = list(SPLITTERS[splitter].split(X, y))
    columns = np.arange(12)
    found = training_moments(convert(X), y > 0, weight, splits)
    expected = naive_training_moments(X, y, weight, splits)
    for actual, naive in zip(found, expected, strict=True):
        assert_allclose(actual.weights, naive.weights, rtol=1e-12)
        assert_allclose(actual.means, naive.means, rtol=1e-12, atol=1e-12)
        assert_allclose(actual.variances, naive.variances, rtol=1e-8, atol=1e-10)
        assert_allclose(
            actual.columns(columns), naive.columns(columns), rtol=1e-6, atol=1e-8
        )
        # Constant among the training rows: exactly so, or rounding would pass for a
        # difference.
        constant = naive.deviations == 0
        assert_array_equal(actual.delta[constant], 0.0)
        assert_array_equal(actual.deviations[constant], 0.0)


def test_rows_drawn_twice_count_twice():
    X, y = small_table(1)
    rng = np.random.default_rng(0)
    train = rng.integers(90, size=90)
    split = (train, np.setdiff1d(np.arange(90), train))
    (actual,) = training_moments(X, y > 0, None, [split])
    naive = class_moments(X[train], y[train])
    assert_allclose(actual.weights, naive.weights)
    assert_allclose(actual.columns(range(12)), naive.columns(range(12)), atol=1e-10)


@pytest.mark.parametrize("merged", [True, False], ids=["merged", "masked"])
@pytest.mark.parametrize("spoil", ["scale", "signal", "outlier", "constant elsewhere"])
def test_validation_rows_do_not_leak_into_the_fit(monkeypatch, merged, spoil):
    if not merged:
        monkeypatch.setattr(outcome, "_WIDE", 0)
    X, y = small_table(2)
    splits = list(StratifiedKFold(3).split(X, y))
    fold = 1
    test = splits[fold][1]
    if spoil == "constant elsewhere":
        X[:, 4] = 0.0
    spoiled = X.copy()
    if spoil == "scale":
        spoiled[test] *= 1e6
    elif spoil == "signal":
        spoiled[test, 7] = 10.0 * y[test]
    elif spoil == "outlier":
        spoiled[test[0], 3] = 1e9
    else:
        spoiled[test[0], 4] = 1.0

    def coefficients(table):
        moments = list(training_moments(table, y > 0, None, splits))[fold]
        path = path_of_moments(
            moments, np.arange(1, 7), np.array([0.0, 1.0]), Restrictions()
        )
        return [path.coef(k, alpha) for alpha in path.alphas for k in path.ks]

    for one, other in zip(coefficients(spoiled), coefficients(X), strict=True):
        assert_array_equal(one, other)


@given(seed=st.integers(0, 2**31), n_folds=st.integers(2, 9))
def test_a_rare_column_is_no_oracle(seed, n_folds):
    # Where the only entries of a column lie in the validation fold, the training rows
    # know nothing of it. Subtracting that fold from the whole would leave a difference
    # of 1e-18 and no variance.
    rng = np.random.default_rng(seed)
    X, y = np.zeros((60, 8)), np.where(np.arange(60) % 3 == 0, 1, -1)
    X[rng.integers(60, size=8), np.arange(8)] = rng.standard_normal(8)
    splits = list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(X, y))
    for (train, _), moments in zip(
        splits, training_moments(X, y > 0, None, splits), strict=True
    ):
        empty = ~X[train].any(axis=0)
        assert_array_equal(moments.delta[empty], 0.0)


# ------------------------------------------------------------------ cross-validation:
# the choice


@pytest.fixture(scope="module")
def searched(outbreak):
    return SparseAUCClassifierCV(
        ks=[1, 3, 5, 10], alphas=[0.1, 10.0], cv=4, coefficients="auc"
    ).fit(*outbreak)


def test_cv_results_are_a_table(searched):
    results = searched.cv_results_
    table = pd.DataFrame(results)
    assert len(table) == 8
    assert set(table.columns) == {
        "param_k", "param_alpha", "param_coefficients", "params", "mean_test_score",
        "std_test_score", "standard_error_test_score", "rank_test_score",
        *(f"split{i}_test_score" for i in range(4)),
    }  # fmt: skip
    splits = table[[f"split{i}_test_score" for i in range(4)]].to_numpy()
    assert_allclose(table["mean_test_score"], splits.mean(axis=1))
    assert_allclose(table["std_test_score"], splits.std(axis=1))
    assert_allclose(table["standard_error_test_score"], splits.std(axis=1, ddof=1) / 2)
    expected = table["mean_test_score"].rank(ascending=False, method="min")
    assert_array_equal(table["rank_test_score"], expected)
    assert table["rank_test_score"].min() == 1
    for parameters, k, alpha in zip(
        results["params"], results["param_k"], results["param_alpha"], strict=True
    ):
        assert parameters == {"k": k, "alpha": alpha, "coefficients": "auc"}
    best = table.iloc[searched.best_index_]
    assert (best["param_k"], best["param_alpha"]) == (searched.k_, searched.alpha_)
    assert best["mean_test_score"] == searched.best_score_
    assert searched.n_splits_ == 4


def test_equals_a_grid_search(outbreak, searched):
    X, y = outbreak
    search = GridSearchCV(
        SparseAUCClassifier(),
        {"k": [1, 3, 5, 10], "alpha": [0.1, 10.0]},
        scoring="roc_auc",
        cv=4,
    ).fit(X, y)
    ours = (
        pd.DataFrame(searched.cv_results_)
        .set_index(["param_k", "param_alpha"])
        .sort_index()
    )
    theirs = (
        pd.DataFrame(search.cv_results_)
        .set_index(["param_k", "param_alpha"])
        .sort_index()
    )
    for column in ours.filter(like="split"):
        assert_allclose(ours[column], theirs[column].astype(float), atol=1e-12)


def test_refit_on_all_rows(outbreak, searched):
    X, y = outbreak
    plain = SparseAUCClassifier(k=searched.k_, alpha=searched.alpha_).fit(X, y)
    assert chosen(plain) == chosen(searched)
    slope, intercept = (searched.platt_[name] for name in ("slope", "intercept"))
    assert_allclose(searched.coef_, slope * plain.coef_, atol=1e-12)
    expected = slope * midway(plain, X, y, X) + intercept
    assert_allclose(searched.decision_function(X), expected, atol=1e-12)
    assert searched.path_.ks.tolist() == [1, 3, 5, 10]
    assert_allclose(
        searched.coef_[0], slope * searched.path_.coef(searched.k_, searched.alpha_)
    )


def test_out_of_fold_scores_reproduce_the_split_scores(outbreak, searched):
    X, y = outbreak
    scores = searched.out_of_fold_scores_
    for i, (train, test) in enumerate(StratifiedKFold(4).split(X, y)):
        auc = searched.cv_results_[f"split{i}_test_score"][searched.best_index_]
        assert roc_auc_score(y[test], scores[test]) == pytest.approx(auc, abs=1e-12)
        model = SparseAUCClassifier(k=searched.k_, alpha=searched.alpha_).fit(
            X[train], y[train]
        )
        assert_allclose(
            before_scaling(searched)[test], midway(model, X[train], y[train], X[test])
        )


def test_with_many_rows_the_list_is_no_longer_than_it_must_be():
    X, y = make_outbreak(5000, 40, 5, mu=0.7, r=0.1, random_state=0)
    model = SparseAUCClassifierCV(range(1, 11)).fit(X, y)
    assert model.k_ == 5


@pytest.mark.parametrize(
    ("n", "d", "largest", "of_curves"),
    [
        (40, 200, 16, None),
        (100, 200, 24, None),
        (100, 20, 20, 12),
        (400, 20, 20, 20),
        (400, 200, 80, 40),
        (2000, 200, 100, 50),
    ],
)
def test_more_rows_more_columns_are_tried(n, d, largest, of_curves):
    X, y = make_outbreak(n, d, 6, r=0.5, random_state=0)
    model = SparseAUCClassifierCV(
        alphas=(10.0,), cv=2, coefficients="auc", curves=False
    )
    tried = model.fit(X, y).cv_results_["param_k"]
    assert tried.min() == 1
    assert tried.max() == largest
    if of_curves is not None:  # which have two numbers for each column
        tried = model.set_params(curves=True).fit(X, y).cv_results_["param_k"]
        assert tried.max() == of_curves


@pytest.mark.parametrize(("n", "d"), [(100, 20), (400, 200), (2000, 200)])
def test_with_logistic_coefficients_the_path_ends_twelve_lengths_after_the_best(n, d):
    X, y = make_outbreak(n, d, 6, r=0.5, random_state=0)
    model = SparseAUCClassifierCV(alphas=(10.0,), cv=2, curves=False)
    every = np.unique(
        clone(model).set_params(coefficients="auc").fit(X, y).cv_results_["param_k"]
    )
    results = model.fit(X, y).cv_results_
    tried = np.unique(results["param_k"])
    assert_array_equal(tried, every[: tried.size])
    assert tried.size < every.size
    assert_array_equal(results["param_k"], np.repeat(tried, 2))
    highest = results["mean_test_score"].reshape(-1, 2).max(axis=1)
    # Of each length, how far back the highest mean up to it lies.
    back = [i - int(np.argmax(highest[: i + 1])) for i in range(tried.size)]
    assert back[-1] == 12
    assert max(back[:-1]) < 12


def test_weights_count_in_validation(outbreak):
    X, y = outbreak
    weight = np.random.default_rng(0).integers(0, 4, y.size)
    model = SparseAUCClassifierCV([2, 4], [1.0], cv=StratifiedKFold(3)).fit(
        X, y, weight
    )
    counted = np.flatnonzero(weight)
    for i, (_, places) in enumerate(StratifiedKFold(3).split(X[counted], y[counted])):
        test = counted[places]
        scores = model.out_of_fold_scores_[test]
        found = model.cv_results_[f"split{i}_test_score"][model.best_index_]
        assert found == pytest.approx(
            roc_auc_score(y[test], scores, sample_weight=weight[test])
        )


def test_among_equals_fewer_columns_and_the_largest_ridge():
    X, y = small_table(3)
    X[:, 2] = y  # every model that has it is perfect
    model = SparseAUCClassifierCV([1, 2, 3], [0.1, 1.0, 10.0], cv=3).fit(X, y)
    assert (model.k_, model.alpha_, model.best_score_) == (1, 10.0, 1.0)
    assert model.coefficients_ == "auc"


# --------------------------------------------------------------- cross-validation: any
# splitter


def test_default_folds_keep_groups_together():
    rng = np.random.default_rng(0)
    X, y = make_outbreak(n=120, d=6, k=2, mu=1.0, r=0.4, random_state=0)
    visits = np.repeat(np.arange(40), 3)
    y = np.repeat(y[:40], 3)
    X = X + 5 * rng.normal(size=(40, 6))[visits]  # a patient is recognised
    model = SparseAUCClassifierCV([2], [1.0], coefficients="auc", curves=False)
    for cv in (None, 4):
        model.set_params(cv=cv).fit(X, y, groups=visits)
        splits = make_splits(cv, X, y > 0, visits, 0)
        assert model.n_splits_ == len(splits)
        for train, test in splits:
            assert not set(visits[train]) & set(visits[test])
            assert np.unique(y[test]).size == 2
    with pytest.raises(ValueError, match="label each of the 120 rows"):
        model.fit(X, y, groups=visits[:40])
    with pytest.raises(ValueError, match="fewer than the 4 folds"):
        model.fit(X, y, groups=np.arange(120) % 3)


@pytest.mark.parametrize("kind", [None, np.random.RandomState])
def test_folds_need_no_seed(outbreak, kind):
    seed = None if kind is None else kind(3)
    model = SparseAUCClassifierCV([2], [1.0], coefficients="auc", random_state=seed)
    assert model.fit(*outbreak).k_ == 2


def test_groups_of_rows_stay_together():
    X, y = small_table(4)
    rows = np.repeat(np.arange(30), 3)
    splitter = StratifiedGroupKFold(3)
    model = SparseAUCClassifierCV([1, 3], (1.0,), cv=splitter).fit(X, y, groups=rows)
    for i, (train, test) in enumerate(splitter.split(X, y, rows)):
        assert not set(rows[train]) & set(rows[test])
        scores = (
            SparseAUCClassifier(k=1).fit(X[train], y[train]).decision_function(X[test])
        )
        expected = roc_auc_score(y[test], scores)
        assert model.cv_results_[f"split{i}_test_score"][0] == pytest.approx(
            expected, abs=1e-12
        )
    # Without groups scikit-learn refuses; older versions put all rows into one.
    with pytest.raises(ValueError, match=r"groups|split 0 has no positives"):
        SparseAUCClassifierCV([1, 3], (1.0,), cv=splitter).fit(X, y)


@pytest.mark.parametrize("splitter", [*SPLITTERS, "iterable", "number"])
def test_any_splitter(splitter):
    X, y = small_table(5)
    cv = SPLITTERS.get(splitter, 3)
    splits = list((StratifiedKFold(3) if cv == 3 else cv).split(X, y))
    if splitter == "iterable":
        cv = iter(splits)
    model = SparseAUCClassifierCV([1, 3], (1.0,), cv=cv, coefficients="auc").fit(X, y)
    assert model.n_splits_ == len(splits)
    times, total = np.zeros(90), np.zeros(90)
    for i, (train, test) in enumerate(splits):
        plain = SparseAUCClassifier(k=model.k_, alpha=model.alpha_).fit(
            X[train], y[train]
        )
        times[test] += 1
        total[test] += midway(plain, X[train], y[train], X[test])
        auc = model.cv_results_[f"split{i}_test_score"][model.best_index_]
        assert roc_auc_score(
            y[test], plain.decision_function(X[test])
        ) == pytest.approx(auc)
    with np.errstate(invalid="ignore"):
        assert_allclose(before_scaling(model), total / times, atol=1e-9)
    assert_array_equal(np.isnan(model.out_of_fold_scores_), times == 0)


def test_a_fold_of_one_class_is_refused():
    X, y = small_table(6)
    order = np.argsort(y, kind="stable")
    with pytest.raises(
        ValueError, match=r"split 0 has no positives among its validation rows"
    ):
        SparseAUCClassifierCV([1], cv=KFold(3)).fit(X[order], y[order])
    rows = np.arange(90)
    for train, test, match in [
        (rows[y < 0], rows[:20], "no positives among its training rows"),
        (rows[:20], rows[y > 0], "no negatives among its validation rows"),
        (rows, rows[:0], "no rows among its validation rows"),
    ]:
        with pytest.raises(ValueError, match=f"split 0 has {match}.*StratifiedKFold"):
            SparseAUCClassifierCV([1], cv=[(train, test)]).fit(X, y)
    # A row without weight neither trains nor validates.
    weight = np.where((y > 0) & (rows >= 30), 0.0, 1.0)
    for train, test, name in [
        (rows[30:], rows, "training"),
        (rows, rows[30:], "validation"),
    ]:
        with pytest.raises(
            ValueError, match=f"no positives of weight above 0 among its {name}"
        ):
            SparseAUCClassifierCV([1], cv=[(train, test)]).fit(
                X, y, sample_weight=weight
            )


@pytest.mark.parametrize("merged", [True, False], ids=["merged", "masked"])
def test_number_of_jobs_does_not_matter(monkeypatch, merged):
    if not merged:
        monkeypatch.setattr(outcome, "_WIDE", 0)
    X, y = make_outbreak(300, 450, 10, mu=0.5, r=0.2, correlation=0.8, random_state=0)
    one, two = (
        SparseAUCClassifierCV(range(1, 21), (0.1, 10.0), cv=4, n_jobs=n_jobs).fit(X, y)
        for n_jobs in (1, 2)
    )
    assert_array_equal(one.coef_, two.coef_)
    assert_array_equal(one.out_of_fold_scores_, two.out_of_fold_scores_)
    assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )


def test_numbers_of_columns_that_do_not_fit_are_left_out(outbreak):
    X, y = outbreak
    with pytest.warns(UserWarning, match="k=41 is greater than n_features=40"):
        model = SparseAUCClassifierCV(ks=[2, 41], alphas=[1.0], cv=3).fit(X, y)
    assert model.path_.ks.tolist() == [2]
    with pytest.warns(
        UserWarning, match="k=99 is greater than the 38 that the limits allow"
    ):
        model = SparseAUCClassifierCV(
            ks=[99], alphas=[1.0], cv=3, limits=Limits(exclude=[0, 1])
        ).fit(X, y)
    assert model.path_.ks.tolist() == [38]
    assert chosen(model) == list(range(2, 40))


def test_default_numbers_of_columns():
    X, y = make_outbreak(60, 70, 3, mu=1.0, r=0.4, random_state=0)
    ks = SparseAUCClassifierCV(alphas=[1.0], cv=2).fit(X, y).path_.ks
    assert ks.tolist() == list(range(1, 25))
    model = SparseAUCClassifierCV(
        alphas=[1.0], cv=2, limits=Limits(always_include=[0, 1], exclude=[2])
    )
    assert model.fit(X[:, :6], y).path_.ks.tolist() == [2, 3, 4, 5]


def test_default_folds_are_repeated_where_rows_are_few():
    X, y = make_outbreak(80, 10, 2, mu=1.0, r=0.25, random_state=0)  # 20 positives
    model = SparseAUCClassifierCV([1, 2], [1.0]).fit(X, y)
    assert model.n_splits_ == 25
    assert np.isfinite(model.out_of_fold_scores_).all()
    X, y = make_outbreak(800, 10, 2, mu=1.0, r=0.25, random_state=0)
    assert SparseAUCClassifierCV([1, 2], [1.0]).fit(X, y).n_splits_ == 5
    first, second = (
        SparseAUCClassifierCV([1, 2], random_state=s).fit(X, y) for s in (0, 0)
    )
    assert_array_equal(first.out_of_fold_scores_, second.out_of_fold_scores_)


def test_verbose_tells_the_choice(outbreak, capsys):
    model = SparseAUCClassifierCV(ks=[1, 5], alphas=[1.0, 10.0], cv=3, verbose=1).fit(
        *outbreak
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        f"k = {model.k_}, alpha = {model.alpha_:g}, {model.coefficients_} coefficients: mean "
        f"validation AUC {model.best_score_:.4f} over 3 folds, 6 models each"
    ]
    SparseAUCClassifierCV(ks=[1], cv=3).fit(*outbreak)
    assert capsys.readouterr().out == ""
