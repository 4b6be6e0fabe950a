"""The squared loss over comparable pairs of times to event, by sorting and running sums.

For pairs (i, j) of which i is known to have its event first, that count ω_ij together
N,

    F(w) = 1/N Σ ω_ij (1 − w·(x_i − x_j))² = 1 + 2 w·δ + wᵀHw.

With rows in the order of their times, ω_ij = f_i s_j. Let a_i = f_i Σ s over the rows
after i, b_j = s_j Σ f over the rows before j, and A and B the same sums of s x and f x.
Then

    δ = −Σ (a − b) x / N,        H = 1/N Σ x zᵀ,        z = (a + b) x − f A − s B.

So columns of H take one product with the table and two running sums; no pair is
visited. Neither changes if a constant is taken from a column, in any stratum: columns
are centred first.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import InputError
from ..survival import ComparablePairs
from ..utils.jit import kernel
from ..utils.types import Array, Indices, Mask
from .base import Quadratic
from .rows import check_means, dense, take_columns

# Numbers centred at a time.
_TILE_NUMBERS = 2**21


class PairMoments(Quadratic):
    """The quadratic of comparable pairs, computed from a table in memory on demand.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d), float32 or float64
        Neither copied nor sorted.
    pairs : ComparablePairs
        Of the rows of X; at least one.

    Attributes
    ----------
    origin : ndarray of shape (n_strata, d)
        Mean of each stratum with pairs, from which columns are measured.
    """

    def __init__(self, X: Any, pairs: ComparablePairs) -> None:
        if not pairs.total > 0:
            raise InputError(
                "there is no pair of rows of which one is known to have its event first"
            )
        self._X, self._pairs = X, pairs
        cells, cell, sizes = np.unique(
            pairs.cell, return_inverse=True, return_counts=True
        )
        self._cell = cell.astype(np.int32)
        starts = np.append(0, np.cumsum(sizes)[:-1])
        # About the first row of the stratum: a column of one value has exactly that as
        # its mean.
        origin = dense(X, pairs.rows[starts], np.arange(X.shape[1]))
        self.origin = origin
        totals, reach = self._add_up()
        check_means(X, totals)
        self._weights = np.bincount(self._cell, pairs.second, cells.size)
        self.origin = origin + totals / self._weights[:, None]
        # What rounding leaves of the sums about the means, which are nothing in exact
        # arithmetic.
        self._rest, _ = self._add_up()
        self._varies: Mask = reach > 0

    def _add_up(self) -> tuple[Array, Array]:
        """Sums of the rows of each stratum, less its origin, and the largest of any."""
        totals = np.zeros_like(self.origin)
        reach = np.zeros(self.origin.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):
            for rows, part in self._tiles(np.arange(reach.size)):
                np.maximum(reach, np.abs(part).max(axis=0), out=reach)
                self._add(self._pairs.second[rows, None] * part, rows, totals)
        return totals, reach

    def _add(self, part: Array, rows: slice, totals: Array) -> None:
        """Add the rows of each stratum up."""
        cell = self._cell[rows]
        starts = np.flatnonzero(np.diff(cell, prepend=-1))
        totals[cell[starts]] += np.add.reduceat(part, starts, axis=0)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self._varies.size

    @property
    def varies(self) -> Mask:
        """False for columns that hold one value in every stratum."""
        return self._varies

    @property
    def centre(self) -> Array:
        """The mean of all rows."""
        centre: Array = self._weights @ self.origin / self._weights.sum()
        return centre

    @property
    def magnitudes(self) -> Array:
        """The largest mean of any stratum, without its sign."""
        magnitudes: Array = np.abs(self.origin).max(axis=0)
        return magnitudes

    @property
    def deviations(self) -> Array:
        """Deviation of each column within strata, as ``StandardScaler`` computes it."""
        return self._sums[0]

    @property
    def delta(self) -> Array:
        """δ, the mean difference of pairs, the later less the earlier."""
        return self._sums[1]

    @property
    def diagonal(self) -> Array:
        """Diagonal of H."""
        return self._sums[2]

    @cached_property
    def _sums(self) -> tuple[Array, Array, Array, Array]:
        """Deviations, δ, the diagonal of H, and the size of what was added up for it."""
        pairs, d = self._pairs, self.n_features
        lean = pairs.before * pairs.second - pairs.first * pairs.after
        both = pairs.before * pairs.second + pairs.first * pairs.after
        delta, diagonal, size = np.zeros((3, d))
        squares = np.zeros((2, self._weights.size, d))
        with np.errstate(over="ignore", invalid="ignore"):
            for rows, part, z in self._scanned(np.arange(d)):
                delta += lean[rows] @ part
                diagonal += np.einsum("ij,ij->j", part, z)
                part *= part
                size += both[rows] @ part
                for weight, of in zip(
                    (pairs.first, pairs.second), squares, strict=True
                ):
                    self._add(weight[rows, None] * part, rows, of)
            # A sum of f |x| is at most the root of that of f times that of f x². Sums
            # over all rows of a stratum, less those up to a row, are those after it.
            firsts = np.bincount(self._cell, pairs.first, self._weights.size)
            of_firsts = squares[0] * self._weights[:, None]
            size += np.maximum(of_firsts, squares[1] * firsts[:, None]).sum(axis=0)
            deviations = np.sqrt(squares[1].sum(axis=0) / self._weights.sum())
        total = pairs.total
        return (
            deviations,
            delta / total,
            np.maximum(diagonal, 0.0) / total,
            np.sqrt(size / total),
        )

    def rounding(self) -> tuple[float, Array]:
        """Largest distance of δ and H from those of X in exact arithmetic; see ``Quadratic``.

        A sum of m products is off by m·eps/2 times the sum of their magnitudes,
        whatever the order, and that sum is at most the root of both sums of squares
        (Cauchy and Schwarz).
        """
        return (8.0 * self._pairs.rows.size + 64.0) * self.precision, 1.01 * self._sums[
            3
        ]

    def block(self, columns: Indices, others: Indices) -> Array:
        """H of some columns with others, of shape (columns, others)."""
        few, many = (
            (columns, others) if len(columns) <= len(others) else (others, columns)
        )
        index = np.unique(np.concatenate([columns, others]))
        of_few, of_many = np.searchsorted(index, few), np.searchsorted(index, many)
        total = np.zeros((len(few), len(many)))
        for _, part, z in self._scanned(index, of_few):
            total += z.T @ take_columns(part, of_many)
        if len(few) == len(many) and np.array_equal(few, many):
            total = (total + total.T) / 2
        total /= self._pairs.total
        return total if few is columns else total.T

    def _scanned(
        self, columns: Indices, of: Indices | None = None
    ) -> Iterator[tuple[slice, Array, Array]]:
        """Rows of some columns, centred, and z of all or some of these, tile by tile."""
        pairs = self._pairs
        both = pairs.before * pairs.second + pairs.first * pairs.after
        size = columns.size if of is None else of.size
        # Sums of f x before the group, and of s x up to its end.
        before, upto = np.zeros(size), np.zeros(size)
        rest, last = self._rest[:, columns if of is None else columns[of]], -1
        for rows, part in self._tiles(columns):
            chosen = part if of is None else take_columns(part, of)
            z = np.empty_like(chosen)
            last = _scan(
                chosen,
                pairs.group[rows],
                self._cell[rows],
                pairs.first[rows],
                pairs.second[rows],
                both[rows],
                rest,
                last,
                before,
                upto,
                z,
            )
            yield rows, part, z

    def _tiles(self, columns: Indices) -> Iterator[tuple[slice, Array]]:
        """Rows in their order, some columns less their centre; groups are not divided."""
        pairs = self._pairs
        size = max(64, _TILE_NUMBERS // max(1, columns.size))
        low, n = 0, pairs.rows.size
        origin = self.origin[:, columns]
        while low < n:
            high = min(low + size, n)
            high = int(
                np.searchsorted(pairs.group, pairs.group[high - 1], side="right")
            )
            rows = slice(low, high)
            part = dense(self._X, pairs.rows[rows], columns)
            part -= origin[self._cell[rows]]
            yield rows, part
            low = high


@kernel
def _scan(part, group, cell, first, second, both, rest, last, before, upto, z):  # type: ignore[no-untyped-def]
    """Z of whole groups of rows; sums go on from those before, and start again with a stratum.

    ``rest`` are the sums of all rows of a stratum: less those up to the end of a group,
    they are those after it. The stratum of the last row is given and returned.
    """
    n, q = part.shape
    low = 0
    while low < n:
        high = low
        while high < n and group[high] == group[low]:
            high += 1
        if cell[low] != last:
            before[:] = 0.0
            upto[:] = -rest[cell[low]]
            last = cell[low]
        for i in range(low, high):
            for j in range(q):
                upto[j] += second[i] * part[i, j]
        for i in range(low, high):
            f, s, b = first[i], second[i], both[i]
            for j in range(q):
                z[i, j] = b * part[i, j] + f * upto[j] - s * before[j]
        for i in range(low, high):
            if first[i] > 0.0:
                for j in range(q):
                    before[j] += first[i] * part[i, j]
        low = high
    return last
