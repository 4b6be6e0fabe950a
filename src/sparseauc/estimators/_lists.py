"""Parts of the models that choose columns by exchanges: limits, strata, fits and proofs.

Functions take a model for its parameters and fitted attributes, and return results; those whose
name begins with ``record`` set fitted attributes.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from joblib import Parallel
from sklearn.utils._param_validation import Interval, StrOptions

from ..choosing import Choice
from ..chunks import Chunks
from ..defaults import LENGTHS, ROWS_FOR_LENGTHS
from ..errors import InputError
from ..limits import Limits, budgets_to_try
from ..moments import Moments
from ..moments.base import NotGathered, Quadratic, StandardisedGram
from ..outcome import Outcome
from ..path.path import SparseAUCPath, check_lengths, find_paths, whole_numbers
from ..path.rules import ChanceWarning, score_by_others
from ..solvers.certificate import Certificate, certify
from ..solvers.exchange import solve_on
from ..solvers.restrictions import Restrictions
from ..strata import Weighting, check_weighting
from ..utils.text import listed
from ..utils.types import Array, Floats, Indices
from ._base import frames_of_ours

_NONE: Indices = np.empty(0, np.int64)
T = TypeVar("T", bound=Outcome)

# Constraints on the parameters of models with one list, and of those that choose among many.
LIST_CONSTRAINTS: dict[str, list[Any]] = {
    "k": [Interval(Integral, 1, None, closed="left")],
    "alpha": [Interval(Real, 0, None, closed="left")],
    "limits": [Limits, None],
}
CV_CONSTRAINTS: dict[str, list[Any]] = {
    "ks": ["array-like", None],
    "alphas": ["array-like", None],
    "cv": ["cv_object"],
    "rule": [StrOptions({"best", "1se"}), callable],
    "clip": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="neither"), None],
    "log": [StrOptions({"auto"}), "boolean"],
    "limits": [Limits, None],
    "random_state": ["random_state"],
    "n_jobs": [Interval(Integral, None, None, closed="neither"), None],
    "verbose": ["verbose", callable],
}


class RequiredColumnWarning(UserWarning):
    """A column that must be on the list can have no coefficient, and is left out."""


class EmptyListWarning(UserWarning):
    """No column is on the list, and all rows have the same score."""


# ------------------------------------------------------------------------------------- strata


def record_strata(model: Any, outcome: T, X: Any, strata: Any, weighting: Weighting) -> T:
    """Compare rows within strata only, if there are any, and set what is known of these."""
    if strata is None and weighting == "pairs":
        return outcome
    check_weighting(weighting, strata)
    divided = outcome.within(_labels(X, strata), weighting)
    assert divided.strata is not None
    model.n_strata_ = len(divided.strata)
    model.stratum_weights_ = weighting
    return divided


def apply_fitted_strata(model: Any, outcome: T, X: Any, strata: Any = None) -> T:
    """Compare the rows of the fit within its strata, which are given once more."""
    if strata is not None:
        weighting: Weighting = getattr(model, "stratum_weights_", "pairs")
        return outcome.within(_labels(X, strata), weighting)
    if hasattr(model, "n_strata_"):
        raise InputError("this model compares rows within strata: give those of the fit too")
    return outcome


def _labels(X: Any, strata: Any) -> Any:
    """Labels of the strata of each row, which may be a column of chunks."""
    return X.labels(strata, "strata") if isinstance(X, Chunks) else strata


# ------------------------------------------------------------------------------------- limits


def class_means(quadratic: Quadratic, dtype: Any) -> tuple[Floats, Floats]:
    """Return the means of the positives and of the negatives, in the type of coefficients."""
    assert isinstance(quadratic, Moments)
    positive, negative = quadratic.means
    return positive.astype(dtype), negative.astype(dtype)


def restrict(model: Any, budgets: Any = None, missing: Indices = _NONE) -> Restrictions:
    """Bring the limits to the columns, with a budget for each list of a path."""
    if model.limits is None:
        return Restrictions(_NONE, missing)
    names = getattr(model, "feature_names_in_", None)
    found: Restrictions = model.limits.restrict(
        model.n_features_in_, names, budgets=budgets, missing=missing
    )
    return found


def fitted_restrictions(model: Any) -> Restrictions:
    """Return the limits of the fitted list, as solvers take them."""
    budget = getattr(model, "budget_", getattr(model.limits, "budget", None))
    found = restrict(model, None if budget is None else np.atleast_1d(budget))
    return found.without_fixed(getattr(model, "not_included_", _NONE))


def ridge_of(model: Any) -> float:
    """Return the ridge of a fitted list."""
    return float(model.alpha_ if hasattr(model, "alpha_") else model.alpha)


def check_limits(model: Any, missing: Indices = _NONE) -> tuple[int, Restrictions]:
    """Return the length of the one list, and its limits; ``missing`` columns may not be chosen."""
    budgets = None if model.limits is None else model.limits.budgets
    if model.limits is not None and isinstance(model.limits.budget, tuple):
        raise InputError(
            f"budget must be one number: {type(model).__name__}CV chooses among several"
        )
    restrictions = restrict(model, budgets, missing)
    if restrictions.excluded.size == model.n_features_in_:
        raise InputError(
            "the moments carry no column of H to choose from: name some in "
            "class_moments(X, y).summary(columns)"
        )
    n_fixed, most = _size_bounds(model, restrictions, model.k)
    if n_fixed > model.k:
        raise InputError(f"always_include names {n_fixed} columns, more than k={model.k}")
    return min(model.k, most), restrictions


def _size_bounds(model: Any, restrictions: Restrictions, k: int) -> tuple[int, int]:
    """Columns that a list must have, and can have, with a warning if these are fewer than k."""
    d = model.n_features_in_
    fewest = 0
    most = d - restrictions.excluded.size
    if model.limits is not None:
        fewest = restrictions.count(restrictions.fixed)
        most = restrictions.most_columns(d)
    # That the budget ends a list before k does is its purpose.
    if k > most and restrictions.budgets is None:
        few = f"n_features={d}" if most == d else f"the {most} that the limits allow"
        warnings.warn(
            f"k={k} is greater than {few}. Lists have {most} columns at most.",
            UserWarning,
            stacklevel=frames_of_ours(),
        )
    return fewest, most


def check_ridges(alphas: Any, default: Sequence[float]) -> Array:
    """Return the ridges to try, ascending."""
    ridges = np.unique(np.asarray(default if alphas is None else alphas, np.float64))
    if ridges.size == 0 or not (ridges[0] >= 0 and np.isfinite(ridges[-1])):
        raise InputError(f"alphas must be finite numbers of 0 or more, got {alphas}")
    return ridges


def lengths_to_try(model: Any, n_informative: int) -> tuple[Indices, Restrictions]:
    """Return values of k to try, and limits with a budget for each if there are any.

    Values ascend, without those there are too few columns for; by default up to what so many rows
    allow.
    """
    d = model.n_features_in_
    budgets = None if model.limits is None else model.limits.budgets
    restrictions = restrict(model, budgets)
    if model.ks is None:
        ks = LENGTHS[max(n_informative, ROWS_FOR_LENGTHS[0]) >= ROWS_FOR_LENGTHS]
        n_fixed, available = _size_bounds(model, restrictions, 0)
        if restrictions.groups is not None:  # a group takes the rows of its columns, on average
            ks = ks[ks <= max(1, ks[-1] * np.unique(restrictions.groups).size // d)]
        smallest = max(1, n_fixed)
        ks = np.unique(np.clip(ks, smallest, max(smallest, available)))
    else:
        ks = whole_numbers(model.ks, "ks")
        _, available = _size_bounds(model, restrictions, int(ks.max(initial=0)))
        if available < ks.max(initial=0):
            few_enough = ks[ks <= available]
            ks = few_enough if few_enough.size else np.array([available])
        check_lengths(ks, d, restrictions)
    if budgets is None:
        return ks, restrictions
    if budgets.size == 1 and model.ks is None:
        budgets = budgets_to_try(float(budgets[0]), restrictions, d)
    if budgets.size > 1:
        ks = ks[-1:]
    ks, budgets = np.broadcast_arrays(ks, budgets)
    return ks, replace(restrictions, budgets=budgets)


# --------------------------------------------------------------------------------------- fits


@dataclass(frozen=True, eq=False)
class ChosenList:
    """A list of columns, fitted to a quadratic.

    Attributes
    ----------
    coef : ndarray of shape (d,)
        Of all columns, on the original scale.
    quadratic : Quadratic
    scale : ndarray of shape (d,)
        Deviations by which columns were divided.
    restrictions : Restrictions
        Limits of the list, without required columns that can have no coefficient.
    """

    coef: npt.NDArray[Any]
    quadratic: Quadratic
    scale: Array
    restrictions: Restrictions


def choose_list(
    quadratic: Quadratic,
    k: int,
    alpha: float,
    restrictions: Restrictions,
    dtype: Any,
    *,
    one_thread: bool,
) -> ChosenList:
    """Choose k columns and their coefficients by a quadratic."""
    ks = np.array([k])
    alphas = np.array([float(alpha)])
    while True:
        (path,) = find_paths(
            Parallel(), [quadratic], ks, alphas, restrictions, one_thread=one_thread
        )
        lost = np.setdiff1d(restrictions.fixed, path.solutions[0][0].support)
        if lost.size == 0:
            return _list_of(path, quadratic, restrictions, dtype)
        restrictions = restrictions.without_fixed(lost)


def _list_of(
    path: SparseAUCPath, quadratic: Quadratic, restrictions: Restrictions, dtype: Any
) -> ChosenList:
    coef = path.coef_of(path.solutions[0][0]).astype(dtype, copy=False)
    return ChosenList(coef, quadratic, path.scale, restrictions)


def prove(
    model: Any, quadratic: Quadratic, missing: Indices, time_limit: float
) -> tuple[Certificate, ChosenList]:
    """Bound the loss of all lists, and return the best list that is met."""
    if not time_limit >= 0:
        raise InputError(f"time_limit must be 0 or more seconds, got {time_limit}")
    if model.limits is not None and model.limits.column_groups is not None:
        raise InputError("certify is about choices of single columns: leave column_groups out")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to warn of was said by the fit
        k, restrictions = check_limits(model, missing)
    gram = StandardisedGram(quadratic)
    alpha = float(model.alpha)
    known = np.flatnonzero(model.coef_[0])
    lost = getattr(model, "not_included_", _NONE)
    try:
        start = solve_on(gram.block(known, known), gram.delta[known], known, alpha)
        while True:
            restrictions = restrictions.without_fixed(lost)
            proof = certify(gram, start, k, alpha, restrictions=restrictions, time_limit=time_limit)
            lost = np.setdiff1d(restrictions.fixed, proof.solution.support)
            if lost.size == 0:
                break
    except NotGathered:
        raise InputError(
            "certify needs all columns of H, which are too many to be kept for rows that are "
            "read in chunks: choose among fewer columns"
        ) from None
    path = SparseAUCPath(np.array([k]), np.array([alpha]), gram.scale, [[proof.solution]])
    return proof, _list_of(path, quadratic, restrictions, model.coef_.dtype)


# ------------------------------------------------------------------------- fitted attributes


def record_list(model: Any, found: ChosenList) -> None:
    """Set what is known of the list but its coefficients, which are set before."""
    model.objective_ = found.quadratic.loss(found.coef)
    model.scale_ = found.scale
    _record_columns(model, found.coef, found.restrictions)


def record_proof(model: Any, proof: Certificate, found: ChosenList) -> None:
    """Set what was proven of the list."""
    model.lower_bound_ = proof.lower_bound
    model.optimality_gap_ = proof.gap
    model.certificate_status_ = proof.status
    record_list(model, found)


def record_choice(model: Any, choice: Choice) -> None:
    """Set what cross-validation chose, but coefficients."""
    model.cv_results_ = choice.cv_results
    model.best_index_ = choice.index
    model.best_score_ = choice.score
    model.n_splits_ = choice.n_splits
    model.n_repeats_ = choice.n_repeats
    model.k_ = choice.k
    model.alpha_ = choice.alpha
    if choice.budget is not None:
        model.budget_ = choice.budget
    model.path_ = choice.path
    model.scale_ = choice.path.scale
    model.objective_ = choice.objective
    model.out_of_fold_scores_ = choice.out_of_fold_scores
    model.clip_limits_ = None
    model.log_offsets_ = None
    if choice.transform is not None and choice.transform.changed.size:
        model.clip_limits_ = choice.transform.limits
        if choice.transform.logs:
            model.log_offsets_ = choice.transform.offsets
    _record_columns(model, choice.coef, choice.restrictions)


def _record_columns(model: Any, coef: npt.NDArray[Any], restrictions: Restrictions) -> None:
    """Set what the list costs, and which required columns are not on it; warn of these."""
    chosen = np.flatnonzero(coef)
    if chosen.size == 0:
        warnings.warn(
            "no column is on the list, and all rows have the same score: the columns are "
            "constant, or their signs contradict the data",
            EmptyListWarning,
            stacklevel=frames_of_ours(),
        )
    if restrictions.costs is not None:
        model.cost_ = restrictions.cost_of(chosen)
    known = getattr(model, "not_included_", _NONE)
    model.not_included_ = np.setdiff1d(restrict(model).fixed, chosen)
    if np.isin(model.not_included_, known).all():
        return
    names = getattr(model, "feature_names_in_", np.arange(coef.size))
    shown = listed([repr(name) for name in names[model.not_included_].tolist()])
    warnings.warn(
        f"always_include: {shown} cannot be on the list, as no coefficient but 0 is possible "
        "(a constant column, one that others make redundant, or a sign that the data "
        "contradict); other columns take the place",
        RequiredColumnWarning,
        stacklevel=frames_of_ours(),
    )


def report_choice(model: Any, choice: Choice, kind: str, measure: str) -> None:
    """Print the choice if the model is verbose."""
    if not model.verbose or callable(model.verbose):
        return
    cost = f", costs {model.cost_:g}" if hasattr(model, "cost_") else ""
    print(
        f"k = {choice.k}{cost}, alpha = {choice.alpha:g}{kind}: mean validation {measure} "
        f"{choice.score:.4f} over {choice.n_splits} folds, "
        f"{len(choice.cv_results['params'])} models each"
    )


def warn_of_chance(
    model: Any, choice: Choice, chance_error: float, smoothing: int, measure: str
) -> None:
    """Warn if the list is not better than chance.

    ``chance_error`` is the standard error of the score of a list that says nothing.
    """
    mean, error = score_by_others(model.rule, choice.cv_results, choice.n_repeats, smoothing)
    # Of few folds the standard error is uncertain itself; that of chance is known.
    half = 1.96 * max(error, chance_error)
    low = mean - half
    high = min(mean + half, 1.0)
    if low <= 0.5:
        warnings.warn(
            f"the list may be no better than chance: its {measure} on folds that were not used "
            f"for the choice is {mean:.2f}, and the 95 % CI, {max(low, 0.0):.2f} to "
            f"{high:.2f}, includes 0.5",
            ChanceWarning,
            stacklevel=frames_of_ours(),
        )
