"""SHT-AUC on a GPU: the paper's whole tuning, one large fit, and rows that stream through it.

Bandwidth is measured in the same run, as the fastest of several reductions of a large tensor. The
answers of the tuning are compared with those of the CPU on some of the training sets.
"""

from common import report  # isort: skip

import os
import time

import numpy as np
import torch

from sparseauc.device import DeviceObjective, DeviceTables
from sparseauc.solvers.batched import sht_auc_grid, sht_auc_on_device

KS = np.arange(10, 101, 10)
BATCH_SIZES = (640, 320, 160, 80, 64)
RATIO = 0.05
STEP = RATIO * (1 - RATIO)  # the published programs' c = 1
EPOCHS = 50
SAMPLE = 4


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


def training_sets(n_sets):
    """The paper's synthetic task: 640 × 1000, 20 columns that matter, z-scores, rows of norm 1."""
    generator = torch.Generator("cuda").manual_seed(0)
    X = torch.randn(n_sets, 640, 1000, device="cuda", generator=generator)
    positive = np.arange(640) < round(RATIO * 640)
    X[:, : int(positive.sum()), :20] += 0.3
    X -= X.mean(dim=1, keepdim=True)
    X /= X.std(dim=1, keepdim=True)
    X /= X.norm(dim=2, keepdim=True)
    return X, np.broadcast_to(positive, (n_sets, 640))


def tune(X, positive):
    """All models of the tuning, batch size by batch size."""
    return [
        sht_auc_grid(
            X,
            positive,
            ks=KS,
            step_sizes=STEP,
            batch_size=batch_size,
            max_epochs=EPOCHS,
            tol=0.0,
            rng=np.random.default_rng(0),
        )
        for batch_size in BATCH_SIZES
    ]


def tuning(n_sets=5000):
    X, positive = training_sets(n_sets)
    tune(X[:8], positive[:8])
    fits = n_sets * KS.size * len(BATCH_SIZES)
    time_taken, results = seconds(lambda: tune(X, positive))
    sample = np.linspace(0, n_sets - 1, SAMPLE).astype(int)
    rows = [
        (
            f"{fits} fits of {EPOCHS} epochs, 640 × 1000",
            f"{time_taken:.2f} s",
            "≤ 10 s",
            "kept" if time_taken <= 10 else "MISSED",
        )
    ]
    reference = tune(X[sample].cpu().numpy(), positive[sample])
    same, worst = 0, 0.0
    for found, expected in zip(results, reference, strict=True):
        coef = found.coef[sample].cpu().numpy()
        scale = np.abs(expected.coef).max(axis=-1)
        difference = np.abs(coef - expected.coef).max(axis=-1) / scale
        same += int(((coef != 0) == (expected.coef != 0)).all(axis=-1).sum())
        worst = max(worst, float(difference.max()))
    models = SAMPLE * KS.size * len(BATCH_SIZES)
    rows.append(
        (
            f"the same columns as on the CPU, {models} of these fits",
            f"{same} of {models}",
            "all",
            "kept" if same == models else "MISSED",
        )
    )
    rows.append(
        (
            "largest difference of a coefficient, relative to the largest",
            f"{worst:.1e}",
            "≤ 1e-4",
            "kept" if worst <= 1e-4 else "MISSED",
        )
    )
    return rows


def epoch_seconds(objective, batch_size, k, few, many):
    """Time of an epoch, from fits of few and of many, so that what a fit does once drops out."""

    def fit(epochs):
        return sht_auc_on_device(
            objective,
            k,
            batch_size=batch_size,
            step_size=1e-6,
            max_epochs=epochs,
            tol=0.0,
            rng=np.random.default_rng(0),
        )

    fit(1)
    short = min(seconds(lambda: fit(few))[0] for _ in range(2))
    long = min(seconds(lambda: fit(many))[0] for _ in range(2))
    return (long - short) / (many - few)


def one_large_fit(bandwidth, n=20_000, d=200_000):
    positive = np.arange(n) % 20 == 0
    X = torch.randn(n, d, device="cuda")
    X[torch.from_numpy(positive).cuda(), :100] += 0.3
    tables = DeviceTables(X[None], positive[None], None, X.device)
    epoch = epoch_seconds(DeviceObjective(tables), 2000, 100, 5, 25)
    share = X.nbytes / epoch / bandwidth
    return [
        (
            f"an epoch of {n} × {d} float32 ({X.nbytes / 1e9:.0f} GB), b=2000, k=100",
            f"{epoch * 1e3:.2f} ms",
            "",
            "",
        ),
        (
            "  its share of the read bandwidth",
            f"{share:.0%} ({X.nbytes / epoch / 1e12:.2f} of {bandwidth / 1e12:.2f} TB/s)",
            "≥ 50 %",
            "kept" if share >= 0.5 else "MISSED",
        ),
    ]


def streamed_fit(n=20_000, d=100_000):
    positive = np.arange(n) % 20 == 0
    # Made on the GPU: it takes the host minutes.
    X = torch.randn(n, d, device="cuda").cpu().numpy()
    tables = DeviceTables(X[None], positive[None], None, torch.device("cuda"), streamed=True)
    epoch = epoch_seconds(DeviceObjective(tables), 2000, 100, 1, 4)
    pinned = torch.empty(2**28, pin_memory=True)  # 1 GiB
    target = torch.empty(2**28, device="cuda")
    copy = min(seconds(lambda: target.copy_(pinned, non_blocking=True))[0] for _ in range(5))
    return [
        (
            f"an epoch of {n} × {d} float32 ({X.nbytes / 1e9:.0f} GB) streamed from the host",
            f"{epoch:.2f} s",
            "",
            "",
        ),
        (
            "  its rate, and that of a copy of page-locked memory",
            f"{X.nbytes / epoch / 1e9:.1f} of {pinned.nbytes / copy / 1e9:.1f} GB/s",
            "",
            "",
        ),
    ]


def main():
    if not torch.cuda.is_available():
        print("not measured: torch finds no GPU")
        return
    # Rows that stream are gathered by all cores; the rest of the work is the device's.
    torch.set_num_threads(os.cpu_count() or 1)
    bandwidth = read_bandwidth()
    torch.cuda.empty_cache()
    rows = one_large_fit(bandwidth)
    torch.cuda.empty_cache()
    rows = tuning() + rows
    torch.cuda.empty_cache()
    rows += streamed_fit()
    name = torch.cuda.get_device_name()
    report(
        "gpu",
        f"SHT-AUC on one {name}, torch {torch.__version__}",
        ["what", "measured", "limit", ""],
        rows,
    )


if __name__ == "__main__":
    main()
