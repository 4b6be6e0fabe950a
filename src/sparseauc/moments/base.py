"""Data as solvers see them: a quadratic, and its H and δ on the standardised scale.

    F(w) = 1 + 2 w·δ + wᵀ H w.

Class moments (``cells``) and the pairs of times to event (``pairs``) are quadratics.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..utils.jit import kernel
from ..utils.types import Array, Indices, Mask

# Numbers of rows of H that are kept whatever the lengths of the lists: 64 MiB.
_KEPT_NUMBERS = 2**23
# Numbers of H up to which all of it is standardised at once.
COMPLETE_NUMBERS = 2**20
# Deviations whose squares keep their digits.
_LEAST = 2.0**-505


class Quadratic(ABC):
    """A loss that is quadratic in the coefficients: F(w) = 1 + 2 w·δ + wᵀHw.

    Solvers that exchange columns ask for no more than this. Another loss is another
    subclass with the members that are abstract, and no solver changes. F is a mean of
    squares, so that it is never negative.

    Attributes
    ----------
    precision : float
        Relative precision to which whole columns of H are computed. Blocks are of
        double precision.
    is_complete : bool
        Whether all of H is at hand, and so little that it is standardised at once.
    sums_rows : bool
        Whether H is summed over rows in memory when it is asked for: products so large
        that several threads of BLAS are worth their while.
    reads_again : bool
        Whether another pass over the rows may have to gather what is asked for.
    """

    precision: float = float(np.finfo(np.float64).eps)
    is_complete: bool = False
    sums_rows: bool = True
    reads_again: bool = False

    @property
    @abstractmethod
    def centre(self) -> Array:
        """A point amid the rows, where scores are 0."""

    @property
    @abstractmethod
    def delta(self) -> Array:
        """δ, of shape (d,)."""

    @property
    @abstractmethod
    def diagonal(self) -> Array:
        """Diagonal of H."""

    @property
    @abstractmethod
    def deviations(self) -> Array:
        """Standard deviation of each column, by which solvers divide it."""

    @abstractmethod
    def block(self, columns: Indices, others: Indices) -> Array:
        """H of some columns with others, of shape (columns, others)."""

    def expect(self, ahead: Callable[[], Indices]) -> None:  # noqa: B027
        """Hear which rows of H may be asked for soon, best first; nothing is done by default."""

    @cached_property
    def n_features(self) -> int:
        """Number of columns."""
        return self.delta.size

    def columns(self, columns: npt.ArrayLike) -> Array:
        """Columns of H, of shape (d, q)."""
        return self.block(np.asarray(columns), np.arange(self.n_features)).T

    def loss(self, w: npt.ArrayLike) -> float:
        """F(w), from the columns where w is not zero."""
        vector = np.asarray(w, np.float64)
        support = np.flatnonzero(vector)
        values = vector[support]
        return float(
            1.0
            + 2.0 * values @ self.delta[support]
            + values @ self.block(support, support) @ values
        )

    @cached_property
    def magnitudes(self) -> Array:
        """Size of the values of each column: a deviation far below it is rounding."""
        return np.zeros(self.n_features)

    @cached_property
    def varies(self) -> Mask:
        """False for columns of one value."""
        varies: Mask = self.deviations > 0
        return varies

    def rounding(self) -> tuple[float, Array]:
        """Largest distance of δ and blocks of H from those of the rows in exact arithmetic.

        By default they are taken as they stand.

        Returns
        -------
        unit : float
        magnitude : ndarray of shape (d,)
            δ_j is off by at most unit·magnitude_j, H_ij by
            unit·magnitude_i·magnitude_j.
        """
        return 8.0 * self.precision, np.abs(self.delta) + np.sqrt(self.diagonal)


class ColumnError(InputError):
    """The values of a column are no numbers to compute with.

    Attributes
    ----------
    column : int
    reason : str
    """

    def __init__(self, column: int, reason: str) -> None:
        super().__init__(column, reason)
        self.column, self.reason = column, reason

    def __str__(self) -> str:
        return self.named(self.column)

    def named(self, name: Any) -> str:
        """Say the same of a column that has a name."""
        shown = repr(str(name)) if isinstance(name, str) else name
        return f"the values of column {shown} are {self.reason}: rescale it"


def check_deviations(moments: Quadratic) -> tuple[Array, Mask]:
    """Deviations of the columns, and which are nothing but rounding beside the column's mean.

    A column whose deviation cannot be squared is refused.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        deviation = moments.deviations
    for column in np.flatnonzero(~np.isfinite(deviation))[:1].tolist():
        raise ColumnError(column, "too large to square")
    rounding: Mask = deviation <= np.finfo(np.float64).eps * moments.magnitudes
    tiny = (deviation < _LEAST) & ~(rounding & (deviation > 0))
    for column in np.flatnonzero(tiny & moments.varies)[:1].tolist():
        raise ColumnError(column, "too small to square")
    return deviation, rounding | ~moments.varies


class Gram(NamedTuple):
    """H and δ of some columns, in double precision."""

    delta: Array
    H: Array


class StandardisedGram:
    """H and δ of columns divided by their standard deviations, without dividing the columns.

    A column whose deviation is nothing but rounding beside its mean, as of a constant,
    is divided by one and has no difference and no variance: it is never worth choosing.
    ``scale`` are the deviations divided by.

    Rows of H that were fetched, and a block of it, are kept for the next question and
    the next ridge. Where H is complete, what is kept is all of it, from the first
    question on. Where another pass over the rows of a table must gather a part of H,
    ``NotGathered`` is raised and all stays as it was: the search stops and goes on when
    the part is there. Estimates of what is missing would save readings: of 8000
    columns, independent but for 30, k = 20, k = 50 and five folds take 3, 4 and 10
    readings without them and 3, 4 and 7 with them, in two to three times the time. But
    with neighbours correlated by 0.6 the search of five folds, misled by them, asked
    for more of H than 2 GiB hold; without them it takes 17 readings.

    Attributes
    ----------
    kept_rows : ndarray of shape (n, d)
        Rows of H, in their ``positions``.
    """

    def __init__(self, quadratic: Quadratic) -> None:
        self.quadratic = quadratic
        self.precision = quadratic.precision
        self.scale: Array
        self.scale, constant = check_deviations(quadratic)
        self.scale[constant] = 1.0
        self._inverse_scale = 1.0 / self.scale
        self.delta: Array = quadratic.delta * self._inverse_scale
        d = self.delta.size
        self.n_features = d
        self.diagonal: Array = quadratic.diagonal * self._inverse_scale**2
        self.delta[constant] = 0.0
        self.diagonal[constant] = 0.0
        # A constant column has no products either, whatever rounding makes of them.
        self._inverse_scale[constant] = 0.0
        self.kept_rows = np.empty((0, d))
        # Position of each column among the rows that are kept, −1 for none.
        self._position = np.full(d, -1, np.int64)
        self._n_kept = 0
        # Columns of which H among themselves is kept, and the place of each column
        # there.
        self._columns = np.empty(0, np.int64)
        self._place = np.full(d, -1, np.int64)
        self._block = np.empty((0, 0))

    def rows(self, columns: Indices) -> Array:
        """Rows of H, of shape (q, d)."""
        with np.errstate(over="ignore", invalid="ignore"):
            rows = self.quadratic.columns(columns).T
        overflowing = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        if overflowing.size:
            column = columns[overflowing[0]]
            raise InputError(f"products of column {column} overflow: rescale it")
        rows *= self._inverse_scale
        rows *= self._inverse_scale[columns][:, None]
        return rows

    def block(self, columns: Indices, others: Indices) -> Array:
        """H of some columns with others, of shape (columns, others)."""
        block = self.quadratic.block(columns, others)
        block *= self._inverse_scale[others]
        block *= self._inverse_scale[columns][:, None]
        return block

    def gram(self) -> Gram:
        """H and δ of all columns, in double precision whatever that of the rows."""
        every = np.arange(self.n_features)
        return Gram(self.delta, self.block(every, every))

    def fetch(self, columns: Indices) -> None:
        """Compute the rows of some columns that are not kept yet; all others may be dropped."""
        d = self.n_features
        if self.quadratic.is_complete:
            self._keep_all()
        wanted = columns[self._position[columns] < 0]
        if wanted.size == 0:
            return
        room = min(max(_KEPT_NUMBERS // d, 2 * columns.size), d)
        too_many = self._n_kept + wanted.size > room
        if too_many:
            wanted = columns
        rows = self.rows(wanted)
        if too_many:
            self._position[:] = -1
            self._n_kept = 0
        needed = self._n_kept + wanted.size
        if needed > self.kept_rows.shape[0]:
            # In place: a copy would take as much memory again.
            self.kept_rows.resize((needed, d), refcheck=False)
        self.kept_rows[self._n_kept : needed] = rows
        self._position[wanted] = np.arange(self._n_kept, needed)
        self._n_kept = needed

    def positions(self, columns: Indices) -> Indices:
        """Places of the rows of columns that were fetched."""
        return self._position[columns]

    def part(self, columns: Indices, others: Indices) -> Array:
        """Rows of columns that were fetched, restricted to some other columns."""
        part: Array = take(self.kept_rows, self.positions(columns), others)
        return part

    def kept_block(self, columns: Indices, others: Indices | None = None) -> Array:
        """H of some columns among themselves, or with others that were asked for before; kept."""
        across = columns if others is None else others
        if self.quadratic.is_complete:
            self._keep_all()
        new = columns[self._place[columns] < 0]
        if new.size:
            self._add_to_block(new)
        part: Array = take(self._block, self._place[columns], self._place[across])
        return part

    def _keep_all(self) -> None:
        """Compute all of H, as the rows that are kept and as the block."""
        if self._columns.size == 0:
            every = np.arange(self.n_features)
            self._add_to_block(every)
            self.kept_rows = self._block
            self._position = every

    def _add_to_block(self, new: Indices) -> None:
        """Compute H of new columns with those of the block and among themselves."""
        old = self._columns.size
        size = old + new.size
        every = np.concatenate([self._columns, new])
        rows = self.block(new, every)
        if size > len(self._block):
            room = min(2 * size, self.n_features)
            block = np.empty((room, room))
            block[:old, :old] = self._block[:old, :old]
            self._block = block
        self._block[old:size, :size] = rows
        self._block[:old, old:size] = rows[:, :old].T
        self._columns = every
        self._place[new] = np.arange(old, size)


@kernel
def take(matrix, rows, columns):  # type: ignore[no-untyped-def]
    """Some rows of a matrix, restricted to some columns: many times, and without a buffer."""
    part = np.empty((rows.size, columns.size))
    for i in range(rows.size):
        row = matrix[rows[i]]
        for j in range(columns.size):
            part[i, j] = row[columns[j]]
    return part
