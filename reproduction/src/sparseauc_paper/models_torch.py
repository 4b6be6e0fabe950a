"""Many models on torch: steps are matrix products, on the CPU or on a GPU.

Nothing within an epoch waits for the device: every shape is known in advance, and which models
overflowed is asked afterwards.
"""

from typing import Any

import numpy as np
import torch

from .arrays import Array, Floats, Indices, to_host
from .blocks import RowBlocks
from .models import (
    GridPoint,
    Loss,
    Models,
    auc_multipliers,
    labels_and_scales,
    logistic_multipliers,
)
from .objective import AUCObjective

# A number picked from a row costs as much memory traffic as eight in sequence.
_PICKING = 8


class TensorObjective(AUCObjective):
    """F of a training set on a device.

    ``means``, of positives and negatives, are on the device, in the type of the table; ``shares``
    are the weight of each row in the mean of its class, 0 in that of the other.
    """

    def __init__(self, X: Any, positive: Any, sample_weight: Any) -> None:
        super().__init__(X, positive, sample_weight)
        counts = self.weight if self.weight.size else np.ones(self.n_rows)
        self.shares: Array = np.stack([counts * self.positive, counts * ~self.positive])
        self.shares /= np.array(self.moments.weights)[:, None]
        means = np.stack([self.mean_positive, self.mean_negative])
        self.means = torch.from_numpy(means).to(self.device)

    def _set_table(self, X: Any) -> None:
        self.table = X
        self.device = X.device
        self.dtype = np.dtype(str(X.dtype).removeprefix("torch."))

    def scores_on(self, support: Indices, values: Floats) -> Floats:
        """Compute Xw for a w given by its non-zeros, on the host."""
        columns = torch.from_numpy(np.asarray(support)).to(self.device)
        coefficients = torch.from_numpy(np.ascontiguousarray(values, self.dtype)).to(self.device)
        return to_host(self.table.index_select(1, columns) @ coefficients)


class TorchModels(Models):
    """Models on tensors."""

    _support: Any
    _values: Any

    def __init__(
        self, objective: TensorObjective, blocks: RowBlocks, ks: Indices, loss: Loss
    ) -> None:
        self._xp = torch
        g = ks.size
        d = objective.n_features
        self._objective = objective
        self._logistic = loss == "logistic"
        self._starts = blocks.starts.tolist()
        # In the order of the blocks, which are then views.
        order = torch.from_numpy(blocks.rows).to(objective.device)
        self._table = objective.table.index_select(0, order)
        labels, scales = labels_and_scales(objective, blocks, loss)
        self._positive = self._send(labels)
        self._members = self._send(np.stack([labels, 1 - labels], axis=-1))
        self._scales = self._send(scales)
        self._shares = torch.from_numpy(objective.shares[:, blocks.rows]).to(objective.device)
        self._signs = self._send(np.array([-1.0, 1.0]))
        self._constant = None
        if not objective.varies.all():
            self._constant = torch.from_numpy(~objective.varies).to(objective.device)
        self._most = int(ks.max())
        # What an entry must exceed to be among the k largest by its rank, where k differs.
        self._bars = None
        if ks.min() < self._most:
            self._bars = self._send(np.where(np.arange(self._most) < ks[:, None], 0.0, np.inf))
        # Whether scores are computed from the columns of each model's non-zeros alone.
        self._listed = _PICKING * g * self._most < d
        dtype = getattr(torch, objective.dtype.name)
        self.w = torch.zeros((g, d), dtype=dtype, device=objective.device)
        self.intercept = torch.zeros(g, dtype=dtype, device=objective.device)
        self._steps = np.empty(0)
        self._rates: Any = None
        self._double_steps: Any = None
        self._list_columns()

    def run(self, drawn: Indices, steps: Array, decays: Array, shrinks: Array) -> None:
        """Visit the blocks ``drawn``."""
        if not np.array_equal(steps, self._steps):
            self._steps = steps.copy()
            step = self._send(steps)[:, None]
            self._rates, self._double_steps = step * self._scales, 2 * step
        rates, double_steps = self._rates, self._double_steps
        decay = None if (decays == 1).all() else self._send(decays)[:, None]
        shrink = None if (shrinks == 1).all() else self._send(shrinks)[:, None]
        means = self._objective.means
        # Every operation is a launch, and launches are what one fit on a fast device waits for.
        for i in drawn.tolist():
            low = self._starts[i]
            b = self._starts[i + 1] - low
            block = self._table[low : low + b]
            positive, rate = self._positive.narrow(0, low, b), rates.narrow(1, low, b)
            scores = self._score(block)
            candidate = self.w if decay is None else self.w * decay
            if self._logistic:
                on_rows = logistic_multipliers(
                    scores, self.intercept[:, None], positive, rate, torch.exp
                )
                self.intercept = self.intercept + on_rows.sum(-1)
            else:
                on_positive, on_negative = self._score(means).split(1, dim=-1)
                on_rows, on_delta = auc_multipliers(
                    scores, on_positive, on_negative, positive, rate, double_steps
                )
                members = self._members.narrow(0, low, b)
                on_means = torch.addmm(on_delta * self._signs, on_rows, members, alpha=-1)
                candidate = torch.addmm(candidate, on_means, means)
            self._keep_largest(self._plus_product(candidate, on_rows, block))
            if shrink is not None:
                self.w = self.w * shrink
                if self._listed:
                    self._values = self._values * shrink

    def losses(self) -> Array:
        """F of every model, on the host."""
        scores = self._score(self._table).double()
        on_positive, on_negative = (
            (scores * share).sum(-1, keepdim=True) for share in self._shares
        )
        spread = (scores - on_positive) ** 2 @ self._shares[0]
        spread += (scores - on_negative) ** 2 @ self._shares[1]
        losses = np.array(to_host((1 - on_positive + on_negative)[:, 0] ** 2 + spread))
        losses[self.overflowed()] = np.nan
        return losses

    def point(self) -> GridPoint:
        """Where the models stand."""
        # Steps make new tensors, so nothing need be copied.
        return GridPoint(self.w, self.intercept)

    def move_to(self, point: GridPoint) -> None:
        """Go to other points."""
        self.w, self.intercept = point
        self._list_columns()

    def _send(self, array: Any) -> Any:
        dtype = getattr(torch, self._objective.dtype.name)
        return torch.from_numpy(np.asarray(array)).to(self._objective.device, dtype)

    def _score(self, rows: Any) -> Any:
        """Scores of rows given as a tensor of shape (b, d), of shape (g, b)."""
        if not self._listed:
            return self.w @ rows.mT
        g, k = self._support.shape
        if g == 1:
            return (rows.index_select(1, self._support[0]) @ self._values[0])[None]
        picked = rows.index_select(1, self._support.reshape(-1)).reshape(-1, g, k)
        return (picked * self._values).sum(-1).mT

    def _plus_product(self, base: Any, factors: Any, rows: Any) -> Any:
        """``base + factors @ rows``."""
        if self.w.shape[0] == 1:
            # On an H200 this reads a block of 1.6 GB in 0.39 ms, addmv in 0.43.
            return torch.bmm(factors[None], rows[None])[0].add_(base)
        return torch.addmm(base, factors, rows)

    def _keep_largest(self, candidate: Any) -> None:
        """Set w to the k largest entries of each candidate; of equal ones, the first win."""
        # One that is not finite comes first, and spoils every later step: the model is lost, and
        # says so at the end.
        if self._constant is not None:
            candidate = candidate.masked_fill(self._constant, 0)
        # Faster on a GPU than a selection, which leaves open which of equal entries it takes.
        magnitudes, columns = candidate.abs().sort(dim=-1, descending=True, stable=True)
        columns = columns[:, : self._most]
        values = candidate.gather(-1, columns)
        if self._bars is not None:
            kept = ~(magnitudes[:, : self._most] <= self._bars)  # NaN is kept
            values = torch.where(kept, values, 0)
        self.w = torch.zeros_like(candidate).scatter_(-1, columns, values)
        self._support, self._values = columns, values

    def _list_columns(self) -> None:
        """List the columns of a w that did not come out of ``_keep_largest``."""
        if self._listed:
            columns = self.w.abs().sort(dim=-1, descending=True, stable=True).indices
            self._support = columns[:, : self._most]
            self._values = self.w.gather(-1, self._support)
