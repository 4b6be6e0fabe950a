"""Rows that pass through a device: the same rows, in the same order; here the device is the CPU."""

import numpy as np
import pytest

from sparseauc.chunks import _streaming
from sparseauc.chunks._streaming import copy_rows

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("by_threads", [False, True])
@pytest.mark.parametrize("n", [1, 7, 500])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_copied_rows_are_the_rows(by_threads, n, dtype, monkeypatch):
    monkeypatch.setattr(_streaming, "_BY_THREADS", 0 if by_threads else np.inf)
    monkeypatch.setattr(_streaming.joblib, "cpu_count", lambda: 3)
    rng = np.random.default_rng(n)
    table = rng.standard_normal((600, 5)).astype(dtype)
    table.flags.writeable = False
    rows = np.sort(rng.choice(600, n, replace=False))
    out = np.full((n, 5), np.nan, dtype)
    copy_rows(table, rows, out)
    np.testing.assert_array_equal(out, table[rows])
    copy_rows(table, slice(50, 50 + n), out)
    np.testing.assert_array_equal(out, table[50 : 50 + n])


def test_chunks_stream_in_order():
    from sparseauc.chunks import DeviceChunks

    X = np.arange(70.0).reshape(35, 2)
    chunks = DeviceChunks(X, torch.device("cpu"), chunk_bytes=160, streamed=True)
    assert len(chunks.sizes) == 4
    parts = [part.clone().numpy() for part in chunks._stream()]
    np.testing.assert_array_equal(np.concatenate(parts), X)
    assert [len(part) for part in parts] == list(chunks.sizes)
