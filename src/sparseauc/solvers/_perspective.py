"""A lower bound that holds for every support, whatever point it is computed at.

    minimise c + 2 w·δ + wᵀPw   subject to   ‖w‖₀ ≤ k,        P positive definite

Take a diagonal D > 0 out of P so that Q = P − D is still positive semidefinite. A
convex function lies above its tangents: wᵀQw ≥ 2 w·Qp − pᵀQp for every p. What remains
is separable in w, and minimising it over any k columns gives, with t_j = (δ + Qp)_j² /
D_j,

    minimum ≥ B(p) = c − pᵀQp − (sum of the k largest t_j)        for every p and every
    such D.

No convergence is needed for the bound to be true, only for it to be tight. B is
concave, and its maximum is the minimum of the perspective relaxation

    c + 2 w·δ + wᵀQw + Σ D_j w_j²/z_j,      0 ≤ z ≤ 1,  Σ z_j ≤ k,

in which D, larger where z is fractional, makes a fraction of a column cost more than
its share. It is minimised by accelerated proximal gradients; the w of each iterate
serves as p. D is improved in turn (`_reweigh`): columns with z = 0 or 1 need less of it
than they have, those between can use it.

Rounding is allowed for: Q ⪰ 0 is proved by a Cholesky factorisation that leaves a
margin (Rump, *Verification of positive definiteness*, BIT 46, 2006), and B is evaluated
with bounds on its error.
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg

from ..utils.jit import inner_kernel, kernel
from ..utils.types import Array, Indices

EPS = float(np.finfo(np.float64).eps)
# Rounds of improving D, and the share of the gap one must close for another to follow.
_ROUNDS = 3
_WORTHWHILE = 0.02
# A column at z = 0 or 1 keeps this much more of D than holds it there now, as the
# others move…
_SLACK = 1.2
# …and never less than this share of what it has.
_LEAST = 0.02
# The bound is looked at every so many steps.
_LOOK = 10
# Share of the distance to the target that is not worth another step.
_HOPELESS = 0.005


class Relaxed(NamedTuple):
    """A bound and the point that proves it.

    ``bound + (k-th largest) − t_j`` holds for supports with a column j that is not
    among the k largest terms, ``bound + t_j − (k + 1-st largest)`` for supports without
    one that is.
    """

    bound: float
    terms: Array  # t
    point: Array  # p
    shares: Array  # z
    diagonal: Array  # D


@inner_kernel
def _spread_shares(slope, offset, k, z):  # type: ignore[no-untyped-def]
    """Set z = clip(s·slope − offset, 0, 1) with the s for which Σ z = k."""
    low = 0.0
    high = 0.0
    for j in range(z.size):
        if slope[j] > 0.0:
            high = max(high, (1.0 + offset[j]) / slope[j])
    s = high
    # Newton's method on a piecewise linear function, halving where it leaves the
    # bracket.
    for _ in range(100):
        total = 0.0
        rise = 0.0
        for j in range(z.size):
            share = s * slope[j] - offset[j]
            if share >= 1.0:
                total += 1.0
            elif share > 0.0:
                total += share
                rise += slope[j]
        if total > k:
            high = s
        else:
            low = s
        if high - low <= 1e-13 * high or abs(total - k) <= 1e-12 * k:
            break
        s = s + (k - total) / rise if rise > 0.0 else low
        if not low < s < high:
            s = 0.5 * (low + high)
    for j in range(z.size):
        z[j] = min(1.0, max(0.0, s * slope[j] - offset[j]))


@inner_kernel
def _multiply(Q, p, out):  # type: ignore[no-untyped-def]
    """Compute Qp for a symmetric Q, reading the rows where p is not zero."""
    out[:] = 0.0
    for j in range(p.size):
        if p[j] != 0.0:
            factor = p[j]
            row = Q[j]
            for i in range(out.size):
                out[i] += factor * row[i]


@inner_kernel
def _bounds(D, delta, constant, k, p, qp, z):  # type: ignore[no-untyped-def]
    """B at p, and the relaxation at (p, z)."""
    m = p.size
    terms = np.empty(m)
    bound = constant
    relaxed = constant
    for j in range(m):
        r = delta[j] + qp[j]
        terms[j] = r * r / D[j]
        bound -= p[j] * qp[j]
        relaxed += p[j] * (2.0 * delta[j] + qp[j])
        if z[j] > 0.0:
            relaxed += D[j] * p[j] * p[j] / z[j]
    for term in np.partition(terms, m - k)[m - k :]:
        bound -= term
    return bound, relaxed


@kernel
def ascend(  # type: ignore[no-untyped-def]
    Q, D, delta, constant, k, start, target, tol, max_iterations
):
    """Minimise the perspective relaxation; return the p with the largest B met, and its z.

    Stops at ``target``, when relaxation and bound differ by ``tol`` of the bound, and
    when what is left to gain is next to nothing of what ``target`` would take.
    """
    m = start.size
    p = start.copy()
    y = start.copy()
    old = start.copy()
    new = np.empty(m)
    qp = np.empty(m)
    q_y = np.empty(m)
    q_old = np.empty(m)
    q_new = np.empty(m)
    slope = np.empty(m)
    offset = np.zeros(m)
    z = np.empty(m)
    _multiply(Q, p, qp)
    q_old[:] = qp
    curvature = 1e-300
    for j in range(m):
        curvature = max(curvature, Q[j, j])
        slope[j] = np.sqrt(D[j]) * abs(p[j])
    _spread_shares(slope, offset, k, z)
    best = -np.inf
    best_p = p.copy()
    best_z = z.copy()
    t = 1.0
    momentum = 0.0
    for iteration in range(max_iterations + 1):
        if iteration % _LOOK == 0 or iteration == max_iterations:
            bound, relaxed = _bounds(D, delta, constant, k, p, qp, z)
            if bound > best:
                best = bound
                best_p[:] = p
                best_z[:] = z
            enough = tol * max(abs(best), 1e-3)
            if target < np.inf:
                enough = max(enough, _HOPELESS * (target - relaxed))
            if best >= target or relaxed - best <= enough:
                break
        for j in range(m):
            y[j] = p[j] + momentum * (p[j] - old[j])
            q_y[j] = qp[j] + momentum * (qp[j] - q_old[j])
        old[:] = p
        q_old[:] = qp
        while True:
            # Proximal step: w_j = v_j z_j / (z_j + 2 s D_j), with v the gradient step
            # of length s.
            step = 0.5 / curvature
            for j in range(m):
                new[j] = y[j] - 2.0 * step * (delta[j] + q_y[j])
                slope[j] = np.sqrt(step * D[j]) * abs(new[j])
                offset[j] = 2.0 * step * D[j]
            _spread_shares(slope, offset, k, z)
            for j in range(m):
                new[j] *= z[j] / (z[j] + offset[j])
            _multiply(Q, new, q_new)
            bend = 0.0
            length = 0.0
            turn = 0.0
            for j in range(m):
                move = new[j] - y[j]
                bend += move * (q_new[j] - q_y[j])
                length += move * move
                turn -= move * (new[j] - p[j])
            if bend <= curvature * length * (1.0 + 1e-10):
                break
            curvature = max(1.3 * curvature, min(2.0 * curvature, 1.02 * bend / length))
        if turn > 0.0:  # momentum leads uphill: start it afresh
            t = 1.0
        t_new = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
        momentum = (t - 1.0) / t_new
        t = t_new
        p[:] = new
        qp[:] = q_new
    return best_p, best_z


@kernel
def enumerate_supports(P, delta, floor, gain, found, best_only):  # type: ignore[no-untyped-def]
    """Write all supports that lower 2 w·δ + wᵀPw by more than ``gain``, or only the best of them.

    Depth first, columns ascending: each choice is eliminated from those after it, and
    the last one needs only the diagonal of what is left.

    Parameters
    ----------
    P, delta : ndarrays of shape (m, m) and (m,)
    floor : ndarray of shape (m,)
        Supports with a column of which those before it leave no more than this are left
        out.
    gain : float
    found : int64 ndarray of shape (most, k)
        Takes the supports; the first row alone where the best is wanted.
    best_only : bool

    Returns
    -------
    count : int
        Supports found; one more than there is room for ends the enumeration.
    gain : float
        That of the best support, or as given.
    complete : bool
        Whether no support was left out.
    """
    m = delta.size
    k = found.shape[1]
    blocks = np.empty((k, m, m))
    vectors = np.empty((k, m))
    gains = np.zeros(k)
    blocks[0] = P
    vectors[0] = delta
    chosen = np.zeros(k, np.int64)
    count = 0
    complete = True
    depth = 0
    chosen[0] = -1
    while depth >= 0:
        chosen[depth] += 1
        j = chosen[depth]
        if j > m - k + depth:
            depth -= 1
            continue
        block = blocks[depth]
        vector = vectors[depth]
        pivot = block[j, j]
        if pivot <= floor[j]:
            complete = False
            continue
        factor = vector[j] / pivot
        before = gains[depth] + vector[j] * factor
        if depth < k - 2:
            below = blocks[depth + 1]
            row = block[j]
            for i in range(j + 1, m):
                share = row[i] / pivot
                vectors[depth + 1, i] = vector[i] - row[i] * factor
                for h in range(i, m):
                    below[i, h] = block[i, h] - share * row[h]
            depth += 1
            gains[depth] = before
            chosen[depth] = j
            continue
        row = block[j]
        alone = depth == k - 1  # alone: k = 1
        for i in range(j if alone else j + 1, j + 1 if alone else m):
            left = vector[i]
            q = pivot
            if not alone:
                left -= row[i] * factor
                q = block[i, i] - row[i] * row[i] / pivot
            base = 0.0 if alone else before
            if q <= floor[i]:
                complete = False
            elif (
                left * left > (gain - base) * q
            ):  # base + left²/q > gain, without dividing
                if best_only:
                    gain = base + left * left / q
                    count = 0
                if count == found.shape[0]:
                    return count + 1, gain, complete
                found[count] = chosen
                found[count, k - 1] = i
                count += 1
    return count, gain, complete


def prove(
    rows: Array,
    at: Indices,
    coef: Array,
    D: Array,
    delta: Array,
    constant: float,
    k: int,
) -> tuple[float, Array]:
    """B and t at the p with coefficients ``coef`` at ``at``, whose rows of Q are given.

    Every t is rounded up and B down by more than the computation can be wrong.
    """
    unit = (at.size + 4) * EPS
    qp = coef @ rows
    magnitude = np.abs(coef) @ np.abs(rows)
    r = np.abs(delta + qp) + unit * (np.abs(delta) + magnitude)
    terms: Array = r * r / D * (1.0 + 4.0 * EPS)
    quadratic = coef @ qp[at] + 2.0 * unit * (np.abs(coef) @ magnitude[at])
    largest = np.partition(terms, terms.size - k)[terms.size - k :].sum()
    error = (k + 8.0) * EPS * (1.0 + quadratic + largest)
    return float(constant - quadratic - largest - error), terms


def cholesky(matrix: Array) -> Array | None:
    """Lower factor of a matrix, which is overwritten; None if it is not positive definite."""
    try:
        factor: Array = scipy.linalg.cholesky(
            matrix, lower=True, overwrite_a=True, check_finite=False
        )
    except np.linalg.LinAlgError:
        return None
    return factor


def _reweigh(P: Array, relaxed: Relaxed, k: int, margin: Array) -> Array | None:
    """Find a D with more of it where z is fractional, proved to leave P − D ⪰ 0; None if none.

    With θ the k-th largest term, a column stays at z = 0 with the share t_j/θ of its
    D_j, and at z = 1 with the share θ/t_j. What these give up serves the others, F: P −
    D ⪰ 0 if and only if D_F ⪯ S, the Schur complement of the columns outside F. D_F is
    made proportional to the root of 1/(S⁻¹)_jj, the part of j that the others do not
    explain: spread evenly, one pair of dependent columns would leave nothing to all the
    rest.
    """
    terms = relaxed.terms
    z = relaxed.shares
    D = relaxed.diagonal.copy()
    between = (z > 0) & (z < 1)
    inside = np.flatnonzero(between)
    outside = np.flatnonzero(~between)
    if inside.size == 0:
        return None
    S = P[np.ix_(inside, inside)]
    S.flat[:: inside.size + 1] -= margin[inside]
    if outside.size:
        level = np.partition(terms, terms.size - k)[terms.size - k]
        ratio = terms[outside] / max(level, 1e-300)
        needed = _SLACK * np.minimum(ratio, 1.0 / np.maximum(ratio, 1e-300))
        D[outside] *= np.clip(needed, _LEAST, 1.0)
        rest = P[np.ix_(outside, outside)]
        rest.flat[:: outside.size + 1] -= D[outside] + margin[outside]
        factor = cholesky(rest)
        if factor is None:
            return None
        across = scipy.linalg.solve_triangular(
            factor, P[np.ix_(outside, inside)], lower=True, check_finite=False
        )
        S -= across.T @ across
    factor = cholesky(S.copy())
    if factor is None:
        return None
    inverse = scipy.linalg.solve_triangular(
        factor, np.eye(inside.size), lower=True, check_finite=False
    )
    weight = np.einsum("ij,ij->j", inverse, inverse) ** -0.5
    root = np.sqrt(weight)
    least = scipy.linalg.eigh(
        S / np.outer(root, root),
        eigvals_only=True,
        subset_by_index=[0, 0],
        check_finite=False,
    )[0]
    D[inside] = (1.0 - 1e-6) * least * weight
    # The last block of a Cholesky factorisation of P − D − margin, whose first is
    # above.
    S.flat[:: inside.size + 1] -= D[inside]
    return D if least > 0 and cholesky(S) is not None else None


def relax(
    P: Array,
    delta: Array,
    constant: float,
    k: int,
    *,
    start: Array,
    diagonal: Array,
    margin: Array,
    target: float,
    tol: float,
    max_iterations: int,
) -> Relaxed:
    """Bound c + 2 w·δ + wᵀPw from below over all w with at most k < m non-zeros.

    ``start`` is the first p, such as the minimiser of a similar problem, and
    ``diagonal`` the first D, known to leave P − D ⪰ 0. Rounding may do no more to P
    than to add or take away the diagonal ``margin``. A bound as large as ``target`` is
    enough, and one that falls short of the relaxation's minimum by a share ``tol``;
    each D is given ``max_iterations`` steps.
    """

    def with_diagonal(D: Array, start: Array) -> Relaxed:
        Q = P.copy()
        Q.flat[:: D.size + 1] -= D
        p, z = ascend(Q, D, delta, constant, k, start, target, tol, max_iterations)
        at = np.flatnonzero(p)
        return Relaxed(*prove(Q[at], at, p[at], D, delta, constant, k), p, z, D)

    best = with_diagonal(diagonal, start)
    for _ in range(_ROUNDS):
        improved = _reweigh(P, best, k, margin) if best.bound < target else None
        if improved is None:
            break
        other = with_diagonal(improved, best.point)
        missing = target - best.bound if target < np.inf else 0.1 * abs(best.bound)
        worthwhile = other.bound - best.bound > _WORTHWHILE * missing
        best = max(best, other, key=lambda relaxed: relaxed.bound)
        if not worthwhile:
            break
    return best
