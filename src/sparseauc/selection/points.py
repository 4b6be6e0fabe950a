"""The page of a score of whole points: points, and the risk that goes with each total."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from ..curves import binomial_limits
from ..estimators._points import give_points
from ..objective import Array, Indices, Mask
from ._fitted_list import FittedList
from .table import _column

if TYPE_CHECKING:
    import pandas as pd


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
    largest: Any = 5,
    per: Literal["deviation", "unit"] = "deviation",
    strata: npt.ArrayLike | None = None,
) -> PointScore:
    """Turn a short list into whole points that are added up by hand.

    Points are those of least loss among whole numbers, as far as changes of two columns at a time
    lead, and then of the largest AUC, as far as changes of one column lead; coefficients that are
    rounded one by one lose more.

    Parameters
    ----------
    model : SparseAUCClassifier or SparseAUCClassifierCV
        Fitted. A column that is not worth a point is left out. A model of whole points keeps those.
    X : array-like, sparse matrix or frame of shape (n, d)
        The rows of the fit. Each counts once.
    y : array-like of shape (n,)
    largest : int or (int, int), default=5
        Points are from ``-largest`` to ``largest``, or from the first number to the second.
    per : {"deviation", "unit"}, default="deviation"
        Points are given for each standard deviation of a column, rounded to one digit, or for each
        unit. Columns of 0 and 1 count by the unit.
    strata : array-like of shape (n,), optional
        Those that the model was fitted with: points are then found, and AUCs are, within strata.

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

    if per not in ("deviation", "unit"):
        raise ValueError(f"per must be 'deviation' or 'unit', got {per!r}")
    fitted = FittedList.from_model(model, X, y, groups=True, strata=strata)
    if model.clip_limits_ is not None and np.isfinite(model.clip_limits_[:, fitted.support]).any():
        raise ValueError(
            "points are added up by hand, and this model clips values first: fit one with clip=None"
        )
    support, positive = fitted.support, fitted.positive
    values = fitted.values(support)
    if hasattr(model, "points_"):
        other, coef = model, fitted.coef(support)
    else:
        other, coef = copy(model), np.asarray(model.coef_[0, support], np.float64)
        give_points(
            other, largest, fitted.gram, fitted.alpha, fitted.restrictions, values, positive,
            fitted.strata, per,
        )  # fmt: skip
    points, unit = other.points_[support], other.units_[support]
    totals = _totals(values, points, unit)
    yes_no = np.isin(values, (0.0, 1.0)).all(axis=0)
    columns = pd.DataFrame(
        {"column": fitted.names[support], "points": points, "unit": unit, "yes_no": yes_no}
    )
    return PointScore(
        columns[points != 0].reset_index(drop=True),
        pd.DataFrame(_risk_by_total(positive, totals)),
        fitted.auc(totals),
        fitted.auc(values @ coef),
        model.classes_.tolist()[1],
        other,
        -float(other.intercept_[0]),
        support[points != 0],
    )


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
