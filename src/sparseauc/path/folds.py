"""Which rows train and which validate: splits, checked and brought together."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedGroupKFold, check_cv
from sklearn.model_selection._split import GroupsConsumerMixin
from sklearn.utils import check_random_state

from ..errors import FoldsError, InputError
from ..labels import Labels
from ..moments.chunked import Partition
from ..utils.types import Array, Indices, Mask

Split = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]


@dataclass(frozen=True)
class SplitPlan:
    """Which parts of the rows train and which rows validate each split."""

    # Parts whose moments are gathered, those of the training rows of each split, and of all rows.
    partitions: list[Partition]
    training: list[list[int]]
    everything: list[int]
    # Number of the split that validates a row, −1 for none: a row is validated once a round.
    rounds: list[npt.NDArray[np.int16]]
    # What rows count in training and validation, once each by default.
    weight: Array | None

    @classmethod
    def from_splits(cls, splits: list[Split], n: int, weight: Array | None) -> Self:
        """Bring splits that validate every row once together: each row is then read once."""
        partitions: list[Partition] = []
        training: list[list[int]] = []
        everything: list[int] = []
        rounds = []
        first = 0
        for run in runs_of_splits(splits, n):
            validated = np.full(n, -1, np.int16)
            for number, (_, test) in enumerate(run, start=len(training)):
                validated[test] = number
            rounds.append(validated)
            if len(run) > 1:
                part = validated - np.int16(len(training)) if training else validated
                partitions.append(Partition(part, len(run), weight))
                parts = list(range(first, first + len(run)))
                everything = everything or parts
                training += [[other for other in parts if other != own] for own in parts]
            else:
                times, weights = np.bincount(run[0][0], minlength=n), weight
                if times.max() > 1:  # as bootstrap splits draw rows
                    weights = times * (np.ones(n) if weight is None else weight)
                drawn = np.where(times > 0, 0, -1).astype(np.int16)
                partitions.append(Partition(drawn, 1, weights))
                training.append([first])
            first += partitions[-1].n_parts
        if not everything:
            partitions.append(Partition(np.zeros(n, np.int16), 1, weight))
            everything = [first]
        return cls(partitions, training, everything, rounds, weight)

    def training_alone(self, split: int) -> Self:
        """A plan without validation whose rows are the training rows of a split; −1 for all."""
        weight = self.weight if split < 0 else self.training_weights(split)
        part = np.zeros(self.rounds[0].size, np.int16)
        if weight is not None:
            part[weight == 0] = -1
        return replace(
            self, partitions=[Partition(part, 1, weight)], training=[], everything=[0], rounds=[],
            weight=weight,
        )  # fmt: skip

    def first_round(self) -> Self:
        """The plan of the splits that validate all rows for the first time; all, if none do so."""
        n_splits = int(self.rounds[0].max()) + 1
        if n_splits == len(self.training) or self.rounds[0].min() < 0:
            return self
        return replace(
            self, partitions=self.partitions[:1], training=self.training[:n_splits],
            rounds=self.rounds[:1],
        )  # fmt: skip

    @property
    def n_repeats(self) -> float:
        """How often a row is validated on average, and 1 at least."""
        validated = sum(np.count_nonzero(numbers >= 0) for numbers in self.rounds)
        return max(1.0, validated / self.rounds[0].size)

    def training_weights(self, split: int) -> Array:
        """What each row counts in the training rows of a split, 0 for those left out."""
        first = 0
        for partition in self.partitions:
            last = first + partition.n_parts
            chosen = [part - first for part in self.training[split] if first <= part < last]
            if chosen:
                counted = np.zeros(partition.n_parts + 1)  # rows of no part are of the last here
                counted[chosen] = 1.0
                inside: Array = counted[partition.part]
                return inside if partition.weight is None else inside * partition.weight
            first = last
        raise IndexError(f"there is no split {split}")


def runs_of_splits(splits: list[Split], n: int) -> Iterator[list[Split]]:
    """Runs of splits that validate every row once and train on all others; else one each."""
    start = 0
    while start < len(splits):
        seen, stop = np.zeros(n, np.bool_), start
        while stop < len(splits) and not seen.all():
            train, test = splits[stop]
            validated = np.zeros(n, np.bool_)
            validated[test] = True
            rest = np.array_equal(np.bincount(train, minlength=n), ~validated)
            if not rest or (seen & validated).any():
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


def check_splits(splits: list[Split], labels: Labels, weight: Array | None) -> None:
    """Refuse a split in which training or validation rows are of one class."""
    positive = labels.positive
    for number, parts in enumerate(splits):
        for name, rows in zip(("training", "validation"), parts, strict=True):
            counted = rows if weight is None else rows[weight[rows] > 0]
            kinds = np.unique(positive[counted])
            if kinds.size < 2:
                missing = (
                    "rows" if kinds.size == 0 else "positives" if not kinds[0] else "negatives"
                )
                which = "" if weight is None else " of weight above 0"
                raise FoldsError(
                    f"split {number} has no {missing}{which} among its {name} rows: use fewer "
                    "folds, or a splitter that keeps the classes together, such as StratifiedKFold"
                )
            if labels.code is not None and not len(labels.take(counted)):
                raise FoldsError(
                    f"no stratum has both classes among the {name} rows of split {number}: use "
                    "fewer folds, or a splitter that keeps strata whole, such as GroupKFold"
                )


def make_splits(
    cv: Any,
    X: Any,
    labels: Labels,
    groups: Any,
    random_state: Any,
    n_repeats: int | None = None,
) -> list[Split]:
    """Divide rows as ``cv`` says, as scikit-learn does; by default five stratified folds.

    A number of folds is shuffled if ``n_repeats`` is given.

    With few rows of a class the AUC of a fold is a matter of luck; repeats average it out, until
    two hundred rows of the rarer class have been validated, five times at most.

    Folds keep groups together. With strata and no groups, default folds hold rows of every stratum,
    in both classes; where most strata are too small for that, as matched sets are, folds keep
    strata whole. Splitters that keep groups together are given the strata, unless there are groups.
    """
    positive = labels.positive
    if cv is None:
        counted = positive if labels.code is None else positive[labels.code >= 0]
        n_rows = int(min(counted.sum(), (~counted).sum()))
        rarer = n_rows if groups is None else min(groups_by_class(groups, positive))
        cv, n_repeats = max(2, min(5, rarer)), min(5, -(-200 // n_rows))
    elif isinstance(cv, Integral) and n_repeats is not None:
        _check_number_of_folds(int(cv), positive)
    if groups is not None and isinstance(cv, Integral):
        return _whole_groups(int(cv), n_repeats, positive, np.asarray(groups), random_state)
    cells: npt.NDArray[Any] = positive
    if isinstance(cv, Integral):
        cells, whole = labels.to_divide(int(cv))
        if whole is not None:
            n_folds = min(int(cv), len(labels))
            return _keep_whole(n_folds, n_repeats, positive, whole, random_state)
    if n_repeats is None or not isinstance(cv, Integral):
        splitter = check_cv(cv, cells, classifier=True)
    else:
        splitter = RepeatedStratifiedKFold(
            n_splits=cv, n_repeats=n_repeats, random_state=random_state
        )
    if groups is None and isinstance(splitter, GroupsConsumerMixin):
        groups = labels.code
    return list(splitter.split(X, cells, groups))


def groups_by_class(groups: Any, positive: Mask) -> list[int]:
    """Number of groups with negative rows, and with positive ones."""
    groups = np.asarray(groups)
    if groups.shape != positive.shape:
        raise InputError(
            f"groups must label each of the {positive.size} rows, got shape {groups.shape}"
        )
    return [np.unique(groups[positive == side]).size for side in (False, True)]


def _check_number_of_folds(n_folds: int, positive: Mask) -> None:
    """Refuse more folds than a class has rows."""
    if n_folds < 2:
        raise FoldsError(f"cv={n_folds}: cross-validation needs two folds or more")
    for name, count in (("negative", int((~positive).sum())), ("positive", int(positive.sum()))):
        if 0 < count < n_folds:
            raise FoldsError(
                f"there are {count} {name} rows, fewer than the {n_folds} folds: use cv={count}"
            )


def _whole_groups(
    n_folds: int,
    n_repeats: int | None,
    positive: Mask,
    groups: npt.NDArray[Any],
    random_state: Any,
) -> list[Split]:
    """Folds that keep groups together, in random order where they are repeated."""
    counts = groups_by_class(groups, positive)
    if min(count for count in counts if count) < n_folds:
        raise FoldsError(
            f"{counts[0]} groups have negative rows and {counts[1]} positive ones, fewer than the "
            f"{n_folds} folds: use fewer folds"
        )
    rng = None if n_repeats is None else check_random_state(random_state)
    splits: list[Split] = []
    for _ in range(n_repeats or 1):
        splitter = StratifiedGroupKFold(n_folds, shuffle=rng is not None, random_state=rng)
        splits += splitter.split(positive, positive, groups)
    return splits


def _keep_whole(
    n_folds: int, n_repeats: int | None, positive: Mask, units: Indices, random_state: Any
) -> list[Split]:
    """Folds that keep units of rows whole, in random order where they are repeated."""
    seeds: list[int | None] = [None]
    if n_repeats is not None:
        seeds = check_random_state(random_state).randint(2**31, size=n_repeats).tolist()
    splits: list[Split] = []
    for seed in seeds:
        splitter = StratifiedGroupKFold(n_folds, shuffle=seed is not None, random_state=seed)
        splits += splitter.split(positive, positive, units)
    return splits
