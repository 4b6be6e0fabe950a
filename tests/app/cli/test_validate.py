import json

import numpy as np
import pytest

from commands import run
from sparseauc.datasets import make_patients


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("validate")
    make_patients(400, random_state=0).to_csv(folder / "old.csv", index=False)
    new = make_patients(300, random_state=1)
    new["site"] = np.array(["Bern", "Basel", "Chur"])[np.arange(300) % 3]
    new.to_csv(folder / "new.csv", index=False)
    result = run(
        "fit", folder / "old.csv", "-t", "sepsis", "--positive", "yes", "--ids", "patient",
        "--missing", "median", "-k", 5, "--alpha", 1,
        "--out", folder / "m.json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    return folder


def test_numbers_groups_and_a_report(folder):
    arguments = ("validate", folder / "m.json", folder / "new.csv", "--by", "site")
    result = run(*arguments, "--report", folder / "v.html")
    assert result.exit_code == 0, result.output
    assert "Expected from nested cross-validation" in result.stdout
    assert "Calibration: intercept" in result.stdout
    content = json.loads(run(*arguments, "--json").stdout)
    assert f"AUC {content['auc']['auc']:.3f}" in result.stdout
    assert [group["name"] for group in content["groups"]] == ["Basel", "Bern", "Chur"]
    page = (folder / "v.html").read_text(encoding="utf-8")
    assert "Methods paragraph" in page
    assert "sha256 of the data" in page


def test_few_rows_as_json(folder):
    """With few rows the limit of a moved mean is its standard error, a number of NumPy."""
    lines = (folder / "new.csv").read_text().splitlines()[:41]
    (folder / "few.csv").write_text("\n".join(lines))
    result = run("validate", folder / "m.json", folder / "few.csv", "--json")
    assert result.exit_code == 0, result.output
    assert {column["moved"] for column in json.loads(result.stdout)["columns"]} <= {
        True,
        False,
    }


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--by", "nowhere"], 3),
        (["--report", "x.pdf"], 2),
        (["--format", "delimiter=::"], 3),
    ],
)
def test_misuse(folder, arguments, code):
    result = run("validate", folder / "m.json", folder / "new.csv", *arguments)
    assert result.exit_code == code
    assert result.stdout == ""


def test_another_score_and_an_updated_model(folder):
    arguments = ("validate", folder / "m.json", folder / "new.csv")
    result = run(*arguments, "--risk-column", "age (years)")
    assert "model minus age (years)" in result.stdout, result.output
    out = folder / "updated.json"
    result = run(*arguments, "--update", "slope", "--out", out)
    assert result.exit_code == 0, result.output
    assert "Recalibrated (slope and intercept) on 300 rows of new.csv" in result.stderr
    again = json.loads(run("validate", out, folder / "new.csv", "--json").stdout)
    assert again["calibration"]["slope"] == pytest.approx(1, abs=1e-6)
    assert "Recalibrated (slope and intercept)" in run("show", out).stdout
    assert run(*arguments, "--update", "slope").exit_code == 2
    assert run(*arguments, "--out", folder / "x.json").exit_code == 2
