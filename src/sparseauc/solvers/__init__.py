"""Solvers: one file a method; arrays in, a small result out."""

from .sht_auc import EpochRecord, SHTResult, sht_auc

__all__ = ["EpochRecord", "SHTResult", "sht_auc"]
