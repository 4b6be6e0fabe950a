"""Dask collections on a cluster of two worker processes: the same answers as in memory."""

import os
import signal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from sparseauc import (
    SHTAUCClassifier,
    SparseAUCClassifier,
    SparseAUCClassifierCV,
    class_moments,
)
from sparseauc.chunks import KeptColumns
from sparseauc.datasets import make_outbreak
from sparseauc.moments import chunked

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

N, D, ROWS = 600, 20, 120
SEARCH = SparseAUCClassifierCV(ks=[1, 3, 6], alphas=[0.1, 10.0], cv=3, curves=False)


@pytest.fixture(scope="module")
def cluster():
    with (
        dask.config.set({"distributed.worker.daemon": True}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        yield client


@pytest.fixture(scope="module")
def outbreak():
    return make_outbreak(n=N, d=D, k=5, mu=0.6, r=0.2, random_state=0)


@pytest.fixture(scope="module")
def expected(outbreak):
    return clone(SEARCH).fit(outbreak.X, outbreak.y)


@pytest.fixture
def many_columns(monkeypatch):
    """Pretend that columns are too many for one reading."""
    monkeypatch.setattr(chunked, "_ALL_BYTES", 0)


def assert_same_search(actual, expected):
    assert_array_equal(actual.get_support(), expected.get_support())
    for name in ("coef_", "intercept_", "scale_", "out_of_fold_scores_"):
        assert_allclose(
            getattr(actual, name), getattr(expected, name), rtol=1e-9, atol=1e-9
        )
    assert actual.objective_ == pytest.approx(expected.objective_, rel=1e-9)
    for name in ("mean_test_score", "std_test_score", "standard_error_test_score"):
        assert_allclose(actual.cv_results_[name], expected.cv_results_[name], atol=1e-9)
    assert (actual.k_, actual.alpha_) == (expected.k_, expected.alpha_)


# -------------------------------------------------------------------------- collections


def collections(X, y):
    """Name by name, the same rows as Dask collections of every kind."""
    rows = da.from_array(X, chunks=(ROWS, D))
    labels = da.from_array(y, chunks=ROWS)
    frame = pd.DataFrame(X, columns=[f"gene{j}" for j in range(D)]).assign(y=y)
    frames = dd.from_pandas(frame, npartitions=4, sort=False)
    some = frames[
        frames.gene0 > -np.inf
    ]  # after a filter nobody knows how many rows there are
    nobody = frames[frames.gene0 > np.inf]
    with_empty = dd.concat([nobody, some, nobody], axis=0, interleave_partitions=False)
    return {
        "arrays": (rows, labels),
        "columns in several chunks": (da.from_array(X, chunks=(ROWS, 7)), labels),
        "labels cut elsewhere": (rows, da.from_array(y, chunks=70)),
        "labels in memory": (rows, y),
        "labels as a column": (rows, labels[:, None]),
        "frames": (frames.drop(columns="y"), frames["y"]),
        "labels by name": (frames, "y"),
        "unknown sizes": (
            some.drop(columns="y").to_dask_array(),
            some["y"].to_dask_array(),
        ),
        "unknown sizes, labels in memory": (some.drop(columns="y"), y),
        "empty partitions": (with_empty.drop(columns="y"), with_empty["y"]),
        "sparse": (rows.map_blocks(sp.csr_array, dtype=float), labels),
        "CSC": (rows.map_blocks(sp.csc_matrix, dtype=float), labels),
    }


@pytest.mark.parametrize(
    "kind", collections(*make_outbreak(n=N, d=D, k=5, random_state=0))
)
def test_fit_equals_that_in_memory(cluster, outbreak, kind):
    X, y = collections(*outbreak)[kind]
    model = SparseAUCClassifier(k=6)
    actual, expected = clone(model).fit(X, y), clone(model).fit(*outbreak)
    assert_array_equal(actual.get_support(), expected.get_support())
    for name in ("coef_", "intercept_", "scale_", "objective_"):
        assert_allclose(
            getattr(actual, name), getattr(expected, name), rtol=1e-9, atol=1e-9
        )
    assert actual.n_passes_ == (2 if kind == "labels in memory" else 3)
    if kind in ("frames", "labels by name", "empty partitions"):
        assert_array_equal(actual.feature_names_in_, [f"gene{j}" for j in range(D)])


@pytest.mark.parametrize("kind", ["empty partitions", "sparse"])
def test_search_equals_that_in_memory(cluster, outbreak, expected, kind):
    X, y = collections(*outbreak)[kind]
    actual = clone(SEARCH).fit(X, y)
    assert_same_search(actual, expected)
    # Labels, moments, and the columns in use.
    assert actual.n_passes_ == 3


def test_collections_that_lie_with_the_workers(cluster, outbreak):
    X, y = outbreak
    rows = da.from_array(X, chunks=(ROWS, D)).persist()
    expected = SparseAUCClassifier(k=6).fit(X, y)
    for given in (
        rows,
        rows * 2.0 / 2.0,
        rows.rechunk((77, 7)),
        dd.from_dask_array(rows),
    ):
        assert_allclose(
            SparseAUCClassifier(k=6).fit(given, y).coef_, expected.coef_, atol=1e-10
        )


def test_frames_of_several_kinds_of_numbers(cluster, outbreak):
    X, y = outbreak
    frame = pd.DataFrame({"a": X[:, 0], "b": np.arange(N) % 7, "c": y > 0})
    frame["d"] = pd.array(np.arange(N) % 3, dtype="Int64")
    labels = np.arange(N) % 5 == 0
    expected = SparseAUCClassifier(k=3).fit(frame.astype(float), labels)
    frames = dd.from_pandas(frame, npartitions=3)
    assert_allclose(
        SparseAUCClassifier(k=3).fit(frames, labels).coef_, expected.coef_, atol=1e-10
    )
    frame.loc[417, "d"] = None
    with pytest.raises(ValueError, match="contains NaN: first at row 417, column 'd'"):
        SparseAUCClassifier(k=3).fit(dd.from_pandas(frame, npartitions=3), labels)


def test_chunks_of_one_class_and_many_columns(cluster, outbreak, many_columns):
    order = np.argsort(outbreak.y, kind="stable")
    X, y = outbreak.X[order], outbreak.y[order]
    expected = clone(SEARCH).fit(X, y)
    actual = clone(SEARCH).fit(
        da.from_array(X, chunks=(50, D)), da.from_array(y, chunks=50)
    )
    assert_same_search(actual, expected)


def test_weights_text_labels_and_scores(cluster, outbreak):
    X, y = outbreak
    weight = np.random.default_rng(0).random(N)
    labels = np.where(y > 0, "ill", "healthy")
    rows, cut = da.from_array(X, chunks=(ROWS, D)), da.from_array(labels, chunks=ROWS)
    model = SparseAUCClassifier(k=5).fit(rows, cut, da.from_array(weight, chunks=ROWS))
    in_memory = SparseAUCClassifier(k=5).fit(X, labels, weight)
    assert_allclose(model.coef_, in_memory.coef_, atol=1e-10)
    assert_array_equal(model.classes_, ["healthy", "ill"])
    assert_allclose(
        model.decision_function(rows), in_memory.decision_function(X), atol=1e-10
    )
    assert_array_equal(model.predict(rows), in_memory.predict(X))
    assert model.n_passes_ == 4  # labels, weights, moments, scores


def test_moments_of_a_collection(cluster, outbreak):
    X, y = outbreak
    moments = class_moments(
        da.from_array(X, chunks=(ROWS, D)), da.from_array(y, chunks=ROWS)
    )
    assert_allclose(
        moments.summary().columns([1, 3]),
        class_moments(X, y).columns([1, 3]),
        atol=1e-12,
    )


def test_without_a_cluster(outbreak, expected):
    X, y = outbreak
    with dask.config.set(scheduler="threads"):
        rows, labels = da.from_array(X, chunks=(ROWS, D)), da.from_array(y, chunks=ROWS)
        assert_same_search(clone(SEARCH).fit(rows, labels), expected)


# ------------------------------------------------------------------------------- passes


def make_chunk(log, number, n, seed, fatal):
    """Rows of a chunk and their labels; the first process that makes chunk ``fatal`` is killed."""
    if number == fatal:
        try:
            (log / "killed").touch(exist_ok=False)
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    with (log / f"made {number}").open("a") as file:
        file.write("x")
    rng = np.random.default_rng((seed, number))
    y = rng.random(n) < 0.2
    return rng.normal(size=(n, D)) + 0.5 * y[:, None] * (np.arange(D) < 5), y


def made_on_the_fly(log, fatal=-1, chunks=6, n=100):
    parts = [
        dask.delayed(make_chunk, nout=2)(log, number, n, 0, fatal)
        for number in range(chunks)
    ]
    X = da.concatenate([da.from_delayed(rows, (n, D), float) for rows, _ in parts])
    y = da.concatenate([da.from_delayed(labels, (n,), bool) for _, labels in parts])
    return X, y


def in_memory(tmp_path, **parameters):
    (tmp_path / "copy").mkdir()
    return dask.compute(
        *made_on_the_fly(tmp_path / "copy", **parameters), scheduler="sync"
    )


@pytest.mark.parametrize(("kept", "passes"), [(True, 3), (False, 5)])
def test_path_and_folds_take_few_passes(cluster, tmp_path, monkeypatch, kept, passes):
    monkeypatch.setattr(KeptColumns, "fit", lambda *_: kept)
    X, y = made_on_the_fly(tmp_path)
    search = clone(SEARCH).set_params(coefficients="auc")
    actual = clone(search).fit(X, y)
    for number in range(6):
        assert (
            (tmp_path / f"made {number}").stat().st_size == actual.n_passes_ == passes
        )
    assert_same_search(actual, clone(search).fit(*in_memory(tmp_path)))


def test_a_worker_killed_in_the_middle_changes_nothing(cluster, tmp_path):
    X, y = made_on_the_fly(tmp_path, fatal=4)
    before = set(cluster.scheduler_info()["workers"])
    actual = clone(SEARCH).fit(X, y)
    assert (tmp_path / "killed").exists()
    cluster.wait_for_workers(2, timeout=60)
    assert set(cluster.scheduler_info()["workers"]) != before
    assert_same_search(actual, clone(SEARCH).fit(*in_memory(tmp_path)))


# ---------------------------------------------------------------------------- bad input


def test_bad_input_is_named(cluster, outbreak):
    X, y = outbreak.X.copy(), outbreak.y
    labels = da.from_array(y, chunks=ROWS)
    rows = da.from_array(X, chunks=(ROWS, D))
    with pytest.raises(ValueError, match="requires y to be passed"):
        SparseAUCClassifier().fit(rows)
    with pytest.raises(ValueError, match="X has no column 'y' to take the labels from"):
        SparseAUCClassifier().fit(rows, "y")
    with pytest.raises(ValueError, match="X has 600 rows but y has 480"):
        SparseAUCClassifier().fit(rows, labels[ROWS:])
    with pytest.raises(ValueError, match="X has 600 rows but y has 599"):
        SparseAUCClassifier().fit(rows, y[1:])
    with pytest.raises(ValueError, match="X must have rows and columns"):
        SparseAUCClassifier().fit(rows[:, 0], labels)
    unknown = rows[rows[:, 0] > -np.inf]
    with pytest.raises(ValueError, match="cut into 5 chunks but y into 9"):
        SparseAUCClassifier().fit(unknown, labels.rechunk(70)[labels.rechunk(70) > -9])
    shifted = da.concatenate([da.ones(100), da.ones(140), *[da.ones(ROWS)] * 3])
    with pytest.raises(
        ValueError, match="chunk 0 has 120 rows of X but 100 of sample_weight"
    ):
        SparseAUCClassifier().fit(unknown, labels[labels > -9], shifted[shifted > 0])
    text = dd.from_pandas(
        pd.DataFrame({"a": ["x"] * 10, "b": range(10)}), npartitions=2
    )
    with pytest.raises(ValueError, match=r"column 'a' holds .* not numbers"):
        SparseAUCClassifier().fit(text, np.arange(10) % 2)
    X[333, 11] = np.nan
    with pytest.raises(ValueError, match="contains NaN: first at row 333, column 11"):
        SparseAUCClassifier().fit(da.from_array(X, chunks=(ROWS, D)), labels)


# ------------------------------------------------------------------------------ SHT-AUC


@pytest.mark.parametrize("kind", ["arrays", "sparse", "frames"])
def test_sht_auc_is_as_good_as_in_memory(cluster, outbreak, kind):
    X, y = outbreak
    rows, labels = collections(X, y)[kind]
    model = SHTAUCClassifier(k=5, max_epochs=30, random_state=0, record_history=False)
    actual = clone(model).fit(rows, labels)
    assert actual.objective_ == pytest.approx(
        clone(model).fit(X, y).objective_, rel=0.01
    )
    assert roc_auc_score(y, actual.decision_function(rows)) > 0.8
