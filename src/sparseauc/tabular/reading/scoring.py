"""Finding a model's columns in a new file, by name and in whatever order they stand there."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..scorecard import ScoreCard, Term
from .columns import dense_column, is_number, kind_of, numbers, texts
from .source import DataError, Source, listed, shortened, unknown_column

Floats = npt.NDArray[np.float64]


def term_values(source: Source, card: ScoreCard) -> Floats:
    """Values of the model's terms in each row, (n, n_terms), NaN where missing.

    Parameters
    ----------
    source : Source
        Columns that the model does not use are ignored, whatever they hold.
    card : ScoreCard

    Raises
    ------
    DataError
        If columns are not there, or hold something else than numbers where numbers are needed.
    """
    absent = [] if source.absent_is_zero else _absent(source, card)
    if absent:
        known = source.frame.column_names + source.matrix_columns.tolist()
        if len(absent) == 1:
            raise unknown_column(absent[0], known, source.name)
        raise DataError(
            f"{source.name} lacks {len(absent)} of the {len(card.terms)} columns that the model "
            f"uses: {listed([repr(name) for name in absent], 10)}"
        )
    place = {name: j for j, name in enumerate(source.matrix_columns.tolist())}
    values = np.zeros((source.n_rows, len(card.terms)))
    for j, term in enumerate(card.terms):
        if source.matrix is None:
            values[:, j] = _from_frame(source, term)
        elif term.level is None:
            if term.column in place:
                values[:, j] = dense_column(source.matrix, place[term.column])
        else:
            raise DataError(f"{source.name} holds numbers only, {term.column!r} must be text")
    infinite = np.flatnonzero(np.isinf(values).any(axis=0)).tolist()
    if infinite:
        named = listed([repr(card.terms[j].column) for j in infinite])
        raise DataError(f"{source.name}: infinite values in {named}")
    return values


def _absent(source: Source, card: ScoreCard) -> list[str]:
    known = {*source.frame.column_names} if source.matrix is None else {*source.matrix_columns}
    return [name for name in dict.fromkeys(term.column for term in card.terms) if name not in known]


def _from_frame(source: Source, term: Term) -> Floats:
    column = source.frame.column(term.column)
    kind = kind_of(column)
    if kind == "empty":
        return np.full(source.n_rows, np.nan)
    if term.level is not None:
        entries = texts(column)
        known = np.array([entry is not None for entry in entries])
        return np.where(known, entries == term.level, np.nan).astype(np.float64)
    if kind in ("number", "boolean"):
        return numbers(column)
    for row, value in enumerate(column):
        entry = value.as_py()
        if entry is not None and not is_number(entry):
            raise DataError(
                f"{source.name}: {term.column!r} must hold numbers and is "
                f"{shortened(str(entry), 20)!r} in row {row + 1}"
            )
    raise DataError(f"{source.name}: {term.column!r} holds {column.type}, it must hold numbers")
