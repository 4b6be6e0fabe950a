"""Many models fitted to the same blocks: what the epochs of a grid ask of NumPy and of torch."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from .arrays import Array, Floats, Indices, Mask, to_host
from .blocks import RowBlocks
from .objective import AUCObjective

Loss = Literal["auc", "logistic"]


class GridPoint(NamedTuple):
    """Where all models stand."""

    w: Any
    intercept: Any


class Models(ABC):
    """g models of one training set that visit the same blocks.

    ``run`` is the expensive part; the other operations happen once per epoch.
    """

    w: Any  # of shape (g, d); NaN from then on for a model that overflowed
    intercept: Any
    _xp: Any  # numpy or torch

    @abstractmethod
    def run(self, drawn: Indices, steps: Array, decays: Array, shrinks: Array) -> None:
        """Visit the blocks ``drawn``: w ← shrink · H_k(decay · w − step · ∇f_B(w)).

        The factors have the shape (g,). A model of step 0 stays exactly where it is.
        """

    @abstractmethod
    def losses(self) -> Array:
        """F of every model, on the host; NaN for one that overflowed."""

    @abstractmethod
    def point(self) -> GridPoint:
        """Copy where the models stand."""

    @abstractmethod
    def move_to(self, point: GridPoint) -> None:
        """Go to other points, of at most k non-zeros each."""

    def start_from(self, w: Floats) -> None:
        """Go to coefficients given on the host, of shape (g, d), with intercepts of zero."""
        self.move_to(GridPoint(self._send(w), self._xp.zeros_like(self.intercept)))

    def choose(self, mask: Mask, chosen: GridPoint, other: GridPoint) -> GridPoint:
        """Take the models of ``mask`` from ``chosen``, the others from ``other``."""
        where, take = self._send(mask) > 0, self._xp.where
        return GridPoint(
            take(where[:, None], chosen.w, other.w), take(where, chosen.intercept, other.intercept)
        )

    def movement(self, before: GridPoint) -> tuple[Array, Array]:
        """‖w − w_before‖² and ‖w_before‖² of every model, on the host."""
        old = self._xp.asarray(before.w, dtype=self._xp.float64)
        # A model on its way to infinity has not converged.
        with np.errstate(over="ignore", invalid="ignore"):
            moved = self._xp.square(self.w - old).sum(-1)
            return to_host(moved), to_host(self._xp.square(old).sum(-1))

    def overflowed(self) -> Mask:
        """Which models left the range of floating-point numbers, on the host."""
        finite = self._xp.isfinite(self.w).all(-1) & self._xp.isfinite(self.intercept)
        return ~to_host(finite)

    @abstractmethod
    def _send(self, array: Any) -> Any:
        """Send an array of the host to where the models are."""


def labels_and_scales(
    objective: AUCObjective, blocks: RowBlocks, loss: Loss
) -> tuple[Array, Array]:
    """1 or 0 for each row, block after block, and what its gradient is multiplied by."""
    positive = objective.positive[blocks.rows]
    if loss == "logistic":
        scales = np.full(positive.size, len(blocks) / sum(objective.moments.weights))
    else:
        scales = np.where(positive, *objective.block_scales(len(blocks)))
    if objective.weight.size:
        scales *= objective.weight[blocks.rows]
    return positive.astype(np.float64), scales


# What the rows of a block contribute to a step. Only operators are used, so that the same function
# runs on tensors as it stands and is compiled for NumPy. Arrays have the shape (models, rows of the
# block); what belongs to a model has a last axis of one.


def auc_multipliers(
    scores: Any, on_positive: Any, on_negative: Any, positive: Any, rates: Any, double_steps: Any
) -> tuple[Any, Any]:
    """Multipliers c and e such that −γ∇f_B(w) = Σ_i c_i (x_i − x̄ of its class) + e·δ.

    ``scores`` are w·x, the next two w·x̄₊ and w·x̄₋; ``positive`` is 1 or 0; ``rates`` are γ times
    2m/W₊ or 2m/W₋ times the row's weight (``AUCObjective.block_scales``), ``double_steps`` 2γ.
    """
    gap = on_positive - on_negative
    return rates * (on_negative + gap * positive - scores), double_steps * (gap - 1)


def logistic_multipliers(
    scores: Any, intercepts: Any, positive: Any, rates: Any, exp: Callable[[Any], Any]
) -> Any:
    """Multipliers c such that −γ∇f_B(w) = Σ_i c_i x_i for the logistic loss; rates have m/W."""
    signs = 2 * positive - 1
    # An exponential that overflows gives 0, as it should.
    return rates * signs / (1 + exp(signs * (scores + intercepts)))
