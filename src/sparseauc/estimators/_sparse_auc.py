"""SparseAUCClassifier: the best k columns for AUC."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..chunks import Chunks
from ..defaults import CALIBRATION_RIDGE
from ..errors import InputError
from ..limits import Limits
from ..moments import Moments
from ..outcome import Outcome
from ..solvers.logistic import logistic_regression
from ..strata import Weighting
from ._base import (
    SparseLinearClassifier,
    checks_parameters,
    effects_of,
    forget_fit,
    names_columns,
)
from ._lists import (
    LIST_CONSTRAINTS,
    certify_quadratic,
    certify_rows,
    check_limits,
    check_rows,
    fit_quadratic,
    fit_rows,
)


class SparseAUCClassifier(SparseLinearClassifier):
    """Rank positives above negatives with the best k columns.

    Minimises the squared pairwise loss of the AUC with a ridge,

        1/(n₊n₋) Σ_{i positive} Σ_{j negative} (1 − w·(x_i − x_j))² + alpha ‖w‖²

        subject to  ‖w‖₀ ≤ k,

    on standardised columns (X is not changed). For every number of columns up to k,
    columns are exchanged until no single exchange improves the loss. There are no step
    sizes, epochs or random numbers.

    Rows need not fit in memory: ``fit`` takes memory maps, tables opened by
    :func:`sparseauc.chunks.open_table` and Dask arrays and dataframes. ``fit_moments``
    takes class moments instead of rows; those of several tables are added.

    Parameters
    ----------
    k : int, default=10
        Number of columns. If X has fewer, all are kept, with a warning.
    alpha : float, default=1.0
        Ridge penalty on the standardised scale, where the diagonal of the loss is about
        2. It matters when rows are few. As it grows, the choice tends to the k largest
        differences of class means.
    curves : bool or array-like, default=False
        Whether columns count as curves, which bend once, between the 10 % and 90 %
        quantiles of the rows, or as lines; or the names or indices of those that do.
        Columns whose 10 %, 50 % and 90 % quantiles are not three numbers are lines.
    limits : Limits, optional
        Limits on the list: signs, costs and a budget, families, groups of columns,
        columns that must or must not be on it. See :class:`sparseauc.Limits`.
    device : str or None, default=None
        Torch device that computes moments: ``"cuda"``, ``"cuda:1"``, ``"cpu"``. Needs
        torch and a dense X; arrays larger than its memory are streamed. ``None`` needs
        no torch and leaves tensors on their device.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features_in_)
        Coefficients on the original scale, at most k of them non-zero.
    intercept_ : ndarray of shape (1,)
        Puts the threshold of 0 where a logistic regression on the score, with both
        classes of equal weight, gives a probability of one half. After ``fit_moments``,
        which has no rows: midway between the class means.
    classes_ : ndarray of shape (2,)
        The labels; ``classes_[1]`` is positive.
    objective_ : float
        F at ``coef_``, without the ridge.
    scale_ : ndarray of shape (n_features_in_,)
        Standard deviations used for scaling; ``coef_ * scale_`` are standardised
        coefficients.
    optimality_gap_ : float
        After ``certify``: relative gap between the loss (with ridge) and
        ``lower_bound_``; 0 if no list of k columns is better.
    lower_bound_ : float
        After ``certify``: the proven bound.
    certificate_status_ : str
        After ``certify``: "optimal" if no list is better by a millionth; "time_limit";
        "too_wide" if branch and bound would not fit in memory; "not_proven" if rounding
        errors leave the gap open, as with nearly equal columns and ``alpha=0``.
    cost_ : float
        With costs or a budget: total cost of the chosen columns.
    not_included_ : ndarray of int
        Columns of ``limits.always_include`` that are not on the list, because their
        coefficient can only be 0.
    moments_ : ClassMoments
        After ``fit_moments``; see :class:`sparseauc.ClassMoments`.
    n_strata_, stratum_weights_ : int, str
        If ``strata`` were given: the number of those with rows of both classes, and how
        they were weighted.
    n_passes_ : int
        Number of passes over the rows, if they were read in chunks.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X has string column names.

    See Also
    --------
    SparseAUCClassifierCV : Chooses k and the ridge by cross-validation.
    sparse_auc_path : The lists of all k.
    SHTAUCClassifier : The paper's stochastic algorithm.

    Examples
    --------
    >>> from sparseauc import SparseAUCClassifier
    >>> from sparseauc.datasets import make_outbreak
    >>> X, y = make_outbreak(n=2000, d=100, k=5, mu=1.0, random_state=0)
    >>> model = SparseAUCClassifier(k=5).fit(X, y)
    >>> model.transform(X).shape
    (2000, 5)
    """

    moments_: Moments

    _encodes_columns = True
    _reads_maps_in_chunks = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LIST_CONSTRAINTS,
        "device": [str, None],
    }

    def __init__(
        self,
        k: int = 10,
        alpha: float = 1.0,
        *,
        curves: bool | Any = False,
        limits: Limits | None = None,
        device: str | None = None,
    ) -> None:
        self.k = k
        self.alpha = alpha
        self.curves = curves
        self.limits = limits
        self.device = device

    @checks_parameters
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        strata: Any = None,
        stratum_weights: Weighting = "pairs",
    ) -> Self:
        """Choose columns and coefficients.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows. Dense arrays and CSR are neither copied nor scaled. Large memory maps,
            tables of :func:`sparseauc.chunks.open_table`, Arrow datasets and Dask
            collections are read in chunks.
        y : array-like of shape (n,)
            Binary labels; the one that sorts last is positive. Not needed for tables
            opened with their labels; of an Arrow dataset or a Dask dataframe the name
            of a column will do.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows; a pair of rows counts with the product of theirs.
        strata : array-like of shape (n,), optional
            Site, batch, donor or matched set of each row: only pairs of one stratum
            count, so that differences between strata neither help nor harm a column.
            Columns are then divided by their deviations within strata.
        stratum_weights : {"pairs", "equal"}, default="pairs"
            Weight of each stratum: its number of pairs, or the same for all.

        Returns
        -------
        self
        """
        X, outcome, _ = check_rows(self, X, y, sample_weight, strata, stratum_weights)
        fit_rows(self, X, outcome)
        _balance_threshold(self, X, outcome)
        if isinstance(X, Chunks):
            self.n_passes_ = X.n_passes
        return self

    @checks_parameters
    def fit_moments(
        self,
        moments: Moments,
        *,
        classes: Any = (0, 1),
        feature_names: Any = None,
    ) -> Self:
        """Choose columns and coefficients from class moments, without rows.

        Moments of several tables with the same columns are added: ``a + b``.

        Parameters
        ----------
        moments : ClassMoments
            As ``class_moments`` or ``ClassMoments.load`` gives; or those of several
            strata, as ``ClassMoments.of_strata([one, other])``, which are compared
            within only.
        classes : array-like of shape (2,), default=(0, 1)
            Labels of the negatives and of the positives.
        feature_names : array-like of str, optional
            Names of the columns.

        Returns
        -------
        self

        Examples
        --------
        >>> from sparseauc import SparseAUCClassifier, class_moments
        >>> from sparseauc.datasets import make_outbreak
        >>> X, y = make_outbreak(n=2000, d=100, k=5, mu=1.0, random_state=0)
        >>> one = class_moments(X[:800], y[:800])
        >>> other = class_moments(X[800:], y[800:])
        >>> model = SparseAUCClassifier(k=5).fit_moments(one + other, classes=(-1, 1))
        >>> int(model.get_support().sum())
        5
        """
        labels = np.asarray(classes)
        if labels.shape != (2,) or labels[0] == labels[1]:
            raise InputError(f"classes must be two different labels, got {classes!r}")
        moments.check_both_classes()
        names = (
            None if feature_names is None else np.asarray(feature_names, dtype=object)
        )
        if names is not None and names.shape != (moments.n_features,):
            raise InputError(
                f"the moments are of {moments.n_features} columns, feature_names has shape "
                f"{names.shape}"
            )
        forget_fit(self)
        self.classes_ = labels
        self.n_features_in_ = moments.n_features
        if names is not None:
            self.feature_names_in_ = names
        self.moments_ = moments
        if moments.shares.size > 1:
            self.n_strata_ = moments.shares.size
        limits = check_limits(self)
        fit_quadratic(self, moments, np.dtype(np.float64), limits)
        return self

    @names_columns
    def certify(
        self,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        strata: Any = None,
        *,
        time_limit: float = 10.0,
    ) -> Self:
        """Prove a lower bound on the loss over all lists of k columns.

        By a convex relaxation, then by branch and bound until the gap closes or the
        time limit is reached. Gaps close for tens of columns, or with a strong ridge.
        The bound holds for coefficients of any size and allows for rounding errors. It
        is that of lists within the limits. If a better list is met, the model takes it.

        Parameters
        ----------
        X, y, sample_weight, strata
            The rows of the fit, with their weights and strata. Not needed after
            ``fit_moments``.
        time_limit : float, default=10.0
            Seconds for branch and bound.

        Returns
        -------
        self
            With ``lower_bound_``, ``optimality_gap_`` and ``certificate_status_``.

        Examples
        --------
        >>> from sparseauc import SparseAUCClassifier
        >>> from sparseauc.datasets import make_outbreak
        >>> X, y = make_outbreak(n=500, d=20, k=5, mu=1.0, random_state=0)
        >>> model = SparseAUCClassifier(k=5).fit(X, y).certify(X, y)
        >>> model.certificate_status_
        'optimal'
        """
        check_is_fitted(self, "coef_")
        if X is not None:
            certify_rows(self, X, y, sample_weight, strata, time_limit)
        elif hasattr(self, "moments_"):
            certify_quadratic(self, self.moments_, time_limit)
        else:
            raise InputError("certify needs the rows of the fit: certify(X, y)")
        return self


def _balance_threshold(model: Any, X: Any, outcome: Outcome) -> None:
    """Put 0 where a logistic regression on the score, with balanced classes, gives one half."""
    coef = model.coef_[0]
    if not coef.any():
        return
    scores = effects_of(model, X)
    positive = outcome.positive
    share = np.ones(positive.size) if outcome.weight is None else outcome.weight.copy()
    for side in (positive, ~positive):
        share[side] /= share[side].sum()
    (slope,), intercept = logistic_regression(
        np.asarray(scores, np.float64)[:, None],
        positive,
        share,
        ridge=CALIBRATION_RIDGE,
    )
    if slope > 0:
        model.intercept_ = np.array([intercept / slope], dtype=coef.dtype)
