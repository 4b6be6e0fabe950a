"""Base of the models whose number of columns and ridge are chosen by cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.utils._param_validation import Interval, StrOptions

from ..cross_validation import CVResult, cross_validate, mean_over_rounds
from ..defaults import ALPHAS, CLIP, LEAST_GAINS, LENGTHS, ROWS_FOR_LENGTHS, WIDE_ALPHAS
from ..errors import InputError
from ..limits import Limits, budgets_to_try
from ..metrics import fold_standard_error
from ..outcome import Outcome
from ..path.folds import SplitPlan
from ..path.path import Progress, check_lengths, whole_numbers
from ..path.rules import ChanceWarning, Rule, choose, score_by_others, smooth_over_lengths
from ..solvers.restrictions import Restrictions
from ..transforms import Transform, is_small, learn_transforms
from ..utils.types import Array, Indices
from ._exchange import ExchangeModel

# Largest number of values of the tables of all folds together, each transformed on its own.
_MOST_VALUES = 2**26


class _Choice(NamedTuple):
    """What the rule chose."""

    at: int  # place of the list on the path
    kind: str  # of its coefficients
    scores: Array  # validation score of each split
    attributes: dict[str, Any]  # fitted attributes that say so


@dataclass(frozen=True, eq=False)
class _Problem:
    """What is cross-validated."""

    X: Any
    outcome: Outcome
    plan: SplitPlan
    ks: Indices
    alphas: Array
    restrictions: Restrictions
    logistic: bool
    smoothing: int


@dataclass(frozen=True, eq=False)
class _Tried:
    """A cross-validation, and what the rule chose."""

    transforms: list[Transform] | None  # of each split, then of all rows; None for none
    found: CVResult
    choice: _Choice
    repeats: float

    def gains(self, other: _Tried, least: float) -> bool:
        """Whether the mean score is higher by so many standard errors than that of the other.

        Of the first splits alone, if only these were tried.
        """
        gain = self.choice.scores - other.choice.scores[: self.choice.scores.size]
        return bool(gain.mean() > least * fold_standard_error(gain, self.repeats))


@dataclass(kw_only=True, eq=False, repr=False)
class ValidatedList(ExchangeModel):
    """Base of models whose list is the best of a path by cross-validation.

    A subclass calls ``_choose_by_validation`` in its fit.
    """

    ks: Any = field(default=None, kw_only=False)
    alphas: Any = field(default=None, kw_only=False)
    cv: Any = None
    rule: Literal["best", "1se"] | Rule = "best"
    clip: Literal["auto"] | float | None = "auto"
    log: Literal["auto"] | bool = "auto"
    limits: Limits | None = None
    random_state: Any = 0
    n_jobs: int | None = None
    verbose: int | Progress = 0

    k_: int = field(init=False)
    alpha_: float = field(init=False)
    coefficients_: str = field(init=False)

    # What models are chosen by.
    _score_name: ClassVar[str] = "AUC"
    # Ridges of tables with fewer columns than rows, and of others.
    _default_alphas: ClassVar[tuple[Sequence[float], Sequence[float]]] = ALPHAS, WIDE_ALPHAS

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ExchangeModel._parameter_constraints,
        "ks": ["array-like", None],
        "alphas": ["array-like", None],
        "cv": ["cv_object"],
        "rule": [StrOptions({"best", "1se"}), callable],
        "clip": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="neither"), None],
        "log": [StrOptions({"auto"}), "boolean"],
        "random_state": ["random_state"],
        "n_jobs": [Interval(Integral, None, None, closed="neither"), None],
        "verbose": ["verbose", callable],
    }

    def _choose_by_validation(
        self,
        X: Any,
        outcome: Outcome,
        plan: SplitPlan,
        *,
        logistic: bool = False,
        n_informative: int | None = None,
        smoothing: int = 0,
    ) -> tuple[CVResult, Array, Array]:
        """Choose k, ridge, columns and coefficients; set all that says so but ``coef_``.

        Returns the search, coefficients, and out-of-fold scores of each round, (n, n_rounds).
        Lists are as long as ``n_informative`` rows allow by default, all of them unless given.
        Mean scores are smoothed over lengths before models are compared, ``smoothing`` times.
        """
        n, d = X.shape
        given = self.alphas
        if given is None:
            given = self._default_alphas[d >= n]
        alphas = np.unique(np.asarray(given, np.float64))
        if alphas.size == 0 or not (alphas[0] >= 0 and np.isfinite(alphas[-1])):
            raise InputError(f"alphas must be finite numbers of 0 or more, got {self.alphas}")
        ks, restrictions = self._path_points(n if n_informative is None else n_informative, d)

        while True:
            tried = self._validate(
                _Problem(X, outcome, plan, ks, alphas, restrictions, logistic, smoothing)
            )
            transforms, found, choice = tried.transforms, tried.found, tried.choice
            at_alpha = int(np.flatnonzero(alphas == choice.attributes["alpha_"])[0])
            self.path_ = found.path_at(at_alpha)
            solution = self.path_.solutions[0][choice.at]
            lost = np.setdiff1d(restrictions.fixed, solution.support)
            if lost.size == 0:
                break
            # Lists of the folds, too, are without required columns that can have no coefficient.
            restrictions = restrictions.without_fixed(lost)
        self.clip_limits_ = self.log_offsets_ = None
        if transforms is not None:
            if transforms[-1].changed.size:
                self.clip_limits_ = transforms[-1].limits
            if transforms[-1].logs:
                self.log_offsets_ = transforms[-1].offsets
        for name, value in choice.attributes.items():
            setattr(self, name, value)
        at = choice.at
        refitted = choice.kind == "logistic"
        rounds = found.out_of_fold(None if refitted else at_alpha, at)
        self.out_of_fold_scores_ = mean_over_rounds(rounds)
        coef = self.path_.coef_of(solution)
        self.objective_ = found.quadratic.loss(coef)
        if refitted:
            ridge = self.cv_results_["param_logistic_ridge"][self.best_index_]
            coef[solution.support] = found.logistic_coef(solution.support, ridge)
        if restrictions.budgets is not None:
            self.budget_ = float(restrictions.budgets[at])
            if np.unique(restrictions.budgets).size > 1:
                self.k_ = restrictions.count(np.flatnonzero(coef))
        self._set_list(coef, restrictions)
        self.scale_ = self.path_.scale
        return found, coef.astype(X.dtype, copy=False), rounds

    def _report_choice(self, chance: float, smoothing: int) -> None:
        """Print the choice if verbose, and warn if it is not better than chance.

        ``chance`` is the standard error of the score of a list that says nothing.
        """
        name = self._score_name
        if self.verbose and not callable(self.verbose):
            cost = f", costs {self.cost_:g}" if hasattr(self, "cost_") else ""
            kind = f", {self.coefficients_} coefficients" if hasattr(self, "coefficients_") else ""
            print(
                f"k = {self.k_}{cost}, alpha = {self.alpha_:g}{kind}: mean validation {name} "
                f"{self.best_score_:.4f} over {self.n_splits_} folds, "
                f"{len(self.cv_results_['params'])} models each"
            )
        mean, error = score_by_others(self.rule, self.cv_results_, self.n_repeats_, smoothing)
        # Of few folds the standard error is uncertain itself; that of chance is known.
        half = 1.96 * max(error, chance)
        low, high = mean - half, min(mean + half, 1.0)
        if low <= 0.5:
            warnings.warn(
                f"the list may be no better than chance: its {name} on folds that were not used "
                f"for the choice is {mean:.2f}, and the 95 % CI, {max(low, 0.0):.2f} to "
                f"{high:.2f}, includes 0.5",
                ChanceWarning,
                stacklevel=5,
            )

    def _validate(self, problem: _Problem) -> _Tried:
        """Search with columns as they are, then logged and then clipped, as far as is to be tried.

        Where folds are repeated, what does not raise the mean score of the first ones ends there.
        """
        plan = problem.plan
        names = self._transforms_to_try(problem.X, len(plan.training) + 1)
        clip = None if self.clip == "auto" else self.clip
        log = self.log is True
        best = self._try_transform(problem, plan, clip, log)
        assert best is not None
        first = plan.first_round()
        for name in names:
            with_log = log or name == "log"
            with_clip = CLIP if name == "clip" else clip
            # What does not raise the mean score of the first folds is not tried on the others.
            if first is not plan:
                tried = self._try_transform(problem, first, with_clip, with_log, name)
                if tried is None or not tried.gains(best, 0.0):
                    continue
            tried = self._try_transform(problem, plan, with_clip, with_log, name)
            if tried is not None and tried.gains(best, LEAST_GAINS[name]):
                best = tried
                clip = with_clip
                log = with_log
        return best

    def _try_transform(
        self,
        problem: _Problem,
        plan: SplitPlan,
        clip: float | None,
        log: bool,
        name: str = "",
    ) -> _Tried | None:
        """Cross-validate with transformed columns; None if what has a name changes no column."""
        transforms = None
        if clip is not None or log:
            weights = [*map(plan.training_weights, range(len(plan.training))), plan.weight]
            transforms = learn_transforms(
                problem.X, weights, clip=clip, log=log, heavy_only=self.clip == "auto"
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
            logistic=problem.logistic,
            n_jobs=self.n_jobs,
            verbose=0 if callable(self.verbose) else max(0, self.verbose - 1),
            progress=self.verbose if callable(self.verbose) else None,
        )
        choice = self._choose(
            problem.ks,
            problem.restrictions.budgets,
            problem.alphas,
            found,
            plan.n_repeats,
            problem.smoothing,
        )
        return _Tried(transforms, found, choice, plan.n_repeats)

    def _transforms_to_try(self, X: Any, n_tables: int) -> list[str]:
        """Name the transforms that are tried by default; arrays alone are transformed."""
        if isinstance(X, np.ndarray):
            small = is_small(*X.shape) and X.size <= _MOST_VALUES / n_tables
            return [name for name in LEAST_GAINS if small and getattr(self, name) == "auto"]
        for name, given in (("clip", self.clip), ("log", self.log)):
            if given not in ("auto", None, False):
                raise InputError(
                    f"{name}={given} needs quantiles of whole columns: give X as an array or a "
                    f"data frame, or transform it beforehand and leave {name} out"
                )
        return []

    def _path_points(self, n: int, d: int) -> tuple[Indices, Restrictions]:
        """Values of k to try, and restrictions with a budget for each if there are any.

        Values ascend, without those there are too few columns for.
        """
        budgets = None if self.limits is None else self.limits.budgets
        restrictions = self._restrict(budgets)
        if self.ks is None:
            ks = LENGTHS[max(n, ROWS_FOR_LENGTHS[0]) >= ROWS_FOR_LENGTHS]
            asked = 0
        else:
            ks = whole_numbers(self.ks, "ks")
            asked = int(ks.max(initial=0))
        n_fixed, available = self._size_bounds(restrictions, asked)
        if self.ks is None:
            if restrictions.groups is not None:  # a group takes the rows of its columns, on average
                ks = ks[ks <= max(1, ks[-1] * np.unique(restrictions.groups).size // d)]
            smallest = max(1, n_fixed)
            ks = np.unique(np.clip(ks, smallest, max(smallest, available)))
        else:
            if available < asked:
                few_enough = ks[ks <= available]
                ks = few_enough if few_enough.size else np.array([available])
            check_lengths(ks, d, restrictions)
        if budgets is None:
            return ks, restrictions
        if budgets.size == 1 and self.ks is None:
            budgets = budgets_to_try(float(budgets[0]), restrictions, d)
        if budgets.size > 1:
            ks = ks[-1:]
        ks, budgets = np.broadcast_arrays(ks, budgets)
        return ks, replace(restrictions, budgets=budgets)

    def _choose(
        self, ks: Indices, budgets: Array | None, alphas: Array, found: CVResult,
        repeats: float, smoothing: int,
    ) -> _Choice:  # fmt: skip
        """Choose by the rule."""
        ks = found.ks
        budgets = None if budgets is None else budgets[: ks.size]
        # Kinds of coefficients, their validation scores, (n_splits, n_ks), and ridges of the lists.
        kinds, by_kind, ridges = [], [], []
        if getattr(self, "coefficients", "auc") != "logistic":
            for a in np.argsort(-alphas).tolist():
                kinds.append("auc")
                by_kind.append(found.scores[:, a])
                ridges.append(np.full(ks.size, alphas[a]))
        if found.logistic_scores is not None:
            kinds.append("logistic")
            by_kind.append(found.logistic_scores)
            ridges.append(alphas[found.best_alphas])
        # Models by k first: among equals the first, of smallest k and then largest ridge, wins.
        scores = np.stack(by_kind, axis=2).reshape(len(found.scores), -1)
        tried: dict[str, Any] = {
            "k": np.repeat(ks, len(kinds)),
            "alpha": np.stack(ridges, axis=1).ravel(),
        }
        of_kinds = np.tile(np.array(kinds, dtype=object), ks.size)
        names_kinds = hasattr(self, "coefficients")
        if names_kinds:
            tried["coefficients"] = of_kinds
        if budgets is not None:
            tried["budget"] = np.repeat(budgets, len(kinds))
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
        if smoothing:
            results["smooth_test_score"] = smooth_over_lengths(results, smoothing)
        best = choose(self.rule, results)
        attributes = {
            "cv_results_": results,
            "n_splits_": len(scores),
            "n_repeats_": repeats,
            "best_index_": best,
            "best_score_": float(mean[best]),
            "k_": int(tried["k"][best]),
            "alpha_": float(tried["alpha"][best]),
        }
        kind = str(of_kinds[best])
        if names_kinds:
            attributes["coefficients_"] = kind
        return _Choice(best // len(kinds), kind, scores[:, best], attributes)
