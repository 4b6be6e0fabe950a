"""Choosing k and trusting the choice: paths over k, stability, confidence, a table to read."""

from ..path import SparseAUCPath, sparse_auc_path
from .confidence import NestedScores, PermutationResult, nested_scores, permutation_test
from .near_equal import NearEqualLists, near_equal_lists
from .points import PointScore, point_score
from .replacing import replacements
from .stability import StabilityResult, stability_selection
from .table import column_table

__all__ = [
    "NearEqualLists",
    "NestedScores",
    "PermutationResult",
    "PointScore",
    "SparseAUCPath",
    "StabilityResult",
    "column_table",
    "near_equal_lists",
    "nested_scores",
    "permutation_test",
    "point_score",
    "replacements",
    "sparse_auc_path",
    "stability_selection",
]
