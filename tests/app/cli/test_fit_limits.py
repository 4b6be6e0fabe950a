"""``fit`` with --limits and --exclude."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from sparseauc_app.cli import app
from sparseauc_app.model_files import load_model

RNG = np.random.default_rng(0)
N = 150
Y = np.arange(N) % 3 == 0
X = RNG.normal(size=(N, 5)) + np.outer(Y, [1.0, -0.8, 0.6, 0.5, 0.0])
FRAME = pd.DataFrame(X, columns=["age", "crp", "hb", "wbc", "bnp"]).assign(
    sex=np.where(RNG.random(N) < 0.4 + 0.3 * Y, "f", "m"),
    outcome=np.where(Y, "ill", "well"),
)
COSTS = """name,cost
age,0
sex,1
crp,5
hb,8
wbc,8
bnp,30
not in the table,2
"""


@pytest.fixture
def table(tmp_path):
    FRAME.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "costs.csv").write_text(COSTS)
    return tmp_path / "table.csv"


def run(table, *arguments):
    fixed = ["fit", table, "-t", "outcome", "--positive", "ill"]
    return CliRunner().invoke(app, [*map(str, fixed), *map(str, arguments)])


def test_a_budget(table, tmp_path):
    out, report, costs = (tmp_path / n for n in ("m.json", "r.html", "costs.csv"))
    result = run(
        table,
        "--limits",
        costs,
        "--limits",
        "budget=14",
        "--alpha",
        1,
        "-o",
        out,
        "--report",
        report,
    )
    assert result.exit_code == 0, result.output
    summary = load_model(out).summary
    cost = summary["cost"]
    assert cost <= summary["budget"] == 14
    assert sum(line["cost"] for line in summary["chosen"]) == cost
    assert f"cost {cost:g} of 14" in result.stdout
    assert "cost" in result.stdout
    assert [row["budget"] for row in summary["auc_by_k"]][-1] == 14
    page = report.read_text()
    assert "AUC against the budget" in page
    assert f"this one costs {cost:g}" in page
    shown = CliRunner().invoke(app, ["show", str(out)])
    assert f"cost {cost:g} of 14" in shown.stdout


def limited(table, content, *arguments, name="limits.toml"):
    path = table.parent / name
    path.write_text(content)
    return run(table, "--limits", path, *arguments)


QUICK = ("-k", 3, "--alpha", 1, "--quick", "--json")


def test_signs(table):
    files = {"a.csv": "name,sign\ncrp,+\nage,-\nwbc,0\n",
             "a.toml": '[signs]\ncrp = "+"\nage = "-"\nwbc = 0\n'}  # fmt: skip
    found = []
    for name, content in files.items():
        result = limited(table, content, *QUICK, name=name)
        assert result.exit_code == 0, result.output
        found.append(json.loads(result.stdout))
    assert found[0]["chosen"] == found[1]["chosen"]
    assert found[0]["settings"]["limits"] == {"signs": {"crp": 1, "age": -1, "wbc": 0}}
    assert found[0]["limits"] == {"signs": {"age": -1, "crp": 1, "wbc": 0}}
    coefficients = {line["column"]: line["coefficient"] for line in found[0]["chosen"]}
    assert "age" not in coefficients  # its sign would be the other one
    assert coefficients.get("crp", 0) >= 0
    free = json.loads(run(table, *QUICK).stdout)
    assert "age" in {line["column"] for line in free["chosen"]}
    assert free["cost"] is None
    assert free["limits"] == {}
    assert "cost" not in free["chosen"][0]


def test_families(table, tmp_path):
    report = tmp_path / "r.html"
    content = (
        "name,family\nage,person\nsex,person\ncrp,blood\nhb,blood\nwbc,blood\nx,y\n"
    )
    result = limited(table, content, *QUICK, "--report", report, name="f.csv")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    families = [line["family"] for line in found["chosen"]]
    assert sorted(families) == ["", "blood", "person"]
    assert "No list has more than 1 column of a family" in report.read_text()
    (tmp_path / "most.toml").write_text(
        "max_per_family = 2\n[families]\nhb = 'b'\nwbc = 'b'\n"
    )
    two = run(
        table, "--limits", tmp_path / "most.toml", "-k", 3, "--alpha", 1, "--quick"
    )
    assert two.exit_code == 0
    assert "family" in two.stdout
    free = json.loads(run(table, *QUICK).stdout)
    assert "family" not in free["chosen"][0]


def test_a_required_column_that_is_left_out(table):
    content = 'always_include = ["age"]\nbudget = 3\n[signs]\nage = "-"\n'
    result = limited(table, content, "-k", 3, "--alpha", 1, "--json", "--quick")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert len(found["chosen"]) == 3
    assert found["cost"] == 3
    assert found["limits"]["not_included"] == ["age"]
    assert any("'age' cannot be on the list" in one for one in found["warnings"])


@pytest.mark.parametrize(
    ("content", "arguments", "says"),
    [
        ("[families]\nagee = 'p'", [], "families: there is no column 'agee'; did you mean"),
        ("[families]\nage = 'p'\ncrp = 'p'", ["--limits", "always_include=age", "--limits",
         "always_include=crp"],
         "always_include names 2 columns of family 'p', more than max_per_family=1"),
        ("max_per_family = 2", [], "max_per_family=2 has no effect without families"),
        ("[signs]\nagee = '+'", [], "signs: there is no column 'agee'; did you mean 'age'?"),
        ("[signs]\nage = 'up'", [], "signs: column 'age' has 'up'; a sign is"),
        ("[costs]\nage = 1\ncrp = 2", [], "costs: there is no cost for 'hb', 'wbc', 'bnp', 'sex'"),
        ("[costs]\nage = -1", [], "the cost of column 'age' is -1"),
        ("[costs]\nage = nan", [], "the cost of column 'age' is nan"),
        ("budget = 0.5", [], "budget is 0.5, but the cheapest, column 'age', costs 1"),
        ("budget = 5", ["--limits", "budget=3"], "budget is given twice"),
        ("", ["--limits", "budget=1", "--limits", "always_include=age", "--limits",
              "always_include=bnp"],
         "(column 'age', column 'bnp') costs 2"),
        ("", ["--limits", "always_include=age", "--exclude", "age"],
         "column 'age' is in both always_include and exclude"),
        ("", ["--limits", "none.csv"], "--limits: cannot read none.csv: No such file"),
        ("", ["--limits", "none.txt"], "none.txt is neither a .toml nor a .csv file"),
    ],
)  # fmt: skip
def test_refusals(table, content, arguments, says):
    result = limited(table, content, *arguments, "--quick")
    assert result.exit_code == 3
    assert says in " ".join(result.output.split())


def test_a_price_list_without_its_heading(table, tmp_path):
    (tmp_path / "bare.csv").write_text("age,5\ncrp,6\n")
    result = run(table, "--limits", tmp_path / "bare.csv", "--quick")
    assert "needs a column name and one or more of" in " ".join(result.output.split())


def test_limits_name_columns_and_do_not_count_them(table, tmp_path):
    """Columns that are left out would move the places of those after them."""
    (tmp_path / "l.toml").write_text("exclude = [2]")
    result = run(table, "--limits", tmp_path / "l.toml")
    assert result.exit_code == 3
    assert "exclude has columns by their place: give their names" in result.stderr
    (tmp_path / "l.toml").write_text("costs = [1, 2, 3, 4, 5, 6]")
    result = run(table, "--limits", tmp_path / "l.toml")
    assert result.exit_code == 3
    assert "costs has columns by their place" in result.stderr


def test_text_is_limited_as_a_whole(tmp_path):
    ward = np.array(["er", "icu", "ward"])[
        (np.arange(N) + 2 * (RNG.random(N) < 0.5 * Y)) % 3
    ]
    table = tmp_path / "t.csv"
    FRAME.assign(ward=ward).drop(columns="sex").to_csv(table, index=False)

    def fit(*limits):
        fixed = [
            "fit",
            table,
            "-t",
            "outcome",
            "-k",
            3,
            "--alpha",
            1,
            "--quick",
            "--json",
        ]
        return CliRunner().invoke(app, [*map(str, fixed), *map(str, limits)])

    for field in ("exclude", "always_include"):
        result = fit("--limits", f"{field}=ward=icu")
        assert result.exit_code == 3
        assert (
            f"{field}: there is no column 'ward=icu'; did you mean 'ward'?"
            in result.output
        )
    for field, held in (("always_include", True), ("exclude", False)):
        found = json.loads(fit("--limits", f"{field}=ward").stdout)
        assert ("ward" in {one["column"] for one in found["chosen"]}) == held
    (tmp_path / "c.csv").write_text("name,cost\nward,1\nage,1\ncrp,1\nhb,1\nwbc,1\n")
    result = fit("--limits", tmp_path / "c.csv")
    assert "there is no cost for 'bnp'" in result.output
    assert "there are 'ward'" not in result.output


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a = " + "[" * 100_000 + "]" * 100_000, "is not a TOML file"),
        ("budget = " + "9" * 5000, "is not a TOML file"),
        ("x" + ".x" * 30_000 + " = 1", "a key has more than 50 parts"),
        ('always_include = [["age"]]', "always_include must hold column names"),
        ("exclude = 5", "exclude must be a list of columns"),
        ("[families]\nage = [1, 2]\ncrp = [1, 2]", "families: column 'age' has [1, 2]"),
        ("[column_groups]\nage = {a = 1}", "column_groups: column 'age' has {'a': 1}"),
    ],
)
def test_limits_files_that_are_none(table, tmp_path, content, said):
    (tmp_path / "l.toml").write_text(content)
    result = run(table, "--limits", tmp_path / "l.toml", "-k", 2, "--quick")
    assert result.exit_code == 3
    assert said in result.stderr


@pytest.mark.parametrize(
    ("option", "value"), [("--jobs", 1_000_000), ("--seed", 2**32)]
)
def test_numbers_beyond_what_there_is(table, option, value):
    result = run(table, "-k", 2, "--quick", option, value)
    assert result.exit_code == 2
    assert f"'{option}'" in result.stderr
