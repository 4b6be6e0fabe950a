"""SparseAUCClassifier: the best k columns for AUC."""

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import _fit_context
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel

from ..chunks import Chunks, chunks_in_memory, mapped_chunks
from ..moments import ClassMoments, Moments, StratifiedMoments, class_moments
from ..moments.base import NotGathered, TableMoments
from ..moments.chunked import chunked_moments
from ..moments.gram import StandardisedGram
from ..objective import Indices, Mask
from ..path.cross_validation import find_paths
from ..path.limits import with_limits
from ..solvers.certificate import certify
from ..solvers.restrictions import Restrictions
from ..strata import Strata, Weighting
from ._base import SparseLinearClassifier, check_weights, names_columns
from ._points import give_points

# Columns that ``partial_fit`` takes at most: their products fill 256 MiB.
_MOST_COLUMNS = 4096
# What choosing columns sets.
_CHOSEN = (
    "coef_", "intercept_", "objective_", "scale_", "optimality_gap_", "lower_bound_",
    "certificate_status_", "cost_",
)  # fmt: skip
_NONE: Indices = np.empty(0, np.int64)


def _works_without_rows(estimator: Any) -> bool:
    """Whether an estimator needs nothing of the rows but their moments."""
    return not estimator._needs_rows


class SparseAUCClassifier(SparseLinearClassifier):
    """Rank positives above negatives with the best k columns.

    Minimises the squared pairwise loss of the AUC with a ridge,

        1/(n₊n₋) Σ_{i positive} Σ_{j negative} (1 − w·(x_i − x_j))² + alpha ‖w‖²,   ‖w‖₀ ≤ k,

    on standardised columns (X is not changed). For every number of columns up to k, columns are
    exchanged until no single exchange improves the loss. There are no step sizes, epochs or random
    numbers.

    Rows need not fit in memory: ``fit`` takes memory maps, tables opened by
    :func:`sparseauc.chunks.open_table` and Dask arrays and dataframes. ``partial_fit`` takes rows
    in parts, and ``fit_moments`` class moments instead of rows.

    Parameters
    ----------
    k : int, default=10
        Number of columns. If X has fewer, all are kept, with a warning.
    alpha : float, default=1.0
        Ridge penalty on the standardised scale, where the diagonal of the loss is about 2. It
        matters when rows are few. As it grows, the choice tends to the k largest differences of
        class means.
    always_include : array-like of column names or indices, optional
        Columns that must be on the list.
    exclude : array-like of column names or indices, optional
        Columns that must not be on the list.
    groups : array-like of shape (n_features_in_,), optional
        A label for each column. Columns with the same label, such as the levels of one category,
        are chosen together or not at all; k still counts columns.
    families : dict or array-like of shape (n_features_in_,), optional
        A label for each column, such as the gene of a probe; None or NaN for columns without a
        family. A dict, by column name or index, may leave columns out. At most
        ``max_per_family`` columns of a family are chosen.
    max_per_family : int, default=1
        Largest number of columns of a family.
    signs : dict or array-like of shape (n_features_in_,), optional
        1 for columns whose coefficient must not be negative, −1 for those whose coefficient must
        not be positive, 0 for any sign. A dict, by column name or index, may leave columns out. A
        column whose sign constraint sets its coefficient to 0 is not on the list, which may then be
        shorter than k. Cannot be combined with ``groups``.
    costs : dict or array-like of shape (n_features_in_,), optional
        Cost of each column, 0 or more; 1 by default. A dict, by column name or index, must name all
        columns.
    bundles : dict or array-like of shape (n_features_in_,), optional
        A label for each column; None or NaN for columns without one. Columns with the same label,
        such as the values of one blood test, are bought together: their cost is paid once,
        whichever of them are chosen. So is that of ``groups``.
    budget : float, optional
        Largest total cost of the chosen columns. There are still at most k of them.
    stratum_weights : {"pairs", "equal"}, default="pairs"
        Weight of each stratum passed to ``fit``: its number of pairs, or the same for all.
    points : int or (int, int), optional
        Whole points instead of coefficients, to be added up by hand: from minus this number to this
        number, or from the first to the second of two. A column gets its points for each standard
        deviation, rounded to one digit; one of 0 and 1 for a 1. Needs rows, a few columns of which
        must fit into memory. :func:`~sparseauc.selection.point_score` prints the page with the risk
        by total.
    certify : bool, default=False
        Prove a lower bound on the loss over all lists of k columns: by a convex relaxation, then by
        branch and bound until the gap closes or ``time_limit`` is reached. Gaps close for tens of
        columns, or with a strong ridge. The bound holds for coefficients of any size and allows for
        rounding errors. It is that of lists that obey families, signs and the budget.
    time_limit : float, default=10.0
        Seconds for branch and bound.
    device : str or None, default=None
        Torch device that computes moments: ``"cuda"``, ``"cuda:1"``, ``"cpu"``. Needs torch and a
        dense X; arrays larger than its memory are streamed. ``None`` needs no torch and leaves
        tensors on their device.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features_in_)
        Coefficients on the original scale, at most k of them non-zero.
    intercept_ : ndarray of shape (1,)
        Puts the threshold of 0 midway between the class means of the score, so that both classes
        count the same.
    classes_ : ndarray of shape (2,)
        The labels; ``classes_[1]`` is positive.
    objective_ : float
        F at ``coef_``, without the ridge.
    scale_ : ndarray of shape (n_features_in_,)
        Standard deviations used for scaling; ``coef_ * scale_`` are standardised coefficients.
    optimality_gap_ : float
        With ``certify``: relative gap between the loss (with ridge) and ``lower_bound_``; 0 if no
        list of k columns is better.
    lower_bound_ : float
        With ``certify``: the proven bound.
    certificate_status_ : str
        With ``certify``: "optimal" if no list is better by a millionth; "time_limit"; "too_wide" if
        branch and bound would not fit in memory; "not_proven" if rounding errors leave the gap
        open, as with nearly equal columns and ``alpha=0``.
    cost_ : float
        With ``costs`` or ``budget``: total cost of the chosen columns.
    points_, units_ : ndarrays of shape (n_features_in_,)
        With ``points``: whole numbers, and how much of a column they are for. The score is the
        total less the threshold of ``predict``.
    moments_ : ClassMoments
        After ``partial_fit`` and ``fit_moments``; see :class:`sparseauc.ClassMoments`.
    n_strata_ : int
        Number of strata with rows of both classes, if ``strata`` were given.
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

    _reads_chunks = True
    moments_: ClassMoments | StratifiedMoments

    # Whether more is done with rows than taking their moments.
    _needs_rows: ClassVar[bool] = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "k": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "always_include": ["array-like", None],
        "exclude": ["array-like", None],
        "groups": ["array-like", None],
        "families": ["array-like", dict, None],
        "max_per_family": [Interval(Integral, 1, None, closed="left")],
        "signs": ["array-like", dict, None],
        "costs": ["array-like", dict, None],
        "bundles": ["array-like", dict, None],
        "budget": [Interval(Real, 0, None, closed="left"), None],
        "stratum_weights": [StrOptions({"pairs", "equal"})],
        "points": [Interval(Integral, 1, None, closed="left"), "array-like", None],
        "certify": ["boolean"],
        "time_limit": [Interval(Real, 0, None, closed="left")],
        "device": [str, None],
    }

    def __init__(
        self,
        k: int = 10,
        alpha: float = 1.0,
        *,
        always_include: Any = None,
        exclude: Any = None,
        groups: Any = None,
        families: Any = None,
        max_per_family: int = 1,
        signs: Any = None,
        costs: Any = None,
        bundles: Any = None,
        budget: float | None = None,
        stratum_weights: Weighting = "pairs",
        points: Any = None,
        certify: bool = False,
        time_limit: float = 10.0,
        device: str | None = None,
    ) -> None:
        self.k = k
        self.alpha = alpha
        self.always_include = always_include
        self.exclude = exclude
        self.groups = groups
        self.families = families
        self.max_per_family = max_per_family
        self.signs = signs
        self.costs = costs
        self.bundles = bundles
        self.budget = budget
        self.stratum_weights = stratum_weights
        self.points = points
        self.certify = certify
        self.time_limit = time_limit
        self.device = device

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @names_columns
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, strata: Any = None) -> Self:
        """Choose columns and coefficients.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows. Dense arrays and CSR are neither copied nor scaled. Large memory maps, tables of
            :func:`sparseauc.chunks.open_table`, Arrow datasets and Dask collections are read in
            chunks.
        y : array-like of shape (n,)
            Binary labels; the one that sorts last is positive. Not needed for tables opened
            with their labels; of an Arrow dataset or a Dask dataframe the name of a column will do.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows; a pair of rows counts with the product of theirs.
        strata : array-like of shape (n,), optional
            Site, batch, donor or matched set of each row: only pairs of one stratum count, so that
            differences between strata neither help nor harm a column. Columns are then divided by
            their deviations within strata.

        Returns
        -------
        self
        """
        X, positive, weight = self._check_training_data(X, y, sample_weight)
        divided = self._check_strata(strata, X, positive, weight)
        k, restrictions = self._restrictions()
        if divided is not None:
            self.n_strata_ = len(divided)
        if isinstance(X, Chunks):
            moments = chunked_moments(X, positive, weight, divided, solver=True)
        else:
            # A proof needs double precision throughout.
            rows = X.astype(np.float64, copy=False) if self.certify else X
            moments = class_moments(rows, positive, weight, strata=divided)
        self._choose_list(moments, k, restrictions, X.dtype)
        self._give_points(moments, X, positive, weight, divided, restrictions)
        if isinstance(X, Chunks):
            self.n_passes_ = X.n_passes
        return self

    @available_if(_works_without_rows)  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Take in more rows; feeding a table in parts gives the same as fitting it whole.

        Class moments of the rows accumulate in ``moments_``, with all columns of H: two numbers for
        each pair of columns, whatever the number of rows. Columns are chosen when ``coef_`` is
        asked for, or anything that needs it. A later ``fit`` begins afresh.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            At most 4096 columns.
        y : array-like of shape (n,)
            Rows may be of one class.
        classes : array-like of shape (2,), optional
            Both labels; needed in the first call, if its rows are of one class.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self
        """
        first = "moments_" not in vars(self)
        X, positive = self._check_more_rows(X, y, classes, first=first)
        if X.shape[1] > _MOST_COLUMNS:
            raise ValueError(
                f"{X.shape[1]} columns are too many for partial_fit, which keeps a number for each "
                f"pair of columns ({_MOST_COLUMNS} at most): give all rows to fit, from a file "
                "with sparseauc.chunks.open_table if need be, or choose among fewer columns"
            )
        weight = None
        if sample_weight is not None:
            weight = check_weights(sample_weight, positive)
        part = class_moments(chunks_in_memory(X), positive, weight).summary(range(X.shape[1]))
        known = None if first else self.moments_
        if isinstance(known, StratifiedMoments):
            raise ValueError(
                "partial_fit adds rows to those of all strata together; these moments are within "
                "strata: add rows to the summary of their stratum, and use fit_moments"
            )
        gathered = part if known is None else known + part
        for name in (*_CHOSEN, "n_passes_", "n_strata_", "budget_", "points_", "units_"):
            self.__dict__.pop(name, None)
        self.moments_ = gathered
        return self

    @available_if(_works_without_rows)  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @names_columns
    def fit_moments(
        self,
        moments: ClassMoments | StratifiedMoments,
        *,
        classes: Any = (0, 1),
        feature_names: Any = None,
    ) -> Self:
        """Choose columns and coefficients from class moments, without rows.

        Moments of several tables with the same columns are added: ``a + b``. Columns of H that they
        do not carry are not chosen from.

        Parameters
        ----------
        moments : ClassMoments or StratifiedMoments
            As ``class_moments(X, y).summary(columns)`` gives, or ``ClassMoments.load``; or those of
            several strata, as ``StratifiedMoments([one, other])``, which are compared within only.
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
        >>> one = class_moments(X[:800], y[:800]).summary(range(100))
        >>> other = class_moments(X[800:], y[800:]).summary(range(100))
        >>> model = SparseAUCClassifier(k=5).fit_moments(one + other, classes=(-1, 1))
        >>> int(model.get_support().sum())
        5
        """
        labels = np.asarray(classes)
        if labels.shape != (2,) or labels[0] == labels[1]:
            raise ValueError(f"classes must be two different labels, got {classes!r}")
        moments.check_both_classes()
        names = None if feature_names is None else np.asarray(feature_names, dtype=object)
        if names is not None and names.shape != (moments.n_features,):
            raise ValueError(
                f"the moments are of {moments.n_features} columns, feature_names has shape "
                f"{names.shape}"
            )
        self._forget_fit()
        self.classes_ = labels
        self.n_features_in_ = moments.n_features
        if names is not None:
            self.feature_names_in_ = names
        self.moments_ = moments
        if isinstance(moments, StratifiedMoments):
            self.n_strata_ = moments.shares.size
        return self._solve_moments()

    def __getattr__(self, name: str) -> Any:
        """Choose columns when they are first asked for after ``partial_fit``."""
        fitted = vars(self)
        if name in _CHOSEN and "moments_" in fitted and "coef_" not in fitted:
            try:
                self._solve_moments()
            except ValueError as error:
                # With rows of one class so far there is nothing to choose by.
                raise NotFittedError(f"{type(self).__name__}: {error}") from error
            if name in fitted:
                return fitted[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _check_strata(self, strata: Any, X: Any, positive: Mask, weight: Any) -> Strata | None:
        """Strata of the rows, numbered; a caution where some count nothing."""
        if strata is None:
            return None
        if isinstance(X, Chunks):
            strata = X.labels(strata, "strata")
        return Strata.from_labels(strata, positive, weight, self.stratum_weights)

    def _solve_moments(self) -> Self:
        """Choose columns by ``moments_``."""
        moments = self.moments_
        if self.points is not None:
            raise ValueError(
                "points are found with the AUC of rows, and moments hold none: fit rows, or set "
                "points=None"
            )
        moments.check_both_classes()
        missing = np.setdiff1d(np.arange(moments.n_features), moments.column_index)
        k, restrictions = self._restrictions(missing)
        return self._choose_list(moments, k, restrictions, np.float64)

    def _give_points(
        self, moments: Moments, X: Any, positive: Any, weight: Any, strata: Strata | None,
        restrictions: Restrictions,
    ) -> None:  # fmt: skip
        """Put whole points in place of coefficients, if they are wanted."""
        if self.points is None:
            return
        chunks = X if isinstance(X, Chunks) else chunks_in_memory(X)
        rows = np.arange(positive.size) if weight is None else np.flatnonzero(weight)
        strata = None if strata is None else replace(strata, code=strata.code[rows])
        values = np.asarray(chunks.take(rows, np.flatnonzero(self.coef_[0])), np.float64)
        give_points(
            self, self.points, StandardisedGram(moments), self._chosen_alpha, restrictions, values,
            positive[rows], strata,
        )  # fmt: skip

    @property
    def _chosen_alpha(self) -> float:
        return float(getattr(self, "alpha_", getattr(self, "alpha", 0.0)))

    def _choose_list(
        self, moments: Moments, k: int, restrictions: Restrictions, dtype: Any
    ) -> Self:
        """Choose columns, and set what is fitted from moments alone."""
        ks, alphas = np.array([k]), np.array([float(self.alpha)])
        (path,) = find_paths(
            Parallel(), [moments], ks, alphas, restrictions,
            one_thread=not isinstance(moments, TableMoments),
        )  # fmt: skip
        if self.certify:
            try:
                proof = certify(
                    StandardisedGram(moments.carefully()), path.solutions[0][0], k,
                    float(self.alpha), restrictions=restrictions, time_limit=self.time_limit,
                )  # fmt: skip
            except NotGathered:
                raise ValueError(
                    "certify needs all columns of H, which are too many to be kept for rows that "
                    "are read in chunks: set certify=False, or choose among fewer columns"
                ) from None
            self.lower_bound_, self.optimality_gap_ = proof.lower_bound, proof.gap
            self.certificate_status_ = proof.status
            path = replace(path, solutions=[[proof.solution]])  # the best it met
        coef = path.coef(k, float(self.alpha)).astype(dtype, copy=False)
        self._set_cost(coef, restrictions)
        self._set_fitted(coef, *(mean.astype(dtype) for mean in moments.means))
        self.objective_ = moments.loss(coef)
        self.scale_ = path.scale
        return self

    def _set_cost(self, coef: npt.NDArray[Any], restrictions: Restrictions) -> None:
        """Say what a list costs; what must be in it is paid for, whatever its coefficient."""
        if restrictions.prices is not None:
            listed = np.union1d(np.flatnonzero(coef), restrictions.fixed)
            self.cost_ = restrictions.prices.total(listed)

    def _as_chunks(self, X: Any, y: Any = None, sample_weight: Any = None) -> Chunks | None:
        chunks = super()._as_chunks(X, y, sample_weight)
        return mapped_chunks(X) if chunks is None else chunks

    def _restrictions(self, missing: Indices = _NONE) -> tuple[int, Restrictions]:
        """Number of columns, and which must, may not and go together; ``missing`` may not."""
        fixed, excluded = self._named_columns("always_include"), self._named_columns("exclude")
        self._check_lists(fixed, excluded)
        for column in np.intersect1d(fixed, missing)[:1]:
            raise ValueError(
                f"always_include names column {column}, whose column of H the moments do not carry"
            )
        d = self.n_features_in_
        if np.union1d(excluded, missing).size == d:
            raise ValueError(
                "the moments carry no column of H to choose from: name some in "
                "class_moments(X, y).summary(columns)"
            )
        if missing.size and self.groups is not None:
            raise ValueError("groups need moments that carry all columns of H")
        if self.certify and self.groups is not None:
            raise ValueError("certify is about choices of single columns: leave groups out")
        budgets = None if self.budget is None else [self.budget]
        restrictions = self._obeyed(budgets, missing)
        most = restrictions.most_columns(d)
        # That money runs out is what a budget is for.
        k = self._columns_to_keep(self.k, most) if budgets is None else min(self.k, most)
        return k, restrictions

    def _list_restrictions(self) -> Restrictions:
        """What the list of this model obeys."""
        budget = getattr(self, "budget_", self.budget)
        return self._obeyed(None if budget is None else [budget])

    def _obeyed(self, budgets: Any, missing: Indices = _NONE) -> Restrictions:
        """What lists must obey, with budgets of the path; ``missing`` columns may not be chosen."""
        fixed, excluded = self._named_columns("always_include"), self._named_columns("exclude")
        given = Restrictions(fixed, np.union1d(excluded, missing), self._column_groups())
        return with_limits(
            given, self.n_features_in_, getattr(self, "feature_names_in_", None),
            families=self.families, max_per_family=self.max_per_family, signs=self.signs,
            costs=self.costs, bundles=self.bundles, budgets=budgets,
        )  # fmt: skip

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
