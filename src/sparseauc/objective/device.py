"""F and SHT-AUC's blocks on torch tensors, or on rows of the host that stream through a device."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from .._arrays import (
    as_tensor,
    explain_out_of_memory,
    import_torch,
    is_tensor,
    to_host,
    usable_bytes,
)
from .._streaming import DeviceStream, copy_rows, page_locked_copy
from ..blocks import RowBlocks
from ._protocol import Array, Descent, Floats, Indices, Mask, Objective
from .thresholding import counted_rows, deal_blocks

# Numbers converted to double precision at a time while means are computed.
_CHUNK = 2**25


class ResidentBlocks:
    """Blocks of a tensor on the device.

    Rows are copied once in the order of their blocks where there is room, so that a block is a
    view; otherwise a block is gathered whenever it is visited. Rows that lie in order are views as
    they are.
    """

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

    Rows are copied once, in the order of their blocks, to page-locked memory where there is room;
    otherwise every block is gathered when it is visited.
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

    Parameters
    ----------
    X : tensor or ndarray of shape (n, d)
        A tensor stays where it is. An array is copied to the device where it fits, and streams
        through it otherwise.
    positive : bool ndarray of shape (n,)
    weight : ndarray of shape (n,) or None
    device : torch.device
        Where the work is done.
    streamed : bool, optional
        Whether the rows of an array stay on the host and stream through the device; decided by
        the room there is, where not given.

    Attributes
    ----------
    means : tensor of shape (2, d)
        Of positives and negatives, on the device, in the type of the table.
    shares : ndarray of shape (2, n)
        Weight of each row in the mean of its class, 0 in that of the other.
    class_weights : ndarray of shape (2,)
    """

    def __init__(
        self,
        X: Any,
        positive: Mask,
        weight: Array | None,
        device: Any,
        *,
        streamed: bool | None = None,
    ) -> None:
        self.device = device
        self.n_rows, self.n_features = int(X.shape[0]), int(X.shape[1])
        self.dtype: np.dtype[Any] = np.dtype(str(X.dtype).removeprefix("torch."))
        self.positive, self.weight = positive, np.empty(0) if weight is None else weight
        nbytes = self.n_rows * self.n_features * self.dtype.itemsize
        if streamed is None:
            streamed = not is_tensor(X) and device.type == "cuda" and nbytes > usable_bytes(device)
        # Rows are on the host, or on the device.
        self._on_host: npt.NDArray[Any] | None = np.asarray(X) if streamed else None
        self._table: Any = None
        if not streamed:
            self._table = X.detach() if is_tensor(X) else as_tensor(np.asarray(X)).to(device)
        counts = np.ones(self.n_rows) if weight is None else weight
        self.shares: Array = np.stack([counts * positive, counts * ~positive])
        self.class_weights: Array = self.shares.sum(axis=-1)
        self.shares /= self.class_weights[:, None]
        self.means, varies = self._moments()
        self.varies: Mask = to_host(varies)
        means = to_host(self.means)
        self.mean_positive: Floats = means[0]
        self.mean_negative: Floats = means[1]

    @property
    def streamed(self) -> bool:
        """Whether rows stay on the host."""
        return self._on_host is not None

    def blocks(self, blocks: RowBlocks) -> ResidentBlocks | StreamedBlocks:
        """Give the blocks of rows, as tensors on the device."""
        if self._on_host is not None:
            return StreamedBlocks(self._on_host, blocks, self.device)
        return ResidentBlocks(self._table, blocks)

    def descent(
        self, k: int, *, batch_size: int, shuffle: bool, rng: np.random.Generator
    ) -> Descent:
        """Deal the rows to blocks and begin Algorithm 1 at w = 0."""
        from ._models_torch import TorchDescent

        counted = counted_rows(self.weight, self.n_rows)
        blocks = deal_blocks(counted, batch_size, shuffle=shuffle, rng=rng)
        rows = 2 * blocks.largest if self.streamed else self.n_rows
        nbytes = self.dtype.itemsize * self.n_features * rows
        with explain_out_of_memory(f"SHT-AUC with blocks of {blocks.largest} rows", nbytes):
            return TorchDescent(self, blocks, k)

    def scores_on(self, support: Indices, values: Floats) -> Floats:
        """Compute Xw for a w given by its non-zeros, on the host."""
        coefficients = np.ascontiguousarray(values, self.dtype)
        if self._on_host is not None:
            return np.asarray(self._on_host[:, support] @ coefficients)
        columns = as_tensor(np.asarray(support)).to(self.device)
        picked = self._table.index_select(1, columns)
        return to_host(picked @ as_tensor(coefficients).to(self.device))

    def _rows(self, rows: slice) -> Any:
        """Rows in double precision, on the device."""
        if self._on_host is None:
            return self._table[rows].double()
        return as_tensor(np.ascontiguousarray(self._on_host[rows])).to(self.device).double()

    def _chunks(self) -> Iterator[tuple[slice, Any]]:
        """Yield all rows, a few at a time."""
        step = max(1, _CHUNK // max(1, self.n_features))
        for low in range(0, self.n_rows, step):
            rows = slice(low, min(low + step, self.n_rows))
            yield rows, self._rows(rows)

    def _moments(self) -> tuple[Any, Any]:
        """Class means, and which columns vary."""
        torch = import_torch()
        counted = self.shares.sum(axis=0) > 0
        shares = torch.from_numpy(self.shares).to(self.device)
        totals = torch.zeros((2, self.n_features), dtype=torch.float64, device=self.device)
        varies = torch.zeros(self.n_features, dtype=torch.bool, device=self.device)
        # Sums are taken about the first row that counts: a column of one value then has exactly
        # that value as its mean in both classes.
        first = int(np.argmax(counted))
        origin = self._rows(slice(first, first + 1))
        for rows, part in self._chunks():
            difference = part - origin
            totals += shares[:, rows] @ difference
            differs = difference != 0
            if not counted[rows].all():
                differs &= torch.from_numpy(counted[rows, None]).to(self.device)
            varies |= differs.any(dim=0)
        totals += origin
        if not bool(torch.isfinite(totals).all()):
            self._raise_first_nonfinite()
        means = totals.to(getattr(torch, self.dtype.name))
        finite = torch.isfinite(means[1] - means[0])
        if not bool(finite.all()):
            column = int(torch.nonzero(~finite)[0, 0])
            raise ValueError(
                f"the values of column {column} are too large to average in {self.dtype}: "
                "rescale it"
            )
        return means, varies

    def _raise_first_nonfinite(self) -> None:
        torch = import_torch()
        for rows, part in self._chunks():
            for row, column in torch.nonzero(~torch.isfinite(part))[:1].tolist():
                kind = "NaN" if bool(torch.isnan(part[row, column])) else "infinity"
                raise ValueError(
                    f"Input X contains {kind}: first at row {rows.start + row}, column {column}; "
                    "finite numbers are needed: drop or impute such values"
                )
