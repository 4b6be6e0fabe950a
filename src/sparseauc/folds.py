"""Splits into training and validation rows, brought together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import (
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    check_cv,
)
from sklearn.model_selection._split import GroupsConsumerMixin
from sklearn.utils import check_random_state

from ._validation import label_rows
from .defaults import FOLDS, MOST_REPEATS, VALIDATED_ROWS
from .errors import FoldsError
from .moments.chunked import Partition
from .strata import Strata
from .utils.types import Array, Indices, Mask

Split = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]


@dataclass(frozen=True)
class SplitPlan:
    """Splits brought together: which parts of the rows train, and which rows validate, each.

    Five folds, for example, divide the rows into five parts, which are gathered in one
    reading; the training rows of each split are four of them, and one round validates
    every row.

    Attributes
    ----------
    partitions : list of Partition
        Ways to divide the rows into parts, whose moments are gathered. Parts are
        numbered through all partitions.
    training : list of list of int
        Parts that are the training rows of each split, all of one partition.
    everything : list of int
        Parts that are all rows.
    rounds : list of ndarray of shape (n,)
        Number of the split that validates each row, −1 for none: a row is validated
        once a round.
    weight : ndarray of shape (n,) or None
        Weights of the rows in training and validation; None for 1.
    """

    partitions: list[Partition]
    training: list[list[int]]
    everything: list[int]
    rounds: list[npt.NDArray[np.int16]]
    weight: Array | None

    @classmethod
    def from_splits(cls, splits: list[Split], n: int, weight: Array | None) -> Self:
        """Bring splits that validate every row once together: each row is then read once."""
        partitions: list[Partition] = []
        training: list[list[int]] = []
        everything: list[int] = []
        rounds = []
        n_parts = 0
        absent = np.zeros(n, np.bool_) if weight is None else weight == 0
        for run in runs_of_splits(splits, absent):
            validated = np.full(n, -1, np.int16)
            for number, (_, test) in enumerate(run, start=len(training)):
                validated[test] = number
            rounds.append(validated)
            if len(run) > 1:
                part = np.where(
                    validated < 0, validated, validated - np.int16(len(training))
                )
                partitions.append(Partition(part, len(run), weight))
                parts = list(range(n_parts, n_parts + len(run)))
                everything = everything or parts
                training += [
                    [other for other in parts if other != own] for own in parts
                ]
            else:
                times = np.bincount(run[0][0], minlength=n)
                weights = weight
                if times.max() > 1:  # as bootstrap splits draw rows
                    weights = times * (np.ones(n) if weight is None else weight)
                drawn = np.where(times > 0, 0, -1).astype(np.int16)
                partitions.append(Partition(drawn, 1, weights))
                training.append([n_parts])
            n_parts += partitions[-1].n_parts
        if not everything:
            partitions.append(Partition(np.zeros(n, np.int16), 1, weight))
            everything = [n_parts]
        return cls(partitions, training, everything, rounds, weight)

    def first_round(self) -> Self:
        """The plan of the splits that validate all rows for the first time; all, if none do so."""
        n_splits = int(self.rounds[0].max()) + 1
        if n_splits == len(self.training) or self.rounds[0].min() < 0:
            return self
        return replace(
            self,
            partitions=self.partitions[:1],
            training=self.training[:n_splits],
            rounds=self.rounds[:1],
        )

    def validated(self) -> Iterator[tuple[int, npt.NDArray[np.intp]]]:
        """Go through the splits of every round, with the rows that validate them."""
        for numbers in self.rounds:
            yield from rows_by_number(numbers)

    @property
    def n_repeats(self) -> float:
        """Mean number of times that a row of weight above 0 is validated, at least 1."""
        times = np.sum([numbers >= 0 for numbers in self.rounds], axis=0)
        counted = times if self.weight is None else times[self.weight > 0]
        return max(1.0, float(counted.mean()))

    @property
    def all_weights(self) -> list[Array | None]:
        """Weights of the rows in the training rows of each split, and in all rows."""
        return [*map(self.training_weights, range(len(self.training))), self.weight]

    def training_weights(self, split: int) -> Array | None:
        """Weight of each row in the training rows of a split, 0 for those left out; −1 for all."""
        if split < 0:
            return self.weight
        parts = np.array(self.training[split])
        for partition in self.partitions:
            if 0 <= parts[0] < partition.n_parts:
                inside = np.isin(partition.part, parts).astype(np.float64)
                return inside if partition.weight is None else inside * partition.weight
            parts -= partition.n_parts
        raise IndexError(f"there is no split {split}")


def runs_of_splits(splits: list[Split], absent: Mask) -> Iterator[list[Split]]:
    """Runs of splits that validate every row once and train on all others; else one each.

    Rows that are ``absent`` may have no part in them.
    """
    n = absent.size
    start = 0
    while start < len(splits):
        seen = absent.copy()
        stop = start
        while stop < len(splits) and not seen.all():
            train, test = splits[stop]
            validated = np.zeros(n, np.bool_)
            validated[test] = True
            rest = (np.bincount(train, minlength=n) == ~validated) | absent
            if not rest.all() or (seen & validated & ~absent).any():
                break
            seen |= validated
            stop += 1
        stop = stop if seen.all() else start + 1
        yield splits[start:stop]
        start = stop


def rows_by_number(
    numbers: npt.NDArray[np.integer[Any]],
) -> Iterator[tuple[int, npt.NDArray[np.intp]]]:
    """Rows of each number of 0 or more that occurs, ascending."""
    rows = np.flatnonzero(numbers >= 0)
    order = np.argsort(numbers[rows], kind="stable")
    found, starts = np.unique(numbers[rows][order], return_index=True)
    yield from zip(found.tolist(), np.split(rows[order], starts[1:]), strict=False)


def make_splits(
    cv: Any,
    X: Any,
    positive: Mask,
    groups: Any,
    random_state: Any,
    *,
    n_repeats: int | None = None,
    strata: Strata | None = None,
) -> list[Split]:
    """Divide rows as ``cv`` says, as scikit-learn does; by default five stratified folds.

    With few rows of a class the AUC of a fold is a matter of luck; repeats of the
    default folds average it out, until two hundred rows of the rarer class have been
    validated, five times at most.

    Parameters
    ----------
    cv, X, groups
        As of ``check_cv`` and the ``split`` of a splitter. Folds keep groups together.
    positive : ndarray of bool of shape (n,)
        Rows that every fold has its share of.
    random_state : int, RandomState or None
        For folds that are shuffled.
    n_repeats : int, optional
        Shuffle a number of folds, and repeat them so often.
    strata : Strata, optional
        Without groups, folds hold rows of every stratum in both classes; where most
        strata are too small for that, as matched sets are, folds keep strata whole.
        Splitters that keep groups together are given the strata as groups.
    """
    if cv is None:
        counted = positive if strata is None else positive[strata.code >= 0]
        n_rows = int(min(counted.sum(), (~counted).sum()))
        rarer = n_rows if groups is None else min(groups_by_class(groups, positive))
        cv = max(2, min(FOLDS, rarer))
        n_repeats = repeats_for(n_rows)
    elif isinstance(cv, Integral) and n_repeats is not None:
        _check_number_of_folds(int(cv), positive)
    cells: npt.NDArray[Any] = positive
    if isinstance(cv, Integral):
        if groups is not None:
            _check_number_of_groups(int(cv), groups, positive)
            rng = None if n_repeats is None else check_random_state(random_state)
            return _keep_whole(
                int(cv), positive, np.asarray(groups), [rng] * (n_repeats or 1)
            )
        if strata is not None and _are_small(strata, positive, int(cv)):
            states: list[Any] = [None]
            if n_repeats is not None:
                states = (
                    check_random_state(random_state)
                    .randint(2**31, size=n_repeats)
                    .tolist()
                )
            return _keep_whole(min(int(cv), len(strata)), positive, strata.code, states)
        if strata is not None:
            cells = _cells_to_divide(strata, positive, int(cv))
    if n_repeats is None or not isinstance(cv, Integral):
        splitter = check_cv(cv, cells, classifier=True)
    else:
        splitter = RepeatedStratifiedKFold(
            n_splits=cv, n_repeats=n_repeats, random_state=random_state
        )
    if (
        groups is None
        and strata is not None
        and isinstance(splitter, GroupsConsumerMixin)
    ):
        groups = strata.code
    return list(splitter.split(X, cells, groups))


def repeats_for(n_rows: int) -> int:
    """Number of repeats of the default folds, given the rows of the rarer class, or events."""
    return min(MOST_REPEATS, -(-VALIDATED_ROWS // n_rows))


def _are_small(strata: Strata, positive: Mask, n_folds: int) -> bool:
    """Return whether most strata have too few rows of a class for every fold, as matched sets."""
    large = np.min(strata.class_weights(positive), axis=0) >= n_folds
    return len(strata) > 1 and bool(2 * np.count_nonzero(large) < len(strata))


def _cells_to_divide(strata: Strata, positive: Mask, n_folds: int) -> Indices:
    """Cell of each row by stratum and class, of which every fold should have its share."""
    cell = np.where(strata.code >= 0, 2 * strata.code + positive, -1)
    counts = np.bincount(cell[cell >= 0], minlength=2 * len(strata))
    # Rows of strata without pairs, and of those smaller than there are folds, go with
    # others.
    largest = 2 * counts.reshape(-1, 2).argmax(axis=0) + [0, 1]
    few = np.append(counts < n_folds, True)[cell]
    return np.where(few, largest[positive.astype(np.intp)], cell)


def groups_by_class(groups: Any, positive: Mask) -> list[int]:
    """Number of groups with negative rows, and with positive ones."""
    groups = label_rows(groups, positive.size, "groups")
    return [np.unique(groups[positive == side]).size for side in (False, True)]


def _check_number_of_folds(n_folds: int, positive: Mask) -> None:
    """Refuse more folds than a class has rows."""
    if n_folds < 2:
        raise FoldsError(f"cv={n_folds}: cross-validation needs two folds or more")
    for name, count in (
        ("negative", int((~positive).sum())),
        ("positive", int(positive.sum())),
    ):
        if 0 < count < n_folds:
            raise FoldsError(
                f"there are {count} {name} rows, fewer than the {n_folds} folds: use cv={count}"
            )


def _check_number_of_groups(n_folds: int, groups: Any, positive: Mask) -> None:
    """Refuse more folds than a class has groups."""
    counts = groups_by_class(groups, positive)
    if min(count for count in counts if count) < n_folds:
        raise FoldsError(
            f"{counts[0]} groups have negative rows and {counts[1]} positive ones, fewer than the "
            f"{n_folds} folds: use fewer folds"
        )


def _keep_whole(
    n_folds: int, positive: Mask, units: npt.NDArray[Any], random_states: Sequence[Any]
) -> list[Split]:
    """Folds that keep units of rows whole, once for each random state, in order for None."""
    splits: list[Split] = []
    for state in random_states:
        splitter = StratifiedGroupKFold(
            n_folds, shuffle=state is not None, random_state=state
        )
        splits += splitter.split(positive, positive, units)
    return splits


def fold_standard_error(
    scores: npt.ArrayLike, repeats: float = 1.0
) -> npt.NDArray[np.float64]:
    """Standard error of a mean over folds.

    Parameters
    ----------
    scores : array-like of shape (n_splits, ...)
        Score of each validation fold.
    repeats : float, default=1.0
        How often each row was validated. Repeats use the same rows again and are not
        independent.

    Returns
    -------
    ndarray of shape (...)
        Standard deviation of the folds (``ddof=1``) over the square root of their
        number; 0 for a single fold.

    Examples
    --------
    >>> float(fold_standard_error([0.8, 0.9, 0.7, 0.8]))
    0.04082482904638631
    """
    values = np.asarray(scores, np.float64)
    if len(values) < 2:
        return np.zeros(values.shape[1:])
    return np.asarray(values.std(axis=0, ddof=1) / np.sqrt(len(values) / repeats))
