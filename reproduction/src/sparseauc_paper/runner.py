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
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from .methods import METHODS
from .plan import estimate_seconds
from .protocols import Protocol
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
    return task, Outcome(
        result, error, time.thread_time() - start, _device_name(task, device)
    )


def _device_name(task: Task, device: str | None) -> str | None:
    """Name of the GPU that tunes a task, if one does."""
    return None if device is None or not _uses_device(task) else _name_of(device)


def _uses_device(task: Task) -> bool:
    """Whether a GPU can tune the method of a task."""
    settings = task.settings
    if "method" not in settings:
        return False
    return METHODS[settings["method"]].uses_device(Protocol(**settings["switches"]))


def _name_of(device: str) -> str:
    import torch

    return str(
        torch.cuda.get_device_name(device) if torch.cuda.is_available() else device
    )


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

    ``jobs`` run at the same time, as many as there are cores for −1; those that tune on
    the device run beside them. After ``seconds`` no task is begun.
    """
    started, since = time.perf_counter(), datetime.now(UTC)
    unique = list(dict.fromkeys(tasks))
    have = store.get(unique)
    missing = [
        task for task in unique if task not in have or have[task].error is not None
    ]
    waiting = _Waiting(missing, device, started + seconds)
    done = failed = 0
    try:
        tell = _teller(console, len(missing))
        with _pools(jobs, device) as pools:
            running: dict[Future[tuple[Task, Outcome]], _Pool] = {}
            while True:
                for pool in pools:
                    while pool.free and (task := waiting.take(pool.device)) is not None:
                        # Another run may have finished it meanwhile.
                        if not store.has(task):
                            running[pool.submit(task)] = pool
                if not running:
                    break
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    running.pop(future).free += 1
                    task, outcome = future.result()
                    store.add(task, outcome)
                    done += 1
                    failed += outcome.error is not None
                    tell(done, failed)
    finally:
        if done:
            store.add_run(describe_run(since, done, device))
    lasted = time.perf_counter() - started
    found = len(unique) - len(missing)
    return Progressed(done, failed, found, waiting.left, lasted)


class _Waiting:
    """Tasks that wait, until the time is up.

    A GPU begins with those that would take a core longest. Cores begin with those that
    only they can do, and go on with the shortest of the others. Without a GPU the order
    is random, so that two runs on one store share the work rather than double it.
    """

    def __init__(self, tasks: Sequence[Task], device: str | None, end: float) -> None:
        self._end = end
        order = list(tasks)
        random.SystemRandom().shuffle(order)
        if device is not None:
            for_cores = [task for task in order if not _uses_device(task)]
            for_both = [task for task in order if _uses_device(task)]
            order = sorted(for_cores, key=estimate_seconds, reverse=True)
            order += sorted(for_both, key=estimate_seconds)
        self._tasks = deque(order)

    @property
    def left(self) -> int:
        """How many tasks wait."""
        return len(self._tasks)

    def take(self, device: str | None) -> Task | None:
        """Next task for the device, or for a core; none if there is none, or no time."""
        if not self._tasks or time.perf_counter() >= self._end:
            return None
        if device is None:
            return self._tasks.popleft()
        return self._tasks.pop() if _uses_device(self._tasks[-1]) else None


@dataclass
class _Pool:
    """Processes for tasks, and how many more tasks they take."""

    executor: Executor
    free: int
    device: str | None = None

    def submit(self, task: Task) -> Future[tuple[Task, Outcome]]:
        self.free -= 1
        return self.executor.submit(compute, task, self.device)


class _Here(Executor):
    """Runs what is submitted at once, in this process."""

    def submit(
        self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@contextmanager
def _pools(jobs: int, device: str | None) -> Iterator[list[_Pool]]:
    """Make the processes that compute, those of the device first."""
    with ExitStack() as stack:
        if jobs == 1 and device is None:
            yield [_Pool(_Here(), 1)]
            return
        cores = (os.cpu_count() or 1) if jobs == -1 else jobs
        pools = []
        if device is not None:
            pools.append(
                _Pool(
                    stack.enter_context(_processes(_ON_DEVICE, 0)), _ON_DEVICE, device
                )
            )
        # The device waits for no core: those who feed it go first.
        patience = 5 if pools else 0
        pools.append(
            _Pool(stack.enter_context(_processes(cores, patience)), cores + _AHEAD)
        )
        yield pools


@contextmanager
def _processes(number: int, patience: int) -> Iterator[Executor]:
    """Processes that end with the block; at once if it is left by an error."""
    before = set(multiprocessing.active_children())
    executor = ProcessPoolExecutor(
        number, multiprocessing.get_context("spawn"), _begin_process, (patience,)
    )
    try:
        yield executor
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - before:
            process.terminate()
        raise
    executor.shutdown()


def _begin_process(patience: int) -> None:
    """Leave interruptions to the process that hands out the tasks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if patience and hasattr(os, "nice"):
        os.nice(patience)


def describe_run(since: datetime, tasks: int, device: str | None) -> Run:
    """Say what a run that began then has computed, and where."""
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    if device is not None:
        machine += f", {_name_of(device)}"
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
