"""Clipping and logarithms: what folds learn, the choice, and scores of all homes."""

import sqlite3

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import skew
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparseauc import Limits, SparseAUCClassifier, SparseAUCClassifierCV, cross_validation
from sparseauc.cross_validation import cross_validate
from sparseauc.datasets import make_outbreak
from sparseauc.folds import SplitPlan
from sparseauc.metrics import fast_auc
from sparseauc.selection import column_table, near_equal_lists, point_score, replacements
from sparseauc.solvers.logistic import logistic_regression
from sparseauc.transforms import Transform, learn_transforms, transform_columns
from sparseauc_app import load_model, save_model
from sparseauc_app.card_making import make_card
from sparseauc_app.export import to_sql


def spoiled(seed=0, n=500, d=6, share=0.004, factor=300.0):
    """A table in which a few values have the wrong unit."""
    X, y = make_outbreak(n=n, d=d, k=3, mu=1.0, r=0.3, random_state=seed)
    wrong = np.random.default_rng(seed).random(X.shape) < share
    return np.where(wrong, factor * X, X), y


def heavy_tails():
    """Columns without any effect."""
    rng = np.random.default_rng(1)
    return rng.standard_t(3, size=(150, 5)), rng.random(150) < 0.4


def naive_limits(values, share, weight):
    """The smallest and the largest value that has no less than the share up to it."""
    pairs = sorted(zip(values.tolist(), weight.tolist(), strict=True))
    pairs = [pair for pair in pairs if pair[1] > 0]
    total, ends = sum(pair[1] for pair in pairs), []
    for ordered in (pairs, pairs[::-1]):
        beyond = 0
        for value, count in ordered:
            beyond += count
            if beyond >= share * total:
                ends.append(value)
                break
    low, high = ends
    measured = len({pair[0] for pair in pairs}) > 3
    clips = measured and low < high and (pairs[0][0] < low or pairs[-1][0] > high)
    return (low, high) if clips else (-np.inf, np.inf)


def clip_limits(X, share, weight=None, **how):
    (found,) = learn_transforms(X, [weight], clip=share, **how)
    assert np.isnan(found.offsets).all()
    return found.limits


@given(
    hnp.arrays(np.float64, (12, 3), elements=st.integers(-9, 9).map(float)),
    hnp.arrays(np.int64, 12, elements=st.integers(0, 3)).filter(lambda w: w.sum() > 0),
    st.sampled_from([0.05, 0.1, 0.25, 0.49]),
)
def test_limits_are_quantiles(X, weight, share):
    expected = np.array([naive_limits(column, share, weight) for column in X.T]).T
    found = clip_limits(X, share, weight.astype(float))
    np.testing.assert_array_equal(found, expected)
    # A weight is a number of equal rows, and both ends are treated alike.
    np.testing.assert_array_equal(clip_limits(np.repeat(X, weight, axis=0), share), found)
    np.testing.assert_array_equal(-clip_limits(-X, share, weight.astype(float))[::-1], found)


def naive_offset(values):
    """What is added before the logarithm, None if there is none."""
    if min(values) < 0 or len(set(values)) <= 5 or not skew(values) > 1:
        return None
    above = sorted(v for v in values if v > 0)
    offset = 0.0 if min(values) > 0 else above[(len(above) - 1) // 2] / 10
    return offset if abs(skew(np.log(np.add(values, offset)))) < skew(values) else None


@given(
    hnp.arrays(np.float64, (14, 2), elements=st.integers(-1, 12).map(lambda i: float(i**3))),
    hnp.arrays(np.int64, 14, elements=st.integers(0, 3)).filter(lambda w: w.sum() > 3),
)
def test_logarithms_are_of_skewed_columns(X, weight):
    rows = np.repeat(X, weight, axis=0)
    for found in (
        learn_transforms(X, [weight.astype(float)], log=True)[0],
        learn_transforms(rows, [None], log=True)[0],
    ):
        for j, values in enumerate(rows.T):
            offset = naive_offset(values.tolist())
            if offset is None:
                assert np.isnan(found.offsets[j])
                assert np.isinf(found.limits[:, j]).all()
            else:
                assert found.offsets[j] == pytest.approx(offset)
                assert found.limits[:, j].tolist() == [values.min(), np.inf]


def test_every_number_has_a_logarithm_that_ascends():
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [np.exp(rng.normal(size=100)), rng.poisson(1, 100) * 5.0 ** rng.random(100)]
    )
    (found,) = learn_transforms(X, [None], log=True)
    assert (found.offsets[0], found.offsets[1] > 0) == (0, True)
    new = np.array([[-np.inf, -3.0], [-1.0, 0.0], [0.0, 0.1], [1.0, 3.0], [1e300, 1e9]])
    taken = found.apply(new)
    assert np.isfinite(taken).all()
    assert (np.diff(taken, axis=0) >= 0).all()
    np.testing.assert_array_equal(taken[0, 0], np.log(X[:, 0].min()))
    np.testing.assert_array_equal(found.apply(sp.csr_matrix(new[1:])), taken[1:])
    some = found.of_columns(np.array([1])).apply(new[:, [1]])
    np.testing.assert_array_equal(some, taken[:, [1]])


@pytest.mark.parametrize("fill", [0.0, 0.03, 1.0])
def test_indicators_are_left_alone_whatever_replaces_missing_values(fill):
    rng = np.random.default_rng(0)
    flag = (rng.random(600) < 0.03).astype(float)
    flag[rng.random(600) < 0.1] = fill
    for share in (0.02, 0.05, 0.2):
        for heavy_only in (False, True):
            how = {"clip": share, "heavy_only": heavy_only, "log": True}
            assert learn_transforms(flag[:, None], [None], **how)[0].changed.size == 0


def test_only_heavy_tails_are_clipped_by_default():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=10_000), rng.standard_t(2, 10_000), rng.random(10_000)])
    limits = clip_limits(X, 0.05, heavy_only=True)
    assert np.isfinite(limits).all(axis=0).tolist() == [False, True, False]


def skewed(seed=0, n=240, d=5):
    """A table whose columns are skewed, one of them with zeros; labels follow their logarithms."""
    rng = np.random.default_rng(seed)
    L = rng.normal(size=(n, d))
    y = L[:, 0] + L[:, 1] - L[:, 2] + rng.logistic(size=n) > 0.8
    X = np.exp(1.3 * L)
    X[:, 1] = np.floor(3 * X[:, 1])
    return X, y


@pytest.mark.parametrize("kind", ["auc", "logistic"])
@pytest.mark.parametrize("how", [{"log": True, "clip": None}, {"log": True, "clip": 0.1},
                                 {"log": False, "clip": 0.1}])  # fmt: skip
@pytest.mark.parametrize("weighted", [False, True])
def test_folds_learn_from_their_training_rows(kind, how, weighted):
    X, y = skewed()
    weight = np.random.default_rng(1).integers(0, 4, y.size).astype(float) if weighted else None
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=3)
    ks = [1, 2, 3]
    model = SparseAUCClassifierCV(ks, [1.0], cv=cv, coefficients=kind, **how)
    model.fit(X, y, sample_weight=weight)
    counted = np.arange(y.size) if weight is None else np.flatnonzero(weight)
    out_of_fold = np.full(y.size, np.nan)
    out_of_fold[counted] = 0.0
    for split, places in enumerate(cv.split(X[counted], y[counted])):
        train, test = (counted[part] for part in places)
        inside = np.zeros(y.size)
        inside[train] = 1.0 if weight is None else weight[train]
        (learnt,) = learn_transforms(X[train], [inside[train]], log=how["log"], clip=how["clip"])
        aucs = []
        for k in ks:
            at = k - 1
            A, B = learnt.apply(X[train]), learnt.apply(X[test])
            plain = SparseAUCClassifier(k, 1.0).fit(A, y[train], sample_weight=inside[train])
            coef = plain.coef_[0]
            if kind == "logistic":
                ridge = model.cv_results_["param_logistic_ridge"][at]
                chosen = np.flatnonzero(coef)
                coef = np.zeros(X.shape[1])
                coef[chosen] = logistic_regression(
                    A[inside[train] > 0][:, chosen], y[train][inside[train] > 0],
                    inside[train][inside[train] > 0], ridge=ridge,
                )[0]  # fmt: skip
            known = {} if weight is None else {"sample_weight": weight[test]}
            aucs.append(roc_auc_score(y[test], B @ coef, **known))
            if at == model.best_index_:
                means = [np.average(A[y[train] == c], 0, inside[train][y[train] == c])
                         for c in (False, True)]  # fmt: skip
                out_of_fold[test] += (B - np.mean(means, axis=0)) @ coef / 2
        found = [model.cv_results_[f"split{split}_test_score"][at] for at in range(len(ks))]
        np.testing.assert_allclose(found, aucs, atol=1e-9)
    log_odds = model.platt_["slope"] * out_of_fold + model.platt_["intercept"]
    np.testing.assert_allclose(model.out_of_fold_scores_, log_odds, rtol=1e-6, atol=1e-9)
    (learnt,) = learn_transforms(X, [weight], log=how["log"], clip=how["clip"])
    found = Transform.of_model(model)
    np.testing.assert_array_equal(found.limits, learnt.limits)
    np.testing.assert_array_equal(found.offsets, learnt.offsets)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_fit_is_that_of_transformed_columns(dtype):
    X, y = skewed()
    X = X.astype(dtype)
    model = SparseAUCClassifierCV([3], [1.0], coefficients="auc", log=True, clip=0.1).fit(X, y)
    taken = transform_columns(model, X)
    assert taken.dtype == dtype
    plain = SparseAUCClassifier(3, 1.0).fit(taken, y)
    slope = model.platt_["slope"]
    np.testing.assert_allclose(model.coef_, slope * plain.coef_, rtol=1e-4)
    np.testing.assert_allclose(model.scale_, plain.scale_, rtol=1e-5)
    new = np.concatenate([3 * X[::7], -X[:3]])
    expected = transform_columns(model, new) @ model.coef_[0] + model.intercept_
    np.testing.assert_allclose(model.decision_function(new), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        model.decision_function(sp.csr_matrix(new)), expected, rtol=1e-5, atol=1e-5
    )
    np.testing.assert_allclose(
        column_table(model, X, y)["standardised"],
        slope * column_table(plain, taken, y)["standardised"], rtol=1e-4,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("limits", "of_rows"),
    [
        (Limits(signs=[1, 1, 1, 1, 1]), {}),
        (Limits(costs=[1, 2, 3, 1, 2], budget=5), {}),
        (Limits(families=[0, 0, 1, 1, 2]), {}),
        (Limits(column_groups=[0, 0, 1, 1, 2]), {}),
        (None, {"strata": np.arange(240) % 3}),
    ],
)
def test_transforms_with_limits_and_strata(limits, of_rows):
    X, y = skewed()
    how = {"ks": [2, 4], "alphas": [1.0], "limits": limits, "coefficients": "auc"}
    model = SparseAUCClassifierCV(log=True, clip=0.1, **how).fit(X, y, **of_rows)
    plain = SparseAUCClassifierCV(log=False, clip=None, **{**how, "ks": [model.path_.ks.max()]})
    chosen = [
        np.flatnonzero(each.path_.solutions[0][-1].support).size
        for each in (model, plain.fit(transform_columns(model, X), y, **of_rows))
    ]
    assert chosen[0] == chosen[1]
    last = [each.path_.solutions[0][-1] for each in (model, plain)]
    np.testing.assert_array_equal(last[0].support, last[1].support)
    np.testing.assert_allclose(last[0].coef, last[1].coef, rtol=1e-6)


def test_skewed_columns_are_logged_and_others_are_not():
    X, y = skewed()
    model = SparseAUCClassifierCV().fit(X, y)
    alone = SparseAUCClassifierCV(log=False).fit(X, y)
    assert not np.isnan(model.log_offsets_).all()
    assert alone.log_offsets_ is None
    assert model.best_score_ > alone.best_score_ + 0.01
    new, labels = skewed(seed=9, n=4000)
    scores = [fast_auc(each.decision_function(new), labels) for each in (model, alone)]
    assert scores[0] > scores[1] + 0.01
    normal = SparseAUCClassifierCV().fit(np.log(X[:, [0, 2, 3]]), y)
    assert normal.log_offsets_ is None


def test_wrong_units_are_clipped_and_normal_columns_are_not():
    X, y = spoiled()
    model = SparseAUCClassifierCV().fit(X, y)
    alone = SparseAUCClassifierCV(clip=None).fit(X, y)
    assert np.isfinite(model.clip_limits_).any()
    assert model.best_score_ > alone.best_score_ + 0.02
    assert model.best_score_ == model.cv_results_["mean_test_score"][model.best_index_]
    new, labels = make_outbreak(n=2000, d=6, k=3, mu=1.0, r=0.3, random_state=9)
    scores = [fast_auc(each.decision_function(new), labels > 0) for each in (model, alone)]
    assert scores[0] > scores[1] + 0.02
    clean, labels = make_outbreak(n=500, d=6, k=3, mu=1.0, r=0.3, random_state=0)
    for table in (clean, sp.csr_matrix(X)):  # a sparse table is taken as it is
        assert SparseAUCClassifierCV([2, 3]).fit(table, labels).clip_limits_ is None


def test_a_choice_that_is_within_noise_keeps_values_as_they_are():
    X, y = heavy_tails()
    model = SparseAUCClassifierCV([1, 2]).fit(X, y)
    alone = SparseAUCClassifierCV([1, 2], clip=None).fit(X, y)
    assert model.clip_limits_ is None
    np.testing.assert_array_equal(model.coef_, alone.coef_)
    np.testing.assert_array_equal(
        model.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"]
    )


@pytest.mark.parametrize(("table", "gains"), [(spoiled, True), (heavy_tails, False)])
def test_what_gains_nothing_on_the_first_folds_is_not_tried_on_others(table, gains, monkeypatch):
    X, y = table()
    tried = []

    def search(task, transforms):
        tried.append((transforms is not None, len(task.plan.training)))
        return cross_validate(task, transforms)

    monkeypatch.setattr(cross_validation, "cross_validate", search)
    model = SparseAUCClassifierCV([1, 2, 3], log=False).fit(X, y)
    assert model.n_splits_ > 5
    every = [(False, model.n_splits_), (True, 5), (True, model.n_splits_)]
    assert tried == every[: 3 if gains else 2]


def test_first_round_is_the_plan_of_its_splits():
    y = np.arange(40) % 3 == 0
    splits = list(RepeatedStratifiedKFold(n_splits=4, n_repeats=3, random_state=0).split(y, y))
    weight = np.arange(40.0)
    every, expected = (SplitPlan.from_splits(some, 40, weight) for some in (splits, splits[:4]))
    first = every.first_round()
    assert first.training == expected.training
    assert first.everything == expected.everything
    np.testing.assert_array_equal(first.rounds, expected.rounds)
    for one, other in zip(first.partitions, expected.partitions, strict=True):
        np.testing.assert_array_equal(one.part, other.part)
    assert expected.first_round() is expected
    alone = SplitPlan.from_splits(splits[:1] * 2, 40, weight)  # most rows are never validated
    assert alone.first_round() is alone


@pytest.mark.parametrize("table", [spoiled, skewed])
def test_questions_about_a_list_are_about_columns_as_it_takes_them(table):
    X, y = table()
    model = SparseAUCClassifierCV([3], clip=0.05, log=True, coefficients="auc").fit(X, y)
    taken = transform_columns(model, X)
    how = {"clip": None, "log": False, "coefficients": "auc"}
    plain = SparseAUCClassifierCV([3], [model.alpha_], **how).fit(taken, y)
    assert near_equal_lists(model, X, y).lists == near_equal_lists(plain, taken, y).lists
    found, expected = (replacements(*each, y) for each in ((model, X), (plain, taken)))
    assert str(found) == str(expected)


def test_all_homes_score_alike(tmp_path):
    X, y = skewed()
    X[::11, 1] = np.nan
    X[:, 3] = np.log(X[:, 3])
    scaler = StandardScaler(with_mean=False)
    model = make_pipeline(SimpleImputer(), scaler, SparseAUCClassifierCV([5], clip=0.1, log=True))
    model.fit(X, y)
    new = np.concatenate([X[:200], -X[:5]])
    expected = model.decision_function(new)
    save_model(tmp_path / "m.json", model)
    loaded = load_model(tmp_path / "m.json")
    np.testing.assert_allclose(loaded.decision_function(new), expected, rtol=1e-9, atol=1e-12)
    card = make_card(model)
    assert any(term.high is not None for term in card.terms)
    assert [term.log is None for term in card.terms] == [False, False, False, True, False]
    with sqlite3.connect(":memory:") as base:
        names = ", ".join(f'"{j}"' for j in range(X.shape[1]))
        base.execute(f"CREATE TABLE t ({names})")
        marks = ", ".join("?" * X.shape[1])
        rows = [[None if np.isnan(v) else v for v in row] for row in new.tolist()]
        base.executemany(f"INSERT INTO t VALUES ({marks})", rows)
        found = [row[0] for row in base.execute(f"SELECT {to_sql(card)} FROM t")]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_rows_in_chunks_are_scored_alike(tmp_path):
    X, y = skewed()
    model = SparseAUCClassifierCV([5], clip=0.1, log=True).fit(X, y)
    assert model.log_offsets_ is not None
    np.save(tmp_path / "x.npy", X)
    rows = np.load(tmp_path / "x.npy", mmap_mode="r")
    np.testing.assert_allclose(model.decision_function(rows), model.decision_function(X))
    with pytest.raises(ValueError, match="needs quantiles of whole columns"):
        SparseAUCClassifierCV([3], clip=0.1).fit(sp.csr_matrix(X), y)
    with pytest.raises(ValueError, match="log=True needs quantiles of whole columns"):
        SparseAUCClassifierCV([3], log=True).fit(sp.csr_matrix(X), y)


def test_points_and_clipping_are_refused():
    X, y = spoiled()
    with pytest.raises(ValueError, match="fit one with clip=None and log=False"):
        point_score(SparseAUCClassifierCV([3], clip=0.1).fit(X, y), X, y)
    for wrong in (0.0, 0.5, "always"):
        with pytest.raises(ValueError, match="clip"):
            SparseAUCClassifierCV(clip=wrong).fit(X, y)
