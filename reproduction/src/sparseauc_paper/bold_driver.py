"""The automatic step: grows while the loss stays near its best, and undoes epochs that raise it."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np

from .arrays import Array, Mask

Where = TypeVar("Where")

# Those of the library's SHT-AUC.
_START = 0.3
_GROW = 1.1
_SHRINK = 0.7
_STRAY = 1.2
_SETTLING = 0.3
_SETTLED = 0.1


class BoldDriver(Generic[Where]):
    """Adapts step sizes to a loss and remembers the best point, of one fit or of many.

    It starts at 0.3 times a given step. After an epoch that leaves the loss within 20 % of the best
    value seen, the step grows by a tenth; otherwise the method returns to the best point and the
    step shrinks by three tenths. Over the last three tenths of the epochs it no longer grows and is
    reduced gradually, to a tenth, so that the coefficients settle.

    Parameters
    ----------
    step : float or ndarray of shape (g,)
        A step of the right order, such as the one that is exact along the first gradient.
    point, value
        Where the run starts, and the loss there.
    max_epochs : int
    choose : callable, optional
        ``choose(mask, chosen, other)`` takes the models of the mask from one point and the others
        from another; needed for more than one model.
    """

    def __init__(
        self,
        step: Any,
        point: Where,
        value: Any,
        max_epochs: int,
        choose: Callable[[Mask, Where, Where], Where] | None = None,
    ) -> None:
        self.best = point
        self._best_value: Array = np.asarray(value, np.float64)
        self._bold: Array = _START * np.asarray(step, np.float64)
        self._max_epochs = max_epochs
        self._choose = choose or _choose_one
        self._settled = 0.0  # 0 while exploring, then up to 1

    def step(self, epoch: int) -> Array:
        """Step for an epoch, counted from 1."""
        left = (self._max_epochs - epoch) / self._max_epochs
        self._settled = max(0.0, 1.0 - left / _SETTLING)
        return np.asarray(self._bold * _SETTLED**self._settled)

    def update(self, point: Where, value: Any, active: Any = True) -> tuple[Mask, Where]:
        """Update after an epoch that ended at a point with this loss, NaN after an overflow.

        ``active`` are the models that took part. Returns whether the epoch is undone, and the point
        to continue from.
        """
        undone: Mask = active & ~np.asarray(value <= _STRAY * self._best_value)
        better: Mask = active & np.asarray(value < self._best_value)
        growth = np.where(active, _GROW if self._settled == 0.0 else 1.0, 1.0)
        self._bold = self._bold * np.where(undone, _SHRINK, growth)
        if better.any():
            self.best = self._choose(better, point, self.best)
            self._best_value = np.where(better, value, self._best_value)
        if undone.any():
            point = self._choose(undone, self.best, point)
        return undone, point


def _choose_one(mask: Mask, chosen: Where, other: Where) -> Where:
    return chosen if mask else other
