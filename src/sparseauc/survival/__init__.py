"""Times to event: concordance, Kaplan–Meier estimates and absolute risk."""

from ._baseline import ProportionalHazards
from ._concordance import harrell_concordance, uno_concordance
from ._pairs import ComparablePairs as ComparablePairs
from ._times import StepFunction, SurvivalTimes, kaplan_meier
from ._times import censoring_distribution as censoring_distribution
from ._times import horizon_weights as horizon_weights
from ._times import is_times as is_times
from ._times import uno_weights as uno_weights

__all__ = [
    "ProportionalHazards",
    "StepFunction",
    "SurvivalTimes",
    "harrell_concordance",
    "kaplan_meier",
    "uno_concordance",
]
