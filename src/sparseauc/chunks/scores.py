"""Scores of rows that are read in chunks, and the entries that cannot be scored."""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..transforms import Transform
from ..utils.arrays import import_torch, is_tensor, to_host
from .base import Chunks, Gather


class NotFiniteError(ValueError):
    """A value that is no finite number, at a row and column of the whole table."""

    def __init__(self, row: int, column: int, value: float) -> None:
        super().__init__(row, column, value)
        self.row, self.column, self.value = row, column, value

    def __str__(self) -> str:
        return self.named(self.column)

    def named(self, column: str | int) -> str:
        """Say the same of a column that has a name."""
        kind = "NaN" if np.isnan(self.value) else "infinity"
        return f"Input X contains {kind}: first at row {self.row}, column {column}"


def first_not_finite(X: Any) -> tuple[int, int, float] | None:
    """Row, column and value of the first entry that is not finite; None if all are."""
    if is_tensor(X):
        return _first_not_finite_tensor(X)
    sparse = sp.issparse(X)
    values = X.data if sparse else X
    with np.errstate(over="ignore", invalid="ignore"):
        # A finite sum proves all entries finite and costs no memory; sums may overflow.
        if values.size == 0 or np.isfinite(np.sum(values, dtype=np.float64)):
            return None
    for row in range(X.shape[0]):
        entries = X.data[X.indptr[row] : X.indptr[row + 1]] if sparse else X[row]
        bad = np.flatnonzero(~np.isfinite(entries))
        if bad.size:
            column = X.indices[X.indptr[row] + bad[0]] if sparse else bad[0]
            return row, int(column), float(entries[bad[0]])
    return None


def check_finite(X: Any, start: int = 0) -> None:
    """Refuse rows, of which ``start`` is the first, that are not all finite numbers."""
    if (bad := first_not_finite(X)) is not None:
        row, column, value = bad
        raise NotFiniteError(start + row, column, value)


def _first_not_finite_tensor(X: Any) -> tuple[int, int, float] | None:
    torch = import_torch()
    # Both are NaN where any entry is. A sum in double precision would take a copy.
    if all(bool(torch.isfinite(end)) for end in torch.aminmax(X)):
        return None
    for row, entries in enumerate(X):
        for column in torch.nonzero(~torch.isfinite(entries))[:1, 0].tolist():
            return row, column, float(entries[column])
    return None


class _Scores(Gather):
    """Scores of all rows by one model."""

    def __init__(
        self, values: npt.NDArray[np.floating], intercept: float, transform: Transform | None
    ) -> None:
        self._values = values
        self._intercept = intercept
        self._transform = transform

    def give(self, X: Any, start: int, *known: npt.NDArray[Any]) -> npt.NDArray[Any]:  # noqa: ARG002
        check_finite(X, start)
        if self._transform is not None:
            X = self._transform.apply(to_host(X) if is_tensor(X) else X)
        scores: npt.NDArray[Any] = X @ self._values + self._intercept
        return scores


def score_chunks(
    chunks: Chunks,
    coef: npt.NDArray[np.floating],
    intercept: float,
    transform: Transform | None = None,
) -> npt.NDArray[np.floating]:
    """Scores of all rows, reading only the columns with a coefficient, transformed if they are."""
    support = np.flatnonzero(coef)
    of_support = None if transform is None else transform.of_columns(support)
    scores = _Scores(coef[support], intercept, of_support)
    try:
        return np.concatenate(chunks.run(scores, columns=support))
    except NotFiniteError as bad:
        raise NotFiniteError(bad.row, int(support[bad.column]), bad.value) from None
