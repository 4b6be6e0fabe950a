"""Solvers: one file a method; arrays in, a small result out."""

from .sht_auc import EpochRecord
from .working_set import exchange_path

__all__ = ["EpochRecord", "exchange_path"]
