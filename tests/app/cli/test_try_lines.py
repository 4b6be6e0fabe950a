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
    "three classes": columns(lab=LAB) | {"y": np.array(["0", "1", "2"])[np.arange(N) * 5 % 3]},
    "three classes and text": columns(grade=GRADES)
    | {"y": np.array(["alive", "dead", "lost"])[np.arange(N) * 5 % 3]},
    "dates": columns(day=[f"2024-0{1 + i % 9}-1{i % 10}" for i in range(N)]),
    "names": columns(patient=[f"P{i:04d}" for i in range(N)], grade=GRADES),
    "limits": columns(lab=some(LAB, 9, ">90")),
    "limits, gaps and text": columns(lab=some(some(LAB, 9, "<5"), 5), grade=some(GRADES, 11)),
    "mostly missing": columns(lab=[one if i % 4 == 0 else "" for i, one in enumerate(LAB)]),
    "blank labels": columns(grade=GRADES)
    | {"y": some(np.where(np.arange(N) % 3 == 0, "Yes", "No"), 9, "   ")},
    "infinite": columns(lab=some(LAB, 9, "inf")),
    "two meanings": columns(dose=[f"{1 + i % 9},{100 + 13 * i % 800}" for i in range(N)]),
    "beyond 2^53": columns(key=[str(2**60 + 3 * i * i) for i in range(N)]),
}


@pytest.mark.parametrize("name", TABLES)
def test_the_command_that_is_suggested_works(name, tmp_path, monkeypatch):
    table = TABLES[name]
    delimiter = ";" if name == "two meanings" else ","
    lines = [delimiter.join(map(str, row)) for row in zip(*table.values(), strict=True)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join([delimiter.join(table), *lines]) + "\n")

    def run(arguments):
        monkeypatch.setattr(sys, "argv", ["sparseauc", *arguments])
        return CliRunner().invoke(app, arguments)

    first = run(["fit", str(path), "--target", "y", "-k", "1", "--alpha", "1", "--quick"])
    assert first.exit_code == 3, first.output
    (line,) = [one for one in first.output.splitlines() if one.startswith("Try: sparseauc ")]
    second = run(shlex.split(line)[2:])
    assert second.exit_code == 0, f"{line}\n{second.output}"
