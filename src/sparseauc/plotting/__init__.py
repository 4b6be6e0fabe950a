"""Displays, as in scikit-learn: ``from_estimator``, ``from_…``, ``plot(ax=…)``.

matplotlib is imported only when something is drawn.
"""

from .auc_path import AUCPathDisplay
from .coefficient_path import CoefficientPathDisplay
from .convergence import ConvergenceDisplay
from .roc_band import ROCBandDisplay
from .score_distribution import ScoreDistributionDisplay
from .stability_path import StabilityPathDisplay

__all__ = [
    "AUCPathDisplay",
    "CoefficientPathDisplay",
    "ConvergenceDisplay",
    "ROCBandDisplay",
    "ScoreDistributionDisplay",
    "StabilityPathDisplay",
]
