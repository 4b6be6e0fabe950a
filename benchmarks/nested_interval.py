"""Coverage of the 95 % interval of the AUC of nested cross-validation, and of DeLong's interval.

Tables of seven kinds with 60 to 1000 rows: a few independent columns, many, correlated
ones, rare positives, skewed columns beside indicators, and two with strata: five sites,
whose columns and share of positives differ, and matched sets of four rows. Three
columns (six of many) differ between the classes by 0, 0.3, 0.7 or 1.3 standard
deviations. An interval is right if it holds the AUC on new rows of the list that is
fitted to all rows. Lists have 2 or 6 columns; in some tables, a quarter as many,
cross-validation chooses k and the ridge.
"""

from common import report  # isort: skip

import sys
import warnings

import numpy as np
from scipy.stats import norm

from sparseauc import SparseAUCClassifier, SparseAUCClassifierCV
from sparseauc.metrics import fast_auc
from sparseauc.outcome import Binary
from sparseauc.selection.confidence import fit_rows, nested_scores

KINDS = {
    "12 columns": 12,
    "150 columns": 150,
    "40 correlated columns": 40,
    "20 columns, 12 % positive": 20,
    "20 columns, skewed or 0 and 1": 21,
    "20 columns, five sites": 20,
    "20 columns, matched sets of four": 20,
}
TUNED = "12 columns, k and ridge tuned"
SIZES, SHIFTS, SEED = (60, 150, 400, 1000), (0.0, 0.3, 0.7, 1.3), 100


def shifted_columns(kind):
    count = 6 if kind == "150 columns" else 3
    return np.arange(count) * (KINDS[kind] // count)


def draw(kind, n, shift, rng):
    """Rows, their outcome, and their strata if there are any."""
    share = 0.12 if "12 %" in kind else 0.4
    y = rng.permutation(np.arange(n) < max(8, round(share * n)))
    X = rng.normal(size=(n, KINDS[kind]))
    strata = None
    if "sites" in kind:
        strata = rng.integers(0, 5, n)
        y = rng.random(n) < np.linspace(0.2, 0.6, 5)[strata]
        X += rng.normal(size=(5, X.shape[1]))[strata]
    if "sets" in kind:
        strata, y = np.arange(n) // 4, np.arange(n) % 4 == 0
        X += rng.normal(size=(n, X.shape[1]))[strata]
    if "correlated" in kind:
        for j in range(1, X.shape[1]):
            X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
    X[:, shifted_columns(kind)] += shift * y[:, None]
    if "skewed" in kind:
        X[:, :7], X[:, 7:14] = np.exp(X[:, :7]), X[:, 7:14] > 0.5
    return X, y, strata


def true_auc(kind, shift, coef, rng):
    """AUC of a list on new rows, exact for normal columns."""
    if not coef.any():
        return 0.5
    if "skewed" in kind:
        X, y, _ = draw(kind, 20_000, shift, rng)
        return fast_auc(X @ coef, y)
    apart = np.zeros(coef.size)
    apart[shifted_columns(kind)] = shift
    lags = np.abs(np.subtract.outer(np.arange(coef.size), np.arange(coef.size)))
    covariance = 0.8**lags if "correlated" in kind else np.eye(coef.size)
    return float(norm.cdf(coef @ apart / np.sqrt(2 * coef @ covariance @ coef)))


def compare(kind, n, shift, number, tuned):
    """Whether each interval is right, and whether its lower end is above one half."""
    rng = np.random.default_rng(
        [SEED, number, n, int(10 * shift), [*KINDS].index(kind)]
    )
    X, y, strata = draw(kind, n, shift, rng)
    model = SparseAUCClassifier(k=int(rng.choice([2, 6])), alpha=1.0)
    if tuned:
        model = SparseAUCClassifierCV(random_state=0)
    nested = nested_scores(model, X, y, strata=strata, random_state=number)
    truth = true_auc(
        kind, shift, fit_rows(model, X, y, np.arange(n), strata=strata).coef_[0], rng
    )
    within = () if strata is None else (strata, nested.folds)
    plain = Binary(y > 0).interval_within(nested.scores, *within)
    return [
        (one.low <= truth <= one.high, one.low > 0.5, one.high - one.low)
        for one in (plain, nested.interval)
    ]


def main(repeats=40, *only):
    """Print the table; ``only`` some kinds, by a part of their names."""
    kinds = [kind for kind in KINDS if not only or any(part in kind for part in only)]
    results = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in SIZES:
            for shift in SHIFTS:
                for kind in kinds:
                    if n == 60 and "12 %" in kind:
                        continue
                    results[kind, n, shift] = np.array(
                        [
                            compare(kind, n, shift, number, False)
                            for number in range(repeats)
                        ]
                    )
                if n == 150 and not only:
                    results[TUNED, n, shift] = np.array(
                        [
                            compare("12 columns", n, shift, i, True)
                            for i in range(repeats // 4)
                        ]
                    )
    lines = []
    kinds += [] if only else [TUNED]
    groups = [(kind, lambda key, kind=kind: key[0] == kind) for kind in kinds]
    groups += [(f"{n} rows", lambda key, n=n: key[1] == n) for n in SIZES]
    groups += [
        (f"shift {shift}", lambda key, shift=shift: key[2] == shift) for shift in SHIFTS
    ]
    groups += [("all", lambda _: True)]
    for name, member in groups:
        part = np.concatenate([found for key, found in results.items() if member(key)])
        noise = [found for key, found in results.items() if member(key) and key[2] == 0]
        above = (
            np.concatenate(noise)[:, :, 1].mean(axis=0) if noise else (np.nan, np.nan)
        )
        (plain, _, narrow), (wider, _, wide) = part.mean(axis=0)
        error = np.sqrt(wider * (1 - wider) / len(part))
        lines.append(
            [
                name,
                len(part),
                f"{100 * plain:.1f} %",
                f"{100 * wider:.1f} % ± {100 * error:.1f}",
            ]
            + [f"{wide / narrow:.2f}"]
            + ["" if np.isnan(one) else f"{100 * one:.1f} %" for one in above]
        )
    report(
        "nested_interval" if not only else "nested_interval_of_some",
        "Coverage of 95 % intervals of the AUC of nested cross-validation",
        ["tables", "number", "DeLong's covers", "that of nested_scores covers", "times as wide",
         "on noise above 0.5: DeLong's", "on noise above 0.5: nested_scores"],
        lines,
    )  # fmt: skip


if __name__ == "__main__":
    main(*(int(one) for one in sys.argv[1:2]), *sys.argv[2:])
