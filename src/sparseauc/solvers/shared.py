"""One list of columns that tells several classes apart.

Two classes whose means differ by d on a list have the squared distance V = dᵀΣ⁻¹d. Σ has the
variances within these two classes and the correlations within all classes, both drawn towards the
identity by the ridge. The squared loss of ranking one class above the other is 1/(1 + V/2): what
two classes have gained counts less the further they are apart already, so that columns go to the
classes that are hard to tell apart. The loss of a list is a mean over pairs of classes, half of its
weight alike on all and half by the sizes of the classes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..moments.base import Gram
from ..moments.many_classes import ManyClasses
from ..utils.types import Array, Indices, Mask
from .exchange import DEPENDENT, State, make_state
from .exchange.classes import pair_gains
from .outside import LEAST_EXPLAINED
from .restrictions import Restrictions
from .working_set import BEYOND, ListSearch

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
    search = _ClassSearch(_Differences(classes, alpha, columns), k, fixed, ~excluded)
    return np.concatenate([restrictions.fixed, columns[search.find_added()]])


class _Differences:
    """Differences of classes on some columns, with covariances (S + αI) / (1 + α).

    Attributes
    ----------
    gaps : ndarray of shape (n_pairs, d)
        Differences of class means, in deviations within the two classes.
    pairs : ndarray of shape (n_pairs,)
        What the pairs of classes count, 1 in all.
    """

    def __init__(self, classes: ManyClasses, alpha: float, columns: Indices) -> None:
        self._classes, self._columns = classes, columns
        self._scale = np.sqrt(classes.variances[columns] + alpha)
        n_classes = classes.weights.size
        first, second = self._sides = np.tril_indices(n_classes, -1)
        means, variances = classes.means[:, columns], classes.class_variances[:, columns]
        own = (variances[first] + variances[second]) / 2.0
        self.gaps: Array = means[first] - means[second]
        self.gaps /= np.sqrt((own + alpha) / (1.0 + alpha))
        shares = classes.weights / classes.weights.sum()
        weights = (shares / (1.0 - shares)[:, None] + 1.0 / (n_classes - 1)) / (2 * n_classes)
        self.pairs: Array = weights[first, second] + weights[second, first]

    def block(self, columns: Indices, others: Indices) -> Array:
        """Correlations of some columns with others, gathered in one pass over the rows."""
        self._classes.gather(self._columns[columns])
        return self.correlations(columns)[:, others]

    def correlations(self, columns: Indices) -> Array:
        """Correlations with all columns of some that are gathered."""
        rows = np.empty((columns.size, self._columns.size))
        for row, column in zip(rows, columns.tolist(), strict=True):
            covariances = self._classes.covariances(self._columns[column])[self._columns]
            row[:] = covariances / self._scale / self._scale[column]
            row[column] = 1.0
        return rows

    def gains_alone(self) -> Array:
        """By how much each column alone lowers the loss of each pair, (n_pairs, d)."""
        more = self.gaps**2 / 2.0
        gains: Array = self.pairs[:, None] * more / (1.0 + more)
        return gains

    def rank(self) -> Indices:
        """Columns by the best of their ranks among those that tell each class from all others."""
        n_classes = self._classes.weights.size
        one_of = sum(np.eye(n_classes)[side] for side in self._sides)
        gains = np.asarray(one_of).T @ self.gains_alone()
        ranks = np.argsort(np.argsort(-gains, axis=1, kind="stable"), axis=1)
        order: Indices = np.argsort(ranks.min(axis=0), kind="stable")
        return order


class _Regression(NamedTuple):
    """A list, and all columns regressed on it; letters as of ``exchange.State``."""

    M: Array
    T: Array
    w: Array
    g: Array
    q: Array
    now: Array  # 1 + V/2 of each pair of classes


class _ClassSearch(ListSearch):
    """The search for one list of k columns, fixed ones counted, that tells classes apart."""

    def __init__(self, differences: _Differences, k: int, fixed: Mask, usable: Mask) -> None:
        self._differences, self._k = differences, k
        ranked = differences.rank()
        ranked = np.concatenate([ranked[fixed[ranked]], ranked[(usable & ~fixed)[ranked]]])
        n_classes = int(np.sqrt(2 * differences.pairs.size)) + 1
        first = int(np.count_nonzero(fixed)) + _AHEAD * (k + n_classes)
        sizes = np.ones(fixed.size, np.int64)
        super().__init__(ranked, fixed, sizes, differences.block, first=first, thorough=True)

    def find_added(self) -> Indices:
        """The list but for fixed columns; each time the column that lowers the loss most."""
        n_fixed = int(np.count_nonzero(self._fixed))
        self._settle(range(self._k - n_fixed, self._k + 1), self._k + BEYOND)
        assert self._found is not None
        # Fixed columns that depend on others are not in the search.
        longest = int(np.flatnonzero(self._found.explained > -np.inf)[-1])
        chosen = self._list(min(self._k - n_fixed + self.lowest, longest))
        order = chosen[self._fixed[chosen]]
        added, left = order[:0], np.sort(chosen[~self._fixed[chosen]])
        while left.size:
            gains = self._gains(self._regress(np.concatenate([order, added])))
            best = left[np.argmax(gains[left])]
            added, left = np.append(added, best), left[left != best]
        return added

    def _make_state(self, ceiling: int) -> State:
        W, of = self._W, self._differences
        return make_state(
            Gram(of.gaps[:, W], self._H), 0.0, ceiling + 1, self._fixed[W],
            np.zeros(W.size, np.bool_), pairs=of.pairs,
        )  # fmt: skip

    def _gains_outside(self, lists: list[Indices]) -> Array:
        outside = np.full(self._fixed.size, -np.inf)
        outside[np.setdiff1d(self._ranked, self._W)] = 0.0
        best = np.full(outside.size, -np.inf)
        for number, units in enumerate(lists):
            beside = self._regress(units)
            places: list[int | None] = [*np.flatnonzero(~self._fixed[units]).tolist()]
            if self._exhausted and number == len(lists) - 1:
                places.append(None)
            explained = float(self._differences.pairs @ (1.0 - 1.0 / beside.now))
            for place in places:
                gains = self._gains(beside, place) + outside
                best = np.maximum(best, gains / max(explained, LEAST_EXPLAINED))
        return best

    def _gains(self, beside: _Regression, place: int | None = None) -> Array:
        """What each column gains where the one at a place of a list makes room, or none does.

        −infinity for those that depend on the list.
        """
        M, T, w, g, q, now = beside
        t, shift, inverse = np.zeros(q.size), np.zeros(now.size), 0.0
        if place is not None:
            t, shift, inverse = T[place], w[:, place].copy(), 1.0 / M[place, place]
        without, pairs = now - shift**2 * inverse / 2.0, self._differences.pairs
        gains: Array = pair_gains(g, q, t, shift, inverse, without, pairs)
        gains -= pairs @ (1.0 / without - 1.0 / now)
        gains[q + t**2 * inverse <= DEPENDENT] = -np.inf
        return gains

    def _regress(self, units: Indices) -> _Regression:
        """Regress all columns on a list."""
        rows, gaps = self._differences.correlations(units), self._differences.gaps
        M: Array = np.linalg.inv(rows[:, units]).astype(np.float64, copy=False)
        T, w = M @ rows, -gaps[:, units] @ M
        q = 1.0 - np.sum(rows * T, axis=0)
        now = 1.0 - np.sum(gaps[:, units] * w, axis=1) / 2.0
        return _Regression(M, T, w, gaps + w @ rows, q, now)


def _candidates(classes: ManyClasses, k: int, alpha: float, restrictions: Restrictions) -> Indices:
    """Columns that tell classes apart best alone, as many as there is room for; fixed ones."""
    columns, n_classes = np.arange(classes.n_features), classes.weights.size
    room = max(2 * k, _NUMBERS // (n_classes * (n_classes - 1) // 2))
    if columns.size <= room:
        return columns
    fixed, excluded = restrictions.masks(columns.size)
    parts = np.array_split(columns, -(-columns.size // room))
    alone = [_Differences(classes, alpha, some).gains_alone().sum(axis=0) for some in parts]
    gains = np.concatenate(alone)
    gains[excluded], gains[fixed] = -1.0, np.inf
    return np.sort(np.argsort(-gains, kind="stable")[:room])
