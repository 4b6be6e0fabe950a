import os
import re
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from sparseauc.cli import app, demo

SMALL = demo.Task(n_train=200, n_test=300, d=30, r=0.2, mu=0.8, supports=(3, 6))
PNG = b"\x89PNG"


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setattr(demo, "PAPER", SMALL)
    return lambda *arguments: CliRunner().invoke(app, ["demo", *map(str, arguments)])


def rows_of_numbers(output):
    """The tables' lines, seconds left out."""
    return [line.split()[:-1] for line in output.splitlines() if re.match(r"\s*\d+\s+\d+\s", line)]


def test_prints_two_tables_and_saves_a_plot(run, tmp_path):
    out = tmp_path / "new" / "folder"
    result = run("--out", out)
    assert result.exit_code == 0, result.output
    assert (out / "demo.png").read_bytes().startswith(PNG)
    assert [path.name for path in out.iterdir()] == ["demo.png"]
    assert str(out / "demo.png") in result.output
    lines = rows_of_numbers(result.output)
    assert [line[:2] for line in lines] == [["3", "3"], ["6", "6"]] * 2
    # Both designs, and no cell cut short on a terminal of 80 characters.
    assert "independent" in result.output
    assert "AR(0.8)" in result.output
    assert all("…" not in cell for line in lines for cell in line)


def test_same_seed_same_numbers(run, tmp_path):
    first, again, other = (run("--out", tmp_path, "--seed", seed).output for seed in (1, 1, 2))
    assert rows_of_numbers(first) == rows_of_numbers(again) != rows_of_numbers(other)


def test_an_older_plot_is_overwritten(run, tmp_path):
    target = tmp_path / "demo.png"
    target.write_text("old")
    assert run("--out", tmp_path).exit_code == 0
    assert target.read_bytes().startswith(PNG)


def test_folder_that_is_a_file(run, tmp_path):
    target = tmp_path / "taken"
    target.write_text("mine")
    result = run("--out", target)
    assert result.exit_code == 5
    assert result.stdout == ""  # found out before anything is computed
    assert len(result.stderr.splitlines()) == 1
    assert "taken" in result.stderr
    assert target.read_text() == "mine"


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_folder_without_permission(run, tmp_path):
    tmp_path.chmod(0o500)
    result = run("--out", tmp_path)
    assert result.exit_code == 5
    assert "Permission denied" in result.stderr


def test_plot_that_cannot_be_replaced_leaves_nothing_behind(run, tmp_path):
    (tmp_path / "demo.png" / "in the way").mkdir(parents=True)
    result = run("--out", tmp_path)
    assert result.exit_code == 5
    assert len(result.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["demo.png"]


def test_without_matplotlib_only_the_plot_is_missing(run, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "pip install 'sparseauc[plot]'" in result.output
    assert len(rows_of_numbers(result.output)) == 4
    assert not (tmp_path / "out").exists()


def test_training_rows_hold_the_papers_share_of_positives(monkeypatch):
    seen = []

    class Spy(demo.SHTAUCClassifier):
        def fit(self, X, y, sample_weight=None):
            seen.append(y)
            return super().fit(X, y, sample_weight)

    monkeypatch.setattr(demo, "SHTAUCClassifier", Spy)
    run = demo.fit_and_test(demo.Task(d=20), 5, 0.0, seeds=(0,))
    (y,) = seen
    assert (y.size, np.count_nonzero(y == 1)) == (1000, 50)
    assert (run.y_test.size, np.count_nonzero(run.y_test == 1)) == (5000, 250)


def test_mean_difference_against_a_loop():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 8)), np.repeat([1, -1], 15)
    expected = np.zeros(8)
    differences = [
        np.mean([x[j] for x, label in zip(X, y, strict=True) if label == 1])
        - np.mean([x[j] for x, label in zip(X, y, strict=True) if label == -1])
        for j in range(8)
    ]
    for j in sorted(range(8), key=lambda j: -abs(differences[j]))[:3]:
        expected[j] = differences[j]
    np.testing.assert_allclose(demo.mean_difference(X, y, 3), expected)


def test_starting_the_command_does_not_import_the_demo():
    code = (
        "import sys, sparseauc.cli; "
        "print([name for name in sys.modules if 'matplotlib' in name or '.cli.demo' in name])"
    )
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_help_lists_the_commands():
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0
    assert "demo" in result.output
