"""Estimators: scikit-learn classes over the solvers."""

from ..rules import ChanceWarning
from ._base import SparseLinearClassifier as SparseLinearClassifier
from ._base import leading_coefs as leading_coefs
from ._base import score_rows as score_rows
from ._base import set_encodings as set_encodings
from ._lists import EmptyListWarning, RequiredColumnWarning
from ._lists import apply_fitted_strata as apply_fitted_strata
from ._lists import basis_of as basis_of
from ._lists import check_rows as check_rows
from ._lists import learn_units as learn_units
from ._lists import resolve_limits as resolve_limits
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
