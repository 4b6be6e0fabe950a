"""One list of columns that tells several classes apart, column by column.

Two classes a and b whose means differ by d on a list have the squared distance V = dᵀΣ⁻¹d, with
the covariance within classes, Σ, drawn towards the identity by the ridge. The squared loss of
ranking one above the other is 1/(1 + V/2): what two classes have gained counts less the further
they are apart already, so that columns go to the classes that are hard to tell apart.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._jit import kernel
from ..moments.many_classes import ManyClasses
from .exchange import dependence_tolerance
from .restrictions import Restrictions

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

# A difference of means counts by what its square exceeds this many squared standard errors.
_ERRORS = 4.0
# Columns of each class whose products are gathered at once, for each place it has.
_AHEAD = 2


def shared_list(classes: ManyClasses, k: int, alpha: float, restrictions: Restrictions) -> Indices:
    """Add the column that lowers the mean loss of all pairs of classes most, k times.

    Half the weight is on all pairs alike, as in balanced accuracy, and half on each as it counts in
    the mean of the classes' AUCs against all others.

    Parameters
    ----------
    classes : ManyClasses
    k : int
        Length of the list, fixed columns counted.
    alpha : float
        Ridge above 0, on the standardised scale.
    restrictions : Restrictions
        Columns in every list, and in none.

    Returns
    -------
    ndarray of int64
        Columns in the order in which they joined, fixed ones first. So the first m of them are the
        list of m columns. Fewer than k where no other column differs between classes.
    """
    d, n_classes = classes.n_features, classes.weights.size
    fixed, excluded = restrictions.masks(d)
    usable = ~(fixed | excluded)
    # The ridge draws the covariance towards the identity: (S + αI) / (1 + α).
    left = (classes.variances + alpha) / (1.0 + alpha)
    floor = dependence_tolerance(float(np.finfo(np.float64).eps)) * left
    noise = classes.variances / left
    error = _ERRORS * np.add.outer(1.0 / classes.weights, 1.0 / classes.weights)
    gaps = np.ascontiguousarray(classes.means.T)
    distances = np.zeros((n_classes, n_classes))
    factors = np.zeros((0, d))
    shares = classes.weights / classes.weights.sum()
    weights = _pair_weights(shares)
    alone = (classes.means - shares @ classes.means) ** 2 / left
    ahead = np.argsort(-alone, axis=1, kind="stable")[:, : _AHEAD * (1 + k // n_classes)]
    classes.gather(np.union1d(ahead, restrictions.fixed))
    chosen: list[int] = []

    def add(column: int) -> None:
        """Take what the column explains off the others (a row of Cholesky's factor)."""
        nonlocal factors
        usable[column] = False
        chosen.append(column)
        row = classes.covariances(column) / (1.0 + alpha)
        row[column] += alpha / (1.0 + alpha)
        row -= factors[:, column] @ factors
        row /= np.sqrt(left[column])
        on_column = gaps[column] / np.sqrt(left[column])
        distances[...] += np.subtract.outer(on_column, on_column) ** 2
        gaps[...] -= np.outer(row, on_column)
        # Columns of which nothing but rounding is left are dependent on the list.
        usable[left - row**2 <= floor] = False
        left[...] = np.maximum(left - row**2, floor)
        factors = np.concatenate([factors, row[None]])

    for column in restrictions.fixed.tolist():
        add(column)
    while len(chosen) < k:
        gains = usable * _gains(distances, gaps, left, noise, error, weights)
        if not gains.any():
            # Nothing stands out of the noise.
            gains = usable * _gains(distances, gaps, left, noise, 0.0 * error, weights)
        if not gains.any():
            break
        add(int(np.argmax(gains)))
    return np.array(chosen, np.int64)


def _pair_weights(shares: Array) -> Array:
    """What pairs of classes count, 1 in all, each pair twice."""
    n_classes = shares.size
    among_rest = shares / (1.0 - shares)[:, None]
    weights: Array = (among_rest + 1.0 / (n_classes - 1)) / (2 * n_classes)
    np.fill_diagonal(weights, 0.0)
    return weights


@kernel
def _gains(distances, gaps, left, noise, deducted, weights):  # type: ignore[no-untyped-def]
    """By what each column would lower the mean loss of the pairs of classes."""
    d, n_classes = gaps.shape
    gains = np.zeros(d)
    for j in range(d):
        for a in range(n_classes):
            for b in range(n_classes):
                gap = gaps[j, a] - gaps[j, b]
                more = gap * gap / left[j] - deducted[a, b] * noise[j]
                if more > 0.0:
                    now = 1.0 + distances[a, b] / 2.0
                    gains[j] += weights[a, b] * (1.0 / now - 1.0 / (now + more / 2.0))
    return gains
