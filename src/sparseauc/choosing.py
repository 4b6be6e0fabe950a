"""Choosing a list: of given length by its loss, or its length and ridge too by cross-validation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel
from scipy.stats import rankdata

from .cross_validation import CVResult, CVTask, Family, Kind, cross_validate, mean_over_rounds
from .defaults import CLIP, LEAST_GAINS
from .errors import InputError
from .folds import fold_standard_error
from .moments.base import NotGathered, Quadratic, StandardisedGram
from .path import Progress, SparseAUCPath, find_paths
from .rules import Rule, choose, smooth_over_lengths
from .solvers.certificate import Certificate, certify
from .solvers.exchange import Solution, solve_on
from .solvers.restrictions import Restrictions
from .transforms import Transform, is_small, learn_transforms
from .utils.types import Array, Indices

# Largest number of values of the tables of all folds together, each transformed on its own.
_MOST_VALUES = 2**26


@dataclass(frozen=True, eq=False)
class ChosenList:
    """A list of columns, fitted to a quadratic.

    Attributes
    ----------
    coef : ndarray of shape (d,)
        Of all columns, on the original scale.
    objective : float
        Loss of coefficients of least loss on the same columns.
    quadratic : Quadratic
    scale : ndarray of shape (d,)
        Deviations by which columns were divided.
    restrictions : Restrictions
        Limits of the list, without required columns that can have no coefficient.
    """

    coef: npt.NDArray[Any]
    objective: float
    quadratic: Quadratic
    scale: Array
    restrictions: Restrictions

    @classmethod
    def of_solution(
        cls,
        solution: Solution,
        quadratic: Quadratic,
        scale: Array,
        restrictions: Restrictions,
        dtype: Any,
    ) -> Self:
        """Bring a solution to the original scale."""
        coef = np.zeros(scale.size)
        coef[solution.support] = solution.coef / scale[solution.support]
        coef = coef.astype(dtype, copy=False)
        # Coefficients too large for their type are refused where they are set.
        with np.errstate(over="ignore", invalid="ignore"):
            objective = quadratic.loss(coef)
        return cls(coef, objective, quadratic, scale, restrictions)


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
        solution = path.solutions[0][0]
        lost = restrictions.lost(solution.support, solution.coef)
        if lost.size == 0:
            return ChosenList.of_solution(solution, quadratic, path.scale, restrictions, dtype)
        restrictions = restrictions.without_fixed(lost)


def certify_list(
    known: ChosenList, k: int, alpha: float, time_limit: float
) -> tuple[Certificate, ChosenList]:
    """Bound the loss of all lists, and return the best list that is met."""
    quadratic = known.quadratic
    restrictions = known.restrictions
    gram = StandardisedGram(quadratic)
    support = np.flatnonzero(known.coef)
    try:
        start = solve_on(gram.block(support, support), gram.delta[support], support, alpha)
        while True:
            proof = certify(gram, start, k, alpha, restrictions=restrictions, time_limit=time_limit)
            lost = restrictions.lost(proof.solution.support, proof.solution.coef)
            if lost.size == 0:
                break
            restrictions = restrictions.without_fixed(lost)
    except NotGathered:
        raise InputError(
            "certify needs all columns of H, which are too many to be kept for rows that are "
            "read in chunks: choose among fewer columns"
        ) from None
    found = ChosenList.of_solution(
        proof.solution, quadratic, gram.scale, restrictions, known.coef.dtype
    )
    return proof, found


@dataclass(frozen=True)
class Procedure:
    """Settings of a choice by cross-validation.

    Attributes
    ----------
    rule : str or callable
        Chooses among the models that cross-validation has scored.
    clip, log
        As of ``SparseAUCClassifierCV``.
    kinds : tuple of str, optional
        Kinds of coefficients that are compared; of least loss alone without.
    smoothing : int
        How often mean scores are smoothed over lengths before models are compared.
    n_jobs, verbose
        As of ``SparseAUCClassifierCV``.
    """

    rule: str | Rule
    clip: Literal["auto"] | float | None
    log: Literal["auto"] | bool
    kinds: tuple[Kind, ...] | None = None
    smoothing: int = 0
    n_jobs: int | None = None
    verbose: int | Progress = 0


@dataclass(frozen=True, eq=False)
class Choice:
    """Model that cross-validation chose, fitted to all rows.

    Attributes
    ----------
    cv_results : dict of str to ndarray
        Scores of all models.
    index : int
        Of the model in ``cv_results``.
    k : int
        Number of columns, or of groups; with several budgets, those of the list.
    alpha, score : float
        Its ridge and its mean validation score.
    budget : float or None
        What the list may cost.
    path : SparseAUCPath
        The lists of all k on all rows, at the ridge chosen.
    chosen : ChosenList
        Its list and coefficients, on all rows.
    transform : Transform or None
        What is done to columns first.
    rounds : ndarray of shape (n, n_rounds)
        Score of each row by models fitted without it; NaN where a round has none.
    n_splits, n_repeats, score_error
        Of the cross-validation.
    """

    cv_results: dict[str, Any]
    index: int
    k: int
    alpha: float
    score: float
    budget: float | None
    path: SparseAUCPath
    chosen: ChosenList
    transform: Transform | None
    rounds: Array
    n_splits: int
    n_repeats: float
    score_error: float

    @property
    def out_of_fold_scores(self) -> Array:
        """Mean out-of-fold score of each row."""
        return mean_over_rounds(self.rounds)


def choose_by_validation(task: CVTask, how: Procedure) -> Choice:
    """Choose a model by cross-validation and fit it to all rows."""
    while True:
        tried = _try_transforms(task, how)
        found = tried.found
        alpha = float(tried.family.alphas[tried.place])
        path = found.path_at(alpha)
        solution = path.solutions[0][tried.place]
        restrictions = task.restrictions
        lost = restrictions.lost(solution.support, solution.coef)
        if lost.size == 0:
            break
        # Lists of the folds, too, are without required columns that can have no coefficient.
        task = replace(task, restrictions=restrictions.without_fixed(lost))
    chosen = ChosenList.of_solution(solution, found.quadratic, path.scale, restrictions, np.float64)
    if tried.family.kind == "logistic":
        coef = chosen.coef.copy()
        ridge = float(tried.family.ridges[tried.place])
        coef[solution.support] = found.logistic_coef(solution.support, ridge)
        chosen = replace(chosen, coef=coef)
    k = int(found.ks[tried.place])
    budget = None
    if restrictions.budgets is not None:
        budget = float(restrictions.budgets[tried.place])
        if np.unique(restrictions.budgets).size > 1:
            k = restrictions.count(np.flatnonzero(chosen.coef))
        chosen = replace(chosen, restrictions=replace(restrictions, budgets=np.array([budget])))
    return Choice(
        cv_results=tried.results,
        index=tried.index,
        k=k,
        alpha=alpha,
        score=float(tried.results["mean_test_score"][tried.index]),
        budget=budget,
        path=path,
        chosen=chosen,
        transform=None if tried.transforms is None else tried.transforms[-1],
        rounds=found.out_of_fold(tried.family, tried.place),
        n_splits=found.n_splits,
        n_repeats=task.plan.n_repeats,
        score_error=found.score_error,
    )


@dataclass(frozen=True, eq=False)
class _Tried:
    """Cross-validation, and the model that the rule chose."""

    transforms: list[Transform] | None  # of each split, then of all rows; None for none
    found: CVResult
    results: dict[str, Any]
    index: int
    family: Family
    place: int  # of the list on the path

    def gains(self, other: _Tried, least: float) -> bool:
        """Return whether the mean score is so many standard errors higher than that of the other.

        Of the first splits alone, if only these were tried.
        """
        scores = self.family.scores[:, self.place]
        gain = scores - other.family.scores[: scores.size, other.place]
        error = fold_standard_error(gain, self.found.folds.task.plan.n_repeats)
        return bool(gain.mean() > least * error)


def _try_transforms(task: CVTask, how: Procedure) -> _Tried:
    """Search with columns as they are, then logged and then clipped, as far as is to be tried.

    Where folds are repeated, what does not raise the mean score of the first ones ends there.
    """
    clip = None if how.clip == "auto" else how.clip
    log = how.log is True
    best = _try_transform(task, how, clip, log)
    assert best is not None
    first = replace(task, plan=task.plan.first_round())
    for name in _transforms_to_try(task, how):
        with_log = log or name == "log"
        with_clip = CLIP if name == "clip" else clip
        if first.plan is not task.plan:
            tried = _try_transform(first, how, with_clip, with_log, name)
            if tried is None or not tried.gains(best, 0.0):
                continue
        tried = _try_transform(task, how, with_clip, with_log, name)
        if tried is not None and tried.gains(best, LEAST_GAINS[name]):
            best = tried
            clip = with_clip
            log = with_log
    return best


def _transforms_to_try(task: CVTask, how: Procedure) -> list[str]:
    """Name the transforms that are tried by default; arrays alone are transformed."""
    X = task.X
    if not isinstance(X, np.ndarray):
        return []
    n_tables = len(task.plan.training) + 1
    small = is_small(*X.shape) and X.size <= _MOST_VALUES / n_tables
    asked = {"log": how.log, "clip": how.clip}
    return [name for name in LEAST_GAINS if small and asked[name] == "auto"]


def _try_transform(
    task: CVTask, how: Procedure, clip: float | None, log: bool, name: str = ""
) -> _Tried | None:
    """Cross-validate with transformed columns; None if what has a name changes no column."""
    transforms = None
    if clip is not None or log:
        _check_array(task.X, clip=clip, log=log)
        transforms = learn_transforms(
            task.X, task.plan.all_weights, clip=clip, log=log, heavy_only=how.clip == "auto"
        )
    if name and not any(one.logs if name == "log" else one.clips for one in transforms or []):
        return None
    found = cross_validate(
        task,
        transforms=transforms,
        logistic=how.kinds is not None and "logistic" in how.kinds,
        n_jobs=how.n_jobs,
        verbose=0 if callable(how.verbose) else max(0, how.verbose - 1),
        progress=how.verbose if callable(how.verbose) else None,
    )
    families = found.families
    if how.kinds is not None:
        families = [family for family in families if family.kind in how.kinds]
    results = _tabulate(found.ks, families, task, how)
    index = choose(how.rule, results)
    place, number = divmod(index, len(families))
    return _Tried(transforms, found, results, index, families[number], place)


def _check_array(X: Any, **asked: Any) -> None:
    """Refuse to transform tables whose columns are not at hand."""
    if isinstance(X, np.ndarray):
        return
    for name, given in asked.items():
        if given not in (None, False):
            raise InputError(
                f"{name}={given} needs quantiles of whole columns: give X as an array or a "
                f"data frame, or transform it beforehand and leave {name} out"
            )


def _tabulate(ks: Indices, families: list[Family], task: CVTask, how: Procedure) -> dict[str, Any]:
    """Tabulate the scores of all models, as ``GridSearchCV`` does.

    Models are by k first: among equals the first, of smallest k and then largest ridge, wins.
    """
    scores = np.stack([family.scores for family in families], axis=2)
    scores = scores.reshape(len(scores), -1)
    tried: dict[str, Any] = {
        "k": np.repeat(ks, len(families)),
        "alpha": np.stack([family.alphas for family in families], axis=1).ravel(),
    }
    if how.kinds is not None:
        kinds = np.array([family.kind for family in families], dtype=object)
        tried["coefficients"] = np.tile(kinds, ks.size)
    if task.restrictions.budgets is not None:
        tried["budget"] = np.repeat(task.restrictions.budgets[: ks.size], len(families))
    rows = zip(*(values.tolist() for values in tried.values()), strict=True)
    mean = scores.mean(axis=0)
    results: dict[str, Any] = {
        **{f"param_{name}": values for name, values in tried.items()},
        "params": [dict(zip(tried, row, strict=True)) for row in rows],
        **{f"split{i}_test_score": row for i, row in enumerate(scores)},
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=0),
        "standard_error_test_score": fold_standard_error(scores, task.plan.n_repeats),
        "rank_test_score": rankdata(-mean, method="min").astype(np.int32),
    }
    if families[-1].kind == "logistic":
        ridges = np.stack([family.ridges for family in families], axis=1)
        results["param_logistic_ridge"] = ridges.ravel()
    if how.smoothing:
        results["smooth_test_score"] = smooth_over_lengths(results, how.smoothing)
    return results
