"""Finished tasks in a SQLite file: kill a run at any moment, and the next one goes on from there.

A task is written whole in one short transaction once it is finished, so a run that dies
loses the tasks in flight and nothing else. Several runs may share a file.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from .tasks import Task

_SCHEMA = """
CREATE TABLE IF NOT EXISTS tasks (
    key TEXT PRIMARY KEY,
    description TEXT NOT NULL,
    result TEXT,
    error TEXT,
    seconds REAL NOT NULL,
    finished TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS runs (
    started TEXT NOT NULL,
    ended TEXT NOT NULL,
    tasks INTEGER NOT NULL,
    machine TEXT NOT NULL,
    versions TEXT NOT NULL,
    revision TEXT NOT NULL
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
    """What came of a task: a result, or the text of an error, and the processor time it took."""

    result: dict[str, Any] | None
    error: str | None
    seconds: float


@dataclass(frozen=True)
class Run:
    """Where and when tasks were computed."""

    started: str  # UTC, to the minute
    ended: str
    tasks: int
    machine: str
    versions: str
    revision: str  # of the sources


class Store(AbstractContextManager["Store"]):
    """Outcomes by task in a file, made if it does not exist; ``StoreError`` if it is no good."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._guarded():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                path,
                timeout=_BUSY_SECONDS,
                isolation_level=None,
            )
            with closing(self._connection.cursor()) as cursor:
                cursor.execute("PRAGMA journal_mode = WAL")
                # In WAL mode this survives the death of the program; a power cut may
                # cost the last tasks, never the file.
                cursor.execute("PRAGMA synchronous = NORMAL")
                cursor.executescript(_SCHEMA)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Make what is wrong with the file one kind of error."""
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"cannot keep results in {self.path}: {error}. Move the file away, or name another "
                "one by --store"
            ) from error

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def has(self, task: Task) -> bool:
        """Whether the task has a result; one that failed has none."""
        outcome = self.get([task]).get(task)
        return outcome is not None and outcome.error is None

    def add(self, task: Task, outcome: Outcome) -> None:
        """Keep an outcome. A result is never replaced; an error is, by whatever comes later."""
        result = None if outcome.result is None else json.dumps(outcome.result)
        with self._guarded():
            self._connection.execute(
                "INSERT INTO tasks (key, description, result, error, seconds) "
                "VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET "
                "result = excluded.result, error = excluded.error, seconds = excluded.seconds, "
                "finished = CURRENT_TIMESTAMP "
                "WHERE tasks.error IS NOT NULL",
                (task.key, task.description, result, *astuple(outcome)[1:]),
            )

    def add_run(self, run: Run) -> None:
        """Keep where and when tasks were computed."""
        with self._guarded():
            self._connection.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)", astuple(run)
            )

    def runs(self) -> list[Run]:
        """All runs that computed something, the first one first."""
        with self._guarded():
            lines = self._connection.execute(
                "SELECT * FROM runs ORDER BY started"
            ).fetchall()
        return [Run(*line) for line in lines]

    def get(self, tasks: Iterable[Task]) -> dict[Task, Outcome]:
        """Outcomes of those of the tasks that have one."""
        by_key = {task.key: task for task in tasks}
        keys = list(by_key)
        found = {}
        for start in range(0, len(keys), _AT_ONCE):
            part = keys[start : start + _AT_ONCE]
            marks = ",".join("?" * len(part))
            with self._guarded():
                rows = self._connection.execute(
                    f"SELECT key, result, error, seconds FROM tasks WHERE key IN ({marks})",
                    part,
                ).fetchall()
            for key, result, *about in rows:
                found[by_key[key]] = Outcome(self._read(by_key[key], result), *about)
        return found

    def _read(self, task: Task, text: str | None) -> dict[str, Any] | None:
        """Result of a task as it was written; anything else means a damaged file."""
        if text is None:
            return None
        try:
            result = json.loads(text)
            missing = [name for name in task.fields if name not in result]
        except (ValueError, TypeError):
            missing = list(task.fields)
        if missing:
            raise StoreError(
                f"{self.path} holds a damaged result, without {missing[0]!r}, of the task "
                f"{task.description}. Move the file away, or delete that line"
            )
        return dict(result)
