"""The squared pairwise loss of AUC maximisation: F, its gradients, its minimiser on a support.

    F(w) = 1/(n₊n₋) Σ_{i positive} Σ_{j negative} (1 − w·(x_i − x_j))²

Proposition 1 of the paper makes it a sum over single rows. With x̄± the class means, δ = x̄₋ − x̄₊
and r the share of positives, F is the mean over rows of

    f̃(w; x) = (w·(x − x̄₊))²/r        on a positive row
             + (w·(x − x̄₋))²/(1 − r)  on a negative row
             + (1 + w·δ)²,

which is 1 + 2 w·δ + wᵀHw with H = S₊ + S₋ + δδᵀ. Nothing here costs more than one read of the
rows. With sample weights, every pair counts with the product of its rows' weights.

Without a limit on the columns the minimiser is Fisher's discriminant with equally weighted classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg

from ._jit import kernel
from .moments import DenseMoments, Moments, SparseMoments, class_moments
from .rows import CSR, Table, add_rows, as_table, compute_scores, score_rows

Floats = npt.NDArray[np.floating]
Indices = npt.NDArray[np.int64]


@kernel
def descend_block(  # type: ignore[no-untyped-def]
    table, rows, positive, weight, mean_positive, mean_negative, scale_positive, scale_negative,
    step, w, support, values, scores, out,
):  # fmt: skip
    """``out = −step · ∇f_B(w)`` for the block B of the given rows.

    Scoring reads the columns of the support only; the rows are then read once. ``scale_±`` is
    2 / (the block's share of all rows × the total weight of the class), which makes the mean of
    ∇f_B over equally likely blocks equal to ∇F, exactly. ``scores`` is scratch space for the block.
    """
    number = out.dtype.type
    score_rows(table, rows, w, support, values, scores)
    u = 0.0  # w·x̄₊
    v = 0.0  # w·x̄₋
    for q in range(support.size):
        u += values[q] * mean_positive[support[q]]
        v += values[q] * mean_negative[support[q]]
    # Values are chosen, not branches: the labels of a block cannot be predicted.
    sum_positive = 0.0
    sum_negative = 0.0
    for i in range(rows.size):
        row = np.uint64(rows[i])
        is_positive = positive[row]
        scale = scale_positive if is_positive else scale_negative
        multiplier = scale * (scores[i] - (u if is_positive else v))
        if weight.size:
            multiplier *= weight[row]
        sum_positive += multiplier if is_positive else 0.0
        sum_negative += 0.0 if is_positive else multiplier
        scores[i] = number(-step * multiplier)
    # Σ multiplier·(x − x̄) + 2 (1 + w·δ) δ, with the means taken out of the sum over rows.
    margin = 2.0 * (1.0 + v - u)
    on_positive = number(step * (sum_positive + margin))
    on_negative = number(step * (sum_negative - margin))
    for j in range(out.size):
        out[j] = on_positive * mean_positive[j] + on_negative * mean_negative[j]
    add_rows(table, rows, scores, out)


@kernel
def loss_of_scores(scores, positive, weight):  # type: ignore[no-untyped-def]
    """F from the scores of all rows: (1 − u + v)² plus the variance of each class."""
    # Two passes: variances of scores with a large common offset keep their digits.
    total_positive = 0.0
    total_negative = 0.0
    u = 0.0
    v = 0.0
    for i in range(scores.size):
        row_weight = weight[i] if weight.size else 1.0
        if positive[i]:
            total_positive += row_weight
            u += row_weight * scores[i]
        else:
            total_negative += row_weight
            v += row_weight * scores[i]
    u /= total_positive
    v /= total_negative
    scatter_positive = 0.0
    scatter_negative = 0.0
    for i in range(scores.size):
        row_weight = weight[i] if weight.size else 1.0
        if positive[i]:
            scatter_positive += row_weight * (scores[i] - u) ** 2
        else:
            scatter_negative += row_weight * (scores[i] - v) ** 2
    return (
        (1.0 - u + v) ** 2 + scatter_positive / total_positive + scatter_negative / total_negative
    )


class AUCObjective:
    """F and its gradients on a table in memory, dense or CSR, which is neither copied nor changed.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d), float32 or float64
    y : array-like of shape (n,)
        Positive where true or greater than zero.
    sample_weight : array-like of shape (n,), optional

    Attributes
    ----------
    moments : Moments
        Class weights and means, and on demand variances and columns of H.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 1.0]])
    >>> objective = AUCObjective(X, [-1, -1, 1])
    >>> objective.value(np.zeros(2))
    1.0
    >>> objective.value(np.array([0.5, 0.0]))  # ((1 − 1.5)² + (1 − 1)²) / 2
    0.125
    """

    def __init__(
        self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> None:
        self.moments: DenseMoments | SparseMoments = class_moments(X, y, sample_weight)
        self.moments.check_both_classes()
        self.table: Table = as_table(X.tocsr() if hasattr(X, "tocsr") else np.asarray(X))
        self.dtype = np.dtype(X.dtype)
        self.n_rows, self.n_features = X.shape
        self.positive = self.moments.positive
        self.weight = self.moments.row_weight
        positive, negative = self.moments.means
        self.mean_positive: Floats = positive.astype(self.dtype, copy=False)
        self.mean_negative: Floats = negative.astype(self.dtype, copy=False)
        for column in np.flatnonzero(~np.isfinite(self.mean_negative - self.mean_positive))[:1]:
            raise ValueError(
                f"the values of column {column} are too large to average in {self.dtype}: "
                "rescale it"
            )

    def scores(self, w: npt.ArrayLike) -> Floats:
        """Compute Xw, reading only the columns where w is not zero."""
        _, support, values = self._parts(w)
        return self.scores_on(support, values)

    def scores_on(self, support: Indices, values: Floats, w: Floats | None = None) -> Floats:
        """Compute Xw for a w given by its non-zeros; CSR needs w itself, made where not given."""
        if w is None:
            w = values  # dense tables are scored from the list of non-zeros alone
            if isinstance(self.table, CSR):
                w = np.zeros(self.n_features, self.dtype)
                w[support] = values
        scores = np.empty(self.n_rows, self.dtype)
        compute_scores(self.table, np.arange(self.n_rows), w, support, values, scores)
        return scores

    def value(self, w: npt.ArrayLike) -> float:
        """Compute F(w) in O(n·k), k the number of non-zeros of w."""
        return self.value_of(self.scores(w))

    def value_on(self, support: Indices, values: Floats, w: Floats | None = None) -> float:
        """Compute F(w) for a w given as in ``scores_on``."""
        return self.value_of(self.scores_on(support, values, w))

    def value_of(self, scores: Floats) -> float:
        """Compute F from the scores of all rows."""
        return float(loss_of_scores(scores, self.positive, self.weight))

    def gradient(self, w: npt.ArrayLike) -> Floats:
        """Compute ∇F(w) = 2δ + 2Hw in one read of the table."""
        return self.block_gradient(w, np.arange(self.n_rows), 1)

    def block_gradient(self, w: npt.ArrayLike, rows: npt.ArrayLike, n_blocks: int) -> Floats:
        """Compute ∇f_B(w) for the block of these rows, one of ``n_blocks`` equally likely."""
        w, support, values = self._parts(w)
        rows = np.asarray(rows, np.int64)
        out = np.empty(self.n_features, self.dtype)
        scale_positive, scale_negative = self.block_scales(n_blocks)
        descend_block(
            self.table, rows, self.positive, self.weight, self.mean_positive, self.mean_negative,
            scale_positive, scale_negative, -1.0, w, support, values,
            np.empty(rows.size, self.dtype), out,
        )  # fmt: skip
        return out

    def block_scales(self, n_blocks: int) -> tuple[float, float]:
        """Factors 2·m/W₊ and 2·m/W₋ of the rows of one among m equally likely blocks."""
        positive, negative = self.moments.weights
        return 2.0 * n_blocks / positive, 2.0 * n_blocks / negative

    def _parts(self, w: npt.ArrayLike) -> tuple[Floats, Indices, Floats]:
        vector = np.asarray(w, self.dtype)
        if vector.shape != (self.n_features,):
            raise ValueError(f"w must have shape ({self.n_features},), got {vector.shape}")
        support = np.flatnonzero(vector)
        return vector, support, vector[support]


def minimise_on_support(
    moments: Moments, support: npt.ArrayLike, alpha: float = 0.0
) -> tuple[npt.NDArray[np.float64], float]:
    """Minimise F(w) + alpha‖w‖² over the w that vanish outside ``support``, in closed form.

    On the support A the minimiser solves (H_AA + alpha I) w_A = −δ_A, and the value there is
    1 + δ_A·w_A.

    Parameters
    ----------
    moments : Moments
        Of the data, or a summary that carries the columns of the support.
    support : array-like of int
        Columns that may be non-zero.
    alpha : float, default=0.0
        Ridge.

    Returns
    -------
    w : ndarray of shape (len(support),)
        The coefficients, in the order of ``support``. When columns are linearly dependent and
        ``alpha`` is 0, the minimisers are many; the one returned has the least norm in units of
        the columns' deviations.
    value : float
        F(w) + alpha‖w‖² at the minimiser.
    """
    if not 0 <= alpha < np.inf:
        raise ValueError(f"alpha must be 0 or more and finite, got {alpha}")
    if np.size(support) == 0:
        return np.empty(0), 1.0
    columns = moments.columns(support)  # which refuses anything but column numbers
    index = np.asarray(support, np.int64)
    if np.unique(index).size != index.size:
        raise ValueError("support names a column twice")
    h = columns[index]
    h.flat[:: index.size + 1] += alpha
    delta = moments.delta[index]
    # Columns may live on scales 1e12 apart: solve in units where the diagonal is one.
    # Rounding can leave less than nothing of a constant column.
    unit = np.sqrt(np.maximum(h.diagonal(), 0.0))
    unit[unit == 0] = 1.0
    correlation = h / np.outer(unit, unit)
    try:
        factor = scipy.linalg.cho_factor(correlation, lower=True, check_finite=False)
        if factor[0].diagonal().min() < 1e-7:
            raise np.linalg.LinAlgError
        w = -scipy.linalg.cho_solve(factor, delta / unit, check_finite=False) / unit
    except np.linalg.LinAlgError:
        # Not by way of a pseudo-inverse: forming one costs the digits of the condition number.
        w = -scipy.linalg.lstsq(correlation, delta / unit, cond=1e-12)[0] / unit
    return w, float(1.0 + 2.0 * delta @ w + w @ h @ w)
