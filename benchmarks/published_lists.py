"""Short lists that people published, refitted, against ours of the same length on the same rows.

Every method is chosen and fitted inside the training rows, median imputation included,
and judged by AUC on the others. *Published*: the columns of the paper, by logistic
regression with a ridge. *Same length*: as many columns of our own choice. *Default*:
our own length. *L1*: L1 logistic regression with its penalty tuned.

A published list was chosen by its authors on these very rows, ours only on the training
rows of each fold. Two more show what that is worth: *same length, all rows*, our
columns chosen once on all rows and refitted as the published ones are; and *forest*, as
many columns with the largest importance in a random forest of the training rows,
refitted likewise: one of the ways by which the list of heart failure was found. The
last column says how many folds have the published list.

Differences are to the published list, paired by fold, with their standard error over
the folds, in which repeats are not counted as independent. Four repeats of 5 folds, one
of the stool species; of GUSTO-I two draws of 6,000 training rows, judged on all others.
The tables are in ``$SPARSEAUC_DATA/published`` and are not part of this repository. The
22 published stool species are not named there, so that this list is not refitted.
"""

from common import HERE, machine, report  # isort: skip

import argparse
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparseauc import SparseAUCClassifierCV
from sparseauc.folds import fold_standard_error
from sparseauc.metrics import fast_auc
from sparseauc_app.comparison import fit_method
from sparseauc_app.methods import L1_LOGISTIC
from sparseauc_app.reading import Table

SEED = 4000
# Repeats of 5 folds, or draws.
REPEATS = {"heart failure": 4, "meningitis": 4, "GUSTO-I": 2, "stool species": 1}


def heart_failure(folder):
    """Death of patients with heart failure (Chicco and Jurman 2020); follow-up time left out."""
    frame = pd.read_csv(folder / "heart_failure.csv").drop(columns="time")
    return frame.drop(columns="DEATH_EVENT"), frame["DEATH_EVENT"] == 1, [
        "serum_creatinine", "ejection_fraction",
    ]  # fmt: skip


def meningitis(folder):
    """Bacterial against viral meningitis (Spanos 1989); cultures and Gram stain left out."""
    frame = pd.read_csv(folder / "bacterial_meningitis.csv")
    frame = frame[frame["abm"].notna()]
    y = frame["abm"] == 1
    frame = frame.drop(
        columns=["abm", "casenum", "year", "gram", "csf_cult", "blood_cult", "subset"]
    )
    frame["glucose_ratio"] = frame["csf_gluc"] / frame["blood_gluc"].where(
        frame["blood_gluc"] > 0
    )
    frame["csf_neutrophils"] = frame["csf_wbc"] * frame["csf_neut_pct"] / 100
    return frame, y, ["age", "glucose_ratio", "csf_prot", "csf_neutrophils"]


def gusto(folder):
    """Death within 30 days of an infarct (GUSTO-I 1995); places left out."""
    frame = pd.read_csv(folder / "gusto.csv.gz")
    y = frame["day30"] == 1
    frame = frame.drop(columns=["day30", "regl", "grpl", "grps"])
    frame["Killip"] = frame["Killip"].map({"I": 1, "II": 2, "III": 3, "IV": 4})
    return (
        pd.get_dummies(frame, dtype=float),
        y,
        ["age", "sysbp", "Killip", "pulse", "ant"],
    )


def stool(folder):
    """Colorectal cancer by the species of stool (Zeller 2014)."""
    species = pd.read_csv(folder / "crc_stool_species.csv.gz", index_col=0).T
    patients = pd.read_csv(folder / "crc_stool_patients.csv", index_col=0).loc[
        species.index
    ]
    species.columns = [f"{name} {j}" for j, name in enumerate(species.columns)]
    return species, patients["Group"] == "CRC", 22


TABLES = {
    "heart failure": heart_failure,
    "meningitis": meningitis,
    "GUSTO-I": gusto,
    "stool species": stool,
}


def folds(name, y):
    """Training and test rows, and how often rows are split."""
    repeats = REPEATS[name]
    if name == "GUSTO-I":
        draws = StratifiedShuffleSplit(repeats, train_size=6000, random_state=SEED)
        return list(draws.split(y, y)), 1
    splits = RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=SEED)
    return list(splits.split(y, y)), repeats


def choose(table, k, rows):
    """The columns of our own choice on some of the rows, k of them or as many as is best."""
    ks = None if k is None else [k]
    model = SparseAUCClassifierCV(ks=ks).fit(table.X.iloc[rows], table.y[rows])
    return model, np.flatnonzero(model.coef_)


def forest(table, k, rows):
    """The k columns with the largest importance in a random forest of some of the rows."""
    fill = SimpleImputer(strategy="median", keep_empty_features=True)
    trees = RandomForestClassifier(300, random_state=SEED)
    model = make_pipeline(fill, trees).fit(table.X.iloc[rows], table.y[rows])
    return np.argsort(-model[-1].feature_importances_, kind="stable")[:k]


def judge(table, published, on_all_rows, train, test):
    """AUC and columns of each method, fitted to the training rows."""
    X, y = table.X, table.y
    k = published if isinstance(published, int) else len(published)
    found = {}

    def add(method, model, columns, own=slice(None)):
        scores = model.decision_function(X.iloc[test, own])
        found[method] = fast_auc(scores, y[test] == 1), frozenset(columns.tolist())

    def refit(method, columns):
        steps = (
            SimpleImputer(strategy="median"),
            StandardScaler(),
            LogisticRegression(max_iter=1000),
        )
        add(
            method,
            make_pipeline(*steps).fit(X.iloc[train, columns], y[train]),
            columns,
            columns,
        )

    if on_all_rows is not None:
        refit("published", published_columns(table, published))
    add("same length", *choose(table, k, train))
    if on_all_rows is not None:
        refit("same length, all rows", on_all_rows)
        refit("forest", forest(table, k, train))
    add("default", *choose(table, None, train))
    l1 = fit_method(L1_LOGISTIC, table, train, SEED)
    add("L1", l1, np.flatnonzero(l1.coef_))
    return found


def published_columns(table, published):
    """Indices of the columns of a published list."""
    return np.array([table.columns.tolist().index(name) for name in published])


def measured():
    """Rows of the file of results, of an earlier run."""
    path = HERE / "results" / "published_lists.md"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in rows if row[0] in TABLES]


def main():
    """Measure all tables and write their figures to a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    given = parser.parse_args()
    folder = Path(os.environ["SPARSEAUC_DATA"]) / "published"
    warnings.simplefilter("ignore")
    rows = []
    for name in given.tables:
        frame, positive, published = TABLES[name](folder)
        frame = frame.astype(np.float64)
        table = Table(
            frame, tuple(map(str, frame.columns)),
            positive.to_numpy().astype(np.int64), "outcome", "no", "yes", imputation="median",
        )  # fmt: skip
        splits, repeats = folds(name, table.y)
        named = not isinstance(published, int)
        on_all_rows = choose(table, len(published), slice(None))[1] if named else None
        judged = [
            judge(table, published, on_all_rows, train, test) for train, test in splits
        ]
        first = "published" if named else "L1"
        for method in judged[0]:
            aucs = np.array([one[method][0] for one in judged])
            lists = [one[method][1] for one in judged]
            size = np.median([len(columns) for columns in lists])
            row = [name, method, f"{size:g}", f"{aucs.mean():.4f}", "", ""]
            if method != first:
                away = aucs - np.array([one[first][0] for one in judged])
                error = fold_standard_error(away, repeats)
                row[4] = f"{away.mean():+.4f} ± {error:.4f}"
            if named and size == len(published):
                same = [one[method][1] == one[first][1] for one in judged]
                row[5] = f"{sum(same)} of {len(same)}"
            rows.append(row)
            print(" | ".join(row), flush=True)
    kept = [row for row in measured() if row[0] not in given.tables]
    rows = sorted(kept + rows, key=lambda row: list(TABLES).index(row[0]))
    report(
        "published_lists",
        "Published lists, and ours of the same length",
        [
            "table",
            "method",
            "columns",
            "AUC",
            "minus published (stool: minus L1)",
            "the published list",
        ],
        rows,
    )
    print(machine())


if __name__ == "__main__":
    main()
