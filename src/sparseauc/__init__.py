"""sparseauc: find the few columns whose weighted sum best ranks positives above negatives.

Names are imported when they are first used, so that the command, its help and its
completion start without scikit-learn and Numba.
"""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from .estimators import (
        MeanDifferenceClassifier,
        SHTAUCClassifier,
        SparseAUCClassifier,
        SparseAUCClassifierCV,
        SparseConcordance,
        SparseConcordanceCV,
    )
    from .limits import Limits
    from .moments import ClassMoments, class_moments
    from .path import SparseAUCPath, sparse_auc_path

__version__ = "0.4.0"

__all__ = [
    "ClassMoments",
    "Limits",
    "MeanDifferenceClassifier",
    "SHTAUCClassifier",
    "SparseAUCClassifier",
    "SparseAUCClassifierCV",
    "SparseAUCPath",
    "SparseConcordance",
    "SparseConcordanceCV",
    "class_moments",
    "sparse_auc_path",
]

# Modules that the names are in.
_MODULES = {
    "ClassMoments": ".moments",
    "Limits": ".limits",
    "MeanDifferenceClassifier": ".estimators",
    "SHTAUCClassifier": ".estimators",
    "SparseAUCClassifier": ".estimators",
    "SparseAUCClassifierCV": ".estimators",
    "SparseAUCPath": ".path",
    "SparseConcordance": ".estimators",
    "SparseConcordanceCV": ".estimators",
    "class_moments": ".moments",
    "sparse_auc_path": ".path",
}


def __getattr__(name: str) -> _typing.Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _importlib.import_module(_MODULES[name], __name__)
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
