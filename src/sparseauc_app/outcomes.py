"""The outcome of a table: two classes, or times to event.

Fitting, evaluation, cards and reports ask it for what differs between the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sparseauc import (
    MeanDifferenceClassifier,
    SparseAUCClassifier,
    SparseAUCClassifierCV,
    SparseConcordance,
    SparseConcordanceCV,
)
from sparseauc.selection.ranking import ClassRanking, Ranking, TimeRanking, ranking_at
from sparseauc.survival import SurvivalTimes
from sparseauc.utils.types import Array, Mask

from .evaluation.risks import Risks, judge_risks
from .scorecard import Calibration


class Outcome(Protocol):
    """What rows of a table are ranked by."""

    @property
    def measure(self) -> str:
        """What the ranking is measured by."""

    @property
    def weight(self) -> Array | None:
        """What rows count; the same without it."""

    @property
    def target(self) -> npt.NDArray[Any]:
        """What models are fitted to, a row for each row."""

    @property
    def ranking(self) -> Ranking:
        """How scores are judged."""

    @property
    def fold_labels(self) -> Mask:
        """What folds should have equal shares of."""

    def estimator(self, rows: Any, **settings: Any) -> Any:
        """A model that chooses its list by cross-validation, to be fitted to these rows."""

    def plain(self, k: int, alpha: float = 1.0) -> Any:
        """A model of k columns, without cross-validation."""

    def simple_methods(self) -> dict[str, Any]:
        """Makers of simple models of as many columns, by title, to compare with."""

    @property
    def state(self) -> ClassRanking:
        """Classes that risks are of, and weights: of times, at the horizon."""


def judge_scores(outcome: Outcome, calibration: Calibration, scores: Array) -> Risks:
    """Compare the risks of scores with the outcome."""
    log_odds = calibration.linear(scores) if calibration.link == "logit" else None
    state = outcome.state
    return judge_risks(calibration.risks(scores), state.positive, log_odds, state.weight)


@dataclass(frozen=True, eq=False)
class TwoClasses:
    """Rows with the event, which is what y is 1 for, and without."""

    y: npt.NDArray[np.int64]
    weight: Array | None = None

    measure = "AUC"

    @property
    def target(self) -> npt.NDArray[Any]:
        """The labels."""
        return self.y

    @cached_property
    def ranking(self) -> ClassRanking:
        """The AUC."""
        return ClassRanking(self.y == 1, self.weight)

    @property
    def state(self) -> ClassRanking:
        """The classes."""
        return self.ranking

    @property
    def fold_labels(self) -> Mask:
        """The classes."""
        labels: Mask = self.y == 1
        return labels

    def estimator(self, rows: Any, **settings: Any) -> Any:
        """A classifier that chooses its list by cross-validation."""
        del rows
        return SparseAUCClassifierCV(**settings)

    def plain(self, k: int, alpha: float = 1.0) -> Any:
        """A classifier of k columns."""
        return SparseAUCClassifier(k, alpha)

    def simple_methods(self) -> dict[str, Any]:
        """The best column alone, and the largest differences of class means."""
        return {
            "best single column": lambda _: self.plain(1),
            "largest mean differences": MeanDifferenceClassifier,
        }


@dataclass(frozen=True, eq=False)
class TimeToEvent:
    """Rows with the time of their event, or until which they are known to have been without.

    Rankings are measured by Uno's C up to the horizon.
    """

    times: SurvivalTimes
    horizon: float
    weight: Array | None = None

    measure = "C"

    @property
    def target(self) -> npt.NDArray[Any]:
        """Event and time."""
        return np.column_stack([self.times.event, self.times.time])

    @cached_property
    def ranking(self) -> TimeRanking:
        """Uno's C up to the horizon."""
        return TimeRanking.until(self.times, self.horizon, self.weight)

    @property
    def fold_labels(self) -> Mask:
        """Events that count; all rows where too few have none."""
        event = self.times.event & (self.times.time < self.horizon)
        return event if np.count_nonzero(~event) >= 10 else np.ones_like(event)

    def estimator(self, rows: Any, **settings: Any) -> Any:
        """A model that chooses its list by cross-validation."""
        settings.pop("coefficients", None)
        # The last row of all may be left out.
        last = float(self.times.time[rows].max())
        return SparseConcordanceCV(horizon=min(self.horizon, last), **settings)

    def plain(self, k: int, alpha: float = 1.0) -> Any:
        """A model of k columns."""
        return SparseConcordance(k, alpha)

    def simple_methods(self) -> dict[str, Any]:
        """The best column alone."""
        return {"best single column": lambda _: self.plain(1)}

    @cached_property
    def state(self) -> ClassRanking:
        """Rows with the event until the horizon and without, by inverse censoring weights."""
        return ranking_at(self.times, self.horizon, self.weight)
