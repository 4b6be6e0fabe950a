"""F and SHT-AUC's blocks where rows are read in chunks: on disk, or with the workers of a cluster.

A block is a chunk. A step sends the non-zeros of w to where the next chunk is and brings back the
gradient of that block, d numbers.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import read_only
from ..chunks import Chunks, Pass, score_chunks
from ..moments.chunked import chunked_moments
from ..rows import as_table
from ..utils.types import Array, Floats, Indices, Mask
from ._protocol import Descent, Objective, Point, SparseVector
from .arrays import PairwiseLoss, compute_descent
from .thresholding import Iterate, Rows, threshold_step


class ChunkObjective(Objective):
    """F on rows that are read in chunks."""

    def __init__(self, chunks: Chunks, positive: Mask, weight: Array | None) -> None:
        self.chunks = chunks
        self.moments = chunked_moments(chunks, positive, weight, products=False)
        self._set_rows(chunks, positive, weight, self.moments)

    @property
    def row_data(self) -> list[npt.NDArray[Any]]:
        """Per-row arrays: the class, and the weight where rows have any."""
        return [self.positive, self.weight] if self.weight.size else [self.positive]

    def scores_on(self, support: Indices, values: Floats) -> Floats:
        """Compute Xw for a w given by its non-zeros, reading these columns only."""
        coef = np.zeros(self.n_features, self.dtype)
        coef[support] = values
        return score_chunks(self.chunks, coef, self.dtype.type(0))

    def value_on(self, support: Indices, values: Floats) -> float:
        """Compute F(w) for a w given by its non-zeros; a few numbers a chunk travel."""
        if support.size == 0:
            return 1.0
        coef = np.asarray(values, np.float64)
        centres = [float(mean[support] @ coef) for mean in self.moments.means]
        scatters = self.chunks.run(_Scatter(coef, centres), *self.row_data, columns=support)
        positive, negative = scatters / np.array(self.moments.weights)
        return float((1.0 + centres[1] - centres[0]) ** 2 + positive + negative)

    def descent(
        self,
        k: int,
        *,
        batch_size: int,  # noqa: ARG002
        shuffle: bool,  # noqa: ARG002
        rng: np.random.Generator,  # noqa: ARG002
    ) -> Descent:
        """Begin Algorithm 1 at w = 0; rows stay in their chunks, whatever ``batch_size`` says."""
        return ChunkDescent(self, k)


class ChunkDescent:
    """Algorithm 1 with the chunks of a table as its blocks."""

    def __init__(self, objective: ChunkObjective, k: int) -> None:
        self._objective = objective
        self._numbers = np.flatnonzero(objective.chunks.sizes)
        self._loss = PairwiseLoss.of_blocks(objective, self.n_blocks)
        self._constant = np.flatnonzero(~objective.varies)
        self._iterate = Iterate.zeros(objective.n_features, k, objective.dtype)

    @property
    def n_blocks(self) -> int:
        """Number of chunks with rows."""
        return self._numbers.size

    def run(self, drawn: Indices, step: float) -> bool:
        """Take a step on each of these chunks; False when w overflowed."""
        chunks, iterate = self._objective.chunks, self._iterate
        chunks.n_passes += 1
        for number in self._numbers[drawn].tolist():
            work = _Descend(self._loss, step, iterate.copy())
            iterate.candidate[:] = chunks.run_on(number, work, *self._objective.row_data)
            threshold_step(iterate, self._constant, iterate.support.size)
            if iterate.size[0] < 0:
                return False
        return True

    def point(self) -> Point:
        """Copy the iterate."""
        return Point(self._iterate.copy())

    def move_to(self, point: Point) -> None:
        """Go on from another iterate."""
        self._iterate.move_to(point.w)


@dataclass(frozen=True)
class _Descend(Pass[Floats]):
    """−γ ∇f_B(w) for the block of a chunk's rows."""

    loss: PairwiseLoss
    step: float
    w: SparseVector

    def add(self, state: Floats | None, X: Any, start: int, *row_data: npt.NDArray[Any]) -> Floats:
        """Compute the step of one chunk."""
        del state, start
        mean = self.loss.mean_positive
        iterate = Iterate.zeros(mean.size, self.w.support.size, mean.dtype)
        iterate.move_to(self.w)
        weight = row_data[1] if len(row_data) > 1 else np.empty(0)
        rows = Rows(
            as_table(X.astype(mean.dtype, copy=False)), read_only(row_data[0]), read_only(weight),
            np.empty(0, np.int64),
        )  # fmt: skip
        compute_descent(self.loss, rows, np.arange(X.shape[0]), self.step, iterate)
        return iterate.candidate

    def merge(self, first: Floats, second: Floats) -> Floats:
        """Never called: a block is one chunk."""
        raise NotImplementedError


class _Scatter(Pass[Array]):
    """Σ weight · (score − centre)² of each class."""

    def __init__(self, values: Array, centres: list[float]) -> None:
        self._values = values
        self._centres = centres

    def add(self, state: Array | None, X: Any, start: int, *row_data: npt.NDArray[Any]) -> Array:
        """Add the rows of a chunk."""
        del start
        scores = X @ self._values
        positive, weight = row_data[0], row_data[1] if len(row_data) > 1 else np.ones(scores.size)
        sums = [
            weight[mask] @ (scores[mask] - centre) ** 2
            for mask, centre in zip((positive, ~positive), self._centres, strict=True)
        ]
        return np.array(sums) if state is None else state + sums

    def merge(self, first: Array, second: Array) -> Array:
        """Add up."""
        return first + second
