"""A table about as large as the memory: anonymous memory of a fit, and its time.

A file of random rows is made chunk by chunk, fitted through ``numpy.memmap`` and
deleted. Each line is measured in a process of its own, so that nothing an earlier fit
left behind counts for or against it. Memory is the largest anonymous memory of the
whole process (RssAnon: all it allocated, the interpreter and its libraries included,
without pages of the file that the system may drop at any time).

Before each measurement the file is put out of the system's cache, and the table says
how much of it was still there. Reading it once, its sum slice by slice through the same
map, is then what the disk gives. A fit that reads it several times finds on later
readings what the memory could hold, which is said as well: the part of the file in the
cache at the end.
"""

from common import Watch, memory_of, report, verdict  # isort: skip

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from sparseauc import SHTAUCClassifier, SparseAUCClassifier, SparseAUCClassifierCV
from sparseauc.chunks import ArrayChunks

INFORMATIVE, SHARE, SHIFT = 30, 0.05, 0.15
LIMIT = 2.0  # GB of anonymous memory
READ = "reading it once"
MODELS = {
    "SparseAUCClassifier(k=50)": lambda: SparseAUCClassifier(k=50),
    "SparseAUCClassifierCV(ks=1 … 50), 5 folds": lambda: SparseAUCClassifierCV(ks=range(1, 51)),
    "SHTAUCClassifier(k=50), 3 epochs in order": lambda: SHTAUCClassifier(
        k=50, batch_size=2000, shuffle=False, block_order="cyclic", max_epochs=3,
        record_history=False, random_state=0,
    ),
}  # fmt: skip


def make_file(path, n, d):
    """Write n × d float32 rows; return the labels."""
    rng = np.random.default_rng(0)
    y = rng.random(n) < SHARE
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, d))
    size = max(1, 2**26 // (4 * d))
    # Rows are taken from one pool with a random offset: making new ones for all would
    # take hours.
    pool = rng.standard_normal((2 * size, d), dtype=np.float32)
    for start in range(0, n, size):
        stop = min(n, start + size)
        first = rng.integers(0, size)
        part = pool[first : first + stop - start] * np.float32(rng.uniform(0.9, 1.1))
        part[:, :INFORMATIVE] += np.float32(SHIFT) * y[start:stop, None]
        X[start:stop] = part
    X.flush()
    return y


def put_out_of_cache(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def share_in_cache(path):
    """Part of a file that is in the system's cache, by util-linux's fincore; NaN without it."""
    if shutil.which("fincore") is None:
        return float("nan")
    command = ["fincore", "--bytes", "--noheadings", "--output", "RES", str(path)]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return int(found) / path.stat().st_size


def compile_kernels(name, folder):
    """Fit a few rows, in a process of its own: a compiler takes memory that a fit does not."""
    if name != READ:
        few = np.array(np.load(folder / "X.npy", mmap_mode="r")[:2000])
        labels = np.load(folder / "y.npy")[:2000]
        MODELS[name]().set_params(**small(name)).fit(rows(name, few), labels)


def measure(name, folder):
    """Measure one line in this process, and print what was found."""
    path, y = folder / "X.npy", np.load(folder / "y.npy")
    put_out_of_cache(path)
    before = share_in_cache(path)
    found = {}
    with Watch(lambda: memory_of("self", "RssAnon")) as watch:
        start = time.perf_counter()
        if name == READ:
            for chunk in ArrayChunks(np.load(path, mmap_mode="r")).read():
                chunk.sum()
        else:
            model = MODELS[name]().fit(np.load(path, mmap_mode="r"), y)
            support = model.get_support(indices=True)
            found["readings"] = getattr(model, "n_passes_", "")
            found["chosen"] = (
                f"{np.count_nonzero(support < INFORMATIVE)} of {support.size}"
            )
        seconds = time.perf_counter() - start
    found |= {
        "s": seconds,
        "peak": watch.most,
        "before": before,
        "after": share_in_cache(path),
    }
    print(json.dumps(found))


def small(name):
    if "SHT" in name:
        return {"max_epochs": 1}
    return {"ks": [1, 2]} if "CV" in name else {"k": 2}


def rows(name, few):
    return few if "SHT" in name else ArrayChunks(few)


def in_own_process(what, name, folder):
    command = [sys.executable, __file__, what, name, "--folder", str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1]) if what == "--measure" else None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=float, default=20.0, help="GB of the file")
    parser.add_argument("--columns", type=int, nargs="+", default=[500, 20_000])
    parser.add_argument("--folder", type=Path, default=None, help="where to make it")
    parser.add_argument("--compile", help=argparse.SUPPRESS)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.compile:
        compile_kernels(arguments.compile, arguments.folder)
        return
    if arguments.measure:
        measure(arguments.measure, arguments.folder)
        return
    table = []
    for d in arguments.columns:
        n = int(arguments.size * 1e9 / (4 * d))
        with tempfile.TemporaryDirectory(dir=arguments.folder) as name_of_folder:
            folder = Path(name_of_folder)
            np.save(folder / "y.npy", make_file(folder / "X.npy", n, d))
            once = None
            # With many columns an epoch of SHT-AUC is no different.
            for name in (READ, *list(MODELS)[: 3 if d == 500 else 2]):
                in_own_process("--compile", name, folder)
                found = in_own_process("--measure", name, folder)
                once = found["s"] if name == READ else once
                peak = found["peak"] / 1e9
                table.append(
                    (
                        f"{n:,} × {d:,}, {n * d * 4 / 1e9:.1f} GB: {name}",
                        found.get("readings", 1),
                        f"{peak:.2f}",
                        "" if name == READ else verdict(peak, LIMIT),
                        f"{found['s']:.0f}",
                        f"{found['s'] / once:.1f}",
                        f"{found['before']:.0%} → {found['after']:.0%}",
                        found.get("chosen", ""),
                    )
                )
                print(table[-1], flush=True)
    report(
        "out_of_core",
        "Fits of a memory map",
        [
            "", "readings", "peak anonymous memory of the process, GB", "limit", "s",
            "× reading once", "file in cache, before → after", "informative among chosen",
        ],
        table,
    )  # fmt: skip


if __name__ == "__main__":
    main()
