"""SparseAUCClassifier and its cross-validation with moments computed on a GPU."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sparseauc import SparseAUCClassifier, SparseAUCClassifierCV
from sparseauc.chunks import DeviceChunks
from sparseauc.datasets import make_outbreak

torch = pytest.importorskip("torch", reason="torch is not installed")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]


@pytest.fixture(scope="module")
def outbreak():
    return make_outbreak(n=800, d=3000, k=8, mu=0.8, r=0.2, random_state=3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_same_as_on_the_cpu(outbreak, dtype):
    X, y = outbreak.X.astype(dtype), outbreak.y
    for kind, settings in (
        (SparseAUCClassifier, {"k": 6}),
        (SparseAUCClassifierCV, {"ks": range(1, 9), "alphas": (1.0, 10.0), "cv": 3}),
    ):
        expected = kind(**settings).fit(X.astype(np.float64), y)
        for X_there in (torch.from_numpy(X).cuda(), X):
            device = None if torch.is_tensor(X_there) else "cuda"
            model = kind(**settings, device=device).fit(X_there, y)
            assert_array_equal(model.get_support(), expected.get_support())
            tolerance = 1e-8 if dtype == np.float64 else 1e-6
            assert_allclose(model.coef_, expected.coef_, rtol=tolerance)
    scores = model.decision_function(torch.from_numpy(X).cuda())
    assert_allclose(scores, model.decision_function(X), rtol=1e-5, atol=1e-6)


def test_rows_that_stream_through_the_card(outbreak):
    X, y = outbreak.X.astype(np.float32), outbreak.y
    chunks = DeviceChunks(X, torch.device("cuda"), chunk_bytes=2**20, streamed=True)
    assert len(list(chunks.read())) > 5
    model = SparseAUCClassifier(k=6).fit(chunks, y)
    expected = SparseAUCClassifier(k=6).fit(X.astype(np.float64), y)
    assert_array_equal(model.get_support(), expected.get_support())


def test_too_large_for_the_card_says_so():
    free, _ = torch.cuda.mem_get_info()
    # Expanded from one number: it takes no memory until it is copied.
    X = torch.zeros(1, dtype=torch.float32).expand(2 * free // 4 // 1000, 1000)
    with pytest.raises(MemoryError, match="GiB on the device"):
        DeviceChunks(X, torch.device("cuda"), streamed=False)
