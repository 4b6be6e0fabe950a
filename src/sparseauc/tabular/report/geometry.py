"""Where the points of a panel lie, whoever draws them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .elements import Panel, Series

Array = npt.NDArray[np.float64]

# Lines of more points than this have no markers: they would run into each other.
MOST_MARKERS = 30
# Up to so many different values, a logarithmic axis names them rather than the powers of ten.
FEW_VALUES = 8


@dataclass(frozen=True)
class Trace:
    """A series with NaN wherever a point cannot be drawn.

    ``low`` and ``high`` are the ends of the error at each point, None where there is none.
    """

    series: Series
    x: Array
    y: Array
    low: Array | None
    high: Array | None

    @property
    def markers(self) -> bool:
        """Whether its points are marked."""
        few = self.series.style in ("line", "dashed") and self.x.size <= MOST_MARKERS
        return few or self.series.style == "points"

    @property
    def band(self) -> bool:
        """Whether its error is a band rather than whiskers."""
        return self.low is not None and self.series.style in ("line", "dashed", "steps")


def traces(panel: Panel) -> list[Trace]:
    """Place the series of a panel; an error that reaches below a logarithmic axis ends near it."""
    placed = []
    for series in panel.series:
        x, y = (np.array(values, dtype=np.float64) for values in (series.x, series.y))
        gone = ~(np.isfinite(x) & np.isfinite(y))
        gone |= ((x <= 0) & panel.x_log) | ((y <= 0) & panel.y_log)
        y[gone] = np.nan
        x[~np.isfinite(x) | ((x <= 0) & panel.x_log)] = np.nan
        placed.append((series, x, y))
    lowest = min(
        (float(y[y > 0].min()) for _, _, y in placed if (y > 0).any()), default=float("nan")
    )
    out = []
    for series, x, y in placed:
        low = high = None
        if series.error is not None:
            error = np.array(series.error, dtype=np.float64)
            error[~np.isfinite(error)] = 0
            low, high = y - error, y + error
            if panel.y_log:
                low = np.where(low > 0, low, np.minimum(y, lowest / 2))
        out.append(Trace(series, x, y, low, high))
    return out


def log_ticks(panel: Panel) -> list[float]:
    """Values to be named on a logarithmic x axis: all of them where they are few, such as k."""
    if not panel.x_log or panel.x_names:
        return []
    x = np.unique(np.concatenate([trace.x for trace in traces(panel)] or [np.empty(0)]))
    x = x[np.isfinite(x)]
    return x.tolist() if 0 < x.size <= FEW_VALUES else []


def runs(trace: Trace) -> Iterator[slice]:
    """Go through the stretches of a trace without a gap."""
    whole = np.flatnonzero(np.isfinite(trace.y))
    if whole.size:
        breaks = np.flatnonzero(np.diff(whole) > 1)
        starts = np.r_[whole[0], whole[breaks + 1]]
        stops = np.r_[whole[breaks], whole[-1]] + 1
        yield from (slice(int(a), int(b)) for a, b in zip(starts, stops, strict=True))


def outline(trace: Trace) -> Iterator[tuple[Array, Array]]:
    """Go round the band of each stretch: along its upper edge and back along the lower one."""
    assert trace.low is not None
    assert trace.high is not None
    for run in runs(trace):
        x, low, high = trace.x[run], trace.low[run], trace.high[run]
        if trace.series.style == "steps":
            # Each value holds until the next x.
            x = np.repeat(x, 2)[1:]
            low, high = np.repeat(low, 2)[:-1], np.repeat(high, 2)[:-1]
        yield np.r_[x, x[::-1]], np.r_[high, low[::-1]]
