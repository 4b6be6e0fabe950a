"""Read tables from files of many formats, and prepare them for fitting or scoring."""

from .features import Rules
from .read import read_source
from .source import DataError, Source
from .training import Table, training_table

__all__ = ["DataError", "Rules", "Source", "Table", "read_source", "training_table"]
