"""One list of columns for several classes, as a scikit-learn classifier."""

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .._validation import check_classes, check_each_class_weighs, check_weights
from ..chunks import Chunks, TableInMemory
from ..errors import InputError
from ..limits import Limits
from ..moments.many_classes import ManyClasses
from ..solvers.shared import shared_list
from ..utils.types import Array, Floats, Indices, Mask
from ._base import SparseLinearClassifier, checks_parameters


class SharedListClassifier(SparseLinearClassifier):
    """One list of k columns for all classes, such as one gene panel for all cell types.

    The list is the one with the least pairwise squared loss, in a mean over pairs of classes, as
    far as exchanges of columns lead; half of the weight is on all pairs alike, half on each as it
    counts in the mean of the classes' AUCs against all others. Pairs that are well apart count
    little. It is found from
    the means and variances of the classes and the correlations within them. The classifier on the
    list is a multinomial logistic regression in which all classes weigh the same.

    Parameters
    ----------
    k : int, default=10
        Length of the list.
    alpha : float, default=5.0
        Ridge on the standardised scale. The larger, the less it counts that columns are correlated.
    limits : Limits, optional
        With ``always_include``, a panel to be extended, whose columns count in k, and ``exclude``.
        A list of several classes keeps to no other limits.

    Attributes
    ----------
    support_ : ndarray of int64
        Columns of the list, ascending; fewer than k where no other column differs between classes.
    order_ : ndarray of int64
        The same, those always included first; each next column adds most to those before
        it. The list of fewer columns may have others: fit it with a smaller k.
    coef_ : ndarray of shape (n_classes, d), or (1, d) for two classes
    intercept_ : ndarray of shape (n_classes,) or (1,)
    classes_ : ndarray of shape (n_classes,)
    n_features_in_, feature_names_in_
        As of any scikit-learn estimator.

    See Also
    --------
    SparseAUCClassifier : The best list for two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sparseauc import SharedListClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SharedListClassifier(k=12).fit(X, y)
    >>> model.support_.size
    12
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "k": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "limits": [Limits, None],
    }
    _reads_chunks = True

    def __init__(self, k: int = 10, alpha: float = 5.0, *, limits: Limits | None = None) -> None:
        self.k = k
        self.alpha = alpha
        self.limits = limits

    @checks_parameters()
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the list, and fit the classifier on it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows; or a table that is read in chunks.
        y : array-like of shape (n,)
            Labels of two classes or more.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows within their classes; classes weigh the same all the same.

        Returns
        -------
        self
        """
        X, numbers, weight = self._check_training_data(X, y, sample_weight)
        label = np.asarray(numbers, np.int64)
        chunks = X if isinstance(X, Chunks) else TableInMemory(X)
        d = self.n_features_in_
        limits = Limits() if self.limits is None else self.limits
        limits.check_only("always_include", "exclude", by="SharedListClassifier")
        restrictions = limits.restrict(d, getattr(self, "feature_names_in_", None))
        if restrictions.fixed.size > self.k:
            raise InputError(
                f"always_include names {restrictions.fixed.size} columns, more than k={self.k}"
            )
        k = self._columns_to_keep(self.k, d - restrictions.excluded.size)
        classes = ManyClasses(chunks, label, self.classes_.size, weight)
        self.order_ = shared_list(classes, k, float(self.alpha), restrictions)
        self.support_ = np.sort(self.order_)
        values = chunks.take(np.arange(label.size), self.support_)
        coef, self.intercept_ = _fit_logistic(values, label, weight)
        self.coef_ = np.zeros((coef.shape[0], d))
        self.coef_[:, self.support_] = coef
        return self

    def decision_function(self, X: Any) -> Floats:
        """Score rows for every class, of shape (n, n_classes), or (n,) for two classes."""
        check_is_fitted(self, "coef_")
        chunks = self._as_chunks(X)
        if chunks is None:
            (X,) = self._check_table(X, reset=False)
            values = X[:, self.support_]
        else:
            self._check_chunk_columns(chunks)
            values = chunks.take(np.arange(chunks.shape[0]), self.support_)
        scores: Floats = values @ self.coef_[:, self.support_].T + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes, of shape (n, n_classes), as if all were as common."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            positive = expit(scores)
            return np.column_stack([1.0 - positive, positive])
        probabilities: Floats = softmax(scores, axis=1)
        return probabilities

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the class of the largest score."""
        largest = np.argmax(self.predict_proba(X), axis=1)
        labels: npt.NDArray[Any] = self.classes_[largest]
        return labels

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self, "support_")
        mask = np.zeros(self.n_features_in_, np.bool_)
        mask[self.support_] = True
        return mask

    def _short_list(self) -> str:
        """Coefficients of many classes are no table for a notebook."""
        return ""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags

    def _check_labels(self, y: npt.NDArray[Any], sample_weight: Any) -> tuple[Any, Array | None]:
        """Set ``classes_``; return the number of each row's class, −1 without weight."""
        check_classification_targets(y)
        self.classes_ = check_classes(y, binary=False)
        weight = None if sample_weight is None else check_weights(sample_weight, y.size)
        counted = np.ones(y.size, np.bool_) if weight is None else weight > 0
        if weight is not None:
            check_each_class_weighs(weight, y, self.classes_)
        label = np.searchsorted(self.classes_, y).astype(np.int64)
        return np.where(counted, label, -1), weight


def _fit_logistic(values: Array, label: Indices, weight: Array | None) -> tuple[Array, Array]:
    """Coefficients and intercepts of a logistic regression; classes weigh the same."""
    rows = label >= 0
    X, y = values[rows], label[rows]
    given = np.ones(y.size) if weight is None else weight[rows]
    totals = np.bincount(y, given)
    share = given / totals[y] / totals.size
    mean = share @ X
    scale = np.sqrt(share @ (X - mean) ** 2)
    scale[scale == 0] = 1.0
    model = LogisticRegression(max_iter=1000)
    model.fit((X - mean) / scale, y, share * given.sum())
    coef = model.coef_ / scale
    return coef, model.intercept_ - coef @ mean
