"""Run the tasks that the store lacks, on several cores or on a Dask cluster."""

import os
import platform
import random
import subprocess
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, parallel_config  # type: ignore[import-untyped]
from rich.console import Console
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from sparseauc.utils.optional import import_optional
from sparseauc_app.cli.progress import progress

from .methods import METHODS
from .protocols import Protocol
from .store import Outcome, Run, Store
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
    return task, Outcome(result, error, time.thread_time() - start, _device_name(task, device))


def _device_name(task: Task, device: str | None) -> str | None:
    """Name of the GPU that tunes a task, if one does."""
    settings = task.settings
    if device is None or "method" not in settings:
        return None
    if not METHODS[settings["method"]].uses_device(Protocol(**settings["switches"])):
        return None
    return _name_of(device)


def _name_of(device: str) -> str:
    torch = import_optional("torch", f"--device {device}")
    return str(torch.cuda.get_device_name(device) if torch.cuda.is_available() else device)


def run_tasks(
    tasks: Sequence[Task],
    store: Store,
    *,
    jobs: int = 1,
    dask: str | None = None,
    device: str | None = None,
    console: Console | None = None,
) -> Progressed:
    """Compute the tasks without a result, each once, and keep their outcomes as they come.

    ``jobs`` run at the same time, as many as there are cores for −1, or those of a Dask scheduler.
    """
    started, since = time.perf_counter(), datetime.now(UTC)
    unique = list(dict.fromkeys(tasks))
    have = store.get(unique)
    missing = [task for task in unique if task not in have or have[task].error is not None]
    # In an order of its own, so that two runs on one store share the work rather than double it.
    random.SystemRandom().shuffle(missing)
    done = failed = 0
    try:
        with _telling(console, len(missing)) as tell, _backend(dask):
            # Asked again when its turn comes: another run may have finished it meanwhile.
            pending = (delayed(compute)(task, device) for task in missing if not store.has(task))
            parallel = Parallel(
                n_jobs=jobs, batch_size=1, pre_dispatch=_IN_FLIGHT, return_as="generator_unordered"
            )
            for task, outcome in parallel(pending):
                store.add(task, outcome)
                done += 1
                failed += outcome.error is not None
                tell(failed)
    finally:
        if done:
            store.add_run(describe_run(since, done, device))
    return Progressed(done, failed, len(unique) - len(missing), time.perf_counter() - started)


def describe_run(since: datetime, tasks: int, device: str | None) -> Run:
    """Say what a run that began then has computed, and where."""
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    if device is not None:
        machine += f", {_name_of(device)}"
    packages = ("sparseauc", "numpy", "scipy", "sklearn", "numba")
    versions = ", ".join(f"{name} {import_module(name).__version__}" for name in packages)
    started, ended = (f"{at:%Y-%m-%d %H:%M}" for at in (since, datetime.now(UTC)))
    return Run(started, ended, tasks, machine, versions, _revision())


def _revision() -> str:
    """Commit of the sources; where they are no checkout, what a file beside them says, if any."""
    here = Path(__file__).parent
    if (here / "commit.txt").exists():
        return (here / "commit.txt").read_text(encoding="ascii").strip()
    try:
        asked = ["git", "-C", str(here), "describe", "--always", "--dirty", "--exclude=*"]
        found = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return "a released version"
    return f"commit {found.stdout.strip()}"


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


@contextmanager
def _telling(console: Console | None, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, now and then a line elsewhere."""
    if console is None or total == 0:
        yield lambda _: None
        return
    started = last = time.perf_counter()
    done = 0
    with progress(not console.is_terminal, "tasks") as show:

        def tell(failed: int) -> None:
            nonlocal done, last
            done += 1
            failures = f", {failed} failed" if failed else ""
            show(f"{done} of {total} tasks{failures}", done, total)
            now = time.perf_counter()
            if console.is_terminal or (now - last < _SECONDS_BETWEEN_LINES and done < total):
                return
            last = now
            left = timedelta(seconds=round((total - done) * (now - started) / done))
            console.print(f"{done} of {total} tasks{failures}, {left} left")

        yield tell


def describe_failures(outcomes: dict[Task, Any]) -> list[str]:
    """Last line of every distinct error, with the number of tasks it stopped."""
    counts = Counter(
        outcome.error.strip().splitlines()[-1]
        for outcome in outcomes.values()
        if outcome.error is not None
    )
    return [f"{line} ({count} tasks)" for line, count in counts.items()]
