"""sparseauc: the k columns whose linear score best ranks positives above negatives."""

from .estimators import (
    FSAUCClassifier,
    HSGHTClassifier,
    MeanDifferenceClassifier,
    OPAUCClassifier,
    SHTAUCClassifier,
    SOLAMClassifier,
    SPAMClassifier,
    SparseAUCClassifier,
    SparseAUCClassifierCV,
    StoIHTClassifier,
)
from .moments import ClassMoments, class_moments
from .objective import AUCObjective, minimise_on_support
from .selection import SparseAUCPath, sparse_auc_path

__version__ = "0.1.0"

__all__ = [
    "AUCObjective",
    "ClassMoments",
    "FSAUCClassifier",
    "HSGHTClassifier",
    "MeanDifferenceClassifier",
    "OPAUCClassifier",
    "SHTAUCClassifier",
    "SOLAMClassifier",
    "SPAMClassifier",
    "SparseAUCClassifier",
    "SparseAUCClassifierCV",
    "SparseAUCPath",
    "StoIHTClassifier",
    "class_moments",
    "minimise_on_support",
    "sparse_auc_path",
]
