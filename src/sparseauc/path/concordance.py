"""Times to event as a target: comparable pairs to choose columns with, and their concordance."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed

from ..chunks import Chunks
from ..errors import FoldsError, InputError
from ..labels import Labels, StrataWarning, Weighting
from ..moments.pairs import PairMoments
from ..survival import (
    ComparablePairs,
    SurvivalTimes,
    censoring_distribution,
    uno_weights,
)
from ..utils.types import Array, Indices
from .folds import Split, SplitPlan, make_splits, rows_by_number
from .targets import TrainingSets
from .validation import Models, narrow


@dataclass(frozen=True)
class TimeTarget:
    """Times to event: the squared loss over comparable pairs, and their concordance.

    All pairs count the same in training. In validation they count by Uno's weights up to a
    ``horizon`` where there is one. With strata, only pairs of one count.
    """

    times: SurvivalTimes
    horizon: float | None = None
    within_strata: Labels | None = None  # rows with an event, and the strata of all rows

    @property
    def validated_until(self) -> float:
        """Events before this time count in validation."""
        return np.inf if self.horizon is None else self.horizon

    @property
    def labels(self) -> Labels:
        """Rows with an event, and the strata of all rows."""
        return Labels(self.times.event) if self.within_strata is None else self.within_strata

    def take(self, rows: Indices, weight: Array | None = None) -> Self:
        """The same for some of the rows, whose weight tells nothing of the times."""
        del weight
        code = None if self.labels.code is None else self.labels.code[rows]
        labels = replace(self.labels, positive=self.labels.positive[rows], code=code)
        return replace(self, times=self.times.take(rows), within_strata=labels)

    def validation_pairs(self, weight: Array) -> ComparablePairs:
        """Pairs that count in validation, of the rows of weight above 0."""
        return self._pairs(weight, self.horizon)

    def moments(self, table: Any, weight: Array | None) -> PairMoments:
        """Moments of the rows of weight above 0."""
        return PairMoments(table, self._pairs(weight))

    def training_sets(self, table: Any, chunks: Chunks, plan: SplitPlan) -> TrainingSets:
        """Moments of the training rows of each split, and of all rows."""
        del chunks
        weights = [*map(plan.training_weights, range(len(plan.training))), plan.weight]
        sets = [self.moments(table, weight) for weight in weights]
        return TrainingSets(sets[:-1], sets[-1], [one.centre for one in sets])

    def validate(
        self, chunks: Chunks, plan: SplitPlan, models: Sequence[Models], n_threads: int = 1
    ) -> tuple[list[Array], float]:
        """Concordance of all models of each split."""
        used, narrowed = narrow(models)
        n = len(self.times)
        values = chunks.take(np.arange(n), used)
        one = np.ones(n) if plan.weight is None else plan.weight

        def judge(split: int, rows: Indices) -> Array:
            inside = np.zeros(n)
            inside[rows] = one[rows]
            pairs = self.validation_pairs(inside)
            scores = np.zeros((narrowed[split].middle.size, n))
            scores[:, rows] = narrowed[split].scores(values[rows])
            return np.array([pairs.concordance(by_model) for by_model in scores])

        judged = [each for validated in plan.rounds for each in rows_by_number(validated)]
        return Parallel(n_threads, prefer="threads")(delayed(judge)(*each) for each in judged), 0.0

    def within(
        self, strata: Any, weighting: Weighting = "pairs", weight: Array | None = None
    ) -> Self:
        """The same, with pairs of one stratum only; rows of strata without any count nothing."""
        every = self.labels.numbered(strata)
        pairs = replace(self, within_strata=every)._pairs(weight)
        counts = np.bincount(pairs.cell, pairs.first * pairs.after, len(every))
        if not counts.any():
            raise InputError(
                f"none of the {len(every)} strata holds rows that can be compared: leave strata "
                "out or give coarser ones"
            )
        found = replace(every.only(counts > 0), weighting=weighting)
        assert found.code is not None
        if left_out := np.count_nonzero(found.code < 0):
            warnings.warn(
                f"{left_out} rows are in strata that hold no rows to compare, and count nothing",
                StrataWarning,
                stacklevel=2,
            )
        return replace(self, within_strata=found)

    def chance_error(self, weight: Array | None) -> float:
        """Standard error of the concordance of scores that say nothing.

        As that of the AUC, of the events and of as many rows as an event is compared with on
        average.
        """
        event = self.times.event if weight is None else self.times.event & (weight > 0)
        one = None if weight is None else (weight > 0).astype(np.float64)
        pairs = ComparablePairs.from_times(self.times, one)
        events = float(event.sum())
        others = pairs.total / events
        return float(np.sqrt((events + others + 1) / (12 * events * others)))

    def score(self, scores: Array, rows: Indices) -> float:
        """Concordance of some rows."""
        inside, every = np.zeros((2, len(self.times)))
        inside[rows], every[rows] = 1.0, scores
        return self.validation_pairs(inside).concordance(every)

    def splits(self, cv: Any, X: Any, groups: Any, weight: Array | None, seed: Any) -> list[Split]:
        """Splits with rows to compare on either side; by default with the same share of events.

        The concordance of a fold with few events is a matter of luck; repeats average it out, until
        200 have been validated, five times at most.
        """
        counted = self.times.event & (self.times.time < self.validated_until)
        n_events, repeats = int(counted.sum()), None
        if cv is None:
            cv, repeats = max(2, min(5, n_events)), min(5, -(-200 // n_events))
        folds = cv if isinstance(cv, Integral) else 2
        # Too few rows without an event to have some in every fold need not be in every fold.
        labels = counted if counted.size - n_events >= folds else np.ones_like(counted)
        splits = make_splits(cv, X, replace(self.labels, positive=labels), groups, seed, repeats)
        self._check_splits(SplitPlan.from_splits(splits, len(self.times), weight))
        return splits

    def _check_splits(self, plan: SplitPlan) -> None:
        """Refuse splits in which no rows can be compared."""
        one = np.ones(len(self.times)) if plan.weight is None else plan.weight
        judged = [each for validated in plan.rounds for each in rows_by_number(validated)]
        for split, rows in judged:
            inside = np.zeros(len(self.times))
            inside[rows] = one[rows]
            sides = {
                "training": self._pairs(plan.training_weights(split)),
                "validation": self.validation_pairs(inside),
            }
            for name, pairs in sides.items():
                if not pairs.total > 0:
                    raise FoldsError(
                        f"no two {name} rows of split {split} can be compared, as too few have an "
                        "event: use fewer folds, or give a later horizon"
                    )

    def _pairs(self, weight: Array | None, horizon: float | None = None) -> ComparablePairs:
        event_weight = None
        if horizon is not None:
            # Of all rows: how rows are censored tells nothing of their columns.
            free = censoring_distribution(self.times)
            event_weight = uno_weights(self.times, free, horizon)
        labels = self.labels
        return ComparablePairs.from_times(
            self.times, weight, labels.code, event_weight=event_weight, weighting=labels.weighting
        )
