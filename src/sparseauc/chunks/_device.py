"""Rows on a GPU, or rows on the host that stream through it, as chunks."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..utils.arrays import (
    as_tensor,
    explain_out_of_memory,
    is_tensor,
    to_host,
    usable_bytes,
)
from ..utils.types import Indices
from ._arrays import read_ahead
from .base import FLOATS, Pass, SequentialChunks, State

# Bytes of a chunk. It is centred in double precision, which takes twice as much again
# for float32; larger ones save launches and transfers of what came of them.
_CHUNK_BYTES = {"cuda": 2**31, "cpu": 2**26}


class DeviceChunks(SequentialChunks):
    """Rows whose moments are computed by torch.

    Parameters
    ----------
    X : tensor or ndarray of shape (n, d)
        A tensor stays where it is. An array is copied to the device where it fits;
        otherwise it passes through it, the next chunk while one is at work.
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
        self._chunk_rows = max(1, wanted // (self.shape[1] * self.dtype.itemsize))

    def read(self, columns: Indices | None = None) -> Iterator[Any]:
        """Yield tensors on the device; some columns alone as arrays on the host."""
        starts = range(0, self.shape[0], self._chunk_rows)
        rows = (self.rows[start : start + self._chunk_rows] for start in starts)
        if columns is not None:
            return (to_host(part[:, columns]) for part in rows)
        there = (part.to(self.device) for part in rows)
        return read_ahead(there) if self.streamed else there

    def run(
        self,
        work: Pass[State],
        *known: npt.NDArray[Any],
        columns: Indices | None = None,
    ) -> State:
        """Make one pass over all rows; say what was asked for where the device is full."""
        rows = min(self._chunk_rows, self.shape[0])
        nbytes = 3 * rows * self.shape[1] * self.dtype.itemsize
        with explain_out_of_memory("a pass over the rows", nbytes):
            return super().run(work, *known, columns=columns)
