"""Rows of the host that pass through a device: the next piece is copied while one is at work."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt

from ..utils.arrays import import_torch

# Bytes from which rows are copied by several threads: one does not saturate the memory.
_BY_THREADS = 2**24


class DeviceStream:
    """Two buffers on a device for pieces of at most this shape, filled in turn."""

    def __init__(self, device: Any, dtype: Any, shape: tuple[int, int]) -> None:
        torch = self._torch = import_torch()
        self._device, self._on_gpu = device, device.type == "cuda"
        self._staging = [torch.empty(shape, dtype=dtype, pin_memory=self._on_gpu) for _ in range(2)]
        if self._on_gpu:
            self._buffers = [torch.empty(shape, dtype=dtype, device=device) for _ in range(2)]
            self._stream = torch.cuda.Stream(device)
            self._copied = [torch.cuda.Event() for _ in range(2)]
            self._used = [torch.cuda.Event() for _ in range(2)]

    def send(self, pieces: Iterable[Callable[[Any], Any]]) -> Iterator[Any]:
        """Yield pieces of rows as tensors on the device, each valid until the next.

        A piece is a function that is given a page-locked buffer; it fills and returns the first
        rows of it.
        """
        waiting: tuple[int, Any] | None = None
        for slot, piece in zip(itertools.cycle((0, 1)), pieces, strict=False):
            coming = slot, self._copy(piece, slot)
            if waiting is not None:
                yield from self._hand_out(*waiting)
            waiting = coming
        if waiting is not None:
            yield from self._hand_out(*waiting)

    def _copy(self, piece: Callable[[Any], Any], slot: int) -> Any:
        if not self._on_gpu:
            return piece(self._staging[slot])
        self._copied[slot].synchronize()  # the staging memory has been read
        rows = piece(self._staging[slot])
        buffer = self._buffers[slot][: rows.shape[0]]
        with self._torch.cuda.stream(self._stream):
            self._stream.wait_event(self._used[slot])  # the piece before it is no longer needed
            buffer.copy_(rows, non_blocking=True)
            self._copied[slot].record(self._stream)
        return buffer

    def _hand_out(self, slot: int, rows: Any) -> Iterator[Any]:
        if not self._on_gpu:
            yield rows
            return
        current = self._torch.cuda.current_stream(self._device)
        current.wait_event(self._copied[slot])
        try:
            yield rows
        finally:
            self._used[slot].record(current)


def copy_rows(
    table: npt.NDArray[Any], rows: npt.NDArray[np.int64] | slice, out: npt.NDArray[Any]
) -> None:
    """``out[:] = table[rows]``, by several threads where that is much."""
    if isinstance(rows, slice):
        source = table[rows]

        def copy(part: slice) -> None:
            np.copyto(out[part], source[part])

    else:

        def copy(part: slice) -> None:
            # Rows are known to be in range; NumPy then writes straight to where they go.
            np.take(table, rows[part], axis=0, out=out[part], mode="clip")

    n_threads = min(joblib.cpu_count(), out.shape[0]) if out.nbytes >= _BY_THREADS else 1
    if n_threads == 1:
        copy(slice(None))
        return
    # Several parts a thread, so that none waits long for the slowest.
    limits = np.linspace(0, out.shape[0], min(4 * n_threads, out.shape[0]) + 1).astype(int)
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(copy, itertools.starmap(slice, itertools.pairwise(limits.tolist()))))
