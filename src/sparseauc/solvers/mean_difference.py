"""Mean difference: the k columns whose class means lie furthest apart, each judged on its own.

    z_j = (x̄₊ − x̄₋)_j / s_j,   s_j² = (S₊ + S₋)_jj / 2

    score(x) = Σ_j z_j x_j / s_j   over the k columns with the largest |z_j|

Use it first. It needs one look at each column, has nothing to tune but k, and on independent normal
columns nothing linear beats it: with S₊ + S₋ diagonal, z_j/s_j is the direction of the largest AUC,
and |z_j| orders the columns by the AUC each reaches alone, Φ(|z_j|/√2). What it cannot see is that
columns are correlated.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..moments import Moments
from ..moments._units import check_deviations
from ..projections import top_k
from ._epochs import SparseVector

Array = npt.NDArray[np.float64]

# Means this many deviations apart leave no overlap that any sample could show.
_SEPARATED = 1e3


def standardised_differences(moments: Moments) -> Array:
    """Difference of the class means in units of the deviation within classes, column by column.

    The variance within classes is the plain mean of the two class variances, however rare one class
    is: that is what the objective, S₊ + S₋, and the AUC of two normal classes know. An average
    weighted by rows would nearly be the variance of the common class.

    Parameters
    ----------
    moments : Moments
        Of the data, or a summary.

    Returns
    -------
    ndarray of shape (d,)
        Positive where the positives have the larger mean, 0 for a constant column, and at most
        1000 in magnitude: so a column that separates the classes without any deviation within them
        has a finite value, and no other column has a larger one.
    """
    check_deviations(moments)
    # x/0 is infinite and 0/0 a constant column.
    with np.errstate(all="ignore"):
        positive, negative = moments.variances
        deviation = np.sqrt((positive + negative) / 2)
        z = -moments.delta / deviation
    z[np.isnan(z)] = 0.0
    clipped: Array = np.clip(z, -_SEPARATED, _SEPARATED)
    return clipped


def mean_difference(moments: Moments, k: int) -> SparseVector:
    """Choose the k columns with the largest standardised difference of class means.

    Parameters
    ----------
    moments : Moments
        Of the data, or a summary: no columns of H are needed.
    k : int
        Largest number of columns. Among equal differences the smaller column number wins; columns
        whose class means agree, constant ones among them, are never chosen.

    Returns
    -------
    SparseVector
        The columns, ascending, and their coefficients (x̄₊ − x̄₋)_j / s_j². Where the means are more
        than 1000 deviations apart, s_j is a thousandth of their distance.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseauc.moments import class_moments
    >>> X = np.array([[0.0, 5.0, 1.0], [2.0, 7.0, 1.0], [4.0, 5.0, 1.0], [6.0, 8.0, 1.0]])
    >>> support, values = mean_difference(class_moments(X, [0, 0, 1, 1]), k=1)
    >>> print(support, values)  # 4 apart, and a variance of 1 within each class
    [0] [4.]
    """
    z = standardised_differences(moments)
    chosen = top_k(z, k)
    # The difference over s², with s = difference/z, which also holds where z was cut.
    return SparseVector(chosen, z[chosen] * (z[chosen] / -moments.delta[chosen]))
