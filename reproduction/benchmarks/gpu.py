"""SHT-AUC on a GPU: a large fit, and a grid of fits at once.

Bandwidth is measured in the same run, as the fastest of several reductions of a large tensor.
"""

import measuring  # noqa: F401  # isort: skip
from common import report  # isort: skip

import time

import numpy as np
import torch

from sparseauc_paper.grids import sht_auc_grid


def seconds(function):
    """Time of a call until the device has done all of it."""
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


def grid(n=20_000, d=20_000):
    """A grid of ten k at once against one fit, and against the CPU's answer on part of the rows."""
    positive = np.arange(n) % 20 == 0
    X = torch.randn(n, d, device="cuda")
    X[torch.from_numpy(positive).cuda(), :100] += 0.3
    ks = np.arange(10, 101, 10)
    arguments = {"step_sizes": 1e-5, "batch_size": 2000, "max_epochs": 20, "tol": 0.0}

    def fit(ks, X=X, positive=positive):
        return sht_auc_grid(X, positive, ks=ks, rng=np.random.default_rng(0), **arguments)

    fit(ks)
    one = min(seconds(lambda: fit(ks[:1]))[0] for _ in range(3))
    all_of_them = min(seconds(lambda: fit(ks))[0] for _ in range(3))
    found = fit(ks, X[:2000], positive[:2000]).coef.cpu().numpy()
    expected = fit(ks, X[:2000].cpu().numpy(), positive[:2000]).coef
    same = int(((found != 0) == (expected != 0)).all(axis=1).sum())
    return [
        (f"ten fits at once / one fit, {n} × {d} float32", f"{all_of_them / one:.2f}", "", ""),
        (
            "the same columns as on the CPU, 2000 of the rows",
            f"{same} of {ks.size}",
            "all",
            "kept" if same == ks.size else "MISSED",
        ),
    ]


def epoch_seconds(X, positive, few, many):
    """Time of an epoch, from fits of few and of many, so that what a fit does once drops out."""

    def fit(epochs):
        return sht_auc_grid(
            X,
            positive,
            ks=100,
            step_sizes=1e-6,
            batch_size=2000,
            max_epochs=epochs,
            tol=0.0,
            rng=np.random.default_rng(0),
        )

    fit(1)
    short = min(seconds(lambda: fit(few))[0] for _ in range(5))
    long = min(seconds(lambda: fit(many))[0] for _ in range(5))
    return (long - short) / (many - few)


def one_large_fit(bandwidth, n=20_000, d=200_000):
    positive = np.arange(n) % 20 == 0
    X = torch.randn(n, d, device="cuda")
    X[torch.from_numpy(positive).cuda(), :100] += 0.3
    epochs = [epoch_seconds(X, positive, 5, 25) for _ in range(3)]
    epoch = max(epochs)
    share = X.nbytes / epoch / bandwidth
    return [
        (
            f"an epoch of {n} × {d} float32 ({X.nbytes / 1e9:.0f} GB), b=2000, k=100",
            ", ".join(f"{one * 1e3:.2f}" for one in epochs) + " ms",
            "",
            "",
        ),
        (
            "  share of the read bandwidth, the slowest of three",
            f"{share:.0%} ({X.nbytes / epoch / 1e12:.2f} of {bandwidth / 1e12:.2f} TB/s)",
            "≥ 65 %",
            "kept" if share >= 0.65 else "MISSED",
        ),
    ]


def main():
    if not torch.cuda.is_available():
        print("not measured: torch finds no GPU")
        return
    bandwidth = read_bandwidth()
    torch.cuda.empty_cache()
    rows = one_large_fit(bandwidth)
    torch.cuda.empty_cache()
    rows += grid()
    name = torch.cuda.get_device_name()
    report(
        "gpu",
        f"SHT-AUC on one {name}, torch {torch.__version__}",
        ["what", "measured", "limit", ""],
        rows,
    )


if __name__ == "__main__":
    main()
