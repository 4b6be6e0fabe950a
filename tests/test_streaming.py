"""Rows that pass through a device: the same rows, in the same order."""

import numpy as np
import pytest

from sparseauc.chunks import _device

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("by_threads", [False, True])
@pytest.mark.parametrize("n", [1, 7, 500])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_copied_rows_are_the_rows(by_threads, n, dtype, monkeypatch):
    monkeypatch.setattr(_device, "_BY_THREADS", 0 if by_threads else np.inf)
    monkeypatch.setattr(_device.joblib, "cpu_count", lambda: 3)
    table = np.random.default_rng(n).standard_normal((600, 5)).astype(dtype)
    table.flags.writeable = False
    out = np.full((n, 5), np.nan, dtype)
    _device._copy_rows(table[50 : 50 + n], out)
    np.testing.assert_array_equal(out, table[50 : 50 + n])


@pytest.mark.parametrize("rows", [1, 10, 35, 100])
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_chunks_stream_in_order(device, rows):
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    X = np.arange(70.0).reshape(35, 2)
    there = torch.device(device)
    chunks = _device.DeviceChunks(X, there, chunk_bytes=16 * rows, streamed=True)
    parts = [part.clone().cpu().numpy() for part in chunks._stream()]
    np.testing.assert_array_equal(np.concatenate(parts), X)
    assert [len(part) for part in parts] == list(chunks.sizes)
