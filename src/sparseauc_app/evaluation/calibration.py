"""Calibration of predicted probabilities: a smooth curve with its band, and its distances."""

from dataclasses import dataclass, field

import numpy as np

from sparseauc.utils.types import Array, Mask

# Share of the rows in each local fit, as R's loess has it.
_SPAN = 0.75
# Places at which the curve is fitted; between them it is a straight line.
_PLACES = 150


@dataclass(frozen=True, eq=False)
class CalibrationCurve:
    """Observed against predicted probability, smoothed by local quadratic regression (loess).

    Attributes
    ----------
    predicted, observed, low, high : ndarray
        The curve with its pointwise 95 % band.
    ici, e50, e90 : float
        Mean (integrated calibration index), median and 90 % quantile of the distance between
        predicted and smoothed observed probability over the rows (Austin and Steyerberg 2019).
    """

    predicted: Array = field(repr=False)
    observed: Array = field(repr=False)
    low: Array = field(repr=False)
    high: Array = field(repr=False)
    ici: float
    e50: float
    e90: float


def calibration_curve(p: Array, positive: Mask) -> CalibrationCurve | None:
    """Smooth the outcome against its predicted probability; None with too few different ones."""
    distinct = np.unique(p)
    if distinct.size < 10 or p.size < 30:
        return None
    places = distinct
    if distinct.size > _PLACES:
        places = np.unique(np.quantile(p, np.linspace(0, 1, _PLACES)))
    order = np.argsort(p, kind="stable")
    x = p[order]
    y = positive[order].astype(np.float64)
    weights = [_local_weights(x, place) for place in places.tolist()]
    fitted = np.array([row @ y[rows] for rows, row in weights])
    # The variance of a row is binomial, by its own smoothed probability.
    smooth = np.clip(np.interp(x, places, fitted), 0.0, 1.0)
    variance = smooth * (1 - smooth)
    error = np.sqrt([row**2 @ variance[rows] for rows, row in weights])
    away = np.abs(smooth - x)
    return CalibrationCurve(
        predicted=places,
        observed=np.clip(fitted, 0.0, 1.0),
        low=np.clip(fitted - 1.96 * error, 0.0, 1.0),
        high=np.clip(fitted + 1.96 * error, 0.0, 1.0),
        ici=float(away.mean()),
        e50=float(np.median(away)),
        e90=float(np.quantile(away, 0.9)),
    )


def _local_weights(x: Array, place: float) -> tuple[slice, Array]:
    """Rows near a place of sorted x, and the weights by which their outcomes give its value."""
    n = x.size
    near = min(n, max(3, int(np.floor(_SPAN * n + 1e-5))))
    start = np.searchsorted(x, place)
    low = max(0, int(start) - near)
    high = min(n, int(start) + near)
    window = np.sort(np.abs(x[low:high] - place))
    reach = max(float(window[near - 1]), 1e-12)
    first = int(np.searchsorted(x, place - reach, "left"))
    last = int(np.searchsorted(x, place + reach, "right"))
    part = x[first:last] - place
    tricube = np.clip(1 - np.abs(part / reach) ** 3, 0.0, None) ** 3
    design = np.column_stack([np.ones_like(part), part / reach, (part / reach) ** 2])
    root = np.sqrt(tricube)
    solved = np.linalg.pinv(design * root[:, None], rcond=1e-10)
    return slice(first, last), solved[0] * root
