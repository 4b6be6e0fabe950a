"""The estimators for times to event, against enumeration, single fits and scikit-survival."""

import pickle
from itertools import combinations

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparseauc import Limits, SparseConcordance, SparseConcordanceCV
from sparseauc.rules import ChanceWarning
from sparseauc.strata import StrataWarning
from sparseauc.survival import (
    ComparablePairs,
    ProportionalHazards,
    SurvivalTimes,
    harrell_concordance,
    uno_concordance,
)


def make_times(seed=0, n=200, d=12, censored=0.4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.3 * rng.standard_normal((d, d)))
    time = np.ceil(
        20 * rng.exponential(np.exp(-X[:, 2] / 2 + X[:, 5] / 3 - X[:, 7] / 4))
    )
    event = rng.random(n) > censored
    y = np.array(
        list(zip(event, time, strict=True)), dtype=[("event", "?"), ("time", "f8")]
    )
    return X, y


def naive_loss(X, y, coef, weight=None):
    """The mean squared loss over all comparable pairs."""
    event, time = y["event"], y["time"]
    later = (time[None] > time[:, None]) | (
        (time[None] == time[:, None]) & ~event[None]
    )
    count = (event[:, None] & later).astype(float)
    if weight is not None:
        count *= np.outer(weight, weight)
    score = X @ coef
    return np.sum(count * (1 - score[:, None] + score[None]) ** 2) / count.sum()


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_list_is_the_best_of_all(k):
    X, y = make_times(d=8)
    model = SparseConcordance(k, alpha=0.1).fit(X, y)
    scale = X.std(axis=0)
    assert_allclose(model.scale_, scale)
    assert_allclose(model.objective_, naive_loss(X, y, model.coef_[0]), rtol=1e-9)

    def objective(coef):
        return naive_loss(X, y, coef) + 0.1 * np.sum((coef * scale) ** 2)

    ours = objective(model.coef_[0])
    model.certify(X, y)
    assert model.certificate_status_ == "optimal"
    assert model.lower_bound_ <= ours
    for columns in combinations(range(8), k):
        one = SparseConcordance(
            k, alpha=0.1, limits=Limits(always_include=list(columns))
        )
        assert objective(one.fit(X, y).coef_[0]) >= ours - 1e-9


def test_rows_of_weight_two_count_twice():
    X, y = make_times()
    counts = np.random.default_rng(1).integers(0, 3, len(y))
    repeated = np.repeat(np.arange(len(y)), counts)
    weighted = SparseConcordance(4).fit(X, y, sample_weight=counts.astype(float))
    plain = SparseConcordance(4).fit(X[repeated], y[repeated])
    assert_allclose(weighted.coef_, plain.coef_, atol=1e-9)
    assert_allclose(
        weighted.objective_, naive_loss(X, y, weighted.coef_[0], counts), rtol=1e-9
    )
    other = harrell_concordance(y[repeated], X[repeated, 2])
    assert_allclose(
        harrell_concordance(y, X[:, 2], sample_weight=counts), other, rtol=1e-12
    )


def test_an_offset_between_strata_neither_helps_nor_harms():
    X, y = make_times(n=300)
    site = np.arange(300) % 3
    base = SparseConcordance(4).fit(X, y, strata=site)
    moved = SparseConcordance(4).fit(X + 100.0 * site[:, None], y, strata=site)
    assert_allclose(base.coef_, moved.coef_, atol=1e-9)
    assert base.n_strata_ == 3
    with pytest.warns(StrataWarning, match="1 rows are in strata"):
        SparseConcordance(4).fit(X, y, strata=np.append(site[:-1], 9))
    with pytest.raises(ValueError, match="none of the 300 strata"):
        SparseConcordance(4).fit(X, y, strata=np.arange(300))


@pytest.mark.parametrize("scoring", ["uno", "harrell"])
def test_cross_validation_is_that_of_single_fits(scoring):
    X, y = make_times(3)
    splits = list(KFold(4, shuffle=True, random_state=0).split(X))
    model = SparseConcordanceCV(
        ks=[1, 3, 5], alphas=[0.1, 1.0], cv=splits, scoring=scoring, curves=False
    ).fit(X, y)
    results = model.cv_results_
    assert "param_coefficients" not in results
    for i, (train, test) in enumerate(splits):
        for at, params in enumerate(results["params"]):
            one = SparseConcordance(params["k"], params["alpha"]).fit(
                X[train], y[train]
            )
            scores = one.predict(X[test])
            if scoring == "uno":
                expected = uno_concordance(y, y[test], scores, horizon=model.horizon_)
            else:
                expected = harrell_concordance(y[test], scores)
            assert_allclose(results[f"split{i}_test_score"][at], expected, atol=1e-12)
    chosen = SparseConcordance(model.k_, model.alpha_).fit(X, y)
    # In logarithms of hazard ratios, as a Cox model on the out-of-fold scores has it.
    out_of_fold = np.zeros(len(X))
    for train, test in splits:
        one = SparseConcordance(model.k_, model.alpha_).fit(X[train], y[train])
        out_of_fold[test] = one.predict(X[test])
    slope = ProportionalHazards.fit(
        out_of_fold, SurvivalTimes(y["time"], y["event"])
    ).slope
    assert_allclose(model.coef_, slope * chosen.coef_, atol=1e-10)
    assert_allclose(model.out_of_fold_scores_, slope * out_of_fold, atol=1e-10)
    assert_allclose(model.intercept_, -X.mean(axis=0) @ model.coef_[0], atol=1e-10)
    event_times = np.sort(y["time"][y["event"]])
    assert model.horizon_ == event_times[int(np.ceil(0.8 * event_times.size)) - 1]


def test_lengths_are_compared_by_smooth_scores():
    X, y = make_times(5)
    model = SparseConcordanceCV(range(1, 10), [0.1, 1.0], cv=4, curves=False).fit(X, y)
    smooth = model.cv_results_["mean_test_score"].reshape(9, 2)
    for _ in range(4):
        around = np.pad(smooth, ((1, 1), (0, 0)), mode="edge")
        smooth = around[:-2] / 4 + smooth / 2 + around[2:] / 4
    assert_allclose(model.cv_results_["smooth_test_score"], smooth.ravel(), rtol=1e-12)
    k = 1 + np.flatnonzero(smooth.max(axis=1) >= smooth.max() - 0.002)[0]
    assert (model.k_, model.alpha_) == (k, [1.0, 0.1][np.argmax(smooth[k - 1])])
    wide = SparseConcordanceCV([1, 2], [1.0], cv=3).fit(np.hstack([X] * 50), y)
    assert "smooth_test_score" not in wide.cv_results_


def test_risk_is_calibrated_on_out_of_fold_scores():
    X, y = make_times(n=400)
    model = SparseConcordanceCV(ks=[1, 3, 5]).fit(X, y)
    times = SurvivalTimes(y["time"], y["event"])
    hazards = ProportionalHazards.fit(model.out_of_fold_scores_, times)
    assert model.hazards_.slope == 1.0
    assert_allclose(hazards.slope, 1.0, rtol=1e-9)
    curves = model.predict_survival_function(X[:3])
    array = model.predict_survival_function(X[:3], return_array=True)
    assert array.shape == (3, model.unique_times_.size)
    at = model.unique_times_[[0, 5, -1]]
    assert_allclose([curve(at) for curve in curves], array[:, [0, 5, -1]])
    assert (np.diff(array, axis=1) <= 0).all()
    assert_allclose(
        model.predict_risk(X[:3]), 1 - np.array([c(model.horizon_) for c in curves])
    )
    # The mean risk is the share of rows that have their event, as Kaplan and Meier
    # estimate it.
    risk = model.predict_risk(X, horizon=20.0)
    order = np.argsort(model.predict(X))
    assert (np.diff(risk[order]) >= 0).all()
    km = pytest.importorskip("sksurv.nonparametric").kaplan_meier_estimator
    known, free = km(y["event"], y["time"])
    assert abs(risk.mean() - (1 - free[known == 20.0][0])) < 0.05
    with pytest.raises(ValueError, match="risks are known from 0"):
        model.predict_risk(X, horizon=1e9)
    with pytest.raises(AttributeError) as refused:
        SparseConcordance().fit(X, y).predict_risk(X)
    assert "use SparseConcordanceCV" in str(refused.value.__cause__)


def test_it_works_with_scikit_survival():
    metrics = pytest.importorskip("sksurv.metrics")
    X, y = make_times(n=300)
    train, test = np.arange(200), np.arange(200, 300)
    model = make_pipeline(StandardScaler(), SparseConcordanceCV(ks=[2, 4]))
    model.fit(X[train], y[train])
    scores = model.predict(X[test])
    expected = metrics.concordance_index_censored(
        y["event"][test], y["time"][test], scores
    )[0]
    assert_allclose(model.score(X[test], y[test]), expected, atol=1e-10)
    at = np.quantile(y["time"][test], [0.2, 0.5, 0.7])
    curves = model.predict_survival_function(X[test])
    brier = metrics.integrated_brier_score(
        y[train], y[test], [curve(at) for curve in curves], at
    )
    assert 0 < brier < 0.25
    auc, _ = metrics.cumulative_dynamic_auc(y[train], y[test], scores, at)
    assert auc.shape == (3,)
    wrapped = metrics.as_concordance_index_ipcw_scorer(SparseConcordance(), tau=at[-1])
    search = GridSearchCV(wrapped, {"estimator__k": [1, 3]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.5
    assert (cross_val_score(SparseConcordanceCV(ks=[3]), X, y, cv=3) > 0.5).all()


def test_frames_sparse_tables_and_copies_give_the_same():
    pd = pytest.importorskip("pandas")
    X, y = make_times()
    model = SparseConcordance(3).fit(X, y)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(12)])
    named = SparseConcordance(3).fit(
        frame, pd.DataFrame({"days": y["time"], "dead": y["event"]})
    )
    assert_array_equal(named.coef_, model.coef_)
    assert_array_equal(
        named.get_feature_names_out(), frame.columns[model.get_support()]
    )
    assert model.transform(X).shape == (200, 3)
    sparse = SparseConcordance(3).fit(sp.csr_array(X), y)
    assert_allclose(sparse.coef_, model.coef_, atol=1e-12)
    assert_allclose(sparse.predict(sp.csr_array(X)), model.predict(X), atol=1e-9)
    single = SparseConcordance(3).fit(X.astype(np.float32), y)
    assert single.coef_.dtype == np.float32
    assert_allclose(single.coef_, model.coef_, rtol=1e-4)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    assert clone(SparseConcordanceCV(horizon=3.0)).horizon == 3.0
    assert "time to their event" in model._repr_html_()
    with pytest.raises(NotFittedError):
        SparseConcordance().predict(X)


def test_limits_hold():
    X, y = make_times()
    signs = SparseConcordance(4, limits=Limits(signs={2: -1, 5: 1})).fit(X, y)
    assert signs.coef_[0, 2] <= 0 <= signs.coef_[0, 5]
    families = SparseConcordance(4, limits=Limits(families=[0, 1] * 6)).fit(X, y)
    assert np.count_nonzero(families.coef_) == 2
    costs = SparseConcordanceCV(limits=Limits(costs=np.arange(12.0) + 1, budget=9)).fit(
        X, y
    )
    assert costs.cost_ <= 9
    out = SparseConcordance(3, limits=Limits(exclude=[2], always_include=[0])).fit(X, y)
    assert out.coef_[0, 2] == 0 != out.coef_[0, 0]


def test_the_answer_does_not_depend_on_threads():
    X, y = make_times()
    one, two = (SparseConcordanceCV(ks=range(1, 6), n_jobs=n).fit(X, y) for n in (1, 2))
    assert_array_equal(one.coef_, two.coef_)
    assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )


def test_columns_are_curves_where_it_helps():
    X, y = make_times(n=400)
    bent = X.copy()
    bent[:, 2] = np.exp(2 * X[:, 2])
    model = SparseConcordanceCV(ks=[3]).fit(bent, y)
    assert model.curves_
    assert model.bend_[0, 2] != 0
    plain = SparseConcordanceCV(ks=[3], curves=False).fit(bent, y)
    assert model.best_score_ > plain.best_score_
    far = bent.copy()
    far[:, 2] *= 1 + (far[:, 2] == bent[:, 2].max())
    assert_allclose(model.predict(far), model.predict(bent))


def test_noise_is_said_to_be_noise():
    rng = np.random.default_rng(0)
    y = np.column_stack([rng.random(150) < 0.7, rng.exponential(size=150)])
    with pytest.warns(ChanceWarning, match="concordance"):
        SparseConcordanceCV(ks=[1, 2]).fit(rng.standard_normal((150, 10)), y)


@pytest.mark.parametrize("censored", [0.0, 0.97])
def test_few_or_no_censored_rows(censored):
    X, y = make_times(n=200, censored=censored)
    model = SparseConcordanceCV(ks=[1, 2]).fit(X, y)
    # 200 events are validated at least, in five repeats at most, one in every fold at
    # least.
    n_events = np.count_nonzero(y["event"] & (y["time"] < model.horizon_))
    assert model.n_repeats_ == min(5, np.ceil(200 / n_events))
    assert model.n_splits_ == min(5, n_events) * model.n_repeats_


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: y["time"].__setitem__(3, -1.0), "time is -1 at row 3"),
        (lambda y: y["time"].__setitem__(3, np.nan), "time is nan at row 3"),
        (lambda y: y["event"].__setitem__(slice(None), False), "no events"),
        (
            lambda y: (y["event"].fill(True), y["time"].fill(2.0)),
            "all times are equal, 2",
        ),
    ],
)
@pytest.mark.parametrize("model", [SparseConcordance(2), SparseConcordanceCV(ks=[2])])
def test_times_that_cannot_be_used_are_refused(model, change, message):
    X, y = make_times()
    change(y)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_other_mistakes_are_refused():
    X, y = make_times()
    with pytest.raises(ValueError, match="beyond the last time"):
        SparseConcordanceCV(horizon=1e6).fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SparseConcordance().fit(X[1:], y)
    with pytest.raises(ValueError, match="Say which of them is the event"):
        SparseConcordance().fit(X, np.column_stack([np.arange(200) % 3, y["time"]]))
    with pytest.raises(ValueError, match="must say for each row"):
        SparseConcordance().fit(X, y["time"])
    with pytest.raises(ValueError, match="within strata"):
        SparseConcordance(3).fit(X, y, strata=np.arange(200) % 2).certify(X, y)
    late = y.copy()
    late["event"][:] = np.arange(200) < 1
    late["time"][0] = 0.5
    with pytest.raises(ValueError, match=r"no two (training|validation) rows of split"):
        SparseConcordanceCV(cv=KFold(3)).fit(X, late)
    X[4, 2] = np.inf
    with pytest.raises(ValueError, match="contains infinity: first at row 4, column 2"):
        SparseConcordance().fit(X, y)


def test_tables_in_chunks(tmp_path):
    from sparseauc.chunks import open_table

    X, y = make_times()
    np.save(tmp_path / "x.npy", X)
    opened = open_table(tmp_path / "x.npy")
    for model in (SparseConcordance(3), SparseConcordanceCV()):
        for source in (opened, da.from_array(X, chunks=(70, -1))):
            with pytest.raises(
                ValueError, match="all of them in memory: load them first"
            ):
                model.fit(source, y)
    model = SparseConcordance(3).fit(np.load(tmp_path / "x.npy", mmap_mode="r"), y)
    assert_array_equal(model.coef_, SparseConcordance(3).fit(X, y).coef_)
    assert_allclose(model.predict(opened), model.predict(X))


def test_pairs_of_wide_tables():
    # More columns than a working set, against the best single columns by their own
    # loss.
    X, y = make_times(n=60, d=700)
    path = SparseConcordance(1, alpha=1.0).fit(X, y)
    times = SurvivalTimes(y["time"], y["event"])
    pairs = ComparablePairs.from_times(times)
    assert pairs.total > 0
    single = [
        SparseConcordance(1, alpha=1.0, limits=Limits(always_include=[j])).fit(X, y)
        for j in range(0, 700, 50)
    ]

    def objective(model):
        return model.objective_ + np.sum((model.coef_[0] * model.scale_) ** 2)

    assert all(objective(path) <= objective(one) + 1e-9 for one in single)
