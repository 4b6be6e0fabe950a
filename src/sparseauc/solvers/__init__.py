"""Solvers: one file a method; arrays in, a small result out."""

from ._epochs import EpochRecord, SolverResult
from .hsg_ht import hsg_ht
from .sht_auc import sht_auc
from .sto_iht import sto_iht

__all__ = ["EpochRecord", "SolverResult", "hsg_ht", "sht_auc", "sto_iht"]
