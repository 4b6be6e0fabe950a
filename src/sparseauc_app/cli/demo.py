"""``sparseauc demo``: from a table of simulated patients to a report, with the commands shown.

A second, short part runs Algorithm 1 of the paper on its own simulation.
"""

from __future__ import annotations

import shlex
import sys
import textwrap
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .output import check_outputs, check_writable, write_outputs

if TYPE_CHECKING:
    import pandas as pd

PATIENTS = 1000
NEW = 8
OTHER = 400
_METHODS = "sparse-auc,l1-logistic,mean-difference"


def run_demo(out: Path, app: typer.Typer) -> None:
    """Write a cohort of patients to a folder; fit, report, predict and compare with ``app``."""
    run = partial(_run, app)
    started = time.perf_counter()
    check_writable(out)
    tables = demo_tables(0)
    paths = {name: out / name for name in (*tables, "model.json", "report.html")}
    table, new, model, report = (
        paths[name]
        for name in ("patients.csv", "new_patients.csv", "model.json", "report.html")
    )
    check_outputs(*paths.values(), force=True)
    write_outputs(
        {
            paths[name]: frame.to_csv(index=False).encode()
            for name, frame in tables.items()
        }
    )
    known = tables["patients.csv"]
    _say(
        f"{table}: {PATIENTS} simulated patients with a suspected infection and "
        f"{known.shape[1] - 2} columns, some values missing. Which few columns rank patients who "
        "develop sepsis above the others?"
    )
    how = ["--target", "sepsis", "--positive", "yes", "--missing", "median"]
    fit = partial(run, "fit", table, *how, "--ids", "patient", "--rule", "1se")
    fit("--out", model, "--report", report, "--force")
    _say(f"Scores, risks and labels of {NEW} new patients:")
    run("predict", model, new)
    _say(
        "Compared with other methods, each tuned on training rows only. Here sparse-auc has its "
        "default rule, which allows more columns than 1se:"
    )
    run("compare", table, *how, "--methods", _METHODS, "--folds", "3")
    _run_algorithm_1()
    _say(f"Done in {time.perf_counter() - started:.0f} s. Open the report:")
    # A path is one line, whatever its length: it is there to be clicked or copied.
    typer.echo(f"{report}")


def demo_tables(seed: int) -> dict[str, pd.DataFrame]:
    """The tables of the demo, by file name, which the commands of the pages read.

    Patients, new ones without outcome, those of two hospitals with their wards, those
    of a third hospital with a score in use there, those who are followed until death or
    the end of the study, costs of the columns, and signs of two coefficients.
    """
    import numpy as np
    import pandas as pd

    from sparseauc.datasets import make_patients

    cohort = make_patients(PATIENTS + NEW, random_state=seed)
    patients = cohort[:PATIENTS]
    rng = np.random.default_rng(seed)
    place = rng.integers(12, size=len(patients))
    two = patients.assign(
        site=np.where(place < 6, "north", "south"),
        ward=[f"ward {j + 1}" for j in place],
    )
    third = make_patients(OTHER, random_state=seed + 1)

    def lactate_of(table: pd.DataFrame) -> pd.Series:
        return table["lactate (mmol/L)"].fillna(1.5)

    warning = (third["heart rate (/min)"].fillna(80) - 60) // 20 + lactate_of(
        third
    ).round()
    third["early warning score"] = warning
    third["site"] = rng.choice(["east", "west"], len(third))
    risk = lactate_of(patients) + patients["age (years)"].fillna(60) / 20
    death = rng.exponential(900 * np.exp(5 - risk))
    end = rng.uniform(100, 1000, len(patients))
    followed = patients.drop(columns="sepsis").assign(
        days=np.ceil(np.minimum(death, end)), status=np.where(death <= end, 2, 1)
    )
    columns = patients.columns.drop(["patient", "sepsis"])
    laboratory = columns.str.contains(r"/L|10\^")
    costs = pd.DataFrame({"name": columns, "cost": np.where(laboratory, 8, 0)})
    signs = pd.DataFrame(
        {"name": ["age (years)", "lactate (mmol/L)"], "sign": ["+", "+"]}
    )
    return {
        "patients.csv": patients,
        "new_patients.csv": cohort[PATIENTS:].drop(columns="sepsis"),
        "two_hospitals.csv": two,
        "other_hospital.csv": third,
        "followed.csv": followed,
        "costs.csv": costs,
        "signs.csv": signs,
    }


def _run(app: typer.Typer, *arguments: str | Path) -> None:
    """Show a command as one would type it, and run it."""
    words = [str(argument) for argument in arguments]
    typed = shlex.join(["sparseauc", *words])
    lines = textwrap.wrap(typed, 92, break_long_words=False, break_on_hyphens=False)
    typer.secho("\n$ " + " \\\n      ".join(lines), bold=True)
    # a report names the command it came from
    before = sys.argv
    sys.argv = ["sparseauc", *words]
    try:
        code = app(words, prog_name="sparseauc", standalone_mode=False)
    finally:
        sys.argv = before
    if code:
        raise typer.Exit(code)


def _run_algorithm_1() -> None:
    """Stochastic hard thresholding, epoch by epoch, on the data it was published with."""
    from sklearn.model_selection import train_test_split

    from sparseauc.datasets import make_outbreak
    from sparseauc.estimators import SHTAUCClassifier
    from sparseauc.metrics import auc_confidence_interval

    k = 80
    rows = 1000
    data = make_outbreak(n=6 * rows, d=1000, k=k, correlation=0.8, random_state=0)
    X, X_new, y, y_new = train_test_split(
        *data, train_size=rows, stratify=data.y, random_state=0
    )
    _say(
        f"Algorithm 1 of the paper (SHT-AUC) on its outbreak data: {rows} rows, "
        f"{int((y > 0).sum())} of them positive, 1000 correlated columns, {k} of them shifted. "
        "A step takes a gradient step on a block of rows and keeps the k largest coefficients; an "
        "epoch is one pass over all rows."
    )
    model = SHTAUCClassifier(k=k, batch_size=200, random_state=0).fit(X, y)
    history = model.history_
    epochs = history["objective"]
    typer.echo("  epoch      F  training AUC")
    for epoch in sorted({1, 2, 5, 10, 20, len(epochs)}):
        if epoch <= len(epochs):
            typer.echo(
                f"  {epoch:5d} {epochs[epoch - 1]:6.3f}  {history['auc'][epoch - 1]:12.3f}"
            )
    found = auc_confidence_interval(y_new, model.decision_function(X_new))
    typer.echo(
        f"On {y_new.size} new rows: AUC {found.auc:.3f} (95 % CI {found.low:.3f} to "
        f"{found.high:.3f}); the best possible is {data.bayes_auc:.3f}. "
        f"{int((model.coef_[0, data.support] != 0).sum())} of the {k} chosen columns are shifted."
    )


def _say(text: str) -> None:
    typer.echo(
        "\n" + textwrap.fill(text, 96, break_long_words=False, break_on_hyphens=False)
    )
