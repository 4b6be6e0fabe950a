"""Moments by cell, the classes of every stratum: all that the squared pairwise loss ever asks.

With the class means and covariances (each divided by its class's total weight),

    δ = x̄₋ − x̄₊,        H = S₊ + S₋ + δδᵀ,        F(w) = 1 + 2 w·δ + wᵀ H w.

Where only pairs within strata count, S₊ and S₋ are means of those within each, δ is the
mean of the strata's δ_s, and H = S₊ + S₋ + Σ π_s δ_sδ_sᵀ. Without strata there is one.

``ClassMoments`` are numbers without rows, which are added, saved and loaded.
``OnDemand`` computes products of columns from rows, wherever they are, when a solver
asks for them.
"""

from __future__ import annotations

import copy
import functools
import operator
import os
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..strata import Weighting, pair_shares
from ..utils.files import write_atomically
from ..utils.types import Array, Indices, Mask
from .base import COMPLETE_NUMBERS, Quadratic

# Version of the file layout written by ``ClassMoments.save``.
_FORMAT = 2
# Total weights whose products with squares of ordinary numbers keep their digits.
_LIGHTEST = 2.0**-900
# Bytes of a summary up to which it has all of H unless columns are named.
_MOST_BYTES = 2**30


@dataclass(frozen=True, eq=False)
class CellSums:
    """Additive moments of several cells.

    Attributes
    ----------
    weight : ndarray of shape (n_cells,)
        Total sample weight (the number of rows without weights).
    mean : ndarray of shape (n_cells, d)
    scatter : ndarray of shape (n_cells, d)
        Σ w (x − mean)², column by column.
    cross : ndarray of shape (n_cells, q, d)
        Σ w (x_c − mean_c)(x − mean) for the q columns c taken along.
    """

    weight: Array
    mean: Array
    scatter: Array
    cross: Array

    @classmethod
    def empty(cls, n_cells: int, n_features: int, n_columns: int = 0) -> Self:
        """Moments of no rows."""
        shape = n_cells, n_features
        cross = np.zeros((n_cells, n_columns, n_features))
        return cls(np.zeros(n_cells), np.zeros(shape), np.zeros(shape), cross)

    @property
    def variances(self) -> Array:
        """Variance of each column, 0 without rows."""
        return self.scatter / np.where(self.weight > 0, self.weight, 1.0)[:, None]

    def add(self, other: CellSums, columns: Indices, first: int = 0) -> None:
        """Add the rows of other cells, in place: to ours from the ``first`` on.

        Means are moved by their difference rather than recovered from raw sums, so that
        a large offset common to all rows costs no digits.
        """
        for number in np.flatnonzero(other.weight).tolist():
            own = first + number
            old = float(self.weight[own])
            self.weight[own] += other.weight[number]
            share = float(other.weight[number] / self.weight[own])
            gap = other.mean[number] - self.mean[own]
            self.mean[own] += share * gap
            with np.errstate(
                over="ignore", invalid="ignore"
            ):  # too large: refused by name
                self.scatter[own] += other.scatter[number]
                self.cross[own] += other.cross[number]
                if old > 0:
                    self.scatter[own] += old * share * gap**2
                    self.cross[own] += np.outer(old * share * gap[columns], gap)

    def merged(self, other: CellSums, columns: Indices) -> CellSums:
        """Add the rows of as many other cells."""
        total = copy.deepcopy(self)
        total.add(other, columns)
        return total


class Moments(Quadratic):
    """Quadratic of solvers, from the moments of the cells.

    Cell 2s holds the positives of stratum s, cell 2s + 1 its negatives.

    Attributes
    ----------
    weights : tuple of float
        Total sample weight of the positives and of the negatives: without weights,
        their numbers.
    shares : ndarray of shape (n_strata,)
        What each stratum counts, 1 in all.
    cell_weights : ndarray of shape (n_cells,)
    cell_means, cell_variances : ndarray of shape (n_cells, d)
        Zeros for a cell without rows.
    varies : ndarray of bool of shape (d,)
        False for columns that hold one value in every row that counts, stratum by
        stratum.
    """

    def __init__(
        self,
        weight: Array,
        shares: Array,
        means: Array,
        variances: Array,
        *,
        varies: Mask | None = None,
        differences: Array | None = None,
        n_terms: int = 8,
        offsets: Array | None = None,
    ) -> None:
        positive, negative = weight.reshape(-1, 2).sum(axis=0).tolist()
        self.weights: tuple[float, float] = (positive, negative)
        self.shares = shares
        self.cell_weights = weight
        self.cell_means = means
        self.cell_variances = variances
        if varies is None:
            varies = (variances > 0).any(axis=0) | (means[::2] != means[1::2]).any(
                axis=0
            )
        self.varies = varies
        self.n_features = means.shape[1]
        with np.errstate(over="ignore", invalid="ignore"):
            self._differences: Array = means[1::2] - means[::2]
        if differences is not None:
            self._differences = differences
        # Numbers added up for a moment, and how far from zero they lie besides
        # deviations.
        self._n_terms = n_terms
        self._offsets = np.abs(means if offsets is None else offsets)

    @abstractmethod
    def within(self, columns: Indices, others: Indices | None = None) -> Array:
        """S₊ + S₋ of some columns with others, in double precision, or with all columns."""

    @abstractmethod
    def summary(self, columns: npt.ArrayLike | None = None) -> ClassMoments:
        """Numbers without rows, with the products of all columns or of some.

        Parameters
        ----------
        columns : array-like of int, optional
            The columns of H to take along; only these can be chosen later.
        """

    @property
    def column_index(self) -> Indices:
        """The columns of H that can be given, ascending."""
        return np.arange(self.n_features)

    @property
    def differences(self) -> Array:
        """δ_s of each stratum, of shape (n_strata, d), as exact as can be."""
        self.check_both_classes()
        return self._differences

    def _by_class(self, values: Array) -> tuple[Array, Array]:
        """Means over the strata of numbers by cell, for each class."""
        if self.shares.size > 1:
            with np.errstate(over="ignore", invalid="ignore"):
                values = np.tensordot(
                    self.shares, values.reshape(self.shares.size, 2, -1), 1
                )
        return values[0], values[1]

    @property
    def means(self) -> tuple[Array, Array]:
        """Mean of each class, over the strata."""
        return self._by_class(self.cell_means)

    @property
    def centre(self) -> Array:
        """The point midway between the means of the classes."""
        centre: Array = np.mean(self.means, axis=0)
        return centre

    @cached_property
    def variances(self) -> tuple[Array, Array]:
        """Variances of the columns within each class, divided by its weight."""
        self.check_both_classes()
        return self._by_class(self.cell_variances)

    @property
    def ratio(self) -> float:
        """Share r of the positives, by weight."""
        positive, negative = self.weights
        return positive / (positive + negative)

    @property
    def delta(self) -> Array:
        """δ = x̄₋ − x̄₊, the mean of the strata's."""
        delta: Array = self.shares @ self.differences
        return delta

    @property
    def deviations(self) -> Array:
        """Deviation of each column over all rows, as ``StandardScaler`` computes it.

        With strata it is that within them.
        """
        r = self.ratio
        positive, negative = self.variances
        between = self.shares @ self.differences**2
        return np.sqrt(r * positive + (1 - r) * negative + r * (1 - r) * between)

    @property
    def diagonal(self) -> Array:
        """Diagonal of H."""
        positive, negative = self.variances
        return positive + negative + self.shares @ self.differences**2

    @property
    def magnitudes(self) -> Array:  # type: ignore[override]
        """The largest mean of any cell, without its sign."""
        magnitudes: Array = np.abs(self.cell_means).max(axis=0)
        return magnitudes

    def columns(self, columns: npt.ArrayLike) -> Array:
        """Columns of H, of shape (d, q)."""
        return self._products(self._check_columns(columns)).T

    def block(self, columns: Indices, others: Indices) -> Array:
        """H of some columns with others, of shape (columns, others)."""
        return self._products(columns, others)

    def _products(self, columns: Indices, others: Indices | None = None) -> Array:
        """H of some columns with others, or with all."""
        differences = self.differences
        products = self.within(columns, others)
        across = differences if others is None else differences[:, others]
        products += (differences[:, columns].T * self.shares) @ across
        return products

    def loss(self, w: npt.ArrayLike) -> float:
        """F(w) = Σ π_s (1 + w·δ_s)² + wᵀ(S₊ + S₋)w, from the columns where w is not zero."""
        vector = np.asarray(w, np.float64)
        support = np.flatnonzero(vector)
        values = vector[support]
        spread = values @ self.within(support, support) @ values
        return float(
            self.shares @ (1.0 + self.differences[:, support] @ values) ** 2 + spread
        )

    def rounding(self) -> tuple[float, Array]:
        """Largest distance of δ and blocks of H from those of the rows; see ``Quadratic``.

        Returns
        -------
        unit : float
        magnitude : ndarray of shape (d,)
            δ_j is off by at most unit·magnitude_j, H_ij by
            unit·magnitude_i·magnitude_j. A sum of m products is off by m·eps/2 times
            the sum of their magnitudes, whatever the order, and that sum is at most the
            root of both sums of squares (Cauchy and Schwarz).
        """
        eps = Quadratic.precision
        size = np.sqrt(self.cell_variances) + self._offsets
        magnitudes = size[::2] + size[1::2] + np.abs(self.differences)
        if self.shares.size == 1:
            return (4.0 * self._n_terms + 32.0) * eps, 1.01 * magnitudes[0]
        # Sums over strata of products are at most the root of both sums of squares, and
        # what strata count is rounded itself.
        unit = (8.0 * (self._n_terms + self.shares.size) + 64.0) * eps
        return unit, 1.01 * np.sqrt(self.shares @ magnitudes**2)

    def __add__(self, other: Moments) -> ClassMoments:
        return self.summary()._combine(other.summary())

    def _check_columns(self, columns: npt.ArrayLike) -> Indices:
        index = np.asarray(columns, dtype=np.int64 if np.size(columns) == 0 else None)
        if index.ndim != 1 or index.dtype.kind not in "iu":
            raise InputError(
                "columns must be a one-dimensional array of column numbers"
            )
        unknown = index[(index < 0) | (index >= self.n_features)]
        if unknown.size:
            raise InputError(
                f"column {unknown[0]} does not exist: there are {self.n_features}"
            )
        return index.astype(np.int64)

    def check_both_classes(self) -> None:
        """Refuse moments without rows of one of the classes."""
        for name, weight in zip(("positive", "negative"), self.weights, strict=True):
            if weight == 0.0:
                raise InputError(
                    f"these moments hold no {name} rows: merge in some that do"
                )


class ClassMoments(Moments):
    """Moments of both classes as plain numbers: add, save, load.

    Attributes
    ----------
    sums : CellSums
        The additive moments of the positives and of the negatives, of every stratum.
    column_index : ndarray of shape (q,)
        The columns of H that can be given, ascending.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseauc.moments import class_moments
    >>> X, y = np.arange(12.0).reshape(6, 2) ** 2, np.array([1, -1, -1, 1, -1, 1])
    >>> whole = class_moments(X, y)
    >>> merged = class_moments(X[:3], y[:3]) + class_moments(X[3:], y[3:])
    >>> bool(np.allclose(whole.columns([0, 1]), merged.columns([0, 1])))
    True
    """

    sums_rows = False

    def __init__(
        self, sums: CellSums, column_index: Indices, shares: Array | None = None
    ) -> None:
        shares = np.ones(1) if shares is None else shares
        super().__init__(sums.weight, shares, sums.mean, sums.variances)
        self.sums = sums
        self._column_index = column_index

    @property
    def column_index(self) -> Indices:
        """The columns of H that can be given, ascending."""
        return self._column_index

    @property
    def is_complete(self) -> bool:  # type: ignore[override]
        """Return whether all of H was taken along."""
        d = self.n_features
        return self.column_index.size == d and d**2 <= COMPLETE_NUMBERS

    @classmethod
    def merge(cls, parts: Iterable[Moments]) -> ClassMoments:
        """Sum of several summaries over the same columns."""
        every = [part.summary() for part in parts]
        if not every:
            raise InputError("nothing to merge: give at least one summary")
        return functools.reduce(operator.add, every)

    @classmethod
    def of_strata(
        cls, parts: Sequence[Moments], weighting: Weighting = "pairs"
    ) -> ClassMoments:
        """Bring several strata together, which are compared within and never with each other.

        F is the mean of theirs, F(w) = Σ π_s F_s(w), and every part of it is the mean
        of their parts. So hospitals that measure differently send their summaries.

        Parameters
        ----------
        parts : sequence of Moments
            Of each stratum. Those without rows of both classes count nothing.
        weighting : {"pairs", "equal"}, default="pairs"
            Whether strata count by their number of pairs, or all the same.

        Examples
        --------
        >>> from sparseauc import ClassMoments, SparseAUCClassifier, class_moments
        >>> from sparseauc.datasets import make_outbreak
        >>> X, y = make_outbreak(n=2000, d=20, k=5, mu=1.0, random_state=0)
        >>> one = class_moments(X[:800], y[:800])
        >>> other = class_moments(X[800:], y[800:])
        >>> moments = ClassMoments.of_strata([one, other])
        >>> model = SparseAUCClassifier(k=5).fit_moments(moments, classes=(-1, 1))
        >>> int(model.get_support().sum())
        5
        """
        for part in parts:
            if part.n_features != parts[0].n_features:
                raise InputError(
                    f"strata of {parts[0].n_features} and {part.n_features} columns do not combine"
                )
        counted = [part.summary() for part in parts if min(part.weights) > 0]
        if not counted:
            raise InputError("none of these strata holds rows of both classes")
        common = functools.reduce(
            np.intersect1d, [part.column_index for part in counted]
        )
        strata = [vars(part.summary(common).sums) for part in counted]
        arrays = {
            f.name: np.concatenate([one[f.name] for one in strata])
            for f in fields(CellSums)
        }
        sums = CellSums(**arrays)
        return cls(sums, common, pair_shares(sums.weight.reshape(-1, 2).T, weighting))

    def _combine(self, other: ClassMoments) -> ClassMoments:
        """Add the rows of another summary."""
        if self.n_features != other.n_features:
            raise InputError(
                f"moments over {self.n_features} and {other.n_features} columns do not combine"
            )
        if not np.array_equal(self.column_index, other.column_index):
            raise InputError("moments that carry different columns of H do not combine")
        if self.shares.size + other.shares.size > 2:
            raise InputError(
                "moments within strata are not merged: merge those of each stratum, and bring them "
                "together with ClassMoments.of_strata"
            )
        return ClassMoments(
            self.sums.merged(other.sums, self.column_index), self.column_index
        )

    def summary(self, columns: npt.ArrayLike | None = None) -> ClassMoments:
        """Keep all columns of H, or some of those taken along."""
        if columns is None:
            return self
        index = np.unique(self._check_columns(columns))
        sums = replace(self.sums, cross=self.sums.cross[:, self._places(index)])
        return ClassMoments(sums, index, self.shares)

    def _places(self, index: Indices) -> Indices:
        """Places of the products of columns that were taken along."""
        place = np.searchsorted(self.column_index, index)
        known = place < self.column_index.size
        known[known] = self.column_index[place[known]] == index[known]
        if not known.all():
            raise KeyError(
                f"column {index[~known][0]} of H was not taken along; "
                "name it in summary(columns=…) when the rows are read"
            )
        return place

    def within(self, columns: Indices, others: Indices | None = None) -> Array:
        """S₊ + S₋ of some columns with others, or with all."""
        weight = np.where(self.cell_weights > 0, self.cell_weights, 1.0)
        factors = np.repeat(self.shares, 2) / weight
        places = self._places(columns)
        if others is None:
            products = self.sums.cross[:, places]
        else:
            products = self.sums.cross[:, places[:, None], others]
        return np.tensordot(factors, products, 1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to an ``.npz`` file, whole or not at all."""
        arrays = {
            "column_index": self.column_index,
            "shares": self.shares,
            **vars(self.sums),
        }
        write_atomically(path, lambda file: np.savez(file, format=_FORMAT, **arrays))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ClassMoments:
        """Read what ``save`` wrote; anything else is refused by name."""
        try:
            with np.load(path, allow_pickle=False) as file:
                if int(file["format"]) != _FORMAT:
                    raise InputError(f"format {int(file['format'])} is not known here")
                sums = CellSums(**{f.name: file[f.name] for f in fields(CellSums)})
                shares = file["shares"]
                index = file["column_index"]
                _check_shapes(sums, index, shares.size)
                moments = cls(sums, index, shares)
                moments._check_columns(index)
                return moments
        except FileNotFoundError:
            raise
        except Exception as error:
            # numpy reports damage as EOFError, BadZipFile, KeyError, ValueError or
            # OSError.
            raise InputError(
                f"{os.fspath(path)} does not hold class moments: {error}"
            ) from error


class OnDemand(Moments):
    """Moments of rows that are at hand: products of columns are computed when they are asked for.

    Attributes
    ----------
    weight_unit : float
        What the weights were divided by: 1, or a power of two where they are huge or
        tiny.
    """

    weight_unit: float = 1.0

    @abstractmethod
    def _covariances(
        self, columns: Indices, others: Indices | None, factors: Array
    ) -> Array:
        """Covariances of columns with others, or all, of the cells times their factors, added."""

    @abstractmethod
    def sums(self, columns: Indices) -> CellSums:
        """Additive moments of the cells, with the products of some columns."""

    def within(self, columns: Indices, others: Indices | None = None) -> Array:
        """S₊ + S₋ of some columns with others, in double precision, or with all columns."""
        return self._covariances(columns, others, np.repeat(self.shares, 2))

    def summary(self, columns: npt.ArrayLike | None = None) -> ClassMoments:
        """Numbers without rows, with the products of all columns or of some."""
        d = self.n_features
        index = (
            np.arange(d) if columns is None else np.unique(self._check_columns(columns))
        )
        if columns is None and 8 * self.cell_means.size * d > _MOST_BYTES:
            raise InputError(
                f"products of all {d} columns would fill the memory: name those to take along in "
                "summary(columns)"
            )
        unit = self.weight_unit
        for weight in self.weights:
            if weight and not _LIGHTEST < weight * unit < 1 / _LIGHTEST:
                raise InputError(
                    "weights this large or small leave no numbers to merge: multiply all weights, "
                    "of these rows and others, by a constant"
                )
        sums = self.sums(index)
        sums = CellSums(
            sums.weight * unit, sums.mean, sums.scatter * unit, sums.cross * unit
        )
        return ClassMoments(sums, index, self.shares)


def _check_shapes(sums: CellSums, index: Indices, n_strata: int) -> None:
    """Refuse arrays of a file that do not fit together."""
    cells = 2 * n_strata
    d = sums.mean.shape[-1]
    expected = {
        "weight": (cells,),
        "mean": (cells, d),
        "scatter": (cells, d),
        "cross": (cells, index.size, d),
    }
    fits = np.array_equal(index, np.unique(index))
    for name, shape in expected.items():
        array = getattr(sums, name)
        fits &= array.shape == shape and array.dtype == np.float64
    if not fits:
        raise InputError("its arrays do not fit together")
