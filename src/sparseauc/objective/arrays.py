"""F and its gradients on rows in memory."""

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import overload

from ..moments import DenseMoments, SparseMoments, class_moments
from ..rows import CSR, Table, add_rows, as_table, compute_scores, score_rows
from ..utils.jit import FAST, kernel
from ..utils.types import Floats, Indices
from ._protocol import Objective
from .thresholding import ArrayDescent, Iterate, Rows, deal_blocks, descend_block


class PairwiseLoss(NamedTuple):
    """What the gradient of f_B needs besides the block's rows."""

    mean_positive: Floats
    mean_negative: Floats
    # 2 / (the block's share of all rows × the total weight of the class), which makes the mean of
    # ∇f_B over equally likely blocks equal to ∇F, exactly.
    scale_positive: float
    scale_negative: float

    @classmethod
    def of_blocks(cls, objective: Objective, n_blocks: int) -> Self:
        """When m blocks are equally likely."""
        means = objective.mean_positive, objective.mean_negative
        return cls(*means, *objective.block_scales(n_blocks))


@overload(descend_block, jit_options={"fastmath": FAST})
def _descend_pairwise(loss, rows, block, i, step, iterate):  # type: ignore[no-untyped-def]  # noqa: ARG001
    if not (isinstance(loss, types.NamedTuple) and loss.instance_class is PairwiseLoss):
        return None

    def descend(loss, rows, block, i, step, iterate):  # type: ignore[no-untyped-def]  # noqa: ARG001
        # Scoring reads the columns of the support only; the rows are then read once.
        mean_positive, mean_negative = loss.mean_positive, loss.mean_negative
        positive, weight, out = rows.positive, rows.weight, iterate.candidate
        support = iterate.support[: iterate.size[0]]
        values = iterate.values[: iterate.size[0]]
        number = out.dtype.type
        scores = np.empty(block.size, out.dtype)
        score_rows(rows.table, block, iterate.w, support, values, scores)
        u = 0.0  # w·x̄₊
        v = 0.0  # w·x̄₋
        for q in range(support.size):
            u += values[q] * mean_positive[support[q]]
            v += values[q] * mean_negative[support[q]]
        # Values are chosen, not branches: the labels of a block cannot be predicted.
        sum_positive = 0.0
        sum_negative = 0.0
        for q in range(block.size):
            row = np.uint64(block[q])
            is_positive = positive[row]
            scale = loss.scale_positive if is_positive else loss.scale_negative
            multiplier = scale * (scores[q] - (u if is_positive else v))
            if weight.size:
                multiplier *= weight[row]
            sum_positive += multiplier if is_positive else 0.0
            sum_negative += 0.0 if is_positive else multiplier
            scores[q] = number(-step * multiplier)
        # Σ multiplier·(x − x̄) + 2 (1 + w·δ) δ, with the means taken out of the sum over rows.
        margin = 2.0 * (1.0 + v - u)
        on_positive = number(step * (sum_positive + margin))
        on_negative = number(step * (sum_negative - margin))
        for j in range(out.size):
            out[j] = on_positive * mean_positive[j] + on_negative * mean_negative[j]
        add_rows(rows.table, block, scores, out)

    return descend


@kernel
def compute_descent(loss, rows, block, step, iterate):  # type: ignore[no-untyped-def]
    """Call ``descend_block`` from Python."""
    descend_block(loss, rows, block, 0, step, iterate)


class AUCObjective(Objective):
    """The objective F and its gradients on a dense array or CSR matrix, which is not copied.

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
        moments = class_moments(X, y, sample_weight)
        assert isinstance(moments, DenseMoments | SparseMoments)
        self.moments = moments
        self.table: Table = as_table(X.tocsr() if hasattr(X, "tocsr") else np.asarray(X))
        self._set_rows(X, moments.positive, moments.row_weight, moments)

    @property
    def rows(self) -> Rows:
        """The training set, as kernels take it."""
        return Rows(self.table, self.positive, self.weight, np.flatnonzero(~self.varies))

    def descent(
        self, k: int, *, batch_size: int, shuffle: bool, rng: np.random.Generator
    ) -> ArrayDescent:
        """Deal the rows to blocks and begin Algorithm 1 at w = 0."""
        rows = self.rows
        blocks = deal_blocks(rows.counted, batch_size, shuffle=shuffle, rng=rng)
        iterate = Iterate.zeros(self.n_features, k, self.dtype)
        return ArrayDescent(rows, PairwiseLoss.of_blocks(self, len(blocks)), blocks, iterate)

    def scores(self, w: npt.ArrayLike) -> Floats:
        """Compute Xw, reading only the columns where w is not zero."""
        return self.scores_on(*self._non_zeros(w))

    def scores_on(self, support: Indices, values: Floats) -> Floats:
        """Compute Xw for a w given by its non-zeros."""
        w = values  # dense tables are scored from the list of non-zeros alone
        if isinstance(self.table, CSR):
            w = np.zeros(self.n_features, self.dtype)
            w[support] = values
        scores = np.empty(self.n_rows, self.dtype)
        compute_scores(self.table, np.arange(self.n_rows), w, support, values, scores)
        return scores

    def gradient(self, w: npt.ArrayLike) -> Floats:
        """Compute ∇F(w) = 2δ + 2Hw in one read of the table."""
        return self.block_gradient(w, np.arange(self.n_rows), 1)

    def block_gradient(self, w: npt.ArrayLike, rows: npt.ArrayLike, n_blocks: int) -> Floats:
        """Compute ∇f_B(w) for the block of these rows, one of ``n_blocks`` equally likely."""
        vector = self._non_zeros(w)
        iterate = Iterate.zeros(self.n_features, vector.support.size, self.dtype)
        iterate.move_to(vector)
        compute_descent(
            PairwiseLoss.of_blocks(self, n_blocks),
            self.rows,
            np.asarray(rows, np.int64),
            -1.0,
            iterate,
        )
        return iterate.candidate
