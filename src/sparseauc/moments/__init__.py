"""Class moments: counts, means, variances and columns of H, wherever the rows are."""

from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import check_weights, first_bad
from ..chunks import Chunks, as_chunks, labels_and_weights
from ..errors import InputError
from ..strata import Strata, Weighting
from ..utils.types import Array, Mask
from .base import ColumnError
from .cells import ClassMoments, Moments
from .chunked import chunked_moments
from .rows import scale_weights, table_moments

__all__ = [
    "ClassMoments",
    "ColumnError",
    "Moments",
    "class_moments",
    "scale_weights",
]


def class_moments(
    X: Any,
    y: Any = None,
    sample_weight: npt.ArrayLike | None = None,
    *,
    strata: Any = None,
    stratum_weights: Weighting = "pairs",
) -> Moments:
    """Moments of a table, computed when asked for; X is not copied.

    Those of several tables with the same columns are added, ``a + b``; a table may hold
    one class only.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d), float32 or float64
        Or a table read in chunks: from ``sparseauc.chunks.open_table``, or a Dask array
        or dataframe.
    y : array-like of shape (n,)
        Positive where true or greater than zero. For other labels pass ``y == label``.
        Tables opened with their labels need none.
    sample_weight : array-like of shape (n,), optional
        Weights of 0 or more.
    strata : array-like of shape (n,), optional
        Site, batch, donor or matched set of each row: only pairs of one stratum count.
    stratum_weights : {"pairs", "equal"}, default="pairs"
        Whether strata count by their number of pairs, or all the same.
    """
    chunks = as_chunks(X, y)
    if chunks is not None:
        y, sample_weight = labels_and_weights(chunks, y, sample_weight)
    values = np.asarray(y)
    if values.dtype.kind not in "biuf":
        raise InputError(
            "y must be true/false or numbers; for text labels pass y == label"
        )
    row = first_bad(np.isnan(values))
    if row is not None:
        raise InputError(f"y has NaN at row {row}; leave out rows without a label")
    positive = np.ascontiguousarray(values > 0)
    if chunks is not None:
        X = chunks
    n = X.shape[0]
    if X.ndim != 2 or n == 0 or X.shape[1] == 0:
        raise InputError(f"X must have rows and columns, got shape {X.shape}")
    if positive.shape != (n,):
        raise InputError(f"X has {n} rows but y has shape {positive.shape}")
    if X.dtype not in (np.float32, np.float64):
        raise InputError(f"X must be float32 or float64, got {X.dtype}")
    weight = None if sample_weight is None else check_weights(sample_weight, n)
    if strata is not None:
        strata = strata if chunks is None else chunks.beside(strata, "strata")
        strata = Strata.of_classes(strata, positive, stratum_weights, weight)
    unit = 1.0
    if weight is not None:
        weight, unit = scale_weights(weight)
    moments = moments_of(X, positive, weight, strata)
    moments.weight_unit = unit
    return moments


def moments_of(
    X: Any,
    positive: Mask,
    weight: Array | None = None,
    strata: Strata | None = None,
    *,
    solver: bool = False,
) -> Moments:
    """Moments of rows that were checked, in memory or in chunks.

    For a solver, what was not gathered of chunks raises ``NotGathered``.
    """
    if isinstance(X, Chunks):
        return chunked_moments(X, positive, weight, strata, solver=solver)
    return table_moments(X, positive, weight, strata)
