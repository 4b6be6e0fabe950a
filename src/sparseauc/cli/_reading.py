"""From a file to a table to fit, as the commands that fit do it."""

from __future__ import annotations

from pathlib import Path

from ..tabular.reading import Rules, Table, read_source, training_table
from ._options import delimiter_of


def read_table(path: Path, rules: Rules, delimiter: str | None, encoding: str | None) -> Table:
    """Read a file and make it ready, or say what is in the way."""
    source = read_source(
        path, target=rules.target, delimiter=delimiter_of(delimiter), encoding=encoding
    )
    return training_table(source, rules)
