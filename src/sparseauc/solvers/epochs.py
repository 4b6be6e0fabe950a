"""What every stochastic solver shares: the loop over epochs, its record, its end."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..metrics import fast_auc
from ..objective import Floats, Indices, Objective, SparseVector


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
    scores : ndarray of shape (n,)
        Scores of all rows, those of weight zero too.
    """

    epoch: int
    objective: float
    auc: float
    support_size: int
    step_size: float
    support: Indices
    values: Floats
    scores: Floats


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
        w = np.zeros(n_features, self.values.dtype)
        w[self.support] = self.values
        return w


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
    objective: Objective,
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
        before, last = last, run_epoch(number)
        converged = not last.undone and _moved_less_than(
            tol, before.w, last.w, objective.n_features
        )
        stopped = False
        if callback is not None:
            scores = objective.scores_on(*last.w)
            weight = objective.weight if objective.weight.size else None
            record = EpochRecord(
                number,
                objective.value_of(scores),
                fast_auc(scores, objective.positive, weight),
                last.w.support.size,
                last.step_size,
                *last.w,
                scores,
            )
            stopped = bool(callback(record))
        if converged or stopped:
            return SolverResult(*last.w, number, converged, last.step_size)
    return SolverResult(*last.w, max_epochs, False, last.step_size)


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
    if tol == 0.0:
        return False
    moved, length = np.zeros(n_features), before.values.astype(np.float64)
    moved[after.support] = after.values
    with np.errstate(over="ignore", invalid="ignore"):
        moved[before.support] -= length
        return bool(moved @ moved < tol**2 * (length @ length))
