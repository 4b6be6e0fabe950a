"""Files written by version 0.1 load for ever, and score as they did.

They were made by 0.1: each classifier fitted to 60 rows of the outbreak data, and
one model by the command, from a table with text, booleans, missing values and ids. Archives were
packed more tightly, which changes none of their members. ``scores.json`` and ``command_scores.csv``
are the scores of that version.
"""

import csv
import io
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from sparseauc import load_model
from sparseauc.cli import app
from sparseauc.tabular.model_files import read_card

FOLDER = Path(__file__).parent / "model_files_0_1"
WRITTEN = json.loads((FOLDER / "scores.json").read_text())
ROWS = np.array(WRITTEN["rows"])


def loaded(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_model(FOLDER / f"{name}.skops")


@pytest.mark.parametrize("name", WRITTEN["scores"])
def test_classifiers(name):
    model = loaded(name)
    rows = ROWS
    if hasattr(model.estimator, "feature_names_in_"):
        rows = pd.DataFrame(ROWS, columns=model.estimator.feature_names_in_)
    expected = WRITTEN["scores"][name]
    np.testing.assert_allclose(model.estimator.decision_function(rows), expected, rtol=1e-12)
    np.testing.assert_allclose(model.decision_function(rows), expected, rtol=1e-12, atol=1e-12)
    assert model.predict(rows).tolist() == np.where(np.array(expected) > 0, 1, -1).tolist()


def test_all_files_are_tried():
    names = {path.stem for path in FOLDER.glob("*.skops")}
    assert names == {*WRITTEN["scores"], "command"}


def test_the_command():
    expected = pd.read_csv(FOLDER / "command_scores.csv")
    rows = FOLDER / "command_rows.csv"
    result = CliRunner().invoke(app, ["predict", str(FOLDER / "command.skops"), str(rows)])
    assert result.exit_code == 0, result.output
    found = list(csv.DictReader(io.StringIO(result.stdout)))
    np.testing.assert_allclose([float(row["score"]) for row in found], expected["score"], 1e-12)
    assert [row["prediction"] for row in found] == expected["prediction"].tolist()
    # Version 0.1 turned them into numbers.
    assert [row["id"] for row in found] == [f"{number:05d}" for number in range(6)]

    frame = pd.read_csv(rows)
    model = loaded("command")
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
        card = read_card(FOLDER / "command.skops")
    assert card.types == {}
    assert "types" not in card.as_dict()
