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

from ..moments.base import HCache, StandardisedGram
from ..utils.jit import inlined_kernel, kernel
from ..utils.types import Array, Indices, Mask
from .exchange import DEPENDENT, ExchangeLimits, dependence_tolerance, exchange_gains
from .exchange.limits import UNLIMITED, count, find_allowed

# Columns above which a rough bound saves time, and columns checked at a time.
_MANY, _STRIP = 8192, 2048
# What is explained is taken for this at least, where gains are compared with it.
LEAST_EXPLAINED = 1e-12
# Columns are screened out where rounding could not have done so.
NEARLY = 0.999999
# What doing without a column costs at least, so that it can be divided by.
_LEAST_LOSS = 1e-150


def relative_gains(
    gram: StandardisedGram, cache: HCache, supports: list[Indices], alpha: float, fixed: Mask,
    outside: Mask, limits: ExchangeLimits | None, *, joins: bool,
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
    limits : ExchangeLimits, optional
        Of all columns, with nothing used up; None where all exchanges are feasible.
    joins : bool
        Whether columns may join the last support without another leaving.
    """
    union = np.unique(np.concatenate(supports))
    gains = np.full(outside.size, -np.inf)
    if union.size == 0 and not joins:
        return gains
    H, delta, stays = cache.part(union, union), gram.delta[union], fixed[union]
    factor, smallest = _factorise(H + alpha * np.eye(union.size), bound=gram.n_features > _MANY)
    solved = _Solved.from_supports(supports, union, H, delta, stays, alpha)
    # A support that explains everything is not bettered.
    solved.reach[1.0 - solved.explained < DEPENDENT] = -1.0
    _find_gains(
        cache.rows, cache.positions(union), union, gram.delta, gram.diagonal + alpha,
        dependence_tolerance(gram.precision), outside, stays, factor, smallest, solved,
        limits is not None, UNLIMITED if limits is None else limits, joins, gains,
    )  # fmt: skip
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
def _gradients(rows, at, delta, solved, low, m, gradients, reach):  # type: ignore[no-untyped-def]
    """Half the gradient of a strip of columns at each support, and how far it reaches at most."""
    for s in range(solved.sizes.size):
        g = gradients[s, :m]
        for j in range(m):
            g[j] = delta[low + j]
        for p in range(solved.sizes[s]):
            w, row = solved.w[s, p], rows[at[solved.places[s, p]], low : low + m]
            for j in range(m):
                g[j] += w * row[j]
        for j in range(m):
            reach[j] = max(reach[j], abs(g[j]) * solved.reach[s])


@inlined_kernel
def _explain(rows, at, factor, low, near, size, left, explained):  # type: ignore[no-untyped-def]
    """What the union of the supports explains of some columns of a strip."""
    for p in range(factor.shape[0]):
        part = left[p, :size]
        for i in range(size):
            part[i] = rows[at[p], low + near[i]]
        for o in range(p):
            multiple, earlier = factor[p, o], left[o, :size]
            for i in range(size):
                part[i] -= multiple * earlier[i]
        inverse = 1.0 / factor[p, p]
        for i in range(size):
            part[i] *= inverse
            explained[i] += part[i] * part[i]


@kernel
def _screen(  # type: ignore[no-untyped-def]
    rows, at, delta, h, outside, factor, smallest, solved, joins, low, gradients, near, needed
):  # fmt: skip
    """Screen a strip of columns from ``low`` on: some are near enough to improve a support.

    How many is returned. Which, the gradients that they need, and those of the strip at each
    support are written to ``near``, ``needed`` and ``gradients``.
    """
    u, m = at.size, min(near.size, h.size - low)
    left, reach, explained = np.empty((u, m)), np.zeros(m), np.zeros(m)
    _gradients(rows, at, delta, solved, low, m, gradients, reach)
    if smallest > 0.0:
        for p in range(u):
            row = rows[at[p], low : low + m]
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
    _explain(rows, at, factor, low, near, size, left, explained)
    for i in range(size):
        root = np.sqrt(h[low + near[i]])
        needed[i] = root - min(np.sqrt(explained[i]), root) if factor.size else 0.0
    return size


@inlined_kernel
def _allowed(limits, members, low, m, chosen):  # type: ignore[no-untyped-def]
    """Which of some columns of a strip families and the budget let take each position, or join."""
    k, left = members.size, limits.budget[0]
    strip, allowed = np.empty(m, np.bool_), np.empty((k + 1, chosen.size), np.bool_)
    for p in range(k):
        count(limits, members[p], 1)
    for p in range(k + 1):
        find_allowed(limits, members, p if p < k else -1, low, strip)
        for i in range(chosen.size):
            allowed[p, i] = strip[chosen[i] - low]
    for p in range(k):
        count(limits, members[p], -1)
    limits.budget[0] = left  # as it was before rounding
    return allowed


@kernel
def _gains_beside(rows, at, M, w, g, h, tolerance, chosen, free, joins, allowed, own, sign):  # type: ignore[no-untyped-def]
    """Gains of exchanges of one support, with its rows ``at`` these, with some columns."""
    k, c = w.size, chosen.size
    some, floor = np.empty((k, c)), np.empty(c)
    for p in range(k):
        row, part = rows[at[p]], some[p]
        for i in range(c):
            part[i] = row[chosen[i]]
    for i in range(c):
        floor[i] = tolerance * h[i]
    return exchange_gains(np.dot(M, some), some, g, h, floor, w, M, free, joins, allowed, own, sign)


@kernel
def _find_gains(  # type: ignore[no-untyped-def]
    rows, at, union, delta, h, tolerance, outside, stays, factor, smallest, solved, limited, limits,
    joins, gains,
):  # fmt: skip
    """Screen columns, and compute the gains of exchanges with those that are left.

    A column is left if its gradient is so large that an exchange could improve a support: above
    √h − √(what the union of the supports explains of the column), in units of what the support
    loses.

    Parameters
    ----------
    rows, at : ndarray of shape (r, d), and int64 ndarray of shape (u,)
        Rows of H, and which of these are of the union of the supports.
    union : int64 ndarray of shape (u,)
    delta, h, outside : ndarrays of shape (d,)
        δ, H_jj + alpha, and whether the column is looked at.
    tolerance : float
        Share of a column below which it counts as linearly dependent.
    stays : bool ndarray of shape (u,)
        Columns of the union that cannot leave.
    factor : ndarray of shape (u, u)
        Of Cholesky's factorisation of H + alpha I of the union; empty where there is none.
    smallest : float
        No eigenvalue of it is smaller; 0 where that is not known.
    solved : _Solved
    limited, limits, joins
        As for ``relative_gains``.
    gains : ndarray of shape (d,)
        −infinity on entry, the largest gain as a share of what is explained on return.
    """
    d, n_supports = h.size, solved.sizes.size
    near, chosen = np.empty(_STRIP, np.int64), np.empty(_STRIP, np.int64)
    gradients, needed = np.empty((n_supports, _STRIP)), np.empty(_STRIP)
    none = np.empty(0, np.int64)
    for low in range(0, d, _STRIP):
        size = _screen(
            rows, at, delta, h, outside, factor, smallest, solved, joins, low, gradients, near,
            needed,
        )  # fmt: skip
        for s in range(n_supports):
            joining = joins and s == n_supports - 1 and solved.reach[s] >= 0.0
            c = 0
            for i in range(size):
                # Without a branch, which would be mispredicted.
                chosen[c] = low + near[i]
                c += joining or abs(gradients[s, near[i]]) * solved.reach[s] > needed[i]
            if c > 0:
                k, columns = solved.sizes[s], chosen[:c]
                place = solved.places[s, :k]
                members, allowed = union[place], np.empty((0, 0), np.bool_)
                own, sign = none, none
                if limited:
                    allowed = _allowed(limits, members, low, min(_STRIP, d - low), columns)
                    if limits.signed:
                        own, sign = limits.sign[members], limits.sign[columns]
                found = _gains_beside(
                    rows, at[place], solved.M[s, :k, :k].copy(), solved.w[s, :k],
                    gradients[s][columns - low], h[columns], tolerance, columns,
                    np.flatnonzero(~stays[place]), joining, allowed, own, sign,
                )  # fmt: skip
                share = 1.0 / max(solved.explained[s], LEAST_EXPLAINED)
                for i in range(c):
                    gains[columns[i]] = max(gains[columns[i]], found[i] * share)
