"""Times to event in the command: fit, predict, show, validate, exports, and what is refused."""

import json
import re
import sys
from html import unescape

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import pytest
from calculator import page_results, with_node
from card_words import effect_by_words
from scipy.stats import norm
from sklearn.metrics import roc_auc_score
from sksurv.linear_model import CoxnetSurvivalAnalysis, CoxPHSurvivalAnalysis
from sksurv.metrics import concordance_index_censored, cumulative_dynamic_auc
from sksurv.nonparametric import kaplan_meier_estimator
from sksurv.util import Surv

import sparseauc
from commands import run_to_end as run
from sparseauc import SparseAUCClassifier
from sparseauc.selection import replacements
from sparseauc.survival import (
    ComparablePairs,
    SurvivalTimes,
    censoring_distribution,
    harrell_concordance,
    horizon_weights,
    uno_concordance,
    uno_weights,
)
from sparseauc_app import load_model
from sparseauc_app.cox_peers import CoxPeer
from sparseauc_app.evaluation.alternatives import find_alternatives, learning_curve
from sparseauc_app.evaluation.ranking import follow_scores
from sparseauc_app.fitting import FitSettings, fit_table
from sparseauc_app.folds import splits_of
from sparseauc_app.reading import Rules
from sparseauc_app.reading.source import source_of
from sparseauc_app.reading.training import training_table


def make_patients(n=300, seed=0):
    """Times in days, of which some are censored; three columns matter and three do not."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 5)), columns=["nodes", "grade", "a", "b", "c"])
    X["arm"] = np.where(rng.random(n) < 0.5, "new", "old")
    hazard = np.exp(0.9 * X["nodes"] - 0.6 * X["grade"] + 0.7 * (X["arm"] == "old"))
    death, end = rng.exponential(900 / hazard), rng.uniform(100, 2000, n)
    X["days"] = np.ceil(np.minimum(death, end))
    X["status"] = np.where(death <= end, 2, 1)
    return X


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("times")
    make_patients().to_csv(folder / "table.csv", index=False)
    make_patients(80, seed=1).to_csv(folder / "new.csv", index=False)
    return folder


WITH_TIMES = ("--time", "days", "--event", "status")


@pytest.fixture(
    scope="module", params=[(), ("--points", 5)], ids=["coefficients", "points"]
)
def fitted(folder, request):
    """A model, and what its fit says in JSON."""
    model = folder / f"model{len(request.param)}.json"
    said = run(
        "fit", folder / "table.csv", *WITH_TIMES, "--horizon", 365, "--columns", "1-4", "--out",
        model, "--json", *request.param,
    )  # fmt: skip
    return model, json.loads(said.stdout)


def test_fit_ranks_by_concordance(fitted, folder):
    model, said = fitted
    assert said["measure"] == "C"
    assert said["follow_up"] == {
        "time": "days",
        "event": "2",
        "horizon": 365.0,
        "binary": False,
    }
    names = {one["column"] for one in said["chosen"]}
    assert {"nodes", "grade"} < names
    assert {"days", "status"}.isdisjoint({*said["distributions"], *said["left_out"]})
    assert said["auc"]["low"] < said["auc"]["auc"] < said["auc"]["high"]
    # Whole totals tie, those of several folds together less often.
    room = 0.0 if said["points"] is None else 0.03
    assert said["auc"]["auc"] < said["training_auc"] + room
    table = pd.read_csv(folder / "table.csv")
    y = np.column_stack([table["status"] == 2, table["days"]])
    scores = load_model(model).predict(table)
    area = uno_concordance(y, y, scores, horizon=365)
    assert said["training_auc"] == pytest.approx(area, abs=1e-12)
    slope = load_model(model).risk_map.slope
    assert said["points"] is not None or slope == 1
    for one in said["chosen"]:
        assert one["hazard_ratio_per_sd"] == pytest.approx(
            np.exp(slope * one["standardised"])
        )


def test_terminal_says_what_the_score_is(fitted):
    model, said = fitted
    shown = run("show", model).output
    card = load_model(model)
    assert "Time to status = 2, in 'days'" in shown
    how = card.risk_map
    if card.total:
        assert "Risk until 365 by total" in shown
        assert f"C of rows left out {said['points']['auc']:.3f}" in shown
    formula = re.search(r"Risk until 365: (.*)", shown)[1].replace(" x ", " * ")
    risk = eval(formula, {"exp": np.exp, card.score_name: 1.5})
    assert risk == pytest.approx(how.risks(np.array([1.5]))[0], abs=1e-4)
    assert f"C until 365 {said['auc']['auc']:.3f}" in shown
    assert "AUC" not in shown


def test_model_file_comes_back_whole(fitted, folder):
    model, _ = fitted
    loaded, table = load_model(model), pd.read_csv(folder / "new.csv")
    assert json.loads(model.read_text())["follow_up"]["horizon"] == 365
    assert loaded.risk_map.link == "cloglog"
    with pytest.raises(ValueError, match="must be a data frame"):
        loaded.predict(np.zeros((3, len(loaded.columns))))
    np.testing.assert_allclose(
        loaded.predict_risk(table),
        1 - np.exp(-np.exp(loaded.risk_map.linear(loaded.predict(table)))),
        atol=1e-12,
    )
    with pytest.raises(AttributeError, match="no class probabilities"):
        loaded.predict_proba(table)


def test_points_of_a_column_far_from_0(tmp_path):
    """Risks are the same wherever a column begins; sums of whole numbers are exact."""
    risks = []
    table = make_patients(200).drop(columns="arm")
    for origin in (0, 1_000_000):  # classes end at numbers that are as round there
        table["nodes"] = np.round(8 * make_patients(200)["nodes"]) + origin
        table.to_csv(tmp_path / "t.csv", index=False)
        run(
            "fit", tmp_path / "t.csv", "--time", "days", "--event", "status", "-k", "2", "--points",
            5, "--quick", "--out", tmp_path / "m.json", "--force",
        )  # fmt: skip
        risks.append(load_model(tmp_path / "m.json").predict_risk(table))
    np.testing.assert_allclose(*risks, rtol=1e-6)
    assert np.ptp(risks[1]) > 0.5


def test_predict_writes_score_and_risk(fitted, folder):
    model, _ = fitted
    run("predict", model, folder / "new.csv", "--out", folder / "scores.csv", "--force")
    scores, table = pd.read_csv(folder / "scores.csv"), pd.read_csv(folder / "new.csv")
    loaded = load_model(model)
    name = loaded.score_name
    assert scores.columns.tolist() == ["row", name, "risk"]
    np.testing.assert_allclose(scores[name], loaded.predict(table), rtol=1e-12)
    np.testing.assert_allclose(scores["risk"], loaded.predict_risk(table), rtol=1e-12)
    refused = run("predict", model, folder / "new.csv", "--risk", 0.1, code=2)
    assert "has no labels" in " ".join(refused.output.replace("│", "").split())


def test_validate_judges_concordance_and_risks_at_the_horizon(fitted, folder):
    model, fit = fitted
    said = json.loads(
        run("validate", model, folder / "new.csv", "--by", "arm", "--json").stdout
    )
    table = pd.read_csv(folder / "new.csv")
    times = SurvivalTimes(
        table["days"].to_numpy(float), (table["status"] == 2).to_numpy()
    )
    y = np.column_stack([times.event, times.time])
    loaded = load_model(model)
    area = uno_concordance(y, y, loaded.predict(table), horizon=365)
    assert said["auc"]["auc"] == pytest.approx(area)
    assert said["promised"]["auc"] == pytest.approx(fit["auc"]["auc"])
    p, weights = loaded.predict_risk(table), horizon_weights(times, 365.0)
    by_then = times.event & (times.time <= 365)
    assert said["brier"] == pytest.approx(np.mean(weights * (by_then - p) ** 2))
    assert said["calibration"]["observed"] == pytest.approx(
        np.average(by_then, weights=weights)
    )
    assert said["calibration"]["expected"] == pytest.approx(
        np.average(p, weights=weights)
    )
    assert [one["name"] for one in said["groups"]] == ["new", "old"]
    part = (table["arm"] == "old").to_numpy()
    ours = ComparablePairs.from_times(
        times.take(part),
        event_weight=uno_weights(times, censoring_distribution(times), 365.0)[part],
    ).concordance(loaded.predict(table)[part])
    assert said["groups"][1]["interval"]["auc"] == pytest.approx(ours)
    assert said["operating_points"] == []
    text = run("validate", model, folder / "new.csv").output
    assert f"C {area:.3f}" in text
    assert "Brier score" in text
    assert "Thresholds" not in text


def test_the_slope_of_calibration_is_that_of_a_cox_model(fitted, folder):
    """Its error is from the second derivative of the partial likelihood, by differences."""
    model, _ = fitted
    said = json.loads(run("validate", model, folder / "new.csv", "--json").stdout)[
        "calibration"
    ]
    table = pd.read_csv(folder / "new.csv")
    card = load_model(model)
    linear = card.risk_map.linear(card.predict(table))
    event = (table["status"] == 2).to_numpy()

    def likelihood(slope):
        total = 0.0
        for row in np.flatnonzero(event):
            at_risk = (table["days"] >= table["days"][row]).to_numpy()
            total += slope * linear[row] - np.log(np.exp(slope * linear[at_risk]).sum())
        return total

    cox = CoxPHSurvivalAnalysis(ties="breslow", tol=1e-12)
    y = Surv.from_arrays(event, table["days"])
    slope = cox.fit(linear[:, None], y).coef_[0]
    assert said["slope"] == pytest.approx(slope, rel=1e-6)
    step = 1e-3
    left, middle, right = (likelihood(slope + move) for move in (-step, 0.0, step))
    information = (2 * middle - left - right) / step**2
    assert said["slope_error"] == pytest.approx(1 / np.sqrt(information), rel=1e-3)


def test_rows_that_do_not_reach_the_horizon_are_ranked(fitted, folder):
    model, _ = fitted
    table = pd.read_csv(folder / "new.csv")
    late = table["days"] > 200
    table.loc[late, "status"] = 1
    table["days"] = table["days"].clip(upper=200)
    table["theirs"] = np.linspace(0.1, 0.9, len(table))
    table.to_csv(folder / "short.csv", index=False)
    short = ("validate", model, folder / "short.csv")
    said = json.loads(
        run(
            *short,
            "--risk-column",
            "theirs",
            "--report",
            folder / "s.html",
            "--force",
            "--json",
        ).stdout
    )
    event = (table["status"] == 2).to_numpy()
    y = np.column_stack([event, table["days"]])
    area = harrell_concordance(y, load_model(model).predict(table))
    assert said["auc"]["auc"] == pytest.approx(area)
    assert said["others"][0]["own_auc"] == said["auc"]
    assert (said["calibration"], said["promised"], said["auc_at"]) == (None, None, [])
    told = "risks are not judged: they are until 365, and times go from"
    assert told in " ".join(said["notes"])
    assert said["notes"][-1].endswith(" to 200")
    assert f"C {area:.3f}" in run(*short).output
    refused = run(
        *short, "--update", "slope", "--out", folder / "never.json", code=3
    ).output
    assert "is not followed until the horizon" in " ".join(refused.split())


def with_another_score(folder):
    """New rows with risks of another model, and a score that some rows lack."""
    table = pd.read_csv(folder / "new.csv")
    rng = np.random.default_rng(5)
    table["theirs"] = 1 / (
        1 + np.exp(0.6 - 0.7 * table["nodes"] + 0.3 * rng.normal(size=80))
    )
    table["rank"] = table["grade"].rank().where(table.index >= 10)
    table.to_csv(folder / "others.csv", index=False)
    return table


def test_another_score_is_judged_at_the_horizon(fitted, folder):
    model, _ = fitted
    table = with_another_score(folder)
    options = ("--risk-column", "theirs", "--risk-column", "rank")
    said = json.loads(
        run("validate", model, folder / "others.csv", *options, "--json").stdout
    )
    theirs, rank = said["others"]
    times = SurvivalTimes(
        table["days"].to_numpy(float), (table["status"] == 2).to_numpy()
    )
    y, p = np.column_stack([times.event, times.time]), table["theirs"].to_numpy()
    own = load_model(model).predict(table)
    areas = [uno_concordance(y, y, scores, horizon=365) for scores in (own, p)]
    assert theirs["auc"]["auc"] == pytest.approx(areas[1])
    assert theirs["own_auc"] == said["auc"]
    assert theirs["difference"] == pytest.approx(areas[0] - areas[1])
    event_weight = uno_weights(times, censoring_distribution(times), 365.0)
    pairs = ComparablePairs.from_times(times, event_weight=event_weight)
    assert theirs["standard_error"] == pytest.approx(pairs.standard_error(own, p))
    weights, by_then = horizon_weights(times, 365.0), times.event & (times.time <= 365)
    assert theirs["brier"] == pytest.approx(np.mean(weights * (by_then - p) ** 2))
    assert theirs["calibration"]["expected"] == pytest.approx(
        np.average(p, weights=weights)
    )
    at_horizon = roc_auc_score(by_then, p, sample_weight=weights)
    assert theirs["auc_at_horizon"]["auc"] == pytest.approx(at_horizon)
    assert (rank["rows"], rank["calibration"], rank["brier"]) == (70, None, None)
    assert rank["auc_at_horizon"]["auc"] < 0.5 < theirs["auc_at_horizon"]["auc"]
    text = run(
        "validate", model, folder / "others.csv", *options, "--report", folder / "others.html",
        "--force",
    ).output  # fmt: skip
    assert f"theirs: C {areas[1]:.3f}" in text
    assert "AUC of rank at the horizon" in text
    assert f"Brier score of theirs: {theirs['brier']:.3f}" in text
    page = unescape((folder / "others.html").read_text())
    assert "AUC at the horizon" in page
    assert "C of the model" in page
    assert (
        "DeLong" not in page.split("Compared with other scores")[1].split("</table>")[0]
    )


@pytest.mark.parametrize("how", ["intercept", "slope"])
def test_a_model_is_recalibrated_on_new_rows(fitted, folder, how):
    """Breslow's baseline at the model's slope; or the Cox model of its scores."""
    model, _ = fitted
    path, table = folder / f"updated-{how}.json", pd.read_csv(folder / "new.csv")
    run(
        "validate", model, folder / "new.csv", "--update", how, "--out", path, "--force"
    )
    before, after = load_model(model), load_model(path)
    scores = before.predict(table)
    np.testing.assert_array_equal(after.predict(table), scores)
    event, days = (table["status"] == 2).to_numpy(), table["days"].to_numpy()
    slope = before.risk_map.slope
    if how == "slope":
        cox = CoxPHSurvivalAnalysis(ties="breslow", tol=1e-12)
        slope = cox.fit(scores[:, None], Surv.from_arrays(event, days)).coef_[0]
    assert after.risk_map.slope == pytest.approx(slope, rel=1e-6)
    hazard = sum(
        1 / np.exp(slope * scores[days >= time]).sum()
        for time in days[event & (days <= 365)]
    )
    np.testing.assert_allclose(
        after.predict_risk(table),
        1 - np.exp(-hazard * np.exp(slope * scores)),
        rtol=1e-6,
    )
    (step,) = after.summary["updates"]
    assert (step["rows"], step["events"]) == (80, event.sum())
    if how == "slope":  # validation reports the slope of the same Cox model
        again = json.loads(run("validate", path, folder / "new.csv", "--json").stdout)
        assert again["calibration"]["slope"] == pytest.approx(1.0, abs=1e-6)
    named = "baseline" if how == "intercept" else "slope and baseline"
    shown = " ".join(run("show", path).output.split())
    assert f"Recalibrated ({named}) on 80 rows of new.csv" in shown
    # The model that was updated is as it was.
    assert load_model(model).risk_map == before.risk_map


def test_rows_in_reversed_order_have_no_slope(fitted, folder):
    model, _ = fitted
    table = pd.read_csv(folder / "new.csv")
    table["days"] = 1e5 / table["days"]
    table.to_csv(folder / "reversed.csv", index=False)
    said = run(
        "validate", model, folder / "reversed.csv", "--update", "slope", "--out",
        folder / "none.json", code=3,
    ).output  # fmt: skip
    assert "no slope can be fitted" in " ".join(said.split())


def test_event_until_a_horizon_is_a_weighted_question_of_two_classes(folder):
    model = folder / "within.json"
    said = json.loads(
        run(
            "fit", folder / "table.csv", *WITH_TIMES, "--horizon", "within:365", "-k", 3, "--alpha",
            1, "--quick", "--out", model,
            "--json",
        ).stdout
    )  # fmt: skip
    table = pd.read_csv(folder / "table.csv")
    times = SurvivalTimes(
        table["days"].to_numpy(float), (table["status"] == 2).to_numpy()
    )
    weights = horizon_weights(times, 365.0)
    known = weights > 0
    y = (times.event & (times.time <= 365))[known]
    assert said["rows"] == known.sum() < len(table)
    assert said["positives"] == y.sum()
    assert said["positive"] == "2 within 365"
    assert "inverse censoring weights" in " ".join(said["notes"])
    card = load_model(model)
    X = table.loc[known, list(card.columns)]
    plain = sparseauc.SparseAUCClassifierCV(
        [3], [1.0], coefficients="auc", curves="auto"
    )
    plain.fit(X, y, sample_weight=weights[known])
    scores = card.decision_function(table[known])
    np.testing.assert_allclose(scores, plain.decision_function(X), rtol=1e-9)
    with_another_score(folder)
    update = (
        "--risk-column",
        "theirs",
        "--update",
        "slope",
        "--out",
        folder / "again.json",
    )
    found = json.loads(
        run("validate", model, folder / "others.csv", *update, "--json").stdout
    )
    assert found["measure"] == "AUC"
    (theirs,) = found["others"]
    new = pd.read_csv(folder / "others.csv")
    times = SurvivalTimes(new["days"].to_numpy(float), (new["status"] == 2).to_numpy())
    weights, by_then = horizon_weights(times, 365.0), times.event & (times.time <= 365)
    expected = roc_auc_score(by_then, new["theirs"], sample_weight=weights)
    assert theirs["auc"]["auc"] == pytest.approx(expected)
    again = run("validate", folder / "again.json", folder / "new.csv", "--json").stdout
    assert json.loads(again)["calibration"]["slope"] == pytest.approx(1, abs=1e-6)
    new = run("predict", model, folder / "new.csv").output
    assert "row,score,risk,label" in new
    assert "not 2 within 365" in new


def set_at(name, row, value):
    return lambda table: table.assign(
        **{name: table[name].where(table.index != row, value)}
    )


def as_it_is(table):
    return table


def with_three_values(table):
    return table.assign(status=table.index % 3)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (
            set_at("days", 4, np.nan),
            (),
            "'days' is missing in 1 row, first in row 5: fill it in",
        ),
        (
            set_at("days", 7, -3),
            (),
            "'days' is negative in 1 row, first in row 8: give a number",
        ),
        (
            lambda t: t.assign(status=0),
            (),
            "no row has the event: 'status' is '0' in all rows",
        ),
        (lambda t: t.assign(days=9, status=2), (), "all times are equal, 9"),
        (
            with_three_values,
            (),
            "'status' has 3 values: '0' (100 rows), '1' (100 rows), '2' (100",
        ),
        (
            with_three_values,
            (),
            "censored at their time, those with a competing event too",
        ),
        (as_it_is, ("--horizon", 99999), "horizon is 99999, and times go from"),
        (as_it_is, ("--horizon", 0.5), "no event comes before the horizon 0.5"),
        (
            as_it_is,
            ("--horizon", "soon"),
            "--horizon is a number above 0, or within:365",
        ),
        (as_it_is, ("--event-value", 7), "--event-value: 'status' has no class '7'"),
        (lambda t: t.assign(days="soon"), (), "'days' must hold numbers"),
        (
            lambda t: t.rename(columns={"status": "state"}),
            (),
            "--event: there is no column",
        ),
    ],
)
def test_what_is_refused_is_named(change, options, message, folder, tmp_path):
    code = 2 if "soon" in options else 3
    change(pd.read_csv(folder / "table.csv")).to_csv(tmp_path / "bad.csv", index=False)
    said = run(
        "fit", tmp_path / "bad.csv", *WITH_TIMES, "--quick", *options, code=code
    ).output
    assert message in " ".join(said.replace("│", "").split()), said
    assert "Traceback" not in said


def test_time_and_event_go_together(folder):
    table = folder / "table.csv"
    alone = " ".join(run("fit", table, "--time", "days", code=3).output.split())
    assert "which column says who had the event? Give --event, perhaps" in alone
    assert "'status' (2 values)" in alone
    beside = run(
        "fit", table, "--target", "status", "--horizon", 365, "--quick", code=3
    ).output
    assert "--horizon is about times" in beside
    unknown = run("fit", table, "--time", "dais", "--event", "status", code=3).output
    assert "'days'" in unknown


def test_three_values_are_fitted_once_the_event_is_named(folder, tmp_path):
    table = pd.read_csv(folder / "table.csv")
    table["status"] = np.where(
        table["status"] == 2, "died", np.where(table.index % 2, "ok", "left")
    )
    table.to_csv(tmp_path / "table.csv", index=False)
    said = run(
        "fit", tmp_path / "table.csv", *WITH_TIMES, "--event-value", "died", "-k", 2, "--quick",
        "--json",
    )  # fmt: skip
    assert json.loads(said.stdout)["follow_up"]["event"] == "died"


def test_tables_without_censored_rows_are_fitted(folder, tmp_path):
    table = pd.read_csv(folder / "table.csv").assign(status=1)
    table.to_csv(tmp_path / "table.csv", index=False)
    said = json.loads(
        run("fit", tmp_path / "table.csv", *WITH_TIMES, "-k", 2, "--json").stdout
    )
    assert said["positives"] == said["rows"] == 300
    assert said["auc"]["auc"] > 0.6


def test_every_road_gives_the_same_score_and_risk(fitted, folder):
    """Command, Python, the words of the JSON card and SQL."""
    model, _ = fitted
    table = pd.read_csv(folder / "new.csv")
    loaded = load_model(model)
    score, risk = loaded.predict(table), loaded.predict_risk(table)
    card = json.loads(model.read_text())
    by_card = np.full(len(table), card["intercept"])
    for term in card["terms"]:
        by_card += [
            effect_by_words(term, value) for value in table[term["column"]].tolist()
        ]
    np.testing.assert_allclose(by_card, score, atol=1e-12)
    assert card["follow_up"] == {
        "time": "days",
        "event": "2",
        "horizon": 365.0,
        "binary": False,
    }
    how = card["risk_map"]
    by_card = how["slope"] * by_card + how["intercept"]
    np.testing.assert_allclose(1 - np.exp(-np.exp(by_card)), risk, atol=1e-12)

    text = run("export", model, "sql").stdout
    assert "-- sparseauc_risk: risk until 365" in text
    with duckdb.connect() as connection:
        connection.register("my_table", table)
        query = f"SELECT sparseauc_score, sparseauc_risk FROM ({text})"
        by_sql = np.array(connection.execute(query).fetchall())
    np.testing.assert_allclose(by_sql, np.column_stack([score, risk]), atol=1e-12)
    assert "labelled" not in text


def test_calculators_have_the_risk_until_the_horizon(fitted, folder):
    model, _ = fitted
    how = load_model(model).risk_map
    code = run("export", model, "r").stdout
    assert f"risk = -expm1(-exp({how.slope!r} * score + ({how.intercept!r})))" in code
    assert "label =" not in code
    page = run("export", model, "html").stdout
    assert "Risk of status = 2 until 365" in page
    assert '"link":"cloglog"' in page
    assert '"labels":false' in page
    run("export", model, "xlsx", "--out", folder / "model.xlsx", "--force")
    book = openpyxl.load_workbook(folder / "model.xlsx")
    cells = {
        row[0].value: row[1].value
        for row in book["Calculator"].iter_rows()
        if row[0].value
    }
    assert "1-EXP(-EXP(" in cells["Risk until 365"]
    assert "Label" not in cells


@with_node
def test_the_page_computes_the_risk_of_predict(fitted, folder):
    model, _ = fitted
    table = pd.read_csv(folder / "new.csv")
    page = run("export", model, "html").stdout
    _, risks = page_results(page, table.to_dict("records"))
    np.testing.assert_allclose(risks, load_model(model).predict_risk(table), atol=1e-12)


def test_reports_tell_of_concordance_and_follow_up(folder):
    path = folder / "report.html"
    run(
        "fit", folder / "table.csv", *WITH_TIMES, "--horizon", 365, "-k", 3, "--report", path,
        "--out", folder / "reported.json", "--force",
    )  # fmt: skip
    page = path.read_text()
    text = " ".join(re.sub(r"<[^>]*>", " ", page).split())
    for said in (
        "3 columns that rank rows by the time to status=2",
        "of which one is known to have status=2 before the other",
        "Hazard ratio per SD",
        "C and its optimism",
        "Harrell's C, all times",
        "AUC at 365",
        "Kaplan–Meier curves of thirds of the score",
        "Check of proportional hazards",
        "The hazard ratios have no usual CIs",
        "Numbers at risk",
        "Brier score at the horizon",
        "risk until 365 = 1 − ",
        "Breslow's baseline hazard",
        "Uno's C up to 365",
        "Replacements",
        "comes within 2 % of the best",
        "C against the number of rows",
        "AUC at 91",
        "AUC at 270",
    ):
        assert said in unescape(text), said
    assert "273.75" not in text
    for other in ("Platt", "ROC", "DeLong", "log odds", "labelled", "0 thresholds"):
        assert other not in text, other
    run(
        "validate", folder / "reported.json", folder / "new.csv", "--report",
        folder / "validation.html", "--force",
    )  # fmt: skip
    page = (folder / "validation.html").read_text()
    text = unescape(" ".join(re.sub(r"<[^>]*>", " ", page).split()))
    for said in (
        "Numbers at risk",
        "AUC at 365",
        "Uno's C up to 365",
        "The C on these rows",
    ):
        assert said in text, said
    for other in ("scores of nested", "loess", "AUC against chance", "Positive"):
        assert other not in text, other
    assert "ROC" not in text.split("checklist")[0]


def test_replacements_and_learning_curve_are_those_of_the_library(folder):
    """One function for classes and times; the curve, by hand, on the same rows."""
    table = pd.read_csv(folder / "table.csv").drop(columns="arm")
    rules = Rules(target="status", time="days", horizon=365.0)
    read = training_table(source_of(table), rules)
    settings = FitSettings(k=2, alpha=1.0, stability_pairs=0)
    summary = fit_table(read, settings)
    found = find_alternatives(summary)
    splits = splits_of(summary.nested.folds)
    expected = replacements(
        summary.model, read.X, read.outcome.y, n_best=3, cv=splits,
    )  # fmt: skip
    for name in ("column", "replacement"):
        expected[name] = expected[name].astype(str)
    pd.testing.assert_frame_equal(found.replacements, expected)
    assert found.lists["columns"][0] == ["nodes", "grade"]
    y = read.outcome.y
    (n, whole), scores = learning_curve(summary)[-1], np.empty(300)
    for train, test in splits:
        model = sparseauc.SparseConcordance(2, 1.0).fit(read.X.iloc[train], y[train])
        of_train = model.predict(read.X.iloc[train])
        scores[test] = (
            model.predict(read.X.iloc[test]) - of_train.mean()
        ) / of_train.std()
    assert n == 240
    assert whole.auc == pytest.approx(read.outcome.interval(scores).auc)
    assert learning_curve(summary)[0][0] == 72


def test_curves_and_areas_are_those_of_scikit_survival():
    table = make_patients(200, seed=3)
    times = SurvivalTimes(
        table["days"].to_numpy(float), (table["status"] == 2).to_numpy()
    )
    y = Surv.from_arrays(times.event, times.time)
    scores = table["nodes"].to_numpy()
    found = follow_scores(times, 400.0, scores)
    areas, _ = cumulative_dynamic_auc(y, y, scores, [100.0, 200.0, 300.0, 400.0])
    assert [time for time, _ in found.at] == [100.0, 200.0, 300.0, 400.0]
    np.testing.assert_allclose([one.auc for _, one in found.at], areas, atol=1e-12)
    expected = concordance_index_censored(times.event, times.time, scores)[0]
    assert found.harrell.auc == pytest.approx(expected, abs=1e-12)
    rows = scores > np.quantile(scores, 2 / 3)
    known, free, band = kaplan_meier_estimator(
        times.event[rows], times.time[rows], conf_type="log-log"
    )
    highest = found.thirds[-1]
    np.testing.assert_allclose(highest.time, known)
    np.testing.assert_allclose(highest.free, free, atol=1e-12)
    inside = (free > 0) & (free < 1)
    np.testing.assert_allclose(highest.low[inside], band[0][inside], atol=1e-3)
    np.testing.assert_allclose(highest.high[inside], band[1][inside], atol=1e-3)
    for mark, count in zip(found.marks, highest.at_risk, strict=True):
        assert count == np.count_nonzero(times.time[rows] >= mark)


@pytest.mark.parametrize("proportional", [True, False])
def test_hazards_are_compared_before_and_after_the_median_event(proportional):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=600)
    event_time = rng.exponential(np.exp(-scores))
    later = 0.5 + rng.exponential(np.exp(0.0 * scores))  # the effect is lost at 0.5
    time = event_time if proportional else np.where(event_time < 0.5, event_time, later)
    censored = rng.exponential(3.0, 600)
    times = SurvivalTimes(np.minimum(time, censored), time <= censored)
    found = follow_scores(times, 1.0, scores).hazards
    assert found.until == np.median(times.time[times.event])
    after = times.time > found.until
    early = Surv.from_arrays(times.event & ~after, np.minimum(times.time, found.until))
    late = Surv.from_arrays(times.event[after], times.time[after])
    for one, y, x in (
        (found.before, early, scores),
        (found.after, late, scores[after]),
    ):
        model = CoxPHSurvivalAnalysis(ties="breslow").fit(x[:, None], y)
        assert one.slope == pytest.approx(model.coef_[0], abs=1e-4)
    assert (found.pvalue > 0.05) == proportional
    assert found.pvalue > 0.05 or found.pvalue < 1e-3


def test_methods_are_compared_by_concordance(folder):
    said = run(
        "compare", folder / "table.csv", *WITH_TIMES, "--horizon", 365, "--methods",
        "sparse-concordance,single-column",
    ).output  # fmt: skip
    assert "C (95 % CI)" in said
    assert "p: paired test" in " ".join(said.split())
    assert "AUC" not in said
    assert "sparse-concordance" in said
    wrong = run(
        "compare", folder / "table.csv", *WITH_TIMES, "--methods", "l1-logistic", code=2
    )
    assert "unknown method 'l1-logistic'" in wrong.output.replace("│", "")


def test_cox_models_are_peers(folder):
    """Tuned by C on folds of the training rows; the first differs from itself by nothing."""
    said = json.loads(
        run(
            "compare", folder / "table.csv", *WITH_TIMES, "--horizon", 365, "--methods",
            "sparse-concordance,l1-cox,ridge-cox", "--folds", 3, "--json",
        ).stdout
    )  # fmt: skip
    ours, l1, ridge = said["methods"]
    assert ridge["columns"] == 6 >= l1["columns"] >= 3
    for one in (l1, ridge):
        assert abs(one["auc"] - ours["auc"]) < 0.03
        assert one["difference"] == pytest.approx(one["auc"] - ours["auc"])
        assert one["pvalue"] == pytest.approx(
            2 * norm.sf(abs(one["difference"]) / one["difference_error"])
        )


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_a_peer_has_the_coefficients_of_scikit_survival(penalty):
    table = make_patients(200, seed=3)
    X, event = table[["nodes", "grade", "a"]].to_numpy(), table["status"] == 2
    pairs, y = (
        np.column_stack([event, table["days"]]),
        Surv.from_arrays(event, table["days"]),
    )
    peer = CoxPeer(penalty, 0.1).fit(X, pairs)
    other = {
        "l1": CoxnetSurvivalAnalysis(l1_ratio=1.0, alphas=[0.1]),
        "l2": CoxPHSurvivalAnalysis(alpha=0.1),
    }[penalty].fit(X, y)
    np.testing.assert_allclose(peer.coef_[0], np.ravel(other.coef_), atol=1e-12)
    np.testing.assert_allclose(peer.predict(X), X @ peer.coef_[0])
    assert peer.converged_


def test_a_peer_that_does_not_converge_and_a_table_that_is_wrong():
    rng = np.random.default_rng(0)
    pairs = np.column_stack([rng.random(200) < 0.5, rng.random(200)])
    nowhere = CoxPeer("l2", 0.0).fit(np.zeros((200, 3)), pairs)
    assert not nowhere.coef_.any()
    assert not nowhere.converged_
    X = rng.normal(size=(200, 3))
    X[3, 1] = np.nan
    for penalty in ("l1", "l2"):
        with pytest.raises(ValueError, match="NaN"):
            CoxPeer(penalty, 0.1).fit(X, pairs)


def test_peers_that_are_not_installed_are_named(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "sksurv.linear_model", None)
    monkeypatch.setattr("sparseauc_app.methods.find_spec", lambda _: None)
    said = run(
        "compare", folder / "table.csv", *WITH_TIMES, "--horizon", 365, "--folds", 2
    )
    told = " ".join(said.output.split())
    assert "l1-cox is left out: pip install 'scikit-survival>=0.24'" in told
    assert "pip install 'scikit-survival" in told
    assert "single-column" in told
    options = ("--methods", "ridge-cox", "--folds", 2)
    alone = run("compare", folder / "table.csv", *WITH_TIMES, *options, code=1)
    assert "pip install 'scikit-survival" in " ".join(alone.output.split())


def test_weights_count_like_repeated_rows(folder, tmp_path):
    """Of rows with whole weights, fit and AUC are those of a table that repeats them."""
    table = pd.read_csv(folder / "table.csv").drop(columns="days")
    table["count"] = np.random.default_rng(0).integers(0, 3, len(table))
    table.to_csv(tmp_path / "weighted.csv", index=False)
    options = (
        "--target", "status", "-k", 3, "--alpha", 1,
        "--quick",
    )  # fmt: skip
    model = tmp_path / "model.json"
    said = json.loads(
        run(
            "fit", tmp_path / "weighted.csv", *options, "--weights", "count", "--out", model,
            "--json",
        ).stdout
    )  # fmt: skip
    assert "count" not in said["distributions"]
    rows = table.loc[table.index.repeat(table["count"])]
    scores = load_model(model).decision_function(rows)
    assert said["training_auc"] == pytest.approx(
        roc_auc_score(rows["status"] == 2, scores)
    )
    plain = SparseAUCClassifier(3, 1.0).fit(
        pd.get_dummies(rows.drop(columns=["status", "count"])).astype(float),
        rows["status"],
    )
    names = {term.name.replace("=", "_") for term in load_model(model).terms}
    assert names == {*plain.get_feature_names_out().tolist()}
    bad = table.assign(count=-1.0)
    bad.to_csv(tmp_path / "bad.csv", index=False)
    refused = run(
        "fit", tmp_path / "bad.csv", *options, "--weights", "count", code=3
    ).output
    assert "--weights: 'count' is negative in 300 rows" in " ".join(refused.split())


def test_rows_of_weight_zero_are_left_out(folder, tmp_path):
    """Rows of weight 0, of any times, change nothing but a note."""
    table = pd.read_csv(folder / "table.csv")
    table["count"] = np.random.default_rng(0).integers(0, 2, len(table))
    kept = table["count"] > 0
    table.loc[~kept, "days"] *= 20
    table.to_csv(tmp_path / "every.csv", index=False)
    table[kept].to_csv(tmp_path / "kept.csv", index=False)
    options = (
        "--time",
        "days",
        "--event",
        "status",
        "--event-value",
        2,
        "--weights",
        "count",
    )
    every, without = (
        json.loads(
            run("fit", tmp_path / f"{name}.csv", *options, "--quick", "--json").stdout
        )
        for name in ("every", "kept")
    )
    for key in ("rows", "positives", "follow_up", "chosen"):
        assert every[key] == without[key], key
    assert f"{np.sum(~kept)} rows of weight 0 left out" in every["notes"]


def test_reports_with_weights_are_written(folder, tmp_path):
    table = pd.read_csv(folder / "table.csv").drop(columns="days")
    table["count"] = np.random.default_rng(0).integers(1, 4, len(table))
    table.to_csv(tmp_path / "weighted.csv", index=False)
    run(
        "fit", tmp_path / "weighted.csv", "--target", "status", "-k", 3,
        "--weights", "count", "--report", tmp_path / "report.html",
    )  # fmt: skip
    assert "Calibration" in (tmp_path / "report.html").read_text()


def test_a_follow_up_time_beside_the_target_is_told_how_to_use(folder):
    said = run("fit", folder / "table.csv", "--target", "status", "-k", 1,
               "--quick").output  # fmt: skip
    assert "--time 'days' --event 'status'" in " ".join(said.split())
