"""Data frames and arrays as sources, read like files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from ..scorecard import ScoreCard
from .columns import is_sparse
from .source import DataError, Source
from .text import check_names


def source_of(X: Any, card: ScoreCard | None = None) -> Source:
    """Return a data frame of any kind as a source, or an array of all columns of a card.

    Of a frame, the columns that the card uses are taken, by name; without a card, all.
    """
    if isinstance(X, pa.Table):
        return _from_frame(X, X.column_names)
    if hasattr(X, "to_arrow"):  # polars
        return _from_frame(X.to_arrow(), [str(name) for name in X.columns])
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        return _from_pandas(X, card)
    matrix = sp.csr_array(X) if is_sparse(X) else np.asarray(X)
    if card is None or matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        also = "" if card is None else ", or a matrix of numbers"
        raise DataError(f"X must be a data frame{also}")
    if matrix.shape[1] != len(card.columns):
        raise DataError(
            f"X has {matrix.shape[1]} columns, but the model was fitted to {len(card.columns)}"
        )
    return Source("X", pa.table({}), matrix=matrix, matrix_columns=np.array(card.columns))


def _from_pandas(X: Any, card: ScoreCard | None) -> Source:
    names = [str(name) for name in X.columns]
    check_names(names, "X")
    used = set(names) if card is None else {term.column for term in card.terms}
    columns = {}
    for place, name in enumerate(names):
        if name not in used:
            columns[name] = pa.nulls(len(X))  # not looked at, but named where another is sought
            continue
        try:
            columns[name] = pa.Array.from_pandas(X.iloc[:, place])
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise DataError(f"X: {name!r} holds values of several types: {error}") from error
    return _from_frame(pa.table(columns), names)


def _from_frame(frame: Any, names: list[str]) -> Source:
    check_names(names, "X")
    return Source("X", frame)
