"""Supports that are nearly as good as the best: the certificate's search, which collects here.

The parts that a certificate leaves out, as no support in them can be better, are left
out here where none can reach a cutoff; all others are divided until their supports can
be listed.
"""

import math
from functools import partial
from typing import Any

import numpy as np

from ..moments.base import StandardisedGram
from ..utils.types import Indices
from ._perspective import enumerate_supports, shifted
from .certificate import Problem, bound_all
from .exchange import dependence_tolerance
from .exchange_groups import independent
from .restrictions import Restrictions

# Operations that dividing a part of m columns takes: these, so many m², and m³.
_PER_PART = 2e6
_PER_SQUARE = 1000


class _Collection(Problem):
    """Takes down all supports of k units below a cutoff, where a certificate keeps the best."""

    def __init__(
        self,
        *problem: Any,
        cutoff: float,
        most: int,
        operations: float,
        tolerance: float,
    ) -> None:
        super().__init__(*problem)
        self._cutoff = cutoff
        self._most = most
        self.operations = operations
        self._tolerance = tolerance
        self._floor = tolerance * (self.H.diagonal() + self.alpha)
        self.supports: list[Indices] = []
        self._overflow = False
        # Where rounding is that large, what is not definite need not depend on other
        # columns; and a unit whose own columns depend on each other is as good as a
        # smaller one.
        n_columns = np.sort(self.units.sizes)[-self.k :].sum()
        self.certain = bool((4 * n_columns * self.reserve <= self._floor).all())
        self.certain &= all(
            self._is_independent(np.array([unit]))
            for unit in np.flatnonzero(self.units.sizes > 1)
        )

    @property
    def is_full(self) -> bool:
        """Tell whether there are more supports than wanted."""
        return self._overflow or len(self.supports) > self._most

    def settle(self, support: Indices) -> float:
        """Keep a support that is below the cutoff."""
        if support.size == self.k and not self.minimum(support) > self._cutoff:
            self._keep(support)
        return np.inf

    def enumerate(
        self, included: Indices, free: Indices, k: int
    ) -> tuple[float, Indices]:
        """Keep all supports of a part that are below the cutoff."""
        P, delta, constant = self.eliminate(included, free)
        if constant > -np.inf and included.size + k == self.k:
            found = np.empty((self._most + 1, k), np.int64)
            floor = self._floor[self.units.places(free)]
            gain = constant - self._cutoff
            width = delta.size / free.size
            self.operations -= math.comb(free.size, k) * k * width**3
            count, _, _ = enumerate_supports(
                P, delta, self.units.sizes[free], floor, gain, found, False
            )
            self._overflow |= count > len(found)
            for row in found[:count]:
                self._keep(np.concatenate([included, free[row]]))
        return np.inf, included

    def _keep(self, support: Indices) -> None:
        """Keep a support unless its columns depend on each other."""
        units = np.sort(self.units.numbers[support])
        if self._is_independent(np.sort(support)) and self.restrictions.allows(units):
            self.supports.append(units)

    def _is_independent(self, units: Indices) -> bool:
        places = self.units.places(units)
        P = shifted(self.H[np.ix_(places, places)], self.alpha)
        return independent(P, self._tolerance).size == places.size


def supports_below(
    gram: StandardisedGram,
    k: int,
    alpha: float,
    restrictions: Restrictions,
    cutoff: float,
    *,
    most: int,
    operations: float,
) -> list[Indices] | None:
    """List all supports of k independent units with objectives up to a cutoff.

    Supports whose objective is above the cutoff by rounding, or by a wrong sign, may be
    among them.

    Parameters
    ----------
    gram, k, alpha, restrictions
        As for ``certify``.
    cutoff : float
    most : int
        Supports at most.
    operations : float
        Multiplications at most, as far as they can be foreseen.

    Returns
    -------
    list of ndarrays of int64, or None
        The units of each: columns, or groups where there are any. None where there are
        more, they take too long, or rounding forbids to tell.
    """
    if operations < gram.n_features**3:
        return None
    make = partial(
        _Collection,
        cutoff=cutoff,
        most=most,
        operations=operations - gram.n_features**3,
        tolerance=dependence_tolerance(gram.precision),
    )
    problem, node = bound_all(
        gram, k, alpha, restrictions, np.nextafter(cutoff, np.inf), make
    )
    if not isinstance(problem, _Collection) or problem.k != k or not problem.certain:
        return None
    parts = [node]
    while parts and not problem.is_full:
        node = parts.pop()
        if node.bound <= cutoff and node.relaxed is not None:
            m = problem.units.sizes[node.free].sum()
            problem.operations -= _PER_PART + _PER_SQUARE * m**2 + m**3
            if problem.operations < 0:
                return None
            parts += problem.split(node, np.nextafter(cutoff, np.inf))
    return None if problem.is_full else problem.supports
