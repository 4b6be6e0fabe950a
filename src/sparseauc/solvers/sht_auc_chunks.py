"""SHT-AUC where a block is a chunk: rows stay on disk or with the workers of a cluster.

A step sends the non-zeros of w to where the next chunk is and brings back the gradient of that
block, d numbers. Everything else is ``solvers/sht_auc.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from ..blocks import BlockOrder, RowBlocks
from ..chunks import Chunks, Pass, score_chunks
from ..moments.chunked import chunked_moments
from ..objective import AUCObjective, Floats, Indices, descend_block, loss_of_scores
from ..rows import as_table, read_only
from ._epochs import Callback, SolverResult
from ._hard_thresholding import Iterate, threshold_step
from .sht_auc import threshold_in_epochs

Array = npt.NDArray[np.float64]


class ChunkObjective:
    """F on rows that are read in chunks, with the attributes solvers ask of ``AUCObjective``.

    Parameters
    ----------
    chunks : Chunks
    positive : bool ndarray of shape (n,)
    weight : float64 ndarray of shape (n,) or None
    """

    def __init__(
        self, chunks: Chunks, positive: npt.NDArray[np.bool_], weight: Array | None
    ) -> None:
        self.chunks = chunks
        self.n_rows, self.n_features = chunks.shape
        self.dtype = chunks.dtype
        self.positive = positive
        self.weight: Array = np.empty(0) if weight is None else weight
        self.moments = chunked_moments(chunks, positive, weight, products=False)
        self.moments.check_both_classes()
        positive_mean, negative_mean = self.moments.means
        self.mean_positive: Floats = positive_mean.astype(self.dtype)
        self.mean_negative: Floats = negative_mean.astype(self.dtype)

    @property
    def known(self) -> list[npt.NDArray[Any]]:
        """What is known of each row: its class, and its weight where rows have any."""
        return [self.positive, self.weight] if self.weight.size else [self.positive]

    def scores_on(self, support: Indices, values: Floats, w: Floats | None = None) -> Floats:
        """Compute Xw for a w given by its non-zeros, reading these columns only."""
        del w
        coef = np.zeros(self.n_features, self.dtype)
        coef[support] = values
        return score_chunks(self.chunks, coef, self.dtype.type(0))

    def value(self, w: Floats) -> float:
        """Compute F(w) in a reading of the columns where w is not zero."""
        support = np.flatnonzero(w)
        return self.value_on(support, w[support])

    def value_on(self, support: Indices, values: Floats, w: Floats | None = None) -> float:
        """Compute F(w) for a w given by its non-zeros; a few numbers a chunk travel."""
        del w
        if support.size == 0:
            return 1.0
        coef = np.asarray(values, np.float64)
        centres = [float(mean[support] @ coef) for mean in self.moments.means]
        scatters = self.chunks.run(_Scatter(coef, centres), *self.known, columns=support)
        positive, negative = scatters / np.array(self.moments.weights)
        return float((1.0 + centres[1] - centres[0]) ** 2 + positive + negative)

    def value_of(self, scores: Floats) -> float:
        """Compute F from the scores of all rows."""
        return float(loss_of_scores(scores, self.positive, self.weight))

    def block_scales(self, n_blocks: int) -> tuple[float, float]:
        """Factors 2·m/W₊ and 2·m/W₋ of the rows of one among m equally likely blocks."""
        positive, negative = self.moments.weights
        return 2.0 * n_blocks / positive, 2.0 * n_blocks / negative


def sht_auc_chunks(
    objective: ChunkObjective,
    k: int,
    *,
    step_size: float | Literal["auto"] = "auto",
    max_epochs: int = 50,
    tol: float = 1e-4,
    block_order: BlockOrder = "replacement",
    start: npt.ArrayLike | None = None,
    callback: Callback | None = None,
    rng: np.random.Generator | None = None,
) -> SolverResult:
    """Run :func:`sparseauc.solvers.sht_auc` with the chunks of a table as its blocks.

    Parameters
    ----------
    objective : ChunkObjective
        The data.
    k, step_size, max_epochs, tol, block_order, start, callback, rng
        As in :func:`sparseauc.solvers.sht_auc`. Chunks of files other than memory maps are best
        visited in order, ``block_order="cyclic"``. A callback asks for the scores of all rows.

    Returns
    -------
    SolverResult
    """
    rng = np.random.default_rng() if rng is None else rng
    chunks, d, dtype = objective.chunks, objective.n_features, objective.dtype
    k = min(k, d)
    numbers = np.flatnonzero(chunks.sizes)
    # Which rows a block holds is the chunks' affair; here blocks are only counted and ordered.
    blocks = RowBlocks(np.empty(0, np.int64), np.arange(numbers.size + 1))
    constant = np.flatnonzero(~objective.moments.varies)
    magnitudes = np.empty(d, dtype)
    scales = objective.block_scales(numbers.size)

    def run_blocks(iterate: Iterate, step: float) -> None:
        chunks.n_passes += 1
        for number in numbers[blocks.visiting_order(block_order, rng)].tolist():
            work = _Descend(
                objective.mean_positive, objective.mean_negative, *scales, step, *iterate.copy()
            )
            candidate = chunks.run_on(number, work, *objective.known)
            iterate.size = threshold_step(
                candidate, constant, k, iterate.w, iterate.support, iterate.values, iterate.size,
                magnitudes,
            )  # fmt: skip
            if iterate.size < 0:
                break

    return threshold_in_epochs(
        objective, Iterate(cast(AUCObjective, objective), k, start), run_blocks,
        step_size=step_size, max_epochs=max_epochs, tol=tol, callback=callback,
    )  # fmt: skip


@dataclass(frozen=True)
class _Descend(Pass[Floats]):
    """−γ ∇f_B(w) for the block of a chunk's rows."""

    mean_positive: Floats
    mean_negative: Floats
    scale_positive: float
    scale_negative: float
    step: float
    support: Indices
    values: Floats

    def add(self, state: Floats | None, X: Any, start: int, *known: npt.NDArray[Any]) -> Floats:
        """Compute the step of one chunk."""
        del state, start
        dtype = self.mean_positive.dtype
        w = np.zeros(self.mean_positive.size, dtype)
        w[self.support] = self.values
        n = X.shape[0]
        out = np.empty_like(w)
        weight = known[1] if len(known) > 1 else np.empty(0)
        descend_block(
            as_table(X.astype(dtype, copy=False)), np.arange(n), read_only(known[0]),
            read_only(weight), self.mean_positive, self.mean_negative, self.scale_positive,
            self.scale_negative, self.step, w, self.support, self.values, np.empty(n, dtype), out,
        )  # fmt: skip
        return out

    def merge(self, first: Floats, second: Floats) -> Floats:
        """Never called: a block is one chunk."""
        raise NotImplementedError


class _Scatter(Pass[Array]):
    """Σ weight · (score − centre)² of each class."""

    def __init__(self, values: Array, centres: list[float]) -> None:
        self._values = values
        self._centres = centres

    def add(self, state: Array | None, X: Any, start: int, *known: npt.NDArray[Any]) -> Array:
        """Add the rows of a chunk."""
        del start
        scores = X @ self._values
        positive, weight = known[0], known[1] if len(known) > 1 else np.ones(scores.size)
        sums = [
            weight[mask] @ (scores[mask] - centre) ** 2
            for mask, centre in zip((positive, ~positive), self._centres, strict=True)
        ]
        return np.array(sums) if state is None else state + sums

    def merge(self, first: Array, second: Array) -> Array:
        """Add up."""
        return first + second
