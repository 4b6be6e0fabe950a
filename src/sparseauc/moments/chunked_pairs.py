"""The squared loss over comparable pairs of rows that are read in chunks, in any order.

z of a column (see ``pairs``) takes this column of all rows in the order of their times, and nothing
else of the table. So some columns are in memory at a time, as many as there is room for: z comes
from them alone, and its products with other columns from a reading of the rows as they come. Times
and weights of all rows are in memory anyway.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import NotFiniteError, check_finite
from ..chunks import Chunks, Pass
from ..errors import InputError
from ..survival import ComparablePairs
from ..utils.types import Array, Indices
from .base import Quadratic
from .pairs import PairMoments, subtract

# Bytes of columns, with their z, that are in memory at a time.
_HELD_BYTES = 2**30
# Bytes of H, of all training sets together.
_MOST_BYTES = 2**31


class GatheredPairs(Quadratic):
    """The quadratic of comparable pairs, all of it in memory.

    ``known`` are the centre, magnitudes, δ, diagonal, deviations, sizes of rounding and whether it
    varies, of each column.
    """

    def __init__(self, H: Array, unit: float, known: Iterable[Array]) -> None:
        self._H, self._unit = H, unit
        self.centre, self.magnitudes, self._delta, self._diagonal, *rest = known
        self._deviations, self._sizes, varies = rest
        self.varies = varies > 0

    @property
    def delta(self) -> Array:
        """δ, the mean difference of pairs, the later less the earlier."""
        return self._delta

    @property
    def diagonal(self) -> Array:
        """Diagonal of H."""
        return self._diagonal

    @property
    def deviations(self) -> Array:
        """Deviation of each column within strata."""
        return self._deviations

    def rounding(self) -> tuple[float, Array]:
        """How far δ and H may be from those of exact arithmetic; see ``PairMoments``."""
        return self._unit, self._sizes

    def block(self, columns: Indices, others: Indices) -> Array:
        """H of some columns with others, of shape (columns, others)."""
        block: Array = self._H[np.ix_(columns, others)]
        return block


def gather_pairs(chunks: Chunks, sets: Sequence[ComparablePairs]) -> list[GatheredPairs]:
    """Gather the quadratics of several sets of pairs of a table that is read in chunks.

    With room for one m-th of the columns at a time, it is read 3 m − 2 times; 2 m − 1 of these are
    of that part of the columns.
    """
    n, d = chunks.shape
    if 8 * len(sets) * d**2 > _MOST_BYTES:
        raise InputError(
            f"products of {d} columns in {len(sets)} training sets would fill the memory, and "
            "these rows are read in chunks: choose among fewer columns"
        )
    room = max(1, _HELD_BYTES // (8 * n * (1 + len(sets))))
    groups = [np.arange(low, min(low + room, d)) for low in range(0, d, room)]
    H = np.empty((len(sets), d, d))
    units = [0.0] * len(sets)
    # Of each set, the origins of strata and what is known of each column, group by group.
    origins: list[list[Array]] = [[] for _ in sets]
    known: list[list[Array]] = [[] for _ in sets]
    for columns in groups:
        table = _held(chunks, columns)
        for number, pairs in enumerate(sets):
            moments = PairMoments(table, pairs)
            units[number], sizes = moments.rounding()
            origins[number].append(moments.origin)
            known[number].append(np.array([
                moments.centre, moments.magnitudes, moments.delta, moments.diagonal,
                moments.deviations, sizes, moments.varies,
            ]))  # fmt: skip
            every = np.arange(columns.size)
            H[number][np.ix_(columns, columns)] = moments.block(every, every)
    for group, columns in enumerate(groups[:-1]):
        table, later = _held(chunks, columns), np.arange(columns[-1] + 1, d)
        z, cell = np.zeros((n, len(sets), columns.size)), np.zeros((n, len(sets)), np.int64)
        for number, pairs in enumerate(sets):
            PairMoments(table, pairs).scatter(z[:, number], cell[:, number])
        del table
        about = [np.concatenate(some[group + 1 :], axis=1) for some in origins]
        products = chunks.run(_Products(about), z, cell, columns=later)
        for pairs, product, whole in zip(sets, products, H, strict=True):
            whole[np.ix_(columns, later)] = product / pairs.total
            whole[np.ix_(later, columns)] = product.T / pairs.total
    return [
        GatheredPairs(whole, unit, np.concatenate(some, axis=1))
        for whole, unit, some in zip(H, units, known, strict=True)
    ]


def _held(chunks: Chunks, columns: Indices) -> Array:
    """Some columns of all rows."""
    table = chunks.take(np.arange(chunks.shape[0]), columns)
    try:
        check_finite(table)
    except NotFiniteError as error:
        raise NotFiniteError(error.row, int(columns[error.column]), error.value) from None
    return table


class _Products(Pass[Array]):
    """Products of z with columns less the origin of their strata, (sets, held, columns)."""

    def __init__(self, origins: Sequence[Array]) -> None:
        self._origins = origins

    def add(self, state: Array | None, X: Any, start: int, *known: npt.NDArray[Any]) -> Array:
        """Add those of the rows of a chunk."""
        del start
        z, cell = known
        rows = X.toarray() if hasattr(X, "toarray") else X
        if state is None:
            state = np.zeros((len(self._origins), z.shape[2], rows.shape[1]))
        for number, origin in enumerate(self._origins):
            part = np.array(rows, np.float64, order="C")
            subtract(part, cell[:, number], origin)
            state[number] += z[:, number].T @ part
        return state

    def merge(self, first: Array, second: Array) -> Array:
        """Add up."""
        return first + second
