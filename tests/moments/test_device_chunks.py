"""Rows whose moments torch computes: the same answers as arrays, on the CPU's torch."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sparseauc import Limits, SparseAUCClassifier, SparseAUCClassifierCV, class_moments
from sparseauc.chunks import DeviceChunks, open_table
from sparseauc.datasets import make_outbreak
from sparseauc.moments.chunked import chunked_moments

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch", reason="torch is not installed")
CPU = torch.device("cpu")


@given(
    seed=st.integers(0, 1000),
    n=st.integers(2, 40),
    d=st.integers(1, 12),
    rows=st.integers(1, 50),
    weighted=st.booleans(),
    single=st.booleans(),
)
def test_moments_equal_those_of_arrays(seed, n, d, rows, weighted, single):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(
        -3, 4, d
    ) + 100 * rng.standard_normal(d)
    X[:, rng.integers(d)] = 3.7  # a constant column
    X = X.astype(np.float32 if single else np.float64)
    positive = np.arange(n) % 2 == 0
    weight = rng.integers(0, 3, n).astype(float) if weighted else None
    if weighted:
        weight[:2] = 1.0
    chunks = DeviceChunks(X, CPU, chunk_bytes=rows * d * X.itemsize)
    found = chunked_moments(chunks, positive, weight).summary()
    expected = class_moments(X.astype(np.float64), positive, weight).summary()
    assert found.weights == expected.weights
    for kind in ("means", "scatter", "cross"):
        scale = np.abs(X).max() ** (1 if kind == "means" else 2)
        ours, theirs = getattr(found.sums, kind), getattr(expected.sums, kind)
        assert_allclose(ours, theirs, rtol=1e-9, atol=1e-13 * n * max(scale, 1e-300))


@pytest.fixture(scope="module")
def outbreak():
    return make_outbreak(n=400, d=1200, k=8, mu=0.8, r=0.2, random_state=3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_classifiers_equal_those_in_memory(outbreak, dtype):
    X, y = outbreak.X.astype(dtype), outbreak.y
    for model in (
        SparseAUCClassifier(k=6),
        SparseAUCClassifierCV(range(1, 9), (1.0, 10.0), cv=3),
    ):
        expected = model.fit(X.astype(np.float64), y)
        coef, support = expected.coef_, expected.get_support()
        for fitted in (
            type(model)(**model.get_params()).fit(
                torch.from_numpy(X), torch.from_numpy(y)
            ),
            type(model)(**{**model.get_params(), "device": "cpu"}).fit(X, y),
        ):
            assert_array_equal(fitted.get_support(), support)
            # Coefficients come back in the precision of X.
            assert fitted.coef_.dtype == dtype
            assert_allclose(
                fitted.coef_, coef, rtol=1e-8 if dtype == np.float64 else 1e-6
            )
            assert_allclose(
                fitted.decision_function(torch.from_numpy(X)), fitted.decision_function(X),
                rtol=1e-5, atol=1e-6,
            )  # fmt: skip


def test_names_of_columns_are_kept(outbreak):
    X = pd.DataFrame(outbreak.X[:, :50], columns=[f"gene {j}" for j in range(50)])
    model = SparseAUCClassifier(
        k=3, device="cpu", limits=Limits(always_include=["gene 7"])
    ).fit(X, outbreak.y)
    assert "gene 7" in model.get_feature_names_out()


def test_streamed_rows_give_the_same(outbreak):
    X, positive = outbreak.X, outbreak.y > 0
    resident = chunked_moments(DeviceChunks(X, CPU), positive)
    streamed = DeviceChunks(X, CPU, chunk_bytes=2**18, streamed=True)
    assert len(list(streamed.read())) > 5
    found = chunked_moments(streamed, positive).delta
    assert_allclose(
        found, resident.delta, rtol=1e-12, atol=1e-14
    )  # entries are about 1


def test_bad_input_is_named(outbreak, tmp_path):
    X, y = outbreak.X[:100, :20].copy(), outbreak.y[:100]
    X[13, 4] = np.nan
    with pytest.raises(ValueError, match="NaN: first at row 13, column 4"):
        SparseAUCClassifier(k=2).fit(torch.from_numpy(X), y)
    with pytest.raises(ValueError, match="float32 or float64, got"):
        SparseAUCClassifier(k=2).fit(torch.arange(200).reshape(100, 2), y)
    with pytest.raises(TypeError, match="dense X"):
        SparseAUCClassifier(k=2, device="cpu").fit(sp.csr_array(outbreak.X[:100]), y)
    np.save(tmp_path / "X.npy", outbreak.X[:100])
    with pytest.raises(ValueError, match="rows in memory"):
        SparseAUCClassifier(k=2, device="cpu").fit(
            open_table(tmp_path / "X.npy", target=y)
        )
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="finds no GPU"):
            SparseAUCClassifier(k=2, device="cuda").fit(outbreak.X[:100], y)
