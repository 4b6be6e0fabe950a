"""Moments within strata from the moments of each, so that only pairs of one stratum count."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..strata import Weighting, stratum_shares
from ..utils.types import Array, Indices, Mask
from .base import Moments


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
                raise ValueError(
                    f"strata of {parts[0].n_features} and {part.n_features} columns do not combine"
                )
        self.parts = [part for part in parts if min(part.weights) > 0]
        if not self.parts:
            raise ValueError("none of these strata holds rows of both classes")
        self.weighting = weighting
        self._whole = all(part._whole for part in self.parts)
        units = [part.weight_unit for part in self.parts]
        totals = np.array([part.weights for part in self.parts]).T * units
        self._weights = float(totals[0].sum()), float(totals[1].sum())
        self._shares = stratum_shares(totals, weighting)

    @property
    def column_index(self) -> Indices:
        """The columns of H that all strata can give, ascending."""
        every: Indices = np.arange(self.n_features)
        for part in self.parts:
            every = np.intersect1d(every, getattr(part, "column_index", every))
        return every

    @property
    def shares(self) -> Array:
        """What each stratum counts, 1 in all."""
        return self._shares

    @cached_property
    def differences(self) -> Array:  # type: ignore[override]
        """δ_s of each stratum, of shape (n_strata, d)."""
        return np.array([part.delta for part in self.parts])

    @property
    def delta(self) -> Array:
        """δ, the mean of the strata's."""
        delta: Array = self.shares @ self.differences
        return delta

    @property
    def weights(self) -> tuple[float, float]:
        """Total sample weight of each class."""
        return self._weights

    @cached_property
    def means(self) -> tuple[Array, Array]:  # type: ignore[override]
        """Mean of the strata's means of each class."""
        positive, negative = np.tensordot(self.shares, [part.means for part in self.parts], 1)
        return positive, negative

    @property
    def variances(self) -> tuple[Array, Array]:
        """Variances of the columns within the classes of strata."""
        with np.errstate(over="ignore", invalid="ignore"):
            every = np.array([part.variances for part in self.parts])
            positive, negative = np.tensordot(self.shares, every, 1)
        return positive, negative

    @property
    def scatters(self) -> tuple[Array, Array]:
        """The variances, times the weight of each class."""
        positive, negative = self.variances
        return positive * self.weights[0], negative * self.weights[1]

    @property
    def varies(self) -> Mask:
        """False for columns that hold one value in every stratum."""
        varies: Mask = np.any([part.varies for part in self.parts], axis=0)
        return varies

    @property
    def magnitudes(self) -> Array:
        """Size of the values of each column: the largest of any stratum."""
        magnitudes: Array = np.max([part.magnitudes for part in self.parts], axis=0)
        return magnitudes

    @property
    def precision(self) -> float:
        """That of the least precise stratum."""
        return max(part.precision for part in self.parts)

    def cross(self, columns: npt.ArrayLike) -> tuple[Array, Array]:
        """Within the strata, times the weight of each class."""
        weights = np.array([part.weights for part in self.parts])
        factors = self.shares[:, None] * self.weights / weights
        total = np.zeros((2, np.size(columns), self.n_features))
        for part, factor in zip(self.parts, factors, strict=True):
            total += np.array(part.cross(columns)) * factor[:, None, None]
        return total[0], total[1]

    def within(self, columns: Indices, others: Indices) -> Array:
        """S₊ + S₋ of some columns with others, of shape (columns, others)."""
        if self._whole:
            return self._all_within[np.ix_(columns, others)]
        return self._mean(part.within(columns, others) for part in self.parts)

    def _covariances(self, index: Indices) -> Array:
        if self._whole:
            return self._all_within[index]
        return self._mean(part._covariances(index) for part in self.parts)

    @cached_property
    def _all_within(self) -> Array:
        """S₊ + S₋ of all columns, where they are few, so that strata are brought together once."""
        every = np.arange(self.n_features)
        return self._mean(part.within(every, every) for part in self.parts)

    def _mean(self, by_stratum: Iterable[Array]) -> Array:
        parts = zip(self.shares.tolist(), by_stratum, strict=True)
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
