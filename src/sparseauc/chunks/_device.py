"""Rows on a GPU, or rows on the host that stream through it, as chunks."""

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..utils.arrays import (
    as_tensor,
    explain_out_of_memory,
    import_torch,
    is_tensor,
    to_host,
    usable_bytes,
)
from ..utils.types import Indices
from .base import FLOATS, Pass, SequentialChunks, State, equal_sizes

# Bytes of a chunk. It is centred in double precision, which takes twice as much again
# for float32; larger ones save launches and transfers of what came of them.
_CHUNK_BYTES = {"cuda": 2**31, "cpu": 2**26}
# Bytes from which rows are copied by several threads.
_BY_THREADS = 2**24


class DeviceChunks(SequentialChunks):
    """Rows whose moments are computed by torch.

    Parameters
    ----------
    X : tensor or ndarray of shape (n, d)
        A tensor stays where it is. An array is copied to the device where it fits;
        otherwise it passes through it from page-locked memory, the next chunk while one
        is at work.
    device : torch.device
    chunk_bytes : int, optional
        About 2 GiB on a GPU.
    streamed : bool, optional
        Whether an array stays on the host; by default decided by the free memory.
    """

    def __init__(
        self,
        X: Any,
        device: Any,
        *,
        chunk_bytes: int | None = None,
        streamed: bool | None = None,
    ) -> None:
        if X.ndim != 2 or 0 in X.shape:
            raise InputError(
                f"X must have shape (n, d), at least (1, 1); got {tuple(X.shape)}"
            )
        name = str(X.dtype).removeprefix("torch.")
        if name not in {dtype.name for dtype in FLOATS}:
            raise InputError(f"X must hold float32 or float64, got {X.dtype}")
        self.shape = int(X.shape[0]), int(X.shape[1])
        self.dtype = np.dtype(name)
        self.device = device
        nbytes = self.shape[0] * self.shape[1] * self.dtype.itemsize
        if streamed is None:
            streamed = (
                not is_tensor(X)
                and device.type == "cuda"
                and nbytes > usable_bytes(device)
            )
        self.streamed = streamed
        self.in_device_memory = device.type == "cuda" and not streamed
        if streamed:
            self.rows = as_tensor(np.asarray(X))
        else:
            with explain_out_of_memory("copying X", nbytes):
                self.rows = (
                    (X if is_tensor(X) else as_tensor(np.asarray(X)))
                    .to(device)
                    .detach()
                )
        wanted = (
            _CHUNK_BYTES.get(device.type, 2**26) if chunk_bytes is None else chunk_bytes
        )
        rows = max(1, wanted // (self.shape[1] * self.dtype.itemsize))
        self._sizes = equal_sizes(self.shape[0], rows)

    def read(self, columns: Indices | None = None) -> Iterator[Any]:
        """Yield tensors on the device; some columns alone as arrays on the host."""
        if columns is not None:
            for low, high in self._bounds:
                yield to_host(self.rows[low:high][:, columns])
        elif self.streamed and self.device.type == "cuda":
            yield from self._stream()
        else:
            yield from super().read()

    def _chunk(self, number: int) -> Any:
        low, high = self._bounds[number]
        return self.rows[low:high].to(self.device)

    @property
    def _bounds(self) -> list[tuple[int, int]]:
        """First row of each chunk, and the one after its last."""
        return list(itertools.pairwise(itertools.accumulate(self.sizes, initial=0)))

    def run(
        self,
        work: Pass[State],
        *known: npt.NDArray[Any],
        columns: Indices | None = None,
    ) -> State:
        """Make one pass over all rows; say what was asked for where the device is full."""
        nbytes = 3 * max(self.sizes) * self.shape[1] * self.dtype.itemsize
        with explain_out_of_memory("a pass over the rows", nbytes):
            return super().run(work, *known, columns=columns)

    def _stream(self) -> Iterator[Any]:
        """Copy the next chunk, through page-locked memory, while one is at work."""
        torch = import_torch()
        on_gpu = self.device.type == "cuda"
        rows = self.rows.numpy()
        shape = max(self.sizes), self.shape[1]
        kind = self.rows.dtype
        # Two of each, filled in turn.
        staging = [torch.empty(shape, dtype=kind, pin_memory=on_gpu) for _ in range(2)]
        if on_gpu:
            buffers = [
                torch.empty(shape, dtype=kind, device=self.device) for _ in range(2)
            ]
            copied = [torch.cuda.Event() for _ in range(2)]
            used = [torch.cuda.Event() for _ in range(2)]
            stream = torch.cuda.Stream(self.device)

        def send(slot: int, low: int, high: int) -> Any:
            if on_gpu:
                copied[slot].synchronize()  # the staging memory has been read
            chunk = staging[slot][: high - low]
            _copy_rows(rows[low:high], chunk.numpy())
            if not on_gpu:
                return chunk
            buffer = buffers[slot][: high - low]
            with torch.cuda.stream(stream):
                stream.wait_event(used[slot])  # the chunk before it is no longer needed
                buffer.copy_(chunk, non_blocking=True)
                copied[slot].record(stream)
            return buffer

        bounds = self._bounds
        coming = send(0, *bounds[0])
        for number in range(len(bounds)):
            slot = number % 2
            chunk = coming
            if number + 1 < len(bounds):
                coming = send(1 - slot, *bounds[number + 1])
            if not on_gpu:
                yield chunk
                continue
            current = torch.cuda.current_stream(self.device)
            current.wait_event(copied[slot])
            try:
                yield chunk
            finally:
                used[slot].record(current)


def _copy_rows(rows: npt.NDArray[Any], out: npt.NDArray[Any]) -> None:
    """Copy rows by several threads where they are many: one does not saturate the memory."""
    n_threads = (
        min(joblib.cpu_count(), out.shape[0]) if out.nbytes >= _BY_THREADS else 1
    )
    # Several parts a thread, so that none waits long for the slowest.
    limits = np.linspace(0, out.shape[0], min(4 * n_threads, out.shape[0]) + 1).astype(
        int
    )
    parts = itertools.starmap(slice, itertools.pairwise(limits.tolist()))
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(lambda part: np.copyto(out[part], rows[part]), parts))
