"""F and SHT-AUC's blocks on torch tensors, or on rows of the host that stream through a device."""

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from .._streaming import DeviceStream, copy_rows, page_locked_copy
from ..blocks import RowBlocks
from ..chunks import DeviceChunks
from ..moments.chunked import chunked_moments
from ..utils.arrays import as_tensor, explain_out_of_memory, import_torch, to_host, usable_bytes
from ..utils.types import Array, Floats, Indices, Mask
from ._protocol import Descent, Objective
from .thresholding import counted_rows, deal_blocks


class ResidentBlocks:
    """Blocks of a tensor on the device: views where there is room to copy the rows in order."""

    def __init__(self, table: Any, blocks: RowBlocks) -> None:
        torch = import_torch()
        self._starts = blocks.starts.tolist()
        in_order = np.array_equal(blocks.rows, np.arange(table.shape[0]))
        self._rows = None if in_order else torch.from_numpy(blocks.rows).to(table.device)
        self._table = table
        nbytes = table.element_size() * blocks.rows.size * table.shape[1]
        if self._rows is not None and nbytes <= usable_bytes(table.device):
            self._table = table.index_select(0, self._rows)
            self._rows = None

    def visit(self, drawn: npt.ArrayLike) -> Iterator[Any]:
        """Yield blocks of shape (b, d), each valid until the next."""
        for i in np.asarray(drawn).tolist():
            low, high = self._starts[i], self._starts[i + 1]
            if self._rows is None:
                yield self._table[low:high]
            else:
                yield self._table.index_select(0, self._rows[low:high])


class StreamedBlocks:
    """Blocks of an array on the host, or on disk, that pass through the device.

    Rows are copied once to page-locked memory where there is room, else gathered at every visit.
    """

    def __init__(self, table: npt.NDArray[Any], blocks: RowBlocks, device: Any) -> None:
        torch = import_torch()
        self._table, self._blocks = table, blocks
        self._in_order = page_locked_copy(table, blocks.rows) if device.type == "cuda" else None
        self._stream = DeviceStream(
            device, getattr(torch, str(table.dtype)), (blocks.largest, table.shape[1]),
            staged=self._in_order is None,
        )  # fmt: skip

    def visit(self, drawn: npt.ArrayLike) -> Iterator[Any]:
        """Yield blocks of shape (b, d), each valid until the next."""
        order = np.asarray(drawn).tolist()
        return self._stream.send(functools.partial(self._block, i) for i in order)

    def _block(self, i: int, staging: Any) -> Any:
        low, high = self._blocks.starts[i], self._blocks.starts[i + 1]
        if self._in_order is not None:
            return self._in_order[low:high]
        block = staging[: high - low]
        copy_rows(self._table, self._blocks.rows[low:high], block.numpy())
        return block


class DeviceObjective(Objective):
    """F of a training set whose blocks are tensors on one device.

    ``means``, of positives and negatives, are on the device, in the type of the table; ``shares``
    are the weight of each row in the mean of its class, 0 in that of the other.
    """

    def __init__(self, chunks: DeviceChunks, positive: Mask, weight: Array | None) -> None:
        self._chunks, self.device = chunks, chunks.device
        moments = chunked_moments(chunks, positive, weight, products=False)
        self._set_rows(chunks, positive, weight, moments)
        counts = np.ones(self.n_rows) if weight is None else weight
        self.shares: Array = np.stack([counts * positive, counts * ~positive])
        self.shares /= np.array(self.class_weights)[:, None]
        self.means = as_tensor(np.stack([self.mean_positive, self.mean_negative])).to(self.device)

    def blocks(self, blocks: RowBlocks) -> ResidentBlocks | StreamedBlocks:
        """Give the blocks of rows, as tensors on the device."""
        if self._chunks.streamed:
            return StreamedBlocks(self._chunks.rows.numpy(), blocks, self.device)
        return ResidentBlocks(self._chunks.rows, blocks)

    def descent(
        self, k: int, *, batch_size: int, shuffle: bool, rng: np.random.Generator
    ) -> Descent:
        """Deal the rows to blocks and begin Algorithm 1 at w = 0."""
        from .models_torch import TorchDescent

        counted = counted_rows(self.weight, self.n_rows)
        blocks = deal_blocks(counted, batch_size, shuffle=shuffle, rng=rng)
        rows = 2 * blocks.largest if self._chunks.streamed else self.n_rows
        nbytes = self.dtype.itemsize * self.n_features * rows
        with explain_out_of_memory(f"SHT-AUC with blocks of {blocks.largest} rows", nbytes):
            return TorchDescent(self, blocks, k)

    def scores_on(self, support: Indices, values: Floats) -> Floats:
        """Compute Xw for a w given by its non-zeros, on the host."""
        rows = self._chunks.rows
        columns = as_tensor(np.asarray(support)).to(rows.device)
        coefficients = as_tensor(np.ascontiguousarray(values, self.dtype)).to(rows.device)
        return to_host(rows.index_select(1, columns) @ coefficients)
