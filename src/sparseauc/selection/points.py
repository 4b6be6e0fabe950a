"""A score of whole points, and the risk that goes with each total.

Points are found on all rows. The risk of a total is that of rows that were left out: in every fold
the list is chosen and points are given without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ..columns import Line
from ..cross_validation import mean_over_rounds
from ..errors import InputError
from ..folds import Split
from ..outcome import Binary, Times
from ..path import path_of_moments
from ..performance import binomial_limits, fit_calibration
from ..solvers.points import Range, points_range, possible_points, raise_auc, whole_points
from ..survival import ProportionalHazards
from ..utils.arrays import column_of
from ..utils.links import Link, from_linear, to_linear
from ..utils.types import Array, Indices, Mask
from .fitted_list import FittedList

if TYPE_CHECKING:
    import pandas as pd

Unit = Literal["deviation", "unit"]


@dataclass(frozen=True, eq=False)
class PointScore:
    """Points for a few columns; printed, it is a page.

    Attributes
    ----------
    columns : pandas.DataFrame
        ``column`` (its name, or number), ``points``, ``unit``: a row gets the points as often as
        its value holds the unit; and ``yes_no``: whether the column holds 0 and 1 only.
    risk : pandas.DataFrame
        Rows left out of the fit, by their total: ``above`` and ``up_to``, how many ``rows`` and
        ``positives`` there are in between, ``risk``, the share of positives, with its 95 % CI
        ``low`` and ``high``; ``predicted``, the risk by the formula at the mean total; and
        ``sensitivity`` and ``specificity`` of calling rows positive whose total is ``above``. Of
        times to event, positives have their event until the horizon, rows that are censored before
        are left out, and inverse censoring weights of the others stand for them.
    slope, intercept : float
        The log odds of a total are slope × total + intercept. Of times to event, the logarithm of
        the cumulative hazard until the horizon is: the risk is 1 − exp(−exp(slope × total +
        intercept)), by a Cox model of totals of rows left out, with Breslow's baseline.
    threshold : float
        Total above which the risk is higher than the share of positives: a whole number.
    prevalence : float
        That share.
    auc, model_auc : float
        AUC of the points, and of coefficients of least loss on the same columns, on rows left out:
        the mean over folds. Of times to event, the concordance.
    positive_label : object
        The class that high totals speak for.
    model : SparseAUCClassifier, SparseAUCClassifierCV, SparseConcordance or SparseConcordanceCV
        A copy of the model whose coefficients are the points, in log odds; of times to event, whose
        score is the total. To predict, save and export. It has the attributes ``points_`` and
        ``units_``, of all columns.
    whole : bool
        Whether all totals are whole numbers.
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
    positive_label: Any
    model: Any = field(repr=False)
    whole: bool
    _places: Indices = field(repr=False)
    horizon: float | None = None

    def totals(self, X: Any) -> Array:
        """Total points of rows: of a frame by column name, of other tables by column number."""
        if hasattr(X, "columns"):
            names = self.columns["column"].tolist()
            for name in names:
                if name not in X.columns:
                    raise InputError(f"X has no column {name!r}, which the points need")
            values = np.column_stack([np.asarray(X[name], np.float64) for name in names])
        else:
            X = X if hasattr(X, "shape") else np.asarray(X)
            if X.shape[1] <= self._places.max():
                raise InputError(
                    f"X has {X.shape[1]} columns, the points need column {self._places.max()}"
                )
            values = np.column_stack([column_of(X, j) for j in self._places.tolist()])
        return _totals(values, self.columns["points"].to_numpy(), self.columns["unit"].to_numpy())

    def risks(self, totals: npt.ArrayLike) -> Array:
        """Risk of totals, by the formula."""
        linear = self.slope * np.asarray(totals, np.float64) + self.intercept
        return from_linear(linear, "logit" if self.horizon is None else "cloglog")

    def as_dict(self) -> dict[str, Any]:
        """Return the score as JSON can hold it; None where a range has no end."""
        risk = self.risk.astype(object).where(np.isfinite(self.risk), None)
        columns = self.columns.assign(column=self.columns["column"].astype(str))
        return {
            "positive": str(self.positive_label),
            "columns": columns.to_dict("records"),
            "risk": risk.to_dict("records"),
            "slope": self.slope,
            "intercept": self.intercept,
            "threshold": self.threshold,
            "prevalence": self.prevalence,
            "auc": self.auc,
            "model_auc": self.model_auc,
            **({} if self.horizon is None else {"horizon": self.horizon}),
        }

    def __str__(self) -> str:
        return write_points(self.as_dict())


def write_points(score: Mapping[str, Any]) -> str:
    """Write points, as ``PointScore.as_dict`` gives them, on a page."""
    columns = score["columns"]
    width = max([len("column"), *(len(one["column"]) for one in columns)])
    lines = [f"Points for {score['positive']}", "", f"{'column':<{width}}  points  for each"]
    for one in columns:
        unit = "if so" if one["yes_no"] else f"{one['unit']:g}"
        lines.append(f"{one['column']:<{width}}  {one['points']:+6d}  {unit:>8}")
    whole = all(one["yes_no"] for one in columns)
    how = "the points of all that apply" if whole else "points × value / unit"
    lines += ["", f"Total: {how}, added up.", ""]
    until = ""
    events = "positives"
    share = "the share of positives"
    measure = "AUC"
    if (horizon := score.get("horizon")) is not None:
        until = f" until {horizon:g}"
        events = "events"
        measure = "C"
        share = "that of all rows"
    lines.append(f"total above   up to   rows  {events:>9}   risk{until} (95 % CI)")
    for one in score["risk"]:
        above, up_to = (
            "" if one[edge] is None else f"{one[edge]:g}" for edge in ("above", "up_to")
        )
        lines.append(
            f"{above:>11} {up_to:>7} {one['rows']:>6d} {one['positives']:>10d} "
            f"{one['risk']:>6.0%} ({one['low']:.0%} to {one['high']:.0%})"
        )
    lines.append("")
    lines += [
        "Rows were left out of the fit that gives their total.",
        f"Above {score['threshold']:g}, the risk is higher than {share}, "
        f"{score['prevalence']:.0%}.",
        f"{measure} of rows left out {score['auc']:.3f}, of coefficients {score['model_auc']:.3f}.",
    ]
    return "\n".join(lines)


def point_score(
    model: Any,
    X: Any,
    y: npt.ArrayLike,
    *,
    largest: Any = 5,
    per: Unit = "deviation",
    cv: Any = None,
    random_state: Any = 0,
    sample_weight: npt.ArrayLike | None = None,
    strata: npt.ArrayLike | None = None,
) -> PointScore:
    """Turn a short list into whole points that are added up by hand.

    Points are those of least loss among whole numbers, as far as changes of two columns at a time
    lead, and then of the largest AUC, as far as changes of one column lead; coefficients that are
    rounded one by one lose more.

    Parameters
    ----------
    model : SparseAUCClassifier, SparseAUCClassifierCV, SparseConcordance or SparseConcordanceCV
        Fitted. A column that is not worth a point is left out.
    X : array-like, sparse matrix or frame of shape (n, d)
        The rows of the fit.
    y : array-like of shape (n,)
        Their labels; or their events and times, as the model was fitted to.
    largest : int or (int, int), default=5
        Points are from ``-largest`` to ``largest``, or from the first number to the second. With
        (0, 3) no column may lower the total: the list is chosen anew among such lists, if the
        model's has coefficients below 0.
    per : {"deviation", "unit"}, default="deviation"
        Points are given for each standard deviation of a column, rounded to one digit, or for each
        unit. Columns of 0 and 1 count by the unit.
    cv : int, splitter or iterable, optional
        Folds for the risk by total, as in scikit-learn. By default five stratified folds, repeated
        where rows are few.
    random_state : int, RandomState instance or None, default=0
        Seed of the default folds.
    sample_weight, strata : array-like of shape (n,), optional
        Those that the model was fitted with. With strata, points are found, and AUCs are, within
        them.

    Returns
    -------
    PointScore

    Notes
    -----
    Risk and AUC are those of rows left out. In every fold, a list of the same length is chosen with
    the same ridge and limits, and given points, without the rows of the fold. As these totals have
    other columns, they are brought to the scale of the points of all rows: so that the class means
    of the training rows are the same; of times to event, their mean and standard deviation.

    Examples
    --------
    >>> from sparseauc import SparseAUCClassifier, datasets, selection
    >>> X, y = datasets.make_outbreak(n=500, d=20, k=3, mu=1.0, r=0.2, random_state=0)
    >>> score = selection.point_score(SparseAUCClassifier(k=3).fit(X, y), X, y, largest=3)
    >>> score.columns["points"].tolist(), score.model_auc - score.auc < 0.01
    ([1, 1, 1], True)
    """
    import pandas as pd

    if per not in ("deviation", "unit"):
        raise InputError(f"per must be 'deviation' or 'unit', got {per!r}")
    within = points_range(largest)
    if not all(isinstance(one, Line) for one in getattr(model, "encodings_", {}).values()):
        raise InputError(
            "points are so many for each unit of a column, and this model has curves or texts: fit "
            "one with curves=False, to columns of numbers"
        )
    fitted = FittedList.from_model(model, X, y, sample_weight=sample_weight, strata=strata)
    signed = _with_signs(fitted, within)
    if not signed.restrictions.right_signs(fitted.support, model.coef_[0, fitted.support]):
        signed = replace(signed, support=_choose(signed))
    cv = fitted.counted.number_splits(cv)
    splits = fitted.outcome.split(cv, fitted.X, None, random_state)
    found = _give_points(signed, within, per) if signed.support.size else None
    if found is None or not found.points.any():
        raise InputError(
            f"no column is worth a point from {within[0]} to {within[1]}: allow points of both "
            "signs"
        )
    totals = found.totals(fitted)
    whole = bool(np.all(totals == np.rint(totals)))
    left_out, auc, model_auc = _totals_left_out(signed, found, within, per, splits)
    risk = _fit_risk(model, fitted, left_out)
    columns = pd.DataFrame(
        {
            "column": fitted.names[found.support],
            "points": found.points,
            "unit": found.units,
            "yes_no": found.yes_no,
        }
    )
    kept = found.points != 0
    by_total = _risk_by_total(risk.known, left_out, whole=whole)
    middle = [np.average(part, weights=weight) for part, weight in by_total.pop("totals")]
    by_total["predicted"] = from_linear(risk.slope * np.array(middle) + risk.intercept, risk.link)
    return PointScore(
        columns[kept].reset_index(drop=True),
        pd.DataFrame(by_total),
        risk.slope,
        risk.intercept,
        whole_threshold(vars(risk), risk.link),
        risk.prevalence,
        auc,
        model_auc,
        getattr(model, "classes_", ("censored", "event"))[1],
        _as_model(fitted, model, found, risk, left_out),
        whole,
        found.support[kept],
        model.horizon_ if risk.link == "cloglog" else None,
    )


def whole_threshold(how: Mapping[str, Any], link: Link = "logit") -> float:
    """Return the largest whole total whose risk is not above the share of positives."""
    if how["slope"] == 0:  # totals tell nothing of the risk
        return 0.0
    even = (float(to_linear(how["prevalence"], link)) - how["intercept"]) / how["slope"]
    return float(np.floor(even + 1e-9)) + 0.0


@dataclass(frozen=True, eq=False)
class _Risk:
    """Risk of a total, the classes that it is of, and the attributes a model keeps of it.

    ``score`` is the slope and the intercept with which a total is the score of the model.
    """

    slope: float
    intercept: float
    prevalence: float
    link: Link
    known: Binary
    score: tuple[float, float]
    kept: dict[str, Any]


def _fit_risk(model: Any, fitted: FittedList, left_out: Array) -> _Risk:
    """Fit the risk to totals of rows left out, (n, rounds)."""
    outcome = fitted.outcome
    if not isinstance(outcome, Times):
        platt = fit_calibration(left_out, outcome.positive, outcome.weight)
        del platt["reversed"]
        how = platt["slope"], platt["intercept"]
        known = Binary(outcome.positive, outcome.weight)
        return _Risk(*how, platt["prevalence"], "logit", known, how, {"platt_": platt})
    hazards = ProportionalHazards.fit(left_out, outcome.times, outcome.weight)
    known = outcome.at_horizon(model.horizon_)
    until = float(hazards.log_hazard(model.horizon_))
    share = float(np.average(known.positive, weights=known.weight))
    kept = {"hazards_": hazards}
    return _Risk(hazards.slope, until, share, "cloglog", known, (1.0, 0.0), kept)


class _Points(NamedTuple):
    """Points of the columns of a list."""

    support: Indices
    points: Indices
    units: Array
    yes_no: Mask

    def totals(self, fitted: FittedList) -> Array:
        """Totals of the rows."""
        return _totals(fitted.values(self.support), self.points, self.units)


def _totals(values: Array, points: Indices, unit: Array) -> Array:
    # Rounded, so that sums in another order are the same total.
    return np.round(values @ (points / unit), 9)


def _with_signs(fitted: FittedList, within: Range) -> FittedList:
    """Add the signs that a range of points leaves to all columns."""
    if within[0] < 0 < within[1]:
        return fitted
    every = np.arange(fitted.gram.n_features)
    sign = 1 if within[0] == 0 else -1
    given = fitted.restrictions.signs_of(every)
    restrictions = fitted.restrictions
    # A column that must have the other sign has no point to get.
    against = np.union1d(restrictions.excluded, every[given == -sign])
    fixed = np.setdiff1d(restrictions.fixed, against)
    return replace(
        fitted,
        restrictions=replace(
            restrictions, fixed=fixed, excluded=against, signs=np.full(every.size, sign)
        ),
    )


def _choose(fitted: FittedList) -> Indices:
    """The best list of the same length, with the same ridge and limits, on these rows."""
    ks = np.array([fitted.support.size])
    alphas = np.array([fitted.alpha])
    path = path_of_moments(fitted.gram.quadratic, ks, alphas, fitted.restrictions, thorough=True)
    return path.solutions[0][0].support


def _give_points(fitted: FittedList, within: Range, per: Unit) -> _Points:
    """Whole points for the columns of a list."""
    support = fitted.support
    gram = fitted.gram
    scale = gram.scale[support]
    values = fitted.values(support)
    rounded = np.array([float(f"{deviation:.1g}") for deviation in scale])
    yes_no: Mask = np.asarray(np.isin(values, (0.0, 1.0)).all(axis=0))
    units = np.where(yes_no | (per == "unit"), 1.0, rounded)
    # A point stands for this much of a standardised coefficient.
    stretch = scale / units
    P = gram.block(support, support) + fitted.alpha * np.eye(support.size)
    signs = fitted.restrictions.signs_of(support)
    points = whole_points(
        P * np.outer(stretch, stretch), gram.delta[support] * stretch, within, signs
    )
    low, high = possible_points(within, signs)
    points = raise_auc(values / units, fitted.outcome.score, points, low, high)
    return _Points(support, points, units, yes_no)


def _totals_left_out(
    fitted: FittedList, final: _Points, within: Range, per: Unit, splits: list[Split]
) -> tuple[Array, float, float]:
    """Totals of rows by points given without them, (n, rounds), and mean AUCs over the folds.

    On the scale of the final points. The second AUC is that of coefficients of least loss.
    """
    outcome = fitted.outcome
    n = outcome.positive.size
    middle, distance = outcome.scale(final.totals(fitted))
    times = np.zeros(n, np.int64)
    rounds = int(np.bincount(np.concatenate([test for _, test in splits])).max())
    found = np.full((n, rounds), np.nan)
    aucs = []
    for train, test in splits:
        part = fitted.at(train)
        part = replace(part, support=_choose(part))
        if part.support.size == 0:
            totals = np.zeros(test.size)
        else:
            points = _give_points(part, within, per)
            coef = part.coef(part.support)
            values = fitted.values(points.support)
            every = _totals(values, points.points, points.units)
            own_middle, own_distance = outcome.take(train).scale(every[train])
            totals = (every[test] - own_middle) / own_distance
            judged = outcome.take(test)
            aucs.append([judged.score(scores) for scores in (totals, values[test] @ coef)])
        found[test, times[test]] = middle + distance * totals
        times[test] += 1
    auc, model_auc = np.mean(aucs, axis=0) if aucs else (0.5, 0.5)
    return found, float(auc), float(model_auc)


def _as_model(fitted: FittedList, model: Any, found: _Points, risk: _Risk, left_out: Array) -> Any:
    """A copy of a model whose score is that of the points."""
    other = copy(model)
    d = model.coef_.shape[1]
    other.points_ = np.zeros(d, np.int64)
    other.units_ = np.ones(d)
    other.points_[found.support] = found.points
    other.units_[found.support] = found.units
    slope, intercept = risk.score
    coef = slope * (other.points_ / other.units_)
    other._set_encodings(
        {
            j: Line.learn(column_of(fitted.X, j), fitted.outcome.weight).weighted(coef[[j]])
            for j in np.flatnonzero(coef).tolist()
        },
        np.float64,
        -intercept,
    )
    out_of_fold = slope * mean_over_rounds(left_out) + intercept
    other.out_of_fold_scores_ = fitted.counted.spread(out_of_fold)
    vars(other).update(risk.kept)
    if hasattr(model, "cost_"):
        other.cost_ = model._fitted.restrictions.cost_of(np.flatnonzero(other.points_))
    for gone in ("optimality_gap_", "lower_bound_", "certificate_status_"):
        vars(other).pop(gone, None)
    return other


def _risk_by_total(known: Binary, left_out: Array, *, whole: bool) -> dict[str, Any]:
    """Share of positives in each tenth of the totals, with edges that are easily read.

    Each row counts once, whatever the number of rounds; those of weight 0 do not.
    """
    share = np.ones(known.positive.size) if known.weight is None else known.weight
    rows, rounds = np.nonzero(~np.isnan(left_out) & (share > 0)[:, None])
    totals = left_out[rows, rounds]
    positive = known.positive[rows]
    times = np.bincount(rows, minlength=share.size)[rows]
    weight = share[rows] / times
    if whole:
        totals = np.rint(totals)
    edges = np.quantile(totals, np.arange(0.1, 0.95, 0.1))
    # Adding 0 turns −0 into 0.
    coarse = whole or edges[-1] - edges[0] >= 5
    edges = np.unique(np.round(edges, 0 if coarse else 1) + 0.0)
    kept = [-np.inf]
    for edge in edges.tolist():
        if totals.min() <= edge < totals.max() and np.any((totals > kept[-1]) & (totals <= edge)):
            kept.append(edge)
    up_to = np.array([*kept[1:], np.inf])
    cell = np.searchsorted(up_to[:-1], totals, "left")
    n = up_to.size
    counted = np.bincount(cell, 1 / times, n)
    positives = np.bincount(cell, positive / times, n)
    sums = np.bincount(cell, weight, n)
    of_positive = np.bincount(cell, weight * positive, n)
    risk = of_positive / sums
    # With weights, as many rows of equal weight as tell as much.
    size = sums**2 / np.bincount(cell, weight**2 * times, n)
    low, high = binomial_limits(risk * size, size)
    above = [np.cumsum(part[::-1])[::-1] for part in (of_positive, sums - of_positive)]
    return {
        "above": np.array(kept),
        "up_to": up_to,
        "rows": np.rint(counted).astype(np.int64),
        "positives": np.rint(positives).astype(np.int64),
        "risk": risk,
        "low": low,
        "high": high,
        "sensitivity": above[0] / above[0][0],
        "specificity": 1 - above[1] / above[1][0],
        "totals": [(totals[cell == part], weight[cell == part]) for part in range(n)],
    }
