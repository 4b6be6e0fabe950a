"""Rows that pass through a device: the same rows, in the same order."""

import numpy as np
import pytest

from sparseauc.chunks import _device

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("rows", [1, 10, 35, 100])
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_chunks_stream_in_order(device, rows):
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    X = np.arange(70.0).reshape(35, 2)
    there = torch.device(device)
    chunks = _device.DeviceChunks(X, there, chunk_bytes=16 * rows, streamed=True)
    parts = [part.clone().cpu().numpy() for part in chunks.read()]
    np.testing.assert_array_equal(np.concatenate(parts), X)
    assert [len(part) for part in parts[:-1]] == [min(rows, 35)] * (len(parts) - 1)
