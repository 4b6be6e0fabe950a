"""One list of columns that tells several classes apart.

Two classes whose means differ by d on a list have the squared distance V = dᵀΣ⁻¹d. Σ has the
variances within these two classes and the correlations within all classes, both drawn towards the
identity by the ridge. The squared loss of ranking one class above the other is 1/(1 + V/2): what
two classes have gained counts less the further they are apart already, so that columns go to the
classes that are hard to tell apart. The loss of a list is a mean over pairs of classes, half of its
weight alike on all and half by the sizes of the classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import cycle
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..moments.many_classes import ManyClasses
from ..utils.jit import reordering_kernel
from .exchange import dependence_tolerance
from .restrictions import Restrictions

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Share of a column below which what the list leaves of it may be rounding.
_FLOOR = dependence_tolerance(float(np.finfo(np.float64).eps))
# Share of a gain, or of the loss, by which a change must be better.
_ROUNDING = 1e-9
# Columns looked at for each place on the list, and columns by which it grows too long.
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
    problem = _Problem.from_classes(classes, alpha, columns)
    usable = ~np.logical_or(*restrictions.masks(classes.n_features))[columns]
    fixed = np.searchsorted(columns, restrictions.fixed)
    ahead = problem.best_alone(usable, _AHEAD * (1 + k // classes.weights.size))
    working, known = np.union1d(fixed, ahead), 0
    classes.gather(columns[working])
    found = _List(problem)
    for column in fixed.tolist():
        found.add(column)
    n_fixed = len(found.columns)
    size = n_fixed + k - fixed.size
    while working.size > known:
        # A list is sought among few columns; then all are looked at for those that improve it.
        classes.gather(columns[working])
        places = np.searchsorted(working, found.columns)
        better = _improve(_List(problem.among(working), places), usable[working], n_fixed, size)
        found = _List(problem, working[better.columns])
        known = working.size
        working = np.union1d(working, found.proposals(usable, n_fixed, size))
    chosen = np.array(found.columns, np.int64)
    ordered = _List(problem.among(chosen), range(n_fixed))
    ordered.grow(usable[chosen], chosen.size)
    rest = np.setdiff1d(np.arange(chosen.size), ordered.columns).tolist()
    free = columns[chosen[[*ordered.columns[n_fixed:], *rest]]]
    return np.concatenate([restrictions.fixed, free])


def _improve(found: _List, usable: Mask, n_fixed: int, size: int) -> _List:
    """Add columns, exchange them; then grow too long a list, and leave out those missed least."""
    found.grow(usable, size)
    found = found.exchanged(usable, n_fixed)
    while True:
        other = _List(found.problem, found.columns)
        other.grow(usable, size + _AHEAD)
        while len(other.columns) > size:
            other = other.without_least(n_fixed)
        other = other.exchanged(usable, n_fixed)
        if other.loss >= (1.0 - _ROUNDING) * found.loss:
            return found
        found = other


class _Problem(NamedTuple):
    """What lists are chosen by.

    Attributes
    ----------
    correlations : callable
        Gives the correlations of one column with all.
    gaps : ndarray of shape (d, n_pairs)
        Differences of class means, in deviations within the two classes.
    weights : ndarray of shape (n_pairs,)
        What the pairs count, 1 in all.
    """

    correlations: Callable[[int], Array]
    gaps: Array
    weights: Array

    @classmethod
    def from_classes(cls, classes: ManyClasses, alpha: float, columns: Indices) -> _Problem:
        """Choose among some columns, with covariances (S + αI) / (1 + α)."""
        n_classes = classes.weights.size
        first, second = np.tril_indices(n_classes, -1)
        scale = np.sqrt(classes.variances[columns] + alpha)

        def correlations(place: int) -> Array:
            row: Array = classes.covariances(columns[place])[columns] / scale / scale[place]
            row[place] = 1.0
            return row

        means, variances = classes.means[:, columns].T, classes.class_variances[:, columns].T
        gaps = means[:, first] - means[:, second]
        own = (variances[:, first] + variances[:, second]) / 2.0
        gaps /= np.sqrt((own + alpha) / (1.0 + alpha))
        shares = classes.weights / classes.weights.sum()
        weights = (shares / (1.0 - shares)[:, None] + 1.0 / (n_classes - 1)) / (2 * n_classes)
        return cls(correlations, gaps, weights[first, second] + weights[second, first])

    def best_alone(self, usable: Mask, number: int) -> Indices:
        """Columns that tell each class from all others best, a number for each."""
        more = self.gaps**2 / 2.0
        n_classes = int(np.sqrt(2 * self.weights.size)) + 1
        one_of = sum(np.eye(n_classes)[side] for side in np.tril_indices(n_classes, -1))
        gains = usable[:, None] * (self.weights * more / (1.0 + more)) @ one_of
        return np.unique(np.argsort(-gains, axis=0, kind="stable")[:number])

    def among(self, columns: Indices) -> _Problem:
        """Choose among some columns, by their places."""
        rows = [self.correlations(column)[columns] for column in columns.tolist()]
        return _Problem(rows.__getitem__, self.gaps[columns], self.weights)


class _List:
    """A list of columns none of which depends on the others, and what it leaves of all columns."""

    def __init__(self, problem: _Problem, columns: Iterable[int] = ()) -> None:
        self.columns = [int(column) for column in columns]
        self.problem = problem
        rows = np.array([problem.correlations(column) for column in self.columns])
        rows = rows.reshape(-1, len(problem.gaps))
        inverse, gaps = np.linalg.inv(rows[:, self.columns]), problem.gaps[self.columns]
        # Regressions of columns and differences on the list, and the diagonal of the inverse.
        self._shares, self._slopes = inverse @ rows, inverse @ gaps
        self._inverse = inverse.diagonal()
        # Variances and differences that are left, and squared distances.
        self._left = 1.0 - np.sum(rows * self._shares, axis=0)
        self._left[self.columns] = 0.0
        self._gaps = problem.gaps - self._shares.T @ gaps
        self._distances = np.sum(gaps * self._slopes, axis=0)

    @property
    def loss(self) -> float:
        """Mean loss of the pairs of classes."""
        return float(self._losses(self._distances))

    def add(self, column: int) -> None:
        """Take what a column explains off all others; one that depends on the list is left out."""
        left, gap = self._left[column], self._gaps[column].copy()
        if left <= _FLOOR:
            return
        row = self.problem.correlations(column)
        share = (row - row[self.columns] @ self._shares) / left
        share[column] = 1.0
        earlier = self._shares[:, column].copy()
        self._shares = np.vstack([self._shares - np.outer(earlier, share), share])
        self._slopes = np.vstack([self._slopes - np.outer(earlier, gap / left), gap / left])
        self._inverse = np.append(self._inverse + earlier**2 / left, 1.0 / left)
        self._distances += gap**2 / left
        self._gaps -= np.outer(share, gap)
        self._left -= left * share**2
        self.columns.append(column)
        self._left[self.columns] = 0.0

    def grow(self, usable: Mask, size: int) -> None:
        """Add the column that lowers the loss most, up to a size, as long as one does."""
        while len(self.columns) < size and (gains := self._gains(usable)).any():
            self.add(_first_best(gains))

    def without_least(self, n_fixed: int) -> _List:
        """Leave out the column that is missed least."""
        free = slice(n_fixed, None)
        distances = self._distances - self._slopes[free] ** 2 / self._inverse[free, None]
        place = n_fixed + int(np.argmin(self._losses(distances)))
        return _List(self.problem, [*self.columns[:place], *self.columns[place + 1 :]])

    def proposals(self, usable: Mask, n_fixed: int, size: int) -> Indices:
        """Columns that gain most beside the list, or more than one of the list in its place."""
        lacking = size - len(self.columns)
        best = [np.argsort(-self._gains(usable), kind="stable")[: lacking + _AHEAD]]
        for place in range(n_fixed, len(self.columns)):
            gains = self._gains(usable, place)
            first = np.argsort(-gains, kind="stable")[:_AHEAD]
            best.append(first[gains[first] > gains[self.columns[place]]])
        return np.concatenate(best)

    def exchanged(self, usable: Mask, n_fixed: int) -> _List:
        """Exchange one column after the other, until no exchange lowers the loss."""
        found, unchanged = self, 0
        for place in cycle(range(n_fixed, len(self.columns))):
            gains = found._gains(usable, place)
            best = _first_best(gains)
            unchanged += 1
            if gains[best] > (1.0 + _ROUNDING) * gains[found.columns[place]]:
                columns = [*found.columns[:place], best, *found.columns[place + 1 :]]
                other = _List(self.problem, columns)
                if other.loss < (1.0 - _ROUNDING) * found.loss:
                    found, unchanged = other, 0
            if unchanged == len(self.columns) - n_fixed:
                break
        return found

    def _gains(self, usable: Mask, place: int | None = None) -> Array:
        """By what each column would lower the loss, without the one at a place of the list."""
        share, slope = np.zeros(self._left.size), np.zeros(self._distances.size)
        left, distances = self._left, self._distances
        if place is not None:
            share, slope = self._shares[place], self._slopes[place] / self._inverse[place]
            left = left + share**2 / self._inverse[place]
            distances = distances - slope**2 * self._inverse[place]
        independent = usable & (left > _FLOOR)
        left = np.maximum(left, _FLOOR)
        now, weights = 1.0 + distances / 2.0, self.problem.weights
        gains: Array = independent * _sum_gains(self._gaps, share, slope, left, now, weights / now)
        return gains

    def _losses(self, distances: Array) -> Array:
        losses: Array = 1.0 / (1.0 + distances / 2.0) @ self.problem.weights
        return losses


def _first_best(gains: Array) -> int:
    """Take the first of columns that gain the same, but for rounding."""
    return int(np.argmax(gains >= (1.0 - _ROUNDING) * gains.max()))


def _candidates(classes: ManyClasses, k: int, alpha: float, restrictions: Restrictions) -> Indices:
    """Columns that tell classes apart best alone, as many as there is room for; fixed ones."""
    columns, n_classes = np.arange(classes.n_features), classes.weights.size
    room = max(2 * k, _NUMBERS // (n_classes * (n_classes - 1) // 2))
    if columns.size <= room:
        return columns
    fixed, excluded = restrictions.masks(columns.size)
    problems = (
        _Problem.from_classes(classes, alpha, some)
        for some in np.array_split(columns, -(-columns.size // room))
    )
    alone = np.concatenate(
        [_List(one)._gains(np.ones(len(one.gaps), np.bool_)) for one in problems]
    )
    alone[excluded], alone[fixed] = -1.0, np.inf
    return np.sort(np.argsort(-alone, kind="stable")[:room])


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
