"""SparseAUCClassifierCV: k, the ridge and the coefficients chosen by cross-validated AUC."""

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from .._clipping import DEFAULT_CLIP, clip_columns, clip_limits
from .._moved import moved_parameters
from ..chunks import Chunks
from ..curves import fit_calibration
from ..limits import MOVED, Limits, budgets_to_try
from ..metrics import fold_standard_error
from ..moments import Moments
from ..objective import Array, Floats, Indices
from ..path.cross_validation import CrossValidation
from ..path.folds import SplitPlan, check_splits, make_splits
from ..path.path import (
    DEFAULT_ALPHAS,
    WIDE_ALPHAS,
    SparseAUCPath,
    check_lengths,
    whole_numbers,
)
from ..path.rules import ChanceWarning, Rule, choose, score_by_others
from ..path.targets import ClassTarget
from ..solvers.restrictions import Restrictions
from ..strata import Weighting
from ._base import names_columns
from ._exchange import ExchangeClassifier

# Values of k tried by default, and the rows that lists so long must have.
_SIZES = np.append(np.arange(1, 51), [55, 60, 65, 70, 80, 90, 100])
_ROWS = np.where(_SIZES <= 24, 2.5, 5.0) * _SIZES
# Largest size of X (rows × columns) for which logistic coefficients and clipping are tried by
# default.
_SMALL = 2**22


class _Choice(NamedTuple):
    """What the rule chose."""

    at: int  # place of the list on the path
    aucs: Array  # validation AUC of each split
    attributes: dict[str, Any]  # fitted attributes that say so


class SparseAUCClassifierCV(ExchangeClassifier):
    """Rank positives above negatives with few columns, their number chosen by cross-validation.

    For every training fold the whole path over k and ridges is computed from class moments, and
    every model is scored by its AUC on the validation fold. Scaling, columns and coefficients are
    based on training rows only.

    Parameters
    ----------
    ks : array-like of int, optional
        Values of k to try. By default 1 … 50 and some up to 100, if there are 5 rows for each
        column (2.5 up to 24 columns). Values above the number of columns are left out, with a
        warning.
    alphas : array-like of float, optional
        Ridges to try, on the standardised scale. By default 0.01, 1 and 100 if there are more
        rows than columns, otherwise 0.01, 0.1, 10 and 1000. Large ridges choose by difference of
        means.
    cv : int, splitter or iterable, optional
        As in scikit-learn; an int is the number of stratified folds. By default five folds,
        repeated up to five times until two hundred rows of the rarer class have been validated.
    rule : {"best", "1se"} or callable, default="best"
        "best": the fewest columns with a mean AUC within 0.002 of the highest. "1se": the fewest
        columns with a mean AUC within one standard error of the highest (or within 0.005, if that
        is more). A callable takes ``cv_results_`` and returns the index of the model, as for
        ``GridSearchCV(refit=…)``.
    coefficients : {"auto", "auc", "logistic"}, default="auto"
        "auc": coefficients that minimise the squared pairwise loss. "logistic": a logistic
        regression on the chosen columns, which is less sensitive to extreme values. "auto":
        cross-validation compares both if there are more rows than columns and at most four million
        values; otherwise "auc". With strata, the regression has an intercept for each.
    clip : "auto", float or None, default="auto"
        Share of the rows whose values are clipped at each end of a column: with 0.05, values beyond
        the 5 % and 95 % quantiles count as these, in ``fit`` and in ``decision_function``, so that
        extreme values and wrong ones have little influence. "auto": 0.05 for columns with heavy
        tails (a range of more than three times that between these quantiles), if that raises the
        mean validation AUC by more than one standard error; it is tried on arrays with more rows
        than columns and at most four million values. Quantiles are those of all rows passed to
        ``fit``.
    limits : Limits, optional
        Limits on the list, as for :class:`SparseAUCClassifier`; signs hold for logistic
        coefficients too. Among several budgets, or among up to 20 up to a single one,
        cross-validation chooses; lists then have at most ``max(ks)`` columns. With a single budget
        and ``ks``, it chooses k, and every list keeps to the budget.
    random_state : int, RandomState instance or None, default=0
        Seed of the default folds.
    n_jobs : int, optional
        Number of folds in parallel, in threads. The result does not depend on it.
    device : str or None, default=None
        As for :class:`SparseAUCClassifier`.
    verbose : int, default=0
        Above 0, a line when done; above 1, joblib's progress over the folds.

    Attributes
    ----------
    k_, alpha_, coefficients_ : int, float, str
        The chosen values. With budgets, ``k_`` is the length of the list.
    budget_ : float
        With a budget: the chosen one.
    best_score_ : float
        Mean validation AUC of the chosen model. It is optimistic, as the best of many: use nested
        cross-validation (:func:`sparseauc.selection.nested_scores`) for an unbiased estimate.
    best_index_ : int
        Index of the chosen model in ``cv_results_``.
    cv_results_ : dict of str to ndarray
        As in ``GridSearchCV``: ``param_k``, ``param_alpha``, ``params``,
        ``param_coefficients``, ``split0_test_score`` …, ``mean_test_score``, ``std_test_score``,
        ``standard_error_test_score`` and ``rank_test_score``; with a budget, ``param_budget``.
        Logistic coefficients are tried on the lists of each k at its best ridge, with the best of
        four ridges of their own there, ``param_logistic_ridge``.
    out_of_fold_scores_ : ndarray of shape (n,)
        Score of each row by the chosen model fitted without its fold; the mean over repeats, NaN if
        a row is never validated.
    clip_limits_ : ndarray of shape (2, n_features_in_) or None
        Limits of each column, infinite if it is not clipped; None if no column is.
    calibration_ : dict
        Platt scaling: ``slope`` and ``intercept`` of a logistic regression on
        ``out_of_fold_scores_``, with ``n_positive`` and ``n_negative``, the rows it is based on.
    path_ : SparseAUCPath
        The lists of all k on all rows, at ``alpha_``.
    n_splits_ : int
    n_repeats_ : float
        Mean number of times that a row was validated, at least 1.
    auc_error_ : float
        Bound on the error of validation AUCs, if rows were read in chunks; 0 unless the rarer class
        has very many rows.
    coef_, intercept_, classes_, objective_, scale_, cost_, not_included_
        As for :class:`SparseAUCClassifier`.
    n_strata_, stratum_weights_, n_passes_
        As for :class:`SparseAUCClassifier`.
    n_features_in_, feature_names_in_
        As for :class:`SparseAUCClassifier`.

    Examples
    --------
    >>> from sparseauc import SparseAUCClassifierCV
    >>> from sparseauc.datasets import make_outbreak
    >>> X, y = make_outbreak(n=1000, d=100, k=5, mu=1.0, random_state=0)
    >>> model = SparseAUCClassifierCV(ks=range(1, 16), rule="1se").fit(X, y)
    >>> model.k_ <= 5
    True
    """

    _calibrates = True
    k_: int
    alpha_: float
    coefficients_: str

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ExchangeClassifier._parameter_constraints,
        "ks": ["array-like", None],
        "alphas": ["array-like", None],
        "cv": ["cv_object"],
        "rule": [StrOptions({"best", "1se"}), callable],
        "coefficients": [StrOptions({"auto", "auc", "logistic"})],
        "clip": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="neither"), None],
        "random_state": ["random_state"],
        "n_jobs": [Interval(Integral, None, None, closed="neither"), None],
        "verbose": ["verbose"],
    }

    @moved_parameters(
        **MOVED,
        stratum_weights="fit(..., strata=..., stratum_weights=...)",
        points="sparseauc.selection.point_score(model, X, y)",
    )
    def __init__(
        self,
        ks: Any = None,
        alphas: Any = None,
        *,
        cv: Any = None,
        rule: Literal["best", "1se"] | Rule = "best",
        coefficients: Literal["auto", "auc", "logistic"] = "auto",
        clip: Literal["auto"] | float | None = "auto",
        limits: Limits | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        device: str | None = None,
        verbose: int = 0,
    ) -> None:
        self.ks = ks
        self.alphas = alphas
        self.cv = cv
        self.rule = rule
        self.coefficients = coefficients
        self.clip = clip
        self.limits = limits
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @names_columns
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        strata: Any = None,
        stratum_weights: Weighting = "pairs",
    ) -> Self:
        """Choose k and the ridge, then columns and coefficients on all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Or rows read in chunks, as for :class:`SparseAUCClassifier`; splitters then get labels
            and groups only.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Weights for fitting and validation.
        groups : array-like of shape (n,), optional
            For splitters that keep groups together, such as ``StratifiedGroupKFold``.
        strata : array-like of shape (n,), optional
            Site, batch, donor or matched set of each row: only pairs of one stratum count, in
            fitting and in validation, where the AUC is the mean of those within strata. Default
            folds hold rows of every stratum; where most strata are too small for that, they keep
            strata whole, as splitters that keep groups together do (``LeaveOneGroupOut`` for sites
            that are new).
        stratum_weights : {"pairs", "equal"}, default="pairs"
            Weight of each stratum: its number of pairs, or the same for all.

        Returns
        -------
        self
        """
        X, positive, weight = self._check_training_data(X, y, sample_weight)
        divided = self._check_strata(strata, stratum_weights, X, positive, weight)
        d = X.shape[1]
        given = self.alphas
        if given is None:
            given = DEFAULT_ALPHAS if d < X.shape[0] else WIDE_ALPHAS
        alphas = np.unique(np.asarray(given, np.float64))
        if alphas.size == 0 or not (alphas[0] >= 0 and np.isfinite(alphas[-1])):
            raise ValueError(f"alphas must be finite numbers of 0 or more, got {self.alphas}")
        ks, restrictions = self._path_points(X.shape[0], d)
        tries_logistic = self.coefficients == "logistic" or (
            self.coefficients == "auto" and d < X.shape[0] <= _SMALL // d
        )
        chunked = isinstance(X, Chunks)
        # Splitters of rows that are read in chunks see labels and groups only.
        seen = positive if chunked else X
        splits = make_splits(self.cv, seen, positive, groups, divided, self.random_state)
        check_splits(splits, positive, weight, divided)
        plan = SplitPlan.from_splits(splits, positive.size, weight, divided)

        def search(table: Any) -> tuple[CrossValidation, _Choice]:
            found = CrossValidation(
                table, ClassTarget(positive), plan, ks, alphas, restrictions,
                logistic=tries_logistic, n_jobs=self.n_jobs, verbose=max(0, self.verbose - 1),
            )  # fmt: skip
            return found, self._choose(ks, restrictions.budgets, alphas, found, plan.n_repeats)

        limits = self._clip_limits(X, weight)
        if limits is not None and self.clip != "auto":
            X = clip_columns(X, limits)
        found, choice = search(X)
        if limits is not None and self.clip == "auto":
            clipped = clip_columns(X, limits)
            other, rival = search(clipped)
            gain = rival.aucs - choice.aucs
            if gain.mean() > fold_standard_error(gain, plan.n_repeats):
                X, found, choice = clipped, other, rival
            else:
                limits = None
        self.clip_limits_ = limits
        for name, value in choice.attributes.items():
            setattr(self, name, value)
        at = choice.at
        at_alpha = int(np.flatnonzero(alphas == self.alpha_)[0])
        logistic = self.coefficients_ == "logistic"
        self.out_of_fold_scores_ = found.out_of_fold(None if logistic else at_alpha, at)
        self.calibration_ = fit_calibration(self.out_of_fold_scores_, positive, weight)

        def search_all_rows(within: Restrictions) -> tuple[SparseAUCPath, Indices]:
            path = found.path_at(at_alpha, within)
            return path, path.solutions[0][at].support

        self.path_, restrictions = self._search_required(restrictions, search_all_rows)
        (solutions,) = self.path_.solutions
        support = solutions[at].support
        coef = np.zeros(d)
        coef[support] = solutions[at].coef / self.path_.scale[support]
        self.objective_ = found.moments.loss(coef)
        if logistic:
            ridge = self.cv_results_["param_logistic_ridge"][self.best_index_]
            coef[support] = found.logistic_coef(support, ridge)
        if restrictions.budgets is not None:
            self.budget_ = float(restrictions.budgets[at])
            if np.unique(restrictions.budgets).size > 1:
                self.k_ = int(np.count_nonzero(coef))
        self._set_list(coef, restrictions)
        coef = coef.astype(X.dtype, copy=False)
        self.scale_ = self.path_.scale
        if chunked:
            self.auc_error_ = found.score_error
            self.n_passes_ = X.n_passes
        self._report_choice()
        moments = found.moments
        assert isinstance(moments, Moments)
        return self._set_fitted(coef, *(mean.astype(coef.dtype) for mean in moments.means))

    def _report_choice(self) -> None:
        """Print the choice if verbose, and warn if it is not better than chance."""
        if self.verbose:
            price = f", costs {self.cost_:g}" if hasattr(self, "cost_") else ""
            print(
                f"k = {self.k_}{price}, alpha = {self.alpha_:g}, {self.coefficients_} "
                f"coefficients: mean validation AUC {self.best_score_:.4f} over {self.n_splits_} "
                f"folds, {len(self.cv_results_['params'])} models each"
            )
        mean, error = score_by_others(self.rule, self.cv_results_, self.n_repeats_)
        # Of few folds the standard error is uncertain itself; that of chance is known.
        n_positive, n_negative = (
            self.calibration_[f"n_{side}"] for side in ("positive", "negative")
        )
        chance = np.sqrt((n_positive + n_negative + 1) / (12 * n_positive * n_negative))
        half = 1.96 * max(error, float(chance))
        low, high = mean - half, min(mean + half, 1.0)
        if low <= 0.5:
            warnings.warn(
                f"the list may be no better than chance: its AUC on folds that were not used for "
                f"the choice is {mean:.2f}, and the 95 % interval, {max(low, 0.0):.2f} to "
                f"{high:.2f}, includes 0.5",
                ChanceWarning,
                stacklevel=5,
            )

    def _clip_limits(self, X: Any, weight: Array | None) -> Floats | None:
        """Limits at which columns are clipped, or may be; None if none is."""
        if self.clip is None:
            return None
        dense = isinstance(X, np.ndarray)
        if self.clip == "auto":
            small = dense and X.shape[1] < X.shape[0] <= _SMALL // X.shape[1]
            if not small:
                return None
            return clip_limits(X, DEFAULT_CLIP, weight, heavy_only=True)
        if not dense:
            raise ValueError(
                f"clip={self.clip} needs quantiles of whole columns: give X as an array or a data "
                "frame, or clip it beforehand and set clip=None"
            )
        return clip_limits(X, float(self.clip), weight)

    def _path_points(self, n: int, d: int) -> tuple[Indices, Restrictions]:
        """Values of k to try, and restrictions with a budget for each if there are any."""
        budgets = self._given_limits.budgets
        restrictions = self._restrict(budgets)
        ks = self._sizes_to_try(n, d, restrictions)
        if budgets is None:
            return ks, restrictions
        if budgets.size == 1 and self.ks is None:
            budgets = budgets_to_try(float(budgets[0]), restrictions, d)
        if budgets.size > 1:
            ks = ks[-1:]
        ks, budgets = np.broadcast_arrays(ks, budgets)
        return ks, replace(restrictions, budgets=budgets)

    def _sizes_to_try(self, n: int, d: int, restrictions: Restrictions) -> Indices:
        """Numbers of columns, ascending, without those there are too few columns for."""
        n_fixed, available = restrictions.fixed.size, restrictions.most_columns(d)
        if self.ks is None:
            tried = _SIZES[max(n, _ROWS[0]) >= _ROWS]
            smallest = max(1, n_fixed)
            return np.unique(np.clip(tried, smallest, max(smallest, available)))
        ks = whole_numbers(self.ks, "ks")
        if ks.size and self._longest_list(int(ks[-1]), restrictions) < ks[-1]:
            few_enough = ks[ks <= available]
            ks = few_enough if few_enough.size else np.array([available])
        check_lengths(ks, d, restrictions)
        return ks

    def _choose(
        self, ks: Indices, budgets: Array | None, alphas: Array, found: CrossValidation,
        repeats: float,
    ) -> _Choice:  # fmt: skip
        """Choose by the rule."""
        # Models by k first: among equals the first, of smallest k and then largest ridge, wins.
        order = np.argsort(-alphas)
        aucs = [] if self.coefficients == "logistic" else [*found.scores[:, order].swapaxes(0, 1)]
        ridges = [np.full(ks.size, alpha) for alpha in alphas[order][: len(aucs)]]
        kinds = ["auc"] * len(aucs)
        if found.logistic_aucs is not None:
            aucs.append(found.logistic_aucs)
            ridges.append(alphas[found.best_alphas])
            kinds.append("logistic")
        scores = np.stack(aucs, axis=2).reshape(len(found.scores), -1)
        tried = {
            "k": np.repeat(ks, len(kinds)),
            "alpha": np.stack(ridges, axis=1).ravel(),
            "coefficients": np.tile(np.array(kinds, dtype=object), ks.size),
        }
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
            is_logistic = tried["coefficients"] == "logistic"
            results["param_logistic_ridge"] = np.where(is_logistic, own, np.nan)
        best = choose(self.rule, results)
        attributes = {
            "cv_results_": results,
            "n_splits_": len(scores),
            "n_repeats_": repeats,
            "best_index_": best,
            "best_score_": float(mean[best]),
            "k_": int(tried["k"][best]),
            "alpha_": float(tried["alpha"][best]),
            "coefficients_": str(tried["coefficients"][best]),
        }
        return _Choice(best // len(kinds), scores[:, best], attributes)
