"""What every stochastic method shares: the loop over epochs, its record, its end."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sparseauc.metrics import auc

from .arrays import Floats, Indices
from .objective import AUCObjective, SparseVector


class EpochRecord(NamedTuple):
    """What a callback sees after an epoch.

    Attributes
    ----------
    epoch : int
        Counted from 1.
    objective : float
        F, the squared pairwise loss, whatever loss the method itself minimises.
    auc : float
        AUC on the training rows.
    support_size : int
        Number of non-zeros.
    step_size : float
        Step used in the epoch (the last, where it changes within).
    support, values : ndarrays
        Columns that are not zero, ascending, and their coefficients.
    """

    epoch: int
    objective: float
    auc: float
    support_size: int
    step_size: float
    support: Indices
    values: Floats


Callback = Callable[[EpochRecord], bool | None]


class SolverResult(NamedTuple):
    """Outcome of a run.

    Attributes
    ----------
    support, values : ndarrays
        Columns chosen, ascending, and their coefficients.
    n_epochs : int
    converged : bool
        Whether w moved by less than ``tol`` over the last epoch.
    step_size : float
        Step of the last epoch.
    intercept : float
        Of the methods that train one; 0 for the others, as a ranking needs none.
    """

    support: Indices
    values: Floats
    n_epochs: int
    converged: bool
    step_size: float
    intercept: float = 0.0

    def dense(self, n_features: int) -> Floats:
        """Return the coefficients of all columns."""
        return SparseVector(self.support, self.values).dense(n_features)


class Epoch(NamedTuple):
    """What a method reports of the epoch it ran.

    Attributes
    ----------
    w : SparseVector
        The answer if the run ended here.
    step_size : float
    undone : bool
        Whether w was set back to an earlier iterate, and so may stand still without convergence.
    """

    w: SparseVector
    step_size: float
    undone: bool = False


def run_epochs(
    objective: AUCObjective,
    run_epoch: Callable[[int], Epoch],
    *,
    start: SparseVector,
    max_epochs: int = 50,
    tol: float = 1e-4,
    callback: Callback | None = None,
) -> SolverResult:
    """Run epochs until w moves by less than ``tol`` times its norm over one, or the callback stops.

    F and the training AUC cost a scoring pass and a sort, so they are only computed for a callback.
    """
    last = Epoch(start, 0.0)
    for number in range(1, max_epochs + 1):
        before = last
        last = run_epoch(number)
        moved = not last.undone and tol > 0.0
        converged = moved and _moved_less_than(tol, before.w, last.w, objective.n_features)
        stopped = False
        if callback is not None:
            stopped = bool(callback(_record(objective, number, last)))
        if converged or stopped:
            return SolverResult(*last.w, number, converged, last.step_size)
    return SolverResult(*last.w, max_epochs, False, last.step_size)


def _record(objective: AUCObjective, number: int, last: Epoch) -> EpochRecord:
    scores = objective.scores_on(*last.w)
    weight: Any = objective.weight if objective.weight.size else None
    return EpochRecord(
        number,
        objective.value_of(scores),
        auc(objective.positive, scores, weight),
        last.w.support.size,
        last.step_size,
        *last.w,
    )


def divergence_error(method: str, epoch: int, step_size: float) -> ValueError:
    """Error for a run whose coefficients left the range of floating-point numbers."""
    return ValueError(
        f"{method} diverged in epoch {epoch} with step_size={step_size:g}: give a smaller one, "
        "or rescale the columns"
    )


def _moved_less_than(
    tol: float, before: SparseVector, after: SparseVector, n_features: int
) -> bool:
    """Whether ‖after − before‖ < tol·‖before‖."""
    moved = np.zeros(n_features)
    moved[after.support] = after.values
    length = before.values.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        moved[before.support] -= length
        return bool(moved @ moved < tol**2 * (length @ length))
