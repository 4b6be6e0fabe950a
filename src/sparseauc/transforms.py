"""Transforms of columns: extreme values count as a limit, and skewed columns as logarithms."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from .defaults import (
    AUTO_MOST_VALUES,
    FEW_VALUES,
    HEAVY_TAILS,
    INDICATOR_VALUES,
    MEDIAN_SHARE,
    SKEWED,
)
from .utils.jit import inner_kernel, kernel
from .utils.types import Array, Floats, Indices

# Numba compiles a kernel anew for each Python integer written in a call.
_FORWARDS = np.int64(1)
_BACKWARDS = np.int64(-1)


@dataclass(frozen=True)
class Transform:
    """Clipping of columns at limits, and then their logarithms.

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
        plain = np.array(X)
        logged = np.flatnonzero(~np.isnan(self.offsets))
        plain[:, logged] = np.exp(plain[:, logged]) - self.offsets[logged]
        return plain


def is_small(n: int, d: int) -> bool:
    """Return whether transforms and logistic coefficients of a table are tried by default."""
    return d < n <= AUTO_MOST_VALUES // d


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
    found = np.empty((len(weights), 3, d), X.dtype)  # limits and the offset
    share = np.nan if clip is None else float(clip)
    counts = np.array([np.ones(len(X)) if one is None else one for one in weights], np.float64)
    for j in range(d):
        values = X[:, j].astype(np.float64)
        order = np.argsort(values, kind="stable")
        found[:, :, j] = _learn(values, order, counts, share, heavy_only, log)
    return [Transform(one[:2], one[2]) for one in found]


# --------------------------------------------------------------------------------------- kernels


@kernel
def _learn(values, order, weights, share, heavy_only, log):  # type: ignore[no-untyped-def]
    """Limits of a column, and what is added before its logarithm is taken, from several weights."""
    found = np.empty((weights.shape[0], 3))
    all_values = np.empty(values.size)
    all_counts = np.empty(values.size)
    all_logs = np.empty(values.size)
    for number in range(weights.shape[0]):
        n = 0
        n_values = 1
        for i in order:
            if weights[number, i] > 0:
                all_values[n] = values[i]
                all_counts[n] = weights[number, i]
                n_values += n > 0 and values[i] != all_values[n - 1]
                n += 1
        ascending = all_values[:n]
        counts = all_counts[:n]
        low = -np.inf
        high = np.inf
        offset = np.nan
        if log and ascending[0] >= 0 and n_values > FEW_VALUES:
            offset = _log_offset(ascending, counts, all_logs[:n])
        if not np.isnan(share) and n_values > INDICATOR_VALUES:
            low = ascending[_reach(counts, _FORWARDS, share)]
            high = ascending[_reach(counts, _BACKWARDS, share)]
            # Tails are those of the logarithm, where it is taken.
            width = _difference(ascending[0], ascending[n - 1], offset)
            between = _difference(low, high, offset)
            if not 0 < between < width or (heavy_only and width <= HEAVY_TAILS * between):
                low = -np.inf
                high = np.inf
        if not np.isnan(offset):
            low = max(low, ascending[0])
        found[number, 0] = low
        found[number, 1] = high
        found[number, 2] = offset
    return found


@inner_kernel
def _difference(low, high, offset):  # type: ignore[no-untyped-def]
    """Difference of two values, or of their logarithms where these are taken."""
    if np.isnan(offset):
        return high - low
    return np.log(high + offset) - np.log(low + offset)


@inner_kernel
def _reach(counts, step, share):  # type: ignore[no-untyped-def]
    """Place where the sum of the counts, from the first or the last on, comes to a share of all."""
    at = 0 if step > 0 else counts.size - 1
    total = 0.0
    for i in range(counts.size):
        total += counts[at + step * i]
    reached = counts[at]
    while reached < share * total:
        at += step
        reached += counts[at]
    return at


@inner_kernel
def _log_offset(values, counts, logs):  # type: ignore[no-untyped-def]
    """Find what is added to a column before its logarithm; NaN if it is not logged."""
    skewed = _skewness(values, counts)
    if not skewed > SKEWED:
        return np.nan
    offset = 0.0
    if values[0] == 0:
        zeros = 0
        while values[zeros] == 0:
            zeros += 1
        offset = MEDIAN_SHARE * values[zeros + _reach(counts[zeros:], _FORWARDS, 0.5)]
    for i in range(logs.size):
        logs[i] = np.log(values[i] + offset)
    return offset if abs(_skewness(logs, counts)) < skewed else np.nan


@inner_kernel
def _skewness(values, counts):  # type: ignore[no-untyped-def]
    total = 0.0
    size = 0.0  # the values are divided by it, so that no power is too large or too small
    for i in range(values.size):
        total += counts[i]
        size = max(size, abs(values[i]))
    mean = 0.0
    for i in range(values.size):
        mean += counts[i] / total * (values[i] / size)
    square = 0.0
    cube = 0.0
    for i in range(values.size):
        centred = values[i] / size - mean
        square += counts[i] / total * centred**2
        cube += counts[i] / total * centred**3
    return cube / square**1.5 if square > 0 else 0.0
