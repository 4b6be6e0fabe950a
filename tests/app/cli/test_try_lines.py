"""The command that an error suggests works at the first try, on tables as they are found."""

import shlex
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from sparseauc_app.cli import app

N = 60


def columns(**others):
    """Columns of a table, of which one says something about the outcome."""
    rng = np.random.default_rng(0)
    y = np.arange(N) % 3 == 0
    age = np.round(60 + 8 * (rng.normal(size=N) + y)).astype(int)
    return {"age": age, **others, "y": y.astype(int)}


def some(values, every=7, other=""):
    """Values with another one in some rows."""
    return [other if i % every == 3 else one for i, one in enumerate(values)]


GRADES = np.array(["low", "mid", "high"])[np.arange(N) * 7 % 3]
LAB = np.round(np.random.default_rng(1).normal(50, 9, N), 1)
TABLES = {
    "text and gaps": columns(grade=some(GRADES), lab=some(LAB)),
    "three classes": columns(lab=LAB)
    | {"y": np.array(["0", "1", "2"])[np.arange(N) * 5 % 3]},
    "three classes and text": columns(grade=GRADES)
    | {"y": np.array(["alive", "dead", "lost"])[np.arange(N) * 5 % 3]},
    "dates": columns(day=[f"2024-0{1 + i % 9}-1{i % 10}" for i in range(N)]),
    "names": columns(patient=[f"P{i:04d}" for i in range(N)], grade=GRADES),
    "limits": columns(lab=some(LAB, 9, ">90")),
    "limits, gaps and text": columns(
        lab=some(some(LAB, 9, "<5"), 5), grade=some(GRADES, 11)
    ),
    "mostly missing": columns(
        lab=[one if i % 4 == 0 else "" for i, one in enumerate(LAB)]
    ),
    "blank labels": columns(grade=GRADES)
    | {"y": some(np.where(np.arange(N) % 3 == 0, "Yes", "No"), 9, "   ")},
    "infinite": columns(lab=some(LAB, 9, "inf")),
    "two meanings": columns(
        dose=[f"{1 + i % 9},{100 + 13 * i % 800}" for i in range(N)]
    ),
    "beyond 2^53": columns(key=[str(2**60 + 3 * i * i) for i in range(N)]),
}


# Of which nothing has to be asked but the outcome.
PLAIN = ("dates", "names", "blank labels")


@pytest.fixture
def run(monkeypatch):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["sparseauc", *map(str, arguments)])
        return CliRunner().invoke(app, [*map(str, arguments)])

    return run


def write(path, table, delimiter=","):
    lines = [delimiter.join(map(str, row)) for row in zip(*table.values(), strict=True)]
    path.write_text("\n".join([delimiter.join(table), *lines]) + "\n")
    return path


def suggested(result):
    assert result.exit_code == 3, result.output
    (line,) = [
        one for one in result.output.splitlines() if one.startswith("Try: sparseauc ")
    ]
    return shlex.split(line)[2:]


@pytest.mark.parametrize("target", [["--target", "y"], []], ids=["target", "no target"])
@pytest.mark.parametrize("name", TABLES)
def test_the_command_that_is_suggested_works(name, target, run, tmp_path):
    path = write(
        tmp_path / "t.csv", TABLES[name], ";" if name == "two meanings" else ","
    )
    result = run("fit", path, *target, "-k", "1", "--alpha", "1", "--quick")
    if name in PLAIN and target:
        assert result.exit_code == 0, result.output
        return
    command = suggested(result)
    again = run(*command)
    assert again.exit_code == 0, f"{command}\n{again.output}"


STATES = np.array(["2", "2", "1", "2", "3", "1", "2"])[np.arange(N) % 7]
DAYS = 100 + np.arange(N) * 37 % 900
FOLLOWED = {
    "codes": (
        {"time": DAYS, "status": STATES},
        ["--time", "time", "--event-value", "1"],
    ),
    "its own time": (
        {"futime": DAYS, "TimeToDeath": DAYS[::-1], "death": STATES},
        ["--time", "TimeToDeath", "--event-value", "1"],
    ),
    "no time": ({"status": STATES}, ["--positive", "1", "--negative", "2"]),
    "time since": (
        {"months since last visit": DAYS, "status": STATES},
        ["--positive", "1", "--negative", "2"],
    ),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_of_an_event_with_its_time_the_time_is_ranked(name, run, tmp_path):
    table, options = FOLLOWED[name]
    (*_, target) = table
    path = write(tmp_path / "t.csv", {"age": columns()["age"], **table})
    few = ["-k", "1", "--alpha", "1", "--quick"]
    assert suggested(run("fit", path, "--target", target, *few))[9:] == options
    command = suggested(run("fit", path, *few))
    named = [*options[:2], "--event", target, *options[2:]]
    assert command[7:] == (
        named if "--time" in options else ["--target", target, *options]
    )
    again = run(*command)
    assert again.exit_code == 0, again.output


def test_what_is_asked_of_a_scale_has_rows(run, tmp_path):
    pain = np.r_[np.zeros(40, int), np.repeat([1, 2, 3], [11, 6, 3])]
    path = write(tmp_path / "t.csv", columns() | {"y": pain})
    assert suggested(run("fit", path, "--target", "y"))[-4:] == [
        "--positive", "1", "--negative", "0",
    ]  # fmt: skip


def test_words_that_are_not_codes_are_no_events(run, tmp_path):
    table = {"Time": DAYS, "age": columns()["age"],
             "Status": np.where(np.arange(N) % 3, "good", "bad")}  # fmt: skip
    command = suggested(run("fit", write(tmp_path / "t.csv", table)))
    assert command[2:] == ["--target", "Status"]


def test_the_last_column_is_the_outcome_rather_than_any_other_of_few_values(
    run, tmp_path
):
    two = {f"yes {i}": (np.arange(N) + i) % 2 for i in range(14)}
    table = {"age": columns()["age"], **two, "vote": GRADES}
    result = run("fit", write(tmp_path / "t.csv", table))
    assert (
        "Give --target, perhaps 'vote' (3 values), 'yes 13' (2 values), "
        in result.stderr
    )
    assert "and 3 more" in result.stderr
    again = run(*suggested(result), "-k", "1", "--alpha", "1", "--quick")
    assert again.exit_code == 0, again.output


def test_a_column_named_like_a_time_is_told_of(run, tmp_path):
    table = {"week": DAYS, "age": columns()["age"], "arrest": columns()["y"]}
    path = write(tmp_path / "t.csv", table)
    asked = run("fit", path).stderr
    assert "If it is an event, and 'week' its time, give --time and --event" in asked
    told = run(
        "fit", path, "--target", "arrest", "-k", "1", "--alpha", "1", "--quick"
    ).stderr
    assert "--time 'week' --event 'arrest'" in " ".join(told.split())


def test_one_event_is_refused(run, tmp_path):
    table = {
        "age": columns()["age"],
        "time": DAYS,
        "status": (np.arange(N) == 30).astype(int),
    }
    result = run(
        "fit", write(tmp_path / "t.csv", table), "--time", "time", "--event", "status"
    )
    assert result.exit_code == 3
    assert "only 1 rows of 'status' are '1'" in result.stderr
