"""The table of chosen columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..limits import Limits
from ..utils.types import Array, Indices
from .fitted_list import column_of, rows_of_fit
from .stability import StabilityResult

if TYPE_CHECKING:
    import pandas as pd

# Multiplications that looking for near copies may take: about a second.
_MOST_PRODUCTS = 1e9


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
        Those that the model was fitted with: AUCs and standard deviations are then within them.

    Returns
    -------
    pandas.DataFrame
        One row for each column with a coefficient:

        - ``rank``: 1 for the largest ``standardised``, by absolute value;
        - ``column``: its name, or its index if the model was fitted without names;
        - ``coefficient``: per unit of the column;
        - ``standardised``: per standard deviation of the column;
        - ``odds_ratio`` and ``odds_ratio_per_sd``: of a model in log odds, factor of the odds for
          each unit, or for each doubling of a column of logarithms, as ``odds_ratio_for`` says if
          there are any; and for each standard deviation. Of a model of times to event,
          ``hazard_ratio`` and ``hazard_ratio_per_sd``;
        - ``auc``: of the column alone, in its better direction, so at least 0.5; for times to
          event, Harrell's C;
        - ``direction``: "+" if positives have larger values, or rows with an earlier event, "-" if
          smaller, "" if neither;
        - ``cost``: of a model with costs or a budget; of columns that are paid for
          together, that of the first;
        - ``sign`` and ``family``: of a model with limits on signs or families, "" for none;
        - ``points`` and ``unit``: of a model of :func:`~sparseauc.selection.point_score`;
        - ``frequency``: if ``stability`` is given, share of the halves that chose it.

    Notes
    -----
    A column whose coefficient and direction differ in sign cancels noise that it shares with
    others.

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
    # One column at a time: nothing of size n × d is made of a sparse table.
    values = [column_of(X, j) for j in chosen.tolist()]
    if strata is None:
        deviations = np.array([value.std() for value in values])
    else:
        deviations = np.asarray(model.scale_, np.float64)[chosen]
    within = [outcome.interval_within(value, strata) for value in values]
    aucs = np.array([0.5 if one is None else one.auc for one in within])
    standardised = coef[chosen] * deviations
    names = getattr(model, "feature_names_in_", np.arange(coef.size))
    table = pd.DataFrame(
        {
            "column": names[chosen],
            "coefficient": coef[chosen],
            "standardised": standardised,
            **_ratios(model, chosen, standardised),
            "auc": np.maximum(aucs, 1.0 - aucs),
            "direction": np.select([aucs > 0.5, aucs < 0.5], ["+", "-"], ""),
        }
    )
    if hasattr(model, "points_"):
        table["points"] = model.points_[chosen]
        table["unit"] = model.units_[chosen]
    if stability is not None:
        table["frequency"] = stability.frequency[chosen]
    order = np.argsort(-np.abs(standardised), kind="stable")
    _add_limits(table, model, chosen, order)
    table = table.iloc[order].reset_index(drop=True)
    table.insert(0, "rank", np.arange(1, chosen.size + 1))
    return table


def _ratios(model: Any, chosen: Indices, standardised: Array) -> dict[str, Any]:
    """Odds or hazard ratios of the chosen columns by heading; none of other scores."""
    hazards = getattr(model, "hazards_", None)
    if not hasattr(model, "platt_") and (hazards is None or hazards.slope == 0):
        return {}
    name = "odds_ratio" if hazards is None else "hazard_ratio"
    slope = 1.0 if hazards is None else hazards.slope
    coef = slope * np.asarray(model.coef_[0], np.float64)[chosen]
    offsets = getattr(model, "log_offsets_", None)
    logged = np.zeros(chosen.size, np.bool_)
    if offsets is not None:
        logged = ~np.isnan(np.asarray(offsets, np.float64)[chosen])
    ratios: dict[str, Any] = {}
    with np.errstate(over="ignore"):
        ratios[name] = np.exp(coef * np.where(logged, np.log(2.0), 1.0))
        if logged.any():
            ratios[f"{name}_for"] = np.where(logged, "doubling", "unit")
        ratios[f"{name}_per_sd"] = np.exp(slope * standardised)
    return ratios


def _add_limits(table: pd.DataFrame, model: Any, chosen: Indices, order: Indices) -> None:
    """Add signs, families and costs of the chosen columns, which are listed in an order."""
    d = model.coef_.shape[1]
    limits = getattr(model, "limits", None) or Limits()
    known = getattr(model, "feature_names_in_", None)
    if limits.signs is not None:
        signs = limits.labels("signs", d, known)
        table["sign"] = [{1: "+", -1: "-"}.get(signs[j], "") for j in chosen.tolist()]
    if limits.families is not None:
        labels = limits.labels("families", d, known)
        table["family"] = ["" if labels[j] is None else labels[j] for j in chosen.tolist()]
    if hasattr(model, "cost_"):
        table["cost"] = 0.0
        for place, column in enumerate(chosen[order].tolist()):
            (table.loc[order[place], "cost"],) = model._fitted.restrictions.extra_costs(
                chosen[order[:place]], np.array([column])
            )


def near_copies(X: Any, chosen: Sequence[int], least: float = 0.9) -> list[list[tuple[int, float]]]:
    """Columns highly correlated with each chosen one, and the correlation, the strongest first.

    Of many rows a hundred to a thousand are looked at, spread evenly.
    """
    n, d = X.shape
    count = min(n, int(np.clip(_MOST_PRODUCTS / (d * max(1, len(chosen))), 100, 1000)))
    part = X[np.unique(np.linspace(0, n - 1, count).astype(np.intp))]
    part = part.tocsc() if hasattr(part, "tocsc") else part
    own = _standardised(part[:, list(chosen)])
    found: list[list[tuple[int, float]]] = [[] for _ in chosen]
    width = max(1, 4_000_000 // count)
    for start in range(0, d, width):
        correlation = own.T @ _standardised(part[:, start : start + width])
        for place, j in np.argwhere(np.abs(correlation) >= least).tolist():
            if start + j != chosen[place]:
                found[place].append((start + j, float(correlation[place, j])))
    return [sorted(copies, key=lambda copy: -abs(copy[1])) for copies in found]


def _standardised(X: Any) -> Array:
    """Columns of mean 0 and length 1; constant ones are 0."""
    dense = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)
    centred = dense - dense.mean(axis=0)
    lengths = np.linalg.norm(centred, axis=0)
    # What rounding leaves of a constant column is no variation.
    constant = lengths <= 1e-12 * (1 + np.abs(dense).max(axis=0, initial=0)) * np.sqrt(len(dense))
    unit: Array = np.where(constant, 0.0, centred / np.where(constant, 1.0, lengths))
    return unit
