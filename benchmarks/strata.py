"""Lists of eight columns from six hospitals, judged at six others: pooled, or within hospitals.

Hospitals have 250 rows each, 5 to 60 % of them positive. Eight of sixty columns differ
between the classes, by half a standard deviation; thirty others differ between
hospitals, by one on average. AUCs are of the new hospitals: of pairs of rows of the
same hospital, and of all pairs.
"""

from common import report  # isort: skip

import sys
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparseauc import SparseAUCClassifier, SparseAUCClassifierCV
from sparseauc.metrics import auc, stratified_auc

SEEDS = 20
SITES, ROWS, COLUMNS, TRUE, SHIFTED = 6, 250, 60, 8, 30


def hospitals(rng):
    """Rows, outcomes and hospitals."""
    sites = np.repeat(np.arange(SITES), ROWS)
    y = (
        rng.random(sites.size) < rng.permutation(np.linspace(0.05, 0.6, SITES))[sites]
    ).astype(int)
    X = rng.normal(size=(sites.size, COLUMNS))
    X[:, :TRUE] += 0.5 * y[:, None]
    X[:, -SHIFTED:] += rng.normal(size=(SITES, SHIFTED))[sites]
    return X, y, sites


def centre(X, sites):
    """Columns less their means at each hospital, which needs no outcomes."""
    number = np.unique(sites, return_inverse=True)[1]
    means = np.array(
        [X[number == site].mean(axis=0) for site in range(number.max() + 1)]
    )
    return X - means[number]


def l1_logistic():
    model = LogisticRegressionCV(
        Cs=np.logspace(-3, 1, 15),
        cv=5,
        penalty="l1",
        solver="liblinear",
        scoring="roc_auc",
    )
    return make_pipeline(StandardScaler(), model)


def fitted(name, X, y, sites):
    """Columns and scoring function of a method."""
    if "L1" in name:
        centred = "centred" in name
        model = l1_logistic().fit(centre(X, sites) if centred else X, y)

        def score(X, sites):
            return model.decision_function(centre(X, sites) if centred else X)

        return np.flatnonzero(model[-1].coef_[0]), score
    strata = sites if "within" in name else None
    model = (
        SparseAUCClassifierCV(rule="1se")
        if "tuned" in name
        else SparseAUCClassifier(TRUE, 1.0)
    )
    model.fit(X, y, strata=strata)
    return np.flatnonzero(model.get_support()), lambda X, _: model.decision_function(X)


def main(seeds=SEEDS):
    names = (
        "all pairs, k = 8",
        "pairs within hospitals (strata=), k = 8",
        "all pairs, k and ridge tuned",
        "pairs within hospitals (strata=), k and ridge tuned",
        "L1 logistic regression, C tuned",
        "L1 logistic regression, columns centred by hospital, C tuned",
    )
    found = {name: [] for name in names}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        training, new = hospitals(rng), hospitals(rng)
        for name in names:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                columns, score = fitted(name, *training)
            X, y, sites = new
            scores = score(X, sites)
            within = stratified_auc(y, scores, sites).auc
            found[name].append(
                [within, auc(y, scores), columns.size, np.sum(columns < TRUE)]
            )
    rows = []
    for name in names:
        values = np.array(found[name])
        mean, error = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(seeds)
        rows.append(
            [name, f"{mean[0]:.3f} ± {error[0]:.3f}", f"{mean[1]:.3f}", f"{mean[2]:.1f}",
             f"{mean[3]:.1f}"]
        )  # fmt: skip
    report(
        "strata",
        f"Six hospitals with shifts, judged at six new ones: means of {seeds} draws",
        ["Columns chosen by", "AUC within new hospitals", "AUC of all new rows", "columns",
         "of the 8 true ones"],
        rows,
    )  # fmt: skip


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
