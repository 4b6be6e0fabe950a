"""A score of whole points, to be added up by hand, and the risk that goes with each total.

Points p stand for coefficients c·p, c chosen as well as can be. What is left of the loss is then

    min_c F(c p) + alpha‖c p‖² = 1 − (p·δ)² / pᵀ(H + alpha I)p,

so points are found on class moments first: from coefficients rounded at several scales, one or two
columns change their points at a time, as long as any such change lowers the loss. Then one column
at a time changes by a point or two, as long as that raises the AUC of the rows, which extreme
values move less than they do the loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_scalar

from ..curves import binomial_limits, fit_calibration
from ..metrics import fast_auc
from ._fitted_list import Array, FittedList, Indices, Mask
from .table import _column

if TYPE_CHECKING:
    import pandas as pd

# By how much the points of a column change at a time, at most.
_LARGEST_STEP = 5
# Changes that gain less of what is explained are rounding.
_LEAST_GAIN = 1e-12
# Changes of points that raise the AUC of the rows by less are not worth a look.
_LEAST_AUC_GAIN = 1e-4


@dataclass(frozen=True, eq=False)
class PointScore:
    """Points for a few columns; printed, it is a page.

    Attributes
    ----------
    columns : pandas.DataFrame
        ``column`` (its name, or number), ``points``, ``unit``: a row gets the points as often as
        its value holds the unit; and ``yes_no``: whether the column holds 0 and 1 only.
    risk : pandas.DataFrame
        Rows by their total: ``above`` and ``up_to``, how many ``rows`` and ``positives`` there are
        in between, ``risk``, the share of positives, with its 95 % limits ``low`` and ``high``; and
        ``sensitivity`` and ``specificity`` of calling rows positive whose total is ``above``.
    auc, model_auc : float
        AUC of the points, and of the model's own coefficients, on the same rows.
    positive_label : object
        The class that high totals speak for.
    model : SparseAUCClassifier or SparseAUCClassifierCV
        A copy of the model whose score is the total less ``threshold``: to predict, save and
        export. It has the attributes ``points_`` and ``units_``, of all columns.
    threshold : float
        Total above which rows are predicted positive, midway between the classes.
    """

    columns: pd.DataFrame
    risk: pd.DataFrame = field(repr=False)
    auc: float
    model_auc: float
    positive_label: Any
    model: Any = field(repr=False)
    threshold: float
    _places: Indices = field(repr=False)

    def totals(self, X: Any) -> Array:
        """Total points of rows: of a frame by column name, of other tables by column number."""
        if hasattr(X, "columns"):
            names = self.columns["column"].tolist()
            for name in names:
                if name not in X.columns:
                    raise ValueError(f"X has no column {name!r}, which the points need")
            values = np.column_stack([np.asarray(X[name], np.float64) for name in names])
        else:
            X = X if hasattr(X, "shape") else np.asarray(X)
            if X.shape[1] <= self._places.max():
                raise ValueError(
                    f"X has {X.shape[1]} columns, the points need column {self._places.max()}"
                )
            values = np.column_stack([_column(X, j) for j in self._places.tolist()])
        return _totals(values, self.columns["points"].to_numpy(), self.columns["unit"].to_numpy())

    def as_dict(self) -> dict[str, Any]:
        """What JSON can hold: columns, risk, threshold; None where a range has no end."""
        risk = self.risk.astype(object).where(np.isfinite(self.risk), None)
        columns = self.columns.assign(column=self.columns["column"].astype(str))
        return {
            "positive": str(self.positive_label),
            "columns": columns.to_dict("records"),
            "risk": risk.to_dict("records"),
            "threshold": self.threshold,
            "auc": self.auc,
            "model_auc": self.model_auc,
        }

    def __str__(self) -> str:
        return write_points(self.as_dict())


def write_points(score: Mapping[str, Any]) -> str:
    """Write points on a page: columns, units, points, and the risk by total.

    Parameters
    ----------
    score : mapping
        Of :meth:`PointScore.as_dict`, or from a model file.
    """
    columns = score["columns"]
    width = max([len("column"), *(len(one["column"]) for one in columns)])
    lines = [f"Points for {score['positive']}", "", f"{'column':<{width}}  points  for each"]
    for one in columns:
        unit = "if so" if one["yes_no"] else f"{one['unit']:g}"
        lines.append(f"{one['column']:<{width}}  {one['points']:+6d}  {unit:>8}")
    whole = all(one["yes_no"] for one in columns)
    how = "the points of all that apply" if whole else "points × value / unit"
    lines += ["", f"Total: {how}, added up.", ""]
    lines.append("total above   up to   rows  positives   risk (95 % limits)")
    for one in score["risk"]:
        above, up_to = (
            "" if one[edge] is None else f"{one[edge]:g}" for edge in ("above", "up_to")
        )
        lines.append(
            f"{above:>11} {up_to:>7} {one['rows']:>6d} {one['positives']:>10d} "
            f"{one['risk']:>6.0%} ({one['low']:.0%} to {one['high']:.0%})"
        )
    lines += [
        "",
        f"Predicted positive: total above {score['threshold']:g}.",
        f"AUC of these rows {score['auc']:.3f}, of coefficients {score['model_auc']:.3f}.",
    ]
    return "\n".join(lines)


def point_score(
    model: Any,
    X: Any,
    y: npt.ArrayLike,
    *,
    largest: int = 5,
    per: Literal["deviation", "unit"] = "deviation",
) -> PointScore:
    """Turn a short list into whole points that are added up by hand.

    Points are those of least loss among whole numbers, as far as changes of two columns at a time
    lead, and then of the largest AUC, as far as changes of one column lead; coefficients that are
    rounded one by one lose more.

    Parameters
    ----------
    model : SparseAUCClassifier or SparseAUCClassifierCV
        Fitted. A column that is not worth a point is left out.
    X : array-like, sparse matrix or frame of shape (n, d)
        The rows of the fit. Each counts once.
    y : array-like of shape (n,)
    largest : int, default=5
        Points are from ``-largest`` to ``largest``.
    per : {"deviation", "unit"}, default="deviation"
        Points are given for each standard deviation of a column, rounded to one digit, or for each
        unit. Columns of 0 and 1 count by the unit.

    Returns
    -------
    PointScore

    Notes
    -----
    The risk and the AUC are those of the rows given. On the rows of the fit both are a little too
    good; give other rows of the same columns to :meth:`PointScore.totals` to see by how much.

    Examples
    --------
    >>> from sparseauc import SparseAUCClassifier
    >>> from sparseauc.datasets import make_outbreak
    >>> from sparseauc.selection import point_score
    >>> X, y = make_outbreak(n=500, d=20, k=3, mu=1.0, r=0.2, random_state=0)
    >>> score = point_score(SparseAUCClassifier(k=3).fit(X, y), X, y, largest=3)
    >>> score.columns["points"].tolist(), score.model_auc - score.auc < 0.01
    ([1, 1, 1], True)
    """
    import pandas as pd

    check_scalar(largest, "largest", Integral, min_val=1)
    if per not in ("deviation", "unit"):
        raise ValueError(f"per must be 'deviation' or 'unit', got {per!r}")
    if hasattr(model, "n_strata_"):
        raise ValueError(
            "points are found by comparing all rows, and this model compares them within strata: "
            "fit one without strata"
        )
    fitted = FittedList.from_model(model, X, y, groups=True)
    gram, support = fitted.gram, fitted.support
    values = fitted.values(support)
    scale = gram.scale[support]
    rounded = np.array([float(f"{deviation:.1g}") for deviation in scale])
    yes_no = np.isin(values, (0.0, 1.0)).all(axis=0)
    unit = np.where(yes_no | (per == "unit"), 1.0, rounded)
    # One point is worth this much of a standardised coefficient.
    worth = scale / unit
    P = gram.block(support, support) + fitted.alpha * np.eye(support.size)
    signs = fitted.restrictions.signs_of(support)
    points = whole_points(
        P * np.outer(worth, worth), gram.delta[support] * worth, int(largest), signs
    )
    points = _raise_auc(values / unit, fitted.positive, points, int(largest), signs)
    totals = _totals(values, points, unit)
    scores = values @ np.asarray(model.coef_[0, support], np.float64) + model.intercept_[0]
    columns = pd.DataFrame(
        {"column": fitted.names[support], "points": points, "unit": unit, "yes_no": yes_no}
    )
    threshold = _midway(totals, fitted.positive)
    # A half parts whole totals without ties.
    whole = bool(np.all(totals == np.rint(totals)))
    threshold = np.floor(threshold) + 0.5 if whole else round(threshold, 1)
    return PointScore(
        columns[points != 0].reset_index(drop=True),
        pd.DataFrame(_risk_by_total(fitted.positive, totals)),
        fast_auc(totals, fitted.positive),
        fast_auc(scores, fitted.positive),
        model.classes_.tolist()[1],
        _with_points(model, fitted, points, unit, scores, totals, float(threshold)),
        float(threshold),
        support[points != 0],
    )


def _midway(scores: Array, positive: Mask) -> float:
    return float(scores[positive].mean() + scores[~positive].mean()) / 2


def _with_points(
    model: Any,
    fitted: FittedList,
    points: Indices,
    unit: Array,
    scores: Array,
    totals: Array,
    threshold: float,
) -> Any:
    """A copy of a model whose score is the total of its points less a threshold."""
    other, d = copy(model), fitted.names.size
    for proof in ("optimality_gap_", "lower_bound_", "certificate_status_"):
        vars(other).pop(proof, None)
    other.points_, other.units_ = np.zeros(d, np.int64), np.ones(d)
    other.points_[fitted.support], other.units_[fitted.support] = points, unit
    other.coef_ = (other.points_ / other.units_).reshape(1, -1)
    other.intercept_ = np.array([-threshold])
    other._set_cost(other.coef_[0], fitted.restrictions)
    other.objective_ = fitted.gram.quadratic.loss(other.coef_[0])
    known = getattr(model, "out_of_fold_scores_", None)
    if known is not None and known.size == totals.size:
        # Scores of rows left out, by coefficients that were not rounded, on the scale of points.
        positive = fitted.positive
        stretch = (totals[positive].mean() - totals[~positive].mean()) / (
            scores[positive].mean() - scores[~positive].mean()
        )
        other.out_of_fold_scores_ = (
            _midway(totals, positive) - threshold + stretch * (known - _midway(scores, positive))
        )
        other.calibration_ = fit_calibration(other.out_of_fold_scores_, positive)
    return other


def whole_points(P: Array, delta: Array, largest: int, signs: Indices | None = None) -> Indices:
    """Whole numbers p from −largest to largest for which (p·δ)² / pᵀPp is large, with p·δ < 0.

    Parameters
    ----------
    P : ndarray of shape (k, k)
        Positive definite.
    delta : ndarray of shape (k,)
    largest : int
    signs : int64 ndarray of shape (k,), optional
        1 for points of 0 or more, −1 for those of 0 or less, 0 for any.
    """
    signs = np.zeros(delta.size, np.int64) if signs is None else signs
    w = -np.linalg.lstsq(P, delta, rcond=None)[0]
    best, most = np.zeros(delta.size, np.int64), 0.0
    tried: set[bytes] = set()
    top = float(np.abs(w).max())
    for scale in np.arange(1.0, largest + 0.75, 0.25) if top > 0 else ():
        points = np.rint(np.clip(w * (scale / top), -largest, largest)).astype(np.int64)
        points[signs * points < 0] = 0
        if points.tobytes() not in tried:
            tried.add(points.tobytes())
            points, explained = _climb(P, delta, points, largest, signs)
            if explained > most * (1 + _LEAST_GAIN):
                best, most = points, explained
    best = _smallest(best)
    return best if best @ delta <= 0 else -best


def _smallest(points: Indices) -> Indices:
    """The smallest whole numbers of the same ratios, which are as good."""
    return points // max(1, int(np.gcd.reduce(points)))


def _climb(
    P: Array, delta: Array, points: Indices, largest: int, signs: Indices
) -> tuple[Indices, float]:
    """Change the points of one or two columns at a time, as long as that explains more."""
    k = delta.size
    steps = np.arange(-_LARGEST_STEP, _LARGEST_STEP + 1)
    column, step = np.repeat(np.arange(k), steps.size), np.tile(steps, k)
    one_sum = step * delta[column]
    one_square = step**2 * P.diagonal()[column]
    both = np.outer(step, step) * P[np.ix_(column, column)]
    other = column[:, None] != column
    explained = 0.0
    while True:
        changed = points[column] + step
        possible = (np.abs(changed) <= largest) & (signs[column] * changed >= 0)
        sums, along = points @ delta, P @ points
        linear = one_square + 2 * step * along[column]
        # A step of 0 beside another column's is a change of that column alone.
        total = sums + one_sum[:, None] + one_sum
        square = points @ along + linear[:, None] + linear + 2 * both
        after = np.zeros(square.shape)
        feasible = other & possible[:, None] & possible & (square > 0)
        if k == 1:
            total, square = sums + one_sum, points @ along + linear
            after, feasible = np.zeros(square.shape), possible & (square > 0)
        if signs.any():  # else all signs may be turned round in the end
            feasible &= total < 0
        np.divide(total**2, square, out=after, where=feasible)
        place = np.unravel_index(int(np.argmax(after)), after.shape)
        if after[place] <= explained * (1 + _LEAST_GAIN):
            return points, explained
        explained = float(after[place])
        points = points.copy()
        for change in place:
            points[column[change]] += step[change]


def _raise_auc(
    values: Array, positive: Mask, points: Indices, largest: int, signs: Indices
) -> Indices:
    """Change the points of one column at a time, as long as that raises the AUC of the rows."""
    best = fast_auc(values @ points, positive)
    while True:
        moves = [(j, step) for j in range(points.size) for step in (-2, -1, 1, 2)]
        tried = np.array([points] * len(moves))
        for row, (j, step) in enumerate(moves):
            tried[row, j] += step
        possible = (np.abs(tried) <= largest) & (signs * tried >= 0)
        tried = tried[possible.all(axis=1) & tried.any(axis=1)]
        aucs = [fast_auc(values @ one, positive) for one in tried]
        place = int(np.argmax(aucs))
        if aucs[place] <= best + _LEAST_AUC_GAIN:
            return _smallest(points)
        points, best = tried[place], aucs[place]


def _totals(values: Array, points: Indices, unit: Array) -> Array:
    # Rounded, so that sums in another order are the same total.
    return np.round(values @ (points / unit), 9)


def _risk_by_total(positive: Mask, totals: Array) -> dict[str, npt.NDArray[Any]]:
    """Share of positives in each tenth of the totals, with edges that are easily read."""
    edges = np.quantile(totals, np.arange(0.1, 0.95, 0.1))
    # Adding 0 turns −0 into 0.
    edges = np.unique(np.round(edges, 0 if edges[-1] - edges[0] >= 10 else 1) + 0.0)
    ascending = np.sort(totals)
    kept = [-np.inf]
    for edge in edges.tolist():
        if ascending[0] <= edge < ascending[-1] and np.any((totals > kept[-1]) & (totals <= edge)):
            kept.append(edge)
    up_to = np.array([*kept[1:], np.inf])
    # Rows and positives up to each edge; then those above it and up to the next.
    counts = [np.searchsorted(np.sort(side), up_to, "right") for side in (totals, totals[positive])]
    rows, positives = (np.diff(count, prepend=0) for count in counts)
    low, high = binomial_limits(positives, rows)
    above = [np.concatenate([[0], count[:-1]]) for count in counts]
    n, n_positive = totals.size, int(positive.sum())
    return {
        "above": np.array(kept),
        "up_to": up_to,
        "rows": rows,
        "positives": positives,
        "risk": positives / rows,
        "low": low,
        "high": high,
        "sensitivity": (n_positive - above[1]) / n_positive,
        "specificity": (above[0] - above[1]) / (n - n_positive),
    }
