"""HSG-HT: StoIHT with batches that grow.

    minimise    1/n Σ log(1 + exp(−y_i (w·x_i + c))) + alpha/2 ‖w‖²
    subject to  ‖w‖₀ ≤ k

Small batches make quick progress at first, large ones remove the noise in the end:
batch t holds ⌊τ ζ^t⌋ rows (Zhou, Yuan and Feng, 2018). Use it as a baseline.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval

from ..arrays import Indices
from ..blocks import RowBlocks
from ..objective import AUCObjective
from ..thresholding import Visits
from .sto_iht import LogisticClassifier


def growing_batches(
    n: int, initial: float, growth: float, first: int, *, limit: int | None = None
) -> Indices:
    """Where batches of ⌊initial · growth^t⌋ rows start, t = first, first + 1, …, until n rows end.

    Returns the starts and, last, the end. The last batch is cut at n. ``limit`` bounds
    the number of batches, and with it rows are left out; n − 1 rows then count as all.
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


def batches_of_epochs(
    n: int, initial: float, growth: float, *, restart: bool
) -> Iterator[Indices]:
    """Where the batches of each epoch start, as in ``growing_batches``."""
    if restart:
        limit = (
            math.ceil(math.log((growth - 1) * n / initial + 1) / math.log(growth)) + 1
        )
        yield from repeat(growing_batches(n, initial, growth, 0, limit=limit))
    batches_so_far = 0
    while True:
        starts = growing_batches(n, initial, growth, batches_so_far)
        batches_so_far += starts.size - 1
        yield starts


def visit_growing_batches(
    n: int,
    initial: float,
    growth: float,
    rng: np.random.Generator,
    *,
    restart: bool,
    shuffle: bool,
) -> Iterator[Visits]:
    """Yield the epochs of HSG-HT: batches in the order in which they grow."""
    for starts in batches_of_epochs(n, initial, growth, restart=restart):
        order = rng.permutation(n) if shuffle else np.arange(n)
        sizes = np.diff(starts)
        scales = np.repeat(1.0 / sizes, 2).reshape(-1, 2)
        yield Visits(RowBlocks(order, starts), scales, np.arange(sizes.size))


@dataclass(kw_only=True, eq=False, repr=False)
class HSGHTClassifier(LogisticClassifier):
    """Classify with at most k columns: StoIHT with batches that grow from one row to all.

    Minimises 1/n Σ log(1 + exp(−y_i(w·x_i + c))) + alpha/2 ‖w‖² subject to ‖w‖₀ ≤ k;
    batch t holds ⌊τ ζ^t⌋ rows.

    Parameters
    ----------
    k, step_size, alpha
        As for :class:`StoIHTClassifier`.
    initial_batch_size : float, default=1.0
        τ, rows of the first batch.
    growth : float, default=1.033
        ζ, factor from batch to batch.
    restart_batches : bool, default=False
        Start again with the smallest batch in every epoch, as the program published
        with SHT-AUC does.
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
    P. Zhou, X. Yuan and J. Feng, "Efficient stochastic gradient hard thresholding",
    Advances in Neural Information Processing Systems, 2018.
    """

    initial_batch_size: float = 1.0
    growth: float = 1.033
    restart_batches: bool = False

    _parameter_constraints = LogisticClassifier._parameter_constraints | {
        "initial_batch_size": [Interval(Real, 1, None, closed="left")],
        "growth": [Interval(Real, 1, None, closed="neither")],
        "restart_batches": ["boolean"],
    }

    def _epochs(
        self, objective: AUCObjective, rng: np.random.Generator
    ) -> Iterator[Visits]:
        return visit_growing_batches(
            objective.n_rows,
            self.initial_batch_size,
            self.growth,
            rng,
            restart=self.restart_batches,
            shuffle=self.shuffle,
        )
