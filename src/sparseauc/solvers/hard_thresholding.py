"""Epochs of the methods that keep the k largest, with a constant or an automatic step."""

from collections.abc import Callable
from typing import Literal

import numpy as np

from ..objective import Descent, Objective, Point
from .bold_driver import BoldDriver
from .epochs import Callback, Epoch, SolverResult, divergence_error, run_epochs


def threshold_in_epochs(
    method: str,
    objective: Objective,
    descent: Descent,
    run_blocks: Callable[[float], bool],
    *,
    loss: Callable[[Point], float],
    first_step: Callable[[], float],
    step_size: float | Literal["auto"],
    max_epochs: int = 50,
    tol: float = 1e-4,
    callback: Callback | None = None,
) -> SolverResult:
    """Run epochs from w_0 of a descent; an automatic step undoes those that raise the loss.

    ``run_blocks`` takes the descent through the blocks of an epoch with a given step, and returns
    False if w overflowed. The automatic step starts from ``first_step()`` and depends on ``loss``.
    The other parameters are those of ``sparseauc.solvers.sht_auc``.
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
