"""Solvers: one file a method; arrays in, a small result out."""

from .exchange_columns import exchange_path
from .sht_auc import EpochRecord

__all__ = ["EpochRecord", "exchange_path"]
