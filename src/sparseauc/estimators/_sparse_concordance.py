"""SparseConcordance and SparseConcordanceCV: the best few columns for times to event."""

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._validation import CountedRows, check_weights
from ..columns.units import Units
from ..cross_validation import mean_over_rounds
from ..defaults import (
    CONCORDANCE_ALPHAS,
    CONCORDANCE_SMOOTHING,
    WIDE_CONCORDANCE_ALPHAS,
)
from ..errors import InputError
from ..limits import Limits
from ..outcome import Times
from ..path import Progress
from ..rules import Rule
from ..strata import Weighting
from ..survival import (
    ProportionalHazards,
    StepFunction,
    SurvivalTimes,
    harrell_concordance,
)
from ..utils.types import Array, Floats
from ._base import (
    check_table,
    checks_parameters,
    chosen_mask,
    chunks_of,
    forget_fit,
    html_with_list,
    leave_out_absent,
    names_columns,
    rescale_score,
    score_rows,
)
from ._lists import (
    CV_CONSTRAINTS,
    LIST_CONSTRAINTS,
    certify_rows,
    check_rows,
    choose_among_lists,
    fit_rows,
)


def _has_hazards(model: Any) -> bool:
    if "hazards_" in vars(model) or isinstance(model, SparseConcordanceCV):
        return True
    raise AttributeError(
        f"{type(model).__name__} ranks rows and gives no probabilities: use SparseConcordanceCV, "
        "whose risks are calibrated on out-of-fold scores"
    )


class ConcordanceModel(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the models that rank rows by the time to their event."""

    n_features_in_: int
    # As of SparseLinearClassifier.
    penalty: str = "l1"
    horizon: float | None
    # Of models without this parameter.
    scoring: Literal["uno", "harrell"] = "harrell"
    horizon_: float
    hazards_: ProportionalHazards

    _reads_maps_in_chunks = False
    _encodes_columns = True
    _units: Units | None = None

    _get_support_mask = chosen_mask
    _html_repr = html_with_list

    def predict(self, X: Any) -> Floats:
        """Score rows: the higher, the earlier the event is expected."""
        return score_rows(self, X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return Harrell's C of the scores of rows, as scikit-survival's models do."""
        return harrell_concordance(y, self.predict(X), sample_weight=sample_weight)

    @property
    def unique_times_(self) -> Array:
        """Times at which the estimated risk may change."""
        check_is_fitted(self, "hazards_")
        return self.hazards_.log_hazard.x

    @available_if(_has_hazards)  # type: ignore[untyped-decorator]
    def predict_survival_function(
        self, X: Any, return_array: bool = False
    ) -> npt.NDArray[Any]:
        """Estimate the probability of each row to be free of the event, as a function of time.

        By a Cox model with the score as its one column, with Breslow's baseline, fitted
        to out-of-fold scores.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        return_array : bool, default=False
            Whether to return the probabilities at ``unique_times_``, of shape (n,
            n_times).

        Returns
        -------
        ndarray of shape (n,) of StepFunction, or of shape (n, n_times)
        """
        known = self.unique_times_
        curves = self.hazards_.survival(np.asarray(self.predict(X), np.float64), known)
        if return_array:
            return curves
        functions = np.empty(len(curves), dtype=object)
        functions[:] = [StepFunction(known, curve, 1.0) for curve in curves]
        return functions

    @available_if(_has_hazards)  # type: ignore[untyped-decorator]
    def predict_risk(self, X: Any, horizon: float | None = None) -> Array:
        """Estimate the probability of each row to have its event until a time.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        horizon : float, optional
            ``horizon_`` by default.
        """
        check_is_fitted(self, "hazards_")
        at = self.horizon_ if horizon is None else float(horizon)
        last = float(self.unique_times_[-1])
        if not 0 <= at <= last:
            raise InputError(f"horizon is {at:g}; risks are known from 0 to {last:g}")
        scores = np.asarray(self.predict(X), np.float64)
        return 1.0 - self.hazards_.survival(scores, np.array([at]))[:, 0]

    def _check_rows(
        self, X: Any, y: Any, sample_weight: Any = None, *, reset: bool = True
    ) -> tuple[Any, Times, CountedRows]:
        """Check rows, their times and weights, as ``SparseLinearClassifier`` does."""
        if reset:
            forget_fit(self)
            if chunks_of(self, X) is not None:
                raise InputError(
                    f"{type(self).__name__} compares every row with others, and needs all of them "
                    "in memory: load them first, such as with numpy.load(path) or X.compute(), or "
                    "fit SparseAUCClassifier, which reads rows in chunks, to who has the event by "
                    "a time"
                )
        X = check_table(self, X, reset=reset)
        times = SurvivalTimes.from_target(y, needs_events=False)
        if X.shape[0] != len(times):
            raise InputError(
                f"X and y have inconsistent numbers of samples: {X.shape[0]} and {len(times)}"
            )
        weight = None
        if sample_weight is not None:
            weight = check_weights(sample_weight, len(times.time))
        times.check_pairs(weight)
        X, outcome, rows = leave_out_absent(X, Times(times, weight))
        if reset:
            self.horizon_ = outcome.times.check_horizon(self.horizon, outcome.weight)
        if self.scoring == "uno":
            outcome = replace(outcome, horizon=self.horizon_)
        return X, outcome, rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


class SparseConcordance(ConcordanceModel):
    """Rank rows by the time to their event with the best k columns.

    Minimises the squared loss over comparable pairs, with a ridge,

        1/N Σ (1 − w·(x_i − x_j))² + alpha ‖w‖²,   ‖w‖₀ ≤ k,

    over the N pairs of which i is known to have its event before j, on standardised
    columns (X is not changed). Rows may be censored. For every number of columns up to
    k, columns are exchanged until no single exchange improves the loss.

    Parameters
    ----------
    k : int, default=10
        Largest number of columns.
    alpha : float, default=1.0
        Ridge, on the standardised scale.
    horizon : float, optional
        Time that risks of :func:`~sparseauc.selection.point_score` are about; by which
        80 % of the events have happened, by default.
    curves : bool or array-like, default=False
        As for :class:`SparseAUCClassifier`.
    limits : Limits, optional
        Limits on the list: signs, costs, families and more; see
        :class:`~sparseauc.Limits`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, d)
        Coefficients of all columns, zero for those not chosen.
    intercept_ : ndarray of shape (1,)
        Such that the mean of the training rows scores 0.
    objective_ : float
        Loss without the ridge.
    scale_ : ndarray of shape (d,)
        Standard deviations by which columns were divided.
    horizon_ : float
    cost_ : float
        With costs: that of the list.
    not_included_ : ndarray of int
        Columns of ``always_include`` that are not on the list.
    lower_bound_, optimality_gap_, certificate_status_
        After ``certify``: see there.
    n_strata_, stratum_weights_
        If ``strata`` were given: the number of those with pairs, and how they were
        weighted.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    SparseConcordanceCV : Chooses k and the ridge by cross-validation.
    SparseAUCClassifier : The same for two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseauc import SparseConcordance
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 20))
    >>> time = rng.exponential(np.exp(-X[:, 3] + X[:, 7]))
    >>> event = rng.random(300) < 0.7
    >>> model = SparseConcordance(k=2).fit(X, np.column_stack([event, time]))
    >>> np.flatnonzero(model.coef_[0]).tolist()
    [3, 7]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LIST_CONSTRAINTS,
        "horizon": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        k: int = 10,
        alpha: float = 1.0,
        *,
        curves: bool | Any = False,
        limits: Limits | None = None,
        horizon: float | None = None,
    ) -> None:
        self.k = k
        self.alpha = alpha
        self.curves = curves
        self.limits = limits
        self.horizon = horizon

    @checks_parameters
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        strata: Any = None,
        stratum_weights: Weighting = "pairs",
    ) -> Self:
        """Choose columns and coefficients.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : structured array, data frame or array of shape (n, 2)
            Whether the event was observed, and the time of the event or of censoring:
            as of ``sksurv.util.Surv.from_arrays(event, time)``, or two such columns.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows; a pair of rows counts with the product of theirs.
        strata : array-like of shape (n,), optional
            Site or batch of each row: only pairs of one stratum count.
        stratum_weights : {"pairs", "equal"}, default="pairs"
            Weight of each stratum: its number of pairs, or the same for all.

        Returns
        -------
        self
        """
        X, outcome, _ = check_rows(self, X, y, sample_weight, strata, stratum_weights)
        fit_rows(self, X, outcome)
        return self

    @names_columns
    def certify(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        strata: Any = None,
        *,
        time_limit: float = 10.0,
    ) -> Self:
        """Prove a lower bound on the loss over all lists of k columns.

        Parameters
        ----------
        X, y, sample_weight, strata
            The rows of the fit, with their weights and strata.
        time_limit : float, default=10.0
            Seconds for branch and bound.

        Returns
        -------
        self
            With ``lower_bound_``, ``optimality_gap_`` and ``certificate_status_``.
        """
        certify_rows(self, X, y, sample_weight, strata, time_limit)
        return self


class SparseConcordanceCV(ConcordanceModel):
    """Rank rows by the time to their event with few columns, their number cross-validated.

    For every training fold the whole path over k and ridges is computed, and every
    model is scored by its concordance on the validation fold.

    Parameters
    ----------
    ks : array-like of int, optional
        Values of k to try. By default 1 … 50 and some up to 100, if there are 10 events
        for each column (5 up to 24 columns).
    alphas : array-like of float, optional
        Ridges to try, on the standardised scale: by default 0.01, 0.1, 1, 10 and 100,
        of these the last three where there are as many columns as rows.
    cv : int, splitter or iterable, optional
        Five folds with the same share of events by default, repeated up to five times
        where there are fewer than 200 events.
    rule : {"best", "1se"} or callable, default="best"
        As for :class:`SparseAUCClassifierCV`. Where there are more rows than columns,
        the mean concordance of each length is first averaged with those of lists of up
        to four columns less or more, near lengths counting most.
    scoring : {"uno", "harrell"}, default="uno"
        What models are chosen by: Uno's C up to ``horizon``, or Harrell's C.
    horizon : float, optional
        Time up to which events count in Uno's C, and that ``predict_risk`` is about. By
        default the time by which 80 % of the events have happened.
    curves : "auto" or bool, default="auto"
        As for :class:`SparseAUCClassifierCV`, by concordance.
    limits : Limits, optional
        Limits on the list: signs, costs, families and more; see
        :class:`~sparseauc.Limits`.
    random_state : int, RandomState or None, default=0
        For the default folds.
    n_jobs : int, optional
        Number of training sets in parallel, in threads. The result does not depend on
        it.
    verbose : int or callable, default=0
        As for :class:`SparseAUCClassifierCV`.

    Attributes
    ----------
    k_, alpha_ : int, float
        The chosen values.
    best_score_ : float
        Mean validation concordance of the chosen model. It is optimistic, as the best
        of many.
    best_index_, cv_results_, path_, n_splits_, n_repeats_, budget_, curves_
        As for :class:`SparseAUCClassifierCV`.
    out_of_fold_scores_ : ndarray of shape (n,)
        Score of each row by the chosen model fitted without its fold; NaN if it is
        never validated, as rows of weight 0.
    hazards_ : ProportionalHazards
        Baseline of the risk, from out-of-fold scores.
    horizon_ : float
    coef_ : ndarray of shape (1, d)
        Logarithms of hazard ratios per unit of each column, zero for those not chosen:
        the hazard of a row is that of score 0 times exp(score). If the slope of
        ``hazards_`` is 0, because out-of-fold scores rank rows the wrong way round,
        those of least loss.
    intercept_, objective_, scale_, cost_, not_included_, n_strata_, stratum_weights_
        As for :class:`SparseConcordance`.
    n_features_in_, feature_names_in_
        As for :class:`SparseConcordance`.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseauc import SparseConcordanceCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 20))
    >>> time = rng.exponential(np.exp(-X[:, 3] + X[:, 7]))
    >>> event = rng.random(300) < 0.7
    >>> model = SparseConcordanceCV(rule="1se").fit(X, np.column_stack([event, time]))
    >>> model.k_
    2
    >>> model.predict_risk(X[:2], horizon=1.0).shape
    (2,)
    """

    out_of_fold_scores_: Array

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CV_CONSTRAINTS,
        "scoring": [StrOptions({"uno", "harrell"})],
        "horizon": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        ks: Any = None,
        alphas: Any = None,
        *,
        cv: Any = None,
        rule: Literal["best", "1se"] | Rule = "best",
        scoring: Literal["uno", "harrell"] = "uno",
        horizon: float | None = None,
        curves: Literal["auto"] | bool = "auto",
        limits: Limits | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int | Progress = 0,
    ) -> None:
        self.ks = ks
        self.alphas = alphas
        self.cv = cv
        self.rule = rule
        self.scoring = scoring
        self.horizon = horizon
        self.curves = curves
        self.limits = limits
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @checks_parameters
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        strata: Any = None,
        stratum_weights: Weighting = "pairs",
    ) -> Self:
        """Choose k and the ridge, then columns and coefficients on all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : structured array, data frame or array of shape (n, 2)
            As for :class:`SparseConcordance`.
        sample_weight : array-like of shape (n,), optional
            Weights for fitting and validation.
        groups : array-like of shape (n,), optional
            For splitters that keep groups together.
        strata : array-like of shape (n,), optional
            Site or batch of each row: only pairs of one stratum count, in fitting and
            validation.
        stratum_weights : {"pairs", "equal"}, default="pairs"
            Weight of each stratum: its number of pairs, or the same for all.

        Returns
        -------
        self
        """
        X, outcome, rows = check_rows(
            self, X, y, sample_weight, strata, stratum_weights
        )
        n, d = X.shape
        choice = choose_among_lists(
            self,
            X,
            outcome,
            rows,
            groups,
            default_alphas=CONCORDANCE_ALPHAS if d < n else WIDE_CONCORDANCE_ALPHAS,
            n_informative=int(np.count_nonzero(outcome.positive)) // 2,
            smoothing=CONCORDANCE_SMOOTHING if d < n else 0,
        )
        scores = mean_over_rounds(choice.rounds)
        self.hazards_ = ProportionalHazards.fit(scores, outcome.times, outcome.weight)
        slope = self.hazards_.slope
        if slope > 0:
            rescale_score(self, slope)
            scores = slope * scores
            self.hazards_ = replace(self.hazards_, slope=1.0)
        self.out_of_fold_scores_ = rows.spread(scores)
        return self
