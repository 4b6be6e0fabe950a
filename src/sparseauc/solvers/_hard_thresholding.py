"""Epochs of the methods that keep the k largest, with a constant or an automatic step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from ..objective import Descent, Objective, Point
from ._bold_driver import BoldDriver
from ._epochs import Callback, Epoch, SolverResult, divergence_error, run_epochs


def threshold_in_epochs(
    method: str,
    objective: Objective,
    descent: Descent,
    run_blocks: Callable[[float], bool],
    *,
    loss: Callable[[Point], float],
    first_step: Callable[[], float],
    step_size: float | Literal["auto"],
    max_epochs: int,
    tol: float,
    callback: Callback | None,
) -> SolverResult:
    """Run an epoch, ask the driver, undo what strayed.

    Parameters
    ----------
    method : str
        Its name, for messages.
    objective : Objective
    descent : Descent
        At w_0.
    run_blocks : callable
        Takes the descent through the blocks of an epoch with a step; False when w overflowed.
    loss : callable
        What the automatic step watches.
    first_step : callable
        A step of the right order, for the automatic one to begin with.
    step_size, max_epochs, tol, callback
        As in :func:`sparseauc.solvers.sht_auc`.
    """
    start = descent.point()
    driver = None
    if isinstance(step_size, str):
        driver = BoldDriver(first_step(), start, loss(start), max_epochs)

    def run_epoch(number: int) -> Epoch:
        step = float(step_size) if driver is None else float(driver.step(number))
        finite = run_blocks(step)
        point, undone = descent.point(), False
        if driver is not None:
            strayed, point = driver.update(point, loss(point) if finite else np.inf)
            undone = bool(strayed)
            if undone:
                descent.move_to(point)
        elif not finite:
            raise divergence_error(method, number, step)
        return Epoch(point.w, step, undone)

    result = run_epochs(
        objective, run_epoch, start=start.w, max_epochs=max_epochs, tol=tol, callback=callback
    )
    last = descent.point() if driver is None else driver.best
    return result._replace(**last.w._asdict(), intercept=last.intercept)
