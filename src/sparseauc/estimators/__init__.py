"""Classifiers: thin scikit-learn classes over the solvers."""

from ._base import SparseLinearClassifier
from ._sht_auc import SHTAUCClassifier
from ._sparse_auc import SparseAUCClassifier
from ._sparse_auc_cv import SparseAUCClassifierCV
from ._sto_iht import HSGHTClassifier, StoIHTClassifier

__all__ = [
    "HSGHTClassifier",
    "SHTAUCClassifier",
    "SparseAUCClassifier",
    "SparseAUCClassifierCV",
    "SparseLinearClassifier",
    "StoIHTClassifier",
]
