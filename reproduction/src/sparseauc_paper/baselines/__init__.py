"""The methods that SHT-AUC is compared with: a file for each."""

from .fsauc import FSAUCClassifier
from .hsg_ht import HSGHTClassifier
from .solam import SOLAMClassifier
from .spam import SPAMClassifier
from .sto_iht import StoIHTClassifier

__all__ = [
    "FSAUCClassifier",
    "HSGHTClassifier",
    "SOLAMClassifier",
    "SPAMClassifier",
    "StoIHTClassifier",
]
