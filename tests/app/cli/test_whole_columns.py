"""``--text whole``: a text column is chosen with all its levels or not at all."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from sparseauc_app.cli import app


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    n = 120
    y = rng.random(n) < 0.4
    stage = np.array(["I", "II", "III", "IV"])[
        np.digitize(rng.normal(size=n) + y, [-0.5, 0.5, 1.5])
    ]
    colour = rng.choice(["red", "green", "blue"], n)
    sex = rng.choice(["f", "m"], n)
    rows = zip(stage, colour, sex, rng.normal(60, 10, n) + 4 * y, y, strict=True)
    lines = [f"{a},{b},{c},{age:.1f},{int(label)}" for a, b, c, age, label in rows]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["stage,colour,sex,age,dead", *lines]))
    return path, max(["I", "II", "III", "IV"], key=stage.tolist().count)


def fit(path, *options):
    how = ["--text", "whole", "--alpha", "1", "--quick", "--json"]
    command = ["fit", str(path), "-t", "dead", *how, *options]
    return CliRunner().invoke(app, command)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_all_levels_or_none(table, k):
    path, common = table
    run = fit(path, "-k", str(k))
    assert run.exit_code == 0, run.output
    chosen = {one["column"] for one in json.loads(run.stdout)["chosen"]}
    stages = {f"stage={level}" for level in ("I", "II", "III", "IV") if level != common}
    colours = {name for name in chosen if name.startswith("colour")}
    assert stages <= chosen
    assert len(colours) in (0, 2)
    # A column takes one place, however many levels it has.
    assert len({name.split("=")[0] for name in chosen}) == k
    assert chosen <= stages | colours | {"sex=m", "age"}
    if k == 1:
        assert chosen == stages


def test_the_note_says_what_levels_are_compared_with(table):
    path, common = table
    (note,) = [one for one in json.loads(fit(path, "-k", "3").stdout)["notes"] if "levels" in one]
    assert note.startswith("chosen with all levels or not at all: ")
    assert f"'stage' (levels against {common!r})" in note
    assert "'sex'" not in note  # one column says all


def test_signs_are_refused_with_the_way_out(table, tmp_path):
    signs = tmp_path / "signs.csv"
    signs.write_text("name,sign\nage,+\n")
    run = fit(table[0], "-k", "4", "--limits", str(signs))
    assert run.exit_code == 3
    assert "--text whole makes a group of the levels of 'stage', 'colour'" in run.output
    assert "--text one-hot" in run.output


def test_a_whole_column_is_paid_for_once(table, tmp_path):
    costs = tmp_path / "costs.csv"
    costs.write_text("name,cost\nstage,5\ncolour,1\nsex,1\nage,2\n")
    run = fit(table[0], "-k", "4", "--limits", str(costs), "--limits", "budget=7")
    assert run.exit_code == 0, run.output
    chosen = {one["column"] for one in json.loads(run.stdout)["chosen"]}
    prices = {"stage": 5, "colour": 1, "sex": 1, "age": 2}
    assert sum(prices[name] for name in {one.split("=")[0] for one in chosen}) <= 7
    assert "stage=IV" in chosen  # three levels, 15 if each were paid for


def test_text_of_two_levels_needs_no_groups(table, tmp_path):
    lines = table[0].read_text().splitlines()
    path = tmp_path / "two.csv"
    path.write_text("\n".join(",".join(line.split(",")[2:]) for line in lines))
    signs = tmp_path / "signs.csv"
    signs.write_text("name,sign\nage,+\n")
    run = fit(path, "-k", "2", "--limits", str(signs))
    assert run.exit_code == 0, run.output
