"""Write model files of this version, to be kept for ever, and their scores.

Each classifier is fitted to 60 rows of the outbreak data, and one model by the command, to a table
with text, booleans, missing values and ids. A release runs this file once.
"""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

import sparseauc
from sparseauc import save_model
from sparseauc.datasets import make_outbreak

X, y = make_outbreak(n=60, d=8, k=3, mu=1.0, r=0.3, random_state=0)
NAMES = [f"gene{j}" for j in range(8)]
MODELS = {
    "sparse_auc": sparseauc.SparseAUCClassifier(k=3),
    "sparse_auc_certified": sparseauc.SparseAUCClassifier(k=2),
    "sparse_auc_cv": sparseauc.SparseAUCClassifierCV(random_state=0),
    "sht_auc": sparseauc.SHTAUCClassifier(k=3, random_state=0),
    "mean_difference": sparseauc.MeanDifferenceClassifier(k=3),
    "imputed": make_pipeline(SimpleImputer(), sparseauc.SparseAUCClassifier(k=3)),
}


def patients(n, rng):
    """A table as people have them."""
    ill = rng.random(n) < 0.4
    age, crp = (
        (50 + 8 * rng.normal(size=n) + 5 * ill).round(1),
        (2 + rng.normal(size=n) + ill).round(2),
    )
    return pd.DataFrame(
        {
            "id": [f"{number:05d}" for number in range(n)],
            "age": age,
            "crp": np.where(rng.random(n) < 0.1, np.nan, crp),
            "smoker": rng.choice(["no", "yes", "unknown"], n),
            "flag": np.where(rng.random(n) < 0.5, "true", "false"),
            "state": np.where(ill, "ill", "well"),
        }
    )


def main():
    """Write the files of this version."""
    version = "_".join(sparseauc.__version__.split(".")[:2])
    folder = Path(__file__).parent / f"model_files_{version}"
    folder.mkdir()
    scores = {}
    for name, model in MODELS.items():
        table = pd.DataFrame(X, columns=NAMES) if name in ("sparse_auc_cv", "imputed") else X
        save_model(folder / f"{name}.skops", model.fit(table, y))
        scores[name] = model.decision_function(table[:5]).tolist()
    content = {"rows": X[:5].tolist(), "scores": scores}
    (folder / "scores.json").write_text(json.dumps(content, indent=1) + "\n")

    rng = np.random.default_rng(0)
    training = folder / "training.csv"
    patients(120, rng).to_csv(training, index=False)
    patients(6, rng).to_csv(folder / "command_rows.csv", index=False)
    command = [sys.executable, "-m", "sparseauc_app"]
    model = str(folder / "command.skops")
    options = [
        "-t",
        "state",
        "--positive",
        "ill",
        "--ids",
        "id",
        "--text",
        "one-hot",
        "--missing",
        "median",
    ]
    subprocess.run(
        [*command, "fit", str(training), *options, "--out", model, "--quiet"], check=True
    )
    training.unlink()
    rows, out = str(folder / "command_rows.csv"), str(folder / "command_scores.csv")
    subprocess.run([*command, "predict", model, rows, "--ids", "id", "--out", out], check=True)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
