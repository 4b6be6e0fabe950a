"""The minimiser of F on given columns, in closed form."""

import numpy as np
import numpy.typing as npt
import scipy.linalg

from ..errors import InputError
from ..moments import Moments
from ..utils.types import Array


def minimise_on_support(
    moments: Moments, support: npt.ArrayLike, alpha: float = 0.0
) -> tuple[Array, float]:
    """Minimise F(w) + alpha‖w‖² over the w that vanish outside ``support``, in closed form.

    On the support A the minimiser solves (H_AA + alpha I) w_A = −δ_A, and the value there is
    1 + δ_A·w_A.

    Parameters
    ----------
    moments : Moments
        Of the data, or a summary that carries the columns of the support.
    support : array-like of int
        Columns that may be non-zero.
    alpha : float, default=0.0
        Ridge.

    Returns
    -------
    w : ndarray of shape (len(support),)
        The coefficients, in the order of ``support``. When columns are linearly dependent and
        ``alpha`` is 0, the minimisers are many; the one returned has the least norm in units of
        the columns' deviations.
    value : float
        F(w) + alpha‖w‖² at the minimiser.
    """
    if not 0 <= alpha < np.inf:
        raise InputError(f"alpha must be 0 or more and finite, got {alpha}")
    if np.size(support) == 0:
        return np.empty(0), 1.0
    columns = moments.columns(support)  # which refuses anything but column numbers
    index = np.asarray(support, np.int64)
    if np.unique(index).size != index.size:
        raise InputError("support names a column twice")
    h = columns[index]
    h.flat[:: index.size + 1] += alpha
    delta = moments.delta[index]
    # Columns may live on scales 1e12 apart: solve in units where the diagonal is one.
    # Rounding can leave less than nothing of a constant column.
    unit = np.sqrt(np.maximum(h.diagonal(), 0.0))
    unit[unit == 0] = 1.0
    correlation = h / np.outer(unit, unit)
    try:
        factor = scipy.linalg.cho_factor(correlation, lower=True, check_finite=False)
        if factor[0].diagonal().min() < 1e-7:
            raise np.linalg.LinAlgError
        w = -scipy.linalg.cho_solve(factor, delta / unit, check_finite=False) / unit
    except np.linalg.LinAlgError:
        # Not by way of a pseudo-inverse: forming one costs the digits of the condition number.
        w = -scipy.linalg.lstsq(correlation, delta / unit, cond=1e-12)[0] / unit
    return w, float(1.0 + 2.0 * delta @ w + w @ h @ w)
