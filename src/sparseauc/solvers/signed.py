"""Coefficients of given signs on a short list: a small non-negative least squares."""

import numpy as np

from ..utils.jit import inner_kernel, kernel


@inner_kernel
def _solve(P, delta, floor, used, w):  # type: ignore[no-untyped-def]
    """Minimise on the columns used, by Cholesky's factorisation; False where they depend."""
    index = np.flatnonzero(used)
    k = index.size
    L = np.empty((k, k))
    y = np.empty(k)
    for i in range(k):
        a = index[i]
        for j in range(i + 1):
            total = P[a, index[j]]
            for h in range(j):
                total -= L[i, h] * L[j, h]
            if i == j:
                if total <= floor[a]:
                    return False
                L[i, i] = np.sqrt(total)
            else:
                L[i, j] = total / L[j, j]
        total = -delta[a]
        for h in range(i):
            total -= L[i, h] * y[h]
        y[i] = total / L[i, i]
    w[:] = 0.0
    for i in range(k - 1, -1, -1):
        total = y[i]
        for h in range(i + 1, k):
            total -= L[h, i] * w[index[h]]
        w[index[i]] = total / L[i, i]
    return True


@inner_kernel
def _leave_out_wrong(P, delta, sign, floor, used, w):  # type: ignore[no-untyped-def]
    """Leave out columns of the wrong sign, until there are none; False where columns depend."""
    wrong = True
    while wrong:
        if not _solve(P, delta, floor, used, w):
            return False
        wrong = False
        for i in range(sign.size):
            if used[i] and sign[i] * w[i] < 0.0:
                used[i] = False
                wrong = True
    return True


@kernel
def minimise_signed(P, delta, sign, floor):  # type: ignore[no-untyped-def]
    """Minimise 2 w·δ + wᵀPw over w with sign·w ≥ 0, by Lawson and Hanson's active sets.

    Returns w and what it takes off the objective, −δ·w; −infinity where columns depend
    on each other, as those do of which no more than the floor is left.
    """
    k = delta.size
    w = np.zeros(k)
    z = np.zeros(k)
    used = np.ones(k, np.bool_)
    if not _leave_out_wrong(P, delta, sign, floor, used, w):
        return w, -np.inf
    barred = np.zeros(k, np.bool_)
    for _ in range(10 * k):
        best = 1e-14 * -(delta @ w)
        into = -1
        for i in range(k):
            if not used[i] and not barred[i]:
                push = -sign[i] * (delta[i] + P[i] @ w)
                if push > 0.0 and push * push / P[i, i] > best:
                    best = push * push / P[i, i]
                    into = i
        if into < 0:
            break
        used[into] = True
        while True:
            if not _solve(P, delta, floor, used, z):
                return w, -np.inf
            step = 1.0
            first = -1
            for i in range(k):
                if used[i] and sign[i] * z[i] < 0.0:
                    share = w[i] / (w[i] - z[i])
                    if share < step:
                        step = share
                        first = i
            if first < 0:
                for i in range(k):
                    w[i] = z[i]
                break
            for i in range(k):
                w[i] += step * (z[i] - w[i])
            w[first] = 0.0
            used[first] = False
            if first == into:  # its push was rounding, which may push forever
                barred[into] = True
    return w, -(delta @ w)
