"""HSG-HT: StoIHT with batches that grow.

    minimise  1/n Σ log(1 + exp(−y_i (w·x_i + c))) + alpha/2 ‖w‖²   subject to   ‖w‖₀ ≤ k

Small batches make quick progress at first, large ones remove the noise in the end: batch t holds
⌊τ ζ^t⌋ rows (Zhou, Yuan and Feng, 2018). Use it as a baseline.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

from ..arrays import Indices
from ..blocks import RowBlocks
from ..epochs import SolverResult
from ..objective import AUCObjective
from .sto_iht import LogisticClassifier, LogisticDescent, descend_in_epochs


def growing_batches(
    n: int, initial: float, growth: float, first: int, *, limit: int | None = None
) -> Indices:
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


def batches_of_epochs(n: int, initial: float, growth: float, *, restart: bool) -> Iterator[Indices]:
    """Where the batches of each epoch start, as in ``growing_batches``."""
    if restart:
        limit = math.ceil(math.log((growth - 1) * n / initial + 1) / math.log(growth)) + 1
        yield from repeat(growing_batches(n, initial, growth, 0, limit=limit))
    batches_so_far = 0
    while True:
        starts = growing_batches(n, initial, growth, batches_so_far)
        batches_so_far += starts.size - 1
        yield starts


def hsg_ht(
    objective: AUCObjective,
    k: int,
    *,
    alpha: float = 0.0,
    initial_batch_size: float = 1.0,
    growth: float = 1.033,
    restart_batches: bool = False,
    shuffle: bool = True,
    rng: np.random.Generator | None = None,
    **settings: Any,
) -> SolverResult:
    """Minimise the logistic loss with at most k non-zeros, by batches that grow.

    Parameters
    ----------
    objective : AUCObjective
    k, alpha, initial_batch_size, growth, restart_batches, shuffle
        As for :class:`HSGHTClassifier`. Batches that restart also leave up to a batch of
        rows out at the end of an epoch, as the published program does.
    rng, **settings
        As in :func:`sparseauc_paper.baselines.sto_iht`.

    Returns
    -------
    SolverResult
        With the intercept.
    """
    rng = np.random.default_rng() if rng is None else rng
    rows = objective.rows
    batches = batches_of_epochs(rows.size, initial_batch_size, growth, restart=restart_batches)
    descent = LogisticDescent(objective, min(k, objective.n_features), alpha)

    def run_blocks(step: float) -> bool:
        order = rng.permutation(rows) if shuffle else rows
        starts = next(batches)
        if objective.weight.size:
            sizes = np.add.reduceat(objective.weight[order[: starts[-1]]], starts[:-1])
        else:
            sizes = np.diff(starts)
        drawn = np.arange(starts.size - 1)
        return descent.run(RowBlocks(order, starts), 1.0 / sizes, drawn, step)

    return descend_in_epochs("HSG-HT", descent, run_blocks, **settings)


@dataclass(kw_only=True, eq=False, repr=False)
class HSGHTClassifier(LogisticClassifier):
    """Classify with at most k columns: StoIHT with batches that grow from one row to all.

    Minimises 1/n Σ log(1 + exp(−y_i(w·x_i + c))) + alpha/2 ‖w‖² subject to ‖w‖₀ ≤ k; batch t
    holds ⌊τ ζ^t⌋ rows.

    Parameters
    ----------
    k, step_size, alpha
        As for :class:`StoIHTClassifier`.
    initial_batch_size : float, default=1.0
        τ, rows of the first batch.
    growth : float, default=1.033
        ζ, factor from batch to batch.
    restart_batches : bool, default=False
        Start again with the smallest batch in every epoch, as the program published with SHT-AUC
        does.
    shuffle : bool, default=True
        Take the rows in a fresh random order every epoch; otherwise in the given order.
    max_epochs, tol, warm_start, record_history, random_state, verbose
        As for :class:`SHTAUCClassifier`.

    Attributes
    ----------
    coef_, intercept_, logistic_intercept_, classes_, n_iter_, history_, objective_
        As for :class:`StoIHTClassifier`.

    References
    ----------
    P. Zhou, X. Yuan and J. Feng, "Efficient stochastic gradient hard thresholding", Advances in
    Neural Information Processing Systems, 2018.
    """

    initial_batch_size: float = 1.0
    growth: float = 1.033
    restart_batches: bool = False

    _parameter_constraints = LogisticClassifier._parameter_constraints | {
        "initial_batch_size": [Interval(Real, 1, None, closed="left")],
        "growth": [Interval(Real, 1, None, closed="neither")],
        "restart_batches": ["boolean"],
    }
    _solver = staticmethod(hsg_ht)
