"""The gain of an exchange: one formula, for columns of a state and for columns outside it.

When i makes room for j, the coefficient of j becomes −numerator/denominator, with

    numerator = g_j − T_ij w_i/M_ii,        denominator = q_j + T_ij²/M_ii,

and the objective falls by numerator²/denominator − w_i²/M_ii. When j joins and none
leaves, T_ij is 0: the numerator is g_j and the denominator q_j.
"""

import numpy as np

from ...utils.jit import inlined_kernel, inner_kernel, kernel


@inlined_kernel
def exchange_terms(g, q, t, shift, inverse):  # type: ignore[no-untyped-def]
    """Numerator and denominator, given T_ij, w_i/M_ii and 1/M_ii."""
    return g - t * shift, q + t * t * inverse


@inner_kernel
def keeps_signs(  # type: ignore[no-untyped-def]
    signs, members, k, sign, w, M, T, position, column, numerator, denominator
):
    """Tell whether all coefficients have the right signs after an exchange.

    Parameters
    ----------
    signs : int64 ndarray
        Signs of columns, those of the support at its ``members``.
    members : int64 ndarray
        The first k are those of the support.
    k, sign : int
        Size of the support, and sign of the new column.
    w, M, T
        As of ``State``.
    position, column : int
        Row of T of the column that leaves, −1 for none, and column of T of the one that
        joins.
    numerator, denominator : float
        As of ``exchange_terms``.
    """
    new = -numerator / denominator
    right = sign * new >= 0.0
    leaving = (
        0.0  # coefficient of the column that leaves, less what the new one takes of it
    )
    if position >= 0:
        leaving = (w[position] - T[position, column] * new) / M[position, position]
    for o in range(k):
        if right and o != position:
            coef = w[o] - T[o, column] * new
            if position >= 0:
                coef -= M[o, position] * leaving
            right = signs[members[o]] * coef >= 0.0
    return right


@kernel
def exchange_gains(T, rows, g, h, min_q, w, M, leavers, allowed, own, sign):  # type: ignore[no-untyped-def]
    """Gain of the best exchange of a support with each of some columns.

    Parameters
    ----------
    T, rows : ndarrays of shape (k, c)
        M H and H of the support with c columns.
    g, h, min_q : ndarrays of shape (c,)
        Half the gradient, H_jj + alpha, and what must be left of a column for it to
        join.
    w, M : ndarrays of shape (k,) and (k, k)
    leavers : int64 ndarray
        Positions of the support whose columns may leave, and −1 where columns may join
        without another leaving.
    allowed : bool ndarray of shape (k + 1, c)
        As of ``Restrictions.allowed_swaps``; empty where all are.
    own, sign : int64 ndarrays of shape (k,) and (c,)
        Signs of the support, and of the columns; empty where any will do.
    """
    k, c = rows.shape
    members = np.arange(k)
    q = h.copy()
    for p in range(k):
        for j in range(c):
            q[j] -= T[p, j] * rows[p, j]
    gains = np.full(c, -np.inf)
    for p in leavers:
        t = g
        inverse = 0.0
        shift = 0.0
        loss = 0.0
        if p >= 0:
            t = T[p]
            inverse = 1.0 / M[p, p]
            shift = w[p] * inverse
            loss = w[p] * shift
        for j in range(c):
            numerator, left = exchange_terms(g[j], q[j], t[j], shift, inverse)
            gain = numerator * numerator / left - loss
            if (
                left > min_q[j]
                and gain > gains[j]
                and (allowed.size == 0 or allowed[p, j])
                and (
                    sign.size == 0
                    or keeps_signs(
                        own, members, k, sign[j], w, M, T, p, j, numerator, left
                    )
                )
            ):
                gains[j] = gain
    return gains
