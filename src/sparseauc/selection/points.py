"""A card of whole points, added up by hand, and the risk that goes with each total.

Points are the rounded effects of a fitted model, and the classes of a column are where
its points change. The risk of a total is that of rows that were left out: in every fold
the model is fitted and rounded without them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_scalar

from ..columns import Encoding, Levels, Steps
from ..columns.base import quantiles
from ..cross_validation import mean_over_rounds
from ..defaults import FOLDS
from ..errors import InputError
from ..estimators import leading_coefs, score_rows, set_encodings
from ..folds import Split
from ..limits import Limits
from ..outcome import Binary, Outcome, Times
from ..performance import binomial_limits, fit_calibration
from ..survival import ProportionalHazards
from ..utils.arrays import known_scores
from ..utils.links import Link, from_linear, to_linear
from ..utils.types import Array
from .confidence import comparable_scores, fit_rows, scores_by
from .fitted_list import FittedList

if TYPE_CHECKING:
    import pandas as pd

# Effects that fewer rows reach have the points of the next: one far value makes no
# scale.
_SHARE_BEYOND = 0.01
MOST_POINTS = 100


@dataclass(frozen=True, eq=False)
class PointScore:
    """Points for the classes of a few columns.

    Attributes
    ----------
    columns : pandas.DataFrame
        ``column`` (its name, or number), ``class`` and ``points``: a row has those of
        its class of each column.
    risk : pandas.DataFrame
        Rows left out of the fit, by their total: ``above`` and ``up_to``, how many
        ``rows`` and ``positives`` there are in between, ``risk``, the share of
        positives, with its 95 % CI ``low`` and ``high``; and ``predicted``, the risk by
        the formula at the mean total. Of times to event, positives have their event
        until the horizon, rows that are censored before are left out, and inverse
        censoring weights of the others stand for them.
    slope, intercept : float
        The log odds of a total are slope × total + intercept. Of times to event, the
        logarithm of the cumulative hazard until the horizon is: the risk is 1 −
        exp(−exp(slope × total + intercept)), by a Cox model of totals of rows left out,
        with Breslow's baseline.
    threshold : float
        Total above which the risk is higher than the share of positives: a whole
        number.
    prevalence : float
        That share.
    auc, model_auc : float
        AUC of the points, and of the models that they round, on rows left out: the mean
        over folds. Of times to event, the concordance.
    model : SparseAUCClassifier, SparseAUCClassifierCV, SparseConcordance or SparseConcordanceCV
        A copy of the model whose effects are the points, in log odds; of times to
        event, whose score is the total. To predict, save and export. Its attribute
        ``points_`` has the encoding of each column, in points.
    horizon : float, optional
        Of times to event: the time until which risks are given.
    """

    columns: pd.DataFrame
    risk: pd.DataFrame = field(repr=False)
    slope: float
    intercept: float
    threshold: float
    prevalence: float
    auc: float
    model_auc: float
    model: Any = field(repr=False)
    horizon: float | None = None

    def totals(self, X: Any) -> Array:
        """Total points of rows."""
        return _totals(_with_points(self.model, self.model.points_), X)

    def risks(self, totals: npt.ArrayLike) -> Array:
        """Risk of totals, by the formula."""
        linear = self.slope * np.asarray(totals, np.float64) + self.intercept
        return from_linear(linear, "logit" if self.horizon is None else "cloglog")

    def as_dict(self) -> dict[str, Any]:
        """Return the score as JSON can hold it; None where a range has no end."""
        content = {
            name: value
            for name, value in vars(self).items()
            if name != "model" and value is not None
        }
        risk = self.risk.astype(object).where(np.isfinite(self.risk), None)
        content["columns"] = self.columns.astype({"column": str}).to_dict("records")
        content["risk"] = risk.to_dict("records")
        return content


def point_score(
    model: Any,
    X: Any,
    y: npt.ArrayLike,
    *,
    largest: int = 10,
    cv: Any = None,
    random_state: Any = 0,
    sample_weight: npt.ArrayLike | None = None,
    strata: npt.ArrayLike | None = None,
) -> PointScore:
    """Round the effects of a short list to whole points that are added up by hand.

    A column has round((f(x) − lowest) / unit) points for its effect f: 0 for its lowest
    class, and ``largest`` for the highest class of the strongest column. Its classes
    are where its points change, at the number of fewest digits between two values of
    the rows. The most extreme hundredth of the rows at either end does not count for
    the lowest and the highest effect.

    Parameters
    ----------
    model : SparseAUCClassifier, SparseAUCClassifierCV, SparseConcordance or SparseConcordanceCV
        Fitted, with or without curves and texts. A column that is not worth a point is
        left out.
    X : array-like, sparse matrix or frame of shape (n, d)
        The rows of the fit.
    y : array-like of shape (n,)
        Their labels; or their events and times, as the model was fitted to.
    largest : int, default=10
        The most points that a column has.
    cv : int, splitter or iterable, optional
        Folds for the risk by total, as in scikit-learn. By default five stratified
        folds, repeated where rows are few.
    random_state : int, RandomState instance or None, default=0
        Seed of the default folds.
    sample_weight, strata : array-like of shape (n,), optional
        Those that the model was fitted with. With strata, AUCs are within them.

    Returns
    -------
    PointScore

    Notes
    -----
    Risk and AUC are those of rows left out. In every fold a model is fitted without the
    rows of the fold, of the same length, ridge, limits and kind of effects, and
    rounded. As these totals have other columns, they are brought to the scale of the
    points of all rows: so that the class means of the training rows are the same; of
    times to event, their mean and standard deviation.

    Examples
    --------
    >>> from sparseauc import SparseAUCClassifier, datasets, selection
    >>> X, y = datasets.make_outbreak(n=500, d=20, k=3, mu=1.0, r=0.2, random_state=0)
    >>> score = selection.point_score(SparseAUCClassifier(k=3).fit(X, y), X, y)
    >>> int(score.columns["points"].max()), score.model_auc - score.auc < 0.01
    (10, True)
    """
    import pandas as pd

    check_scalar(largest, "largest", Integral, min_val=1, max_val=MOST_POINTS)
    fitted = FittedList.from_model(
        model, X, y, sample_weight=sample_weight, strata=strata
    )
    points = _round_effects(model, fitted, largest)
    if not points:
        raise InputError("no column is worth a point: the model ranks all rows alike")
    counted = fitted.counted
    known = {
        "sample_weight": counted.take(sample_weight, "sample_weight"),
        "strata": counted.take(strata, "strata"),
    }
    rows = X if counted.are_all else _safe_indexing(X, counted.index)
    splits = fitted.outcome.split(
        counted.number_splits(cv), fitted.X, None, random_state
    )
    left_out, auc, model_auc = _score_left_out(
        _same_settings(model),
        rows,
        np.asarray(y)[counted.index],
        fitted.outcome,
        largest,
        splits,
        known,
    )
    middle, unit = fitted.outcome.scale(_totals(_with_points(model, points), rows))
    left_out = middle + unit * left_out

    horizon = getattr(model, "horizon_", None)
    link: Link = "logit" if horizon is None else "cloglog"
    classes = fitted.outcome.at_horizon(horizon)
    how, kept = _fit_risk(fitted.outcome, classes, left_out, horizon)
    return PointScore(
        columns=pd.DataFrame(
            [
                (fitted.names[j], name, int(worth))
                for j, one in points.items()
                for name, worth in one.classes().items()
            ],
            columns=["column", "class", "points"],
        ),
        risk=_risk_by_total(classes, left_out, how, link),
        slope=how["slope"],
        intercept=how["intercept"],
        threshold=whole_threshold(how, link),
        prevalence=how["prevalence"],
        auc=auc,
        model_auc=model_auc,
        model=_as_model(fitted, model, points, kept, left_out),
        horizon=horizon,
    )


def whole_threshold(how: Mapping[str, Any], link: Link = "logit") -> float:
    """Return the largest whole total whose risk is not above the share of positives."""
    if how["slope"] == 0:  # totals tell nothing of the risk
        return 0.0
    even = (float(to_linear(how["prevalence"], link)) - how["intercept"]) / how["slope"]
    return float(np.floor(even + 1e-9)) + 0.0


def _fit_risk(
    outcome: Outcome, classes: Binary, left_out: Array, horizon: Any
) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """Fit the risk to totals of rows left out, (n, rounds).

    Returns slope, intercept and prevalence, and the attribute that a model keeps.
    """
    if not isinstance(outcome, Times):
        platt, _ = fit_calibration(left_out, outcome.positive, outcome.weight)
        return platt, {"platt_": platt}
    hazards = ProportionalHazards.fit(left_out, outcome.times, outcome.weight)
    how = {
        "slope": hazards.slope,
        "intercept": float(hazards.log_hazard(horizon)),
        "prevalence": float(np.average(classes.positive, weights=classes.weight)),
    }
    return how, {"hazards_": hazards}


def _round_effects(
    model: Any, fitted: FittedList, largest: int
) -> dict[int, Steps | Levels]:
    """Round the effects of a model to points, of the columns that are worth any."""
    effects = {}
    ends = {}
    for j, one in model.encodings_.items():
        if isinstance(one, Levels):
            effects[j] = one.effects
            present = one.effects[np.unique(one.taken_as)]
            ends[j] = present.min(), present.max()
            continue
        effects[j] = one.effect(_numbers(fitted, j))
        shares = (_SHARE_BEYOND, 1.0 - _SHARE_BEYOND, 0.0, 1.0)
        low, high, least, most = quantiles(
            effects[j][:, None], fitted.outcome.weight, shares
        )[:, 0]
        # Where a few rows alone have another value, these are its ends.
        ends[j] = (low, high) if low < high else (least, most)
    unit = max(high - low for low, high in ends.values()) / largest
    found: dict[int, Steps | Levels] = {}
    for j, one in model.encodings_.items() if unit > 0 else ():
        low, high = ends[j]
        points = np.rint((np.clip(effects[j], low, high) - low) / unit)
        if not points.any():
            continue
        if isinstance(one, Levels):
            found[j] = replace(one, against=-1, coef=tuple(points.tolist()))
        else:
            found[j] = _classes(one, _numbers(fitted, j), points)
    return found


def _numbers(fitted: FittedList, column: int) -> Array:
    """Values of a column of numbers, missing ones replaced."""
    return fitted.values(np.flatnonzero(fitted.columns == column)[:1])[:, 0]


def _classes(encoding: Any, values: Array, points: Array) -> Steps:
    """Cut the values of a column where its points change."""
    known, first = np.unique(values, return_index=True)
    worth = points[first]
    changes = np.flatnonzero(np.diff(worth))
    whole = bool(np.all(known == np.floor(known)))
    cuts = [
        round_between(*known[place : place + 2].tolist(), whole=whole)
        for place in changes.tolist()
    ]
    coef = worth[np.append(0, changes + 1)].tolist()
    missing = encoding.missing
    return Steps(
        tuple(cuts), missing, encoding.low, encoding.high, encoding.reads, tuple(coef)
    )


def round_between(low: float, high: float, *, whole: bool = False) -> float:
    """Return the number of fewest digits that is at least ``low`` and less than ``high``.

    Examples
    --------
    >>> round_between(59.2, 61.7), round_between(0.0, 1.0, whole=True)
    (60.0, 0.0)
    """
    if low <= 0.0 < high:
        return 0.0
    for digits in range(16):
        found = float(f"{low / 2 + high / 2:.{digits}e}")
        found = float(np.floor(found)) if whole else found
        if low <= found < high:
            return found
    return low


def _with_points(
    model: Any,
    points: Mapping[int, Encoding],
    slope: float = 1.0,
    intercept: float = 0.0,
) -> Any:
    """Return a copy of a model whose score is so many times the total, plus a number."""
    other = copy(model)
    other.points_ = dict(points)
    scaled = {j: one.weighted(slope * np.array(one.coef)) for j, one in points.items()}
    leading = leading_coefs(scaled, model.n_features_in_)
    set_encodings(other, scaled, leading, -intercept)
    return other


def _totals(model: Any, X: Any) -> Array:
    """Score rows by a model of points: whole numbers."""
    totals: Array = np.rint(score_rows(model, X))
    return totals


def _same_settings(model: Any) -> Any:
    """Return a model to be fitted again, with the length, ridge and kind of effects of this one."""
    again = clone(model)
    if not hasattr(model, "k_"):
        return again
    if hasattr(model, "budget_"):
        again.set_params(limits=replace(model.limits or Limits(), budget=model.budget_))
    if hasattr(model, "coefficients_"):
        again.set_params(coefficients=model.coefficients_)
    return again.set_params(
        ks=[model.k_],
        alphas=[model.alpha_],
        curves=model.curves_,
        verbose=0,
        rule="best",
    )


def _score_left_out(
    model: Any,
    X: Any,
    y: npt.NDArray[Any],
    outcome: Outcome,
    largest: int,
    splits: list[Split],
    known: Mapping[str, Any],
) -> tuple[Array, float, float]:
    """Totals of rows by points given without them, (n, n_splits), and mean AUCs over the folds.

    On a scale that all folds share. The second AUC is that of the models that are
    rounded.
    """
    found = np.full((len(y), len(splits)), np.nan)
    aucs = []
    for number, (train, test) in enumerate(splits):
        found[test, number] = 0.0
        again = clone(model)
        if hasattr(again, "ks"):
            # Folds choose no more than a ridge of logistic coefficients.
            informative = outcome.take(train).informative
            again.set_params(cv=int(np.clip(informative, 2, FOLDS)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            fit_rows(again, X, y, train, **known)
        if not again.encodings_:
            continue
        of_train = {
            name: None if of is None else np.asarray(of)[train]
            for name, of in known.items()
        }
        part = FittedList.from_model(
            again, _safe_indexing(X, train), y[train], **of_train
        )
        of_points = _with_points(again, _round_effects(again, part, largest))
        found[test, number] = comparable_scores(of_points, X, outcome, train)[test]
        of_model = np.asarray(scores_by(again, _safe_indexing(X, test)), np.float64)
        judged = outcome.take(test)
        aucs.append([judged.score(one) for one in (found[test, number], of_model)])
    auc, model_auc = np.mean(aucs, axis=0) if aucs else (0.5, 0.5)
    return found, float(auc), float(model_auc)


def _as_model(
    fitted: FittedList,
    model: Any,
    points: Mapping[int, Encoding],
    kept: dict[str, Any],
    left_out: Array,
) -> Any:
    """Return a copy of a model whose score is that of the points, in log odds of two classes."""
    platt = kept.get("platt_", {"slope": 1.0, "intercept": 0.0})
    other = _with_points(model, points, platt["slope"], platt["intercept"])
    out_of_fold = platt["slope"] * mean_over_rounds(left_out) + platt["intercept"]
    other.out_of_fold_scores_ = fitted.counted.spread(out_of_fold)
    vars(other).update(kept)
    if hasattr(model, "cost_"):
        other.cost_ = model._fitted.restrictions.cost_of(np.array([*points]))
    for gone in ("optimality_gap_", "lower_bound_", "certificate_status_"):
        vars(other).pop(gone, None)
    return other


def _risk_by_total(
    classes: Binary, left_out: Array, how: Mapping[str, Any], link: Link
) -> pd.DataFrame:
    """Share of positives in each tenth of the totals, with edges that are easily read.

    Each row counts once, whatever the number of rounds; those of weight 0 do not.
    """
    import pandas as pd

    rows, totals, rounds = known_scores(np.rint(left_out), classes.weight)
    positive = classes.positive[rows]
    times = rounds[rows]
    weight = (1.0 if classes.weight is None else classes.weight[rows]) / times
    # Adding 0 turns −0 into 0.
    edges = np.unique(np.rint(np.quantile(totals, np.arange(0.1, 0.95, 0.1))) + 0.0)
    kept = [-np.inf]
    for edge in edges.tolist():
        if totals.min() <= edge < totals.max() and np.any(
            (totals > kept[-1]) & (totals <= edge)
        ):
            kept.append(edge)
    up_to = np.array([*kept[1:], np.inf])
    cell = np.searchsorted(up_to[:-1], totals, "left")
    n = up_to.size
    counted = np.bincount(cell, 1 / times, n)
    positives = np.bincount(cell, positive / times, n)
    sums = np.bincount(cell, weight, n)
    risk = np.bincount(cell, weight * positive, n) / sums
    # With weights, as many rows of equal weight as tell as much.
    size = sums**2 / np.bincount(cell, weight**2 * times, n)
    low, high = binomial_limits(risk * size, size)
    middle = np.bincount(cell, weight * totals, n) / sums
    return pd.DataFrame(
        {
            "above": kept,
            "up_to": up_to,
            "rows": np.rint(counted).astype(np.int64),
            "positives": np.rint(positives).astype(np.int64),
            "risk": risk,
            "low": low,
            "high": high,
            "predicted": from_linear(how["slope"] * middle + how["intercept"], link),
        }
    )
