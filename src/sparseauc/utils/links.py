"""Risks on the scale of log odds, or of logarithms of cumulative hazards."""

from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from .types import Array

Link = Literal["logit", "cloglog"]


def from_linear(linear: npt.ArrayLike, link: Link = "logit") -> Array:
    """Risk of log odds, or of logarithms of cumulative hazards."""
    with np.errstate(over="ignore"):  # beyond all numbers, the risk is 0 or 1
        values = np.asarray(linear, np.float64)
        risk: Array = expit(values) if link == "logit" else -np.expm1(-np.exp(values))
    return risk


def to_linear(risk: npt.ArrayLike, link: Link = "logit") -> Array:
    """Log odds of a risk, or the logarithm of its cumulative hazard; infinite for 0 and 1."""
    with np.errstate(divide="ignore"):
        values = np.asarray(risk, np.float64)
        linear: Array = logit(values) if link == "logit" else np.log(-np.log1p(-values))
    return linear
