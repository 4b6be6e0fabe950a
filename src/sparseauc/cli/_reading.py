"""From a file to a table to fit, as the commands that fit do it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from ..tabular.reading import DataError, Rules, Table, read_source, training_table
from ._options import delimiter_of


def read_table(
    path: Path, rules: Rules, delimiter: str | None, encoding: str | None, max_gib: float = 2.0
) -> Table:
    """Read a file and make it ready, or say what is in the way and how the command would run."""
    source = read_source(
        path,
        target=rules.target,
        delimiter=delimiter_of(delimiter),
        encoding=encoding,
        as_text=rules.written,
        most_bytes=int(max_gib * 2**30),
    )
    try:
        return training_table(source, rules)
    except DataError as error:
        if not error.options:
            raise
        command = shlex.join(["sparseauc", *sys.argv[1:], *error.options])
        raise DataError(f"{error}\nTry: {command}") from None
