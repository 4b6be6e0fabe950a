"""Files written by any version load for ever, and score as they did.

``write_model_files.py`` writes those of a version when it is released. Archives of 0.1 were packed
more tightly, which changes none of their members.
"""

import csv
import io
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from typer.testing import CliRunner

from sparseauc import load_model
from sparseauc_app.cli import app
from sparseauc_app.model_files import read_card

HERE = Path(__file__).parent
FOLDERS = sorted(HERE.glob("model_files_*"))
FIRST = HERE / "model_files_0_1"
WRITTEN = {folder: json.loads((folder / "scores.json").read_text()) for folder in FOLDERS}


def name(value):
    return value.name if isinstance(value, Path) else value


def loaded(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_model(path)


@pytest.mark.parametrize(
    ("folder", "model"),
    [(folder, model) for folder in FOLDERS for model in WRITTEN[folder]["scores"]],
    ids=name,
)
def test_classifiers(folder, model):
    rows, expected = np.array(WRITTEN[folder]["rows"]), WRITTEN[folder]["scores"][model]
    model = loaded(folder / f"{model}.skops")
    if hasattr(model.estimator, "feature_names_in_"):
        rows = pd.DataFrame(rows, columns=model.estimator.feature_names_in_)
    np.testing.assert_allclose(model.estimator.decision_function(rows), expected, rtol=1e-12)
    np.testing.assert_allclose(model.decision_function(rows), expected, rtol=1e-12, atol=1e-12)
    assert model.predict(rows).tolist() == np.where(np.array(expected) > 0, 1, -1).tolist()
    assert repr(clone(model.estimator)) == repr(model.estimator)


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_all_files_are_tried(folder):
    names = {path.stem for path in folder.glob("*.skops")}
    assert names == {*WRITTEN[folder]["scores"], "command"}


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_the_command(folder):
    expected = pd.read_csv(folder / "command_scores.csv")
    rows = folder / "command_rows.csv"
    result = CliRunner().invoke(app, ["predict", str(folder / "command.skops"), str(rows)])
    assert result.exit_code == 0, result.output
    found = list(csv.DictReader(io.StringIO(result.stdout)))
    np.testing.assert_allclose([float(row["score"]) for row in found], expected["score"], 1e-12)
    assert [row["label"] for row in found] == expected["prediction"].tolist()
    # Version 0.1 turned them into numbers.
    assert [row["id"] for row in found] == [f"{number:05d}" for number in range(6)]

    frame = pd.read_csv(rows)
    model = loaded(folder / "command.skops")
    np.testing.assert_allclose(model.decision_function(frame), expected["score"], rtol=1e-12)
    reversed_columns = frame[frame.columns[::-1]]
    np.testing.assert_allclose(
        model.decision_function(reversed_columns), expected["score"], rtol=1e-12
    )
    assert model.predict(frame).tolist() == expected["prediction"].tolist()
    assert model.classes_.tolist() == ["well", "ill"]


def test_digests_are_those_of_then():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        card = read_card(FIRST / "command.skops")
    assert card.types == {}
    assert "types" not in card.as_dict()
