"""Choosing k: the path over all k, and its cross-validation."""

from ._path import SparseAUCPath, sparse_auc_path

__all__ = ["SparseAUCPath", "sparse_auc_path"]
