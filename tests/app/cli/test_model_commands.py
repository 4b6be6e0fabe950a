"""predict, show and export: what a model file is good for."""

import io
import json
import re
import sqlite3
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from commands import run
from sparseauc import SparseAUCClassifierCV
from sparseauc.metrics import auc
from sparseauc_app.model_files import load_model

RNG = np.random.default_rng(0)
N = 90
Y = np.arange(N) % 3 == 0
X = RNG.normal(size=(N, 5)) + np.outer(Y, [1.0, 0.8, 0, 0, 0])
FRAME = pd.DataFrame(X, columns=list("abcde")).assign(
    colour=np.where(Y ^ (RNG.random(N) < 0.3), "red", "blue"),
    y=np.where(Y, "ill", "well"),
)


def fitted(folder, name, frame, *arguments):
    frame.to_csv(folder / "table.csv", index=False)
    out = folder / name
    result = run(
        "fit", folder / "table.csv", "-t", "y", "--positive", "ill", "--alpha", 1, "--quick",
        "--out", out, *arguments,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    return out


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def plain(folder):
    return fitted(folder, "plain.json", FRAME.drop(columns="colour"), "-k", 2)


@pytest.fixture(scope="module")
def imputing(folder):
    frame = FRAME.copy()
    frame.loc[::4, "a"] = np.nan
    frame.loc[::5, "colour"] = None
    arguments = ("-k", 3, "--missing", "median", "--limits", "always_include=colour")
    return fitted(folder, "imputing.json", frame, *arguments)


def scores(result):
    assert result.exit_code == 0, result.output
    return pd.read_csv(io.StringIO(result.stdout))


@pytest.mark.slow
def test_a_model_is_used_without_scikit_learn_and_numba(plain, folder):
    """They take two seconds to import."""
    FRAME.drop(columns=["y", "colour"]).to_csv(folder / "new.csv", index=False)
    code = (
        "import sys; from typer.testing import CliRunner; from sparseauc_app.cli import app\n"
        f"model, new = {str(plain)!r}, {str(folder / 'new.csv')!r}\n"
        "for words in (['show', model], ['export', model, 'sql'], ['predict', model, new]):\n"
        "    assert CliRunner().invoke(app, words).exit_code == 0, words\n"
        "print([name for name in ('sklearn', 'numba') if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True
    )
    assert result.stdout == "[]\n", result.stderr


# ------------------------------------------------------------------------------- points


@pytest.mark.parametrize("imputes", [False, True])
def test_points_go_where_the_model_goes(folder, tmp_path, imputes):
    frame = FRAME.copy()
    if imputes:
        frame.loc[::4, "a"] = np.nan
    arguments = ("-k", 3, "--points", 4, "--missing", "median")
    model = fitted(folder, f"points{imputes}.json", frame, *arguments)
    points = json.loads(model.read_text())["summary"]["points"]
    by_column = pd.DataFrame(points["columns"]).groupby("column")["points"]
    assert (by_column.min() == 0).all()
    assert by_column.max().max() == 4
    by_hand = np.zeros(N)
    for one in points["columns"]:
        values = frame[one["column"]]
        if one["column"] == "colour":
            by_hand += one["points"] * (values == one["class"])
        else:
            middle = np.nanquantile(values, 0.5, method="inverted_cdf")
            by_hand += one["points"] * in_class(values.fillna(middle), one["class"])
    frame.to_csv(tmp_path / "new.csv", index=False)
    found = scores(run("predict", model, tmp_path / "new.csv"))["total"]
    np.testing.assert_array_equal(found, by_hand)
    in_log_odds = points["slope"] * by_hand + points["intercept"]
    np.testing.assert_allclose(
        load_model(model).decision_function(frame), in_log_odds, rtol=1e-12
    )

    page = run("show", model).stdout
    assert page.count("above") < 2 * str(points["columns"]).count(
        "above"
    )  # the card alone
    for one in points["columns"]:
        assert re.search(
            rf" {re.escape(one['class'])} +{one['points']}$", page, re.MULTILINE
        )
    assert f"Above {points['threshold']:g}, the risk is higher" in page
    assert repr(points["threshold"]) in run("export", model, "sql").stdout


def in_class(values, name):
    """Rows of a class by its name, such as "above 2 to 3"."""
    words = name.split()
    above = float(words[words.index("above") + 1]) if "above" in words else -np.inf
    up_to = float(words[words.index("to") + 1]) if "to" in words else np.inf
    return (values > above) & (values <= up_to)


@pytest.mark.slow
def test_points_are_judged_by_nested_cross_validation(tmp_path):
    FRAME.drop(columns="colour").to_csv(tmp_path / "t.csv", index=False)
    whole, plain = (
        json.loads(run("fit", tmp_path / "t.csv", "-t", "y", "--positive", "ill", "-k", 2,
                       "--alpha", 1, "--json", *more).stdout)
        for more in (("--points", 1, "--out", tmp_path / "points.json"), ())
    )  # fmt: skip
    assert plain["points"] is None
    assert {abs(one["points"]) for one in whole["chosen"]} == {1}
    assert whole["auc"]["folds"] != plain["auc"]["folds"]
    totals = scores(run("predict", tmp_path / "points.json", tmp_path / "t.csv"))[
        "total"
    ]
    assert whole["training_auc"] == pytest.approx(auc(FRAME["y"] == "ill", totals))
    assert whole["points"]["auc"] < whole["training_auc"]  # of rows left out


# ------------------------------------------------------------------------------ predict


def test_scores_are_the_estimators(plain, tmp_path):
    new = tmp_path / "new.csv"
    FRAME.to_csv(new, index=False)
    found = scores(run("predict", plain, new))
    model = SparseAUCClassifierCV([2], [1.0], coefficients="auc", curves=False)
    model.fit(X, Y)
    np.testing.assert_allclose(found["score"], model.decision_function(X), rtol=1e-12)
    assert found["row"].tolist() == list(range(1, N + 1))
    expected = np.where(model.predict_proba(X)[:, 1] > Y.mean(), "ill", "well")
    assert found["label"].tolist() == expected.tolist()


@pytest.mark.parametrize("kind", ["order", "fewer", "more", "parquet"])
def test_columns_are_found_by_name(plain, tmp_path, kind):
    whole = tmp_path / "whole.csv"
    FRAME.to_csv(whole, index=False)
    new = tmp_path / ("new.parquet" if kind == "parquet" else "new.csv")
    if kind == "order":
        FRAME[FRAME.columns[::-1]].to_csv(new, index=False)
    elif kind == "fewer":
        FRAME[["b", "a"]].to_csv(new, index=False)
    elif kind == "more":
        FRAME.assign(text="remark", a_2=1.0).to_csv(new, index=False)
    else:
        FRAME.astype({"a": np.float64}).to_parquet(new)
    expected = scores(run("predict", plain, whole))
    np.testing.assert_allclose(
        scores(run("predict", plain, new))["score"], expected["score"]
    )


def test_missing_columns_are_named(plain, tmp_path):
    new = tmp_path / "new.csv"
    FRAME.rename(columns={"a": "A_"}).to_csv(new, index=False)
    one = run("predict", plain, new)
    assert one.exit_code == 3
    assert "there is no column 'a'" in one.stderr
    FRAME[["c", "d"]].to_csv(new, index=False)
    two = run("predict", plain, new)
    assert "lacks 2 of the 2 columns that the model uses: 'a', 'b'" in two.stderr


def test_rows_that_lack_a_value(plain, imputing, tmp_path):
    new = tmp_path / "new.csv"
    frame = FRAME.copy()
    frame.loc[4, "a"] = np.nan
    frame.loc[6, "colour"] = None
    frame.to_csv(new, index=False)
    result = run("predict", plain, new)
    assert "1 of 90 rows, the first is row 5, have no score" in result.stderr
    empty = scores(result)
    assert np.flatnonzero(empty["score"].isna()).tolist() == [4]
    assert np.flatnonzero(empty["label"].isna()).tolist() == [4]
    assert scores(run("predict", imputing, new))["score"].notna().all()


def test_text_where_numbers_belong(plain, tmp_path):
    new = tmp_path / "new.csv"
    frame = FRAME.astype({"a": object})
    frame.loc[7, "a"] = "about 3"
    frame.to_csv(new, index=False)
    result = run("predict", plain, new)
    assert result.exit_code == 3
    assert "'a' must hold numbers, but is 'about 3' in row 8" in result.stderr


@pytest.mark.parametrize("name", ["s.csv", "s.tsv", "s.parquet"])
def test_files_of_scores(plain, tmp_path, name):
    new, out = tmp_path / "new.csv", tmp_path / name
    FRAME.to_csv(new, index=False)
    result = run("predict", plain, new, "--out", out)
    assert (result.exit_code, result.output) == (0, f"Written: {out}\n")
    if name.endswith("parquet"):
        found = pd.read_parquet(out)
    else:
        found = pd.read_csv(out, sep="\t" if name.endswith("tsv") else ",")
    assert list(found) == ["row", "score", "risk", "label"]
    assert found["row"].tolist() == list(range(1, N + 1))
    again = run("predict", plain, new, "--out", out)
    assert again.exit_code == 5
    assert run("predict", plain, new, "--out", new, "--force").exit_code == 5


def test_ids_are_remembered_from_the_fit(tmp_path):
    frame = FRAME.drop(columns="colour").assign(who=[f"w{i}" for i in range(N)])
    model = fitted(tmp_path, "m.json", frame, "-k", 1, "--ids", "who")
    assert scores(run("predict", model, tmp_path / "table.csv"))["who"][3] == "w3"
    other = tmp_path / "other.csv"
    frame.drop(columns="who").to_csv(other, index=False)
    assert scores(run("predict", model, other))["row"][3] == 4


def test_bad_models(tmp_path, plain):
    new = tmp_path / "new.csv"
    FRAME.to_csv(new, index=False)
    cut = tmp_path / "cut.json"
    cut.write_bytes(plain.read_bytes()[:-100])
    for model in (cut, new, tmp_path / "absent.json"):
        for arguments in (
            ("predict", model, new, "--out", tmp_path / "s.csv"),
            ("show", model),
            ("export", model, "sql"),
        ):
            result = run(*arguments)
            assert result.exit_code == 4, result.output
            assert isinstance(result.exception, SystemExit)
            assert result.stderr.startswith("Error: ")
    assert not (tmp_path / "s.csv").exists()


# --------------------------------------------------------------------------------- show
# and export


def test_show(plain):
    result = run("show", plain)
    assert result.exit_code == 0
    for part in ("'ill' against 'well'", "table.csv: 90 rows", "2 columns, ridge 1"):
        assert part in result.output
    content = json.loads(plain.read_text())
    assert [term["column"] for term in content["terms"]] == ["a", "b"]
    assert content["summary"]["rows"] == 90


def test_exports_score_as_predict_does(imputing, tmp_path):
    new = tmp_path / "new.csv"
    frame = FRAME.copy()
    frame.loc[::7, "a"] = np.nan
    frame.loc[::6, "colour"] = None
    frame.to_csv(new, index=False)
    expected = scores(run("predict", imputing, new))["score"]
    terms = json.loads(imputing.read_text())["terms"]
    assert "colour" in {term["column"] for term in terms}

    sql = run("export", imputing, "sql").stdout
    with sqlite3.connect(":memory:") as connection:
        frame.to_sql("my_table", connection, index=False)
        found = pd.read_sql(sql, connection)["sparseauc_score"]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_workbook_needs_a_file_and_outputs_are_safe(plain, tmp_path):
    assert run("export", plain, "xlsx").exit_code == 2
    for kind, start in (
        ("html", b"<!doctype html>"),
        ("xlsx", b"PK"),
        ("r", b"# Score of"),
    ):
        made = tmp_path / f"made.{kind}"
        assert run("export", plain, kind, "--out", made).exit_code == 0
        assert made.read_bytes().startswith(start)
    out = tmp_path / "m.sql"
    assert run("export", plain, "sql", "--out", out).exit_code == 0
    assert run("export", plain, "sql", "--out", out).exit_code == 5
    assert run("export", plain, "prolog").exit_code == 2


# ------------------------------------------------------------------------------ compare


def test_compare(tmp_path):
    table = tmp_path / "t.csv"
    FRAME.drop(columns="colour").to_csv(table, index=False)
    arguments = (
        "compare",
        table,
        "-t",
        "y",
        "--methods",
        "mean-difference, l1-logistic",
    )
    result = run(*arguments, "--folds", 2)
    assert result.exit_code == 0, result.output
    assert "l1-logistic" in result.stdout
    assert all(
        len(line) <= 80 and "…" not in line for line in result.stdout.splitlines()[:6]
    )
    assert result.stdout.splitlines()[1].split()[:3] == ["method", "k", "AUC"]
    figures = pd.DataFrame(
        json.loads(run(*arguments, "--folds", 2, "--json").stdout)["methods"]
    )
    assert figures["method"].tolist() == ["mean-difference", "l1-logistic"]
    assert (figures["low"] < figures["auc"]).all()
    assert run("compare", table, "-t", "y", "--methods", "forest").exit_code == 2
    assert run("compare", table, "-t", "nope").exit_code == 3


# ------------------------------------------------------------------------ crafted cards


WRONG = [None, "text", -1, 1e308, [], {}, [None], {"a": 1}, "a\ud800", True, "\x1b[2J"]


def paths(node, here=()):
    """Every place in a card that something else could be put."""
    if here:
        yield here
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items if isinstance(node, dict | list) else ():
        if isinstance(value, dict | list):
            yield from paths(value, (*here, key))
        else:
            yield (*here, key)


def crafted(original, place, value):
    """A model file with something else in its card."""
    content = json.loads(original.read_text())
    node = content
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = value
    return json.dumps(content).encode()


@pytest.mark.slow
def test_crafted_cards_end_in_one_line(folder, tmp_path):
    frame = FRAME.copy()
    frame.loc[::4, "a"] = np.nan
    frame.to_csv(folder / "table.csv", index=False)
    model = folder / "whole.json"
    result = run(
        "fit", folder / "table.csv", "-t", "y", "--positive", "ill", "--out", model, "--missing",
        "median", "-k", "1-3",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    places = list(paths(json.loads(model.read_text())))
    rng = np.random.default_rng(0)
    path, out = tmp_path / "crafted.json", tmp_path / "m.sql"
    tried = 0
    others = [place for place in places if place[0] != "summary"]
    summary = [place for place in places if place[0] == "summary"]
    keys = [place for place in summary if len(place) == 2]
    deeper = [summary[j] for j in rng.permutation(len(summary))[:30]]
    for place in [*others[:: max(1, len(others) // 25)], *keys, *deeper]:
        for value in [WRONG[j] for j in rng.choice(len(WRONG), 2, replace=False)]:
            path.write_bytes(crafted(model, place, value))
            for arguments in (
                ("show", path),
                ("predict", path, folder / "table.csv"),
                ("export", path, "sql"),
            )[: 1 if place[0] == "summary" else 3]:
                result = run(*arguments)
                tried += 1
                assert isinstance(result.exception, SystemExit | None), (
                    place,
                    value,
                    arguments,
                )
                assert (
                    not {"\x1b"} & {*(result.stdout + result.stderr)}
                    or arguments[0] == "export"
                )
                if result.exit_code:
                    assert result.stderr.startswith("Error: "), (place, value)
    assert tried > 150
    assert not out.exists()
