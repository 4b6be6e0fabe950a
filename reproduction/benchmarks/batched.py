"""Ten values of k at once against one fit, float32, one thread, 50 epochs.

"One fit" is the mean of ten separate fits, one for each k; both sides start from the rows, so that
class means count on both. All ten models visit the same blocks, as a grid search would have them.
"""

import measuring  # noqa: F401  # isort: skip
from common import interleaved_minimum, report, verdict  # isort: skip

import numpy as np
from sklearn.utils import check_random_state

from sparseauc import SHTAUCClassifier
from sparseauc_paper.grids import sht_auc_grid

KS = np.arange(10, 101, 10)
EPOCHS = 50


def table(n, d):
    """Independent columns, 5 % positives, twenty columns that matter, rows of norm one."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32)
    positive = np.arange(n) % 20 == 0
    X[np.ix_(positive, np.arange(0, d, d // 20))] += 0.3
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, positive


def measure(n, d, batch_size, step_size, repeats):
    """Time of the grid in seconds, and mean time of one fit."""
    X, positive = table(n, d)
    common = {
        "batch_size": batch_size,
        "max_epochs": EPOCHS,
        "tol": 0.0,
    }

    def one(k):
        model = SHTAUCClassifier(
            k, step_size=step_size, record_history=False, random_state=0, **common
        )
        return model.fit(X, positive).coef_[0]

    def ten():
        # The generator that a classifier makes of its random_state.
        seed = check_random_state(0).randint(2**31 - 1, size=2)[1]
        rng = np.random.default_rng(seed)
        return sht_auc_grid(X, positive, ks=KS, step_sizes=step_size, rng=rng, **common)

    grid = ten()
    for k, coef in zip(KS, grid.coef, strict=True):
        difference = np.abs(one(int(k)) - coef).max()
        if difference > 1e-4 * np.abs(coef).max():
            raise RuntimeError(f"k={k}: the grid and the single fit differ by {difference:.1e}")
    together, *apart = interleaved_minimum([ten, *(lambda k=int(k): one(k) for k in KS)], repeats)
    return together, float(np.mean(apart))


def main():
    rows = []
    for n, d, batch_size, step_size, repeats, limit in [
        (640, 1000, 64, 0.05, 30, 6),
        (1000, 100_000, 50, 0.05, 2, 5),
    ]:
        together, one = measure(n, d, batch_size, step_size, repeats)
        rows.append(
            (
                f"n={n}, d={d}, b={batch_size}, k = 10, 20 … 100",
                f"{one * 1e3:.1f}",
                f"{together * 1e3:.1f}",
                f"{together / one:.2f}",
                verdict(together / one, limit),
            )
        )
    report(
        "batched",
        "Ten values of k at once",
        ["case", "one fit, ms", "ten at once, ms", "ratio", "limit"],
        rows,
    )


if __name__ == "__main__":
    main()
