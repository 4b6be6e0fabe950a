"""Times to event: comparable pairs, concordance, Kaplan–Meier and absolute risk."""

from ._baseline import ProportionalHazards
from ._concordance import harrell_concordance, uno_concordance
from ._pairs import ComparablePairs
from ._times import (
    StepFunction,
    SurvivalTimes,
    censoring_distribution,
    is_times,
    kaplan_meier,
    uno_weights,
)

__all__ = [
    "ComparablePairs",
    "ProportionalHazards",
    "StepFunction",
    "SurvivalTimes",
    "censoring_distribution",
    "harrell_concordance",
    "is_times",
    "kaplan_meier",
    "uno_concordance",
    "uno_weights",
]
