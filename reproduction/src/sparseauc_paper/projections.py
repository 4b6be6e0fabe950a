r"""The operator :math:`\mathcal H_k` of hard thresholding, and the projection on the L1 ball.

The library selects the k largest by the paper's Algorithm 2; here NumPy's selection
does as well.
"""

import numpy as np
import numpy.typing as npt

from .arrays import Array, kernel, reordering_kernel

# The least magnitude above zero.
_LEAST = 5e-324


@kernel
def top_k(vector, k, floor=0.0):  # type: ignore[no-untyped-def]
    """Find the k entries largest in magnitude: their indices, ascending.

    Of equal magnitudes the smaller index wins. Zeros are never chosen, so fewer than k
    may be found. ``floor`` is a magnitude that k entries are known to reach: no smaller
    one is looked at.
    """
    size = np.abs(vector)
    bar = max(floor, _LEAST)
    found = np.empty(size.size, np.int64)
    count = 0
    for j in range(size.size):
        # Written always and kept by counting: a branch here is mispredicted when many
        # pass.
        found[count] = j
        count += size[j] >= bar
    found = found[:count]
    surplus = count - k
    if surplus <= 0:
        return found
    large = size[found]
    least = np.inf if k == 0 else np.partition(large, surplus)[surplus]
    surplus -= (large < least).sum()
    for place in range(count - 1, -1, -1):
        tied = large[place] == least and surplus > 0
        surplus -= tied
        if tied or large[place] < least:
            found[place] = -1
    return found[found >= 0]


def hard_threshold(vector: npt.ArrayLike, k: int) -> Array:
    """Keep the k entries largest in magnitude and set the others to zero: the operator H_k.

    This is the nearest vector with at most k non-zeros. Of equal magnitudes the smaller
    index is kept; NaN and infinity are refused.

    Examples
    --------
    >>> hard_threshold([3.0, -4.0, 1.0, 4.0], 2)
    array([ 0., -4.,  0.,  4.])
    """
    v = np.asarray(vector, np.float64)
    if not np.isfinite(v).all():
        first = int(np.flatnonzero(~np.isfinite(v))[0])
        raise ValueError(f"vector has {v[first]} at index {first}; it must be finite")
    kept = top_k(v, k)
    result = np.zeros_like(v)
    result[kept] = v[kept]
    return result


@reordering_kernel
def sum_above(vector, level):  # type: ignore[no-untyped-def]
    """Sum and number of the magnitudes above ``level``."""
    total, count = 0.0, 0.0
    for j in range(vector.size):
        magnitude = abs(vector[j])
        total += magnitude if magnitude > level else 0.0
        count += 1.0 if magnitude > level else 0.0
    return total, count


@kernel
def l1_ball_threshold(vector, radius, guess):  # type: ignore[no-untyped-def]
    """Amount by which to soft-threshold a vector outside the L1 ball so that its norm is R.

    Newton's method on Σ max(|v_j| − λ, 0) = R, which is convex and piecewise linear:
    the first step from any guess lands at or below λ, and the next ones rise to it. It
    takes five to ten vectorised sweeps from zero, three to five from the threshold of a
    similar vector.
    """
    total, count = sum_above(vector, guess)
    if count == 0.0:
        total, count = sum_above(vector, 0.0)
    climbing = False
    while count > 0.0:
        guess = (total - radius) / count
        total, left = sum_above(vector, guess)
        # The entries above two levels are nested: as many are the same. On the climb,
        # more than before are rounding's.
        if left == count or (climbing and left > count):
            break
        climbing, count = True, left
    return max(guess, 0.0)
