"""Class moments: all that the squared pairwise loss ever asks of the data.

With the class means and covariances (each divided by its class's total weight),

    δ = x̄₋ − x̄₊,        H = S₊ + S₋ + δδᵀ,        F(w) = 1 + 2 w·δ + wᵀ H w.

Where only pairs within strata count, S₊ and S₋ are means of those within each, δ is the mean of the
strata's δ_s, and H = S₊ + S₋ + Σ π_s δ_sδ_sᵀ.

Two kinds of object answer for them. *Data* moments (``DenseMoments``, ``SparseMoments``) hold a
reference to X and compute columns of H on demand. A *summary* (``ClassMoments``) holds the numbers
themselves: it merges with others, subtracts a part, and is saved to a file, so moments can be
gathered from chunks, workers, folds or hospitals without gathering rows.
"""

from __future__ import annotations

import functools
import operator
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..utils.files import write_atomically
from ..utils.types import Array, Indices, Mask

if TYPE_CHECKING:
    from .chunked import GatheredMoments


# Version of the file layout written by ``ClassMoments.save``.
_FORMAT = 1
# Total weights whose products with squares of ordinary numbers keep their digits.
_LIGHTEST = 2.0**-900
# Weights summed in another order differ by rounding: a remainder this small is none.
_ROUNDING = 1e-9


class NotGathered(Exception):
    """A solver asks for parts of H that another pass over the rows must gather first.

    Attributes
    ----------
    rows : set of int
        Columns whose rows of H are missing.
    block : set of int
        Columns of which H is missing among themselves and with those gathered before.
    ahead : dict
        Columns whose rows may be asked for next, with their ranks: they are gathered in the same
        pass where memory allows.
    source : GatheredMoments, optional
        Where they are gathered.
    """

    def __init__(
        self,
        rows: Iterable[int] = (),
        block: Iterable[int] = (),
        source: GatheredMoments | None = None,
        *,
        ahead: Iterable[int] = (),
    ) -> None:
        self.rows, self.block, self.source = set(rows), set(block), source
        self.ahead = {column: rank for rank, column in enumerate(ahead)}
        super().__init__(f"{len(self.rows)} rows of H and a block of {len(self.block)} are missing")

    def __or__(self, other: NotGathered) -> NotGathered:
        source = other.source if self.source is None else self.source
        both = NotGathered(self.rows | other.rows, self.block | other.block, source)
        both.ahead = other.ahead | self.ahead
        for column in self.ahead.keys() & other.ahead.keys():
            both.ahead[column] = min(self.ahead[column], other.ahead[column])
        return both

    def __bool__(self) -> bool:
        return bool(self.rows or self.block)

    def gather(self, *, single: bool = False) -> None:
        """Read the rows once for all that is missing; see ``GatheredMoments.gather``."""
        assert self.source is not None
        self.source.gather(self, single=single)


class Quadratic(ABC):
    """A loss that is quadratic in the coefficients: F(w) = 1 + 2 w·δ + wᵀHw.

    Solvers that exchange columns ask for no more than this. Another loss is another subclass with
    the four members that are abstract, and no solver changes. F is a mean of squares, so that it is
    never negative.
    """

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

    @property
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

    @property
    def magnitudes(self) -> Array:
        """Size of the values of each column: a deviation far below it is rounding."""
        return np.zeros(self.n_features)

    @property
    def varies(self) -> Mask:
        """False for columns of one value."""
        varies: Mask = self.deviations > 0
        return varies

    @property
    def precision(self) -> float:
        """Relative precision to which columns of H are computed."""
        return float(np.finfo(np.float64).eps)

    def rounding(self) -> tuple[float, Array]:
        """How far δ and H may be from those of the rows in exact arithmetic.

        By default they are taken as they stand.

        Returns
        -------
        unit : float
        magnitude : ndarray of shape (d,)
            δ_j is off by at most unit·magnitude_j, H_ij by unit·magnitude_i·magnitude_j.
        """
        return 8.0 * self.precision, np.abs(self.delta) + np.sqrt(self.diagonal)


class Moments(Quadratic):
    """What a solver may ask: weights and means of the classes, δ, diag(H), columns of H.

    A kind of moments provides four things, each as a pair (positives, negatives): ``weights``,
    ``means``, ``scatters`` and ``cross``. The rest follows.

    Attributes
    ----------
    weight_unit : float
        What the weights were divided by: 1, or a power of two where they are huge or tiny.
    """

    weight_unit: float = 1.0
    # Whether all of H is in memory.
    _whole: bool = False

    @property
    def shares(self) -> Array:
        """What each stratum counts, 1 in all; without strata there is one."""
        return np.ones(1)

    @property
    def differences(self) -> Array:
        """δ_s of each stratum, of shape (n_strata, d)."""
        return self.delta[None]

    @property
    @abstractmethod
    def weights(self) -> tuple[float, float]:
        """Total sample weight of each class (its number of rows without weights)."""

    @property
    @abstractmethod
    def means(self) -> tuple[Array, Array]:
        """Mean of each class, zeros for a class without rows."""

    @property
    @abstractmethod
    def scatters(self) -> tuple[Array, Array]:
        """Σ w (x − mean)² of each class, column by column."""

    @abstractmethod
    def cross(self, columns: npt.ArrayLike) -> tuple[Array, Array]:
        """Σ w (x_c − mean_c)(x − mean) of each class for the q columns c, of shape (q, d)."""

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.means[0].size

    @property
    def varies(self) -> Mask:
        """False for columns that hold one value in every row that counts."""
        positive, negative = self.scatters
        varies: Mask = (positive > 0) | (negative > 0) | (self.means[0] != self.means[1])
        return varies

    @property
    def ratio(self) -> float:
        """Share r of the positives, by weight."""
        positive, negative = self.weights
        return positive / (positive + negative)

    @property
    def delta(self) -> Array:
        """δ = x̄₋ − x̄₊."""
        self.check_both_classes()
        positive, negative = self.means
        return negative - positive

    @property
    def variances(self) -> tuple[Array, Array]:
        """Variances of the columns within each class, divided by its weight."""
        self.check_both_classes()
        positive, negative = self.scatters
        return positive / self.weights[0], negative / self.weights[1]

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
    def magnitudes(self) -> Array:
        """The larger mean of the two classes, without its sign."""
        magnitudes: Array = np.maximum(np.abs(self.means[0]), np.abs(self.means[1]))
        return magnitudes

    @property
    def diagonal(self) -> Array:
        """Diagonal of H."""
        positive, negative = self.variances
        return positive + negative + self.shares @ self.differences**2

    def columns(self, columns: npt.ArrayLike) -> Array:
        """Columns of H, of shape (d, q)."""
        index = self._check_columns(columns)
        self.check_both_classes()
        rows_of_h = self._covariances(index)
        differences = self.differences
        for row, on_strata in zip(rows_of_h, differences[:, index].T * self.shares, strict=True):
            row += on_strata @ differences
        return rows_of_h.T

    def _covariances(self, index: Indices) -> Array:
        """Rows of S₊ + S₋, of shape (q, d)."""
        positive, negative = self.cross(index)
        return positive / self.weights[0] + negative / self.weights[1]

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
        positive, negative = (np.sqrt(variance) for variance in self.variances)
        about = np.abs(self.means[0]) + np.abs(self.means[1])
        unit = (4.0 * self._terms + 32.0) * float(np.finfo(np.float64).eps)
        return unit, 1.01 * (positive + negative + about)

    @property
    def _terms(self) -> int:
        """Numbers added up for a moment; those of a summary are taken as they stand."""
        return 8

    def block(self, columns: Indices, others: Indices) -> Array:
        """H of some columns with others, of shape (columns, others)."""
        differences = self.differences
        block: Array = self.within(columns, others)
        block += (differences[:, columns].T * self.shares) @ differences[:, others]
        return block

    def within(self, columns: Indices, others: Indices) -> Array:
        """S₊ + S₋ of some columns with others, of shape (columns, others)."""
        positive, negative = self.cross(columns)
        return (positive / self.weights[0] + negative / self.weights[1])[:, others]

    def loss(self, w: npt.ArrayLike) -> float:
        """F(w) = Σ π_s (1 + w·δ_s)² + wᵀ(S₊ + S₋)w, from the columns where w is not zero."""
        vector = np.asarray(w, np.float64)
        support = np.flatnonzero(vector)
        values = vector[support]
        spread = values @ self.within(support, support) @ values
        return float(self.shares @ (1.0 + self.differences[:, support] @ values) ** 2 + spread)

    def summary(self, columns: npt.ArrayLike = ()) -> ClassMoments:
        """Numbers without rows; ``columns`` names the columns of H to take along."""
        if self.shares.size > 1:
            raise ValueError(
                "moments within strata are not merged: summarise the rows of each stratum, and "
                "bring the summaries together with StratifiedMoments"
            )
        index = np.unique(self._check_columns(columns))
        unit = self.weight_unit
        for weight in self.weights:
            if weight and not _LIGHTEST < weight * unit < 1 / _LIGHTEST:
                raise ValueError(
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
            raise ValueError("columns must be a one-dimensional array of column numbers")
        for column in index[(index < 0) | (index >= self.n_features)][:1]:
            raise ValueError(f"column {column} does not exist: there are {self.n_features}")
        return index.astype(np.int64)

    def check_both_classes(self) -> None:
        """Refuse moments without rows of one of the classes."""
        for name, weight in zip(("positive", "negative"), self.weights, strict=True):
            if weight == 0.0:
                raise ValueError(f"these moments hold no {name} rows: merge in some that do")


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


class MergedMoments(Moments):
    """Moments whose classes are each known by their additive moments."""

    positive: ClassPart
    negative: ClassPart

    @property
    def weights(self) -> tuple[float, float]:
        """Total sample weight of each class."""
        return self.positive.weight, self.negative.weight

    @property
    def means(self) -> tuple[Array, Array]:
        """Mean of each class."""
        return self.positive.mean, self.negative.mean

    @property
    def scatters(self) -> tuple[Array, Array]:
        """Σ w (x − mean)² of each class."""
        return self.positive.scatter, self.negative.scatter


@dataclass(frozen=True)
class ClassMoments(MergedMoments):
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

    @classmethod
    def merge(cls, parts: Iterable[ClassMoments]) -> ClassMoments:
        """Sum of several summaries over the same columns."""
        every = list(parts)
        if not every:
            raise ValueError("nothing to merge: give at least one summary")
        return functools.reduce(operator.add, every)

    def __add__(self, other: ClassMoments) -> ClassMoments:
        return self._combine(other, 1)

    def __sub__(self, other: ClassMoments) -> ClassMoments:
        for name in ("positive", "negative"):
            mine, theirs = getattr(self, name).weight, getattr(other, name).weight
            if theirs > mine * (1 + _ROUNDING):
                raise ValueError(
                    f"cannot subtract {theirs:g} {name} rows from {mine:g}: not a part of these"
                )
        return self._combine(other, -1)

    def _combine(self, other: ClassMoments, sign: int) -> ClassMoments:
        if self.n_features != other.n_features:
            raise ValueError(
                f"moments over {self.n_features} and {other.n_features} columns do not combine"
            )
        if not np.array_equal(self.column_index, other.column_index):
            raise ValueError("moments that carry different columns of H do not combine")
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
                    raise ValueError(f"format {int(file['format'])} is not known here")
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
            raise ValueError(f"{os.fspath(path)} does not hold class moments: {error}") from error

    def _check_shapes(self) -> None:
        d, q = self.positive.mean.size, self.column_index.size
        expected = {"mean": (d,), "scatter": (d,), "cross": (q, d)}
        fits = np.array_equal(self.column_index, np.unique(self._check_columns(self.column_index)))
        for part in (self.positive, self.negative):
            for name, shape in expected.items():
                array = getattr(part, name)
                fits &= array.shape == shape and array.dtype == np.float64
        if not fits:
            raise ValueError("its arrays do not fit together")
