"""Every label against the rest: the models of all labels and folds from few passes over the rows.

Moments are additive, so those of each label within each fold are gathered once, and the moments of
any label against all others, with or without a fold, are merged from them. Columns of H are needed
for a few columns of each model only. Whatever all the models ask for next is gathered in one pass
for all of them: a column's products over all rows serve every label, and beside them only a label's
own rows are read for it. So the number of passes is about that of a single model, which counts when
rows are many or read from a file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from .._jit import kernel
from ..moments import ClassMoments, ClassPart, Moments, class_moments
from ..moments.base import NotGathered
from ..path.folds import all_but_one
from ..rows import as_table

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Result = TypeVar("Result")

# Bytes of products kept at a time; as many labels as that suffices for are fitted together.
_BUDGET = 2**30
# Columns of the working set of a label, and those that a short path asks for, roughly.
WORKING_SET = 60
_COLUMNS_ASKED = WORKING_SET + 40
# All folds take part: none is left out for validation.
NO_FOLD = -1


@dataclass(frozen=True)
class LabelledRows:
    """Rows that can be read again and again, each with a label and a fold.

    Attributes
    ----------
    read : callable
        Gives the rows from first to last as pairs of a slice and a chunk: an ndarray or a canonical
        CSR matrix of float32 or float64.
    label : ndarray of shape (n,)
        Number of each row's label; rows with −1 are left out.
    fold : ndarray of shape (n,)
        Number of each row's fold.
    n_labels, n_folds, n_features : int
    quick : bool
        Whether reading all rows takes less time than fitting a model.
    """

    read: Callable[[], Iterator[tuple[slice, Any]]]
    label: Indices
    fold: Indices
    n_labels: int
    n_folds: int
    n_features: int
    quick: bool


def fit_each_against_rest(
    rows: LabelledRows,
    models: Iterable[tuple[int, int]],
    fit: Callable[[Moments], Result],
) -> dict[tuple[int, int], Result]:
    """Fit models of one label against all others, each without one fold or on all of them.

    Parameters
    ----------
    rows : LabelledRows
        Of two labels at least.
    models : iterable of (label, fold left out)
        ``NO_FOLD`` for none. The training rows must hold the label and others.
    fit : callable
        From class moments to whatever is wanted. It may be called again from the start when columns
        of H that it asked for have been gathered, so it must always ask for the same.

    Returns
    -------
    dict
        What ``fit`` returned, by model.
    """
    store = _Store(rows)
    pending_by_label: dict[int, set[int]] = defaultdict(set)
    for label, left_out in models:
        pending_by_label[label].add(left_out)
    labels = sorted(pending_by_label)
    asked_for = min(_COLUMNS_ASKED, rows.n_features)
    # Products over all rows and over the label's own, both by fold.
    bytes_per_label = 2 * asked_for * rows.n_folds * rows.n_features * 8
    together = max(1, _BUDGET // bytes_per_label)
    results: dict[tuple[int, int], Result] = {}
    for first in range(0, len(labels), together):
        batch = labels[first : first + together]
        pending = {(label, left_out) for label in batch for left_out in pending_by_label[label]}
        while pending:
            asked: dict[int, set[int]] = defaultdict(set)
            for left_out in sorted({left_out for _, left_out in pending}):
                for label, moments in enumerate(store.against_rest(left_out)):
                    model = label, left_out
                    if model not in pending:
                        continue
                    try:
                        results[model] = fit(moments)
                        pending.remove(model)
                    except NotGathered as missing:
                        asked[label] |= missing.rows
            store.gather(asked)
        store.forget()
    return results


class _Store:
    """Moments of every label in every fold, and the products gathered so far."""

    def __init__(self, rows: LabelledRows) -> None:
        self._rows = rows
        nothing = np.zeros(rows.n_features)
        empty = ClassPart(0.0, nothing, nothing, np.zeros((0, rows.n_features)))
        self._empty = empty
        self._parts = [[empty] * rows.n_folds for _ in range(rows.n_labels)]
        no_columns = np.empty(0, np.int64)
        stored = np.zeros(rows.n_features, np.int64)
        for where, chunk in rows.read():
            stored += _stored_by_column(chunk) if hasattr(chunk, "tocsr") else chunk.shape[0]
            for label, fold, members in _by_label_and_fold(rows.label[where], rows.fold[where]):
                # ``class_moments`` knows a column of one value for what it is; sums of squares
                # would leave it with a rounding error for its variance.
                moments = class_moments(chunk[members], np.ones(members.size, np.bool_))
                part = moments.summary().positive
                self._parts[label][fold] = self._parts[label][fold].combine(part, no_columns, 1)
        # Products are taken about the mean; the zeros of sparse columns with gaps stay free.
        merged = [self._merged(parts, NO_FOLD) for parts in self._parts]
        mean = ClassMoments.merge(merged).positive.mean
        self._origin = np.where(stored == rows.label.size, mean, 0.0)
        self._all: dict[int, Array] = {}
        self._own: dict[tuple[int, int], Array] = {}

    def against_rest(self, left_out: int) -> Iterator[Moments]:
        """Moments of each label in turn against all others, without the rows of a fold.

        Folds and labels are merged, none is subtracted: a column that varies elsewhere only would
        be left with a rounding error for its difference, as if it told the classes apart.
        """
        parts = [self._merged(parts, left_out) for parts in self._parts]
        folds = [fold for fold in range(self._rows.n_folds) if fold != left_out]
        for label, others in enumerate(all_but_one(parts, None)):
            yield _AgainstRest(self, label, folds, parts[label].positive, others.positive)

    def _merged(self, parts: list[ClassPart], left_out: int) -> ClassMoments:
        """Merge the folds of one label, as moments whose negatives are empty."""
        return ClassMoments.merge(
            ClassMoments(part, self._empty) for fold, part in enumerate(parts) if fold != left_out
        )

    def products(
        self, label: int, columns: Indices, folds: list[int]
    ) -> tuple[Array, Array, Array]:
        """Σ (x_c − origin_c) x over a label's rows and over all, (q, d) each, and the origins."""
        missing = [c for c in columns.tolist() if (label, c) not in self._own]
        if missing and not self._rows.quick:
            raise NotGathered(rows=missing)
        self.gather({label: set(missing)})
        shape = columns.size, self._rows.n_features
        own, every = np.empty(shape), np.empty(shape)
        for row, column in enumerate(columns.tolist()):
            np.sum(self._own[label, column][folds], axis=0, out=own[row])
            np.sum(self._all[column][folds], axis=0, out=every[row])
        return own, every, self._origin[columns]

    def gather(self, asked: dict[int, set[int]]) -> None:
        """Read the rows once for the columns that each label asks for."""
        rows = self._rows
        own = sorted(
            (label, c) for label, columns in asked.items() for c in columns
            if (label, c) not in self._own
        )  # fmt: skip
        every = sorted({c for _, c in own} - self._all.keys())
        if not own:
            return
        place_own = np.full((rows.n_labels, rows.n_features), -1, np.int64)
        place_own[tuple(np.array(own).T)] = np.arange(len(own))
        place_all = np.full(rows.n_features, -1, np.int64)
        place_all[every] = np.arange(len(every))
        products_own = np.zeros((len(own), rows.n_folds, rows.n_features))
        products_all = np.zeros((len(every), rows.n_folds, rows.n_features))
        for where, chunk in rows.read():
            given = rows.label[where], rows.fold[where], self._origin, place_own, place_all
            if hasattr(chunk, "tocsr"):
                _add_sparse(as_table(chunk), *given, products_own, products_all)
            else:
                _add_dense(chunk, *given, products_own, products_all)
        self._own.update(zip(own, products_own, strict=True))
        self._all.update(zip(every, products_all, strict=True))

    def forget(self) -> None:
        """Drop the products gathered, to make room for those of other labels."""
        self._own.clear()
        self._all.clear()


class _AgainstRest(Moments):
    """Moments of one label (positive) against all others (negative) within some folds.

    Each side weighs 1, however many rows it has, so that the deviations that columns are divided by
    depend on the shares of the labels as little as the AUC does. Else those of a rare label's own
    columns, which hardly vary in the rest, would hardly count.
    """

    def __init__(
        self, store: _Store, label: int, folds: list[int], positive: ClassPart, negative: ClassPart
    ) -> None:
        self._store = store
        self._label = label
        self._folds = folds
        self._parts = positive, negative

    @property
    def weights(self) -> tuple[float, float]:
        """1 for a side that has rows."""
        positive, negative = (float(part.weight > 0) for part in self._parts)
        return positive, negative

    @property
    def means(self) -> tuple[Array, Array]:
        """Mean of the label and of the others."""
        return self._parts[0].mean, self._parts[1].mean

    @property
    def scatters(self) -> tuple[Array, Array]:
        """Variances of the label and of the others."""
        positive, negative = (part.scatter / max(part.weight, 1.0) for part in self._parts)
        return positive, negative

    def cross(self, columns: npt.ArrayLike) -> tuple[Array, Array]:
        """Covariances of columns gathered with all, of the label and of the others."""
        index = self._check_columns(columns)
        own, others, origin = self._store.products(self._label, index, self._folds)
        others -= own
        for part, products in zip(self._parts, (own, others), strict=True):
            drift = part.weight * (part.mean[index] - origin)
            products -= np.outer(drift, part.mean)
            products /= max(part.weight, 1.0)
        return own, others


@kernel
def _add_sparse(  # type: ignore[no-untyped-def]
    table, label, fold, origin, place_own, place_all, products_own, products_all
):
    """Add Σ (x_c − origin_c) x over the rows of a CSR table, by fold; c goes to its place."""
    for i in range(label.size):
        if label[i] < 0:
            continue
        for p in range(table.indptr[i], table.indptr[i + 1]):
            c = table.indices[p]
            own, every = place_own[label[i], c], place_all[c]
            factor = np.float64(table.data[p]) - origin[c]
            if own >= 0:
                product = products_own[own, fold[i]]
                for s in range(table.indptr[i], table.indptr[i + 1]):
                    product[table.indices[s]] += factor * np.float64(table.data[s])
            if every >= 0:
                product = products_all[every, fold[i]]
                for s in range(table.indptr[i], table.indptr[i + 1]):
                    product[table.indices[s]] += factor * np.float64(table.data[s])


def _add_dense(
    chunk: npt.NDArray[Any],
    label: Indices,
    fold: Indices,
    origin: Array,
    place_own: Indices,
    place_all: Indices,
    products_own: Array,
    products_all: Array,
) -> None:
    """Do the same as ``_add_sparse`` for a dense table, by matrix products."""
    every = np.flatnonzero(place_all >= 0)
    for number, number_of_fold, members in _by_label_and_fold(label, fold):
        values = chunk[members].astype(np.float64)
        own = np.flatnonzero(place_own[number] >= 0)
        for columns, place, products in (
            (own, place_own[number], products_own),
            (every, place_all, products_all),
        ):
            if columns.size:
                part = values[:, columns] - origin[columns]
                products[place[columns], number_of_fold] += part.T @ values


def _by_label_and_fold(label: Indices, fold: Indices) -> Iterator[tuple[int, int, Indices]]:
    """Label, fold and rows of every combination there is, without rows of label −1."""
    counted = np.flatnonzero(label >= 0)
    order = counted[np.lexsort((fold[counted], label[counted]))]
    changes = np.flatnonzero(np.diff(label[order]) | np.diff(fold[order])) + 1
    for members in np.split(order, changes):
        if members.size:
            yield int(label[members[0]]), int(fold[members[0]]), members


def _stored_by_column(chunk: Any) -> Indices:
    """Number of entries stored in each column of a CSR matrix."""
    stored: Indices = np.bincount(chunk.indices, minlength=chunk.shape[1])
    return stored
