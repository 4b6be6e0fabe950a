"""Scores of rows that are read in chunks."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import NotFiniteError, check_finite
from ..columns import Encoding, Line
from ..columns.units import add_effects
from ..utils.arrays import to_host
from .base import Chunks, Gather


class _Scores(Gather):
    """Scores of all rows by one model."""

    def __init__(
        self, values: npt.NDArray[np.floating], encodings: Sequence[Encoding]
    ) -> None:
        self._values = values
        self._encodings = encodings

    def give(self, X: Any, start: int, *known: npt.NDArray[Any]) -> npt.NDArray[Any]:  # noqa: ARG002
        check_finite(X, start)
        lines = all(isinstance(one, Line) for one in self._encodings)
        scores: npt.NDArray[Any]
        if lines:
            scores = X @ self._values
        else:
            scores = add_effects(to_host(X), self._values, self._encodings)
        return scores


def score_chunks(
    chunks: Chunks,
    coef: npt.NDArray[np.floating],
    encodings: Mapping[int, Encoding] | None = None,
) -> npt.NDArray[np.floating]:
    """Scores of all rows, reading only the columns with a coefficient.

    These count as their numbers, unless they have encodings.
    """
    support = np.flatnonzero(coef)
    own = [] if encodings is None else [encodings[j] for j in support.tolist()]
    try:
        return np.concatenate(chunks.run(_Scores(coef[support], own), columns=support))
    except NotFiniteError as bad:
        raise NotFiniteError(bad.row, int(support[bad.column]), bad.value) from None
