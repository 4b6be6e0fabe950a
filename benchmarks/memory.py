"""Peak memory that a fit takes beyond X and y, against 6·d numbers and the block.

Everything of size d or n is allocated by NumPy, so tracemalloc sees it. Besides the
vectors of length d a fit keeps labels, an order of the rows and their scores: some 40
bytes a row, against the 8·d bytes of the row itself, as the first three lines show.
"""

from common import report  # isort: skip

import tracemalloc

import numpy as np
import scipy.sparse as sp

from sparseauc import SHTAUCClassifier


def extra(X, y, **parameters):
    model = SHTAUCClassifier(max_epochs=2, random_state=0, **parameters)
    model.fit(X[:200], y[:200])  # compiles, imports
    tracemalloc.start()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return peak


def main():
    rng = np.random.default_rng(0)
    rows = []
    for n, d, dtype in [
        (1000, 20_000, np.float64),
        (4000, 20_000, np.float64),
        (16_000, 20_000, np.float64),
        (1000, 100_000, np.float64),
        (1000, 100_000, np.float32),
    ]:
        X = rng.standard_normal((n, d), dtype=np.float32).astype(dtype, copy=False)
        y = np.arange(n) % 20 == 0
        size = np.dtype(dtype).itemsize
        peak = extra(X, y, k=50, batch_size=50)
        limit = 6 * d * size + 50 * d * size
        rows.append(
            (
                f"dense {np.dtype(dtype)}, n={n}, d={d}, b=50",
                f"{X.nbytes / 2**20:.0f}",
                f"{peak / 2**20:.2f}",
                f"{peak / (d * size):.1f}",
                f"{'kept' if peak <= limit else 'MISSED'} (≤ {limit / 2**20:.0f} MiB)",
            )
        )
        del X
    X = sp.random_array(
        (5000, 200_000),
        density=0.00025,
        format="csr",
        rng=rng,
        data_sampler=rng.standard_normal,
    )
    y = np.arange(5000) % 20 == 0
    peak = extra(X, y, k=50, batch_size=50)
    limit = 6 * 200_000 * 8 + 50 * 50 * 12
    rows.append(
        (
            "CSR float64, n=5000, d=200000, 50 non-zeros a row, b=50",
            f"{X.data.nbytes * 1.5 / 2**20:.0f}",
            f"{peak / 2**20:.2f}",
            f"{peak / (200_000 * 8):.1f}",
            f"{'kept' if peak <= limit else 'MISSED'} (≤ {limit / 2**20:.1f} MiB)",
        )
    )
    report(
        "memory",
        "Peak memory of a fit beyond its input",
        [
            "case",
            "X, MiB",
            "extra, MiB",
            "extra / d numbers",
            "limit: 6·d numbers + the block",
        ],
        rows,
    )


if __name__ == "__main__":
    main()
