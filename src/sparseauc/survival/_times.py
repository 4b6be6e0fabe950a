"""Times to event: reading and checking them, the Kaplan–Meier estimate, and censoring weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import first_bad
from ..defaults import HORIZON_EVENTS
from ..errors import InputError
from ..utils.types import Array, Indices, Mask


@dataclass(frozen=True)
class SurvivalTimes:
    """The time of each row, and whether it ended with the event or was censored."""

    time: Array
    event: Mask

    @classmethod
    def from_target(cls, y: Any, *, needs_events: bool = True) -> SurvivalTimes:
        """Read y as scikit-survival takes it, or as two columns.

        Parameters
        ----------
        y : structured array, data frame or array of shape (n, 2)
            Whether the event was observed, and the time of the event or of censoring.
            The columns of a frame may come in either order, if one of them is boolean
            or named event or status.
        needs_events : bool, default=True
            Whether to refuse times without any event, or without a pair to compare.
        """
        event, time, names = _two_columns(y)
        times = cls(_check_time(time, names[1]), _check_event(event, names[0]))
        if needs_events:
            times.check_pairs()
        return times

    def __len__(self) -> int:
        return self.time.size

    def take(self, rows: Any) -> SurvivalTimes:
        """The times of some rows."""
        return SurvivalTimes(self.time[rows], self.event[rows])

    def check_pairs(self, weight: Array | None = None) -> None:
        """Refuse times with no pair of rows of which one is known to have its event first."""
        counted = self if weight is None else self.take(weight > 0)
        if weight is not None and len(counted) == 0:
            raise InputError("sample_weight is zero on all rows")
        if len(counted) < 2:
            raise InputError(
                f"y holds {len(counted)} sample: two rows are needed to compare them"
            )
        if not counted.event.any():
            raise InputError(
                "y holds no events: every row is censored, and there is nothing to rank by"
            )
        if counted.time.max() == counted.time.min() and counted.event.all():
            raise InputError(
                f"all times are equal, {counted.time[0]:g}: no row has its event before another"
            )
        first = counted.time[counted.event].min()
        if not (
            (counted.time > first) | ((counted.time == first) & ~counted.event)
        ).any():
            raise InputError(
                "no row is followed beyond the first event, so that no two can be compared"
            )

    def default_horizon(self, weight: Array | None = None) -> float:
        """The time by which 80 % of the events have happened, by weight."""
        events = np.flatnonzero(self.event)
        events = events[np.argsort(self.time[events], kind="stable")]
        happened = np.cumsum(np.ones(events.size) if weight is None else weight[events])
        # Allowing for the rounding of sums, so that only the ratios of weights matter.
        share = HORIZON_EVENTS * (1 - 1e-12)
        return float(self.time[events[np.searchsorted(happened, share * happened[-1])]])

    def check_horizon(
        self, horizon: float | None, weight: Array | None = None
    ) -> float:
        """Return the horizon, or that by default; refuse one with nothing to compare."""
        if horizon is None:
            return self.default_horizon(weight)
        last = float(self.time.max())
        if not horizon > 0 or horizon > last:
            raise InputError(
                f"horizon is {horizon:g}, and times go from {self.time.min():g} to {last:g}: "
                "give a horizon above 0 and not beyond the last time"
            )
        if not (self.event & (self.time < horizon)).any():
            raise InputError(
                f"no event comes before the horizon {horizon:g}; the first is at "
                f"{self.time[self.event].min():g}"
            )
        return float(horizon)


@dataclass(frozen=True)
class StepFunction:
    """A function of time that is constant between its steps.

    Attributes
    ----------
    x, y : ndarrays of shape (n_steps,)
        Times of the steps, ascending, and the value from each on.
    start : float
        Value before the first step.
    """

    x: Array
    y: Array
    start: float

    def __call__(self, time: npt.ArrayLike) -> Array:
        """Values at some times."""
        place = np.searchsorted(self.x, np.asarray(time, np.float64), side="right")
        values: Array = np.append(self.start, self.y)[place]
        return values


def is_times(y: Any) -> bool:
    """Return whether a target has an event and a time for each row, and not a label."""
    if hasattr(y, "columns"):
        return len(y.columns) == 2
    array = np.asarray(y)
    return array.dtype.names is not None or (array.ndim == 2 and array.shape[1] == 2)


def kaplan_meier(times: SurvivalTimes, weight: Array | None = None) -> StepFunction:
    """Estimate the probability of being free of the event after each time.

    Parameters
    ----------
    times : SurvivalTimes
    weight : ndarray of shape (n,), optional

    Returns
    -------
    StepFunction
        With a step at every time that occurs.
    """
    known, events, _, at_risk = _counts(times, weight)
    free = np.cumprod(1.0 - events / np.maximum(at_risk, events), dtype=np.float64)
    return StepFunction(known, free, 1.0)


def censoring_distribution(
    times: SurvivalTimes, weight: Array | None = None
) -> StepFunction:
    """Estimate the probability of not being censored until each time, events first among ties."""
    known, events, censored, at_risk = _counts(times, weight)
    left = at_risk - events
    share = np.divide(censored, left, out=np.zeros_like(left), where=censored > 0)
    free = np.cumprod(np.maximum(1.0 - share, 0.0), dtype=np.float64)
    return StepFunction(known, free, 1.0)


def uno_weights(
    times: SurvivalTimes, free: StepFunction, horizon: float | None = None
) -> Array:
    """Weights 1/G(t)² of rows with an event before the horizon, 0 of all others.

    ``free`` is the distribution G of censoring, of the training rows.
    """
    counted = times.event if horizon is None else times.event & (times.time < horizon)
    weights = np.zeros(len(times))
    probability = free(times.time[counted])
    if (probability <= 0).any():
        raise InputError(
            "the rows that are followed longest are all censored before some event: give a "
            f"horizon below {free.x[np.argmax(free.y <= 0)]:g}"
        )
    weights[counted] = probability**-2.0
    return weights


def horizon_weights(
    times: SurvivalTimes, horizon: float, weight: Array | None = None
) -> Array:
    """Weights of rows in the question whether their event comes until a horizon.

    A row that has its event until then counts 1/G(t), a row that is followed beyond it
    1/G(horizon) and a row that is censored before counts nothing: the others stand for
    it. G is the probability of not being censored, and ``weight`` what rows count
    besides.
    """
    free = censoring_distribution(times, weight)
    known = (times.event & (times.time <= horizon)) | (times.time > horizon)
    probability = free(np.minimum(times.time, horizon))
    if (probability[known] <= 0).any():
        raise InputError(
            f"no row is followed beyond the horizon {horizon:g}: give one below "
            f"{free.x[np.argmax(free.y <= 0)]:g}"
        )
    weights: Array = np.divide(
        known, probability, out=np.zeros(len(times)), where=known
    )
    return weights if weight is None else weights * weight


def _counts(
    times: SurvivalTimes, weight: Array | None
) -> tuple[Array, Array, Array, Array]:
    """Times that occur, the weight of events and censored rows at each, and of those at risk."""
    known, place = np.unique(times.time, return_inverse=True)
    one = np.ones(len(times)) if weight is None else weight
    events: Array = np.bincount(place, one * times.event, known.size).astype(np.float64)
    censored: Array = np.bincount(place, one * ~times.event, known.size).astype(
        np.float64
    )
    return known, events, censored, np.cumsum((events + censored)[::-1])[::-1]


def _two_columns(y: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any], tuple[str, str]]:
    """Event, time and their names."""
    if y is None:
        raise InputError("requires y to be passed, but the target y is None")
    if hasattr(y, "columns"):
        found = {str(name): np.asarray(y[name]) for name in y.columns}
    elif (array := np.asarray(y)).dtype.names is not None:
        found = {name: array[name] for name in array.dtype.names}
    elif array.ndim == 2:
        names = ["event", "time", *map(str, range(2, array.shape[1]))]
        found = dict(zip(names, array.T, strict=False))
    else:
        raise InputError(
            "y must say for each row whether the event was observed and when: a structured array "
            "as of sksurv.util.Surv.from_arrays(event, time), a data frame of two columns, or an "
            f"array of shape (n, 2); got shape {array.shape} of {array.dtype}"
        )
    if len(found) != 2:
        raise InputError(
            f"y must have two columns, event and time; it has {len(found)}"
        )
    (first, one), (second, other) = found.items()
    if _looks_like_events(other, second) and not _looks_like_events(one, first):
        return other, one, (second, first)
    return one, other, (first, second)


def _looks_like_events(values: npt.NDArray[Any], name: str) -> bool:
    return values.dtype.kind == "b" or name.lower() in ("event", "status")


def _check_event(values: npt.NDArray[Any], name: str) -> Mask:
    if values.dtype.kind == "b":
        return np.ascontiguousarray(values)
    found = [value for value in dict.fromkeys(values.tolist()) if value == value]
    if len(found) < len(dict.fromkeys(values.tolist())) or None in found:
        raise InputError(
            f"{name} is missing in some rows: leave out rows of unknown end"
        )
    if not set(found) <= {0, 1}:
        shown = ", ".join(repr(value) for value in sorted(found, key=str)[:5])
        raise InputError(
            f"{name} must be true for an event and false for a censored row, or 1 and 0; it holds "
            f"{shown}{', …' if len(found) > 5 else ''}. Say which of them is the event, such as "
            f"y[{name!r}] == {found[-1]!r}: all others then count as censored, competing events too"
        )
    event: Mask = values.astype(np.float64) == 1.0
    return event


def _check_time(values: npt.NDArray[Any], name: str) -> Array:
    if values.dtype.kind not in "biuf" and values.dtype.kind != "O":
        raise InputError(f"{name} must be numbers, the time until the end of each row")
    time = np.ascontiguousarray(values, np.float64)
    row = first_bad(~np.isfinite(time))
    if row is not None:
        raise InputError(
            f"{name} is {time[row]} at row {row}: leave out rows without a time"
        )
    row = first_bad(time < 0)
    if row is not None:
        raise InputError(f"{name} is {time[row]:g} at row {row}: times are 0 or more")
    return time


def sorted_groups(key: npt.NDArray[Any]) -> Indices:
    """Numbers of the groups of equal rows of ``key``, (m, n), in the order given, from 0 on."""
    changes = (np.diff(key, axis=1) != 0).any(axis=0)
    groups: Indices = np.append(0, np.cumsum(changes))[: key.shape[1]]
    return groups
