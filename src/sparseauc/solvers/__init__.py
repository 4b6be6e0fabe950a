"""Solvers: one file a method; arrays in, a small result out."""

from .epochs import EpochRecord, SolverResult
from .sht_auc import sht_auc
from .working_set import exchange_path

__all__ = ["EpochRecord", "SolverResult", "exchange_path", "sht_auc"]
