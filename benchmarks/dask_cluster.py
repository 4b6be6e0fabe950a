"""Path and cross-validation on a Dask cluster: passes over the data and memory of the workers.

Rows are made on the fly by a function that counts its calls, so a pass that is not
reported would show. The memory of a worker is its resident memory, sampled, beyond that
of the same worker before the fit, when a small fit has loaded all code. A smaller table
is fitted in memory as well, to see that the answers are equal.
"""

from common import Watch, memory_of, report, verdict  # isort: skip

import argparse
import os
import tempfile
import time
from functools import partial
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from sparseauc import SparseAUCClassifierCV

INFORMATIVE, SHARE, SHIFT = 30, 0.05, 0.15
MOST_PASSES, MOST_CHUNKS = 5, 4


def make_chunk(folder, number, rows, d):
    """Rows of a chunk and their labels; leaves a mark that it was called."""
    with (Path(folder) / str(number)).open("a") as file:
        file.write("x")
    rng = np.random.default_rng((0, number))
    y = rng.random(rows) < SHARE
    X = rng.standard_normal((rows, d), dtype=np.float32)
    X[:, :INFORMATIVE] += np.float32(SHIFT) * y[:, None].astype(np.float32)
    return X, y


def collections(folder, chunks, rows, d):
    parts = [
        dask.delayed(make_chunk, nout=2)(str(folder), number, rows, d)
        for number in range(chunks)
    ]
    X = da.concatenate([da.from_delayed(x, (rows, d), np.float32) for x, _ in parts])
    y = da.concatenate(
        [da.from_delayed(labels, (rows,), np.bool_) for _, labels in parts]
    )
    return X, y


def grown(pids, first):
    """Memory of the worker that grew most since its first reading."""
    return max(
        memory_of(pid, "VmRSS") - before
        for pid, before in zip(pids, first, strict=True)
    )


def fit(client, chunks, rows, d):
    pids = list(client.run(os.getpid).values())
    with tempfile.TemporaryDirectory() as folder:
        X, y = collections(folder, chunks, rows, d)
        first = [memory_of(pid, "VmRSS") for pid in pids]
        with Watch(partial(grown, pids, first)) as watch:
            start = time.perf_counter()
            model = SparseAUCClassifierCV().fit(X, y)
            seconds = time.perf_counter() - start
        calls = sum(path.stat().st_size for path in Path(folder).iterdir())
    return model, seconds, calls / chunks, watch.most / (rows * d * 4)


def difference(d):
    """Largest difference of coefficients and of mean AUCs from those found in memory."""
    with tempfile.TemporaryDirectory() as folder:
        X, y = collections(folder, 8, 2500, d)
        # Double precision in memory: products of float32 rows are single precision
        # there.
        in_memory = SparseAUCClassifierCV().fit(
            X.astype(np.float64).compute(scheduler="sync"), y.compute(scheduler="sync")
        )
        model = SparseAUCClassifierCV().fit(X.astype(np.float64), y)
    coef = np.abs(model.coef_ - in_memory.coef_).max()
    name = "mean_test_score"
    return coef, np.abs(model.cv_results_[name] - in_memory.cv_results_[name]).max()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=float, default=5e6, help="number of rows")
    size = int(parser.parse_args().size)
    d, rows = 500, 50_000
    chunks = max(2, size // rows)
    rows = min(rows, size // chunks)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        coef, auc = difference(d)  # also loads and compiles
        model, seconds, passes, memory = fit(client, chunks, rows, d)
    found = np.count_nonzero(model.get_support(indices=True) < INFORMATIVE)
    report(
        "dask_cluster",
        "Path and cross-validation on a Dask cluster of two workers",
        ["what", "measured", "limit"],
        [
            (
                f"{chunks * rows:,} × {d} float32, made on the fly in {chunks} chunks of "
                f"{rows * d * 4 / 2**20:.0f} MiB",
                f"{model.n_splits_} folds, {len(model.cv_results_['params'])} models each",
                "",
            ),
            (
                "passes, counted where chunks are made",
                f"{passes:g}",
                verdict(passes, MOST_PASSES),
            ),
            ("passes that the model reports, `n_passes_`", model.n_passes_, ""),
            (
                "peak memory of a worker beyond the idle one, in chunks",
                f"{memory:.2f}",
                verdict(memory, MOST_CHUNKS),
            ),
            ("time", f"{seconds:.0f} s", ""),
            (
                "chosen",
                f"k = {model.k_}, of these {found} among the {INFORMATIVE} informative; "
                f"AUC {model.best_score_:.4f}",
                "",
            ),
            ("validation AUCs may be off by", f"{model.auc_error_:.1e} at most", ""),
            (
                "20,000 rows: coefficients against those in memory",
                f"{coef:.1e}",
                verdict(coef, 1e-8),
            ),
            (
                "20,000 rows: mean AUCs against those in memory",
                f"{auc:.1e}",
                verdict(auc, 1e-8),
            ),
        ],
    )


if __name__ == "__main__":
    main()
