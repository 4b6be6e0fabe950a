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
from ._perspective import enumerate_supports
from .certificate import Problem, bound_all, shifted
from .exchange import dependence_tolerance
from .exchange_groups import independent
from .restrictions import Restrictions

# Operations that dividing a part of m columns takes: these, so many m², and m³.
_PER_PART = 2e6
_PER_SQUARE = 1000


class _Collection(Problem):
    """Takes down all supports of k columns below a cutoff, where a certificate keeps the best."""

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
        # columns.
        self.certain = bool((4 * self.k * self.rounding.reserve <= self._floor).all())

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
        P, delta, constant = self.eliminate(self.P, included, free)
        if constant > -np.inf and included.size + k == self.k:
            found = np.empty((self._most + 1, k), np.int64)
            gain = constant - self._cutoff
            self.operations -= math.comb(free.size, k) * k
            count, _, _ = enumerate_supports(
                P, delta, self._floor[free], gain, found, False
            )
            self._overflow |= count > len(found)
            for row in found[:count]:
                self._keep(np.concatenate([included, free[row]]))
        return np.inf, included

    def _keep(self, support: Indices) -> None:
        """Keep a support unless its columns depend on each other."""
        support = np.sort(support)
        P = shifted(self.H[np.ix_(support, support)], self.alpha)
        columns = np.sort(self.columns[support])
        if independent(P, self._tolerance).size == self.k and self.restrictions.allows(
            columns
        ):
            self.supports.append(columns)


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
    """List all supports of k independent columns with objectives up to a cutoff.

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
        None where there are more, they take too long, or rounding forbids to tell.
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
        if node.bound <= cutoff:
            m = node.free.size
            problem.operations -= _PER_PART + _PER_SQUARE * m**2 + m**3
            if problem.operations < 0:
                return None
            parts += problem.split(node, np.nextafter(cutoff, np.inf))
    return None if problem.is_full else problem.supports
