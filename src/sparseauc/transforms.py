"""Transforms of columns: extreme values count as a limit, and skewed columns as logarithms."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from .utils.types import Array, Floats, Indices

# Largest size of X (rows × columns) for which transforms and logistic coefficients are tried by
# default.
_SMALL = 2**22
# Share of the rows beyond each limit, where clipping is tried by default.
DEFAULT_CLIP = 0.05
# A column has heavy tails if its range is more than this many times that between its quantiles.
# A normal column of a million rows is just below it.
_HEAVY = 3.0
# Different values of an indicator: 0, 1 and what missing values were replaced by.
_OF_INDICATOR = 3
# A column is logged if it has more different values, and a skewness above this.
_FEW_VALUES, _SKEWED = 5, 1.0
# Share of the median of the other values that is added where some are 0.
_OF_MEDIAN = 0.1


@dataclass(frozen=True)
class Transform:
    """What values of each column count as: clipped at limits first, then logged.

    Attributes
    ----------
    limits : ndarray of shape (2, d)
        Smallest and largest value; infinite without a limit. Logged columns always have a smallest
        one, so that every number has a logarithm.
    offsets : ndarray of shape (d,)
        ``ln(x + offset)`` instead of x; NaN for columns that are not logged.
    """

    limits: Floats
    offsets: Floats

    @classmethod
    def of_model(cls, model: Any) -> Self | None:
        """The transform of a fitted classifier; None if it takes columns as they are."""
        limits = getattr(model, "clip_limits_", None)
        offsets = getattr(model, "log_offsets_", None)
        if limits is None:
            return None  # logged columns have limits
        return cls(limits, np.full_like(limits[0], np.nan) if offsets is None else offsets)

    @property
    def changed(self) -> Indices:
        """Columns that are not taken as they are."""
        return np.flatnonzero(np.isfinite(self.limits).any(axis=0) | ~np.isnan(self.offsets))

    @property
    def logs(self) -> bool:
        """Whether any column is logged."""
        return not np.isnan(self.offsets).all()

    @property
    def clips(self) -> bool:
        """Whether any column is clipped: logged ones have a smallest value all the same."""
        return bool(np.isfinite(self.limits[1]).any())

    def of_columns(self, columns: Indices) -> Self:
        """The transform of a table of some columns."""
        return type(self)(self.limits[:, columns], self.offsets[columns])

    def apply(self, X: Any) -> Any:
        """X as the model takes it; X itself if no column changes."""
        changed = self.changed
        if changed.size == 0:
            return X
        dense: Any = X.toarray() if sp.issparse(X) else np.array(X)  # type: ignore[attr-defined]
        dense[:, changed] = np.clip(dense[:, changed], *self.limits[:, changed])
        logged = np.flatnonzero(~np.isnan(self.offsets))
        dense[:, logged] = np.log(dense[:, logged] + self.offsets[logged])
        return dense

    def undo(self, X: Array) -> Array:
        """Numbers that :meth:`apply` takes to those of X."""
        plain: Array = np.where(np.isnan(self.offsets), X, np.exp(X) - self.offsets)
        return plain


def is_small(n: int, d: int) -> bool:
    """Whether transforms and logistic coefficients of a table are tried by default."""
    return d < n <= _SMALL // d


def transform_columns(model: Any, X: Any) -> Any:
    """X as a fitted classifier takes it: clipped and logged."""
    transform = Transform.of_model(model)
    return X if transform is None else transform.apply(X)


def learn_transforms(
    X: Floats,
    weights: Sequence[Array | None],
    *,
    clip: float | None = None,
    heavy_only: bool = False,
    log: bool = False,
) -> list[Transform]:
    """Learn a transform from the rows of each of several weights, those of weight 0 left out.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    weights : sequence of ndarray of shape (n,) or None
    clip : float, optional
        Limits are the values with this share of the rows beyond them. Columns that nothing would be
        clipped of, that would become constant, or that have no more than three different values,
        such as indicators with imputed values, have none.
    heavy_only : bool, default=False
        Columns without heavy tails, of their logarithms where these are taken, have no limits
        either.
    log : bool, default=False
        Columns of numbers of 0 or more are logged, if they have more than five different values and
        a skewness above 1 that the logarithm makes smaller. Where some are 0, a tenth of the median
        of the others is added. Smaller values than the smallest there was count as that.
    """
    d = X.shape[1]
    limits = np.empty((len(weights), 2, d), X.dtype)
    limits[:, 0], limits[:, 1] = -np.inf, np.inf
    offsets = np.full((len(weights), d), np.nan, X.dtype)
    for j, values in enumerate(X.T):
        order = np.argsort(values, kind="stable")
        ascending = values[order]
        for number, weight in enumerate(weights):
            some, counts = ascending, np.ones(order.size)
            if weight is not None:
                counts = weight[order]
                some, counts = ascending[counts > 0], counts[counts > 0]
            n_values = 1 + np.count_nonzero(np.diff(some))
            offset = None
            if log and some[0] >= 0 and n_values > _FEW_VALUES:
                offset = _log_offset(some, counts)
            if clip is not None and n_values > _OF_INDICATOR:
                limits[number, :, j] = _clip_limits(some, counts, clip, heavy_only, offset)
            if offset is not None:
                offsets[number, j] = offset
                limits[number, 0, j] = max(limits[number, 0, j], some[0])
    return [Transform(*one) for one in zip(limits, offsets, strict=True)]


def _clip_limits(
    ascending: Floats, counts: Array, share: float, heavy_only: bool, offset: float | None
) -> tuple[float, float]:
    """Limits of a column, infinite if there are none; of a logged one, tails of the logarithm."""
    below, above = np.cumsum(counts), np.cumsum(counts[::-1])
    low = float(ascending[np.searchsorted(below, share * below[-1])])
    high = float(ascending[::-1][np.searchsorted(above, share * above[-1])])
    ends = np.array([ascending[0], low, high, ascending[-1]], np.float64)
    if offset is not None:
        ends = np.log(ends + offset)
    width, between = ends[3] - ends[0], ends[2] - ends[1]
    useful = 0 < between < width and (not heavy_only or width > _HEAVY * between)
    return (low, high) if useful else (-np.inf, np.inf)


def _log_offset(ascending: Floats, counts: Array) -> float | None:
    """What is added to a column before its logarithm is taken; None if it is not logged."""
    values = ascending.astype(np.float64)
    skewed = _skewness(values, counts)
    if not skewed > _SKEWED:
        return None
    offset = 0.0
    if values[0] == 0:
        others = np.cumsum(np.where(values > 0, counts, 0.0))
        offset = _OF_MEDIAN * float(values[np.searchsorted(others, others[-1] / 2)])
    return offset if abs(_skewness(np.log(values + offset), counts)) < skewed else None


def _skewness(values: Array, counts: Array) -> float:
    share = counts / counts.sum()
    centred = values / np.abs(values).max()  # so that no power is too large or too small
    centred = centred - share @ centred
    square = share @ centred**2
    return float(share @ centred**3 / square**1.5) if square > 0 else 0.0
