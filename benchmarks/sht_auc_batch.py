"""Rows of a block of SHT-AUC: test AUC, F and processor time, by the share of positives.

CSR tables are divided by the largest magnitude of each column, dense ones standardised.
Five splits, 70 % of the rows to train; of the simulated tables five draws. Blocks of
20/r rows have 20 positives on average; they have at least 64 rows, and at most a
quarter of the table. 256 is the default.
"""

from common import report  # isort: skip

import os
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from sparseauc import SHTAUCClassifier, SparseAUCClassifier
from sparseauc.datasets import make_outbreak
from sparseauc.metrics import auc

MOST_ROWS = 15_000
SIZES = ("64", "256", "15/r", "20/r", "30/r", "1024")
SPLITS = range(20, 25)


def size_of(name, n, r):
    if name.endswith("/r"):
        return round(max(64.0, min(float(name[:-2]) / min(r, 1 - r), n / 4)))
    return int(name)


def stored(name):
    with np.load(Path(os.environ["SPARSEAUC_DATA"]) / f"{name}.npz") as file:
        positive = file["y"] > 0
        if "X" in file:
            return file["X"].astype(np.float64), positive
        parts = (file["data"].astype(np.float64), file["indices"], file["indptr"])
        return sp.csr_array(parts, tuple(file["shape"])), positive


def splits_of(name):
    X, positive = stored(name)
    for seed in SPLITS:
        order = np.random.default_rng(seed).permutation(positive.size)
        cut = int(0.7 * order.size)
        train, test = order[:cut][:MOST_ROWS], order[cut:]
        scaler = (MaxAbsScaler() if sp.issparse(X) else StandardScaler()).fit(X[train])
        yield (
            scaler.transform(X[train]), positive[train], scaler.transform(X[test]), positive[test]
        )  # fmt: skip


def draws_of(correlation, r, n=10_000):
    for seed in SPLITS:
        data = make_outbreak(
            n=2 * n,
            d=200,
            k=10,
            mu=0.4,
            r=r,
            correlation=correlation,
            random_state=seed,
        )
        X = StandardScaler().fit(data.X[:n]).transform(data.X)
        positive = data.y > 0
        yield X[:n], positive[:n], X[n:], positive[n:]


def loss(scores, positive):
    """F of some scores, by its definition."""
    margin = 1 - (scores[positive].mean() - scores[~positive].mean())
    return margin**2 + scores[positive].var() + scores[~positive].var()


def study(tables, k):
    aucs = {name: [] for name in (*SIZES, "exchanges")}
    losses = {name: [] for name in aucs}
    seconds = {name: [] for name in SIZES}
    shares = []
    for X, positive, X_test, truth in tables:
        shares.append(positive.mean())
        for name in SIZES:
            size = size_of(name, positive.size, positive.mean())
            start = time.process_time()
            model = SHTAUCClassifier(
                k, batch_size=size, random_state=0, record_history=False
            ).fit(X, positive)
            seconds[name].append(time.process_time() - start)
            losses[name].append(model.objective_)
            aucs[name].append(auc(truth, model.decision_function(X_test)))
        model = SparseAUCClassifier(k).fit(X, positive)
        aucs["exchanges"].append(auc(truth, model.decision_function(X_test)))
        losses["exchanges"].append(loss(model.decision_function(X), positive))
    cells = [
        f"{np.mean(aucs[name]):.3f} · {np.mean(losses[name]):.3f} · {np.mean(seconds[name]):.2f}"
        for name in SIZES
    ]
    means = [np.mean(aucs[name]) for name in aucs]
    exchanges = f"{means[-1]:.3f} · {np.mean(losses['exchanges']):.3f}"
    return means, (f"{np.mean(shares):.3f}", *cells, exchanges)


def main():
    warnings.simplefilter("ignore")
    rows, means = [], []

    def add(name, k, tables):
        of_table, line = study(tables, k)
        means.append(of_table)
        rows.append((name, k, *line))
        print(rows[-1], flush=True)

    for name in ("sms_spam", "w8a", "dorothea", "a9a", "gordon", "shipp"):
        for k in (10, 50):
            add(name, k, splits_of(name))
    for correlation in (0.0, 0.6, 0.9):
        for r in (0.01, 0.05, 0.3):
            about = (
                f"simulated, AR({correlation})"
                if correlation
                else "simulated, independent"
            )
            add(about, 10, draws_of(correlation, r))
    rows.append(
        ("**mean**", "", "", *(f"**{mean:.4f}**" for mean in np.mean(means, axis=0)))
    )
    report(
        "sht_auc_batch",
        "SHT-AUC by the rows of a block: test AUC · F · processor seconds of a fit",
        ["table", "k", "share of positives r", *SIZES, "exchanges, AUC · F"],
        rows,
    )


if __name__ == "__main__":
    main()
