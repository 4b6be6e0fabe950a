"""SparseAUCClassifier: the best k columns for AUC."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from ..moments import Moments, class_moments
from ..moments.gram import StandardisedGram
from ..objective import AUCObjective
from ..selection._path import SparseAUCPath, path_of_moments
from ..solvers.certificate import certify
from ._base import SparseLinearClassifier

Indices = npt.NDArray[np.int64]


class SparseAUCClassifier(SparseLinearClassifier):
    """Rank positives above negatives with the best k columns.

    Minimises the squared pairwise loss of the AUC with a ridge,

        1/(n₊n₋) Σ_{i positive} Σ_{j negative} (1 − w·(x_i − x_j))² + alpha ‖w‖²,   ‖w‖₀ ≤ k,

    with columns divided by their deviations (without touching X). Columns are exchanged until no
    single exchange improves the loss, along all numbers of columns up to k; no step size, no
    epochs, no random numbers. Use it unless the rows do not fit in memory.

    Parameters
    ----------
    k : int, default=10
        Number of columns. More than there are keeps all, with a warning.
    alpha : float, default=1.0
        Ridge on the standardised scale, where the diagonal of the loss is about 2. Shrinkage
        matters when rows are few; as it grows, the choice tends to the k largest differences of
        class means.
    always_include : array-like of column names or numbers, optional
        Columns that must be among the k.
    exclude : array-like of column names or numbers, optional
        Columns that must not.
    groups : array-like of shape (n_features_in_,), optional
        A label for each column. Columns of one label are chosen together or not at all, as those
        that encode one category; k still counts columns.
    certify : bool, default=False
        Prove how far from the best k columns the choice can be at most: a lower bound on the loss
        over all choices, from a convex relaxation, then branch and bound until the gap closes or
        ``time_limit`` is over. Gaps close for tens of columns, or with a strong ridge.
    time_limit : float, default=10.0
        Seconds for branch and bound.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features_in_)
        Coefficients on the original scale, at most k of them non-zero.
    intercept_ : ndarray of shape (1,)
        Minus the score midway between the class means, so that each class weighs the same in the
        threshold however rare it is. For probabilities use ``CalibratedClassifierCV``.
    classes_ : ndarray of shape (2,)
        The labels; ``classes_[1]`` is positive.
    objective_ : float
        F at ``coef_``, without the ridge.
    scale_ : ndarray of shape (n_features_in_,)
        The deviations columns were divided by; ``coef_ * scale_`` compares columns.
    optimality_gap_ : float
        Only with ``certify``: the loss with ridge is proven to be at most this share above the
        least over all choices of k columns; 0 when none is better.
    lower_bound_ : float
        Only with ``certify``: the proven bound itself.
    certificate_status_ : str
        Only with ``certify``: "optimal", "time_limit", or "too_wide" where branch and bound would
        not fit in memory.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X has string column names.

    See Also
    --------
    sparse_auc_path : All k in one go.
    SHTAUCClassifier : The paper's algorithm, by row blocks.

    Examples
    --------
    >>> from sparseauc import SparseAUCClassifier
    >>> from sparseauc.datasets import make_outbreak
    >>> X, y = make_outbreak(n=2000, d=100, k=5, mu=1.0, random_state=0)
    >>> model = SparseAUCClassifier(k=5).fit(X, y)
    >>> model.transform(X).shape
    (2000, 5)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "k": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "always_include": ["array-like", None],
        "exclude": ["array-like", None],
        "groups": ["array-like", None],
        "certify": ["boolean"],
        "time_limit": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        k: int = 10,
        alpha: float = 1.0,
        *,
        always_include: Any = None,
        exclude: Any = None,
        groups: Any = None,
        certify: bool = False,
        time_limit: float = 10.0,
    ) -> None:
        self.k = k
        self.alpha = alpha
        self.always_include = always_include
        self.exclude = exclude
        self.groups = groups
        self.certify = certify
        self.time_limit = time_limit

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose columns and coefficients.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows. Dense arrays and CSR are neither copied nor scaled.
        y : array-like of shape (n,)
            Two kinds of labels; the one that sorts last is positive.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows; a pair of rows counts with the product of theirs.

        Returns
        -------
        self
        """
        X, positive, weight = self._check_training_data(X, y, sample_weight)
        fixed = self._named_columns("always_include")
        excluded = self._named_columns("exclude")
        for column in np.intersect1d(fixed, excluded)[:1]:
            raise ValueError(f"column {column} is in both always_include and exclude")
        if fixed.size > self.k:
            raise ValueError(f"always_include names {fixed.size} columns, more than k={self.k}")
        if excluded.size == X.shape[1]:
            raise ValueError("exclude names every column: none is left to choose")
        k = self._columns_to_keep(self.k, X.shape[1] - excluded.size)
        labels = self._column_groups()
        # A proof needs double precision throughout.
        rows = X.astype(np.float64, copy=False) if self.certify else X
        moments = class_moments(rows, positive, weight)
        path = path_of_moments(
            moments,
            np.array([k]),
            np.array([float(self.alpha)]),
            fixed=fixed,
            excluded=excluded,
            labels=labels,
        )
        if self.certify:
            if labels is not None:
                raise ValueError("certify is about choices of single columns: leave groups out")
            path = self._certified(path, moments, k, fixed, excluded)
        coef = path.coef(k, float(self.alpha)).astype(X.dtype, copy=False)
        objective = AUCObjective(X, positive, weight)
        self.objective_ = objective.value(coef)
        self.scale_ = path.scale
        return self._set_fitted(coef, objective.mean_positive, objective.mean_negative)

    def _certified(
        self, path: SparseAUCPath, moments: Moments, k: int, fixed: Indices, excluded: Indices
    ) -> SparseAUCPath:
        """Set the certificate's attributes; return the path with the best solution it met."""
        certificate = certify(
            StandardisedGram(moments, capacity=2 * k + 16),
            path.solutions[0][0],
            k,
            float(self.alpha),
            fixed=fixed,
            excluded=excluded,
            time_limit=self.time_limit,
        )
        self.lower_bound_ = certificate.lower_bound
        self.optimality_gap_ = certificate.gap
        self.certificate_status_ = certificate.status
        return replace(path, solutions=[[certificate.solution]])

    def _column_groups(self) -> Indices | None:
        """Group of each column as a number from 0, or None."""
        if self.groups is None:
            return None
        groups = np.asarray(self.groups)
        if groups.shape != (self.n_features_in_,):
            raise ValueError(
                f"groups must label each of the {self.n_features_in_} columns, "
                f"got shape {groups.shape}"
            )
        labels: Indices = np.unique(groups, return_inverse=True)[1].astype(np.int64)
        return labels

    def _named_columns(self, parameter: str) -> Indices:
        """Column numbers for a parameter that names columns."""
        given = getattr(self, parameter)
        columns = np.asarray([] if given is None else list(given))
        if columns.size == 0:
            return np.empty(0, np.int64)
        if columns.dtype.kind in "iu":
            for column in columns[(columns < 0) | (columns >= self.n_features_in_)][:1]:
                raise ValueError(
                    f"{parameter} names column {column}; there are {self.n_features_in_}"
                )
            return np.unique(columns).astype(np.int64)
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            raise ValueError(f"{parameter} holds names, but X has no column names: give numbers")
        place = {name: j for j, name in enumerate(names)}
        for name in columns.tolist():
            if name not in place:
                raise ValueError(f"{parameter} names {name!r}, which is no column of X")
        return np.unique([place[name] for name in columns.tolist()]).astype(np.int64)
