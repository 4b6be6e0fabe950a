"""A text column is chosen with all its levels or not at all."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from sparseauc_app.cli import app
from sparseauc_app.model_files import load_model


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
    how = ["--alpha", "1", "--quick", "--json"]
    command = ["fit", str(path), "-t", "dead", *how, *options]
    return CliRunner().invoke(app, command)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_all_levels_or_none(table, tmp_path, k):
    path, common = table
    model = tmp_path / "m.json"
    run = fit(path, "-k", str(k), "--out", str(model))
    assert run.exit_code == 0, run.output
    # A column takes one place, however many levels it has.
    chosen = {one["column"] for one in json.loads(run.stdout)["chosen"]}
    assert len(chosen) == k
    assert {"stage"} <= chosen <= {"stage", "colour", "sex", "age"}
    of = {term.column: term.encoding for term in load_model(model).terms}
    assert of.keys() == chosen
    assert of["stage"].levels == ("I", "II", "III", "IV")
    # The most frequent level counts 0, and each other has a weight of its own.
    effects = of["stage"].formula().effects
    assert [level for level, effect in effects.items() if effect == 0] == [common]
    assert len({*effects.values()}) == 4
    assert len(of["colour"].coef) == 2 if "colour" in chosen else k < 4


def test_the_note_says_what_is_chosen_whole(table):
    notes = json.loads(fit(table[0], "-k", "3").stdout)["notes"]
    assert (
        "text columns are chosen with all their levels or not at all: 'stage', 'colour', 'sex'"
        in notes
    )


def test_signs_are_of_numbers(table, tmp_path):
    signs = tmp_path / "signs.csv"
    limits = ("-k", "4", "--limits", str(signs))
    signs.write_text("name,sign\nage,-\nstage,+\n")
    refused = fit(table[0], *limits)
    assert refused.exit_code == 3
    assert "and of text of two levels, but not of 'stage'" in refused.output
    signs.write_text("name,sign\nage,-\n")
    run = fit(table[0], *limits)
    assert run.exit_code == 0, run.output
    chosen = {one["column"]: one for one in json.loads(run.stdout)["chosen"]}
    assert "stage" in chosen
    assert "age" not in chosen  # its coefficient is positive


def test_a_column_counts_once(table, tmp_path):
    model, page = tmp_path / "m.json", tmp_path / "r.html"
    command = ["fit", str(table[0]), "-t", "dead", "-k", "3", "--alpha", "1",
               "--out", str(model), "--report", str(page)]  # fmt: skip
    run = CliRunner().invoke(app, command)
    assert run.exit_code == 0, run.output
    assert "4 columns to choose from" in run.output
    card = load_model(model)
    assert "\n3 columns, ridge 1" in run.output
    assert card.summary["k"] == len(card.terms) == len(card.summary["chosen"]) == 3
    assert card.summary["auc"]["fold_sizes"] == [3] * 5
    assert "Replacements" in page.read_text()


def test_a_whole_column_is_paid_for_once(table, tmp_path):
    costs = tmp_path / "costs.csv"
    costs.write_text("name,cost\nstage,5\ncolour,1\nsex,1\nage,2\n")
    run = fit(table[0], "-k", "4", "--limits", str(costs), "--limits", "budget=7")
    assert run.exit_code == 0, run.output
    chosen = {one["column"] for one in json.loads(run.stdout)["chosen"]}
    prices = {"stage": 5, "colour": 1, "sex": 1, "age": 2}
    assert sum(prices[name] for name in chosen) <= 7
    assert "stage" in chosen  # three levels, 15 if each were paid for


def test_text_of_two_levels_needs_no_groups(table, tmp_path):
    lines = table[0].read_text().splitlines()
    path = tmp_path / "two.csv"
    path.write_text("\n".join(",".join(line.split(",")[2:]) for line in lines))
    signs = tmp_path / "signs.csv"
    signs.write_text("name,sign\nage,+\n")
    run = fit(path, "-k", "2", "--limits", str(signs))
    assert run.exit_code == 0, run.output


def test_compared_lists_count_columns_of_the_table(table):
    command = ["compare", str(table[0]), "-t", "dead", "--methods", "sparse-auc,l1-logistic",
               "--folds", "2", "--json"]  # fmt: skip
    run = CliRunner().invoke(app, command)
    assert run.exit_code == 0, run.output
    assert all(one["columns"] <= 4 for one in json.loads(run.stdout)["methods"])


def test_required_text(table, tmp_path):
    head, *rows = table[0].read_text().splitlines()
    lines = [f"ward {i % 30},P{i},{row}" for i, row in enumerate(rows)]
    path = tmp_path / "required.csv"
    path.write_text("\n".join([f"ward,patient,{head}", *lines]))
    left = json.loads(fit(path, "-k", "2").stdout)
    assert left["left_out"] == {
        "ward": "text with 30 levels",
        "patient": "differs in every row",
    }
    kept = json.loads(fit(path, "-k", "2", "--limits", "always_include=ward").stdout)
    assert {"ward"} < {one["column"] for one in kept["chosen"]}
    refused = fit(path, "--limits", "always_include=patient")
    assert refused.exit_code == 3
    assert (
        "always_include: 'patient' is left out (differs in every row)" in refused.output
    )


def test_a_table_of_identifiers(tmp_path):
    path = tmp_path / "ids.csv"
    path.write_text("patient,dead\n" + "".join(f"P{i},{i % 2}\n" for i in range(40)))
    said = fit(path).output
    assert (
        "no column to choose except 'dead', and leaves out 'patient' (differs in every"
        in said
    )
