"""CSR with the same non-zeros in ever more columns: what a block costs, and what O(d) explains.

A step must look at all d entries of w − γ∇f once (class means enter all of them) and keep the k
largest. That alone is timed beside it, from nothing (in a run the columns held bound the selection
from below, which makes it cheaper): a block should grow by no more.
"""

from common import interleaved_minimum, report  # isort: skip

import numpy as np
import scipy.sparse as sp

from sparseauc.solvers.sht_auc import TrainingSet, hard_threshold, sht_auc

N, PER_ROW, BATCH, K = 20_000, 14, 1000, 50


def main():
    rng = np.random.default_rng(0)
    columns = np.sort(
        np.argsort(rng.random((N, 123)), axis=1)[:, :PER_ROW], axis=1
    )  # 14 of 123 columns a row, as a9a has
    y = rng.random(N) < 0.24
    rows, first = [], None
    for factor in (1, 10, 100, 1000):
        d = 123 * factor
        X = sp.csr_array(
            (
                np.ones(N * PER_ROW),
                (columns * factor).ravel(),
                np.arange(0, N * PER_ROW + 1, PER_ROW),
            ),
            shape=(N, d),
        )

        def fit(epochs, X=X):
            training = TrainingSet(X, y, batch_size=BATCH, rng=np.random.default_rng(0))
            sht_auc(training, K, step_size=1e-3, max_epochs=epochs, tol=0.0)

        vector = rng.standard_normal(d)
        means = rng.standard_normal((2, d))
        total = np.empty(d)

        def select(vector=vector):
            hard_threshold(vector, K)

        def combine(means=means, total=total):
            np.multiply(means[0], 0.5, out=total)
            np.add(total, means[1], out=total)

        one, two, selecting, combining = interleaved_minimum(
            [lambda: fit(5), lambda: fit(15), select, combine], 10
        )
        block = (two - one) / 10 / (N // BATCH) * 1e6
        alone = (selecting + combining) * 1e6
        first = (d, block, alone) if first is None else first
        rows.append(
            (
                d,
                f"{block:.1f}",
                f"{block / first[1]:.2f}",
                f"{alone:.1f}",
                "" if d == first[0] else f"{1e3 * (block - first[1]) / (d - first[0]):.2f}",
                "" if d == first[0] else f"{1e3 * (alone - first[2]) / (d - first[0]):.2f}",
            )
        )
    report(
        "csr_width",
        f"A block of {BATCH} CSR rows with {PER_ROW} non-zeros each, as columns multiply",
        [
            "d",
            "a block, µs",
            "against d = 123",
            "selection and class means alone, µs",
            "growth of the block, ns a column",
            "growth of those alone, ns a column",
        ],
        rows,
    )


if __name__ == "__main__":
    main()
