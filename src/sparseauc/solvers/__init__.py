"""Solvers: one file a method; arrays in, a small result out."""

from ._epochs import EpochRecord, SolverResult
from .batched import GridResult, sht_auc_grid, sht_auc_on_device, sto_iht_grid
from .exchange import exchange_path
from .fsauc import fsauc
from .hsg_ht import hsg_ht
from .mean_difference import mean_difference
from .opauc import opauc
from .sht_auc import sht_auc
from .solam import solam
from .spam import spam
from .sto_iht import sto_iht

__all__ = [
    "EpochRecord",
    "GridResult",
    "SolverResult",
    "exchange_path",
    "fsauc",
    "hsg_ht",
    "mean_difference",
    "opauc",
    "sht_auc",
    "sht_auc_grid",
    "sht_auc_on_device",
    "solam",
    "spam",
    "sto_iht",
    "sto_iht_grid",
]
