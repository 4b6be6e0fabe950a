"""Clipping: values beyond limits of their column count as the limit."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from ._types import Array, Floats, Indices

# Share of the rows beyond each limit, where clipping is tried by default.
DEFAULT_CLIP = 0.05
# A column has heavy tails if its range is more than this many times that between its quantiles.
# A normal column of a million rows is just below it.
_HEAVY = 3.0
# Different values of an indicator: 0, 1 and what missing values were replaced by.
_OF_INDICATOR = 3


def clip_limits(
    X: Floats, share: float, weight: Array | None, *, heavy_only: bool = False
) -> Floats | None:
    """Limits of each column, (2, d): the values with ``share`` of the rows beyond them.

    Infinite for columns that nothing would be clipped of, that would become constant, or that have
    no more than three different values, such as indicators with imputed values; None if all are
    such. ``heavy_only``: columns without heavy tails are not clipped either.
    """
    if weight is not None:
        X, weight = X[weight > 0], weight[weight > 0]
    limits = np.empty((2, X.shape[1]), X.dtype)
    for values, ends in zip(X.T, limits.T, strict=True):
        order = np.argsort(values, kind="stable")
        ascending = values[order]
        counts = np.ones(order.size) if weight is None else weight[order]
        below, above = np.cumsum(counts), np.cumsum(counts[::-1])
        low = ascending[np.searchsorted(below, share * below[-1])]
        high = ascending[::-1][np.searchsorted(above, share * above[-1])]
        width, between = float(ascending[-1]) - float(ascending[0]), float(high) - float(low)
        useful = 0 < between < width and (not heavy_only or width > _HEAVY * between)
        measured = useful and 1 + np.count_nonzero(np.diff(ascending)) > _OF_INDICATOR
        ends[:] = (low, high) if measured else (-np.inf, np.inf)
    return limits if np.isfinite(limits).any() else None


def clip_columns(X: Any, limits: Floats | None, columns: Indices | None = None) -> Any:
    """X with values beyond the limits of all its columns, or of those it is of, at the limits."""
    if limits is None:
        return X
    low, high = limits if columns is None else limits[:, columns]
    if not np.isfinite([low, high]).any():
        return X
    dense: Any = X.toarray() if sp.issparse(X) else X  # type: ignore[attr-defined]
    return np.clip(dense, low, high)
