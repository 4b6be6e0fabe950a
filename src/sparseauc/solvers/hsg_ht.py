"""HSG-HT: StoIHT with batches that grow.

    minimise  1/n Σ log(1 + exp(−y_i (w·x_i + c))) + alpha/2 ‖w‖²   subject to   ‖w‖₀ ≤ k

Small batches make quick progress at first, large ones remove the noise in the end: batch t holds
⌊τ ζ^t⌋ rows (Zhou, Yuan and Feng, 2018). Use it as a baseline.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..objective import AUCObjective
from ._epochs import Callback, Epoch, SolverResult, run_epochs
from ._hard_thresholding import counted_rows
from .sto_iht import LogisticThresholding, Schedule


def growing_batches(
    n: int, initial: float, growth: float, first: int, *, limit: int | None = None
) -> npt.NDArray[np.int64]:
    """Where batches of ⌊initial · growth^t⌋ rows start, t = first, first + 1, …, until n rows end.

    Returns the starts and, last, the end. The last batch is cut at n. ``limit`` bounds the number
    of batches, and with it rows are left out; n − 1 rows then count as all.
    """
    starts = [0]
    t = first
    enough = n if limit is None else max(1, n - 1)
    while starts[-1] < enough and (limit is None or len(starts) <= limit):
        # Beyond this exponent a batch holds all rows; the power itself would overflow.
        full = t * math.log(growth) >= math.log(n / initial)
        size = n if full else max(1, math.floor(initial * growth**t))
        starts.append(min(n, starts[-1] + size))
        t += 1
    return np.array(starts)


def hsg_ht(
    objective: AUCObjective,
    k: int,
    *,
    step_size: float | Literal["auto"] = "auto",
    alpha: float = 0.0,
    initial_batch_size: float = 1.0,
    growth: float = 1.033,
    restart_batches: bool = False,
    max_epochs: int = 50,
    tol: float = 1e-4,
    shuffle: bool = True,
    start: npt.ArrayLike | None = None,
    callback: Callback | None = None,
    rng: np.random.Generator | None = None,
) -> SolverResult:
    """Minimise the logistic loss with at most k non-zeros, by batches that grow.

    Parameters
    ----------
    objective : AUCObjective
        The data; the loss minimised is the logistic one.
    k : int
        Largest number of non-zeros; the intercept does not count.
    step_size : float or "auto", default="auto"
        Step on the mean logistic gradient of a batch.
    alpha : float, default=0.0
        Ridge.
    initial_batch_size : float, default=1.0
        τ, rows of the first batch.
    growth : float, default=1.033
        ζ, factor from batch to batch.
    restart_batches : bool, default=False
        Begin again with the smallest batch in every epoch, as the program published with SHT-AUC
        does (which also leaves up to a batch of rows out at the end of an epoch). Otherwise batches
        go on growing over the whole run, as the method is defined.
    shuffle : bool, default=True
        Take the rows in a fresh random order every epoch; otherwise in the given order.
    max_epochs, tol, start, callback, rng
        As in :func:`sparseauc.solvers.sht_auc`.

    Returns
    -------
    SolverResult
        With the intercept.
    """
    rng = np.random.default_rng() if rng is None else rng
    rows = counted_rows(objective)
    n = rows.size
    method = LogisticThresholding(objective, k, alpha, step_size, start, max_epochs, "HSG-HT")
    restarted = growing_batches(
        n, initial_batch_size, growth, 0,
        limit=math.ceil(math.log((growth - 1) * n / initial_batch_size + 1) / math.log(growth)) + 1,
    )  # fmt: skip
    batches_so_far = 0

    def run_epoch(number: int) -> Epoch:
        nonlocal batches_so_far
        order = rng.permutation(rows) if shuffle else rows
        if restart_batches:
            starts = restarted
        else:
            starts = growing_batches(n, initial_batch_size, growth, batches_so_far)
            batches_so_far += starts.size - 1
        if objective.weight.size:
            sizes = np.add.reduceat(objective.weight[order[: starts[-1]]], starts[:-1])
        else:
            sizes = np.diff(starts)
        return method.epoch(
            number, Schedule(order, starts, np.arange(starts.size - 1), 1.0 / sizes)
        )

    return method.result(
        run_epochs(
            objective, run_epoch, start=method.iterate.copy(), max_epochs=max_epochs, tol=tol,
            callback=callback,
        )
    )  # fmt: skip
