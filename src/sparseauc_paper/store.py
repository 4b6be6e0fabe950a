"""Finished cells in a SQLite file: kill a run at any moment, and the next one goes on from there.

A cell is written whole in one short transaction once it is finished, so a run that dies loses the
cells in flight and nothing else. Several runs may share a file.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from .tasks import Cell

_SCHEMA = """
CREATE TABLE IF NOT EXISTS cells (
    key TEXT PRIMARY KEY,
    description TEXT NOT NULL,
    result TEXT,
    error TEXT,
    seconds REAL NOT NULL,
    finished TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS attempts (
    number INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    failed INTEGER NOT NULL
);
"""
# Another run holds the file for milliseconds; a minute is for disks that stall.
_BUSY_SECONDS = 60.0
# Keys asked for at once; SQLite allows some 32 000.
_AT_ONCE = 5000


class StoreError(Exception):
    """The file cannot be used as a store."""


@dataclass(frozen=True)
class Outcome:
    """What came of a cell: a result, or the text of an error, and the processor time it took."""

    result: dict[str, Any] | None
    error: str | None
    seconds: float


class Store:
    """Outcomes by cell.

    Parameters
    ----------
    path : Path
        The file, made if it does not exist.

    Raises
    ------
    StoreError
        If the file cannot be opened, or is something else.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # The runner asks from its own threads; the lock keeps them apart.
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            with closing(self._connection.cursor()) as cursor:
                cursor.execute("PRAGMA journal_mode = WAL")
                # In WAL mode this survives the death of the program; a power cut may cost the last
                # cells, never the file.
                cursor.execute("PRAGMA synchronous = NORMAL")
                cursor.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"cannot keep results in {path}: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def has(self, cell: Cell) -> bool:
        """Whether the cell has a result; one that failed has none."""
        with self._lock:
            found = self._connection.execute(
                "SELECT 1 FROM cells WHERE key = ? AND error IS NULL", (cell.key,)
            ).fetchone()
        return found is not None

    def add(self, cell: Cell, outcome: Outcome) -> None:
        """Keep an outcome. A result is never replaced; an error is, by whatever comes later."""
        result = None if outcome.result is None else json.dumps(outcome.result)
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.execute(
                    "INSERT INTO cells (key, description, result, error, seconds) "
                    "VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET "
                    "result = excluded.result, error = excluded.error, "
                    "seconds = excluded.seconds, finished = CURRENT_TIMESTAMP "
                    "WHERE cells.error IS NOT NULL",
                    (cell.key, cell.description, result, outcome.error, outcome.seconds),
                )
                self._connection.execute(
                    "INSERT INTO attempts (key, failed) VALUES (?, ?)",
                    (cell.key, outcome.error is not None),
                )
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise

    def get(self, cells: Iterable[Cell]) -> dict[Cell, Outcome]:
        """Outcomes of those of the cells that have one."""
        by_key = {cell.key: cell for cell in cells}
        keys = list(by_key)
        found = {}
        for start in range(0, len(keys), _AT_ONCE):
            part = keys[start : start + _AT_ONCE]
            marks = ",".join("?" * len(part))
            with self._lock:
                rows = self._connection.execute(
                    f"SELECT key, result, error, seconds FROM cells WHERE key IN ({marks})", part
                ).fetchall()
            for key, result, error, seconds in rows:
                outcome = Outcome(None if result is None else json.loads(result), error, seconds)
                found[by_key[key]] = outcome
        return found

    def attempts(self) -> dict[str, int]:
        """How often each cell was finished, with a result or an error."""
        with self._lock:
            rows = self._connection.execute("SELECT key, count(*) FROM attempts GROUP BY key")
            return dict(rows.fetchall())
