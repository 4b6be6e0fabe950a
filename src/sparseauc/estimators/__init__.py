"""Classifiers: thin scikit-learn classes over the solvers."""

from ._base import SparseLinearClassifier
from ._online import FSAUCClassifier, SOLAMClassifier, SPAMClassifier
from ._sht_auc import SHTAUCClassifier
from ._sparse_auc import SparseAUCClassifier
from ._sparse_auc_cv import SparseAUCClassifierCV
from ._sto_iht import HSGHTClassifier, StoIHTClassifier

__all__ = [
    "FSAUCClassifier",
    "HSGHTClassifier",
    "SHTAUCClassifier",
    "SOLAMClassifier",
    "SPAMClassifier",
    "SparseAUCClassifier",
    "SparseAUCClassifierCV",
    "SparseLinearClassifier",
    "StoIHTClassifier",
]
