"""Choosing k, ridge, columns and coefficients by cross-validation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.stats import rankdata

from .cross_validation import CVResult, cross_validate, mean_over_rounds
from .defaults import CLIP, LEAST_GAINS
from .errors import InputError
from .moments.base import Quadratic
from .outcome import Outcome
from .path.folds import SplitPlan, fold_standard_error
from .path.path import Progress, SparseAUCPath
from .path.rules import Rule, choose, smooth_over_lengths
from .solvers.restrictions import Restrictions
from .transforms import Transform, is_small, learn_transforms
from .utils.types import Array, Indices

# Largest number of values of the tables of all folds together, each transformed on its own.
_MOST_VALUES = 2**26

Kind = Literal["auc", "logistic"]


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
class Problem:
    """Rows, their division into folds, and the models that are tried.

    ``ks`` and ``alphas`` ascend; with budgets, ``restrictions`` have one for each k.
    """

    X: Any
    outcome: Outcome
    plan: SplitPlan
    ks: Indices
    alphas: Array
    restrictions: Restrictions


@dataclass(frozen=True, eq=False)
class Choice:
    """Model that cross-validation chose, fitted to all rows.

    Attributes
    ----------
    cv_results : dict of str to ndarray
        Scores of all models.
    index : int
        Of the model in ``cv_results``.
    path : SparseAUCPath
        The lists of all k on all rows, at the ridge chosen.
    coef : ndarray of shape (d,)
        Coefficients on all rows.
    objective : float
        Loss of coefficients of least loss on the same columns.
    quadratic : Quadratic
        Of all rows.
    transform : Transform or None
        What is done to columns first.
    rounds : ndarray of shape (n, n_rounds)
        Score of each row by models fitted without it; NaN where a round has none.
    budget : float or None
        What the list may cost.
    restrictions : Restrictions
        Those of the problem, without required columns that can have no coefficient.
    n_splits, n_repeats, score_error
        Of the cross-validation.
    """

    cv_results: dict[str, Any]
    index: int
    path: SparseAUCPath
    coef: Array
    objective: float
    quadratic: Quadratic
    transform: Transform | None
    rounds: Array
    budget: float | None
    restrictions: Restrictions
    n_splits: int
    n_repeats: float
    score_error: float

    @property
    def score(self) -> float:
        """Mean validation score."""
        return float(self.cv_results["mean_test_score"][self.index])

    @property
    def k(self) -> int:
        """Number of columns, or of groups; with several budgets, those of the list."""
        budgets = self.restrictions.budgets
        if budgets is not None and np.unique(budgets).size > 1:
            return self.restrictions.count(np.flatnonzero(self.coef))
        return int(self.cv_results["param_k"][self.index])

    @property
    def alpha(self) -> float:
        """The ridge."""
        return float(self.cv_results["param_alpha"][self.index])

    @property
    def out_of_fold_scores(self) -> Array:
        """Mean out-of-fold score of each row."""
        return mean_over_rounds(self.rounds)


def choose_by_validation(problem: Problem, how: Procedure) -> Choice:
    """Choose a model by cross-validation and fit it to all rows."""
    while True:
        tried = _try_transforms(problem, how)
        found = tried.found
        alpha = tried.results["param_alpha"][tried.index]
        at_alpha = int(np.flatnonzero(problem.alphas == alpha)[0])
        path = found.path_at(at_alpha)
        solution = path.solutions[0][tried.place]
        restrictions = problem.restrictions
        lost = np.setdiff1d(restrictions.fixed, solution.support)
        if lost.size == 0:
            break
        # Lists of the folds, too, are without required columns that can have no coefficient.
        problem = replace(problem, restrictions=restrictions.without_fixed(lost))
    coef = path.coef_of(solution)
    objective = found.quadratic.loss(coef)
    if tried.kind == "logistic":
        ridge = tried.results["param_logistic_ridge"][tried.index]
        coef[solution.support] = found.logistic_coef(solution.support, ridge)
        at_alpha = -1
    budgets = restrictions.budgets
    return Choice(
        cv_results=tried.results,
        index=tried.index,
        path=path,
        coef=coef,
        objective=objective,
        quadratic=found.quadratic,
        transform=None if tried.transforms is None else tried.transforms[-1],
        rounds=found.out_of_fold(None if at_alpha < 0 else at_alpha, tried.place),
        budget=None if budgets is None else float(budgets[tried.place]),
        restrictions=restrictions,
        n_splits=len(found.scores),
        n_repeats=tried.repeats,
        score_error=found.score_error,
    )


@dataclass(frozen=True, eq=False)
class _Tried:
    """Cross-validation, and the model that the rule chose."""

    transforms: list[Transform] | None  # of each split, then of all rows; None for none
    found: CVResult
    repeats: float
    results: dict[str, Any]
    index: int
    place: int  # of the list on the path
    kind: Kind

    @property
    def scores(self) -> Array:
        """Score of the chosen model in each split."""
        n_splits = len(self.found.scores)
        return np.array([self.results[f"split{i}_test_score"][self.index] for i in range(n_splits)])

    def gains(self, other: _Tried, least: float) -> bool:
        """Return whether the mean score is so many standard errors higher than that of the other.

        Of the first splits alone, if only these were tried.
        """
        gain = self.scores - other.scores[: len(self.found.scores)]
        return bool(gain.mean() > least * fold_standard_error(gain, self.repeats))


def _try_transforms(problem: Problem, how: Procedure) -> _Tried:
    """Search with columns as they are, then logged and then clipped, as far as is to be tried.

    Where folds are repeated, what does not raise the mean score of the first ones ends there.
    """
    plan = problem.plan
    names = _transforms_to_try(problem.X, how, len(plan.training) + 1)
    clip = None if how.clip == "auto" else how.clip
    log = how.log is True
    best = _try_transform(problem, how, clip, log)
    assert best is not None
    first = replace(problem, plan=plan.first_round())
    for name in names:
        with_log = log or name == "log"
        with_clip = CLIP if name == "clip" else clip
        if first.plan is not plan:
            tried = _try_transform(first, how, with_clip, with_log, name)
            if tried is None or not tried.gains(best, 0.0):
                continue
        tried = _try_transform(problem, how, with_clip, with_log, name)
        if tried is not None and tried.gains(best, LEAST_GAINS[name]):
            best = tried
            clip = with_clip
            log = with_log
    return best


def _transforms_to_try(X: Any, how: Procedure, n_tables: int) -> list[str]:
    """Name the transforms that are tried by default; arrays alone are transformed."""
    asked = {"log": how.log, "clip": how.clip}
    if isinstance(X, np.ndarray):
        small = is_small(*X.shape) and X.size <= _MOST_VALUES / n_tables
        return [name for name in LEAST_GAINS if small and asked[name] == "auto"]
    for name, given in asked.items():
        if given not in ("auto", None, False):
            raise InputError(
                f"{name}={given} needs quantiles of whole columns: give X as an array or a "
                f"data frame, or transform it beforehand and leave {name} out"
            )
    return []


def _try_transform(
    problem: Problem, how: Procedure, clip: float | None, log: bool, name: str = ""
) -> _Tried | None:
    """Cross-validate with transformed columns; None if what has a name changes no column."""
    plan = problem.plan
    transforms = None
    if clip is not None or log:
        weights = [*map(plan.training_weights, range(len(plan.training))), plan.weight]
        transforms = learn_transforms(
            problem.X, weights, clip=clip, log=log, heavy_only=how.clip == "auto"
        )
    if name and not any(one.logs if name == "log" else one.clips for one in transforms or []):
        return None
    found = cross_validate(
        problem.X,
        problem.outcome,
        plan,
        problem.ks,
        problem.alphas,
        problem.restrictions,
        transforms=transforms,
        logistic=how.kinds is not None and "logistic" in how.kinds,
        n_jobs=how.n_jobs,
        verbose=0 if callable(how.verbose) else max(0, how.verbose - 1),
        progress=how.verbose if callable(how.verbose) else None,
    )
    results, kinds = _tabulate(found, how, plan.n_repeats, problem.restrictions.budgets)
    index = choose(how.rule, results)
    place, at_kind = divmod(index, len(kinds))
    return _Tried(transforms, found, plan.n_repeats, results, index, place, kinds[at_kind])


def _tabulate(
    found: CVResult, how: Procedure, repeats: float, budgets: Array | None
) -> tuple[dict[str, Any], list[Kind]]:
    """Tabulate the scores of all models, as ``GridSearchCV`` does.

    Models are by k first: among equals the first, of smallest k and then largest ridge, wins.
    Returns the table, and the kinds of coefficients of the models of one k.
    """
    ks = found.ks
    alphas = found.alphas
    kinds: list[Kind] = []
    scores_by_kind = []
    ridges = []
    if how.kinds is None or "auc" in how.kinds:
        for a in range(alphas.size)[::-1]:
            kinds.append("auc")
            scores_by_kind.append(found.scores[:, a])
            ridges.append(np.full(ks.size, alphas[a]))
    if found.logistic_scores is not None:
        kinds.append("logistic")
        scores_by_kind.append(found.logistic_scores)
        ridges.append(alphas[found.best_alphas])
    scores = np.stack(scores_by_kind, axis=2).reshape(len(found.scores), -1)
    tried: dict[str, Any] = {
        "k": np.repeat(ks, len(kinds)),
        "alpha": np.stack(ridges, axis=1).ravel(),
    }
    of_kinds = np.tile(np.array(kinds, dtype=object), ks.size)
    if how.kinds is not None:
        tried["coefficients"] = of_kinds
    if budgets is not None:
        tried["budget"] = np.repeat(budgets[: ks.size], len(kinds))
    rows = zip(*(values.tolist() for values in tried.values()), strict=True)
    mean = scores.mean(axis=0)
    results: dict[str, Any] = {
        **{f"param_{name}": values for name, values in tried.items()},
        "params": [dict(zip(tried, row, strict=True)) for row in rows],
        **{f"split{i}_test_score": row for i, row in enumerate(scores)},
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=0),
        "standard_error_test_score": fold_standard_error(scores, repeats),
        "rank_test_score": rankdata(-mean, method="min").astype(np.int32),
    }
    if found.logistic_ridges is not None:
        own = np.repeat(found.logistic_ridges, len(kinds))
        results["param_logistic_ridge"] = np.where(of_kinds == "logistic", own, np.nan)
    if how.smoothing:
        results["smooth_test_score"] = smooth_over_lengths(results, how.smoothing)
    return results, kinds
