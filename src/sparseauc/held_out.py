"""Validation AUCs of many models of two classes, in one pass over the rows.

The rows of the rarer class are fetched first, a few columns of them, and scored by
every model; then one pass counts, for every other row, how many of those scores lie
below its own. So AUCs are exact, and nothing of size n × models is ever kept. Where
even the rarer class has too many rows for that, some hundred rows divide the scores of
a model into bins, and only pairs that fall into one bin are not told apart: they count
one half.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from .chunks import Chunks, Pass
from .chunks.base import Gather
from .folds import rows_by_number
from .strata import Strata, class_weights
from .utils.jit import inlined_kernel, kernel
from .utils.types import Array, Indices, Mask

# Rows of a fold that divide the scores of a model where the rarer class is too large to
# be kept.
_DIVIDERS = 512
# Numbers scored at a time.
_TILE_NUMBERS = 2**20
_ROWS_AT_A_TIME = 256
_NO_CELLS = np.empty((0, 0, 0))


@dataclass(frozen=True)
class Models:
    """Coefficients of many models, one below the other, without their zeros.

    Those of model m begin at ``starts[m]``; ``middle`` is the score at a point among
    the training rows, midway between the means of two classes.
    """

    starts: Indices
    columns: Indices
    values: Array
    middle: Array

    @classmethod
    def from_lists(cls, lists: Sequence[Indices], values: Array, centre: Array) -> Self:
        """Models of given columns; each row of values has the coefficients of all lists."""
        sizes = np.array([len(one) for one in lists] * len(values))
        columns = np.tile(np.concatenate(lists), len(values))
        coefs = values.ravel()
        model = np.repeat(np.arange(sizes.size), sizes)
        middle = np.bincount(model, centre[columns] * coefs, sizes.size).astype(
            np.float64
        )
        return cls(np.append(0, np.cumsum(sizes)), columns, coefs, middle)

    def only(self, number: int) -> Self:
        """One model on its own."""
        part = slice(self.starts[number], self.starts[number + 1])
        ends = np.array([0, part.stop - part.start])
        return type(self)(
            ends, self.columns[part], self.values[part], self.middle[[number]]
        )

    def moved(self, places: Indices) -> Self:
        """Number columns as a table does in which column j is at ``places[j]``."""
        return replace(self, columns=places[self.columns])

    def scores(self, X: Any) -> Array:
        """Scores of rows by all models, (n_models, n), zero at the centre.

        A row's score does not depend on the rows beside it, so that equal rows stay
        equal.
        """
        dense = X.toarray() if hasattr(X, "tocsr") else X
        by_column = np.ascontiguousarray(dense.T, np.float64)
        scores = np.empty((self.middle.size, by_column.shape[1]))
        _score(by_column, self.starts, self.columns, self.values, self.middle, scores)
        return scores


def narrow(models: Sequence[Models]) -> tuple[Indices, list[Models]]:
    """Columns that any model uses, and the models with columns counted among these."""
    every = np.concatenate([model.columns for model in models])
    used, places = np.unique(every, return_inverse=True)
    ends = np.cumsum([model.columns.size for model in models])[:-1]
    each = zip(models, np.split(places, ends), strict=True)
    return used, [replace(model, columns=columns) for model, columns in each]


def count_aucs(
    chunks: Chunks,
    positive: Mask,
    weight: Array | None,
    strata: Strata | None,
    validated: Sequence[npt.NDArray[np.integer[Any]]],
    models: Sequence[Models],
    n_threads: int = 1,
) -> tuple[list[Array], float]:
    """Compute the AUC of all models of each split, and how far it may be off.

    ``validated`` are rounds: the number of the split that validates each row, −1 for
    none. With strata the AUC is the mean of those within strata, each judged like a
    split of its own. Splits are judged in several threads.
    """
    rounds = list(validated)
    splits = np.arange(len(models))
    if strata is not None:
        rounds, splits = _divide_by_strata(
            rounds, len(models), positive, weight, strata
        )
    used, narrowed = narrow(models)
    narrowed = [narrowed[split] for split in splits]
    rarer = bool(2 * np.count_nonzero(positive) <= positive.size)
    validating = [rows for numbers in rounds for _, rows in rows_by_number(numbers)]
    dividing = [rows[positive[rows] == rarer] for rows in validating]
    n_scores = sum(
        rows.size * m.middle.size for rows, m in zip(dividing, narrowed, strict=True)
    )
    # Scores of 8 bytes, and as many sums of weights.
    exact = n_scores * (8 if weight is None else 16) <= chunks.max_payload_bytes
    if not exact:
        dividing = [
            _dividing_rows(few, rows[positive[rows] != rarer])
            for few, rows in zip(dividing, validating, strict=True)
        ]
    dividers, before = _score_dividers(
        chunks, dividing, used, narrowed, weight if exact else None
    )
    divided_by = rarer if exact else None
    work = _Count(narrowed, dividers, before, divided_by, n_threads)
    counted = np.ones(positive.size, np.uint8) if weight is None else weight
    counts: list[Array] = chunks.run(work, positive, counted, *rounds, columns=used)
    totals = np.sum(
        [
            class_weights(numbers.astype(np.int64), splits.size, positive, weight)
            for numbers in rounds
        ],
        axis=0,
    )
    aucs, error = _aucs_of_counts(counts, totals, divided_by)
    if strata is not None:
        aucs = [
            strata.shares(totals[:, splits == split]) @ np.array(aucs)[splits == split]
            for split in range(len(models))
        ]
    return aucs, error


def _aucs_of_counts(
    counts: Sequence[Array], totals: Array, divided_by: bool | None
) -> tuple[list[Array], float]:
    """Turn what ``_Count`` counted into AUCs, and how far they may be off."""
    if divided_by is None:
        found = [_auc_of_cells(counted) for counted in counts]
        return [auc for auc, _ in found], max(error for _, error in found)
    pairs = 2.0 * totals.prod(axis=0)
    below = [counted / number for counted, number in zip(counts, pairs, strict=True)]
    return [1.0 - share if divided_by else share for share in below], 0.0


def _divide_by_strata(
    validated: Sequence[npt.NDArray[np.integer[Any]]],
    n_splits: int,
    positive: Mask,
    weight: Array | None,
    strata: Strata,
) -> tuple[list[npt.NDArray[np.integer[Any]]], Indices]:
    """Divide the rows that validate a split by stratum.

    Returns rounds whose numbers are those of the strata of splits with validation rows
    of both classes, and the split that each of these belongs to.
    """
    rounds = [strata.split_parts(numbers) for numbers in validated]
    size = n_splits * len(strata)
    both = np.zeros(size, np.bool_)
    for numbers in rounds:
        among = class_weights(numbers.astype(np.int64), size, positive, weight)
        both |= np.all(among > 0, axis=0)
    place = np.append(np.where(both, np.cumsum(both) - 1, -1), -1)
    return [place[numbers] for numbers in rounds], np.flatnonzero(both) // len(strata)


def _score_dividers(
    chunks: Chunks,
    dividing: Sequence[Indices],
    used: Indices,
    models: Sequence[Models],
    weight: Array | None,
) -> tuple[list[Array], list[Array]]:
    """Score the dividing rows of each split, ascending; sum the weights before each, if any."""
    every = np.unique(np.concatenate(dividing))
    values = chunks.take(every, used)
    dividers = []
    before = []
    for rows, model in zip(dividing, models, strict=True):
        scores = model.scores(values[np.searchsorted(every, rows)])
        if weight is None:
            before.append(np.empty((0, 0)))
        else:
            order = np.argsort(scores, axis=1, kind="stable")
            before.append(_weight_before(weight[rows][order]))
        scores.sort(axis=1)
        dividers.append(scores)
    return dividers, before


def _weight_before(ordered: Array) -> Array:
    """Sums of all weights before each place, and of all; of shape (n_models, n + 1)."""
    sums = np.zeros((ordered.shape[0], ordered.shape[1] + 1))
    np.cumsum(ordered, axis=1, out=sums[:, 1:])
    return sums


def _dividing_rows(few: Indices, many: Indices) -> Indices:
    """Rows whose scores divide those of a fold: all of the rarer class, or some of either."""
    if few.size <= _DIVIDERS:
        return few
    half = _DIVIDERS // 2
    parts = [rows[np.arange(half) * rows.size // half] for rows in (few, many)]
    return np.sort(np.concatenate(parts))


@dataclass(eq=False)
class _Count(Pass[list[Array]]):
    """Score validation rows and count them among the dividers of each model, for each split.

    Where all rows of one class divide, ``divided_by`` says whether these are the
    positives. Counts are then, over all other rows, twice the weight of the dividers
    below, ties once, by model; ``before`` are the sums of the dividers' weights, empty
    if they count one each. Otherwise it is None, and counts are weights by model, class
    and cell.
    """

    models: Sequence[Models]
    dividers: Sequence[Array]
    before: Sequence[Array]
    divided_by: bool | None
    n_threads: int

    def add(
        self, state: list[Array] | None, X: Any, start: int, *known: npt.NDArray[Any]
    ) -> list[Array]:
        """Score and count the validation rows of a chunk."""
        del start
        positive, weight, *rounds = known
        # By model; or by model, class and cell.
        exact = self.divided_by is not None
        counts = state or [
            np.zeros(len(one) if exact else (len(one), 2, 2 * one.shape[1] + 1))
            for one in self.dividers
        ]

        def count(number: int, rows: Indices) -> None:
            model = self.models[number]
            dividers = self.dividers[number]
            size = max(64, _TILE_NUMBERS // model.middle.size)
            for low in range(0, rows.size, size):
                part = rows[low : low + size]
                scores = model.scores(X[part])
                side = positive[part]
                count_below(
                    dividers,
                    self.before[number],
                    scores,
                    side,
                    side != self.divided_by if exact else np.ones_like(side),
                    weight[part].astype(np.float64),
                    counts[number] if exact else np.empty(0),
                    _NO_CELLS if exact else counts[number],
                )

        judged = [each for validated in rounds for each in rows_by_number(validated)]
        Parallel(self.n_threads, prefer="threads")(
            delayed(count)(*each) for each in judged
        )
        return counts

    def merge(self, first: list[Array], second: list[Array]) -> list[Array]:
        """Add up."""
        for one, other in zip(first, second, strict=True):
            one += other
        return first


def _auc_of_cells(counts: Array) -> tuple[Array, float]:
    """AUCs of models from the weight of each class by cell, (n_models, 2, cells).

    Even cells lie between dividers; odd ones hold what equals a divider, whose ties are
    real.
    """
    positive = counts[:, 0]
    negative = counts[:, 1]
    pairs = positive.sum(axis=1) * negative.sum(axis=1)
    below = np.cumsum(negative, axis=1) - negative / 2
    aucs = np.einsum("mc,mc->m", positive, below) / pairs
    together = np.einsum("mc,mc->m", positive[:, ::2], negative[:, ::2]) / 2
    return aucs, float((together / pairs).max())


@dataclass(eq=False)
class OutOfFold(Gather):
    """Score each row by the models of the splits that validate it, (n, rounds), NaN for none."""

    models: Sequence[Models]

    def give(self, X: Any, start: int, *known: npt.NDArray[Any]) -> Array:
        """Score the rows of a chunk."""
        del start
        scores = np.full((X.shape[0], len(known)), np.nan)
        for place, validated in enumerate(known):
            for number, rows in rows_by_number(validated):
                scores[rows, place] = self.models[number].scores(X[rows])[0]
        return scores


# ------------------------------------------------------------------------------ kernels


@kernel
def _score(by_column, starts, columns, values, middle, scores):  # type: ignore[no-untyped-def]
    """Scores of rows, given column by column, by sparse models."""
    n = scores.shape[1]
    # Few enough rows at a time that their columns stay in the cache for all models.
    for low in range(0, n, _ROWS_AT_A_TIME):
        high = min(low + _ROWS_AT_A_TIME, n)
        for m in range(middle.size):
            out = scores[m, low:high]
            for i in range(out.size):
                out[i] = -middle[m]
            for p in range(starts[m], starts[m + 1]):
                column = by_column[columns[p], low:high]
                value = values[p]
                for i in range(out.size):
                    out[i] += value * column[i]


@inlined_kernel
def _bucket(score, low, per_unit, buckets):  # type: ignore[no-untyped-def]
    """Number of the equally wide interval a score falls into; ascending with the score."""
    place = (score - low) * per_unit
    return np.int64(min(place, buckets - 1.0)) if place > 0.0 else 0


@inlined_kernel
def _search(ascending, first, last, score, or_equal):  # type: ignore[no-untyped-def]
    """Count the ascending numbers below the score, or equal, from first to last."""
    while first < last:
        middle = (first + last) // 2
        if ascending[middle] < score or (or_equal and ascending[middle] == score):
            first = middle + 1
        else:
            last = middle
    return first


@inlined_kernel
def _look_up_table(ascending):  # type: ignore[no-untyped-def]
    """Buckets that make a search among the ascending numbers short: how many lie before each."""
    low = ascending[0]
    width = ascending[-1] - low
    starts = np.zeros(2 * ascending.size + 2, np.int64)
    buckets = starts.size - 1
    per_unit = buckets / width if width > 0 else 0.0
    if not np.isfinite(per_unit):
        per_unit = 0.0
    for number in ascending:
        starts[_bucket(number, low, per_unit, buckets) + 1] += 1
    for b in range(buckets):
        starts[b + 1] += starts[b]
    return low, per_unit, starts


@inlined_kernel
def _places(ascending, low, per_unit, starts, score):  # type: ignore[no-untyped-def]
    """Count the ascending numbers that are less than the score, and those not greater."""
    b = _bucket(score, low, per_unit, starts.size - 1)
    less = _search(ascending, starts[b], starts[b + 1], score, False)
    return less, _search(ascending, less, starts[b + 1], score, True)


@kernel
def count_below(dividers, before, scores, positive, counted, weight, below, cells):  # type: ignore[no-untyped-def]
    """Compare the scores of rows by each model with the ascending dividers.

    Add to ``below`` of each model, over the counted rows, twice the weight of the
    dividers below, ties once; ``before`` are the sums of the dividers' weights, without
    which each counts one. Or, if there are ``cells``, add the weight of rows of each
    class to their cell, between dividers or at one.
    """
    for m in range(dividers.shape[0]):
        low, per_unit, starts = _look_up_table(dividers[m])
        total = 0.0
        for i in range(scores.shape[1]):
            if not counted[i]:
                continue
            w = weight[i] if weight.size else 1.0
            less, upto = _places(dividers[m], low, per_unit, starts, scores[m, i])
            if cells.size:
                # Equal dividers share the cell of the first of them.
                cells[
                    m, 0 if positive[i] else 1, 2 * less + (1 if upto > less else 0)
                ] += w
            elif before.size:
                total += w * (before[m, less] + before[m, upto])
            else:
                total += w * (less + upto)
        if not cells.size:
            below[m] += total
