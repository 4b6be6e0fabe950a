"""Decision curves: net benefit of acting on rows above a threshold probability."""

from dataclasses import dataclass, field

import numpy as np

from sparseauc.utils.types import Array, Mask


@dataclass(frozen=True, eq=False)
class DecisionCurve:
    """Net benefit at each threshold probability, of the model and of acting on all rows.

    ``error`` is the standard error of the model's net benefit, which is a mean over rows.
    """

    thresholds: Array = field(repr=False)
    model: Array = field(repr=False)
    error: Array = field(repr=False)
    everyone: Array = field(repr=False)


def decision_curve(p: Array, positive: Mask, weight: Array | None = None) -> DecisionCurve:
    """Net benefit at thresholds of whole per cents, up to where hardly any row lies above."""
    highest = min(0.99, max(0.1, float(np.quantile(p, 0.99))))
    thresholds = np.arange(1, np.ceil(100 * highest) + 1) / 100
    thresholds = thresholds[thresholds < 1]
    loss = (thresholds / (1 - thresholds))[:, None] * ~positive
    one = np.ones(p.size) if weight is None else weight
    each = (p >= thresholds[:, None]) * (positive - loss) * one
    return DecisionCurve(
        thresholds,
        each.mean(axis=1),
        each.std(axis=1) / np.sqrt(p.size),
        ((positive - loss) * one).mean(axis=1),
    )
