"""Choosing k and trusting the choice: paths over k, stability, confidence, a table to read."""

from ..path.path import SparseAUCPath, sparse_auc_path
from .confidence import (
    NestedScores,
    OptimismResult,
    PermutationResult,
    nested_scores,
    optimism_bootstrap,
    permutation_test,
)
from .replacements import replacements
from .stability import StabilityResult, stability_selection
from .table import column_table

__all__ = [
    "NestedScores",
    "OptimismResult",
    "PermutationResult",
    "SparseAUCPath",
    "StabilityResult",
    "column_table",
    "nested_scores",
    "optimism_bootstrap",
    "permutation_test",
    "replacements",
    "sparse_auc_path",
    "stability_selection",
]
