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

from ..chunks import Chunks, NotFiniteError
from ..metrics import fold_standard_error
from ..path.cross_validation import CrossValidation, cross_validate
from ..path.folds import SplitPlan, check_splits, default_splitter
from ..path.path import DEFAULT_ALPHAS, check_sizes, whole_numbers
from ..solvers.restrictions import Restrictions
from ._base import names_columns, not_finite
from ._sparse_auc import SparseAUCClassifier

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

# Numbers of columns tried by default: each, and then some, where rows can tell so many apart.
_EVERY_SIZE = np.arange(1, 51)
_LARGER_SIZES = np.array([55, 60, 65, 70, 80, 90, 100, 120, 150])
# AUCs so close are the same to a lab that pays for columns.
_SAME_AUC = 0.005
# What twice as many columns must add to the AUC.
_PRICE_OF_DOUBLING = 0.002
# A shorter list is taken that loses no more AUC than this, give or take a standard error.
_SURE_LOSS = 0.002
# AUCs so close cannot be told apart, whatever the folds say.
_LEAST_ERROR = 0.001


class SparseAUCClassifierCV(SparseAUCClassifier):
    """Rank positives above negatives with few columns, their number chosen by cross-validation.

    For every training fold the whole path over k and the ridges is computed from class moments, and
    every model is judged by its AUC on the validation fold. Scaling, choice of columns and
    coefficients see training rows only.

    Parameters
    ----------
    ks : array-like of int, optional
        Numbers of columns to try. By default 1 … 50 and, where there are more than 250 rows, some
        up to 150 and to a fifth of the rows. Numbers above that of the columns are left out, with a
        warning.
    alphas : array-like of float, default=(0.1, 1, 10, 100, 1000)
        Ridges to try, on the standardised scale. The largest choose by difference of means.
    cv : int, splitter or iterable, optional
        As in scikit-learn; an int is the number of stratified folds. By default five, and where
        rows are few repeated, up to five times, until a hundred rows of the rarer class have been
        validated.
    rule : {"best", "1se"}, default="best"
        "best": with few rows many models have nearly the same AUC, and the largest is luck. So the
        middle one is taken of all that cannot be told from the best: each counts the less the more
        standard errors it lies below, k in the middle is the median, and the model within one
        standard error that is nearest to it is chosen. What is compared is how clearly scores
        separate the classes (the binormal AUC), less 0.002 for every doubling of k. From there, at
        the same ridge, k goes down as long as the loss and its standard error are 0.002 at most.
        "1se": the smallest k within one standard error, the shorter list that is as good as can be
        told.
    always_include, exclude : array-like of column names or numbers, optional
        Columns that must, or must not, be chosen.
    groups : array-like of shape (n_features_in_,), optional
        A label for each column; columns of one label are chosen together. (Groups of *rows* are
        given to ``fit``.)
    random_state : int, RandomState instance or None, default=0
        Seed of the default folds.
    n_jobs : int, optional
        Folds computed at the same time, in threads. The answer does not depend on it.
    device : str or None, default=None
        Where moments are computed, as torch names it: ``"cuda"``, ``"cuda:1"``, ``"cpu"``. Needs
        torch and a dense X; an array too large for the device streams through it. ``None`` needs
        no torch, and leaves a tensor where it lies.
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
    auc_error_ : float
        Only where rows were read in chunks: the most by which a validation AUC may be off, 0 unless
        the rarer class has very many rows.
    coef_, intercept_, classes_, objective_, scale_, n_passes_, n_features_in_, feature_names_in_
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

    _needs_rows = True

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
        "device": [str, None],
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
        device: str | None = None,
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
        self.device = device
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @names_columns
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose k and the ridge, then columns and coefficients on all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Or rows read in chunks, as for :class:`SparseAUCClassifier`; splitters then see labels
            and groups only.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Weights, in fitting and in validation: a row of weight 2 counts as two.
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
        ks = self._sizes_to_try(X.shape[0], d, fixed, excluded)

        splitter = (
            default_splitter(positive, self.random_state)
            if self.cv is None
            else check_cv(self.cv, positive, classifier=True)
        )
        restrictions = Restrictions(fixed, excluded, self._column_groups())
        self._forget()
        chunked = isinstance(X, Chunks)
        # Splitters of rows that are read in chunks see labels and groups only.
        splits = list(splitter.split(positive if chunked else X, positive, groups))
        check_splits(splits, positive, weight)
        plan = SplitPlan.from_splits(splits, positive.size, weight)
        try:
            found = cross_validate(
                X, positive, plan, ks, alphas, restrictions, n_jobs=self.n_jobs,
                verbose=max(0, self.verbose - 1),
            )  # fmt: skip
        except NotFiniteError as bad:
            raise not_finite(self, bad.row, bad.column, bad.value) from None
        self._choose(ks, alphas, found, plan.n_repeats)
        at_alpha = int(np.flatnonzero(alphas == self.alpha_)[0])
        at_k = int(np.flatnonzero(ks == self.k_)[0])
        self.out_of_fold_scores_ = found.out_of_fold(at_alpha, at_k)
        self.path_ = found.path_at(at_alpha)
        coef = self.path_.coef(self.k_, self.alpha_).astype(X.dtype, copy=False)
        self.objective_ = found.moments.loss(coef)
        self.scale_ = self.path_.scale
        if chunked:
            self.auc_error_ = found.auc_error
            self.n_passes_ = X.n_passes
        self._print_choice(ks.size * alphas.size)
        return self._set_fitted(coef, *(mean.astype(coef.dtype) for mean in found.moments.means))

    def _print_choice(self, models: int) -> None:
        if self.verbose:
            print(
                f"k = {self.k_}, alpha = {self.alpha_:g}: mean validation AUC "
                f"{self.best_score_:.4f} over {self.n_splits_} folds, {models} models each"
            )

    def _sizes_to_try(self, n: int, d: int, fixed: Indices, excluded: Indices) -> Indices:
        """Numbers of columns, ascending, without those there are too few columns for."""
        available = d - excluded.size
        if available == 0:
            raise ValueError("exclude names every column: none is left to choose")
        if self.ks is None:
            tried = np.append(_EVERY_SIZE, _LARGER_SIZES[n >= 5 * _LARGER_SIZES])
            smallest = max(1, fixed.size)
            ks = np.unique(np.clip(tried, smallest, max(smallest, available)))
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

    def _choose(self, ks: Any, alphas: Array, found: CrossValidation, repeats: float) -> None:
        """Fill ``cv_results_`` and choose by the rule."""
        # Models by k first: among equals the first, of smallest k and then largest ridge, wins.
        alpha_order = np.argsort(-alphas)
        scores = found.aucs[:, alpha_order].transpose(0, 2, 1).reshape(len(found.aucs), -1)
        param_k = np.repeat(ks, alphas.size)
        param_alpha = np.tile(alphas[alpha_order], ks.size)
        mean, deviation = scores.mean(axis=0), scores.std(axis=0)
        binormal = found.binormal_aucs[:, alpha_order].transpose(0, 2, 1).reshape(scores.shape)
        self.n_splits_ = len(scores)
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
            "mean_test_binormal_auc": binormal.mean(axis=0),
            "rank_test_score": rankdata(-mean, method="min").astype(np.int32),
        }

        top = int(np.argmax(mean))
        # Repeats judge the same rows again: they add no independent folds.
        error = float(fold_standard_error(scores[:, top], repeats))
        if self.rule == "1se":
            near = mean >= mean[top] - max(error, _SAME_AUC)
            fewest = param_k == param_k[near].min()
            best = int(np.argmax(np.where(fewest, mean, -np.inf)))
        else:
            merit = binormal.mean(axis=0) - _PRICE_OF_DOUBLING * np.log2(param_k)
            best = middle = _middle(param_k, param_alpha, merit, max(error, _LEAST_ERROR))
            # The model of the next smaller k at the same ridge stands that many places before.
            while len(scores) > 1 and best >= alphas.size:
                loss = binormal[:, middle] - binormal[:, best - alphas.size]
                if loss.mean() + fold_standard_error(loss, repeats) > _SURE_LOSS:
                    break
                best -= alphas.size
        self.best_index_ = best
        self.best_score_ = float(mean[best])
        self.k_, self.alpha_ = int(param_k[best]), float(param_alpha[best])


def _middle(param_k: Array, param_alpha: Array, merit: Array, error: float) -> int:
    """Place of the middle one of the models that cannot be told from the best.

    Parameters
    ----------
    param_k, param_alpha, merit : ndarrays of shape (n_models,)
        Models of every k and every ridge, k ascending.
    error : float
        Standard error of the merits.
    """
    short_of_best = (merit.max() - merit) / error
    weight = np.exp(-0.5 * short_of_best**2)
    # All factors between two k count the same, however many k were tried between them.
    ks, of_k = np.unique(param_k, return_inverse=True)
    log_k = np.log(ks)
    weight *= np.gradient(log_k)[of_k] if ks.size > 1 else 1.0
    so_far = np.cumsum(np.bincount(of_k, weight))
    middle_k = log_k[np.searchsorted(so_far, so_far[-1] / 2)]
    # A ridge of nothing is taken for a tenth of the smallest.
    positive = param_alpha[param_alpha > 0]
    log_alpha = np.log(np.maximum(param_alpha, positive.min() / 10 if positive.size else 1.0))
    middle_alpha = np.average(log_alpha, weights=weight)
    # Ten times the ridge changes a model less than ten times the columns.
    distance = np.hypot(log_k[of_k] - middle_k, (log_alpha - middle_alpha) / 2)
    return int(np.argmin(np.where(short_of_best <= 1, distance, np.inf)))
