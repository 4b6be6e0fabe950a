"""SparseAUCClassifierCV: k, the ridge and the coefficients chosen by cross-validated AUC."""

import warnings
from typing import Any, ClassVar, Literal, Self

from sklearn.utils._param_validation import StrOptions

from ..chunks import Chunks
from ..cross_validation import Kind, is_small, mean_over_rounds
from ..defaults import ALPHAS, FEW_ROWS, WIDE_ALPHAS
from ..limits import Limits
from ..path import Progress
from ..performance import fit_calibration
from ..rules import ChanceWarning, Rule
from ..strata import Weighting
from ..utils.types import Array, Mask
from ._base import (
    SparseLinearClassifier,
    checks_parameters,
    frames_of_ours,
    rescale_score,
)
from ._lists import CV_CONSTRAINTS, check_rows, choose_among_lists


class SparseAUCClassifierCV(SparseLinearClassifier):
    """Rank positives above negatives with few columns, their number chosen by cross-validation.

    For every training fold the whole path over k and ridges is computed from class
    moments, and every model is scored by its AUC on the validation fold. Scaling,
    columns and coefficients are based on training rows only.

    Parameters
    ----------
    ks : array-like of int, optional
        Values of k to try. By default 1 … 50 and some up to 100, if there are 5 rows
        for each column (2.5 up to 24 columns); a group counts as many columns as there
        are on average. Values above the number of columns are left out, with a warning.
        Where logistic coefficients are tried, the path ends where the highest mean
        validation AUC lies twelve values of k back.
    alphas : array-like of float, optional
        Ridges to try, on the standardised scale. By default 0.01, 1 and 100 if there
        are more rows than columns, otherwise 0.01, 0.1, 10 and 1000. Large ridges
        choose by difference of means.
    cv : int, splitter or iterable, optional
        As in scikit-learn; an int is the number of stratified folds. By default five
        folds, repeated up to five times until two hundred rows of the rarer class have
        been validated.
    rule : {"best", "1se"} or callable, default="best"
        "best": the fewest columns with a mean AUC within 0.002 of the highest. "1se":
        the fewest columns with a mean AUC within one standard error of the highest (or
        within 0.005, if that is more). With fewer than 50 rows of the rarer class, but
        more rows than columns, mean AUCs are first averaged with those of one column
        less and one more, which count half as much. A callable takes ``cv_results_``
        and returns the index of the model, as for ``GridSearchCV(refit=…)``.
    coefficients : {"auto", "auc", "logistic"}, default="auto"
        "auc": coefficients that minimise the squared pairwise loss. "logistic": a
        logistic regression on the chosen columns, which is less sensitive to extreme
        values. "auto": cross-validation compares both if there are more rows than
        columns and at most four million values; otherwise "auc". With strata, the
        regression has an intercept for each.
    curves : "auto" or bool, default="auto"
        Whether columns of numbers count as curves or as lines. A curve is a restricted
        cubic spline with knots at the 10 %, 50 % and 90 % quantiles: it has one number
        more than a line, bends once, is straight beyond the outer knots, and values
        beyond the range of the training rows count as its ends. "auto": curves, if the
        model that is chosen among them has the higher mean validation AUC; they are
        tried on arrays and data frames with more rows than columns and at most four
        million values, of columns without a sign. Knots of every fold are learned from
        its training rows. Where folds are repeated, curves are tried on the first ones,
        and on the others if the mean AUC of these is higher.
    limits : Limits, optional
        Limits on the list, as for :class:`SparseAUCClassifier`; signs hold for logistic
        coefficients too. Among several budgets, or among up to 20 up to a single one,
        cross-validation chooses; lists then have at most ``max(ks)`` columns. With a
        single budget and ``ks``, it chooses k, and every list keeps to the budget.
    random_state : int, RandomState instance or None, default=0
        Seed of the default folds.
    n_jobs : int, optional
        Number of folds in parallel, in threads. The result does not depend on it.
    device : str or None, default=None
        As for :class:`SparseAUCClassifier`.
    verbose : int or callable, default=0
        Above 0, a line when done; above 1, joblib's progress over the folds. A callable
        is called with the stage of the fit, its steps done and their number.

    Attributes
    ----------
    k_, alpha_, coefficients_ : int, float, str
        The chosen values. With budgets, ``k_`` is the length of the list.
    budget_ : float
        With a budget: the chosen one.
    best_score_ : float
        Mean validation AUC of the chosen model. It is optimistic, as the best of many:
        use nested cross-validation (:func:`sparseauc.selection.nested_scores`) for an
        unbiased estimate.
    best_index_ : int
        Index of the chosen model in ``cv_results_``.
    cv_results_ : dict of str to ndarray
        As in ``GridSearchCV``: ``param_k``, ``param_alpha``, ``params``,
        ``param_coefficients``, ``split0_test_score`` …, ``mean_test_score``,
        ``std_test_score``, ``standard_error_test_score`` and ``rank_test_score``; with
        a budget, ``param_budget``; where mean AUCs are smoothed, ``smooth_test_score``,
        which the rules compare. Logistic coefficients are tried on the lists of each k
        at its best ridge, with the best of five ridges of their own there,
        ``param_logistic_ridge``.
    out_of_fold_scores_ : ndarray of shape (n,)
        Score of each row by the chosen model fitted without its fold, in log odds; the
        mean over repeats, NaN if a row is never validated, as rows of weight 0.
    curves_ : bool
        Whether columns of numbers count as curves.
    coef_ : ndarray of shape (1, n_features_in_)
        Change of the log odds for each unit of a column; ``exp(coef_)`` are odds
        ratios.
    intercept_ : ndarray of shape (1,)
        So that ``decision_function`` gives log odds at the prevalence of the training
        rows.
    platt_ : dict
        Platt scaling, which is part of ``coef_`` and ``intercept_``: ``slope`` and
        ``intercept`` of the logistic regression on out-of-fold scores; ``n_positive``
        and ``n_negative``, the rows it is based on, and ``prevalence``, their share of
        positives by weight.
    objective_ : float
        F of the coefficients of least loss on the chosen columns, before they are
        scaled or replaced by logistic ones.
    path_ : SparseAUCPath
        The lists of all k on all rows, at ``alpha_``.
    n_splits_ : int
    n_repeats_ : float
        Mean number of times that a row was validated, at least 1.
    auc_error_ : float
        Bound on the error of validation AUCs, if rows were read in chunks; 0 unless the
        rarer class has very many rows.
    classes_, scale_, cost_, not_included_
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

    out_of_fold_scores_: Array

    _calibrates = True
    _encodes_columns = True
    _reads_maps_in_chunks = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CV_CONSTRAINTS,
        "coefficients": [StrOptions({"auto", "auc", "logistic"})],
        "device": [str, None],
    }

    def __init__(
        self,
        ks: Any = None,
        alphas: Any = None,
        *,
        cv: Any = None,
        rule: Literal["best", "1se"] | Rule = "best",
        coefficients: Literal["auto", "auc", "logistic"] = "auto",
        curves: Literal["auto"] | bool = "auto",
        limits: Limits | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        device: str | None = None,
        verbose: int | Progress = 0,
    ) -> None:
        self.ks = ks
        self.alphas = alphas
        self.cv = cv
        self.rule = rule
        self.coefficients = coefficients
        self.curves = curves
        self.limits = limits
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose

    @checks_parameters
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
            Or rows read in chunks, as for :class:`SparseAUCClassifier`; splitters then
            get labels and groups only.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Weights for fitting and validation. Rows of weight 0 are left out.
        groups : array-like of shape (n,), optional
            Related rows, such as the visits of a patient: they share a fold. Splitters
            other than numbers of folds get them too.
        strata : array-like of shape (n,), optional
            Site, batch, donor or matched set of each row: only pairs of one stratum
            count, in fitting and in validation, where the AUC is the mean of those
            within strata. Default folds hold rows of every stratum; where most strata
            are too small for that, they keep strata whole, as splitters that keep
            groups together do (``LeaveOneGroupOut`` for sites that are new).
        stratum_weights : {"pairs", "equal"}, default="pairs"
            Weight of each stratum: its number of pairs, or the same for all.

        Returns
        -------
        self
        """
        X, outcome, rows = check_rows(
            self, X, y, sample_weight, strata, stratum_weights
        )
        n = outcome.n_counted
        d = X.shape[1]
        choice = choose_among_lists(
            self,
            X,
            outcome,
            rows,
            groups,
            default_alphas=ALPHAS if d < n else WIDE_ALPHAS,
            n_informative=n,
            kinds=self._kinds(n, d),
            smoothing=int(d < n and outcome.informative < FEW_ROWS),
        )
        self.coefficients_ = str(choice.found.family.kind)
        if isinstance(X, Chunks):
            self.auc_error_ = choice.found.score_error
            self.n_passes_ = X.n_passes
        score_in_log_odds(self, choice.rounds, outcome.positive, outcome.weight)
        self.out_of_fold_scores_ = rows.spread(self.out_of_fold_scores_)
        return self

    def _kinds(self, n: int, d: int) -> tuple[Kind, ...]:
        """Return the kinds of coefficients that are compared for a table."""
        if self.coefficients == "auto":
            return ("auc", "logistic") if is_small(n, d) else ("auc",)
        return (self.coefficients,)


def score_in_log_odds(
    model: Any, scores: Array, positive: Mask, weight: Array | None
) -> None:
    """Fold Platt scaling into ``coef_`` and ``intercept_``, and set ``platt_``.

    Parameters
    ----------
    model : SparseLinearClassifier
        Fitted; its score is zero midway between the class means.
    scores : ndarray of shape (n, n_rounds)
        Out-of-fold scores of each round of cross-validation, NaN where there is none.
        Their means in log odds become ``out_of_fold_scores_``.
    positive : ndarray of bool of shape (n,)
    weight : ndarray of shape (n,), optional
    """
    model.platt_, is_reversed = fit_calibration(scores, positive, weight)
    slope = model.platt_["slope"]
    intercept = model.platt_["intercept"]
    if is_reversed:
        warnings.warn(
            "out-of-fold scores do not rank positives above negatives: the coefficients are scaled "
            "down until the probability of every row is close to the share of positives",
            ChanceWarning,
            stacklevel=frames_of_ours(),
        )
    rescale_score(model, slope, intercept)
    model.out_of_fold_scores_ = slope * mean_over_rounds(scores) + intercept
