"""Exact gains of exchanges with the columns outside a working set.

Most columns are screened out at little cost. Let a = |g_j| be half the gradient, h = H_jj + alpha,
q what the support leaves of column j, and l² = w_i²/M_ii the cost of doing without i. With
t² = T_ij²/M_ii ≤ h − q, column j can only take the place of i if

    a + |t| l > l √(q + t²),        hence        a > l (√h − √(h − q)),

and q may be replaced by what all supports in question together leave of the column.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..moments.base import HCache, StandardisedGram, take
from ..utils.jit import inlined_kernel, kernel
from ..utils.types import Array, Indices, Mask
from .exchange import DEPENDENT, dependence_tolerance, exchange_gains
from .restrictions import Restrictions

# Columns above which a rough bound saves time, and columns checked at a time.
TILE, _STRIP = 8192, 512
# What is explained is taken for this at least, where gains are compared with it.
LEAST_EXPLAINED = 1e-12
# Columns are screened out where rounding could not have done so.
NEARLY = 0.999999
# What doing without a column costs at least, so that it can be divided by.
_LEAST_LOSS = 1e-150


def relative_gains(
    gram: StandardisedGram, cache: HCache, supports: list[Indices], alpha: float, fixed: Mask,
    outside: Mask, limits: Restrictions | None, budget: float, *, joins: bool,
) -> Array:  # fmt: skip
    """Largest gain of an exchange with each column outside, as a share of what is explained.

    −infinity for columns that were screened out: no exchange with them helps.

    Parameters
    ----------
    gram : StandardisedGram
    cache : HCache
        With the rows of all columns of the supports.
    supports : list of ndarrays of int64
    alpha : float
        Ridge.
    fixed, outside : bool ndarrays of shape (d,)
        Columns that cannot leave, and columns that may join.
    limits : Restrictions or None
        None where all exchanges are feasible.
    budget : float
        Of the lists.
    joins : bool
        Whether columns may join the last support without another leaving.
    """
    union = np.unique(np.concatenate(supports))
    gains = np.full(outside.size, -np.inf)
    if union.size == 0 and not joins:
        return gains
    H, delta, stays = cache.part(union, union), gram.delta[union], fixed[union]
    tolerance = dependence_tolerance(gram.precision)
    factor, smallest = _factorise(H + alpha * np.eye(union.size), bound=gram.n_features > TILE)
    solved = _Solved.from_supports(supports, union, H, delta, stays, alpha)
    # A support that explains everything is not bettered.
    solved.reach[1.0 - solved.explained < DEPENDENT] = -1.0
    h = gram.diagonal + alpha
    gradients = np.tile(gram.delta, (len(supports), 1))
    possible = np.zeros(gradients.shape, np.bool_)
    _screen(
        cache.rows, cache.positions(union), h, outside, factor, smallest, solved, joins, gradients,
        possible,
    )  # fmt: skip
    # Rows of these columns alone: of all columns they would be far apart in memory.
    looked_at = np.flatnonzero(possible.any(axis=0))
    rows = cache.part(union, looked_at)
    allowed, own, sign = np.empty((0, 0), np.bool_), *np.empty((2, 0), np.int64)
    for number in np.flatnonzero(possible.any(axis=1)).tolist():
        k = int(solved.sizes[number])
        place, M = solved.places[number, :k], solved.M[number, :k, :k]
        at = np.flatnonzero(possible[number, looked_at])
        some, support, chosen = take(rows, place, at), union[place], looked_at[at]
        if limits is not None:
            allowed = limits.allowed_swaps(support, chosen, budget)
            own, sign = limits.signs_of(support), limits.signs_of(chosen)
        found = exchange_gains(
            M @ some, some, gradients[number, chosen], h[chosen], tolerance * h[chosen],
            solved.w[number, :k], M, np.flatnonzero(~stays[place]),
            joins and number == solved.sizes.size - 1, allowed, own, sign,
        )  # fmt: skip
        found /= max(solved.explained[number], LEAST_EXPLAINED)
        gains[chosen] = np.maximum(gains[chosen], found)
    return gains


class _Solved(NamedTuple):
    """Supports with their minimisers, to compute the gains of exchanges from.

    Attributes
    ----------
    places : int64 ndarray of shape (s, k_max)
        The columns of each support among those of a union.
    sizes : int64 ndarray of shape (s,)
    M, w : ndarrays of shape (s, k_max, k_max) and (s, k_max)
    explained : ndarray of shape (s,)
    reach : ndarray of shape (s,)
        One over the square root of what it costs at least to do without a column; negative where
        the support is not to be bettered.
    """

    places: Indices
    sizes: Indices
    M: Array
    w: Array
    explained: Array
    reach: Array

    @classmethod
    def from_supports(
        cls, supports: list[Indices], union: Indices, H: Array, delta: Array, fixed: Mask,
        alpha: float,
    ) -> _Solved:  # fmt: skip
        """Solve on supports, given H and δ of their union."""
        sizes = np.array([support.size for support in supports], np.int64)
        count, largest = sizes.size, int(sizes.max())
        places = np.zeros((count, largest), np.int64)
        for row, support in zip(places, supports, strict=True):
            row[: support.size] = np.searchsorted(union, support)
        solved = cls(
            places, sizes, np.zeros((count, largest, largest)), np.zeros((count, largest)),
            np.zeros(count), np.zeros(count),
        )  # fmt: skip
        _solve_all(H, delta, fixed, alpha, solved)
        return solved


@kernel
def _solve_all(H, delta, fixed, alpha, solved):  # type: ignore[no-untyped-def]
    """Fill in the minimiser of each support."""
    for s in range(solved.sizes.size):
        k, place = solved.sizes[s], solved.places[s]
        block = np.empty((k, k))
        for p in range(k):
            for o in range(k):
                block[p, o] = H[place[p], place[o]]
            block[p, p] += alpha
        M = np.linalg.inv(block)
        solved.M[s, :k, :k] = M
        for p in range(k):
            w = 0.0
            for o in range(k):
                w -= M[p, o] * delta[place[o]]
            solved.w[s, p] = w
            solved.explained[s] -= w * delta[place[p]]
            if not fixed[place[p]]:
                loss = max(NEARLY * abs(w) / np.sqrt(M[p, p]), _LEAST_LOSS)
                solved.reach[s] = max(solved.reach[s], 1.0 / loss)


def _factorise(P: Array, *, bound: bool) -> tuple[Array, float]:
    """Cholesky's factor of a matrix, and a lower bound on its eigenvalues if it is asked for."""
    try:
        factor: npt.NDArray[Any] = np.linalg.cholesky(P)
    except np.linalg.LinAlgError:
        return np.empty((0, 0)), 0.0  # columns depend linearly: nothing is known of what they leave
    if not bound or not P.size:
        return factor, 0.0
    rounding = P.shape[0] * np.finfo(np.float64).eps * float(np.trace(P))
    return factor, max(float(np.linalg.eigvalsh(P)[0]) - rounding, 0.0)


@inlined_kernel
def _gradients(rows, union, solved, low, m, gradients, reach):  # type: ignore[no-untyped-def]
    """Half the gradient of a strip of columns at each support, and how far it reaches at most."""
    for s in range(solved.sizes.size):
        g = gradients[s, low : low + m]
        for p in range(solved.sizes[s]):
            w, row = solved.w[s, p], rows[union[solved.places[s, p]], low : low + m]
            for j in range(m):
                g[j] += w * row[j]
        for j in range(m):
            reach[j] = max(reach[j], abs(g[j]) * solved.reach[s])


@inlined_kernel
def _explain(rows, union, factor, low, near, size, left, explained):  # type: ignore[no-untyped-def]
    """What the union of the supports explains of some columns of a strip."""
    for p in range(factor.shape[0]):
        part = left[p, :size]
        for i in range(size):
            part[i] = rows[union[p], low + near[i]]
        for o in range(p):
            multiple, earlier = factor[p, o], left[o, :size]
            for i in range(size):
                part[i] -= multiple * earlier[i]
        inverse = 1.0 / factor[p, p]
        for i in range(size):
            part[i] *= inverse
            explained[i] += part[i] * part[i]


@kernel
def _screen(rows, union, h, outside, factor, smallest, solved, joins, gradients, possible):  # type: ignore[no-untyped-def]
    """Screening: columns whose gradient is so large that an exchange could improve a support.

    An exchange needs a gradient above √h − √(what the union of the supports explains of the
    column), in units of what the support loses.

    Parameters
    ----------
    rows, union : ndarray of shape (r, c), and int64 ndarray of shape (u,)
        Rows of H with c columns, and which of these are of the union of the supports.
    h, outside : ndarrays of shape (c,)
        H_jj + alpha, and whether the column is looked at.
    factor : ndarray of shape (u, u)
        Of Cholesky's factorisation of H + alpha I of the union; empty where there is none.
    smallest : float
        No eigenvalue of it is smaller; 0 where that is not known.
    solved : _Solved
    joins : bool
        Whether columns may join the last support without another leaving.
    gradients : ndarray of shape (s, c)
        δ on entry; half the gradient at each support on return.
    possible : bool ndarray of shape (s, c)
        False on entry; whether a column may take a place in a support on return.
    """
    u, c, count = union.size, h.size, solved.sizes.size
    near, left = np.empty(_STRIP, np.int64), np.empty((u, _STRIP))
    reach, explained = np.empty(_STRIP), np.empty(_STRIP)
    for low in range(0, c, _STRIP):
        m = min(_STRIP, c - low)
        reach[:] = 0.0
        explained[:] = 0.0
        _gradients(rows, union, solved, low, m, gradients, reach)
        if smallest > 0.0:
            for p in range(u):
                row = rows[union[p], low : low + m]
                for j in range(m):
                    explained[j] += row[j] * row[j]
        # A rough bound first.
        size = 0
        for j in range(m):
            if outside[low + j]:
                root, rough = np.sqrt(h[low + j]), 0.0
                if smallest > 0.0:
                    rough = root - min(np.sqrt(explained[j] / smallest), root)
                if joins or reach[j] > rough:
                    near[size] = j
                    size += 1
        explained[:] = 0.0
        _explain(rows, union, factor, low, near, size, left, explained)
        for i in range(size):
            j = low + near[i]
            root = np.sqrt(h[j])
            needed = root - min(np.sqrt(explained[i]), root) if factor.size else 0.0
            for s in range(count):
                joining = joins and s == count - 1 and solved.reach[s] >= 0.0
                possible[s, j] = joining or abs(gradients[s, j]) * solved.reach[s] > needed
