"""Run the tasks that the store lacks, on several cores, and on a GPU beside them."""

import math
import multiprocessing
import os
import platform
import random
import signal
import subprocess
import time
import traceback
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from rich.console import Console
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from .store import Outcome, Run, Store
from .tasks import Task

# A line of progress is printed no more often than this.
_SECONDS_BETWEEN_LINES = 15.0
# Tasks handed out before a worker is free: enough to keep all busy, and few to be lost.
_AHEAD = 2
# Processes that feed a GPU, beside those of the cores. Most of them sleep until it is
# done.
_ON_DEVICE = 8


@dataclass(frozen=True)
class Progressed:
    """How far a run came."""

    done: int
    failed: int
    found: int
    left: int
    seconds: float


def compute(task: Task, device: str | None = None) -> tuple[Task, Outcome]:
    """Compute a task; an error becomes part of the outcome."""
    start = time.thread_time()
    result, error = None, None
    try:
        # Tasks are what runs at the same time; a task itself keeps to one core.
        with threadpool_limits(1):
            result = task.compute(device)
    except Exception:
        error = traceback.format_exc()
    return task, Outcome(result, error, time.thread_time() - start)


def run_tasks(
    tasks: Sequence[Task],
    store: Store,
    *,
    jobs: int = 1,
    device: str | None = None,
    console: Console | None = None,
    seconds: float = math.inf,
) -> Progressed:
    """Compute the tasks without a result, each once, and keep their outcomes as they come.

    ``jobs`` run at the same time, as many as there are cores for −1; with a device that
    tunes slow methods, a few more. After ``seconds`` no task is begun.
    """
    started, since = time.perf_counter(), datetime.now(UTC)
    unique = list(dict.fromkeys(tasks))
    have = store.get(unique)
    waiting = [
        task for task in unique if task not in have or have[task].error is not None
    ]
    n_missing = len(waiting)
    # In random order, so that two runs on one store share the work rather than double
    # it.
    random.SystemRandom().shuffle(waiting)

    def begun() -> Iterator[Task]:
        while waiting and time.perf_counter() < started + seconds:
            task = waiting.pop()
            # Another run may have finished it meanwhile.
            if not store.has(task):
                yield task

    done = failed = 0
    try:
        tell = _teller(console, n_missing)
        # Closed at once where it is interrupted, and its processes with it.
        with closing(_computed(begun(), jobs, device)) as computed:
            for task, outcome in computed:
                store.add(task, outcome)
                done += 1
                failed += outcome.error is not None
                tell(done, failed)
    finally:
        if done:
            store.add_run(describe_run(since, done, device))
    lasted = time.perf_counter() - started
    return Progressed(done, failed, len(unique) - n_missing, len(waiting), lasted)


def _computed(
    tasks: Iterator[Task], jobs: int, device: str | None
) -> Generator[tuple[Task, Outcome]]:
    """Compute tasks here, or in processes as their outcomes come."""
    if jobs == 1 and device is None:
        yield from map(compute, tasks)
        return
    n_processes = (os.cpu_count() or 1) if jobs == -1 else jobs
    if device is not None:
        n_processes += _ON_DEVICE
    with _processes(n_processes) as executor:
        running: set[Future[tuple[Task, Outcome]]] = set()
        n_free = n_processes + _AHEAD
        while True:
            running |= {
                executor.submit(compute, task, device) for task in islice(tasks, n_free)
            }
            if not running:
                return
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            n_free = len(finished)
            yield from (future.result() for future in finished)


@contextmanager
def _processes(number: int) -> Iterator[Executor]:
    """Processes that end with the block; at once if it is left by an error."""
    before = set(multiprocessing.active_children())
    # Interruptions are for the process that hands out the tasks.
    executor = ProcessPoolExecutor(
        number,
        multiprocessing.get_context("spawn"),
        signal.signal,
        (signal.SIGINT, signal.SIG_IGN),
    )
    try:
        yield executor
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - before:
            process.terminate()
        raise
    executor.shutdown()


def describe_run(since: datetime, tasks: int, device: str | None) -> Run:
    """Say what a run that began then has computed, and where."""
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    if device is not None:
        import torch

        name = torch.cuda.get_device_name(device) if device != "cpu" else device
        machine += f", {name}"
    packages = ("sparseauc", "numpy", "scipy", "sklearn", "numba")
    versions = ", ".join(
        f"{name} {import_module(name).__version__}" for name in packages
    )
    started, ended = (f"{at:%Y-%m-%d %H:%M}" for at in (since, datetime.now(UTC)))
    return Run(started, ended, tasks, machine, versions, _revision())


def _revision() -> str:
    """Commit of the sources; where they are no checkout, what a file beside them says, if any."""
    here = Path(__file__).parent
    if (here / "commit.txt").exists():
        return (here / "commit.txt").read_text(encoding="ascii").strip()
    try:
        asked = [
            "git",
            "-C",
            str(here),
            "describe",
            "--always",
            "--dirty",
            "--exclude=*",
        ]
        found = subprocess.run(
            asked, capture_output=True, text=True, check=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return "a released version"
    return f"commit {found.stdout.strip()}"


def _teller(console: Console | None, total: int) -> Callable[[int, int], None]:
    """Make a function that now and then prints how many tasks are done and failed."""
    started = time.perf_counter()
    next_line = started + _SECONDS_BETWEEN_LINES

    def tell(done: int, failed: int) -> None:
        nonlocal next_line
        now = time.perf_counter()
        if console is None or (now < next_line and done < total):
            return
        next_line = now + _SECONDS_BETWEEN_LINES
        failures = f", {failed} failed" if failed else ""
        left = timedelta(seconds=round((total - done) * (now - started) / done))
        console.print(f"{done} of {total} tasks{failures}, {left} left")

    return tell


def describe_failures(outcomes: dict[Task, Any]) -> list[str]:
    """Last line of every distinct error, with the number of tasks it stopped."""
    counts = Counter(
        outcome.error.strip().splitlines()[-1]
        for outcome in outcomes.values()
        if outcome.error is not None
    )
    return [f"{line} ({count} tasks)" for line, count in counts.items()]
