"""Mean difference: the k columns whose class means lie furthest apart, each judged on its own.

    z_j = (x̄₊ − x̄₋)_j / s_j,   s_j² = (S₊ + S₋)_jj / 2

    score(x) = Σ_j z_j x_j / s_j   over the k columns with the largest |z_j|

It needs one look at each column and has nothing to tune but k. On independent normal
columns no linear score beats it: with S₊ + S₋ diagonal, z_j/s_j is the direction of the
largest AUC, and |z_j| orders the columns by the AUC each reaches alone, Φ(|z_j|/√2).
"""

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval

from ..moments import Moments
from ..moments.base import check_deviations
from ..solvers.sht_auc import hard_threshold
from ..utils.types import Array
from ._base import SparseLinearClassifier, checks_parameters, columns_to_keep, set_lines

# Means this many deviations apart leave no overlap that any sample could show.
_SEPARATED = 1e3


def standardised_differences(moments: Moments) -> Array:
    """Difference of the class means, column by column, in standard deviations within classes.

    The variance within classes is the mean of the two class variances, however rare a
    class is. A constant column has 0. Values are cut at ±1000, so that a column which
    is constant within each class, but with different means, has a finite value that no
    other column exceeds.
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


def mean_difference(moments: Moments, k: int) -> Array:
    """Choose the k columns with the largest standardised difference of class means.

    Parameters
    ----------
    moments : Moments
        Of the data, or a summary.
    k : int
        Largest number of columns. Among equal differences the smaller index wins;
        columns with equal class means, such as constant ones, are never chosen.

    Returns
    -------
    ndarray of shape (n_features,)
        The coefficients z_j/s_j of the columns chosen, 0 of the others.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseauc.moments import class_moments
    >>> X = np.array([[0.0, 5.0, 1.0], [2.0, 7.0, 1.0], [4.0, 5.0, 1.0], [6.0, 8.0, 1.0]])
    >>> print(mean_difference(class_moments(X, [0, 0, 1, 1]), k=1))
    [4. 0. 0.]

    The means are 4 apart, with a variance of 1 within each class.
    """
    z = hard_threshold(standardised_differences(moments), k)
    # The difference over s², with s = difference/z, which also holds where z was cut.
    coef = np.zeros_like(z)
    np.divide(z, -moments.delta, out=coef, where=z != 0)
    return z * coef


class MeanDifferenceClassifier(SparseLinearClassifier):
    """Rank with the k columns whose standardised class means differ most.

    With z_j = (x̄₊ − x̄₋)_j / s_j, where s_j² is the mean of the two class variances of
    column j,

        score(x) = Σ_j z_j x_j / s_j   over the k columns with the largest |z_j|.

    On independent normal columns no linear score has a larger AUC; on correlated
    columns a joint method such as :class:`SparseAUCClassifier` does better. The result
    does not depend on the scale of the columns.

    Parameters
    ----------
    k : int, default=10
        Largest number of columns. If X has fewer, all are kept, with a warning.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features_in_)
        Coefficients z_j/s_j, at most k of them non-zero.
    intercept_ : ndarray of shape (1,)
        Minus the score midway between the class means.
    classes_ : ndarray of shape (2,)
        The labels; ``classes_[1]`` is positive.
    standardised_differences_ : ndarray of shape (n_features_in_,)
        z_j of all columns.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X has string column names.

    Notes
    -----
    Both class variances weigh the same in s_j, as they do in the AUC. |z_j| is cut at
    1000, for columns that are constant within each class. Among equal |z_j| the smaller
    index wins. Columns with equal class means, such as constant ones, are never chosen,
    so the list may be shorter than k. Sample weights count as repetitions of rows.

    Examples
    --------
    >>> from sparseauc.datasets import make_outbreak
    >>> X, y = make_outbreak(n=2000, d=50, k=5, mu=1.0, r=0.1, random_state=0)
    >>> model = MeanDifferenceClassifier(k=5).fit(X, y)
    >>> model.transform(X).shape
    (2000, 5)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "k": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, k: int = 10) -> None:
        self.k = k

    @checks_parameters
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose columns and coefficients.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows. Dense arrays and CSR are not copied.
        y : array-like of shape (n,)
            Binary labels; the one that sorts last is positive.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.

        Returns
        -------
        self
        """
        X, outcome, _ = self._check_rows(X, y, sample_weight)
        moments = outcome.quadratic(X)
        coef = mean_difference(moments, columns_to_keep(self)).astype(X.dtype)
        self.standardised_differences_ = standardised_differences(moments)
        set_lines(self, coef, moments.centre)
        return self
