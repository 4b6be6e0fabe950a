"""What a new process costs: help, completion, the first fit with the kernel cache warm and cold.

Processor time of the whole process, leaving the interpreter included, least of five.
"""

from common import report  # isort: skip

import os
import resource
import subprocess
import sys
import tempfile

FIT = """
import numpy as np
from sparseauc import SHTAUCClassifier
rng = np.random.default_rng(0)
X, y = rng.standard_normal((200, 50)), np.arange(200) % 5 == 0
SHTAUCClassifier(k=5, random_state=0).fit(X, y)
"""
COMMAND = ["-m", "sparseauc"]
COMPLETION = {
    "_SPARSEAUC_COMPLETE": "complete_bash", "COMP_WORDS": "sparseauc fit --", "COMP_CWORD": "2",
}  # fmt: skip


def run(*arguments, **environment):
    """Processor seconds of a process, and what it said on the error stream."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *arguments], env=os.environ | environment, capture_output=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, done.stderr.strip()


def least(*arguments, **environment):
    return min(run(*arguments, **environment)[0] for _ in range(5))


def verdict(seconds, limit, also=True):
    return f"{'kept' if seconds <= limit and also else 'MISSED'} (≤ {limit:g} s)"


def main():
    with tempfile.TemporaryDirectory() as cache:
        cold, notice = run("-c", FIT, NUMBA_CACHE_DIR=cache)
        said = run("-c", FIT, NUMBA_CACHE_DIR=cache)[1]
        warm = least("-c", FIT, NUMBA_CACHE_DIR=cache)
    rows = [("`import sklearn.linear_model` alone", least("-c", "import sklearn.linear_model"), "")]
    for name, arguments, environment in (
        ("`sparseauc --help`", ["--help"], {}),
        ("`sparseauc --version`", ["--version"], {}),
        ("`sparseauc fit --help`", ["fit", "--help"], {}),
        ("completion of `sparseauc fit --`", [], COMPLETION),
    ):
        seconds = least(*COMMAND, *arguments, **environment)
        rows.append((name, seconds, verdict(seconds, 0.4)))
    rows += [
        ("first fit, kernel cache warm", warm, verdict(warm, 2, not said)),
        ("first fit, kernel cache cold", cold, verdict(cold, 20, len(notice.splitlines()) == 1)),
    ]
    report(
        "startup",
        "What a new process costs",
        ["case", "processor seconds", "limit"],
        [(name, f"{seconds:.2f}", limit) for name, seconds, limit in rows],
    )


if __name__ == "__main__":
    main()
