"""Exact gains of exchanges with the columns outside a working set.

Most columns are screened out at little cost. Let a = |g_j| be half the gradient, h =
H_jj + alpha, q what the support leaves of column j, and l² = w_i²/M_ii the cost of
doing without i. With t² = T_ij²/M_ii ≤ h − q, column j can only take the place of i if

    a + |t| l > l √(q + t²),        hence        a > l (√h − √(h − q)),

and q may be replaced by what all supports in question together leave of the column.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..moments.base import StandardisedGram
from ..utils.jit import inlined_kernel, inner_kernel, kernel
from ..utils.types import Array, Indices, Mask
from .exchange import DEPENDENT, ExchangeLimits, dependence_tolerance, exchange_gains
from .exchange.limits import count, has_room

# Columns above which a rough bound saves time.
_MANY = 8192
# Columns checked at a time.
_STRIP = 2048
# What is explained is taken for this at least, where gains are compared with it.
LEAST_EXPLAINED = 1e-12
# Columns are screened out where rounding could not have done so.
NEARLY = 0.999999
# What doing without a column costs at least, so that it can be divided by.
_LEAST_LOSS = 1e-150


def relative_gains(
    gram: StandardisedGram,
    supports: list[Indices],
    alpha: float,
    fixed: Mask,
    outside: Mask,
    limits: ExchangeLimits | None,
    *,
    joins: bool,
) -> Array:
    """Largest gain of an exchange with each column outside, as a share of what is explained.

    −infinity for columns that were screened out: no exchange with them helps.

    Parameters
    ----------
    gram : StandardisedGram
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
    gains = np.full(outside.size, -np.inf)
    columns = np.unique(np.concatenate(supports))
    if columns.size == 0 and not joins:
        return gains
    H = gram.part(columns, columns)
    ridged = H + alpha * np.eye(columns.size)
    factor, smallest = _factorise(ridged, bound=gram.n_features > _MANY)
    union = _Union(
        columns=columns,
        stays=fixed[columns],
        rows=gram.kept_rows,
        at=gram.positions(columns),
        factor=factor,
        smallest=smallest,
    )
    solved = _solve_supports(supports, union, H, gram.delta[columns], alpha)
    # A support that explains everything is not bettered.
    solved.reach[1.0 - solved.explained < DEPENDENT] = -1.0
    _find_gains(
        union,
        solved,
        gram.delta,
        gram.diagonal + alpha,
        dependence_tolerance(gram.precision),
        outside,
        limits,
        joins,
        gains,
    )
    return gains


class _Union(NamedTuple):
    """The union of some supports.

    Attributes
    ----------
    columns : int64 ndarray of shape (u,)
    stays : bool ndarray of shape (u,)
        Columns that cannot leave.
    rows, at : ndarray of shape (r, d), and int64 ndarray of shape (u,)
        Rows of H, and which of these are of the union.
    factor : ndarray of shape (u, u)
        Of Cholesky's factorisation of H + alpha I of the union; empty where there is
        none.
    smallest : float
        No eigenvalue of it is smaller; 0 where that is not known.
    """

    columns: Indices
    stays: Mask
    rows: Array
    at: Indices
    factor: Array
    smallest: float


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
        One over the square root of what it costs at least to do without a column;
        negative where the support is not to be bettered.
    """

    places: Indices
    sizes: Indices
    M: Array
    w: Array
    explained: Array
    reach: Array


def _solve_supports(
    supports: list[Indices], union: _Union, H: Array, delta: Array, alpha: float
) -> _Solved:
    """Minimise on supports, given H and δ of their union."""
    sizes = np.array([support.size for support in supports], np.int64)
    n_supports = sizes.size
    largest = int(sizes.max())
    places = np.zeros((n_supports, largest), np.int64)
    for row, support in zip(places, supports, strict=True):
        row[: support.size] = np.searchsorted(union.columns, support)
    solved = _Solved(
        places=places,
        sizes=sizes,
        M=np.zeros((n_supports, largest, largest)),
        w=np.zeros((n_supports, largest)),
        explained=np.zeros(n_supports),
        reach=np.zeros(n_supports),
    )
    _solve_all(H, delta, union.stays, alpha, solved)
    return solved


@kernel
def _solve_all(H, delta, stays, alpha, solved):  # type: ignore[no-untyped-def]
    """Fill in the minimiser of each support."""
    for s in range(solved.sizes.size):
        k = solved.sizes[s]
        place = solved.places[s]
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
            if not stays[place[p]]:
                loss = max(NEARLY * abs(w) / np.sqrt(M[p, p]), _LEAST_LOSS)
                solved.reach[s] = max(solved.reach[s], 1.0 / loss)


def _factorise(P: Array, *, bound: bool) -> tuple[Array, float]:
    """Cholesky's factor of a matrix, and a lower bound on its eigenvalues if it is asked for."""
    try:
        factor: npt.NDArray[Any] = np.linalg.cholesky(P)
    except np.linalg.LinAlgError:
        return np.empty(
            (0, 0)
        ), 0.0  # columns depend linearly: nothing is known of what they leave
    if not bound or not P.size:
        return factor, 0.0
    rounding = P.shape[0] * np.finfo(np.float64).eps * float(np.trace(P))
    return factor, max(float(np.linalg.eigvalsh(P)[0]) - rounding, 0.0)


@inlined_kernel
def _gradients(union, solved, delta, low, m, gradients, reach):  # type: ignore[no-untyped-def]
    """Half the gradient of a strip of columns at each support, and how far it reaches at most."""
    for s in range(solved.sizes.size):
        g = gradients[s, :m]
        for j in range(m):
            g[j] = delta[low + j]
        for p in range(solved.sizes[s]):
            w = solved.w[s, p]
            row = union.rows[union.at[solved.places[s, p]], low : low + m]
            for j in range(m):
                g[j] += w * row[j]
        for j in range(m):
            reach[j] = max(reach[j], abs(g[j]) * solved.reach[s])


@inlined_kernel
def _explain(union, low, near, size, left, explained):  # type: ignore[no-untyped-def]
    """Compute what the union of the supports explains of some columns of a strip."""
    factor = union.factor
    for p in range(factor.shape[0]):
        part = left[p, :size]
        for i in range(size):
            part[i] = union.rows[union.at[p], low + near[i]]
        for o in range(p):
            multiple = factor[p, o]
            earlier = left[o, :size]
            for i in range(size):
                part[i] -= multiple * earlier[i]
        inverse = 1.0 / factor[p, p]
        for i in range(size):
            part[i] *= inverse
            explained[i] += part[i] * part[i]


@inner_kernel
def _screen(union, solved, delta, h, outside, joins, low, gradients, near, needed):  # type: ignore[no-untyped-def]
    """Screen a strip of columns from ``low`` on: some are near enough to improve a support.

    How many is returned. Which, the gradients that they need, and those of the strip at
    each support are written to ``near``, ``needed`` and ``gradients``.
    """
    u = union.at.size
    m = min(near.size, h.size - low)
    left = np.empty((u, m))
    reach = np.zeros(m)
    explained = np.zeros(m)
    _gradients(union, solved, delta, low, m, gradients, reach)
    smallest = union.smallest
    if smallest > 0.0:
        for p in range(u):
            row = union.rows[union.at[p], low : low + m]
            for j in range(m):
                explained[j] += row[j] * row[j]
    # A rough bound first.
    size = 0
    for j in range(m):
        if outside[low + j]:
            root = np.sqrt(h[low + j])
            rough = 0.0
            if smallest > 0.0:
                rough = root - min(np.sqrt(explained[j] / smallest), root)
            if joins or reach[j] > rough:
                near[size] = j
                size += 1
    explained[:] = 0.0
    _explain(union, low, near, size, left, explained)
    for i in range(size):
        root = np.sqrt(h[low + near[i]])
        needed[i] = (
            root - min(np.sqrt(explained[i]), root) if union.factor.size else 0.0
        )
    return size


@inner_kernel
def _find_allowed(limits, members, columns):  # type: ignore[no-untyped-def]
    """Find which columns families and the budget let take each position of a support, or join."""
    k = members.size
    left = limits.budget[0]
    allowed = np.empty((k + 1, columns.size), np.bool_)
    for member in members:
        count(limits, member, 1)
    for p in range(k + 1):
        gone = members[p] if p < k else -1
        for i in range(columns.size):
            allowed[p, i] = has_room(limits, gone, columns[i])
    for member in members:
        count(limits, member, -1)
    limits.budget[0] = left  # as it was before rounding
    return allowed


@kernel
def _find_gains(union, solved, delta, h, tolerance, outside, limits, joins, gains):  # type: ignore[no-untyped-def]
    """Screen columns, and compute the gains of exchanges with those that are left.

    A column is left if its gradient is so large that an exchange could improve a
    support: above √h − √(what the union of the supports explains of the column), in
    units of what the support loses.

    Parameters
    ----------
    union : _Union
    solved : _Solved
    delta, h, outside : ndarrays of shape (d,)
        δ, H_jj + alpha, and whether the column is looked at.
    tolerance : float
        Share of a column below which it counts as linearly dependent.
    limits, joins
        As for ``relative_gains``.
    gains : ndarray of shape (d,)
        −infinity on entry, the largest gain as a share of what is explained on return.
    """
    d = h.size
    n_supports = solved.sizes.size
    gradients = np.empty((n_supports, _STRIP))
    near = np.empty(_STRIP, np.int64)
    needed = np.empty(_STRIP)
    chosen = np.empty(_STRIP, np.int64)
    for low in range(0, d, _STRIP):
        size = _screen(
            union, solved, delta, h, outside, joins, low, gradients, near, needed
        )
        for s in range(n_supports):
            joining = joins and s == n_supports - 1 and solved.reach[s] >= 0.0
            c = 0
            for i in range(size):
                # Without a branch, which would be mispredicted.
                chosen[c] = low + near[i]
                c += joining or abs(gradients[s, near[i]]) * solved.reach[s] > needed[i]
            if c > 0:
                columns = chosen[:c]
                g = gradients[s][columns - low]
                found = _gains_beside(
                    union, solved, s, g, h, tolerance, columns, joining, limits
                )
                share = 1.0 / max(solved.explained[s], LEAST_EXPLAINED)
                for i in range(c):
                    gains[columns[i]] = max(gains[columns[i]], found[i] * share)


@inner_kernel
def _gains_beside(union, solved, s, g, h, tolerance, columns, joins, limits):  # type: ignore[no-untyped-def]
    """Gains of exchanges of a support with some columns."""
    k = solved.sizes[s]
    c = columns.size
    place = solved.places[s, :k]
    members = union.columns[place]
    leavers = np.flatnonzero(~union.stays[place])
    if joins:
        leavers = np.append(leavers, -1)
    own = np.empty(0, np.int64)
    sign = own
    allowed = np.empty((0, 0), np.bool_)
    if limits is not None:
        allowed = _find_allowed(limits, members, columns)
        if limits.signed:
            own = limits.sign[members]
            sign = limits.sign[columns]
    rows = np.empty((k, c))
    for p in range(k):
        row = union.rows[union.at[place[p]]]
        part = rows[p]
        for i in range(c):
            part[i] = row[columns[i]]
    diagonal = h[columns]
    min_q = tolerance * diagonal
    M = solved.M[s, :k, :k].copy()
    w = solved.w[s, :k]
    T = np.dot(M, rows)
    return exchange_gains(
        T, rows, g, diagonal, min_q, w, M, leavers, allowed, own, sign
    )
