"""``--strata``: a column of sites goes from the command to the model file, reports and new rows."""

import io
import json
import warnings

import numpy as np
import pandas as pd
import pytest

from commands import run
from sparseauc import SparseAUCClassifier
from sparseauc.metrics import stratified_auc
from sparseauc.selection import point_score


def patients(seed, rows=60):
    """Patients of five sites that differ in prevalence and in the level of half the columns."""
    rng = np.random.default_rng(seed)
    tables = []
    for site, prevalence in zip("ABCDE", np.linspace(0.15, 0.6, 5), strict=True):
        ill = rng.random(rows) < prevalence
        values = rng.normal(size=(rows, 10)) + 3 * rng.normal(size=10) * (
            np.arange(10) > 4
        )
        values[:, :3] += ill[:, None]
        table = pd.DataFrame(values, columns=[f"m{j}" for j in range(10)])
        tables.append(table.assign(site=site, ill=np.where(ill, "yes", "no")))
    return pd.concat(tables, ignore_index=True)


def scores(result):
    return pd.read_csv(io.StringIO(result.stdout))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("strata")
    old = patients(0)
    alone = old.iloc[[0]].assign(site="F", ill="no")
    pd.concat([old, alone]).to_csv(folder / "old.csv", index=False)
    patients(1).to_csv(folder / "new.csv", index=False)
    patients(1).drop(columns="site").to_csv(folder / "nowhere.csv", index=False)
    result = run(
        "fit", folder / "old.csv", "-t", "ill", "--strata", "site", "-k", "1-5",
        "--out", folder / "m.json", "--report", folder / "r.html", "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    (folder / "fit.json").write_text(result.stdout)
    return folder


def test_the_fit_compares_within_sites(folder):
    content = json.loads((folder / "fit.json").read_text())
    assert content["columns_tried"] == 10  # the site is no predictor
    strata = content["strata"]
    assert (strata["column"], strata["count"]) == ("site", 6)
    within = {one["name"]: one["interval"] for one in strata["within"]}
    assert list(within) == list("ABCDEF")
    assert within["F"] is None
    low, high = (f([one["auc"] for one in within.values() if one]) for f in (min, max))
    assert low <= content["auc"]["auc"] <= high
    assert sum("'F'" in warning for warning in content["warnings"]) == 1
    assert not any("populated" in warning for warning in content["warnings"])
    assert {one["column"] for one in content["chosen"]} >= {"m0", "m1", "m2"}
    assert "alternatives" not in content


def test_report_and_listing_say_so(folder):
    content = json.loads((folder / "fit.json").read_text())
    page = (folder / "r.html").read_text(encoding="utf-8")
    for words in ("of the same site", "AUC by site", "AUC within strata", "6 strata"):
        assert words in page
    shown = run("show", folder / "m.json").stdout
    assert f"AUC within 'site' {content['auc']['auc']:.3f}" in shown


def test_new_rows_are_compared_within_sites_too(folder):
    result = run("validate", folder / "m.json", folder / "new.csv", "--json",
                 "--report", folder / "v.html")  # fmt: skip
    content = json.loads(result.stdout)
    predicted = scores(run("predict", folder / "m.json", folder / "new.csv"))
    new = patients(1)
    expected = stratified_auc(new["ill"], predicted["score"], new["site"])
    for key in ("auc", "low", "high"):
        assert content["auc"][key] == pytest.approx(getattr(expected, key))
    assert content["within"] == "site"
    assert [one["name"] for one in content["groups"]] == list("ABCDE")
    assert content["promised"] is not None
    assert "AUC within site" in (folder / "v.html").read_text(encoding="utf-8")
    assert (
        "AUC within 'site'"
        in run("validate", folder / "m.json", folder / "new.csv").stdout
    )


def test_new_rows_without_sites_are_not_held_to_the_promise(folder):
    content = json.loads(
        run("validate", folder / "m.json", folder / "nowhere.csv", "--json").stdout
    )
    assert content["within"] is None
    assert content["promised"] is None
    assert any("'site'" in warning for warning in content["warnings"])


def test_misuse(folder, tmp_path):
    table = patients(2)
    table.loc[[4, 7], "site"] = None
    table.to_csv(tmp_path / "t.csv", index=False)
    arguments = ("fit", tmp_path / "t.csv", "-t", "ill", "--quick")
    result = run(*arguments, "--strata", "site")
    assert result.exit_code != 0
    assert "--strata: 'site' is missing in rows 5, 8" in result.output
    assert "did you mean 'site'" in run(*arguments, "--strata", "sites").output


def test_points_within_sites(folder, tmp_path):
    result = run(
        "fit", folder / "old.csv", "-t", "ill", "--strata", "site", "-k", 3, "--alpha", 1,
        "--points", 3, "--quick", "--json", "--out", tmp_path / "p.json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert max(one["points"] for one in content["chosen"]) == 3
    old = pd.read_csv(folder / "old.csv")
    predicted = scores(run("predict", tmp_path / "p.json", folder / "old.csv"))
    with pytest.warns(UserWarning, match="one class only"):
        within = stratified_auc(old["ill"], predicted["total"], old["site"])
    assert content["training_auc"] == pytest.approx(within.auc)
    X, ill, site = old[[f"m{j}" for j in range(10)]], old["ill"] == "yes", old["site"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SparseAUCClassifier(k=3, alpha=1.0).fit(X, ill, strata=site)
        again = point_score(model, X, ill, largest=3, random_state=0, strata=site)
    assert content["points"]["columns"] == again.columns.to_dict("records")
    assert content["points"]["auc"] == pytest.approx(again.auc)


def test_methods_are_compared_within_sites(folder):
    arguments = ("compare", folder / "new.csv", "-t", "ill", "--folds", 3,
                 "--methods", "sparse-auc,mean-difference")  # fmt: skip
    within = run(*arguments, "--strata", "site", "--json")
    assert within.exit_code == 0, within.output
    ours, other = json.loads(within.stdout)["methods"]
    assert ours["fold_auc"] > other["fold_auc"]
    assert ours["columns"] < other["columns"]
    assert other["difference"] == pytest.approx(other["auc"] - ours["auc"])
    assert other["pvalue"] is None
    assert "within 'site'" in " ".join(
        run(*arguments, "--strata", "site").stdout.split()
    )


def test_folds_that_keep_sites_whole(folder):
    """Sites may be groups too: then every fold tests sites that had no part in its fit."""
    result = run("fit", folder / "new.csv", "-t", "ill", "--strata", "site", "--groups", "site",
                 "-k", "1-3", "--json")  # fmt: skip
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert content["auc"]["low"] < content["auc"]["auc"] < content["auc"]["high"]


def test_matched_sets(tmp_path):
    rng = np.random.default_rng(3)
    sets = np.repeat(np.arange(60), 2)
    ill = np.tile([1, 0], 60)
    values = rng.normal(size=(120, 6)) + 4 * rng.normal(size=(60, 6))[sets]
    values[:, :2] += 1.6 * ill[:, None]
    table = pd.DataFrame(values, columns=list("abcdef")).assign(set=sets, ill=ill)
    table.to_csv(tmp_path / "t.csv", index=False)
    result = run("fit", tmp_path / "t.csv", "-t", "ill", "--strata", "set", "-k", "1-3", "--json",
                 "--report", tmp_path / "r.html")  # fmt: skip
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert {one["column"] for one in content["chosen"]} >= {"a", "b"}
    assert content["auc"]["low"] > 0.7
    assert content["strata"] == {"column": "set", "count": 60, "within": []}
