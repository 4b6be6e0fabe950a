"""Absolute risk from one score: a Cox model with one column, and Breslow's baseline hazard."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from ..errors import InputError
from ..utils.arrays import known_scores
from ..utils.types import Array
from ._times import StepFunction, SurvivalTimes

# A slope per standard deviation of the score beyond this is that of a score without
# exceptions.
_STEEPEST = 20.0


@dataclass(frozen=True)
class ProportionalHazards:
    """The hazard at a score is that at score 0 times exp(slope · score).

    Attributes
    ----------
    slope : float
        Logarithm of the hazard ratio of rows whose scores differ by 1; 0 or more.
    log_hazard : StepFunction
        Logarithm of the cumulative hazard at score 0, with a step at every time that
        occurs. The hazard itself is not kept: where scores are far from 0, it is too
        small for a number.
    n_rows, n_events : int
        Rows that it is based on.
    slope_error : float
        Standard error of a slope that was fitted; NaN if it was given.
    """

    slope: float
    log_hazard: StepFunction
    n_rows: int
    n_events: int
    slope_error: float = np.nan

    @classmethod
    def fit(
        cls,
        scores: Array,
        times: SurvivalTimes,
        weight: Array | None = None,
        *,
        slope: float | None = None,
    ) -> ProportionalHazards:
        """Fit the slope by partial likelihood, and the hazard by Breslow's estimate.

        Parameters
        ----------
        scores : ndarray of shape (n,) or (n, n_rounds)
            Out-of-fold scores, of each round of cross-validation; NaN where there is
            none. A negative slope, which would reverse the order of rows, is replaced
            by 0.
        times : SurvivalTimes
        weight : ndarray of shape (n,), optional
        slope : float, optional
            Keep to this one, and fit the hazard alone.
        """
        rows, scores, rounds = known_scores(scores, weight)
        n_rows = int(np.count_nonzero(rounds))
        n_events = int(np.count_nonzero(rounds[times.event]))
        # A row counts once, whatever the number of rounds.
        weight = (1.0 if weight is None else weight[rows]) / rounds[rows]
        times = times.take(rows)
        if n_events == 0:
            raise InputError(
                "no row with a score has an event: there is no risk to estimate"
            )
        mean = float(np.average(scores, weights=weight))
        unit = float(np.sqrt(np.average((scores - mean) ** 2, weights=weight))) or 1.0
        known, place = np.unique(times.time, return_inverse=True)

        def add_at_risk(values: Array) -> Array:
            """Sums of the values of all rows followed until each time."""
            sums = np.bincount(place, values, known.size)
            at_risk: Array = np.cumsum(sums[::-1])[::-1].astype(np.float64)
            return at_risk

        counts = weight * times.event
        events = np.bincount(place, counts, known.size).astype(np.float64)
        error = np.nan
        if slope is None:
            beta, curvature = _partial_likelihood_slope(
                (scores - mean) / unit, weight, counts, events, add_at_risk
            )
            slope = max(beta, 0.0) / unit
            if curvature > 0:
                error = 1.0 / (np.sqrt(curvature) * unit)
        risk = weight * np.exp(np.clip(slope * (scores - mean), -500.0, 500.0))
        hazard = np.cumsum(events / add_at_risk(risk))
        with np.errstate(divide="ignore"):  # before the first event the hazard is 0
            # From the mean score to score 0.
            baseline = StepFunction(known, np.log(hazard) - slope * mean, -np.inf)
        return cls(slope, baseline, n_rows, n_events, error)

    def survival(self, scores: Array, times: Array) -> Array:
        """Probability to be free of the event at each of some times, of shape (scores, times)."""
        log_hazard = np.add.outer(self.slope * scores, self.log_hazard(times))
        return np.exp(-np.exp(np.minimum(log_hazard, 700.0)))


def _partial_likelihood_slope(
    scores: Array,
    weight: Array,
    counts: Array,
    events: Array,
    add_at_risk: Callable[[Array], Array],
) -> tuple[float, float]:
    """Coefficient of a Cox model with one column, with ties as of Breslow, and its information."""

    def derivatives(beta: float) -> tuple[float, float]:
        risk = weight * np.exp(np.clip(beta * scores, -500.0, 500.0))
        total, first, second = (
            add_at_risk(risk * scores**power) for power in (0, 1, 2)
        )
        mean = first / total
        gradient = counts @ scores - events @ mean
        return float(gradient), float(events @ (second / total - mean**2))

    beta = _STEEPEST
    if derivatives(-_STEEPEST)[0] <= 0:
        beta = -_STEEPEST
    elif derivatives(_STEEPEST)[0] < 0:
        beta = brentq(lambda beta: derivatives(beta)[0], -_STEEPEST, _STEEPEST)
    return beta, derivatives(beta)[1]
