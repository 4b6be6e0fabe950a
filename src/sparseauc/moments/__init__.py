"""Class moments: counts, means, variances and columns of H, wherever the rows are."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ..chunks import as_chunks, labels_and_weights
from ..strata import Strata, Weighting
from .base import ColumnError
from .cells import ClassMoments, ClassPart, Moments, StratifiedMoments
from .chunked import ChunkedMoments, chunked_moments
from .sparse import SparseMoments
from .table import DenseMoments, scale_weights

__all__ = [
    "ChunkedMoments",
    "ClassMoments",
    "ClassPart",
    "ColumnError",
    "DenseMoments",
    "Moments",
    "SparseMoments",
    "StratifiedMoments",
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

    A chunk may hold one class only: its ``summary()`` merges with others.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d), float32 or float64
        Or a table read in chunks: from ``sparseauc.chunks.open_table``, or a Dask array or
        dataframe.
    y : array-like of shape (n,)
        Positive where true or greater than zero. For other labels pass ``y == label``. Tables
        opened with their labels need none.
    sample_weight : array-like of shape (n,), optional
        Weights of 0 or more.
    strata : array-like of shape (n,), optional
        Site, batch, donor or matched set of each row: only pairs of one stratum count.
    stratum_weights : {"pairs", "equal"}, default="pairs"
        Whether strata count by their number of pairs, or all the same.
    """
    chunks = as_chunks(X, y, sample_weight)
    if chunks is not None:
        y, sample_weight = labels_and_weights(chunks, y, sample_weight)
    labels = np.asarray(y)
    if labels.dtype.kind not in "biuf":
        raise ValueError("y must be true/false or numbers; for text labels pass y == label")
    for row in np.flatnonzero(np.isnan(labels))[:1]:
        raise ValueError(f"y has NaN at row {row}; leave out rows without a label")
    positive = np.ascontiguousarray(labels > 0)
    if chunks is not None:
        X = chunks
    n = X.shape[0]
    if X.ndim != 2 or n == 0 or X.shape[1] == 0:
        raise ValueError(f"X must have rows and columns, got shape {X.shape}")
    if positive.shape != (n,):
        raise ValueError(f"X has {n} rows but y has shape {positive.shape}")
    if X.dtype not in (np.float32, np.float64):
        raise ValueError(f"X must be float32 or float64, got {X.dtype}")
    weight, unit = None, 1.0
    if sample_weight is not None:
        weight = np.ascontiguousarray(sample_weight, dtype=np.float64)
        if weight.shape != (n,):
            raise ValueError(f"X has {n} rows but sample_weight has shape {weight.shape}")
        for row in np.flatnonzero(~(weight >= 0) | np.isinf(weight))[:1]:
            raise ValueError(f"sample_weight has {weight[row]} at row {row}; give 0 or more")
        weight, unit = scale_weights(weight)
    if strata is not None and not isinstance(strata, Strata):
        if chunks is not None:
            strata = chunks.labels(strata, "strata")
        strata = Strata.from_labels(strata, positive, weight, stratum_weights)
    moments: Moments
    if chunks is not None:
        moments = chunked_moments(chunks, positive, weight, strata)
    elif hasattr(X, "tocsr"):
        moments = SparseMoments(X.tocsr(), positive, weight, strata)
    else:
        moments = DenseMoments(np.asarray(X), positive, weight, strata)
    moments.weight_unit = unit
    return moments
