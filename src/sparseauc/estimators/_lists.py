"""Parts of the models that choose columns by exchanges: strata, limits, lengths, fitted attributes.

Functions take a model for its parameters, and set its fitted attributes.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import Parallel
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._validation import CountedRows
from ..chunks import Chunks
from ..columns import Encoding, Line
from ..columns.reading import ReadColumns
from ..columns.units import Units
from ..cross_validation import Choice, CVResult, CVTask, Kind, choose_by_validation
from ..defaults import LENGTHS, ROWS_FOR_LENGTHS
from ..errors import InputError
from ..folds import SplitPlan
from ..limits import Limits, TableColumns, budgets_to_try
from ..moments.base import Quadratic, StandardisedGram
from ..outcome import Outcome
from ..path import (
    ChosenList,
    check_lengths,
    check_ridges,
    choose_list,
    spread_budgets,
    whole_numbers,
)
from ..rules import ChanceWarning, score_by_others
from ..solvers.certificate import certify
from ..solvers.exchange import solve_on
from ..solvers.restrictions import Restrictions
from ..strata import Weighting, check_weighting
from ..utils.arrays import column_of
from ..utils.text import listed
from ..utils.types import Array, Floats, Indices, Mask
from ._base import frames_of_ours, leading_coefs, set_encodings

_NONE: Indices = np.empty(0, np.int64)

# Constraints on the parameters of models with one list, and of those that choose among
# many.
LIST_CONSTRAINTS: dict[str, list[Any]] = {
    "k": [Interval(Integral, 1, None, closed="left")],
    "alpha": [Interval(Real, 0, None, closed="left")],
    "curves": ["boolean", "array-like"],
    "limits": [Limits, None],
}
CV_CONSTRAINTS: dict[str, list[Any]] = {
    "ks": ["array-like", None],
    "alphas": ["array-like", None],
    "cv": ["cv_object"],
    "rule": [StrOptions({"best", "1se"}), callable],
    "curves": [StrOptions({"auto"}), "boolean"],
    "limits": [Limits, None],
    "random_state": ["random_state"],
    "n_jobs": [Interval(Integral, None, None, closed="neither"), None],
    "verbose": ["verbose", callable],
}


class RequiredColumnWarning(UserWarning):
    """A column that must be on the list can have no coefficient, and is left out."""


class EmptyListWarning(UserWarning):
    """No column is on the list, and all rows have the same score."""


@dataclass(frozen=True, eq=False)
class FittedLimits:
    """Ridge and limits of a fitted list, which questions about it need once more.

    Attributes
    ----------
    alpha : float
        The ridge.
    restrictions : Restrictions
        Of the columns of the table, without required ones that can have no coefficient.
    """

    alpha: float
    restrictions: Restrictions


# ------------------------------------------------------------------------------- strata


def check_rows(
    model: Any, X: Any, y: Any, sample_weight: Any, strata: Any, weighting: Weighting
) -> tuple[Any, Any, CountedRows]:
    """Check the rows of a fit; compare them within strata only, if there are any.

    Returns X or its chunks, the outcome, and the rows that these are of.
    """
    X, outcome, rows = model._check_rows(X, y, sample_weight)
    strata = rows.take(strata, "strata")
    if strata is not None or weighting != "pairs":
        check_weighting(weighting, strata)
        outcome = outcome.within(_labels(X, strata), weighting)
        model.n_strata_ = len(outcome.strata)
        model.stratum_weights_ = weighting
    return X, outcome, rows


def apply_fitted_strata(
    model: Any, outcome: Outcome, X: Any, strata: Any = None
) -> Outcome:
    """Compare the rows of the fit within its strata, which are given once more."""
    if strata is not None:
        weighting: Weighting = getattr(model, "stratum_weights_", "pairs")
        return outcome.within(_labels(X, strata), weighting)
    if hasattr(model, "n_strata_"):
        raise InputError(
            "this model compares rows within strata: give those of the fit too"
        )
    return outcome


def _labels(X: Any, strata: Any) -> Any:
    """Labels of the strata of each row, which may be a column of chunks."""
    return X.beside(strata, "strata") if isinstance(X, Chunks) else strata


# ------------------------------------------------------------------------- limits and
# lengths


def resolve_limits(model: Any) -> Restrictions:
    """Bring the limits of a model to its columns."""
    if model.limits is None:
        return Restrictions()
    names = getattr(model, "feature_names_in_", None)
    found: Restrictions = model.limits.resolve(model.n_features_in_, names)
    return found


def check_limits(model: Any, units: Units | None = None) -> tuple[int, Restrictions]:
    """Return the length of the one list, and its limits, of the basis of ``units``."""
    restrictions = resolve_limits(model)
    if restrictions.budgets is not None and isinstance(model.limits.budget, tuple):
        raise InputError(
            f"budget must be one number: {type(model).__name__}CV chooses among several"
        )
    fewest = restrictions.count(restrictions.fixed)
    if fewest > model.k:
        raise InputError(
            f"always_include names {fewest} columns, more than k={model.k}"
        )
    k = min(model.k, _most_columns(model, restrictions, model.k))
    return k, restrictions if units is None else restrictions.spread(units.columns)


def _most_columns(model: Any, restrictions: Restrictions, k: int) -> int:
    """Count the columns that a list can have, with a warning if they are fewer than k."""
    d = model.n_features_in_
    most = restrictions.most_columns(d)
    # That the budget ends a list before k does is its purpose.
    if k > most and restrictions.budgets is None:
        few = f"n_features={d}" if most == d else f"the {most} that the limits allow"
        warnings.warn(
            f"k={k} is greater than {few}. Lists have {most} columns at most.",
            UserWarning,
            stacklevel=frames_of_ours(),
        )
    return most


def lengths_to_try(
    model: Any, n_informative: int
) -> tuple[Indices, Restrictions, int | None]:
    """Return values of k to try, and limits with a budget for each if there are any.

    Values ascend, without those there are too few columns for; by default up to what so
    many rows allow, which is returned then.
    """
    d = model.n_features_in_
    restrictions = resolve_limits(model)
    budgets = restrictions.budgets
    allowed = None
    if model.ks is None:
        ks = LENGTHS[max(n_informative, ROWS_FOR_LENGTHS[0]) >= ROWS_FOR_LENGTHS]
        if (
            restrictions.groups is not None
        ):  # a group takes the rows of its columns, on average
            ks = ks[ks <= max(1, ks[-1] * np.unique(restrictions.groups).size // d)]
        allowed = int(ks[-1])
        smallest = max(1, restrictions.count(restrictions.fixed))
        largest = max(smallest, _most_columns(model, restrictions, 0))
        ks = np.unique(np.clip(ks, smallest, largest))
    else:
        ks = whole_numbers(model.ks, "ks")
        longest = int(ks.max(initial=0))
        most = _most_columns(model, restrictions, longest)
        if most < longest:
            few_enough = ks[ks <= most]
            ks = few_enough if few_enough.size else np.array([most])
        check_lengths(ks, d, restrictions)
    if budgets is not None and budgets.size == 1 and model.ks is None:
        budgets = budgets_to_try(float(budgets[0]), restrictions, d)
        restrictions = replace(restrictions, budgets=budgets)
    return *spread_budgets(ks, restrictions), allowed


# ------------------------------------------------------------------------- fitted
# attributes


def learn_units(model: Any, X: Any, weight: Array | None) -> Units | None:
    """Learn what columns count as; None where they all count as what they are."""
    curved = curved_columns(model, X)
    if not isinstance(X, ReadColumns):
        if not curved.any():
            return None
        X = ReadColumns(X)
    return Units.learn(X, weight, curved=curved)


def curved_columns(model: Any, X: Any) -> Mask:
    """Return the columns that are to be curves, by the parameter of a model.

    Columns with a sign are lines unless they are named.
    """
    curved = np.zeros(model.n_features_in_, np.bool_)
    asked = model.curves
    if isinstance(asked, bool | np.bool_):
        signs = resolve_limits(model).signs_of(np.arange(curved.size))
        curved[:] = asked & (signs == 0)
    else:
        names = getattr(model, "feature_names_in_", None)
        curved[TableColumns(curved.size, names).indices(asked, "curves")] = True
    if curved.any() and not isinstance(X, np.ndarray | ReadColumns):
        raise InputError(
            "curves need quantiles of whole columns: give X as an array or a data frame, or set "
            "curves=False"
        )
    return curved


def fit_rows(model: Any, X: Any, outcome: Outcome) -> None:
    """Choose the one list of a model and its coefficients by rows, and set both."""
    units = learn_units(model, X, outcome.weight)
    limits = check_limits(model, units=units)
    quadratic = outcome.quadratic(basis_of(X, units))
    fit_quadratic(model, quadratic, X.dtype, limits, units, X, outcome.weight)


def fit_quadratic(
    model: Any,
    quadratic: Quadratic,
    dtype: Any,
    limits: tuple[int, Restrictions],
    units: Units | None = None,
    X: Any = None,
    weight: Array | None = None,
) -> None:
    """Choose the one list of a model and its coefficients by a quadratic, and set both.

    It is that of the basis of ``units``, of rows ``X`` with weights if there are any.
    """
    k, restrictions = limits
    found = choose_list(quadratic, k, model.alpha, restrictions, dtype)
    record_list(model, found, model.alpha, units)
    set_columns(model, found.coef, quadratic.centre, X, weight)


def basis_of(X: Any, units: Units | None) -> Any:
    """Return the rows as solvers take them."""
    if units is None:
        return X
    return units.basis(X.values if isinstance(X, ReadColumns) else X)


def support_in_basis(model: Any) -> Indices:
    """Return the columns of the basis that a fitted model has a coefficient for."""
    units = model._units
    columns = np.arange(model.n_features_in_) if units is None else units.columns
    coef = np.zeros(columns.size)
    for j, one in model.encodings_.items():
        coef[columns == j] = one.coef
    return np.flatnonzero(coef)


def set_columns(
    model: Any, coef: Floats, centre: Array, X: Any, weight: Array | None
) -> None:
    """Set what the chosen columns count, given the coefficients of the basis and its centre.

    Of rows ``X`` in memory lines learn their range, and what missing values count as.
    """
    middle = coef @ centre.astype(coef.dtype)
    if model._units is not None:
        encodings = model._units.chosen(coef)
        leading = leading_coefs(encodings, model.n_features_in_)
        set_encodings(model, encodings, leading.astype(coef.dtype), middle)
        return
    lines: dict[int, Encoding] = {}
    for j in np.flatnonzero(coef).tolist():
        line = Line()
        if X is not None and not isinstance(X, Chunks):
            line = Line.learn(column_of(X, j), weight)
        lines[j] = replace(line, coef=(float(coef[j]),))
    set_encodings(model, lines, coef, middle)


def record_list(
    model: Any,
    found: ChosenList,
    alpha: float,
    units: Units | None = None,
) -> None:
    """Set what is known of the list but its coefficients; warn of what it lacks."""
    model.objective_ = found.objective
    model.scale_ = found.scale if units is None else units.leading(found.scale)
    model._units = units
    in_basis = np.flatnonzero(found.coef)
    if in_basis.size == 0:
        warnings.warn(
            "no column is on the list, and all rows have the same score: the columns are "
            "constant, or their signs contradict the data",
            EmptyListWarning,
            stacklevel=frames_of_ours(),
        )
    if found.restrictions.costs is not None:
        model.cost_ = found.restrictions.cost_of(in_basis)
    chosen = in_basis if units is None else np.unique(units.columns[in_basis])
    restrictions = resolve_limits(model)
    model.not_included_ = restrictions.lost(chosen, np.ones(chosen.size))
    own = found.restrictions
    if units is not None:
        restrictions = restrictions.without_fixed(model.not_included_)
        own = replace(restrictions, budgets=own.budgets)
    model._fitted = FittedLimits(float(alpha), own)
    if model.not_included_.size == 0:
        return
    names = getattr(model, "feature_names_in_", np.arange(model.n_features_in_))
    shown = listed([repr(name) for name in names[model.not_included_].tolist()])
    warnings.warn(
        f"always_include: {shown} cannot be on the list, as no coefficient but 0 is possible "
        "(a constant column, one that others make redundant, or a sign that the data "
        "contradict); other columns take the place",
        RequiredColumnWarning,
        stacklevel=frames_of_ours(),
    )


def certify_rows(
    model: Any, X: Any, y: Any, sample_weight: Any, strata: Any, time_limit: float
) -> None:
    """Bound the loss of all lists on the rows of the fit; see ``certify_quadratic``."""
    check_is_fitted(model, "coef_")
    known = model._units is not None
    again = model if known else clone(model)
    X, outcome, rows = again._check_rows(X, y, sample_weight, reset=not known)
    other_labels = (
        hasattr(model, "classes_") and (again.classes_ != model.classes_).any()
    )
    if X.shape[1] != model.n_features_in_ or other_labels:
        raise InputError("X and y have other columns or labels than those of the fit")
    outcome = apply_fitted_strata(model, outcome, X, rows.take(strata, "strata"))
    table = basis_of(X, model._units)
    if not isinstance(X, Chunks):
        table = table.astype(np.float64, copy=False)
    certify_quadratic(model, outcome.quadratic(table), time_limit, X, outcome.weight)


def certify_quadratic(
    model: Any,
    quadratic: Quadratic,
    time_limit: float,
    X: Any = None,
    weight: Array | None = None,
) -> None:
    """Bound the loss of all lists, and set what was proven and the best list met.

    ``X`` are the rows of the fit and their ``weight``, where there are any.
    """
    if not time_limit >= 0:
        raise InputError(f"time_limit must be 0 or more seconds, got {time_limit}")
    restrictions = model._fitted.restrictions
    if model._units is not None:
        restrictions = restrictions.spread(model._units.columns)
    support = support_in_basis(model)
    gram = StandardisedGram(quadratic)
    alpha = float(model.alpha)
    start = solve_on(gram.block(support, support), gram.delta[support], support, alpha)
    while True:
        proof = certify(
            gram,
            start,
            model.k,
            alpha,
            restrictions=restrictions,
            time_limit=time_limit,
        )
        lost = restrictions.lost(proof.solution.support, proof.solution.coef)
        if lost.size == 0:
            break
        restrictions = restrictions.without_fixed(lost)
    found = ChosenList.of_solution(
        proof.solution, quadratic, gram.scale, restrictions, model.coef_.dtype
    )
    model.lower_bound_ = proof.lower_bound
    model.optimality_gap_ = proof.gap
    model.certificate_status_ = proof.status
    if not np.array_equal(np.flatnonzero(found.coef), support):  # a better list
        record_list(model, found, model.alpha, model._units)
        set_columns(model, found.coef, quadratic.centre, X, weight)


def choose_among_lists(
    model: Any,
    X: Any,
    outcome: Outcome,
    rows: CountedRows,
    groups: Any,
    *,
    default_alphas: Sequence[float],
    n_informative: int,
    kinds: tuple[Kind, ...] | None = None,
    smoothing: int,
) -> Choice:
    """Select a model by cross-validation, and set every attribute but those of its score's scale.

    ``n_informative`` rows decide how long lists are tried; the others are as of
    ``CVTask``.
    """
    if model.curves is True:
        curved_columns(model, X)  # refuses tables that are not in memory, or sparse
    seen = X.values if isinstance(X, ReadColumns) else X
    divided = outcome
    if isinstance(X, Chunks):  # splitters see labels and groups only
        rows = CountedRows.by_weight(outcome.weight, X.shape[0])
        divided = outcome.take(rows.index)
        seen = divided.positive
    splits = divided.split(
        rows.number_splits(model.cv),
        seen,
        rows.take(groups, "groups"),
        model.random_state,
    )
    if isinstance(X, Chunks):
        splits = [(rows.index[train], rows.index[test]) for train, test in splits]
    ks, restrictions, longest = lengths_to_try(model, n_informative)
    alphas = default_alphas if model.alphas is None else model.alphas
    verbose = 0 if callable(model.verbose) else max(0, model.verbose - 1)
    choice = choose_by_validation(
        CVTask(
            X=X,
            outcome=outcome,
            plan=SplitPlan.from_splits(splits, X.shape[0], outcome.weight),
            ks=ks,
            alphas=np.unique(check_ridges(alphas)),
            restrictions=restrictions,
            longest=longest,
            rule=model.rule,
            curves=model.curves,
            kinds=kinds,
            smoothing=smoothing,
            run=Parallel(model.n_jobs, require="sharedmem", verbose=verbose),
            progress=model.verbose if callable(model.verbose) else None,
        )
    )
    found = choice.found
    plan = found.folds.task.plan
    units = found.units
    model.cv_results_ = found.results
    model.best_index_ = found.index
    model.best_score_ = float(found.results["mean_test_score"][found.index])
    model.n_splits_ = len(plan.training)
    model.n_repeats_ = plan.n_repeats
    model.k_ = choice.k
    model.alpha_ = choice.alpha
    if choice.budget is not None:
        model.budget_ = choice.budget
    model.path_ = choice.path if units is None else choice.path.of_units(units)
    model.curves_ = units is not None and units.curves
    record_list(model, choice.chosen, choice.alpha, units)
    coef = choice.chosen.coef.astype(X.dtype, copy=False)
    set_columns(model, coef, choice.chosen.quadratic.centre, X, outcome.weight)
    validated = np.flatnonzero(~np.isnan(choice.rounds).all(axis=1))
    report_choice(model, found, outcome.take(validated), smoothing)
    return choice


def report_choice(
    model: Any, found: CVResult, outcome: Outcome, smoothing: int
) -> None:
    """Print the choice if the model is verbose; warn if the list is not better than chance."""
    measure = outcome.measure_name
    if model.verbose and not callable(model.verbose):
        cost = f", costs {model.cost_:g}" if hasattr(model, "cost_") else ""
        kinds = model.cv_results_.get("param_coefficients")
        kind = "" if kinds is None else f", {kinds[model.best_index_]} coefficients"
        print(
            f"k = {model.k_}{cost}, alpha = {model.alpha_:g}{kind}: mean validation {measure} "
            f"{model.best_score_:.4f} over {model.n_splits_} folds, "
            f"{len(model.cv_results_['params'])} models each"
        )
    tried = (
        [found.results] if found.rival is None else [found.results, found.rival.results]
    )
    mean, error = score_by_others(model.rule, tried, model.n_repeats_, smoothing)
    # Of few folds the standard error is uncertain itself; that of chance is known.
    half = 1.96 * max(error, outcome.chance_error)
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
