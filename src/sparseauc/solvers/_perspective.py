"""A lower bound that holds for every support, whatever point it is computed at.

    minimise c + 2 w·δ + wᵀPw   subject to   supp(w) a union of at most k units

with P positive definite. A unit is a column, or several that are chosen together. Take
a diagonal D > 0, one number a unit, out of P so that Q = P − D is still positive
semidefinite. A convex function lies above its tangents: wᵀQw ≥ 2 w·Qp − pᵀQp for every
p. What remains is separable in the units, and minimising it over any k of them gives,
with t_g = Σ_{j in g} (δ + Qp)_j² / D_g,

    minimum ≥ B(p) = c − pᵀQp − (sum of the k largest t_g)

for every p and every such D.

No convergence is needed for the bound to be true, only for it to be tight. B is
concave, and its maximum is the minimum of the perspective relaxation

    c + 2 w·δ + wᵀQw + Σ D_g ‖w_g‖²/z_g,      0 ≤ z ≤ 1,  Σ z_g ≤ k,

in which D, larger where z is fractional, makes a fraction of a unit cost more than its
share. It is minimised by accelerated proximal gradients; the w of each iterate serves
as p. D is then improved once (`_reweigh`): units with z = 0 or 1 need less of it than
they have, those between can use it.

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
# A unit at z = 0 or 1 keeps this much more of D than holds it there now, as the others
# move…
_SLACK = 1.2
# …and never less than this share of what it has.
_LEAST = 0.02
# The bound is looked at every so many steps.
_LOOK = 10
# Share of the distance to the target that is not worth another step.
_HOPELESS = 0.005


class Relaxed(NamedTuple):
    """A bound and the point that proves it.

    ``bound + (k-th largest) − t_g`` holds for supports with a unit g that is not among
    the k largest terms, ``bound + t_g − (k + 1-st largest)`` for supports without one
    that is.
    """

    bound: float
    terms: Array  # t, of units
    point: Array  # p, of columns
    shares: Array  # z, of units
    diagonal: Array  # D, of units


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
def _add_squares(values, unit, sums):  # type: ignore[no-untyped-def]
    """Add up the squares of the values of each unit."""
    sums[:] = 0.0
    for j in range(values.size):
        sums[unit[j]] += values[j] * values[j]


@inner_kernel
def _bounds(unit, D, delta, constant, k, p, qp, z):  # type: ignore[no-untyped-def]
    """B at p, and the relaxation at (p, z)."""
    m = z.size
    terms = np.empty(m)
    squares = np.empty(m)
    _add_squares(delta + qp, unit, terms)
    _add_squares(p, unit, squares)
    bound = constant
    relaxed = constant
    for j in range(p.size):
        bound -= p[j] * qp[j]
        relaxed += p[j] * (2.0 * delta[j] + qp[j])
    for g in range(m):
        terms[g] /= D[g]
        if z[g] > 0.0:
            relaxed += D[g] * squares[g] / z[g]
    for term in np.partition(terms, m - k)[m - k :]:
        bound -= term
    return bound, relaxed


@kernel
def ascend(  # type: ignore[no-untyped-def]
    Q, unit, D, delta, constant, k, start, target, tol, max_iterations
):
    """Minimise the perspective relaxation; return the p with the largest B met, and its z.

    ``unit`` is that of each column. Stops at ``target``, and when relaxation and bound
    differ by ``tol`` of the bound, or by next to nothing of what ``target`` would take.
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
    slope = np.empty(D.size)
    offset = np.zeros(D.size)
    z = np.empty(D.size)
    _multiply(Q, p, qp)
    q_old[:] = qp
    curvature = 1e-300
    for j in range(m):
        curvature = max(curvature, Q[j, j])
    _add_squares(p, unit, slope)
    slope = np.sqrt(D * slope)
    _spread_shares(slope, offset, k, z)
    best = -np.inf
    best_p = p.copy()
    best_z = z.copy()
    t = 1.0
    momentum = 0.0
    for iteration in range(max_iterations + 1):
        if iteration % _LOOK == 0 or iteration == max_iterations:
            bound, relaxed = _bounds(unit, D, delta, constant, k, p, qp, z)
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
            # Proximal step: w_g = v_g z_g / (z_g + 2 s D_g), with v the gradient step
            # of length s.
            step = 0.5 / curvature
            for j in range(m):
                new[j] = y[j] - 2.0 * step * (delta[j] + q_y[j])
            _add_squares(new, unit, slope)
            for g in range(D.size):
                slope[g] = np.sqrt(step * D[g] * slope[g])
                offset[g] = 2.0 * step * D[g]
            _spread_shares(slope, offset, k, z)
            for j in range(m):
                new[j] *= z[unit[j]] / (z[unit[j]] + offset[unit[j]])
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


@inner_kernel
def _eliminate(P, delta, first, last, end, limits, floor, below, left):  # type: ignore[no-untyped-def]
    """Eliminate the columns of a unit from those after it; return the gain.

    −1 where no more than the floor is left of one of them. ``below`` and ``left`` take
    what is left of P and δ: up to the column ``end``, of each row what comes before its
    limit.
    """
    gain = 0.0
    for c in range(first, last):
        pivot = P[c, c]
        if pivot <= floor[c]:
            return -1.0
        row = P[c]
        factor = delta[c] / pivot
        gain += delta[c] * factor
        for i in range(c + 1, end):
            share = row[i] / pivot
            left[i] = delta[i] - row[i] * factor
            for h in range(i, end if i < last else limits[i]):
                below[i, h] = P[i, h] - share * row[h]
        P = below
        delta = left
    return gain


@kernel
def enumerate_supports(P, delta, sizes, floor, gain, found, best_only):  # type: ignore[no-untyped-def]
    """Write all supports that lower 2 w·δ + wᵀPw by more than ``gain``, or only the best of them.

    Depth first, units ascending: each choice is eliminated from those after it, and the
    last one needs only the units' own blocks of what is left.

    Parameters
    ----------
    P, delta : ndarrays of shape (m, m) and (m,)
    sizes : int64 ndarray of shape (n_units,)
        Columns of each unit, which follow each other.
    floor : ndarray of shape (m,)
        Supports with a column of which those before it leave no more than this are left
        out.
    gain : float
    found : int64 ndarray of shape (most, k)
        Takes the units of supports; the first row alone where the best is wanted.
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
    ends = np.cumsum(sizes)
    single = ends.size == m
    own_end = np.repeat(ends, sizes)
    last_end = np.full(m, m)
    # What the units chosen so far leave.
    blocks = np.empty((k, m, m))
    vectors = np.empty((k, m))
    gains = np.zeros(k)
    blocks[0] = P
    vectors[0] = delta
    chosen = np.full(k, -1)
    count = 0
    complete = True
    depth = 0
    while depth >= 0:
        chosen[depth] += 1
        unit = chosen[depth]
        if unit > ends.size - k + depth:
            depth -= 1
            continue
        block = blocks[depth]
        vector = vectors[depth]
        if single and depth == k - 2:  # as below, in a third of the time
            pivot = block[unit, unit]
            if pivot <= floor[unit]:
                complete = False
                continue
            row = block[unit]
            factor = vector[unit] / pivot
            before = gains[depth] + vector[unit] * factor
            for i in range(unit + 1, m):
                left = vector[i] - row[i] * factor
                pivot_left = block[i, i] - row[i] * row[i] / pivot
                if pivot_left <= floor[i]:
                    complete = False
                elif left * left > (gain - before) * pivot_left:
                    if best_only:
                        gain = before + left * left / pivot_left
                        count = 0
                    if count == found.shape[0]:
                        return count + 1, gain, complete
                    found[count] = chosen
                    found[count, k - 1] = i
                    count += 1
            continue
        final = depth == k - 1
        after = depth if final else depth + 1
        last = ends[unit]
        more = _eliminate(
            block,
            vector,
            last - sizes[unit],
            last,
            last if final else m,
            own_end if depth == k - 2 else last_end,
            floor,
            blocks[after],
            vectors[after],
        )
        if more < 0.0:
            complete = False
        elif not final:
            gains[after] = gains[depth] + more
            chosen[after] = unit
            depth = after
        elif gains[depth] + more > gain:
            if best_only:
                gain = gains[depth] + more
                count = 0
            if count == found.shape[0]:
                return count + 1, gain, complete
            found[count] = chosen
            count += 1
    return count, gain, complete


def prove(
    rows: Array,
    at: Indices,
    coef: Array,
    unit: Indices,
    D: Array,
    delta: Array,
    constant: float,
    k: int,
) -> tuple[float, Array]:
    """B and t at the p with coefficients ``coef`` at ``at``, whose rows of Q are given.

    Every t is rounded up and B down by more than the computation can be wrong.
    """
    error = (at.size + 4) * EPS
    qp = coef @ rows
    magnitude = np.abs(coef) @ np.abs(rows)
    r = np.abs(delta + qp) + error * (np.abs(delta) + magnitude)
    terms: Array = np.bincount(unit, r * r) / D
    terms *= 1.0 + (3.0 + np.bincount(unit).max()) * EPS
    quadratic = coef @ qp[at] + 2.0 * error * (np.abs(coef) @ magnitude[at])
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


def _reweigh(
    P: Array, relaxed: Relaxed, unit: Indices, k: int, margin: Array
) -> Array | None:
    """Find a D with more of it where z is fractional, proved to leave P − D ⪰ 0; None if none.

    With θ the k-th largest term, a unit stays at z = 0 with the share t_g/θ of its D_g,
    and at z = 1 with the share θ/t_g. What these give up serves the others, F: P − D ⪰
    0 if and only if D_F ⪯ S, the Schur complement of the columns outside F. D_F is made
    proportional to the root of 1/Σ_{j in g} (S⁻¹)_jj, the part of g that the others do
    not explain: spread evenly, one pair of dependent columns would leave nothing to all
    the rest.
    """
    terms = relaxed.terms
    z = relaxed.shares
    D = relaxed.diagonal.copy()
    between = (z > 0) & (z < 1)
    if not between.any():
        return None
    inside = np.flatnonzero(between[unit])
    outside = np.flatnonzero(~between[unit])
    S = shifted(P[np.ix_(inside, inside)], -margin[inside])
    if outside.size:
        level = np.partition(terms, terms.size - k)[terms.size - k]
        ratio = terms / max(level, 1e-300)
        needed = _SLACK * np.minimum(ratio, 1.0 / np.maximum(ratio, 1e-300))
        D = np.where(between, D, D * np.clip(needed, _LEAST, 1.0))
        taken = D[unit[outside]] + margin[outside]
        factor = cholesky(shifted(P[np.ix_(outside, outside)], -taken))
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
    explained = np.einsum("ij,ij->j", inverse, inverse)
    weight = np.bincount(unit[inside], explained, D.size)[unit[inside]] ** -0.5
    root = np.sqrt(weight)
    least = scipy.linalg.eigh(
        S / np.outer(root, root),
        eigvals_only=True,
        subset_by_index=[0, 0],
        check_finite=False,
    )[0]
    D[unit[inside]] = (1.0 - 1e-6) * least * weight
    # The last block of a Cholesky factorisation of P − D − margin, whose first is
    # above.
    proved = least > 0 and cholesky(shifted(S, -D[unit[inside]])) is not None
    return D if proved else None


def relax(
    P: Array,
    delta: Array,
    unit: Indices,
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
    """Bound c + 2 w·δ + wᵀPw from below over all w that use at most k units, which are more.

    ``unit`` is that of each column, from 0 on. ``start`` is the first p, such as the
    minimiser of a similar problem, and ``diagonal`` the first D, known to leave P − D ⪰
    0. Rounding may do no more to P than to add or take away the diagonal ``margin``. A
    bound as large as ``target`` is enough, and one that falls short of the relaxation's
    minimum by a share ``tol``; each D is given ``max_iterations`` steps.
    """

    def with_diagonal(D: Array, start: Array) -> Relaxed:
        Q = shifted(P, -D[unit])
        p, z = ascend(
            Q, unit, D, delta, constant, k, start, target, tol, max_iterations
        )
        at = np.flatnonzero(p)
        bound, terms = prove(Q[at], at, p[at], unit, D, delta, constant, k)
        return Relaxed(bound, terms, p, z, D)

    first = with_diagonal(diagonal, start)
    improved = _reweigh(P, first, unit, k, margin) if first.bound < target else None
    if improved is None:
        return first
    second = with_diagonal(improved, first.point)
    return max(first, second, key=lambda relaxed: relaxed.bound)


def shifted(matrix: Array, shift: Array | float) -> Array:
    """Copy of a matrix with ``shift`` added to its diagonal."""
    copy = matrix.copy()
    copy.ravel()[:: matrix.shape[0] + 1] += shift
    return copy
