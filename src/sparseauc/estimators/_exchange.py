"""Bases of the models that choose columns by exchanges, from a quadratic."""

import warnings
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt
from joblib import Parallel
from sklearn.utils._param_validation import Interval

from ..chunks import Chunks
from ..errors import InputError
from ..limits import Limits
from ..moments import Moments
from ..moments.base import NotGathered, Quadratic, StandardisedGram
from ..moments.pairs import PairMoments
from ..moments.table import TableMoments
from ..outcome import Outcome
from ..path.path import SparseAUCPath, find_paths
from ..solvers.certificate import certify
from ..solvers.exchange import solve_on
from ..solvers.restrictions import Restrictions
from ..strata import Weighting, check_weighting
from ..utils.text import listed
from ..utils.types import Array, Indices
from ._base import SparseLinearClassifier, SparseLinearModel, frames_of_ours

_NONE: Indices = np.empty(0, np.int64)
T = TypeVar("T", bound=Outcome)


class RequiredColumnWarning(UserWarning):
    """A column that must be on the list can have no coefficient, and is left out."""


class EmptyListWarning(UserWarning):
    """No column is on the list, and all rows have the same score."""


class ExchangeModel(SparseLinearModel):
    """Base of all models whose columns are chosen by exchanges.

    A subclass has the parameter ``limits``, and ``alpha`` or a fitted ``alpha_``.
    """

    limits: Limits | None
    not_included_: Indices
    cost_: float
    objective_: float
    scale_: Array
    n_strata_: int
    stratum_weights_: Weighting

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"limits": [Limits, None]}

    @property
    def _chosen_alpha(self) -> float:
        return float(getattr(self, "alpha_", getattr(self, "alpha", 0.0)))

    def _set_intercept(self, coef: npt.NDArray[Any], quadratic: Quadratic) -> Self:
        """Set ``coef_`` and ``intercept_``, so that scores are 0 amid the rows."""
        raise NotImplementedError

    def _apply_strata(self, outcome: T, X: Any, strata: Any, weighting: Weighting) -> T:
        """Compare rows within strata only, if there are any, and set what is known of these."""
        if strata is None and weighting == "pairs":
            return outcome
        check_weighting(weighting, strata)
        divided = outcome.within(_labels(X, strata), weighting)
        assert divided.strata is not None
        self.n_strata_ = len(divided.strata)
        self.stratum_weights_ = weighting
        return divided

    def _reapply_strata(self, outcome: T, X: Any, strata: Any = None) -> T:
        """Compare the rows of the fit within its strata, which are given once more."""
        if strata is not None:
            weighting: Weighting = getattr(self, "stratum_weights_", "pairs")
            return outcome.within(_labels(X, strata), weighting)
        if hasattr(self, "n_strata_"):
            raise InputError("this model compares rows within strata: give those of the fit too")
        return outcome

    def _restrict(self, budgets: Any = None, missing: Indices = _NONE) -> Restrictions:
        """Bring the limits to the columns, with a budget for each list of a path."""
        if self.limits is None:
            return Restrictions(_NONE, missing)
        names = getattr(self, "feature_names_in_", None)
        return self.limits.restrict(self.n_features_in_, names, budgets=budgets, missing=missing)

    def _fitted_restrictions(self) -> Restrictions:
        """Return the limits of the fitted list, as solvers take them."""
        budget = getattr(self, "budget_", getattr(self.limits, "budget", None))
        found = self._restrict(None if budget is None else np.atleast_1d(budget))
        return found.without_fixed(getattr(self, "not_included_", _NONE))

    def _size_bounds(self, restrictions: Restrictions, k: int = 0) -> tuple[int, int]:
        """Columns that a list must have, and can have, with a warning if these are fewer than k."""
        d = self.n_features_in_
        fewest, most = 0, d - restrictions.excluded.size
        if self.limits is not None:
            fewest, most = restrictions.count(restrictions.fixed), restrictions.most_columns(d)
        # That the budget ends a list before k does is its purpose.
        if k > most and restrictions.budgets is None:
            few = f"n_features={d}" if most == d else f"the {most} that the limits allow"
            warnings.warn(
                f"k={k} is greater than {few}. Lists have {most} columns at most.",
                UserWarning,
                stacklevel=frames_of_ours(),
            )
        return fewest, most

    def _set_list(self, coef: npt.NDArray[Any], restrictions: Restrictions) -> None:
        """Set what the list costs, and which required columns are not on it."""
        chosen = np.flatnonzero(coef)
        if chosen.size == 0:
            warnings.warn(
                "no column is on the list, and all rows have the same score: the columns are "
                "constant, or their signs contradict the data",
                EmptyListWarning,
                stacklevel=frames_of_ours(),
            )
        if restrictions.costs is not None:
            self.cost_ = restrictions.cost_of(chosen)
        known = getattr(self, "not_included_", _NONE)
        self.not_included_ = np.setdiff1d(self._restrict().fixed, chosen)
        if np.isin(self.not_included_, known).all():
            return
        names = getattr(self, "feature_names_in_", np.arange(coef.size))
        shown = listed([repr(name) for name in names[self.not_included_].tolist()])
        warnings.warn(
            f"always_include: {shown} cannot be on the list, as no coefficient but 0 is possible "
            "(a constant column, one that others make redundant, or a sign that the data "
            "contradict); other columns take the place",
            RequiredColumnWarning,
            stacklevel=frames_of_ours(),
        )


@dataclass(kw_only=True, eq=False, repr=False)
class ListOfK(ExchangeModel):
    """Base of models with a list of k columns and one ridge."""

    k: int = field(default=10, kw_only=False)
    alpha: float = field(default=1.0, kw_only=False)
    limits: Limits | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ExchangeModel._parameter_constraints,
        "k": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    def _check_limits(self, missing: Indices = _NONE) -> tuple[int, Restrictions]:
        """Number of columns, and the limits; ``missing`` columns may not be chosen."""
        budgets = None if self.limits is None else self.limits.budgets
        if self.limits is not None and isinstance(self.limits.budget, tuple):
            raise InputError(
                f"budget must be one number: {type(self).__name__}CV chooses among several"
            )
        restrictions = self._restrict(budgets, missing)
        if restrictions.excluded.size == self.n_features_in_:
            raise InputError(
                "the moments carry no column of H to choose from: name some in "
                "class_moments(X, y).summary(columns)"
            )
        n_fixed, most = self._size_bounds(restrictions, self.k)
        if n_fixed > self.k:
            raise InputError(f"always_include names {n_fixed} columns, more than k={self.k}")
        return min(self.k, most), restrictions

    def _choose_list(
        self, quadratic: Quadratic, k: int, restrictions: Restrictions, dtype: Any
    ) -> Self:
        """Choose columns, and set what is fitted from a quadratic alone."""
        ks, alphas = np.array([k]), np.array([float(self.alpha)])
        one_thread = not isinstance(quadratic, TableMoments | PairMoments)
        lost: Indices | None = None
        while lost is None or lost.size:
            (path,) = find_paths(
                Parallel(), [quadratic], ks, alphas, restrictions, one_thread=one_thread
            )
            lost = np.setdiff1d(restrictions.fixed, path.solutions[0][0].support)
            if lost.size:
                restrictions = restrictions.without_fixed(lost)
        return self._set_path(path, quadratic, restrictions, dtype)

    def _set_path(
        self, path: SparseAUCPath, quadratic: Quadratic, restrictions: Restrictions, dtype: Any
    ) -> Self:
        """Set what is fitted, from the one list of a path."""
        coef = path.coef_of(path.solutions[0][0]).astype(dtype, copy=False)
        self._set_list(coef, restrictions)
        self._set_intercept(coef, quadratic)
        self.objective_ = quadratic.loss(coef)
        self.scale_ = path.scale
        return self

    def _prove(self, quadratic: Quadratic, missing: Indices, time_limit: float) -> Self:
        """Set a bound on the loss of all lists, and take the best list that is met."""
        if not time_limit >= 0:
            raise InputError(f"time_limit must be 0 or more seconds, got {time_limit}")
        if self.limits is not None and self.limits.column_groups is not None:
            raise InputError("certify is about choices of single columns: leave column_groups out")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to warn of was said by the fit
            k, restrictions = self._check_limits(missing)
        gram, alpha = StandardisedGram(quadratic), float(self.alpha)
        known = np.flatnonzero(self.coef_[0])
        lost = getattr(self, "not_included_", _NONE)
        try:
            start = solve_on(gram.block(known, known), gram.delta[known], known, alpha)
            while True:
                restrictions = restrictions.without_fixed(lost)
                proof = certify(
                    gram, start, k, alpha, restrictions=restrictions, time_limit=time_limit
                )
                lost = np.setdiff1d(restrictions.fixed, proof.solution.support)
                if lost.size == 0:
                    break
        except NotGathered:
            raise InputError(
                "certify needs all columns of H, which are too many to be kept for rows that are "
                "read in chunks: choose among fewer columns"
            ) from None
        self.lower_bound_, self.optimality_gap_ = proof.lower_bound, proof.gap
        self.certificate_status_ = proof.status
        path = SparseAUCPath(np.array([k]), np.array([alpha]), gram.scale, [[proof.solution]])
        threshold = self.intercept_
        self._set_path(path, quadratic, restrictions, self.coef_.dtype)
        if np.array_equal(known, np.flatnonzero(self.coef_[0])):
            self.intercept_ = threshold
        return self


class ExchangeClassifier(ExchangeModel, SparseLinearClassifier):
    """Base of :class:`SparseAUCClassifier` and :class:`SparseAUCClassifierCV`."""

    _reads_chunks = _reads_maps_in_chunks = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ExchangeModel._parameter_constraints,
        "device": [str, None],
    }

    def _set_intercept(self, coef: npt.NDArray[Any], quadratic: Quadratic) -> Self:
        """Set ``coef_`` and ``intercept_``, so that the threshold is midway between the classes."""
        assert isinstance(quadratic, Moments)
        positive, negative = (mean.astype(coef.dtype) for mean in quadratic.means)
        return self._set_coef(coef, (coef @ positive + coef @ negative) / 2)


def _labels(X: Any, strata: Any) -> Any:
    """Labels of the strata of each row, which may be a column of chunks."""
    return X.labels(strata, "strata") if isinstance(X, Chunks) else strata
