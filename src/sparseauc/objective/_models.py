"""Many models fitted to the same blocks: what the epochs of a grid ask of NumPy and of torch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .._types import Array, Floats, Indices, Mask

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

    @abstractmethod
    def run(self, drawn: Indices, steps: Array, decays: Array, shrinks: Array) -> None:
        """Visit the blocks ``drawn``: w ← shrink · H_k(decay · w − step · ∇f_B(w)).

        The factors have the shape (g,). A model of step 0 stays exactly where it is.
        """

    @abstractmethod
    def losses(self) -> Array:
        """F of every model, on the host; NaN for one that overflowed."""

    @abstractmethod
    def start_from(self, w: Floats) -> None:
        """Go to coefficients given on the host, of shape (g, d), with intercepts of zero."""

    @abstractmethod
    def point(self) -> GridPoint:
        """Copy where the models stand."""

    @abstractmethod
    def choose(self, mask: Mask, chosen: GridPoint, other: GridPoint) -> GridPoint:
        """Take the models of ``mask`` from ``chosen``, the others from ``other``."""

    @abstractmethod
    def move_to(self, point: GridPoint) -> None:
        """Go to other points, of at most k non-zeros each."""

    @abstractmethod
    def movement(self, before: GridPoint) -> tuple[Array, Array]:
        """‖w − w_before‖² and ‖w_before‖² of every model, on the host."""

    @abstractmethod
    def overflowed(self) -> Mask:
        """Which models left the range of floating-point numbers, on the host."""


def row_scales(
    class_weights: npt.ArrayLike, positive: Array, weight: Array, n_blocks: int, loss: Loss
) -> Array:
    """What the gradient of each row is multiplied by when m blocks are equally likely."""
    weights = np.asarray(class_weights)
    if loss == "logistic":
        scales = np.full(positive.shape, n_blocks / weights.sum())
    else:
        scales = 2.0 * n_blocks / np.where(positive > 0, *weights)
    return scales * weight if weight.size else scales
