"""What a new process costs: help, an import, the first fits and the demo.

Processor time of the whole process, leaving the interpreter included. Fits and the demo
run without any compiled kernel, with those that a wheel carries, and with those that a
run before compiled. ``utils/jit.py``, README, installation and FAQ name the time of the
default fit.
"""

from common import report  # isort: skip

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from sparseauc.utils.jit import KERNELS_OF_A_FIT, SECONDS_OF_A_FIT

ROOT = Path(__file__).parents[1]
IMPORT = "import sparseauc; sparseauc.SparseAUCClassifierCV"
FIT = """
from sklearn.datasets import load_breast_cancer
from sparseauc import SparseAUCClassifierCV
X, y = load_breast_cancer(return_X_y=True)
SparseAUCClassifierCV(random_state=0).fit(X, y)
from sparseauc.utils.jit import NOTICE
print(NOTICE.compiled)
"""
FIT_TIMES = """
import numpy as np
from sparseauc import SparseConcordanceCV
rng = np.random.default_rng(0)
X = rng.standard_normal((500, 30))
y = np.empty(len(X), [("event", bool), ("time", float)])
y["event"] = rng.random(len(X)) < 0.7
y["time"] = rng.exponential(np.exp(-X[:, 0]))
SparseConcordanceCV().fit(X, y)
"""
COMMAND = ["-m", "sparseauc_app"]
COMPLETION = {
    "_SPARSEAUC_COMPLETE": "complete_bash", "COMP_WORDS": "sparseauc fit --", "COMP_CWORD": "2",
}  # fmt: skip


def run(*arguments, **environment):
    """Processor seconds of a process and its children, and what it wrote."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, done


def least(*arguments, repeats=5, **environment):
    return min(run(*arguments, **environment)[0] for _ in range(repeats))


def verdict(seconds, limit):
    if limit is None:
        return ""
    return f"{'kept' if seconds <= limit else 'MISSED'} (≤ {limit:g} s)"


def install(folder):
    """Copy the packages as a wheel holds them; return its kernels' cost in seconds and bytes."""
    for name in ("sparseauc", "sparseauc_app"):
        without = shutil.ignore_patterns("__pycache__", "kernels")
        shutil.copytree(ROOT / "src" / name, folder / name, ignore=without)
    built = folder / "built"
    seconds, _ = run(str(ROOT / "compile_kernels.py"), str(built))
    kernels = (built / "sparseauc").rename(folder / "sparseauc" / "kernels")
    with zipfile.ZipFile(folder / "kernels.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for path in kernels.iterdir():
            packed.write(path, path.name)
    return seconds, (folder / "kernels.zip").stat().st_size


def first_runs(folder):
    """Yield times of fits and of the demo: cold, with shipped kernels, warm."""
    demo = [*COMMAND, "demo", str(folder / "demo")]
    cases = (
        ("default fit, 569 × 30", ["-c", FIT], 20, 5),
        ("fit of times, 500 × 30", ["-c", FIT_TIMES], None, None),
        ("`sparseauc demo`", demo, None, 15),
    )
    for place, (name, arguments, limit_cold, limit_shipped) in enumerate(cases):
        here = {
            "NUMBA_CACHE_DIR": str(folder / str(place)), "SPARSEAUC_NO_SHIPPED_KERNELS": "1",
        }  # fmt: skip
        cold, done = run(*arguments, **here)
        print(
            f"{name}: {done.stdout.splitlines()[-1:]}"
        )  # of the default fit: how many kernels
        yield f"{name}, nothing compiled", cold, limit_cold
        wheel = {"PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder / "none")}
        yield (
            f"{name}, kernels of a wheel",
            least(*arguments, repeats=2, **wheel),
            limit_shipped,
        )
        yield f"{name}, compiled before", least(*arguments, repeats=2, **here), None


def main():
    rows = [
        (
            "`import sklearn.linear_model` alone",
            least("-c", "import sklearn.linear_model"),
            None,
        )
    ]
    for name, arguments, environment in (
        ("`sparseauc --help`", ["--help"], {}),
        ("`sparseauc --version`", ["--version"], {}),
        ("`sparseauc fit --help`", ["fit", "--help"], {}),
        ("completion of `sparseauc fit --`", [], COMPLETION),
    ):
        rows.append((name, least(*COMMAND, *arguments, **environment), 0.4))
    rows.append(("import of the library", least("-c", IMPORT), None))
    with tempfile.TemporaryDirectory() as folder:
        built, size = install(Path(folder))
        rows += first_runs(Path(folder))
    rows.append((f"compiling for a wheel, {size / 1e6:.1f} MB packed", built, None))
    report(
        "startup",
        "What a new process costs",
        ["case", "processor seconds", "limit"],
        [
            (name, f"{seconds:.2f}", verdict(seconds, limit))
            for name, seconds, limit in rows
        ],
    )
    print(f"utils/jit.py says: {KERNELS_OF_A_FIT} kernels, {SECONDS_OF_A_FIT} s")


if __name__ == "__main__":
    main()
