"""What the methods that take one row at a time share: rows as vectors, class sums, their epochs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from numba.extending import overload

from .._jit import reordering_kernel
from ..objective import AUCObjective, Floats, Indices, SparseVector
from ..rows import CSR, Table, accumulate_rows, read_only
from ..solvers._epochs import Callback, Epoch, SolverResult, divergence_error, run_epochs

Doubles = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


# ------------------------------------------------------------------------------ inside kernels


def dense_row(table: Any, row: Any, buffer: Any) -> Any:
    """Row of a dense table with its entries side by side: a view, or copied to ``buffer``."""


@overload(dense_row)
def _dense_row(table, row, buffer):  # type: ignore[no-untyped-def]  # noqa: ARG001
    if table.layout == "C":

        def viewed(table, row, buffer):  # type: ignore[no-untyped-def]  # noqa: ARG001
            return table[row]

        return viewed

    def copied(table, row, buffer):  # type: ignore[no-untyped-def]
        for j in range(buffer.size):
            buffer[j] = table[row, j]
        return buffer

    return copied


@reordering_kernel
def dot(x, w):  # type: ignore[no-untyped-def]
    """x·w."""
    total = w.dtype.type(0)
    for j in range(w.size):
        total += x[j] * w[j]
    return total


def aligned_zeros(size: int, dtype: npt.DTypeLike) -> Floats:
    """Zeros that begin with a cache line, so that no vector load of a sweep straddles two."""
    n_bytes = size * np.dtype(dtype).itemsize
    memory = np.zeros(n_bytes + 64, np.uint8)
    first = -memory.ctypes.data % 64
    zeros: Floats = memory[first : first + n_bytes].view(dtype)
    return zeros


def row_norms(table: Table) -> Doubles:
    """Euclidean norm of every row."""
    values = table.data if isinstance(table, CSR) else table
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    unit = largest or 1.0  # in units of the largest entry, squares stay in range
    if isinstance(table, CSR):
        n_rows = table.indptr.size - 1
        rows = np.repeat(np.arange(n_rows), np.diff(table.indptr))
        squares = (table.data.astype(np.float64) / unit) ** 2
        sums = np.bincount(rows, squares, n_rows)
    else:
        parts = (table[low : low + 256].astype(np.float64) for low in range(0, len(table), 256))
        sums = np.concatenate([np.square(part / unit).sum(axis=1) for part in parts])
    return np.sqrt(sums) * largest


def find_max_norm(max_norm: float | Literal["auto"], objective: AUCObjective) -> float:
    """κ as given, or the norm of the longest row."""
    if isinstance(max_norm, str):
        return float(row_norms(objective.table).max()) or 1.0
    return float(max_norm)


# ---------------------------------------------------------------------------------- class sums


class ClassSums(NamedTuple):
    """Sum of the rows of each class and their number, known or gathered as rows come.

    Attributes
    ----------
    positive, negative : ndarrays of shape (d,)
    counts : ndarray of shape (2,)
        Rows of the positives and of the negatives, or their total weights.
    """

    positive: Doubles
    negative: Doubles
    counts: Doubles

    @classmethod
    def none(cls, n_features: int) -> ClassSums:
        """Sums before the first row."""
        return cls(np.zeros(n_features), np.zeros(n_features), np.zeros(2))

    @classmethod
    def from_objective(cls, objective: AUCObjective) -> ClassSums:
        """Sums over all rows, each times its weight."""
        weights = objective.moments.weights
        positive, negative = (
            mean * weight for mean, weight in zip(objective.moments.means, weights, strict=True)
        )
        return cls(positive, negative, np.array(weights))

    def add(self, table: Table, rows: Indices, positive: Mask) -> None:
        """Take in these rows."""
        for place, (total, members) in enumerate(
            ((self.positive, rows[positive[rows]]), (self.negative, rows[~positive[rows]]))
        ):
            accumulate_rows(table, members, np.ones(members.size), total)
            self.counts[place] += members.size

    @property
    def means(self) -> tuple[Doubles, Doubles]:
        """Mean of the positives and of the negatives, zeros for a class not seen yet."""
        positive, negative = np.maximum(self.counts, 1.0)
        return self.positive / positive, self.negative / negative


# -------------------------------------------------------------------------------------- states


class RowState(ABC):
    """A method between two rows: feed it rows in as many parts as they come in.

    Attributes
    ----------
    w : ndarray of shape (d,)
        The present iterate.
    """

    w: Floats
    sums: ClassSums

    @property
    @abstractmethod
    def coef(self) -> Floats:
        """The answer so far."""

    @property
    def means(self) -> tuple[Floats, Floats]:
        """Class means of the rows so far."""
        return self.sums.means

    @abstractmethod
    def advance(self, table: Table, rows: Indices, positive: Mask) -> None:
        """Take one step on each of these rows."""

    def partial_fit(self, table: Table, positive: npt.ArrayLike) -> Self:
        """Take one step on each row, in order."""
        mask = read_only(np.asarray(positive, np.bool_))
        self.advance(table, np.arange(mask.size), mask)
        return self


# -------------------------------------------------------------------------------------- epochs


def run_rows(
    objective: AUCObjective,
    method: str,
    advance: Callable[[Indices], Epoch],
    *,
    start: Floats,
    step_size: float,
    max_epochs: int,
    tol: float,
    shuffle: bool,
    callback: Callback | None,
    rng: np.random.Generator | None,
) -> SolverResult:
    """Run epochs that visit every row that counts once, in order or in a fresh random order."""
    rng = np.random.default_rng() if rng is None else rng
    rows = objective.rows.counted

    def run_epoch(number: int) -> Epoch:
        epoch = advance(rng.permutation(rows) if shuffle else rows)
        if not np.isfinite(epoch.w.values).all():
            raise divergence_error(method, number, step_size)
        return epoch

    return run_epochs(
        objective,
        run_epoch,
        start=SparseVector.from_dense(start),
        max_epochs=max_epochs,
        tol=tol,
        callback=callback,
    )


def refuse_weights(objective: AUCObjective, method: str) -> None:
    """Refuse sample weights, which a method with a running share of positives does not define."""
    if objective.weight.size:
        raise ValueError(
            f"{method} estimates the share of positives as rows come and defines no sample "
            "weights: leave them out, or use SPAM"
        )
