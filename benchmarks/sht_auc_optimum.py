"""How far SHT-AUC ends from the certified optimum of F, in F and in AUC, and what exchanges mend.

alpha = 0, columns standardised; columns independent, AR(0.6) or AR(0.9); 5 % or 30 % of
the rows positive. The optimum is that of ``certify``; where branch and bound does not
close, the best list known stands for it. "Exchanges among 4k": SHT-AUC chooses 4k
columns and ``SparseAUCClassifier`` the list among them, as in
``make_pipeline(SHTAUCClassifier(k=4 * k), SparseAUCClassifier(k))``.
"""

from common import report  # isort: skip

import warnings

import numpy as np
from scipy.signal import lfilter
from sklearn.preprocessing import StandardScaler

from sparseauc import SHTAUCClassifier, SparseAUCClassifier
from sparseauc.datasets import make_outbreak
from sparseauc.metrics import auc

# Rows, columns, k, data sets.
SIZES = ((400, 20, 5, 20), (1000, 60, 6, 8), (1000, 1000, 20, 4))
SECONDS = 20.0
ROWS = 4000  # of each new table, half of them positive


def new_rows(data, mu, correlation, seed):
    """Draw rows of the same kind, as many positive as negative."""
    X = np.random.default_rng(seed).standard_normal((ROWS, data.X.shape[1]))
    if correlation:
        left = np.sqrt(1 - correlation**2)
        X[:, 0] /= left
        X = lfilter([left], [1.0, -correlation], X, axis=1)
    positive = np.arange(ROWS) < ROWS // 2
    X[np.ix_(positive, data.support)] += mu
    return X, positive


def lists_of(X, y, k, seed):
    """Coefficients by each way to a list, and whether the last is proven best."""
    found = {"auto": SHTAUCClassifier(k, random_state=seed).fit(X, y).coef_[0]}
    found["paper"] = (
        SHTAUCClassifier(k, step_size="paper", random_state=seed).fit(X, y).coef_[0]
    )
    early = SHTAUCClassifier(k, early_stopping=True, random_state=seed)
    found["early"] = early.fit(X, y).coef_[0]
    wide = SHTAUCClassifier(4 * k, random_state=seed).fit(X, y).get_support()
    found["among"] = np.zeros(X.shape[1])
    found["among"][wide] = SparseAUCClassifier(k, alpha=0.0).fit(X[:, wide], y).coef_[0]
    model = SparseAUCClassifier(k, alpha=0.0).fit(X, y)
    found["exchanges"] = model.coef_[0]
    # No bound of so wide a table comes near.
    if X.shape[1] < X.shape[0]:
        model.certify(X, y, time_limit=SECONDS)
    closed = getattr(model, "certificate_status_", "") == "optimal"
    found["optimum"] = model.coef_[0]
    return found, closed


def loss(X, positive, coef):
    """F by its definition."""
    scores = X @ coef
    margin = 1 - (scores[positive].mean() - scores[~positive].mean())
    return margin**2 + scores[positive].var() + scores[~positive].var()


def study(n, d, k, n_tables, correlation, r):
    names = ("auto", "early", "paper", "among", "exchanges")
    above = {name: [] for name in names}
    same = dict.fromkeys(names, 0)
    aucs = {name: [] for name in (*names, "optimum")}
    n_closed = 0
    for seed in range(n_tables):
        # The paper's shift where rows are as many as columns, a larger one for short
        # lists.
        mu = 0.3 if d == n else 0.4
        data = make_outbreak(
            n=n, d=d, k=k, mu=mu, r=r, correlation=correlation, random_state=seed
        )
        scaler = StandardScaler().fit(data.X)
        X = scaler.transform(data.X)
        new, truth = new_rows(data, mu, correlation, 1000 + seed)
        new = scaler.transform(new)
        found, closed = lists_of(X, data.y, k, seed)
        n_closed += closed
        positive = data.y > 0
        best = min(loss(X, positive, coef) for coef in found.values())
        for name, coef in found.items():
            aucs[name].append((auc(positive, X @ coef), auc(truth, new @ coef)))
            if name in names:
                above[name].append(100 * (loss(X, positive, coef) / best - 1))
                same[name] += loss(X, positive, coef) <= best * (1 + 1e-3) and set(
                    np.flatnonzero(coef)
                ) == set(np.flatnonzero(found["optimum"]))

    def shown(name):
        return f"{np.mean(above[name]):.1f} % ({np.max(above[name]):.0f}), {same[name]}"

    def ranked(name):
        training, test = np.mean(aucs[name], axis=0)
        return f"{training:.3f}, {test:.3f}"

    return (
        f"{n} × {d}, k = {k}",
        f"AR({correlation})" if correlation else "independent",
        f"{r:g}",
        f"{n_closed} of {n_tables}",
        *(shown(name) for name in names if name != "early"),
        *map(ranked, ("optimum", "auto", "early", "paper", "among")),
    )


def main():
    warnings.simplefilter("ignore")
    report(
        "sht_auc_optimum",
        "F above the certified optimum: mean % (largest), lists that are the best one; then AUC of "
        "the training rows, of new rows",
        [
            "rows × columns", "columns", "r", "proven", "F: SHT-AUC", "paper step",
            "exchanges among 4k", "exchanges", "AUC: optimum", "SHT-AUC", "early stopping",
            "paper step", "exchanges among 4k",
        ],
        [
            study(*size, correlation, r)
            for size in SIZES
            for correlation in (0.0, 0.6, 0.9)
            for r in (0.05, 0.3)
        ],
    )  # fmt: skip


if __name__ == "__main__":
    main()
