"""What scores are judged by: how well they rank two classes, or times to event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from .._validation import check_labels
from ..errors import InputError
from ..metrics import (
    AUCInterval,
    DeLongTest,
    area_interval,
    auc_confidence_interval,
    delong_test,
    fast_auc,
    paired_test,
    stratified_auc,
)
from ..path.concordance import TimeTarget
from ..path.validation import ClassTarget
from ..survival import (
    ComparablePairs,
    SurvivalTimes,
    censoring_distribution,
    horizon_weights,
    is_times,
    uno_weights,
)
from ..utils.types import Array, Indices, Mask

Scores = npt.NDArray[Any]


class Ranking(Protocol):
    """Rows with an outcome that scores should rank."""

    @property
    def positive(self) -> Mask:
        """Rows with the event."""

    @property
    def informative(self) -> int:
        """Rows on whose number the error of a ranking depends most."""

    def take(self, rows: Any) -> Self:
        """The same for some of the rows."""

    def scale(self, scores: Scores) -> tuple[float, float]:
        """Where training scores have their middle, and their unit; 1 if they have none."""

    def interval(self, scores: Scores, confidence: float = 0.95) -> AUCInterval:
        """AUC or concordance of all rows, with its interval."""

    def within(self, scores: Scores, *within: Any, confidence: float = 0.95) -> AUCInterval | None:
        """The same over pairs of rows with the same labels within; None if there are none."""

    def area(self, scores: Array) -> float:
        """AUC or concordance of all rows alone; a half where no two can be compared."""

    def compare(self, one: Scores, other: Scores) -> DeLongTest:
        """Test whether two scores of all rows rank them equally well."""


@dataclass(frozen=True, eq=False)
class ClassRanking:
    """Two classes, ranked by AUC; weighted where ``weight`` says what rows count."""

    positive: Mask
    weight: Array | None = None

    @property
    def informative(self) -> int:
        """Rows of the rarer class."""
        return int(min(self.positive.sum(), (~self.positive).sum()))

    def take(self, rows: Any) -> Self:
        """The same for some of the rows."""
        return type(self)(self.positive[rows], None if self.weight is None else self.weight[rows])

    def scale(self, scores: Scores) -> tuple[float, float]:
        """Midway between the means of the classes, and their distance."""
        high, low = (
            float(
                np.average(scores[side], weights=None if self.weight is None else self.weight[side])
            )
            for side in (self.positive, ~self.positive)
        )
        return (low + high) / 2, high - low if high > low else 1.0

    def interval(self, scores: Scores, confidence: float = 0.95) -> AUCInterval:
        """AUC of all rows, with DeLong's interval."""
        if self.weight is None:
            return auc_confidence_interval(self.positive, scores, confidence)
        found = self.within(scores, confidence=confidence)
        if found is None:
            raise InputError("a class has no row with a weight above 0")
        return found

    def within(self, scores: Scores, *within: Any, confidence: float = 0.95) -> AUCInterval | None:
        """AUC of pairs of rows with the same labels within; None if there are none."""
        if self.weight is None:
            return auc_within(scores, self.positive, *within, confidence=confidence)
        return _interval_of_pairs(self._pairs(*within), scores, confidence)

    def area(self, scores: Array) -> float:
        """AUC of all rows, alone."""
        return fast_auc(scores, self.positive, self.weight)

    def compare(self, one: Scores, other: Scores) -> DeLongTest:
        """DeLong's paired test."""
        if self.weight is None:
            return delong_test(self.positive, one, other)
        return _compare_pairs(self._pairs(), one, other)

    def _pairs(self, *within: Any) -> ComparablePairs:
        """Positives have their event at the same time, and negatives are followed longer."""
        times = SurvivalTimes(np.where(self.positive, 1.0, 2.0), self.positive)
        return ComparablePairs.from_times(times, self.weight, _combine(self.positive.size, within))


@dataclass(frozen=True, eq=False)
class TimeRanking:
    """Times to event, ranked by concordance.

    Attributes
    ----------
    times : SurvivalTimes
    event_weight : ndarray of shape (n,), optional
        What the event of each row counts, as of Uno's C; the same without it, as in Harrell's.
    weight : ndarray of shape (n,), optional
        What each row counts.
    """

    times: SurvivalTimes
    event_weight: Array | None = None
    weight: Array | None = None

    @classmethod
    def until(cls, times: SurvivalTimes, horizon: float, weight: Array | None = None) -> Self:
        """Rank by Uno's C up to a horizon."""
        return cls(times, uno_weights(times, censoring_distribution(times), horizon), weight)

    @property
    def positive(self) -> Mask:
        """Rows with the event."""
        return self.times.event

    @property
    def informative(self) -> int:
        """Events that count."""
        counted = self.times.event if self.event_weight is None else self.event_weight > 0
        return int(np.count_nonzero(counted))

    def take(self, rows: Any) -> Self:
        """The same for some of the rows, whose events count what they did."""
        parts = (None if of is None else of[rows] for of in (self.event_weight, self.weight))
        return type(self)(self.times.take(rows), *parts)

    def scale(self, scores: Scores) -> tuple[float, float]:
        """Mean and standard deviation."""
        spread = float(scores.std())
        return float(scores.mean()), spread if spread > 0 else 1.0

    def interval(self, scores: Scores, confidence: float = 0.95) -> AUCInterval:
        """Concordance of all rows, with its interval."""
        found = self.within(scores, confidence=confidence)
        if found is None:
            raise InputError("no row is known to have its event before another")
        return found

    def within(self, scores: Scores, *within: Any, confidence: float = 0.95) -> AUCInterval | None:
        """Concordance of pairs of rows with the same labels within; None if there are none."""
        return _interval_of_pairs(self._pairs(*within), scores, confidence)

    def area(self, scores: Array) -> float:
        """Concordance of all rows, alone."""
        pairs = self._pairs()
        return pairs.concordance(scores) if pairs.total > 0 else 0.5

    def compare(self, one: Scores, other: Scores) -> DeLongTest:
        """Test the difference of two concordances by what the pairs of each row add to it."""
        return _compare_pairs(self._pairs(), one, other)

    def _pairs(self, *within: Any) -> ComparablePairs:
        code = _combine(len(self.times), within)
        return ComparablePairs.from_times(
            self.times, self.weight, code, event_weight=self.event_weight
        )


def ranking_at(times: SurvivalTimes, horizon: float, weight: Array | None = None) -> ClassRanking:
    """Rows with the event until a time and rows without, with inverse censoring weights."""
    event = times.event & (times.time <= horizon)
    return ClassRanking(event, horizon_weights(times, horizon, weight))


def read_target(y: Any) -> tuple[npt.NDArray[Any], Ranking, ClassTarget | TimeTarget]:
    """Labels or times as estimators take them, what scores are judged by, and the target."""
    if is_times(y):
        times = SurvivalTimes.from_target(y)
        values = np.empty(len(times), [("event", np.bool_), ("time", np.float64)])
        values["event"], values["time"] = times.event, times.time
        return values, TimeRanking(times), TimeTarget(times)
    values = np.asarray(y)
    positive, _ = check_labels(values, least=2)
    return values, ClassRanking(positive), ClassTarget(positive)


def _interval_of_pairs(
    pairs: ComparablePairs, scores: Scores, confidence: float
) -> AUCInterval | None:
    """Concordance with an interval on the logistic scale; None without a pair."""
    if not pairs.total > 0:
        return None
    events = int(np.count_nonzero(pairs.first * pairs.after))
    error = pairs.standard_error(scores)
    return area_interval(pairs.concordance(scores), error, events, confidence)


def _compare_pairs(pairs: ComparablePairs, one: Scores, other: Scores) -> DeLongTest:
    areas = pairs.concordance(one), pairs.concordance(other)
    events = int(np.count_nonzero(pairs.first * pairs.after))
    return paired_test(*areas, areas[0] - areas[1], pairs.standard_error(one, other), events)


def _combine(n: int, within: tuple[Any, ...]) -> Indices:
    """Number of each row's stratum, where rows of one agree in all labels; None has no labels."""
    code = np.zeros(n, np.int64)
    for one in [labels for labels in within if labels is not None]:
        numbers = np.unique(np.asarray(one).astype(np.str_), return_inverse=True)[1]
        code = np.unique(code * (numbers.max(initial=0) + 1) + numbers, return_inverse=True)[1]
    return code


def auc_within(
    scores: Scores, positive: Mask, *within: Any, confidence: float = 0.95
) -> AUCInterval | None:
    """AUC of pairs of rows with the same labels within; None if there are none."""
    code = _combine(positive.size, within)
    sides = [np.bincount(code[side], minlength=code.max() + 1) for side in (positive, ~positive)]
    paired = (np.minimum(*sides) > 0)[code]
    if not paired.any():
        return None
    found = stratified_auc(positive[paired], scores[paired], code[paired], confidence=confidence)
    return AUCInterval(found.auc, found.low, found.high, found.standard_error, confidence)
