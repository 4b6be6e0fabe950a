"""Fits of rows that are read in chunks equal those in memory; moments accumulate and travel."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    GroupKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.utils import resample

from sparseauc import (
    ClassMoments,
    Limits,
    MeanDifferenceClassifier,
    SHTAUCClassifier,
    SparseAUCClassifier,
    SparseAUCClassifierCV,
    class_moments,
    held_out,
)
from sparseauc.chunks import (
    ArrayChunks,
    CSRChunks,
    KeptColumns,
    SequentialChunks,
    open_table,
)
from sparseauc.datasets import make_outbreak
from sparseauc.folds import SplitPlan
from sparseauc.moments import chunked

GRID = {"ks": [1, 3, 6, 9], "alphas": [0.1, 10.0], "curves": False}


@pytest.fixture(scope="module")
def outbreak():
    return make_outbreak(n=900, d=30, k=5, mu=0.5, r=0.15, random_state=0)


def dense_chunks(X, rows=100):
    return ArrayChunks(X, chunk_bytes=rows * X.shape[1] * X.itemsize)


def sparse_chunks(X):
    matrix = sp.csr_array(X)
    return CSRChunks(
        matrix.data, matrix.indices, matrix.indptr, X.shape[1], chunk_bytes=20_000
    )


def assert_same_fit(actual, expected, tol=1e-9, *, threshold=True):
    """Compare two fits; without rows the threshold is midway between the class means."""
    assert_array_equal(actual.get_support(), expected.get_support())
    assert_allclose(actual.coef_, expected.coef_, rtol=tol, atol=tol)
    if threshold:
        assert_allclose(actual.intercept_, expected.intercept_, atol=tol)
    else:
        means = actual.moments_.means
        assert_allclose(
            actual.intercept_, -actual.coef_ @ np.mean(means, axis=0), atol=tol
        )
    assert_allclose(actual.scale_, expected.scale_, rtol=tol)
    assert actual.objective_ == pytest.approx(expected.objective_, rel=tol)
    assert_array_equal(actual.classes_, expected.classes_)


def assert_same_search(actual, expected):
    assert_same_fit(actual, expected)
    for name, values in expected.cv_results_.items():
        if name.startswith("param"):
            assert_array_equal(actual.cv_results_[name], values)
        elif name != "rank_test_score":
            assert_allclose(actual.cv_results_[name], values, atol=1e-9)
    assert_allclose(actual.out_of_fold_scores_, expected.out_of_fold_scores_, atol=1e-9)
    assert (actual.k_, actual.alpha_) == (expected.k_, expected.alpha_)
    assert actual.n_repeats_ == expected.n_repeats_
    assert len(actual.path_.solutions) == len(expected.path_.solutions) == 1


# ---------------------------------------------------------------------------------- fit


@pytest.mark.parametrize("chunks", [dense_chunks, sparse_chunks])
@pytest.mark.parametrize("weighted", [False, True])
def test_fit_equals_that_in_memory(outbreak, readings, chunks, weighted):
    X, y = outbreak
    weight = np.random.default_rng(0).integers(0, 4, y.size) if weighted else None
    model = SparseAUCClassifier(k=8, alpha=0.1)
    expected = clone(model).fit(X, y, weight)
    actual = clone(model).fit(chunks(X), y, weight)
    assert_same_fit(actual, expected)
    assert (
        actual.n_passes_ == 2
        if readings == "one reading"
        else 3 <= actual.n_passes_ <= 5
    )
    assert_allclose(
        actual.decision_function(chunks(X)), expected.decision_function(X), atol=1e-9
    )
    assert_array_equal(actual.predict(chunks(X)), expected.predict(X))


def test_restrictions_hold_on_chunks(outbreak, readings):
    X, y = outbreak
    model = SparseAUCClassifier(
        k=6, limits=Limits(always_include=[20, 29], exclude=[0, 1])
    )
    assert_same_fit(clone(model).fit(dense_chunks(X), y), clone(model).fit(X, y))
    grouped = SparseAUCClassifier(k=6, limits=Limits(column_groups=np.arange(30) // 2))
    actual = clone(grouped).fit(dense_chunks(X), y)
    assert_same_fit(actual, clone(grouped).fit(X, y))
    assert actual.n_passes_ == (2 if readings == "one reading" else 3)


def test_groups_of_too_many_columns(outbreak, monkeypatch):
    X, y = outbreak
    monkeypatch.setattr(chunked, "_ALL_BYTES", 0)
    monkeypatch.setattr(chunked, "_MOST_BYTES", 1000)
    with pytest.raises(ValueError, match="products of 30 of 30 columns in 1 parts"):
        SparseAUCClassifier(limits=Limits(column_groups=np.arange(30) // 2)).fit(
            dense_chunks(X), y
        )


def test_float32_stays_float32_and_is_computed_in_double(outbreak):
    X, y = outbreak.X.astype(np.float32), outbreak.y
    model = SparseAUCClassifier(k=5).fit(dense_chunks(X), y)
    assert model.coef_.dtype == np.float32
    exact = SparseAUCClassifier(k=5).fit(X.astype(np.float64), y)
    assert_allclose(model.coef_, exact.coef_, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_lists_within_a_budget_are_those_of_double_precision(seed):
    # A loss below 0.012 was once taken for the rounding of single precision.
    rng = np.random.default_rng(seed)
    y = np.arange(40) % 2
    X = rng.standard_normal((40, 400)).astype(np.float32)
    costs = np.round(rng.random(400) * 4 + 0.5, 1)
    model = SparseAUCClassifier(
        k=20, alpha=0.001, limits=Limits(costs=costs, budget=40.0)
    )
    homes = X, X.astype(np.float64), np.asfortranarray(X), dense_chunks(X, 25)
    lists = [
        np.flatnonzero(clone(model).fit(home, y).coef_[0]).tolist() for home in homes
    ]
    assert lists[1:] == lists[:-1]
    assert clone(model).fit(X, y).objective_ < 0.012


def test_large_memory_maps(outbreak, tmp_path, monkeypatch):
    X, y = outbreak
    monkeypatch.setattr("sparseauc.chunks._MAPPED", 0)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    expected = SparseAUCClassifierCV(**GRID).fit(X, y)
    actual = SparseAUCClassifierCV(**GRID).fit(mapped, y)
    assert_same_search(actual, expected)
    fewer = SparseAUCClassifierCV(**GRID, coefficients="auc").fit(mapped, y)
    # Moments, and the columns in use.
    assert fewer.n_passes_ == actual.n_passes_ == 2
    assert_allclose(
        actual.decision_function(mapped), expected.decision_function(X), atol=1e-9
    )


def test_tables_with_their_labels(outbreak, tmp_path):
    X, y = outbreak
    labels = np.where(y > 0, "ill", "healthy")
    frame = pd.DataFrame(X, columns=[f"gene{j}" for j in range(30)])
    pq.write_table(
        pa.table(frame.assign(state=labels)), tmp_path / "t.parquet", row_group_size=200
    )
    model = SparseAUCClassifierCV(**GRID, limits=Limits(always_include=["gene3"]))
    expected = clone(model).fit(frame, labels)
    table = open_table(tmp_path / "t.parquet", target="state", chunk_bytes=10_000)
    actual = clone(model).fit(table)
    assert_same_search(actual, expected)
    assert_array_equal(actual.feature_names_in_, expected.feature_names_in_)
    assert_array_equal(actual.get_feature_names_out(), expected.get_feature_names_out())
    dataset = ds.dataset(tmp_path / "t.parquet")
    assert_same_search(clone(model).fit(dataset, "state"), expected)
    assert_array_equal(actual.predict(table), expected.predict(frame))
    renamed = ds.dataset(pa.table(frame.rename(columns={"gene0": "other"})))
    with pytest.raises(ValueError, match="column 0 is 'other', but was 'gene0'"):
        actual.predict(renamed)


def test_certificate_where_all_columns_are_at_hand(outbreak, monkeypatch):
    X, y = outbreak
    model = SparseAUCClassifier(k=3)
    expected = clone(model).fit(X, y).certify(X, y)
    actual = clone(model).fit(dense_chunks(X), y).certify(dense_chunks(X), y)
    assert actual.certificate_status_ == "optimal"
    assert actual.lower_bound_ == pytest.approx(expected.lower_bound_, rel=1e-9)
    monkeypatch.setattr(chunked, "_ALL_BYTES", 0)
    with pytest.raises(ValueError, match="all columns of H are needed at once"):
        clone(model).fit(dense_chunks(X), y).certify(dense_chunks(X), y)


# -------------------------------------------------------------------------------- bad
# input


def test_entries_that_are_no_numbers_are_named(outbreak):
    X, y = outbreak.X.copy(), outbreak.y
    X[456, 7] = np.inf
    for model in (
        SparseAUCClassifier(),
        SparseAUCClassifierCV(**GRID),
    ):
        with pytest.raises(
            ValueError, match="contains infinity: first at row 456, column 7"
        ):
            model.fit(dense_chunks(X), y)
        with pytest.raises(ValueError, match="first at row 456, column 7"):
            model.fit(sparse_chunks(X), y)
    fitted = SparseAUCClassifier(k=2, limits=Limits(always_include=[7])).fit(
        outbreak.X, y
    )
    with pytest.raises(ValueError, match="first at row 456, column 7"):
        fitted.predict(dense_chunks(X))


def test_labels_are_checked(outbreak):
    X, y = outbreak
    chunks = dense_chunks(X)
    with pytest.raises(ValueError, match="requires y to be passed"):
        SparseAUCClassifier().fit(chunks)
    with pytest.raises(ValueError, match="X has 900 rows but y has 899"):
        SparseAUCClassifier().fit(chunks, y[1:])
    with pytest.raises(ValueError, match="one class only"):
        SparseAUCClassifier().fit(chunks, np.ones(900))
    with pytest.raises(ValueError, match="y contains NaN"):
        SparseAUCClassifier().fit(chunks, np.where(np.arange(900) == 3, np.nan, y))
    with pytest.raises(ValueError, match="labels are given twice"):
        SparseAUCClassifier().fit(ArrayChunks(X, y), y)
    with pytest.raises(ValueError, match="no positives among its validation rows"):
        SparseAUCClassifierCV(cv=[(np.arange(899), np.flatnonzero(y < 0)[:3])]).fit(
            chunks, y
        )
    fitted = SparseAUCClassifier(k=2).fit(chunks, y)
    with pytest.raises(
        ValueError, match="X has 3 features, but SparseAUCClassifier is expecting"
    ):
        fitted.predict(dense_chunks(X[:, :3]))


def test_differences_of_means_are_read_in_chunks(outbreak):
    X, y = outbreak
    expected = MeanDifferenceClassifier(k=4).fit(X, y)
    actual = MeanDifferenceClassifier(k=4).fit(dense_chunks(X), y)
    assert_allclose(actual.coef_, expected.coef_, rtol=1e-9)
    assert_allclose(actual.intercept_, expected.intercept_, rtol=1e-9)


# --------------------------------------------------------------------- cross-validation


def splitters(y):
    rng = np.random.default_rng(0)
    whole = StratifiedKFold(3, shuffle=True, random_state=0)
    bootstrap = []
    for seed in range(2):
        train = resample(np.arange(y.size), random_state=seed, stratify=y)
        bootstrap.append((train, np.setdiff1d(np.arange(y.size), train)))
    return {
        "default": (None, None),
        "folds": (whole, None),
        "repeated": (
            RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
            None,
        ),
        "random parts": (ShuffleSplit(2, test_size=0.3, random_state=0), None),
        "bootstrap": (bootstrap, None),
        "folds and others": ([*whole.split(y, y), *bootstrap], None),
        "unfinished folds": (list(whole.split(y, y))[:2], None),
        "groups": (GroupKFold(3), rng.integers(0, 20, y.size)),
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", splitters(np.arange(900) % 3))
@pytest.mark.parametrize("chunks", [dense_chunks, sparse_chunks])
def test_search_equals_that_in_memory(outbreak, readings, chunks, kind):
    X, y = outbreak
    cv, groups = splitters(y)[kind]
    weight = (
        None
        if kind == "folds"
        else np.random.default_rng(0).choice([0.0, 0.5, 1.0], y.size)
    )
    model = SparseAUCClassifierCV(**GRID, cv=cv)
    expected = clone(model).fit(X, y, weight, groups)
    actual = clone(model).fit(chunks(X), y, weight, groups)
    assert_same_search(actual, expected)
    assert actual.auc_error_ == 0.0


def test_many_columns_within_strata(monkeypatch):
    monkeypatch.setattr(chunked, "_ALL_BYTES", 0)
    monkeypatch.setattr(chunked, "_AHEAD_BYTES", 0)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 1000)), rng.random(300) < 0.4
    X[y, :20] += 0.5
    strata = np.arange(300) % 3
    model = SparseAUCClassifierCV(range(1, 9), [0.1, 10.0], cv=3, curves=False)
    rows, block = [], []
    gather = chunked.GatheredMoments.gather

    def watched(self, **settings):
        rows.extend(self._rows_asked)
        block.extend(self._block_asked)
        gather(self, **settings)

    monkeypatch.setattr(chunked.GatheredMoments, "gather", watched)
    actual = clone(model).fit(dense_chunks(X), y, strata=strata)
    assert_same_search(actual, clone(model).fit(X, y, strata=strata))
    assert len(block) < 900
    assert 0 < len(rows) < 200


@pytest.mark.slow
@pytest.mark.parametrize(("offset", "scale"), [(0.0, 1.0), (1000.0, 1.0), (0.0, 1e18)])
def test_rows_of_single_precision_change_no_list(monkeypatch, offset, scale):
    monkeypatch.setattr(chunked, "_ALL_BYTES", 0)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 700)), rng.random(400) < 0.4
    X[:, 1:] += X[:, :-1]
    X[y, ::30] += 0.5
    X[:, 5] *= scale  # its squares are no numbers of single precision
    X = (X + offset).astype(np.float32)
    model = SparseAUCClassifierCV(range(1, 9), [0.1, 10.0], cv=3, curves=False)
    actual, expected = (
        clone(model).fit(dense_chunks(Z), y) for Z in (X, X.astype(np.float64))
    )
    assert actual.n_passes_ > 2
    for one, other in zip(
        *(m.path_.solutions[0] for m in (actual, expected)), strict=True
    ):
        assert_array_equal(one.support, other.support)
        assert_allclose(one.coef, other.coef, rtol=1e-9)
    assert_array_equal(
        actual.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )


@pytest.mark.slow
def test_readings_are_few(outbreak, monkeypatch):
    X, y = outbreak
    rather = {"coefficients": "auc"}, {"coefficients": "logistic"}
    for settings in rather:
        model = SparseAUCClassifierCV(**GRID, **settings).fit(sparse_chunks(X), y)
        assert model.n_passes_ == 2  # moments, and the columns in use
    monkeypatch.setattr(KeptColumns, "fit", lambda *_: False)
    # Moments, rows of the rarer class, AUCs, out-of-fold scores; and for logistic
    # coefficients the columns, rows of the rarer class and AUCs, and the fit.
    for settings, passes in zip(rather, (4, 8), strict=True):
        again = SparseAUCClassifierCV(**GRID, **settings).fit(sparse_chunks(X), y)
        assert again.n_passes_ == passes
    assert_array_equal(again.out_of_fold_scores_, model.out_of_fold_scores_)
    assert_array_equal(again.coef_, model.coef_)


def test_answer_does_not_depend_on_jobs_or_chunks(outbreak):
    X, y = outbreak
    models = [
        SparseAUCClassifierCV(**GRID, n_jobs=jobs).fit(dense_chunks(X, rows), y)
        for jobs, rows in [(1, 100), (2, 100), (1, 17), (1, 900)]
    ]
    assert_array_equal(models[1].coef_, models[0].coef_)
    for model in models[2:]:
        assert_same_search(model, models[0])


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("values", ["continuous", "counts"])
def test_aucs_are_exact_with_ties_and_whichever_class_is_rarer(share, values):
    rng = np.random.default_rng(1)
    y = rng.random(600) < share
    X = rng.normal(size=(600, 4)) + 0.4 * y[:, None]
    if values == "counts":
        X = np.round(X)
    model = SparseAUCClassifierCV(
        [1, 2], [1.0], cv=StratifiedKFold(2), coefficients="auc"
    )
    model.fit(dense_chunks(X, 70), y)
    for number, (train, test) in enumerate(StratifiedKFold(2).split(X, y)):
        for place, k in enumerate([1, 2]):
            fitted = SparseAUCClassifier(k=k, alpha=1.0).fit(X[train], y[train])
            # Rounded, so that what is equal is equal however it was summed.
            expected = roc_auc_score(
                y[test], np.round(fitted.decision_function(X[test]), 9)
            )
            found = model.cv_results_[f"split{number}_test_score"][place]
            assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_many_rows_of_the_rarer_class(outbreak, monkeypatch, weighted):
    """A few rows divide the scores; AUCs are then known within ``auc_error_``."""
    X, y = outbreak
    weight = np.random.default_rng(0).random(y.size) if weighted else None
    monkeypatch.setattr(SequentialChunks, "max_payload_bytes", 0)
    model = SparseAUCClassifierCV(**GRID, cv=3)
    expected = clone(model).fit(X, y, weight)
    last = 0.5
    for dividers in (4, 16, 40):
        monkeypatch.setattr(held_out, "_DIVIDERS", dividers)
        actual = clone(model).fit(dense_chunks(X), y, weight)
        assert 0 < actual.auc_error_ < last
        last = actual.auc_error_
        for split in range(3):
            found = actual.cv_results_[f"split{split}_test_score"]
            off = np.abs(found - expected.cv_results_[f"split{split}_test_score"])
            assert 0 < off.max() <= actual.auc_error_
    monkeypatch.setattr(held_out, "_DIVIDERS", 1000)  # all of them
    actual = clone(model).fit(dense_chunks(X), y, weight)
    assert actual.auc_error_ == 0.0
    assert_same_search(actual, expected)


def count_below(dividers, before, scores, positive, weight, below=None, cells=None):
    """Compare negatives with dividers that are positives, or all rows with any dividers."""
    counted = ~positive if cells is None else np.ones_like(positive)
    held_out.count_below(
        dividers,
        np.empty((0, 0)) if before is None else before,
        scores,
        positive,
        counted,
        weight,
        np.empty(0) if below is None else below,
        np.empty((0, 0, 0)) if cells is None else cells,
    )


@pytest.mark.slow
@given(st.data())
def test_aucs_of_cells_bound_the_exact_ones(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n = data.draw(st.integers(4, 60))
    scores = (
        rng.normal(size=n) if data.draw(st.booleans()) else rng.integers(0, 5, n) * 1.0
    )
    positive = rng.random(n) < 0.5
    positive[:2] = True, False
    dividers = np.sort(rng.choice(scores[positive], data.draw(st.integers(1, 8))))
    weight = rng.random(n) + 0.1
    for counted in (np.empty(0), weight):
        counts = np.zeros((1, 2, 2 * dividers.size + 1))
        count_below(dividers[None], None, scores[None], positive, counted, cells=counts)
        assert counts.sum() == pytest.approx(counted.sum() if counted.size else n)
        auc, error = held_out._auc_of_cells(counts)
        expected = roc_auc_score(
            positive, scores, sample_weight=counted if counted.size else None
        )
        assert abs(auc[0] - expected) <= error + 1e-12
    ascending, below = np.sort(scores[positive])[None], np.zeros(1)
    count_below(ascending, None, scores[None], positive, np.empty(0), below)
    pairs = 2 * positive.sum() * (~positive).sum()
    assert 1 - below[0] / pairs == pytest.approx(roc_auc_score(positive, scores))
    order = np.argsort(scores[positive], kind="stable")
    before, below = held_out._weight_before(weight[positive][None, order]), np.zeros(1)
    count_below(ascending, before, scores[None], positive, weight, below)
    pairs = 2 * weight[positive].sum() * weight[~positive].sum()
    expected = roc_auc_score(positive, scores, sample_weight=weight)
    assert 1 - below[0] / pairs == pytest.approx(expected)


@given(
    ascending=st.lists(
        st.floats(-1e300, 1e300) | st.sampled_from([0.0, 1.0]), min_size=1
    ),
    scores=st.lists(st.floats(-1e308, 1e308) | st.sampled_from([0.0, 1.0]), min_size=1),
)
def test_looking_up_in_buckets_is_searching(ascending, scores):
    ascending, scores = np.sort(ascending), np.array(scores)
    expected = np.searchsorted(ascending, scores) + np.searchsorted(
        ascending, scores, "right"
    )
    found, none = np.zeros(1), np.zeros(scores.size, np.bool_)
    count_below(ascending[None], None, scores[None], none, np.empty(0), found)
    assert found[0] == expected.sum()


def test_plan_of_splits():
    folds = [(np.array([2, 3]), np.array([0, 1])), (np.array([0, 1]), np.array([2, 3]))]
    plan = SplitPlan.from_splits(
        [*folds, (np.array([0, 0, 3]), np.array([1]))], 4, None
    )
    assert plan.training == [[1], [0], [2]]
    assert plan.everything == [0, 1]
    assert [p.part.tolist() for p in plan.partitions] == [[0, 0, 1, 1], [0, -1, -1, 0]]
    assert_array_equal(plan.partitions[1].weight, [2, 0, 0, 1])
    assert [numbers.tolist() for numbers in plan.rounds] == [
        [0, 0, 1, 1],
        [-1, 2, -1, -1],
    ]
    assert SplitPlan.from_splits(folds[:1], 4, None).everything == [1]


# -------------------------------------------------------------------------- fit_moments


def test_hospitals_send_moments_and_no_rows(outbreak, tmp_path):
    X, y = outbreak
    for number, rows in enumerate(
        np.array_split(np.random.default_rng(0).permutation(900), 10)
    ):
        class_moments(X[rows], y[rows]).summary().save(tmp_path / f"{number}.npz")
    merged = ClassMoments.merge(
        ClassMoments.load(path) for path in sorted(tmp_path.iterdir())
    )
    model = SparseAUCClassifier(k=6).fit_moments(merged, classes=(-1, 1))
    assert_same_fit(model, SparseAUCClassifier(k=6).fit(X, y), threshold=False)
    assert set(model.predict(X)) == {-1, 1}
    # Moments of rows are added as they are.
    added = class_moments(X[:500], y[:500]) + class_moments(
        sp.csr_array(X[500:]), y[500:]
    )
    model.fit_moments(added, classes=(-1, 1))
    assert_same_fit(model, SparseAUCClassifier(k=6).fit(X, y), threshold=False)
    # And go on with rows.
    more = class_moments(X[:50], y[:50]).summary()
    model.fit_moments(model.moments_ + more, classes=(-1, 1))
    rows = np.r_[np.arange(900), np.arange(50)]
    assert_same_fit(
        model, SparseAUCClassifier(k=6).fit(X[rows], y[rows]), threshold=False
    )
    assert not hasattr(SparseAUCClassifierCV(), "fit_moments")


def test_moments_of_a_file_are_those_of_its_rows(outbreak, readings):
    X, y = outbreak
    moments = class_moments(ArrayChunks(X, y, chunk_bytes=5000)).summary()
    model = SparseAUCClassifier(k=6).fit_moments(moments, classes=(-1, 1))
    assert_same_fit(model, SparseAUCClassifier(k=6).fit(X, y), threshold=False)


def test_names_and_labels_of_moments(outbreak):
    X, y = outbreak
    moments = class_moments(X, y).summary()
    names = [f"gene{j}" for j in range(30)]
    model = SparseAUCClassifier(k=3, limits=Limits(always_include=["gene7"]))
    model.fit_moments(moments, classes=("well", "ill"), feature_names=names)
    assert "gene7" in model.get_feature_names_out()
    assert set(model.predict(pd.DataFrame(X, columns=names))) == {"well", "ill"}
    with pytest.raises(ValueError, match="two different labels"):
        model.fit_moments(moments, classes=(1, 1))
    with pytest.raises(ValueError, match="feature_names has shape"):
        model.fit_moments(moments, feature_names=names[1:])
    one_class = class_moments(X[y > 0], y[y > 0]).summary()
    with pytest.raises(ValueError, match="no negative rows"):
        model.fit_moments(one_class)


# ------------------------------------------------------------------------------ SHT-AUC


@pytest.mark.slow
@pytest.mark.parametrize("home", ["dense", "parquet"])
@pytest.mark.parametrize("weighted", [False, True])
def test_sht_auc_of_a_source_is_as_good_as_in_memory(
    outbreak, tmp_path, home, weighted
):
    X, y = outbreak
    weight = np.random.default_rng(0).random(900) + 0.1 if weighted else None
    model = SHTAUCClassifier(
        k=5, max_epochs=60, tol=0.0, record_history=False, random_state=0
    )
    expected = clone(model).fit(X, y, weight)
    table = dense_chunks(X, 90)
    if home == "parquet":
        columns = {f"g{j}": X[:, j] for j in range(X.shape[1])}
        pq.write_table(pa.table(columns), tmp_path / "X.parquet")
        table = open_table(tmp_path / "X.parquet", chunk_bytes=300 * X.shape[1] * 8)
    actual = clone(model).fit(table, y, weight)
    assert actual.objective_ == pytest.approx(expected.objective_, rel=0.01)
    assert class_moments(X, y, weight).loss(actual.coef_[0]) == pytest.approx(
        actual.objective_
    )
    assert actual.get_support().sum() == 5


@pytest.mark.slow
def test_sht_auc_stops_early_and_records_on_chunks(outbreak):
    X, y = outbreak
    model = SHTAUCClassifier(k=5, early_stopping=True, random_state=0).fit(
        dense_chunks(X), y
    )
    assert (
        len(model.history_["validation_auc"])
        == model.n_iter_
        == len(model.history_["auc"])
    )
    again = clone(model).fit(dense_chunks(X), y)
    assert_array_equal(again.coef_, model.coef_)
