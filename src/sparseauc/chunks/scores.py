"""Scores of rows that are read in chunks."""

from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import NotFiniteError, check_finite
from ..transforms import Transform
from ..utils.arrays import is_tensor, to_host
from .base import Chunks, Gather


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
