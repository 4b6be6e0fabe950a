"""The methods that SHT-AUC is compared with: one file for each, with solver and classifier."""

from .fsauc import FSAUCClassifier, fsauc
from .hsg_ht import HSGHTClassifier, hsg_ht
from .solam import SOLAMClassifier, solam
from .spam import SPAMClassifier, spam
from .sto_iht import StoIHTClassifier, sto_iht

__all__ = [
    "FSAUCClassifier",
    "HSGHTClassifier",
    "SOLAMClassifier",
    "SPAMClassifier",
    "StoIHTClassifier",
    "fsauc",
    "hsg_ht",
    "solam",
    "spam",
    "sto_iht",
]
