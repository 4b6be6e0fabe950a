"""The change of AUC that ``replacements`` reports for an exchange, against 20 000 fresh rows.

The true change is that of the list and of its variant, both with coefficients of all
training rows. Every draw has the two best replacements of each column on the list.
"""

from common import report  # isort: skip

import sys
import warnings

import numpy as np

from sparseauc import SparseAUCClassifier
from sparseauc.metrics import auc
from sparseauc.selection import replacements

DRAWS = 40
ALPHA = 0.1
# Rows, columns, correlation of neighbours, columns on the list, effect of every fifth
# column, and whether columns are skewed, some of them cut to 0 and 1.
DESIGNS = {
    "150 rows, 30 columns, correlation 0.7": (150, 30, 0.7, 4, 0.5, False),
    "500 rows, 30 columns, correlation 0.7": (500, 30, 0.7, 4, 0.5, False),
    "150 rows, 30 columns of noise": (150, 30, 0.3, 4, 0.0, False),
    "100 rows, 200 columns, correlation 0.5": (100, 200, 0.5, 5, 0.5, False),
    "300 rows, 40 skewed columns, correlation 0.95": (300, 40, 0.95, 4, 0.6, True),
}


def draw(rng, n, d, correlation, effect, skewed):
    steps = np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    root = np.linalg.cholesky(correlation**steps)
    y = (rng.random(n) < 0.35).astype(int)
    X = rng.normal(size=(n, d)) @ root.T
    X[:, ::5] += effect * y[:, None]
    if skewed:
        X = np.exp(X)
        X[:, ::3] = X[:, ::3] > 1.5
    return X, y


def fresh_auc(X, y, columns, X_new, y_new):
    """AUC of new rows, with coefficients of least loss on some columns of the training rows."""
    model = SparseAUCClassifier(len(columns), ALPHA).fit(X[:, columns], y)
    return auc(y_new, X_new[:, columns] @ model.coef_[0])


def judge(seed, n, d, correlation, k, effect, skewed):
    """Reported change, its interval and the true change, of each exchange."""
    rng = np.random.default_rng(seed)
    X, y = draw(rng, n, d, correlation, effect, skewed)
    X_new, y_new = draw(rng, 20_000, d, correlation, effect, skewed)
    model = SparseAUCClassifier(k, ALPHA).fit(X, y)
    chosen = np.flatnonzero(model.coef_[0])
    before = fresh_auc(X, y, chosen, X_new, y_new)
    found = []
    for one in replacements(model, X, y, n_best=2).itertuples():
        variant = np.append(chosen[chosen != one.column], one.replacement)
        true = fresh_auc(X, y, variant, X_new, y_new) - before
        found.append([one.auc_change, one.low, one.high, true])
    return found


def main(draws=DRAWS):
    rows = []
    for name, (n, d, correlation, k, effect, skewed) in DESIGNS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            by_draw = [
                np.array(judge(seed, n, d, correlation, k, effect, skewed))
                for seed in range(1000, 1000 + draws)
            ]
        change, low, high, true = np.concatenate(by_draw).T
        biases = [np.mean(part[:, 0] - part[:, 3]) for part in by_draw]
        error = np.std(biases, ddof=1) / np.sqrt(draws)
        rows.append(
            [name, f"{change.mean():+.4f}", f"{true.mean():+.4f}",
             f"{np.mean(change - true):+.4f} ± {error:.4f}",
             f"{100 * np.mean((low <= true) & (true <= high)):.0f} %",
             f"{np.corrcoef(change, true)[0, 1]:.2f}"]
        )  # fmt: skip
        print(rows[-1], flush=True)
    report(
        "replacements",
        f"Change of AUC by a replacement, reported and true: {draws} draws of five designs",
        ["Training rows", "reported, mean", "true, mean", "difference", "95 % interval holds",
         "correlation"],
        rows,
    )  # fmt: skip


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
