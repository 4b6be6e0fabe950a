"""Many models fitted to the same blocks: what the epochs of a grid ask of NumPy and of torch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Loss = Literal["auc", "logistic"]


class Point(NamedTuple):
    """Where all models stand."""

    w: Any
    intercept: Any


class Models(ABC):
    """s × g models: g on each of s training sets, all of which visit the same block positions.

    A home for arrays provides ``epoch``, the heavy part, and the few operations below, which
    happen once an epoch.

    Attributes
    ----------
    shape : tuple of int
        s and g.
    w : array of shape (s, g, d)
        Coefficients. Those of a model that overflowed are NaN from then on.
    intercept : array of shape (s, g)
    """

    shape: tuple[int, int]
    w: Any
    intercept: Any

    @abstractmethod
    def epoch(
        self, drawn: npt.NDArray[np.int64], steps: Array, decays: Array, shrinks: Array
    ) -> None:
        """Visit the blocks ``drawn``: w ← shrink · H_k(decay · w − step · ∇f_B(w)).

        The factors have the shape (s, g). A model of step 0 stays exactly where it is.
        """

    @abstractmethod
    def losses(self) -> Array:
        """F of every model, on the host."""

    @abstractmethod
    def exact_first_steps(self) -> Array:
        """The step that is exact along the first gradient of F, of every model."""

    @abstractmethod
    def as_point(self, w: npt.NDArray[np.floating]) -> Point:
        """Coefficients given on the host, of shape (s, g, d), with intercepts of zero."""

    @abstractmethod
    def point(self) -> Point:
        """Copy where the models stand."""

    @abstractmethod
    def mixed(self, mask: Mask, chosen: Point, other: Point) -> Point:
        """Take the models of ``mask`` from ``chosen``, the others from ``other``."""

    @abstractmethod
    def set(self, point: Point) -> None:
        """Go to other points, of at most k non-zeros each."""

    @abstractmethod
    def movement(self, before: Point) -> tuple[Array, Array]:
        """‖w − w_before‖² and ‖w_before‖² of every model, on the host."""

    @abstractmethod
    def overflowed(self) -> Mask:
        """Which models left the range of floating-point numbers, on the host."""
