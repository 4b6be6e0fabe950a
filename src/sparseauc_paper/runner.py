"""Run the tasks that the store lacks, on several cores or on a Dask cluster."""

from __future__ import annotations

import random
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from joblib import Parallel, delayed, parallel_config  # type: ignore[import-untyped]
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from sparseauc._optional import import_optional

from .store import Outcome, Store
from .tasks import Task

# Without a terminal, a line is printed no more often than this.
_SECONDS_BETWEEN_LINES = 15.0
# Tasks handed out before they are needed: enough to keep workers busy, and few to be lost.
_IN_FLIGHT = "2*n_jobs"


@dataclass(frozen=True)
class Progressed:
    """How far a run came."""

    done: int
    failed: int
    found: int
    seconds: float


def compute(task: Task) -> tuple[Task, Outcome]:
    """Compute a task; an error becomes part of the outcome."""
    start = time.thread_time()
    result, error = None, None
    try:
        # Tasks are what runs at the same time; a task itself keeps to one core.
        with threadpool_limits(1):
            result = task.compute()
    except Exception:
        error = traceback.format_exc()
    return task, Outcome(result, error, time.thread_time() - start)


def run_tasks(
    tasks: Sequence[Task],
    store: Store,
    *,
    jobs: int = 1,
    dask: str | None = None,
    console: Console | None = None,
) -> Progressed:
    """Compute the tasks without a result and keep their outcomes as they come.

    Parameters
    ----------
    tasks : sequence of Task
        Repeated ones are computed once. The order has no influence on the results.
    store : Store
    jobs : int, default=1
        Tasks at the same time; −1 means as many as there are cores.
    dask : str, optional
        Address of a Dask scheduler that computes them instead.
    console : rich.console.Console, optional
        Where progress is told; nowhere by default.

    Returns
    -------
    Progressed

    Raises
    ------
    KeyboardInterrupt
        As it comes; what was finished is in the store.
    """
    started = time.perf_counter()
    unique = list(dict.fromkeys(tasks))
    have = store.get(unique)
    missing = [task for task in unique if task not in have or have[task].error is not None]
    # In an order of its own, so that two runs on one store share the work rather than double it.
    random.SystemRandom().shuffle(missing)
    done = failed = 0
    with _telling(console, len(missing)) as tell, _backend(dask):
        # Asked again when its turn comes: another run may have finished it meanwhile.
        pending = (delayed(compute)(task) for task in missing if not store.has(task))
        parallel = Parallel(
            n_jobs=jobs, batch_size=1, pre_dispatch=_IN_FLIGHT, return_as="generator_unordered"
        )
        for task, outcome in parallel(pending):
            store.add(task, outcome)
            done += 1
            failed += outcome.error is not None
            tell(failed)
    return Progressed(done, failed, len(unique) - len(missing), time.perf_counter() - started)


@contextmanager
def _backend(dask: str | None) -> Iterator[None]:
    """Loky on this machine, or the cluster."""
    if dask is None:
        with parallel_config(backend="loky"):
            yield
        return
    client = import_optional("distributed", "running on a Dask cluster").Client(dask)
    with client, parallel_config(backend="dask"):
        yield


def _telling(console: Console | None, total: int) -> AbstractContextManager[Callable[[int], None]]:
    if console is None or total == 0:
        return nullcontext(lambda _: None)
    return _bar(console, total) if console.is_terminal else _lines(console, total)


@contextmanager
def _bar(console: Console, total: int) -> Iterator[Callable[[int], None]]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[pace]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("tasks", total=total, pace="")
        started = time.perf_counter()

        def tell(failed: int) -> None:
            done = progress.tasks[0].completed + 1
            pace = f"{done / (time.perf_counter() - started):.1f} tasks/s"
            progress.update(bar, advance=1, pace=f"{pace}, {failed} failed" if failed else pace)

        yield tell


@contextmanager
def _lines(console: Console, total: int) -> Iterator[Callable[[int], None]]:
    started = last = time.perf_counter()
    done = 0

    def tell(failed: int) -> None:
        nonlocal last, done
        done += 1
        now = time.perf_counter()
        if now - last < _SECONDS_BETWEEN_LINES and done < total:
            return
        last = now
        pace = done / (now - started)
        line = f"{done} of {total} tasks, {pace:.2f} tasks/s, {_clock((total - done) / pace)} left"
        console.print(f"{line}, {failed} failed" if failed else line, highlight=False)
        sys.stdout.flush()

    yield tell


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:d}:{minutes:02d}:{seconds:02d}"


def describe_failures(outcomes: dict[Task, Any]) -> list[str]:
    """Last line of every distinct error, with the number of tasks it stopped."""
    counts: dict[str, int] = {}
    for outcome in outcomes.values():
        if outcome.error is not None:
            line = outcome.error.strip().splitlines()[-1]
            counts[line] = counts.get(line, 0) + 1
    return [f"{line} ({count} tasks)" for line, count in counts.items()]
