"""Classifiers: thin scikit-learn classes over the solvers."""

from ._base import SparseLinearClassifier
from ._mean_difference import MeanDifferenceClassifier
from ._online import FSAUCClassifier, SOLAMClassifier, SPAMClassifier
from ._opauc import OPAUCClassifier
from ._sht_auc import SHTAUCClassifier
from ._sparse_auc import SparseAUCClassifier
from ._sparse_auc_cv import SparseAUCClassifierCV
from ._sto_iht import HSGHTClassifier, StoIHTClassifier

__all__ = [
    "FSAUCClassifier",
    "HSGHTClassifier",
    "MeanDifferenceClassifier",
    "OPAUCClassifier",
    "SHTAUCClassifier",
    "SOLAMClassifier",
    "SPAMClassifier",
    "SparseAUCClassifier",
    "SparseAUCClassifierCV",
    "SparseLinearClassifier",
    "StoIHTClassifier",
]
