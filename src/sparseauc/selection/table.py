"""The table of chosen columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..columns import Curve, Line
from ..columns.reading import ReadColumns
from ..errors import InputError
from ..limits import Limits, TableColumns
from ..utils.arrays import column_of
from ..utils.types import Array, Indices, Mask
from .fitted_list import rows_of_fit
from .stability import StabilityResult

if TYPE_CHECKING:
    import pandas as pd


def column_table(
    model: Any,
    X: Any,
    y: npt.ArrayLike,
    stability: StabilityResult | None = None,
    strata: npt.NDArray[Any] | None = None,
) -> pd.DataFrame:
    """Tabulate the chosen columns, those with the largest weights first.

    Parameters
    ----------
    model : SparseLinearClassifier, SparseConcordance or SparseConcordanceCV
        Fitted; any model of this package.
    X : array-like, sparse matrix or frame of shape (n, d)
        Usually the training rows.
    y : array-like of shape (n,)
        Their labels; or their events and times, as the model was fitted to.
    stability : StabilityResult, optional
        For the selection frequencies.
    strata : ndarray of shape (n,), optional
        Those that the model was fitted with: AUCs and standard deviations are then
        within them.

    Returns
    -------
    pandas.DataFrame
        One row for each column with a coefficient:

        - ``rank``: 1 for the largest ``standardised``, by absolute value;
        - ``column``: its name, or its index if the model was fitted without names;
        - ``coefficient``: per unit of the column; of a curve its mean slope, of a text
          the range of its effects;
        - ``standardised``: per standard deviation of the column; of a curve or a text
          the standard deviation of its effect;
        - ``effect``: of a model with curves or texts, what each column counts;
        - ``odds_ratio`` and ``odds_ratio_per_sd``: of a model in log odds, factor of
          the odds for each unit, NaN of curves and texts, and for each standard
          deviation. Of a model of times to event, ``hazard_ratio`` and
          ``hazard_ratio_per_sd``;
        - ``auc``: of the column alone, in its better direction, so at least 0.5; for
          times to event, Harrell's C;
        - ``direction``: "+" if positives have larger values, or rows with an earlier
          event, "-" if smaller, "" if neither, and of texts;
        - ``cost``: of a model with costs or a budget; of columns that are paid for
          together, that of the first;
        - ``sign`` and ``family``: of a model with limits on signs or families, "" for
          none;
        - ``points``: of a model of :func:`~sparseauc.selection.point_score`, the most;
        - ``frequency``: if ``stability`` is given, share of the halves that chose it.

    Notes
    -----
    A column whose coefficient and direction differ in sign cancels noise that it shares
    with others.

    Examples
    --------
    >>> from sparseauc import SparseAUCClassifier, datasets, selection
    >>> X, y = datasets.make_outbreak(n=500, d=20, k=3, mu=1.0, r=0.2, random_state=0)
    >>> table = selection.column_table(SparseAUCClassifier(k=3).fit(X, y), X, y)
    >>> table["direction"].tolist()
    ['+', '+', '+']
    """
    import pandas as pd

    X, outcome, _ = rows_of_fit(model, X, y)
    if stability is not None and stability.frequency.size != model.n_features_in_:
        raise InputError(
            f"stability is of {stability.frequency.size} columns and the model of "
            f"{model.n_features_in_}: both must be of the same table"
        )

    coef = np.asarray(model.coef_[0], np.float64)
    chosen = np.flatnonzero(coef)
    table = X.values if isinstance(X, ReadColumns) else X
    encodings = [model.encodings_[j] for j in chosen.tolist()]
    lines = np.array([isinstance(one, Line) for one in encodings], np.bool_)

    def area(value: Array) -> float:
        within = outcome.interval_within(value, strata)
        return 0.5 if within is None else within.auc

    deviations, aucs, by_number = np.full((3, chosen.size), 0.5)
    # One column at a time: nothing of size n × d is made of a sparse table.
    for place, one in enumerate(encodings):
        values = column_of(table, chosen[place])
        numbers = one.basis(values)[:, 0]
        counted = numbers if lines[place] else one.effect_of(values)
        deviations[place] = counted.std()
        aucs[place] = area(counted)
        # The direction is that of the numbers; texts have none.
        if lines[place]:
            by_number[place] = aucs[place]
        elif isinstance(one, Curve):
            by_number[place] = area(numbers)
    if strata is not None:
        deviations[lines] = np.asarray(model.scale_)[chosen[lines]]
    # What curves and levels count is an effect already.
    per_unit = np.where(lines, coef[chosen], 1.0)
    standardised = per_unit * deviations
    names = getattr(model, "feature_names_in_", np.arange(coef.size))
    found = pd.DataFrame(
        {
            "column": names[chosen],
            "coefficient": coef[chosen],
            "standardised": standardised,
            **_ratios(model, chosen, standardised, lines),
            "auc": np.maximum(aucs, 1.0 - aucs),
            "direction": np.select([by_number > 0.5, by_number < 0.5], ["+", "-"], ""),
        }
    )
    if not lines.all():
        found["effect"] = [one.words() for one in encodings]
    if hasattr(model, "points_"):
        found["points"] = [int(max(model.points_[j].coef)) for j in chosen.tolist()]
    if stability is not None:
        found["frequency"] = stability.frequency[chosen]
    order = np.argsort(-np.abs(standardised), kind="stable")
    _add_limits(found, model, chosen, order)
    found = found.iloc[order].reset_index(drop=True)
    found.insert(0, "rank", np.arange(1, chosen.size + 1))
    return found


def _ratios(
    model: Any, chosen: Indices, standardised: Array, lines: Mask
) -> dict[str, Any]:
    """Odds or hazard ratios of the chosen columns by heading; none of other scores."""
    hazards = getattr(model, "hazards_", None)
    if not hasattr(model, "platt_") and (hazards is None or hazards.slope == 0):
        return {}
    name = "odds_ratio" if hazards is None else "hazard_ratio"
    slope = 1.0 if hazards is None else hazards.slope
    coef = slope * np.asarray(model.coef_[0], np.float64)[chosen]
    with np.errstate(over="ignore"):
        per_unit = np.where(lines, np.exp(coef), np.nan)
        return {name: per_unit, f"{name}_per_sd": np.exp(slope * standardised)}


def _add_limits(
    table: pd.DataFrame, model: Any, chosen: Indices, order: Indices
) -> None:
    """Add signs, families and costs of the chosen columns, which are listed in an order."""
    d = model.coef_.shape[1]
    limits = getattr(model, "limits", None) or Limits()
    columns = TableColumns(d, getattr(model, "feature_names_in_", None))
    if limits.signs is not None:
        signs = columns.labels(limits.signs, "signs")
        table["sign"] = [{1: "+", -1: "-"}.get(signs[j], "") for j in chosen.tolist()]
    if limits.families is not None:
        labels = columns.labels(limits.families, "families")
        table["family"] = [
            "" if labels[j] is None else labels[j] for j in chosen.tolist()
        ]
    if hasattr(model, "cost_"):
        table["cost"] = 0.0
        for place, column in enumerate(chosen[order].tolist()):
            (table.loc[order[place], "cost"],) = model._fitted.restrictions.extra_costs(
                chosen[order[:place]], np.array([column])
            )
