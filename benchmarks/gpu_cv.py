"""SparseAUCClassifierCV with moments computed on a GPU, beside the same on all CPU cores.

Columns are chosen on the CPU in both; what the GPU does is the readings of X: means and
variances, rows of H for all folds at once, scores of validation rows. Their rate is set
against that of a reduction of a large tensor. Times on the GPU are the least of five;
the first call takes longer, as libraries choose their kernels and memory is set aside.
"""

from common import report  # isort: skip

import os
import time

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from sparseauc import SparseAUCClassifierCV
from sparseauc.chunks import DeviceChunks
from sparseauc.defaults import ALPHAS, WIDE_ALPHAS

KS = range(1, 51)
REPEATS = 5
SIZES = (50_000, 20_000), (20_000, 50_000)


class TimedChunks(DeviceChunks):
    """Counts the readings and their time."""

    seconds = 0.0
    whole = 0

    def run(self, work, *known, columns=None):
        torch.cuda.synchronize()
        start = time.perf_counter()
        state = super().run(work, *known, columns=columns)
        torch.cuda.synchronize()
        self.seconds += time.perf_counter() - start
        self.whole += columns is None
        return state


def seconds(function):
    """Time of a call until the device has done all of it, and what it returns."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    result = function()
    torch.cuda.synchronize()
    return time.perf_counter() - start, result


def read_bandwidth():
    """Bytes a second that a reduction of 8 GB reads."""
    table = torch.randn(20_000, 100_000, device="cuda")
    best = np.inf
    for reduce in (torch.sum, torch.amax, lambda t: t.sum(1), lambda t: t.sum(0)):
        for _ in range(5):
            best = min(best, seconds(lambda reduce=reduce: reduce(table))[0])
    return table.nbytes / best


def compare(n, d, bandwidth):
    """Cross-validate one table on the GPU and on the CPU; return rows of the report."""
    cores = os.cpu_count()
    torch.cuda.empty_cache()
    generator = torch.Generator("cuda").manual_seed(0)
    X = torch.randn(n, d, device="cuda", generator=generator)
    # Neighbours share noise, as real columns do.
    X[:, 1:] += 0.7 * X[:, :-1].clone()
    y = np.arange(n) % 20 == 0
    X[torch.from_numpy(y).cuda(), ::997] += 0.15
    settings = {"ks": KS, "cv": 5, "n_jobs": 6}
    # Kernels are compiled, and libraries loaded, before the clock starts.
    SparseAUCClassifierCV(**settings).fit(X[:2000, :3000].contiguous(), y[:2000])
    with threadpool_limits(cores):
        runs = []
        for _ in range(REPEATS):
            chunks = TimedChunks(X, X.device)
            fitted = seconds(
                lambda c=chunks: SparseAUCClassifierCV(**settings).fit(c, y)
            )
            runs.append((*fitted, chunks))
        first = runs[0][0]
        on_gpu, model, chunks = min(runs, key=lambda run: run[0])
        host = X.cpu().numpy()
        del X
        start = time.perf_counter()
        other = SparseAUCClassifierCV(**settings).fit(host, y)
        on_cpu = time.perf_counter() - start
    size = host.nbytes
    same = model.k_ == other.k_ and np.array_equal(
        model.get_support(), other.get_support()
    )
    apart = np.abs(model.coef_ - other.coef_).max() / np.abs(other.coef_).max()
    ridges = len(ALPHAS if d < n else WIDE_ALPHAS)
    what = f"5 folds × 50 k × {ridges} ridges, {n} × {d} float32 ({size / 1e9:.0f} GB)"
    return [
        (f"{what}, on the GPU", f"{on_gpu:.1f} s ({first:.1f} s at first)"),
        (f"the same on {cores} CPU cores", f"{on_cpu:.1f} s, {on_cpu / on_gpu:.1f} times as long"),
        ("  the same columns; largest difference of coefficients",
         f"{'yes' if same else 'NO'}; {apart:.1e} (the CPU multiplies in float32)"),
        ("readings of all columns, and of the columns in use",
         f"{chunks.whole} and {chunks.n_passes - chunks.whole}, {chunks.seconds:.2f} s together"),
        ("  bytes read by them against a reduction",
         f"{chunks.whole * size / chunks.seconds / 1e12:.2f} of {bandwidth / 1e12:.2f} TB/s"),
        ("choosing columns, on the CPU", f"{on_gpu - chunks.seconds:.1f} s"),
        ("chosen",
         f"k = {model.k_}, ridge {model.alpha_:g}, validation AUC {model.best_score_:.4f}"),
    ]  # fmt: skip


def main():
    if not torch.cuda.is_available():
        print("not measured: torch finds no GPU")
        return
    bandwidth = read_bandwidth()
    rows = [row for n, d in SIZES for row in compare(n, d, bandwidth)]
    report(
        "gpu_cv",
        f"Cross-validation on one {torch.cuda.get_device_name()}, torch {torch.__version__}",
        ["what", "measured"],
        rows,
    )


if __name__ == "__main__":
    main()
