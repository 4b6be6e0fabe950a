"""Classifiers: thin scikit-learn classes over the solvers."""

from ._base import SparseLinearClassifier
from ._sht_auc import SHTAUCClassifier

__all__ = ["SHTAUCClassifier", "SparseLinearClassifier"]
