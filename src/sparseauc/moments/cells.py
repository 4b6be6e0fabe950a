"""Moments by cell, the classes of every stratum: all that the squared pairwise loss ever asks.

With the class means and covariances (each divided by its class's total weight),

    δ = x̄₋ − x̄₊,        H = S₊ + S₋ + δδᵀ,        F(w) = 1 + 2 w·δ + wᵀ H w.

Where only pairs within strata count, S₊ and S₋ are means of those within each, δ is the
mean of the strata's δ_s, and H = S₊ + S₋ + Σ π_s δ_sδ_sᵀ. Without strata there is one.

``Cells`` are a home of rows: they know means and variances, and give covariances of
columns when a solver asks for them. ``CellSums`` are cells without rows: all of H in
numbers, which are added, saved and loaded. ``Moments`` are the quadratic of any cells.
"""

from __future__ import annotations

import copy
import functools
import operator
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
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
_FORMAT = 3
# Total weights whose products with squares of ordinary numbers keep their digits.
_LIGHTEST = 2.0**-900
# Bytes of a summary, at most.
_MOST_BYTES = 2**30


class Cells(ABC):
    """Rows by cell: 2s holds the positives of stratum s, 2s + 1 its negatives.

    Attributes
    ----------
    weight : ndarray of shape (n_cells,)
        Total weight.
    means, variances : ndarray of shape (n_cells, d)
        Zeros for a cell without rows.
    n_terms : int
        Numbers added up for a moment, at most.
    precision : float
        Relative precision of the covariances of whole columns.
    is_complete : bool
        Whether all covariances are at hand.
    sums_rows, reads_again : bool
        As of ``Quadratic``.
    """

    weight: Array
    means: Array
    variances: Array
    n_terms: int = 8
    precision: float = Quadratic.precision
    is_complete: bool = False
    sums_rows: bool = True
    reads_again: bool = False

    @abstractmethod
    def covariances(
        self, columns: Indices, others: Indices | None, factors: Array
    ) -> Array:
        """Covariances of columns with others, or all, of the cells times their factors, added."""

    @property
    def differences(self) -> Array:
        """Differences of the means of both classes, as exact as can be."""
        with np.errstate(over="ignore", invalid="ignore"):
            differences: Array = self.means[1::2] - self.means[::2]
        return differences

    @property
    def offsets(self) -> Array:
        """How far from zero numbers lie, besides deviations, that are added up."""
        return np.abs(self.means)

    def expect(self, ahead: Callable[[], Indices]) -> None:  # noqa: B027
        """Hear which columns may be asked for soon; see ``Quadratic``."""

    def scatter_of(self, number: int) -> tuple[Array, Array]:
        """Σ w (x − mean)² of a cell, column by column, and Σ w (x − mean)(x − mean)ᵀ."""
        every = np.arange(self.means.shape[1])
        factors = np.eye(1, self.weight.size, number)[0]
        cross = self.weight[number] * self.covariances(every, every, factors)
        return cross.diagonal(), cross


class CellSums(Cells):
    """Additive moments of cells, as plain numbers.

    Attributes
    ----------
    weight : ndarray of shape (n_cells,)
        Total sample weight (the number of rows without weights).
    means : ndarray of shape (n_cells, d)
    scatter : ndarray of shape (n_cells, d)
        Σ w (x − mean)², column by column.
    cross : ndarray of shape (n_cells, d, d)
        Σ w (x − mean)(x − mean)ᵀ; or of shape (n_cells, 0, 0), if it is not wanted.
    """

    NAMES = ("weight", "means", "scatter", "cross")
    is_complete = True
    sums_rows = False

    def __init__(
        self, weight: Array, means: Array, scatter: Array, cross: Array
    ) -> None:
        self.weight = weight
        self.means = means
        self.scatter = scatter
        self.cross = cross

    @classmethod
    def empty(cls, n_cells: int, n_features: int, *, products: bool) -> Self:
        """Moments of no rows."""
        shape = (n_cells, n_features)
        width = n_features if products else 0
        cross = np.zeros((n_cells, width, width))
        return cls(np.zeros(n_cells), np.zeros(shape), np.zeros(shape), cross)

    @property
    def variances(self) -> Array:  # type: ignore[override]
        """Variance of each column, 0 without rows."""
        return self.scatter / self._counts[:, None]

    @property
    def _counts(self) -> Array:
        return np.where(self.weight > 0, self.weight, 1.0)

    def covariances(
        self, columns: Indices, others: Indices | None, factors: Array
    ) -> Array:
        """Covariances of columns with others, or all, of the cells times their factors, added."""
        if others is None:
            chosen = self.cross[:, columns]
        else:
            chosen = self.cross[:, columns[:, None], others]
        return np.tensordot(factors / self._counts, chosen, 1)

    def scatter_of(self, number: int) -> tuple[Array, Array]:
        """Return the numbers of a cell."""
        return self.scatter[number], self.cross[number]

    def add(self, other: Cells, first: int = 0) -> None:
        """Add the rows of other cells, in place: to ours from the ``first`` on.

        Means are moved by their difference rather than recovered from raw sums, so that
        a large offset common to all rows costs no digits.
        """
        for number in np.flatnonzero(other.weight).tolist():
            own = first + number
            old = float(self.weight[own])
            self.weight[own] += other.weight[number]
            share = float(other.weight[number] / self.weight[own])
            gap = other.means[number] - self.means[own]
            self.means[own] += share * gap
            with np.errstate(
                over="ignore", invalid="ignore"
            ):  # too large: refused by name
                if self.cross.size:
                    scatter, cross = other.scatter_of(number)
                    self.cross[own] += cross
                    if old > 0:
                        self.cross[own] += np.outer(old * share * gap, gap)
                else:
                    scatter = other.weight[number] * other.variances[number]
                self.scatter[own] += scatter
                if old > 0:
                    self.scatter[own] += old * share * gap**2

    def merged(self, other: CellSums) -> CellSums:
        """Add the rows of as many other cells."""
        total = copy.deepcopy(self)
        total.add(other)
        return total


class Moments(Quadratic):
    """Quadratic of two classes, from the moments of their cells.

    Attributes
    ----------
    cells : Cells
        The rows.
    shares : ndarray of shape (n_strata,)
        What each stratum counts, 1 in all.
    weights : tuple of float
        Total sample weight of the positives and of the negatives: without weights,
        their numbers.
    weight_unit : float
        What the weights were divided by: 1, or a power of two where they are huge or
        tiny.
    """

    def __init__(
        self, cells: Cells, shares: Array | None = None, weight_unit: float = 1.0
    ) -> None:
        self.cells = cells
        self.shares = np.ones(1) if shares is None else shares
        self.weight_unit = weight_unit
        positive, negative = cells.weight.reshape(-1, 2).sum(axis=0).tolist()
        self.weights: tuple[float, float] = (positive, negative)
        self.n_features = cells.means.shape[1]
        self.precision = cells.precision
        self.sums_rows = cells.sums_rows
        self.reads_again = cells.reads_again
        self.is_complete = cells.is_complete and self.n_features**2 <= COMPLETE_NUMBERS

    @cached_property
    def varies(self) -> Mask:  # type: ignore[override]
        """False for columns that hold one value in every row that counts, stratum by stratum."""
        spread = (self.cells.variances > 0).any(axis=0)
        varies: Mask = spread | (self.cells.differences != 0).any(axis=0)
        return varies

    def expect(self, ahead: Callable[[], Indices]) -> None:
        """Hear which rows of H may be asked for soon, best first."""
        self.cells.expect(ahead)

    def within(self, columns: Indices, others: Indices | None = None) -> Array:
        """S₊ + S₋ of some columns with others, in double precision, or with all columns."""
        return self.cells.covariances(columns, others, np.repeat(self.shares, 2))

    def summary(self) -> ClassMoments:
        """Take along all of H in numbers, without rows."""
        cells = self.cells
        if 8 * cells.means.size * self.n_features > _MOST_BYTES:
            raise InputError(
                f"products of all {self.n_features} columns would fill the memory: choose those "
                "to take along, as by class_moments(X[:, columns], y)"
            )
        unit = self.weight_unit
        for weight in self.weights:
            if weight and not _LIGHTEST < weight * unit < 1 / _LIGHTEST:
                raise InputError(
                    "weights this large or small leave no numbers to merge: multiply all weights, "
                    "of these rows and others, by a constant"
                )
        sums = CellSums.empty(cells.weight.size, self.n_features, products=True)
        sums.add(cells)
        sums = CellSums(
            sums.weight * unit, sums.means, sums.scatter * unit, sums.cross * unit
        )
        return ClassMoments(sums, self.shares)

    @cached_property
    def differences(self) -> Array:
        """δ_s of each stratum, of shape (n_strata, d), as exact as can be."""
        self.check_both_classes()
        return self.cells.differences

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
        return self._by_class(self.cells.means)

    @property
    def centre(self) -> Array:
        """The point midway between the means of the classes."""
        centre: Array = np.mean(self.means, axis=0)
        return centre

    @cached_property
    def variances(self) -> tuple[Array, Array]:
        """Variances of the columns within each class, divided by its weight."""
        self.check_both_classes()
        return self._by_class(self.cells.variances)

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
        magnitudes: Array = np.abs(self.cells.means).max(axis=0)
        return magnitudes

    def columns(self, columns: npt.ArrayLike) -> Array:
        """Columns of H, of shape (d, q)."""
        return self.block(self._check_columns(columns), None).T

    def block(self, columns: Indices, others: Indices | None) -> Array:
        """H of some columns with others, of shape (columns, others), or with all."""
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
        n_terms = self.cells.n_terms
        size = np.sqrt(self.cells.variances) + self.cells.offsets
        magnitudes = size[::2] + size[1::2] + np.abs(self.differences)
        if self.shares.size == 1:
            return (4.0 * n_terms + 32.0) * eps, 1.01 * magnitudes[0]
        # Sums over strata of products are at most the root of both sums of squares, and
        # what strata count is rounded itself.
        unit = (8.0 * (n_terms + self.shares.size) + 64.0) * eps
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

    def __init__(self, sums: CellSums, shares: Array | None = None) -> None:
        super().__init__(sums, shares)
        self.sums = sums

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
        counted = [part.summary().sums for part in parts if min(part.weights) > 0]
        if not counted:
            raise InputError("none of these strata holds rows of both classes")
        sums = CellSums(
            *(
                np.concatenate([getattr(one, name) for one in counted])
                for name in CellSums.NAMES
            )
        )
        return cls(sums, pair_shares(sums.weight.reshape(-1, 2).T, weighting))

    def _combine(self, other: ClassMoments) -> ClassMoments:
        """Add the rows of another summary."""
        if self.n_features != other.n_features:
            raise InputError(
                f"moments over {self.n_features} and {other.n_features} columns do not combine"
            )
        if self.shares.size + other.shares.size > 2:
            raise InputError(
                "moments within strata are not merged: merge those of each stratum, and bring them "
                "together with ClassMoments.of_strata"
            )
        return ClassMoments(self.sums.merged(other.sums))

    def summary(self) -> ClassMoments:
        """Return these numbers."""
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to an ``.npz`` file, whole or not at all."""
        arrays = {name: getattr(self.sums, name) for name in CellSums.NAMES}
        arrays["shares"] = self.shares
        write_atomically(path, lambda file: np.savez(file, format=_FORMAT, **arrays))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ClassMoments:
        """Read what ``save`` wrote; anything else is refused by name."""
        try:
            with np.load(path, allow_pickle=False) as file:
                if int(file["format"]) != _FORMAT:
                    raise InputError(f"format {int(file['format'])} is not known here")
                sums = CellSums(*(file[name] for name in CellSums.NAMES))
                shares = file["shares"]
                _check_shapes(sums, shares.size)
                return cls(sums, shares)
        except FileNotFoundError:
            raise
        except Exception as error:
            # numpy reports damage as EOFError, BadZipFile, KeyError, ValueError or
            # OSError.
            raise InputError(
                f"{os.fspath(path)} does not hold class moments: {error}"
            ) from error


def _check_shapes(sums: CellSums, n_strata: int) -> None:
    """Refuse arrays of a file that do not fit together."""
    cells = 2 * n_strata
    d = sums.means.shape[-1]
    shapes = {
        "weight": (cells,),
        "means": (cells, d),
        "scatter": (cells, d),
        "cross": (cells, d, d),
    }
    for name, shape in shapes.items():
        array = getattr(sums, name)
        if array.shape != shape or array.dtype != np.float64:
            raise InputError("its arrays do not fit together")
