"""Reading tables and model files for commands."""

from __future__ import annotations

import hashlib
import shlex
import sys
import warnings
from pathlib import Path

from ..tabular.model_files import read_card
from ..tabular.reading import DataError, Rules, Source, Table, read_source, training_table
from ..tabular.reading.scoring import written_columns
from ..tabular.scorecard import ScoreCard
from ._options import delimiter_of


def read_table(
    path: Path, rules: Rules, delimiter: str | None, encoding: str | None, max_gib: float = 2.0
) -> Table:
    """Read a training table. An error ends with a command that would work."""
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


def card_of(path: Path, notes: list[str]) -> ScoreCard:
    """Read a model file's card; a file of another version is noted."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        card = read_card(path)
    notes += [str(one.message) for one in caught]
    return card


def read_new_rows(
    path: Path,
    card: ScoreCard,
    delimiter: str | None,
    encoding: str | None,
    max_gib: float,
    *named: str | None,
) -> Source:
    """Read new rows for a model: its columns by the types on the card, ``named`` ones as text."""
    others = (card.target, card.summary.get("ids"), card.strata_column, *named)
    return read_source(
        path,
        delimiter=delimiter_of(delimiter),
        encoding=encoding,
        as_text=written_columns(card) | {str(name) for name in others if name},
        most_bytes=int(max_gib * 2**30),
    )


def made_by(table: Path) -> dict[str, str]:
    """Facts for a report: the command, and the hash of the file."""
    facts = {"command": shlex.join(["sparseauc", *sys.argv[1:]])}
    if table.is_file():  # not what was piped in
        with table.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        facts = {"sha256 of the data": digest, **facts}
    return facts
