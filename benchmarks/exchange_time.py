"""Time of the whole path, of its cross-validation, and both at scale, against peers in one run."""

from common import interleaved_minimum, report, verdict  # isort: skip

import os
import tracemalloc
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from sparseauc import SHTAUCClassifier, SparseAUCClassifierCV, sparse_auc_path
from sparseauc.datasets import make_outbreak
from sparseauc.defaults import WIDE_ALPHAS

KS = np.arange(1, 51)


def paper_size():
    """Path and cross-validation at n = d = 1000."""
    rows = []
    for correlation in (0.0, 0.6, 0.9):
        X, y = make_outbreak(correlation=correlation, random_state=0)

        def sht(X=X, y=y):
            SHTAUCClassifier(20, tol=0.0, record_history=False, random_state=0).fit(
                X, y
            )

        def find(X=X, y=y, *, thorough=True):
            sparse_auc_path(X, y, KS, thorough=thorough)

        fit, path, quick = interleaved_minimum(
            [sht, find, partial(find, thorough=False)], 15
        )
        cv = interleaved_minimum(
            [lambda X=X, y=y: SparseAUCClassifierCV(KS, cv=5).fit(X, y)], 3
        )[0]
        name = f"AR({correlation})" if correlation else "independent"
        rows += [
            (
                f"path k = 1…50, {name}, r = 0.05",
                f"{path * 1e3:.0f} ms",
                f"{path / fit:.1f} × a 50-epoch SHT-AUC fit ({fit * 1e3:.1f} ms)",
                verdict(path / fit, 6),
            ),
            (
                f"the same by single exchanges alone, {name}",
                f"{quick * 1e3:.0f} ms",
                f"{quick / fit:.1f} × that fit",
                verdict(quick / fit, 6),
            ),
            (
                f"CV of 50 k × {len(WIDE_ALPHAS)} alpha × 5 folds and refit, {name}",
                f"{cv:.2f} s",
                f"{cv / path:.1f} × one path",
                verdict(cv / path, 25),
            ),
        ]
    return rows


def at_scale(name, X, y, passes):
    """Path on a wide table: time in bare passes, extra memory in k·d numbers."""
    c = np.ones(X.shape[0], X.dtype)
    bare = interleaved_minimum([lambda: X.T @ c], 5)[0]
    seconds = interleaved_minimum([lambda: sparse_auc_path(X, y, KS)], 3)[0]
    tracemalloc.start()
    sparse_auc_path(X, y, KS)
    peak = tracemalloc.get_traced_memory()[1] / 8 / (50 * X.shape[1])
    tracemalloc.stop()
    return [
        (
            f"path k = 1…50, {name}",
            f"{seconds:.1f} s",
            f"{seconds / bare:.0f} bare passes of {bare * 1e3:.1f} ms; {peak:.2f} k·d numbers",
            f"passes {verdict(seconds / bare, passes)}, memory {verdict(peak, 6)}",
        )
    ]


def dorothea():
    path = Path(os.environ.get("SPARSEAUC_DATA", "")) / "dorothea.npz"
    if not path.exists():
        return [("dorothea", "", "not measured: SPARSEAUC_DATA is not set", "")]
    with np.load(path) as file:
        X = sp.csr_array(
            (file["data"].astype(np.float64), file["indices"], file["indptr"]),
            file["shape"],
        )
        return at_scale("dorothea (CSR, 1150 × 100 000)", X, file["y"], passes=1800)


def main():
    rows = paper_size()
    X, y = make_outbreak(n=1000, d=100_000, k=20, dtype=np.float32, random_state=0)
    rows += at_scale("dense float32, n = 1000, d = 100 000", X, y, passes=300)
    rows += dorothea()
    report(
        "exchange_time",
        "The whole path, and its cross-validation: time and memory",
        ["what", "time", "against", "limit"],
        rows,
    )


if __name__ == "__main__":
    main()
