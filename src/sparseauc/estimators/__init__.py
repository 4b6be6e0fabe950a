"""Estimators: scikit-learn classes over the solvers."""

from ..path.rules import ChanceWarning
from ._base import SparseLinearClassifier as SparseLinearClassifier
from ._exchange import EmptyListWarning, RequiredColumnWarning
from ._exchange import ExchangeClassifier as ExchangeClassifier
from ._mean_difference import MeanDifferenceClassifier
from ._sht_auc import SHTAUCClassifier
from ._sparse_auc import SparseAUCClassifier
from ._sparse_auc_cv import SparseAUCClassifierCV
from ._sparse_concordance import ConcordanceModel as ConcordanceModel
from ._sparse_concordance import SparseConcordance, SparseConcordanceCV

__all__ = [
    "ChanceWarning",
    "EmptyListWarning",
    "MeanDifferenceClassifier",
    "RequiredColumnWarning",
    "SHTAUCClassifier",
    "SparseAUCClassifier",
    "SparseAUCClassifierCV",
    "SparseConcordance",
    "SparseConcordanceCV",
]
