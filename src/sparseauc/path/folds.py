"""Which rows train and which validate: splits, checked and brought together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import RepeatedStratifiedKFold

from ..moments import ClassMoments
from ..moments.chunked import Partition

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Split = tuple[npt.NDArray[np.integer[Any]], npt.NDArray[np.integer[Any]]]


@dataclass(frozen=True)
class SplitPlan:
    """Which parts of the rows train and which rows validate each split.

    Attributes
    ----------
    partitions : list of Partition
        Parts whose moments are gathered.
    training : list of list of int
        The parts that make up the training rows of each split.
    everything : list of int
        The parts that make up all rows.
    rounds : list of int16 ndarrays of shape (n,)
        Number of the split that validates a row, −1 for none: a row is validated once a round.
    weight : float64 ndarray of shape (n,) or None
        What rows count in training and validation, once each by default.
    """

    partitions: list[Partition]
    training: list[list[int]]
    everything: list[int]
    rounds: list[npt.NDArray[np.int16]]
    weight: Array | None

    @classmethod
    def from_splits(cls, splits: list[Split], n: int, weight: Array | None) -> SplitPlan:
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
                times = np.bincount(run[0][0], minlength=n)
                # A row drawn twice, as bootstrap splits draw, counts twice.
                repeated = None if times.max() <= 1 else times.astype(np.float64)
                weights = weight if repeated is None else repeated
                if repeated is not None and weight is not None:
                    weights = repeated * weight
                partitions.append(
                    Partition(np.where(times > 0, 0, -1).astype(np.int16), 1, weights)
                )
                training.append([first])
            first += partitions[-1].n_parts
        if not everything:
            partitions.append(Partition(np.zeros(n, np.int16), 1, weight))
            everything = [first]
        return cls(partitions, training, everything, rounds, weight)

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
                inside: Array = np.isin(partition.part, chosen).astype(np.float64)
                return inside if partition.weight is None else inside * partition.weight
            first = last
        raise IndexError(f"there is no split {split}")


def runs_of_splits(splits: list[Split], n: int) -> Iterator[list[Split]]:
    """Runs of splits that validate every row once and train on all others; else one each."""
    run: list[Split] = []
    seen = np.zeros(n, np.bool_)
    for split in splits:
        train, test = split
        validated = np.zeros(n, np.bool_)
        validated[test] = True
        rest = np.array_equal(np.bincount(train, minlength=n), ~validated)
        if not rest or (seen & validated).any():
            yield from ([earlier] for earlier in run)
            run = []
            seen[:] = False
        if not rest:
            yield [split]
            continue
        run.append(split)
        seen |= validated
        if seen.all():
            yield run
            run = []
            seen[:] = False
    yield from ([earlier] for earlier in run)


def all_but_one(parts: list[ClassMoments], others: ClassMoments | None) -> Iterator[ClassMoments]:
    """For each part the sum of the others, and of ``others``, by halves: K log K sums for K."""
    if len(parts) == 1:
        assert others is not None
        yield others
        return
    middle = len(parts) // 2
    left, right = parts[:middle], parts[middle:]
    outside = [] if others is None else [others]
    yield from all_but_one(left, ClassMoments.merge([*outside, *right]))
    yield from all_but_one(right, ClassMoments.merge([*outside, *left]))


def check_splits(splits: list[Split], positive: Mask, weight: Array | None) -> None:
    """Refuse a split in which training or validation rows are of one class."""
    for number, parts in enumerate(splits):
        for name, rows in zip(("training", "validation"), parts, strict=True):
            counted = rows if weight is None else rows[weight[rows] > 0]
            kinds = np.unique(positive[counted])
            if kinds.size < 2:
                missing = (
                    "rows" if kinds.size == 0 else "positives" if not kinds[0] else "negatives"
                )
                which = "" if weight is None else " of weight above 0"
                raise ValueError(
                    f"split {number} has no {missing}{which} among its {name} rows: use fewer "
                    "folds, or a splitter that keeps the classes together, such as StratifiedKFold"
                )


def default_splitter(positive: Mask, random_state: Any) -> RepeatedStratifiedKFold:
    """Five stratified folds, repeated where rows are few.

    With few rows of a class the AUC of a fold is a matter of luck; repeats average it out, until
    two hundred rows of the rarer class have been validated, ten times at most.
    """
    rarer = int(min(positive.sum(), (~positive).sum()))
    return RepeatedStratifiedKFold(
        n_splits=max(2, min(5, rarer)),
        n_repeats=min(10, -(-200 // rarer)),
        random_state=random_state,
    )
