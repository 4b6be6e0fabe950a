"""A table larger than memory ought to be: anonymous memory of a fit, and its time.

A file of random rows is made chunk by chunk, fitted through ``numpy.memmap`` and deleted. Anonymous
memory (RssAnon: what the process itself allocated, without pages of the file that the system may
drop at any time) is sampled while the fit runs, beyond that before it. Time is given as a multiple
of reading the file once, measured just before: its sum, slice by slice through the same map. Part
of the file may be in the system's cache in either case; both read the whole file from its
beginning, so a file larger than the cache comes from the disk every time.
"""

from common import report, verdict  # isort: skip

import argparse
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from sparseauc import SHTAUCClassifier, SparseAUCClassifier, SparseAUCClassifierCV
from sparseauc.chunks import ArrayChunks

INFORMATIVE, SHARE, SHIFT = 30, 0.05, 0.15
LIMIT = 2.0  # GB of anonymous memory


def make_file(path, n, d):
    """Write n × d float32 rows; return the labels."""
    rng = np.random.default_rng(0)
    y = rng.random(n) < SHARE
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, d))
    size = max(1, 2**26 // (4 * d))
    # Rows are taken from one pool with a random offset: making new ones for all would take hours.
    pool = rng.standard_normal((2 * size, d), dtype=np.float32)
    for start in range(0, n, size):
        stop = min(n, start + size)
        first = rng.integers(0, size)
        part = pool[first : first + stop - start] * np.float32(rng.uniform(0.9, 1.1))
        part[:, :INFORMATIVE] += np.float32(SHIFT) * y[start:stop, None]
        X[start:stop] = part
    X.flush()
    del X
    return y


def read_once(path):
    """Seconds for the sum of all numbers, slice by slice."""
    chunks = ArrayChunks(np.load(path, mmap_mode="r"))
    start = time.perf_counter()
    for chunk in chunks.read():
        chunk.sum()
    return time.perf_counter() - start


def memory(kind):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(kind)).split()[1]) * 1024


class Watch:
    """Largest anonymous memory while it is open, beyond that at its start."""

    def __init__(self):
        self._stop = threading.Event()
        self._first = memory("RssAnon")
        self.most = 0

    def __enter__(self):
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._stop.set()
        self._thread.join()

    def _look(self):
        while not self._stop.wait(0.01):
            self.most = max(self.most, memory("RssAnon") - self._first)


def measure(name, model, path, y, once):
    with Watch() as watch:
        start = time.perf_counter()
        model.fit(np.load(path, mmap_mode="r"), y)
        seconds = time.perf_counter() - start
    peak = watch.most / 1e9
    passes = getattr(model, "n_passes_", "")
    found = np.count_nonzero(model.get_support(indices=True) < INFORMATIVE)
    return (
        name,
        passes,
        f"{peak:.2f}",
        verdict(peak, LIMIT),
        f"{seconds:.0f}",
        f"{seconds / once:.1f}",
        f"{found} of {int(model.get_support().sum())}",
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=float, default=20.0, help="GB of the file")
    parser.add_argument("--folder", type=Path, default=None, help="where to make it")
    arguments = parser.parse_args()
    rows = []
    for d in (500, 20_000):
        n = int(arguments.size * 1e9 / (4 * d))
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            path = Path(folder) / "X.npy"
            y = make_file(path, n, d)
            few = np.load(path, mmap_mode="r")[:2000]
            for model in (SparseAUCClassifier(k=2), SparseAUCClassifierCV(ks=[1, 2])):
                model.fit(ArrayChunks(few), y[:2000])  # loads and compiles
            once = read_once(path)
            table = f"{n:,} × {d:,}, {path.stat().st_size / 1e9:.1f} GB"
            rows.append((f"{table}: reading it once", 1, "", "", f"{once:.0f}", "1", ""))
            rows.append(
                measure("SparseAUCClassifier(k=50)", SparseAUCClassifier(k=50), path, y, once)
            )
            name = "SparseAUCClassifierCV(ks=1 … 50), 5 folds"
            rows.append(measure(name, SparseAUCClassifierCV(ks=range(1, 51)), path, y, once))
            if d == 500:
                stochastic = SHTAUCClassifier(
                    k=50, batch_size=2000, shuffle=False, block_order="cyclic", max_epochs=3,
                    record_history=False, random_state=0,
                )  # fmt: skip
                name = "SHTAUCClassifier(k=50), 3 epochs in order"
                rows.append(measure(name, stochastic, path, y, once))
    report(
        "out_of_core",
        "Fits of a memory map",
        ["", "readings", "anonymous memory, GB", "limit", "s", "× reading once", "informative"],
        rows,
    )


if __name__ == "__main__":
    main()
