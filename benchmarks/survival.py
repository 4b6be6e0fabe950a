"""Concordance of time to event and columns used, against what users would use today.

Every method is tuned by the same inner folds, by Harrell's C unless it has a rule of
its own, and judged by Harrell's C on rows it never saw; scaling and imputation are
learned on training rows. Tables: 16 of PyPI's ``SurvSet``. It needs ``pip install
SurvSet scikit-survival abess``.
"""

from common import HERE, machine  # isort: skip

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.model_selection import StratifiedKFold

from sparseauc import SparseConcordanceCV
from sparseauc.folds import fold_standard_error, make_splits
from sparseauc.survival import harrell_concordance

TABLES = (
    "GBSG2", "pbc", "Pbc3", "uis", "actg", "hepatoCellular", "rott2", "nki70", "mgus", "prostate",
    "vlbw", "stagec", "veteran", "wpbc", "whas500", "DLBCL",
)  # fmt: skip
KS = (1, 2, 3, 5, 8)
OURS, SHORT = "sparseauc", 'sparseauc, "1se"'
LINEAR = ("coxnet L1", "coxnet 0.5", "ridge Cox", "abess Cox", "best columns + Cox")
SPARSE = ("coxnet L1", "coxnet 0.5", "abess Cox", "best columns + Cox")
METHODS = (OURS, SHORT, *LINEAR, "random survival forest")
# Others take hours on thousands of columns.
ON_WIDE = (OURS, SHORT, "coxnet L1", "coxnet 0.5")
_LENGTHS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20)
_RIDGES = 10.0 ** np.arange(-2, 4.5, 0.5)


def load(name):
    """Columns as numbers, with gaps, and the times to event."""
    from SurvSet.data import SurvLoader

    if name not in TABLES:
        raise ValueError(f"{name} is not one of the tables to develop with")
    frame = SurvLoader().load_dataset(name)["df"]
    numbers = frame[[c for c in frame if c.startswith("num_")]].astype(float)
    levels = frame[[c for c in frame if c.startswith("fac_")]].astype(str)
    if levels.shape[1]:
        coded = pd.get_dummies(levels, drop_first=True).astype(float)
        numbers = pd.concat([numbers, coded], axis=1)
    return numbers.to_numpy(), np.column_stack(
        [frame["event"] == 1, frame["time"]]
    ).astype(float)


def outer_splits(name, seed):
    """Training and test rows of five folds: X, y, X_test, y_test."""
    X, y = load(name)
    for train, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(
        X, y[:, 0]
    ):
        median = np.nanmedian(X[train], axis=0)
        filled = np.where(np.isnan(X), median, X)
        varies = np.ptp(filled[train], axis=0) > 0
        yield filled[train][:, varies], y[train], filled[test][:, varies], y[test]


# ------------------------------------------------------------------------------ methods


def structured(y):
    return np.array(
        [(bool(event), time) for event, time in y],
        dtype=[("event", "?"), ("time", "f8")],
    )


def coxnet(l1_ratio):
    def fit(X, y, alphas=None):
        from sksurv.linear_model import CoxnetSurvivalAnalysis

        small = 0.01 if X.shape[0] > X.shape[1] else 0.05
        model = CoxnetSurvivalAnalysis(
            l1_ratio=l1_ratio,
            alphas=alphas,
            n_alphas=100,
            alpha_min_ratio=small,
            normalize=False,
        ).fit(X, structured(y))
        return model.coef_.T, model.alphas_

    return fit


def cox(X, y, alphas):
    """Coefficients of Cox models with ridges, by Newton's method; zeros where it leads nowhere.

    Those of scikit-survival's ``CoxPHSurvivalAnalysis``, some forty times faster.
    """
    event, when = y.T
    order = np.argsort(-when, kind="stable")
    Z, dead, when = X[order], event[order] > 0, when[order]
    last = (
        np.searchsorted(-when, -when, side="right") - 1
    )  # of the rows with the same time
    first = np.searchsorted(-when, -when, side="left")
    observed = Z[dead].sum(axis=0)

    def derivatives(coef, alpha):
        linear = np.clip(Z @ coef, -500, 500)
        risk = np.exp(linear)
        total = np.cumsum(risk)[last][dead]
        means = np.cumsum(risk[:, None] * Z, axis=0)[last][dead] / total[:, None]
        value = linear[dead].sum() - np.log(total).sum() - alpha * coef @ coef / 2
        # What each row counts in the sums over rows at risk.
        counts = np.zeros(len(Z))
        np.add.at(counts, first[dead], 1 / total)
        shares = risk * np.cumsum(counts[::-1])[::-1][first]
        hessian = (Z * shares[:, None]).T @ Z - means.T @ means
        return value, observed - means.sum(axis=0) - alpha * coef, hessian

    coefs, coef = [], np.zeros(X.shape[1])
    for alpha in alphas:
        value, gradient, hessian = derivatives(coef, alpha)
        for _ in range(50):
            step = np.linalg.solve(hessian + alpha * np.eye(coef.size), gradient)
            while (new := derivatives(coef + step, alpha))[0] < value and np.abs(
                step
            ).max() > 1e-10:
                step /= 2
            coef, (value, gradient, hessian) = coef + step, new
            if np.abs(step).max() < 1e-9:
                break
        coef = coef if np.isfinite(coef).all() else np.zeros_like(coef)
        coefs.append(coef)
    return coefs


def ridge_cox(X, y, alphas=None):
    alphas = _RIDGES[::-1] if alphas is None else alphas
    return cox(X, y, alphas), alphas


def lengths(X):
    return [k for k in _LENGTHS if k < X.shape[1]] + [min(X.shape[1], _LENGTHS[-1])]


def abess_cox(X, y, sizes=None):
    from abess.linear import CoxPHSurvivalAnalysis

    sizes = lengths(X) if sizes is None else sizes
    target = y[:, ::-1].copy()
    coefs = []
    for size in sizes:
        model = CoxPHSurvivalAnalysis(support_size=[int(size)], path_type="seq")
        coefs.append(np.ravel(model.fit(X, target).coef_))
    return coefs, sizes


def single_columns(X, y, sizes=None):
    sizes = lengths(X) if sizes is None else sizes
    order = np.argsort(-score_tests(X, y))
    coefs = []
    for size in sizes:
        coef = np.zeros(X.shape[1])
        chosen = order[:size]
        (coef[chosen],) = cox(X[:, chosen], y, [0.1])
        coefs.append(coef)
    return coefs, sizes


def score_tests(X, y):
    """Chi-square of each column alone, by the score test of a Cox model."""
    event, when = y.T
    order = np.argsort(-when, kind="stable")
    Z = X[order]
    last = np.searchsorted(-when[order], -when[order], side="right") - 1
    n = np.arange(1, len(y) + 1)[last, None]
    mean = np.cumsum(Z, axis=0)[last] / n
    variance = np.cumsum(Z**2, axis=0)[last] / n - mean**2
    dead = event[order] > 0
    gradient = (Z - mean)[dead].sum(axis=0)
    return gradient**2 / np.maximum(variance[dead].sum(axis=0), 1e-12)


FITS = {
    "coxnet L1": coxnet(1.0),
    "coxnet 0.5": coxnet(0.5),
    "ridge Cox": ridge_cox,
    "abess Cox": abess_cox,
    "best columns + Cox": single_columns,
}


def tuned(fit, data, inner, ks):
    """Test C and columns of the model that the inner folds choose, of any length and for each k."""
    X, y, X_test, y_test = data
    mean, scale = X.mean(axis=0), X.std(axis=0)
    X, X_test = (X - mean) / scale, (X_test - mean) / scale
    start = time.process_time()
    coefs, grid = fit(X, y)
    scores = np.full((len(inner), len(grid)), np.nan)
    for row, (train, test) in zip(scores, inner, strict=True):
        found, _ = fit(X[train], y[train], grid)
        row[: len(found)] = [
            harrell_concordance(y[test], X[test] @ coef) for coef in found
        ]
    validated = np.nanmean(scores, axis=0)
    seconds = time.process_time() - start
    sizes = np.array([np.count_nonzero(coef) for coef in coefs])
    models = []
    for most in (np.inf, *ks):
        short = (sizes <= most) & (sizes > 0)
        at = int(np.argmax(np.where(short, validated, -1)))
        models.append((harrell_concordance(y_test, X_test @ coefs[at]), sizes[at]))
    return models, seconds


def ours(data, rule, ks):
    X, y, X_test, y_test = data
    start = time.process_time()
    models = [SparseConcordanceCV(rule=rule).fit(X, y)]
    seconds = time.process_time() - start
    models += [SparseConcordanceCV(ks=[min(k, X.shape[1])]).fit(X, y) for k in ks]
    found = [
        (harrell_concordance(y_test, m.predict(X_test)), np.count_nonzero(m.coef_))
        for m in models
    ]
    return found, seconds


def forest(data):
    from sksurv.ensemble import RandomSurvivalForest

    X, y, X_test, y_test = data
    start = time.process_time()
    model = RandomSurvivalForest(
        n_estimators=300, min_samples_leaf=10, low_memory=True, random_state=0
    ).fit(X, structured(y))
    seconds = time.process_time() - start
    return [(harrell_concordance(y_test, model.predict(X_test)), X.shape[1])], seconds


def judge(name, method, data, ks=KS):
    """Test C and columns of one method on one fold, of any length and for each k; CPU time."""
    X, y, *_ = data
    ks = ks if name != "DLBCL" and method != SHORT else ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method in (OURS, SHORT):
            return ours(data, "1se" if method == SHORT else "best", ks)
        if method == "random survival forest":
            return forest(data)
        inner = make_splits(None, X, y[:, 0] > 0, None, 0)
        return tuned(FITS[method], data, inner, ks)


def judge_table(name, seed, methods, cache, ks=KS):
    """Results of all methods on the folds of a table: what ``judge`` says, by method."""
    found = {method: [] for method in methods}
    for fold, data in enumerate(outer_splits(name, seed)):
        for method in methods:
            kept = cache / f"{name}-{seed}-{fold}-{method}.json" if cache else None
            if kept and kept.exists():
                found[method].append(json.loads(kept.read_text()))
                continue
            models, seconds = judge(name, method, data, ks)
            result = {"models": [(c, int(k)) for c, k in models], "seconds": seconds}
            if kept:
                cache.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps(result))
            found[method].append(result)
    return found


# ------------------------------------------------------------------------------- report


def table(head, rows):
    lines = [
        "| " + " | ".join(head) + " |",
        "| " + " | ".join(["---"] * len(head)) + " |",
    ]
    return lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]


def report(found, seeds):
    """Lines of the report."""
    names = [name for name in TABLES if name in found and name != "DLBCL"]
    methods = [
        method for method in METHODS if all(method in found[name] for name in names)
    ]

    def values(name, method, model=0):
        return np.array([fold["models"][model] for fold in found[name][method]])

    mean = {m: np.array([values(n, m)[:, 0].mean() for n in names]) for m in methods}
    columns = {m: np.array([values(n, m)[:, 1].mean() for n in names]) for m in methods}
    wide = {k: [n for n in names if values(n, "ridge Cox")[0, 1] > k] for k in KS}
    linear = [m for m in LINEAR if m in methods]
    top = max(linear, key=lambda m: mean[m].mean())

    def at(method, k):
        if method not in (OURS, *SPARSE):
            return np.nan
        model = 1 + KS.index(k)
        return np.mean([values(n, method, model)[:, 0].mean() for n in wide[k]])

    rows = []
    for m in methods:
        difference = mean[OURS] - mean[m]
        error = difference.std(ddof=1) / np.sqrt(len(names))
        shown = "" if m == OURS else f"{difference.mean():+.4f} ± {error:.4f}"
        by_k = [f"{at(m, k):.4f}" if np.isfinite(at(m, k)) else "" for k in KS]
        rows.append(
            (m, f"{mean[m].mean():.4f}", f"{columns[m].mean():.1f}", shown, *by_k)
        )
    behind, by_table = [], []
    for i, name in enumerate(names):
        rival = max(linear, key=lambda m, i=i: mean[m][i])
        difference = values(name, OURS)[:, 0] - values(name, rival)[:, 0]
        error = float(fold_standard_error(difference, len(difference) / 5))
        if difference.mean() < -0.01 and difference.mean() + 2 * error < 0:
            behind.append(name)
        by_table.append((
            name, f"{mean[OURS][i]:.4f}", f"{columns[OURS][i]:.1f}", rival, f"{mean[rival][i]:.4f}",
            f"{columns[rival][i]:.1f}", f"{difference.mean():+.4f} ± {error:.4f}",
        ))  # fmt: skip
    gain = mean[OURS].mean() - mean[top].mean()
    share = columns[OURS].mean() / columns["coxnet L1"].mean()
    ahead = {k: at(OURS, k) - max(at(m, k) for m in SPARSE if m in methods) for k in KS}
    short = all(ahead[k] > 0 for k in KS[1:])
    goals = [
        (f"mean C less that of the best linear peer ({top})", f"{gain:+.4f}", "≥ +0.002",
         gain >= 0.002),
        ("columns, as a share of those of coxnet L1", f"{share:.2f}", "≤ 0.75", share <= 0.75),
        ("ahead of every sparse peer at k = 2, 3, 5, 8",
         ", ".join(f"{ahead[k]:+.4f}" for k in KS[1:]), "> 0 each", short),
        ("k = 1, against the best", f"{ahead[1]:+.4f}", "≥ −0.002", ahead[1] >= -0.002),
        ("tables more than 0.01 behind by two standard errors", ", ".join(behind) or "0", "0",
         not behind),
    ]  # fmt: skip
    if "DLBCL" in found:
        ours, theirs = (
            np.mean([fold["seconds"] for fold in found["DLBCL"][m]])
            for m in (OURS, "coxnet L1")
        )
        goals.append(
            ("DLBCL, processor time as a share of that of coxnet L1", f"{ours / theirs:.2f}", "≤ 1",
             ours <= theirs)
        )  # fmt: skip
    lines = [
        "# Time to event: concordance and columns against peers",
        "",
        f"`python benchmarks/survival.py` · {seeds} · {machine()}",
        "",
        "Harrell's C on test rows; everything is tuned within the training rows, by the same inner "
        f"folds. Mean over {len(names)} tables of SurvSet; with k columns over those with more "
        "than k. The difference is ours less theirs, ± its standard error over the tables.",
        "",
        *table(("method", "C", "columns", "difference", *(f"k = {k}" for k in KS)), rows),
        "",
        *table(
            ("", "measured", "to reach", ""),
            [(*goal[:3], "kept" if goal[3] else "MISSED") for goal in goals],
        ),
        "",
        "Best linear peer of each table: the one with the highest C on the test rows, which "
        "favours it; the difference is ours less theirs, ± its standard error over the folds.",
        "",
        *table(
            ("table", "C", "columns", "best linear peer", "C", "columns", "difference"), by_table
        ),
    ]  # fmt: skip
    if "DLBCL" in found:
        rows = [
            (m, f"{values('DLBCL', m)[:, 0].mean():.4f}", f"{values('DLBCL', m)[:, 1].mean():.1f}",
             f"{np.mean([fold['seconds'] for fold in found['DLBCL'][m]]):.1f} s")
            for m in ON_WIDE if m in found["DLBCL"]
        ]  # fmt: skip
        lines += [
            "",
            "DLBCL, 240 rows and 7,399 columns; CPU time of a fit with its folds.",
            "",
        ]
        lines += table(("method", "C", "columns", "time"), rows)
    return "\n".join([*lines, ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=2, help="of five folds")
    parser.add_argument("--seed", type=int, default=3000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cache", type=Path, help="keep what is finished here")
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument(
        "--ks", type=int, nargs="*", default=KS, help="given lengths besides"
    )
    arguments = parser.parse_args()
    tasks = [
        (
            name,
            arguments.seed + i,
            [m for m in arguments.methods if name != "DLBCL" or m in ON_WIDE],
        )
        for i in range(arguments.repeats)
        for name in arguments.tables
        if name != "DLBCL" or i == 0
    ]
    results = Parallel(n_jobs=arguments.jobs)(
        delayed(judge_table)(*task, arguments.cache, arguments.ks) for task in tasks
    )
    found = {}
    for (name, _, _), result in zip(tasks, results, strict=True):
        for method, folds in result.items():
            found.setdefault(name, {}).setdefault(method, []).extend(folds)
    needed = {OURS, "coxnet L1", "ridge Cox"}
    complete = set(TABLES) <= set(arguments.tables) and tuple(arguments.ks) == KS
    if needed <= set(arguments.methods) and complete:
        last = arguments.seed + arguments.repeats - 1
        seeds = f"{arguments.repeats} × 5 folds, seeds {arguments.seed} to {last}, DLBCL 1 × 5"
        (HERE / "results" / "survival.md").write_text(
            report(found, seeds), encoding="utf-8"
        )
    else:
        for name, methods in found.items():
            for method, folds in methods.items():
                c, k = np.mean([fold["models"][0] for fold in folds], axis=0)
                print(f"{name:16}{method:24}{c:.4f} {k:.1f}")


if __name__ == "__main__":
    main()
