"""How the time of a fit grows with rows and with columns: on the CPU, on a GPU, on Dask.

``SparseAUCClassifier(k=10)`` over two decades of n and of d. Exponents are those of a straight line
through the upper half of the points on log axes; below, what a fit costs whatever its size shows.
Each place is measured where it is found and kept in ``results/growth.json``; the figure shows all.
"""

from common import RESULTS, report  # isort: skip

import argparse
import json
import time

import numpy as np

from sparseauc import SparseAUCClassifier

SIZES = {
    # rows at a fixed number of columns, columns at a fixed number of rows
    "CPU": (
        (1_000, 3_162, 10_000, 31_623, 100_000), 1_000, (100, 316, 1_000, 3_162, 10_000), 2_000,
    ),
    "GPU": (
        (10_000, 31_623, 100_000, 316_228, 1_000_000), 2_000,
        (2_000, 6_325, 20_000, 63_246, 200_000), 10_000,
    ),
    "Dask": (
        (20_000, 63_246, 200_000, 632_456, 2_000_000), 100, (20, 63, 200, 632, 2_000), 20_000,
    ),
}  # fmt: skip
KEPT = RESULTS / "growth.json"


def labels(n):
    return np.arange(n) % 20 == 0


def on_cpu(n, d):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32)
    X[labels(n), :10] += 0.5
    return lambda: SparseAUCClassifier(k=10).fit(X, labels(n))


def on_gpu(n, d):
    import torch

    X = torch.randn(n, d, device="cuda", generator=torch.Generator("cuda").manual_seed(0))
    X[torch.from_numpy(labels(n)).cuda(), :10] += 0.5

    def fit():
        SparseAUCClassifier(k=10).fit(X, labels(n))
        torch.cuda.synchronize()

    return fit


def on_dask(n, d):
    import dask.array as da

    rows = max(1, min(n, 2**24 // d))
    # Chunks are made anew on every reading, on the workers.
    X = da.random.default_rng(0).standard_normal((n, d), chunks=(rows, d), dtype=np.float32)
    y = da.from_array(labels(n), chunks=rows)
    X = X + 0.5 * (y[:, None] & (da.arange(d, chunks=d) < 10))
    return lambda: SparseAUCClassifier(k=10).fit(X.astype(np.float32), y)


def measure(build, ns, d, ds, n, repeats):
    """Least time of several fits for each size, as (n, d, seconds)."""
    found = {"n": [], "d": []}
    for axis, sizes in (("n", [(size, d) for size in ns]), ("d", [(n, size) for size in ds])):
        for size in sizes:
            fit = build(*size)
            fit()
            least = np.inf
            for _ in range(repeats):
                start = time.perf_counter()
                fit()
                least = min(least, time.perf_counter() - start)
            found[axis].append([*size, least])
            print(axis, *size, f"{least:.4f} s", flush=True)
    return found


def exponent(sizes, times):
    half = len(sizes) // 2
    return float(np.polyfit(np.log(sizes[half:]), np.log(times[half:]), 1)[0])


def draw(kept):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
    rows = []
    styles = {"CPU": ("#0072B2", "o"), "GPU": ("#D55E00", "s"), "Dask": ("#009E73", "D")}
    for ax, axis, place, name in ((axes[0], "n", 0, "rows"), (axes[1], "d", 1, "columns")):
        for where, found in kept.items():
            sizes = np.array([point[place] for point in found[axis]])
            times = np.array([point[2] for point in found[axis]])
            power = exponent(sizes, times)
            fixed = found[axis][0][1 - place]
            other = "columns" if axis == "n" else "rows"
            colour, marker = styles[where]
            ax.loglog(
                sizes, times, color=colour, marker=marker,
                label=f"{where}, {fixed:,} {other}: {name}$^{{{power:.2f}}}$",
            )  # fmt: skip
            rows.append(
                (where, f"{sizes[0]:,} … {sizes[-1]:,} {name}", f"{fixed:,} {other}",
                 f"{times[0]:.3f} … {times[-1]:.3f} s", f"{power:.2f}")
            )  # fmt: skip
        ax.set_xlabel(name)
        ax.grid(alpha=0.3)
        ax.legend(fontsize=8)
    axes[0].set_ylabel("seconds")
    figure.suptitle("Time of SparseAUCClassifier(k=10).fit, and its exponent over the upper half")
    figure.savefig(RESULTS / "growth.png", dpi=110)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("where", nargs="*", choices=SIZES, help="measure there; nothing: draw only")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for where in arguments.where:
        build = {"CPU": on_cpu, "GPU": on_gpu, "Dask": on_dask}[where]
        if where == "Dask":
            from distributed import Client, LocalCluster

            with (
                LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
                Client(cluster),
            ):
                kept[where] = measure(build, *SIZES[where], arguments.repeats)
        else:
            kept[where] = measure(build, *SIZES[where], arguments.repeats)
    KEPT.write_text(json.dumps({where: kept[where] for where in SIZES if where in kept}) + "\n")
    rows = draw({where: kept[where] for where in SIZES if where in kept})
    report(
        "growth",
        "Time of a fit against rows and columns; the CPU and Dask on the machine below, "
        "the GPU on an H200",
        ["where", "over", "at", "seconds", "exponent"],
        rows,
    )


if __name__ == "__main__":
    main()
