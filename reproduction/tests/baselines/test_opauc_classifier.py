"""OPAUCClassifier as a scikit-learn user meets it: one pass, parts of a stream, bad input."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparseauc.datasets import make_outbreak
from sparseauc.objective import AUCObjective, minimise_on_support
from sparseauc_paper.baselines import OPAUCClassifier


@parametrize_with_checks([OPAUCClassifier(), OPAUCClassifier(exact_limit=0, rank=3)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def outbreak():
    return make_outbreak(n=2000, d=40, k=5, mu=1.0, r=0.1, random_state=0)


def feed(model, X, y, n_parts=7):
    for part in np.array_split(np.arange(y.size), n_parts):
        model.partial_fit(X[part], y[part], classes=np.unique(y))
    return model


# -------------------------------------------------------------------------------- what it returns


def test_ranks_after_one_pass(outbreak):
    X, y = outbreak
    model = OPAUCClassifier(random_state=0).fit(X, y)
    assert roc_auc_score(y, model.decision_function(X)) > 0.9
    assert model.n_iter_ == 1
    assert model.objective_ == AUCObjective(X, y).value(model.coef_[0]) < 0.6
    assert list(model.history_["epoch"]) == [1]
    largest = np.argsort(-np.abs(model.coef_[0]))[:5]
    np.testing.assert_array_equal(np.sort(largest), outbreak.support)
    scores = model.decision_function(X)
    assert scores[y > 0].mean() == pytest.approx(-scores[y < 0].mean())


def test_sketches_rank_too(outbreak):
    X, y = outbreak
    # Independent columns are the hard case: no sketch of rank 10 is near the identity of size 40.
    sketched = OPAUCClassifier(rank=10, exact_limit=39, random_state=0).fit(X, y)
    assert roc_auc_score(y, sketched.decision_function(X)) > outbreak.bayes_auc - 0.05


def test_more_passes_come_closer_to_the_minimiser():
    X, y = make_outbreak(n=200, d=50, k=20, mu=0.5, r=0.2, correlation=0.9, random_state=0)
    model = OPAUCClassifier(max_epochs=20, random_state=0).fit(X, y)
    assert model.n_iter_ == len(model.history_["auc"]) == 20
    assert OPAUCClassifier(max_epochs=20, tol=10.0, random_state=0).fit(X, y).n_iter_ == 2
    _, least = minimise_on_support(AUCObjective(X, y).moments, np.arange(50), 1e-4)
    excess = np.array(model.history_["objective"]) - least
    assert excess[10:].mean() < excess[0] / 3


def test_small_coefficients_may_count_as_zero(outbreak):
    X, y = outbreak
    full = OPAUCClassifier(random_state=0).fit(X, y)
    assert full.get_support().all()
    limit = np.sort(np.abs(full.coef_[0]))[-5]
    short = OPAUCClassifier(random_state=0, zero_threshold=limit).fit(X, y)
    np.testing.assert_array_equal(short.get_support(indices=True), outbreak.support)
    assert short.transform(X).shape == (2000, 5)
    # Nothing is lost to the iteration.
    short.set_params(zero_threshold=0.0).partial_fit(X[:5], y[:5])
    full.partial_fit(X[:5], y[:5])
    np.testing.assert_array_equal(short.coef_, full.coef_)


def test_tables_agree(outbreak, tmp_path):
    X, y = outbreak
    expected = OPAUCClassifier(random_state=0).fit(X, y).coef_
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for table in (np.asfortranarray(X), sp.csr_matrix(X), sp.csc_array(X), X.tolist()):
        coef = OPAUCClassifier(random_state=0).fit(table, y).coef_
        np.testing.assert_allclose(coef, expected, rtol=1e-10, atol=1e-14)
    single = OPAUCClassifier(random_state=0).fit(mapped, y)
    assert single.coef_.dtype == np.float32
    np.testing.assert_allclose(single.coef_, expected, rtol=1e-3, atol=1e-4)


def test_same_seed_same_answer(outbreak):
    X, y = outbreak
    for parameters in ({}, {"exact_limit": 0}):
        first, second, third = (
            OPAUCClassifier(random_state=seed, **parameters).fit(X, y).coef_ for seed in (4, 4, 5)
        )
        np.testing.assert_array_equal(first, second)
        assert not np.array_equal(first, third)


def test_no_sample_weight_is_offered(outbreak):
    assert "sample_weight" not in inspect.signature(OPAUCClassifier.fit).parameters
    with pytest.raises(TypeError, match="sample_weight"):
        OPAUCClassifier().fit(*outbreak, sample_weight=np.ones(2000))


def test_verbose_prints_a_line_an_epoch(outbreak, capsys):
    X, y = outbreak
    OPAUCClassifier(max_epochs=2, verbose=1, record_history=False).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert "epoch    1  F " in lines[0]


def test_warm_start_keeps_the_coefficients_only(outbreak):
    X, y = outbreak
    few = slice(0, 60)
    cold = OPAUCClassifier(random_state=0).fit(X[few], y[few])
    model = OPAUCClassifier(warm_start=True, random_state=0).fit(X, y)
    before = model.coef_.copy()
    model.fit(X[few], y[few])
    assert 0 < np.linalg.norm(model.coef_ - before) < np.linalg.norm(cold.coef_ - before)
    # The threshold lies between the class means of the new rows.
    scores = model.decision_function(X[few])
    assert scores[y[few] > 0].mean() == pytest.approx(-scores[y[few] < 0].mean())
    with pytest.raises(ValueError, match="previous fit had 40 columns, X has 39"):
        model.fit(X[:, 1:], y)


# ----------------------------------------------------------------------------------------- streams


@pytest.mark.parametrize("exact_limit", [0, 5000])
def test_parts_equal_the_whole(outbreak, exact_limit):
    X, y = outbreak
    parameters = {"exact_limit": exact_limit, "rank": 5, "random_state": 3}
    whole = OPAUCClassifier(shuffle=False, **parameters).fit(X, y)
    for table in (X, sp.csr_array(X)):
        parts = feed(OPAUCClassifier(**parameters), table, y)
        np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(parts.intercept_, whole.intercept_, rtol=1e-9)
    assert parts.n_iter_ == 1


def test_a_stream_goes_on_after_fit_and_after_pickling(outbreak):
    X, y = outbreak
    whole = OPAUCClassifier(shuffle=False, exact_limit=0, random_state=0).fit(X, y)
    model = OPAUCClassifier(shuffle=False, exact_limit=0, random_state=0).fit(X[:900], y[:900])
    model = pickle.loads(pickle.dumps(model))
    model.partial_fit(X[900:], y[900:])
    np.testing.assert_array_equal(model.coef_, whole.coef_)


def test_one_class_alone_moves_nothing(outbreak):
    X, y = outbreak
    labels = np.where(y > 0, "sick", "fit")
    model = OPAUCClassifier().partial_fit(X[y < 0], labels[y < 0], classes=["fit", "sick"])
    np.testing.assert_array_equal(model.coef_, np.zeros((1, 40)))
    assert set(model.predict(X)) == {"fit"}
    model.partial_fit(X[y > 0], labels[y > 0])
    assert roc_auc_score(y, model.decision_function(X)) > 0.9
    assert list(model.classes_) == ["fit", "sick"]


def test_fit_forgets_a_stream(outbreak):
    X, y = outbreak
    used = feed(OPAUCClassifier(random_state=0), X + 5.0, -y).fit(X, y)
    np.testing.assert_array_equal(used.coef_, OPAUCClassifier(random_state=0).fit(X, y).coef_)


# -------------------------------------------------------------------------------------- bad input


def test_parts_are_checked(outbreak):
    X, y = outbreak
    with pytest.raises(ValueError, match=r"first call has 1 class.*name both with partial_fit"):
        OPAUCClassifier().partial_fit(X[y > 0], y[y > 0])
    with pytest.raises(ValueError, match="first call has 3 class"):
        OPAUCClassifier().partial_fit(X, y, classes=[0, 1, 2])
    fresh = OPAUCClassifier()
    with pytest.raises(ValueError, match=r"y holds 7, not among the classes \[-1, 1\] \(row 3\)"):
        fresh.partial_fit(X, np.where(np.arange(2000) == 3, 7, y), classes=[-1, 1])
    # A first part that was refused commits to nothing.
    assert fresh.partial_fit(X[:, 1:], y > 0).n_features_in_ == 39
    model = feed(OPAUCClassifier(), X, y)
    with pytest.raises(ValueError, match="not the same as on last call"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="39 features, but OPAUCClassifier is expecting 40"):
        model.partial_fit(X[:, 1:], y)
    broken = X.copy()
    broken[1, 2] = np.inf
    with pytest.raises(ValueError, match="infinity: first at row 1, column 2"):
        model.partial_fit(broken, y)
    with pytest.raises(ValueError, match="'alpha' parameter"):
        OPAUCClassifier(alpha=-1).partial_fit(X, y, classes=[-1, 1])


def test_changed_names_are_refused(outbreak):
    frame = pd.DataFrame(outbreak.X, columns=[f"gene{j}" for j in range(40)])
    model = OPAUCClassifier().partial_fit(frame, outbreak.y, classes=[-1, 1])
    with pytest.raises(ValueError, match=r"feature names should match[\s\S]*gene_new"):
        model.partial_fit(frame.rename(columns={"gene3": "gene_new"}), outbreak.y)
    with pytest.raises(ValueError, match="column 'site' could not be converted"):
        model.partial_fit(frame.assign(site="north"), outbreak.y)


def test_a_step_that_is_too_large_is_told(outbreak):
    X, y = outbreak
    with pytest.warns(ConvergenceWarning, match="above its value 1"):
        OPAUCClassifier(step_size=0.04, shuffle=False).fit(X[:80], y[:80])
    with pytest.raises(ValueError, match="diverged within"):
        OPAUCClassifier(step_size=1e6).fit(X, y)
