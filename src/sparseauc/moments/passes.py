"""What a pass over the rows adds up: moments of every part, and products of columns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg.blas import dgemm, dsyrk, sgemm

from .._validation import check_finite, read_only
from ..chunks import Pass
from ..utils.arrays import is_tensor
from ..utils.jit import kernel
from ..utils.types import Array, Indices, Mask
from . import _tensors
from .cells import ClassPart
from .sparse import SparseMoments

# Numbers centred at a time.
_TILE_NUMBERS = 2**21

# Moments of the positives and of the negatives of a part.
Sides = list[ClassPart]


@dataclass(frozen=True)
class Division:
    """How what is known of rows divides them by part and class."""

    counts: list[int]  # of the parts of each partition
    weighted: list[bool]

    def split(
        self, positive: Mask, known: Sequence[npt.NDArray[Any]]
    ) -> Iterator[tuple[int, int, Indices, Array]]:
        """Part, class (0 positive, 1 negative), rows and their weights, of each cell with any."""
        arrays = iter(known)
        first = 0
        for count, weighted in zip(self.counts, self.weighted, strict=True):
            part = next(arrays)
            weight = next(arrays) if weighted else np.empty(0)
            counted = part >= 0
            if weighted:
                counted &= weight > 0
            rows = np.flatnonzero(counted)
            cell = 2 * part[rows].astype(np.int64) + ~positive[rows]
            order = np.argsort(cell, kind="stable")
            ends = np.cumsum(np.bincount(cell, minlength=2 * count))
            for number, members in enumerate(np.split(rows[order], ends[:-1])):
                if members.size:
                    chosen = weight[members] if weighted else weight
                    yield first + number // 2, number % 2, members, chosen
            first += count


@dataclass(eq=False)
class Summaries(Pass[list[Sides]]):
    """Moments of both classes of every part, with the cross products of some columns."""

    division: Division
    columns: Indices

    def add(
        self, state: list[Sides] | None, X: Any, start: int, *known: npt.NDArray[Any]
    ) -> list[Sides]:
        """Merge in the moments of a chunk; its entries must be finite."""
        check_finite(X, start)
        if state is None:
            nothing, d = np.zeros(X.shape[1]), X.shape[1]
            empty = ClassPart(0.0, nothing, nothing, np.zeros((self.columns.size, d)))
            state = [[empty, empty] for _ in range(sum(self.division.counts))]
        positive, *others = known
        for number, side, rows, weight in self.division.split(positive, others):
            cell = _moments_of(X, rows, weight, self.columns)
            state[number][side] = state[number][side].combine(cell, self.columns, 1)
        return state

    def merge(self, first: list[Sides], second: list[Sides]) -> list[Sides]:
        """Merge part by part."""
        return [
            [one.combine(other, self.columns, 1) for one, other in zip(*sides, strict=True)]
            for sides in zip(first, second, strict=True)
        ]


@dataclass(eq=False)
class Products(Pass[list[Any]]):
    """Products of some columns with others in each class of every part, about known means.

    ``wanted`` are columns and the others to multiply them with, None for all; where they are all,
    products may be of ``single`` precision.
    """

    division: Division
    wanted: Sequence[tuple[Indices, Indices | None]]
    means: Sequence[Sequence[Array]]
    single: bool

    def add(
        self, state: list[Any] | None, X: Any, start: int, *known: npt.NDArray[Any]
    ) -> list[Any]:
        """Add the products of a chunk, to arrays of shape (n_parts, 2, columns, others)."""
        del start
        state = state or self._nothing(X)
        positive, *others = known
        for number, side, rows, weight in self.division.split(positive, others):
            mean, totals = self.means[number][side], [total[number, side] for total in state]
            if is_tensor(X):
                _tensors.add_products(X, rows, weight, mean, self.wanted, totals)
                continue
            for (columns, across), total in zip(self.wanted, totals, strict=True):
                if columns.size and across is not None:
                    _add_block(X, rows, weight, mean, columns, across, total)
                elif columns.size and sp.issparse(X):
                    part = _sparse_moments(X, rows, weight, columns)
                    total += part.cross
                    gap = part.mean - mean
                    total += np.outer(part.weight * gap[columns], gap)
                elif columns.size:
                    _add_rows(X, rows, weight, mean, columns, total)
        return state

    def _nothing(self, X: Any) -> list[Any]:
        """Zeros to add to; those of a tensor lie on its device."""
        shapes = [
            (
                sum(self.division.counts),
                2,
                columns.size,
                X.shape[1] if others is None else others.size,
            )
            for columns, others in self.wanted
        ]
        if is_tensor(X):
            return [_tensors.no_products(X, shape) for shape in shapes]
        kinds = [
            np.float32 if others is None and self.single else np.float64
            for _, others in self.wanted
        ]
        return [np.zeros(*each) for each in zip(shapes, kinds, strict=True)]

    def merge(self, first: list[Any], second: list[Any]) -> list[Any]:
        """Add up."""
        for total, other in zip(first, second, strict=True):
            total += other
        return first


# ----------------------------------------------------------------------------- one cell of a chunk


def _moments_of(X: Any, rows: Indices, weight: Array, columns: Indices) -> ClassPart:
    """Moments of some rows of a chunk, in double precision whatever that of X."""
    if sp.issparse(X):
        return _sparse_moments(X, rows, weight, columns)
    if not isinstance(X, np.ndarray):
        return _tensors.moments_of(X, rows, weight, columns)
    table, d = read_only(X), X.shape[1]
    # Sums are taken about the first row: a column of one value has exactly that value as its mean.
    origin = X[rows[0]].astype(np.float64)
    mean = np.zeros(d)
    _add_differences(table, rows, weight, origin, mean)
    total = float(weight.sum()) if weight.size else float(rows.size)
    mean /= total
    mean += origin
    cross = np.zeros((columns.size, d))
    scatter, drift = _add_rows(X, rows, weight, mean, columns, cross)
    # What rounding left of the deviations' sum, which is zero in exact arithmetic. Columns that are
    # too large to square are refused later, by name.
    with np.errstate(over="ignore", invalid="ignore"):
        scatter -= drift**2 / total
        if columns.size:
            cross -= np.outer(drift[columns] / total, drift)
    return ClassPart(total, mean, np.maximum(scatter, 0.0), cross)


def _sparse_moments(X: Any, rows: Indices, weight: Array, columns: Indices) -> ClassPart:
    members = X[rows]
    moments = SparseMoments(members, np.ones(rows.size, np.bool_), weight if weight.size else None)
    return moments.summary(columns).positive


def _add_rows(
    X: npt.NDArray[Any], rows: Indices, weight: Array, mean: Array, columns: Indices,
    total: npt.NDArray[Any],
) -> tuple[Array, Array]:  # fmt: skip
    """Add Σ w (x_c − mean_c)(x − mean) to a total; return Σ w (x − mean)² and Σ w (x − mean)."""
    d = X.shape[1]
    scatter, drift = np.zeros(d), np.zeros(d)
    size = min(rows.size, max(64, _TILE_NUMBERS // d))
    tile = np.empty((size, d), total.dtype)
    table, double = read_only(X), total.dtype == np.float64
    gemm, symmetric = dgemm if double else sgemm, double and columns.size == d
    for low in range(0, rows.size, size):
        part = slice(low, low + size)
        centred = tile[: rows[part].size]
        _centre(table, rows[part], weight[part], mean, centred, scatter, drift)
        # The transposes of row-major arrays are what BLAS takes, and are changed in place.
        if symmetric:
            dsyrk(1.0, centred.T, beta=1.0, c=total.T, overwrite_c=1)
        elif columns.size:
            gemm(1.0, centred.T, centred[:, columns].T, trans_b=1, beta=1.0, c=total.T,
                 overwrite_c=1)  # fmt: skip
    if symmetric:
        _mirror(total)
    return scatter, drift


def _add_block(
    X: Any, rows: Indices, weight: Array, mean: Array, columns: Indices, others: Indices,
    total: Array,
) -> None:  # fmt: skip
    """Add Σ w (x_c − mean_c)(x_o − mean_o) to a total; the columns are the last of the others."""
    sparse = sp.issparse(X)
    part = (X[rows][:, others].toarray() if sparse else X[rows[:, None], others]) - mean[others]
    if weight.size:
        part *= np.sqrt(weight)[:, None]
    # NumPy multiplies an array by its own transpose at half the cost.
    left = part if columns.size == others.size else part[:, -columns.size :]
    total += left.T @ part


@kernel
def _add_differences(X, rows, weight, origin, totals):  # type: ignore[no-untyped-def]
    """Add Σ w (x − origin)."""
    for i in range(rows.size):
        row = X[rows[i]]
        w = weight[i] if weight.size else 1.0
        for j in range(row.size):
            totals[j] += w * (np.float64(row[j]) - origin[j])


@kernel
def _centre(X, rows, weight, mean, centred, scatter, drift):  # type: ignore[no-untyped-def]
    """√w (x − mean) row by row; Σ w (x − mean)² and Σ w (x − mean) are added to."""
    for i in range(rows.size):
        row, out = X[rows[i]], centred[i]
        w = weight[i] if weight.size else 1.0
        root = np.sqrt(w)
        for j in range(row.size):
            difference = np.float64(row[j]) - mean[j]
            scatter[j] += w * difference * difference
            drift[j] += w * difference
            out[j] = root * difference


@kernel
def _mirror(matrix):  # type: ignore[no-untyped-def]
    """Copy the lower triangle, which is the one that is kept up to date, to the upper."""
    for i in range(matrix.shape[0]):
        for j in range(i):
            matrix[j, i] = matrix[i, j]
