import hashlib
import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from sparseauc import SparseAUCClassifier, SparseAUCClassifierCV
from sparseauc_app.cli import app, fit
from sparseauc_app.model_files import load_model

RNG = np.random.default_rng(0)
N = 120
Y = np.arange(N) % 3 == 0
X = RNG.normal(size=(N, 8)) + np.outer(Y, [1.0, 0.8, 0, 0, 0, 0, 0, 0])
FRAME = pd.DataFrame(X, columns=[f"x{j}" for j in range(8)]).assign(
    outcome=np.where(Y, "yes", "no"), patient=[f"p{i // 2}" for i in range(N)]
)
FAST = ("-k", "2", "--alpha", "1", "--quick")


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    FRAME.drop(columns="patient").to_csv(path, index=False)
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["fit", *map(str, arguments)])


def test_a_short_list_a_model_and_exit_code_0(table, tmp_path):
    out = tmp_path / "model.json"
    result = run(table, "--target", "outcome", "-k", 2, "--alpha", 1, "--out", out)
    assert result.exit_code == 0, result.output
    assert "'yes' against 'no'" in result.stdout
    assert "by nested cross-validation" in result.stdout
    assert "x0" in result.stdout
    assert f"Written: {out}" in result.stdout
    loaded = load_model(out)
    expected = SparseAUCClassifier(k=2).fit(X, Y)
    coef = np.array([term.encoding.leading_coef for term in loaded.terms])
    slope = coef[0] / expected.coef_[0, 0]  # of the calibration
    assert slope > 0
    np.testing.assert_allclose(coef, slope * expected.coef_[0, :2])
    assert [term.column for term in loaded.terms] == ["x0", "x1"]
    assert loaded.summary["source"] == "table.csv"


def test_every_line_fits_a_plain_terminal(table):
    lines = run(table, "-t", "outcome", "-k", 2, "--alpha", 1).stdout.splitlines()
    columns = [line for line in lines if re.match(r" *\d  x\d", line)]
    assert len(columns) == 2
    assert all(len(line) <= 80 and "…" not in line for line in columns)


def test_k_by_cross_validation_without_k(table, tmp_path):
    out = tmp_path / "m.json"
    result = run(table, "-t", "outcome", "-k", "1-3", "--quick", "-o", out)
    assert result.exit_code == 0, result.output
    assert [row["k"] for row in load_model(out).summary["auc_by_k"]] == [1, 2, 3]


def test_json_alone_on_stdout(table, tmp_path):
    out = tmp_path / "m.json"
    result = run(table, "-t", "outcome", *FAST, "--json", "--out", out)
    content = json.loads(result.stdout)
    assert content["written"] == [str(out)]
    assert [line["column"] for line in content["chosen"]] == ["x0", "x1"]
    assert content["positives"] == Y.sum()
    assert (
        "calibration" not in content
    )  # which is a check on new rows, and the card's map


def test_groups_ids_and_restrictions(tmp_path):
    table = tmp_path / "t.parquet"
    FRAME.assign(who=[f"w{i}" for i in range(N)], late=Y.astype(float)).to_parquet(
        table
    )
    result = run(
        table, "-t", "outcome", "--groups", "patient", "--ids", "who", "--exclude", "late",
        "--exclude", "x0", "--limits", "always_include=x7", "-k", 2, "--alpha", 1, "--json",
    )  # fmt: skip
    content = json.loads(result.stdout)
    assert {line["column"] for line in content["chosen"]} == {"x1", "x7"}
    assert (content["groups"], content["ids"]) == (60, "who")
    leak = run(table, "-t", "outcome", "--groups", "patient", "--ids", "who", *FAST)
    assert "Warning: 'late' (AUC 1.000) nearly separates" in leak.stderr


# ------------------------------------------------------------------------------ refused


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["-t", "outcom"], 3, "did you mean 'outcome'?"),
        ([], 3, "which column is the outcome?"),
        (["-t", "outcome", "--positive", "maybe"], 3, "no class 'maybe'"),
        (["-t", "outcome", "--exclude", "nope"], 3, "no column 'nope'"),
        (
            [
                "-t",
                "outcome",
                "-k",
                "1",
                "--limits",
                "always_include=x1",
                "--limits",
                "always_include=x2",
            ],
            3,
            "k=1",
        ),
        (["-t", "outcome", "-k", "0"], 2, "--columns"),
        (["-t", "outcome", "--alpha", "inf"], 2, "finite"),
        (["-t", "outcome", "--missing", "guess"], 2, "--missing"),
        (["-t", "outcome", "--format", "delimiter=::"], 3, "delimiter"),
    ],
)
def test_misuse_and_bad_data(table, tmp_path, arguments, code, says):
    out = tmp_path / "model.json"
    result = run(table, *arguments, "--out", out)
    assert result.exit_code == code, result.output
    assert isinstance(result.exception, SystemExit)
    assert says in result.stderr.replace("\n", " ")
    assert result.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["-t", "outcom"], 3), (["-t", "outcome", "-k", "0"], 2), (["--nonsense"], 2)],
)
def test_errors_are_json_where_json_was_asked_for(table, arguments, code):
    plain, result = run(table, *arguments), run(table, *arguments, "--json")
    assert plain.stdout == result.stderr == ""
    content = json.loads(result.stdout)
    assert result.exit_code == plain.exit_code == content["exit_code"] == code
    first_words = content["error"].split()[:3]
    assert " ".join(first_words) in " ".join(plain.stderr.split())


def test_k_has_a_long_name(table):
    short, long = (
        run(table, "-t", "outcome", name, 2, "--alpha", 1, "--quick", "--json")
        for name in ("-k", "--columns")
    )
    assert json.loads(short.stdout)["chosen"] == json.loads(long.stdout)["chosen"]


def test_the_command_tries_what_the_class_tries(tmp_path):
    """300 rows of 70 columns: the class tries 1 … 50, 55 and 60."""
    X = np.random.default_rng(1).normal(size=(300, 70))
    y = X[:, :2].sum(axis=1) > 1
    pd.DataFrame(X).add_prefix("x").assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    found = json.loads(run(tmp_path / "t.csv", "-t", "y", "--quick", "--json").stdout)
    expected = SparseAUCClassifierCV().fit(X, y)
    assert found["k"] == expected.k_
    assert [row["k"] for row in found["auc_by_k"]] == np.unique(
        expected.cv_results_["param_k"]
    ).tolist()


def test_three_classes_text_and_missing_values_as_a_stranger_meets_them(tmp_path):
    table = tmp_path / "t.csv"
    frame = FRAME.assign(
        outcome=np.array(["a", "b", "c"] * (N // 3)), colour=np.where(Y, "red", "blue")
    )
    frame.loc[3, "x4"] = None
    frame.drop(columns="patient").to_csv(table, index=False, sep=";", decimal=",")
    steps = [
        ([], "3 classes: 'a' (40 rows)"),
        (["--positive", "a"], "missing values in 'x4' (1)"),
        (["--missing", "median"], None),
    ]
    arguments = [table, "-t", "outcome", *FAST]
    for more, says in steps:
        arguments += more
        result = run(*arguments)
        assert (says or "'a' against 'not a'") in result.output
        assert result.exit_code == (0 if says is None else 3)


def test_existing_outputs_are_safe_and_found_before_any_work(table, tmp_path):
    out = tmp_path / "model.json"
    out.write_text("mine")
    # The table is not even there: nobody has looked for it.
    result = run(tmp_path / "absent.csv", "-t", "outcome", "--out", out)
    assert (result.exit_code, out.read_text()) == (5, "mine")
    assert "--force replaces it" in result.stderr
    assert run(table, "-t", "outcome", *FAST, "--out", out, "--force").exit_code == 0
    assert load_model(out).terms


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("absent/m.json", "no folder"),
        (".", "is a folder"),
        ("table.csv", "is an input"),
    ],
)
def test_outputs_that_cannot_be(table, tmp_path, name, says):
    before = table.read_bytes()
    result = run(table, "-t", "outcome", *FAST, "--force", "--out", tmp_path / name)
    assert result.exit_code == 5
    assert says in result.stderr
    assert table.read_bytes() == before


def test_two_outputs_of_one_name(table, tmp_path):
    same = tmp_path / "x.json"
    result = run(table, "-t", "outcome", *FAST, "--out", same, "--report", same)
    assert result.exit_code == 5
    assert "two outputs" in result.stderr


def test_a_report_that_fails_leaves_no_model(table, tmp_path, monkeypatch):
    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(fit, "report_page", fail)
    result = run(
        table,
        "-t",
        "outcome",
        *FAST,
        "--out",
        tmp_path / "m.json",
        "--report",
        tmp_path / "r.html",
    )
    assert result.exit_code == 1
    assert "memory" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def test_a_report_is_one_whole_page_and_is_not_replaced(table, tmp_path, monkeypatch):
    report = tmp_path / "r.html"
    arguments = (table, "-t", "outcome", *FAST, "--report", report)
    monkeypatch.setattr(sys, "argv", ["sparseauc", "fit", "my table.csv", "--quick"])
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert f"Written: {report}" in result.stdout
    page = report.read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert page.rstrip().endswith("</html>")
    for part in (
        "columns that rank outcome=yes above outcome=no",
        "x0",
        hashlib.sha256(table.read_bytes()).hexdigest(),
        "sparseauc fit &#39;my table.csv&#39; --quick",
    ):
        assert part in page
    report.write_text("mine")
    again = run(*arguments)
    assert (again.exit_code, report.read_text()) == (5, "mine")
    assert "--force replaces it" in again.stderr
    assert run(*arguments, "--force").exit_code == 0
    assert report.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html", "table.csv"]


# ------------------------------------------------------------------------- as a process


@pytest.mark.slow
def test_interrupt_leaves_nothing(tmp_path):
    """Stopped in the midst of its work, the command says so, ends with 130, and leaves no file."""
    table = tmp_path / "big.csv"
    X, y = RNG.normal(size=(400, 300)), np.arange(400) % 4 == 0
    pd.DataFrame(X).add_prefix("x").assign(y=y).to_csv(table, index=False)
    out = tmp_path / "model.json"
    # A line at the second fit, when kernels are compiled: Numba may swallow a signal
    # before.
    program = (
        "import time, sparseauc_app.fitting as f\n"
        "original, fits = f._fit_model, []\n"
        "def spy(*a):\n"
        "    fits.append(a)\n"
        "    if len(fits) == 2:\n"
        "        print('fitting', flush=True)\n"
        "        time.sleep(60)\n"
        "    return original(*a)\n"
        "f._fit_model = spy\n"
        "from sparseauc_app.__main__ import main\n"
        "main()\n"
    )
    command = [
        sys.executable,
        "-c",
        program,
        "fit",
        str(table),
        "-t",
        "y",
        "--out",
        str(out),
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "fitting\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert errors.splitlines()[-1] == "Error: interrupted, nothing was written"
    assert [path.name for path in tmp_path.iterdir()] == ["big.csv"]


def test_an_interrupt_that_a_library_drops_ends_the_command(table):
    """Numba may swallow an interrupt while it compiles: it is raised again until the end."""
    program = (
        "import signal, time, sparseauc_app.fitting as f\n"
        "def drop(*a):\n"
        "    for _ in range(2):\n"
        "        try:\n"
        "            signal.raise_signal(signal.SIGINT) if not _ else time.sleep(60)\n"
        "        except KeyboardInterrupt:\n"
        "            print('dropped', flush=True)\n"
        "    time.sleep(60)\n"
        "f._fit_model = drop\n"
        "import sparseauc_app.__main__ as m\n"
        "m._PAUSE = 0.2\n"
        "m.main()\n"
    )
    command = [sys.executable, "-c", program, "fit", str(table), "-t", "outcome", *FAST]
    result = subprocess.run(command, capture_output=True, text=True, timeout=50)
    assert result.stdout == "dropped\ndropped\n"
    assert result.returncode == 130
    assert result.stderr.splitlines()[-1] == "Error: interrupted, nothing was written"


@pytest.mark.slow
def test_as_a_process(table, tmp_path):
    command = [
        sys.executable,
        "-m",
        "sparseauc_app",
        "fit",
        str(table),
        "-t",
        "outcome",
        *FAST,
    ]
    result = subprocess.run(
        [*command, "--json"], capture_output=True, text=True, check=True
    )
    assert json.loads(result.stdout)["k"] == 2


def test_help_tells_the_exit_codes():
    result = CliRunner().invoke(app, ["fit", "--help"], env={"COLUMNS": "200"})
    for part in (
        "Exit codes",
        "130 interrupted",
        "--missing",
        "--positive",
        "--groups",
        "--force",
    ):
        assert part in result.output


def test_starting_imports_neither_fitting_nor_model_files():
    code = (
        "import sys, sparseauc_app.cli; "
        "print([m for m in sys.modules if m in "
        "('sparseauc_app.fitting', 'sparseauc_app.reading', "
        "'sparseauc_app.model_files')])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"


def test_completion_is_offered():
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    command = [sys.executable, "-m", "sparseauc_app", "--show-completion", "bash"]
    result = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment
    )
    assert "sparseauc" in result.stdout
    assert "complete" in result.stdout
