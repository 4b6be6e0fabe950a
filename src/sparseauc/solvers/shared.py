"""One list of columns that tells several classes apart.

Two classes whose means differ by d on a list have the squared distance V = dᵀΣ⁻¹d. Σ has the
variances within these two classes and the correlations within all classes, both drawn towards the
identity by the ridge. The squared loss of ranking one class above the other is 1/(1 + V/2): what
two classes have gained counts less the further they are apart already, so that columns go to the
classes that are hard to tell apart. The loss of a list is a mean over pairs of classes, half of its
weight alike on all and half by the sizes of the classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..moments.many_classes import ManyClasses
from ..utils.jit import reordering_kernel
from ..utils.types import Array, Indices, Mask
from .exchange import DEPENDENT
from .greedy import ListSearch, grow, independent
from .restrictions import Restrictions

# Share of a column below which what the list leaves of it may be rounding.
# Share of the loss by which a change must be better.
_ROUNDING = 1e-9
# Columns of the working set for each place on the list and each class, at first.
_AHEAD = 2
# Differences between classes that are kept: where pairs of classes are many, of fewer columns.
_NUMBERS = 2**25


def shared_list(classes: ManyClasses, k: int, alpha: float, restrictions: Restrictions) -> Indices:
    """Look for the list of least loss; no exchange of one column improves the one found.

    Half the weight is on all pairs alike, as in balanced accuracy, and half on each as it counts in
    the mean of the classes' AUCs against all others.

    Parameters
    ----------
    classes : ManyClasses
    k : int
        Length of the list, fixed columns counted.
    alpha : float
        Ridge above 0, on the standardised scale.
    restrictions : Restrictions
        Columns in every list, and in none.

    Returns
    -------
    ndarray of int64
        Fixed columns, then each time the column of the list that lowers the loss most beside those
        before it. Fewer than k where no other column differs between classes.
    """
    columns = _candidates(classes, k, alpha, restrictions)
    fixed, excluded = restrictions.masks(classes.n_features)[:, columns]
    problem = _Classes.make(classes, alpha, columns, ~excluded)
    ahead = problem.best_alone(~fixed, _AHEAD * (1 + k // classes.weights.size))
    always = np.flatnonzero(fixed)
    first = np.union1d(always, ahead)
    classes.gather(columns[first])
    problem.always = always[independent(problem.rows(always)[:, always], DEPENDENT)].tolist()
    problem.size = k - always.size + len(problem.always)
    chosen = np.sort(ListSearch(problem, first).run())
    part = problem.among(chosen)
    order = grow(part, part.always, part.rates[0])
    order += np.setdiff1d(np.arange(chosen.size), order).tolist()
    return np.concatenate([restrictions.fixed, columns[chosen[order[len(part.always) :]]]])


class _List(NamedTuple):
    """What a list of columns, none of which depends on the others, leaves of all columns."""

    units: list[int]
    shares: Array  # regressions of all columns on the list
    slopes: Array  # and of the differences of the list
    inverse: Array  # diagonal of the inverse of its correlations
    left: Array  # variances that are left
    gaps: Array  # differences that are left
    distances: Array  # squared, of the pairs of classes


@dataclass(eq=False)
class _Classes:
    """The choice of one list for several classes, a ``GreedyProblem``.

    Attributes
    ----------
    rows : callable
        Gives the correlations of some columns with all.
    gather : callable
        Makes the rows of some columns known.
    gaps : ndarray of shape (d, n_pairs)
        Differences of class means, in deviations within the two classes.
    weights : ndarray of shape (n_pairs,)
        What the pairs count, 1 in all.
    usable, always, size
        Columns that may be chosen, those that are always included, and columns at most.
    """

    rows: Callable[[Indices], Array]
    gather: Callable[[Indices], None]
    gaps: Array
    weights: Array
    usable: Mask
    always: list[int] = field(default_factory=list)
    size: int = 0
    _known: _List | None = None
    has_costs = False

    @classmethod
    def make(cls, classes: ManyClasses, alpha: float, columns: Indices, usable: Mask) -> _Classes:
        """Choose among some columns, with covariances (S + αI) / (1 + α)."""
        n_classes = classes.weights.size
        first, second = np.tril_indices(n_classes, -1)
        scale = np.sqrt(classes.variances[columns] + alpha)

        def rows(units: Indices) -> Array:
            rows = np.empty((len(units), columns.size))
            for row, unit in zip(rows, units, strict=True):
                row[:] = classes.covariances(columns[unit])[columns] / scale / scale[unit]
                row[unit] = 1.0
            return rows

        means, variances = classes.means[:, columns].T, classes.class_variances[:, columns].T
        gaps = means[:, first] - means[:, second]
        own = (variances[:, first] + variances[:, second]) / 2.0
        gaps /= np.sqrt((own + alpha) / (1.0 + alpha))
        shares = classes.weights / classes.weights.sum()
        weights = (shares / (1.0 - shares)[:, None] + 1.0 / (n_classes - 1)) / (2 * n_classes)
        weights = weights[first, second] + weights[second, first]
        return cls(rows, lambda units: classes.gather(columns[units]), gaps, weights, usable)

    def best_alone(self, candidates: Mask, number: int) -> Indices:
        """Columns that tell each class from all others best, a number for each."""
        more = self.gaps**2 / 2.0
        n_classes = int(np.sqrt(2 * self.weights.size)) + 1
        one_of = sum(np.eye(n_classes)[side] for side in np.tril_indices(n_classes, -1))
        usable = (self.usable & candidates)[:, None]
        gains = usable * (self.weights * more / (1.0 + more)) @ one_of
        return np.unique(np.argsort(-gains, axis=0, kind="stable")[:number])

    @property
    def rates(self) -> list[Array]:
        """All columns take one place."""
        return [np.ones(self.usable.size)]

    def value(self, units: list[int]) -> float:
        """One less the mean loss of the pairs of classes."""
        gaps = self.gaps[units]
        solved = np.linalg.solve(self.rows(np.array(units, np.int64))[:, units], gaps)
        return self._value(np.sum(gaps * solved, axis=0))

    def gains(self, units: list[int], out: int | None, candidates: Mask) -> tuple[float, Array]:
        """Value of a list without a column, and by what each candidate would raise it."""
        known = self._solve(units)
        share, slope = np.zeros(self.usable.size), np.zeros(self.weights.size)
        left, distances = known.left, known.distances
        if out is not None:
            place = units.index(out)
            inverse = known.inverse[place]
            share, slope = known.shares[place], known.slopes[place] / inverse
            left, distances = left + share**2 / inverse, distances - slope**2 * inverse
        independent = candidates & (left > DEPENDENT)
        left, now = np.maximum(left, DEPENDENT), 1.0 + distances / 2.0
        gains = _sum_gains(known.gaps, share, slope, left, now, self.weights / now)
        return self._value(distances), independent * gains

    def exchanges(self, units: list[int], candidates: Mask) -> tuple[float, Array, Array]:
        """Value of a list, and without each column; by what each candidate would raise that."""
        found = [
            (0.0, np.zeros(candidates.size)) if out in self.always
            else self.gains(units, out, candidates) for out in units
        ]  # fmt: skip
        bases, gains = zip(*found, strict=True)
        return self.value(units), np.array(bases), np.array(gains)

    def fitting(self, units: list[int]) -> Mask:
        """All usable columns, until the list is full."""
        return self.usable & (len(units) < self.size)

    def exceeded(self, units: list[int]) -> Array | None:
        """One place each where the list is too long."""
        return self.rates[0] if len(units) > self.size else None

    def least_gain(self, value: float) -> float:
        """What a change must gain; less is rounding."""
        return _ROUNDING * (1.0 - value)

    def among(self, units: Indices) -> _Classes:
        """The choice among some columns, by their places."""
        self.gather(units)
        always = np.searchsorted(units, self.always).tolist()
        return _Classes(
            self.rows(units)[:, units].__getitem__, lambda _: None, self.gaps[units], self.weights,
            self.usable[units], always, self.size,
        )  # fmt: skip

    def _solve(self, units: list[int]) -> _List:
        if self._known is None or self._known.units != units:
            rows, gaps = self.rows(np.array(units, np.int64)), self.gaps[units]
            inverse: Array = np.linalg.inv(rows[:, units]).astype(np.float64, copy=False)
            shares, slopes = inverse @ rows, inverse @ gaps
            left = 1.0 - np.sum(rows * shares, axis=0)
            left[units] = 0.0
            self._known = _List(
                units, shares, slopes, inverse.diagonal(), left, self.gaps - shares.T @ gaps,
                np.sum(gaps * slopes, axis=0),
            )  # fmt: skip
        return self._known

    def _value(self, distances: Array) -> float:
        return 1.0 - float(1.0 / (1.0 + distances / 2.0) @ self.weights)


def _candidates(classes: ManyClasses, k: int, alpha: float, restrictions: Restrictions) -> Indices:
    """Columns that tell classes apart best alone, as many as there is room for; fixed ones."""
    columns, n_classes = np.arange(classes.n_features), classes.weights.size
    room = max(2 * k, _NUMBERS // (n_classes * (n_classes - 1) // 2))
    if columns.size <= room:
        return columns
    fixed, excluded = restrictions.masks(columns.size)
    alone = []
    for some in np.array_split(columns, -(-columns.size // room)):
        every = np.ones(some.size, np.bool_)
        alone.append(_Classes.make(classes, alpha, some, every).gains([], None, every)[1])
    gains = np.concatenate(alone)
    gains[excluded], gains[fixed] = -1.0, np.inf
    return np.sort(np.argsort(-gains, kind="stable")[:room])


@reordering_kernel
def _sum_gains(gaps, share, slope, left, now, weights):  # type: ignore[no-untyped-def]
    """By what each column would lower the loss; the share of a slope is given back to it."""
    d, n_pairs = gaps.shape
    gains = np.zeros(d)
    for j in range(d):
        for pair in range(n_pairs):
            gap = gaps[j, pair] + share[j] * slope[pair]
            more = gap * gap / (2.0 * left[j])
            gains[j] += weights[pair] * more / (now[pair] + more)
    return gains
