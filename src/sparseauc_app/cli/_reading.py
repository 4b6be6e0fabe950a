"""Reading tables and model files for commands."""

from __future__ import annotations

import hashlib
import shlex
import sys
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..reading import Rules, Source, Table, read_source, training_table
from ..reading.arrange import empty_codes, join_labels, turn
from ..reading.scoring import written_columns
from ..scorecard import ScoreCard
from ._options import TextFile, Training

if TYPE_CHECKING:
    from sparseauc.limits import Limits


def read_table(
    path: Path,
    training: Training,
    text_file: TextFile,
    *,
    ids: str | None = None,
    limits: Limits | None = None,
) -> Table:
    """Read a training table for a list with some limits."""
    rules = Rules(ids=ids, **training.as_rules())
    if limits is not None:
        keep = tuple(str(name) for name in limits.always_include or ())
        rules = replace(rules, keep=keep, whole=limits.allow_groups)
    return training_table(_read(path, text_file, rules.written, ids), rules)


def _read(
    path: Path,
    text_file: TextFile,
    as_text: Collection[str],
    ids: str | None,
    columns: Collection[str] = (),
) -> Source:
    """Read a file as a table of rows, with labels joined; such ``columns`` may be its rows."""
    how = text_file.as_arguments()
    source = read_source(path, as_text=as_text, ids=ids, **how)
    if columns:
        source = turn(source, columns)
    if text_file.labels is not None:
        labels = read_source(text_file.labels, as_text=as_text, ids=ids, **how)
        source = join_labels(source, labels)
    return source


def read_new_rows(
    path: Path, card: ScoreCard, text_file: TextFile, *, labels: Collection[str | None] = ()
) -> Source:
    """Read new rows for a model: its columns by the types on the card, ids as they are written.

    ``labels`` are further columns that are read as text.
    """
    ids = card.summary.get("ids")
    as_text = written_columns(card) | {name for name in (card.target, card.within, *labels) if name}
    ids = ids if isinstance(ids, str) and ids not in as_text else None
    source = _read(path, text_file, as_text, ids, {term.column for term in card.terms})
    codes = card.summary.get("missing_codes")
    return empty_codes(source, list(map(str, codes)) if isinstance(codes, list) else (), ids)


def made_by(table: Path) -> dict[str, str]:
    """Facts for a report: the command, and the hash of the file."""
    facts = {"command": shlex.join(["sparseauc", *sys.argv[1:]])}
    if table.is_file():  # not what was piped in
        with table.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        facts = {"sha256 of the data": digest, **facts}
    return facts
