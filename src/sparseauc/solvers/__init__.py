"""Solvers: one file a method; arrays in, a small result out.

The methods that SHT-AUC is compared with live in ``sparseauc.baselines``; their solvers may be
imported from here, too.
"""

from importlib import import_module
from typing import Any

from ._epochs import EpochRecord, SolverResult
from .batched import GridResult, sht_auc_grid, sto_iht_grid
from .sht_auc import sht_auc
from .working_set import exchange_path

_BASELINES = ("fsauc", "hsg_ht", "mean_difference", "opauc", "solam", "spam", "sto_iht")

__all__ = [
    "EpochRecord",
    "GridResult",
    "SolverResult",
    "exchange_path",
    "sht_auc",
    "sht_auc_grid",
    "sto_iht_grid",
    *_BASELINES,
]


def __getattr__(name: str) -> Any:
    """Import a baseline when it is first asked for: baselines themselves need this package."""
    if name in _BASELINES:
        return getattr(import_module("sparseauc.baselines"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
