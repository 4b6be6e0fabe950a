"""SparseAUCClassifierCV: k and the ridge chosen by cross-validated AUC."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata
from sklearn.base import _fit_context
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.parallel import Parallel, delayed

from ..moments import class_moments
from ..objective import AUCObjective
from ..selection._folds import (
    FoldResult,
    check_splits,
    default_splitter,
    run_fold,
    training_moments,
)
from ..selection._path import DEFAULT_ALPHAS, check_sizes, path_of_moments, whole_numbers
from ._sparse_auc import SparseAUCClassifier

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


class SparseAUCClassifierCV(SparseAUCClassifier):
    """Rank positives above negatives with few columns, their number chosen by cross-validation.

    For every training fold the whole path over k and the ridges is computed from class moments, and
    every model is judged by its AUC on the validation fold. Scaling, choice of columns and
    coefficients see training rows only.

    Parameters
    ----------
    ks : array-like of int, optional
        Numbers of columns to try; 1 … min(50, d) by default. Numbers above that of the columns are
        left out, with a warning.
    alphas : array-like of float, default=(0.1, 1, 10, 100, 1000)
        Ridges to try, on the standardised scale. The largest choose by difference of means.
    cv : int, splitter or iterable, optional
        As in scikit-learn; an int is the number of stratified folds. By default five, and where
        rows are few repeated, up to five times, until a hundred rows of the rarer class have been
        validated.
    rule : {"best", "1se"}, default="best"
        "best": of the models within half a standard error of the best mean AUC, the one whose
        scores separate the classes most clearly (the best binormal AUC); with few rows many models
        have nearly the same AUC, and the largest is luck. "1se": the smallest k within one standard
        error, the shorter list that is as good as can be told.
    always_include, exclude : array-like of column names or numbers, optional
        Columns that must, or must not, be chosen.
    groups : array-like of shape (n_features_in_,), optional
        A label for each column; columns of one label are chosen together. (Groups of *rows* are
        given to ``fit``.)
    random_state : int, RandomState instance or None, default=0
        Seed of the default folds.
    n_jobs : int, optional
        Folds computed at the same time, in threads. The answer does not depend on it.
    verbose : int, default=0
        Above 0, a line when done; above 1, joblib's progress over the folds.

    Attributes
    ----------
    k_, alpha_ : int, float
        The choice.
    best_score_ : float
        Mean validation AUC of the choice. It was chosen among many: for an honest estimate
        cross-validate this estimator as a whole.
    best_index_ : int
        Its place in ``cv_results_``.
    cv_results_ : dict of str to ndarray
        As ``GridSearchCV`` has it: ``param_k``, ``param_alpha``, ``params``,
        ``split0_test_score`` …, ``mean_test_score``, ``std_test_score``, ``rank_test_score``; and
        ``mean_test_binormal_auc``.
    out_of_fold_scores_ : ndarray of shape (n,)
        Score of each row by the chosen model fitted without its fold, the mean where several folds
        validate it; NaN where none does.
    path_ : SparseAUCPath
        All k on all rows, at ``alpha_``.
    n_splits_ : int
    n_repeats_ : float
        How often a row was validated, on average, and 1 at least.
    coef_, intercept_, classes_, objective_, scale_, n_features_in_, feature_names_in_
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "ks": ["array-like", None],
        "alphas": ["array-like"],
        "cv": ["cv_object"],
        "rule": [StrOptions({"best", "1se"})],
        "always_include": ["array-like", None],
        "exclude": ["array-like", None],
        "groups": ["array-like", None],
        "random_state": ["random_state"],
        "n_jobs": [Interval(Integral, None, None, closed="neither"), None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        ks: Any = None,
        alphas: Any = DEFAULT_ALPHAS,
        *,
        cv: Any = None,
        rule: Literal["best", "1se"] = "best",
        always_include: Any = None,
        exclude: Any = None,
        groups: Any = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.ks = ks
        self.alphas = alphas
        self.cv = cv
        self.rule = rule
        self.always_include = always_include
        self.exclude = exclude
        self.groups = groups
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose k and the ridge, then columns and coefficients on all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Weights in fitting; validation AUCs count every row once.
        groups : array-like of shape (n,), optional
            For splitters that keep groups together, such as ``StratifiedGroupKFold``.

        Returns
        -------
        self
        """
        X, positive, weight = self._check_training_data(X, y, sample_weight)
        fixed, excluded = self._named_columns("always_include"), self._named_columns("exclude")
        d = X.shape[1]
        alphas = np.unique(np.asarray(self.alphas, np.float64))
        if alphas.size == 0 or not (alphas[0] >= 0 and np.isfinite(alphas[-1])):
            raise ValueError(f"alphas must be finite numbers of 0 or more, got {self.alphas}")
        ks = self._sizes_to_try(d, fixed, excluded)

        splitter = (
            default_splitter(positive, self.random_state)
            if self.cv is None
            else check_cv(self.cv, positive, classifier=True)
        )
        splits = list(splitter.split(X, positive, groups))
        check_splits(splits, positive, weight)
        restrictions: dict[str, Any] = {
            "fixed": fixed,
            "excluded": excluded,
            "labels": self._column_groups(),
        }
        moments = training_moments(X, positive, weight, splits)
        results = Parallel(n_jobs=self.n_jobs, prefer="threads", verbose=max(0, self.verbose - 1))(
            delayed(run_fold)(X, positive, split, training, ks, alphas, **restrictions)
            for split, training in zip(splits, moments, strict=True)
        )
        times_validated = np.zeros(X.shape[0])
        for _, test in splits:
            times_validated[test] += 1
        self._choose(ks, alphas, results, repeats=max(1.0, float(times_validated.mean())))

        total = np.zeros(X.shape[0])
        at = np.flatnonzero(alphas == self.alpha_)[0], np.flatnonzero(ks == self.k_)[0]
        for (_, test), result in zip(splits, results, strict=True):
            total[test] += result.scores[:, at[0], at[1]]
        total[times_validated == 0] = np.nan
        self.out_of_fold_scores_ = total / np.maximum(times_validated, 1)

        self.path_ = path_of_moments(
            class_moments(X, positive, weight), ks, np.array([self.alpha_]), **restrictions
        )
        coef = self.path_.coef(self.k_, self.alpha_).astype(X.dtype, copy=False)
        objective = AUCObjective(X, positive, weight)
        self.objective_ = objective.value(coef)
        self.scale_ = self.path_.scale
        if self.verbose:
            print(
                f"k = {self.k_}, alpha = {self.alpha_:g}: mean validation AUC "
                f"{self.best_score_:.4f} over {self.n_splits_} folds, "
                f"{ks.size * alphas.size} models each"
            )
        return self._set_fitted(coef, objective.mean_positive, objective.mean_negative)

    def _sizes_to_try(self, d: int, fixed: Indices, excluded: Indices) -> Indices:
        """Numbers of columns, ascending, without those there are too few columns for."""
        available = d - excluded.size
        if available == 0:
            raise ValueError("exclude names every column: none is left to choose")
        if self.ks is None:
            ks = np.arange(max(1, fixed.size), min(max(50, fixed.size), available) + 1)
        else:
            ks = whole_numbers(self.ks, "ks")
        if ks.size and ks[-1] > available:
            warnings.warn(
                f"k={ks[-1]} is greater than n_features={available}. No more columns than there "
                "are will be tried.",
                UserWarning,
                stacklevel=4,
            )
            few_enough = ks[ks <= available]
            ks = few_enough if few_enough.size else np.array([available])
        check_sizes(ks, d, fixed, excluded)
        return ks

    def _choose(self, ks: Any, alphas: Array, results: list[FoldResult], repeats: float) -> None:
        """Fill ``cv_results_`` and choose by the rule."""
        # Models by k first: among equals the first, of smallest k and then largest ridge, wins.
        alpha_order = np.argsort(-alphas)
        scores = np.array([result.aucs[alpha_order].T.ravel() for result in results])
        param_k = np.repeat(ks, alphas.size)
        param_alpha = np.tile(alphas[alpha_order], ks.size)
        mean, deviation = scores.mean(axis=0), scores.std(axis=0)
        binormal = np.mean(
            [result.binormal_aucs[alpha_order].T.ravel() for result in results], axis=0
        )
        self.n_splits_ = len(results)
        self.n_repeats_ = repeats
        self.cv_results_ = {
            "param_k": param_k,
            "param_alpha": param_alpha,
            "params": [
                {"k": int(k), "alpha": float(a)} for k, a in zip(param_k, param_alpha, strict=True)
            ],
            **{f"split{i}_test_score": row for i, row in enumerate(scores)},
            "mean_test_score": mean,
            "std_test_score": deviation,
            "mean_test_binormal_auc": binormal,
            "rank_test_score": rankdata(-mean, method="min").astype(np.int32),
        }
        top = int(np.argmax(mean))
        error = 0.0
        if len(results) > 1:
            # Repeats judge the same rows again: they add no independent folds.
            error = float(scores[:, top].std(ddof=1) / np.sqrt(len(results) / repeats))
        if self.rule == "1se":
            candidates = param_k == param_k[mean >= mean[top] - error].min()
            best = int(np.argmax(np.where(candidates, mean, -np.inf)))
        else:
            candidates = mean >= mean[top] - error / 2
            best = int(np.argmax(np.where(candidates, binormal, -np.inf)))
        self.best_index_ = best
        self.best_score_ = float(mean[best])
        self.k_, self.alpha_ = int(param_k[best]), float(param_alpha[best])
