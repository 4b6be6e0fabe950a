import os
import re
import shlex
import subprocess
import sys

import pandas as pd
import pytest

from commands import run
from sparseauc_app.cli import demo
from sparseauc_app.model_files import load_model

FILES = [
    "costs.csv", "followed.csv", "model.json", "new_patients.csv", "other_hospital.csv",
    "patients.csv", "report.html", "signs.csv", "two_hospitals.csv",
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "new folder"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "PATIENTS", 120)
        result = run("demo", out)
    assert result.exit_code == 0, result.output
    return out, result.stdout


def commands(text):
    """The commands shown, as the shell would take them apart."""
    joined = text.replace(" \\\n", " ")
    return [
        shlex.split(line[2:]) for line in joined.splitlines() if line.startswith("$ ")
    ]


def test_files_are_written_and_the_report_is_named_last(shown):
    out, text = shown
    assert sorted(path.name for path in out.iterdir()) == FILES
    assert text.rstrip().endswith(f"Open the report:\n{out / 'report.html'}")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "sparseauc fit" in page  # the command it came from, and not that of the demo
    assert "sepsis" not in pd.read_csv(out / "new_patients.csv")


def test_the_commands_shown_do_what_was_shown(shown):
    out, text = shown
    fit, predict, compare = commands(text)
    assert [one[:2] for one in (fit, predict, compare)] == [
        ["sparseauc", name] for name in ("fit", "predict", "compare")
    ]
    before = load_model(out / "model.json")
    again = run(*fit[1:])
    assert again.exit_code == 0, again.output
    assert again.stdout in text
    assert load_model(out / "model.json").terms == before.terms
    scores = run(*predict[1:]).stdout
    assert scores in text
    assert len(scores.splitlines()) == 1 + demo.NEW


def test_both_parts_are_shown(shown):
    _, text = shown
    assert re.search(r"^ sparse-auc +\d+ +0\.\d+", text, re.M)
    assert re.search(r"^ l1-logistic +\d+ +0\.\d+", text, re.M)
    first, *_, last = (
        float(line.split()[1])
        for line in text.splitlines()
        if re.match(r" +\d+ +0\.\d+ +0", line)
    )
    assert last < first  # F falls from the first epoch to the last


def test_folder_that_is_a_file(tmp_path):
    target = tmp_path / "taken"
    target.write_text("mine")
    result = run("demo", target)
    assert result.exit_code == 5
    assert result.stdout == ""  # found out before anything is computed
    assert len(result.stderr.splitlines()) == 1
    assert "taken" in result.stderr
    assert target.read_text() == "mine"


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_folder_without_permission(tmp_path):
    tmp_path.chmod(0o500)
    result = run("demo", tmp_path)
    assert result.exit_code == 5
    assert "Permission denied" in result.stderr


def test_a_folder_in_the_way_of_a_file(tmp_path):
    (tmp_path / "report.html" / "in the way").mkdir(parents=True)
    result = run("demo", tmp_path)
    assert result.exit_code == 5
    assert len(result.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_starting_the_command_does_not_import_the_demo():
    code = (
        "import sys, sparseauc_app.cli; "
        "print([name for name in sys.modules if 'matplotlib' in name or '.cli.demo' in name])"
    )
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_help_lists_the_commands():
    result = run("--help")
    assert result.exit_code == 0
    assert "demo" in result.output
