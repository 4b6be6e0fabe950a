"""Moments by cell, the classes of every stratum: all that the squared pairwise loss ever asks.

With the class means and covariances (each divided by its class's total weight),

    δ = x̄₋ − x̄₊,        H = S₊ + S₋ + δδᵀ,        F(w) = 1 + 2 w·δ + wᵀ H w.

Where only pairs within strata count, S₊ and S₋ are means of those within each, δ is the mean of the
strata's δ_s, and H = S₊ + S₋ + Σ π_s δ_sδ_sᵀ. Without strata there is one.

Providers differ in where products come from: ``DenseMoments`` and ``SparseMoments`` refer to a
table in memory, ``ClassMoments`` and ``StratifiedMoments`` are numbers without rows,
``ChunkedMoments`` are gathered in passes over the rows.
"""

from __future__ import annotations

import functools
import operator
import os
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..strata import Weighting, pair_shares
from ..utils.files import write_atomically
from ..utils.types import Array, Indices, Mask
from .base import WHOLE_NUMBERS, Quadratic

# Version of the file layout written by ``ClassMoments.save``.
_FORMAT = 1
# Weights summed in another order differ by rounding: a remainder this small is none.
_ROUNDING = 1e-9
# Total weights whose products with squares of ordinary numbers keep their digits.
_LIGHTEST = 2.0**-900


class Moments(Quadratic):
    """What a solver may ask, from the moments of the cells.

    Cell 2s holds the positives of stratum s, cell 2s + 1 its negatives. A provider sets the
    attributes and has the methods ``within`` and ``cross``.

    Attributes
    ----------
    weights : tuple of float
        Total sample weight of the positives and of the negatives: without weights, their numbers.
    shares : ndarray of shape (n_strata,)
        What each stratum counts, 1 in all.
    cell_means, cell_variances : ndarray of shape (n_cells, d)
        Zeros for a cell without rows.
    varies : ndarray of bool of shape (d,)
        False for columns that hold one value in every row that counts, stratum by stratum.
    weight_unit : float
        What the weights were divided by: 1, or a power of two where they are huge or tiny.
    """

    weights: tuple[float, float]
    shares: Array
    cell_means: Array
    cell_variances: Array
    weight_unit: float = 1.0

    @abstractmethod
    def cross(self, columns: npt.ArrayLike) -> tuple[Array, Array]:
        """Σ w (x_c − mean_c)(x − mean) of each class for the q columns c, of shape (q, d)."""

    @abstractmethod
    def within(self, columns: Indices, others: Indices | None = None) -> Array:
        """S₊ + S₋ of some columns with others, in double precision, or with all columns."""

    @cached_property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.cell_means.shape[1])

    @cached_property
    def differences(self) -> Array:
        """δ_s of each stratum, of shape (n_strata, d)."""
        self.check_both_classes()
        differences: Array = self.cell_means[1::2] - self.cell_means[::2]
        return differences

    def _by_class(self, values: Array) -> tuple[Array, Array]:
        """Means over the strata of numbers by cell, for each class."""
        if self.shares.size > 1:
            with np.errstate(over="ignore", invalid="ignore"):
                values = np.tensordot(self.shares, values.reshape(self.shares.size, 2, -1), 1)
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
    def scatters(self) -> tuple[Array, Array]:
        """Σ w (x − mean)² of each class, column by column."""
        positive, negative = self._by_class(self.cell_variances)
        return positive * self.weights[0], negative * self.weights[1]

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
        r = self.weights[0] / (self.weights[0] + self.weights[1])
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
        index = self._check_columns(columns)
        self.check_both_classes()
        rows_of_h = self.within(index)
        differences = self.differences
        for row, factors in zip(rows_of_h, differences[:, index].T * self.shares, strict=True):
            row += factors @ differences
        return rows_of_h.T

    def block(self, columns: Indices, others: Indices) -> Array:
        """H of some columns with others, of shape (columns, others)."""
        differences = self.differences
        block: Array = self.within(columns, others)
        block += (differences[:, columns].T * self.shares) @ differences[:, others]
        return block

    def loss(self, w: npt.ArrayLike) -> float:
        """F(w) = Σ π_s (1 + w·δ_s)² + wᵀ(S₊ + S₋)w, from the columns where w is not zero."""
        vector = np.asarray(w, np.float64)
        support = np.flatnonzero(vector)
        values = vector[support]
        spread = values @ self.within(support, support) @ values
        return float(self.shares @ (1.0 + self.differences[:, support] @ values) ** 2 + spread)

    def carefully(self) -> Moments:
        """Give the same moments, with whatever can be done about rounding."""
        return self

    def rounding(self) -> tuple[float, Array]:
        """How far δ and H may be from those of the rows in exact arithmetic.

        Returns
        -------
        unit : float
        magnitude : ndarray of shape (d,)
            δ_j is off by at most unit·magnitude_j, H_ij by unit·magnitude_i·magnitude_j. A sum of
            m products is off by m·eps/2 times the sum of their magnitudes, whatever the order, and
            that sum is at most the root of both sums of squares (Cauchy and Schwarz).
        """
        deviations, about = np.sqrt(self.cell_variances), np.abs(self.cell_means)
        magnitudes = deviations[::2] + deviations[1::2] + about[::2] + about[1::2]
        return self._rounding(self._terms, magnitudes)

    def _rounding(self, terms: int, magnitudes: Array) -> tuple[float, Array]:
        """``rounding``, given the numbers added up for a moment and magnitudes by stratum."""
        if self.shares.size == 1:
            return (4.0 * terms + 32.0) * self.precision, 1.01 * magnitudes[0]
        # Sums over strata of products are at most the root of both sums of squares, and what
        # strata count is rounded itself.
        unit = (8.0 * (terms + self.shares.size) + 64.0) * self.precision
        return unit, 1.01 * np.sqrt(self.shares @ magnitudes**2)

    @property
    def _terms(self) -> int:
        """Numbers added up for a moment; those of a summary are taken as they stand."""
        return 8

    def summary(self, columns: npt.ArrayLike = ()) -> ClassMoments:
        """Numbers without rows; ``columns`` names the columns of H to take along."""
        if self.shares.size > 1:
            raise InputError(
                "moments within strata are not merged: summarise the rows of each stratum, and "
                "bring the summaries together with StratifiedMoments"
            )
        index = np.unique(self._check_columns(columns))
        unit = self.weight_unit
        for weight in self.weights:
            if weight and not _LIGHTEST < weight * unit < 1 / _LIGHTEST:
                raise InputError(
                    "weights this large or small leave no numbers to merge: multiply all weights, "
                    "of these rows and others, by a constant"
                )
        parts = zip(self.weights, self.means, self.scatters, self.cross(index), strict=True)
        positive, negative = (
            ClassPart(weight * unit, mean, scatter * unit, cross * unit)
            for weight, mean, scatter, cross in parts
        )
        return ClassMoments(positive, negative, index)

    def _check_columns(self, columns: npt.ArrayLike) -> Indices:
        index = np.asarray(columns, dtype=np.int64 if np.size(columns) == 0 else None)
        if index.ndim != 1 or index.dtype.kind not in "iu":
            raise InputError("columns must be a one-dimensional array of column numbers")
        for column in index[(index < 0) | (index >= self.n_features)][:1]:
            raise InputError(f"column {column} does not exist: there are {self.n_features}")
        return index.astype(np.int64)

    def check_both_classes(self) -> None:
        """Refuse moments without rows of one of the classes."""
        for name, weight in zip(("positive", "negative"), self.weights, strict=True):
            if weight == 0.0:
                raise InputError(f"these moments hold no {name} rows: merge in some that do")


@dataclass(frozen=True)
class ClassPart:
    """Additive moments of one class.

    Attributes
    ----------
    weight : float
        Total sample weight (the number of rows without weights).
    mean : ndarray of shape (d,)
    scatter : ndarray of shape (d,)
        Σ w (x − mean)², column by column.
    cross : ndarray of shape (q, d)
        Σ w (x_c − mean_c)(x − mean) for the q columns c taken along.
    """

    weight: float
    mean: Array
    scatter: Array
    cross: Array

    @property
    def variance(self) -> Array:
        """Variance of each column, 0 without rows."""
        return self.scatter / (self.weight or 1.0)

    def combine(self, other: ClassPart, columns: Indices, sign: int) -> ClassPart:
        """Add (``sign=1``) or take away (``sign=-1``) rows summarised by ``other``.

        Means are moved by their difference rather than recovered from raw sums, so that a large
        offset common to all rows costs no digits.
        """
        if other.weight == 0.0:
            return self
        if self.weight == 0.0 and sign > 0:
            return other
        weight = self.weight + sign * other.weight
        if weight <= _ROUNDING * self.weight:
            nothing = np.zeros_like(self.mean)
            return ClassPart(0.0, nothing, nothing, np.zeros_like(self.cross))
        gap = other.mean - self.mean
        mean = self.mean + gap * (sign * other.weight / weight)
        # The between-parts term of a merge has weight n_a·n_b / (n_a + n_b); for a subtraction the
        # rest plays the part of a, which gives the same expression with the sign of n_b.
        between = sign * self.weight * other.weight / weight
        with np.errstate(over="ignore", invalid="ignore"):  # columns too large are refused by name
            scatter = self.scatter + sign * other.scatter + between * gap**2
            cross = self.cross + sign * other.cross + between * np.outer(gap[columns], gap)
        # What is left of a variance cannot be negative; rounding can make it so.
        return ClassPart(weight, mean, np.maximum(scatter, 0.0), cross)


@dataclass(frozen=True)
class ClassMoments(Moments):
    """Moments of both classes as plain numbers: merge, subtract, save, load.

    Attributes
    ----------
    positive, negative : ClassPart
        The additive moments of each class.
    column_index : ndarray of shape (q,)
        The columns of H that can be given, ascending.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseauc.moments import class_moments
    >>> X, y = np.arange(12.0).reshape(6, 2) ** 2, np.array([1, -1, -1, 1, -1, 1])
    >>> whole = class_moments(X, y).summary(columns=[0, 1])
    >>> parts = [class_moments(X[i::2], y[i::2]).summary(columns=[0, 1]) for i in range(2)]
    >>> merged = parts[0] + parts[1]
    >>> bool(np.allclose(whole.columns([0, 1]), merged.columns([0, 1])))
    True
    """

    positive: ClassPart
    negative: ClassPart
    column_index: Indices = field(default_factory=lambda: np.empty(0, np.int64))

    @cached_property
    def n_features(self) -> int:
        """Number of columns."""
        return self.positive.mean.size

    @property
    def is_whole(self) -> bool:  # type: ignore[override]
        """Whether all of H was taken along."""
        d = self.n_features
        return self.column_index.size == d and d**2 <= WHOLE_NUMBERS

    @property
    def weights(self) -> tuple[float, float]:  # type: ignore[override]
        """Total sample weight of each class."""
        return self.positive.weight, self.negative.weight

    @cached_property
    def shares(self) -> Array:  # type: ignore[override]
        """One stratum counts all."""
        return np.ones(1)

    @cached_property
    def cell_means(self) -> Array:  # type: ignore[override]
        """Mean of each class."""
        return np.array([self.positive.mean, self.negative.mean])

    @cached_property
    def cell_variances(self) -> Array:  # type: ignore[override]
        """Variances within each class."""
        return np.array([self.positive.variance, self.negative.variance])

    @property
    def scatters(self) -> tuple[Array, Array]:
        """Σ w (x − mean)² of each class, column by column."""
        return self.positive.scatter, self.negative.scatter

    @cached_property
    def varies(self) -> Mask:
        """False for columns that hold one value in every row."""
        sides = self.positive, self.negative
        varies: Mask = sides[0].mean != sides[1].mean
        for side in sides:
            varies |= side.scatter > 0
        return varies

    @classmethod
    def merge(cls, parts: Iterable[ClassMoments]) -> ClassMoments:
        """Sum of several summaries over the same columns."""
        every = list(parts)
        if not every:
            raise InputError("nothing to merge: give at least one summary")
        return functools.reduce(operator.add, every)

    def __add__(self, other: ClassMoments) -> ClassMoments:
        return self._combine(other, 1)

    def __sub__(self, other: ClassMoments) -> ClassMoments:
        for name in ("positive", "negative"):
            mine, theirs = getattr(self, name).weight, getattr(other, name).weight
            if theirs > mine * (1 + _ROUNDING):
                raise InputError(
                    f"cannot subtract {theirs:g} {name} rows from {mine:g}: not a part of these"
                )
        return self._combine(other, -1)

    def _combine(self, other: ClassMoments, sign: int) -> ClassMoments:
        if self.n_features != other.n_features:
            raise InputError(
                f"moments over {self.n_features} and {other.n_features} columns do not combine"
            )
        if not np.array_equal(self.column_index, other.column_index):
            raise InputError("moments that carry different columns of H do not combine")
        return ClassMoments(
            self.positive.combine(other.positive, self.column_index, sign),
            self.negative.combine(other.negative, self.column_index, sign),
            self.column_index,
        )

    def cross(self, columns: npt.ArrayLike) -> tuple[Array, Array]:
        """Σ w (x_c − mean_c)(x − mean) of each class, for columns c that were taken along."""
        index = self._check_columns(columns)
        place = np.searchsorted(self.column_index, index)
        known = place < self.column_index.size
        known[known] = self.column_index[place[known]] == index[known]
        if not known.all():
            raise KeyError(
                f"column {index[~known][0]} of H was not taken along; "
                "name it in summary(columns=…) when the rows are read"
            )
        return self.positive.cross[place], self.negative.cross[place]

    def within(self, columns: Indices, others: Indices | None = None) -> Array:
        """S₊ + S₋ of some columns with others, or with all."""
        positive, negative = self.cross(columns)
        rows = positive / self.weights[0] + negative / self.weights[1]
        return rows if others is None else rows[:, others]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to an ``.npz`` file, whole or not at all."""
        arrays: dict[str, Any] = {"format": _FORMAT, "column_index": self.column_index}
        for name in ("positive", "negative"):
            part = getattr(self, name)
            arrays |= {f"{name}_{f.name}": getattr(part, f.name) for f in fields(ClassPart)}
        write_atomically(path, lambda file: np.savez(file, **arrays))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ClassMoments:
        """Read what ``save`` wrote; anything else is refused by name."""
        try:
            with np.load(path, allow_pickle=False) as file:
                if int(file["format"]) != _FORMAT:
                    raise InputError(f"format {int(file['format'])} is not known here")
                positive, negative = (
                    ClassPart(
                        float(file[f"{name}_weight"]),
                        *(file[f"{name}_{f.name}"] for f in fields(ClassPart)[1:]),
                    )
                    for name in ("positive", "negative")
                )
                moments = cls(positive, negative, file["column_index"])
                moments._check_shapes()
                return moments
        except FileNotFoundError:
            raise
        except Exception as error:
            # numpy reports damage as EOFError, BadZipFile, KeyError, ValueError or OSError.
            raise InputError(f"{os.fspath(path)} does not hold class moments: {error}") from error

    def _check_shapes(self) -> None:
        d, q = self.positive.mean.size, self.column_index.size
        expected = {"mean": (d,), "scatter": (d,), "cross": (q, d)}
        fits = np.array_equal(self.column_index, np.unique(self._check_columns(self.column_index)))
        for part in (self.positive, self.negative):
            for name, shape in expected.items():
                array = getattr(part, name)
                fits &= array.shape == shape and array.dtype == np.float64
        if not fits:
            raise InputError("its arrays do not fit together")


class StratifiedMoments(Moments):
    """Several strata, each known by its moments.

    F is the mean of theirs, F(w) = Σ π_s F_s(w), and every part of it is the mean of their parts.
    So hospitals that are compared within, and never with each other, send their summaries.

    Parameters
    ----------
    parts : sequence of Moments
        Of each stratum. Those without rows of both classes count nothing.
    weighting : {"pairs", "equal"}, default="pairs"
        Whether strata count by their number of pairs, or all the same.

    Examples
    --------
    >>> from sparseauc import SparseAUCClassifier, StratifiedMoments, class_moments
    >>> from sparseauc.datasets import make_outbreak
    >>> X, y = make_outbreak(n=2000, d=20, k=5, mu=1.0, random_state=0)
    >>> one = class_moments(X[:800], y[:800]).summary(range(20))
    >>> other = class_moments(X[800:], y[800:]).summary(range(20))
    >>> moments = StratifiedMoments([one, other])
    >>> model = SparseAUCClassifier(k=5).fit_moments(moments, classes=(-1, 1))
    >>> int(model.get_support().sum())
    5
    """

    def __init__(self, parts: Sequence[Moments], weighting: Weighting = "pairs") -> None:
        for part in parts:
            if part.n_features != parts[0].n_features:
                raise InputError(
                    f"strata of {parts[0].n_features} and {part.n_features} columns do not combine"
                )
        self.parts = [part for part in parts if min(part.weights) > 0]
        if not self.parts:
            raise InputError("none of these strata holds rows of both classes")
        self.weighting = weighting
        units = [part.weight_unit for part in self.parts]
        totals = np.array([part.weights for part in self.parts]).T * units
        self.weights = float(totals[0].sum()), float(totals[1].sum())
        self.shares = pair_shares(totals, weighting)
        self.cell_means = np.concatenate([part.cell_means for part in self.parts])
        self.cell_variances = np.concatenate([part.cell_variances for part in self.parts])
        self.differences = np.concatenate([part.differences for part in self.parts])
        self.varies = np.any([part.varies for part in self.parts], axis=0)
        self.precision = max(part.precision for part in self.parts)

    @property
    def column_index(self) -> Indices:
        """The columns of H that all strata can give, ascending."""
        every: Indices = np.arange(self.n_features)
        for part in self.parts:
            every = np.intersect1d(every, getattr(part, "column_index", every))
        return every

    def cross(self, columns: npt.ArrayLike) -> tuple[Array, Array]:
        """Within the strata, times the weight of each class."""
        weights = np.array([part.weights for part in self.parts])
        factors = self.shares[:, None] * self.weights / weights
        total = np.zeros((2, np.size(columns), self.n_features))
        for part, factor in zip(self.parts, factors, strict=True):
            total += np.array(part.cross(columns)) * factor[:, None, None]
        return total[0], total[1]

    def within(self, columns: Indices, others: Indices | None = None) -> Array:
        """S₊ + S₋ of some columns with others, or with all."""
        return self._mean(part.within(columns, others) for part in self.parts)

    def _mean(self, of_parts: Iterable[Array]) -> Array:
        parts = zip(self.shares.tolist(), of_parts, strict=True)
        return functools.reduce(np.add, (share * part for share, part in parts))

    def carefully(self) -> StratifiedMoments:
        """Give the same moments, with whatever can be done about rounding."""
        return StratifiedMoments([part.carefully() for part in self.parts], self.weighting)

    def rounding(self) -> tuple[float, Array]:
        """How far δ and H may be from those of the rows in exact arithmetic."""
        units, magnitudes = zip(*(part.rounding() for part in self.parts), strict=True)
        # Sums over strata of products are at most the root of both sums of squares, and what
        # strata count is rounded itself.
        unit = 2.0 * max(units) + 8.0 * (len(self.parts) + 8.0) * float(np.finfo(np.float64).eps)
        return unit, 1.01 * np.sqrt(self.shares @ np.square(magnitudes))
