"""Outcomes that rows are ranked by: two classes, or times to event.

An ``Outcome`` holds the classes or times of rows, their weights and strata, and answers
what a fit and its evaluation ask: the quadratic to choose columns with, how to divide
rows into folds, how well scores rank, and how sure that is. Another outcome is another
class with these methods.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from ._validation import check_labels
from .chunks import Chunks, chunks_in_memory
from .defaults import FOLDS
from .errors import FoldsError, InputError
from .folds import Split, SplitPlan, make_splits, repeats_for
from .held_out import Models, count_aucs, narrow
from .metrics import (
    AUCInterval,
    DeLongTest,
    PairCounts,
    area_interval,
    auc_confidence_interval,
    delong_test,
    fast_auc,
    number_groups,
    paired_test,
    stratified_auc,
)
from .moments import Moments, moments_of
from .moments.base import Quadratic
from .moments.chunked import (
    GatheredMoments,
    chunked_moments,
    fits_completely,
    training_moments,
)
from .moments.pairs import PairMoments
from .strata import Strata, StrataWarning, Weighting, class_weights
from .survival import (
    ComparablePairs,
    SurvivalTimes,
    censoring_distribution,
    horizon_weights,
    is_times,
    uno_weights,
)
from .utils.types import Array, Indices, Mask

Scores = npt.NDArray[Any]

# Tables in memory with more columns than this are wide: H of every fold would fill the
# memory. So are those with fewer rows than columns, which are smaller than H.
_WIDE = 1500


class Outcome(ABC):
    """Classes or times of rows, their weights, and the strata within which they are compared.

    Attributes
    ----------
    positive : ndarray of bool of shape (n,)
        Rows of the positive class, or with an observed event.
    weight : ndarray of shape (n,) or None
        What each row counts; None for 1.
    strata : Strata or None
        Only rows of one stratum are compared.
    groups : ndarray of int or None
        Number of the group of related rows that each row belongs to, which errors take
        together.
    measure, measure_name : str
        What rankings are measured by, for headings and in sentences.
    """

    positive: Mask
    weight: Array | None
    strata: Strata | None
    groups: Indices | None
    measure: ClassVar[str]
    measure_name: ClassVar[str]

    @property
    @abstractmethod
    def y(self) -> npt.NDArray[Any]:
        """Target of estimators, a row for each row."""

    @property
    def counted(self) -> Mask:
        """Rows of weight above 0."""
        return np.ones_like(self.positive) if self.weight is None else self.weight > 0

    @property
    def n_counted(self) -> int:
        """Number of rows of weight above 0."""
        return int(np.count_nonzero(self.counted))

    def _count_units(self, rows: Mask) -> int:
        """Count some rows, or the groups that have any."""
        return (
            int(rows.sum())
            if self.groups is None
            else np.unique(self.groups[rows]).size
        )

    @abstractmethod
    def take(self, rows: Any) -> Self:
        """Take some of the rows."""

    def take_alone(self, rows: Any) -> Self:
        """Take some of the rows, as if there were no others."""
        return self.take(rows)

    def reweighted(self, weight: Array | None) -> Self:
        """Give the rows other weights."""
        return replace(self, weight=weight)  # type: ignore[type-var]

    @abstractmethod
    def within(self, labels: Any, weighting: Weighting = "pairs") -> Self:
        """Compare rows of the same stratum only; warn of strata that count nothing."""

    def related(self, labels: Any) -> Self:
        """Take rows with the same label together in errors; none if the labels are None."""
        groups = number_groups(labels, self.positive.size)
        return replace(self, groups=groups)  # type: ignore[type-var]

    # ----------------------------------------------------------------------------------
    # fitting

    @abstractmethod
    def quadratic(self, table: Any) -> Quadratic:
        """Return the quadratic of the rows of weight above 0 of a table."""

    def quadratic_for_path(self, table: Any) -> Quadratic:
        """Return the same, for a search over many lengths and ridges."""
        return self.quadratic(table)

    def split(self, cv: Any, X: Any, groups: Any, random_state: Any) -> list[Split]:
        """Divide rows as ``cv`` says, and refuse splits that cannot be fitted or validated."""
        splits = self._divide(cv, X, groups, random_state)
        for number, (train, test) in enumerate(splits):
            self._check_part(train, f"split {number}", "training")
            self._check_part(test, f"split {number}", "validation")
        return splits

    @abstractmethod
    def _divide(
        self, cv: Any, X: Any, groups: Any, random_state: Any
    ) -> list[Split]: ...

    @abstractmethod
    def _check_part(self, rows: Indices, split: str, name: str) -> None: ...

    @abstractmethod
    def fold_labels(self, n_folds: int) -> Mask:
        """Return the rows that so many folds should have equal shares of."""

    def training_sets(
        self,
        table: Any,
        chunks: Chunks,  # noqa: ARG002
        plan: SplitPlan,
    ) -> Sequence[Quadratic]:
        """Return the quadratics of the training rows of each split, and then of all rows.

        The table is in memory, or the chunks themselves.
        """
        return [self.reweighted(weight).quadratic(table) for weight in plan.all_weights]

    @abstractmethod
    def validate(
        self,
        chunks: Chunks,
        plan: SplitPlan,
        models: Sequence[Models],
        n_threads: int = 1,
    ) -> tuple[list[Array], float]:
        """Score all models of each split on its validation rows.

        Returns the scores, of which higher is better, and how far they may be off.
        """

    # -------------------------------------------------------------------------------
    # evaluation

    @abstractmethod
    def score(self, scores: Scores) -> float:
        """Measure how well scores rank the rows: the AUC, or the concordance."""

    @abstractmethod
    def difference_variance(self, one: Scores, other: Scores) -> float:
        """Estimate the variance of the difference of what two scores measure."""

    @property
    @abstractmethod
    def informative(self) -> int:
        """Rows, or groups of related rows, on whose number the error of a ranking depends most."""

    @property
    def chance_error(self) -> float:
        """Standard error of the measure of scores that say nothing."""
        first, second = self._sides
        return float(np.sqrt((first + second + 1) / (12 * first * second)))

    @property
    @abstractmethod
    def _sides(self) -> tuple[float, float]:
        """Rows that are to score higher, and those that each of them is compared with."""

    @abstractmethod
    def scale(self, scores: Scores) -> tuple[float, float]:
        """Return where training scores have their middle, and their unit; 1 if they have none."""

    @abstractmethod
    def at_horizon(self, horizon: float | None = None) -> Binary:
        """Return the classes that risks are of, by default at the horizon of the outcome."""

    @abstractmethod
    def pairs(self, *labels: Any) -> ComparablePairs:
        """Return the pairs that are compared, of rows with the same labels."""

    def interval(self, scores: Scores, confidence: float = 0.95) -> AUCInterval:
        """Measure how well scores rank the rows, with a confidence interval."""
        found = self.interval_within(scores, confidence=confidence)
        if found is None:
            raise InputError("no row is known to have its event before another")
        return found

    def interval_within(
        self, scores: Scores, *labels: Any, confidence: float = 0.95
    ) -> AUCInterval | None:
        """Measure scores over pairs of rows with the same labels; None if there are none."""
        pairs = self.pairs(*labels)
        if not pairs.total > 0:
            return None
        error = pairs.standard_error(scores)
        return area_interval(
            pairs.concordance(scores), error, pairs.n_disjoint, confidence
        )

    def compare(self, one: Scores, other: Scores) -> DeLongTest:
        """Test whether two scores rank the rows equally well."""
        pairs = self.pairs()
        first = pairs.concordance(one)
        second = pairs.concordance(other)
        error = pairs.standard_error(one, other)
        return paired_test(first, second, first - second, error, pairs.n_disjoint)

    def _cells(self, labels: Sequence[Any]) -> Indices:
        """Number of each row's cell: rows of one agree in stratum and labels; −1 counts nothing."""
        cell = np.zeros(self.positive.size, np.int64)
        if self.strata is not None:
            cell = self.strata.code
        outside = cell < 0
        for one in labels:
            if one is not None:
                number = np.unique(
                    np.asarray(one).astype(np.str_), return_inverse=True
                )[1]
                together = cell * (number.max(initial=0) + 1) + number
                cell = np.unique(together, return_inverse=True)[1]
        return np.where(outside, -1, cell)


@dataclass(frozen=True, eq=False)
class Binary(Outcome):
    """Two classes: the squared loss over pairs of a positive and a negative, and the AUC."""

    positive: Mask
    weight: Array | None = None
    strata: Strata | None = None
    groups: Indices | None = None

    measure = "AUC"
    measure_name = "AUC"

    @property
    def y(self) -> npt.NDArray[Any]:
        """1 for rows of the positive class, and 0."""
        return self.positive.astype(np.int64)

    def take(self, rows: Any) -> Self:
        """Take some of the rows; strata without both classes among them count nothing."""
        weight = None if self.weight is None else self.weight[rows]
        positive = self.positive[rows]
        strata = self.strata
        if strata is not None:
            strata = strata.take(rows).with_both_classes(positive, weight)
        groups = None if self.groups is None else self.groups[rows]
        return type(self)(positive, weight, strata, groups)

    def within(self, labels: Any, weighting: Weighting = "pairs") -> Self:
        """Compare rows of the same stratum only; warn of strata with one class only."""
        strata = Strata.of_classes(labels, self.positive, weighting, self.weight)
        return replace(self, strata=strata)

    def quadratic(self, table: Any) -> Moments:
        """Class moments."""
        return moments_of(table, self.positive, self.weight, self.strata, solver=True)

    def _divide(self, cv: Any, X: Any, groups: Any, random_state: Any) -> list[Split]:
        return make_splits(
            cv, X, self.positive, groups, random_state, strata=self.strata
        )

    def fold_labels(self, n_folds: int) -> Mask:  # noqa: ARG002
        """Rows of the positive class."""
        return self.positive

    def _check_part(self, rows: Indices, split: str, name: str) -> None:
        """Refuse training or validation rows of one class."""
        counted = rows[self.counted[rows]]
        kinds = np.unique(self.positive[counted])
        if kinds.size < 2:
            missing = (
                "rows"
                if kinds.size == 0
                else "positives"
                if not kinds[0]
                else "negatives"
            )
            which = "" if self.weight is None else " of weight above 0"
            raise FoldsError(
                f"{split} has no {missing}{which} among its {name} rows: use fewer folds, or a "
                "splitter that keeps the classes together, such as StratifiedKFold"
            )
        if self.strata is not None:
            strata = self.strata.take(counted).with_both_classes(self.positive[counted])
            if not len(strata):
                raise FoldsError(
                    f"no stratum has both classes among the {name} rows of {split}: use fewer "
                    "folds, or a splitter that keeps strata whole, such as GroupKFold"
                )

    def quadratic_for_path(self, table: Any) -> Moments:
        """Class moments, with all of H at once where columns are few."""
        if self._is_wide(table.shape, n_parts=1):
            return self.quadratic(table)
        return chunked_moments(
            chunks_in_memory(table),
            self.positive,
            self.weight,
            self.strata,
            solver=True,
        )

    def _is_wide(self, shape: tuple[int, int], n_parts: int) -> bool:
        """Return whether H of so many parts of the rows would fill the memory."""
        n, d = shape
        if d > _WIDE or d >= n:
            return True
        if self.strata is None:
            return False
        return not fits_completely(d, n_parts * len(self.strata))

    def training_sets(
        self, table: Any, chunks: Chunks, plan: SplitPlan
    ) -> Sequence[Quadratic]:
        """Class moments of the training rows of each split, and of all rows.

        Training folds are merged, and the validation fold is not subtracted from the
        whole: a column that varies in that fold only would be left with a rounding
        error for its difference, and no variance, as if it told the classes apart.
        """
        n_parts = sum(partition.n_parts for partition in plan.partitions)
        if table is not chunks and self._is_wide(chunks.shape, n_parts):
            return super().training_sets(table, chunks, plan)
        gathered = GatheredMoments(chunks, self.positive, plan.partitions, self.strata)
        parts = [*plan.training, plan.everything]
        return [training_moments(gathered, some, solver=True) for some in parts]

    def validate(
        self,
        chunks: Chunks,
        plan: SplitPlan,
        models: Sequence[Models],
        n_threads: int = 1,
    ) -> tuple[list[Array], float]:
        """AUC of all models of each split, and how far it may be off."""
        return count_aucs(
            chunks,
            self.positive,
            plan.weight,
            self.strata,
            plan.rounds,
            models,
            n_threads,
        )

    def rows_with_pairs(self) -> tuple[Indices, Array, Indices | None]:
        """Rows of weight above 0 that are compared with any other, their weights, and strata."""
        weight = np.ones(self.positive.size) if self.weight is None else self.weight
        if self.strata is None:
            rows = np.flatnonzero(weight)
            return rows, weight[rows], None
        both = self.strata.with_both_classes(self.positive, weight)
        rows = np.flatnonzero((both.code >= 0) & (weight > 0))
        code = both.code[rows]
        counts = weight[rows]
        if both.weighting == "equal":
            counts = counts / np.bincount(code, counts)[code]
        return rows, counts, code

    def score(self, scores: Scores) -> float:
        """AUC, within strata where there are any."""
        return fast_auc(scores, self.positive, self.weight, self.strata)

    def difference_variance(self, one: Scores, other: Scores) -> float:
        """DeLong's variance; strata with a single row of a class add none for that class."""
        first = PairCounts.of_scores(one, self.positive, self.weight, self.strata)
        second = PairCounts.of_scores(other, self.positive, self.weight, self.strata)
        variances = np.nansum(first.minus(second).class_variances, axis=0)
        return float(first.shares**2 @ variances)

    @property
    def _sides(self) -> tuple[int, int]:
        """Rows of weight above 0 of each class, the positives first."""
        n_positive = int(np.count_nonzero(self.positive & self.counted))
        return n_positive, self.n_counted - n_positive

    @property
    def informative(self) -> int:
        """Rows of the rarer class, or the fewer groups with rows of a class."""
        sides = (self.positive, ~self.positive)
        return min(self._count_units(self.counted & side) for side in sides)

    def scale(self, scores: Scores) -> tuple[float, float]:
        """Midway between the means of the classes, and their distance."""
        means = []
        for side in (self.positive, ~self.positive):
            weight = None if self.weight is None else self.weight[side]
            means.append(float(np.average(scores[side], weights=weight)))
        high, low = means
        return (low + high) / 2, high - low if high > low else 1.0

    def at_horizon(self, horizon: float | None = None) -> Binary:  # noqa: ARG002
        """The classes themselves."""
        return self

    def pairs(self, *labels: Any) -> ComparablePairs:
        """Pairs of times: positives have their event at the same time, negatives are followed."""
        times = SurvivalTimes(np.where(self.positive, 1.0, 2.0), self.positive)
        return ComparablePairs.from_times(
            times, self.weight, self._cells(labels), groups=self.groups
        )

    def interval_within(
        self, scores: Scores, *labels: Any, confidence: float = 0.95
    ) -> AUCInterval | None:
        """AUC of pairs of rows with the same labels; None if there are none."""
        whole = self.strata is None and all(one is None for one in labels)
        if whole and self.weight is None and self.informative > 1:
            return auc_confidence_interval(
                self.positive, scores, confidence, groups=self.groups
            )
        if self.weight is not None or self.groups is not None:
            return super().interval_within(scores, *labels, confidence=confidence)
        cell = self._cells(labels)
        sizes = class_weights(cell, int(cell.max()) + 1, self.positive, None)
        paired = np.append(sizes.min(axis=0) > 0, False)[cell]
        if not paired.any():
            return None
        return stratified_auc(
            self.positive[paired], scores[paired], cell[paired], confidence=confidence
        )

    def compare(self, one: Scores, other: Scores) -> DeLongTest:
        """DeLong's paired test."""
        if self.strata is None and self.weight is None and self.informative > 1:
            return delong_test(self.positive, one, other, groups=self.groups)
        return super().compare(one, other)


@dataclass(frozen=True, eq=False)
class Times(Outcome):
    """Times to event: the squared loss over comparable pairs, and their concordance.

    Attributes
    ----------
    times : SurvivalTimes
    weight, strata
        As of any outcome.
    horizon : float, optional
        Rankings are measured by Uno's C up to this time, by Harrell's C without it.
    known_event_weight : ndarray of shape (n,), optional
        What the event of each row counts in a measure, where more rows than these tell.
    groups
        As of any outcome.
    """

    times: SurvivalTimes
    weight: Array | None = None
    strata: Strata | None = None
    horizon: float | None = None
    known_event_weight: Array | None = None
    groups: Indices | None = None

    measure = "C"
    measure_name = "concordance"

    @property
    def positive(self) -> Mask:  # type: ignore[override]
        """Rows with the event."""
        return self.times.event

    @property
    def y(self) -> npt.NDArray[Any]:
        """Event and time of each row."""
        values = np.empty(len(self.times), [("event", np.bool_), ("time", np.float64)])
        values["event"] = self.times.event
        values["time"] = self.times.time
        return values

    @cached_property
    def event_weight(self) -> Array | None:
        """Weight of the event of each row in a measure: Uno's, None for Harrell's C."""
        if self.known_event_weight is not None or self.horizon is None:
            return self.known_event_weight
        free = censoring_distribution(self.times, self.weight)
        return uno_weights(self.times, free, self.horizon)

    @property
    def counted_events(self) -> Mask:
        """Rows whose event counts in a measure."""
        return self.positive if self.event_weight is None else self.event_weight > 0

    def take(self, rows: Any) -> Self:
        """Take some of the rows, whose events count what they did."""
        weight = None if self.weight is None else self.weight[rows]
        strata = None if self.strata is None else self.strata.take(rows)
        event_weight = None if self.event_weight is None else self.event_weight[rows]
        groups = None if self.groups is None else self.groups[rows]
        return type(self)(
            self.times.take(rows), weight, strata, self.horizon, event_weight, groups
        )

    def take_alone(self, rows: Any) -> Self:
        """Take some of the rows; what events count is estimated from these."""
        return replace(self.take(rows), known_event_weight=None)

    def within(self, labels: Any, weighting: Weighting = "pairs") -> Self:
        """Compare rows of the same stratum only; warn of strata without pairs."""
        every = Strata.encode(labels, len(self.times), weighting)
        pairs = ComparablePairs.from_times(self.times, self.weight, every.code)
        counts = np.bincount(pairs.cell, pairs.first * pairs.after, len(every))
        if not counts.any():
            raise InputError(
                f"none of the {len(every)} strata holds rows that can be compared: leave strata "
                "out or give coarser ones"
            )
        found = every.select(counts > 0)
        left_out = np.count_nonzero(found.code < 0)
        if left_out:
            warnings.warn(
                f"{left_out} rows are in strata that hold no rows to compare, and count nothing",
                StrataWarning,
                stacklevel=2,
            )
        return replace(self, strata=found)

    def quadratic(self, table: Any) -> PairMoments:
        """Moments of the comparable pairs, which all count the same."""
        return PairMoments(table, self._training_pairs())

    def _training_pairs(self) -> ComparablePairs:
        return self._compare(self._cells(()), None)

    def _compare(self, cells: Indices, event_weight: Array | None) -> ComparablePairs:
        weighting = "pairs" if self.strata is None else self.strata.weighting
        return ComparablePairs.from_times(
            self.times,
            self.weight,
            cells,
            event_weight=event_weight,
            weighting=weighting,
            groups=self.groups,
        )

    def _divide(self, cv: Any, X: Any, groups: Any, random_state: Any) -> list[Split]:
        """Divide rows, by default with the same share of events.

        The concordance of a fold with few events is a matter of luck; repeats average
        it out, until 200 have been validated, five times at most.
        """
        n_events = self.informative
        n_repeats = None
        if cv is None:
            cv = max(2, min(FOLDS, n_events))
            n_repeats = repeats_for(n_events)
        labels = self.fold_labels(int(cv) if isinstance(cv, Integral) else 2)
        return make_splits(
            cv, X, labels, groups, random_state, n_repeats=n_repeats, strata=self.strata
        )

    def _check_part(self, rows: Indices, split: str, name: str) -> None:
        """Refuse rows of which no two can be compared; all events count in training."""
        part = self.take(rows)
        pairs = part._training_pairs() if name == "training" else part.pairs()
        if not pairs.total > 0:
            raise FoldsError(
                f"no two {name} rows of {split} can be compared, as too few have an event: use "
                "fewer folds, or give a later horizon"
            )

    def validate(
        self,
        chunks: Chunks,
        plan: SplitPlan,
        models: Sequence[Models],
        n_threads: int = 1,
    ) -> tuple[list[Array], float]:
        """Concordance of all models of each split."""
        used, narrowed = narrow(models)
        values = chunks.take(np.arange(len(self.times)), used)

        def score_split(split: int, rows: Indices) -> Array:
            pairs = self.take(rows).pairs()
            scores = narrowed[split].scores(values[rows])
            return np.array([pairs.concordance(by_model) for by_model in scores])

        run = Parallel(n_threads, prefer="threads")
        return run(delayed(score_split)(*each) for each in plan.validated()), 0.0

    def score(self, scores: Scores) -> float:
        """Concordance, a half where no two rows can be compared."""
        pairs = self._all_pairs
        return pairs.concordance(scores) if pairs.total > 0 else 0.5

    def difference_variance(self, one: Scores, other: Scores) -> float:
        """Variance of the difference of two concordances."""
        return self._all_pairs.standard_error(one, other) ** 2

    @property
    def informative(self) -> int:
        """Events that count, or groups that have any."""
        return self._count_units(self.counted & self.counted_events)

    @property
    def _sides(self) -> tuple[float, float]:
        """Events, and as many rows as an event is compared with on average."""
        n_events = float((self.positive & self.counted).sum())
        pairs = ComparablePairs.from_times(self.times, self.counted.astype(np.float64))
        return n_events, pairs.total / n_events

    def scale(self, scores: Scores) -> tuple[float, float]:
        """Mean and standard deviation."""
        spread = float(scores.std())
        return float(scores.mean()), spread if spread > 0 else 1.0

    def pairs(self, *labels: Any) -> ComparablePairs:
        """Pairs of rows of which one is known to have its event before the other."""
        return self._compare(self._cells(labels), self.event_weight)

    @cached_property
    def _all_pairs(self) -> ComparablePairs:
        return self.pairs()

    def fold_labels(self, n_folds: int) -> Mask:
        """Events that count, if there are rows without one for every fold."""
        counted = self.counted_events
        few = np.count_nonzero(~counted) < n_folds
        return np.ones_like(counted) if few else counted

    def at_horizon(self, horizon: float | None = None) -> Binary:
        """Rows with the event until a time and rows without, by inverse censoring weights."""
        horizon = self.horizon if horizon is None else horizon
        assert horizon is not None
        event = self.times.event & (self.times.time <= horizon)
        weight = horizon_weights(self.times, horizon, self.weight)
        return Binary(event, weight, groups=self.groups)


def read_outcome(y: Any) -> tuple[npt.NDArray[Any], Outcome]:
    """Return labels or times as estimators take them, and the outcome they are."""
    if is_times(y):
        times = SurvivalTimes.from_target(y)
        outcome = Times(times)
        return outcome.y, outcome
    values = np.asarray(y)
    positive, _ = check_labels(values, least=2)
    return values, Binary(positive)
