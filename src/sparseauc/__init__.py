"""sparseauc: the k columns whose linear score best ranks positives above negatives."""

from .estimators import SHTAUCClassifier
from .moments import ClassMoments, class_moments
from .objective import AUCObjective, minimise_on_support

__version__ = "0.1.0"

__all__ = [
    "AUCObjective",
    "ClassMoments",
    "SHTAUCClassifier",
    "class_moments",
    "minimise_on_support",
]
