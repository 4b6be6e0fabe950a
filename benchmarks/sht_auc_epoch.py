"""Time of one SHT-AUC epoch against one bare pass over the same table (`X.T @ c`).

An epoch is measured as the difference of two fits of E and 2E epochs divided by E, so
that what a fit does once (class means) does not count; the column "with history" adds F
and the training AUC after every epoch, as the classifier records them.
"""

from common import interleaved_minimum, report, verdict  # isort: skip

import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from sparseauc.solvers.sht_auc import TrainingSet, sht_auc


def epoch_ratio(X, y, k, batch_size, epochs, repeats):
    """Epoch, and epoch with history, as multiples of a bare pass; and the pass in milliseconds."""
    c = np.random.default_rng(1).standard_normal(X.shape[0]).astype(X.dtype)

    def fit(n_epochs, callback=None):
        # A fixed step, small enough to stay finite; tol=0 so that all epochs run.
        rng = np.random.default_rng(0)
        training = TrainingSet(X, y > 0, batch_size=batch_size, rng=rng)
        settings = {"step_size": 1e-4, "max_epochs": n_epochs, "tol": 0.0}
        return sht_auc(training, k, callback=callback, **settings)

    bare, one, two, one_seen, two_seen = interleaved_minimum(
        [
            lambda: X.T @ c,
            lambda: fit(epochs),
            lambda: fit(2 * epochs),
            lambda: fit(epochs, lambda _: False),
            lambda: fit(2 * epochs, lambda _: False),
        ],
        repeats,
    )
    return (
        (two - one) / epochs / bare,
        (two_seen - one_seen) / epochs / bare,
        bare * 1e3,
    )


def dense(n, d, dtype):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32).astype(dtype, copy=False)
    y = np.where(np.arange(n) % 20 == 0, 1, -1)
    X[np.ix_(y > 0, np.arange(0, d, max(1, d // 50)))] += 0.5
    return X, y


def a9a():
    path = Path(os.environ.get("SPARSEAUC_DATA", "")) / "a9a.npz"
    if not path.exists():
        return None
    with np.load(path) as file:
        X = sp.csr_array(
            (file["data"].astype(np.float64), file["indices"], file["indptr"]),
            file["shape"],
        )
        return X, file["y"]


def main():
    rows = []
    epoch_ms = {}
    for n, d, dtype, batch_size, k, limit, epochs, repeats in [
        (1000, 1000, np.float64, 64, 20, 1.8, 20, 40),
        (1000, 1000, np.float32, 64, 20, None, 20, 40),
        (1000, 100_000, np.float64, 50, 100, 1.35, 2, 8),
        (1000, 100_000, np.float32, 50, 100, None, 2, 8),
    ]:
        ratio, seen, bare = epoch_ratio(
            *dense(n, d, dtype), k, batch_size, epochs, repeats
        )
        epoch_ms[d, np.dtype(dtype)] = ratio * bare
        name = f"dense {np.dtype(dtype)}, n={n}, d={d}, b={batch_size}, k={k}"
        rows.append(
            (
                name,
                f"{bare:.3f}",
                f"{ratio:.2f}",
                f"{seen:.2f}",
                verdict(ratio, limit) if limit else "",
            )
        )
    real = a9a()
    if real is None:
        rows.append(("CSR a9a", "", "", "", "not measured: SPARSEAUC_DATA is not set"))
    else:
        ratio, seen, bare = epoch_ratio(*real, 50, 1000, 20, 20)
        rows.append(
            (
                "CSR a9a, b=1000, k=50",
                f"{bare:.3f}",
                f"{ratio:.2f}",
                f"{seen:.2f}",
                verdict(ratio, 2.2),
            )
        )
    speedup = (
        epoch_ms[100_000, np.dtype(np.float64)]
        / epoch_ms[100_000, np.dtype(np.float32)]
    )
    rows.append(
        (
            "float32 against float64, d=100000",
            "",
            f"{speedup:.2f} × faster",
            "",
            f"{'kept' if speedup >= 1.7 else 'MISSED'} (≥ 1.7)",
        )
    )
    report(
        "sht_auc_epoch",
        "An SHT-AUC epoch against one bare pass",
        ["case", "bare pass, ms", "epoch / pass", "with history / pass", "limit"],
        rows,
    )


if __name__ == "__main__":
    main()
