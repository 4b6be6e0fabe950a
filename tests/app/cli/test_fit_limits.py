"""``fit`` with --signs, --costs, --budget and --families."""

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
    sex=np.where(RNG.random(N) < 0.4 + 0.3 * Y, "f", "m"), outcome=np.where(Y, "ill", "well")
)
PRICES = """name,cost,bundle
age,0,
sex,1,
crp,5,
hb,8,blood count
wbc,8,blood count
bnp,30,
not in the table,2,
"""


@pytest.fixture
def table(tmp_path):
    FRAME.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "prices.csv").write_text(PRICES)
    return tmp_path / "table.csv"


def run(table, *arguments):
    fixed = ["fit", table, "-t", "outcome", "--positive", "ill", "--text", "one-hot"]
    return CliRunner().invoke(app, [*map(str, fixed), *map(str, arguments)])


def test_a_budget(table, tmp_path):
    out, report, prices = (tmp_path / n for n in ("m.skops", "r.html", "prices.csv"))
    result = run(
        table, "--costs", prices, "--budget", 14, "--alpha", 1, "-o", out, "--report", report
    )
    assert result.exit_code == 0, result.output
    model, summary = load_model(out).estimator, load_model(out).card.summary
    assert model.cost_ == summary["cost"] <= summary["budget"] == 14
    assert sum(line["price"] for line in summary["chosen"]) == model.cost_
    assert f"cost {model.cost_:g} of 14" in result.stdout
    assert "price" in result.stdout
    # The blood count is paid once, and so is what is asked of the two sexes.
    bought = {line["column"]: line["price"] for line in summary["chosen"]}
    assert not {"hb", "wbc"} <= set(bought) or bought["hb"] + bought["wbc"] == 8
    assert [row["budget"] for row in summary["auc_by_k"]][-1] == 14
    page = report.read_text()
    assert "AUC against the budget" in page
    assert f"this one costs {model.cost_:g}" in page
    shown = CliRunner().invoke(app, ["show", str(out)])
    assert f"cost {model.cost_:g} of 14" in shown.stdout


def test_signs_in_words_and_in_a_file(table, tmp_path):
    file = tmp_path / "signs.csv"
    file.write_text("name,sign\ncrp,+\nage,-\nwbc,0\n")
    found = []
    for given in (("crp=+,age=-", "wbc=0"), (file,)):
        options = [part for one in given for part in ("--signs", one)]
        result = run(table, *options, "-k", 3, "--alpha", 1, "--quick", "--json")
        assert result.exit_code == 0, result.output
        found.append(json.loads(result.stdout))
    assert found[0]["chosen"] == found[1]["chosen"]
    assert found[0]["settings"]["signs"] == {"crp": 1, "age": -1, "wbc": 0}
    coefficients = {line["column"]: line["coefficient"] for line in found[0]["chosen"]}
    assert "age" not in coefficients  # its sign would be the other one
    assert coefficients.get("crp", 0) >= 0
    free = json.loads(run(table, "-k", 3, "--alpha", 1, "--quick", "--json").stdout)
    assert "age" in {line["column"] for line in free["chosen"]}
    assert free["cost"] is None
    assert "price" not in free["chosen"][0]


def test_families_in_words_and_in_a_file(table, tmp_path):
    file, report = tmp_path / "families.csv", tmp_path / "r.html"
    file.write_text("name,family\nage,person\nsex,person\ncrp,blood\nhb,blood\nwbc,blood\nx,y\n")
    words = "age=person,sex=person,crp=blood,hb=blood,wbc=blood"
    found = []
    for given in (words, file):
        result = run(table, "--families", given, "-k", 3, "--alpha", 1, "--quick", "--json",
                     "--report", report, "--force")  # fmt: skip
        assert result.exit_code == 0, result.output
        found.append(json.loads(result.stdout))
    assert found[0]["chosen"] == found[1]["chosen"]
    families = [line["family"] for line in found[0]["chosen"]]
    assert sorted(families) == ["", "blood", "person"]
    assert "No list has more than 1 column of a family" in report.read_text()
    two = run(table, "--families", words, "--max-per-family", 2, "-k", 3, "--alpha", 1, "--quick")
    assert two.exit_code == 0
    assert "family" in two.stdout
    free = json.loads(run(table, "-k", 3, "--alpha", 1, "--quick", "--json").stdout)
    assert "family" not in free["chosen"][0]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--families", "agee=person"], "--families: there is no column 'agee'; did you mean"),
        (["--families", "age=p,crp=p", "--always-include", "age", "--always-include", "crp"],
         "always_include names 2 columns of family 'p', more than max_per_family=1"),
        (["--signs", "agee=+"], "--signs: there is no column 'agee'; did you mean 'age'?"),
        (["--signs", "age=up"], "--signs: 'age' has 'up'; a sign is +, - or 0"),
        (["--signs", "age=+,age=-"], "--signs: 'age' is there twice"),
        (["--signs", "age"], "'age' is neither NAME=VALUE nor a file that ends in .csv"),
        (["--costs", "none.csv"], "--costs: cannot read none.csv: No such file"),
        (["--costs", "age=1,crp=2"], "--costs: there is no price for column 'hb'"),
        (["--costs", "age=dear"], "the price of 'age' is 'dear', not a number"),
        (["--costs", "age=-1,crp=2,hb=1,wbc=1,bnp=1,sex=1"], "price of column 'age' is -1.0"),
        (["--costs", "age=nan,crp=2,hb=1,wbc=1,bnp=1,sex=1"], "price of column 'age' is nan"),
        (["--budget", "0.5"], "budget is 0.5, but the cheapest, column 'age', costs 1"),
        (["--budget", "1", "--always-include", "age", "--always-include", "bnp"],
         "(column 'age', column 'bnp') costs 2"),
    ],
)  # fmt: skip
def test_refusals(table, arguments, says):
    result = run(table, *arguments, "--quick")
    assert result.exit_code == 3
    assert says in " ".join(result.output.split())


def test_a_price_list_without_its_heading(table, tmp_path):
    (tmp_path / "bare.csv").write_text("age,5\ncrp,6\n")
    result = run(table, "--costs", tmp_path / "bare.csv", "--quick")
    assert "needs the columns name and cost" in " ".join(result.output.split())
