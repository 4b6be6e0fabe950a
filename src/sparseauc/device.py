"""Tables on a device: rows as torch tensors, or rows on the host that stream through the device.

Solvers see two things of them: blocks of rows, one after the other, and what the objective knows of
a training set (class means, columns of one value, scores of all rows).
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrays import as_tensor, import_torch, is_tensor, room, to_host
from .blocks import RowBlocks
from .objective import Floats, Indices, loss_of_scores

Mask = npt.NDArray[np.bool_]
Array = npt.NDArray[np.float64]

# Numbers converted to double precision at a time while means are computed.
_CHUNK = 2**25


class ResidentBlocks:
    """Blocks of tensors on the device.

    Rows are copied once in the order of their blocks where there is room, so that a block is a
    view; otherwise a block is gathered whenever it is visited. Rows that lie in order are views as
    they are.
    """

    def __init__(self, table: Any, blocks: RowBlocks) -> None:
        torch = import_torch()
        self._starts = blocks.starts.tolist()
        in_order = np.array_equal(blocks.rows, np.arange(table.shape[1]))
        self._rows = None if in_order else torch.from_numpy(blocks.rows).to(table.device)
        self._table = table
        nbytes = table.element_size() * table.shape[0] * blocks.rows.size * table.shape[2]
        if self._rows is not None and nbytes <= room(table.device):
            self._table = table.index_select(1, self._rows)
            self._rows = None

    def visit(self, drawn: npt.ArrayLike) -> Iterator[Any]:
        """Yield blocks of shape (s, b, d), each valid until the next."""
        for i in np.asarray(drawn).tolist():
            low, high = self._starts[i], self._starts[i + 1]
            if self._rows is None:
                yield self._table[:, low:high]
            else:
                yield self._table.index_select(1, self._rows[low:high])


class StreamedBlocks:
    """Blocks of an array on the host, or on disk, that pass through two buffers on the device.

    While one block is at work the next is gathered into page-locked memory and copied.
    """

    def __init__(self, table: npt.NDArray[Any], blocks: RowBlocks, device: Any) -> None:
        torch = import_torch()
        # A tensor, because torch gathers rows with several threads.
        self._torch, self._host_table, self._blocks = torch, as_tensor(table), blocks
        shape, dtype = (blocks.largest, table.shape[1]), getattr(torch, str(table.dtype))
        self._on_gpu = device.type == "cuda"
        self._staging = [torch.empty(shape, dtype=dtype, pin_memory=self._on_gpu) for _ in range(2)]
        self._buffers = [torch.empty(shape, dtype=dtype, device=device) for _ in range(2)]
        if self._on_gpu:
            self._stream = torch.cuda.Stream(device)
            self._copied = [torch.cuda.Event() for _ in range(2)]
            self._used = [torch.cuda.Event() for _ in range(2)]

    def visit(self, drawn: npt.ArrayLike) -> Iterator[Any]:
        """Yield blocks of shape (1, b, d), each valid until the next."""
        order = np.asarray(drawn).tolist()
        coming = [self._send(i, 0) for i in order[:1]]
        for t in range(len(order)):
            slot, block = t % 2, coming.pop()
            if t + 1 < len(order):
                coming.append(self._send(order[t + 1], 1 - slot))
            if self._on_gpu:
                self._torch.cuda.current_stream().wait_event(self._copied[slot])
            yield block[None]
            if self._on_gpu:
                self._used[slot].record()

    def _send(self, i: int, slot: int) -> Any:
        low, high = self._blocks.starts[i], self._blocks.starts[i + 1]
        rows = self._blocks.rows[low:high]
        staging, buffer = self._staging[slot][: rows.size], self._buffers[slot][: rows.size]
        if self._on_gpu:
            self._copied[slot].synchronize()  # the staging memory has been read
        self._torch.index_select(self._host_table, 0, as_tensor(rows), out=staging)
        if not self._on_gpu:
            return buffer.copy_(staging)
        with self._torch.cuda.stream(self._stream):
            self._stream.wait_event(self._used[slot])  # the block before it is no longer needed
            buffer.copy_(staging, non_blocking=True)
            self._copied[slot].record(self._stream)
        return buffer


class DeviceTables:
    """s training sets of n rows and d columns whose blocks are tensors on one device.

    Parameters
    ----------
    X : tensor of shape (s, n, d), or ndarray of shape (1, n, d)
        A tensor stays where it is. An array is copied to the device where it fits, and streams
        through it otherwise.
    labels : bool ndarray of shape (s, n)
    weight : ndarray of shape (s, n) or None
    device : torch.device
        Where the work is done.
    streamed : bool, optional
        Whether the rows of an array stay on the host and stream through the device; decided by
        the room there is, where not given.

    Attributes
    ----------
    class_weights : ndarray of shape (s, 2)
    means : tensor of shape (s, 2, d)
        Of positives and negatives, in the type of the table.
    varies : tensor of shape (s, d)
        False for columns that hold one value in every row that counts.
    """

    def __init__(
        self,
        X: Any,
        labels: Mask,
        weight: Array | None,
        device: Any,
        *,
        streamed: bool | None = None,
    ) -> None:
        torch = import_torch()
        self.labels, self.weight, self.device = labels, weight, device
        self.shape: tuple[int, int, int] = tuple(X.shape)
        self.dtype: Any = X.dtype if is_tensor(X) else getattr(torch, str(X.dtype))
        self._on_host: npt.NDArray[Any] | None = None
        self._table: Any = None
        if streamed is None:
            streamed = not is_tensor(X) and device.type == "cuda" and X.nbytes > room(device)
        if streamed:
            self._on_host = np.asarray(X)[0]
        else:
            self._table = X.detach() if is_tensor(X) else as_tensor(np.asarray(X)).to(device)
        counts = np.ones(labels.shape) if weight is None else weight
        self.shares = np.stack([counts * labels, counts * ~labels], axis=1)
        self.class_weights: Array = self.shares.sum(axis=-1)
        self.shares /= self.class_weights[..., None]
        self.means, self.varies = self._moments()

    @property
    def streamed(self) -> bool:
        """Whether rows stay on the host."""
        return self._on_host is not None

    def blocks(self, blocks: RowBlocks) -> ResidentBlocks | StreamedBlocks:
        """Give the blocks of rows, as tensors on the device."""
        if self._on_host is not None:
            return StreamedBlocks(self._on_host, blocks, self.device)
        return ResidentBlocks(self._table, blocks)

    def scores(self, s: int, support: Indices, values: Floats) -> Floats:
        """Scores of all rows of a training set, on the host."""
        if self._on_host is not None:
            return np.asarray(self._on_host[:, support] @ values)
        torch = import_torch()
        columns = torch.from_numpy(np.asarray(support)).to(self.device)
        coefficients = torch.from_numpy(np.ascontiguousarray(values)).to(self.device)
        return to_host(self._table[s].index_select(1, columns) @ coefficients)

    def _rows(self, rows: slice) -> Any:
        """Rows of all training sets in double precision, on the device."""
        if self._on_host is None:
            return self._table[:, rows].double()
        part = as_tensor(np.ascontiguousarray(self._on_host[rows]))
        return part.to(self.device)[None].double()

    def _chunks(self) -> Iterator[tuple[slice, Any]]:
        """Yield all rows, a few at a time."""
        s, n, d = self.shape
        step = max(1, _CHUNK // max(1, s * d))
        for low in range(0, n, step):
            rows = slice(low, min(low + step, n))
            yield rows, self._rows(rows)

    def _moments(self) -> tuple[Any, Any]:
        torch = import_torch()
        s, _, d = self.shape
        counted = self.shares.sum(axis=1) > 0
        shares = torch.from_numpy(self.shares).to(self.device)
        totals = torch.zeros((s, 2, d), dtype=torch.float64, device=self.device)
        varies = torch.zeros((s, d), dtype=torch.bool, device=self.device)
        # Sums are taken about the first row that counts: a column of one value then has exactly
        # that value as its mean in both classes.
        first = int(np.argmax(counted[0]))
        origin = self._rows(slice(first, first + 1))
        for rows, part in self._chunks():
            difference = part - origin
            totals += shares[:, :, rows] @ difference
            differs = difference != 0
            if not counted[:, rows].all():
                mask = torch.from_numpy(counted[:, rows, None]).to(self.device)
                differs &= mask
            varies |= differs.any(dim=1)
        totals += origin
        if not bool(torch.isfinite(totals).all()):
            self._name_the_infinite()
        means = totals.to(self.dtype)
        finite = torch.isfinite(means[:, 1] - means[:, 0])
        if not bool(finite.all()):
            column = int(torch.nonzero(~finite)[0, 1])
            raise ValueError(
                f"the values of column {column} are too large to average in "
                f"{str(self.dtype).removeprefix('torch.')}: rescale it"
            )
        return means, varies

    def _name_the_infinite(self) -> None:
        torch = import_torch()
        for rows, part in self._chunks():
            for place in torch.nonzero(~torch.isfinite(part))[:1].tolist():
                kind = "NaN" if bool(torch.isnan(part[tuple(place)])) else "infinity"
                which = f" of training set {place[0]}" if self.shape[0] > 1 else ""
                raise ValueError(
                    f"Input X contains {kind}: first at row {rows.start + place[1]}, column "
                    f"{place[2]}{which}; finite numbers are needed: drop or impute such values"
                )


class DeviceObjective:
    """F of one training set on a device, with the attributes solvers ask of ``AUCObjective``."""

    def __init__(self, tables: DeviceTables, s: int = 0) -> None:
        self.tables, self._s = tables, s
        _, self.n_rows, self.n_features = tables.shape
        self.dtype = np.dtype(str(tables.dtype).removeprefix("torch."))
        self.positive = tables.labels[s]
        self.weight: Array = np.empty(0) if tables.weight is None else tables.weight[s]
        means = to_host(tables.means[s])
        self.mean_positive: Floats = means[0]
        self.mean_negative: Floats = means[1]
        self.moments = SimpleNamespace(
            varies=to_host(tables.varies[s]), weights=tuple(tables.class_weights[s].tolist())
        )

    def scores_on(self, support: Indices, values: Floats, w: Floats | None = None) -> Floats:
        """Compute Xw for a w given by its non-zeros; the dense ``w`` is of no use here."""
        del w
        return self.tables.scores(self._s, support, np.asarray(values, self.dtype))

    def value(self, w: Floats) -> float:
        """Compute F(w)."""
        support = np.flatnonzero(w)
        return self.value_on(support, w[support])

    def value_on(self, support: Indices, values: Floats, w: Floats | None = None) -> float:
        """Compute F(w) for a w given as in ``scores_on``."""
        return self.value_of(self.scores_on(support, values, w))

    def value_of(self, scores: Floats) -> float:
        """Compute F from the scores of all rows."""
        return float(loss_of_scores(scores, self.positive, self.weight))
