"""What the methods that take one row at a time share: class sums, a state, a classifier."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import overload
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from ..arrays import Array, Floats, Indices, Mask, read_only
from ..epochs import Epoch, SolverResult, divergence_error, run_epochs
from ..kernels import reordering_kernel
from ..objective import AUCObjective, SparseVector
from ..rows import CSR, Table, accumulate_rows, as_table
from .classifier import StochasticClassifier

# Entries of rows read between two sweeps over all columns, as a multiple of d.
BETWEEN_SWEEPS = 64
# Sums of iterates lose as many digits as the scale of w does.
LEAST_SCALE = 1e-4


def read_row(table: Any, row: Any, buffer: Any) -> Any:
    """Where the entries of a row begin and end, and an array with their values at these places."""


def read_dense_row(table: Any, row: Any, buffer: Any) -> Any:
    """All entries of a row, zeros included."""


def column_at(table: Any, place: Any) -> Any:
    """Column of the entry at a place."""


@overload(read_row, inline="always")
def _read_row(table, row, buffer):  # type: ignore[no-untyped-def]  # noqa: ARG001
    if isinstance(table, types.NamedTuple):

        def csr(table, row, buffer):  # type: ignore[no-untyped-def]  # noqa: ARG001
            return np.uint64(table.indptr[row]), np.uint64(table.indptr[row + 1]), table.data

        return csr
    if table.layout == "C":

        def viewed(table, row, buffer):  # type: ignore[no-untyped-def]  # noqa: ARG001
            return np.uint64(0), np.uint64(table.shape[1]), table[row]

        return viewed

    def copied(table, row, buffer):  # type: ignore[no-untyped-def]
        buffer[:] = table[row]
        return np.uint64(0), np.uint64(table.shape[1]), buffer

    return copied


@overload(read_dense_row, inline="always")
def _read_dense_row(table, row, buffer):  # type: ignore[no-untyped-def]  # noqa: ARG001
    if isinstance(table, types.NamedTuple):

        def filled(table, row, buffer):  # type: ignore[no-untyped-def]
            buffer[:] = 0
            for place in range(np.uint64(table.indptr[row]), np.uint64(table.indptr[row + 1])):
                buffer[np.uint64(table.indices[place])] = table.data[place]
            return buffer

        return filled
    return lambda table, row, buffer: read_row(table, row, buffer)[2]


@overload(column_at, inline="always")
def _column_at(table, place):  # type: ignore[no-untyped-def]  # noqa: ARG001
    if isinstance(table, types.NamedTuple):
        return lambda table, place: np.uint64(table.indices[place])
    return lambda table, place: place  # noqa: ARG005


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


def row_norms(table: Table) -> Array:
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


def find_max_norm(max_norm: float | Literal["auto"], table: Table) -> float:
    """κ as given, or the norm of the longest row."""
    if isinstance(max_norm, str):
        return float(row_norms(table).max()) or 1.0
    return float(max_norm)


class ClassSums(NamedTuple):
    """Sums of the rows of each class, and how many they are or weigh: known, or gathered."""

    positive: Array
    negative: Array
    counts: Array

    @classmethod
    def none(cls, n_features: int) -> Self:
        """Sums before the first row."""
        return cls(np.zeros(n_features), np.zeros(n_features), np.zeros(2))

    @classmethod
    def from_objective(cls, objective: AUCObjective) -> Self:
        """Sums over all rows, each times its weight."""
        positive, negative = objective.moments.weights
        mean_positive, mean_negative = objective.moments.means
        counts = np.array([positive, negative])
        return cls(mean_positive * positive, mean_negative * negative, counts)

    def add(self, table: Table, rows: Indices, positive: Mask) -> None:
        """Add these rows."""
        for place, mask in enumerate((positive[rows], ~positive[rows])):
            members = rows[mask]
            accumulate_rows(table, members, np.ones(members.size), self[place])
            self.counts[place] += members.size

    @property
    def means(self) -> tuple[Array, Array]:
        """Mean of the positives and of the negatives, zeros for a class not seen yet."""
        positive, negative = np.maximum(self.counts, 1.0)
        return self.positive / positive, self.negative / negative


class RowState(ABC):
    """A method between two rows, which may come in any number of parts; ``w`` is its iterate.

    Where the answer is a mean of iterates, ``_total`` holds their sum in double precision, as it
    grows with every row, and ``_mass`` their number or weight.
    """

    method: ClassVar[str]
    takes_weights: ClassVar[bool] = False
    _mass: float = 0.0

    def __init__(self, n_features: int, dtype: npt.DTypeLike, step_size: float) -> None:
        self.w = aligned_zeros(n_features, dtype)
        self.step_size = float(step_size)
        self.sums = ClassSums.none(n_features)
        self._total = aligned_zeros(n_features, np.float64)

    @property
    def coef(self) -> Floats:
        """The answer so far."""
        if self._mass == 0.0:
            return self.w.copy()
        mean: Floats = (self._total / self._mass).astype(self.w.dtype)
        return mean

    @property
    @abstractmethod
    def step(self) -> float:
        """The step taken last."""

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

    def run(
        self,
        objective: AUCObjective,
        *,
        shuffle: bool = True,
        rng: np.random.Generator | None = None,
        **epochs: Any,
    ) -> SolverResult:
        """Visit every row once an epoch; the parameters are those of ``sht_auc``."""
        if objective.weight.size and not self.takes_weights:
            raise ValueError(
                f"{self.method} defines no sample weights: leave them out, or use SPAM"
            )
        rng = np.random.default_rng() if rng is None else rng
        rows = objective.rows

        def run_epoch(number: int) -> Epoch:
            order = rng.permutation(rows) if shuffle else rows
            self.advance(objective.table, order, objective.positive)
            w = SparseVector.from_dense(self.coef)
            if not np.isfinite(w.values).all():
                raise divergence_error(self.method, number, self.step_size)
            return Epoch(w, self.step)

        return run_epochs(objective, run_epoch, start=SparseVector.from_dense(self.w), **epochs)


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineClassifier(StochasticClassifier):
    """A convex method that takes one row at a time, with a ``_state_type`` and ``_settings``."""

    zero_threshold: float = 0.0

    _parameter_constraints = StochasticClassifier._parameter_constraints | {
        "zero_threshold": [Interval(Real, 0, None, closed="left")],
    }

    _state_type: ClassVar[Callable[..., RowState]]

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Continue with more rows, one step on each, in order.

        Class means, and the share of positives, are those of the rows seen so far. Rows given in
        parts give the same result as rows given at once, except that parameters set to ``"auto"``
        depend on the rows of the first call. A later ``fit`` starts anew.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        classes : array-like of shape (2,), optional
            Both labels; needed in the first call, if its rows are of one class.

        Returns
        -------
        self
        """
        X, positive = self._check_more_rows(X, y, classes)
        if not hasattr(self, "_stream"):
            settings = self._settings(as_table(X), self._generator())
            self._stream = self._state_type(X.shape[1], X.dtype, **settings)
            self.n_iter_ = 1
        # A stream keeps the type of its first rows.
        X = X.astype(self._stream.coef.dtype, copy=False)
        self._stream.partial_fit(as_table(X), positive)
        means = (mean.astype(X.dtype) for mean in self._stream.means)
        return self._set_fitted(self._cut(self._stream.coef), *means)

    def _solve(self, objective: AUCObjective, **common: Any) -> SolverResult:
        settings = self._settings(objective.table, common["rng"])
        settings["start"] = common.pop("start")
        state = self._state_type(objective.n_features, objective.dtype, **settings)
        result = state.run(objective, **common)
        coef = self._cut(result.dense(objective.n_features))
        support = np.flatnonzero(coef)
        return result._replace(support=support, values=coef[support])

    @abstractmethod
    def _settings(self, table: Table, rng: np.random.Generator) -> dict[str, Any]:
        """Parameters of the state; those set to "auto" depend on these rows."""

    def _step(self, table: Table) -> float:
        """``step_size``, or one over the mean squared length of the rows.

        With that step, a row changes its own score by about one.
        """
        if not isinstance(self.step_size, str):
            return float(self.step_size)
        norms = row_norms(table)
        longest = float(norms.max(initial=0.0))
        if longest == 0.0:
            return 1.0
        # In units of the longest, so that squares stay in range.
        return 1.0 / float(np.mean((norms / longest) ** 2)) / longest / longest

    def _cut(self, coef: Floats) -> Floats:
        coef[np.abs(coef) < self.zero_threshold] = 0
        return coef


class UnweightedClassifier(OnlineClassifier):
    """A method that defines no sample weights: it estimates the share of positives as rows come."""

    def fit(self, X: Any, y: Any) -> Self:  # type: ignore[override]
        """Fit; the method defines no sample weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)

        Returns
        -------
        self
        """
        fitted: Self = super().fit(X, y)
        return fitted
