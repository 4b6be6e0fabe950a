"""What the benchmarks share: one thread, interleaved timing, a table on screen and on file."""

from __future__ import annotations

import os

# Before numpy is imported: figures are ratios on one thread.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import platform
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

import numba
import numpy as np
import scipy
import sklearn

import sparseauc

ROOT = Path(__file__).parents[1]
HERE = Path(__file__).parent  # of the benchmarks, beside their results


def interleaved_minimum(
    functions: Sequence[Callable[[], object]], repeats: int
) -> list[float]:
    """Least processor time of each function in seconds, in turn so that noise falls on all alike.

    All work is done by one thread of this process, so that other programs on the
    machine count little.
    """
    for function in functions:
        function()
    least = [np.inf] * len(functions)
    for _ in range(repeats):
        for i, function in enumerate(functions):
            start = time.thread_time()
            function()
            least[i] = min(least[i], time.thread_time() - start)
    return least


class Watch:
    """Largest amount of memory, by a function that reads it, while this is open."""

    def __init__(self, read: Callable[[], int]) -> None:
        self._read = read
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.most = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(0.01):
            self.most = max(self.most, self._read())


def memory_of(process: int | str, kind: str) -> int:
    """Bytes of memory of a process by its line in /proc: "VmRSS", "RssAnon"."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith(kind)).split()[1]) * 1024


def report(
    name: str, title: str, header: Sequence[str], rows: Sequence[Sequence[object]]
) -> None:
    """Print a Markdown table and write it to ``results/<name>.md`` beside the benchmarks."""
    lines = [
        f"# {title}",
        "",
        f"`python {HERE.relative_to(ROOT)}/{name}.py` · {machine()}",
        "",
        "| " + " | ".join(header) + " |",
        "| " + " | ".join("---" for _ in header) + " |",
        *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows),
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / f"{name}.md").write_text(text, encoding="utf-8")


def verdict(measured: float, limit: float) -> str:
    """Say whether a ratio keeps its limit."""
    return f"{'kept' if measured <= limit else 'MISSED'} (≤ {limit:g})"


def machine() -> str:
    """Say what the figures were measured on."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line
            for line in info.read_text().splitlines()
            if line.startswith("model name")
        ]
        cpu = names[0].split(":", 1)[1].strip() if names else cpu
    return (
        f"{cpu}, {os.cpu_count()} cores, one thread · Python {platform.python_version()}, "
        f"NumPy {np.__version__}, SciPy {scipy.__version__}, scikit-learn {sklearn.__version__}, "
        f"Numba {numba.__version__}, sparseauc {sparseauc.__version__}"
    )
