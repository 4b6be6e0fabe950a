"""``sparseauc reproduce`` as it is used, killed and used again."""

import contextlib
import csv
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sparseauc_app.cli import app
from sparseauc_paper import presets
from sparseauc_paper.gene_tables import genes
from sparseauc_paper.plan import EXPERIMENTS

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from tiny import TINY  # noqa: E402

# The command, with a preset that is only known here.
COMMAND = (
    f"import sys; sys.path.insert(0, {str(HERE)!r});"
    "from tiny import TINY; from sparseauc_paper import presets;"
    "presets.PRESETS['tiny'] = TINY;"
    "from sparseauc_app.cli import app; app()"
)


def command(out, *arguments):
    return [
        sys.executable,
        "-c",
        COMMAND,
        "reproduce",
        *map(str, arguments),
        "--preset",
        "tiny",
        "--out",
        str(out),
    ]


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.setitem(presets.PRESETS, "tiny", TINY)

    def run(*arguments, out=tmp_path):
        return CliRunner().invoke(
            app,
            ["reproduce", *map(str, arguments), "--preset", "tiny", "--out", str(out)],
        )

    return run


def flat(text):
    """Undo the frame and the line breaks of an error message."""
    return " ".join(text.replace("│", " ").split())


def no_network(*args, **settings):
    raise OSError("no network")


def rows(out, name):
    with (out / "tables" / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def finished(out, which="error IS NULL"):
    """When each task was finished; none while the file is not there yet."""
    try:
        with sqlite3.connect(
            f"file:{out / 'results.sqlite'}?mode=ro", uri=True
        ) as connection:
            return dict(
                connection.execute(f"SELECT key, finished FROM tasks WHERE {which}")
            )
    except sqlite3.OperationalError:
        return {}


@pytest.mark.slow
@pytest.mark.usefixtures("data_folder")
def test_tables_and_report(run, tmp_path):
    arguments = [
        "table1",
        "table2",
        "--methods",
        "sht-auc,mean-difference",
        "--trials",
        1,
    ]
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "report.html").stat().st_size > 1000
    first = rows(tmp_path, "table1")
    assert {row["method"] for row in first} == {"SHT-AUC", "top-k mean difference"}
    assert all(row["mean"] for row in first)
    assert {row["group"] for row in rows(tmp_path, "table2")} == {"F1", "Jaccard"}
    assert "0 failed" in result.output
    # Another run finds everything and computes nothing.
    again = run(*arguments, "--jobs", 2)
    assert "0 tasks computed" in again.output
    assert rows(tmp_path, "table1") == first


@pytest.mark.slow
@pytest.mark.usefixtures("data_folder")
def test_published_protocol_and_seed_change_the_numbers(run, tmp_path):
    tables = []
    for i, options in enumerate(([], ["--protocol", "published"], ["--seed", "1"])):
        out = tmp_path / str(i)
        assert (
            run(
                "table1", "--methods", "sto-iht", "--trials", "1", *options, out=out
            ).exit_code
            == 0
        )
        tables.append([row["mean"] for row in rows(out, "table1")])
    assert tables[0] != tables[1]
    assert tables[0] != tables[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table9"], "no experiment is named 'table9'; there are all, table1"),
        (
            ["table1", "--methods", "lasso"],
            "no method is named 'lasso'; there are sht-auc",
        ),
        (
            ["table1", "--protocol", "kind"],
            "no protocol is named 'kind'; there are corrected",
        ),
    ],
)
def test_names_that_do_not_exist(run, arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in flat(result.output)


def test_unknown_preset(tmp_path):
    result = CliRunner().invoke(
        app, ["reproduce", "table1", "--preset", "slow", "--out", str(tmp_path)]
    )
    assert result.exit_code == 2
    assert "no preset is named 'slow'; there are quick, paper" in flat(result.output)


def test_places_that_cannot_be_written(run, tmp_path):
    taken = tmp_path / "taken"
    taken.write_text(
        "words enough to be no database at all, whatever SQLite may think of them"
    )
    result = run("table1", out=taken)
    assert result.exit_code == 5
    assert "cannot write to folder" in result.output
    result = run("table1", "--store", taken, out=tmp_path / "new")
    assert result.exit_code == 5
    assert "cannot keep results" in result.output
    assert len(result.stderr.splitlines()) == 1


def test_gene_tables_without_data(run, tmp_path, monkeypatch):
    monkeypatch.setenv("SPARSEAUC_DATA", str(tmp_path / "none"))
    monkeypatch.setattr("sklearn.datasets.fetch_openml", no_network)
    genes.cache_clear()
    result = run("table3", "figure4")
    genes.cache_clear()
    assert result.exit_code == 3
    assert "colon.npz, with raw intensities" in result.output
    assert not (tmp_path / "report.html").exists()


@pytest.fixture
def without_genes(monkeypatch, tmp_path):
    """No gene files, and no network to get them from."""
    monkeypatch.setenv("SPARSEAUC_DATA", str(tmp_path / "none"))
    monkeypatch.setattr("sklearn.datasets.fetch_openml", no_network)
    genes.cache_clear()
    yield
    genes.cache_clear()


@pytest.mark.slow
@pytest.mark.usefixtures("without_genes")
@pytest.mark.parametrize(
    "experiments",
    [*([name] for name in EXPERIMENTS), ["table1", "table2", "figure1"]],
    ids="-".join,
)
def test_without_gene_files_every_experiment_ends_with_its_report(
    run, tmp_path, experiments
):
    result = run(*experiments, "--methods", "sht-auc", "--trials", 1)
    if set(experiments) <= {"table3", "figure3", "figure4"}:
        assert result.exit_code == 3, result.output  # nothing can be run
        return
    assert result.exit_code == 0, result.output
    assert "Traceback" not in result.output
    (claim,) = (
        row for row in rows(tmp_path, "claims") if "saturated" in row["the paper"]
    )
    assert claim["published protocol"] == claim["corrected protocol"] == "– not run"
    assert (tmp_path / "report.html").exists()


def test_a_dry_run_tells_tasks_and_hours_and_runs_nothing(run, tmp_path):
    result = run("table1", "--methods", "sht-auc,fsauc", "--dry-run")
    assert result.exit_code == 0
    assert result.output.startswith("32 tasks, about ")
    assert "core-hours" in result.output
    assert "FSAUC: 16 tasks" in result.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("data_folder")
def test_a_dry_run_counts_what_the_store_lacks(run, tmp_path):
    arguments = ["table1", "--methods", "mean-difference"]
    before = run(*arguments, "--dry-run").output
    assert run(*arguments, "--trials", 1).exit_code == 0
    after = run(*arguments, "--dry-run").output
    assert (before.split()[0], after.split()[0]) == ("8", "4")


@pytest.mark.slow
@pytest.mark.usefixtures("data_folder")
def test_the_page(run, tmp_path):
    """The report as one Markdown file that Sphinx reads, made from the store alone."""
    arguments = ["table1", "figure1", "--methods", "sht-auc"]
    assert run(*arguments).exit_code == 0
    page = tmp_path / "docs" / "results.md"
    result = run(*arguments, "--stored-only", "--page", page)
    assert result.exit_code == 0, result.output
    assert f"Report: {page}," in flat(result.output)
    text = page.read_text(encoding="utf-8")
    assert "Yang" in text
    assert re.search(r"\b\d+ tasks, [\d.]+ core-hours", text)
    assert "command: sparseauc reproduce table1 figure1 --preset tiny" in text
    assert str(tmp_path) not in text
    for anchor in re.findall(r"\]\(#([\w-]+)\)", text):
        assert f"\n({anchor})=\n" in text
    linked = re.findall(r"\]\((results/[^)]+)\)", text)
    assert {Path(name).suffix for name in linked} == {".png", ".csv"}
    assert sorted(
        f"results/{p.name}" for p in (page.parent / "results").iterdir()
    ) == sorted(linked)
    assert all((page.parent / name).stat().st_size < 150_000 for name in linked)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    assert len(titles) == len(set(titles)), "headings once"


def test_a_device_that_is_not_there_is_refused_before_anything_is_run(run, tmp_path):
    result = run("table1", "--device", "abacus")
    assert result.exit_code == 2
    assert "not a device torch knows" in result.output.replace("\n", " ").replace(
        "│ ", ""
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("data_folder")
def test_a_report_of_what_is_stored(run, tmp_path):
    assert run("table1", "--methods", "mean-difference", "--trials", 1).exit_code == 0
    before = finished(tmp_path)
    result = run(
        "table1", "--methods", "mean-difference", "--trials", 3, "--stored-only"
    )
    assert result.exit_code == 0, result.output
    assert "computed" not in result.output
    assert finished(tmp_path) == before
    assert {row["n"] for row in rows(tmp_path, "table1")} == {"2"}
    assert {row["failed"] for row in rows(tmp_path, "table1")} == {"0"}


@pytest.mark.usefixtures("data_folder")
def test_one_trial_has_no_error_and_no_warning(run, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = run("table1", "--methods", "mean-difference", "--trials", 1)
    assert result.exit_code == 0, result.output
    assert (
        " nan" not in (tmp_path / "report.html").read_text().lower().split("<script")[0]
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no kill -9")
@pytest.mark.usefixtures("data_folder")
def test_killed_and_started_again(run, tmp_path):
    arguments = [
        "table1",
        "table2",
        "--methods",
        "mean-difference,hsg-ht,l1-logistic",
        "--trials",
        4,
        "--jobs",
        2,
    ]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    # By one process: the numbers are the same whatever the jobs.
    assert run(*arguments[:-2], out=whole).exit_code == 0

    killed = subprocess.Popen(
        command(broken, *arguments),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 240
        while len(finished(broken)) < 5 and killed.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait(timeout=60)
    finally:
        with contextlib.suppress(
            ProcessLookupError
        ):  # its workers, where they outlive it
            os.killpg(killed.pid, signal.SIGKILL)
    before = finished(broken)
    assert 5 <= len(before) < len(finished(whole)), "killed in the middle"
    assert not (broken / "report.html").exists()

    again = subprocess.run(
        command(broken, *arguments),
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    after = finished(broken)
    # A failure is tried again.
    assert (
        f"{len(finished(broken, 'true')) - len(before)} tasks computed" in again.stdout
    )
    assert f"{len(before)} found" in again.stdout
    assert after.keys() == finished(whole).keys()
    assert before.items() <= after.items(), "no finished task was computed twice"
    for name in ("table1", "table1-published", "table2", "table2-published"):
        assert rows(broken, name) == rows(whole, name), name


@pytest.mark.slow
def test_interrupted_says_how_to_go_on(tmp_path):
    run = subprocess.Popen(
        command(tmp_path, "table1", "--methods", "hsg-ht", "--trials", 40),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    deadline = time.monotonic() + 240
    while not finished(tmp_path) and run.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=120)
    assert run.returncode == 130, out
    assert "the same command goes on from there" in out
    assert "Traceback" not in out
