"""Many models on torch: steps are matrix products, on the CPU or on a GPU.

Nothing within an epoch waits for the device: every shape is known in advance, and which models
overflowed is asked afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from .._arrays import as_tensor, import_torch, to_host
from ..blocks import RowBlocks
from ..device import DeviceObjective, DeviceTables
from ._models import Array, Loss, Mask, Models, Point
from ._models_numpy import row_scales
from ._multipliers import auc_multipliers, logistic_multipliers
from .sht_auc import exact_first_step

# A number picked from a row costs as much memory traffic as eight in sequence.
_PICKING = 8
# The longest rows that stay in the registers of a GPU while their largest entries are found.
_FUSED = 4096


class TorchModels(Models):
    """Models on tensors.

    Parameters
    ----------
    tables : DeviceTables
        The training sets.
    blocks : RowBlocks
        Their common blocks.
    ks : ndarray of shape (g,)
    loss : {"auc", "logistic"}
    """

    _support: Any
    _values: Any

    def __init__(
        self, tables: DeviceTables, blocks: RowBlocks, ks: npt.NDArray[np.int64], loss: Loss
    ) -> None:
        torch = self._torch = import_torch()
        s, _, d = tables.shape
        g = ks.size
        self.shape = s, g
        self._tables, self._ks = tables, ks
        self._logistic = loss == "logistic"
        self._starts = blocks.starts.tolist()
        self._source = tables.blocks(blocks)
        rows = blocks.rows
        labels = tables.labels[:, rows].astype(np.float64)
        scales = row_scales(tables.class_weights, labels, len(blocks), self._logistic)
        if tables.weight is not None:
            scales = scales * tables.weight[:, rows]
        self._positive = self._send(labels)[:, None]
        self._members = self._send(np.stack([labels, 1 - labels], axis=-1))
        self._scales = self._send(scales)[:, None]
        self._shares = as_tensor(tables.shares[:, :, rows]).to(tables.device)
        self._signs = self._send(np.array([-1.0, 1.0]))
        constant = ~tables.varies
        self._constant = constant[:, None] if bool(constant.any()) else None
        self._most = int(ks.max())
        self._k = as_tensor(ks).to(tables.device, torch.int32)
        # What an entry must exceed to be among the k largest by its rank: zeros never are.
        self._bars = self._send(np.where(np.arange(self._most) < ks[:, None], 0.0, np.inf))
        self._keep_rows = _fused_selection(tables.device, tables.dtype, d)
        self._listed = self._keep_rows is None and _PICKING * g * self._most < d
        self.w = torch.zeros((s, g, d), dtype=tables.dtype, device=tables.device)
        self.intercept = torch.zeros((s, g), dtype=tables.dtype, device=tables.device)
        self._list_columns()

    def epoch(
        self, drawn: npt.NDArray[np.int64], steps: Array, decays: Array, shrinks: Array
    ) -> None:
        """Visit the blocks ``drawn``, all training sets together."""
        torch = self._torch
        step = self._send(steps)[..., None]
        rates, double_steps = step * self._scales, 2 * step
        decay = None if (decays == 1).all() else self._send(decays)[..., None]
        shrink = None if (shrinks == 1).all() else self._send(shrinks)[..., None]
        means = self._tables.means
        # Every operation is a launch, and launches are what one fit on a fast device waits for.
        for i, block in zip(drawn.tolist(), self._source.visit(drawn), strict=True):
            low, b = self._starts[i], self._starts[i + 1] - self._starts[i]
            positive, rate = self._positive.narrow(2, low, b), rates.narrow(2, low, b)
            scores = self._score(block)
            candidate = self.w if decay is None else self.w * decay
            if self._logistic:
                on_rows = logistic_multipliers(
                    scores, self.intercept[..., None], positive, rate, torch.exp
                )
                self.intercept = self.intercept + on_rows.sum(-1)
            else:
                on_positive, on_negative = self._score(means).split(1, dim=-1)
                on_rows, on_delta = auc_multipliers(
                    scores, on_positive, on_negative, positive, rate, double_steps
                )
                members = self._members.narrow(1, low, b)
                on_means = torch.baddbmm(on_delta * self._signs, on_rows, members, alpha=-1)
                candidate = torch.baddbmm(candidate, on_means, means)
            candidate = self._plus_product(candidate, on_rows, block)
            self._keep_largest(candidate)
            if shrink is not None:
                self.w = self.w * shrink
                if self._listed:
                    self._list(self._support, self._values * shrink)

    def non_zeros(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.floating]]:
        """Columns, ascending, and coefficients of the only model, on the host."""
        if self._listed:
            columns, values = to_host(self._support[0, 0]), to_host(self._values[0, 0])
            used = np.flatnonzero(values)
            used = used[np.argsort(columns[used])]
            return columns[used], values[used]
        w = to_host(self.w[0, 0])
        columns = np.flatnonzero(w)
        return columns, w[columns]

    def losses(self) -> Array:
        """F of every model; NaN for one that overflowed."""
        torch = self._torch
        every = np.arange(len(self._starts) - 1)
        scores = torch.cat([self._score(block) for block in self._source.visit(every)], dim=-1)
        scores = scores.double()
        on_positive, on_negative = (
            (scores * self._shares[:, None, c]).sum(-1, keepdim=True) for c in range(2)
        )
        spread = ((scores - on_positive) ** 2 * self._shares[:, None, 0]).sum(-1)
        spread += ((scores - on_negative) ** 2 * self._shares[:, None, 1]).sum(-1)
        losses = np.array(to_host((1 - on_positive + on_negative)[..., 0] ** 2 + spread))
        losses[self.overflowed()] = np.nan
        return losses

    def exact_first_steps(self) -> Array:
        """Steps from the first gradients."""
        objectives: list[Any] = [DeviceObjective(self._tables, s) for s in range(self.shape[0])]
        return np.array(
            [[exact_first_step(objective, int(k)) for k in self._ks] for objective in objectives]
        )

    def as_point(self, w: npt.NDArray[np.floating]) -> Point:
        """Coefficients on the device."""
        return Point(self._send(w), self._torch.zeros_like(self.intercept))

    def point(self) -> Point:
        """Where the models stand; steps make new tensors, so nothing need be copied."""
        return Point(self.w, self.intercept)

    def mixed(self, mask: Mask, chosen: Point, other: Point) -> Point:
        """Take the models of ``mask`` from ``chosen``."""
        torch = self._torch
        where = as_tensor(mask).to(self._tables.device)
        return Point(
            torch.where(where[..., None], chosen.w, other.w),
            torch.where(where, chosen.intercept, other.intercept),
        )

    def set(self, point: Point) -> None:
        """Go to other points."""
        self.w, self.intercept = point
        self._list_columns()

    def movement(self, before: Point) -> tuple[Array, Array]:
        """‖w − w_before‖² and ‖w_before‖²."""
        old = before.w.double()
        moved = (self.w - old).square().sum(-1)
        both = to_host(self._torch.stack([moved, old.square().sum(-1)]))
        return both[0], both[1]

    def overflowed(self) -> Mask:
        """Which models left the range of floating-point numbers."""
        finite = self._torch.isfinite(self.w).all(-1) & self._torch.isfinite(self.intercept)
        return ~to_host(finite)

    def _send(self, array: npt.NDArray[Any]) -> Any:
        return as_tensor(np.asarray(array)).to(self._tables.device, self._tables.dtype)

    def _score(self, rows: Any) -> Any:
        """Scores of rows given as a tensor of shape (s, b, d), of shape (s, g, b)."""
        if not self._listed:
            return self.w @ rows.mT
        if self.shape == (1, 1):
            return (rows[0].index_select(1, self._columns) @ self._coefficients)[None, None]
        s, b, _ = rows.shape
        columns = self._support.reshape(s, 1, -1)
        if s == 1:
            picked = rows[0].index_select(1, columns[0, 0])[None]
        else:
            picked = rows.gather(2, columns.expand(s, b, -1))
        picked = picked.reshape(s, b, *self._values.shape[1:])
        return (picked * self._values[:, None]).sum(-1).mT

    def _plus_product(self, base: Any, factors: Any, rows: Any) -> Any:
        """``base + factors @ rows``."""
        torch = self._torch
        if self.shape == (1, 1):
            # On an H200 this reads a block of 1.6 GB in 0.39 ms, addmv in 0.43.
            return torch.bmm(factors, rows).add_(base)
        if self.shape[0] == 1:
            return torch.addmm(base[0], factors[0], rows[0])[None]
        return torch.baddbmm(base, factors, rows)

    def _keep_largest(self, candidate: Any) -> None:
        """Set w to the k largest entries of each candidate; of equal ones, the first win.

        Where one is not finite, the entries left out become NaN instead of zero: the model is
        lost, and says so at the end.
        """
        torch = self._torch
        if self._constant is not None:
            candidate = candidate.masked_fill(self._constant, 0)
        if self._keep_rows is not None:
            self.w = self._keep_rows(candidate, self._k)
            return
        # Faster on a GPU than a selection, which leaves open which of equal entries it takes.
        magnitudes, columns = candidate.abs().sort(dim=-1, descending=True, stable=True)
        magnitudes, columns = magnitudes[..., : self._most], columns[..., : self._most]
        largest = magnitudes[..., :1]
        nothing = largest - largest  # NaN where the largest is not finite
        values = torch.where(magnitudes > self._bars, candidate.gather(-1, columns), nothing)
        self.w = nothing.expand(candidate.shape).scatter(-1, columns, values)
        self._list(columns, values)

    def _list(self, support: Any, values: Any) -> None:
        """Keep the columns of w, and their coefficients, from which scores may be computed."""
        self._support, self._values = support, values
        if self.shape == (1, 1):
            self._columns, self._coefficients = support[0, 0], values[0, 0]

    def _list_columns(self) -> None:
        """List the columns of a w that did not come out of ``_keep_largest``."""
        if self._listed:
            columns = self.w.abs().sort(dim=-1, descending=True, stable=True).indices
            columns = columns[..., : self._most]
            self._list(columns, self.w.gather(-1, columns))


def _fused_selection(device: Any, dtype: Any, d: int) -> Callable[[Any, Any], Any] | None:
    """Give the selection that reads each row once, where there is one."""
    single = str(dtype) == "torch.float32"
    if device.type != "cuda" or not single or d > _FUSED or not find_spec("triton"):
        return None
    from ._keep_largest_gpu import keep_largest

    return keep_largest
