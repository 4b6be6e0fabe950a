"""Class moments of rows that are read chunk by chunk, in as few readings as can be.

Moments of parts merge exactly, so those of every part of the rows, the folds of a cross-validation
above all, are gathered on the same reading, and those of any training set are merged from them.
With few columns one reading gives everything. With many, the first gives means and variances, and
further ones the rows of H that solvers ask for, each time for all training sets at once.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..chunks import Chunks
from ..errors import InputError
from ..strata import Strata
from ..utils.arrays import is_tensor, to_host
from ..utils.types import Array, Indices, Mask
from . import _tensors
from .base import WHOLE_NUMBERS, NotGathered
from .cells import ClassPart, Moments
from .passes import Division, Products, Summaries

# Bytes of cross products up to which those of all columns are gathered on the first reading.
_ALL_BYTES = 2**29
# Bytes of cross products that are gathered where nothing less will do.
_MOST_BYTES = 2**31
# Bytes of rows of H up to which rows are gathered before they are asked for.
_AHEAD_BYTES = 2**29
# Variances of columns whose products may be summed in single precision.
_ORDINARY = 1e-20, 1e20


@dataclass(frozen=True)
class Partition:
    """Rows divided into parts whose moments are wanted."""

    part: npt.NDArray[np.integer[Any]]  # number of each row's part, −1 for rows left out
    n_parts: int
    weight: Array | None = None


def fits_whole(n_features: int, n_parts: int) -> bool:
    """Whether all of H in every part is gathered at once."""
    return n_parts * 2 * n_features**2 * 8 <= _ALL_BYTES


class GatheredMoments:
    """Moments of every part of the rows, and as much of H as passes over the rows have gathered.

    With few columns the first pass gathers all of H (``whole``), if its ``products`` will be asked
    for. With many, solvers ask for H among some columns, and for some of its rows; what all of them
    lack is gathered in one further pass, which is ``quick`` in the memory of a GPU.

    The parts of several partitions are numbered through. Where there are strata, all are divided by
    stratum. ``parts`` are the moments of both classes of each, without products.
    """

    def __init__(
        self,
        chunks: Chunks,
        positive: Mask,
        partitions: Sequence[Partition],
        strata: Strata | None = None,
        *,
        products: bool = True,
    ) -> None:
        self.strata = strata
        self.n_strata = 1 if strata is None else len(strata)
        self._chunks = chunks
        self.quick = chunks.in_device_memory
        self._known: list[npt.NDArray[Any]] = [positive]
        for partition in partitions:
            part = partition.part
            self._known.append(part if strata is None else strata.split_parts(part))
            if partition.weight is not None:
                self._known.append(partition.weight)
        counts = [partition.n_parts * self.n_strata for partition in partitions]
        weighted = [partition.weight is not None for partition in partitions]
        self._division = Division(counts, weighted)
        self.n_rows, self.n_features = positive.size, chunks.shape[1]
        self.whole = products and fits_whole(self.n_features, sum(counts))
        held = np.arange(self.n_features if self.whole else 0)
        found = chunks.run(Summaries(self._division, held), *self._known)
        # Products of some columns with all, and of some columns among themselves.
        self._rows = _GatheredRows()
        self._rows.add(held, [[side.cross for side in sides] for sides in found])
        self._block = _GatheredBlock(np.empty((len(found), 2, 0, 0)))
        nothing = np.empty((0, self.n_features))
        self.parts = [[replace(side, cross=nothing) for side in sides] for sides in found]

    def shares(self, class_weights: Array) -> Array:
        """Share of each stratum, given the weight of both classes in each."""
        return np.ones(1) if self.strata is None else self.strata.shares(class_weights)

    def gather(self, missing: NotGathered, *, single: bool = False) -> None:
        """Read the rows once for what is missing of H.

        Whole rows of H may be of single precision, as the table is, where they only tell which
        columns to look at.
        """
        rows = np.array(sorted(self._with_rows_ahead(missing)), np.int64)
        block = np.setdiff1d(np.array(sorted(missing.block), np.int64), self._block.columns)
        if rows.size + block.size == 0:
            return
        n_rows, n_block = len(self._rows.place) + rows.size, self._block.columns.size + block.size
        # Whole rows of H lie where the table does: a device refuses them itself, if it is full.
        numbers = n_block**2 + (0 if self.quick else n_rows * self.n_features)
        if 16 * len(self.parts) * numbers > _MOST_BYTES:
            raise InputError(
                f"products of {max(n_rows, n_block)} of {self.n_features} columns in "
                f"{len(self.parts)} parts of the rows would fill the memory: choose among fewer "
                "columns, give coarser strata, or leave groups out"
            )
        means = [[side.mean for side in sides] for sides in self.parts]
        single = single and self._chunks.dtype == np.float32 and self._ordinary
        together = np.concatenate([self._block.columns, block])
        wanted = [(rows, None), (block, together)]
        work = Products(self._division, wanted, means, single)
        found = self._chunks.run(work, *self._known)
        if rows.size:
            self._rows.add(rows, found[0])
            self._rows.double &= is_tensor(found[0]) or not single
        if block.size:
            self._block.add(block, to_host(found[1]))

    def _with_rows_ahead(self, missing: NotGathered) -> set[int]:
        """Rows that are missing, and as many of those ahead as there is memory for."""
        rows = missing.rows - self._rows.place.keys()
        if not missing:
            return rows
        ahead = missing.ahead.keys() - self._rows.place.keys() - rows
        room = _AHEAD_BYTES // (16 * len(self.parts) * self.n_features)
        room -= len(self._rows.place) + len(rows)
        ranked = sorted(ahead, key=lambda row: (missing.ahead[row], row))
        return rows | set(ranked[: max(room, 0)])

    @cached_property
    def _ordinary(self) -> bool:
        """Whether squares of all columns keep their digits in single precision."""
        sides = [side for sides in self.parts for side in sides]
        variances = np.max([side.scatter / max(side.weight, 1.0) for side in sides], axis=0)
        varying = variances[variances > 0]
        return bool(np.all((varying > _ORDINARY[0]) & (varying < _ORDINARY[1])))

    def find(self, columns: Indices, others: Indices | None) -> list[_Piece]:
        """Where products of columns with others are, or with all; ``NotGathered`` if nowhere."""
        wanted = columns.tolist()
        rows_missing = set(wanted) - self._rows.place.keys()
        if others is not None:
            block = self._block
            missing = {*wanted, *others.tolist()} - block.place.keys()
            if not missing:
                first, second = (
                    [block.place[j] for j in some.tolist()] for some in (columns, others)
                )
                return [_Piece(slice(None), block.products, np.array(first, np.int64), second)]
            if rows_missing or not self._rows.double:
                raise NotGathered(block=missing, source=self)
        elif rows_missing:
            raise NotGathered(rows=rows_missing, source=self)
        places = np.array([self._rows.place[j] for j in wanted]).reshape(-1, 2)
        with_others = slice(None) if others is None else others
        return [
            _Piece(chosen, self._rows.passes[at], places[chosen, 1], with_others)
            for at in np.unique(places[:, 0]).tolist()
            for chosen in [np.flatnonzero(places[:, 0] == at)]
        ]


class _Piece(NamedTuple):
    """Products in each class (positive, negative) of every part, some of which are wanted."""

    chosen: Any  # the wanted columns that they are of
    products: Any  # an array, list of lists of arrays, or tensor: by part, class, column and other
    rows: Indices  # those that are wanted
    others: Any  # columns of these


class _Members(NamedTuple):
    """The classes of parts that make up cells: weights, and means less that of the cell."""

    numbers: list[tuple[int, int]]  # part and class, 0 positive, 1 negative
    weights: Array
    gaps: Array
    cells: Indices


@dataclass
class _GatheredRows:
    """Products of some columns with all, in each class (positive, negative) of every part.

    Those of tensors stay on their device: only sums are copied from it.
    """

    # Of each column, its pass and number there.
    place: dict[int, tuple[int, int]] = field(default_factory=dict)
    double: bool = True  # whether all are of double precision
    passes: list[Any] = field(default_factory=list)

    def add(self, columns: Indices, products: Any) -> None:
        """Add what a pass has gathered, ``products[part][class]`` of shape (columns, d)."""
        number = len(self.passes)
        self.place |= {column: (number, i) for i, column in enumerate(columns.tolist())}
        self.passes.append(products)


@dataclass
class _GatheredBlock:
    """Products of some columns among themselves, in each class of every part."""

    products: Array  # (n_parts, 2, columns, columns)
    columns: Indices = field(default_factory=lambda: np.empty(0, np.int64))
    place: dict[int, int] = field(default_factory=dict)

    def add(self, columns: Indices, products: Array) -> None:
        """Add columns, given their products with those there and themselves."""
        old, size = self.columns.size, self.columns.size + columns.size
        if size > self.products.shape[-1]:
            room = size + size // 2
            block = np.empty((*self.products.shape[:2], room, room))
            block[..., :old, :old] = self.products[..., :old, :old]
            self.products = block
        self.products[..., old:size, :size] = products
        self.products[..., :old, old:size] = np.swapaxes(products[..., :old], -1, -2)
        self.columns = np.concatenate([self.columns, columns])
        self.place |= {column: old + i for i, column in enumerate(columns.tolist())}


class ChunkedMoments(Moments):
    """Moments of some parts of rows that are read in chunks; see ``GatheredMoments``.

    What was not gathered before takes another pass; for a solver it raises ``NotGathered``.
    """

    def __init__(
        self, gathered: GatheredMoments, parts: Sequence[int], *, solver: bool = False
    ) -> None:
        self._gathered, self._solver = gathered, solver
        size, none = gathered.n_strata, np.empty(0, np.int64)
        divided = gathered.strata is not None
        # Many strata are brought together once for all.
        self._keeps_all = divided and gathered.whole
        # Classes of parts, by cell. They are merged, and none is subtracted: a column that varies
        # elsewhere only has no variance here.
        members: list[tuple[int, int, int, ClassPart]] = []
        cells: list[ClassPart] = []
        for first in range(size):
            numbers = [size * part + first for part in parts]
            merged = [
                functools.reduce(
                    lambda one, other: one.combine(other, none, 1),
                    [gathered.parts[number][side] for number in numbers],
                )
                for side in (0, 1)
            ]
            # Strata without both classes count nothing.
            if not divided or min(cell.weight for cell in merged) > 0:
                members += [
                    (number, side, len(cells) + side, gathered.parts[number][side])
                    for side in (0, 1)
                    for number in numbers
                    if gathered.parts[number][side].weight > 0
                ]
                cells += merged
        if not cells:
            raise InputError("none of these strata holds rows of both classes")
        self._cells = cells
        self._cell_weights = np.array([cell.weight for cell in cells])
        totals = self._cell_weights.reshape(-1, 2).T
        self.weights = float(totals[0].sum()), float(totals[1].sum())
        self.shares = gathered.shares(totals)
        self.cell_means = np.array([cell.mean for cell in cells])
        self.n_features = gathered.n_features
        of_cell = np.array([cell for _, _, cell, _ in members], np.int64)
        means = np.reshape([part.mean for *_, part in members], (-1, self.n_features))
        self._members = _Members(
            [(number, side) for number, side, *_ in members],
            np.array([part.weight for *_, part in members]),
            means - self.cell_means[of_cell],
            of_cell,
        )
        scatters = np.array([cell.scatter for cell in cells])
        self.cell_variances = scatters / np.where(totals.T > 0, totals.T, 1.0).reshape(-1, 1)
        apart = self.cell_means[::2] != self.cell_means[1::2]
        self.varies = np.logical_or((scatters > 0).any(axis=0), apart.any(axis=0))

    @property
    def is_whole(self) -> bool:  # type: ignore[override]
        """Whether all of H was gathered."""
        return self._gathered.whole and self.n_features**2 <= WHOLE_NUMBERS

    @property
    def scatters(self) -> tuple[Array, Array]:
        """Σ w (x − mean)² of each class, column by column."""
        if self.shares.size > 1:
            return super().scatters
        return self._cells[0].scatter, self._cells[1].scatter

    @property
    def _terms(self) -> int:
        """Numbers added up for a moment: rows, and chunks that are merged."""
        return 4 * self._gathered.n_rows

    def cross(self, columns: npt.ArrayLike) -> tuple[Array, Array]:
        """Σ w (x_c − mean_c)(x − mean) of each class, of shape (q, d)."""
        index, (positive, negative) = self._check_columns(columns), self.weights
        return self._sums((positive, 0.0), index), self._sums((0.0, negative), index)

    def within(self, columns: Indices, others: Indices | None = None) -> Array:
        """S₊ + S₋ of some columns with others, or with all, of both classes at once."""
        if self._keeps_all:
            found: Array = self._all_within[columns if others is None else np.ix_(columns, others)]
            return found
        return self._sums((1.0, 1.0), columns, others)

    @cached_property
    def _all_within(self) -> Array:
        """S₊ + S₋ of all columns."""
        every = np.arange(self.n_features)
        return self._sums((1.0, 1.0), every, every)

    def _sums(
        self, by_class: tuple[float, float], columns: Indices, others: Indices | None = None
    ) -> Array:
        """Covariances of columns with others, or all, of both classes times their factors."""
        try:
            pieces = self._gathered.find(columns, others)
        except NotGathered as missing:
            if self._solver:
                raise
            missing.gather()
            pieces = self._gathered.find(columns, others)
        members, weights = self._members, self._cell_weights
        shares = np.outer(self.shares, by_class).ravel()
        factors = np.divide(shares, weights, out=np.zeros_like(shares), where=weights > 0)
        factors = factors[members.cells]
        gaps = members.gaps if others is None else members.gaps[:, others]
        total: Array = ((factors * members.weights)[:, None] * members.gaps[:, columns]).T @ gaps
        counted = np.flatnonzero(factors).tolist()
        for piece in pieces if counted else []:
            if not isinstance(piece.products, list | np.ndarray):  # a tensor
                total[piece.chosen] += _tensors.sum_products(
                    piece.products, members.numbers, factors, piece.rows, piece.others
                )
                continue
            index = piece.rows if others is None else piece.rows[:, None]
            parts = ((members.numbers[at], factors[at]) for at in counted)
            total[piece.chosen] += functools.reduce(
                operator.iadd,
                (
                    piece.products[number][side][index, piece.others] * factor
                    for (number, side), factor in parts
                ),
            )
        return total


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
    gathered = GatheredMoments(chunks, positive, [everything], strata, products=products)
    return ChunkedMoments(gathered, [0], solver=solver)
