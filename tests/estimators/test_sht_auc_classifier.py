"""SHTAUCClassifier as a scikit-learn user meets it: conventions, pipelines, bad input."""

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparseauc import SHTAUCClassifier
from sparseauc.datasets import make_outbreak
from sparseauc.solvers.sht_auc import TrainingSet, exact_first_step


@parametrize_with_checks(
    [
        SHTAUCClassifier(k=3),
        SHTAUCClassifier(k=2, early_stopping=True, validation_fraction=0.3),
    ]
)
@pytest.mark.filterwarnings("ignore:k=:UserWarning")
def test_scikit_learn_checks(estimator, check):
    name = getattr(check, "func", check).__name__
    if estimator.early_stopping and name.startswith("check_sample_weight_equivalence"):
        pytest.skip(
            "rows are held out at random, as scikit-learn's own SGDClassifier declares it"
        )
    check(estimator)


# -------------------------------------------------------------------------------- what
# it returns


def test_finds_the_columns_and_ranks(outbreak):
    X, y = outbreak
    model = SHTAUCClassifier(k=5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.get_support(indices=True), outbreak.support)
    assert model.coef_.shape == (1, 40)
    assert roc_auc_score(y, model.decision_function(X)) > 0.9
    np.testing.assert_allclose(
        model.decision_function(X), X @ model.coef_[0] + model.intercept_[0], atol=1e-12
    )
    np.testing.assert_array_equal(
        model.predict(X), np.where(model.decision_function(X) > 0, 1, -1)
    )
    assert model.score(X, y) == pytest.approx((model.predict(X) == y).mean())


def test_threshold_suits_rare_positives(outbreak):
    X, y = outbreak
    model = SHTAUCClassifier(k=5, random_state=0).fit(X, y)
    scores = model.decision_function(X)
    assert scores[y > 0].mean() == pytest.approx(-scores[y < 0].mean())
    # A threshold for accuracy would miss most of the 10 % positives.
    assert (model.predict(X)[y > 0] == 1).mean() > 0.7


@pytest.mark.parametrize(
    "labels", [(0, 1), (-1, 1), ("ill", "well"), (False, True), (3.0, 7.0)]
)
def test_any_two_labels(outbreak, labels):
    X, y = outbreak
    named = np.where(y > 0, labels[1], labels[0])
    model = SHTAUCClassifier(k=5, random_state=0).fit(X, named)
    assert list(model.classes_) == sorted(labels)
    reference = SHTAUCClassifier(k=5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.coef_, reference.coef_)
    assert set(model.predict(X)) <= set(labels)


def test_history_is_a_table(outbreak):
    X, y = outbreak
    model = SHTAUCClassifier(k=5, max_epochs=7, tol=0.0, random_state=0).fit(X, y)
    history = pd.DataFrame(model.history_)
    assert list(history.columns) == [
        "epoch",
        "objective",
        "auc",
        "support_size",
        "step_size",
    ]
    assert len(history) == model.n_iter_ == 7
    assert model.objective_ == pytest.approx(history["objective"].min())
    silent = SHTAUCClassifier(
        k=5, max_epochs=7, tol=0.0, random_state=0, record_history=False
    )
    silent.fit(X, y)
    assert silent.history_["objective"] == []
    np.testing.assert_array_equal(silent.coef_, model.coef_)


def test_dense_sparse_and_column_major_agree(outbreak):
    X, y = outbreak
    expected = SHTAUCClassifier(k=5, random_state=0).fit(X, y).coef_
    for table in (np.asfortranarray(X), sp.csr_matrix(X), sp.csc_array(X), X.tolist()):
        coef = SHTAUCClassifier(k=5, random_state=0).fit(table, y).coef_
        np.testing.assert_allclose(coef, expected, rtol=1e-6)


def test_float32_and_read_only_memory_map(outbreak, tmp_path):
    X, y = outbreak
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = SHTAUCClassifier(k=5, random_state=0).fit(mapped, y)
    assert model.coef_.dtype == np.float32
    assert model.decision_function(mapped).dtype == np.float32
    np.testing.assert_array_equal(model.get_support(indices=True), outbreak.support)


def test_same_seed_same_answer(outbreak):
    X, y = outbreak
    first, second = (
        SHTAUCClassifier(k=5, random_state=4).fit(X, y).coef_ for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


def test_warm_start_continues(outbreak):
    X, y = outbreak
    model = SHTAUCClassifier(k=5, max_epochs=2, warm_start=True, random_state=0).fit(
        X, y
    )
    first = model.objective_
    for _ in range(5):
        model.fit(X, y)
    assert model.objective_ <= first
    cold = SHTAUCClassifier(k=5, max_epochs=2, random_state=0).fit(X, y)
    assert model.objective_ < cold.objective_
    with pytest.raises(ValueError, match="previous fit had 40 columns, X has 39"):
        model.fit(X[:, 1:], y)


def test_integer_weights_are_repetitions_with_one_block(outbreak):
    X, y = outbreak
    weight = np.random.default_rng(0).integers(0, 4, y.size)
    model = SHTAUCClassifier(k=5, batch_size=10_000, random_state=0)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-7)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-7)


def test_early_stopping_returns_the_best_epoch():
    X, y = make_outbreak(n=400, d=300, k=10, mu=0.4, r=0.2, random_state=0)
    model = SHTAUCClassifier(
        k=20, early_stopping=True, validation_fraction=0.25, n_iter_no_change=4, max_epochs=200,
        random_state=0,
    ).fit(X, y)  # fmt: skip
    validation = model.history_["validation_auc"]
    assert len(validation) == model.n_iter_ < 200
    best = int(np.argmax(validation))
    assert model.objective_ == model.history_["objective"][best]
    assert best <= model.n_iter_ - 4


def test_early_stopping_with_rare_positives():
    X, y = make_outbreak(n=200, d=30, k=5, mu=2.0, r=0.015, random_state=0)
    assert (y > 0).sum() == 3
    model = SHTAUCClassifier(k=5, early_stopping=True, random_state=0).fit(X, y)
    assert len(model.history_["validation_auc"]) == model.n_iter_


def test_verbose_prints_a_line_an_epoch(outbreak, capsys):
    X, y = outbreak
    SHTAUCClassifier(k=3, max_epochs=3, tol=0.0, verbose=1, record_history=False).fit(
        X, y
    )
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert "epoch    1  F " in lines[0]
    assert "columns 3" in lines[0]


# ---------------------------------------------------------------------------- inside
# scikit-learn


def test_pipeline_grid_search_and_calibration(outbreak):
    X, y = outbreak
    pipeline = make_pipeline(
        StandardScaler(), SHTAUCClassifier(random_state=0, max_epochs=10)
    )
    search = GridSearchCV(
        pipeline, {"shtaucclassifier__k": [1, 5, 20]}, scoring="roc_auc", cv=3
    ).fit(X, y)
    assert search.best_score_ > 0.85
    calibrated = CalibratedClassifierCV(search.best_estimator_, cv=3).fit(X, y)
    probabilities = calibrated.predict_proba(X)[:, 1]
    assert probabilities.mean() == pytest.approx(0.1, abs=0.03)


def test_select_from_model_and_own_transform_agree(outbreak):
    X, y = outbreak
    model = SHTAUCClassifier(k=5, random_state=0).fit(X, y)
    selector = SelectFromModel(model, threshold=1e-12, prefit=True)
    np.testing.assert_array_equal(selector.transform(X), model.transform(X))
    np.testing.assert_array_equal(model.transform(X), X[:, outbreak.support])
    pipeline = make_pipeline(
        SHTAUCClassifier(k=5, random_state=0), LogisticRegression()
    )
    assert cross_val_score(pipeline, X, y, scoring="roc_auc", cv=3).mean() > 0.85


def test_several_classes_through_one_versus_rest():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = rng.standard_normal((300, 12))
    X[np.arange(300), y] += 2.0
    model = OneVsRestClassifier(SHTAUCClassifier(k=2, random_state=0)).fit(X, y)
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_names_are_kept(outbreak, frame, library):
    table = frame if library == "pandas" else pl.DataFrame(frame.to_dict(orient="list"))
    model = SHTAUCClassifier(k=5, random_state=0).set_output(transform=library)
    chosen = model.fit_transform(table, outbreak.y)
    names = [f"gene{j}" for j in outbreak.support]
    assert list(chosen.columns) == names
    assert list(model.get_feature_names_out()) == names
    assert list(model.feature_names_in_) == list(frame.columns)


def test_pickle_and_clone(outbreak):
    X, y = outbreak
    model = SHTAUCClassifier(k=4, step_size=0.01, random_state=0).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
    assert clone(model).get_params() == model.get_params()


# ---------------------------------------------------------------------------- bad input


def refused(match, X, y, **parameters):
    with pytest.raises(ValueError, match=match):
        SHTAUCClassifier(**({"k": 3} | parameters)).fit(X, y)


def test_values_at_the_end_of_the_range():
    X, y = np.full((4, 2), 1e300), np.array([0, 1, 0, 1])
    X[1, 0] = 0.0
    refused("column 0 are too large to square in float64: rescale it", X, y)
    X[:, 0] = [0.0, 1.0, 2.0, 3.0]
    refused("column 1 are too large to square in float64: rescale it", X, y)
    refused(
        "no value of X is larger than 1e-200, too small to square",
        X[:, :1] * 0 + 1e-200,
        y,
    )
    # As large as may be: the answer does not depend on the scale.
    X, y = make_outbreak(n=100, d=5, k=2, mu=1.0, r=0.3, random_state=0)
    model = SHTAUCClassifier(k=2, random_state=0)
    scores = model.fit(X, y).decision_function(X)
    for scale in (2.0**-490, 2.0**490):
        np.testing.assert_allclose(
            model.fit(X * scale, y).decision_function(X * scale), scores
        )


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"k": 0}, "'k' parameter"),
        ({"k": 2.5}, "'k' parameter"),
        ({"batch_size": 0}, "'batch_size' parameter"),
        ({"step_size": -1.0}, "'step_size' parameter"),
        ({"step_size": "fast"}, "'step_size' parameter"),
        ({"max_epochs": 0}, "'max_epochs' parameter"),
        ({"tol": -1e-3}, "'tol' parameter"),
        ({"block_order": "sorted"}, "'block_order' parameter"),
        ({"validation_fraction": 1.0}, "'validation_fraction' parameter"),
    ],
)
def test_parameters_are_checked(outbreak, parameters, match):
    refused(match, *outbreak, **parameters)


def test_more_columns_than_there_are_keeps_all_with_a_warning(outbreak):
    X, y = outbreak
    with pytest.warns(UserWarning, match="k=99 is greater than n_features=40"):
        model = SHTAUCClassifier(k=99, random_state=0).fit(X, y)
    assert model.get_support().all()


def test_a_step_that_is_too_large_is_told(outbreak):
    X, y = outbreak
    with pytest.warns(ConvergenceWarning, match="above its value 1"):
        SHTAUCClassifier(k=5, step_size=3.0, max_epochs=2, random_state=0).fit(X, y)
    refused("diverged in epoch", X, y, step_size=1e6, max_epochs=100)


def test_early_stopping_needs_two_rows_of_each_class(outbreak):
    one = np.where(np.arange(600) == 3, 1, -1)
    refused("needs at least 2 rows of each class", outbreak.X, one, early_stopping=True)


def naive_stream(blocks, k, step):
    """Algorithm 1 on blocks as they come, written out with the means of the rows so far."""
    w, seen, labels = None, None, None
    for X, positive in blocks:
        seen = X if seen is None else np.vstack([seen, X])
        labels = positive if labels is None else np.concatenate([labels, positive])
        w = np.zeros(X.shape[1]) if w is None else w
        if labels.all() or not labels.any():
            continue
        r = labels.mean()
        means = {True: seen[labels].mean(axis=0), False: seen[~labels].mean(axis=0)}
        delta = means[True] - means[False]
        gradient = -2 * (1 - w @ delta) * delta
        for x, is_positive in zip(X, positive.tolist(), strict=True):
            away = x - means[is_positive]
            gradient = gradient + 2 * (w @ away) * away / (
                r if is_positive else 1 - r
            ) / len(X)
        w = w - step * gradient
        w[np.argsort(np.abs(w), kind="stable")[: w.size - k]] = 0
    return w


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("sizes", [(40, 40, 40), (7, 1, 60, 52)])
def test_partial_fit_takes_a_step_on_each_block(sizes, sparse):
    data = make_outbreak(n=120, d=12, k=3, mu=1.0, r=0.25, random_state=0)
    ends = np.cumsum((0, *sizes))
    blocks = [(data.X[a:b], data.y[a:b] > 0) for a, b in pairwise(ends)]
    model = SHTAUCClassifier(k=4, step_size=0.05)
    for X, positive in blocks:
        rows = sp.csr_matrix(X) if sparse else X
        model.partial_fit(rows, positive, classes=[False, True])
    np.testing.assert_allclose(
        model.coef_[0], naive_stream(blocks, 4, 0.05), atol=1e-12
    )
    assert model.get_support().sum() == 4


def test_a_block_of_all_rows_is_the_first_step_of_fit():
    data = make_outbreak(n=200, d=12, k=3, mu=1.0, r=0.25, random_state=0)
    settings = {"k": 4, "step_size": 0.1, "random_state": 0}
    once = SHTAUCClassifier(batch_size=200, max_epochs=1, **settings).fit(
        data.X, data.y
    )
    streamed = SHTAUCClassifier(**settings).partial_fit(data.X, data.y)
    np.testing.assert_allclose(streamed.coef_, once.coef_, atol=1e-12)
    np.testing.assert_allclose(streamed.intercept_, once.intercept_, atol=1e-12)
    # The automatic step is 0.3 times the one that is exact along the gradient.
    training = TrainingSet(data.X, data.y > 0, rng=np.random.default_rng(0))
    exact = exact_first_step(training, 4)
    auto = SHTAUCClassifier(k=4).partial_fit(data.X, data.y)
    fixed = SHTAUCClassifier(k=4, step_size=0.3 * exact).partial_fit(data.X, data.y)
    np.testing.assert_allclose(auto.coef_, fixed.coef_, rtol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_step_of_the_paper_is_that_of_rows_of_unit_length(weighted):
    data = make_outbreak(n=300, d=40, k=3, mu=1.0, r=0.2, random_state=0)
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.0, 2.0, 300) if weighted else np.ones(300)
    r = np.average(data.y > 0, weights=weight)
    mean_square = np.average((data.X**2).sum(axis=1), weights=weight)
    settings = {"k": 5, "max_epochs": 4, "random_state": 0}
    expected = SHTAUCClassifier(step_size=r * (1 - r) / mean_square, **settings)
    expected.fit(data.X, data.y, weight)
    for table in (data.X, sp.csr_array(data.X)):
        found = SHTAUCClassifier(step_size="paper", **settings).fit(
            table, data.y, weight
        )
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9)


def test_the_step_of_the_paper_on_a_stream():
    data = make_outbreak(n=120, d=12, k=3, mu=1.0, r=0.25, random_state=0)
    r = np.mean(data.y > 0)
    step = r * (1 - r) / (data.X**2).sum(axis=1).mean()
    for X in (data.X, sp.csr_matrix(data.X)):
        found = SHTAUCClassifier(k=4, step_size="paper").partial_fit(X, data.y)
        expected = SHTAUCClassifier(k=4, step_size=step).partial_fit(X, data.y)
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-12)


def test_the_step_of_the_paper_finds_weak_independent_columns():
    """On scaled columns r(1 − r) itself diverges, and the automatic step runs past the best."""
    data = make_outbreak(n=1000, d=1000, k=40, mu=0.3, r=0.05, random_state=4000)
    rng = np.random.default_rng(7)
    y = np.repeat([1, -1], 1000)
    X = rng.standard_normal((2000, 1000))
    X[:1000, data.support] += 0.3
    scaler = StandardScaler().fit(data.X)
    auc = {}
    for step in ("auto", "paper"):
        model = SHTAUCClassifier(
            k=40, step_size=step, record_history=False, random_state=0
        )
        model.fit(scaler.transform(data.X), data.y)
        auc[step] = roc_auc_score(y, model.decision_function(scaler.transform(X)))
    assert auc["paper"] > auc["auto"] + 0.02


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_stream_of_blocks_learns(unit):
    data = make_outbreak(n=6000, d=30, k=4, mu=1.0, r=0.1, random_state=1)
    model = SHTAUCClassifier(k=4)
    X = data.X * unit
    for start in range(0, 5000, 100):
        rows = slice(start, start + 100)
        model.partial_fit(X[rows], data.y[rows], classes=[-1, 1])
    assert set(np.flatnonzero(model.get_support())) == set(data.support)
    assert (
        roc_auc_score(data.y[5000:], model.decision_function(X[5000:]))
        > 0.95 * data.bayes_auc
    )
    # A fit starts anew, and so does a stream after it.
    model.fit(X, data.y)
    again = clone(model).partial_fit(X[:100], data.y[:100], classes=[-1, 1]).coef_
    np.testing.assert_array_equal(
        model.partial_fit(X[:100], data.y[:100], classes=[-1, 1]).coef_, again
    )


def test_no_step_before_both_classes_came_and_a_step_too_large_is_told():
    data = make_outbreak(n=100, d=5, k=2, r=0.3, random_state=0)
    model = SHTAUCClassifier(k=2)
    rows = data.y < 0
    model.partial_fit(data.X[rows], data.y[rows], classes=[-1, 1])
    assert not model.coef_.any()
    with pytest.raises(ValueError, match="name both with partial_fit"):
        SHTAUCClassifier().partial_fit(data.X[rows], data.y[rows])
    wild = SHTAUCClassifier(k=2, step_size=1e200).partial_fit(data.X, data.y)
    with pytest.raises(FloatingPointError, match="give a smaller one"):
        wild.partial_fit(data.X, data.y)


def test_callback_sees_every_epoch_and_may_end_the_run():
    data = make_outbreak(n=100, d=5, k=2, r=0.3, random_state=0)
    seen = []

    def callback(record):
        seen.append((record.epoch, record.objective))
        return record.epoch == 3

    for record_history in (True, False):
        seen.clear()
        model = SHTAUCClassifier(
            k=2,
            tol=0.0,
            callback=callback,
            record_history=record_history,
            random_state=0,
        ).fit(data.X, data.y)
        assert [epoch for epoch, _ in seen] == [1, 2, 3]
        assert model.n_iter_ == 3
        assert model.history_["epoch"] == ([1, 2, 3] if record_history else [])
