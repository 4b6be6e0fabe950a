r"""Projections and proximal steps: the k largest, the L1 ball, the L2 ball, soft thresholding.

``hard_threshold`` is the operator :math:`\mathcal H_k` of SHT-AUC. It selects in O(d) with the
algorithm of Floyd and Rivest (1975); the form printed in the paper has five errors (``ln(N)`` for
``ln(n)``, ``n − 1`` for ``n − i``, a reversed comparison, no exchange of the ends where the last
entry is the smaller, a position counted from 0), which are corrected here.
"""

import math

import numpy as np
import numpy.typing as npt

from .arrays import Floats, Indices
from .kernels import kernel, reordering_kernel

# Below this many entries a sample costs more than it saves (Floyd and Rivest's own constant).
_SAMPLE_ABOVE = 600


@kernel
def select_largest(values, k):  # type: ignore[no-untyped-def]
    """Partition ``values`` in place so that its k largest entries come first, the k-th at k − 1.

    Floyd and Rivest's SELECT, largest first. In a range of more than 600 entries, the pivot comes
    from the same problem on a sample of about n^(2/3) entries around position k, so that one pass
    usually suffices. The recursion on samples is an explicit stack; 16 levels suffice for any size.
    """
    target = k - 1
    left, right = 0, values.size - 1
    pending_left = np.empty(16, np.int64)
    pending_right = np.empty(16, np.int64)
    depth = 0
    sampled = False
    while True:
        while right > left:
            if right - left > _SAMPLE_ABOVE and not sampled:
                pending_left[depth] = left
                pending_right[depth] = right
                depth += 1
                n = right - left + 1
                i = target - left + 1
                z = math.log(n)
                s = 0.5 * math.exp(2.0 * z / 3.0)
                sd = 0.5 * math.sqrt(z * s * (n - s) / n) * (-1.0 if i < n / 2 else 1.0)
                left, right = (
                    max(left, int(target - i * s / n + sd)),
                    min(right, int(target + (n - i) * s / n + sd)),
                )
                continue
            sampled = False
            pivot = values[target]
            values[target] = values[left]
            values[left] = pivot
            if values[right] < pivot:
                values[left] = values[right]
                values[right] = pivot
            i, j = left, right
            while i < j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
                while values[i] > pivot:
                    i += 1
                while values[j] < pivot:
                    j -= 1
            if values[left] == pivot:
                values[left], values[j] = values[j], values[left]
            else:
                j += 1
                values[j], values[right] = values[right], values[j]
            if j <= target:
                left = j + 1
            if target <= j:
                right = j - 1
        if depth == 0:
            return
        depth -= 1
        left = pending_left[depth]
        right = pending_right[depth]
        sampled = True


@kernel
def _sampled_floor(vector, k, scratch):  # type: ignore[no-untyped-def]
    """Guess a magnitude that a little more than k entries reach; 0 when a sample cannot tell."""
    # The k-th largest entry has about the rank k·s/n in a sample of s = n^(2/3) entries; the guess
    # is three binomial standard deviations further down.
    n = vector.size
    s = int(math.exp(2.0 * math.log(n) / 3.0))
    mean = k * s / n
    rank = int(mean + 3.0 * math.sqrt(mean * (n - k) / n)) + 4
    if rank >= s:
        return 0.0
    for i in range(s):
        scratch[i] = abs(vector[i * (n // s)])
        if not scratch[i] < np.inf:
            return 0.0
    select_largest(scratch[:s], rank)
    return np.float64(scratch[rank - 1])


@kernel
def _gather_magnitudes(vector, floor, magnitudes):  # type: ignore[no-untyped-def]
    """Write the magnitudes from ``floor`` up; return how many, or −1 when one is not finite."""
    count = 0
    finite = True
    for j in range(vector.size):
        magnitude = abs(vector[j])
        # Written always and kept by counting: a branch here is mispredicted when many pass.
        magnitudes[count] = magnitude
        count += magnitude >= floor
        # Infinity and NaN fail this comparison.
        finite &= magnitude < np.inf
    return count if finite else -1


@kernel
def largest_magnitudes(vector, k, floor, magnitudes, support):  # type: ignore[no-untyped-def]
    """Write the indices of the k largest ``|vector|`` to ``support``, ascending; return how many.

    Among equal magnitudes the smaller index wins; zeros are never chosen, so fewer than k may come
    back. ``floor`` is a magnitude that at least k entries are known to reach (0 when nothing is
    known, and a sample guesses it): entries below it are skipped, so that the selection starts
    from few candidates. ``magnitudes`` is scratch space as long as ``vector``. Returns −1 when an
    entry is NaN or infinite.
    """
    guessed = floor == 0.0 and k < vector.size and vector.size > _SAMPLE_ABOVE
    if guessed:
        floor = _sampled_floor(vector, k, magnitudes)
    count = _gather_magnitudes(vector, floor, magnitudes)
    if guessed and 0 <= count < k:
        count = _gather_magnitudes(vector, 0.0, magnitudes)
    if count < 0:
        return -1
    k = min(k, count)
    if k == 0:
        return 0
    if k < count:
        select_largest(magnitudes[:count], k)
        threshold = magnitudes[k - 1]
    else:
        threshold = magnitudes[0]
        for i in range(count):
            threshold = min(threshold, magnitudes[i])
    # How many entries equal to the threshold are chosen; of zeros, none.
    ties = 0
    if threshold > 0:
        for i in range(k):
            ties += magnitudes[i] == threshold
    size = 0
    for j in range(vector.size):
        magnitude = abs(vector[j])
        if magnitude >= threshold:
            tied = magnitude == threshold
            support[size] = j
            size += not tied or ties > 0
            ties -= tied
            if size == k:
                break
    return size


def top_k(vector: npt.ArrayLike, k: int) -> Indices:
    """Indices of the k entries largest in magnitude, ascending.

    Parameters
    ----------
    vector : array-like of shape (d,)
        Finite numbers.
    k : int
        How many to keep; ``k >= d`` keeps every non-zero.

    Returns
    -------
    ndarray of int64
        At most k indices. Among equal magnitudes the smaller index wins. Zeros are never chosen.
    """
    v = _finite_vector(vector)
    if k < 0:
        raise ValueError(f"k must be 0 or more, got {k}")
    support = np.empty(min(k, v.size), np.int64)
    if support.size == 0:
        return support
    size = largest_magnitudes(v, support.size, 0.0, np.empty_like(v), support)
    return support[:size]


def hard_threshold(vector: npt.ArrayLike, k: int) -> Floats:
    """Keep the k entries largest in magnitude and set the others to zero: the operator H_k.

    This is the nearest vector with at most k non-zeros. Among equal magnitudes the smaller index is
    kept; NaN and infinity are refused.

    Examples
    --------
    >>> hard_threshold([3.0, -4.0, 1.0, 4.0], 2)
    array([ 0., -4.,  0.,  4.])
    """
    v = _finite_vector(vector)
    kept = top_k(v, k)
    result = np.zeros_like(v)
    result[kept] = v[kept]
    return result


def soft_threshold(vector: npt.ArrayLike, amount: float) -> Floats:
    """Shrink every entry towards zero by ``amount``: the proximal step of ``amount·‖·‖₁``.

    Examples
    --------
    >>> soft_threshold([3.0, -0.5, -2.0], 1.0)
    array([ 2.,  0., -1.])
    """
    v = _finite_vector(vector)
    if not amount >= 0:
        raise ValueError(f"amount must be 0 or more, got {amount}")
    # An amount beyond the range of float32 empties a float32 vector as the largest number does.
    limit = v.dtype.type(min(amount, float(np.finfo(v.dtype).max)))
    shrunk: Floats = v - np.clip(v, -limit, limit)
    return shrunk


def project_l2_ball(vector: npt.ArrayLike, radius: float) -> Floats:
    """Nearest point of the ball ``‖w‖₂ ≤ radius``."""
    v = _finite_vector(vector)
    _check_radius(radius)
    largest = np.max(np.abs(v), initial=0.0)
    if largest == 0:
        return v.copy()
    # In units of the largest entry, so that squares neither overflow nor vanish.
    unit = v / largest
    norm = float(np.linalg.norm(unit))
    return v.copy() if norm <= radius / float(largest) else unit * v.dtype.type(radius / norm)


@reordering_kernel
def _sum_above(vector, level):  # type: ignore[no-untyped-def]
    """Sum and number of the magnitudes above ``level``."""
    number = vector.dtype.type
    level = number(level)
    total, count = number(0), number(0)
    for j in range(vector.size):
        magnitude = abs(vector[j])
        total += magnitude if magnitude > level else number(0)
        count += number(1) if magnitude > level else number(0)
    return np.float64(total), np.float64(count)


@kernel
def l1_ball_threshold(vector, radius, guess):  # type: ignore[no-untyped-def]
    """Amount by which to soft-threshold a vector outside the L1 ball so that its norm is R.

    Newton's method on Σ max(|v_j| − λ, 0) = R, which is convex and piecewise linear: the first step
    from any guess lands at or below λ, and the next ones rise to it. It takes five to ten
    vectorised sweeps from zero, three to five from the threshold of a similar vector, and a tenth
    of the time of Condat's algorithm at d = 1000.
    """
    total, count = _sum_above(vector, guess)
    if count == 0.0:
        total, count = _sum_above(vector, 0.0)
    climbing = False
    while count > 0.0:
        guess = (total - radius) / count
        total, left = _sum_above(vector, guess)
        # The entries above two levels are nested: as many are the same. On the climb, more than
        # before are rounding's.
        if left == count or (climbing and left > count):
            break
        climbing, count = True, left
    return max(guess, 0.0)


def project_l1_ball(vector: npt.ArrayLike, radius: float) -> Floats:
    """Nearest point of the ball ``‖w‖₁ ≤ radius``.

    Examples
    --------
    >>> project_l1_ball([3.0, -1.0, 0.5], 2.0)
    array([2., 0., 0.])
    """
    v = _finite_vector(vector)
    _check_radius(radius)
    largest = float(np.max(np.abs(v), initial=0.0))
    if largest == 0:
        return v.copy()
    # In units of the largest entry, so that the sum stays in range.
    unit = v.astype(np.float64) / largest
    if np.abs(unit).sum() <= radius / largest:
        return v.copy()
    shrunk = soft_threshold(unit, l1_ball_threshold(unit, radius / largest, 0.0))
    return (shrunk * largest).astype(v.dtype, copy=False)


def _finite_vector(vector: npt.ArrayLike) -> Floats:
    v = np.asarray(vector)
    # Kernels know these two, in the machine's byte order; other real numbers are converted.
    if v.dtype not in (np.float32, np.float64):
        if v.dtype.kind not in "fiub":
            raise ValueError(f"vector must hold real numbers, got dtype {v.dtype}")
        v = v.astype(np.float64)
    if v.ndim != 1:
        raise ValueError(f"vector must have one dimension, got shape {v.shape}")
    # The extremes are NaN or infinite if any entry is; |v| itself need not be made.
    if v.size and not (math.isfinite(v.min()) and math.isfinite(v.max())):
        first = int(np.flatnonzero(~np.isfinite(v))[0])
        raise ValueError(f"vector has {v[first]} at index {first}; it must be finite")
    return v


def _check_radius(radius: float) -> None:
    if not (radius >= 0 and math.isfinite(radius)):
        raise ValueError(f"radius must be a finite number of 0 or more, got {radius}")
