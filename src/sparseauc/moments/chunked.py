"""Class moments of rows that are read chunk by chunk, in as few readings as can be.

Moments of parts merge exactly, so those of every part of the rows, the folds of a cross-validation
above all, are gathered on the same reading, and those of any training set are merged from them.
With few columns one reading gives everything. With many, the first gives means and variances, and
further ones the rows of H that solvers ask for, each time for all training sets at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg.blas import dgemm, dsyrk, sgemm

from .._arrays import is_tensor, to_host
from .._jit import kernel
from .._types import Array, Indices, Mask
from ..chunks import Chunks, NotFiniteError, Pass, first_not_finite
from ..rows import read_only
from ..strata import Strata
from . import _tensors
from .base import ClassMoments, ClassPart, Moments, NotGathered
from .sparse import SparseMoments
from .stratified import StratifiedMoments

# Bytes of cross products up to which those of all columns are gathered on the first reading.
_ALL_BYTES = 2**27
# Bytes of cross products that are gathered where nothing less will do.
_MOST_BYTES = 2**31
# Variances of columns whose products may be summed in single precision.
_ORDINARY = 1e-20, 1e20
# Numbers centred at a time.
_TILE_NUMBERS = 2**21
_EVERYWHERE = slice(None)

Answer = TypeVar("Answer")
# A part, a class (0 positive, 1 negative), and what its products are multiplied by.
_Counted = tuple[int, int, float]


@dataclass(frozen=True)
class Partition:
    """Rows divided into parts whose moments are wanted.

    Attributes
    ----------
    part : ndarray of int of shape (n,)
        Number of each row's part, −1 for rows that are left out.
    n_parts : int
    weight : float64 ndarray of shape (n,) or None
        Weights of 0 or more.
    """

    part: npt.NDArray[np.integer[Any]]
    n_parts: int
    weight: Array | None = None

    def within(self, strata: Strata) -> Partition:
        """Divide every part by stratum."""
        inside = (self.part >= 0) & (strata.code >= 0)
        part = np.where(inside, self.part * np.int64(len(strata)) + strata.code, -1)
        return Partition(part.astype(np.int32), self.n_parts * len(strata), self.weight)


def fits_whole(n_features: int, n_parts: int) -> bool:
    """Whether all of H in every part is gathered at once."""
    return n_parts * 2 * n_features**2 * 8 <= _ALL_BYTES


class GatheredMoments:
    """Moments of every part of the rows, and as much of H as passes over the rows have gathered.

    With few columns the first pass gathers all of H. With many, solvers ask for H among some
    columns, and for some of its rows; what all of them lack is gathered in one further pass.

    Parameters
    ----------
    chunks : Chunks
    positive : bool ndarray of shape (n,)
    partitions : sequence of Partition
        Their parts are numbered through, those of the first partition first.
    products : bool, default=True
        Whether H will be asked for: where columns are few, all of it is gathered at once.
    strata : Strata, optional
        Where there are any, parts are divided by stratum, and only pairs of one stratum count.

    Attributes
    ----------
    parts : list of ClassMoments
    whole : bool
        Whether all of H is gathered.
    quick : bool
        Whether further passes take next to no time.
    """

    def __init__(
        self,
        chunks: Chunks,
        positive: Mask,
        partitions: Sequence[Partition],
        *,
        products: bool = True,
        strata: Strata | None = None,
    ) -> None:
        self._strata = strata
        if strata is not None:
            partitions = [partition.within(strata) for partition in partitions]
        self._chunks = chunks
        self.quick = chunks.in_device_memory
        self._known: list[npt.NDArray[Any]] = [positive]
        for partition in partitions:
            self._known.append(partition.part)
            if partition.weight is not None:
                self._known.append(partition.weight)
        self._cells = _Cells(
            [partition.n_parts for partition in partitions],
            [partition.weight is not None for partition in partitions],
        )
        d = chunks.shape[1]
        self.n_features = d
        self.whole = products and fits_whole(d, self._cells.n_parts)
        held = np.arange(d) if self.whole else np.empty(0, np.int64)
        self.parts: list[ClassMoments] = chunks.run(_Summaries(self._cells, held, d), *self._known)
        # Products of some columns with all, and of some columns among themselves.
        self._rows = _GatheredRows()
        self._rows.add(held, [[p.positive.cross, p.negative.cross] for p in self.parts])
        self._block = _GatheredBlock(len(self.parts))

    @property
    def n_rows(self) -> int:
        """Number of rows, in all parts."""
        return self._known[0].size

    def merged(self, parts: Sequence[int], *, solver: bool = False) -> Moments:
        """Moments of several parts together; those for a solver raise ``NotGathered``."""
        kind = SolverMoments if solver else ChunkedMoments
        if self._strata is None:
            return kind(self, list(parts))
        size = len(self._strata)
        strata = [kind(self, [size * part + number for part in parts]) for number in range(size)]
        return StratifiedMoments(strata, self._strata.weighting)

    def gather(self, missing: NotGathered, *, single: bool = False) -> None:
        """Read the rows once for what is missing of H.

        Whole rows of H may be of single precision, as the table is, where they only tell which
        columns to look at.
        """
        rows = np.array(sorted(missing.rows - self._rows.place.keys()), np.int64)
        block = np.setdiff1d(np.array(sorted(missing.block), np.int64), self._block.columns)
        if rows.size + block.size == 0:
            return
        n_rows, n_block = len(self._rows.place) + rows.size, self._block.columns.size + block.size
        numbers = 2 * self._cells.n_parts * (n_rows * self.n_features + n_block**2)
        if 8 * numbers > _MOST_BYTES:
            raise ValueError(
                f"products of {max(n_rows, n_block)} of {self.n_features} columns in "
                f"{len(self.parts)} parts of the rows would fill the memory: choose among fewer "
                "columns, give coarser strata, or leave groups out"
            )
        means = [(part.positive.mean, part.negative.mean) for part in self.parts]
        single = single and self._chunks.dtype == np.float32 and self._ordinary
        together = np.concatenate([self._block.columns, block])
        wanted = [(rows, None), (block, together)]
        work = _Products(self._cells, wanted, means, single=single)
        found = self._chunks.run(work, *self._known)
        if rows.size:
            self._rows.add(rows, found[0])
            self._rows.double &= is_tensor(found[0]) or not single
        if block.size:
            self._block.add(block, to_host(found[1]))

    @cached_property
    def _ordinary(self) -> bool:
        """Whether squares of all columns keep their digits in single precision."""
        sides = [side for part in self.parts for side in (part.positive, part.negative)]
        variances = np.max([side.scatter / max(side.weight, 1.0) for side in sides], axis=0)
        varying = variances[variances > 0]
        return bool(np.all((varying > _ORDINARY[0]) & (varying < _ORDINARY[1])))

    def products(
        self, classes: Sequence[_ClassParts], factors: Sequence[float], columns: Indices
    ) -> Array:
        """Σ w (x_c − mean_c)(x − mean) over several parts, of shape (q, d).

        Those of each class are multiplied by its factor, and added up.
        """
        if missing := set(columns.tolist()) - self._rows.place.keys():
            raise NotGathered(rows=missing)
        return _add_up(self._rows, classes, factors, columns, _EVERYWHERE)

    def block(
        self, classes: Sequence[_ClassParts], factors: Sequence[float], columns: Indices,
        others: Indices,
    ) -> Array:  # fmt: skip
        """The same for some columns with others, of shape (columns, others)."""
        missing = {*columns.tolist(), *others.tolist()} - self._block.place.keys()
        if missing and not (self._rows.double and self._rows.has(columns)):
            raise NotGathered(block=missing)
        gathered = self._rows if missing else self._block
        return _add_up(gathered, classes, factors, columns, others)


class _ClassParts(NamedTuple):
    """Parts with rows of a class, what these weigh, and their means less that of all of them."""

    numbers: list[int]
    weights: Array
    gaps: Array

    @classmethod
    def from_parts(cls, sides: dict[int, ClassPart], mean: Array) -> _ClassParts:
        """Leave out parts without rows."""
        sides = {number: side for number, side in sides.items() if side.weight > 0}
        weights = np.array([side.weight for side in sides.values()])
        gaps = np.array([side.mean - mean for side in sides.values()])
        return cls(list(sides), weights, gaps.reshape(-1, mean.size))


def _add_up(
    gathered: _GatheredRows | _GatheredBlock, classes: Sequence[_ClassParts],
    factors: Sequence[float], columns: Indices, others: Any,
) -> Array:  # fmt: skip
    """Sums over parts and classes of products about the mean of all parts."""
    counted = [
        (number, side, factor)
        for side, (parts, factor) in enumerate(zip(classes, factors, strict=True))
        for number in parts.numbers
        if factor > 0
    ]
    if not counted:
        return np.zeros((columns.size, classes[0].gaps[:, others].shape[1]))
    total = gathered.sum_over(counted, columns, others)
    for (_, weights, gaps), factor in zip(classes, factors, strict=True):
        if factor > 0:
            total += (factor * weights[:, None] * gaps[:, columns]).T @ gaps[:, others]
    return total


class _GatheredRows:
    """Products of some columns with all, in each class (positive, negative) of every part.

    Those of tensors stay on their device: only sums are copied from it.

    Attributes
    ----------
    place : dict
        Of each column, the pass that gathered it and its number there.
    double : bool
        Whether all are of double precision.
    """

    def __init__(self) -> None:
        self.place: dict[int, tuple[int, int]] = {}
        self.double = True
        self._passes: list[Any] = []

    def add(self, columns: Indices, products: Any) -> None:
        """Add what a pass has gathered, ``products[part][class]`` of shape (columns, d)."""
        number = len(self._passes)
        self.place |= {column: (number, i) for i, column in enumerate(columns.tolist())}
        self._passes.append(products)

    def has(self, columns: Indices) -> bool:
        """Whether all these columns were gathered."""
        return all(column in self.place for column in columns.tolist())

    def sum_over(self, counted: list[_Counted], columns: Indices, others: Any) -> Array:
        """Products of some columns with others, added up."""
        places = np.array([self.place[column] for column in columns.tolist()]).reshape(-1, 2)
        summed = np.empty((columns.size, self._passes[0][0][0][:0, others].shape[1]))
        for at in np.unique(places[:, 0]).tolist():
            chosen = places[:, 0] == at
            index, found = places[chosen, 1], self._passes[at]
            if is_tensor(found):
                summed[chosen] = _tensors.sum_products(found, counted, index, others)
            else:
                where = (index, others) if isinstance(others, slice) else (index[:, None], others)
                summed[chosen] = _sum(found, counted, where)
        return summed


class _GatheredBlock:
    """Products of some columns among themselves, in each class of every part."""

    def __init__(self, n_parts: int) -> None:
        self.columns = np.empty(0, np.int64)
        self.place: dict[int, int] = {}
        self._products = np.empty((n_parts, 2, 0, 0))

    def add(self, columns: Indices, products: Array) -> None:
        """Add columns, given their products with those there and themselves."""
        old, size = self.columns.size, self.columns.size + columns.size
        if size > self._products.shape[-1]:
            room = size + size // 2
            block = np.empty((*self._products.shape[:2], room, room))
            block[..., :old, :old] = self._products[..., :old, :old]
            self._products = block
        self._products[..., old:size, :size] = products
        self._products[..., :old, old:size] = np.swapaxes(products[..., :old], -1, -2)
        self.columns = np.concatenate([self.columns, columns])
        self.place |= {column: old + i for i, column in enumerate(columns.tolist())}

    def sum_over(self, counted: list[_Counted], columns: Indices, others: Indices) -> Array:
        """Products of some columns with others, added up."""
        first, second = ([self.place[j] for j in some.tolist()] for some in (columns, others))
        return np.asarray(_sum(self._products, counted, np.ix_(first, second)))


def _sum(products: Any, counted: list[_Counted], where: tuple[Any, ...]) -> Any:
    """Add up parts of arrays or tensors, each times its factor."""
    total = None
    for number, side, factor in counted:
        part = products[number][side][where] * np.float64(factor)
        if total is None:
            total = part
        else:
            total += part
    return total


class ChunkedMoments(Moments):
    """Moments of some parts of rows that are read in chunks; see ``GatheredMoments``."""

    gathered: GatheredMoments

    def __init__(self, gathered: GatheredMoments, parts: list[int]) -> None:
        self.gathered = gathered
        self._parts = parts
        bare = (_without_products(gathered.parts[number]) for number in parts)
        # Merged, none subtracted: a column that varies elsewhere only has no variance here.
        self._merged = ClassMoments.merge(bare)

    @property
    def weights(self) -> tuple[float, float]:
        """Total sample weight of each class."""
        return self._merged.weights

    @property
    def means(self) -> tuple[Array, Array]:
        """Mean of each class."""
        return self._merged.means

    @property
    def scatters(self) -> tuple[Array, Array]:
        """Σ w (x − mean)² of each class."""
        return self._merged.scatters

    @property
    def _terms(self) -> int:
        """Numbers added up for a moment: rows, and chunks that are merged."""
        return 4 * self.gathered.n_rows

    def cross(self, columns: npt.ArrayLike) -> tuple[Array, Array]:
        """Σ w (x_c − mean_c)(x − mean) of each class, from a pass where not gathered before."""
        index = self._check_columns(columns)
        return self._gathered(lambda: self._cross(index))

    def _cross(self, index: Indices) -> tuple[Array, Array]:
        positive, negative = (
            self.gathered.products(self._classes, factors, index)
            for factors in ((1.0, 0.0), (0.0, 1.0))
        )
        return positive, negative

    def _covariances(self, index: Indices) -> Array:
        """Rows of S₊ + S₋, of shape (q, d), of both classes at once."""
        return self._gathered(lambda: self.gathered.products(self._classes, self._factors, index))

    @cached_property
    def _classes(self) -> list[_ClassParts]:
        parts = {number: self.gathered.parts[number] for number in self._parts}
        sides = (
            {number: part.positive for number, part in parts.items()},
            {number: part.negative for number, part in parts.items()},
        )
        return [_ClassParts.from_parts(*each) for each in zip(sides, self.means, strict=True)]

    @property
    def _factors(self) -> list[float]:
        return [1.0 / weight if weight > 0 else 0.0 for weight in self.weights]

    def within(self, columns: Indices, others: Indices) -> Array:
        """S₊ + S₋ of some columns with others, from a pass where not gathered before."""
        return self._gathered(
            lambda: self.gathered.block(self._classes, self._factors, columns, others)
        )

    def _gathered(self, answer: Callable[[], Answer]) -> Answer:
        """Give an answer, after another pass where something was not gathered before."""
        try:
            return answer()
        except NotGathered as missing:
            self.gathered.gather(missing)
            return answer()


class SolverMoments(ChunkedMoments):
    """The same for solvers: what is not gathered raises ``NotGathered`` instead of a pass."""

    def _gathered(self, answer: Callable[[], Answer]) -> Answer:
        return answer()


def _without_products(moments: ClassMoments) -> ClassMoments:
    positive, negative = moments.positive, moments.negative
    nothing = np.empty((0, moments.n_features))
    return ClassMoments(replace(positive, cross=nothing), replace(negative, cross=nothing))


def chunked_moments(
    chunks: Chunks,
    positive: Mask,
    weight: Array | None = None,
    strata: Strata | None = None,
    *,
    products: bool = True,
    solver: bool = False,
) -> Moments:
    """Moments of all rows of a table that is read in chunks; see ``GatheredMoments``."""
    everything = Partition(np.zeros(positive.size, np.int16), 1, weight)
    gathered = GatheredMoments(chunks, positive, [everything], products=products, strata=strata)
    return gathered.merged([0], solver=solver)


# ----------------------------------------------------------------------------------- the readings


@dataclass(frozen=True)
class _Cells:
    """How what is known of rows divides them by part and class."""

    counts: list[int]
    weighted: list[bool]

    @property
    def n_parts(self) -> int:
        return sum(self.counts)

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


class _Summaries(Pass[list[ClassMoments]]):
    """Moments of every part, with the cross products of some columns."""

    def __init__(self, cells: _Cells, columns: Indices, n_features: int) -> None:
        self._cells = cells
        self._columns = columns
        nothing = np.zeros(n_features)
        self._empty = ClassPart(0.0, nothing, nothing, np.zeros((columns.size, n_features)))

    def add(
        self, state: list[ClassMoments] | None, X: Any, start: int, *known: npt.NDArray[Any]
    ) -> list[ClassMoments]:
        """Merge in the moments of a chunk; its entries must be finite."""
        if (bad := first_not_finite(X)) is not None:
            row, column, value = bad
            raise NotFiniteError(start + row, column, value)
        if state is None:
            state = [ClassMoments(self._empty, self._empty, self._columns)] * self._cells.n_parts
        positive, *others = known
        for number, side, rows, weight in self._cells.split(positive, others):
            cell = _moments_of(X, rows, weight, self._columns)
            sides = (cell, self._empty) if side == 0 else (self._empty, cell)
            state[number] = state[number] + ClassMoments(*sides, self._columns)
        return state

    def merge(self, first: list[ClassMoments], second: list[ClassMoments]) -> list[ClassMoments]:
        """Merge part by part."""
        return [one + other for one, other in zip(first, second, strict=True)]


class _Products(Pass[list[Any]]):
    """Products of some columns with others in each class of every part, about known means.

    Parameters
    ----------
    cells : _Cells
    wanted : sequence of pairs of ndarrays
        Columns, and the others to multiply them with; None for all.
    means : sequence of pairs of ndarrays
        Of the positives and negatives of each part.
    single : bool, default=False
        Whether products with all columns are of single precision.
    """

    def __init__(
        self,
        cells: _Cells,
        wanted: Sequence[tuple[Indices, Indices | None]],
        means: Sequence[tuple[Array, Array]],
        *,
        single: bool = False,
    ) -> None:
        self._cells = cells
        self.wanted = wanted
        self._means = means
        self._single = single

    def add(
        self,
        state: list[Any] | None,
        X: Any,
        start: int,  # noqa: ARG002
        *known: npt.NDArray[Any],
    ) -> list[Any]:
        """Add the products of a chunk, to arrays of shape (n_parts, 2, columns, others)."""
        state = state or self._nothing(X)
        positive, *others = known
        for number, side, rows, weight in self._cells.split(positive, others):
            mean, totals = self._means[number][side], [total[number, side] for total in state]
            if is_tensor(X):
                _tensors.add_products(X, rows, weight, mean, self.wanted, totals)
            elif sp.issparse(X):
                members: Any = X
                _add_sparse(members[rows], weight, mean, self.wanted, totals)
            else:
                for (columns, across), total in zip(self.wanted, totals, strict=True):
                    if columns.size and across is None:
                        _add_rows(X, rows, weight, mean, columns, total)
                    elif columns.size and across is not None:
                        _add_block(X, rows, weight, mean, columns, across, total)
        return state

    def _nothing(self, X: Any) -> list[Any]:
        """Zeros to add to; those of a tensor lie on its device."""
        shapes = [
            (self._cells.n_parts, 2, columns.size, X.shape[1] if others is None else others.size)
            for columns, others in self.wanted
        ]
        if is_tensor(X):
            return [_tensors.no_products(X, shape) for shape in shapes]
        kinds = [
            np.float32 if others is None and self._single else np.float64
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
    if is_tensor(X):
        return _tensors.moments_of(X, rows, weight, columns)
    if sp.issparse(X):
        return _sparse_moments(X, rows, weight, columns)
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


def _add_sparse(
    X: Any, weight: Array, mean: Array, wanted: Sequence[tuple[Indices, Indices | None]],
    totals: Sequence[Array],
) -> None:  # fmt: skip
    """Add Σ w (x_c − mean_c)(x − mean) to each total."""
    everyone = np.ones(X.shape[0], np.bool_)
    moments = SparseMoments(X, everyone, weight if weight.size else None)
    total_weight, gap = moments.weights[0], moments.means[0] - mean
    for (columns, others), total in zip(wanted, totals, strict=True):
        if columns.size == 0:
            continue
        if others is None:
            total += moments.cross(columns)[0]
            total += np.outer(total_weight * gap[columns], gap)
        else:
            index = np.unique(np.concatenate([columns, others]))
            part = X[:, index].toarray().astype(np.float64) - mean[index]
            left = part[:, np.searchsorted(index, columns)]
            if weight.size:
                left *= weight[:, None]
            total += left.T @ part[:, np.searchsorted(index, others)]


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
    X: npt.NDArray[Any], rows: Indices, weight: Array, mean: Array, columns: Indices,
    others: Indices, total: Array,
) -> None:  # fmt: skip
    """Add Σ w (x_c − mean_c)(x_o − mean_o) to a total; the columns are the last of the others."""
    part = X[rows[:, None], others] - mean[others]
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
