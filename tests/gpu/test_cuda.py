"""On a GPU: the same answers as on the CPU, and a clear word when memory runs out."""

import numpy as np
import pytest

from naive import shifted_table
from sparseauc import SHTAUCClassifier
from sparseauc.chunks import DeviceChunks
from sparseauc.datasets import make_outbreak
from sparseauc.objective import AUCObjective
from sparseauc.objective.device import DeviceObjective
from sparseauc.solvers import sht_auc

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU"),
]


def problem(seed, n, d, dtype=np.float64):
    X, positive = shifted_table(seed, n, d)
    return X.astype(dtype), positive


@pytest.mark.parametrize("d", [200, 50_000])
def test_the_classifier_on_the_gpu_equals_that_on_the_cpu(d):
    X, y = make_outbreak(n=300, d=d, k=5, mu=1.5, r=0.3, random_state=0)
    X = X.astype(np.float32)
    expected = SHTAUCClassifier(k=5, random_state=0).fit(X, y)
    for table, device in [(X, "cuda"), (torch.from_numpy(X).cuda(), None)]:
        model = SHTAUCClassifier(k=5, random_state=0, device=device).fit(table, y)
        np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-5)
        assert isinstance(model.coef_, np.ndarray)
        np.testing.assert_allclose(
            model.decision_function(table), expected.decision_function(X), atol=1e-4
        )


@pytest.mark.parametrize("batch_size", [7, 64, 1000])
@pytest.mark.parametrize("share", [0.5, 0.0])  # a page-locked copy of the rows, or none
def test_rows_that_stream_give_the_same_answer(batch_size, share, monkeypatch):
    monkeypatch.setattr("sparseauc._streaming._SHARE", share)
    X, positive = problem(2, 1000, 3000, np.float32)
    arguments = {"step_size": 1e-4, "batch_size": batch_size, "max_epochs": 5}
    chunks = DeviceChunks(X, torch.device("cuda"), streamed=True)
    objective = DeviceObjective(chunks, positive, None)
    found = sht_auc(objective, 10, rng=np.random.default_rng(0), **arguments)
    expected = sht_auc(AUCObjective(X, positive), 10, rng=np.random.default_rng(0), **arguments)
    np.testing.assert_array_equal(found.support, expected.support)
    np.testing.assert_allclose(found.values, expected.values, atol=1e-5)


def test_memory_that_runs_out_is_explained():
    X = torch.randn(1000, 50_000, device="cuda")  # 0.2 GB
    y = np.arange(1000) % 5 == 0
    torch.cuda.set_per_process_memory_fraction(1e-3)
    try:
        with pytest.raises(MemoryError, match=r"GiB on the device.*float32.*batch_size"):
            SHTAUCClassifier(k=5, step_size=1e-5).fit(X, y)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    # The device is as usable as before.
    SHTAUCClassifier(k=5, step_size=1e-5, max_epochs=1).fit(X, y)


def test_an_array_larger_than_the_room_streams(monkeypatch):
    X, positive = problem(2, 500, 400, np.float32)
    expected = SHTAUCClassifier(k=5, random_state=0).fit(X, positive)
    monkeypatch.setattr("sparseauc.utils.arrays._SHARE", 0.0)
    model = SHTAUCClassifier(k=5, random_state=0, device="cuda").fit(X, positive)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-5)
