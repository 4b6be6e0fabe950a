"""The automatic step: grow while the loss stays near its best, take back an epoch that strayed."""

from __future__ import annotations

from typing import Generic, TypeVar

Point = TypeVar("Point")

# Compared on the designs of benchmarks/sht_auc_step.py: a larger start or a faster growth wastes
# epochs on steps that are undone, and settling is worth 1 to 2 % of F.
_START, _GROW, _SHRINK, _STRAY = 0.3, 1.1, 0.7, 1.2
_SETTLING, _SETTLED = 0.3, 0.1


class BoldDriver(Generic[Point]):
    """Adapts a step size to the course of a loss and remembers the best point.

    It starts at 0.3 times a given step. After an epoch that leaves the loss within 20 % of the best
    value seen the step grows by a tenth; otherwise the method is to return to the best point, and
    the step shrinks by three tenths. So it stays at the edge of stability, where supports are
    explored, and the loss never ends above its value at the start. Over the last three tenths of
    the epochs it grows no more and is cut down gradually, to a tenth, so that the coefficients
    settle.

    Parameters
    ----------
    step : float
        A step of the right order, such as the one that is exact along the first gradient.
    point, value
        Where the run starts, and the loss there.
    max_epochs : int
        Epochs of the run.
    """

    def __init__(self, step: float, point: Point, value: float, max_epochs: int) -> None:
        self.best = point
        self.best_value = value
        self._bold = _START * step
        self._max_epochs = max_epochs
        self._settled = 0.0  # 0 while exploring, then up to 1

    def step(self, epoch: int) -> float:
        """Step for an epoch, counted from 1."""
        left = (self._max_epochs - epoch) / self._max_epochs
        self._settled = max(0.0, 1.0 - left / _SETTLING)
        return self._bold * float(_SETTLED**self._settled)

    def strayed(self, point: Point, value: float) -> bool:
        """Take note of the point an epoch ended at; True when it has to be undone."""
        stray = not value <= _STRAY * self.best_value
        if stray:
            self._bold *= _SHRINK
        elif self._settled == 0.0:
            self._bold *= _GROW
        if value < self.best_value:
            self.best, self.best_value = point, value
        return stray
