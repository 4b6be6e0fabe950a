import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from sparseauc.metrics import auc_confidence_interval, delong_test
from sparseauc.outcome import Binary
from sparseauc.utils.text import did_you_mean
from sparseauc_app.fitting import FitSettings, fit_table
from sparseauc_app.model_files import (
    ModelFileError,
    load_model,
    model_bytes,
    save_model,
)
from sparseauc_app.pages.html import render
from sparseauc_app.pages.parts import list_items
from sparseauc_app.pages.validation_report import (
    build_validation_report,
    methods_paragraph,
)
from sparseauc_app.reading import DataError, Rules, read_source, training_table
from sparseauc_app.updating import update_model
from sparseauc_app.validation import validate_model


def cohort(seed, n=500):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    X = rng.normal(size=(n, 5)) + np.outer(y, [1.2, 0.8, 0, 0, 0])
    return pd.DataFrame(X, columns=list("abcde")).assign(
        y=np.where(y, "ill", "well"), site=rng.choice(["north", "south"], n)
    )


def source(frame, folder, name="new.csv"):
    frame.to_csv(folder / name, index=False)
    return read_source(folder / name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("validation")


@pytest.fixture(scope="module")
def fitted(folder):
    rules = Rules(target="y", positive="ill", exclude=("site",), missing="median")
    frame = cohort(0)
    frame.loc[::10, "a"] = np.nan
    table = training_table(source(frame, folder, "old.csv"), rules)
    return fit_table(table, FitSettings(k=2, alpha=1.0, stability_pairs=0))


@pytest.fixture(scope="module")
def found(fitted, folder):
    return validate_model(fitted.card, source(cohort(1), folder), "site")


def same(found, expected):
    assert asdict(found) == pytest.approx(asdict(expected), rel=1e-12)


def test_auc_against_the_one_promised(fitted, found):
    frame = cohort(1)
    scores = fitted.model.decision_function(frame[list("abcde")].to_numpy())
    np.testing.assert_allclose(found.scores, scores, rtol=1e-9)
    same(found.interval, auc_confidence_interval(frame["y"] == "ill", found.scores))
    assert found.promised.auc == fitted.nested.interval.auc
    errors = found.promised.standard_error, found.interval.standard_error
    z = (found.interval.auc - found.promised.auc) / np.hypot(*errors)
    assert found.pvalue == pytest.approx(2 * norm.cdf(-abs(z)))
    assert found.warnings == ()


def test_calibration_against_scikit_learn(fitted, found):
    p = found.card.probabilities(found.scores)
    log_odds = logit(p).reshape(-1, 1)
    plain = LogisticRegression(C=1e12, tol=1e-10).fit(log_odds, found.positive)
    how = found.calibration
    assert how.slope == pytest.approx(plain.coef_[0, 0], rel=1e-4)
    assert expit(log_odds + how.intercept).mean() == pytest.approx(
        found.positive.mean()
    )
    assert (how.observed, how.expected) == pytest.approx(
        (found.positive.mean(), p.mean())
    )
    # Standard errors by numerical second derivatives of the likelihood.
    design = np.c_[log_odds, np.ones(p.size)]

    def loss(theta):
        linear = design @ theta
        return np.sum(np.logaddexp(0, linear) - found.positive * linear)

    at, step = np.array([plain.coef_[0, 0], plain.intercept_[0]]), 1e-3
    unit = np.eye(2) * step
    hessian = np.array(
        [
            [
                (
                    loss(at + a + b)
                    - loss(at + a - b)
                    - loss(at - a + b)
                    + loss(at - a - b)
                )
                / (4 * step**2)
                for a in unit
            ]
            for b in unit
        ]
    )
    assert how.slope_error == pytest.approx(
        np.sqrt(np.linalg.inv(hessian)[0, 0]), rel=1e-3
    )


def test_groups_and_operating_points(fitted, found):
    frame = cohort(1)
    for group in found.groups:
        here = (frame["site"] == group.name).to_numpy()
        assert group.rows == here.sum()
        expected = auc_confidence_interval(found.positive[here], found.scores[here])
        same(group.interval, expected)
    assert [one.name for one in found.points] == [
        one.name for one in fitted.operating_points
    ]
    for point, before in zip(found.points, fitted.operating_points, strict=True):
        assert point.threshold == before.threshold
        above = found.scores > point.threshold
        assert point.sensitivity.value == above[found.positive].mean()


def test_a_column_in_other_units_is_noticed(fitted, folder):
    frame = cohort(2)
    frame["b"] = 10 * frame["b"] + 30
    moved = validate_model(fitted.card, source(frame, folder))
    a, b = moved.columns
    assert (a.name, b.name) == ("a", "b")
    assert b.moved
    assert not a.moved
    before = cohort(0)["b"]
    assert b.mean_shift == pytest.approx(
        (frame["b"].mean() - before.mean()) / before.std(ddof=0)
    )
    assert (
        b.outside == ((frame["b"] < before.min()) | (frame["b"] > before.max())).sum()
    )
    assert a.missing_before == pytest.approx(0.1)
    assert any("mean of 'b' has moved" in text for text in moved.warnings)


def test_rows_without_an_outcome_are_left_out(fitted, folder):
    frame = cohort(3)
    frame.loc[:49, "y"] = None
    part = validate_model(fitted.card, source(frame, folder))
    assert part.positive.size == 450
    assert any("50 rows without" in text for text in part.notes)


@pytest.mark.parametrize(
    ("change", "by", "says"),
    [
        (lambda frame: frame.drop(columns="y"), None, "no outcome column 'y'"),
        (lambda frame: frame.assign(y="well"), None, "only 0 scored rows are 'ill'"),
        (lambda frame: frame, "sight", "did you mean 'site'"),
        (lambda frame: frame.drop(columns="a"), None, "'a'"),
    ],
)
def test_tables_that_cannot_be_used(fitted, folder, change, by, says):
    with pytest.raises(DataError, match=says):
        validate_model(fitted.card, source(change(cohort(4)), folder), by)


@pytest.mark.parametrize(
    "summary",
    [
        {"auc": 3},
        {"auc": {"auc": "x"}},
        {"operating_points": [1]},
        {"distributions": [1]},
    ],
)
def test_a_card_that_is_not_sound(fitted, folder, summary):
    from dataclasses import replace

    card = replace(fitted.card, summary=summary)
    with pytest.raises(ModelFileError, match="damaged"):
        validate_model(card, source(cohort(5), folder))


def test_json_and_the_report(found):
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert content["rows"] == 500
    assert len(content["groups"]) == 2
    report = build_validation_report(found, {"command": "sparseauc validate"})
    page = render(report)
    assert f"{found.interval.auc:.3f}" in page
    assert "north" in page
    answered = list_items(found.card, new=found)[0].frame.set_index("Item")[
        "What is known"
    ]
    events = (cohort(0)["y"] == "ill").sum()
    assert f"Development: 500 rows, {events} positive" in answered["10"]
    assert "Validation: 500 rows" in answered["10"]
    assert "× a" in answered["22"]
    paragraph = methods_paragraph(found)
    assert f"500 rows of new.csv with {int(found.positive.sum())} positive" in paragraph


# ------------------------------------------------------------------------------ others,
# and updates


def test_another_score_on_the_same_rows(fitted, folder):
    frame = cohort(1)
    rng = np.random.default_rng(3)
    frame["apache"] = expit(frame["a"] + 0.5 * rng.normal(size=500))
    frame["rank"] = frame["b"].rank()
    frame.loc[:19, "rank"] = np.nan
    found = validate_model(
        fitted.card,
        source(frame, folder, "others.csv"),
        risk_columns=["apache", "rank"],
    )
    apache, rank = found.others
    positive = (frame["y"] == "ill").to_numpy()
    paired = delong_test(positive, found.scores, frame["apache"])
    expected = paired.difference, paired.pvalue
    assert (apache.difference, apache.pvalue) == pytest.approx(expected, rel=1e-12)
    same(apache.interval, auc_confidence_interval(positive, frame["apache"]))
    assert apache.own == found.interval
    p = frame["apache"].to_numpy()
    assert apache.risks.brier == pytest.approx(np.mean((p - positive) ** 2))
    # Compared on the rows that have both; no probabilities, no calibration.
    assert rank.rows == 480
    assert rank.risks is None
    same(rank.own, auc_confidence_interval(positive[20:], found.scores[20:]))
    page = render(build_validation_report(found))
    assert "Compared with other scores" in page
    assert json.dumps(found.to_dict(), allow_nan=False)
    for name, says in (("apachy", "apache"), ("site", "must hold numbers, but is")):
        with pytest.raises(DataError, match=says):
            validate_model(
                fitted.card, source(frame, folder, "o.csv"), risk_columns=[name]
            )


@pytest.mark.parametrize("how", ["intercept", "slope"])
def test_an_updated_model_is_calibrated_on_the_new_rows(fitted, folder, how):
    frame = cohort(1).query("y == 'ill' or index % 3 == 0")  # another prevalence
    new = source(frame, folder, "updated.csv")
    save_model(folder / "m.json", fitted.model, names=fitted.table.names,
               types=fitted.table.types, classes=("well", "ill"), target="y",
               summary=fitted.summary)  # fmt: skip
    saved = load_model(folder / "m.json")
    found = validate_model(saved, new)
    updated = update_model(found, how)
    path = folder / f"updated-{how}.json"
    path.write_bytes(model_bytes(updated))
    again = load_model(path)
    assert again.risk_map == updated.risk_map
    judged = validate_model(again, new)
    np.testing.assert_allclose(judged.scores, found.scores)
    assert judged.calibration.intercept == pytest.approx(0, abs=1e-6)
    assert judged.calibration.expected == pytest.approx(judged.calibration.observed)
    if how == "slope":
        assert judged.calibration.slope == pytest.approx(1, abs=1e-6)
    else:
        assert judged.calibration.slope == pytest.approx(
            found.calibration.slope, abs=1e-6
        )
    (step,) = again.summary["updates"]
    assert (step["rows"], step["source"]) == (len(frame), "updated.csv")
    twice = update_model(judged, how)
    assert len(twice.summary["updates"]) == 2
    answered = list_items(again, new=judged)[0].frame.set_index("Item")["What is known"]
    assert answered["12f"].startswith("Recalibrated")
    # The model that was updated is as it was.
    assert load_model(folder / "m.json").risk_map == saved.risk_map


def test_updates_that_cannot_be_made(fitted, found):
    from dataclasses import replace

    without = replace(found, card=replace(fitted.card, risk_map=None))
    with pytest.raises(ModelFileError, match="no probabilities"):
        update_model(without, "intercept")
    reversed_ = replace(found, outcome=Binary(~found.positive))
    with pytest.raises(DataError, match="other way"):
        update_model(reversed_, "slope")


def test_near_names_are_compared_without_their_units():
    names = ["urea (mmol/L)", "lactate (mmol/L)", "Creatinine (mg/dL)"]
    assert (
        did_you_mean("creatinine (umol/L)", names)
        == "did you mean 'Creatinine (mg/dL)'?"
    )
    assert did_you_mean("creatinine (umol/L)", names[:2]).startswith("there are 'urea")


def test_intervals_of_related_rows_take_groups_together(fitted, folder):
    """Every row three times: groups tell that these are no new rows."""
    frame = cohort(6, n=100)
    frame["patient"] = [f"p{row}" for row in range(100)]
    plain = validate_model(fitted.card, source(frame, folder))
    thrice = source(pd.concat([frame] * 3), folder, "thrice.csv")
    alike = validate_model(fitted.card, thrice)
    found = validate_model(fitted.card, thrice, groups="patient", risk_columns=["c"])
    assert found.interval.standard_error == pytest.approx(
        plain.interval.standard_error, rel=0.02
    )
    assert alike.interval.standard_error < 0.6 * plain.interval.standard_error
    groups = list(frame["patient"]) * 3
    same(
        found.interval,
        auc_confidence_interval(found.positive, found.scores, groups=groups),
    )
    paired = delong_test(
        found.positive,
        found.scores,
        list(frame["c"]) * 3,
        groups=list(frame["patient"]) * 3,
    )
    assert found.others[0].error == pytest.approx(paired.standard_error, rel=1e-12)
    frame.loc[4, "patient"] = None
    with pytest.raises(DataError, match="--groups: 'patient' is missing in row 5"):
        validate_model(fitted.card, source(frame, folder), groups="patient")
