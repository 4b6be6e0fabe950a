"""Time of the first fit in a new process, import included: kernel cache warm and cold.

From starting the interpreter until ``fit`` returns. Leaving the interpreter, which takes another
0.3 s or so to let go of scikit-learn and Numba, is not waited for; with it the warm case is at 2 s.
"""

from common import report  # isort: skip

import os
import subprocess
import sys
import tempfile
import time

PROGRAM = """
import numpy as np
from sparseauc import SHTAUCClassifier
rng = np.random.default_rng(0)
X, y = rng.standard_normal((200, 50)), np.arange(200) % 5 == 0
SHTAUCClassifier(k=5, random_state=0).fit(X, y)
print("fitted", flush=True)
"""


def first_fit(cache):
    start = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"NUMBA_CACHE_DIR": cache},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout.readline() == "fitted\n"
        seconds = time.perf_counter() - start
        return seconds, run.stderr.read().strip()


def imports(module):
    start = time.perf_counter()
    program = f"import {module}; print('imported', flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout.readline() == "imported\n"
        return time.perf_counter() - start


def main():
    with tempfile.TemporaryDirectory() as cache:
        cold, notice = first_fit(cache)
        warm_runs = [first_fit(cache) for _ in range(5)]
    warm = min(seconds for seconds, _ in warm_runs)
    silent = not any(said for _, said in warm_runs)
    peer = min(imports("sklearn.linear_model") for _ in range(5))
    report(
        "startup",
        "First fit in a new process, import included",
        ["case", "seconds", "said", "limit"],
        [
            ("`import sklearn.linear_model` alone", f"{peer:.2f}", "", ""),
            (
                "kernel cache warm (least of 5)",
                f"{warm:.2f}",
                "nothing" if silent else warm_runs[0][1],
                f"{'kept' if warm <= 2 else 'MISSED'} (≤ 2 s)",
            ),
            (
                "kernel cache cold",
                f"{cold:.1f}",
                f"“{notice}”",
                f"{'kept' if cold <= 20 and len(notice.splitlines()) == 1 else 'MISSED'} "
                "(≤ 20 s, one line)",
            ),
        ],
    )


if __name__ == "__main__":
    main()
